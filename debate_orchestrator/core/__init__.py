"""The core, without I/O: who speaks next, what they have heard, and what the ballots add up to.

All that decides who speaks next is here. No module of the core knows which model or person fills a seat, and none
touches files, network, clock, chance or asyncio.

Read in this order: `events` (what has happened), `shape` (what a structured reply looks like), `format` (a format as
data), `verdict` (ballots in, numbers out), `state` (a debate as frozen data), `speech_rules`, `tally` and `schedule`
(functions over it), `fold` (events in, state out).
"""
