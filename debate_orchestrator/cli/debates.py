"""The debates that verbs open or continue. A verb gets one that may take turns only from here, after the user's consent
to what it reaches beyond the debate."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from debate_orchestrator.cli import consent
from debate_orchestrator.cli.interrupts import terminated_like_interrupted
from debate_orchestrator.cli.output import at_terminal, remark
from debate_orchestrator.cli.settings import questionnaire, read_answers
from debate_orchestrator.core.events import Declined, Event, Noted, Opened, Reassigned, Reply, Spoke
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import start
from debate_orchestrator.engine.turn import record_event
from debate_orchestrator.providers import registry
from debate_orchestrator.providers.registry import Permissions
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.settings import Settings, host_problem, rapporteur_note
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_retry import UnsavedEvents
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.messages import Tell


@dataclass(frozen=True)
class ConsentedDebate:
    """A debate whose journal this process writes. The user has consented to its programs, servers, files and prompts:
    what takes turns asks for this type, so that no verb can forget the consent."""

    journal: JournalWriter
    current: CurrentState
    files: DebateFiles

    @property
    def state(self) -> DebateState:
        return self.current.state


@contextmanager
def new_debate(settings: Settings, files: DebateFiles, derived: tuple[Reply, ...] = ()) -> Iterator[ConsentedDebate]:
    """Opens the debate of settings that `read_settings` made and `check_settings` passed."""
    with _create(start.make_opening(settings, derived), files) as debate:
        if settings.one_agent:
            record_event(debate.journal, debate.current, Noted(note="one agent"))
        yield debate


@contextmanager
def new_judging(
    opening: Opened,
    speeches: Sequence[Spoke | Declined],
    files: DebateFiles,
    origin: consent.Origin,
    source_risks: Sequence[risks.Risk],
    *,
    trusted: bool,
    permissions: Permissions,
) -> Iterator[ConsentedDebate]:
    """Opens a judging of speeches that come from `origin`, with consent to the risks that they bring along."""
    consent.agree(origin, source_risks, trusted=trusted)
    # Reports a bad recording before anything is written.
    registry.make_providers(CurrentState(fold([opening])), permissions=permissions)
    with _create(opening, files) as debate:
        for event in speeches:
            record_event(debate.journal, debate.current, event)
        debate.journal.sync()
        yield debate


def _no_changes(state: DebateState) -> list[Event]:
    return []


@contextmanager
def existing_debate(
    path: str, changes_of: Callable[[DebateState], list[Event]] = _no_changes, *, trusted: bool
) -> Iterator[ConsentedDebate]:
    """Continues the debate of a journal. `changes_of` checks that the caller can continue it and returns changes to
    its cast or budget; what it raises, and OutOfTurn for a change that the debate does not allow, leaves the journal as
    it was."""
    with JournalWriter(path) as journal:
        current = CurrentState(fold(journal.events))
        state = current.state
        changes = changes_of(state)
        changed = state
        for event in changes:
            changed = apply(changed, event)  # all of them, before the first is written: one may allow the next
        typed = {event.seat: event.who for event in changes if isinstance(event, Reassigned)}
        consent.agree_to_debate(journal, changed, typed, trusted=trusted)
        for event in changes:
            record_event(journal, current, event)
        if changes:
            journal.sync()
        yield ConsentedDebate(journal, current, DebateFiles.of_journal(path))


@contextmanager
def _create(opening: Opened, files: DebateFiles) -> Iterator[ConsentedDebate]:
    """Creates a journal and remembers the consent that its opening was made with, for the verbs that continue it."""
    created: list[JournalWriter] = []

    def write() -> None:
        created.append(JournalWriter.create(files.journal, opening))

    if opening.derived:
        # Deriving the positions cost money: if the disk is full, they wait for room instead of being lost.
        with terminated_like_interrupted():
            asyncio.run(UnsavedEvents(remark).written("the positions that were derived", write))
    else:
        write()
    with created[0] as journal:
        consent.remember(consent.of_journal(journal), risks.of_debate(opening, opening.cast))
        yield ConsentedDebate(journal, CurrentState(fold(journal.events)), files)


def check_settings(
    settings: Settings,
    files: DebateFiles,
    *,
    permissions: Permissions,
    terminal: bool | None = None,
    events: bool = False,
) -> None:
    """Raises, with every error, if the debate can't be opened or its cap can't be enforced. Nothing is written and no
    model is called. `terminal` and `events` are those of `people_errors`."""
    start.check_settings(settings, files, people_errors(settings.cast, terminal=terminal, events=events), permissions)


def people_errors(
    cast: Mapping[str, Iterable[str]], *, terminal: bool | None = None, events: bool = False
) -> list[str]:
    """An error if people have seats and there is no terminal to ask them at, if the host has a seat beside them, or if
    `events` are printed at that terminal: they hold ballots that a judge must not see, and speeches that come before
    the person's own.

    `terminal` says whether there is one; None looks."""
    seats = ", ".join(seat for seat, models in cast.items() if model_spec.HUMAN in models)
    if not seats:
        return []
    if not (at_terminal(sys.stderr) if terminal is None else terminal):
        return [
            f"cast: {seats}: a human needs a terminal, and there is none. Try: seat `host`. Then `debate open` and "
            "`debate step` write briefs to files and read replies from files, which people can write by hand."
        ]
    if events:
        return [
            f"cast: {seats}: a human can't share the terminal with --events, which prints what they must not see yet. "
            "Leave --events out: the journal gets the same events as they happen, for a program to follow."
        ]
    problem = host_problem(cast)
    return [problem] if problem else []


def with_positions(settings: Settings, tell: Tell, *, permissions: Permissions) -> tuple[Settings, tuple[Reply, ...]]:
    """The settings with positions, and the replies that were paid for them. Missing positions are derived by the cast's
    moderator, else by its first judge or debater that is a model. `tell` gets progress lines; nothing is written."""
    try:
        return asyncio.run(start.settle_positions(settings, questionnaire(settings.format), tell, permissions))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted while the positions were derived; nothing was opened.") from None


def setup_lines(arguments: argparse.Namespace, settings: Settings, files: DebateFiles) -> list[str]:
    """The setup as confirmed. If the answers hold a conversation it was shown there; then only what reaches beyond the
    debate, since another user may have had that conversation."""
    values, questions = settings.model_dump() | {"output": files.report}, questionnaire(settings.format)
    confirmed = "setup" in read_answers(arguments)
    lines = questions.beyond(values) if confirmed else questions.confirmed(values).split("\n")
    note = rapporteur_note(settings, questions.format)
    return [*lines, note] if note else lines


def cast_line(settings: Settings) -> str:
    """The models of the seats and the cap on costs, in one line."""
    seats = ", ".join(
        f"{seat} {' and '.join(map(model_spec.public_name, specs))}" for seat, specs in settings.cast.items()
    )
    return f"Cast: {seats}.{'' if settings.max_cost is None else f' At most ${settings.max_cost:.2f}.'}"
