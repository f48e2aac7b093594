"""Debates of other kinds: optional votes, labels and swings, declines that end them, forms, clerks, no judge at all."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from core.folding import (
    BALLOT,
    CONCEDE,
    PLAIN,
    decline_event,
    heard,
    make_format,
    opened,
    phase,
    plainest_reply,
    play_debate,
    record,
    speech_event,
    state,
)
from corpus import for_each

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.errors import DoesNotFit

SPEECH = phase("speech", "a", "b")
BLIND = BALLOT | {"name": "blind", "enabled_by": "blind", "reply": "final"}
EACH = BALLOT | {"enabled_by": "each round"}
CASE = {
    "refused": {"kind": "boolean"},
    "claim": {"kind": "text", "unless": {"refused": True}},
    "url": {"kind": "url", "unless": {"refused": True}},
    "quote": {"kind": "text", "unless": {"refused": True}},
    "reason": {"kind": "text", "only_if": {"refused": True}},
}
SHAPES = PLAIN["shapes"] | {"case": CASE}


def forms(**changes: Any) -> Format:
    """A format whose sides fill in a form."""
    return make_format(**{"shapes": SHAPES, "round": [phase("case", "a", "b", reply="case"), BALLOT]} | changes)


def ids(debate: DebateState) -> list[str]:
    return [turn.id for turn in schedule.turns_taken(debate)]


# Optional votes


@pytest.mark.parametrize(("setup", "votes"), [({}, []), ({"each_round": True}, ["1.vote.judge", "2.vote.judge"])])
def test_votes_after_each_round_take_place_where_asked_for(setup: dict[str, bool], votes: list[str]) -> None:
    """A phase enabled by `each round` takes place where the setup asks for it."""
    debate = play_debate(2, rules=make_format(round=[SPEECH, EACH]), **setup)
    assert [turn for turn in ids(debate) if ".vote." in turn] == votes
    assert [n in debate.plan.voting_turn_ids for n in (1, 2)] == [bool(votes)] * 2
    assert len(tally.results(debate)) == len(votes)


def test_a_blind_vote_is_held_before_the_first_word() -> None:
    """With `blind` every judge votes having heard nothing, and is not shown that vote again."""
    made = make_format(before=[BLIND], round=[SPEECH, BALLOT])
    debate = play_debate(1, 2, rules=made, blind=True)
    assert ids(debate)[:2] == ["start.blind.judge-1", "start.blind.judge-2"]
    assert heard(debate, "start.blind.judge-2") == []
    own = schedule.own_ballot_turns(debate, schedule.turn(debate, "final.end.judge-2"))
    assert [turn.id for turn in own] == ["1.vote.judge-2", "final.end.judge-2"]
    assert "start.blind.judge" not in ids(play_debate(1, rules=made))


# Labels, swings, weights


@for_each(
    [
        ("ttf", "a", "t"),
        ("tff", "b", "f"),
        ("tuu", "no decision", "u"),
        ("uuu", "no decision", "u"),
        ("tfu", "no decision", None),
        ("tft", "a", "t"),
    ]
)
def test_a_label_stands_for_a_winner(labels: str, winner: str, label: str | None) -> None:
    """Where ballots give labels, the panel's label stands for the winner that the format names; some stand for none."""
    final = {"label": {"kind": "choice", "options": ["t", "f", "u"]}}
    made = make_format(shapes={"final": final}, winner_of={"t": "a", "f": "b", "u": "no decision"})
    script = {f"final.end.judge-{n}": {"label": one} for n, one in enumerate(labels, 1)}
    verdict = tally.verdict(play_debate(1, 3, script, rules=made))
    assert verdict is not None
    assert (verdict.winner, verdict.label, verdict.strength) == (winner, label, None)


@pytest.mark.parametrize(("final", "winner"), [("aab", "tie"), ("abb", "b"), ("aaa", "a")])
def test_a_debate_decided_by_swing(final: str, winner: str) -> None:
    """The side wins that more judges came over to, not the one that more were for all along."""
    made = make_format(before=[BLIND], decided_by="swing")
    script = {f"start.blind.judge-{n}": {"winner": one} for n, one in enumerate("aab", 1)}
    script |= {f"final.end.judge-{n}": {"winner": one} for n, one in enumerate(final, 1)}
    verdict = tally.verdict(play_debate(1, 3, script, rules=made, blind=True))
    assert verdict is not None
    assert (verdict.winner, verdict.swing) == (winner, {"a": final.count("a") - 2, "b": final.count("b") - 1})
    assert [vote.winner for vote in verdict.pre_debate_votes] == ["a", "a", "b"]


def test_criteria_have_weights_and_scales_of_their_own() -> None:
    """Points are taken on the criterion's scale, and count by its weight."""
    criteria = {"wit": {"title": "", "about": ""}, "wisdom": {"title": "", "about": "", "weight": 3, "max": 100}}
    made = make_format(round=[SPEECH, BALLOT], rubric=PLAIN["rubric"] | {"criteria": criteria})
    given = {"a": {"wit": 4, "wisdom": 60}, "b": {"wit": 5, "wisdom": 100}}
    debate = play_debate(1, rules=made, script={"1.vote.judge": {"scores": given, "winner": "b"}})
    assert debate.weights == {"wit": 1, "wisdom": 3}
    assert schedule.shape_context(debate, schedule.turn(debate, "1.vote.judge")).scales == {
        "wit": (0, 5),
        "wisdom": (0, 100),
    }
    assert tally.totals(debate) == {"a": 46, "b": Fraction(305, 4)}
    too_much = {"scores": given | {"a": {"wit": 6, "wisdom": 60}}, "winner": "b"}
    with pytest.raises(DoesNotFit, match=r"scores\.a\.wit.*from 0 to 5"):
        play_debate(1, rules=made, script={"1.vote.judge": too_much})


def test_a_final_ballot_may_score_the_whole_debate() -> None:
    """Scores of final ballots are points as those of rounds are, and make no round of their own."""
    made = make_format(after=[BALLOT | {"name": "end"}])
    debate = play_debate(2, rules=made, script={"final.end.judge": {"scores": {"a": {"wit": 4}, "b": {"wit": 3}}}})
    verdict = tally.verdict(debate)
    assert verdict is not None
    assert (tally.results(debate), verdict.totals, verdict.strength) == ([], {"a": 4, "b": 3}, "decisive")
    assert verdict.rounds_won == {"a": 0, "b": 0, "tie": 0}


# Refusals


@pytest.mark.parametrize(
    ("after", "refused", "rest"),
    [
        ("verdict", "1.speech.a", ["1.speech.a", "1.speech.b", "1.vote.judge", "final.end.judge"]),
        ("verdict", "1.speech.b", ["1.speech.a", "1.speech.b", "1.vote.judge", "final.end.judge"]),
        ("verdict", "start.plan.a", ["final.end.judge"]),
    ],
)
def test_a_refusal_may_end_the_debate(after: str, refused: str, rest: list[str]) -> None:
    """Where the format says so, a refusal to argue ends the debate after its round, or before the first."""
    made = make_format(before=[phase("plan", "a", "b")], round=[SPEECH, BALLOT], after_decline=after)
    debate = play_debate(3, rules=made, script={refused: [decline_event(refused)]})
    assert (ids(debate)[2:], debate.complete, tally.conceding_side(debate)) == (rest, True, None)


def test_who_is_told_of_a_refusal() -> None:
    """A phase says who hears of a refusal to argue in it; the side that refused knows."""
    quiet = phase("speech", "a", "b", declines_heard_by=["judge"])
    made = make_format(round=[quiet, phase("reply", "a", "b"), BALLOT])
    debate = play_debate(1, rules=made, script={"1.speech.a": [decline_event("1.speech.a")]})
    assert heard(debate, "1.reply.a") == ["1.speech.a", "1.speech.b"]
    assert heard(debate, "1.reply.b") == ["1.speech.b", "1.reply.a"]
    assert heard(debate, "1.vote.judge") == ["1.speech.a", "1.speech.b", "1.reply.a", "1.reply.b"]


# Forms


def test_sides_may_fill_in_forms() -> None:
    """A side's structured reply is heard by the others as its speech is, and may not be a speech instead."""
    debate = play_debate(1, rules=forms())
    assert heard(debate, "1.case.b") == ["1.case.a"]
    assert heard(debate, "1.vote.judge") == ["1.case.a", "1.case.b"]
    with pytest.raises(DoesNotFit, match="this turn needs a structured reply, not the event 'spoke'"):
        apply(fold([opened(1, rules=forms())]), speech_event("1.case.a"))
    assert tally.conceding_side(play_debate(1, rules=forms(), script={"1.case.a": filled_case(claim=CONCEDE)})) is None


def filled_case(**changes: Any) -> dict[str, Any]:
    debate = fold([opened(1, rules=forms())])
    return plainest_reply(forms().shapes["case"], schedule.shape_context(debate, debate.due[0])) | changes


# A clerk


def clerked() -> Format:
    """A format in which a clerk looks up what the sides cite."""
    shapes = SHAPES | {"checks": {"checks": {"kind": "list", "fields": {"url": {"kind": "url"}}}}}
    seats = PLAIN["seats"] | {"clerk": {"name": "Clerk", "tag": "C"}}
    case = phase("case", "a", "b", reply="case", heard_by=["a", "b", "judge", "clerk"])
    steps = [case, phase("checks", "clerk", reply="checks"), SPEECH, BALLOT]
    return make_format(shapes=shapes, seats=seats, round=steps)


def test_what_a_clerk_finds_is_heard() -> None:
    """A clerk has a turn of its own, hears what was cited, and is heard; it is neither a side nor a judge."""
    made = clerked()
    debate = play_debate(1, 2, rules=made)
    assert (made.sides, made.active_seats()) == (("a", "b"), ("a", "b", "judge", "clerk"))
    assert heard(debate, "1.checks.clerk") == ["1.case.a", "1.case.b"]
    assert heard(debate, "1.speech.a") == [*heard(debate, "1.checks.clerk"), "1.checks.clerk"]
    assert "1.checks.clerk" in heard(debate, "1.vote.judge-1")
    turn = schedule.turn(debate, "1.checks.clerk")
    assert (turn.speaking, turn.judging, made.heading_of(turn)) == (False, False, "Checks — Round 1")


# Without a judge, and from before


def test_a_debate_without_a_judge_completes() -> None:
    """A format without a judge goes through its speeches and ends without a verdict."""
    seats = {side: PLAIN["seats"][side] for side in "ab"}
    made = make_format(seats=seats, shapes={}, after=[phase("close", "a", "b")], judged_by_format="plain")
    debate = play_debate(2, rules=made)
    assert ids(debate)[-2:] == ["final.close.a", "final.close.b"]
    assert (debate.complete, debate.judges, tally.verdict(debate), tally.results(debate)) == (True, (), None, [])
    assert (tally.totals(debate), tally.means(debate), tally.flipped_votes(debate)) == ({"a": 0, "b": 0}, {}, (0, 0))
    assert state(fold(record(2, rules=made)))["verdict"] is None
    assert tally.conceding_side(play_debate(2, rules=made, script={"1.speech.a": "You win."})) == "a"
