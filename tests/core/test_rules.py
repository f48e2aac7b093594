"""Formats as data: debates that are nothing like the adversarial one (optional votes, labels and swings, declines that
end them, forms, clerks, no judge at all), and formats that do not hang together."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from core.folding import (
    BALLOT,
    CONCEDE,
    ONE_SIDED,
    PLAIN,
    converging,
    decline_event,
    heard,
    make_format,
    opened,
    phase,
    plainest_reply,
    play,
    play_debate,
    record,
    speech_event,
    state,
)
from corpus import for_each
from pydantic import ValidationError

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
WITH_CASE = PLAIN["shapes"] | {"case": CASE}


def test_a_stage_has_a_seat_in_it() -> None:
    """A divergence turn of one side alone is not taken where the other one moved."""
    forced = phase("forced", "a", triggered_by="convergence", order="simultaneous")
    made = make_format(round=[phase("speech", "a", "b"), BALLOT, forced])
    debate = play_debate(1, script={"1.vote.judge": converging("b", "same")}, rules=made)
    assert (debate.complete, [turn.id for turn in schedule.turns_taken(debate) if turn.phase.triggered_by]) == (
        True,
        [],
    )


# Debates of other kinds


def test_a_debate_that_is_judged_only_in_the_end() -> None:
    """Without ballots in the rounds there are no results and no totals, and the declaration decides."""
    debate = fold([opened(2, rules=make_format())])
    debate, played = play(debate, {"final.end.judge": {"winner": "b"}})
    assert played == [("1.speech.a",), ("1.speech.b",), ("2.speech.a",), ("2.speech.b",), ("final.end.judge",)]
    verdict = tally.verdict(debate)
    assert verdict is not None
    assert (verdict.winner, verdict.strength, verdict.gap, verdict.remarks) == ("b", "narrow", None, ())
    assert (tally.results(debate), verdict.totals) == ([], {"a": 0, "b": 0})


def test_a_debate_of_one_side() -> None:
    """One side alone can be judged: the other seat is not there."""
    made = make_format(**ONE_SIDED | {"round": [phase("speech", "a"), BALLOT]})
    debate = fold([opened(2, 2, rules=made)])
    debate, played = play(debate)
    assert played[-3:] == [
        ("2.speech.a",),
        ("2.vote.judge-1", "2.vote.judge-2"),
        ("final.end.judge-1", "final.end.judge-2"),
    ]
    assert (tally.totals(debate), [one.leader for one in tally.results(debate)]) == ({"a": 5}, ["a", "a"])


def test_phases_before_the_first_round() -> None:
    """What comes before the rounds has ids of its own and is heard in them; who speaks first does so here too."""
    made = make_format(before=[phase("consent", "b", "a", order="simultaneous"), phase("plan", "a", "b")])
    debate = fold([opened(1, rules=made, first="b")])
    debate, played = play(debate)
    assert played[:4] == [("start.consent.b", "start.consent.a"), ("start.plan.b",), ("start.plan.a",), ("1.speech.b",)]
    assert heard(debate, "1.speech.b") == ["start.consent.b", "start.consent.a", "start.plan.b", "start.plan.a"]
    assert made.tag_of(schedule.turn(debate, "start.plan.a")) == "[A - PLAN]"


@pytest.mark.parametrize(
    ("most", "answered", "converged_again"), [(1, [1, 3, 5], (2, 4)), (2, [1, 2, 4, 5], (3,)), (9, [1, 2, 3, 4, 5], ())]
)
def test_interventions_in_a_row(most: int, answered: list[int], converged_again: tuple[int, ...]) -> None:
    """A format says how many rounds in a row are answered before convergence is flagged."""
    forced = phase("forced", "a", "b", triggered_by="convergence", order="simultaneous")
    made = make_format(round=[phase("speech", "a", "b"), BALLOT, forced], intervention={"max_in_a_row": most})
    debate = play_debate(5, script={f"{n}.vote.judge": converging("a", "same") for n in range(1, 6)}, rules=made)
    assert [turn.round for turn in schedule.turns_taken(debate) if turn.phase.triggered_by] == answered
    assert tally.rounds_converged_again(debate) == converged_again


def forms(**changes: Any) -> Format:
    """A format whose sides fill in a form."""
    return make_format(**{"shapes": WITH_CASE, "round": [phase("case", "a", "b", reply="case"), BALLOT]} | changes)


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
        ("ttff", "no decision", None),
    ]
)
def test_a_label_stands_for_a_winner(labels: str, winner: str, label: str | None) -> None:
    """Where ballots give labels, the panel's label stands for the winner that the format names; some stand for none."""
    final = {"label": {"kind": "choice", "options": ["t", "f", "u"]}}
    made = make_format(shapes={"final": final}, winner_of={"t": "a", "f": "b", "u": "no decision"})
    script = {f"final.end.judge-{n}": {"label": one} for n, one in enumerate(labels, 1)}
    verdict = tally.verdict(play_debate(1, len(labels), script, rules=made))
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
    shapes = WITH_CASE | {"checks": {"checks": {"kind": "list", "fields": {"url": {"kind": "url"}}}}}
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
    assert (tally.totals(debate), tally.criterion_means(debate), tally.flipped_votes(debate)) == (
        {"a": 0, "b": 0},
        {},
        (0, 0),
    )
    assert state(fold(record(2, rules=made)))["verdict"] is None
    assert tally.conceding_side(play_debate(2, rules=made, script={"1.speech.a": "You win."})) == "a"


# What a format may say

SHAPES, FINAL = PLAIN["shapes"], PLAIN["shapes"]["final"]
CLERK = {"seats": PLAIN["seats"] | {"clerk": {"name": "C", "tag": "C"}}}
SIDES = {"seats": {side: PLAIN["seats"][side] for side in "ab"}, "after": []}
LABEL = {"kind": "choice", "options": ["x", "y"]}
ONE, LATER = {"round": "first"}, {"round": "later"}
LAST = {"round": "last", "rounds_at_least": 2}
FORCED = phase("forced", "a", triggered_by="convergence")
WIT = {"title": "Wit", "about": ""}


def shaped(**fields: Any) -> dict[str, Any]:
    """Changes that add fields to the final ballot."""
    return {"shapes": SHAPES | {"final": FINAL | fields}}


def rubric(**changes: Any) -> dict[str, Any]:
    return {"rubric": PLAIN["rubric"] | changes}


@for_each([
        ({"round": [phase("x", "a"), phase("x", "b")]}, "two phases are called 'x'"),
        ({"round": [phase("x", "c")]}, "a seat: a, b, judge, clerk, rapporteur"),
        ({"round": [phase("x", "clerk")]}, "names 'clerk' under seats, which is not a seat"),
        ({"round": [phase("x", "a", heard_by=["z"])]}, "a seat: a, b, judge"),
        ({"round": [phase("x", "a", reply="poem")]}, "wants the shape 'poem'"),
        ({"round": [phase("x", "a", order="shuffled")]}, "order"),
        ({"round": [phase("x", "a", when={"round": "second"})]}, "round"),
        ({"volume": "loud"}, "volume"),
        ({"reserved_lines": {"concede": 5}}, "concede"),
        ({"shapes": {"final": {"winner": {"kind": "guess"}}}}, "winner"),
        (SIDES, "there must be a judge, or a format in which the debate is judged later"),
        ({"seats": {"judge": PLAIN["seats"]["judge"]}, "round": []}, "at least one side"),
        ({"seats": PLAIN["seats"] | {"usher": PLAIN["seats"]["a"]}}, "a seat: a, b, judge"),
        ({"context_heard_by": ["z"]}, "a seat: a, b, judge"),
        ({"context_heard_by": ["a", "rapporteur"]}, "context_heard_by names 'rapporteur'; it may name a, b, judge"),
        ({"context_heard_by": ["clerk"]}, "context_heard_by names 'clerk'; it may name a, b, judge"),
        ({"round": [phase("x", "a", declines_heard_by=["z"])]}, "a seat: a, b, judge"),
        (CLERK | {"round": [phase("x", "clerk")]}, "has a clerk speak"),
        (CLERK | {"round": [SPEECH, phase("x", "clerk", reply="final")]}, "the clerk hears nothing"),
        ({"round": [phase("x", "a", enabled_by="sometimes")]}, "enabled_by"),
        ({"round": [BALLOT | {"enabled_by": "blind"}]}, "is enabled by blind, but is not a vote before the rounds"),
        ({"before": [phase("x", "a", enabled_by="blind")]}, "is enabled by blind, but is not a vote before the rounds"),
        ({"each_round": True}, "each_round needs a phase with `enabled_by: each round`"),
        ({"decided_by": "swing"}, "needs a vote before it"),
        ({"mirror": True, "after": []}, "two sides that speak alike"),
        ({"mirror": True, "seats": {seat: PLAIN["seats"][seat] for seat in ("a", "judge")}, "round": []}, "two sides"),
        ({"round": [phase("x", "a", min_words=9, max_words=5)]}, "at least 9 words and at most 5"),
        ({"round": [phase("x", "a", reply="final", max_words=5)]}, "limits the length of a structured reply"),
        ({"private_tag": "think.*"}, "private_tag"),
        ({"quotes": {"tag": "Quote>"}}, "tag"),
        ({"forbids": ["swearing"]}, "forbids"),
        ({"after_decline": "shame"}, "after_decline"),
        ({"shapes": {"final": {"label": LABEL}}, "winner_of": {"x": "a"}}, "the label 'y'"),
        ({"winner_of": {"x": "anna"}}, "winner_of names 'anna', which is not a side"),
        (shaped(winner={"kind": "choice", "options": ["a", "B"]}), "'winner' has the option 'B'; use only a, b, tie"),
        (shaped(why={"kind": "text", "unless": {"mood": "bad"}}), "'mood', which is not a field beside it"),
        (shaped(why={"kind": "text", "null_when": "if it is clear"}), "says when it is null, and it never is"),
        (shaped(why={"kind": "text", "title": "<b>"}), "without markdown or HTML"),
        (shaped(why={"kind": "text", "when": {"round": 1}}), "depends on the round, which a field can't do"),
        (shaped(a={"kind": "text"}, b={"kind": "boolean"}), "final.a and final.b must be of one kind"),
        (shaped(rows={"kind": "list", "fields": {"a": {"kind": "text"}, "b": {"kind": "url"}}}), "final.rows.a and"),
        (rubric(criteria={}), "a criterion that always applies"),
        (rubric(criteria={"wit": WIT | {"when": {"rounds_at_least": 2}}}), "a criterion that always applies"),
        (rubric(criteria={"wit": WIT | {"min": 7}}), "the scale of criterion 'wit'"),
        (rubric(criteria={"wit": WIT | {"weight": 0}}), "weight"),
        (rubric(min=5), "the rubric's scale"),
        (shaped(conceded={"kind": "list"}), "is 'list' but must be 'choice'"),
        (shaped(convergence={"kind": "text"}), "is 'text' but must be 'object'"),
        (shaped(convergence={"kind": "object", "fields": {"zz": {"kind": "text"}}}), "got no 'detected'"),
        (shaped(label={"kind": "boolean"}), "is 'boolean' but must be 'choice'"),
        (shaped(follow_up={"kind": "boolean"}), "is 'boolean' but must be 'text'"),
        (shaped(feedback={"kind": "text"}), "expected one for each side"),
        (shaped(strength={"kind": "choice", "per_side": True}), "expected a single value"),
        (shaped(scores={"kind": "scores", "per_issue": True}), "expected a value that is not one for each issue"),
        (shaped(scores={"kind": "scores", "optional": True}), "'scores' can't depend on a condition"),
        (shaped(scores={"kind": "scores", "when": {"rounds_at_least": 2}}), "'scores' can't depend on a condition"),
        (shaped(winner={"kind": "choice", "unless": {"sure": False}}, sure={"kind": "boolean"}), "can't depend"),
        (shaped(rows={"kind": "list", "when": {"strictness": "strict"}}), "'rows' can't depend on a condition"),
        (shaped(rows={"kind": "list"}), "'rows' must be a list of objects"),
        (shaped(rows={"kind": "list", "fields": {"turns": {"kind": "text"}}}), "is 'text' but must be 'turns'"),
        (shaped(unsupported_claims={"kind": "list", "fields": {"claim": {"kind": "text"}}}), "got no 'seat'"),
        (shaped(strongest={"kind": "boolean", "per_side": True}), "is 'boolean' but must be 'text'"),
        (shaped(weakest={"kind": "text", "per_side": True, "optional": True}), "'weakest' can't be null"),
        (shaped(weakest={"kind": "text"}), "expected one for each side"),
        (shaped(conceded={"kind": "choice", "options": ["neither"]}), "has the option 'neither'; use only a, b"),
        (shaped(unresolved_questions={"kind": "list", "fields": {"x": {"kind": "text"}}}), "must be a list of texts"),
        ({"round": [BALLOT | {"when": ONE}, FORCED, BALLOT | {"name": "two", "when": LATER}]}, "after phase 'forced'"),
        (shaped(side={"kind": "choice", "options": ["x"] * 2}), "final.side .* twice"),
        (shaped(side={"kind": "choices", "options": [f"x{n}" for n in range(101)]}), "at most 100 items"),
        (shaped(side={"kind": "choice", "options": ["x" * 201]}), "at most 200 characters"),
        (rubric(strictness={f"s{n}": PLAIN["rubric"]["strictness"]["strict"] for n in range(21)}), "at most 20"),
        (rubric(strictness={}), "at least 1 item"),
    ])  # fmt: skip
def test_ill_made_formats(row: tuple[dict[str, Any], str]) -> None:
    """A format that could not be held as it says is refused, and what is wrong is named."""
    changes, said = row
    with pytest.raises(ValidationError, match=said):
        make_format(**changes)


@for_each(
    [
        SIDES | {"judged_by_format": "plain", "shapes": {}},
        SIDES | {"judged_by_format": "plain"} | rubric(criteria={"wit": WIT}),
        {"shapes": {"final": FINAL}} | rubric(criteria={}),
        {"before": [BALLOT | {"enabled_by": "blind"}], "decided_by": "swing"},
        {"round": [SPEECH, BALLOT | {"enabled_by": "each round"}], "each_round": True, "mirror": True},
        {"round": [phase("x", "a", min_words=5, max_words=5)]},
        shaped(label={"kind": "choice", "options": ["x"]}),
        shaped(winner={"kind": "choice", "options": ["a", "b", "tie", "consensus", "no decision"]}),
        shaped(a={"kind": "text", "about": "what Anna holds"}, b={"kind": "text", "about": "what Ben holds"}),
        ONE_SIDED,
        {"round": [SPEECH, BALLOT | {"when": ONE}, BALLOT | {"name": "two", "when": LATER}]},
        {"round": [SPEECH, BALLOT | {"when": ONE}, BALLOT | {"name": "two", "when": LAST}]},
        {"private_tag": "thinking", "quotes": {"tag": "cite"}, "forbids": ["other's lines"]},
    ]
)
def test_well_made_formats(changes: dict[str, Any]) -> None:
    """A rubric's criteria are needed where something is scored; a judge where none judges later."""
    assert make_format(**changes)


def test_which_phases_are_votes() -> None:
    """A vote is a judge's reply with scores, a winner or a label; what a side fills in never is."""
    shapes = SHAPES | {"rows": {"rows": {"kind": "list"}}, "label": {"label": {"kind": "choice", "options": ["x"]}}}
    made = make_format(shapes=shapes, winner_of={"x": "tie"})
    steps = {
        one: made.model_copy().round[0].model_copy(update={"seats": ("judge",), "reply": one}) for one in made.shapes
    }
    assert [name for name, step in steps.items() if made.is_vote(step)] == ["ballot", "final", "label"]
    assert not made.is_vote(steps["final"].model_copy(update={"seats": ("a", "b")}))
    assert not made.is_vote(made.round[0])


def test_every_phase_has_a_seat_and_a_name_of_its_own() -> None:
    """Phases without seats, and too many of them, are reported once and not one by one."""
    many = [phase(f"p{n}", "a") for n in range(251)]
    with pytest.raises(ValidationError, match="at most 250 items"):
        make_format(round=many)
    assert len(make_format(round=many[:250]).round) == 250
    with pytest.raises(ValidationError, match="phase 'x' has no seats"):
        make_format(round=[phase("x")])


def test_a_vote_before_the_rounds_is_blind() -> None:
    """A pre-debate vote is enabled by blind: as any other vote it counts nowhere."""
    with pytest.raises(ValidationError, match="votes before the rounds without `enabled_by: blind`"):
        make_format(before=[BALLOT])


@for_each([({"when": {"rounds_at_least": 1}}, 1), ({"when": {"round": 3}}, 3)])
def test_judges_vote_once_in_a_round(row: tuple[dict[str, Any], int]) -> None:
    """A debate in which judges would vote twice in a round can't be opened; one of fewer rounds can."""
    changes, rounds = row
    made = make_format(round=[SPEECH, BALLOT, BALLOT | {"name": "two"} | changes])
    with pytest.raises(ValidationError, match="judges vote twice"):
        opened(rounds, rules=made)
    assert rounds == 1 or opened(rounds - 1, rules=made)
