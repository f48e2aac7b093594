"""Reports of a debate: a journal becomes one typed report model, from which every type of report file is made.

`model` builds the model out of `parts`; `report_sections` and `verdict_text` put it into phrases and tables
(`rich_text`), in which everyone's words are marked; `markdown` and `html` write those, each safe in its own way;
`json_report` dumps the model. `report_files` writes and checks the files; `announcements` is what is shown while the
debate runs; `compare` sets several debates side by side.
"""
