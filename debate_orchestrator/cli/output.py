"""stdout is for results, stderr for talk; whatever is printed is tamed first."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from debate_orchestrator.errors import BadFile, complaint, shown
from debate_orchestrator.speech import tame


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on stdout, with its schema's version. Escaped, so that any terminal can take it."""
    print(json.dumps({"schema": 1, **value}, ensure_ascii=True, indent=2))


def say(text: str = "") -> None:
    """A result for a person, on stdout."""
    print(_printable(tame(text), sys.stdout.encoding))


def remark(text: str) -> None:
    """Talk, on stderr."""
    print(_printable(tame(text), sys.stderr.encoding), file=sys.stderr)


def complain(complaints: Iterable[str]) -> None:
    """Complaints, one line each, on stderr."""
    for one in complaints:
        remark(f"debate: {one}")


def _printable(text: str, encoding: str | None) -> str:
    name = encoding or "utf-8"
    return text.encode(name, "backslashreplace").decode(name)


def markdown_path(path: str) -> str:
    """`path` as the place of a markdown report; BadFile for another ending."""
    if not path.endswith(".md"):
        raise BadFile(complaint("--to", shown(path), "a file that ends in .md"))
    return path
