"""The files of one debate, named after its report.

`debate-report.md` has beside it the same as a page, `debate-report.html`, then `debate-report.journal.jsonl` and, for a
host-run debate, `debate-report.turns/`. Paths stay relative where the given one was.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from debate_orchestrator.util.data import real_path, system_owned
from debate_orchestrator.util.errors import BadFile, complaint, short_repr

REPORT = "debate-report.md"
JOURNAL = ".journal.jsonl"


class DebateFiles(NamedTuple):
    """Where one debate's files lie."""

    report: str
    journal: str
    turns: str
    evidence: str
    """The folder for pages that sides cite."""
    drafts: str
    """The folder for what a person has written and not handed in yet."""
    page: str
    """The report as one page of HTML."""

    @property
    def ballots(self) -> str:
        """The folder for the ballots of people who review it."""
        return f"{self.report.removesuffix('.md')}.ballots"

    @classmethod
    def of_output(cls, output: str) -> DebateFiles:
        """The files of a debate whose report goes to `output`, a .md file or a folder; folders are made.

        BadFile where the output can't be written.
        """
        files = cls.named_by(output)
        try:
            if system_owned(files.report):
                raise _unwritable(output, "a folder of the system's own")
            parent = real_path(os.path.dirname(files.report))
            os.makedirs(parent, exist_ok=True)
        except OSError as error:
            raise _unwritable(output, error.strerror) from None
        if not os.access(parent, os.W_OK) or os.path.isdir(files.report):
            raise _unwritable(output, "a place that can't be written")
        return files

    @classmethod
    def named_by(cls, output: str) -> DebateFiles:
        """The same files, and nothing is made. BadFile where that is no name for a report."""
        report = output = os.path.expanduser(output) if output.startswith("~") else output
        if not output.isprintable():
            raise _unwritable(output, "a name that no file should have")
        if os.path.isdir(output) or output.endswith(("/", os.sep)) or not os.path.splitext(output)[1]:
            report = os.path.join(output, REPORT)
        if not report.endswith(".md"):
            raise BadFile(complaint("output", short_repr(output), "a file that ends in .md, or a folder"))
        return cls._named(report.removesuffix(".md"))

    @classmethod
    def of_journal(cls, journal: str) -> DebateFiles:
        """The files of the debate whose journal that is."""
        if journal.endswith(JOURNAL):
            return cls._named(journal.removesuffix(JOURNAL))
        stem, ending = os.path.splitext(journal)
        return cls._named(journal if ending in (".md", ".html") else stem)._replace(journal=journal)

    def beside(self, mark: str) -> DebateFiles:
        """The files of another debate beside this one, with a mark in their names."""
        return self._named(f"{self.report.removesuffix('.md')}{mark}")

    def there(self) -> list[str]:
        """The report, the page and the journal, as far as they are there already."""
        return [path for path in (self.report, self.page, self.journal) if os.path.lexists(path)]

    def must_be_new(self, *, but: str = "") -> None:
        """BadFile where a report, a page or a journal, `but` that one, is there already: none is ever overwritten by
        another debate."""
        if there := [path for path in self.there() if path != but]:
            hint = "Name another output, or move it away."
            raise BadFile(complaint("output", f"{there[0]}, which is there already", "a new report", hint))

    @classmethod
    def _named(cls, stem: str) -> DebateFiles:
        folders = (f"{stem}.turns", f"{stem}.evidence", f"{stem}.drafts")
        return cls(f"{stem}.md", f"{stem}{JOURNAL}", *folders, f"{stem}.html")


def state_folder() -> Path | None:
    """Where this user's own records are kept, between debates and apart from all of them. None where no absolute path
    is known: a relative one would lie in whatever folder the user is in."""
    given = os.environ.get("XDG_STATE_HOME", "")
    home = Path(given if os.path.isabs(given) else os.path.expanduser("~/.local/state"))
    return home / "debate-orchestrator" if home.is_absolute() else None


def _unwritable(output: str, reason: str | None) -> BadFile:
    return BadFile(
        complaint("output", f"{short_repr(output)}: {reason}", "a place that can be written", "Name another.")
    )
