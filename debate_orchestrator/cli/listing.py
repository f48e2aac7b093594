"""The verbs that need no debate: `models`, and `debate` alone."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli.output import print_json, say
from debate_orchestrator.providers import pricing

_SHOWN = 12
"""Models of one server that are listed for a person."""


def nothing(arguments: argparse.Namespace) -> int:
    """What `debate` alone says where there is no terminal."""
    say("debate: guided debates with a judge, a verdict and the dissent on record.\n")
    say("  debate                        at a terminal: the setup conversation, then the debate and its report")
    say("  debate demo                   replay a real debate: no key, no network")
    say('  debate run --topic "..."      a debate by models; `debate models` tells who can speak here')
    say("  debate run --answers a.yaml   the same from a file, with no questions")
    say("  debate answers > a.yaml       an answers file to start from, for `debate open --answers a.yaml`")
    say("  debate ask a.yaml             the setup conversation, question by question, for agent hosts")
    say("  debate --help                 every verb")
    return 0


def models(arguments: argparse.Namespace) -> int:
    """Tells who can be asked from here."""
    from debate_orchestrator.cli.seating import permitted
    from debate_orchestrator.providers import discovery

    ways = discovery.available(permitted(arguments))
    if arguments.json:
        print_json({"models": [way.model_dump() for way in ways]})
        return 0
    for way in ways:
        say(f"{'yes' if way.ready else ' no'}  {way.seat:26} {way.about}")
        if way.models:
            left = len(way.models[_SHOWN:]) + way.more
            say(f"     {', '.join(way.models[:_SHOWN])}{f' and {left:,} more' if left else ''}")
    table = pricing.table()
    names = [name for models in table.vendors.values() for name in models]
    say(f"\nModels with known prices (as of {table.date}): {', '.join(names)}.")
    say(f"Where nobody is named: debaters {table.defaults.debater}, judge {table.defaults.judge}.")
    return 0
