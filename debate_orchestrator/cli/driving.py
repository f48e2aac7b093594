"""Runs a debate from its journal to its report, and prints how it went."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.controls import run_with_controls, watch
from debate_orchestrator.cli.debates import ConsentedDebate
from debate_orchestrator.cli.interrupts import terminated_like_interrupted
from debate_orchestrator.cli.output import next_step, print_errors, print_json, remark, say
from debate_orchestrator.cli.progress import BriefFiles, JsonEvents, ProgressLines, spending_line
from debate_orchestrator.core import tally
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import start
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.engine.next_command import asks_again, next_command
from debate_orchestrator.engine.turn import OnEvent, record_event
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.providers import registry
from debate_orchestrator.providers.registry import Personal, Provider
from debate_orchestrator.reports import forms, wording
from debate_orchestrator.reports.model import build_report, closing_line
from debate_orchestrator.reports.review_files import gather_reviews
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import ExternalError, Paused
from debate_orchestrator.util.messages import command, ignore
from debate_orchestrator.util.numbers import plural

if TYPE_CHECKING:
    from debate_orchestrator.terminal.turn import Person


def finished(journal: str) -> str:
    """Says that a debate has no turn left to take, and what can be done with it."""
    return (
        f"{journal} is finished: no turn is left, so its reports are written again. `{command('replay', journal)}` "
        f"plays it again, and `{command('judge', journal)} --judge MODEL` has another judge decide."
    )


def is_quiet(arguments: argparse.Namespace) -> bool:
    """Whether stderr must stay free of progress lines."""
    return bool(arguments.quiet or arguments.json or arguments.events)


def drive_to_report(debate: ConsentedDebate, arguments: argparse.Namespace, expected: str = "") -> int:
    """Takes every turn that is due, writes the reports and prints the outcome; returns the exit code.

    `arguments` are those of `flags.add_progress`, `flags.add_permissions` and `--json`. `expected` is, in a rehearsal,
    what the debate would take with models, in words. Raises ExternalError with the
    command that resumes, and Paused if turns are left that only an agent host can take."""
    journal, files = debate.journal, debate.files
    if debate.state.due:
        with terminated_like_interrupted():
            try:
                _take_turns(debate, arguments, expected)
            except KeyboardInterrupt as interrupt:
                raise KeyboardInterrupt(str(interrupt) or f"interrupted; {_go_on(debate)}") from None
    elif not is_quiet(arguments):
        remark(finished(files.journal))
    if due := ", ".join(turn.id for turn in debate.state.due):
        hint = f"`{next_command(debate.state, files.journal)}` to take them"
        raise Paused(f"{files.journal}: turns wait for the host: {due}.", hint=hint)
    written = write_reports(journal, files)
    if arguments.json:
        paths = {"journal": files.journal, "report": files.report, "page": written.page, "summary": written.summary}
        print_json({"status": "done", **outcome(debate.state), **paths})
        return 0
    quiet = is_quiet(arguments)
    if not quiet and (spending := spending_line(debate.state)):
        remark(spending)
    say(written.summary)
    if written.remark and not quiet:
        remark(written.remark)
    if written.page and not quiet:
        remark(f"The same as a page: {written.page}")
        if not (model_spec.is_rehearsal(debate.state.cast) or getattr(arguments, "rehearse", False)):
            next_step(f"open {written.page} in a browser.")
    return 0


def _take_turns(debate: ConsentedDebate, arguments: argparse.Namespace, expected: str) -> None:
    """Runs the loop until nothing is left that can be called."""
    journal, state, files = debate.journal, debate.state, debate.files
    quiet = is_quiet(arguments)
    if not quiet:
        estimate_text = expected or estimate(state.opened, journal.events[1:]).sentence()
        rehearsal = expected or model_spec.is_rehearsal(state.cast)
        remark(f"No model is called. With models it would take {estimate_text}." if rehearsal else estimate_text)
    json_events = JsonEvents(journal.events) if arguments.events else None
    if (changed := start.changed_prompts(state)) is not None:
        record_event(journal, debate.current, changed, json_events)
    seats = registry.make_providers(debate.current, files.evidence, flags.permitted(arguments))
    person = connect_person(seats, files.drafts)
    screen = None if quiet else watch(state, sys.stderr)
    progress = ProgressLines(state)
    on_event: OnEvent = ignore if quiet else progress
    on_event = json_events or (screen.live.on_event if screen else on_event)
    rehearses = any(model_spec.is_stand_in(spec) for specs in state.cast.values() for spec in specs)
    folder = TurnsFolder(files.turns, screen.live.message if screen else remark)
    on_brief = BriefFiles(folder, journal) if rehearses else None
    try:
        on_text = None if quiet else progress.on_text
        asyncio.run(run_with_controls(journal, debate.current, seats, on_event, screen, person, on_brief, on_text))
    except ExternalError as error:
        raise type(error)([*error.complaints, f"{files.journal}: {_go_on(debate)}"]) from error


def _go_on(debate: ConsentedDebate) -> str:
    """What is saved, and the command that continues."""
    turns = len(debate.state.answers)
    return f"{plural(turns, 'turn')} saved. Go on with `{next_command(debate.state, debate.files.journal)}`."


def connect_person(seats: Mapping[str, Provider], drafts: str) -> Person | None:
    """Gives every human seat the person at this terminal, whose unfinished replies are kept in the folder `drafts`.
    Returns that person; None if there is no such seat."""
    personal = [provider for provider in seats.values() if isinstance(provider, Personal)]
    if not personal:
        return None
    from debate_orchestrator.terminal.drafts import Drafts
    from debate_orchestrator.terminal.prompt import here
    from debate_orchestrator.terminal.turn import Person

    person = Person(here(), Drafts(drafts))
    for provider in personal:
        provider.person = person
    return person


class Written(NamedTuple):
    """The reports of a debate that has ended."""

    summary: str
    """The closing line."""
    remark: str
    """What that line leaves out: that its winner is behind on points. Empty otherwise."""
    page: str | None
    """The path of the HTML report; None if something else is in its place."""


def write_reports(journal: JournalWriter, files: DebateFiles) -> Written:
    """Writes the report of a journal and its page. If the page can't be written, that is printed as an error; the
    debate has ended all the same."""
    report = build_report(journal.entries, gather_reviews(files.ballots, journal.entries))
    errors = forms.write_both(report, files.report, files.page, remark)
    print_errors(errors)
    behind = report.verdict is not None and "winner is behind on points" in report.verdict.remarks
    again = asks_again(fold(journal.events), files.journal)
    summary = f"{closing_line(report, files.report)} {again}".rstrip()
    return Written(summary, wording.BEHIND if behind else "", None if errors else files.page)


def outcome(debate: DebateState) -> dict[str, Any]:
    """What was decided and spent, as JSON; null for what the format does not have."""
    verdict, total = tally.verdict(debate), costs_of(debate).total
    label = wording.label_of(verdict) if verdict else None
    scored = verdict is not None and (label is not None or not wording.is_labelled(verdict.panel))
    changed, mirrored = tally.flips(debate)
    return {
        "winner": verdict.winner if verdict else None,
        "strength": verdict.strength if verdict else None,
        "label": label,
        "score": _number(verdict.score) if verdict and scored else None,
        "probability": _number(verdict.probability) if verdict else None,
        "votes": verdict.votes if verdict else None,
        "flips": {"changed": changed, "of": mirrored} if mirrored else None,
        "blind": _blind(debate),
        "scores": {result.round: _points(result.scores) for result in tally.results(debate) if result.scores},
        "totals": _points(tally.totals(debate)) if any(result.scores for result in tally.scored(debate)) else None,
        "cost": {"usd": total.cost, "calls": total.calls, "of_unknown_price": total.unknown},
    }


def _blind(debate: DebateState) -> dict[str, Any] | None:
    """The votes before the first word, and what each side gained after them."""
    votes, verdict = tally.blind_votes(debate), tally.verdict(debate)
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
