"""Runs a debate from its journal to its report, and prints how it goes: in the live view at a terminal, elsewhere as
one line a turn, or as events in JSON."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.controls import controlled, watch
from debate_orchestrator.cli.output import (
    at_terminal,
    next_step,
    print_json,
    print_json_line,
    print_problems,
    print_status,
    say,
)
from debate_orchestrator.core import rapporteur, schedule, speech_rules, tally
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import BriefSent, CallFailed, Event, Rejected, ReplyEvent
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.core.verdict import Verdict
from debate_orchestrator.engine.debate import OpenDebate, drive, finish, seat_providers
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.engine.turn import OnEvent, OnText
from debate_orchestrator.host.turns_folder import TurnsFolder, earlier_briefs
from debate_orchestrator.prompting.briefs import Brief, brief_file
from debate_orchestrator.providers import registry
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.announcements import Announcer
from debate_orchestrator.reports.model import summary_line
from debate_orchestrator.reports.provenance import only_stand_ins_judged
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.util import coroutines, model_spec, sanitize
from debate_orchestrator.util.errors import ExternalError
from debate_orchestrator.util.messages import command, ignore
from debate_orchestrator.util.numbers import plural

if TYPE_CHECKING:
    from debate_orchestrator.terminal.turn import TerminalPeople


def finished(journal: str) -> str:
    """Says that a debate has no turn left to take, and what can be done with it."""
    return (
        f"{journal} is finished: no turn is left, so its reports are written again. `{command('replay', journal)}` "
        f"plays it again, and `{command('judge', journal)} --judge MODEL` has another judge decide."
    )


def is_silent(arguments: argparse.Namespace) -> bool:
    """Whether not even what a debate is expected to take may be printed on stderr."""
    return bool(arguments.quiet or arguments.events)


def is_quiet(arguments: argparse.Namespace) -> bool:
    """Whether stderr must stay free of progress lines."""
    return is_silent(arguments) or bool(arguments.json)


def drive_to_report(debate: OpenDebate, arguments: argparse.Namespace, estimate_text: str = "") -> int:
    """Takes every turn that is due, writes the reports and prints the outcome. Returns the exit code: 3 if a part is
    missing that `resume` can still get, such as the decision brief.

    `arguments` are those of `flags.add_progress`, `flags.add_permissions` and `--json`. In a rehearsal, `estimate_text`
    says what the debate would take with models. Raises ExternalError with the command that resumes, and Paused if
    turns are left that only an agent host can take."""
    files, quiet = debate.files, is_quiet(arguments)
    if debate.state.due:
        _take_turns(debate, arguments, estimate_text)
    elif not quiet:
        print_status(finished(files.journal))
    written = write_reports(debate)
    code = 3 if schedule.asked_again(debate.state) else 0
    if arguments.json:
        paths = {"journal": files.journal, "report": files.report, "page": written.page, "summary": written.summary}
        print_json({"status": "done", **outcome(debate.state), **paths})
        return code
    if not quiet and (spending := spending_line(debate.state)):
        print_status(spending)
    tell_reports(written, quiet=quiet)
    rehearsal = model_spec.is_rehearsal(debate.state.cast) or getattr(arguments, "rehearse", False)
    if written.page and not quiet and not rehearsal:
        next_step(f"open {written.page} in a browser.")
    return code


def _take_turns(debate: OpenDebate, arguments: argparse.Namespace, estimate_text: str) -> None:
    """Takes every turn that can be taken from here. An error is raised with what is saved and how to continue."""
    if not is_silent(arguments):
        tell_estimate(debate, estimate_text)
    try:
        coroutines.run(_drive(debate, arguments))
    except ExternalError as error:
        raise debate.with_saved(error) from error


def tell_estimate(debate: OpenDebate, estimate_text: str = "") -> None:
    """Prints on stderr what the turns that are left are expected to take. Every verb does so before its first call,
    since a file from elsewhere may name dear models, many judges and much context. `estimate_text` is that of
    `drive_to_report`."""
    rehearsal = estimate_text or model_spec.is_rehearsal(debate.state.cast)
    text = estimate_text or estimate(debate.state.opened, debate.journal.events[1:]).sentence()
    print_status(f"No model is called. With models it would take {text}." if rehearsal else text)


async def _drive(debate: OpenDebate, arguments: argparse.Namespace) -> None:
    """Drives the debate, with the live view and its keys at a terminal, and lines of text elsewhere."""
    quiet, state, files = is_quiet(arguments), debate.state, debate.files
    screen = None if quiet else watch(state, sys.stderr)
    on_event: OnEvent = _print_event if arguments.events else ignore
    for event in debate.journal.events if arguments.events else ():  # a program is told of those before, too
        _print_event(state, event)
    on_text: OnText | None = None
    if screen is not None:
        on_event, on_text = screen.live.on_event, screen.live.on_text
    elif not quiet:
        lines = ProgressLines(state)
        on_event, on_text = lines, lines.on_text
    rehearses = any(map(model_spec.is_stand_in, model_spec.specs_of(state.cast)))
    folder = TurnsFolder(files.turns, screen.live.message if screen else print_status)
    person = person_here(state.cast, files.drafts)
    async with controlled(debate, screen, on_event, person) as controls:
        await drive(
            debate,
            seat_providers(debate, flags.permitted(arguments), person, controls.on_event),
            on_event=controls.on_event,
            on_text=on_text,
            on_brief=BriefFiles(folder, debate.journal) if rehearses else None,
            stop=controls.stop,
            paused=controls.paused,
            unsaved=controls.unsaved,
        )


def person_here(cast: Mapping[str, tuple[str, ...]], drafts: str) -> TerminalPeople | None:
    """The person at this terminal, whose unfinished replies are kept in the folder `drafts`; None if the cast has no
    seat for a person."""
    if model_spec.HUMAN not in model_spec.specs_of(cast):
        return None
    from debate_orchestrator.terminal.drafts import Drafts
    from debate_orchestrator.terminal.line_prompter import terminal_prompter
    from debate_orchestrator.terminal.turn import TerminalPeople

    return TerminalPeople(terminal_prompter(), Drafts(drafts))


class WrittenReports(NamedTuple):
    """The reports of a debate that has ended."""

    summary: str
    """The closing line."""
    caveat: str
    """What that line leaves out: that its winner is behind on points. Empty otherwise."""
    page: str | None
    """The path of the HTML report; None if something else is in its place."""


def write_reports(debate: OpenDebate) -> WrittenReports:
    """Writes the report and its page. If the page can't be written, that is printed as an error; the debate has ended
    all the same. Raises Paused if turns are left that only an agent host can take."""
    report, problems = finish(debate, print_status)
    print_problems(problems)
    behind = report.verdict is not None and report.verdict.behind
    again = wording.asking_again(debate.state, debate.files.journal)
    summary = f"{summary_line(report, debate.files.report)} {again}".rstrip()
    return WrittenReports(summary, wording.BEHIND if behind else "", None if problems else debate.files.page)


def tell_reports(written: WrittenReports, *, quiet: bool = False) -> None:
    """Prints how a debate ended and where its report is; with `quiet`, the closing line alone."""
    say(written.summary)
    more = (written.caveat, f"The same as a page: {written.page}" if written.page else "")
    for line in () if quiet else filter(None, more):
        print_status(line)


def events_problems(cast: Mapping[str, tuple[str, ...]], arguments: argparse.Namespace) -> list[str]:
    """A problem if people have seats and `--events` would print at their terminal what they must not see."""
    seats = ", ".join(seat for seat, specs in cast.items() if model_spec.HUMAN in specs)
    if not (seats and arguments.events and at_terminal(sys.stderr)):
        return []
    return [
        f"cast: {seats}: a human can't share the terminal with --events, which prints what they must not see yet. "
        "Leave --events out: the journal gets the same events as they happen, for a program to follow."
    ]


def outcome(state: DebateState) -> dict[str, Any]:
    """The decision and the costs, as JSON. A value is null if the format does not have it, or if only stand-ins judged.
    For a rehearsal, `estimate` says in words what the real debate would take."""
    verdict = None if only_stand_ins_judged(state) else tally.verdict(state)
    total = costs_of(state).total
    label = wording.label_of(verdict) if verdict else None
    scored = verdict is not None and (label is not None or not wording.is_labelled(verdict.panel))
    changed, mirrored = tally.flips(state)
    return {
        "winner": verdict.winner if verdict else None,
        "strength": verdict.strength if verdict else None,
        "label": label,
        "score": float(verdict.score) if verdict and scored and verdict.score is not None else None,
        "probability": float(verdict.probability) if verdict and verdict.probability is not None else None,
        "votes": verdict.vote_counts if verdict else None,
        "flips": {"changed": changed, "of": mirrored} if mirrored else None,
        "blind": _blind(state, verdict),
        "scores": {result.round: _points(result.scores) for result in tally.results(state) if result.scores},
        "totals": _points(tally.totals(state)) if any(result.scores for result in tally.scored(state)) else None,
        "missing": [wording.unwritten(state, turn) for turn in schedule.unwritten(state)],
        "cost": {"usd": total.cost, "calls": total.calls, "of_unknown_price": total.unknown},
        "rehearsed": any(map(model_spec.is_stand_in, model_spec.specs_of(state.cast))),
        "estimate": next((note.detail for note in state.notes if note.note == "estimate"), None),
    }


def _blind(state: DebateState, verdict: Verdict | None) -> dict[str, Any] | None:
    """The votes before the first word, and what each side gained after them."""
    if not (votes := tally.blind_votes(state)):
        return None
    return {
        "votes": wording.votes_by_winner(votes),
        "labels": [vote.label for vote in votes] if wording.is_labelled(votes) else None,
        "swing": verdict.swing if verdict else None,
    }


def _points(scores: Mapping[str, Fraction]) -> dict[str, float]:
    return {side: float(points) for side, points in scores.items()}


# What is printed while it runs

FIRST_REPORT, NEXT_REPORTS = 15.0, 60.0
"""Seconds after which a turn that takes long is reported for the first time, and then again and again."""


class ProgressLines:
    """Prints what happens as text; announcements that were printed before the debate paused are left out. Every minute
    it says what a slow turn is doing: a laptop takes minutes to read a long prompt."""

    def __init__(self, state: DebateState):
        self._announcer = Announcer()
        if state.replies:
            self._announcer.new(state)
        self._started: dict[str, float] = {}
        self._heard: dict[str, int] = {}
        """Turn under way to the words of its answer, once that has begun."""
        self._reports: dict[str, asyncio.TimerHandle] = {}

    def __call__(self, state: DebateState, event: Event) -> None:
        lines = []
        if isinstance(event, CallFailed | Rejected) and not _rejected_in_earlier_debate(event):
            lines.append(_problem_line(state, event))
        if isinstance(event, BriefSent):
            self._started.setdefault(event.turn, time.monotonic())
            self._report_later(state, event.turn, FIRST_REPORT)
        if isinstance(event, ReplyEvent | CallFailed):
            self._heard.pop(event.turn, None)
            if (report := self._reports.pop(event.turn, None)) is not None:
                report.cancel()
        if isinstance(event, ReplyEvent) and not isinstance(event, Rejected):
            seconds = time.monotonic() - self._started.get(event.turn, time.monotonic())
            text = speech_rules.without_private_working(state, event.reply.text)
            lines.append(f"  {event.turn}: {_size(text, event.reply, seconds, costs_of(state).total.cost)}")
        if line := wording.announced(state, event):
            lines.append(line)
        lines += [line.shown_alone(state) for line in self._announcer.new(state)]
        with suppress(OSError):  # stderr was closed; the debate continues
            for line in lines:
                print_status(line)

    def on_text(self, turn: Turn, piece: str) -> None:
        """A piece of an answer has come; an empty one says that the answer has begun."""
        self._heard[turn.id] = self._heard.get(turn.id, 0) + sum(map(str.isspace, piece))

    def _report_later(self, state: DebateState, turn_id: str, seconds: float) -> None:
        with suppress(RuntimeError):  # no loop runs: the event is not of a call
            loop = asyncio.get_running_loop()
            self._reports[turn_id] = loop.call_later(seconds, self._report, state, turn_id)

    def _report(self, state: DebateState, turn_id: str) -> None:
        """Prints what a turn that takes long is doing."""
        seconds = time.monotonic() - self._started[turn_id]
        if (words := self._heard.get(turn_id)) is not None:
            doing = f"writing, about {words:,} words so far" if words else "thinking"
        else:
            reads = registry.api_of(spec_in(state, schedule.turn(state, turn_id).seat))
            doing = "reading the prompt" if reads else "no word yet"
        with suppress(OSError):
            print_status(f"  {turn_id}: {doing}, {seconds:.0f} s")
        self._report_later(state, turn_id, NEXT_REPORTS)


def _print_event(state: DebateState, event: Event) -> None:
    print_json_line({"event": event.model_dump(mode="json")})


class BriefFiles:
    """Writes the brief of every turn to a folder, so that a rehearsal shows what a model would be sent."""

    def __init__(self, folder: TurnsFolder, journal: JournalWriter):
        self._folder, self._journal = folder, journal

    def __call__(self, state: DebateState, turn: Turn, brief: Brief) -> None:
        turn_files = self._folder.turn_files(turn.id, brief.wants)
        name = os.path.basename(turn_files.reply)
        self._folder.write_brief(
            turn_files, brief_file(brief, state, turn, name), earlier_briefs(self._journal.events, turn, name)
        )


def spending_line(state: DebateState) -> str:
    """What the calls have cost, in a line; empty if there were none."""
    costs = costs_of(state)
    total = costs.total
    if not total.calls:
        return ""
    tokens = total.usage
    known = {seat: line.cost for seat, line in costs.of_seats().items() if line.calls > line.unknown}
    by_seat = ", ".join(f"{seat} ${cost:.4f}" for seat, cost in known.items())
    priced = [f"{plural(total.calls - total.unknown, 'call')}: ${total.cost:.4f} ({by_seat})"] if known else []
    unknown = [f"{plural(total.unknown, 'call')} of unknown price"] if total.unknown else []
    written = tokens.written + tokens.written_hour
    calls = f"{', and '.join([*priced, *unknown])}."
    if not any((tokens.fresh, tokens.cached, written, tokens.output)):
        return calls
    return (
        f"{calls} Tokens: {tokens.fresh:,} fresh, "
        f"{tokens.cached:,} from cache, {written:,} written to it, {tokens.output:,} output."
    )


def _rejected_in_earlier_debate(event: Rejected | CallFailed) -> bool:
    """Whether this is a reply that was rejected in the debate that is judged again."""
    return isinstance(event, Rejected) and model_spec.kind(event.reply.by) == model_spec.REPLAY


def _problem_line(state: DebateState, event: Rejected | CallFailed) -> str:
    """Why a reply does not count or a call failed. The problem may quote a reply that must stay hidden."""
    if isinstance(event, Rejected) and rapporteur.is_hidden_advice(state, schedule.turn(state, event.turn)):
        why = "it is not JSON" if "reply is not JSON" in " ".join(event.problems) else "it is not what was asked for"
        return f"  {event.turn}: the reply was rejected: {why}."
    if isinstance(event, Rejected):
        return f"  {event.turn}: the reply was rejected: {'; '.join(event.problems)}"
    retry = "" if event.wait is None else f" Retried in {event.wait:.0f} s."
    return f"  {event.turn}: {event.problem}{retry}"


def _size(text: str, reply: Reply, seconds: float, total_cost: float) -> str:
    """The length of a reply without its private working, what it took, and the model."""
    words = f"{sanitize.count_words(text):,} words" if text.strip() else "no word"
    money = f", ${reply.cost:.4f} (${total_cost:.4f} so far)" if reply.cost else ""
    return f"{words}{money}, {seconds:.1f} s, {model_spec.public_name(reply.by)}"
