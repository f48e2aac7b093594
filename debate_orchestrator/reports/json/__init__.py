"""The report for programs: one JSON object, whose form is a promise.

`facts` and `counts` are that form, what was said and what was counted; `data` fills it from a story and writes it.
"""
