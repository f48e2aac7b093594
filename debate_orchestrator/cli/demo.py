"""`debate demo` replays a real recorded debate that ships with the package."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import at_terminal, next_step, print_outcome, print_result
from debate_orchestrator.cli.replay import checked_pace, play_journal
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.storage.files import create
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import name_of, read_regular
from debate_orchestrator.util.errors import BadFile, BadSettings, short_repr
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import one_line

_DEFAULT_DEBATE = "postgres-queue"
"""The debate that is replayed where none is named."""
_DEMO_PACE = 2_000.0
"""Words per minute of a demo by default: the first is played in less than two minutes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--list", action="store_true", help="list the debates that ship with the package")
    parser.add_argument("--name", metavar="NAME", help="which of them to replay")
    flags.add_replay(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    journals = {path.parent.name: path for path in sorted(resources.folder("examples").glob(f"*/*{JOURNAL}"))}
    if arguments.list:
        return _print_list(arguments, journals)
    name = arguments.name or (_DEFAULT_DEBATE if _DEFAULT_DEBATE in journals else next(iter(journals), ""))
    if name not in journals:
        problem = f"{short_repr(name)} is not one of the recorded debates: {', '.join(journals)}."
        raise BadSettings(problem, hint="`debate demo --list`")
    pace = checked_pace(arguments)
    data = journals[name].read_bytes()
    journal_copy = f"{os.path.splitext(arguments.to)[0]}{JOURNAL}" if arguments.to else ""
    if journal_copy and os.path.lexists(journal_copy) and not _has_content(journal_copy, data):
        raise BadFile(f"{name_of(journal_copy)} already exists, and is another journal.", hint="give --to another name")
    quiet = arguments.quiet or arguments.json
    # A pipe is read by a program, or cut off by one: the whole text is there if it is asked for.
    arguments.quiet = quiet or not (at_terminal(sys.stdout) or arguments.no_pace or arguments.pace)
    if not arguments.quiet:
        print_result(f"A recorded debate, played again ({name}; `debate demo --list` has more).", "")
    replay_command = f"debate demo --name {name}" if arguments.name else "debate demo"
    if arguments.pace is None and pace is not None:
        pace = _DEMO_PACE
    finished = play_journal(arguments, str(journals[name]), pace, replay_command)
    if journal_copy and not os.path.lexists(journal_copy):
        create(Path(journal_copy), data)
    if not quiet and finished:
        text = f" `{replay_command} --no-pace` prints the debate." if arguments.quiet else ""
        report = f" `{replay_command} --to report.md` writes its report."
        if journal_copy:
            report = f" `{command('check', journal_copy)}` checks the report against its journal."
        next_step(f"`debate` begins one of your own.{text}{report}")
    return 0


def _has_content(path: str, data: bytes) -> bool:
    try:
        return read_regular(path, maximum=len(data)) == data
    except OSError:
        return False


def _print_list(arguments: argparse.Namespace, journals: dict[str, Path]) -> int:
    lines = []
    for name, path in journals.items():
        report = build_report(read(path).entries)
        rounds = plural(report.rounds_completed, "round")
        decision = report.verdict.decision if report.verdict else "No verdict"
        lines += [f"{name}: {one_line(report.topic)}", f"    {rounds}. {decision}."]
    fields = {"debates": list(journals)}
    return print_outcome(arguments, fields, *lines, next_text="`debate demo --name NAME` replays one.")
