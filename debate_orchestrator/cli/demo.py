"""`debate demo`: replays a real recorded debate that ships with the package."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import print_json, say
from debate_orchestrator.cli.replay import check_arguments, play_journal
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadSettings, short_repr

EXAMPLE = "debate demo --to demo-report.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--list", action="store_true", help="list the debates that ship with the package")
    parser.add_argument("--name", metavar="NAME", help="which of them to replay")
    flags.add_replay(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    journals = {path.parent.name: path for path in sorted(resources.folder("examples").glob(f"*/*{JOURNAL}"))}
    if arguments.list:
        return _print_names(list(journals), as_json=arguments.json)
    name = arguments.name or next(iter(journals), "")
    if name not in journals:
        raise BadSettings(f"--name must be one of {', '.join(journals)}, and not {short_repr(name)}.")
    pace = check_arguments(arguments)
    quiet = arguments.quiet or arguments.json
    if not quiet:
        say(f"A recorded debate, played again ({name}; `debate demo --list` has more).\n")
    command = f"debate demo --name {name}" if arguments.name else "debate demo"
    finished = play_journal(arguments, str(journals[name]), pace, command)
    if not quiet and finished:
        report = "" if arguments.to else f"Its report: `{command} --to report.md`. "
        say(f"\n{report}A debate of your own: `debate`.")
    return 0


def _print_names(names: list[str], *, as_json: bool) -> int:
    if as_json:
        print_json({"debates": names})
    else:
        for name in names:
            say(name)
    return 0
