"""The verb that judges what was debated already: `judge`."""

from __future__ import annotations

import argparse
import hashlib
from typing import Any

from debate_orchestrator.cli import consent, seating
from debate_orchestrator.cli.output import remark
from debate_orchestrator.cli.running import go_on
from debate_orchestrator.cli.setup import amount, cap, panel
from debate_orchestrator.core import transcript
from debate_orchestrator.core.events import HEARING, Declined, Event, Opened, Spoke
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import budget, rejudge, transcript_file
from debate_orchestrator.engine.turn import record_event
from debate_orchestrator.providers import discovery, registry
from debate_orchestrator.setup import risks as risks_module
from debate_orchestrator.setup.settings import LONGEST_PATIENCE
from debate_orchestrator.storage.journal import Entry, JournalWriter, read
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.data import read_regular, read_text
from debate_orchestrator.util.errors import BadSettings, DebateError, complaint


def judge(arguments: argparse.Namespace) -> int:
    """Judges a journal's debate or a transcript anew, into a journal and a report of its own."""
    path = arguments.source
    judges = tuple(arguments.judge or [discovery.judge()])
    cast = {JUDGE: judges}
    wrong = registry.complaints(cast) + registry.missing(cast, seating.permitted(arguments))
    if wrong := wrong + seating.unseated(cast, events=arguments.events):
        raise BadSettings(wrong)
    spoken: list[Spoke | Declined] = []
    risks: tuple[risks_module.Risk, ...] = ()
    if _is_journal(path):
        entries = read(path).entries
        source = consent.of_entries(path, entries)
        first, spoken = _again(arguments, path, entries, judges)
        if isinstance(entries[0].event, Opened):
            of_rules = risks_module.of_going_on if _heard_otherwise(entries) else risks_module.of_opening
            risks = of_rules(entries[0].event, {})
    else:
        source = consent.of_file(path)
        first, spoken = _of_transcript(arguments, path, judges)
    first = first.model_copy(update=_calls(arguments, first))
    files = DebateFiles.of_output(arguments.output or rejudge.output_path(path))
    files.must_be_new()
    consent.agree(source, risks, trusted=arguments.trust)
    debate = DebateState([first])
    registry.make_providers(
        debate, permissions=seating.permitted(arguments)
    )  # a recording that can't be read is told before anything is written
    with JournalWriter.create(files.journal, first) as journal:
        consent.remember(consent.of_journal(journal), risks_module.of_going_on(first, first.cast))
        for event in spoken:
            record_event(journal, debate, event)
        journal.sync()
        return go_on(journal, files, arguments)


def _heard_otherwise(entries: list[Entry]) -> bool:
    """Whether the rules of hearing of a journal's version make something else of its speeches than those of now."""
    opened, *events = [entry.event for entry in entries]
    assert isinstance(opened, Opened)
    try:
        return _heard([opened, *events]) != _heard([opened.model_copy(update={"hearing": HEARING}), *events])
    except DebateError:  # what follows does not go with what is heard now
        return True


def _heard(events: list[Event]) -> list[Any]:
    """What the speeches of a debate are to those who hear them, and who conceded in which round."""
    debate = DebateState(events)
    speeches = [transcript.entry(debate, turn) for turn in debate.settled() if turn.speaking]
    return [*speeches, *(debate.given_up(n) for n in range(1, debate.rounds + 1))]


def _calls(arguments: argparse.Namespace, first: Opened) -> dict[str, Any]:
    """How the judges are called, where flags say so. BadAnswers where a cap could not be held."""
    wrong = []
    said: dict[str, Any] = {"leader_first": arguments.leader_first}
    if arguments.max_cost is not None:
        said["max_cost"] = cap(arguments.max_cost)
        wrong += budget.unpriced_seats(first.cast) if said["max_cost"] is not None else []
    if arguments.patience is not None:
        said["patience"] = seconds = amount(arguments.patience)
        if not isinstance(seconds, float) or not 1 <= seconds <= LONGEST_PATIENCE:
            wrong.append(complaint("--patience", repr(arguments.patience), f"seconds from 1 to {LONGEST_PATIENCE:,}"))
    if wrong:
        raise BadSettings(wrong)
    return said


def _is_journal(path: str) -> bool:
    """Whether a file is a journal: by its ending, otherwise by how it begins."""
    if path.endswith((".md", ".markdown", ".txt", ".json")):
        return False
    if path.endswith(".jsonl"):
        return True
    try:
        return read_regular(path, follow=True).startswith(b"{")
    except (OSError, ValueError):
        return True


def _again(
    arguments: argparse.Namespace, path: str, entries: list[Entry], judges: tuple[str, ...]
) -> tuple[Opened, list[Spoke | Declined]]:
    given = (arguments.topic, arguments.position_a, arguments.position_b)
    flags = [flag for flag, said in zip(("--topic", "--position-a", "--position-b"), given, strict=True) if said]
    if flags:
        got = f"{', '.join(flags)} for a debate that has its own"
        raise BadSettings(complaint(path, got, "them for a transcript alone", "A journal says what was debated."))
    return rejudge.of_journal(entries, path, judges, arguments.strictness, panel(arguments))


def _of_transcript(
    arguments: argparse.Namespace, path: str, judges: tuple[str, ...]
) -> tuple[Opened, list[Spoke | Declined]]:
    text = read_text(path, transcript_file.LARGEST)
    sides = {"a": arguments.position_a, "b": arguments.position_b}
    debate = transcript_file.parse(text, path)
    digest = hashlib.sha256(read_regular(path, follow=True)).hexdigest()
    given = {side: said for side, said in sides.items() if said is not None}
    found = rejudge.of_transcript(
        debate, path, digest, judges, arguments.strictness, arguments.topic, given, panel=panel(arguments)
    )
    if not (arguments.quiet or arguments.json or arguments.events):
        for note in debate.notes:
            remark(note)
    return found
