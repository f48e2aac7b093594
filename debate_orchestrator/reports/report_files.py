"""Report files: their types by the suffix of the file, their checksum, writing them, and whether one says what its
journal says.

A report names the version that made it, the journal as it was then (how many lines, its schema, the hash of its last
line, which stands for all before), and its own sha256. That is taken over the exact bytes of the file with the 64
digits of the checksum itself written as zeros, in every type of file; it is the last such number in the file. So it
can be checked with a few words of any language, or with `sed` and `sha256sum`. It covers what a report says of
reviewers' ballots.

A checksum shows that a file was not changed since, to a reader who knows the right one. The hash of the journal shows
at which line of it the report was made. Neither is a signature: a changed report can be given a new checksum, so the
same version renders it again and compares the bytes.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from debate_orchestrator import __version__
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.reviewer_ballots import NO_BALLOTS, BallotFolder
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.journal_lines import Entry, stated_hash
from debate_orchestrator.util.data import name_of, read_regular
from debate_orchestrator.util.errors import BadFile, short_repr, with_hint
from debate_orchestrator.util.messages import Notify, ignore
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import redact, redact_json

BLANK = "0" * 64
"""Stands in place of a report's checksum while the checksum is computed."""
_VERSION, _SHA = r"(?P<version>\d{1,4}\.\d{1,4}\.\d{1,4})", "[0-9a-f]{64}"
_LINES, _SCHEMA_VERSION = r"(?P<lines>[1-9]\d{0,11})", r"(?P<schema_version>[1-9]\d{0,5})"
SENTENCE = (
    rf"Made by debate-orchestrator {_VERSION}\. Journal: {_LINES} lines?, schema {_SCHEMA_VERSION}, "
    rf"last line sha256:(?P<last_hash>{_SHA})\. This report: sha256:(?P<digest>{_SHA}), "
    r"of its bytes with these 64 digits as zeros\."
)
"""Finds `checksum_sentence` with its values."""
_MEMBERS = (
    rf'  "version": "{_VERSION}",\n'
    rf'  "journal": \{{\n    "lines": {_LINES},\n    "schema_version": {_SCHEMA_VERSION},\n'
    rf'    "head": "(?P<last_hash>{_SHA})"\n  \}},\n'
    rf'  "digest": "(?P<digest>{_SHA})"\n\}}\n'
)


class ReportFileType(NamedTuple):
    """One type of report file. The checksum is the last thing in such files, or the last before `end`."""

    name: str
    module: str
    """The module whose `render(report)` makes it; imported only if it is asked for."""
    prefixes: tuple[bytes, ...]
    """The beginnings of files of the type. A file that begins otherwise is not a report, and is never overwritten."""
    around: tuple[str, str] | None = None
    """The text before and after the sentence; None if the rendered text has the values already, as JSON."""
    end: str = ""
    """The text before which the sentence is put, the last of its kind; empty for the end of the text."""

    def find_checksum(self, data: bytes) -> re.Match[bytes] | None:
        """The checksum of a file's bytes; None if it is not in its place."""
        before, after = map(re.escape, self.around or ("", ""))
        pattern = f"{before}{SENTENCE}{after}" if self.around else _MEMBERS
        end = data.rfind(self.end.encode()) if self.end else len(data)
        return re.compile(rf"{pattern}\Z".encode()).search(data, 0, max(0, end))

    def with_sentence(self, text: str, sentence: str) -> str:
        if self.around is None:
            return text
        at = text.rfind(self.end) if self.end else len(text)
        return f"{text[:at]}{self.around[0]}{sentence}{self.around[1]}{text[at:]}"


FILE_TYPES = {
    ".md": ReportFileType(
        "markdown",
        "debate_orchestrator.reports.markdown",
        (b"# Debate Report", b"# Debate Transcript"),
        ("\n---\n\n*", "*\n"),
    ),
    ".html": ReportFileType(
        "html",
        "debate_orchestrator.reports.html.page",
        (b'<!doctype html>\n<html lang="en" class="debate-report">',),
        ('<p class="checksum">', "</p>\n"),
        end="</footer>",
    ),
    ".json": ReportFileType(
        "json",
        "debate_orchestrator.reports.json_report",
        (b'{\n  "schema": 2,\n  "document": "debate report",\n',),
    ),
}
"""Every type of report file, by its suffix. To add one, write a module with `render(report)` and an entry here:
`report --to` then writes it. A debate that ends writes markdown and HTML (`write_both`)."""


_SAFE_PAGE = re.compile(
    rb"<!doctype html>\n<html lang=\"en\" class=\"debate-report\">\n<head>\n<meta charset=\"utf-8\">\n"
    rb"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-[\w+/]{43}='; "
    rb"img-src data:; base-uri 'none'; form-action 'none'\">\n"
    rb"(?!.*<meta(?! (?:name|property)=\"[^\"]*\" content=\"[^\"]*\">))",  # one may lead elsewhere
    re.DOTALL | re.IGNORECASE,
)


class Checksum(NamedTuple):
    """The checksum that a report states, and whether it fits."""

    version: str
    lines: int
    schema_version: int
    """The version of the journal's format."""
    last_hash: str
    digest: str
    fits: bool
    """Whether that is the sha256 of its bytes."""


def checksum_sentence(report: ReportModel) -> str:
    """The sentence that files for people show, in ASCII without markup, and with the checksum blank."""
    journal = report.journal
    lines = f"{journal.lines} line{'s' * (journal.lines != 1)}"
    return (
        f"Made by debate-orchestrator {__version__}. Journal: {lines}, schema {journal.schema_version}, "
        f"last line sha256:{journal.last_hash}. This report: sha256:{BLANK}, "
        "of its bytes with these 64 digits as zeros."
    )


def read_checksum(data: bytes, suffix: str) -> Checksum | None:
    """The checksum of a report's bytes; None if there is none, or none that can be read."""
    match = FILE_TYPES[suffix].find_checksum(data)
    if match is None:
        return None
    start, end = match.span("digest")
    digest = hashlib.sha256(data[:start] + BLANK.encode() + data[end:]).hexdigest()
    return Checksum(
        version=match["version"].decode(),
        lines=int(match["lines"]),
        schema_version=int(match["schema_version"]),
        last_hash=match["last_hash"].decode(),
        digest=match["digest"].decode(),
        fits=match["digest"].decode() == digest,
    )


def is_unchanged(path: str) -> bool:
    """Whether there is a report, in a file of its own, that was not changed after it was written, by its checksum.
    Anyone can give a page a new one, so a page must also begin with the policy under which no script runs, and have no
    element that leads elsewhere by itself."""
    try:
        data, suffix = read_regular(path, follow_symlinks=False), os.path.splitext(path)[1]
    except (OSError, ValueError):
        return False
    checksum = read_checksum(data, suffix)
    return checksum is not None and checksum.fits and (suffix != ".html" or _SAFE_PAGE.match(data) is not None)


def is_outdated(path: str, journal: str) -> bool:
    """Whether a report states that it was made when its journal ended with another line."""
    try:
        checksum = read_checksum(read_regular(path, follow_symlinks=False), os.path.splitext(path)[1])
        last_line = read_regular(journal, follow_symlinks=False).rstrip(b"\n").rpartition(b"\n")[2]
    except (OSError, ValueError):
        return False
    return checksum is not None and checksum.last_hash != stated_hash(last_line)


def render_file(report: ReportModel, suffix: str, version: str = __version__) -> str:
    """A report as a file with its checksum, as that version makes it if it renders the journal the same."""
    file_type = FILE_TYPES[suffix]
    # Words of a journal that are shown without the text between them may make a secret.
    text = importlib.import_module(file_type.module).render(report)
    if not isinstance(text, str):
        raise TypeError(f"{file_type.module}.render must return text, not {type(text).__name__}")
    text = f"{redact_json(text, indent=2).rstrip()}\n" if suffix == ".json" else redact(text)
    text = file_type.with_sentence(text, checksum_sentence(report))
    if version != __version__ and (match := file_type.find_checksum(text.encode())):
        data = text.encode()
        text = (data[: match.start("version")] + version.encode() + data[match.end("version") :]).decode()
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    before, _, after = text.rpartition(BLANK)
    return f"{before}{digest}{after}"


def write(report: ReportModel, path: str, notify: Notify = ignore) -> str:
    """Writes a report as the type of file that the path's suffix names; returns the path. Raises BadFile for another
    suffix, or if the file there is not a report. A report there is replaced only if its checksum shows that this
    program wrote every byte of it; otherwise it is kept beside the new one, and `notify` gets a sentence."""
    suffix = os.path.splitext(checked_path(path))[1]

    def is_ours(existing: bytes) -> bool:
        return (checksum := read_checksum(existing, suffix)) is not None and checksum.fits

    if path_kept := write_atomic(path, render_file(report, suffix), is_ours=is_ours):
        notify(f"{name_of(path)} was edited, or is not from this program; it is kept as {name_of(path_kept)}.")
    return path


def write_both(report: ReportModel, path: str, html_path: str, notify: Notify = ignore) -> list[str]:
    """Writes the report, and the one in HTML beside it. Raises BadFile if the first can't be written. Returns the
    reasons why the second can't be written: the first is written all the same."""
    write(report, path, notify)
    try:
        write(report, html_path, notify)
    except BadFile as error:
        return error.problems
    return []


def checked_path(path: str) -> str:
    """`path`, if a report may be written there; else BadFile, as from `write`."""
    file_type = FILE_TYPES.get(os.path.splitext(path)[1])
    if file_type is None:
        raise BadFile(f"A report can't be written to {short_repr(path)}.", hint=f"a file that ends in {suffixes()}")
    try:
        existing = read_regular(path)
    except (OSError, ValueError):
        return path  # nothing, or what `write` keeps or refuses
    if existing and not existing.startswith(file_type.prefixes):
        raise BadFile(f"{short_repr(path)} is not a report and is not overwritten.", hint="name another file")
    return path


def suffixes() -> str:
    """The suffixes of reports in words: `.md, .html or .json`."""
    *others, last = FILE_TYPES
    return f"{', '.join(others)} or {last}"


ReportState = Literal[
    "unchanged",  # made of this journal as it is
    "earlier",  # made of this journal when it had fewer lines
    "another",  # made of another journal, or of more lines than this one has
    "changed",  # changed after it was written
    "no checksum",  # so that nothing shows what it was made of
    "contradicts",  # has a checksum, and does not say what the journal says
    "ballots changed",  # does not have the reviewers' ballots that there are now
    "other version",  # names another version of this program, and only that one can tell
]
_TEXTS: dict[ReportState, str] = {
    "unchanged": "belongs to this journal, and is unchanged since it was written; made again, it is the same {how}.",
    "earlier": "unchanged, and made from this journal when it had {lines} of its {now} lines; made again, it is the "
    "same {how}.",
    "another": "of another journal, or this one was changed: it names {named} and the hash of the last, {head}, and "
    "this journal of {now} has no such line there.",
    "changed": "changed after it was written: its bytes do not have the checksum that it states.",
    "no checksum": "has no checksum that can be read, so nothing shows that it says what the journal says.",
    "contradicts": "does not say what the journal says: its checksum fits, but made again it differs. It was changed "
    "and given a new checksum, or reviewers' ballots that it includes were taken away.",
    "ballots changed": "does not tell of the reviewers' ballots beside the journal now: they were handed in or changed "
    "since, or it was changed and given a new checksum.",
    "other version": "names this journal, and its checksum fits. It also names version {version}, and this is "
    f"{__version__}, which renders the journal differently. Only that version can tell whether it says what the "
    "journal says: anyone can give a report a new checksum.",
}
"""Each state for people, in a sentence or two that the report's name begins."""


class Verification(NamedTuple):
    """The result of verifying one report."""

    path: str
    state: ReportState
    journal_lines: int
    checksum: Checksum | None = None

    @property
    def rerendered(self) -> Literal["same", "different", "not compared"]:
        """Whether rendering it again gives the same bytes."""
        if self.state in ("another", "changed", "no checksum"):
            return "not compared"
        return "same" if self.ok else "different"

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against it."""
        return self.state in ("unchanged", "earlier")

    @property
    def inconclusive(self) -> bool:
        """Whether `ok` is not decidable yet, since something has to be done first."""
        return self.state in ("ballots changed", "other version")

    @property
    def text(self) -> str:
        """The same for people."""
        if self.checksum is None:
            return _TEXTS[self.state]
        version, lines = self.checksum.version, self.checksum.lines
        how = "to the byte" if version == __version__ else f"but for the version, which was {version}"
        return _TEXTS[self.state].format(
            how=how,
            version=version,
            lines=lines,
            named=plural(lines, "line"),
            head=self.checksum.last_hash[:16],
            now=self.journal_lines,
        )

    @property
    def data(self) -> dict[str, object]:
        """The result as plain data; None stands for what is not known."""
        checksum = self.checksum
        return {
            "report": self.path,
            "ok": self.ok,
            "state": self.state,
            "rerendered": self.rerendered,
            "version": checksum.version if checksum else None,
            "lines": checksum.lines if checksum else None,
            "head": checksum.last_hash if checksum else None,
            "digest": checksum.digest if checksum else None,
            "text": self.text,
        }


def reports_beside(report: str) -> list[str]:
    """The reports beside a journal: `report` and those whose names differ from it in their suffix alone. A markdown or
    HTML file with such a name is listed whatever it holds, since people may take it for a report. A JSON file is listed
    only if it was a report, since it may be an answers file."""
    stem = os.path.splitext(report)[0]
    existing = [path for path in (f"{stem}{suffix}" for suffix in FILE_TYPES) if os.path.lexists(path)]
    return [
        path for path in existing if FILE_TYPES[os.path.splitext(path)[1]].around is not None or _was_a_report(path)
    ]


def _was_a_report(path: str) -> bool:
    try:
        return _has_prefix(path)
    except OSError:
        return True


def is_report(path: str) -> bool:
    """Whether a file has the suffix of a report and begins like one; False for one that can't be read."""
    try:
        return os.path.splitext(path)[1] in FILE_TYPES and _has_prefix(path)
    except (OSError, ValueError):
        return False


def _has_prefix(path: str) -> bool:
    """Whether a file begins as reports with its suffix do. Raises OSError if it can't be read."""
    return read_regular(path, follow_symlinks=True).startswith(FILE_TYPES[os.path.splitext(path)[1]].prefixes)


def read_reports(paths: Sequence[str]) -> list[tuple[str, bytes]]:
    """These reports, each with its bytes. Raises BadFile with every path that is not a report's or can't be read."""
    problems, files = list[str](), list[tuple[str, bytes]]()
    for path in paths:
        if os.path.splitext(path)[1] not in FILE_TYPES:
            problems.append(with_hint(f"{short_repr(path)} is not a report.", f"a file that ends in {suffixes()}"))
            continue
        try:
            files.append((path, read_regular(path, follow_symlinks=True)))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "the name is not allowed for a file"
            problems.append(f"{short_repr(path)} can't be read: {why}.")
    if problems:
        raise BadFile(problems)
    return files


def verify(path: str, data: bytes, entries: Sequence[Entry], folder: BallotFolder = NO_BALLOTS) -> Verification:
    """Compares a report with the verified `entries` of a journal, and with the ballots beside it."""
    checksum = read_checksum(data, os.path.splitext(path)[1])
    return Verification(path, _state(path, data, entries, checksum, folder), len(entries), checksum)


def _state(
    path: str, data: bytes, entries: Sequence[Entry], checksum: Checksum | None, folder: BallotFolder
) -> ReportState:
    if checksum is None:
        return "no checksum"
    if not checksum.fits:
        return "changed"
    if checksum.lines > len(entries) or entries[checksum.lines - 1].hash != checksum.last_hash:
        return "another"
    suffix, first = os.path.splitext(path)[1], entries[: checksum.lines]
    ballots = folder.gather(first)
    # Every byte is compared, but another version that renders the journal the same names itself.
    rerendered = render_file(build_report(first, ballots), suffix, checksum.version)
    if data == rerendered.encode("utf-8", "backslashreplace"):
        return "unchanged" if checksum.lines == len(entries) else "earlier"
    if ballots.counted or ballots.left_out:
        return "ballots changed"
    return "contradicts" if checksum.version == __version__ else "other version"
