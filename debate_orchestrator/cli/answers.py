"""`debate answers`: prints a commented answers file, or the answers that made a journal."""

from __future__ import annotations

import argparse
import os
from typing import Any

from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import to_yaml

EXAMPLE = "debate answers > answers.yaml"

_SAMPLE = """\
# Answers for `debate run --answers FILE` (models speak) and `debate open --answers FILE` (an agent host does).
topic: Should this service move from REST to gRPC for internal calls?
positions:                 # or: positions: auto, to have them derived
  a: The service should move from REST to gRPC for internal calls.
  b: The service should keep REST for internal calls.
rounds: 3                  # 1 to 6; 7 and 8 need insist: true; 1 is a quick verdict
strictness: strict         # lenient | strict
output: debate-report.md   # a file that ends in .md, or a folder that is made if need be
format: adversarial        # `debate formats` lists them; or your own: ./town-hall
first: a                   # who speaks first
feedback: true             # whether debaters hear the judge's advice for their next round
context: []                # files both sides may draw on, such as [notes/latency.md]
# cast: {a: anthropic:claude-sonnet-5-5, b: anthropic:claude-sonnet-5-5, judge: [anthropic:claude-opus-5-5]}
#                          # unset: an agent host (`open`), or the models there are (`run`; `debate models` tells)
max_cost: null             # US dollars that calls may cost; null is no cap
search: false              # whether debaters may search the web, where their provider can
patience: 600              # seconds that a turn may be in trouble before the debate is paused
leader_first: false        # true: calls that share a cache wait for the first of them; cheaper and a little slower
# mirror: true             # every judge also votes on the debate with the sides exchanged; what flips is no vote
# quorum: 2                # judges whose votes must count for a decision; more than half of the panel unless given
# blind: true              # judges also vote before the first word is said
# each_round: true         # judges vote after every round, in formats that leave that open
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="journal", metavar="JOURNAL", help="the answers that made this journal instead")


def run(arguments: argparse.Namespace) -> int:
    if arguments.journal:
        debate = fold(read(arguments.journal).events)
        report = DebateFiles.of_journal(arguments.journal).report
        print(to_yaml(_answers_of(debate, os.path.basename(report)), ascii_only=True), end="")
    else:
        print(_SAMPLE, end="")
    return 0


def _answers_of(debate: DebateState, output: str) -> dict[str, Any]:
    """The answers that make the same debate again. Optional ones stand only where they differ from the default."""
    opened = debate.opened
    setup = opened.setup
    answers: dict[str, Any] = {
        "topic": setup.topic,
        "positions": setup.positions,
        "rounds": setup.rounds,
        **({"insist": True} if setup.rounds > opened.format.rounds.most else {}),
        "strictness": setup.strictness,
        "output": output,
        "format": _format_of(opened),
        "first": setup.first,
        "feedback": setup.feedback,
        "context": [os.path.basename(file.name) for file in setup.context],
        "cast": {seat: list(models) if len(models) > 1 else models[0] for seat, models in opened.cast.items()},
        "max_cost": opened.max_cost,
        "search": setup.search,
        "patience": opened.patience,
        "leader_first": opened.leader_first,
        **{name: True for name in ("mirror", "blind", "each_round") if getattr(setup, name)},
        **({"quorum": setup.quorum} if setup.quorum > 1 else {}),
        **({"one_agent": True} if any(note.note == "one agent" for note in debate.notes) else {}),
        "sources": dict(setup.sources),
    }
    return answers


def _format_of(opened: Opened) -> str:
    """The format of a debate as an answers file names it; one of the user's own by the folder where it would be."""
    name = opened.format.name
    return name if name in resources.format_names() else f"./{name}"
