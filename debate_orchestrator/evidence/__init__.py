"""Checks quotes: does the page at an address hold the words that a speaker quotes from it?

A speaker names the address, so neither the address nor the page can be trusted. Start at `check.check`; its module has
the table of outcomes.
"""
