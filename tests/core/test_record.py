"""The record: what the answers so far say, before anybody asks who is next."""

from __future__ import annotations

from fractions import Fraction

from core.folding import absent, converging, debated, marks, opened

from debate_orchestrator.core.record import Record


def test_an_empty_record_says_nothing() -> None:
    """Before the first answer there are no ballots, no results, no findings and no totals."""
    record = Record(opened(3))

    assert (record.ballots(1), record.finals(), record.results(), record.persisted()) == ([], [], [], ())
    assert not record.finding(1).detected
    assert record.totals() == {"a": 0, "b": 0}


def test_no_ballot_counts_before_the_whole_panel_has_voted() -> None:
    """A round has no result while a judge of its panel is still to vote, and a debate no final ballots."""
    last = debated(1, 3, until="1.verdict.judge-3")
    done = debated(1, 3, until="final.verdict.judge-3")

    assert (last.result(1), last.ballots(1)) == (None, [])
    assert done.result(1) is not None
    assert done.finals() == []


def test_a_judge_who_is_absent_is_no_vote() -> None:
    """A panel's round is scored by the ballots that count, and by those alone."""
    script = {"1.verdict.judge-1": marks(a=9, rounds=1), "1.verdict.judge-2": absent("1.verdict.judge-2")}
    result = debated(1, 2, script).result(1)

    assert result is not None
    assert (result.ballots, result.scores["a"]) == (1, Fraction(9))


def test_criteria_follow_the_debate() -> None:
    """The criteria that apply depend on the number of rounds."""
    assert Record(opened(1)).criteria == ("argument_quality", "use_of_evidence")
    assert Record(opened(2)).criteria[-1] == "directness_of_rebuttals"


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
