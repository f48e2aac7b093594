"""The verbs before a debate: `answers`, `ask`; and the answers of a command line, settled."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from debate_orchestrator.cli import consent
from debate_orchestrator.cli.given import answers as given_answers
from debate_orchestrator.cli.output import complain, print_json, remark
from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import EVERYBODY
from debate_orchestrator.engine import format_check
from debate_orchestrator.formats import loader
from debate_orchestrator.host.setup import AskResult
from debate_orchestrator.host.setup import ask as ask_host
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.session import Ask, Propose, QuestionTexts, Ready, load
from debate_orchestrator.setup.settings import LARGEST_CAP, Settings, format_of, settings_from
from debate_orchestrator.storage.paths import REPORT, DebateFiles
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import LARGEST, read_mapping, to_yaml
from debate_orchestrator.util.errors import BadSettings, DebateError, complaint, short_repr
from debate_orchestrator.util.model_spec import HOST

DEFAULT_FORMAT = "adversarial"

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


def interview(rules_name: str = DEFAULT_FORMAT, default_output: str = REPORT) -> Questionnaire:
    """The setup conversation in the words of prompts/ and the limits of a format."""
    return Questionnaire(_words(), loader.load(rules_name), default_output)


@cache
def _words() -> QuestionTexts:
    return QuestionTexts.model_validate(resources.read_yaml("interview.yaml"))


def _interview_of(path: str, in_force: str = "") -> Questionnaire:
    """The conversation that a file keeps, in the format that it names; in the usual one, which is told, where that is
    a path which is not `in_force` and to which the user has not agreed."""
    named = format_of(read_mapping(path) if os.path.exists(path) else {}, DEFAULT_FORMAT)
    if named != in_force and consent.lacking(consent.of_file(path), risks.of_answers({"format": named})):
        hint = "`debate open --trust` agrees to it."
        remark(f"{short_repr(named)} has prompts of its own, so the questions are those of {DEFAULT_FORMAT}. {hint}")
        named = DEFAULT_FORMAT
    return interview(named)


def answers(arguments: argparse.Namespace) -> int:
    """Prints a sample, or the answers that made a journal."""
    if not arguments.journal:
        print(_SAMPLE, end="")
        return 0
    from debate_orchestrator.core.state import DebateState
    from debate_orchestrator.storage.journal import read

    debate = DebateState(read(arguments.journal).events)
    opened = debate.opened
    setup = opened.setup
    again: dict[str, Any] = {
        "topic": setup.topic,
        "positions": setup.positions,
        "rounds": setup.rounds,
        **({"insist": True} if setup.rounds > opened.format.rounds.most else {}),
        "strictness": setup.strictness,
        "output": os.path.basename(DebateFiles.of_journal(arguments.journal).report),
        "format": _format_of(opened),
        "first": setup.first,
        "feedback": setup.feedback,
        "context": [os.path.basename(one.name) for one in setup.context],
        "cast": {seat: list(who) if len(who) > 1 else who[0] for seat, who in opened.cast.items()},
        "max_cost": opened.max_cost,
        "search": setup.search,
        "patience": opened.patience,
        "leader_first": opened.leader_first,
        **{name: True for name in ("mirror", "blind", "each_round") if getattr(setup, name)},
        **({"quorum": setup.quorum} if setup.quorum > 1 else {}),
        **({"one_agent": True} if any(note.note == "one agent" for note in debate.notes) else {}),
        "sources": dict(setup.sources),
    }
    print(to_yaml(again, ascii_only=True), end="")
    return 0


def _format_of(opened: Opened) -> str:
    """The format of a debate as an answers file names it; for one of the user's own, the folder where it would lie."""
    name = opened.format.name
    return name if name in resources.format_names() else f"./{name}"


def ask(arguments: argparse.Namespace) -> int:
    """One exchange of the setup conversation; the complaints are in the JSON, and on stderr."""
    given: dict[str, str] = {}
    for pair in arguments.given:
        key, found, value = pair.partition("=")
        if not found:
            raise BadSettings(complaint("answer", repr(pair), "KEY=VALUE", 'Quote it, as in topic="..."'))
        given[key] = sys.stdin.read(LARGEST) if value == "-" else value
    exchange = ask_host(arguments.file, given, _interview_of(arguments.file), remark)
    origin = consent.of_file(arguments.file)
    print_json(_told(arguments.file, exchange, consent.lacking(origin, risks.of_answers(exchange.settled))))
    complain(exchange.complaints)
    return 2 if exchange.complaints else 0


def _told(path: str, exchange: AskResult, lacking: Sequence[risks.Risk]) -> dict[str, Any]:
    """An exchange as `ask` prints it; `lacking` is what the user has still to agree to."""
    now, laid = exchange.now, exchange.laid
    told: dict[str, Any] = {"answers": path}
    if isinstance(now, Ready):
        told |= {"status": "ready", "show": now.show.split("\n")}
    elif isinstance(now, Ask):
        choices = [{"value": value, "about": about} for value, about in now.choices] or None
        told |= {"status": "ask", "question": {**now.model_dump(), "choices": choices}}
    elif laid is not None:
        turn = {"turn": now.turn, "seat": "moderator", "title": f"Setup: {now.name}", "brief": laid.brief}
        turn |= {"reply": laid.reply, "wants": "json"}
        told |= {"status": "propose", "turns": [turn | {"json_schema": now.json_schema}]}
    return told | {
        "settled": exchange.settled,
        "sources": exchange.sources,
        "trust": [one.model_dump() for one in lacking],
        "complaints": list(exchange.complaints),
    }


def settled(arguments: argparse.Namespace, filler: Callable[[str], str] = lambda seat: HOST) -> Settings:
    """The answers of a file and the flags over it; `filler` tells who fills a seat that nobody is named for.
    BadAnswers with everything that is wrong, and where the file is a setup conversation that is not finished."""
    given = given_answers(arguments)
    if arguments.answers:
        consent.agree_to_answers(arguments.answers, _of_the_file(given, arguments), trusted=arguments.trust)
    talk = given.get("setup")
    name = format_of(given, DEFAULT_FORMAT) if arguments.format is None else arguments.format
    wrong: list[str] = []
    try:
        rules = format_check.load(name)
    except DebateError as error:
        wrong += error.complaints
        rules = loader.load(DEFAULT_FORMAT)
    flags = _flags(arguments, given, rules)
    sources = given.get("sources")
    given |= flags
    if flags and isinstance(sources, dict | None):
        given["sources"] = {**(sources or {}), **dict.fromkeys(_sourced(flags), "flag")}
    try:
        made = settings_from(given, rules, REPORT, filler)
    except BadSettings as error:
        raise BadSettings(wrong + error.complaints) from None
    if wrong:
        raise BadSettings(wrong)
    if talk is not None:
        _must_be_ready(arguments.answers, name)
    return made


def _of_the_file(given: Mapping[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """What is taken from an answers file, and not given by flags or filled by stand-ins."""
    flags = ("context", "output", "format")
    kept = {key: value for key, value in given.items() if key not in flags or getattr(arguments, key) is None}
    cast = kept.get("cast")
    cast = dict.fromkeys(EVERYBODY, cast) if isinstance(cast, str) else cast
    if getattr(arguments, "rehearse", False) or not isinstance(cast, dict):
        cast = {}
    return kept | {
        "cast": {seat: who for seat, who in cast.items() if seat not in EVERYBODY or getattr(arguments, seat) is None}
    }


def _must_be_ready(path: str, format: str) -> None:
    now = _interview_of(path, format).next(load(path))
    if isinstance(now, Ready):
        return
    left = f"{now.turn} is still to be answered" if isinstance(now, Propose) else f"the question `{now.key}` is open"
    hint = f"Go on with `debate ask {path}`."
    raise BadSettings(complaint(path, f"a setup conversation in which {left}", "a finished one", hint))


def _flags(arguments: argparse.Namespace, given: dict[str, Any], rules: Format) -> dict[str, Any]:
    """The flags that were given, by their key in an answers file of that format."""
    names = ("topic", "strictness", "output", "format", "first", "context")
    flags = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if arguments.rounds is not None:
        flags["rounds"] = arguments.rounds
    if arguments.insist:
        flags["insist"] = True
    if arguments.one_agent:
        flags["one_agent"] = True
    flags |= {name: True for name in ("search", "leader_first") if getattr(arguments, name)}
    flags |= panel(arguments)
    flags |= {name: amount(said) for name in ("max_cost", "patience") if (said := getattr(arguments, name)) is not None}
    sides = {side: getattr(arguments, f"position_{side}") for side in ("a", "b")}
    if any(sides.values()):
        before = given.get("positions")
        flags["positions"] = {**(before if isinstance(before, dict) else {}), **{k: v for k, v in sides.items() if v}}
    seats = {seat: value for seat in ("a", "b", "judge") if (value := getattr(arguments, seat)) is not None}
    if seats:
        cast = given.get("cast")
        everybody = [seat for seat in EVERYBODY if seat in rules.seated]
        cast = dict.fromkeys(everybody, cast) if isinstance(cast, str) else cast
        flags["cast"] = {**(cast if isinstance(cast, dict) else {}), **seats}
    return flags


def panel(arguments: argparse.Namespace) -> dict[str, Any]:
    """How judges vote, where flags say so."""
    names = ("mirror", "blind", "each_round")
    said: dict[str, Any] = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if arguments.quorum is not None:
        said["quorum"] = int(arguments.quorum) if arguments.quorum.isdigit() else arguments.quorum
    return said


def amount(said: str) -> float | str:
    """A number as it was meant; the text itself where it is none, for the check to complain of."""
    try:
        return float(said)
    except ValueError:
        return said


def cap(said: str) -> float | None:
    """A cap on costs as a flag gives it; None for no cap. BadAnswers where it is none."""
    value = amount(said)
    if isinstance(value, float) and 0 < value < LARGEST_CAP:
        return value
    if said == "none":
        return None
    raise BadSettings(complaint("--max-cost", repr(said), "US dollars above 0, or none"))


def _sourced(flags: dict[str, Any]) -> list[str]:
    return [key for key in flags if key in ("topic", "positions", "rounds", "strictness", "output", "first", "format")]
