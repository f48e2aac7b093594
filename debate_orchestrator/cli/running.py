"""The verbs that drive a debate to its report: `run`, `resume`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from debate_orchestrator.cli import consent, seating
from debate_orchestrator.cli.beginning import block, check, create, seats, with_positions, write_report
from debate_orchestrator.cli.driving import driven, watched
from debate_orchestrator.cli.output import print_json, remark, say
from debate_orchestrator.cli.progress import Events, Progress, Prompts, spent
from debate_orchestrator.cli.setup import cap, settled
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import BudgetChanged, Event, Noted, Reassigned
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import budget, start
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.engine.start import opened_by
from debate_orchestrator.engine.turn import OnEvent, record_event
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.providers import discovery, registry
from debate_orchestrator.reports import wording
from debate_orchestrator.setup.settings import Settings
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings, ExternalError, Paused, complaint


def run(arguments: argparse.Namespace) -> int:
    """Opens a debate and drives it to its report."""
    return begin(settled(arguments, discovery.default if not arguments.rehearse else discovery.best), arguments)


def begin(answers: Settings, arguments: argparse.Namespace) -> int:
    """Opens a debate with these answers and drives it to its report; `arguments` tell how it is told (`quiet`, `json`),
    whether it is a rehearsal (`rehearse`), and which file the answers are from (`answers`)."""
    files = DebateFiles.of_output(answers.output)
    quiet = arguments.quiet or arguments.json or arguments.events
    if rehearse := arguments.rehearse or _stands_in_for_others(answers):
        answers = start.rehearsed(answers)
        files = files.beside(".rehearsed")  # the place of the real debate stays free
    permissions = seating.permitted(arguments)
    check(answers, files, events=arguments.events, permissions=permissions)
    answers, derived = with_positions(answers, _silent if quiet else remark, permissions)
    with create(answers, files, derived) as journal:
        expected = ""
        if rehearse:
            expected = estimate(opened_by(journal)).said()
            journal.append(Noted(note="estimate", detail=expected))
        if not quiet:
            for line in (*block(arguments, answers, files), seats(answers)):
                remark(line)
        return go_on(journal, files, arguments, expected)


def _stands_in_for_others(answers: Settings) -> bool:
    """Whether every seat has a stand-in for somebody who is named, as in the answers of a rehearsal: it is one again,
    and leaves the place of the real debate free."""
    specs = [spec for specs in answers.cast.values() for spec in specs]
    return all(model_spec.kind(spec) == model_spec.REHEARSE and model_spec.rest(spec) for spec in specs)


def _silent(line: str) -> None:
    """Says nothing."""


def resume(arguments: argparse.Namespace) -> int:
    """Drives a debate on from its journal, with another cap or cast where one is given."""
    files = DebateFiles.of_journal(arguments.journal)
    with JournalWriter(arguments.journal) as journal:
        debate = DebateState(journal.events)
        changes = _changes(arguments, debate)
        for event in changes:
            debate.admits(event)  # all of them, before the first is written
        typed = {event.seat: event.who for event in changes if isinstance(event, Reassigned)}
        consent.agree_to_debate(journal, debate, typed, trusted=arguments.trust)
        for event in changes:
            record_event(journal, debate, event)
        journal.sync()
        return go_on(journal, files, arguments)


def _changes(arguments: argparse.Namespace, debate: DebateState) -> list[Event]:
    """What the flags of `resume` change."""
    seats = {seat: value for seat in ("a", "b", "judge") if (value := getattr(arguments, seat)) is not None}
    recast = {seat: tuple(who) if isinstance(who, list) else (who,) for seat, who in seats.items()}
    wrong = registry.complaints(recast)
    wrong += seating.unseated({**debate.cast, **recast}, events=arguments.events) if debate.due() else []
    most = debate.max_cost if arguments.max_cost is None else cap(arguments.max_cost)
    if most is not None:
        wrong += budget.unpriced_seats({**debate.cast, **recast})
    if wrong:
        raise BadSettings(wrong)
    changes: list[Event] = [Reassigned(seat=seat, who=who) for seat, who in recast.items()]
    return changes if most == debate.max_cost else [BudgetChanged(max_cost=most), *changes]


def go_on(journal: JournalWriter, files: DebateFiles, arguments: argparse.Namespace, expected: str = "") -> int:
    """Runs what can be run, and writes the report when no turn is left. `expected` is the estimate in words, if it is
    known already: estimating plays the whole debate, with every brief."""
    debate = DebateState(journal.events)
    events = Events(journal.events) if arguments.events else None
    quiet = arguments.quiet or arguments.json or events is not None
    if debate.due() and not quiet:
        remark(expected or estimate(debate.opened, journal.events[1:]).said())
    if debate.due() and (changed := start.changed_prompts(debate)) is not None:
        record_event(journal, debate, changed, events)
    seats: Mapping[str, registry.Provider] = {}
    if debate.due():
        seats = registry.make_providers(debate, files.evidence, seating.permitted(arguments))
    person = seating.person(seats, files.drafts)
    shown = None if quiet else watched(debate, sys.stderr)
    progress: OnEvent = events or (shown.live.on_event if shown else Progress(debate, quiet=quiet))
    rehearses = any(model_spec.kind(spec) == model_spec.REHEARSE for specs in debate.cast.values() for spec in specs)
    prompts = Prompts(TurnsFolder(files.turns, remark)) if rehearses else None
    try:
        asyncio.run(driven(journal, debate, seats, progress, shown, person, prompts))
    except ExternalError as error:
        said = [one.replace(" JOURNAL", f" {files.journal}") for one in error.complaints]
        raise type(error)([*said, _saved(debate, files)]) from error
    due = debate.due()
    if due:
        names = ", ".join(turn.id for turn in due)
        hint = f"Take them with `debate step {files.journal}`."
        raise Paused(complaint(files.journal, f"turns that wait for the host: {names}", "their replies", hint))
    summary, page = write_report(journal, files)
    if arguments.json:
        told = {"journal": files.journal, "report": files.report, "page": page, "summary": summary}
        print_json({"status": "done", **_outcome(debate), **told})
        return 0
    if not quiet and (paid := spent(debate)):
        remark(paid)
    say(summary)
    if page and not quiet:
        remark(f"The same as a page: {page}")
    return 0


def _outcome(debate: DebateState) -> dict[str, Any]:
    """What was decided and spent, for a program; null where nothing was."""
    verdict, paid = debate.verdict(), costs_of(debate).total
    scores = {one.round: _points(one.scores) for one in debate.results() if one.scores}
    label = wording.label_of(verdict) if verdict else None
    scored = verdict is not None and (label is not None or not wording.is_labelled(verdict.panel))
    changed, mirrored = debate.flips()
    return {
        "winner": verdict.winner if verdict else None,
        "strength": verdict.strength if verdict else None,
        "label": label,
        "score": _number(verdict.score) if verdict and scored else None,
        "probability": _number(verdict.probability) if verdict else None,
        "votes": verdict.votes if verdict else None,
        "flips": {"changed": changed, "of": mirrored} if mirrored else None,
        "blind": _blind(debate),
        "scores": scores,
        "totals": _points(debate.totals()) if any(one.scores for one in debate.scored()) else None,
        "cost": {"usd": paid.cost, "calls": paid.calls, "of_unknown_price": paid.unknown},
    }


def _blind(debate: DebateState) -> dict[str, Any] | None:
    """What was held before the first word, and what each side gained after it."""
    votes, verdict = debate.blind_votes(), debate.verdict()
    if not votes:
        return None
    return {
        "votes": wording.count(votes),
        "labels": [vote.label for vote in votes] if wording.is_labelled(votes) else None,
        "swing": verdict.swing if verdict else None,
    }


def _points(scores: Mapping[str, Fraction]) -> dict[str, float]:
    return {side: float(points) for side, points in scores.items()}


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _saved(debate: DebateState, files: DebateFiles) -> str:
    turns = f"{len(debate.answers)} turn{'s' * (len(debate.answers) != 1)}"
    return f"{files.journal}: {turns} saved. Go on with `debate resume {files.journal}`."
