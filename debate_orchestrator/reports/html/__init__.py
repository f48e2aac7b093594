"""The report as one page: a single file that asks nobody for anything, and runs nothing.

`speech` makes what was said safe to stand in it, `pen` writes phrases and tables, `excerpts` takes short passages
out of long ones, `flow` and `figures` make the values of the flow sheet and the drawings, `page` puts all of it
together.
"""
