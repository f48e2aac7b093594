"""The ways in which a page is not had."""

from __future__ import annotations

from typing import get_args

import pytest

from debate_orchestrator.evidence.states import Blocked, NotFetched, State, Unreachable, Unreadable


@pytest.mark.parametrize(
    ("kind", "state"), [(Blocked, "blocked"), (Unreachable, "unreachable"), (Unreadable, "not checked")]
)
def test_each_way_has_its_state(kind: type[NotFetched], state: str) -> None:
    """Each way of not having a page is one of the states, with a reason and where it ended."""
    trouble = kind("it rains", "http://example.com/")

    assert trouble.state == state and state in get_args(State)
    assert (trouble.why, trouble.at, str(trouble)) == ("it rains", "http://example.com/", "it rains")
