"""The list of issues, changed at a terminal line by line."""

from __future__ import annotations

import pytest

from debate_orchestrator.terminal.form import changed
from debate_orchestrator.util.errors import BadSettings

LISTED = ["What?", "When?", "Who?"]


@pytest.mark.parametrize(
    ("typed", "after"),
    [
        ("-2", ["What?", "Who?"]),
        ("-1, -i3", ["When?"]),
        ("3>1", ["Who?", "What?", "When?"]),
        ("I1 > I2", ["When?", "What?", "Who?"]),
        ("+ Where - 2 or 3>1 of it?", [*LISTED, "Where - 2 or 3>1 of it?"]),
    ],
)
def test_a_change(typed: str, after: list[str]) -> None:
    """Issues are struck, moved and added."""
    assert changed(LISTED, typed) == after


@pytest.mark.parametrize("typed", ["-4", "0>1", "2", "1 2", "+", "What is this?", "1>2>3"])
def test_what_is_no_change(typed: str) -> None:
    """Anything else is refused with what can be typed."""
    with pytest.raises(BadSettings, match="-4 strikes I4"):
        changed(LISTED, typed)
