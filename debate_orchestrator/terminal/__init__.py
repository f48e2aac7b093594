"""A person at a terminal: the setup conversation, a turn of theirs, a reviewer's ballot, and the live view of a debate.

`prompt` asks one question, by `key_prompter` where the cursor can be moved and by `line_prompter` elsewhere; `form`
asks several. `setup_base` and `setup_conversation` hold the setup conversation; `turn` and `drafts` lead a person
through a turn; `review` takes a reviewer's ballot. `live`, `speeches`, `display`, `keys` and `player` show a debate.
"""
