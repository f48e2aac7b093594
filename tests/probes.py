"""Fallible judges as a cast names them, and checks of them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from debate_orchestrator import probing

PROGRAM = Path(__file__).parent / "fallible.py"
KINDS = ("same", "exchanged", "empty", "padded", "polish", "citation", "injection")


def worths(folder: Path) -> Path:
    """A file with what each paragraph of the shipped debates is worth: of one side more than of the other, and not
    in every debate of the same."""
    made = {
        paragraph: 1.0 if (side == "a") == (n != 1) else 0.75
        for n, bout in enumerate(probing.load().bouts)
        for side in probing.SIDES
        for speech in bout.speeches[side]
        for paragraph in speech
    }
    path = folder / "worths.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    return path


def judge(weakness: str, folder: Path, *more: str) -> str:
    """The cast's name of a fallible judge."""
    return "command:" + shlex.join([sys.executable, "-I", "-S", str(PROGRAM), weakness, str(worths(folder)), *more])


def counts(told: dict[str, Any], name: str) -> dict[str, int]:
    """Kind to one of the numbers that a card's data has for its first judge."""
    return {line["kind"]: line[name] for line in told["judges"][0]["kinds"]}
