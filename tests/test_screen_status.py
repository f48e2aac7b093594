"""The status tells where a debate stands, in as few lines as the width allows."""

from __future__ import annotations

import debates
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.events import Asked, CallFailed, Reply
from debate_orchestrator.core.events import Spoke as Said
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.screen import status
from debate_orchestrator.screen.cells import plain, wide


def test_where_it_stands() -> None:
    """Round and phase are those of what is due; after the rounds it is the phase alone."""
    assert status.where(DebateState(debates.played(until="2.challenge.a"))) == ["Round 2 of 3", "Challenge"]
    assert status.where(DebateState(debates.played(until="final.verdict.judge"))) == ["Final Verdict"]
    assert status.where(DebateState(debates.played(rounds=1))) == ["Dissent Record"]


@pytest.mark.parametrize(
    ("words", "until", "said"),
    [
        (0, None, "Researcher A thinks, 12 s"),
        (1, None, "Researcher A writes, 1 word"),
        (1200, None, "Researcher A writes, 1,200 words"),
        (0, 115.0, "Researcher A: asked again in 3 s"),
        (0, 90.0, "Researcher A: asked again in 0 s"),
    ],
)
def test_what_somebody_is_doing(words: int, until: float | None, said: str) -> None:
    """Somebody who was asked thinks until the first word, writes then, or waits to be asked again."""
    assert status.writer("Researcher A", words, 112.0, 100.0, until) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (59.9, "59 s"), (60, "1:00"), (3723, "1:02:03"), (-1, "0 s")]
)
def test_durations(seconds: float, said: str) -> None:
    """A duration is told in seconds, then in minutes, then in hours."""
    assert status.clock(seconds) == said


def test_what_was_spent() -> None:
    """What calls have cost is told with what is not known; where nobody was called nothing is."""
    debate = DebateState([debates.opening()])
    assert status.spent(debate) == []

    debate.take(Asked(turn="1.opening.a", brief="0" * 64, by="anthropic:m", called=True))
    debate.take(CallFailed(turn="1.opening.a", by="anthropic:m", trouble="gone", unsure=True))
    assert status.spent(debate) == ["$0.0000 and a call of unknown price"]

    debate.take(Asked(turn="1.opening.a", brief="0" * 64, by="anthropic:m", called=True))
    reply = Reply(text="x", brief="0" * 64, by="anthropic:m", cost=0.25, called=True)
    debate.take(Said(turn="1.opening.a", reply=reply))
    assert status.spent(debate) == ["$0.2500 and a call of unknown price"]


def test_it_is_broken_between_its_parts() -> None:
    """What does not fit goes on in another line, and no part is torn."""
    lines = status.lines(["Round 1 of 3", "Challenge", "12 s"], ["p pause, q quit"], 26)

    assert [plain(line) for line in lines] == ["Round 1 of 3 · Challenge", "12 s · p pause, q quit"]


def test_a_note_is_not_cut() -> None:
    """A note that is longer than a narrow terminal is broken between its words."""
    lines = status.lines(["12 s"], ["stopping when the answers under way are in", "Ctrl-C leaves them"], 40)

    assert [plain(line) for line in lines] == [
        "12 s",
        "stopping when the answers under way are",
        "in · Ctrl-C leaves them",
    ]


@given(st.lists(st.text(st.characters(categories=["L", "N", "So"]), min_size=1), max_size=9), st.integers(2, 120))
def test_it_fits(parts: list[str], cells: int) -> None:
    """However narrow the terminal, no line is wider, and there are few of them."""
    made = status.lines(parts, ["q quit"], cells)

    assert all(wide(line) <= cells for line in made)
    assert 1 <= len(made) <= status.MOST
