"""The forms a report comes in, by the ending of its file."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import NamedTuple

from debate_orchestrator.reports import checksum
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.util.data import name_of, read_regular
from debate_orchestrator.util.errors import BadFile, complaint, short_repr

Tell = Callable[[str], None]
"""Is told a sentence for whoever looks on."""


def _silent(said: str) -> None:
    """Tells nobody."""


class Form(NamedTuple):
    """One form of report."""

    module: str
    """The module whose `render(story)` makes it; imported only where it is asked for."""
    begins: tuple[bytes, ...]
    """How files of the form begin: what begins otherwise is no report, and is never overwritten."""


_PAGE = b'<!doctype html>\n<html lang="en" class="debate-report">'
FORMS = {
    ".md": Form("debate_orchestrator.reports.markdown", (b"# Debate Report", b"# Debate Transcript")),
    ".html": Form("debate_orchestrator.reports.html.page", (_PAGE,)),
    ".json": Form("debate_orchestrator.reports.json.data", (b'{\n  "schema": 1,\n  "document": "debate report",\n',)),
}


def write(story: ReportModel, path: str, tell: Tell = _silent) -> str:
    """Writes the report of a story in the form that the path's ending names; the path. BadFile for another ending,
    or where a file that is no report is in its place. A report there is replaced only where its seal shows that this
    program wrote every byte of it; otherwise it is kept beside the new one, which is told."""
    ending = os.path.splitext(place(path))[1]

    def ours(there: bytes) -> bool:
        made = checksum.read(there, ending)
        return made is not None and made.fits

    if kept := write_atomic(path, rendered(story, ending), ours=ours):
        tell(f"{name_of(path)} was not as this program writes it: kept as {name_of(kept)}.")
    return path


def rendered(story: ReportModel, ending: str) -> str:
    """The report of a story in the form of that ending, sealed."""
    return checksum.with_checksum(importlib.import_module(FORMS[ending].module).render(story), story, ending)


def write_both(story: ReportModel, report: str, page: str, tell: Tell = _silent) -> list[str]:
    """Writes the report of a story, and the page beside it; BadFile where the report can't be written. What keeps the
    page from being written is told, and nothing more: the report is there."""
    write(story, report, tell)
    try:
        write(story, page, tell)
    except BadFile as error:
        return error.complaints
    return []


def place(path: str) -> str:
    """`path`, if a report may be written there; BadFile as `write` has it."""
    form = FORMS.get(os.path.splitext(path)[1])
    if form is None:
        endings = " or ".join(FORMS)
        raise BadFile(complaint("report", short_repr(path), f"a file that ends in {endings}"))
    try:
        there = read_regular(path)
    except (OSError, ValueError):
        return path  # nothing, or what `write` keeps or refuses
    if there and not there.startswith(form.begins):
        found = f"{short_repr(path)}, which holds something else"
        raise BadFile(complaint("report", found, "a new file, or a report", "Give --to FILE."))
    return path
