"""`debate formats` lists the formats, shows the turns of one, or makes a copy to change."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import format_name, next_step, print_json, print_outcome, print_result
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.formats import loader
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadSettings, short_repr
from debate_orchestrator.util.messages import shell_word

_CONDITION = re.compile(r"\b(?:only|unless)\b")
"""A word that says when a stage takes place, in `how`: the order of its turns, or a condition. Of one turn the order
says nothing."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "a shipped format, or the path of your own (./NAME), which is checked whole; or: new NAME"
    parser.add_argument("given", nargs="*", metavar="NAME", help=about)
    parser.add_argument("--from", dest="source", metavar="FORMAT", help="new: what to copy; adversarial by default")
    parser.add_argument("--to", metavar="DIR", help="new: where the folder NAME is made; here by default")
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Answers `formats`, `formats NAME`, `formats PATH` and `formats new NAME`."""
    match arguments.given:
        case ["new", name]:
            return _copy(arguments, name)
        case ["new"]:
            raise BadSettings("The folder has no name.", hint="`debate formats new NAME`")
        case _ if arguments.source is not None or arguments.to is not None:
            raise BadSettings(
                "--from and --to go with a new format only.", hint="`debate formats new NAME --from FORMAT`"
            )
        case []:
            return _print_list(arguments)
        case [name]:
            return _print_format(arguments, name)
    value = short_repr(" ".join(arguments.given))
    raise BadSettings(f"`debate formats` takes one name, or `new` and the name of a folder to make, not {value}.")


def _print_list(arguments: argparse.Namespace) -> int:
    formats = [loader.load(name) for name in resources.format_names()]
    fields = [format.model_dump(include={"name", "title", "about"}) for format in formats]
    lines = (f"{format.name}: {format.about}" for format in formats)
    next_text = "`debate formats NAME` shows one; `debate formats new NAME` copies one to change."
    return print_outcome(arguments, {"formats": fields}, *lines, next_text=next_text)


def _copy(arguments: argparse.Namespace, name: str) -> int:
    source = arguments.source or loader.COPIED_BY_DEFAULT
    copy = loader.copy_format(source, name, arguments.to or "")
    path = shell_word(copy.shown_path)
    commands = {
        f"debate formats {path}": "checks it, and shows what it makes",
        f'debate run --format {path} --topic "..." --rehearse': "shows every brief, and calls no model",
        f'debate open --format {path} --topic "..." --position-a "..." --position-b "..."': "is a debate of it",
    }
    fields = {"format": name, "folder": copy.shown_path, "files": list(copy.files), "from": source}
    templates = [file for file in copy.files if file.endswith(loader.SUFFIX)]
    others = [file for file in copy.files if file not in templates]
    lines = [f"{copy.shown_path}/: {', '.join(others)} and {len(templates)} templates, from {source}."]
    lines += ["Change what you like, then:"]
    lines += [line for command, about in commands.items() for line in (f"  {command}", f"      {about}")]
    return print_outcome(arguments, fields | {"next": list(commands)}, *lines)


def _print_format(arguments: argparse.Namespace, name: str) -> int:
    from debate_orchestrator.engine import format_check

    format = format_check.load(name)
    rounds, strictness = format.round_limits.default, list(format.rubric.strictness)[-1]
    stages = loader.stage_list(format, rounds, strictness, _setting_flag)
    if arguments.json:
        stage_data = [{"section": section, "how": how, "turns": turns} for section, how, turns in stages]
        print_json({"format": format.model_dump(mode="json"), "rounds": rounds, "stages": stage_data})
        return 0
    print_result(f"{format.title} ({format.name})", format.about, "")
    _print_stages(stages)
    print_result("")
    for line in _rules(format):
        print_result(line)
    _print_rubric(format, rounds, strictness)
    return 0


def _setting_flag(setting: str, value: bool) -> str:
    """The condition of a phase that depends on a setting, in terms of its flag."""
    flag = setting.replace("_", "-")
    return f"unless --no-{flag}" if value else f"only with --{flag}"


def _print_stages(stages: list[tuple[str, str, list[str]]]) -> None:
    previous_section = ""
    for section, how, turns in stages:
        if section != previous_section:
            previous_section = section
            print_result(section)
        print_result(f"  {', '.join(turns):44} {how if len(turns) > 1 or _CONDITION.search(how) else ''}".rstrip())


def _rules(format: Format) -> Iterator[str]:
    """The rules on rounds, votes and winning, one sentence each."""
    limits = format.round_limits
    more_if_insisted = f", up to {limits.max_if_insisted} with --insist" if limits.max_if_insisted > limits.max else ""
    round_limits = f"Rounds: {limits.default} by default, 1 to {limits.max}{more_if_insisted}."
    yield round_limits if limits.max > 1 else "Rounds: one."
    if JUDGE not in format.seats:
        yield "It has no judge; `debate judge` can judge the speeches afterwards."
        return
    yield f"Judges: {format.judge_count} unless others are named (--judge, once for each)."
    if format.mirror:
        yield "Every judge also votes with the sides swapped; a vote that flips does not count (--no-mirror: once)."
    if format.decided_by == "swing":
        yield "The side that gained more votes since the pre-debate vote wins."


def _print_rubric(format: Format, rounds: int, strictness: str) -> None:
    rubric = format.rubric
    if rubric.criteria:
        print_result("", f"Rubric {rubric.name}, {rubric.min:g} to {rubric.max:g}:")
    for key, criterion in rubric.criteria.items():
        if criterion.when.holds(rounds=rounds, strictness=strictness):
            print_result(f"  {key}: {criterion.about}")
    for level, texts in rubric.strictness.items():
        print_result(f"Judge {level}: {texts.about}")
    next_step(f'`debate run --format {format_name(format)} --topic "..." --rehearse` shows every brief.')
