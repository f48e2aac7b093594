"""Ballots in, numbers out: one judge's vote, what a panel's come to, exact scores, winners, findings, strength and
remarks, and verdicts without a decision."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from core.folding import CONCEDE, absent_judge, ballot_fields, converging, many, opened, play, play_debate
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core import schedule, tally, verdict
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.verdict import (
    ParsedBallot,
    RoundResult,
    Verdict,
    Vote,
    panel_winner,
    read_ballot,
    round_result,
    score,
    swing,
)
from debate_orchestrator.util.numbers import decimals

SIDES = ("a", "b")
EVEN = {"x": Fraction(1), "y": Fraction(1)}
LABELS = {"supported": "a", "refuted": "b", "unclear": "no decision"}
POINTS = st.one_of(st.integers(1, 10), st.floats(1, 10), st.decimals(1, 10, places=2).map(float))
WINNER = st.sampled_from(["a", "b", "tie"])


def result(n: int, a: Any, b: Any, winner: str = "tie") -> RoundResult:
    return RoundResult(round=n, scores={"a": Fraction(a), "b": Fraction(b)}, winner=winner, judges_present=1)


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


def final_verdict(votes: Sequence[Vote], results: Sequence[RoundResult], sides: Sequence[str], **how: Any) -> Verdict:
    """The verdict of a panel for which one vote is enough, where nothing but `how` is unusual."""
    usual: dict[str, Any] = dict.fromkeys(("by_swing", "conceded_by_speech", "converged_again"), False)
    usual |= {"quorum": 1, "pre_debate_votes": (), "has_scores": True, "winner_of": None}
    usual |= {"concession": None, "strengths": ()}
    return verdict.final_verdict(votes, results, sides, **usual | how)


def decided(a: Any, b: Any, *declared: str, strength: str | None = None, **how: Any) -> Verdict:
    """The verdict on totals of `a` and `b` by final ballots that declare these winners."""
    said = [] if strength is None else [strength] * len(declared)
    return final_verdict(panel(*declared), [result(1, a, b)], SIDES, strengths=said, **how)


DECIMALS = [
    ("0", "0"), ("7", "7"), ("10", "10"), ("20/3", "6.67"), ("13/2", "6.5"), ("1/3", "0.33"), ("100", "100"),
    ("0.005", "0.01"), ("0.0049", "0"), ("0.995", "1"), ("1.105", "1.11"), ("1.115", "1.12"), ("19.999", "20"),
    ("-1/2", "-0.5"), ("-0.004", "0"), ("-0.005", "-0.01"), ("12.30", "12.3"), ("6.05", "6.05"),
]  # fmt: skip


def test_decimals() -> None:
    """A number shows two decimals, halves away from zero, without trailing zeros."""
    for value, text in DECIMALS:
        assert decimals(Fraction(value)) == text, value


@given(st.lists(st.tuples(POINTS, POINTS, WINNER), min_size=1, max_size=4), st.integers(1, 3))
def test_totals_are_the_sums_of_the_round_scores(rounds: list[tuple[float, float, str]], panel: int) -> None:
    """Totals add up exactly from the rounds' scores, and those from the ballots, in rounds and panels of any size."""
    seats = ["judge"] if panel == 1 else [f"judge-{k}" for k in range(1, panel + 1)]
    script = {
        f"{n}.verdict.{seat}": ballot_fields(a, b, rounds=len(rounds), winner=winner)
        for n, (a, b, winner) in enumerate(rounds, 1)
        for seat in seats
    }
    debate = play_debate(len(rounds), panel, script)
    verdict = tally.verdict(debate)
    assert verdict is not None
    assert verdict.totals == tally.totals(debate) == {
        "a": sum(Fraction(str(a)) for a, _, _ in rounds), "b": sum(Fraction(str(b)) for _, b, _ in rounds)
    }  # fmt: skip
    assert [one.winner for one in tally.results(debate)] == [winner for _, _, winner in rounds]
    assert sum(verdict.rounds_won.values()) == len(rounds)


def test_a_panel_scores_the_mean_of_its_ballots() -> None:
    """A round's score is the mean over the ballots, whatever each judge declares."""
    ballots = [{"scores": {"a": {"q": a}, "b": {"q": 5}}, "winner": "b"} for a in (7, 8, 8)]
    parsed_ballots = [read_ballot(one, SIDES, {"q": Fraction(1)}, {}) for one in ballots]
    made = round_result(
        2, [Vote(judge=str(n), turn_id="x", original=one) for n, one in enumerate(parsed_ballots)], SIDES
    )
    assert (made.scores, made.winner, made.leader, made.judges_present) == (
        {"a": Fraction(23, 3), "b": 5},
        "b",
        "a",
        3,
    )


# Which ballots count


def test_a_judge_who_spoils_twice_is_absent() -> None:
    """Two spoiled replies leave the round without a result, and the debate goes on."""
    debate = play_debate(
        2, script={"1.verdict.judge": absent_judge("1.verdict.judge"), "2.verdict.judge": ballot_fields(8, 6)}
    )
    assert (tally.result(debate, 1), [one.round for one in tally.results(debate)]) == (None, [2])
    assert (tally.totals(debate), debate.complete) == ({"a": 8, "b": 6}, True)


# What a panel finds


@for_each([("ab-", "ab"), ("aab", "a"), ("a--", ""), ("bbb", "b"), ("a2-", "a"), ("2ab", "ab")])
def test_a_panel_finds_convergence_by_more_than_half(votes: str, sides: str) -> None:
    """More than half of the panel must see convergence; of those, more than half must name a side, else both go."""
    named = {"a": converging("a"), "b": converging("b"), "2": converging("both"), "-": {}}
    debate = play_debate(2, 3, {f"1.verdict.judge-{n}": named[vote] for n, vote in enumerate(votes, 1)})
    assert tally.convergence(debate, 1).sides == tuple(sides)
    assert [turn.id for turn in schedule.turns_taken(debate) if turn.phase.triggered_by] == [
        f"1.divergence.{side}" for side in sides
    ]


@for_each([("bbb", "b"), ("bb-", "b"), ("b--", None), ("aab", "a"), ("ab-", None)])
def test_more_than_half_of_a_panel_find_a_concession(votes: str, side: str | None) -> None:
    """A concession that more than half of a round's ballots report ends the debate."""
    script = {f"1.verdict.judge-{n}": {"conceded": vote.strip("-") or None} for n, vote in enumerate(votes, 1)}
    debate = fold([opened(2, 3)])
    debate, played = play(debate, script)
    after = played[5][0]
    assert (tally.conceding_side(debate), after) == (side, "final.verdict.judge-1" if side else "2.constructive.a")


# How firmly


@for_each([
    (10, 8, "a", "narrow"), (10, "7.999", "a", "decisive"), ("8.001", 10, "b", "narrow"), (7, 10, "b", "decisive"),
    (10, 5, "b", "narrow"), (5, 5, "a", "narrow"), (5, 5, "tie", None), (10, 5, "tie", None),
    (10, 5, "consensus", "consensus"), (0, 0, "a", "narrow"), (1, 0, "a", "decisive"),
])  # fmt: skip
def test_strength(a: Any, b: Any, declared: str, strength: str | None) -> None:
    """A win is decisive if the gap is over 20 % of the larger total and the winner leads; else it is narrow."""
    made = decided(a, b, declared)
    assert (made.winner, made.strength) == (declared, strength)


REMARKS = [
    (decided(10, 9, "a"), []),
    (decided(9, 10, "a"), ["winner is behind on points"]),
    (decided(9, 9, "a"), ["scores are equal"]),
    (decided(9, 9, "tie"), ["scores are equal"]),
    (decided(0, 0, "a"), []),
    (decided(0, 0, "a", strength="decisive"), []),
    (decided(9, 8, "tie"), ["tie declared on unequal scores"]),
    (decided(9, 8, "a", strength="decisive"), ["strength differs from the judge's word"]),
    (decided(9, 8, "consensus"), ["consensus without repeated convergence"]),
    (decided(9, 8, "consensus", converged_again=True), []),
    (decided(9, 8, "consensus", concession="a"), []),
    (decided(9, 8, "b", concession="a"), ["concession overrides the declared winner"]),
    (decided(9, 8, "a", "a", "b"), ["judges disagree"]),
]


def test_remarks() -> None:
    """What a declaration and the numbers disagree on is remarked, and nothing is put right."""
    for made, remarks in REMARKS:
        assert list(made.remarks) == remarks, made


@many
@given(
    st.lists(st.tuples(POINTS, POINTS, WINNER), max_size=5),
    st.lists(st.sampled_from(["a", "b", "tie", "consensus"]), min_size=1, max_size=5),
    st.sampled_from([None, "a", "b"]),
    st.booleans(),
)
def test_swapped_names_swap_the_verdict(
    rounds: list[tuple[float, float, str]], declared: list[str], concession: str | None, converged_again: bool
) -> None:
    """Calling the sides by each other's name changes nothing but the names."""
    other = {"a": "b", "b": "a"}

    def made(swap: bool) -> Verdict:
        named = other if swap else {}
        final_votes = panel(*(named.get(one, one) for one in declared))
        results = [
            result(n, *(map(Fraction, map(str, (b, a) if swap else (a, b)))), named.get(winner, winner))
            for n, (a, b, winner) in enumerate(rounds, 1)
        ]
        gave_up = named.get(concession or "", concession)
        said = ["narrow"] * len(final_votes)
        return final_verdict(
            final_votes, results, SIDES, concession=gave_up, converged_again=converged_again, strengths=said
        )

    left, right = made(False), made(True)
    assert right.winner == other.get(left.winner, left.winner)
    assert (right.strength, right.gap, right.remarks) == (left.strength, left.gap, left.remarks)
    assert right.totals == {other[side]: total for side, total in left.totals.items()}
    assert right.rounds_won == {other.get(name, name): n for name, n in left.rounds_won.items()}


def test_short_of_the_quorum_nothing_is_decided() -> None:
    """With fewer votes than the quorum there is no winner and no strength, and it is remarked; the votes stay."""
    made = final_verdict(
        panel("a", "no decision", "no decision"), [result(1, 9, 2)], SIDES, quorum=2, strengths=["narrow"]
    )
    assert (made.winner, made.strength, made.vote_counts, made.quorum) == ("no decision", None, {"a": 1}, 2)
    assert (made.remarks, len(made.votes)) == (("no quorum",), 3)


def test_an_abstention_is_no_disagreement() -> None:
    """Judges disagree where they vote for different winners; one who abstains contradicts none."""
    assert decided(7, 6, "a", "no decision").remarks == ()
    assert decided(7, 6, "a", "tie", "no decision").remarks == ("judges disagree",)
    assert "concession overrides the declared winner" not in decided(7, 6, "no decision", concession="b").remarks


def test_a_swing_needs_a_vote_before_and_a_quorum_after() -> None:
    """Where no judge voted both times, or too few now, nothing is decided by swing."""
    gone = [Vote(judge="judge-1", turn_id="x", original=None)]
    assert final_verdict(panel("a"), [], SIDES, pre_debate_votes=gone, by_swing=True).winner == "no decision"
    assert final_verdict(panel("a"), [], SIDES, by_swing=True).winner == "no decision"
    both = panel("b", "b")
    assert (
        final_verdict(panel("a", "no decision"), [], SIDES, pre_debate_votes=both, by_swing=True, quorum=2).winner
        == "no decision"
    )


def test_a_side_that_gained_no_vote_wins_by_no_swing() -> None:
    """Where one side lost votes and none gained any, the swing is a tie."""
    made = final_verdict(
        panel("a", "a", "tie"), [], SIDES, pre_debate_votes=panel("a", "a", "a"), by_swing=True, quorum=2
    )
    assert (made.winner, made.swing) == ("tie", {"a": -1, "b": 0})


def test_a_concession_that_ballots_found_needs_a_quorum() -> None:
    """Short of the quorum, a concession found by ballots decides nothing; a side's own concession does."""
    final_votes = panel("b", "no decision", "no decision")
    made = final_verdict(final_votes, [], SIDES, quorum=2, concession="a")
    assert (made.winner, made.strength, made.remarks) == ("no decision", None, ("no quorum",))
    made = final_verdict(final_votes, [], SIDES, quorum=2, concession="a", conceded_by_speech=True)
    assert (made.winner, made.strength) == ("consensus", "consensus")
    script: dict[str, Any] = {f"1.verdict.judge-{n}": {"conceded": "a"} for n in (1, 2, 3)}
    script |= {f"final.verdict.judge-{n}": absent_judge(f"final.verdict.judge-{n}") for n in (1, 2)}
    verdict = tally.verdict(play_debate(2, 3, script, quorum=2))
    assert verdict is not None and (verdict.winner, verdict.remarks) == ("no decision", ("no quorum",))
    verdict = tally.verdict(play_debate(2, 3, script | {"1.opening.a": f"Well.\n\n{CONCEDE}"}, quorum=2))
    assert verdict is not None and verdict.winner == "consensus"


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
    """There is a decision where as many judges as the quorum vote for a side, a tie or consensus. Votes for a tie
    alone decide for no side, also where there is but one."""
    assert panel_winner(panel(*votes), SIDES, quorum) == winner
    if "b" not in votes:
        assert panel_winner(panel(*votes), SIDES[:1], quorum) == winner


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
    assert (pair.is_cast_both_ways, replaced.is_cast_both_ways, replaced.winner) == (True, False, "a")
