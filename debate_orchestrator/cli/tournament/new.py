"""`debate tournament new`: writes a commented spec to start from."""

from __future__ import annotations

import argparse
import shlex

from debate_orchestrator.cli.output import remark, say

EXAMPLE = "debate tournament new spring.yaml"
FILE = "tournament.yaml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", default=FILE, help=f"the file to write; {FILE} by default")


def run(arguments: argparse.Namespace) -> int:
    """Writes the file, and says what to do with it."""
    from debate_orchestrator.storage.files import write_new
    from debate_orchestrator.tournament.spec_file import sample

    write_new(arguments.file, sample())
    name = shlex.quote(arguments.file)
    say(f"{arguments.file} is written.")
    remark(f"What it takes: `debate tournament plan {name}`.")
    remark(f"All of it without a model: `debate tournament run {name} --to demo --rehearse`.")
    return 0
