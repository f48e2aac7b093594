"""Structured replies are shown field by field, whatever their shape, and what is empty is left out."""

from __future__ import annotations

from typing import Any

import nasty
import puppets
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.screen.cells import plain, wide
from debate_orchestrator.screen.forms import fields
from debate_orchestrator.speech import tame

replies: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), nasty.texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=3)),
    max_leaves=12,
)


def test_every_field_is_told() -> None:
    """Texts, numbers and flags stand by their names; a list has a row for each, with a row's fields in one line."""
    reply = {
        "label": "supported",
        "score": 7.0,
        "refused": False,
        "sure": True,
        "reason": None,
        "unresolved_questions": ["One?", "Two?"],
        "checks": [{"turn": "1.argument.a", "state": "verified", "why": None}],
        "none": [],
        "marks": {"a": 1, "b": 2.5},
    }

    assert [plain(line) for line in fields(reply, 80)] == [
        "  Label: supported",
        "  Score: 7",
        "  Sure: yes",
        "  Unresolved questions:",
        "  - One?",
        "  - Two?",
        "  Checks:",
        "  - turn: 1.argument.a; state: verified",
        "  Marks: a: 1; b: 2.5",
    ]


def test_a_real_one() -> None:
    """A final verdict is readable as it is."""
    lines = [plain(line) for line in fields(puppets.final(), 100)]

    assert "  Justification: It came down to one point. A made it. B did not answer it." in lines


@given(st.dictionaries(st.text(max_size=9), replies, max_size=4), st.integers(6, 120))
def test_nothing_in_it_moves_a_cursor(reply: dict[str, Any], cells: int) -> None:
    """Names and values are tamed, and wrapped to the width."""
    for line in fields(reply, cells):
        assert tame(plain(line)) == plain(line) and "\n" not in plain(line)
        assert wide(line) <= cells
