"""A person at a terminal: the setup, a turn of theirs, a reviewer's ballot, and the live view of a debate."""
