"""What the verbs that open a debate share: its checks, its journal, its confirmed setup; and its report."""

from __future__ import annotations

import argparse
import os

from debate_orchestrator import models, opening, providers
from debate_orchestrator.answers import MODERATOR, Answers
from debate_orchestrator.cli.output import markdown_path
from debate_orchestrator.cli.setup import interview
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Noted, Reply, Usage
from debate_orchestrator.core.rules import JUDGE
from debate_orchestrator.datafiles import write_whole
from debate_orchestrator.errors import BadAnswers, complaint
from debate_orchestrator.files import Files
from debate_orchestrator.journal import Writer
from debate_orchestrator.providers import rehearse
from debate_orchestrator.reports.story import closing, story


def create(answers: Answers, files: Files, derived: Reply | None = None) -> Writer:
    """Opens the debate: nothing is written before everything that can be checked is in order."""
    wrong = providers.complaints(answers.cast) + _uncapped(answers)
    if wrong:
        raise BadAnswers(wrong)
    must_be_new(files)
    first = opening.opened(answers, derived)
    providers.seated(Debate([first]))  # a recording that can't be read is told before anything is written
    journal = Writer.create(files.journal, first)
    if answers.one_agent:
        journal.append(Noted(note="one agent"))
    return journal


def must_be_new(files: Files) -> None:
    """BadFile where a report is there already; a journal that is there is told of by whoever would create it."""
    if not os.path.exists(files.journal):
        files.must_be_new()


def _uncapped(answers: Answers) -> list[str]:
    """A complaint where a cap on costs could not be held."""
    if answers.max_cost is None:
        return []
    fillers = dict.fromkeys(spec for seat in answers.cast.values() for spec in seat)
    unpriced = [spec for spec in fillers if models.cost(spec, Usage()) is None]
    if not unpriced:
        return []
    got = f"a cap, and {', '.join(unpriced)}, whose price is unknown"
    hint = "Leave max_cost out, or cast models from the table of prices (debate_orchestrator/models.yaml)."
    return [complaint("max_cost", got, "prices for every seat that is called", hint)]


def with_positions(answers: Answers) -> tuple[Answers, Reply | None]:
    """The answers with their positions, derived by the cast's moderator, else by its first judge, where there
    are none yet. Nothing is written by this."""
    if answers.positions is not None:
        return answers, None
    spec = answers.cast.get(MODERATOR, answers.cast[JUDGE])[0]
    wrong = providers.complaints(answers.cast)
    if spec == providers.HOST:
        hint = "Give --position-a and --position-b, or have the host derive them with `debate ask FILE`."
        wrong.append(complaint("positions", "none, or auto", "two positions, since nobody here can derive them", hint))
    if wrong:
        raise BadAnswers(wrong)
    from debate_orchestrator.deriving import derive

    asking = interview(answers.format)
    sides = asking.rules.sides
    placeholder = answers.model_copy(update={"positions": dict.fromkeys(sides, "not derived yet")})
    provider = providers.maker(spec)(spec, Debate([opening.opened(placeholder)]))
    positions, reply = derive(answers.topic, provider, asking)
    sources = {**answers.sources, "positions": "derived"}
    return answers.model_copy(update={"positions": positions, "sources": sources}), reply


def rehearsed(answers: Answers) -> Answers:
    """The same with stand-ins in every seat."""
    cast = {seat: tuple(rehearse.stand_in(spec) for spec in specs) for seat, specs in answers.cast.items()}
    return answers.model_copy(update={"cast": cast})


def block(arguments: argparse.Namespace, answers: Answers, files: Files) -> list[str]:
    """The setup as confirmed, for a debate whose setup nobody has shown yet."""
    from debate_orchestrator.datafiles import read_mapping

    if arguments.answers and "setup" in read_mapping(arguments.answers):
        return []
    given = answers.model_dump() | {"output": files.report}
    return interview(answers.format).confirmed(given).split("\n")


def write_report(journal: Writer, files: Files) -> str:
    """Writes the report of a journal; the line that confirms it."""
    from debate_orchestrator.reports import markdown

    told = story(journal.entries)
    write_whole(markdown_path(files.report), markdown.render(told))
    return closing(told, files.report)
