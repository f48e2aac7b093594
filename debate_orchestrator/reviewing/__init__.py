"""People who read a debate and judge it too: what their ballots ask, where they lie, and how far they agree.

`ballots` says what a ballot asks and whether it will do, `keeping` has the files, `paper` the form to be filled in,
`agreement` the arithmetic.
"""
