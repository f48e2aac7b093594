"""The verbs that drive a debate to its report: `run`, `resume`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from debate_orchestrator import casts, opening, providers, spending
from debate_orchestrator.answers import Answers
from debate_orchestrator.calls import Watch, record
from debate_orchestrator.cli import consent, seating
from debate_orchestrator.cli.beginning import block, check, create, rehearsed, seats, with_positions, write_report
from debate_orchestrator.cli.driving import driven, watched
from debate_orchestrator.cli.output import print_json, remark, say
from debate_orchestrator.cli.progress import Events, Progress, Prompts, spent
from debate_orchestrator.cli.setup import cap, settled
from debate_orchestrator.core.bill import bill
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Capped, Event, Noted, Recast
from debate_orchestrator.errors import BadAnswers, Paused, Theirs, complaint
from debate_orchestrator.estimate import estimate
from debate_orchestrator.files import Files
from debate_orchestrator.host.desk import Desk
from debate_orchestrator.journal import Writer
from debate_orchestrator.providers import reach
from debate_orchestrator.reports import lines


def run(arguments: argparse.Namespace) -> int:
    """Opens a debate and drives it to its report."""
    return begin(settled(arguments, reach.default if not arguments.rehearse else reach.best), arguments)


def begin(answers: Answers, arguments: argparse.Namespace) -> int:
    """Opens a debate with these answers and drives it to its report; `arguments` tell how it is told (`quiet`, `json`),
    whether it is a rehearsal (`rehearse`), and which file the answers are from (`answers`)."""
    files = Files.of_output(answers.output)
    quiet = arguments.quiet or arguments.json or arguments.events
    if rehearse := arguments.rehearse or _stands_in_for_others(answers):
        answers = rehearsed(answers)
        files = files.beside(".rehearsed")  # the place of the real debate stays free
    check(answers, files, events=arguments.events)
    answers, derived = with_positions(answers, _silent if quiet else remark)
    with create(answers, files, derived) as journal:
        if rehearse:
            detail = estimate(Debate(journal.events).opened).said()
            journal.append(Noted(note="estimate", detail=detail))
        if not quiet:
            for line in (*block(arguments, answers, files), seats(answers)):
                remark(line)
        return go_on(journal, files, arguments)


def _stands_in_for_others(answers: Answers) -> bool:
    """Whether every seat has a stand-in for somebody who is named, as in the answers of a rehearsal: it is one again,
    and leaves the place of the real debate free."""
    specs = [spec for specs in answers.cast.values() for spec in specs]
    return all(casts.kind(spec) == casts.REHEARSE and casts.rest(spec) for spec in specs)


def _silent(line: str) -> None:
    """Says nothing."""


def resume(arguments: argparse.Namespace) -> int:
    """Drives a debate on from its journal, with another cap or cast where one is given."""
    files = Files.of_journal(arguments.journal)
    with Writer(arguments.journal) as journal:
        debate = Debate(journal.events)
        changes = _changes(arguments, debate)
        for event in changes:
            debate.admits(event)  # all of them, before the first is written
        typed = {event.seat: event.who for event in changes if isinstance(event, Recast)}
        consent.agree_to_debate(journal, debate, typed, trusted=arguments.trust)
        for event in changes:
            record(journal, debate, event)
        journal.sync()
        return go_on(journal, files, arguments)


def _changes(arguments: argparse.Namespace, debate: Debate) -> list[Event]:
    """What the flags of `resume` change."""
    seats = {seat: value for seat in ("a", "b", "judge") if (value := getattr(arguments, seat)) is not None}
    recast = {seat: tuple(who) if isinstance(who, list) else (who,) for seat, who in seats.items()}
    wrong = providers.complaints(recast)
    wrong += seating.unseated({**debate.cast, **recast}, events=arguments.events) if debate.due() else []
    most = debate.max_cost if arguments.max_cost is None else cap(arguments.max_cost)
    if most is not None:
        wrong += spending.unpriced({**debate.cast, **recast})
    if wrong:
        raise BadAnswers(wrong)
    changes: list[Event] = [Recast(seat=seat, who=who) for seat, who in recast.items()]
    return changes if most == debate.max_cost else [Capped(max_cost=most), *changes]


def go_on(journal: Writer, files: Files, arguments: argparse.Namespace) -> int:
    """Drives what can be driven, and writes the report when nothing is left."""
    debate = Debate(journal.events)
    events = Events(journal.events) if arguments.events else None
    quiet = arguments.quiet or arguments.json or events is not None
    if debate.due() and not quiet:
        remark(estimate(debate.opened, journal.events[1:]).said())
    if debate.due() and (changed := opening.changed_prompts(debate)) is not None:
        record(journal, debate, changed, events)
    seats: Mapping[str, providers.Provider] = providers.seated(debate, files.evidence) if debate.due() else {}
    person = seating.person(seats, files.drafts)
    shown = None if quiet else watched(debate, sys.stderr)
    progress: Watch = events or (shown.live.on_event if shown else Progress(debate, quiet=quiet))
    if any(casts.kind(spec) == casts.REHEARSE for specs in debate.cast.values() for spec in specs):
        progress = Prompts(Desk(files.turns, remark), progress)
    try:
        asyncio.run(driven(journal, debate, seats, progress, shown, person))
    except Theirs as error:
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


def _outcome(debate: Debate) -> dict[str, Any]:
    """What was decided and spent, for a program; null where nothing was."""
    verdict, paid = debate.verdict(), bill(debate).total
    scores = {one.round: _points(one.scores) for one in debate.results() if one.scores}
    label = lines.label_of(verdict) if verdict else None
    scored = verdict is not None and (label is not None or not lines.is_labelled(verdict.panel))
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


def _blind(debate: Debate) -> dict[str, Any] | None:
    """What was held before the first word, and what each side gained after it."""
    votes, verdict = debate.blind_votes(), debate.verdict()
    if not votes:
        return None
    return {
        "votes": lines.count(votes),
        "labels": [vote.label for vote in votes] if lines.is_labelled(votes) else None,
        "swing": verdict.swing if verdict else None,
    }


def _points(scores: Mapping[str, Fraction]) -> dict[str, float]:
    return {side: float(points) for side, points in scores.items()}


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _saved(debate: Debate, files: Files) -> str:
    turns = f"{len(debate.answers)} turn{'s' * (len(debate.answers) != 1)}"
    return f"{files.journal}: {turns} saved. Go on with `debate resume {files.journal}`."
