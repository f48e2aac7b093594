"""Filing reviewers' ballots, and their drafts until then, all under normalized names.

A draft takes its reviewer's name, whether it was begun at a terminal, in the browser or by a form that is taken. A
later review can't use that draft or that name, so no review can end or change another one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from debate_orchestrator.reports.reviewer_ballots import (
    DRAFT,
    MAX_SIZE,
    SUFFIX,
    NormalizedName,
    ballot_path,
    draft_path,
    is_file_of,
    normalized_name,
    parse_ballot,
    read_ballots,
)
from debate_orchestrator.storage.files import make_folder, redacted_bytes, write_atomic, write_new
from debate_orchestrator.util.data import is_link, name_of, read_mapping_with_lines, to_yaml
from debate_orchestrator.util.errors import BadFile, short_repr
from debate_orchestrator.util.redact import redact_all

WAS_READ_KEY = "read"
"""The key of a draft that says that the debate was shown; from then on the vote before it is final."""
MAX_BY_LINK = 300
"""Reviews that may be begun by the review link of `debate serve`. All of their ballots are read, so this is far below
`MAX_BALLOTS`."""
_HEAD = "# A reviewer's ballot. `debate report` sets it beside the judges'; docs/reviewing.md has its form.\n"


def must_be_free(folder: str, reviewer: NormalizedName) -> None:
    """Raises BadFile if that reviewer has handed in a ballot: it is never overwritten."""
    path = ballot_path(folder, reviewer)
    if os.path.lexists(path):
        raise BadFile(
            f"{name_of(path)}: this is a ballot that {short_repr(reviewer)} has handed in, and it stands.",
            hint="sign with another name, or move that file away first",
        )


def file_ballot(folder: str, value: Mapping[str, Any]) -> str:
    """Files a ballot without problems and removes the draft that it was; returns its path. Raises BadFile if there is a
    ballot or another draft by that name, or it is too large to be read again."""
    must_be_free(folder, value["reviewer"])
    path, draft = ballot_path(folder, value["reviewer"]), draft_path(folder, value["reviewer"])
    if os.path.lexists(draft) and not _is_draft_of(draft, value):
        raise _begun(draft, value["reviewer"])
    # As typed: what is refused must not depend on what is redacted.
    if (size := len((_HEAD + to_yaml(value)).encode("utf-8", "backslashreplace"))) > MAX_SIZE:
        raise BadFile(f"A ballot of {size:,} bytes is too large; at most {MAX_SIZE:,} are allowed.")
    text = _HEAD + to_yaml(redact_all(value))  # the name too, which the file has
    parse_ballot(redacted_bytes(path, text).decode(), os.path.basename(path))
    make_folder(folder)
    write_new(path, text)
    Path(draft).unlink(missing_ok=True)
    return path


def _is_draft_of(path: str, value: Mapping[str, Any]) -> bool:
    """Whether a draft became this ballot: it has the same reviewer, and the same vote before, which is final."""
    with suppress(BadFile):
        draft = read_mapping_with_lines(path, follow_symlinks=False)[0]
        return _is_by(draft, value["reviewer"]) and draft.get("before") == value.get("before")
    return False


def _is_by(draft: Mapping[str, Any], reviewer: NormalizedName) -> bool:
    return normalized_name(str(draft.get("reviewer"))) == reviewer


def _begun(draft: str, reviewer: str) -> BadFile:
    return BadFile(
        f"{name_of(draft)}: a review by {short_repr(reviewer)} has begun, and is not finished.",
        hint="finish it where it was begun, or sign with another name",
    )


def take_ballot(folder: str, value: Mapping[str, Any]) -> str:
    """Files a ballot that was filled in elsewhere, as `file_ballot`. Raises BadFile where that name has a draft: it is
    of a review that was begun in another way, perhaps by another person."""
    begin_own_draft(folder, value)
    try:
        return file_ballot(folder, value)
    except BaseException:
        Path(draft_path(folder, value["reviewer"])).unlink(missing_ok=True)
        raise


def begin_draft(folder: str, value: Mapping[str, Any]) -> bool:
    """Saves a reviewer's first draft; False, and nothing changes, if the name has a draft or a ballot."""
    draft, ballot = draft_path(folder, value["reviewer"]), ballot_path(folder, value["reviewer"])
    make_folder(folder)
    try:
        write_new(draft, to_yaml(value), as_typed=True)
    except BadFile:
        if os.path.lexists(draft):
            return False
        raise
    # Looked for with the name taken: a ballot is filed before its draft is removed, so it can't be missed.
    if os.path.lexists(ballot):
        os.unlink(draft)
        return False
    return True


def begin_own_draft(folder: str, value: Mapping[str, Any]) -> None:
    """As `begin_draft`. Raises BadFile where that name has a draft or a ballot."""
    if not begin_draft(folder, value):
        must_be_free(folder, value["reviewer"])
        raise _begun(draft_path(folder, value["reviewer"]), value["reviewer"])


def begin_review(folder: str, value: Mapping[str, Any]) -> bool:
    """Begins a review by the review link, as `begin_draft`. Raises BadFile where so many have begun that no more may by
    it: those who have can go on, and all of their ballots are read, with others that the user takes."""
    if not begin_draft(folder, value):
        return False
    # Counted with this one, so that of those who begin at the same time none is over.
    if sum(name.endswith(SUFFIX) for name in os.listdir(folder)) > MAX_BY_LINK:
        os.unlink(draft_path(folder, value["reviewer"]))
        problem = f"{MAX_BY_LINK} reviews of this debate have begun, and no more may by this link."
        raise BadFile(problem, hint="tell the person who sent you the link, who can take your ballot as a file")
    return True


def reviewers_begun(folder: str) -> list[tuple[NormalizedName, bool]]:
    """Each reviewer who has begun, and whether the ballot was handed in. Files of no reviewer are left out."""
    handed_in_by_name: dict[NormalizedName, bool] = {}
    for name, value in read_ballots(folder, with_drafts=True).files:
        reviewer = None if isinstance(value, BadFile) else value.get("reviewer")
        suffix = DRAFT if name.endswith(DRAFT) else SUFFIX
        if isinstance(reviewer, str) and is_file_of(name, reviewer, suffix):
            normalized = normalized_name(reviewer)
            handed_in_by_name[normalized] = handed_in_by_name.get(normalized, False) or suffix == SUFFIX
    return sorted(handed_in_by_name.items())


def save_draft(folder: str, value: Mapping[str, Any]) -> str:
    """Saves a draft; its path."""
    path = draft_path(folder, value["reviewer"])
    make_folder(folder)
    write_atomic(path, to_yaml(value), as_typed=True)
    return path


def read_draft(folder: str, reviewer: NormalizedName, digest: str) -> dict[str, Any]:
    """The answers given before the ballot was left; empty if there are none. Raises BadFile if it belongs to another
    reviewer, to another journal, or to an earlier state of this one."""
    path = draft_path(folder, reviewer)
    if is_link(folder) or not os.path.exists(path):
        return {}
    try:
        value, _ = read_mapping_with_lines(path, follow_symlinks=False)
    except BadFile:
        if os.path.lexists(path):
            raise
        return {}  # the ballot was filed meanwhile
    if not _is_by(value, reviewer):
        raise _begun(path, str(value.get("reviewer")))
    if value.get("journal") != digest:
        raise BadFile(
            f"{name_of(path)}: this is a draft on another state of the debate.", hint="move it away, and begin again"
        )
    return value | {"reviewer": reviewer}
