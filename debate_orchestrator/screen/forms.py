"""Structured replies, as a reader of the screen sees them: field by field, whatever their shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from debate_orchestrator.screen.cells import Line
from debate_orchestrator.screen.layout import paragraph
from debate_orchestrator.screen.voices import INDENT, WIDEST
from debate_orchestrator.speech import one_line


def fields(reply: Mapping[str, Any], wide: int) -> list[Line]:
    """Every field that says something, on lines of its own; the rows of a list each begin with a dash."""
    said: list[str] = []
    for name, value in reply.items():
        if isinstance(value, list):
            said += [f"{_title(name)}:"] * bool(value) + [f"- {_in_a_line(one)}" for one in value]
        elif text := _in_a_line(value):
            said.append(f"{_title(name)}: {text}")
    return [line for one in said for line in paragraph(one, min(wide, WIDEST), indent=INDENT)]


def _title(name: str) -> str:
    return one_line(name.replace("_", " ")).capitalize()


def _in_a_line(value: Any) -> str:
    """A value on one line; empty for what is not there, and for a flag that is not set."""
    if value is None or value is False or value in ("", [], {}):
        return ""
    if value is True:
        return "yes"
    if isinstance(value, Mapping):
        return "; ".join(
            f"{name.replace('_', ' ')}: {text}" for name, one in value.items() if (text := _in_a_line(one))
        )
    if isinstance(value, list):
        return ", ".join(filter(None, map(_in_a_line, value)))
    return f"{value:g}" if isinstance(value, float) else one_line(str(value))
