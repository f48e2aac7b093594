"""The verbs that need no debate: `formats`, and `debate` alone."""

from __future__ import annotations

import argparse

from debate_orchestrator import formats as formats_
from debate_orchestrator import library
from debate_orchestrator import models as models_
from debate_orchestrator.cli.output import print_json, say
from debate_orchestrator.errors import BadAnswers, complaint, shown

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


def formats(arguments: argparse.Namespace) -> int:
    """Lists the formats, or unrolls one from its data."""
    if not arguments.name:
        made = [formats_.load(name) for name in library.format_names()]
        if arguments.json:
            print_json({"formats": [{"name": one.name, "title": one.title, "about": one.about} for one in made]})
        else:
            for one in made:
                say(f"{one.name}: {one.about}")
        return 0
    one = formats_.load(arguments.name)
    rounds = one.rounds.default if arguments.rounds is None else arguments.rounds
    strictness = arguments.strictness or list(one.rubric.strictness)[-1]
    wrong = []
    if not 1 <= rounds <= one.rounds.insist:
        wrong.append(complaint("--rounds", str(rounds), f"1 to {one.rounds.insist}"))
    if strictness not in one.rubric.strictness:
        wrong.append(complaint("--strictness", shown(strictness), " or ".join(one.rubric.strictness)))
    if wrong:
        raise BadAnswers(wrong)
    stages = formats_.agenda(one, rounds, strictness)
    if arguments.json:
        agenda = [{"part": part, "order": how, "turns": ids} for part, how, ids in stages]
        print_json({"format": one.model_dump(mode="json"), "rounds": rounds, "agenda": agenda})
        return 0
    say(f"{one.title} ({one.name})\n{one.about}\n")
    part = ""
    for name, how, ids in stages:
        if name != part:
            part = name
            say(part)
        say(f"  {', '.join(ids):44} {how if len(ids) > 1 or 'only' in how else ''}".rstrip())
    say(f"\nRubric {one.rubric.name}, {one.rubric.least:g} to {one.rubric.most:g}:")
    for key, criterion in one.rubric.criteria.items():
        if criterion.when.holds(rounds=rounds, strictness=strictness):
            say(f"  {key}: {criterion.about}")
    for key, mode in one.rubric.strictness.items():
        say(f"Judge {key}: {mode.about}")
    return 0


def models(arguments: argparse.Namespace) -> int:
    """Tells who can be asked from here."""
    from debate_orchestrator.providers import reach

    ways = reach.found()
    if arguments.json:
        print_json({"models": [way.model_dump() for way in ways]})
        return 0
    for way in ways:
        say(f"{'yes' if way.ready else ' no'}  {way.seat:26} {way.about}")
        if way.models:
            more = f" and {len(way.models) - _SHOWN} more" if len(way.models) > _SHOWN else ""
            say(f"     {', '.join(way.models[:_SHOWN])}{more}")
    table = models_.table()
    say(f"\nModels with known prices (as of {table.date}): {', '.join(table.models)}.")
    say(f"Where nobody is named: debaters {table.defaults.debater}, judge {table.defaults.judge}.")
    return 0
