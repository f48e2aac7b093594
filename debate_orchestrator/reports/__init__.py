"""Reports of a debate: a journal becomes one typed report model, which every form renders.

`model` builds the model out of `parts`; `markdown`, `html` and `json` render it; `report_files` writes and checks the
files; `announcements` is what is shown while the debate runs; `compare` sets several debates side by side.
"""
