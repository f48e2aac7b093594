"""The verb `formats`: lists them, shows one unrolled with all that is wrong with it, and makes a copy to change."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from debate_orchestrator.cli.output import print_json, remark, say
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.engine import format_check
from debate_orchestrator.formats import loader, scaffold
from debate_orchestrator.formats import source as source_module
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadSettings, complaint, short_repr

NEW = "new"


def formats(arguments: argparse.Namespace) -> int:
    """Answers `formats`, `formats NAME`, `formats PATH` and `formats new NAME`."""
    first, *rest = arguments.given or [None]
    new = first == NEW
    wrong = []
    if len(rest) != new:
        got = short_repr(" ".join(arguments.given))
        wrong.append(complaint("formats", got, "one name, or `new` and the name of a folder to make"))
    for name, flag in (("source", "--from"), ("to", "--to")):
        if getattr(arguments, name) is not None and not new:
            wrong.append(complaint(flag, "nothing that is made", f"`debate formats new NAME {flag} ...`"))
    for name in ("rounds", "strictness"):
        if getattr(arguments, name) is not None and (new or first is None):
            wrong.append(complaint(f"--{name}", "nothing that is shown", f"`debate formats NAME --{name} ...`"))
    if wrong:
        raise BadSettings(wrong)
    if first is None:
        return _listed(arguments)
    return _new(arguments, rest[0]) if new else _shown(arguments, first)


def _listed(arguments: argparse.Namespace) -> int:
    made = [loader.load(name) for name in resources.format_names()]
    if arguments.json:
        print_json({"formats": [{"name": one.name, "title": one.title, "about": one.about} for one in made]})
        return 0
    for one in made:
        say(f"{one.name}: {one.about}")
    remark("\nOne of your own: `debate formats new NAME` copies one to change.")
    return 0


def _new(arguments: argparse.Namespace, name: str) -> int:
    """Copies a format, and says what to do with the copy."""
    source = arguments.source or scaffold.FIRST
    taken = scaffold.copy_format(source, name, arguments.to or "")
    path = shlex.quote(taken.told)
    then = [f"debate formats {path}", f'debate run --format {path} --topic "..." --rehearse']
    then.append(f'debate open --format {path} --topic "..." --position-a "..." --position-b "..."')
    if arguments.json:
        print_json({"format": name, "folder": taken.told, "files": list(taken.files), "from": source, "next": then})
        return 0
    templates = [file for file in taken.files if file.endswith(source_module.ENDING)]
    others = [file for file in taken.files if file not in templates]
    say(f"{taken.told}/: {', '.join(others)} and {len(templates)} templates, from {source}.")
    say("Change what you like, then:")
    about = ("checks it, and shows what it makes", "shows every brief, and calls nobody", "is a debate of it")
    for command, what in zip(then, about, strict=True):
        say(f"  {command}\n      {what}")
    return 0


def _shown(arguments: argparse.Namespace, given: str) -> int:
    """Unrolls a format from its data."""
    one = format_check.load(given)
    rounds = one.rounds.default if arguments.rounds is None else arguments.rounds
    strictness = arguments.strictness or list(one.rubric.strictness)[-1]
    wrong = []
    if not 1 <= rounds <= one.rounds.insist:
        wrong.append(complaint("--rounds", str(rounds), f"1 to {one.rounds.insist}"))
    if strictness not in one.rubric.strictness:
        wrong.append(complaint("--strictness", short_repr(strictness), " or ".join(one.rubric.strictness)))
    if wrong:
        raise BadSettings(wrong)
    stages = loader.unrolled(one, rounds, strictness)
    if arguments.json:
        agenda = [{"part": part, "order": how, "turns": ids} for part, how, ids in stages]
        print_json({"format": one.model_dump(mode="json"), "rounds": rounds, "agenda": agenda})
        return 0
    say(f"{one.title} ({one.name})\n{one.about}\n")
    _unrolled(stages)
    say("")
    for line in _decided(one):
        say(line)
    _judged(one, rounds, strictness)
    return 0


def _unrolled(stages: list[tuple[str, str, list[str]]]) -> None:
    part = ""
    for name, how, ids in stages:
        if name != part:
            part = name
            say(part)
        say(f"  {', '.join(ids):44} {how if len(ids) > 1 or 'only' in how else ''}".rstrip())


def _decided(one: Format) -> Iterator[str]:
    """How many rounds there may be, who votes, and what wins."""
    limits = one.rounds
    insisted = f", to {limits.insist} where somebody insists" if limits.insist > limits.most else ""
    several = f"Rounds: {limits.default} unless said otherwise, 1 to {limits.most}{insisted}."
    yield several if limits.most > 1 else "Rounds: one."
    if JUDGE not in one.seats:
        yield "Nobody judges it; `debate judge` judges what was said, separately."
        return
    yield f"Judges: {one.panel} unless others are named (--judge, once for each)."
    if one.mirror:
        yield "Every judge also votes with the sides exchanged, and a vote that flips is no vote (--no-mirror: once)."
    if one.decided_by == "swing":
        yield "The side wins that gained more votes since those cast before the first word."


def _judged(one: Format, rounds: int, strictness: str) -> None:
    if one.rubric.criteria:
        say(f"\nRubric {one.rubric.name}, {one.rubric.least:g} to {one.rubric.most:g}:")
    for key, criterion in one.rubric.criteria.items():
        if criterion.when.holds(rounds=rounds, strictness=strictness):
            say(f"  {key}: {criterion.about}")
    for key, mode in one.rubric.strictness.items():
        say(f"Judge {key}: {mode.about}")
