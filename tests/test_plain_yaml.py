"""YAML as people expect it: what surprises is refused, and what is written reads back the same."""

from __future__ import annotations

from typing import Any

import pytest
from core.folding import many
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.plain_yaml import dump, load

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text("abc", min_size=1), some, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", "no"),
        ("a: 1:30", "1:30"),
        ("a: 2026-01-01", "2026-01-01"),
        ("a: true", True),
        ("a: 7", 7),
        ("a:", None),
    ],
)
def test_words_mean_what_they_say(text: str, value: Any) -> None:
    """Only true and false are flags; times, dates and no are words."""
    assert load(text) == {"a": value}


@pytest.mark.parametrize("text", ["a: &x 1\nb: *x", "a: !!python/name:os.system", "a: 1\na: 2", "a: [", "\x00"])
def test_what_surprises_is_refused(text: str) -> None:
    """Anchors, aliases, tags, a key that stands twice and broken text are refused as bad values."""
    with pytest.raises(ValueError, match=r"\S"):
        load(text)


@many
@given(st.dictionaries(st.text("abc", min_size=1), PLAIN))
def test_there_and_back(value: dict[str, Any]) -> None:
    """Whatever is written reads back as it was, in ASCII too."""
    assert load(dump(value)) == value
    assert load(dump(value, ascii_only=True)) == value
