"""The answers so far: what may be in a file that keeps them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.setup.session import SetupProgress, SetupState, checked_state, with_progress, without_answers

SIDES = ("a", "b")
GOOD = SetupState(
    given={"topic": "T", "positions": {"a": "x", "b": "y"}, "output": "o.md"},
    progress=SetupProgress(topics=("T",), topic_ok=True, positions="own", positions_ok=True),
)


def test_what_is_sound_stays() -> None:
    """A draft that a conversation kept is as it was."""
    assert checked_state(GOOD, SIDES) == GOOD


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({"topic": 7}, "topic"),
        ({"positions": ["x"]}, "positions"),
        ({"positions": {"a": "x", "c": "y"}}, "positions"),
        ({"positions": {"a": 1}}, "positions"),
        ({"positions": None}, "positions"),
        ({"output": ["o"]}, "output"),
    ],
)
def test_what_is_of_no_kind_goes(changes: dict[str, object], gone: str) -> None:
    """An answer of the wrong kind is as if it had not been given, and no confirmation of it stands."""
    made = checked_state(GOOD.model_copy(update={"given": GOOD.given | changes}), SIDES)

    assert set(GOOD.given) - set(made.given) == {gone}
    assert made.progress.topic_ok == (gone != "topic")
    assert made.progress.positions_ok == (gone != "positions")


def test_a_confirmation_needs_what_it_confirms() -> None:
    """A confirmation of what is not there does not count."""
    assert not checked_state(without_answers(GOOD, "topic"), SIDES).progress.topic_ok
    assert not checked_state(without_answers(GOOD, "positions"), SIDES).progress.positions_ok


KEYS = st.sampled_from(["topic", "positions", "output", "x"])


@given(st.dictionaries(KEYS, st.none() | st.text() | st.lists(st.text())))
def test_anything_becomes_sound(given_: dict[str, object]) -> None:
    """Whatever a file holds, what is left is of the kinds that the conversation keeps."""
    made = checked_state(with_progress(GOOD.model_copy(update={"given": given_}), asked="topic"), SIDES)

    assert isinstance(made.given.get("topic", ""), str)
    assert isinstance(made.given.get("positions", {}), dict)
    assert checked_state(made, SIDES) == made
