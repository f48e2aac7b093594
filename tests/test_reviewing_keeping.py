"""Ballots lie beside the journal, one each; what does not count is told, and the journal is never touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nasty import NASTY, texts
from reviewers import DIGEST, debated, filled, paper
from waiting import ended

from debate_orchestrator.reports import reviews
from debate_orchestrator.util import data
from debate_orchestrator.util.errors import BadFile

MADE = debated(rounds=1)
ASKED = paper(MADE)


def test_a_ballot_is_filed_and_found(tmp_path: Path) -> None:
    """What is filed counts, by the name of its file; a draft does not."""
    folder = str(tmp_path / "r.ballots")
    paths = [reviews.file_ballot(folder, filled(ASKED, name)) for name in ("zoe", "ada", "Grace Hopper")]
    reviews.keep_draft(folder, filled(ASKED, "bob"))
    found = reviews.gather_reviews(folder, MADE)

    assert paths[1] == f"{folder}/ada.yaml"
    assert [one.reviewer for one in found.counted] == ["ada", "Grace Hopper", "zoe"]
    assert found.left_out == ()


def test_no_folder_is_no_ballot(tmp_path: Path) -> None:
    """Without a review, there is nothing."""
    assert reviews.gather_reviews(str(tmp_path / "none"), MADE) == reviews.GatheredReviews()


@pytest.mark.parametrize(
    ("digest", "said"),
    [("e" * 64, "a ballot on an earlier state of this debate"), ("f" * 64, "a ballot on another journal")],
)
def test_ballots_on_something_else_are_told(tmp_path: Path, digest: str, said: str) -> None:
    """A ballot of another journal, or of this one before its last line, is not counted, and that is said."""
    (tmp_path / "ada.yaml").write_text(data.to_yaml(filled(ASKED, journal=digest)), encoding="utf-8")
    found = reviews.gather_reviews(str(tmp_path), MADE)

    assert found.counted == ()
    assert len(found.left_out) == 1 and found.left_out[0].startswith(f"ada.yaml: journal: this is {said};")


def test_every_bad_file_is_told_whole(tmp_path: Path) -> None:
    """What is no YAML, no ballot, no file or unreadable is told by file; the others count."""
    reviews.file_ballot(str(tmp_path), filled(ASKED, "ada"))
    (tmp_path / "b.yaml").write_text("a: [", encoding="utf-8")
    (tmp_path / "c.yaml").write_text("why: x\nwhy: y\n", encoding="utf-8")
    (tmp_path / "d.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "e.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "f.yaml").write_text("ballot: 1\n", encoding="utf-8")
    found = ended(lambda: reviews.gather_reviews(str(tmp_path), MADE))

    assert [one.reviewer for one in found.counted] == ["ada"]
    assert {one.partition(":")[0] for one in found.left_out} == {
        f"{name}.yaml" for name in ("b", "c", "d", "e", "f", "pipe")
    }
    assert found.left_out[-1] == ("pipe.yaml: can't be read (a pipe or a device, or a file of the system).")
    assert sum(one.startswith("f.yaml:") for one in found.left_out) > 3
    assert not [one for one in found.left_out if str(tmp_path) in one]


def test_one_reviewer_has_one_ballot(tmp_path: Path) -> None:
    """A copy of a ballot under another file's name does not count twice."""
    path = Path(reviews.file_ballot(str(tmp_path), filled(ASKED, "ada")))
    (tmp_path / "copy.yaml").write_bytes(path.read_bytes())
    found = reviews.gather_reviews(str(tmp_path), MADE)

    assert len(found.counted) == 1
    assert found.left_out[0].startswith("copy.yaml: the ballot of 'ada' must be called ada.yaml.")


def test_a_ballot_is_never_overwritten(tmp_path: Path) -> None:
    """Who has voted can't be made to have voted otherwise; a draft may be, and is gone once the ballot is filed."""
    reviews.keep_draft(str(tmp_path), filled(ASKED, "ada"))
    reviews.keep_draft(str(tmp_path), filled(ASKED, "ada", side="b"))
    assert reviews.read_draft(str(tmp_path), "ada", DIGEST)["after"] == "b"
    path = Path(reviews.file_ballot(str(tmp_path), filled(ASKED, "ada")))
    before = path.read_bytes()

    with pytest.raises(BadFile, match="a ballot that 'ada' has cast"):
        reviews.file_ballot(str(tmp_path), filled(ASKED, "ada", side="b"))
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["ada.yaml"]


def test_a_draft_belongs_to_its_debate(tmp_path: Path) -> None:
    """A draft on another state of the debate is not gone on with."""
    reviews.keep_draft(str(tmp_path), filled(ASKED, "ada", journal="e" * 64))

    with pytest.raises(BadFile, match="a draft on another state"):
        reviews.read_draft(str(tmp_path), "ada", DIGEST)
    assert reviews.read_draft(str(tmp_path), "bob", DIGEST) == {}


@given(st.sampled_from(NASTY) | texts | st.text())
def test_a_name_is_no_path(name: str) -> None:
    """Whatever a reviewer is called, the file lies in the folder, and its name is plain."""
    stem = reviews.stem_of(name)

    assert set(stem) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")
    assert 0 < len(stem) <= 50
    assert reviews.path_of("r.ballots", name) == f"r.ballots/{stem}.yaml"


@given(st.lists(st.sampled_from(["Ada", "ada", "ADA", "ada.draft", "a d a", "ada!", "阿达", "ådå", ""]), unique=True))
def test_names_that_differ_have_files_that_differ(names: list[str]) -> None:
    """Two reviewers never share a file, not even where a file system does not tell small letters from large."""
    assert len({reviews.stem_of(name).lower() for name in names}) == len(names)


@given(st.sampled_from(NASTY) | texts)
def test_hostile_ballots_are_read_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """A reason is kept character by character, or the ballot is refused."""
    made = filled(ASKED, why=text)
    folder = str(tmp_path_factory.mktemp("b"))
    if not ASKED.complaints(made):
        reviews.file_ballot(folder, made)
        found = reviews.gather_reviews(folder, MADE)
        assert ([one.why for one in found.counted], found.left_out) == ([text], ())
