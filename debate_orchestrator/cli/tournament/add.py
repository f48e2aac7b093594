"""`debate tournament add`: adds a model to a tournament, also to a finished one. It meets all others."""

from __future__ import annotations

import argparse
from typing import Any

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import remark, say
from debate_orchestrator.cli.tournament import specs
from debate_orchestrator.util.commands import command

EXAMPLE = "debate tournament add spring openai:gpt-5.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the tournament's folder")
    parser.add_argument("model", metavar="MODEL", help="the model that is added")
    parser.add_argument("--name", metavar="NAME", help="its name in the tournament; MODEL by default")
    parser.add_argument("--price", metavar="IN,OUT", help="US dollars per million tokens, if the price is unknown")
    parser.add_argument("--rehearse", action="store_true", help="let a stand-in take its place")
    flags.add_trust(parser)


def run(arguments: argparse.Namespace) -> int:
    """Adds its debates to the schedule, and runs none."""
    from debate_orchestrator.tournament import folder
    from debate_orchestrator.tournament.spec_file import model_of
    from debate_orchestrator.util import model_spec

    tournament = folder.load(arguments.folder)
    specs.agree_to_folder(tournament, trusted=arguments.trust)
    given: dict[str, Any] = {"spec": arguments.model}
    if arguments.name is not None:
        given["name"] = arguments.name
    if arguments.price is not None:
        given["price"] = _price(arguments.price)
    model = model_of(given)
    if arguments.rehearse and model_spec.kind(model.spec) != model_spec.REHEARSE:
        model = model.model_copy(update={"spec": model_spec.stand_in(model.spec)})
    before = len(tournament.schedule)
    tournament = folder.add_model(tournament, model)
    specs.remember_folder(tournament)
    say(f"{model.name} is added: {len(tournament.schedule) - before:,} more debates.")
    remark(f"Run them: `{command('tournament resume', arguments.folder)}`.")
    return 0


def _price(text: str) -> Any:
    """The price that a flag gives, or its text for a later check to refuse."""
    parts = [flags.number(part) for part in text.split(",")]
    return {"input": parts[0], "output": parts[1]} if len(parts) == 2 else text
