"""Files: the journal of a debate, where a debate's files lie, and how files are written whole."""
