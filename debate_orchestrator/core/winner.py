"""Whether a debate has a winner: the one place that decides it, by the verdict and by who spoke and judged."""

from __future__ import annotations

from collections.abc import Sequence

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.phases import JUDGE, judge_seats
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.verdict import Verdict
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.messages import and_joined


def deciding_verdict(debate: DebateState) -> Verdict | None:
    """The verdict, if it decides anything; None before there is a final ballot, and for a `why_nothing_decided`."""
    return None if why_nothing_decided(debate) else tally.verdict(debate)


def why_nothing_decided(debate: DebateState) -> str:
    """The reason that nothing can be decided, whatever the ballots say; empty if there is none, as for a tie.

    Nothing is decided if stand-ins alone argued for a side, or if stand-ins alone judge: every final ballot is theirs,
    or, before there is one, every judge is one. Where they judge, a concession by another speaker still decides."""
    if tally.final_ballots(debate):
        only_stand_ins = all(vote.by_stand_in or vote.absent for vote in tally.final_votes(debate))
    else:
        judges = debate.cast.get(JUDGE, ())
        only_stand_ins = bool(judges) and all(map(model_spec.is_stand_in, judges))
    conceders = [debate.replies[turn_id].reply.spec for turn_id in debate.conceding_turns]
    if only_stand_ins and all(map(model_spec.is_stand_in, conceders)):
        by_others = any(not (vote.by_stand_in or vote.absent) for votes in debate.votes.values() for vote in votes)
        return "only stand-ins gave the final ballots" if by_others else "only stand-ins judged"
    sides = stand_in_sides(debate)
    return f"only stand-ins argued for {and_joined([debate.format.name_of(side) for side in sides])}" if sides else ""


def stand_in_sides(debate: DebateState) -> list[str]:
    """The sides for which stand-ins alone spoke, or, of those that have not spoken, are to speak."""
    speakers = {seat: (spec,) for seat, spec in specs_by_seat(debate).items()} | turn_takers_by_seat(debate)
    if (earlier := debate.opened.earlier_debate) is not None and not earlier.speakers_by_author:
        speakers |= {side: (*earlier.former_speakers.get(side, ()), spec) for side, spec in earlier.speakers.items()}
    return [side for side in arguing_sides(debate) if all(map(model_spec.is_stand_in, speakers.get(side, ("",))))]


def arguing_sides(debate: DebateState) -> tuple[str, ...]:
    seats = {seat for slot in debate.plan.slots for seat in slot.phase.seats}
    return tuple(side for side in debate.format.sides if side in seats)


def specs_by_seat(debate: DebateState) -> dict[str, str]:
    """Seat to who fills it now, every judge of a panel apart."""
    return {
        seat: spec
        for role in debate.active_seats
        for seat, spec in zip(seats_of(role, debate.cast[role]), debate.cast[role], strict=True)
    }


def seats_of(role: str, specs: Sequence[str]) -> tuple[str, ...]:
    """The seats of a role that so many fill."""
    return judge_seats(len(specs)) if role == JUDGE else (role,)


def turn_takers_by_seat(debate: DebateState) -> dict[str, tuple[str, ...]]:
    """Seat to the model specs that took its turns, in the order of their replies: one that got the seat back is there
    twice."""
    turns = {turn.id: turn for turn in schedule.turns_taken(debate)}
    specs: dict[str, list[str]] = {turn.seat: [] for turn in turns.values()}
    for turn in (turns[turn_id] for turn_id in debate.replies if turn_id in turns):
        if (spec := debate.reply(turn).spec) and specs[turn.seat][-1:] != [spec]:
            specs[turn.seat].append(spec)
    return {seat: tuple(seat_specs) for seat, seat_specs in specs.items() if seat_specs}
