"""The core, without I/O: who speaks next, what they have heard, and what the ballots add up to.

Whatever decides who speaks next lives here. Nothing here knows who fills a seat, and nothing touches files, network,
clock, chance or asyncio.

Read in this order: `events` (what has happened), `schema` (what a structured reply looks like), `format` (a format as
data), `verdict` (ballots in, numbers out), `state` (a debate as frozen data), `speech_rules`, `tally` and `schedule`
(functions over it), `fold` (events in, state out).
"""
