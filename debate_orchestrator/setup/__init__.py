"""Settings: what a user may choose, the questions that ask for it, and the risks of the answers."""
