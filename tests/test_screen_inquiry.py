"""A question from the floor is put key by key: to whom, what, and nothing by mistake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.events import QUESTION
from debate_orchestrator.screen.cells import width
from debate_orchestrator.screen.inquiry import Inquiry
from debate_orchestrator.screen.keys import typed

NAMES = {"a": "Researcher A", "b": "Researcher B", "judge": "Judge"}
Put = list[tuple[str, tuple[str, ...]]]


def pressed(keys: str, names: dict[str, str] = NAMES) -> tuple[Inquiry, Put]:
    put: Put = []
    made = Inquiry(names, lambda text, to: put.append((text, to)))
    for key in typed(keys.encode()):
        if made.open:
            made.press(key)
    return made, put


@pytest.mark.parametrize(
    ("keys", "put"),
    [
        ("aWhy?\r", ("Why?", ("a",))),
        ("BWhy?\n", ("Why?", ("b",))),
        ("jWhy\x7fy?\r", ("Why?", ("judge",))),
        ("\rNein\x15Warum, ä\u0301\x7f!\r", ("Warum, !", ("a", "b", "judge"))),
        ("a\r \rWhy?\r", ("Why?", ("a",))),
        ("xzaW\x1b[Ahy\t?\r", ("Why?", ("a",))),
        ("\x1b", ("", ())),
        ("aWhy?\x1b", ("", ())),
    ],
)
def test_what_is_put(keys: str, put: tuple[str, tuple[str, ...]]) -> None:
    """A letter says to whom, Enter to all; then characters are typed and taken back, and Enter puts them. Escape gives
    it up; an empty question is not put, and other keys do nothing."""
    made, told = pressed(keys)
    assert told == [put]
    assert not made.open


def test_only_who_can_be_asked() -> None:
    """A seat without a turn left is no choice."""
    made, told = pressed("a\rWhy?\r", {"judge": "Judge"})
    assert told == [("Why?", ("judge",))]
    assert "Researcher A" not in " ".join(Inquiry({"judge": "Judge"}, lambda text, to: None).rows(80))
    assert not made.open


def test_a_question_has_its_length() -> None:
    """Characters over the most that a question may have are not taken."""
    _, told = pressed(f"a{'x' * (QUESTION + 50)}\r")
    assert told == [("x" * QUESTION, ("a",))]


@given(st.text(max_size=60), st.integers(8, 120))
def test_no_row_is_wider_than_the_screen(keys: str, wide: int) -> None:
    """Whatever is typed, every row fits, and the end of what was typed is what is seen."""
    made, _ = pressed("a" + keys.replace("\r", "").replace("\n", "").replace("\x1b", ""))
    rows = made.rows(wide)
    assert all(width(row) <= wide for row in rows)
    assert rows[1].endswith("▏")
