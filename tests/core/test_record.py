"""The record: what the answers so far say, before anybody asks who is next."""

from __future__ import annotations

from core.folding import debated, opened

from debate_orchestrator.core.record import Record


def test_an_empty_record_says_nothing() -> None:
    """Before the first answer there are no ballots and no votes."""
    record = Record(opened(3))

    assert (record.ballots(1), record.votes(1), record.finals(), record.final_votes()) == ([], [], [], [])


def test_no_ballot_counts_before_the_whole_panel_has_voted() -> None:
    """A round has no votes while a judge of its panel is still to vote, and a debate no final ballots."""
    last = debated(1, 3, until="1.verdict.judge-3")
    done = debated(1, 3, until="final.verdict.judge-3")

    assert (last.votes(1), last.ballots(1)) == ([], [])
    assert len(done.ballots(1)) == 3
    assert done.finals() == []


def test_criteria_follow_the_debate() -> None:
    """The criteria that apply depend on the number of rounds."""
    assert Record(opened(1)).criteria == ("argument_quality", "use_of_evidence")
    assert Record(opened(2)).criteria[-1] == "directness_of_rebuttals"
