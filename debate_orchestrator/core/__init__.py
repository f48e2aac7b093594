"""The pure room: who speaks next, what they have heard, and what the ballots add up to.

Law 1: whatever decides who speaks next lives here.
Law 2: nothing here knows who fills a seat.
Law 3: no files, no network, no clock, no chance, no asyncio.

Read in this order: `events` (what has happened), `shapes` (what a structured reply looks like),
`rules` (a format as data), `verdict` (ballots in, numbers out), `record` (the answers, and what they say),
`debate` (events in, next turns out).
"""
