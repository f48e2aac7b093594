"""Turns and their places: ids are derived, stages hold those who do not hear each other."""

from __future__ import annotations

import pytest

from debate_orchestrator.core.phases import Phase, Slot, Turn, judges


def slot(*seats: str, order: str = "in turn", round: int | None = 2, closing: bool = False) -> Slot:
    phase = Phase.model_validate({"name": "case", "title": "Case", "tag": "CASE", "seats": seats, "order": order})
    return Slot(phase=phase, round=round, closing=closing)


@pytest.mark.parametrize(
    ("round", "closing", "expected"),
    [(2, False, "2.case.a"), (None, False, "start.case.a"), (None, True, "final.case.a")],
)
def test_an_id_says_where_a_turn_is(round: int | None, closing: bool, expected: str) -> None:
    """A turn's id is its round, or that it is before or after them, its phase and its seat."""
    assert slot("a", round=round, closing=closing).turn_id("a") == expected


def test_stages_follow_the_order() -> None:
    """In turn, each speaks alone, in the speaking order; at once, all speak together; the clerk comes last."""
    assert slot("a", "b", "clerk").stages(("b", "a"), ("judge",)) == [("b",), ("a",), ("clerk",)]
    assert slot("a", "b", order="at once").stages(("b", "a"), ("judge",)) == [("b", "a")]
    assert slot(order="at once").stages(("a", "b"), ("judge",)) == []


def test_a_mirrored_turn_stands_beside_its_judge() -> None:
    """A judge's mirrored turn is in the same stage as the straight one, whether judges vote at once or in turn."""
    panel = judges(2)

    in_turn = [("judge-1", "judge-1.mirrored"), ("judge-2", "judge-2.mirrored")]
    assert slot("judge").stages((), panel, mirror=True) == in_turn
    assert slot("judge", order="at once").stages((), panel, mirror=True) == [(*in_turn[0], *in_turn[1])]


def test_whose_turn_it_is() -> None:
    """Sides speak, judges judge, and a clerk does neither."""
    phase = slot("a").phase
    kinds = {seat: Turn(id="1.case.x", seat=seat, phase=phase) for seat in ("a", "b", "judge-3", "clerk")}

    assert [turn.speaking for turn in kinds.values()] == [True, True, False, False]
    assert [turn.judging for turn in kinds.values()] == [False, False, True, False]
    assert kinds["judge-3"].role == "judge"


@pytest.mark.parametrize(("size", "seats"), [(0, ()), (1, ("judge",)), (2, ("judge-1", "judge-2"))])
def test_judges_of_a_panel(size: int, seats: tuple[str, ...]) -> None:
    """One judge has no number, several have, and a format without any has none."""
    assert judges(size) == seats
