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
from debate_orchestrator.core.events import Opened
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.reviews import GatheredReviews, gather_reviews
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.journal_lines import SCHEMA, Entry
from debate_orchestrator.util.data import name_of, read_regular
from debate_orchestrator.util.errors import BadFile, short_repr, with_hint
from debate_orchestrator.util.messages import Tell, ignore
from debate_orchestrator.util.numbers import plural

BLANK = "0" * 64
"""In place of a report's checksum while that is taken."""
_NUMBER = r"(?:0|[1-9]\d{0,3})"  # one spelling of each version, and no room for words
_VERSION, _SHA = rf"(?P<version>{_NUMBER}\.{_NUMBER}\.{_NUMBER})", "[0-9a-f]{64}"
_LINES, _SCHEMA_VERSION = r"(?P<lines>[1-9]\d{0,11})", r"(?P<schema_version>[1-9]\d{0,5})"
SENTENCE = (
    rf"Made by debate-orchestrator {_VERSION}\. Journal: {_LINES} lines?, form {_SCHEMA_VERSION}, "
    rf"head sha256:(?P<last_hash>{_SHA})\. This report: sha256:(?P<digest>{_SHA}), of its bytes with these 64 digits "
    r"as zeros\."
)
"""Finds `checksum_sentence` with its values."""
_MEMBERS = (
    rf'  "version": "{_VERSION}",\n'
    rf'  "journal": \{{\n    "lines": {_LINES},\n    "form": {_SCHEMA_VERSION},\n'
    rf'    "head": "(?P<last_hash>{_SHA})"\n  \}},\n'
    rf'  "digest": "(?P<digest>{_SHA})"\n\}}\n'
)
TRACES = (
    b"Made by debate-orchestrator ",
    b"head sha256:",
    b"of its bytes with these 64 digits as zeros",
)
"""What is left of a sentence that was damaged in one place."""


class ReportFileType(NamedTuple):
    """One type of report file."""

    name: str
    """What `render` calls it."""
    module: str
    """The module whose `render(report)` makes it; imported only where it is asked for."""
    begins: tuple[bytes, ...]
    """How files of the type begin. A file that begins otherwise is not a report, and is never overwritten."""
    checksum: re.Pattern[bytes]
    """Finds the checksum where `rendered` puts it: at the end of the file, in HTML at the end of the footer."""
    traces: tuple[bytes, ...]
    """What is left of a checksum that was damaged in one place."""
    around: tuple[str, str] | None = None
    """What stands before and after the sentence; None if the rendered text has the values already."""
    before: str = ""
    """What the sentence is put before, the last of its kind; empty for the end of the text."""


FILE_TYPES = {
    ".md": ReportFileType(
        "markdown",
        "debate_orchestrator.reports.markdown",
        (b"# Debate Report", b"# Debate Transcript"),
        re.compile(rf"\n---\n\n\*{SENTENCE}\*\n\Z".encode()),
        TRACES,
        ("\n---\n\n*", "*\n"),
    ),
    ".html": ReportFileType(
        "html",
        "debate_orchestrator.reports.html.page",
        (b'<!doctype html>\n<html lang="en" class="debate-report">',),
        re.compile(rf'<p class="checksum">{SENTENCE}</p>\n(?=</footer>\s*</div>\s*</body>\s*</html>\s*\Z)'.encode()),
        TRACES,
        ('<p class="checksum">', "</p>\n"),
        before="</footer>",
    ),
    ".json": ReportFileType(
        "json",
        "debate_orchestrator.reports.json",
        (b'{\n  "schema": 2,\n  "document": "debate report",\n',),
        re.compile(rf"\n{_MEMBERS}\Z".encode()),
        (b'\n  "document": "debate report"', b'\n  "digest": "'),
    ),
}
"""Every type of report file, by its suffix. To add one, write a module with `render(report)` and an entry here:
`report --to` then writes it. A debate that ends writes markdown and HTML (`write_both`)."""


class Checksum(NamedTuple):
    """The checksum that a report states, and whether it fits."""

    version: str
    """Of the package that made the report."""
    lines: int
    schema_version: int
    """The version of the journal's format."""
    last_hash: str
    """The hash of the journal's last line then."""
    digest: str
    """The checksum that the report states."""
    fits: bool
    """Whether that is the sha256 of its bytes."""


def checksum_sentence(report: ReportModel) -> str:
    """The sentence that files for people show, in ASCII without markup, and with the checksum blank."""
    journal = report.journal
    lines = f"{journal.lines} line{'s' * (journal.lines != 1)}"
    return (
        f"Made by debate-orchestrator {__version__}. Journal: {lines}, form {journal.schema_version}, "
        f"head sha256:{journal.last_hash}. This report: sha256:{BLANK}, of its bytes with these 64 digits as zeros."
    )


def read_checksum(data: bytes, suffix: str) -> Checksum | None:
    """The checksum of a report's bytes; None if there is none, or none that can be read."""
    found = _place(data, suffix)
    if found is None:
        return None
    start, end = found.span("digest")
    digest = hashlib.sha256(data[:start] + BLANK.encode() + data[end:]).hexdigest()
    stated = {name: value.decode() for name, value in found.groupdict().items()}
    return Checksum(
        version=stated["version"],
        lines=int(stated["lines"]),
        schema_version=int(stated["schema_version"]),
        last_hash=stated["last_hash"],
        digest=stated["digest"],
        fits=stated["digest"] == digest,
    )


def _place(data: bytes, suffix: str) -> re.Match[bytes] | None:
    return FILE_TYPES[suffix].checksum.search(data)


def without_checksum(data: bytes, suffix: str) -> bytes:
    """A report without its checksum and what stands beside it; as it is where it has none."""
    found = _place(data, suffix)
    return data if found is None else data[: found.start()] + data[found.end() :]


def by_version(data: bytes, suffix: str, version: str) -> bytes:
    """A report as that version would have made it if it renders the journal the same: it names itself, and the checksum
    is of these bytes. Raises ValueError where the report has no checksum."""
    found = _place(data, suffix)
    if found is None:
        raise ValueError("no checksum")
    (start, end), (digits, after) = found.span("version"), found.span("digest")
    before, rest = data[:start] + version.encode() + data[end:digits], data[after:]
    return before + hashlib.sha256(before + BLANK.encode() + rest).hexdigest().encode() + rest


def has_traces(data: bytes, suffix: str) -> bool:
    """Whether anything is left of a checksum, though it can't be read any more."""
    return any(trace in data for trace in FILE_TYPES[suffix].traces)


def rendered(report: ReportModel, suffix: str) -> str:
    """A report as a file of that suffix, with its checksum where such files have it."""
    file_type = FILE_TYPES[suffix]
    text: str = importlib.import_module(file_type.module).render(report)
    if file_type.around is not None:
        at = text.rfind(file_type.before) if file_type.before else len(text)
        text = f"{text[:at]}{file_type.around[0]}{checksum_sentence(report)}{file_type.around[1]}{text[at:]}"
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    before, _, after = text.rpartition(BLANK)
    return f"{before}{digest}{after}"


def write(report: ReportModel, path: str, tell: Tell = ignore) -> str:
    """Writes a report as the type of file that the path's suffix names; returns the path. BadFile for another suffix,
    or if the file there is not a report. A report there is replaced only if its checksum shows that this program wrote
    every byte of it; otherwise it is kept beside the new one, and `tell` gets a sentence."""
    suffix = os.path.splitext(checked_path(path))[1]

    def ours(there: bytes) -> bool:
        checksum = read_checksum(there, suffix)
        return checksum is not None and checksum.fits

    if kept := write_atomic(path, rendered(report, suffix), ours=ours):
        tell(f"{name_of(path)} was not as this program writes it: kept as {name_of(kept)}.")
    return path


def write_both(report: ReportModel, path: str, page: str, tell: Tell = ignore) -> list[str]:
    """Writes the report, and the page beside it; BadFile if the report can't be written. Returns the reasons why
    the page can't be written: the report is written all the same."""
    write(report, path, tell)
    try:
        write(report, page, tell)
    except BadFile as error:
        return error.problems
    return []


def checked_path(path: str) -> str:
    """`path`, if a report may be written there; else BadFile, as from `write`."""
    file_type = FILE_TYPES.get(os.path.splitext(path)[1])
    if file_type is None:
        raise BadFile(f"A report can't be written to {short_repr(path)}.", hint=f"a file that ends in {suffixes()}")
    try:
        there = read_regular(path)
    except (OSError, ValueError):
        return path  # nothing, or what `write` keeps or refuses
    if there and not there.startswith(file_type.begins):
        raise BadFile(f"{short_repr(path)} is not a report and is not overwritten.", hint="name another file")
    return path


def suffixes() -> str:
    """The suffixes of reports in words: `.md, .html or .json`."""
    *others, last = FILE_TYPES
    return f"{', '.join(others)} or {last}"


State = Literal[
    "unchanged",  # made of this journal as it is
    "earlier",  # made of this journal when it had fewer lines
    "longer",  # made of a journal with more lines than this one
    "another",  # made of another journal
    "changed",  # changed after it was written
    "no checksum",
    "not a report",  # no checksum, and it does not begin as a report does
    "contradicts",  # has a checksum, and does not say what the journal says
    "reviewed",  # as `contradicts` or `no checksum`, but perhaps made before one of the reviewers' ballots
    "other version",  # names another version of this program, and only that one can tell
]
Rerendered = Literal["same", "different", "not compared"]
_ONLY = "Only that version can tell whether it says what the journal says: anyone can give a report a new checksum."
_FILED_SINCE = "Reviewers have filed ballots since, which it does not include: `debate report` makes it with them."
_JUDGED_HERE = "of another journal: that of the debate which is judged again in this one."


class Verification(NamedTuple):
    """The result of verifying one report."""

    path: str
    state: State
    rerendered: Rerendered
    """Whether rendering it again gives the same bytes."""
    text: str
    """The same for people, in a sentence or two that the report's name begins."""
    checksum: Checksum | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against it."""
        if self.state == "no checksum":
            return self.rerendered == "same"
        return self.state in ("unchanged", "earlier")

    @property
    def inconclusive(self) -> bool:
        """Whether `ok` is not decidable yet, since something has to be done first."""
        return self.state in ("reviewed", "other version")

    @property
    def data(self) -> dict[str, object]:
        """The same for a program; what is not known is None."""
        checksum = self.checksum
        return {
            "report": self.path,
            "well": self.ok,
            "state": self.state,
            "remade": self.rerendered,
            "version": checksum.version if checksum else None,
            "lines": checksum.lines if checksum else None,
            "head": checksum.last_hash if checksum else None,
            "digest": checksum.digest if checksum else None,
            "said": self.text,
        }


def reports_beside(report: str) -> list[str]:
    """The reports beside a journal: `report` and those whose names differ from it in their suffix alone. A markdown or
    HTML file with such a name is listed whatever it holds, since people may take it for a report. A JSON file is listed
    only if it was a report, since it may be an answers file."""
    stem = os.path.splitext(report)[0]
    there = [path for path in (f"{stem}{suffix}" for suffix in FILE_TYPES) if os.path.lexists(path)]
    return [path for path in there if FILE_TYPES[os.path.splitext(path)[1]].around is not None or _was_a_report(path)]


def _was_a_report(path: str) -> bool:
    try:
        data = read_regular(path, follow=True)
    except OSError:
        return True
    suffix = os.path.splitext(path)[1]
    return data.startswith(FILE_TYPES[suffix].begins) or has_traces(data, suffix)


def read_reports(paths: Sequence[str]) -> list[tuple[str, bytes]]:
    """These reports, each with its bytes. BadFile with every path that is not a report's or can't be read."""
    problems, files = list[str](), list[tuple[str, bytes]]()
    for path in paths:
        if os.path.splitext(path)[1] not in FILE_TYPES:
            problems.append(with_hint(f"{short_repr(path)} is not a report.", f"a file that ends in {suffixes()}"))
            continue
        try:
            files.append((path, read_regular(path, follow=True)))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "the name is not allowed for a file"
            problems.append(f"{short_repr(path)} can't be read: {why}.")
    if problems:
        raise BadFile(problems)
    return files


def verify(path: str, data: bytes, entries: Sequence[Entry], reviews: str = "") -> Verification:
    """Compares a report with the verified `entries` of a journal, and with the ballots in the folder `reviews`."""
    suffix = os.path.splitext(path)[1]
    checksum = read_checksum(data, suffix)
    if checksum is None:
        return _without_checksum(path, data, _renderings(entries, suffix, reviews))
    if not checksum.fits:
        text = "changed after it was written: its bytes do not have the checksum that it states."
        return Verification(path, "changed", "not compared", text, checksum)
    if checksum.lines <= len(entries) and entries[checksum.lines - 1].hash == checksum.last_hash:
        renderings = _renderings(entries[: checksum.lines], suffix, reviews)
        return _belonging(path, data, len(entries), checksum, renderings)
    first = entries[0].event
    judged_here = (
        isinstance(first, Opened)
        and first.earlier_debate is not None
        and first.earlier_debate.digest == checksum.last_hash
    )
    if checksum.lines > len(entries):
        text = (
            f"made from {plural(checksum.lines, 'line')}, and this journal has {len(entries)}: "
            "lines are missing at the end of this journal, or it is the report of another."
        )
        return Verification(path, "longer", "not compared", _JUDGED_HERE if judged_here else text, checksum)
    text = (
        f"of another journal, or this one was rewritten: its line {checksum.lines} does not have the hash that the "
        "report names."
    )
    return Verification(path, "another", "not compared", _JUDGED_HERE if judged_here else text, checksum)


def integrity(path: str, data: bytes) -> str:
    """A sentence on what a report's own bytes show, where its journal can't be read."""
    checksum = read_checksum(data, os.path.splitext(path)[1])
    if checksum is None:
        return "has no checksum that can be read."
    if not checksum.fits:
        return "changed after it was written."
    lines = plural(checksum.lines, "line")
    return (
        f"unchanged since it was written, from a journal of {lines}, the last with the hash {checksum.last_hash[:16]}."
    )


def _without_checksum(path: str, data: bytes, renderings: list[bytes]) -> Verification:
    """A report without a checksum that can be read."""
    suffix = os.path.splitext(path)[1]
    bare = [without_checksum(text, suffix) for text in renderings] if FILE_TYPES[suffix].around is not None else []
    if bare and data == bare[-1]:
        return Verification(path, "no checksum", "same", "has no checksum, and says what this journal says.")
    if data in bare:
        text = f"has no checksum, and says what this journal says. {_FILED_SINCE}"
        return Verification(path, "reviewed", "same", text)
    if has_traces(data, suffix):
        text = "changed after it was written: its checksum is damaged, or is not where it was put."
        return Verification(path, "changed", "not compared", text)
    if not data.startswith(FILE_TYPES[suffix].begins):
        text = "is not a report as this program writes one. Nothing shows that it says what the journal says."
        return Verification(path, "not a report", "not compared", text)
    text = (
        "has no checksum: an older version made it, or the checksum was cut off. This version renders the "
        "journal differently, so it can't be told whether the report was changed."
    )
    return Verification(path, "no checksum", "different", text)


def _belonging(path: str, data: bytes, lines: int, checksum: Checksum, renderings: list[bytes]) -> Verification:
    """A report whose checksum fits, and whose journal this is. `lines` is how many the journal has now."""
    suffix = os.path.splitext(path)[1]
    latest = checksum.lines == lines
    state: State = "unchanged" if latest else "earlier"
    text = "belongs to this journal, and is unchanged since it was written"
    if not latest:
        text = f"unchanged, and made from this journal when it had {checksum.lines} of its {plural(lines, 'line')}"
    # Every byte is compared, but another version that renders the journal the same names itself.
    rerendered = [by_version(rendering, suffix, checksum.version) for rendering in renderings]
    if data in rerendered and _parts(checksum.version) > _parts(__version__):
        text = (
            f"made again, it is the same, but it names version {checksum.version}, and this is {__version__}. {_ONLY}"
        )
        return Verification(path, "other version", "same", text, checksum)
    if data == rerendered[-1]:
        same = (
            "to the byte" if checksum.version == __version__ else f"but for the version, which was {checksum.version}"
        )
        return Verification(path, state, "same", f"{text}; made again, it is the same {same}.", checksum)
    if data in rerendered:
        text += f". {_FILED_SINCE}"
        return Verification(path, "reviewed", "same", text, checksum)
    if checksum.schema_version != SCHEMA:
        text = (
            f"does not say what the journal says: it names version {checksum.schema_version} of the journal's format, "
            f"and that is {SCHEMA}. It was changed and given a new checksum."
        )
        return Verification(path, "contradicts", "different", text, checksum)
    if checksum.version != __version__:
        text = (
            f"names this journal, and its checksum fits. It also names version {checksum.version}, and this is "
            f"{__version__}, which renders the journal differently. {_ONLY}"
        )
        return Verification(path, "other version", "not compared", text, checksum)
    if len(renderings) > 1:
        text += (
            "; but made again it differs. Reviewers' ballots beside the journal have changed since, or the report "
            "was changed and given a new checksum: `debate report` makes it anew."
        )
        return Verification(path, "reviewed", "different", text, checksum)
    text = (
        "does not say what the journal says: its checksum fits, but made again it differs. It was changed "
        "and given a new checksum, reviewers' ballots that it includes are no longer beside the journal, or "
        "another build of the same version made it."
    )
    return Verification(path, "contradicts", "different", text, checksum)


def _parts(version: str) -> tuple[int, ...]:
    """A version in numbers, to be compared."""
    return tuple(map(int, version.split(".")))


def _renderings(entries: Sequence[Entry], suffix: str, reviews: str) -> list[bytes]:
    """The report that this version makes of these lines; where there are reviewers' ballots, without them and with."""
    found = gather_reviews(reviews, entries) if reviews else GatheredReviews()
    reports = [build_report(entries), *([build_report(entries, found)] if found.counted or found.left_out else [])]
    return [rendered(report, suffix).encode("utf-8", "backslashreplace") for report in reports]
