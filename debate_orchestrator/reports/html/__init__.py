"""The report as one HTML page that loads nothing and runs nothing.

`writer` makes speech safe in it and writes phrases and tables, `page` puts all of it together.
"""
