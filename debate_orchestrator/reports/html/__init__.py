"""The report as one HTML page that loads nothing and runs nothing.

`writer` makes speech safe in it and writes phrases and tables, `excerpts` takes short passages out of long ones,
`excerpts` puts a turn in a line, `page` puts all of it together.
"""
