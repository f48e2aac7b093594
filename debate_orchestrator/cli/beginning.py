"""What the verbs that open a debate share: its checks, its journal, its confirmed setup; and its report."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from typing import NamedTuple

from debate_orchestrator import casts, opening, providers, spending, trust
from debate_orchestrator.answers import MODERATOR, Answers
from debate_orchestrator.cli import consent, given
from debate_orchestrator.cli.interrupts import terminated_like_interrupted
from debate_orchestrator.cli.output import complain, remark
from debate_orchestrator.cli.seating import unseated
from debate_orchestrator.cli.setup import interview
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Noted, Reply
from debate_orchestrator.core.rules import JUDGE
from debate_orchestrator.errors import BadAnswers, complaint
from debate_orchestrator.files import Files
from debate_orchestrator.journal import Writer, must_be_new
from debate_orchestrator.reports.story import closing, story
from debate_orchestrator.unsaved import Unsaved


def create(answers: Answers, files: Files, derived: tuple[Reply, ...] = ()) -> Writer:
    """Opens a debate that was checked. Positions that were `derived` cost money: they wait for room on the disk."""
    opened, made = opening.opened(answers, derived), list[Writer]()

    def write() -> None:
        made.append(Writer.create(files.journal, opened))

    if derived:
        with terminated_like_interrupted():
            asyncio.run(Unsaved(remark).written("the positions that were derived", write))
    else:
        write()
    journal = made[0]
    consent.remember(consent.of_journal(journal), trust.of_opening(opened, opened.cast))
    if answers.one_agent:
        journal.append(Noted(note="one agent"))
    return journal


def check(answers: Answers, files: Files, *, terminal: bool | None = None, events: bool = False) -> None:
    """Raises, with every complaint, where the debate could not be opened or its cap not be held: before anything
    is written, and before anybody is asked. `terminal` says whether persons can be asked, where that is known;
    `events`, that each event is told on standard error."""
    wrong = providers.complaints(answers.cast)
    wrong += unseated(answers.cast, terminal=terminal, events=events)
    wrong += providers.lacking(answers.cast)
    wrong += spending.unpriced(answers.cast) if answers.max_cost is not None else []
    if wrong:
        raise BadAnswers(wrong)
    must_be_new(files.journal)
    files.must_be_new(but=files.journal)  # it may be there, as long as it is empty
    providers.seated(Debate([opening.opened(_placed(answers))]))  # a recording that can't be read is told now


def _placed(answers: Answers) -> Answers:
    """The answers with something in place of positions that are still to be derived."""
    if answers.positions is not None:
        return answers
    sides = interview(answers.format).rules.sides
    return answers.model_copy(update={"positions": dict.fromkeys(sides, "not derived yet")})


def with_positions(answers: Answers, tell: Callable[[str], None]) -> tuple[Answers, tuple[Reply, ...]]:
    """The answers with their positions, derived by the cast's moderator, else by its first judge or speaker, where
    there are none yet. Nothing is written by this."""
    if answers.positions is not None:
        return answers, ()
    others = [spec for role in (JUDGE, *answers.cast) for spec in answers.cast.get(role, ()) if spec != casts.HUMAN]
    spec = next(iter((*answers.cast.get(MODERATOR, ()), *others)), casts.HOST)
    if spec == casts.HOST:
        hint = "Give --position-a and --position-b, or have the host derive them with `debate ask FILE`."
        raise BadAnswers(
            complaint("positions", "none, or auto", "two positions, since nobody here can derive them", hint)
        )
    from debate_orchestrator.deriving import derive

    provider = providers.maker(spec)(spec, Debate([opening.opened(_placed(answers))]))
    try:
        positions, replies = derive(answers, provider, interview(answers.format), tell)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted while the positions were derived; nothing was opened.") from None
    sources = {**answers.sources, "positions": "derived"}
    return answers.model_copy(update={"positions": positions, "sources": sources}), replies


def rehearsed(answers: Answers) -> Answers:
    """The same with stand-ins in every seat."""
    cast = {seat: tuple(casts.stand_in(spec) for spec in specs) for seat, specs in answers.cast.items()}
    return answers.model_copy(update={"cast": cast})


def seats(answers: Answers) -> str:
    """Who speaks, and what it may cost, in a line."""
    cast = ", ".join(f"{seat} {' and '.join(map(casts.shown, specs))}" for seat, specs in answers.cast.items())
    cap = "" if answers.max_cost is None else f" At most ${answers.max_cost:.2f}."
    return f"Cast: {cast}.{cap}"


def block(arguments: argparse.Namespace, answers: Answers, files: Files) -> list[str]:
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


def write_report(journal: Writer, files: Files) -> Written:
    """Writes the report of a journal, and its page; what keeps the page from being written is a complaint, and the
    debate has ended all the same."""
    from debate_orchestrator.reports import forms
    from debate_orchestrator.reviewing.keeping import gathered

    told = story(journal.entries, gathered(files.ballots, journal.entries))
    wrong = forms.write_both(told, files.report, files.page, remark)
    complain(wrong)
    return Written(closing(told, files.report), None if wrong else files.page)
