"""Verdicts without a decision or without scores, by swing, and of ballots that say less than others."""

from __future__ import annotations

from fractions import Fraction

from core.folding import voted
from core.test_verdict import SIDES, decided, result, votes

from debate_orchestrator.core.verdict import (
    RoundResult,
    final_verdict,
    find_convergence,
    round_result,
    rounds_won,
    score_totals,
)
from debate_orchestrator.core.votes import Vote, read_ballot
from debate_orchestrator.util.numbers import percent


def test_short_of_the_quorum_nothing_is_decided() -> None:
    """With fewer votes than the quorum there is no winner and no strength, and it is remarked; the votes stay."""
    made = final_verdict(
        votes("a", "no decision", "no decision"), [result(1, 9, 2)], SIDES, quorum=2, strengths=["narrow"]
    )
    assert (made.winner, made.strength, made.votes, made.quorum) == ("no decision", None, {"a": 1}, 2)
    assert (made.remarks, len(made.panel)) == (("no quorum",), 3)


def test_an_abstention_is_no_disagreement() -> None:
    """Judges disagree where they vote for different winners; one who abstains contradicts none."""
    assert decided(7, 6, "a", "no decision").remarks == ()
    assert decided(7, 6, "a", "tie", "no decision").remarks == ("judges disagree",)
    assert "concession overrides the declared winner" not in decided(7, 6, "no decision", concession="b").remarks


def test_without_scores_there_is_no_strength() -> None:
    """In a format that scores nothing no win is decisive or narrow, and no judge's word for it is contradicted; a
    consensus is one."""
    made = final_verdict(votes("a"), [], SIDES, measured=False, strengths=["decisive"])
    assert (made.strength, made.gap, made.remarks) == (None, None, ())
    assert final_verdict(votes("consensus"), [], SIDES, measured=False, persisted=True).strength == "consensus"


def test_what_judges_say_beside_the_winner() -> None:
    """A panel's label is the one most give, its number the mean of all, its probability that of the winner's voters."""
    told = [("a", "true", 4, 0.9), ("a", "true", 5, 0.6), ("b", "false", 2, 0.7), ("no decision", "true", None, 0.1)]
    panel = [
        Vote(judge=str(n), turn="x", straight=read_ballot(dict(zip(FIELDS, one, strict=True)), SIDES, {}, {}))
        for n, one in enumerate(told)
    ]
    made = final_verdict(panel, [], SIDES, measured=False)
    assert (made.winner, made.label, made.score, made.probability) == ("a", "true", Fraction(11, 3), Fraction(3, 4))


FIELDS = ("winner", "label", "score", "probability")


def test_a_swing_needs_a_vote_before_and_a_quorum_after() -> None:
    """Where no judge voted both times, or too few now, nothing is decided by swing."""
    gone = [Vote(judge="judge-1", turn="x", straight=None)]
    assert final_verdict(votes("a"), [], SIDES, blind=gone, by_swing=True).winner == "no decision"
    assert final_verdict(votes("a"), [], SIDES, by_swing=True).winner == "no decision"
    both = votes("b", "b")
    assert (
        final_verdict(votes("a", "no decision"), [], SIDES, blind=both, by_swing=True, quorum=2).winner == "no decision"
    )


def test_a_round_is_its_votes() -> None:
    """A round's result counts the judges who are not absent, and is undecided short of the quorum."""
    gone = Vote(judge="judge-3", turn="x", straight=None)
    made = round_result(1, [*votes("a", "no decision"), gone], SIDES, 2)
    assert (made.winner, made.ballots, made.scores, made.label, made.score) == ("no decision", 2, {}, None, None)
    assert rounds_won([made, result(2, 1, 2, "b")], SIDES) == {"a": 0, "b": 1, "tie": 0}


def test_ballots_may_leave_convergence_open() -> None:
    """A ballot that says nothing of convergence finds none."""
    ballots = [
        voted("x", {"convergence": None}),
        voted("y", {}),
        voted("z", {"convergence": {"detected": True, "side": "a"}}),
    ]
    assert not find_convergence(ballots, SIDES).detected
    assert find_convergence(ballots[2:], SIDES).criteria == ()


def test_sums_and_shares() -> None:
    """Totals add what was scored, and shares are shown per cent."""
    unscored = RoundResult(round=2, scores={}, winner="a", ballots=1)
    assert score_totals([result(1, 1, "1/2"), unscored], SIDES) == {"a": 1, "b": Fraction(1, 2)}
    assert [percent(Fraction(n, 7)) for n in (0, 1, 7)] == ["0%", "14.29%", "100%"]
