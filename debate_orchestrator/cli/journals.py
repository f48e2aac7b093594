"""The journal that a verb works on: the one that is named, or the newest of the folder that it can continue."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from debate_orchestrator.cli.output import print_status
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.reports.report_files import FILE_TYPES
from debate_orchestrator.storage import journal
from debate_orchestrator.storage.journal_lines import state_of_events
from debate_orchestrator.storage.paths import JOURNAL, files_like
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadFile, BadJournal, DebateError, short_repr, suggest

CanContinue = Callable[[DebateState], bool]
"""Whether a verb can continue a debate."""


def find_journal(path: str | None, *, transcripts: bool = False, can_continue: CanContinue | None = None) -> str:
    """The path of a journal: a report stands for its journal, a folder for the newest one in it and None for the newest
    one here, whose name is printed. The newest of which `can_continue` is true comes first, if there is one. With
    `transcripts` a .md file that is no report is taken as it is. Raises BadFile without a debate in the folder, or for
    a name of several lines; BadJournal without such a file."""
    path = _newest(path or os.curdir, can_continue) if path is None or os.path.isdir(path) else path
    if len(f"{path}.".splitlines()) > 1:  # what follows the line break could pass for the program's words
        raise BadFile(f"{short_repr(path)} has a line break in its name.", hint="give it another name")
    stem, suffix = os.path.splitext(path)
    if transcripts and suffix == ".md":
        from debate_orchestrator.engine import transcript_file

        transcripts = not transcript_file.is_report(path)
    journal_path = f"{stem}{JOURNAL}"
    if suffix in FILE_TYPES and not (transcripts and suffix == ".md") and os.path.isfile(journal_path):
        print_status(f"{name_of(path)} is a report; using its journal {name_of(journal_path)}.")
        return journal_path
    if suffix in FILE_TYPES and not transcripts and os.path.isfile(path):
        hint = "if the journal is elsewhere, name it; `debate check JOURNAL REPORT` compares this report with it"
        raise BadJournal(
            f"{name_of(path)}: if this is a report, its journal {name_of(journal_path)} is not there.", hint=hint
        )
    if not os.path.lexists(path):
        folder, name = os.path.split(path)
        names = [os.path.basename(journal_path) for _, journal_path in _journals(folder)]
        names += [transcript.name for transcript in files_like(folder, "*.md")] if transcripts else []
        wanted = f"a journal ({JOURNAL})" + (" or a transcript (.md)" if transcripts else "")
        suggestion = (
            suggest(name if "." in name else f"{name}{JOURNAL}", names) or f"Try: the path of {wanted} that is there."
        )
        raise BadJournal(f"No such file: {short_repr(path)}. {suggestion}")
    return path


def waits_for_host(debate: DebateState) -> bool:
    """Whether a turn is due that an agent host takes."""
    return any(spec_in(debate, turn.seat) == model_spec.HOST for turn in debate.due)


def is_unfinished(debate: DebateState) -> bool:
    """Whether a turn is due."""
    return bool(debate.due)


def _newest(folder: str, can_continue: CanContinue | None) -> str:
    """The newest journal of a folder that can be continued, or else the newest that is no rehearsed re-judging, if
    there is one. Its name is printed."""
    journals, name = sorted(_journals(folder), reverse=True), "this folder" if folder == os.curdir else name_of(folder)
    if not journals:
        below = max(_journals(folder, "*/"), default=None)
        hint = f"name the journal, such as {name_of(below[1])}" if below else "`debate` begins one; or name a journal"
        if not os.access(folder, os.R_OK | os.X_OK):
            raise BadFile(f"{name}: can't be read (Permission denied).", hint="change its permissions")
        raise BadFile(f"There is no debate in {name if folder == os.curdir else short_repr(folder)}.", hint=hint)
    paths = [path for _, path in journals]
    continued = can_continue and next((path for path in paths if _holds(path, can_continue)), None)
    path = continued or next((path for path in paths if not _holds(path, _is_rehearsed_rejudging)), paths[0])
    qualifier = "" if path == paths[0] else " that is no rehearsed re-judging"
    if can_continue is not None:
        qualifier = " that is not finished" if continued else f"{qualifier}: none of them waits for this command"
    print_status(f"Using {name_of(path)}, the newest debate of {name}{qualifier}.")
    return path


def _journals(folder: str, subfolder: str = "") -> list[tuple[float, str]]:
    """The regular files of a folder that are named like journals, with their times; none that a crash left empty. With
    the subfolder `*/` it is those of its subfolders."""
    journals = []
    for path in files_like(folder, f"{subfolder}*{JOURNAL}"):
        try:
            status = path.lstat()
        except OSError:
            continue  # it was removed just now, or its folder can only be listed
        if stat.S_ISREG(status.st_mode) and status.st_size:
            journals.append((status.st_mtime, str(path)))
    return journals


def _is_rehearsed_rejudging(debate: DebateState) -> bool:
    """Whether it is a debate that was judged again to see how that goes."""
    return debate.opened.earlier_debate is not None and model_spec.is_rehearsal({JUDGE: debate.cast.get(JUDGE, ())})


def _holds(path: str, condition: Callable[[DebateState], bool]) -> bool:
    try:
        return condition(state_of_events(path, journal.read(path, follow_symlinks=False).events))
    except DebateError:
        return False  # other journals may still be waiting
