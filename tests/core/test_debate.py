"""The fold of a debate: who is due, what is refused, what is heard, what follows from the answers, and that its work
grows with the length of the journal."""

from __future__ import annotations

from typing import Any

import pytest
from core.folding import (
    ADVERSARIAL,
    CONCEDE,
    DECLINE,
    absent_judge,
    ballot_event,
    ballot_fields,
    converging,
    decline_event,
    events,
    heard,
    judged,
    opened,
    play,
    play_debate,
    record,
    rejected_event,
    speech_event,
    stages_of,
    state,
)
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.events import BriefSent, EndedEarly, Event, Noted, QuestionAsked
from debate_orchestrator.core.fold import MAX_NOTES, MAX_QUESTIONS, MAX_TURN_EVENTS, apply, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.util.errors import DoesNotFit

EVENTFUL = {
    "1.verdict.judge": ballot_fields(8, 5) | converging("b"),
    "2.verdict.judge": ballot_fields(5, 8) | converging("both"),
    "3.verdict.judge": ballot_fields(6, 6) | converging("a"),
    "3.rebuttal.a": [decline_event("3.rebuttal.a")],
    "final.verdict.judge": absent_judge("final.verdict.judge"),
}
"""Three rounds with interventions, a refusal and a judge who never votes in the end."""
WHOLE = record(script=EVENTFUL)


def test_stages_of_every_size() -> None:
    """A debate of any size goes through its stages in the format's order, the first speaker first."""
    for first in ["a", "b"]:
        for judges in [1, 3]:
            for rounds in [1, 2, 3, 8]:
                debate = fold([opened(rounds, judges, first=first)])
                debate, played = play(debate)
                assert stages_of(rounds, judges, first) == played, (rounds, judges, first)
                assert debate.complete, (rounds, judges, first)


@pytest.mark.parametrize("opening", [[], [speech_event("1.opening.a")], [Noted(note="one agent"), opened()]])
def test_a_debate_begins_with_its_opening(opening: list[Event]) -> None:
    """Events that do not begin with the opening are not a debate."""
    with pytest.raises(DoesNotFit, match="The first event"):
        fold(opening)


OTHER_TURNS = ("1.opening.b", "1.challenge.a", "1.divergence.a", "final.verdict.judge", "9.opening.a", "")


def test_out_of_turn_changes_nothing() -> None:
    """Whatever comes for a turn that is not due is refused with the names of those that are, and changes nothing."""
    for turn in OTHER_TURNS:
        for make in [speech_event, decline_event, rejected_event, lambda turn: ballot_event(turn, {}), None]:
            debate = fold([opened()])
            before = state(debate)
            event = make(turn) if callable(make) else BriefSent(turn_id=turn, brief_digest="0", spec="host")
            with pytest.raises(DoesNotFit, match=r"Due now: 1\.opening\.a"):
                debate = apply(debate, event)
            assert before == state(debate), (turn, make)


@given(st.data())
def test_the_same_answer_twice_is_harmless(data: st.DataObject) -> None:
    """An answer on record may come again and changes nothing; another answer to its turn is refused."""
    debate = fold(WHOLE)
    before = state(debate)
    settled = data.draw(st.sampled_from(sorted(debate.replies)))
    assert apply(debate, debate.replies[settled]) is debate
    with pytest.raises(DoesNotFit, match="has a reply already"):
        debate = apply(debate, speech_event(settled, "On second thoughts."))
    assert before == state(debate)


@given(st.data())
def test_arrival_order_changes_nothing(data: st.DataObject) -> None:
    """However the answers of a stage arrive, what is heard, due, found and counted is the same."""
    votes = {(n, k): ballot_fields(5 + k, 4 + n) | converging("ab"[k % 2]) for n in (1, 2) for k in (1, 2, 3)}
    script = {f"{n}.verdict.judge-{k}": vote for (n, k), vote in votes.items()}
    events = record(2, 3, script | {"2.verdict.judge-2": absent_judge("2.verdict.judge-2")})
    debate = fold(events[:1])
    while due := debate.due:
        for turn in data.draw(st.permutations(due)):
            for event in events[1:]:
                if event.turn_id == turn.id:
                    debate = apply(debate, event)
    assert state(fold(events)) == state(debate)


def test_asking_settles_nothing() -> None:
    """A `BriefSent` is kept as often as it comes, and the turn stays due; once answered it can't be asked for."""
    debate = fold([opened()])
    asked = BriefSent(turn_id="1.opening.a", brief_digest="0", spec="host")
    debate = apply(apply(debate, asked), asked)
    assert (["1.opening.a"], (asked, asked)) == (
        [turn.id for turn in debate.due],
        tuple(debate.briefs_sent("1.opening.a")),
    )
    debate = apply(debate, speech_event("1.opening.a"))
    with pytest.raises(DoesNotFit):
        debate = apply(debate, asked)


# What is heard


def test_terms_name_the_turns_that_were_heard() -> None:
    """A judge may name the turns it has heard; one round has no directness of rebuttals to score."""
    debate = play_debate(1, until="1.verdict.judge")
    terms = schedule.shape_context(debate, schedule.turn(debate, "1.verdict.judge"))
    assert (terms.turns, terms.criteria) == (("1.opening.a", "1.opening.b"), ("argument_quality", "use_of_evidence"))
    assert tuple(ADVERSARIAL.rubric.criteria) == play_debate(2).criteria


# Interventions


@for_each([
    (3, [], [], []), (3, [1], [1], []), (3, [3], [3], []), (3, [1, 2], [1], [2]), (3, [1, 2, 3], [1, 3], [2]),
    (3, [1, 3], [1, 3], []), (3, [2, 3], [2], [3]), (6, [1, 2, 3, 4, 5, 6], [1, 3, 5], [2, 4, 6]),
    (1, [1], [], []),
])  # fmt: skip
def test_interventions(rounds: int, converged: list[int], answered: list[int], converged_again: list[int]) -> None:
    """Convergence is answered, but not in the very next round, where it is flagged; and never in a one-round debate."""
    debate = play_debate(rounds, script=judged(dict.fromkeys(converged, "both")))
    ids = {turn.id for turn in schedule.turns_taken(debate)}
    assert answered == [n for n in range(1, rounds + 1) if tally.had_intervention(debate, n)]
    assert {f"{n}.divergence.{side}" for n in answered for side in "ab"} == {i for i in ids if "divergence" in i}
    assert tuple(converged_again) == tally.rounds_converged_again(debate)


@pytest.mark.parametrize(("side", "turns"), [("a", "a"), ("b", "b"), ("both", "ba")])
def test_the_side_that_moved_gets_the_forced_turn(side: str, turns: str) -> None:
    """The divergence turn goes to the side that the judge names, or to both at once, and follows the verdict."""
    _, played = play(fold([opened(2, first="b")]), judged({2: side}))
    at = played.index(("2.verdict.judge",))
    assert [tuple(f"2.divergence.{one}" for one in turns), ("final.verdict.judge",)] == played[at + 1 : at + 3]


# Concessions


@pytest.mark.parametrize("text", [CONCEDE, f"You are right.\n\n{CONCEDE}  \n\n", f"So.\r\n\r\n{CONCEDE}\r\n"])
def test_the_line_that_concedes_ends_the_debate(text: str) -> None:
    """With that line as a speech's last one the debate goes on at the final verdict, and is a consensus."""
    debate = fold([opened()])
    debate, played = play(debate, {"1.opening.a": text, "final.verdict.judge": {"winner": "b"}})
    assert played == [("1.opening.a",), ("final.verdict.judge",), ("final.dissent.judge",)]
    verdict = tally.verdict(debate)
    assert verdict is not None
    assert (tally.conceding_side(debate), verdict.winner, verdict.strength) == ("a", "consensus", "consensus")


def test_a_reported_concession_is_not_answered() -> None:
    """A round that is conceded gets no intervention, whatever convergence was seen in it."""
    debate = play_debate(script={"1.verdict.judge": converging("b") | {"conceded": "b"}})
    assert (tally.had_intervention(debate, 1), schedule.turns_taken(debate)[-2].id) == (False, "final.verdict.judge")


def test_what_is_declined_is_no_concession() -> None:
    """A refusal to argue is on record, and the debate goes on as if it had been a speech."""
    debate = fold([opened()])
    debate, played = play(debate, {"2.constructive.a": [decline_event("2.constructive.a")]})
    assert stages_of(3, 1, "a") == played
    assert tally.conceding_side(debate) is None
    assert "2.constructive.a" in heard(debate, "2.challenge.b")


def test_a_debater_is_never_absent() -> None:
    """A judge counts as absent where the journal says so, and after two useless replies where it says nothing."""
    debate = fold([opened()])
    with pytest.raises(DoesNotFit, match="a debater can't be absent"):
        apply(debate, rejected_event("1.opening.a").model_copy(update={"absent": True}))
    for last in (False, True):
        judged = play_debate(until="1.verdict.judge")
        for n in range(3):
            rejected = rejected_event("1.verdict.judge", str(n)).model_copy(update={"absent": last and n == 2})
            judged = apply(judged, rejected)
        assert ("1.verdict.judge" in judged.replies) is last


def test_the_same_rejected_reply_twice_is_harmless() -> None:
    """A rejected reply that comes again changes nothing; after another brief it is a reply of its own."""
    asked = BriefSent(turn_id="1.opening.a", brief_digest="0" * 64, spec="host")
    rejected = rejected_event("1.opening.a")
    debate = fold([opened(), asked, rejected])

    assert apply(debate, rejected) is debate
    assert len(apply(apply(debate, asked), rejected).rejected_replies("1.opening.a")) == 2


CHOICES = ["plain", "plain", "plain", "asked", "raised", "closed", "concede", "decline", "converge", "gave up"]


def turned(debate: DebateState, choice: str, turn: Any) -> list[Any]:
    """What happens in a turn that is due, by choice."""
    if choice == "asked":
        return [BriefSent(turn_id=turn.id, brief_digest="0" * 64, spec="host")]
    if choice == "raised":
        return [QuestionAsked(question="Why?", to=("a", "judge"))]
    if choice == "closed":
        return [EndedEarly()]
    if choice == "decline" and turn.speaking and debate.shape(turn) is None:
        return [decline_event(turn.id)]
    fields: dict[str, Any] = {"converge": converging(), "gave up": {"conceded": "b"}}.get(choice, {})
    shape = debate.shape(turn) or {}
    said = {"concede": f"Well.\n\n{CONCEDE}", "decline": DECLINE}.get(choice, "So it is.")
    return events(debate, turn, {turn.id: {key: fields[key] for key in fields if key in shape} if shape else said})


@given(data=st.data(), name=st.sampled_from(["adversarial", "panel"]))
def test_events_one_by_one_are_the_events_folded(data: st.DataObject, name: str) -> None:
    """After any events, in any order, the state is that of the same events folded at once."""
    debate = fold([opened(data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3)), rules=loader.load(name))])
    taken: list[Any] = [debate.opened]
    while due := debate.due:
        turn = data.draw(st.sampled_from(due))
        for event in turned(debate, data.draw(st.sampled_from(CHOICES)), turn):
            before, alike = debate, fold(taken)
            try:
                debate = apply(before, event)
            except DoesNotFit:
                continue
            finally:
                assert before == alike
            taken.append(event)
        folded = fold(taken)
        assert folded == debate and hash(folded) == hash(debate)
        assert announcements(folded) == announcements(debate)
        if len(debate.floor_questions) + len(debate.questions_before) > 6:
            break


def test_the_events_that_a_state_collects_are_limited() -> None:
    """Beyond a limit no more notes, questions and calls of a turn fit, and it is said why; the turn can still have its
    reply."""
    asked = BriefSent(turn_id="1.opening.a", brief_digest="0" * 64, spec="host")
    for event, most in (
        (Noted(note="estimate"), MAX_NOTES),
        (QuestionAsked(question="Why?", to=("a",)), MAX_QUESTIONS),
    ):
        debate = fold([opened(1), *[event] * most])
        with pytest.raises(DoesNotFit, match=f"has {most:,} .*no more are allowed"):
            apply(debate, event)
    debate = fold([opened(1), *[asked] * MAX_TURN_EVENTS])
    with pytest.raises(DoesNotFit, match=r"1\.opening\.a: this turn has 5,000 events, and no more calls"):
        apply(debate, asked)
    debate = apply(debate, rejected_event("1.opening.a"))
    with pytest.raises(DoesNotFit, match="no more calls"):
        apply(debate, rejected_event("1.opening.a", "again no JSON"))
    assert "1.opening.a" in apply(debate, speech_event("1.opening.a")).replies
