"""Settings: what a user may choose, the questions that ask for it, and what it risks."""
