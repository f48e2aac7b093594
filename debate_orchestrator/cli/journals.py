"""The journal that a verb works on: the one that is named, or the newest of the folder."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from debate_orchestrator.cli.output import remark
from debate_orchestrator.reports.forms import FORMS
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.errors import BadFile, BadJournal, short_repr


def journal_named(given: str | None, *, transcripts: bool = False) -> str:
    """The path of a journal: the newest of this folder where none is given, and that of a report where a report is.

    What was chosen is said on stderr. With `transcripts` a .md file is taken as it is. Raises BadFile if there is no
    debate here, and BadJournal if there is no such file.
    """
    if given is None:
        found = sorted(Path().glob(f"*{JOURNAL}"), key=lambda path: path.stat().st_mtime)
        if not found:
            raise BadFile("There is no debate in this folder.", hint="`debate` begins one; or name a journal")
        remark(f"Using {found[-1]}, the newest debate of this folder.")
        return str(found[-1])
    stem, ending = os.path.splitext(given)
    if ending in FORMS and not (transcripts and ending == ".md") and os.path.isfile(f"{stem}{JOURNAL}"):
        remark(f"{given} is a report; using its journal {stem}{JOURNAL}.")
        return f"{stem}{JOURNAL}"
    if not os.path.lexists(given):
        folder = os.path.dirname(given) or os.curdir
        names = [path.name for path in Path(folder).glob(f"*{JOURNAL}")] if os.path.isdir(folder) else []
        near = difflib.get_close_matches(os.path.basename(given), names, 1, 0.4) or names[:1]
        hint = os.path.join(folder, near[0]).removeprefix("./") if near else "`debate` begins one"
        raise BadJournal(f"No such file: {short_repr(given)}.", hint=hint)
    return given
