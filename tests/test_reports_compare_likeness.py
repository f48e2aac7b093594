"""Similar wording is counted in words, by a formula and a threshold that are stated."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nasty import NASTY, texts

from debate_orchestrator.reports.compare import ALIKE, grouped, likeness, words

said = st.lists(st.sampled_from(NASTY) | texts | st.text(max_size=40), max_size=12)


def test_likeness_is_the_share_of_common_words() -> None:
    """Words of content that both have, over those that either has; case, width and punctuation do not matter."""
    some, others = words("The queue IS fast, and cheap."), words("A ﬁne queue: cheap!")

    assert some == {"queue", "fast", "cheap"}
    assert likeness(some, others) == Fraction(2, 4)
    assert Fraction(1, 2) == ALIKE


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Postgres scales to the load of most teams.", "Postgres scales to most teams' load", True),
        ("Postgres scales to the load of most teams.", "Postgres does not scale to the load of most teams.", True),
        ("Brokers cost more to run.", "Rust prevents memory bugs.", False),
        ("It is.", "It is not.", False),
        ("", "", False),
        ("它更便宜", "它更便宜", True),
    ],
)
def test_what_is_called_similar(one: str, other: str, alike: bool) -> None:
    """Reordered sentences are similar, others are not; what denies may be similar, since wording is no meaning."""
    assert (grouped([one, other]) == [[0, 1]]) is alike


@given(said)
def test_every_text_is_in_one_group(given_texts: list[str]) -> None:
    """Each text is in exactly one group, with one that it is similar to."""
    groups = grouped(given_texts)

    assert sorted(n for group in groups for n in group) == list(range(len(given_texts)))
    for first, *others in groups:
        assert all(likeness(words(given_texts[first]), words(given_texts[n])) >= ALIKE for n in others)


@given(texts | st.text(max_size=60), texts | st.text(max_size=60))
def test_likeness_is_even_handed(one: str, other: str) -> None:
    """It is from 0 to 1, the same both ways, and 1 for a text and itself if it has a word."""
    some, others = words(one), words(other)

    assert 0 <= likeness(some, others) == likeness(others, some) <= 1
    assert likeness(some, some) == (1 if some else 0)
