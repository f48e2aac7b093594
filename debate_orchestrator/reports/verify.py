"""Whether a report says what its journal says: by its checksum, by the journal's hash chain, and by rendering it again.

The checksum shows whether the file was changed since. The hash it names shows at which line of the journal it was made,
for that hash stands for every line before. A report that was changed and given a new checksum passes both, so the same
version renders it again and compares the bytes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, NamedTuple

from debate_orchestrator import __version__
from debate_orchestrator.core.events import Opened
from debate_orchestrator.reports.forms import (
    FORMS,
    Checksum,
    by_version,
    endings,
    has_traces,
    read_checksum,
    rendered,
    without_checksum,
)
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.review_files import GatheredReviews, gather_reviews
from debate_orchestrator.storage.journal import SCHEMA, Entry
from debate_orchestrator.util.data import read_regular
from debate_orchestrator.util.errors import BadFile, short_repr
from debate_orchestrator.util.numbers import plural

State = Literal["unchanged", "earlier", "longer", "another", "changed", "no checksum", "contradicts", "reviewed"]
"""Made of this journal as it is; of this journal some lines ago; of a journal with more lines; of another; changed
after it was written; without a checksum; with one, and not saying what the journal says; or the same where there are
reviewers' ballots, so that it may have been made before one of them."""
Remade = Literal["same", "different", "not compared"]
_JUDGED_HERE = "of another journal: that of the debate which is judged again in this one."


class Verification(NamedTuple):
    """What there is to say of one report."""

    path: str
    state: State
    remade: Remade
    """Whether rendering it again gives the same bytes."""
    text: str
    """The same for people, in a sentence or two that the report's name begins."""
    checksum: Checksum | None = None

    @property
    def well(self) -> bool:
        """Whether nothing speaks against it."""
        if self.state == "no checksum":
            return self.remade == "same"
        return self.state in ("unchanged", "earlier")

    @property
    def data(self) -> dict[str, object]:
        """The same for a program; what is not known is None."""
        checksum = self.checksum
        return {
            "report": self.path,
            "well": self.well,
            "state": self.state,
            "remade": self.remade,
            "version": checksum.version if checksum else None,
            "lines": checksum.lines if checksum else None,
            "head": checksum.head if checksum else None,
            "digest": checksum.digest if checksum else None,
            "said": self.text,
        }


def reports_beside(report: str) -> list[str]:
    """The reports beside a journal: `report` and those that differ from it in their ending alone. A file that was never
    a report is not among them, though it has the name of one."""
    stem = os.path.splitext(report)[0]
    return [path for path in (f"{stem}{ending}" for ending in FORMS) if _was_a_report(path)]


def _was_a_report(path: str) -> bool:
    try:
        data = read_regular(path, follow=True)
    except OSError:
        return os.path.lexists(path)
    ending = os.path.splitext(path)[1]
    return data.startswith(FORMS[ending].begins) or has_traces(data, ending)


def read_reports(paths: Sequence[str]) -> list[tuple[str, bytes]]:
    """These reports, each with its bytes. BadFile with every path that is not a report's or can't be read."""
    problems, files = list[str](), list[tuple[str, bytes]]()
    for path in paths:
        if os.path.splitext(path)[1] not in FORMS:
            problems.append(f"{short_repr(path)} is not a report. Try: a file that ends in {endings()}.")
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
    """What there is to say of a report beside the lines of a journal that verified, and the folder of `reviews`."""
    ending = os.path.splitext(path)[1]
    checksum = read_checksum(data, ending)
    if checksum is None:
        return _without_checksum(path, data, _renderings(entries, ending, reviews))
    if not checksum.fits:
        text = "changed after it was written: its bytes do not have the checksum that it states."
        return Verification(path, "changed", "not compared", text, checksum)
    if checksum.lines <= len(entries) and entries[checksum.lines - 1].hash == checksum.head:
        renderings = _renderings(entries[: checksum.lines], ending, reviews)
        return _belonging(path, data, len(entries), checksum, renderings)
    first = entries[0].event
    judged_here = isinstance(first, Opened) and first.recording is not None and first.recording.digest == checksum.head
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
    """What a report's own bytes show where its journal can't be read, in a sentence."""
    checksum = read_checksum(data, os.path.splitext(path)[1])
    if checksum is None:
        return "has no checksum that can be read."
    if not checksum.fits:
        return "changed after it was written."
    lines = plural(checksum.lines, "line")
    return f"unchanged since it was written, from a journal of {lines} with the head {checksum.head[:16]}."


def _without_checksum(path: str, data: bytes, renderings: list[bytes]) -> Verification:
    """A report without a checksum that can be read."""
    ending = os.path.splitext(path)[1]
    if FORMS[ending].around is not None and data in [without_checksum(text, ending) for text in renderings]:
        return Verification(path, "no checksum", "same", "has no checksum, and says what this journal says.")
    if has_traces(data, ending):
        text = "changed after it was written: its checksum is damaged, or is not where it was put."
        return Verification(path, "changed", "not compared", text)
    text = (
        "has no checksum: an older version made it, or the checksum was cut off. This version renders the "
        "journal differently, so it can't be told whether the report was changed."
    )
    return Verification(path, "no checksum", "different", text)


def _belonging(path: str, data: bytes, lines: int, checksum: Checksum, renderings: list[bytes]) -> Verification:
    """A report whose checksum fits, and whose journal this is. `lines` is how many the journal has now."""
    ending = os.path.splitext(path)[1]
    latest = checksum.lines == lines
    state: State = "unchanged" if latest else "earlier"
    text = "belongs to this journal, and is unchanged since it was written"
    if not latest:
        text = f"unchanged, and made from this journal when it had {checksum.lines} of its {plural(lines, 'line')}"
    # Every byte is compared, but another version that renders the journal the same names itself.
    remade = [by_version(rendering, ending, checksum.version) for rendering in renderings]
    if data == remade[-1]:
        same = (
            "to the byte" if checksum.version == __version__ else f"but for the version, which was {checksum.version}"
        )
        return Verification(path, state, "same", f"{text}; made again, it is the same {same}.", checksum)
    if data in remade:
        text += ". Reviewers have filed ballots since, which it does not include: `debate report` makes it with them."
        return Verification(path, "reviewed", "same", text, checksum)
    if checksum.version != __version__ or checksum.form != SCHEMA:
        text += (
            f". Version {checksum.version} made it, and this is {__version__}, which renders it differently: only "
            "that version can tell whether it says what the journal says."
        )
        return Verification(path, state, "not compared", text, checksum)
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


def _renderings(entries: Sequence[Entry], ending: str, reviews: str) -> list[bytes]:
    """The report that this version makes of these lines; where there are reviewers' ballots, without them and with."""
    found = gather_reviews(reviews, entries) if reviews else GatheredReviews()
    reports = [build_report(entries), *([build_report(entries, found)] if found.counted or found.left_out else [])]
    return [rendered(report, ending).encode("utf-8", "backslashreplace") for report in reports]
