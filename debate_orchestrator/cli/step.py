"""`debate step` takes the replies of an agent host and prints the turns that are due then."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.consent import existing_debate
from debate_orchestrator.cli.driving import finished_sentence, print_estimate, print_reports, write_reports
from debate_orchestrator.cli.journals import find_journal, waits_for_host
from debate_orchestrator.cli.output import next_step, print_json, print_result, print_status, printing_problems
from debate_orchestrator.cli.piped import PipedInput
from debate_orchestrator.core import rapporteur, schedule
from debate_orchestrator.core.events import Event
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.budget import price_problems
from debate_orchestrator.engine.debate import (
    ChangeEvents,
    DebateSession,
    changed_issues,
    current_issues,
    issues_with_changes,
    limit_changes,
)
from debate_orchestrator.host.step import DueTurn, Stepper, StepResult, wait
from debate_orchestrator.host.turns_folder import TurnsFolder, read_named_reply
from debate_orchestrator.prompting.normalize import removed_references
from debate_orchestrator.prompting.replies import decode
from debate_orchestrator.reports.wording import ISSUES_CHANGED
from debate_orchestrator.setup.answers import host_problem
from debate_orchestrator.storage.journal import begins_like_one
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadReply, BadSettings
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import one_line

_LOCK_SECONDS = 10.0
"""Seconds that a step waits for another one, which has locked the journal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser, "waits for a host")
    about = "a reply in another file; TURN=- reads standard input"
    parser.add_argument("given", nargs="*", metavar="TURN=FILE", help=about)
    about = "replace the list of issues before it is argued: ids to keep (I3) and new questions, in the new order"
    parser.add_argument("--issues", nargs="+", metavar="I3", help=about)
    parser.add_argument("--one-agent", action="store_true", help="record that one agent takes every turn")
    flags.add_waiting(parser, "the replies that are due")
    flags.add_settings(parser, "max_cost")
    flags.add_json(parser)
    flags.add_schemas(parser)


def run(arguments: argparse.Namespace) -> int:
    piped, problems = PipedInput("reply", lambda turn, path: f"debate step JOURNAL {turn}={path}"), list[str]()
    if "=" in (arguments.journal or "") and not os.path.lexists(arguments.journal):
        arguments.given, arguments.journal = [arguments.journal, *arguments.given], None

    def read_and_step() -> int:
        try:
            arguments.journal = find_journal(arguments.journal, can_continue=waits_for_host)
            if begins_like_one(arguments.journal):  # nothing is written beside another file
                piped.folder = DebateFiles.of_journal(arguments.journal).turns_folder
                step_command = command("step", arguments.journal)
                piped.hand_in = lambda turn, path: f"{step_command} {turn}={path}"
        finally:  # a reply that comes is kept, with a journal and without
            replies = _read_replies(arguments.given, piped, problems)
        return _step(replies, piped, problems, arguments)

    return piped.saved_on_failure(read_and_step, problems)


def _step(replies: dict[str, str], piped: PipedInput, problems: list[str], arguments: argparse.Namespace) -> int:
    """Takes the replies, and prints what is due then. `problems` are those of other replies."""
    changes: ChangeEvents = partial(_changes, arguments)
    # A host's user permits every `step` at once, so consent is given by another verb, of which the user is asked.
    consent_command = f"{command('resume', arguments.journal)} --trust"
    open_session = partial(
        existing_debate, arguments.journal, consent_command=consent_command, lock_seconds=_LOCK_SECONDS
    )
    stepper = None
    if arguments.wait:
        if replies:  # they are saved before the wait, in which the step may be ended
            with open_session(changes) as session:
                stepper = _take(session, replies, piped, problems, arguments)
            changes = _no_changes
        wait(arguments.journal, arguments.wait, replies)  # another step may write the journal meanwhile
    with open_session(changes) as session:
        if not (session.state.due or arguments.json):
            print_status(finished_sentence(session.files.journal))
        if stepper is None:
            stepper = _take(session, replies, piped, problems, arguments)
        else:
            stepper.reattach(session)
        result = stepper.step()
        show = (*_changed_list(session.state, arguments), *result.show)
        result = result.model_copy(update={"problems": (*problems, *result.problems), "show": show})
        problems.clear()  # print_step tells them, also where it fails
        return print_step(result, session, arguments)


def _take(
    session: DebateSession,
    replies: dict[str, str],
    piped: PipedInput,
    problems: list[str],
    arguments: argparse.Namespace,
) -> Stepper:
    """A step that has taken the replies. Problems with others are added; the rest of `piped` stays in files."""
    folder = TurnsFolder(session.files.turns_folder, print_status)
    stepper = Stepper(session, folder, flags.permissions_of(arguments), print_estimate)
    try:
        stepper.take_replies(replies, one_agent=arguments.one_agent)
    except BaseException:
        if not session.journal.unsaved:
            piped.forget({reply.turn for reply in stepper.accepted})  # the journal has them
        raise
    piped.forget(replies.keys() - stepper.rejected)
    problems += stepper.problems
    problems += piped.save()
    stepper.problems.clear()
    return stepper


def _changes(arguments: argparse.Namespace, debate: DebateState) -> list[Event]:
    """The changed list of issues and cap. Raises BadSettings if a person has a seat, or for a cap that can't be
    kept."""
    cast_left = {seat: specs for seat, specs in debate.cast.items() if seat in schedule.seats_left(debate)}
    people = [seat for seat, specs in cast_left.items() if model_spec.HUMAN in specs]
    if debate.due and people:
        resume = command("resume", arguments.journal)
        host = f"seat the host: `{resume} {' '.join(f'--{seat} host' for seat in people)}`"
        # Beside a host, `resume` at a terminal comes no further than the host's next turn.
        terminal = "" if host_problem(cast_left) else f"go on at a terminal with `{resume}`, or "
        raise BadSettings("cast: a human has a seat, and `debate step` can't ask a person.", hint=terminal + host)
    limits = flags.checked_settings(arguments, debate.format, "max_cost")
    max_cost = limits.get("max_cost", debate.max_cost)
    if debate.max_cost is not None and (max_cost is None or max_cost > debate.max_cost):
        # A host's user permits every `step` at once.
        raise_command = f"{command('resume', arguments.journal)} --max-cost {arguments.max_cost}"
        hint = f"the user can raise it with `{raise_command}`"
        raise BadSettings("`debate step` can lower the cap on costs, not raise it.", hint=hint)
    if limits and max_cost is not None and (problems := price_problems(debate.cast)):
        raise BadSettings(problems)
    changes = limit_changes(debate, limits)
    if arguments.issues:
        changes.append(changed_issues(issues_with_changes(current_issues(debate), arguments.issues)))
    return changes


def _no_changes(_: DebateState) -> list[Event]:
    """For a debate that is opened again: its changes were made when it was opened first."""
    return []


def _changed_list(debate: DebateState, arguments: argparse.Namespace) -> list[str]:
    """The list of issues as it is now, where this step changed it, so that the user sees what was understood."""
    issue_list = rapporteur.issue_list(debate) if arguments.issues else None
    if issue_list is None:
        return []
    return [ISSUES_CHANGED, *(f"{name}. {one_line(question)}" for name, question in issue_list.issues.items())]


def _read_replies(pairs: list[str], piped: PipedInput, problems: list[str]) -> dict[str, str]:
    """The replies of TURN=FILE arguments by turn. What is wrong with those that are none is added to `problems`. Raises
    BadSettings for turns to which several replies are given."""
    replies, duplicates = dict[str, str](), list[str]()
    turns = [turn.strip() for turn, equals, _ in (pair.partition("=") for pair in pairs) if equals]
    for pair in pairs:
        turn, equals, path = pair.partition("=")
        turn, path = turn.strip(), path if os.path.lexists(path) else path.strip()
        if not equals:
            problems.append(f"{pair!r} is not a reply. Try: TURN=FILE, as in 1.opening.a=speech.md.")
            continue
        if turns.count(turn) > 1:
            duplicates.append(f"{one_line(turn)} is given twice.")
        try:
            from_file = path != "-"
            replies[turn] = read_named_reply(turn, path, piped.folder) if from_file else decode(turn, piped.read(turn))
        except BadReply as error:
            problems += error.problems
    if duplicates:
        raise BadSettings(dict.fromkeys(duplicates), hint="one TURN=FILE for each turn")
    return replies


def print_step(
    result: StepResult, session: DebateSession, arguments: argparse.Namespace, setup: Sequence[str] = ()
) -> int:
    """Prints what a step did and what is due, after the `setup`; writes the reports at the end. The exit code."""
    with printing_problems(result.problems):
        _print_results(result, session, arguments, setup)
    if result.turns and not arguments.json:
        next_step(f"write each reply to its file, then `{command('step', session.files.journal)}`.")
    return 2 if result.problems else 0


def _print_results(
    result: StepResult, session: DebateSession, arguments: argparse.Namespace, setup: Sequence[str]
) -> None:
    files = session.files
    reports = write_reports(session) if result.done else None
    summary = reports.summary if reports else None
    show = [line for line in (*setup, *result.show) if not summary or line not in summary]
    if arguments.json:
        fields: dict[str, Any] = {
            "status": "done" if result.done else "waiting",
            "journal": files.journal,
            "show": show,
            "accepted": [reply.model_dump(exclude_none=True) for reply in result.accepted],
            "complaints": list(result.problems),
            "turns": [_turn_fields(turn, schemas=arguments.schemas) for turn in result.turns],
            "report": files.report if result.done else None,
            "summary": summary,
        }
        report_data = {"html_report": reports.html_report} if reports else {}
        print_json(fields | report_data | ({"awaited": result.awaited} if result.awaited else {}))
    else:
        for line in show:
            print_result(line)
        if result.accepted and schedule.can_change_issues(session.state):
            print_result(
                "The list can be changed until a side has spoken on it: name the ids to keep and new questions, in the "
                f"new order, as in `{command('step', files.journal)} --issues I2 I1 'Who pays?'`."
            )
        for reply in result.accepted:
            words = plural(reply.words, "word")
            removed_text = "; ".join(removed_references(reply.changes or ()))
            print_status(" ".join(filter(None, (f"accepted {reply.turn} ({words})", reply.remark, removed_text))))
        for sentence in result.awaited:
            print_status(sentence)
        for turn in result.turns:
            print_result(f"due: {turn.turn} ({turn.title})", f"     brief {turn.brief}", f"     reply {turn.reply}")
        if reports:
            print_reports(reports)


def _turn_fields(turn: DueTurn, *, schemas: bool) -> dict[str, Any]:
    """A due turn as JSON; a brief holds its schema too."""
    with_schema = schemas and turn.json_schema is not None
    return turn.model_dump(exclude=None if with_schema else {"json_schema"})
