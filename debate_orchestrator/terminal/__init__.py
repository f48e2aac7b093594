"""A debate shown live at a terminal, while it runs or from its journal.

`live` is told what happens, `speeches` wraps text while it streams, `scores` draws ballots, `display` prints,
`keys` reads single keys and holds the terminal, and `player` plays a recorded debate.
"""
