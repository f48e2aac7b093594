"""`debate demo`: replays a real recorded debate that ships with the package."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import at_terminal, next_step, print_json, say
from debate_orchestrator.cli.replay import check_arguments, play_journal
from debate_orchestrator.core.events import Spoke
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.storage.files import create
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import name_of, read_regular
from debate_orchestrator.util.errors import BadFile, BadSettings, short_repr
from debate_orchestrator.util.messages import command as journal_command
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import count_words, one_line

_FIRST = "postgres-queue"
"""The debate that is replayed where none is named."""
_MINUTES = 1.6
"""Minutes that its speeches take at most, unless --pace says otherwise; ballots take some seconds each."""
EXAMPLE = "debate demo --to demo-report.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--list", action="store_true", help="list the debates that ship with the package")
    parser.add_argument("--name", metavar="NAME", help="which of them to replay")
    flags.add_replay(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    journals = {path.parent.name: path for path in sorted(resources.folder("examples").glob(f"*/*{JOURNAL}"))}
    if arguments.list:
        return _print_list(journals, as_json=arguments.json)
    name = arguments.name or (_FIRST if _FIRST in journals else next(iter(journals), ""))
    if name not in journals:
        problem = f"{short_repr(name)} is not one of the recorded debates: {', '.join(journals)}."
        raise BadSettings(problem, hint="`debate demo --list`")
    pace = check_arguments(arguments)
    data = journals[name].read_bytes()
    beside = f"{os.path.splitext(arguments.to)[0]}{JOURNAL}" if arguments.to else ""
    if beside and os.path.lexists(beside) and not _holds(beside, data):
        raise BadFile(f"{name_of(beside)} already exists, and is another journal.", hint="give --to another name")
    quiet = arguments.quiet or arguments.json
    # A pipe is read by a program, or cut off by one: the whole text is there where it is asked for.
    arguments.quiet = quiet or not (at_terminal(sys.stdout) or arguments.no_pace or arguments.pace)
    if not arguments.quiet:
        say(f"A recorded debate, played again ({name}; `debate demo --list` has more).", "")
    command = f"debate demo --name {name}" if arguments.name else "debate demo"
    if arguments.pace is None and pace is not None:
        pace = max(pace, _words(str(journals[name])) / _MINUTES)
    finished = play_journal(arguments, str(journals[name]), pace, command)
    if beside and not os.path.lexists(beside):
        create(Path(beside), data)
    if not quiet and finished:
        text = f" `{command} --no-pace` prints the debate." if arguments.quiet else ""
        report = f" `{command} --to report.md` writes its report."
        if beside:
            report = f" `{journal_command('check', beside)}` checks the report against its journal."
        next_step(f"`debate` begins one of your own.{text}{report}")
    return 0


def _holds(path: str, data: bytes) -> bool:
    try:
        return read_regular(path, maximum=len(data)) == data
    except OSError:
        return False


def _words(journal: str) -> int:
    """The words of all speeches."""
    return sum(count_words(event.reply.text) for event in read(journal).events if isinstance(event, Spoke))


def _print_list(journals: dict[str, Path], *, as_json: bool) -> int:
    """Prints each debate with its topic, its length and how it ended."""
    if as_json:
        print_json({"debates": list(journals)})
        return 0
    for name, path in journals.items():
        report = build_report(read(path).entries)
        rounds = f"{plural(report.rounds_completed, 'round')}, " * bool(report.rounds_completed)
        decided = report.verdict.decided if report.verdict else "no verdict"
        count = _words(str(path))
        length = f"{rounds}{count:,} words. " if count else rounds.replace(", ", ". ")
        say(f"{name}: {one_line(report.topic)}", f"    {length}{decided}.")
    next_step("`debate demo --name NAME` replays one.")
    return 0
