"""The report as one HTML page that loads nothing and runs nothing.

`writer` makes speech safe in it and writes phrases and tables, `excerpts` takes short passages out of long ones,
`figures` makes the values of the flow sheet and the drawings, `page` puts all of it together.
"""
