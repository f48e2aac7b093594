"""What comes from outside the seats, in words: questions from the floor, and an early end."""

from __future__ import annotations

from collections.abc import Iterator

from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Closed, Event, Raised
from debate_orchestrator.core.rules import Turn
from debate_orchestrator.speech import one_line


def announced(debate: Debate, event: Event) -> str | None:
    """The line that tells everybody of such an event, when it happens; None for any other."""
    if isinstance(event, Raised):
        return f"From the floor, to {names(debate, event.to)}: {one_line(event.question)}"
    if isinstance(event, Closed):
        return ended_early(debate)
    return None


def ended_early(debate: Debate) -> str | None:
    """The sentence that says after what a debate was ended early; None where it was not."""
    slot = next((slot for slot in debate.calendar() if slot.turn_id("") == debate.closed_after), None)
    if slot is None:
        return None
    where = f" of round {slot.round}" if slot.round else ""
    return f"Ended early, after {slot.phase.title}{where}."


def new_to(debate: Debate, turn: Turn) -> tuple[str, ...]:
    """The questions that the taker of a turn heard for the first time before it."""
    return tuple(one.text for one in debate.new_to(turn))


def provenance(debate: Debate) -> Iterator[str]:
    """What a report's head says of both."""
    if ended := ended_early(debate):
        yield ended
        yield from _unscored(debate)
    if count := len(debate.raised):
        yield f"{count} question{'s were' if count != 1 else ' was'} put from the floor."
    heard = {one.number for turn in debate.settled() for one in debate.new_to(turn)}
    for number, event in enumerate(debate.raised):
        if number not in heard:
            to = f"A question from the floor, to {names(debate, event.to)},"
            yield f"{to} was heard by nobody{'' if debate.complete else ' yet'}: {one_line(event.question)}"


def _unscored(debate: Debate) -> Iterator[str]:
    """The rounds of an early end in which sides spoke, and nobody voted any more."""
    spoken = {turn.round for turn in debate.settled() if turn.speaking and turn.round}
    voting = [slot for slot in debate.calendar() if debate.format.votes(slot.phase) and slot.round in spoken]
    for slot in voting:
        if debate.cut_off(slot):
            yield f"What was said in round {slot.round} was not voted on by itself."


def names(debate: Debate, seats: tuple[str, ...]) -> str:
    """`Researcher A and Judge`."""
    *others, last = (debate.format.name_of(seat) for seat in seats)
    return f"{', '.join(others)} and {last}" if others else last
