"""debate_orchestrator: guided debates between two opponents that will not agree too soon.

The engine runs the debate; models, agents and people only speak in it. The way through the house:

    interview, answers   what is asked before a debate, and what was answered
    opening              answers -> the first event
    core/                the pure room: events in, next turns out, ballots into verdicts
    briefs, replies      turn -> what is put before a seat; reply -> event
    journal              one debate, one file of events
    drive                THE LOOP
    providers/           those who can be asked
    host                 the other way round: an agent host takes briefs and brings replies
    reports/             a finished or paused journal, told
    cli/                 the verbs

Importing does nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"
