"""The journal that a verb works on: the one that is named, or the newest of the folder that it can continue."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from debate_orchestrator.cli.output import print_status
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.reports.report_files import FILE_TYPES
from debate_orchestrator.storage import journal
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.storage.stored_state import stored_state
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadFile, BadJournal, DebateError, short_repr

Unfinished = Callable[[DebateState], bool]
"""Whether a verb can continue a debate."""


def journal_named(name_or_path: str | None, *, transcripts: bool = False, unfinished: Unfinished | None = None) -> str:
    """The path of a journal. A report stands for its journal. None stands for the newest journal of this folder; with
    `unfinished`, for the newest unfinished one, or else for the newest.

    Which one was chosen is printed on stderr. With `transcripts` a .md file is taken as it is. Raises BadFile if there
    is no debate here, or its name has several lines, and BadJournal if there is no such file.
    """
    if name_or_path is None:
        found = _journals()
        if not found:
            raise BadFile("There is no debate in this folder.", hint="`debate` begins one; or name a journal")
        return _on_one_line(_newest(found, unfinished))
    return _with_journal(_on_one_line(name_or_path), transcripts=transcripts)


def _on_one_line(path: str) -> str:
    """The path, which messages, and the names of reports, are made of: as a line of its own, what stands behind a
    line break could pass for the program's words. Raises BadFile. No debate is begun under such a name."""
    if len(f"{path}.".splitlines()) > 1:
        raise BadFile(f"{short_repr(path)} has a line break in its name.", hint="give it another name")
    return path


def _with_journal(path: str, *, transcripts: bool) -> str:
    """The journal that is meant by a path: itself, or the journal of that report. Raises BadJournal."""
    stem, suffix = os.path.splitext(path)
    if suffix in FILE_TYPES and not (transcripts and suffix == ".md") and os.path.isfile(f"{stem}{JOURNAL}"):
        print_status(f"{path} is a report; using its journal {stem}{JOURNAL}.")
        return f"{stem}{JOURNAL}"
    if suffix in FILE_TYPES and not transcripts and os.path.isfile(path):
        beside = f"{stem}{JOURNAL}"
        hint = "put it there; or name it first where it is elsewhere, as in `debate check JOURNAL REPORT`"
        raise BadJournal(f"{path}: the journal of this report would be {beside}, which is not there.", hint=hint)
    if not os.path.lexists(path):
        folder = os.path.dirname(path) or os.curdir
        names = [path.name for path in Path(folder).glob(f"*{JOURNAL}")] if os.path.isdir(folder) else []
        rehearsed = f"{os.path.basename(stem)}.rehearsed{JOURNAL}"  # `ci.md`, where only a rehearsal of it was held
        near = [name for name in names if name == rehearsed]
        near = near or difflib.get_close_matches(os.path.basename(path), names, 1)
        hint = os.path.join(folder, near[0]).removeprefix("./") if near else journal.NAME_ONE
        raise BadJournal(f"No such file: {short_repr(path)}.", hint=hint)
    return path


def _journals() -> list[str]:
    """The regular files of this folder that are named like journals, the one written last at the end."""
    found = list[tuple[float, str]]()
    for path in Path().glob(f"*{JOURNAL}"):
        try:
            status = path.lstat()
        except OSError:
            continue  # gone since it was listed
        if stat.S_ISREG(status.st_mode):
            found.append((status.st_mtime, str(path)))
    return [path for _, path in sorted(found)]


def waits_for_host(debate: DebateState) -> bool:
    """Whether a turn is due that an agent host takes."""
    return any(spec_in(debate, turn.seat) == model_spec.HOST for turn in debate.due)


def is_unfinished(debate: DebateState) -> bool:
    """Whether a turn is due."""
    return bool(debate.due)


def _newest(found: list[str], unfinished: Unfinished | None) -> str:
    """One of these journals, of which the last is the newest; what was chosen is said."""
    if unfinished is None:
        print_status(f"Using {name_of(found[-1])}, the newest debate of this folder.")
        return found[-1]
    for path in reversed(found):
        try:
            debate = stored_state(path, journal.read(path, follow=False).events)
        except DebateError:
            continue  # named as the newest below, where it is; other journals may still be waiting
        if unfinished(debate):
            print_status(f"Using {name_of(path)}, the newest debate of this folder that is not finished.")
            return path
    print_status(f"Using {name_of(found[-1])}, the newest debate of this folder: none of them waits for this command.")
    return found[-1]
