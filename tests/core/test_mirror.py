"""Judges who see a debate in both presentations: what they mean counts, what the names make of it does not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from core.folding import (
    ADVERSARIAL,
    absent_judge,
    ballot_fields,
    converging,
    opened,
    play,
    play_debate,
    record,
)

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.mirror import Mirror
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.errors import DoesNotFit

SWAP = Mirror(ADVERSARIAL)


def sincere(turn: str, ballot: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A script in which a judge says the same of the positions in both presentations."""
    shape = ADVERSARIAL.shapes["final" if turn.startswith("final") else "ballot"]
    return {turn: ballot, f"{turn}.mirrored": SWAP.structured_reply(shape, ballot)}


def biased(turn: str, ballot: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A script in which a judge gives the same ballot in both, whichever side goes by the name of A."""
    return {turn: ballot, f"{turn}.mirrored": ballot}


def mirrored(rounds: int = 1, judges: int = 1, script: Any = None, *, until: str = "", **how: Any) -> DebateState:
    return play_debate(rounds, judges, script, until=until, mirror=True, **how)


def scored_ballot(a: float, b: float, rounds: int = 1, **changes: Any) -> dict[str, Any]:
    return ballot_fields(a, b, rounds=rounds, **changes)


# Who has a turn


@pytest.mark.parametrize(
    ("judges", "ids"),
    [(1, ["judge", "judge.mirrored"]), (2, ["judge-1", "judge-1.mirrored", "judge-2", "judge-2.mirrored"])],
)
def test_a_stage_holds_both_turns_of_every_judge(judges: int, ids: list[str]) -> None:
    """Where judges vote, each has two turns at once, the second of the debate mirrored; no other seat has."""
    debate = fold([opened(2, judges, mirror=True)])
    debate, played = play(debate)
    first = ids[0]
    assert [stage for stage in played if "verdict" in stage[0]] == [
        tuple(f"1.verdict.{one}" for one in ids),
        tuple(f"2.verdict.{one}" for one in ids),
        tuple(f"final.verdict.{one}" for one in ids),
    ]
    assert played[-1] == (f"final.dissent.{first}",)
    assert [turn.id for turn in schedule.turns_taken(debate) if turn.mirrored] == [
        turn.id for turn in schedule.turns_taken(debate) if turn.id.endswith(".mirrored")
    ]
    assert {turn.seat for turn in schedule.turns_taken(debate) if turn.mirrored} == {
        one for one in ids if "mirrored" not in one
    }


def test_nothing_counts_before_both_are_there() -> None:
    """A round has no result, no finding and no advice while a mirrored ballot is out, and the debate waits."""
    debate = mirrored(2, until="1.verdict.judge")
    first, second = debate.due
    for event in record(2, script={first.id: converging("b")}, mirror=True):
        if getattr(event, "turn_id", "") == first.id:
            debate = apply(debate, event)
    assert ([turn.id for turn in debate.due], tally.votes(debate, 1), tally.result(debate, 1)) == (
        [second.id],
        [],
        None,
    )
    assert (tally.ballots(debate, 1), tally.convergence(debate, 1).detected, tally.flipped_votes(debate)) == (
        [],
        False,
        (0, 0),
    )
    with pytest.raises(DoesNotFit):
        schedule.turn(debate, "2.constructive.a")


# What a vote is


def test_who_goes_by_names_abstains() -> None:
    """A judge who is for the side that goes by one name has no vote, and no lead comes of its scores."""
    script = biased("1.verdict.judge", scored_ballot(9, 3)) | biased("final.verdict.judge", {"winner": "a"})
    debate = mirrored(1, 1, script)
    result, verdict = tally.result(debate, 1), tally.verdict(debate)
    assert result is not None and verdict is not None
    assert (result.winner, result.scores, result.judges_present) == ("no decision", {"a": 6, "b": 6}, 1)
    assert (verdict.winner, verdict.strength, verdict.remarks) == ("no decision", None, ("no quorum",))
    assert (verdict.votes[0].stable, verdict.votes[0].absent, tally.flipped_votes(debate)) == (False, False, (2, 2))


def test_scores_are_the_mean_of_both_presentations() -> None:
    """A judge's scores are the exact mean of what each position was given in the two."""
    script = {"1.verdict.judge": scored_ballot(8, 5), "1.verdict.judge.mirrored": scored_ballot(6, 7)}
    debate = mirrored(1, 1, script)
    assert tally.totals(debate) == {"a": Fraction(15, 2), "b": Fraction(11, 2)}
    assert tally.criterion_means(debate)["a"] == dict.fromkeys(debate.criteria, Fraction(15, 2))


@pytest.mark.parametrize(("quorum", "winner"), [(1, "b"), (2, "no decision")])
def test_abstentions_make_no_quorum(quorum: int, winner: str) -> None:
    """Judges whose votes flip are not counted toward the quorum, nor are absent ones."""
    script: dict[str, Any] = sincere("final.verdict.judge-1", {"winner": "b"})
    script |= biased("final.verdict.judge-2", {"winner": "a"})
    script |= {"final.verdict.judge-3.mirrored": absent_judge("final.verdict.judge-3.mirrored")}
    verdict = tally.verdict(mirrored(1, 3, script, quorum=quorum))
    assert verdict is not None
    assert (verdict.winner, verdict.vote_counts) == (winner, {"b": 1})
    assert ("no quorum" in verdict.remarks) is (winner == "no decision")


def test_a_vote_of_two_models_did_not_hold() -> None:
    """If the seat is given away between the two ballots, they agree or not, and are no pair that held or flipped."""
    for script, winner in (
        (sincere("final.verdict.judge", {"winner": "a"}), "a"),
        (biased("final.verdict.judge", {"winner": "a"}), "no decision"),
    ):
        events = record(1, script=script, mirror=True)
        replaced = [
            event.model_copy(update={"reply": event.reply.model_copy(update={"spec": "another"})})
            if getattr(event, "turn_id", "") == "final.verdict.judge.mirrored"
            else event
            for event in events
        ]
        debate = fold(replaced)
        verdict = tally.verdict(debate)
        assert verdict is not None and verdict.winner == winner
        assert tally.flipped_votes(debate)[1] == 1, "the ballots on the round are the only pair"


# What else ballots say


ROUND_VOTES = ("1.verdict.judge", "1.verdict.judge.mirrored")
FINDINGS = [{"conceded": "a"}, {"dry": True}, converging("a")]


def findings_of(debate: DebateState) -> tuple[Any, ...]:
    return tally.conceding_side(debate), debate.judged(1).no_new_ground, tally.convergence(debate, 1).sides


@pytest.mark.parametrize("finding", FINDINGS, ids=["conceded", "dry", "convergence"])
def test_a_finding_of_one_of_two_ballots_does_not_count(finding: dict[str, Any]) -> None:
    """What only the original ballot or only the mirrored one finds ends no debate and calls for no intervention, nor
    does a finding that goes by the names of the sides."""
    nothing = {"conceded": None, "dry": False, "convergence": {"detected": False, "side": None, "criteria": []}}
    of_names = set(ROUND_VOTES) if "dry" not in finding else set()
    for turns in ({"1.verdict.judge"}, {"1.verdict.judge.mirrored"}, of_names):
        script = {turn: nothing | (finding if turn in turns else {}) for turn in ROUND_VOTES}
        debate = mirrored(2, script=script, until_no_new_ground=True)
        assert findings_of(debate) == (None, False, ()), turns
        assert "2.constructive.a" in debate.turns


def test_a_finding_of_both_ballots_counts() -> None:
    """What both ballots find of the sides as they are counts, whatever criteria each names."""
    script = sincere("1.verdict.judge", converging("a", "only quibbles"))
    script["1.verdict.judge.mirrored"]["convergence"]["criteria"] = ["same claim"]
    debate = mirrored(2, script=script)
    assert findings_of(debate) == (None, False, ("a",))
    debate = mirrored(2, script=sincere("1.verdict.judge", {"conceded": "a"}))
    assert (tally.conceding_side(debate), "2.constructive.a" in debate.turns) == ("a", False)


def test_advice_is_of_original_ballots() -> None:
    """What a mirrored ballot says to the sides is not handed on."""
    original = {"feedback": {"a": "Straight to A.", "b": "Straight to B."}}
    mirrored_back = {"feedback": {"a": "Mirrored.", "b": "Mirrored."}}
    debate = mirrored(2, script={"1.verdict.judge": original, "1.verdict.judge.mirrored": mirrored_back})
    assert (tally.feedback(debate, "a", 2), tally.feedback(debate, "b", 2)) == (["Straight to A."], ["Straight to B."])


def test_a_ballot_is_kept_as_it_was_given() -> None:
    """A mirrored ballot stays on record as the judge wrote it; what it says of the sides as they are can be had."""
    given = scored_ballot(9, 3) | {
        "strongest": {"a": "Researcher A's case in 1.opening.a.", "b": "None of Researcher B."}
    }
    debate = mirrored(1, script={"1.verdict.judge.mirrored": given})
    kept, shape = debate.structured_reply("1.verdict.judge.mirrored"), ADVERSARIAL.shapes["ballot"]
    assert kept is not None
    assert (kept.data["scores"], kept.data["strongest"]) == (given["scores"], given["strongest"])
    seen = tally.in_original_names(debate, shape, kept)
    assert seen["scores"] == {"a": given["scores"]["b"], "b": given["scores"]["a"]}
    assert seen["strongest"] == {"a": "None of Researcher A.", "b": "Researcher B's case in 1.opening.b."}
    original = debate.structured_reply("1.verdict.judge")
    assert original is not None and tally.in_original_names(debate, shape, original) is original.data


# The same journal
