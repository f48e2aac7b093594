"""Whether a report is what its journal tells: by its seal, by the chain of the journal, and by making it again.

The seal tells whether the file was changed since; the hash that it names, which line of the journal it was made at, for
that hash stands for every line before. A report that somebody changed and sealed anew passes both: so the same version
makes it again, and compares the bytes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, NamedTuple

from debate_orchestrator import __version__
from debate_orchestrator.core.events import Opened
from debate_orchestrator.reports import checksum, forms
from debate_orchestrator.reports.checksum import Checksum
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.review_files import GatheredReviews, gather_reviews
from debate_orchestrator.storage.journal import SCHEMA, Entry
from debate_orchestrator.util.data import read_regular
from debate_orchestrator.util.errors import BadFile, complaint, short_repr

State = Literal["unchanged", "earlier", "longer", "another", "changed", "unsealed", "contradicts", "reviewed"]
"""Of this journal as it is; of this journal as it was some lines ago; of a journal with more lines; of another; changed
after it was sealed; without a seal; sealed, and not saying what the journal says; or the same where reviewers have left
ballots, so that it may have been made before one of them."""
Remade = Literal["same", "different", "not compared"]
_JUDGED_HERE = "of another journal: that of the debate which is judged again in this one."


class Verification(NamedTuple):
    """What there is to say of one report."""

    path: str
    state: State
    remade: Remade
    """Whether making it again gives the same bytes."""
    said: str
    """The same for people, in a sentence or two that the report's name begins."""
    seal: Checksum | None = None

    @property
    def well(self) -> bool:
        """Whether nothing speaks against it."""
        if self.state == "unsealed":
            return self.remade == "same"
        return self.state in ("unchanged", "earlier")

    @property
    def data(self) -> dict[str, object]:
        """The same for a program; what is not known is None."""
        made = self.seal
        return {
            "report": self.path,
            "well": self.well,
            "state": self.state,
            "remade": self.remade,
            "version": made.version if made else None,
            "lines": made.lines if made else None,
            "head": made.head if made else None,
            "digest": made.digest if made else None,
            "said": self.said,
        }


def beside(report: str) -> list[str]:
    """The reports that lie beside a journal, `report` and those that differ from it in their ending alone. What was
    never a report is not among them, though it has the name of one."""
    stem = os.path.splitext(report)[0]
    return [path for path in (f"{stem}{ending}" for ending in forms.FORMS) if _was_a_report(path)]


def _was_a_report(path: str) -> bool:
    try:
        data = read_regular(path, follow=True)
    except OSError:
        return os.path.lexists(path)
    form = os.path.splitext(path)[1]
    return data.startswith(forms.FORMS[form].begins) or checksum.marked(data, form)


def given(paths: Sequence[str]) -> list[tuple[str, bytes]]:
    """The files of these names, which must be of some form of report. BadFile with all that can't be had."""
    wrong, read = list[str](), list[tuple[str, bytes]]()
    for path in paths:
        if os.path.splitext(path)[1] not in forms.FORMS:
            wrong.append(complaint("report", short_repr(path), f"a file that ends in {' or '.join(forms.FORMS)}"))
            continue
        try:
            read.append((path, read_regular(path, follow=True)))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "a name that no file can have"
            wrong.append(complaint(short_repr(path), why, "a report that can be read"))
    if wrong:
        raise BadFile(wrong)
    return read


def verify(path: str, data: bytes, entries: Sequence[Entry], ballots: str = "") -> Verification:
    """What there is to say of a report beside the lines of a journal that verified, and the folder of reviewers'
    `ballots` on it."""
    form = os.path.splitext(path)[1]
    made = checksum.read(data, form)
    if made is None:
        return _without(path, data, form, entries, ballots)
    if not made.fits:
        said = "changed after it was written: its bytes do not have the digest that its seal names."
        return Verification(path, "changed", "not compared", said, made)
    if made.lines > len(entries):
        return Verification(path, "longer", "not compared", _of_longer(made, entries), made)
    if entries[made.lines - 1].hash != made.head:
        return Verification(path, "another", "not compared", _of_another(made, entries), made)
    return _belonging(path, data, form, entries, made, ballots)


def integrity(path: str, data: bytes) -> str:
    """What a report's own bytes tell where its journal can't be read, in a sentence."""
    made = checksum.read(data, os.path.splitext(path)[1])
    if made is None:
        return "has no seal that can be read."
    if not made.fits:
        return "changed after it was written."
    return f"unchanged since it was written, from a journal of {_lines(made.lines)} with the head {made.head[:16]}."


def _without(path: str, data: bytes, form: str, entries: Sequence[Entry], ballots: str) -> Verification:
    """A report without a seal that can be read."""
    if data in [checksum.without_checksum(one, form) for one in _again(entries, form, ballots)]:
        said = "has no seal, and says what this journal says."
        return Verification(path, "unsealed", "same", said)
    if checksum.marked(data, form):
        said = "changed after it was written: its seal is damaged, or is not where it was set."
        return Verification(path, "changed", "not compared", said)
    said = (
        "has no seal: an older version made it, or somebody cut it off. This version makes another report of the "
        "journal, so nothing shows that it was not changed."
    )
    return Verification(path, "unsealed", "different", said)


def _of_longer(made: Checksum, entries: Sequence[Entry]) -> str:
    if _is_judged_here(made, entries):
        return _JUDGED_HERE
    return (
        f"made from {_lines(made.lines)}, and here {'are' if len(entries) != 1 else 'is'} {len(entries)}: lines are "
        "missing at the end of this journal, or it is the report of another."
    )


def _of_another(made: Checksum, entries: Sequence[Entry]) -> str:
    if _is_judged_here(made, entries):
        return _JUDGED_HERE
    return (
        f"of another journal, or this one was written anew: its line {made.lines} does not have the hash that the "
        "report names."
    )


def _is_judged_here(made: Checksum, entries: Sequence[Entry]) -> bool:
    """Whether it is a report of the debate that is judged again in this journal."""
    first = entries[0].event
    return isinstance(first, Opened) and first.course is not None and first.course.digest == made.head


def _belonging(
    path: str, data: bytes, form: str, entries: Sequence[Entry], made: Checksum, ballots: str
) -> Verification:
    """A report whose seal fits, and whose journal this is."""
    latest = made.lines == len(entries)
    state: State = "unchanged" if latest else "earlier"
    said = "belongs to this journal, and is unchanged since it was written"
    if not latest:
        said = f"unchanged, and made from this journal when it had {made.lines} of its {_lines(len(entries))}"
    again = _again(entries[: made.lines], form, ballots)
    if (now := checksum.made_by(__version__, data, form)) == again[-1]:
        return Verification(path, state, "same", f"{said}; made again, it is the same to the byte.", made)
    if now in again:
        why = "Reviewers have left ballots since, of which it does not tell: `debate report` makes it with them."
        return Verification(path, "reviewed", "same", f"{said}. {why}", made)
    if made.version != __version__ or made.form != SCHEMA:
        why = (
            f"Version {made.version} made it, and this is {__version__}, which tells it otherwise: whether it says "
            "what the journal says, only that version can compare."
        )
        return Verification(path, state, "not compared", f"{said}. {why}", made)
    if len(again) > 1:
        why = "Reviewers' ballots beside the journal have changed since, or somebody changed it and sealed it anew"
        said = f"{said}; but made again it is another report. {why}: `debate report` makes it as they are now."
        return Verification(path, "reviewed", "different", said, made)
    said = (
        "does not say what the journal says: its seal fits, but made again it is another report. Somebody changed it "
        "and sealed it anew, ballots of reviewers that it tells of are not beside the journal any more, or another "
        "build of the same version made it."
    )
    return Verification(path, "contradicts", "different", said, made)


def _again(entries: Sequence[Entry], form: str, ballots: str) -> list[bytes]:
    """The report that this version makes of these lines; where reviewers have left ballots, with them and without."""
    found = gather_reviews(ballots, entries) if ballots else GatheredReviews()
    told = [build_report(entries), *([build_report(entries, found)] if found.counted or found.left_out else [])]
    return [forms.rendered(one, form).encode("utf-8", "backslashreplace") for one in told]


def _lines(n: int) -> str:
    return f"{n} line{'s' * (n != 1)}"
