"""The clerk's room: does the page at an address really hold the words that are quoted from it?

What is fetched was named by a speaker, so both the address and the page are a stranger's. `checking.check` is the
way in; `checking` has the table of what can come of it.
"""
