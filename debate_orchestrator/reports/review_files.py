"""The files of reviewers' ballots: one each, in a folder beside the journal, which itself is never touched.

`debate-report.ballots/ada.yaml` is the ballot of a reviewer called ada, `ada.draft.yaml` one that is not finished. A
ballot counts for the journal as it stood when it was cast, known by the digest of its last line.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value
from debate_orchestrator.reports.reviews import Review, ReviewForm
from debate_orchestrator.storage.files import make_folder, write_atomic, write_new
from debate_orchestrator.storage.journal import Entry
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.data import is_link, name_of, read_mapping_with_lines, to_yaml
from debate_orchestrator.util.errors import BadFile, short_repr
from debate_orchestrator.util.sanitize import normalized, one_line

ENDING, DRAFT = ".yaml", ".draft.yaml"
MOST = 1_000
"""Ballots that are read of one folder."""
MOST_BY_LINK = 300
"""Reviews that may be begun by the link to a debate, whose ballots are then all read: far fewer than `MOST`."""
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_HEAD = "# A reviewer's ballot. `debate report` sets it beside the judges'; docs/reviewing.md has its form.\n"


class ReviewedDebate(NamedTuple):
    """A finished debate that is reviewed."""

    path: str
    entries: Sequence[Entry]
    form: ReviewForm
    folder: str
    """Where its ballots are filed."""

    @classmethod
    def of(cls, path: str, entries: Sequence[Entry], debate: DebateState) -> Self:
        return cls(path, entries, ReviewForm(debate), DebateFiles.of_journal(path).ballots)

    @property
    def digest(self) -> str:
        """What the ballots on it name."""
        return self.entries[-1].hash


class GatheredReviews(Value):
    """The ballots beside a journal."""

    counted: tuple[Review, ...] = ()
    left_out: tuple[str, ...] = ()
    """Why others do not count, a complaint each, which begins with the file's name."""


def gather_reviews(folder: str, entries: Sequence[Entry]) -> GatheredReviews:
    """Every ballot in a folder that counts for a journal, by the names of their files, and why others don't."""
    if is_link(folder):
        return GatheredReviews(left_out=(f"{name_of(folder)}: the folder of the ballots can't be a symbolic link.",))
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(ENDING) and not name.endswith(DRAFT))
    except OSError:
        return GatheredReviews()
    counted: list[Review] = []
    left_out: list[str] = []
    form = ReviewForm(fold(entry.event for entry in entries)) if names else None
    for name in names[:MOST]:
        assert form is not None
        try:
            counted.append(_read(os.path.join(folder, name), name, form, entries))
        except BadFile as error:
            left_out += error.complaints
    if len(names) > MOST:
        left_out.append(f"{name_of(folder)}: {len(names):,} ballots are too many; the first {MOST:,} are read.")
    return GatheredReviews(counted=tuple(counted), left_out=tuple(left_out))


def is_filed(folder: str, reviewer: str, form: ReviewForm, entries: Sequence[Entry]) -> bool:
    """Whether the ballot of that reviewer lies in a folder and counts. No other file is read."""
    path = path_of(folder, reviewer)
    if is_link(folder) or not os.path.lexists(path):
        return False
    with suppress(BadFile):
        return _read(path, os.path.basename(path), form, entries).reviewer == reviewer
    return False


def _read(path: str, name: str, form: ReviewForm, entries: Sequence[Entry]) -> Review:
    try:
        value = read_mapping_with_lines(path, follow=False)[0]
    except BadFile as error:
        raise BadFile([text.replace(name_of(path), name_of(name), 1) for text in error.complaints]) from None
    ballot = checked_review(value, name_of(name), form, entries)
    if name != stem_of(ballot.reviewer) + ENDING:
        raise BadFile(
            f"{name_of(name)}: the ballot of {short_repr(ballot.reviewer)} must be called "
            f"{stem_of(ballot.reviewer)}{ENDING}. Try: `debate ballot JOURNAL --take FILE`, which gives it its name."
        )
    return ballot


def checked_review(value: Mapping[str, Any], where: str, form: ReviewForm, entries: Sequence[Entry]) -> Review:
    """The ballot that a value is; BadFile with everything that is wrong with it, and where it was not cast on the
    journal as it stands."""
    digest = value.get("journal")
    problems = form.complaints(value, f"{where}: ")
    if isinstance(digest, str) and digest.strip() and digest != entries[-1].hash:
        earlier = any(entry.hash == digest for entry in entries)
        cast_on = "an earlier state of this debate" if earlier else "another journal"
        problems.append(
            f"{where}: journal: this is a ballot on {cast_on}; this journal's digest is {entries[-1].hash[:16]}... "
            "Try: `debate ballot JOURNAL --form`, and cast it again."
        )
    if problems:
        raise BadFile(problems)
    return form.ballot(value)


def stem_of(reviewer: str) -> str:
    """What a reviewer's files are called: the name, where it can be a file's on any system; else what is left of it
    and some digits that stand for the whole."""
    name = one_line(reviewer)
    if _PLAIN.fullmatch(name):
        return name
    folded = normalized(name, "NFKD").encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")[:40].strip("-")
    digits = hashlib.sha256(normalized(name, "NFC").encode()).hexdigest()[:8]
    return f"{slug or 'reviewer'}-{digits}"


def path_of(folder: str, reviewer: str, ending: str = ENDING) -> str:
    """Where a reviewer's ballot lies, or with `DRAFT` the draft of it."""
    return os.path.join(folder, stem_of(reviewer) + ending)


def must_be_free(folder: str, reviewer: str) -> None:
    """BadFile if that reviewer's ballot has been cast: it is never overwritten."""
    path = path_of(folder, reviewer)
    if os.path.lexists(path):
        raise BadFile(
            f"{name_of(path)}: this is a ballot that {short_repr(reviewer)} has cast, and it stands. Try: move that "
            "file away first, or sign with another name."
        )


def file(folder: str, value: Mapping[str, Any]) -> str:
    """Files a ballot about which there is no complaint, and takes its draft away; its path. BadFile if there is
    one by that name."""
    must_be_free(folder, value["reviewer"])
    path = path_of(folder, value["reviewer"])
    make_folder(folder)
    write_new(path, _HEAD + to_yaml(value))
    Path(path_of(folder, value["reviewer"], DRAFT)).unlink(missing_ok=True)
    return path


def begin(folder: str, value: Mapping[str, Any]) -> bool:
    """Keeps the first draft of a reviewer; False where that name has a draft or a ballot, which then stays as it is.
    BadFile where so many have begun that no more may by the link: those who have can go on, and all of their ballots
    are read, with others that the user takes."""
    draft, ballot = (path_of(folder, value["reviewer"], ending) for ending in (DRAFT, ENDING))
    if os.path.lexists(draft) or os.path.lexists(ballot):
        return False
    make_folder(folder)
    if sum(name.endswith(ENDING) for name in os.listdir(folder)) >= MOST_BY_LINK:
        problem = f"{MOST_BY_LINK} reviews of this debate have begun, and no more may by this link."
        raise BadFile(problem, hint="tell the person who sent you the link, who can take your ballot as a file")
    write_new(draft, to_yaml(value))
    return True


def reviewers(folder: str) -> list[tuple[str, bool]]:
    """The names of those who have begun a review, and whether the ballot is handed in. Files that are no reviewer's are
    left out."""
    found: dict[str, bool] = {}
    with suppress(OSError):
        names = [] if is_link(folder) else sorted(name for name in os.listdir(folder) if name.endswith(ENDING))
        for name in names[:MOST]:
            with suppress(BadFile):
                reviewer = read_mapping_with_lines(os.path.join(folder, name), follow=False)[0].get("reviewer")
                ending = DRAFT if name.endswith(DRAFT) else ENDING
                if isinstance(reviewer, str) and name == stem_of(reviewer) + ending:
                    found[one_line(reviewer)] = found.get(one_line(reviewer), False) or ending == ENDING
    return sorted(found.items())


def keep(folder: str, value: Mapping[str, Any]) -> str:
    """Keeps a draft; its path."""
    path = path_of(folder, value["reviewer"], DRAFT)
    make_folder(folder)
    write_atomic(path, to_yaml(value))
    return path


def draft(folder: str, reviewer: str, digest: str) -> dict[str, Any]:
    """What was answered before the ballot was left; empty if nothing was. BadFile if it belongs to another
    journal, or to an earlier state of this one."""
    path = path_of(folder, reviewer, DRAFT)
    if is_link(folder) or not os.path.exists(path):
        return {}
    value, _ = read_mapping_with_lines(path, follow=False)
    if value.get("journal") != digest:
        raise BadFile(
            f"{name_of(path)}: this is a draft on another state of the debate. Try: move it away, and begin again."
        )
    return value
