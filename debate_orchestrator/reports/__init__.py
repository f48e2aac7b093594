"""A story, told: one file a kind of telling, each `story -> text`. Only the cli writes files.

`story` makes the values, `markup` makes speech safe in markdown, `markdown` renders the report,
`announcements` says what happened while it happens.
"""
