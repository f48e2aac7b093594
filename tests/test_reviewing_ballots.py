"""A reviewer's ballot asks what the judges were asked, and is held to the same rubric and scale."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from core.folding import absent, marks
from hypothesis import given
from hypothesis import strategies as st
from nasty import NASTY, texts
from reviewers import KINDS, debated, filled, kind, paper

from debate_orchestrator.reports.reviewers import judges_marks
from debate_orchestrator.reports.reviews import LONGEST_NAME
from debate_orchestrator.util.sanitize import one_line

ASKED = paper(debated(rounds=2))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("name", KINDS)
def test_every_format_has_a_ballot(name: str) -> None:
    """In every format there is something to judge, and a ballot that answers it will do."""
    asked = paper(kind(name))

    assert asked.complaints(filled(asked)) == []
    assert asked.final


def test_it_asks_what_judges_vote_on() -> None:
    """Rounds are asked about as the judges' ballots are, without the fields that are not counted."""
    assert [list(shape) for shape in ASKED.rounds.values()] == [["scores", "winner"], ["scores", "winner"]]
    assert list(ASKED.final) == ["winner"]
    assert list(paper(kind("panel")).final) == ["scores"]
    assert list(paper(kind("claim")).final) == ["label", "score"]


def test_rounds_that_were_not_held_are_not_asked_about() -> None:
    """Where a side concedes in round 1 of 3, there is a single round to score."""
    script = {"1.opening.b": "I CONCEDE THE DEBATE."}

    assert set(paper(kind("adversarial", script=script, rounds=3)).rounds) <= {1}


def test_all_complaints_come_at_once() -> None:
    """Everything that is wrong is told together, each with its key, in the words that judges are told."""
    wrong = filled(ASKED, before="c", reviewer="", date="yesterday", extra=1)
    wrong["rounds"][1]["scores"]["a"]["argument_quality"] = 11
    del wrong["rounds"][2]["winner"]
    said = ASKED.complaints(wrong, "ada.yaml: ")

    for key in ("reviewer", "date", "before", "'extra'", "rounds.1.scores.a.argument_quality", "rounds.2.winner"):
        assert [one for one in said if one.startswith(f"ada.yaml: {key}:")], key
    assert "ada.yaml: rounds.1.scores.a.argument_quality: 11 is not a number from 1 to 10." in said


@pytest.mark.parametrize("version", [2, "two", None, True, 1.5])
def test_another_version_is_refused(version: Any) -> None:
    """A ballot of another form is told, and not read as if it were of this one."""
    assert [one for one in ASKED.complaints(filled(ASKED, ballot=version)) if one.startswith("ballot:")]


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * (LONGEST_NAME + 1), "ada\u202e", "a\u200bb"])
def test_names_are_names(name: str) -> None:
    """A name is one line, not endless, and hides nothing."""
    assert [one for one in ASKED.complaints(filled(ASKED, name)) if one.startswith("reviewer:")]


@given(st.sampled_from(list(filled(ASKED))), values)
def test_nothing_hostile_breaks_a_check(key: str, value: Any) -> None:
    """Whatever stands in a field, there are complaints about it or there is a ballot of it."""
    made = filled(ASKED) | {key: value}

    if not ASKED.complaints(made):
        assert ASKED.ballot(made).reviewer


@given(st.sampled_from([1, 2]), st.sampled_from(["a", "b"]), values)
def test_nothing_hostile_passes_for_a_mark(n: int, side: str, value: Any) -> None:
    """A mark is a number on the rubric's scale; anything else is complained of by its key."""
    made = filled(ASKED)
    made["rounds"][n]["scores"][side]["use_of_evidence"] = value
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= 10

    where = f"rounds.{n}.scores.{side}.use_of_evidence:"
    assert any(one.startswith(where) for one in ASKED.complaints(made)) is not fits


@given(st.sampled_from(NASTY) | texts)
def test_hostile_reasons_stay_reasons(text: str) -> None:
    """A reason is taken verbatim if it is one, and is no vote."""
    made = filled(ASKED, why=text)
    if not ASKED.complaints(made):
        assert ASKED.ballot(made).why == text
        assert ASKED.ballot(made).final.winner == "a"


def test_scores_are_added_up_as_judges_are() -> None:
    """A ballot's score of a side is the mean of its criteria; the better scored side wins where none is declared."""
    ballot = ASKED.ballot(filled(ASKED, mark=7.5))
    scored = paper(kind("panel"))

    assert ballot.rounds[1].scores == {"a": Fraction(15, 2), "b": Fraction(11, 2)}
    assert ballot.marks[2, "b", "use_of_evidence"] == Fraction(11, 2)
    assert scored.ballot(filled(scored, side="b")).final.winner == "b"


def test_keys_may_be_words() -> None:
    """A round may be written as a number or as a word, and votes that were not cast may be left out."""
    made = filled(ASKED)
    made["rounds"] = {str(n): part for n, part in made["rounds"].items()}
    del made["before"], made["after"]

    assert ASKED.complaints(made) == []
    assert ASKED.ballot(made).before is None


def test_judges_marks_are_those_that_count() -> None:
    """A judge's marks are the mean of both presentations; an absent judge has none."""
    script: dict[str, Any] = {
        "1.verdict.judge-1": marks(8, 4, rounds=1),
        "1.verdict.judge-1.mirrored": marks(6, 6, rounds=1),
    }
    script["1.verdict.judge-2.mirrored"] = absent("1.verdict.judge-2.mirrored")
    made = paper(kind("adversarial", script=script, rounds=1, panel=2, mirror=True)).debate
    given = judges_marks(made)

    assert given["judge-1"][1, "a", "argument_quality"] == 7
    assert given["judge-1"][1, "b", "argument_quality"] == 5
    assert set(given) == {"judge-1"}


def test_names_are_shown_on_one_line() -> None:
    """What stands for a reviewer is the name on one line."""
    made = filled(ASKED, " Ada   Lovelace ")

    assert ASKED.ballot(made).reviewer == one_line(" Ada   Lovelace ") == "Ada Lovelace"
