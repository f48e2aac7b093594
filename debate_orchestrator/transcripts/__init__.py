"""Debates that were written down elsewhere, read back to their speeches.

`reading` is the way in: a document to a transcript, or every complaint about it. `documents` knows the shapes
that such documents come in, `attribution` who a line of one names, `speeches` what came out.
"""
