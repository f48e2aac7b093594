"""Takes a brief apart for a person: into instructions and documents, without fences, codes and schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from debate_orchestrator.core import transcript_entries
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.prompting.briefs import Brief

BALLOT = "BALLOT"
_TASK = "# Your task"
"""Begins the section of a brief that says what to do now."""
_HEADS = {
    "MOTION": "The motion",
    "POSITIONS": "",
    "MATERIAL": "Material",
    "FEEDBACK": "The judge's feedback",
    "COMPLAINTS": "What was wrong with the last reply",
    "REPLY": "The last reply",
    "PAGES": "Pages",
}
ALL_ASKED = "A form asks for all of that, field by field."
"""What is said of a form that asks for every field."""
_OPENING = re.compile(r"<<< (?P<kind>.+?) (?P<code>[0-9a-f]{12})(?P<remark> .*)?")
"""The line that opens a document."""
_ITEM = re.compile(r"\s*(?:[-*]|\d+\.) ")


class Piece(NamedTuple):
    """A part of a brief: an instruction, or a document."""

    kind: str
    """The word that a document begins with, such as the id of a turn; empty for an instruction."""
    head: str
    body: str


def pieces(brief: Brief, schema_replacement: str = ALL_ASKED) -> list[Piece]:
    """The pieces of a brief, in its order. `schema_replacement` is the sentence that people read in place of the JSON
    Schema, which is for models: it says what a form asks for."""
    parts = list(_parse(_without_fence_text(brief.system)))
    for message in brief.messages:
        for part in message.parts:
            if message.role == "assistant":
                parts.append(Piece("own.words", "You said", part))
            else:
                parts += _parse(_without_schema(part, brief, schema_replacement))
    return parts


def length_hint(turn: Turn) -> str:
    """How long the speech of a turn should be, and how long it may be; empty where the format sets none."""
    phase = turn.phase
    parts = [f"about {phase.words:,} words are asked for"] if phase.words else []
    parts += [f"{phase.least_words:,} at least"] if phase.least_words else []
    parts += [f"what comes after {phase.most_words:,} is not heard"] if phase.most_words else []
    return f"{', '.join(parts)}." if parts else ""


def tasks(text: str, *, short: bool) -> list[str]:
    """The sections of an instruction that say what to do now. With `short`, as for speeches, only the first paragraph
    of each: the others tell models how to write."""
    sections = re.split(r"(?m)^(?=# )", text)
    texts = [section.strip() for section in sections if section.startswith(_TASK)]
    return ["\n\n".join(re.split(r"\n\s*\n", task)[:2]) for task in texts] if short else texts


def _parse(text: str) -> Iterator[Piece]:
    """The instructions and the documents in a text. Only a line with the code of a document closes it."""
    plain: list[str] = []
    inside: list[str] = []
    code, head = "", ("", "")
    is_open = False
    for line in text.split("\n"):
        if is_open and line != f"END {code} >>>":
            inside.append(line)
        elif is_open:
            yield _document(*head, "\n".join(inside).strip("\n"))
            is_open, inside = False, []
        elif opening := _OPENING.fullmatch(line):
            yield from _instruction(plain)
            is_open, plain = True, []
            code, head = opening["code"], (opening["kind"], (opening["remark"] or "").strip())
        elif code and line.startswith(f"{code}: "):
            plain.append(f"Note: {line.removeprefix(f'{code}: ')}")
        else:
            plain.append(line)
    yield from _instruction(plain)


def _document(kind: str, remark: str, body: str) -> Piece:
    if kind == BALLOT:
        return Piece(kind, f"Your ballot in {remark}", _ballot_text(body))
    head = _HEADS.get(kind, f"{remark} ({kind})" if "." in kind else kind.capitalize())
    return Piece(kind, f"{head} {remark}".strip() if kind in _HEADS else head, body)


def _instruction(lines: list[str]) -> Iterator[Piece]:
    """What stands between documents, with the lines of a paragraph put together."""
    merged: list[str] = []
    for line in "\n".join(lines).strip().split("\n"):
        begins = not line.strip() or line.startswith("# ") or _ITEM.match(line)
        if begins or not merged or not merged[-1] or merged[-1].startswith("# "):
            merged += [] if not line.strip() and merged[-1:] == [""] else [line.rstrip()]
        else:
            merged[-1] = f"{merged[-1]} {line.strip()}"
    if any(merged):
        yield Piece("", "", "\n".join(merged))


def _without_fence_text(system: str) -> str:
    """The system text without the paragraph that explains the fences, which a person is not shown."""
    return "\n\n".join(paragraph for paragraph in re.split(r"\n\s*\n", system) if '"<<<"' not in paragraph)


def _without_schema(part: str, brief: Brief, schema_replacement: str) -> str:
    """A part without the JSON Schema of the reply, and without the paragraph that asks for it: a form does that."""
    if brief.json_schema is None:
        return part
    before, schema, after = part.partition(json.dumps(brief.json_schema, ensure_ascii=False, indent=1))
    if not schema:
        return part
    asked = before.rstrip().rpartition("\n\n")
    return f"{asked[0] or asked[2]}\n\n{schema_replacement}{after}"


def _ballot_text(body: str) -> str:
    try:
        return "\n".join(_fields(json.loads(body)))
    except (ValueError, RecursionError):
        return body


def _fields(value: Any) -> Iterator[str]:
    """A value of JSON in lines that people read."""
    if isinstance(value, dict):
        for name, item in value.items():
            lines = list(_fields(item))
            nested = isinstance(item, dict | list) and bool(item)
            yield f"{transcript_entries.title(str(name))}:{'' if nested else ' ' + ' '.join(lines)}".rstrip()
            yield from (f"  {line}" for line in lines if nested)
    elif isinstance(value, list):
        yield from (f"- {' '.join(_fields(item))}" for item in value)
    else:
        yield "none" if value is None else ("yes" if value else "no") if isinstance(value, bool) else str(value)
