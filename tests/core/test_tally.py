"""What votes add up to: scores and winners by round, and what judges find in a debate."""

from __future__ import annotations

from fractions import Fraction

from core.folding import absent, converging, debated, marks, opened

from debate_orchestrator.core import tally
from debate_orchestrator.core.fold import fold


def test_nothing_adds_up_to_nothing() -> None:
    """Before the first answer there are no results, no findings and no totals."""
    debate = fold([opened(3)])

    assert (tally.results(debate), tally.persisted(debate), tally.totals(debate)) == ([], (), {"a": 0, "b": 0})
    assert (tally.ballots(debate, 1), tally.votes(debate, 1), tally.final_ballots(debate)) == ([], [], [])
    assert not tally.finding(debate, 1).detected
    assert not tally.unjudged(debate, 1)


def test_no_ballot_counts_before_the_whole_panel_has_voted() -> None:
    """A round has no votes while a judge of its panel is still to vote, and a debate no final ballots."""
    last = debated(1, 3, until="1.verdict.judge-3")
    done = debated(1, 3, until="final.verdict.judge-3")

    assert (tally.votes(last, 1), tally.ballots(last, 1)) == ([], [])
    assert len(tally.ballots(done, 1)) == 3
    assert tally.final_ballots(done) == []


def test_criteria_follow_the_debate() -> None:
    """The criteria that apply depend on the number of rounds."""
    assert fold([opened(1)]).criteria == ("argument_quality", "use_of_evidence")
    assert fold([opened(2)]).criteria[-1] == "directness_of_rebuttals"


def test_a_round_has_its_result_with_its_last_vote() -> None:
    """A round has no result while a judge of its panel is still to vote."""
    assert tally.result(debated(1, 3, until="1.verdict.judge-3"), 1) is None
    assert tally.result(debated(1, 3, until="final.verdict.judge-3"), 1) is not None


def test_a_judge_who_is_absent_is_no_vote() -> None:
    """A panel's round is scored by the ballots that count, and by those alone."""
    script = {"1.verdict.judge-1": marks(a=9, rounds=1), "1.verdict.judge-2": absent("1.verdict.judge-2")}
    result = tally.result(debated(1, 2, script), 1)

    assert result is not None
    assert (result.ballots, result.scores["a"]) == (1, Fraction(9))


def test_advice_is_the_last_rounds() -> None:
    """A side hears the advice of the round before, and none in round 1 or with feedback off."""
    told = {"feedback": {"a": "Slower.", "b": "Louder."}}
    debate = debated(2, 1, {"1.verdict.judge": marks(**told)})
    silent = debated(2, 1, {"1.verdict.judge": marks(**told)}, feedback=False)

    assert [tally.advice(debate, "b", n) for n in (1, 2)] == [[], ["Louder."]]
    assert tally.advice(silent, "b", 2) == []


def test_the_first_convergence_is_answered_and_the_next_flagged() -> None:
    """Convergence is answered by an intervention, and flagged where it comes right after one."""
    debate = debated(3, 1, {f"{n}.verdict.judge": converging() for n in (1, 2, 3)})

    assert [tally.intervened(debate, n) for n in (1, 2, 3)] == [True, False, True]
    assert tally.persisted(debate) == (2,)
