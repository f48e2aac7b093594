"""What the verbs that open a debate share: its checks, its journal, its confirmed setup; and its report."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from typing import NamedTuple

from debate_orchestrator.cli import consent, given
from debate_orchestrator.cli.interrupts import terminated_like_interrupted
from debate_orchestrator.cli.output import complain, remark
from debate_orchestrator.cli.seating import unseated
from debate_orchestrator.cli.setup import interview
from debate_orchestrator.core.events import Noted, Reply
from debate_orchestrator.engine import start
from debate_orchestrator.providers.registry import NO_PERMISSIONS, Permissions
from debate_orchestrator.reports.model import build_report, closing_line
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.settings import Settings
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_retry import UnsavedEvents
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec


def create(answers: Settings, files: DebateFiles, derived: tuple[Reply, ...] = ()) -> JournalWriter:
    """Opens a debate that was checked. Positions that were `derived` cost money: they wait for room on the disk."""
    opened, made = start.make_opening(answers, derived), list[JournalWriter]()

    def write() -> None:
        made.append(JournalWriter.create(files.journal, opened))

    if derived:
        with terminated_like_interrupted():
            asyncio.run(UnsavedEvents(remark).written("the positions that were derived", write))
    else:
        write()
    journal = made[0]
    consent.remember(consent.of_journal(journal), risks.of_opening(opened, opened.cast))
    if answers.one_agent:
        journal.append(Noted(note="one agent"))
    return journal


def check(
    answers: Settings,
    files: DebateFiles,
    *,
    terminal: bool | None = None,
    events: bool = False,
    permissions: Permissions = NO_PERMISSIONS,
) -> None:
    """Raises, with every complaint, where the debate could not be opened or its cap not be held: before anything
    is written, and before anybody is asked. `terminal` says whether persons can be asked, where that is known;
    `events`, that each event is told on standard error."""
    unseated_errors = unseated(answers.cast, terminal=terminal, events=events)
    start.check_settings(answers, files, unseated_errors, permissions)


def with_positions(
    answers: Settings, tell: Callable[[str], None], permissions: Permissions = NO_PERMISSIONS
) -> tuple[Settings, tuple[Reply, ...]]:
    """The answers with their positions, derived by the cast's moderator, else by its first judge or speaker, where
    there are none yet. Nothing is written by this."""
    try:
        return asyncio.run(start.settle_positions(answers, interview(answers.format), tell, permissions))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted while the positions were derived; nothing was opened.") from None


rehearsed = start.rehearsed


def seats(answers: Settings) -> str:
    """Who speaks, and what it may cost, in a line."""
    cast = ", ".join(
        f"{seat} {' and '.join(map(model_spec.public_name, specs))}" for seat, specs in answers.cast.items()
    )
    cap = "" if answers.max_cost is None else f" At most ${answers.max_cost:.2f}."
    return f"Cast: {cast}.{cap}"


def block(arguments: argparse.Namespace, answers: Settings, files: DebateFiles) -> list[str]:
    """The setup as confirmed, for a debate whose setup was not shown yet; else what of it reaches beyond the debate,
    since a file that holds a conversation may hold one that this user never had."""
    settled, words = answers.model_dump() | {"output": files.report}, interview(answers.format)
    return words.beyond(settled) if "setup" in given.answers(arguments) else words.confirmed(settled).split("\n")


class Written(NamedTuple):
    """What was written when a debate had ended."""

    summary: str
    """The line that confirms it."""
    page: str | None
    """The report as a page; None where there is something else in its place."""


def write_report(journal: JournalWriter, files: DebateFiles) -> Written:
    """Writes the report of a journal, and its page; what keeps the page from being written is a complaint, and the
    debate has ended all the same."""
    from debate_orchestrator.reports import forms
    from debate_orchestrator.reports.review_files import gather_reviews

    told = build_report(journal.entries, gather_reviews(files.ballots, journal.entries))
    wrong = forms.write_both(told, files.report, files.page, remark)
    complain(wrong)
    return Written(closing_line(told, files.report), None if wrong else files.page)
