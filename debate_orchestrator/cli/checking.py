"""The verb that checks judges before they are believed: `judges`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os

from debate_orchestrator import casts, probing, providers, scorecards, spending
from debate_orchestrator.checking import Check
from debate_orchestrator.cli.interrupts import STOPPING, heeded
from debate_orchestrator.cli.output import print_json, remark, say
from debate_orchestrator.cli.setup import cap
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Event, Spoiled, Unanswered, Voted
from debate_orchestrator.core.figures import decimals
from debate_orchestrator.core.rules import JUDGE
from debate_orchestrator.datafiles import is_link, name_of, read_regular, write_whole
from debate_orchestrator.errors import BadAnswers, BadFile, DebateError, Failed, Paused, Theirs, complaint, shown
from debate_orchestrator.files import Files
from debate_orchestrator.probing import SIDES, Probes
from debate_orchestrator.unsaved import Unsaved

FOLDER = "judge-check"
MOST_TIMES = 20
_HOST = (
    "A host takes its turns itself, and nobody here can put dozens of them before it. Name a model that can be called, "
    'or the program that runs the host: --judge "command:claude -p".'
)
_HUMAN = "The probes are dozens of ballots for a program; a person judges with `debate judge JOURNAL --judge human`."
_NOBODY = (casts.HOST, casts.REPLAY, casts.HUMAN)
_REPLAY = "A recording says again what it said of other speeches."


def judges(arguments: argparse.Namespace) -> int:
    """Puts the probes before judges and writes their card; without --probe, lists the probes."""
    probes = probing.load()
    if not arguments.probe:
        return _listed(arguments, probes)
    names, times, most = _settled(arguments)
    folder = os.path.expanduser(arguments.output or FOLDER)
    if not arguments.output and is_link(folder):
        raise BadFile(complaint(folder, "a symbolic link", "a folder, or nothing", "Name another --output."))
    check = Check(probes, names, times, folder, most)
    files = Files.of_output(os.path.join(folder, "card.md"))
    _must_be_ours(files.report)
    before = _card(check)
    quiet = arguments.quiet or arguments.json
    if check.left() and not quiet:
        remark(f"{len(check.left())} of {len(check.sittings)} ballots to be had: {check.estimate().said()}")
    kept_from = _asked(check, _Progress(check, quiet=quiet))
    told = scorecards.data(check.card())
    data = files.report.removesuffix(".md") + ".json"
    for path, old, new in zip((files.report, data), before, _card(check), strict=True):
        if kept := write_whole(path, new, ours=old.encode().__eq__):
            remark(f"{name_of(path)} was not the card of the ballots there before: kept as {name_of(kept)}.")
    if kept_from:
        raise _stopped(kept_from, check, files.report)
    if arguments.json:
        print_json({**told, "card": files.report, "data": data})
        return 0
    say(scorecards.table(check.card()))
    say(f"Card written to {files.report}.")
    return 0


def _listed(arguments: argparse.Namespace, probes: Probes) -> int:
    """Lists what there is to put before a judge. BadAnswers where flags ask for more."""
    flags = ("judge", "times", "output", "max_cost")
    given = [f"--{name.replace('_', '-')}" for name in flags if getattr(arguments, name) is not None]
    if given:
        hint = "Add --probe to put the probes before judges; `debate judges` alone lists them."
        raise BadAnswers(complaint("judges", f"{', '.join(given)} without --probe", "--probe with them", hint))
    cases = probing.cases(probes)
    ballots = len(probing.versions(cases))
    counts = {kind.name: sum(case.kind == kind for case in cases) for kind in probes.kinds}
    if arguments.json:
        kinds = [kind.model_dump(exclude={"ways"}) | {"cases": counts[kind.name]} for kind in probes.kinds]
        debates = [{"name": bout.name, "title": bout.title, "topic": bout.topic} for bout in probes.bouts]
        print_json({"kinds": kinds, "debates": debates, "cases": len(cases), "ballots": ballots})
        return 0
    for kind in probes.kinds:
        say(f"{kind.title} ({counts[kind.name]} cases): {kind.about}")
    say(f"\n{len(cases)} cases in {len(probes.bouts)} debates, {ballots} ballots of each judge. To have them judged:")
    say("  debate judges --probe --judge anthropic:MODEL --max-cost USD")
    return 0


def _settled(arguments: argparse.Namespace) -> tuple[list[str], int, float | None]:
    """The judges, how often they judge, and the cap. BadAnswers with everything that is wrong."""
    names, wrong, most = list(arguments.judge or []), list[str](), None
    if not names:
        hint = "As in --judge anthropic:claude-opus-5-5; `debate models` tells who can be asked."
        wrong.append(complaint("--judge", "none", "one judge or more", hint))
    twice = dict.fromkeys(one for one in names if names.count(one) > 1)
    wrong += [complaint("--judge", f"{casts.shown(one)} twice", "each once", "--times repeats.") for one in twice]
    for kind, why in ((casts.HOST, _HOST), (casts.REPLAY, _REPLAY), (casts.HUMAN, _HUMAN)):
        if any(casts.kind(one) == kind for one in names):
            wrong.append(complaint("--judge", kind, "somebody who can be called", why))
    cast = {JUDGE: tuple(dict.fromkeys(one for one in names if casts.kind(one) not in _NOBODY))}
    wrong += providers.complaints(cast) or providers.lacking(cast)
    said = arguments.times or "1"
    times = int(said) if said.isascii() and said.isdigit() and len(said) < 4 else 0
    if not 1 <= times <= MOST_TIMES:
        wrong.append(complaint("--times", shown(said), f"1 to {MOST_TIMES}"))
    if arguments.max_cost is not None:
        try:
            most = cap(arguments.max_cost)
        except BadAnswers as error:
            wrong += error.complaints
        wrong += spending.unpriced(cast) if most is not None else []
    if wrong:
        raise BadAnswers(wrong)
    return names, times, most


def _card(check: Check) -> tuple[str, str]:
    """The card as it stands, as markdown and as JSON."""
    card = check.card()
    return scorecards.markdown(card), json.dumps({"schema": 1, **scorecards.data(card)}, indent=1) + "\n"


def _must_be_ours(path: str) -> None:
    """BadFile where something else than a card lies in its place."""
    try:
        there = read_regular(path)
    except OSError:
        return
    if there and not there.startswith(scorecards.HEADING.encode()):
        hint = "Name another --output, or move it away."
        raise BadFile(complaint("output", f"{path}, which holds something else", "a card, or nothing", hint))


def _asked(check: Check, progress: _Progress) -> list[Theirs]:
    """Has every ballot that can be had; what kept it from having them all."""
    return asyncio.run(_interruptible(check, progress))


async def _interruptible(check: Check, progress: _Progress) -> list[Theirs]:
    """An interrupt stops the asking and awaits the answers under way; a second one leaves them."""
    stop, task, unsaved = asyncio.Event(), asyncio.current_task(), Unsaved(remark)

    def interrupted() -> None:
        unsaved.give_up()
        if stop.is_set() and task is not None:
            task.cancel()
        elif not stop.is_set():
            stop.set()
            remark(STOPPING)

    kept_from = list[Theirs]()
    try:
        with heeded(interrupted):
            kept_from = await check.run(stop, progress, unsaved)
    except asyncio.CancelledError:
        pass
    if stop.is_set() and check.left():
        for said in (said for error in kept_from for said in error.complaints):
            remark(said)
        raise KeyboardInterrupt(f"interrupted; {_saved(check)}")
    return kept_from


def _stopped(kept_from: list[Theirs], check: Check, card: str) -> DebateError:
    """What ends the command where ballots are still to be had."""
    said = dict.fromkeys(said for error in kept_from for said in error.complaints)
    kind = Failed if any(error.exit_code == Failed.exit_code for error in kept_from) else Paused
    return kind([*said, f"{_saved(check)} What is there so far is told in {card}."])


def _saved(check: Check) -> str:
    whole = len(check.sittings)
    return f"{whole - len(check.left())} of {whole} ballots are saved. The same command goes on with the others."


class _Progress:
    """Says what happens, as it happens; nothing where it is to be quiet."""

    def __init__(self, check: Check, *, quiet: bool):
        self._check, self._quiet = check, quiet

    def __call__(self, debate: Debate, event: Event) -> None:
        if self._quiet or not isinstance(event, Voted | Spoiled | Unanswered):
            return
        course = debate.opened.course
        who = f"  {casts.shown(debate.cast[JUDGE][0])} on {course.source if course else 'a debate'}"
        try:
            remark(f"{who}: {self._told(debate, event)}")
        except OSError:
            pass  # nobody listens any more; the check goes on

    def _told(self, debate: Debate, event: Voted | Spoiled | Unanswered) -> str:
        if isinstance(event, Unanswered):
            return event.trouble + ("" if event.wait is None else f" Asked again in {event.wait:.0f} s.")
        if isinstance(event, Spoiled):
            return f"a ballot that will not do: {'; '.join(event.complaints)}"
        made = debate.result(debate.rounds)
        assert made is not None
        scores = ", ".join(f"{side.upper()} {decimals(made.scores[side])}" for side in SIDES)
        return f"{scores}, winner {made.winner}; {len(self._check.left())} left"
