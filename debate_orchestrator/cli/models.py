"""`debate models` lists the models and programs that can be called from here."""

from __future__ import annotations

import argparse
import shlex

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import next_step, print_json, print_quoted
from debate_orchestrator.providers import discovery, pricing

_SHOWN = 12
"""Models of one server that are listed for a person."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_insecure(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    model_sources = discovery.model_sources(flags.permissions_of(arguments))
    if arguments.json:
        print_json({"models": [source.model_dump() for source in model_sources]})
        return 0
    for source in model_sources:
        print_quoted(f"{'yes' if source.ready else ' no'}  {source.spec:26} {source.about}")
        if source.models:
            more_count = len(source.models[_SHOWN:]) + source.more
            print_quoted(f"     {', '.join(source.models[:_SHOWN])}{f' and {more_count:,} more' if more_count else ''}")
    table = pricing.table()
    names = [name for models in table.vendors.values() for name in models]
    print_quoted("", f"Models with known prices (as of {table.date}): {', '.join(names)}.")
    print_quoted(f"By default: debaters {table.defaults.debater}, judge {table.defaults.judge}.")
    program = next(
        (source.spec for source in model_sources if source.ready and source.about.endswith("is installed")), "MODEL"
    )
    next_step(f'`debate run --topic "..." --model {shlex.quote(program)}` is a debate by one of them.')
    return 0
