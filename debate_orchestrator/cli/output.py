"""stdout is for results, stderr for talk; whatever is printed is tamed first, and has no secret in it."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections.abc import Iterable
from typing import Any, TextIO

from debate_orchestrator.rostrum import WIDEST, filled
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import sanitize


class _Redacted:
    """A stream whose text is redacted on its way out; what its encoding lacks is escaped."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        name = self._stream.encoding or "utf-8"
        self._stream.write(redact(text).encode(name, "backslashreplace").decode(name))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # bytes would go past `write`
            raise AttributeError(name)
        return getattr(self._stream, name)


def without_secrets() -> None:
    """From here on nothing that this process prints has a secret of the environment in it: no result or talk, no
    complaint about the command line, no log of a library, no traceback. Warnings of libraries are not shown, unless
    Python is told to: they may quote a secret in part, which can't be found."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Redacted):
            setattr(sys, name, _Redacted(stream))


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on stdout, with its schema's version. Escaped, so that any terminal can take it."""
    print(json.dumps({"schema": 1, **value}, ensure_ascii=True, indent=2))


def say(text: str = "") -> None:
    """A result for a person, on stdout."""
    _write(text, sys.stdout)


def page(text: str) -> None:
    """A document on stdout: its lines as long as they are."""
    print(sanitize(text), end="")


def remark(text: str) -> None:
    """Talk, on stderr."""
    _write(text, sys.stderr)


def _write(text: str, stream: TextIO) -> None:
    """Tamed; at a terminal, wrapped between words, with paths left whole."""
    text = redact(sanitize(text))  # before a secret with spaces in it is wrapped
    if stream.isatty():
        width = min(shutil.get_terminal_size().columns, WIDEST)
        text = "\n".join(filled(line, width) for line in text.split("\n"))
    print(text, file=stream)


def complain(complaints: Iterable[str]) -> None:
    """Complaints, one line each, on stderr."""
    for one in complaints:
        remark(f"debate: {one}")
