"""What votes add up to: scores and winners by round, and what is found of the course of a debate."""

from __future__ import annotations

from fractions import Fraction

from core.folding import absent, converging, debated, marks, opened

from debate_orchestrator.core.tally import Tally


def test_nothing_adds_up_to_nothing() -> None:
    """Before the first answer there are no results, no findings and no totals."""
    tally = Tally(opened(3))

    assert (tally.results(), tally.persisted(), tally.totals()) == ([], (), {"a": 0, "b": 0})
    assert not tally.finding(1).detected
    assert not tally.unjudged(1)


def test_a_round_has_its_result_with_its_last_vote() -> None:
    """A round has no result while a judge of its panel is still to vote."""
    assert debated(1, 3, until="1.verdict.judge-3").result(1) is None
    assert debated(1, 3, until="final.verdict.judge-3").result(1) is not None


def test_a_judge_who_is_absent_is_no_vote() -> None:
    """A panel's round is scored by the ballots that count, and by those alone."""
    script = {"1.verdict.judge-1": marks(a=9, rounds=1), "1.verdict.judge-2": absent("1.verdict.judge-2")}
    result = debated(1, 2, script).result(1)

    assert result is not None
    assert (result.ballots, result.scores["a"]) == (1, Fraction(9))


def test_advice_is_the_last_rounds() -> None:
    """A side hears the advice of the round before, and none in round 1 or with feedback off."""
    told = {"feedback": {"a": "Slower.", "b": "Louder."}}
    debate = debated(2, 1, {"1.verdict.judge": marks(**told)})
    silent = debated(2, 1, {"1.verdict.judge": marks(**told)}, feedback=False)

    assert [debate.advice("b", n) for n in (1, 2)] == [[], ["Louder."]]
    assert silent.advice("b", 2) == []


def test_the_first_convergence_is_answered_and_the_next_flagged() -> None:
    """Convergence is answered by an intervention, and flagged where it comes right after one."""
    debate = debated(3, 1, {f"{n}.verdict.judge": converging() for n in (1, 2, 3)})

    assert [debate.intervened(n) for n in (1, 2, 3)] == [True, False, True]
    assert debate.persisted() == (2,)
