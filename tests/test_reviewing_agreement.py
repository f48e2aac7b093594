"""The numbers for agreement are those of their formulas."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.reports import reviewers

KNOWN = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
"""The data with which Krippendorff explains alpha, one observer a line; for intervals it is 0.849."""


def raters(*rows: str) -> list[dict[reviewers.Item, Fraction]]:
    """What each gave, unit by unit; a dot is nothing."""
    return [{(n, "a", "x"): Fraction(one) for n, one in enumerate(row.split()) if one != "."} for row in rows]


def test_alpha_is_krippendorffs() -> None:
    """On the published data alpha is the published number."""
    found = reviewers.krippendorff_alpha(raters(*KNOWN))

    assert found is not None and round(float(found), 3) == 0.849


def test_few_marks_say_nothing() -> None:
    """With two raters, or nine items, or marks that are all one, there is no alpha."""
    assert reviewers.krippendorff_alpha(raters(*KNOWN[:2])) is None
    assert reviewers.krippendorff_alpha(raters(*(row[:17] for row in KNOWN))) is None
    assert reviewers.krippendorff_alpha(raters(*["5 " * 12] * 3)) is None


@given(st.lists(st.integers(1, 10), min_size=12, max_size=20).filter(lambda row: len(set(row)) > 1))
def test_those_who_say_the_same_agree(row: list[int]) -> None:
    """Raters who give the same marks have an alpha of 1, and no difference."""
    same = raters(*[" ".join(map(str, row))] * 3)

    assert reviewers.krippendorff_alpha(same) == 1
    assert reviewers.score_differences(same[:1], same[1:]) == {"x": 0}


@given(st.lists(st.lists(st.integers(1, 10), min_size=12, max_size=12), min_size=3, max_size=5))
def test_alpha_is_one_at_most(rows: list[list[int]]) -> None:
    """Alpha is never over 1, and the order of raters does not change it."""
    made = raters(*(" ".join(map(str, row)) for row in rows))
    found = reviewers.krippendorff_alpha(made)

    assert found is None or found <= 1
    assert found == reviewers.krippendorff_alpha(made[::-1])


@pytest.mark.parametrize(("some", "others", "apart"), [("7 5", "5 5", 1), ("7 .", "5 5", 2), ("8 4", "6 6", 2)])
def test_differences_are_of_means(some: str, others: str, apart: int) -> None:
    """The difference is the mean distance of the means, over what both groups scored."""
    assert reviewers.score_differences(raters(some), raters(others, others)) == {"x": apart}


def test_nothing_in_common_has_no_difference() -> None:
    """Where no item was scored by both there is nothing to compare."""
    assert reviewers.score_differences(raters("1 ."), raters(". 1")) == {}
