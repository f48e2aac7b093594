"""What a setup does beyond the debate itself: programs, servers, other files, prompts from elsewhere.

A value that the user typed is the user's own. A value from an answers file or a journal may be a stranger's: what is
listed here of it needs the user's consent, for which `cli.consent` asks.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from debate_orchestrator import casts, drafts, formats, library
from debate_orchestrator.core.events import HEARING, Opened
from debate_orchestrator.core.rules import Format
from debate_orchestrator.core.values import Value
from debate_orchestrator.errors import BadFile
from debate_orchestrator.files import Files

Kind = Literal["program", "server", "recording", "context", "output", "format", "pages"]
_PHRASES: dict[Kind, str] = {
    "program": "the program",
    "server": "the server",
    "recording": "the recording",
    "context": "the file",
    "output": "the report",
    "format": "the prompts of",
    "pages": "the pages at",
}


_INSTRUCTIONS = frozenset(
    f"{name}.md" for name in ("agent", "agents", "claude", "claude.local", "copilot-instructions", "gemini", "skill")
)
"""Names of files from which agents take orders in the folder where they work, in small letters."""


def _shown(text: str) -> str:
    """A text that can't be mistaken for another: escaped where it holds letters that may look like those of ASCII, or
    characters that are not shown."""
    return text if text.isascii() and text.isprintable() else ascii(text)


_EARLIER = frozenset(
    {
        "01097c413248d0c698db1330310f73439083cf8b10dade364d8cabd87b72375b",  # adversarial
        "341f7ffda9d62207f112b8d01b17afd12129394e8e12275d6f25fd716afa8c48",  # claim
    }
)
"""The digests of formats as earlier versions shipped them, so that their journals need no consent; see `_digest`."""


class Risk(Value):
    """One thing that reaches beyond the debate."""

    kind: Kind
    where: str
    """The keys of the setup that ask for it, as in `cast.a, cast.b`."""
    what: str
    """A whole command line, an address, or the path to which a file name really leads."""

    @property
    def said(self) -> str:
        """In words, safe to be shown."""
        return f"{_shown(self.where)}: {_PHRASES[self.kind]} {_shown(self.what)}"

    @property
    def digest(self) -> str:
        """What it is known by when it has been agreed to, whichever key asks for it: a program, a server or a file by
        its name, whatever is in it later; the prompts of a journal by their words."""
        return hashlib.sha256(f"{self.kind} {self.what}".encode("utf-8", "surrogatepass")).hexdigest()


def of_answers(given: Mapping[str, Any]) -> tuple[Risk, ...]:
    """The risks of answers as a file has them, checked or not: values of another type are left out, since nothing
    comes of them."""
    found = list(_of_cast(given.get("cast")))
    for path in _texts(given.get("context")):
        if leads := _outside(path):
            found.append(Risk(kind="context", where="context", what=leads))
    report = _report(given.get("output"))
    if report and (leads := _outside(report) or (_real(report) if _instructs(report) else "")):
        found.append(Risk(kind="output", where="output", what=leads))
    format = given.get("format")
    if isinstance(format, str) and drafts.is_path(format):
        found.append(Risk(kind="format", where="format", what=_real(os.path.expanduser(format))))
    return _joined(found)


def of_opening(opened: Opened, cast: Mapping[str, tuple[str, ...]]) -> tuple[Risk, ...]:
    """The risks of going on with a debate that was opened so, with that cast."""
    found = list(_of_cast(cast))
    for seat, specs in cast.items():
        if any(casts.kind(spec) == casts.FETCH for spec in specs):
            found.append(Risk(kind="pages", where=f"cast.{seat}", what="every address that its speeches cite"))
    if not _is_shipped(opened):
        words = f"{opened.format.model_dump_json()}{sorted(opened.templates.items())}"
        digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
        found.append(Risk(kind="format", where="format", what=f"{opened.format.name} in the journal ({digest[:12]})"))
    return _joined(found)


def of_going_on(opened: Opened, cast: Mapping[str, tuple[str, ...]]) -> tuple[Risk, ...]:
    """The risks of taking further turns in it: those of its opening, and the rules of hearing of older versions, under
    which a quotation concedes and models' working is heard."""
    older = Risk(kind="format", where="hearing", what="an older version: quotations concede, private working is heard")
    return (*of_opening(opened, cast), *([older] if opened.hearing < HEARING else []))


def _is_shipped(opened: Opened) -> bool:
    """Whether a debate goes by a format that comes with the program, with its very words: much of what a format's data
    says (what is judged by, how strictly, what a field is about) is put into briefs, as its templates are."""
    name = opened.format.name
    if not opened.templates and _digest(opened.format) in _EARLIER:
        return True
    return name in library.format_names() and (opened.format, opened.templates) == formats.whole(name)


def _digest(format: Format) -> str:
    """A digest of what a format says beside the defaults, which later versions may add to."""
    said = format.model_dump(mode="json", exclude_defaults=True)
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _of_cast(cast: object) -> Iterator[Risk]:
    seats = cast if isinstance(cast, Mapping) else {"": cast}
    for seat, specs in seats.items():
        where = f"cast.{seat}" if seat else "cast"
        for spec in _texts(specs):
            kind, rest = casts.kind(spec), casts.rest(spec)
            address = casts.split_address(rest)[1]
            if kind == casts.COMMAND:
                yield Risk(kind="program", where=where, what=_program(rest))
            elif kind == casts.REPLAY:
                if leads := _outside(rest):
                    yield Risk(kind="recording", where=where, what=leads)
            elif address is not None and kind != casts.REHEARSE:
                yield Risk(kind="server", where=where, what=address)


def _program(line: str) -> str:
    """A command line, with the folder that it is run in where a word of it may mean a file there."""
    words = line.split()
    local = any(os.path.exists(word) or (os.sep in word and not os.path.isabs(word)) for word in words)
    return f"{line} (in {os.path.realpath(os.curdir)})" if local else line


def _report(output: object) -> str:
    """Where the report lies for which an output is the name; empty where nothing is written."""
    try:
        return Files.named_by(output).report if isinstance(output, str) else ""
    except (BadFile, ValueError):
        return ""


def _instructs(report: str) -> bool:
    """Whether a report has a name under which agents look for their instructions."""
    return os.path.basename(_real(report)).casefold() in _INSTRUCTIONS


def _outside(path: str) -> str:
    """Where a path really leads, if that is outside the working folder, or hidden in it; else empty."""
    leads = _real(path)
    parts = os.path.relpath(leads, os.path.realpath(os.curdir)).split(os.sep)
    return leads if any(part.startswith(".") for part in parts) else ""


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # no file can have that name, which is told when it is read
        return os.path.abspath(os.curdir)


def _texts(value: object) -> list[str]:
    """The texts in a value that may be one text or several."""
    values = value if isinstance(value, list | tuple) else [value]
    return [one for one in values if isinstance(one, str)]


def _joined(found: list[Risk]) -> tuple[Risk, ...]:
    """Each thing once, with every key that asks for it."""
    keys: dict[tuple[Kind, str], list[str]] = {}
    for one in found:
        keys.setdefault((one.kind, one.what), []).append(one.where)
    where = {thing: ", ".join(dict.fromkeys(asking)) for thing, asking in keys.items()}
    return tuple(Risk(kind=kind, where=where[kind, what], what=what) for kind, what in keys)
