"""A debate, shown live at a terminal.

Reading order: `cells` measures text, `layout` makes lines of it, `voices` holds what is being said, `bars` and
`status` draw, `live` is told what happens, `terminal` prints, `keys` reads, `session` holds the terminal meanwhile,
and `playing` plays a recorded debate at a reader's pace.

What is finished is printed as ordinary lines, so that the terminal's own scroll-back has the whole debate; only
what is still open, with the status below it, is written over.
"""
