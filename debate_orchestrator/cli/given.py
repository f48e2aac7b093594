"""What is given to a verb in a file, or at standard input where the file's name is `-`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from debate_orchestrator.cli.output import remark
from debate_orchestrator.datafiles import LARGEST, given, name_of, read_mapping, reason
from debate_orchestrator.errors import BadFile, complaint

STANDARD_INPUT = "-"
STDIN = "standard input"
"""What complaints call it."""


def standard_input() -> dict[str, Any]:
    """The mapping, as YAML or JSON, that comes at standard input; BadFile where none does."""
    try:
        if sys.stdin is not None and sys.stdin.isatty():
            remark("reading from the terminal: end with Ctrl-D.")
        data = sys.stdin.buffer.read(LARGEST + 1) if sys.stdin is not None else b""
    except OSError as error:
        raise BadFile(complaint(STDIN, reason(error), "something that can be read")) from None
    if len(data) > LARGEST:
        raise BadFile(complaint(STDIN, f"more than {LARGEST:,} bytes", f"at most {LARGEST:,}"))
    try:
        return given(data.decode("utf-8-sig"), STDIN)
    except UnicodeDecodeError:
        raise BadFile(complaint(STDIN, "bytes that are not UTF-8", "text in UTF-8")) from None


def answers(arguments: argparse.Namespace) -> dict[str, Any]:
    """What `--answers` names; nothing where it was not given. Standard input is read once and then remembered."""
    where = arguments.answers
    if where != STANDARD_INPUT:
        if where and os.path.exists(where) and not (os.path.isfile(where) or os.path.isdir(where)):
            hint = "To read standard input, write `--answers -`."
            raise BadFile(complaint(name_of(where), "a pipe or a device", "a file", hint))
        return read_mapping(where) if where else {}
    if not hasattr(arguments, "piped"):
        arguments.piped = standard_input()
        if "setup" in arguments.piped:
            hint = "Keep it in a file: `debate ask FILE`."
            raise BadFile(complaint(STDIN, "a setup conversation", "answers that are settled", hint))
    return dict(arguments.piped)
