"""The order of a debate: its stages as far as they are decided, what is due, and who has heard what.

Phases that depend on what was said (interventions, concessions, early ends) are worked out from the replies. A stage is
reached when all turns before it are taken, and no reply decides anything about the stages before its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Literal, NamedTuple

from debate_orchestrator.core import rapporteur, speech_rules, tally
from debate_orchestrator.core.events import EndedEarly, Rejected
from debate_orchestrator.core.phases import (
    ISSUES,
    JUDGE,
    MIRRORED,
    NO_DECISION,
    PRE_DEBATE_VOTE,
    RAPPORTEUR,
    Slot,
    Turn,
)
from debate_orchestrator.core.shape import ShapeContext
from debate_orchestrator.core.state import DebateState, SlotPosition, Stage, spec_in
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import DoesNotFit
from debate_orchestrator.util.sanitize import quoted

TOO_LATE_FOR_ISSUES = "The list of issues can be changed only right after the rapporteur's turn."


class FloorQuestion(NamedTuple):
    """A question from the floor, as a seat hears it in its turn."""

    number: int
    """Its index among all that were asked."""
    text: str
    new: bool
    """Whether the seat has not heard it in a turn before."""


def next_stage(debate: DebateState) -> tuple[Stage, SlotPosition]:
    """The stage after those that were reached, and the cursor after it; an empty stage at the end of the debate."""
    slots, (slot_index, stages_reached, ended) = debate.plan.slots, debate.cursor
    while slot_index < len(slots):
        slot = slots[slot_index]
        if stages_reached and not slot.after_rounds and tally.conceding_sides(debate, debate.stages[-1]):
            ended = True
        skipped = ended and not slot.after_rounds
        stages = [] if skipped else _seats(debate, slot)
        joining = _joining(slots, slot_index) if stages else ()
        if stages_left := stages[stages_reached:]:
            turns = [_turn(slot, seat) for seat in stages_left[0]]
            if len(stages_left) == 1:
                turns += [_turn(other, seat) for other in joining for seats in _seats(debate, other) for seat in seats]
            return tuple(turns), SlotPosition(slot_index, stages_reached + 1, ended)
        next_index = slot_index + 1 + len(joining)
        ended = ended or any(_ends(debate, index) for index in range(slot_index, next_index))
        slot_index, stages_reached = next_index, 0
    return (), SlotPosition(slot_index, stages_reached, ended)


def _joining(slots: Sequence[Slot], slot_index: int) -> Sequence[Slot]:
    """The slots whose turns are due together with the last ones of the slot at this index."""
    return tuple(takewhile(lambda slot: slot.joins(slots[slot_index]), slots[slot_index + 1 :]))


def _ends(debate: DebateState, slot_index: int) -> bool:
    """Whether the rounds are over once the slot at this index is."""
    ended_here = debate.plan.slots[slot_index].id == debate.ended_after
    return ended_here or _declined(debate, slot_index) or _ends_without_new_ground(debate, slot_index)


def _ends_without_new_ground(debate: DebateState, slot_index: int) -> bool:
    """Whether this slot is the last of its round and the judges of that round find no new ground, so that the debate
    ends with it. A debate that is judged again keeps the rounds of the earlier debate."""
    slot, *after = debate.plan.slots[slot_index : slot_index + 2]
    if not debate.opened.settings.until_no_new_ground or debate.opened.earlier_debate is not None or slot.round is None:
        return False
    return (not after or after[0].round != slot.round) and debate.judged(slot.round).no_new_ground


def no_new_ground_slot_id(debate: DebateState) -> str | None:
    """The id of the slot after which a debate ended because it found no new ground; None if it did not."""
    slots = debate.plan.slots
    slot_indexes = [
        n for n, slot in enumerate(slots[:-1]) if slots[n + 1].round and _ends_without_new_ground(debate, n)
    ]
    return slots[slot_indexes[0]].id if slot_indexes else None


def _declined(debate: DebateState, slot_index: int) -> bool:
    """Whether a declined turn ends the debate with this slot, the last of a round or of those before the rounds."""
    if debate.format.after_decline == "goes on":
        return False
    slot, *after = debate.plan.slots[slot_index : slot_index + 2]
    if after and after[0].section == slot.section:
        return False
    section = debate.plan.sections[slot.section]
    return any(
        speech_rules.has_declined(debate, other.turn_id(side)) for other in section for side in other.phase.seats
    )


def _seats(debate: DebateState, slot: Slot) -> list[tuple[str, ...]]:
    order = debate.plan.speaking_order
    if slot.phase.triggered_by == "findings" and not rapporteur.decision_brief_findings(debate):
        return []
    if "findings" in debate.format.shapes.get(slot.phase.reply, {}) and rapporteur.decision_brief(debate) is None:
        return []  # nothing was written that could be checked
    if slot.phase.triggered_by == "convergence":
        if not tally.had_intervention(debate, slot.round or 0):
            return []
        answering = tally.sides_asked_to_diverge(debate, slot.round or 0)
        order = tuple(side for side in order if side in answering)
    return slot.stages(order, debate.judges, mirror=debate.opened.mirrors(slot.phase))


def _turn(slot: Slot, seat: str) -> Turn:
    return Turn(
        id=slot.turn_id(seat),
        seat=seat.removesuffix(MIRRORED),
        phase=slot.phase,
        round=slot.round,
        after_rounds=slot.after_rounds,
        mirrored=seat.endswith(MIRRORED),
    )


def max_turns(debate: DebateState) -> int:
    """The maximum number of turns of the debate, including those that answer something found."""
    plan, mirrors = debate.plan, debate.opened.mirrors
    stages = (slot.stages(plan.speaking_order, plan.judges, mirror=mirrors(slot.phase)) for slot in plan.slots)
    return sum(len(seats) for slot in stages for seats in slot)


def turn(debate: DebateState, turn_id: str) -> Turn:
    """The turn with that id, due or taken. Raises DoesNotFit if the schedule has none so far."""
    if turn_id in debate.turns:
        return debate.turns[turn_id]
    raise not_due(debate, turn_id)


def not_due(debate: DebateState, turn_id: str) -> DoesNotFit:
    """The error for a turn that is not due. Its id may be any text."""
    due = ", ".join(turn.id for turn in debate.due) or "none, the debate is complete"
    return DoesNotFit(f"{quoted(turn_id)} is not due. Due now: {due}.")


def last_slot_id(debate: DebateState, *, counts_briefs_without_call: bool = False) -> str | None:
    """The id of the last slot that still runs if the debate is ended now; None if nothing would be left out. A slot
    that has begun is finished, so that every side has its turn in it; otherwise the one before it is the last. The vote
    on a round follows if all its speeches are in. A slot has begun once one of these is true of it:

    - It has a reply, or a brief was sent in it by a call.
    - A brief was sent in it without a call, and its round has a reply.
    - A brief was sent in it without a call, and `counts_briefs_without_call` is set."""
    rounds = {turn.round for turn in turns_taken(debate)}

    def has_begun(turn: Turn) -> bool:
        briefs = debate.briefs_sent(turn.id)
        counts = counts_briefs_without_call or turn.round in rounds or any(brief.by_call for brief in briefs)
        return turn.id in debate.replies or bool(briefs and counts)

    slot_ids = {turn.slot_id for turn in debate.turns.values() if has_begun(turn)}
    if not slot_ids:
        return None
    slots = debate.plan.slots
    last = max(n for n, slot in enumerate(slots) if slot.id in slot_ids)
    for n, slot in enumerate(slots[last + 1 :], start=last + 1):
        if (
            slot.round != slots[last].round
            or slot.phase.triggered_by
            or set(slot.phase.seats) & set(debate.format.sides)
        ):
            break
        last = n
    slots_left = [slot for slot in slots[last + 1 :] if not slot.after_rounds and not slot.phase.triggered_by]
    return slots[last].id if slots_left else None


def early_end(debate: DebateState) -> EndedEarly:
    """The event that ends a debate now. A phase in which a person writes counts as begun, so their text is not lost."""
    writing = any(brief.spec == model_spec.HUMAN for turn in debate.due for brief in debate.briefs_sent(turn.id))
    return EndedEarly(after=last_slot_id(debate, counts_briefs_without_call=writing))


def can_change_issues(debate: DebateState) -> bool:
    """Whether the rapporteur's list of issues was drawn up last, and no turn after that has a reply or was
    called for. Never in a debate that is judged again, whose speeches were given with it."""
    if (
        debate.opened.earlier_debate is not None
        or len(debate.stages) < 2
        or not any(turn.phase.enabled_by == ISSUES for turn in debate.stages[-2])
    ):
        return False
    stage = debate.stages[-1]
    was_called = any(brief.by_call for turn in stage for brief in debate.briefs_sent(turn.id))
    has_begun_stage = was_called or any(turn.id in debate.replies for turn in stage)
    return bool(debate.due) and not has_begun_stage and rapporteur.issue_list(debate) is not None


def will_hear(debate: DebateState, seat: str) -> bool:
    """Whether a seat (`judge`: any judge) still has a turn in which it would hear a question that is put now."""
    if not debate.due:
        return False
    slots, due = debate.plan.slots, debate.plan.slot_indexes[debate.due[0].slot_id]
    seats = debate.judges if seat == JUDGE else (seat,)
    if seat in slots[due].phase.seats and any(slots[due].turn_id(one) not in debate.questions_before for one in seats):
        return True
    return any(
        seat in slot.phase.seats and not slot.phase.triggered_by and not debate.is_skipped(slot)
        for slot in slots[due + 1 :]
    )


def seats_open_to_questions(debate: DebateState) -> tuple[str, ...]:
    """The seats to which a question from the floor can be put now: none whose speeches are on record from an earlier
    debate."""
    recorded = debate.format.sides if debate.opened.earlier_debate is not None else ()
    return tuple(seat for seat in debate.question_seats if seat not in recorded and will_hear(debate, seat))


def seats_left(debate: DebateState) -> frozenset[str]:
    """The seats of the format, `judge` for all judges, with turns that are due, may become due, or can be reopened."""
    reopened = {turn.role for turn in turns_to_reopen(debate)}
    if not debate.due:
        return frozenset(reopened)
    slots = debate.plan.slots[debate.plan.slot_indexes[debate.due[0].slot_id] :]
    return frozenset(seat for slot in slots for seat in slot.phase.seats)


def questions_put_to(debate: DebateState, turn: Turn) -> list[FloorQuestion]:
    """The floor questions that a seat hears in a turn: those put to it before the turn's stage began."""
    counts = debate.questions_before
    begun_before = [
        debate.turns_reached[turn_id] for turn_id in takewhile(lambda reached_id: reached_id != turn.id, counts)
    ]
    of_the_seat = [
        earlier.id for earlier in begun_before if (earlier.seat, earlier.mirrored) == (turn.seat, turn.mirrored)
    ]
    known_count = counts[of_the_seat[-1]] if of_the_seat else 0
    return [
        FloorQuestion(number, event.question, number >= known_count)
        for number, event in enumerate(debate.floor_questions[: counts.get(turn.id, len(debate.floor_questions))])
        if turn.role in event.to
    ]


def new_questions(debate: DebateState, turn: Turn) -> list[FloorQuestion]:
    """Those of them that the seat had not heard in a turn before."""
    return [question for question in questions_put_to(debate, turn) if question.new]


def turns_taken(debate: DebateState) -> list[Turn]:
    """Every turn that has its reply, in the order of the schedule."""
    return [turn for turn in debate.turns.values() if turn.id in debate.replies]


def turns_without_usable_ballot(debate: DebateState) -> list[Turn]:
    """The judges' turns whose missing ballots left a debate without a decision; empty for any other debate."""
    if not _lacks_decision(debate):
        return []
    turns = turns_taken(debate)
    indexes = [n for n, turn in enumerate(turns) if not turn.judging or not turn.after_rounds]
    after = turns[max(indexes, default=-1) + 1 :]
    return [turn for turn in after if isinstance(debate.replies[turn.id], Rejected)]


def is_undecided(debate: DebateState) -> bool:
    """Whether a debate has ended without a decision since ballots could not be used, and can be reopened for them."""
    return _lacks_decision(debate) and bool(turns_to_reopen(debate))


def _lacks_decision(debate: DebateState) -> bool:
    """Whether a debate has ended without a decision, and a final ballot could not be used."""
    if debate.due or not any(vote.absent for vote in tally.final_votes(debate)):
        return False
    verdict = tally.verdict(debate)
    return verdict is None or verdict.winner == NO_DECISION


def is_missing(debate: DebateState, turn: Turn) -> bool:
    """Whether the list of issues, the dissent record, the decision brief or the like is missing, since no reply to this
    turn could be used. A vote is none of these."""
    if not isinstance(debate.replies.get(turn.id), Rejected):
        return False
    return turn.role == RAPPORTEUR or (
        turn.judging and turn.after_rounds and turn.slot_id not in debate.plan.ballot_turns
    )


def missing_turns(debate: DebateState) -> list[Turn]:
    """The turns of which `is_missing` is true, in the order of the schedule."""
    return [turn for turn in turns_taken(debate) if is_missing(debate, turn)]


def turns_to_reopen(debate: DebateState) -> list[Turn]:
    """The turns of a complete debate that a Reopened event makes due again: the ballots that a decision
    lacks, or else what is missing after the verdict, or else the ballots with the decision brief that was written
    without them. Turns before the first speech are not asked again."""
    if debate.due:
        return []
    missing = [turn for turn in missing_turns(debate) if turn.after_rounds]
    if (turns := turns_without_usable_ballot(debate) or missing) or not _lacks_decision(debate):
        return turns
    after = [turn for turn in turns_taken(debate) if turn.after_rounds]
    rejected = [turn for turn in after if isinstance(debate.replies[turn.id], Rejected)]
    return [turn for turn in after if turn.role == RAPPORTEUR or turn in rejected] if rejected else []


def may_be_absent(debate: DebateState, turn: Turn) -> bool:
    """Whether the debate can do without a reply to this turn. It never can without a speech; it can without a ballot
    while enough judges are left for the quorum."""
    if turn.speaking or not turn.judging:
        return not turn.speaking
    if (panel := debate.plan.ballot_turns.get(turn.slot_id)) is None:
        return True
    absent = {
        ballot_turns.judge
        for ballot_turns in panel
        if any(isinstance(debate.replies.get(turn_id), Rejected) for turn_id in ballot_turns.turns)
    }
    stand_ins = {one.judge for one in panel if model_spec.is_stand_in(spec_in(debate, one.judge))}
    if len(stand_ins) < len(panel):  # beside another judge they fill no quorum
        absent |= stand_ins
    return len(panel) - len(absent | {turn.seat}) >= max(1, debate.opened.settings.quorum)


def turns_heard(debate: DebateState, for_turn: Turn) -> list[Turn]:
    """The speeches, and what a clerk found, that a seat has heard before this turn, in the order of the schedule: those
    of earlier stages whose phase is heard by the seat. Ballots are never among them, nor replies that did not
    count. They are as they were given; a judge of the mirrored debate is shown them mirrored."""
    return [
        turn
        for stage in takewhile(lambda stage: all(turn.id != for_turn.id for turn in stage), debate.stages)
        for turn in stage
        if (turn.seat == for_turn.seat or _hears(debate, for_turn.hears_as, turn))
        and (turn.phase.reply == "text" or not turn.judging)
        and not isinstance(debate.replies.get(turn.id), Rejected)
    ]


def _hears(debate: DebateState, seat: str, turn: Turn) -> bool:
    phase = turn.phase
    return seat in phase.heard_by and (
        seat in phase.declines_heard_by or not speech_rules.has_declined(debate, turn.id)
    )


def own_ballot_turns(debate: DebateState, turn: Turn) -> list[Turn]:
    """The turns in which this judge has voted, all original or all mirrored, without its pre-debate vote. Votes
    of a judge whom it replaced are not its own."""
    same_judge = {"", spec_in(debate, turn.seat)}  # some old journals do not say who voted
    return [
        earlier
        for earlier in turns_taken(debate)
        if earlier.seat == turn.seat
        and earlier.mirrored == turn.mirrored
        and earlier.phase.enabled_by != PRE_DEBATE_VOTE
        if (ballot := debate.structured_reply(earlier.id)) is not None and ballot.reply.spec in same_judge
    ]


def shape_context(debate: DebateState, turn: Turn, *, with_turns: bool = True) -> ShapeContext:
    """The values that the fields of that turn's shape refer to; the ids of turns only `with_turns`."""
    rubric, turn_ids = debate.format.rubric, [earlier.id for earlier in turns_heard(debate, turn)] if with_turns else []
    issues = rapporteur.issue_list(debate)
    return ShapeContext(
        sides=debate.format.sides,
        criteria=debate.criteria,
        min=rubric.min,
        max=rubric.max,
        rounds=debate.rounds,
        strictness=debate.opened.settings.strictness,
        turns=tuple(map(debate.mirror.turn_id, turn_ids) if turn.mirrored else turn_ids),
        scales={name: rubric.scale(name) for name in debate.criteria},
        issues=tuple(issues.issues) if issues else (),
        settings_on=debate.opened.settings.settings_on,
    )


CHALLENGE, REBUTTAL = "challenge", "rebuttal"
"""Phases whose turns attack or answer another turn."""


def turns_argued_with(debate: DebateState, turn: Turn) -> tuple[Literal["attacks", "answers"], list[Turn]]:
    """The turns of the other side that a turn is about. A challenge attacks the latest speech that is neither
    a challenge nor a rebuttal. A rebuttal answers the
    challenge of its round, or else the speech that was heard last."""
    name = turn.phase.name
    how: Literal["attacks", "answers"] = "attacks" if name == CHALLENGE else "answers"
    if name not in (CHALLENGE, REBUTTAL) or speech_rules.has_declined(debate, turn.id):
        return how, []
    heard = [heard for heard in turns_heard(debate, turn) if heard.speaking and heard.seat != turn.seat]
    if name == CHALLENGE:
        return how, [speech for speech in heard if speech.phase.name not in (CHALLENGE, REBUTTAL)][-1:]
    challenges = [earlier for earlier in heard if earlier.phase.name == CHALLENGE and earlier.round == turn.round]
    return how, (challenges or heard)[-1:]
