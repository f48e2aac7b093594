"""Work beside the conversation is done, and what went wrong in it belongs to whoever asks."""

from __future__ import annotations

import pytest

from debate_orchestrator.wizard.beside import beside


def test_what_is_returned_comes() -> None:
    """The result is there when it is asked for."""
    assert beside(lambda: 7).result(10) == 7


def test_what_is_raised_comes_too() -> None:
    """An error is raised where the result is asked for."""
    with pytest.raises(ZeroDivisionError):
        beside(lambda: 1 // 0).result(10)
