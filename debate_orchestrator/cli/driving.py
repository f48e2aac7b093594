"""Runs a debate from its journal to its report, and prints how it goes: in the live view at a terminal, elsewhere as
one line a turn, or as events in JSON."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.controls import control, live_view
from debate_orchestrator.cli.output import (
    at_terminal,
    next_step,
    print_json,
    print_json_line,
    print_problems,
    print_result,
    print_status,
)
from debate_orchestrator.core import rapporteur, schedule, speech_rules
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import BriefSent, CallFailed, Event, Rejected, ReplyEvent, StructuredReplyGiven
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.budget import estimate_debate
from debate_orchestrator.engine.debate import DebateSession, drive, finish, host_work_due, seat_providers
from debate_orchestrator.engine.turn import OnEvent, OnText, RunOptions
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.prompting.briefs import Brief, brief_file
from debate_orchestrator.prompting.normalize import removed_references
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.announcements import Announcer
from debate_orchestrator.reports.model import ReportModel, summary_line
from debate_orchestrator.reports.provenance import MISSING
from debate_orchestrator.util import coroutines, model_spec, sanitize
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import ExternalError
from debate_orchestrator.util.messages import command, ignore, shell_word
from debate_orchestrator.util.numbers import plural

if TYPE_CHECKING:
    from debate_orchestrator.terminal.turn import TerminalPeople


class ProgressLines:
    """Prints what happens as text; announcements that were printed before the debate paused are left out."""

    def __init__(self, debate: DebateState):
        self._announcer = Announcer()
        if debate.replies:
            self._announcer.new_announcements(debate)
        self._started: dict[str, float] = {}

    def __call__(self, debate: DebateState, event: Event) -> None:
        lines = []
        if isinstance(event, CallFailed | Rejected) and not _rejected_in_earlier_debate(event):
            lines.append(_problem_line(debate, event))
        if isinstance(event, BriefSent):
            self._started.setdefault(event.turn_id, time.monotonic())
        if isinstance(event, ReplyEvent) and not isinstance(event, Rejected):
            seconds = time.monotonic() - self._started.get(event.turn_id, time.monotonic())
            text = speech_rules.without_private_reasoning(debate, event.reply.text)
            changes_text = "".join(f"; {change}" for change in _removed_references(debate, event))
            size = _size(text, event.reply, seconds, costs_of(debate).total.cost)
            print_status(f"  {event.turn_id}: {size}{changes_text}")  # one line for scripts; it quotes nothing
        if line := wording.user_event_text(debate, event):
            lines.append(line)
        lines += [line.standalone_text(debate) for line in self._announcer.new_announcements(debate)]
        for line in lines:
            print_status(line, always_wrap=True)


def print_event(debate: DebateState, event: Event) -> None:
    print_json_line({"event": event.model_dump(mode="json")})


def write_brief(folder: TurnsFolder, debate: DebateState, turn: Turn, brief: Brief) -> None:
    """Writes the brief of a turn to a folder, so that a rehearsal shows what a model would be sent."""
    turn_files = folder.turn_files(turn.id, brief.wants)
    folder.write_brief(turn_files, brief_file(brief, debate, turn, os.path.basename(turn_files.reply)))


def spending_line(debate: DebateState) -> str:
    """The cost of the calls, in a line; empty if there were none."""
    costs = costs_of(debate)
    total = costs.total
    if not total.calls:
        return ""
    tokens = total.usage
    priced_seats = {seat: line.cost for seat, line in costs.of_seats().items() if line.calls > line.unpriced_calls}
    by_seat = ", ".join(f"{seat} ${cost:.4f}" for seat, cost in priced_seats.items())
    priced = (
        [f"{plural(total.calls - total.unpriced_calls, 'call')}: ${total.cost:.4f} ({by_seat})"] if priced_seats else []
    )
    unknown = [f"{plural(total.unpriced_calls, 'call')} of unknown price"] if total.unpriced_calls else []
    cache_writes = tokens.cache_write_5m + tokens.cache_write_1h
    calls = f"{', and '.join([*priced, *unknown])}."
    if not any((tokens.uncached_input, tokens.cached, cache_writes, tokens.output)):
        return calls
    return (
        f"{calls} Tokens: {tokens.uncached_input:,} uncached, "
        f"{tokens.cached:,} from cache, {cache_writes:,} written to it, {tokens.output:,} output."
    )


def _removed_references(debate: DebateState, event: ReplyEvent) -> list[str]:
    """The references to turns that were taken out of a reply, unless the reply must stay hidden."""
    is_shown = not rapporteur.is_hidden_advice(debate, schedule.turn(debate, event.turn_id))
    return removed_references(event.changes) if is_shown and isinstance(event, StructuredReplyGiven) else []


def _rejected_in_earlier_debate(event: Rejected | CallFailed) -> bool:
    """Whether this is a reply that was rejected in the debate that is judged again."""
    return isinstance(event, Rejected) and model_spec.kind(event.reply.spec) == model_spec.REPLAY


def _problem_line(debate: DebateState, event: Rejected | CallFailed) -> str:
    """The reason that a reply does not count or a call failed. The problem may quote a reply that must stay hidden."""
    if isinstance(event, Rejected) and rapporteur.is_hidden_advice(debate, schedule.turn(debate, event.turn_id)):
        why = "What is wrong with it is in the journal alone, since it may quote the advice."
        return f"  {event.turn_id}: the reply was rejected. {why}"
    if isinstance(event, Rejected):
        return f"  {event.turn_id}: the reply was rejected: {wording.problems_text(event)}"
    retry = "" if event.wait is None else f" Retried in {event.wait:.0f} s."
    return f"  {event.turn_id}: {event.problem}{retry}"


def _size(text: str, reply: Reply, seconds: float, total_cost: float) -> str:
    """The length of a reply without its private reasoning, what it took, and the model."""
    words = plural(sanitize.count_words(text), "word") if text.strip() else "no word"
    money = f", ${reply.cost:.4f} (${total_cost:.4f} so far)" if reply.cost else ""
    return f"{words}{money}, {seconds:.1f} s, {model_spec.public_name(reply.spec)}"


def finished_sentence(journal: str) -> str:
    """Says that a debate has no turn left to take, and what can be done with it."""
    return (
        f"{name_of(journal)} is finished: no turn is left, so its reports are written again. "
        f"`{command('replay', journal)}` plays it again, and `{command('judge', journal)} --judge MODEL` has another "
        "judge decide."
    )


def prints_estimate(arguments: argparse.Namespace) -> bool:
    """Whether what a debate is expected to take may be printed on stderr."""
    return not (arguments.quiet or arguments.events)


def prints_progress(arguments: argparse.Namespace) -> bool:
    """Whether lines on progress may be printed on stderr, too."""
    return prints_estimate(arguments) and not arguments.json


def drive_to_report(session: DebateSession, arguments: argparse.Namespace, estimate_text: str = "") -> int:
    """Takes every turn that is due, writes the reports and prints the outcome. The exit code is 3 if turns are left
    that only an agent host can take, or a part is missing that `resume` can still get. `arguments` are those of
    `flags.add_progress`, `flags.add_permissions` and `--json`; `estimate_text` says what a rehearsed debate would take
    with models. Raises ExternalError with the command that resumes."""
    files, quiet = session.files, not prints_progress(arguments)
    if session.state.due:
        _take_turns(session, arguments, estimate_text)
    elif not quiet:
        print_status(finished_sentence(files.journal))
    waits, hint = host_work_due(session.state, files.journal)
    if waits:
        if arguments.json:
            due = [turn.id for turn in session.state.due]
            print_json({"status": "waiting", "journal": files.journal, "due": due, "summary": waits})
        else:
            print_result(waits)
            next_step(f"{hint}.")
        return 3
    reports = write_reports(session)
    code = 3 if schedule.turns_to_reopen(session.state) else 0
    if arguments.json:
        paths = {
            "journal": files.journal,
            "report": files.report,
            "html_report": reports.html_report,
            "summary": reports.summary,
        }
        print_json({"status": "done", **outcome(reports.report), **paths})
        return code
    if not quiet and (spending := spending_line(session.state)):
        print_status(spending)
    print_reports(reports, quiet=quiet)
    rehearsal = model_spec.is_rehearsal(session.state.cast) or getattr(arguments, "rehearse", False)
    if reports.html_report and not quiet and not rehearsal:
        ask_first = f"`{command('resume', files.journal)}` asks for what is missing; then " if code else ""
        next_step(f"{ask_first}open {shell_word(reports.html_report)} in a browser.")
    return code


def _take_turns(session: DebateSession, arguments: argparse.Namespace, estimate_text: str) -> None:
    """Takes every turn that can be taken from here. An error is raised with what is saved and how to continue."""
    if prints_estimate(arguments):
        print_estimate(session, estimate_text)
    try:
        coroutines.run(_drive(session, arguments))
    except ExternalError as error:
        raise session.with_saved(error) from error


def print_estimate(session: DebateSession, estimate_text: str = "") -> None:
    """Prints on stderr what the turns left are expected to take, before the first call: a file may ask for much.
    `estimate_text` is that of `drive_to_report`."""
    rehearsal, text = bool(estimate_text) or model_spec.is_rehearsal(session.state.cast), estimate_text
    if not text:
        estimate = estimate_debate(session.state.opened, session.journal.events[1:])
        has_work = rehearsal or estimate.calls or estimate.host_turns or estimate.not_estimated_because
        text = estimate.sentence() if has_work else "No model is called."
    print_status(f"No model is called. With models it would take {text}." if rehearsal else text)


async def _drive(session: DebateSession, arguments: argparse.Namespace) -> None:
    """Drives the debate, with the live view and its keys at a terminal, and lines of text elsewhere."""
    quiet, debate, files = not prints_progress(arguments), session.state, session.files
    live = None if quiet else live_view(debate, sys.stderr)
    on_event: OnEvent = print_event if arguments.events else ignore
    for event in session.journal.events if arguments.events else ():  # a program gets the earlier ones too
        print_event(debate, event)
    on_text: OnText | None = None
    if live is not None:
        on_event, on_text = live.on_event, live.on_text
    elif not quiet:
        on_event = ProgressLines(debate)
    rehearses = any(map(model_spec.is_stand_in, model_spec.specs_of(debate.cast)))
    folder = TurnsFolder(files.turns_folder, live.message if live else print_status)
    people = terminal_people(debate.cast, files.drafts)
    async with control(session, live, on_event, people) as controls:
        providers = seat_providers(session, flags.permissions_of(arguments), people, controls.on_event)
        options = RunOptions(
            on_event=controls.on_event,
            on_text=on_text,
            on_brief=partial(write_brief, folder) if rehearses else ignore,
            stop=controls.stop,
            wait_for_resume=controls.wait_for_resume,
        )
        await drive(session, providers, options)


def terminal_people(cast: Mapping[str, tuple[str, ...]], drafts: str) -> TerminalPeople | None:
    """The person at this terminal, with their drafts in the folder `drafts`; None if no seat is a person's."""
    if model_spec.HUMAN not in model_spec.specs_of(cast):
        return None
    from debate_orchestrator.terminal.asking import Asker
    from debate_orchestrator.terminal.drafts import Drafts
    from debate_orchestrator.terminal.turn import TerminalPeople

    return TerminalPeople(Asker(), Drafts(drafts))


class WrittenReports(NamedTuple):
    """The reports of a debate that has ended."""

    report: ReportModel
    summary: str
    """The closing line."""
    html_report: str | None
    """The path of the HTML report; None if something else is in its place."""


def write_reports(session: DebateSession) -> WrittenReports:
    """Writes the report, in HTML too if it can be. Raises Paused if turns are left that only a host can take."""
    report, problems = finish(session, print_status)
    print_problems(problems)
    next_sentence = wording.ask_again_sentence(session.state, session.files.journal)
    summary = f"{summary_line(report, session.files.report)} {next_sentence}".rstrip()
    return WrittenReports(report, summary, None if problems else session.files.html_report)


def print_reports(reports: WrittenReports, *, quiet: bool = False) -> None:
    """Prints how a debate ended and where its report is; with `quiet`, the closing line alone."""
    print_result(reports.summary)
    winner_is_behind = reports.report.verdict is not None and reports.report.verdict.winner_is_behind
    more_lines = (
        wording.WINNER_BEHIND if winner_is_behind else "",
        f"HTML report: {name_of(reports.html_report)}" if reports.html_report else "",
    )
    for line in () if quiet else filter(None, more_lines):
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


_VERDICT_FIELDS = ("winner", "strength", "label", "score", "probability", "votes", "swing", "totals")
"""The verdict for programs, with the names of the JSON report."""


def outcome(report: ReportModel) -> dict[str, Any]:
    """The decision and the costs, as JSON. A value is null if the format does not have it, or if stand-ins left
    nothing to decide. For a rehearsal, `estimate` says in words what the real debate would take."""
    verdict = report.verdict
    verdict_fields = verdict.model_dump(mode="json", by_alias=True) if verdict else {}
    verdict_fields = {name: value for name, value in verdict_fields.items() if value != {}}
    rounds = [judged.model_dump(mode="json", include={"number", "scores"}) for judged in report.rounds]
    judging, total = report.judging, report.costs.total if report.costs else None
    return {
        **{name: verdict_fields.get(name) for name in _VERDICT_FIELDS},
        "why_nothing_decided": report.why_nothing_decided or None,
        "scores": {judged["number"]: judged["scores"] for judged in rounds if judged["scores"]},
        "flips": {"changed": judging.flipped_votes, "of": judging.mirrored_votes} if judging.mirrored_votes else None,
        "missing": [note.text for note in report.notes if note.kind == MISSING],
        "cost": {
            "usd": (total and total.usd_known) or 0,
            "calls": total.calls if total else 0,
            "of_unknown_price": total.calls_unknown if total else 0,
        },
        "rehearsed": report.run.rehearsed,
        "estimate": next((note.text for note in report.notes if note.kind == "estimate"), None),
    }
