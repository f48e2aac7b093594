"""The state of a debate: the fold of its events, which says what turns are due next.

1. An event out of turn is refused and changes nothing; the same answer twice is harmless.
2. What a seat hears follows the schedule's order, never the order in which answers arrived: network timing can't change
   a prompt.
3. Phases that depend on what was said are worked out from the answers by `schedule`, so no second state can disagree.
"""

from __future__ import annotations

from collections.abc import Iterable

from debate_orchestrator.core.events import (
    Answer,
    Asked,
    BudgetChanged,
    CallFailed,
    Declined,
    EndedEarly,
    Event,
    Noted,
    Opened,
    QuestionAsked,
    Reassigned,
    Rejected,
    Reopened,
    Spoke,
    Voted,
)
from debate_orchestrator.core.phases import MIRRORED, NO_DECISION, Turn
from debate_orchestrator.core.schedule import Schedule
from debate_orchestrator.core.schema import check, names_turns
from debate_orchestrator.util.errors import OutOfTurn

_OLD_ATTEMPTS = 2
"""Replies that can't be used after which a judge is absent, in journals that do not say so themselves. A debater never
is: a one-sided transcript must not be judged."""


class DebateState(Schedule):
    """One debate, after the events so far."""

    def __init__(self, events: Iterable[Event]):
        """Folds `events`, the first of which must be Opened. Raises OutOfTurn if one does not fit."""
        rest = iter(events)
        opened = next(rest, None)
        if not isinstance(opened, Opened):
            raise OutOfTurn("The first event does not open a debate.")
        super().__init__(opened)
        for event in rest:
            self.take(event)

    def admits(self, event: Event) -> bool:
        """Whether an event would change anything: False for an answer that is recorded already, word for word.

        Raises OutOfTurn for an event that is not due, or does not answer what was asked.
        """
        if isinstance(event, Opened):
            raise OutOfTurn("The debate is open already; a journal holds one debate.")
        if isinstance(event, Noted):
            return True
        if isinstance(event, BudgetChanged):
            return self._may_cap(event)
        if isinstance(event, Reassigned):
            return self._may_recast(event)
        if isinstance(event, QuestionAsked):
            return self._may_raise(event)
        if isinstance(event, EndedEarly):
            return self._may_close()
        if isinstance(event, Reopened):
            return self._may_reopen()
        if self.answers.get(event.turn) == event or self._is_known(event):
            return False
        turn = self._must_be_due(event.turn)
        self._must_answer(turn, event)
        return True

    def _is_known(self, event: Event) -> bool:
        """Whether a rejected reply is recorded already: the same words, and no brief sent since."""
        if not isinstance(event, Rejected):
            return False
        rejected = self.spoiled.get(event.turn, [])
        # Only the last few are compared: a reply is repeated at once if at all, and a journal may hold thousands.
        return event in rejected[-8:] and len(rejected) >= len(self.asked.get(event.turn, []))

    def _may_cap(self, event: BudgetChanged) -> bool:
        """Whether a new cost cap changes anything. Raises OutOfTurn if no call is left to make."""
        if self.complete:
            raise OutOfTurn("This debate is complete; a new cost cap would change nothing.")
        return event.max_cost != self.max_cost

    def _may_recast(self, event: Reassigned) -> bool:
        """Whether new models for a seat change anything. Raises OutOfTurn if the panel's size would change."""
        if self.complete:
            problem = f"This debate is complete; a new model for {event.seat} would change nothing."
            raise OutOfTurn(problem, hint="`debate judge` has other judges judge it again")
        before = self.cast.get(event.seat, ())
        if len(event.who) != len(before):
            raise OutOfTurn(f"{event.seat} has {len(before)} models, and {len(event.who)} were named to replace them.")
        return event.who != before

    def _may_raise(self, event: QuestionAsked) -> bool:
        """True for a question from the audience. Raises OutOfTurn if a seat that it is put to will not hear it."""
        seats = self.askable
        if unknown := [seat for seat in event.to if seat not in seats]:
            raise OutOfTurn(f"A question can't be put to {', '.join(unknown)}.", hint=f"one of {', '.join(seats)}")
        if finished := [seat for seat in event.to if not self.will_hear(seat)]:
            problem = f"A question can't be put to {', '.join(finished)}: the last turn is taken or under way."
            raise OutOfTurn(problem, hint="a seat with turns left")
        return True

    def _may_close(self) -> bool:
        """Whether an early end changes anything. Raises OutOfTurn if there is nothing to end or to judge."""
        due = self.due()
        if not due or due[0].closing:
            state = "This debate is complete" if not due else "The last turns of this debate are due already"
            raise OutOfTurn(f"{state}; there is no round left to skip.")
        if not any(turn.speaking and turn.id in self.answers for stage in self.stages() for turn in stage):
            raise OutOfTurn("No speech has been made yet, so there is nothing to judge.")
        if self.closed_after is not None:
            return False
        if self.last_place() is None:
            raise OutOfTurn("The last round of this debate is under way; there is no round left to skip.")
        return True

    def _may_reopen(self) -> bool:
        if not self.unanswered_at_the_end():
            raise OutOfTurn("Only a debate that is undecided for want of a usable ballot can be reopened.")
        return True

    def unanswered_at_the_end(self) -> list[Turn]:
        """The judges' turns without a usable reply after the last speech, in a debate that ended without a decision
        because of them; empty for any other debate. A Reopened event makes them due again."""
        verdict = self.verdict()
        decided = verdict is not None and verdict.winner != NO_DECISION
        if self.due() or decided or not any(vote.absent for vote in self.final_votes()):
            return []
        turns = self.settled()
        spoken = [n for n, turn in enumerate(turns) if not turn.judging or not turn.closing]
        after = turns[max(spoken, default=-1) + 1 :]
        return [turn for turn in after if isinstance(self.answers[turn.id], Rejected)]

    def may_be_absent(self, turn: Turn) -> bool:
        """Whether the debate may go on without a usable reply to a turn: never without a speech, and without a ballot
        only while enough other judges can vote for the quorum."""
        if turn.speaking or not turn.judging:
            return not turn.speaking
        if not self.format.votes(turn.phase):
            return True
        place = turn.id.removesuffix(MIRRORED).removesuffix(turn.seat)
        voting = self.judges if turn.phase.panel == "every judge" else self.judges[:1]
        absent = {
            judge
            for judge in voting
            for seat in (judge, judge + MIRRORED)
            if isinstance(self.answers.get(place + seat), Rejected)
        }
        return len(voting) - len(absent | {turn.seat}) >= max(1, self.opened.setup.quorum)

    def _must_answer(self, turn: Turn, event: Asked | CallFailed | Answer) -> None:
        shape = self.shape(turn)
        if isinstance(event, Rejected) and event.absent and turn.speaking:
            raise OutOfTurn(f"{turn.id}: a debater can't be absent.")
        answers = isinstance(event, Spoke | Declined | Voted)
        if isinstance(event, Declined) and turn.speaking:
            return
        if answers and isinstance(event, Voted) == (shape is None):
            wanted = "a speech" if shape is None else "a structured reply"
            raise OutOfTurn(f"{turn.id}: this turn needs {wanted}, not the event {event.kind!r}.")
        if isinstance(event, Voted) and shape is not None:
            context = self.terms(turn, named=names_turns(shape))
            complaints = [f"{turn.id}: {text}" for text in check(shape, event.ballot, context)]
            if complaints:
                raise OutOfTurn(complaints)

    def take(self, event: Event) -> bool:
        """Folds one event; True if it changed anything. Raises as `admits`, and then nothing has changed."""
        if not self.admits(event):
            return False
        match event:
            case Noted():
                self.notes.append(event)
            case Reassigned():
                self.cast[event.seat] = event.who
            case BudgetChanged():
                self.max_cost = event.max_cost
            case QuestionAsked():
                self.raised.append(event)
            case EndedEarly():
                self.closed_after = self.last_place()
                self._start_over()
            case CallFailed():
                self.unanswered.setdefault(event.turn, []).append(event)
            case Asked():
                self._begin()
                self.asked.setdefault(event.turn, []).append(event)
            case Rejected():
                self.spoiled.setdefault(event.turn, []).append(event)
                unsaid = event.absent is None and len(self.spoiled[event.turn]) >= _OLD_ATTEMPTS
                if event.absent or (unsaid and not self.turn(event.turn).speaking):
                    self._settle(event)
            case Reopened():
                self._reopen()
            case Spoke() | Declined() | Voted():
                self._settle(event)
        return True

    def _reopen(self) -> None:
        for turn in self.unanswered_at_the_end():
            del self.answers[turn.id]
        self._counted.clear()
        self._start_over()

    def _settle(self, answer: Answer) -> None:
        self._begin()
        self.answers[answer.turn] = answer
        self._answered()

    def _must_be_due(self, turn_id: str) -> Turn:
        due = self.due()
        for turn in due:
            if turn.id == turn_id:
                return turn
        if turn_id in self.answers:
            raise OutOfTurn(f"{turn_id}: this turn has an answer already, and that one counts.")
        raise OutOfTurn(f"{turn_id}: this turn is not due. Due now: {self.due_names()}.")
