"""Several debates side by side.

`compared` reads one journal by the letters of the first, `differing` says what flipped and how far judges agree,
`wording` tells whether two sentences are worded alike, `comparison` puts all of it together.
"""
