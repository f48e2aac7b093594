"""The user's consent to what a file does besides the debate: asked for at a terminal, given elsewhere by --trust.

`setup.risks` says what needs consent. What was agreed to is remembered in the user's state folder, for one answers
file, journal or tournament. A record holds digests of the risks: a file that asks for something else later is asked
about again. A verb gets a debate that may take turns from `new_debate` or `existing_debate`.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from debate_orchestrator.cli.output import at_terminal, print_status
from debate_orchestrator.core.events import Event, Opened
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.engine.debate import (
    ChangeEvents,
    DebateSession,
    FollowUpEvents,
    continue_debate,
    create_paid_debate,
)
from debate_orchestrator.engine.moderator import billed_calls_sentence
from debate_orchestrator.setup import risks as risks_module
from debate_orchestrator.setup.risks import WANTS, Risk
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_lines import Entry
from debate_orchestrator.storage.paths import DebateFiles, state_folder
from debate_orchestrator.util import coroutines
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadFile, BadSettings, Interrupted, LockedJournal

STANDARD_INPUT = "-"
"""The file name that means standard input."""
STDIN = "standard input"

_LOCK_POLL = 0.1
"""Seconds between two attempts to open a journal that is locked."""
AskConsent = Callable[[str, Sequence[Risk]], bool]
"""Shows a person a file's name and its risks; returns whether they agree."""


class ConsentSource(NamedTuple):
    """The file that values come from."""

    name: str
    key: str
    """The key under which consent is remembered; empty if the file has no identity, so that nothing is remembered."""

    @property
    def is_journal(self) -> bool:
        return self.key.startswith("journal ")


def source_of_file(path: str) -> ConsentSource:
    """An answers file, identified by its path."""
    return ConsentSource(STDIN, "") if path == STANDARD_INPUT else ConsentSource(name_of(path), _key("answers", path))


def source_of_tournament(path: str, identity: str) -> ConsentSource:
    """The spec in a tournament's folder, by tournament and path: another folder may take its place."""
    return ConsentSource(name_of(path), _key(f"tournament {identity}", path))


def source_of_journal(path: str, entries: Sequence[Entry]) -> ConsentSource:
    """A journal, identified by its first line and its path: a copy of it may come from elsewhere."""
    return ConsentSource(name_of(path), _key(f"journal {entries[0].hash}", path))


def _key(kind: str, path: str) -> str:
    try:
        return f"{kind} {os.path.realpath(path)}"
    except OSError:
        return ""


def require_consent(
    source: ConsentSource,
    risks: Sequence[Risk],
    *,
    trusted: bool,
    ask: AskConsent | None = None,
    consent_command: str = "",
) -> None:
    """Returns if the user agrees to all of these risks, and remembers it. Raises BadSettings if the user does not, or,
    with every risk, if there is no terminal to `ask` at and the file is not `trusted`. The `consent_command` is how to
    trust it, if not by a flag of this verb."""
    if not unapproved_risks(source, risks):
        return
    if not trusted and (ask or at_terminal(sys.stderr)):
        if not (ask or _ask)(source.name, risks):
            raise BadSettings(f"{source.name} was not trusted, and nothing was done.")
    elif not trusted:
        risk_texts = "; ".join(risk.text for risk in risks_module.sort_risks(risks))
        agree = f"run `{consent_command}`" if consent_command else "add --trust, which is remembered"
        otherwise = "leave it" if source.is_journal else "change it there, or give other values as flags"
        raise BadSettings(
            f"{source.name}: it {WANTS} and needs your consent ({risk_texts}). "
            f"If you trust all of it, {agree}; "
            f"otherwise {otherwise}."
        )
    if not remember(source, risks) and source.is_journal:
        print_status(
            f"Your consent could not be remembered in {state_folder() or 'a state folder'}: the next command needs it "
            "again, and `step`, which can't be given it, refuses. Try: let XDG_STATE_HOME name a folder that you can "
            "write to."
        )


def require_consent_to_answers(
    path: str,
    answers: Mapping[str, Any],
    typed_format: str | None = None,
    paid_calls: Sequence[Risk] = (),
    *,
    trusted: bool,
    ask: AskConsent | None = None,
) -> None:
    """As `require_consent`, for the answers in a file, with the format that was typed, if any, and the
    `paid_calls` before the price of the debate is shown."""
    risks = (*risks_module.of_settings(answers, typed_format), *paid_calls)
    require_consent(source_of_file(path), risks, trusted=trusted, ask=ask)


def remember_answers(path: str, answers: Mapping[str, Any], paid_calls: Sequence[Risk]) -> None:
    """Remembers answers that the user typed or agreed to, with the `paid_calls` of their setup."""
    remember(source_of_file(path), (*risks_module.of_settings(answers), *paid_calls))


@contextmanager
def new_debate(
    make_opened: Callable[[asyncio.Event, list[Reply]], Coroutine[Any, Any, Opened]],
    files: DebateFiles,
    follow_up_events: FollowUpEvents,
) -> Iterator[DebateSession]:
    """Begins the journal of a debate to whose settings the user has consented, and remembers that. `make_opened` makes
    its first event, perhaps by calls that are paid for: it watches an event that the first Ctrl-C sets, and adds their
    replies to a list. What it returns is written without any await in between: an interrupt comes before it, or after
    it is saved. If no debate is opened, the interrupt says how many calls may have been billed."""
    created, stop, paid_replies = list[DebateSession](), asyncio.Event(), list[Reply]()
    opened = make_opened(stop, paid_replies)

    async def create() -> None:
        created.append(await create_paid_debate(opened, files, follow_up_events))
        _remember_debate(created[0].journal, created[0].state.opened.cast)

    interrupted: KeyboardInterrupt | None = None
    try:
        coroutines.run(create(), stop, print_status)
    except KeyboardInterrupt as interrupt:
        interrupted = interrupt
    finally:
        opened.close()  # where the interrupt came before it began
    if not created:
        message = " ".join(["no debate was opened, and nothing is saved.", *billed_calls_sentence(paid_replies)])
        raise Interrupted(message) from None
    with _interrupts_say_what_is_saved(created[0]) as session:
        if interrupted is not None:
            raise interrupted
        yield session


@contextmanager
def existing_debate(
    path: str, changes: ChangeEvents, *, trusted: bool = False, consent_command: str = "", lock_seconds: float = 0
) -> Iterator[DebateSession]:
    """Continues a debate as `continue_debate`, and remembers what the changes bring as agreed to. A journal that
    another process has locked is tried again for `lock_seconds`."""
    deadline = time.monotonic() + lock_seconds

    def ask_consent(journal: JournalWriter, risks: Sequence[Risk]) -> None:
        source = source_of_journal(journal.path, journal.entries)
        require_consent(source, risks, trusted=trusted, consent_command=consent_command)

    def must_stay_in_tournament(folder: str, journal: str, events: Sequence[Event]) -> None:
        from debate_orchestrator.tournament.folder import must_stay_in_tournament

        must_stay_in_tournament(folder, journal, events)

    def continued() -> DebateSession:
        while True:
            try:
                return continue_debate(path, ask_consent, changes, must_stay_in_tournament)
            except LockedJournal:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(_LOCK_POLL)

    with _interrupts_say_what_is_saved(continued()) as session:
        if session.state.due:
            _remember_debate(session.journal, session.state.cast)
        yield session


def _remember_debate(journal: JournalWriter, cast: Mapping[str, tuple[str, ...]]) -> None:
    """Remembers that the user agreed to all that a debate does with this cast."""
    first = journal.entries[0].event
    assert isinstance(first, Opened)
    remember(source_of_journal(journal.path, journal.entries), risks_module.of_journal(journal.path, first, cast))


@contextmanager
def _interrupts_say_what_is_saved(session: DebateSession) -> Iterator[DebateSession]:
    """Holds a debate open; an interrupt meanwhile says what is saved and how to continue."""
    with session:
        try:
            yield session
        except KeyboardInterrupt:
            raise Interrupted(session.saved_message) from None


def is_known(source: ConsentSource) -> bool:
    """Whether the user has made this file, or agreed to it before."""
    record = _record(source)
    return record is not None and record.exists()


def unapproved_risks(source: ConsentSource, risks: Sequence[Risk]) -> list[Risk]:
    """The risks that were not agreed to yet."""
    approved_digests = _approved_digests(source) if risks else set()
    return [risk for risk in risks if risk.digest not in approved_digests]


def remember(source: ConsentSource, risks: Iterable[Risk]) -> bool:
    """Remembers that the user agreed to these risks. Returns False if that can't be written: the user is asked again
    next time."""
    digests, record, before = {risk.digest for risk in risks}, _record(source), _approved_digests(source)
    if record is None or (digests <= before and record.exists()):
        return record is not None
    with suppress(OSError, BadFile):
        record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(record, "".join(f"{digest}\n" for digest in sorted(digests | before)))
        return True
    return False


def _approved_digests(source: ConsentSource) -> set[str]:
    record = _record(source)
    try:
        return set(record.read_text(encoding="ascii").split()) if record else set()
    except (OSError, ValueError):
        return set()


def _record(source: ConsentSource) -> Path | None:
    """The file that holds what was agreed to; None if nothing can be remembered."""
    folder, name = state_folder(), hashlib.sha256(source.key.encode("utf-8", "surrogatepass")).hexdigest()
    return folder / "trusted" / name if folder and source.key else None


def _ask(name: str, risks: Sequence[Risk]) -> bool:
    items = risks_module.risk_lines(risks)
    print_status(f"{name} {WANTS}:", *items)
    print("Do you trust it with that? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
