"""The names of one debate's files, all derived from its report's name.

Beside `debate-report.md` are `debate-report.html`, `debate-report.journal.jsonl` and, in a host-run debate,
`debate-report.turns/`. A relative output gives relative paths.
"""

from __future__ import annotations

import itertools
import os
from glob import glob
from pathlib import Path
from typing import NamedTuple

from debate_orchestrator.util.data import is_link, real_path, system_owned
from debate_orchestrator.util.errors import BadFile, short_repr

REPORT = "debate-report.md"
JOURNAL = ".journal.jsonl"
REHEARSED = ".rehearsed"
"""The suffix of the files of a rehearsal: the names of the real debate stay free."""
MAX_PATH_LENGTH = 4_096
"""Characters of a path: what Linux takes."""
MAX_FOLDERS = 100
"""Folders in the path of a report."""


class DebateFiles(NamedTuple):
    report: str
    journal: str
    turns_folder: str
    """The folder for the briefs and replies of turns that an agent host takes."""
    evidence: str
    """The folder for the cited pages that were fetched."""
    drafts: str
    """The folder for a person's unfinished turns."""
    html_report: str
    """The report as an HTML page."""

    @property
    def ballots(self) -> str:
        """The folder for the ballots of people who review it."""
        return f"{self.report.removesuffix('.md')}.ballots"

    @classmethod
    def made_for(cls, output: str) -> DebateFiles:
        """The files of a debate whose report goes to `output`, a .md file or a folder; missing folders are made. Raises
        BadFile if the output can't be written."""
        files = cls.named_by(output)
        try:
            if system_owned(files.report):
                raise _unwritable(output, "it is in a folder of the operating system")
            parent = real_path(os.path.dirname(files.report))
            os.makedirs(parent, exist_ok=True)
        except OSError as error:
            raise _unwritable(output, error.strerror) from None
        if os.path.isdir(files.report):
            raise _unwritable(output, "it is a folder")
        if not os.access(parent, os.W_OK):
            raise _unwritable(output, "Permission denied")
        return files

    @classmethod
    def named_by(cls, output: str) -> DebateFiles:
        """As `made_for`, without touching the disk. Raises BadFile if `output` can't name a report."""
        report = output = os.path.expanduser(output) if output.startswith("~") else output
        if not output.isprintable():
            raise _unwritable(output, "the name has unprintable characters")
        if len(output) > MAX_PATH_LENGTH or output.count("/") > MAX_FOLDERS:
            raise _unwritable(output, f"the path is over {MAX_PATH_LENGTH:,} characters or {MAX_FOLDERS} folders long")
        if os.path.isdir(output) or output.endswith(("/", os.sep)) or not os.path.splitext(output)[1]:
            report = os.path.join(output, REPORT)
        if not report.endswith(".md"):
            raise BadFile(f"output: {short_repr(output)} is not a file that ends in .md, or a folder.")
        return cls._from_stem(report.removesuffix(".md"))

    @classmethod
    def of_journal(cls, journal: str) -> DebateFiles:
        if journal.endswith(JOURNAL):
            return cls._from_stem(journal.removesuffix(JOURNAL))
        stem, suffix = os.path.splitext(journal)
        return cls._from_stem(journal if suffix in (".md", ".html") else stem)._replace(journal=journal)

    def with_suffix(self, suffix: str) -> DebateFiles:
        """The files of another debate beside this one; `suffix` is added to their names."""
        return self._from_stem(f"{self.report.removesuffix('.md')}{suffix}")

    def existing(self) -> list[str]:
        """Those of report, HTML report and journal that exist."""
        return [path for path in (self.report, self.html_report, self.journal) if os.path.lexists(path)]

    def must_be_new(self, *, except_for: str = "") -> None:
        """Raises BadFile if a report or journal exists, other than `except_for`: no debate overwrites another.
        Raises it too for a link in place of one of the folders: nothing could be written there later."""
        if linked := [
            folder for folder in (self.turns_folder, self.evidence, self.drafts, self.ballots) if is_link(folder)
        ]:
            raise BadFile(f"output: {linked[0]} is a symbolic link.", hint="name another output, or move it away")
        if existing := [path for path in self.existing() if path != except_for]:
            raise BadFile(f"output: {existing[0]} already exists.", hint="name another output, or move it away")

    @classmethod
    def _from_stem(cls, stem: str) -> DebateFiles:
        folders = (f"{stem}.turns", f"{stem}.evidence", f"{stem}.drafts")
        return cls(f"{stem}.md", f"{stem}{JOURNAL}", *folders, f"{stem}.html")


def unused_files(files: DebateFiles) -> DebateFiles:
    """These files, or the first with a number in their names, of which none is there."""
    numbered = (files.with_suffix(f"-{n}") for n in itertools.count(2))
    return next(free for free in itertools.chain([files], numbered) if not any(map(os.path.lexists, free)))


def unused_report() -> str:
    """A report's name that no debate of the working directory has: `debate-report.md`, or with a number."""
    return unused_files(DebateFiles.named_by(REPORT)).report


def files_like(folder: str, pattern: str) -> list[Path]:
    """The paths in a folder that match a pattern; none if there is no such folder, or it can't be read."""
    return [Path(folder, name) for name in glob(pattern, root_dir=folder or os.curdir, include_hidden=True)]


def state_folder() -> Path | None:
    """The folder for records that are kept between debates, such as consent. Returns None if no absolute path is known:
    a relative one would depend on the working directory."""
    folder = os.environ.get("XDG_STATE_HOME", "")
    home = Path(folder if os.path.isabs(folder) else os.path.expanduser("~/.local/state"))
    return home / "debate-orchestrator" if home.is_absolute() else None


def _unwritable(output: str, reason: str | None) -> BadFile:
    return BadFile(f"output: can't write {short_repr(output)} ({reason}).", hint="name another")
