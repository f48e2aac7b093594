"""One judge's vote, whatever its ballots look like, and what a panel's votes come to."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from corpus import for_each

from debate_orchestrator.core.verdict import (
    ParsedBallot,
    Vote,
    panel_winner,
    plurality_label,
    read_ballot,
    score,
    swing,
)

SIDES = ("a", "b")
EVEN = {"x": Fraction(1), "y": Fraction(1)}
LABELS = {"supported": "a", "refuted": "b", "unclear": "no decision"}


def read(ballot: dict[str, Any], weights: dict[str, Fraction] = EVEN) -> ParsedBallot:
    return read_ballot(ballot, SIDES, weights, LABELS)


def parsed_ballot(winner: str = "a", **how: Any) -> ParsedBallot:
    return ParsedBallot(winner=winner, **how)


def vote(original: ParsedBallot | str | None = "a", mirrored: ParsedBallot | str | None = None, **how: Any) -> Vote:
    """A judge's vote; twice, where a second presentation is named."""
    made = [ParsedBallot(winner=one) if isinstance(one, str) else one for one in (original, mirrored)]
    return Vote(**{"judge": "judge", "turn_id": "x", "original": made[0], "mirrored": made[1]} | how)


def panel(*winners: str | None) -> list[Vote]:
    """The votes of judges who declare these winners; None is an absent judge."""
    return [vote(winner, judge=f"judge-{n}") for n, winner in enumerate(winners, start=1)]


# What a ballot says


BALLOTS_AND_WINNERS = [
    ({"winner": "b"}, "b"), ({"winner": "tie"}, "tie"), ({"winner": "no decision"}, "no decision"),
    ({"winner": "b", "scores": {"a": {"x": 9, "y": 9}, "b": {"x": 1, "y": 1}}, "label": "supported"}, "b"),
    ({"winner": None, "scores": {"a": {"x": 9, "y": 1}, "b": {"x": 4, "y": 5}}}, "a"),
    ({"scores": {"a": {"x": 1, "y": 9}, "b": {"x": 5, "y": 5}}, "label": "supported"}, "tie"),
    ({"label": "refuted"}, "b"), ({"label": "unclear"}, "no decision"), ({"label": "something else"}, "no decision"),
    ({"label": None}, "no decision"), ({"score": 3}, "no decision"),
]  # fmt: skip


def test_whom_a_ballot_is_for() -> None:
    """A vote is for the winner that the ballot declares, else for who has the better scores, else for whom its label
    stands; where it says none of this, for neither."""
    for ballot, winner in BALLOTS_AND_WINNERS:
        assert read(ballot).winner == winner, ballot


def test_a_score_is_the_exact_mean_of_its_criteria() -> None:
    """The score of a side is the mean of the criteria that apply, as an exact fraction of the points as written."""
    points = {"x": 7.1, "y": 6, "z": 0.1}
    assert score(points, dict.fromkeys("xyz", Fraction(1))) == Fraction(132, 30)
    assert score(points, EVEN) == Fraction(131, 20)


# One judge


def test_another_label_is_another_vote() -> None:
    """A vote whose label changes with the presentation is unstable, also where the winner does not."""
    made = vote(parsed_ballot("a", label="true"), parsed_ballot("a", label="mostly true"), shown_mirrored=True)
    assert (made.winner, made.label, made.stable) == ("no decision", None, False)


# A panel


@for_each([
    (["a"], 1, "a"), (["a", "a", "b"], 3, "a"), (["a", None, "no decision"], 1, "a"),
    (["a", None, "no decision"], 2, "no decision"), (["a", "tie", None], 2, "a"), (["tie", "tie", None], 2, "tie"),
    (["consensus", "consensus", "a"], 2, "consensus"), (["consensus", "consensus", "a", "b"], 2, "tie"),
    (["consensus", "no decision", "no decision"], 1, "consensus"), ([None, None], 1, "no decision"),
    ([], 0, "no decision"),
])  # fmt: skip
def test_a_quorum_of_votes_decides(votes: list[str | None], quorum: int, winner: str) -> None:
    """There is a decision where as many judges as the quorum vote for a side, a tie or consensus."""
    assert panel_winner(panel(*votes), SIDES, quorum) == winner


# Before and after


@for_each(
    [
        (["a", "a", "tie"], ["a", "b", "b"], {"a": -1, "b": 2}),
        (["tie", "no decision"], ["a", "a"], {"a": 2, "b": 0}),
        (["a"], ["a"], {"a": 0, "b": 0}),
        (["a", None], ["a", "b"], {"a": 0, "b": 0}),
        (["b", "a"], [None, "a"], {"a": 0, "b": 0}),
        ([None, "a"], ["b", None], {}),
        ([], ["a"], {}),
    ]
)
def test_a_swing_is_what_a_side_gained(
    before: list[str | None], after: list[str | None], gained: dict[str, int]
) -> None:
    """A side's swing is its votes after the debate less those before it, among the judges who voted both times."""
    assert swing(panel(*before), panel(*after), SIDES) == gained


@for_each(
    [
        (["x"], "x"),
        (["x", "y", "x"], "x"),
        (["x", "y"], None),
        (["x", "x", "y", "y"], None),
        ([None, "x"], "x"),
        ([], None),
    ]
)
def test_the_label_that_more_judges_give(labels: list[str | None], most: str | None) -> None:
    """A panel's label is the one given more often than any other, if there is one."""
    assert plurality_label([vote(parsed_ballot(label=label)) for label in labels]) == most


def test_two_models_in_a_seat_are_not_one_judge() -> None:
    """Where a judge's seat was given to another model, neither has voted both times: no swing comes of it, and the two
    presentations were not seen by one judge."""
    first, second = frozenset({"one"}), frozenset({"other"})
    before = [vote("b", judge="judge-1", cast_by=first), vote("b", judge="judge-2", cast_by=first)]
    after = [vote("a", judge="judge-1", cast_by=second), vote("a", judge="judge-2", cast_by=first)]
    assert swing(before, after, SIDES) == {"a": 1, "b": -1}
    assert swing(before[:1], after[:1], SIDES) == {}

    pair = vote("a", "a", shown_mirrored=True, cast_by=first)
    replaced = pair.model_copy(update={"cast_by": first | second})
    assert (pair.is_pair, replaced.is_pair, replaced.winner) == (True, False, "a")
