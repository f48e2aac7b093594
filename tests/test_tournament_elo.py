"""Elo and winners follow their stated rules exactly: the cases are worked by hand."""

from __future__ import annotations

import pytest
from conftest import Run
from tournaments import imported, ratings, row

from debate_orchestrator.tournament.rows import panel_winner, winner_by_scores

pytestmark = pytest.mark.usefixtures("few_draws")

CASES = {
    "a win between equals moves 16 points": ([("a", "b", "pro")], {"a": 416.0, "b": 384.0}),
    "a win of con moves them the other way": ([("a", "b", "con")], {"a": 384.0, "b": 416.0}),
    "a tie between equals moves nothing": ([("a", "b", "tie")], {"a": 400.0, "b": 400.0}),
    # The favourite a (416) ties as con with b (384): b was expected to score 1 / (1 + 10 ** 0.08) = 0.454078.
    "a tie moves points to the weaker": ([("a", "b", "pro"), ("b", "a", "tie")], {"a": 414.530499, "b": 385.469501}),
    # The favourite a (416) wins again, as pro: 1 - 1 / (1 + 10 ** -0.08) = 0.454078, times 32 = 14.530499.
    "a favourite gains less": ([("a", "b", "pro"), ("a", "b", "pro")], {"a": 430.530499, "b": 369.469501}),
    # And loses: 0 - 0.545922, times 32 = -17.469501.
    "a favourite loses more": ([("a", "b", "pro"), ("a", "b", "con")], {"a": 398.530499, "b": 401.469501}),
    # c enters at 400 and beats a at 416: 32 * (1 - 1 / (1 + 10 ** 0.04)) = 16.736307.
    "a newcomer starts at 400": (
        [("a", "b", "pro"), ("c", "a", "pro")],
        {"a": 399.263693, "b": 384.0, "c": 416.736307},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_elo_is_worked_as_by_hand(case: str, debate: Run) -> None:
    """Elo starts at 400, moves by K 32 and is zero-sum."""
    games, expected = CASES[case]
    imported(debate, [row(f"d{n}", *game, when=f"2026-01-0{n}") for n, game in enumerate(games, start=1)])

    found = {one["model"]: one["rating"] for one in ratings(debate)["elo"]}

    assert found == pytest.approx(expected, abs=1e-5)
    assert sum(found.values()) == pytest.approx(400 * len(found))


def test_elo_takes_debates_by_time_then_id(debate: Run) -> None:
    """The order of the file means nothing: (created, id) decides, whatever zone or form the times have."""
    late = row("x", "a", "b", "pro", when="2026-01-01T12:00:00+02:00")  # 10:00 UTC
    first = row("z", "a", "b", "con", when="2026-01-01T09:30:00Z")
    second = row("b", "a", "b", "con", when="2026-01-01 10:00:00")
    imported(debate, [late, second, first])

    one, other = ratings(debate)["elo"]

    # con, con (id b before x at the same time), then pro: the win over a stronger b is worth 20.147 points.
    after_two = 16 + 32 / (1 + 10**0.08)
    gained = 32 * (1 - 1 / (1 + 10 ** (2 * after_two / 400)))
    assert (one["model"], one["rating"]) == ("b", pytest.approx(400 + after_two - gained))
    assert (other["won"], other["lost"], other["games"]) == (1, 2, 3)


@pytest.mark.parametrize(
    ("votes", "winner"),
    [
        (("pro", "tie", "tie"), "pro"),
        (("pro", "con", "tie"), "tie"),
        (("con", "con", "pro"), "con"),
        (("tie",), "tie"),
        (("con", None), "con"),
        ((None, None), None),
    ],
)
def test_a_panel_is_a_majority_without_ties(votes: tuple[str | None, ...], winner: str | None) -> None:
    """Votes for a tie are ignored, equal numbers are a tie, and no vote is no decision."""
    assert panel_winner(votes) == winner


@pytest.mark.parametrize(
    ("scores", "winner"),
    [
        ([(7, 6), (6, 7)], "tie"),
        ([(0.1, 0.3), (0.2, 0.0)], "tie"),  # 0.1 + 0.2 is not 0.3 in floating point
        ([(7, 6), (6, 6.5)], "pro"),
        ([(1, 10)], "con"),
        ([], None),
    ],
)
def test_a_judges_winner_is_by_means(scores: list[tuple[float, float]], winner: str | None) -> None:
    """Equal means are a tie, exactly; no scores are no winner."""
    assert winner_by_scores(scores) == winner


def test_few_games_are_hidden_from_the_table_alone(debate: Run) -> None:
    """The table hides models with fewer than 5 games and says how many; --min-games and --json show them."""
    imported(debate, [row(f"d{n}", "often", "other", "pro") for n in range(5)] + [row("e", "rare", "often", "con")])

    shown = debate("tournament", "rate", "t")
    all_shown = debate("tournament", "rate", "t", "--min-games", "1")

    assert "rare" not in shown.out and "1 with fewer than 5 games not shown" in shown.out
    assert "rare" in all_shown.out
    assert {one["model"] for one in ratings(debate)["elo"]} == {"often", "other", "rare"}
