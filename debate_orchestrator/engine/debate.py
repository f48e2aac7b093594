"""A debate session (a debate with an open journal): created, continued with consent, driven to its end, and reported.

The command line, the library and the browser all go this way: `create_debate` or `continue_debate`, then `drive`, then
`finish`. Tournaments, whose journals may be in a database, begin with `open_journal`. Nothing else takes turns. A user
may add events meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from pydantic import ValidationError

from debate_orchestrator.core import rapporteur, schedule
from debate_orchestrator.core.events import (
    MAX_QUESTION_LENGTH,
    BudgetChanged,
    Event,
    IssuesChanged,
    Opened,
    QuestionAsked,
    Reassigned,
    Reopened,
    ReplyEvent,
    RetryForChanged,
)
from debate_orchestrator.core.fold import CurrentState, apply
from debate_orchestrator.core.settings import MAX_ISSUES, line_problems
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.engine.budget import Budget
from debate_orchestrator.engine.start import changed_prompts
from debate_orchestrator.engine.turn import OnEvent, RunOptions, TurnRunner, awaited_calls, record_event
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.providers.provider import NO_PERMISSIONS, People, Permissions, Provider
from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.model import ReportModel, report_of
from debate_orchestrator.reports.wording import next_command
from debate_orchestrator.setup import risks
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_lines import state_of_events
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.storage.running_elsewhere import must_not_run_elsewhere, tournament_of
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import (
    BadSettings,
    DiskFull,
    DoesNotFit,
    ExternalError,
    Paused,
    ProviderFailed,
    ReplyPending,
    short_repr,
    with_hint,
)
from debate_orchestrator.util.messages import Notify, command, ignore
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import one_line

RequireConsent = Callable[[JournalWriter, tuple[risks.Risk, ...]], None]
"""Returns if the user consents to these risks of a journal; raises otherwise."""
FollowUpEvents = Callable[[Opened], Sequence[Event]]
"""Makes the events that follow the first one at once."""
OnJournal = Callable[[JournalWriter], None]
"""Called with a new journal before a model is paid, so that the caller can tell which replies were lost if a
write fails."""
ChangeEvents = Callable[[DebateState], list[Event]]
"""Checks that a debate can be continued, and returns the events that record its changes. Raises if it can't."""


@dataclass(frozen=True)
class DebateSession:
    """A debate whose journal this process alone writes, until the end of its `with` block, which syncs and closes it.
    The functions below make it, after the user's consent to what its journal names."""

    journal: JournalWriter
    current: CurrentState
    files: DebateFiles

    @property
    def state(self) -> DebateState:
        return self.current.state

    @property
    def saved_message(self) -> str:
        """Says what is saved, and which command continues."""
        resume_command = next_command(self.state, self.files.journal)
        if not self.journal.is_in_place():
            problem = "the journal is gone: it was deleted, moved or replaced meanwhile."
            return f"{problem} Put it back, or a copy of it, then continue with `{resume_command}`."
        lost_count = len(self.journal.unsaved)
        lost_text = f"{plural(lost_count, 'reply', 'replies')} lost, as named above. " if lost_count else ""
        replies = {event.turn_id for event in self.journal.saved_events() if isinstance(event, ReplyEvent)}
        is_rejudging = self.state.opened.earlier_debate is not None  # which gave all replies but its judges'
        counted = [turn for turn in schedule.turns_taken(self.state) if turn.judging or not is_rejudging]
        saved_text = plural(len(replies & {turn.id for turn in counted}), "reply", "replies")
        return f"{lost_text}{saved_text} saved. Continue with `{resume_command}`."

    def with_saved(self, error: ExternalError) -> ExternalError:
        """The error, extended by what is saved and how to continue."""
        return type(error)([*error.problems, f"{self.files.journal}: {self.saved_message}"])

    def record(self, event: Event, on_event: OnEvent = ignore, *, queue_if_disk_full: bool = False) -> bool:
        """Writes an event and folds it into the state, as `record_event` does; False if it is on record already."""
        return record_event(self.journal, self.current, event, on_event, queue_if_disk_full=queue_if_disk_full)

    def __enter__(self) -> DebateSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.journal.sync()
        finally:
            self.journal.close()


# Opening


def create_debate(opened: Opened, files: DebateFiles, follow_up_events: Sequence[Event] = ()) -> DebateSession:
    """Begins a journal with its first events. Raises BadJournal if there is one, PermanentFailure if it can't be
    written."""
    return _record_all(JournalWriter.create(files.journal, opened), files, follow_up_events)


async def create_paid_debate(
    opened_event: Awaitable[Opened],
    files: DebateFiles,
    follow_up_events: FollowUpEvents = lambda opened: (),
    on_journal: OnJournal = ignore,
) -> DebateSession:
    """As `create_debate`, for a first event that calls may have to be paid for. The journal is locked before the event
    is awaited, so that nothing else can take its name. The event then waits for room on a full disk."""
    journal = JournalWriter.reserve(files.journal)
    with journal.closed_on_failure():
        on_journal(journal)
        opened = await opened_event
        journal.append(opened, queue_if_disk_full=bool(opened.moderator_replies))
        await journal.wait_for_room()
        journal.sync()
    return _record_all(journal, files, follow_up_events(opened))


def open_journal(journal: JournalWriter, files: DebateFiles) -> DebateSession:
    """The debate of a journal that is open; it is synced and closed where it was opened."""
    return DebateSession(journal, CurrentState(state_of_events(journal.path, journal.events)), files)


def _record_all(journal: JournalWriter, files: DebateFiles, follow_up_events: Sequence[Event] = ()) -> DebateSession:
    with journal.closed_on_failure():
        session = open_journal(journal, files)
        for event in follow_up_events:
            session.record(event)
        if follow_up_events:
            journal.sync()
    return session


def continue_debate(
    journal: str | os.PathLike[str],
    require_consent: RequireConsent,
    changes: ChangeEvents = lambda debate: [],
    must_stay_in_tournament: Callable[[str, str, Sequence[Event]], None] | None = None,
) -> DebateSession:
    """Opens the debate of a journal again, with `changes` to its cast or limits. `require_consent` is called with the
    risks of the journal: those of its report, and of the turns that are due after the changes. The caller must have
    consent to what its own changes add. Nothing is written, and no provider is made, before `require_consent` returns.
    In a tournament, `must_stay_in_tournament` gets its folder, the journal and changes of models, and raises if they
    take the debate out of it; without it, no model may change. Raises what the three raise, DoesNotFit for a change
    that does not fit, BadSettings if a database's workers may be running the debate or batches hold it, and BadJournal,
    LockedJournal or DamagedJournal."""
    path = os.fspath(journal)
    session = _record_all(JournalWriter(path), DebateFiles.of_journal(path))
    with session.journal.closed_on_failure():
        events = changes(session.state)
        if any(isinstance(event, Reassigned) for event in events) and (folder := tournament_of(path)):
            if must_stay_in_tournament is None:
                raise BadSettings(f"The models of {name_of(path)} are those of the tournament in {name_of(folder)}.")
            must_stay_in_tournament(folder, path, events)
        new_state = session.state
        for event in events:
            new_state = apply(new_state, event)  # all of them, before the first is written: one may allow the next
        risks_found = risks.of_journal_name(path)
        if (events or new_state.due) and new_state.opened.earlier_debate is None:
            must_not_run_elsewhere(path, lambda: awaited_calls(new_state))
        if new_state.due:
            risks_found += risks.of_debate(new_state.opened, _named_by_journal(session.state, new_state))
        require_consent(session.journal, risks_found)
        for event in events:
            session.record(event)
        if events:
            session.journal.sync()
    return session


def _named_by_journal(before: DebateState, new_state: DebateState) -> dict[str, tuple[str, ...]]:
    """By seat, the specs of the changed cast that the journal already had there: a command that replaces one judge of a
    panel repeats the others."""
    return {
        seat: tuple(spec for spec in specs if spec in before.cast.get(seat, ()))
        for seat, specs in new_state.cast.items()
    }


def reopening(debate: DebateState) -> list[Event]:
    """The change to a complete debate that makes turns without a usable reply due again; empty if there are none."""
    return [Reopened()] if schedule.turns_to_reopen(debate) else []


def limit_changes(debate: DebateState, limits: Mapping[str, Any]) -> list[Event]:
    """The events that give a debate these values of `max_cost` and `retry_for`, where they are other ones."""
    events: dict[str, Callable[..., Event]] = {"max_cost": BudgetChanged, "retry_for": RetryForChanged}
    return [events[name](**{name: value}) for name, value in limits.items() if value != getattr(debate, name)]


def record_between_runs(journal: str, make: Callable[[DebateState], Event]) -> DebateState:
    """Writes one event that calls no model; the state after it. Raises LockedJournal if the debate runs, BadSettings if
    workers of a database may be running it, else DoesNotFit."""
    with _record_all(JournalWriter(journal), DebateFiles.of_journal(journal)) as session:
        must_not_run_elsewhere(journal)
        session.record(make(session.state))
        return session.state


# Driving


def seat_providers(
    session: DebateSession,
    permissions: Permissions = NO_PERMISSIONS,
    people: People | None = None,
    on_event: OnEvent = ignore,
) -> dict[str, Provider]:
    """The providers of a debate that goes on, by seat: none for seats of an agent host, and none at all where no turn
    is due. `people` takes the turns of human seats. Prompts that are not those of its last turns are noted in the
    journal. Raises BadSettings if the cast can't be used."""
    if not session.state.due:
        return {}
    providers = cast_providers.make_providers(session.current, session.files.evidence, permissions)
    for provider in providers.values():
        provider.people = people
    if (note := changed_prompts(session.state)) is not None:
        session.record(note, on_event)
    return providers


async def drive(session: DebateSession, providers: Mapping[str, Provider], options: RunOptions | None = None) -> None:
    """Takes every turn that can be taken from here: until the debate is complete, only seats without a provider are
    due, or it is told to stop. The turns of a stage are independent and run at once.

    When calls of a stage fail, its other replies are saved first. Then one failure is raised. Failures that are not of
    a provider come first: OverBudget if a call would exceed the cap, Paused if a judge gave no usable reply and the
    panel has no quorum without that judge. Then ReplyPending if a call is still running at the provider; otherwise the
    first.
    """
    options = options or RunOptions()
    runner = TurnRunner(session.journal, session.current, options.budget or Budget(session.current), options)
    try:
        while turns := [turn for turn in session.state.due if turn.seat in providers]:
            if options.stop.is_set():
                if options.wait_for_resume is None or not await options.wait_for_resume():
                    return
                continue  # what is due may have changed meanwhile
            stage = runner.start_stage([(turn, providers[turn.seat]) for turn in turns])
            # Replies cost money: all of a stage are written down before a failure is raised.
            outcomes = zip(turns, await asyncio.gather(*stage, return_exceptions=True), strict=True)
            failures = {turn: outcome for turn, outcome in outcomes if outcome is not None}
            if failures:
                options.on_failures(failures)
                raise min(failures.values(), key=_rank)
    finally:
        for provider in {id(provider): provider for provider in providers.values()}.values():
            await provider.close()


def _rank(failure: BaseException) -> int:
    """The order in which failures of a stage are raised, lowest first."""
    if not isinstance(failure, Paused | ProviderFailed):
        return 0
    return 1 if isinstance(failure, ReplyPending) else 2


def host_work_due(debate: DebateState, journal: str) -> tuple[str, str]:
    """What a debate waits for if the host has turns to take, and what to do; both are empty if it has none."""
    seats = dict.fromkeys(turn.role for turn in debate.due if spec_in(debate, turn.seat) == model_spec.HOST)
    if not seats:
        return "", ""
    models = " ".join(f"--{seat} MODEL" for seat in seats)
    due = ", ".join(turn.id for turn in debate.due)
    return f"{name_of(journal)} waits for {due}, which `host` takes: an agent host, or you.", (
        f"`{next_command(debate, journal)}`, which names each turn's brief and the file for its reply; or "
        f"`{command('resume', journal)} {models}` to have models take them"
    )


def finish(session: DebateSession, notify: Notify = ignore) -> tuple[ReportModel, list[str]]:
    """Writes the report and the page beside it; the report, and why the page could not be written. `notify` gets a
    sentence for each file that was moved aside. Raises Paused if turns are due that only an agent host can
    take, PermanentFailure if the journal was deleted, moved or replaced meanwhile, BadFile if the report can't be
    written."""
    files = session.files
    if due := ", ".join(turn.id for turn in session.state.due):
        problem, hint = host_work_due(session.state, files.journal)
        if problem:
            raise Paused(problem, hint=hint)
        problem = f"{files.journal}: turns are left: {due}."
        raise Paused(problem, hint=f"`{next_command(session.state, files.journal)}` to take them")
    session.journal.sync()  # no report may outlive what it tells
    session.journal.must_be_in_place()
    report = report_of(files.journal, session.journal.entries)
    try:
        return report, report_files.write_both(report, files.report, files.html_report, notify)
    except DiskFull as error:
        raise session.with_saved(error) from error


# What a user adds to a running debate: a question to seats, another list of issues

_ISSUE_ID = re.compile(r"I?(\d{1,3})", re.IGNORECASE | re.ASCII)
_MIN_ISSUE_WORDS = 3


def floor_question(debate: DebateState, text: str, to: Sequence[str] = ()) -> QuestionAsked:
    """A question to these seats, or to all that have turns left. Raises BadSettings for a text that is no question, for
    a side whose speeches are on record, and if a seat waits to hear it already. Whether the seats will hear it is
    checked when it is recorded."""
    # If no seat will hear it, it is put to every seat, so that the error names each of them.
    seats = tuple(dict.fromkeys(to)) or schedule.seats_open_to_questions(debate) or debate.question_seats
    try:
        event = QuestionAsked(question=text, to=seats)
    except ValidationError:
        problem = f"question: {short_repr(text)} is not a question of 1 to {MAX_QUESTION_LENGTH:,} characters."
        raise BadSettings(problem) from None
    if debate.opened.earlier_debate is not None and {*to} & {*debate.format.sides}:
        problem = "question: the speeches are on record, so no side can answer it."
        raise BadSettings(problem, hint="put it to the judge")
    if waiting := [debate.format.name_of(seat) for seat in seats if _waits(debate, event.question, seat)]:
        raise BadSettings(f"question: it was put to {' and '.join(waiting)} before and has not been heard yet.")
    return event


def _waits(debate: DebateState, question: str, seat: str) -> bool:
    """Whether a question was put to a seat that has begun no turn since."""
    counts = (count for turn, count in debate.questions_before.items() if debate.turns_reached[turn].role == seat)
    count_at_last_turn = max(counts, default=0)
    return any(event.question == question and seat in event.to for event in debate.floor_questions[count_at_last_turn:])


def current_issues(debate: DebateState) -> list[str]:
    """The questions of the list, the weightiest first. Raises DoesNotFit if it can't be changed now."""
    issue_list = rapporteur.issue_list(debate)
    if issue_list is None or not schedule.can_change_issues(debate):
        raise DoesNotFit(schedule.TOO_LATE_FOR_ISSUES, hint="another debate, with your list as `issues:` in its file")
    return [one_line(question) for question in issue_list.issues.values()]


def issues_with_changes(questions: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """The list meant by ids of issues that stay (`I3`, or `I3,I1`) and new questions, in order. A new question has
    three words at least, so that nothing mistyped becomes one. Raises BadSettings with everything that is wrong."""
    order, problems = list[str](), list[str]()
    for argument in arguments:
        parts = [part for part in re.split(r"[,\s]+", argument.strip()) if part]
        numbers = [_ISSUE_ID.fullmatch(part) for part in parts]
        if parts and all(numbers):
            for part, number in zip(parts, numbers, strict=True):
                if number and 1 <= int(number[1]) <= len(questions):
                    order.append(questions[int(number[1]) - 1])
                else:
                    problems.append(f"issues: there is no {short_repr(part)}; the list has I1 to I{len(questions)}.")
        elif len(parts) < _MIN_ISSUE_WORDS:
            hint = "ids such as I3 of those that stay, and whole questions"
            problems.append(with_hint(f"issues: {short_repr(argument)} is neither an id nor a question.", hint))
        else:
            order.append(rapporteur.without_number(argument).strip())
    problems += [f"issues: {short_repr(text)} appears twice." for text in order if order.count(text) > 1][:1]
    if problems:
        raise BadSettings(problems)
    return order


def changed_issues(questions: Sequence[str]) -> IssuesChanged:
    """The event that replaces the rapporteur's list. Raises BadSettings with everything that is wrong with it."""
    problems = [] if 1 <= len(questions) <= MAX_ISSUES else [f"issues: a list has 1 to {MAX_ISSUES} questions."]
    for number, question in enumerate(questions, start=1):
        problems += line_problems(f"issues: I{number}", question)
    if problems:
        raise BadSettings(problems)
    return IssuesChanged(issues=tuple(questions))
