"""Where a person takes a turn: the brief to read, a place to write, a form for what is asked field by field.

`person` leads through a turn. `briefing` makes a brief readable and `form` turns a shape into questions, both without a
terminal; `papers` keeps what is written on the disk; `writing` and `slate` are terminals, with a cursor and without.
"""
