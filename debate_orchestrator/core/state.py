"""Events in, next turns out: the fold that is the whole state of a debate.

Law 1: an event out of turn is refused and changes nothing; the same answer twice is harmless.
Law 2: what a seat hears follows the agenda's order, never the order in which answers arrived.
Law 3: what depends on what was said is worked out from the answers by the `agenda`, and has no state of its own.
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
    Spoke,
    Voted,
)
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.schedule import Schedule
from debate_orchestrator.core.schema import check, names_turns
from debate_orchestrator.util.errors import OutOfTurn, complaint

ATTEMPTS = 2
"""How often a reply is asked for before a judge counts as absent. A debater is never absent: nothing is
judged on a one-sided transcript."""


class DebateState(Schedule):
    """One debate, as far as its events go."""

    def __init__(self, events: Iterable[Event]):
        """Folds `events`, the first of which is Opened; OutOfTurn where one does not fit."""
        rest = iter(events)
        opened = next(rest, None)
        if not isinstance(opened, Opened):
            raise OutOfTurn(complaint("the first event", "none that opens a debate", "opened"))
        super().__init__(opened)
        for event in rest:
            self.take(event)

    def admits(self, event: Event) -> bool:
        """Whether an event would change anything: False for an answer that is on record already, word for
        word. OutOfTurn for whatever is not due, or is no answer to what was asked."""
        if isinstance(event, Opened):
            raise OutOfTurn(complaint("opened", "a second opening", "one debate to a journal"))
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
        if self.answers.get(event.turn) == event or self._is_known(event):
            return False
        turn = self._must_be_due(event.turn)
        self._must_answer(turn, event)
        return True

    def _is_known(self, event: Event) -> bool:
        """Whether a spoiled reply is on record already: the same words, and no brief put since."""
        if not isinstance(event, Rejected):
            return False
        spoiled = self.spoiled.get(event.turn, [])
        # The last few will do: a reply is handed in again at once, and a journal may hold thousands.
        return event in spoiled[-8:] and len(spoiled) >= len(self.asked.get(event.turn, []))

    def _may_cap(self, event: BudgetChanged) -> bool:
        """Whether a new cap changes anything; OutOfTurn where nobody is asked any more."""
        if self.complete:
            raise OutOfTurn(complaint("a new cap", "a debate that is complete", "one with turns left"))
        return event.max_cost != self.max_cost

    def _may_recast(self, event: Reassigned) -> bool:
        """Whether a new cast for a seat changes anything; OutOfTurn where the panel's size would change."""
        if self.complete:
            hint = "`debate judge` has other judges judge it again."
            raise OutOfTurn(complaint(f"recast {event.seat}", "a debate that is complete", "one with turns left", hint))
        before = self.cast.get(event.seat, ())
        if len(event.who) != len(before):
            raise OutOfTurn(complaint(f"recast {event.seat}", f"{len(event.who)} for it", f"{len(before)}, as before"))
        return event.who != before

    def _may_raise(self, event: QuestionAsked) -> bool:
        """A question from the floor; OutOfTurn where a seat it is put to will not hear it."""
        seats = self.askable
        if unknown := [seat for seat in event.to if seat not in seats]:
            raise OutOfTurn(complaint("a question", f"to {', '.join(unknown)}", f"to one of: {', '.join(seats)}"))
        if deaf := [seat for seat in event.to if not self.will_hear(seat)]:
            had = "whose last turn is taken or under way"
            raise OutOfTurn(complaint("a question", f"to {', '.join(deaf)}, {had}", "to a seat with turns left"))
        return True

    def _may_close(self) -> bool:
        """An early end; OutOfTurn where there is nothing to end."""
        due = self.due()
        if not due or due[0].closing:
            got = "a debate that is complete" if not due else "a debate whose last turns are due already"
            raise OutOfTurn(complaint("an early end", got, "one with rounds left"))
        if not any(turn.speaking and turn.id in self.answers for stage in self.stages() for turn in stage):
            hint = "Nobody can judge what was not said."
            raise OutOfTurn(complaint("an early end", "a debate in which nobody has spoken", "a speech", hint))
        if self.closed_after is not None:
            return False
        if self.last_place() is None:
            raise OutOfTurn(
                complaint("an early end", "a debate whose last round is under way", "rounds left to leave out")
            )
        return True

    def _must_answer(self, turn: Turn, event: Asked | CallFailed | Answer) -> None:
        shape = self.shape(turn)
        answers = isinstance(event, Spoke | Declined | Voted)
        if isinstance(event, Declined) and turn.speaking:
            return
        if answers and isinstance(event, Voted) == (shape is None):
            wanted = "a speech" if shape is None else "a structured reply"
            raise OutOfTurn(complaint(turn.id, f"an answer that {event.kind}", wanted))
        if isinstance(event, Voted) and shape is not None:
            wrong = check(shape, event.ballot, self.terms(turn, named=names_turns(shape)))
            if wrong:
                raise OutOfTurn([f"{turn.id}: {one}" for one in wrong])

    def take(self, event: Event) -> bool:
        """Folds one event; True if it changed anything. As `admits`, and nothing has changed where it raises."""
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
                turn = self.turn(event.turn)
                if len(self.spoiled[event.turn]) >= ATTEMPTS and not turn.speaking:
                    self._settle(event)
            case Spoke() | Declined() | Voted():
                self._settle(event)
        return True

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
            raise OutOfTurn(complaint(turn_id, "a second answer", "one answer to a turn", "The first stands."))
        raise OutOfTurn(complaint(turn_id, "a turn that is not due", f"one of: {self.due_names()}"))
