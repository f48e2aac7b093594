"""Reports of a debate: a journal becomes one typed report model, from which every type of report file is made.

`model` builds the model out of `parts`; `markdown`, `html` and `json` render it; `report_files` writes and checks the
files; `announcements` is what is shown while the debate runs; `compare` sets several debates side by side.
"""
