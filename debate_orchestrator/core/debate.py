"""Events in, next turns out: the fold that is the whole state of a debate.

Law 1: an event out of turn is refused and changes nothing; the same answer twice is harmless.
Law 2: what a seat hears follows the agenda's order, never the order in which answers arrived.
Law 3: phases that depend on what was said (interventions, concessions, early ends) are worked out
       from the answers each time they are asked for; there is no second state to keep in step.

The agenda is a sequence of stages. The turns of one stage are due together and do not hear each
other; a stage is reached when all before it are settled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from debate_orchestrator.core.events import Answer, Asked, Declined, Event, Noted, Opened, Spoiled, Spoke, Voted
from debate_orchestrator.core.record import Record
from debate_orchestrator.core.rules import JUDGE, Phase, Turn, id_of
from debate_orchestrator.core.shapes import Terms
from debate_orchestrator.core.verdict import (
    Verdict,
    conceded,
    final_verdict,
)
from debate_orchestrator.errors import OutOfTurn, complaint

ATTEMPTS = 2
"""How often a structured reply is asked for before the judge counts as absent."""

Stage = tuple[Turn, ...]


class Debate(Record):
    """One debate, as far as its events go."""

    def __init__(self, events: Iterable[Event]):
        """Folds `events`, the first of which is Opened; OutOfTurn where one does not fit."""
        rest = iter(events)
        opened = next(rest, None)
        if not isinstance(opened, Opened):
            raise OutOfTurn(complaint("the first event", "none that opens a debate", "opened"))
        super().__init__(opened)
        self._turns: dict[str, Turn] = {}
        self._due: Stage | None = None
        for event in rest:
            self.take(event)

    def admits(self, event: Event) -> bool:
        """Whether an event would change anything: False for an answer that is on record already, word for
        word. OutOfTurn for whatever is not due."""
        if isinstance(event, Opened):
            raise OutOfTurn(complaint("opened", "a second opening", "one debate to a journal"))
        if isinstance(event, Noted):
            return True
        settled = self.answers.get(event.turn)
        if settled is not None and settled == event:
            return False
        self._must_be_due(event.turn)
        return True

    def take(self, event: Event) -> bool:
        """Folds one event; True if it changed anything. As `admits`, and nothing has changed where it raises."""
        if not self.admits(event):
            return False
        match event:
            case Noted():
                self.notes.append(event)
            case Asked():
                self.asked.setdefault(event.turn, []).append(event)
            case Spoiled():
                self.spoiled.setdefault(event.turn, []).append(event)
                if len(self.spoiled[event.turn]) >= ATTEMPTS:
                    self._settle(event)
            case Spoke() | Declined() | Voted():
                self._settle(event)
        return True

    def _settle(self, answer: Answer) -> None:
        self.answers[answer.turn] = answer
        self._due = None

    def _must_be_due(self, turn_id: str) -> None:
        due = self.due()
        if any(turn.id == turn_id for turn in due):
            return
        if turn_id in self.answers:
            raise OutOfTurn(complaint(turn_id, "a second answer", "one answer to a turn", "The first stands."))
        names = ", ".join(turn.id for turn in due) or "none, the debate is complete"
        raise OutOfTurn(complaint(turn_id, "an answer to a turn that is not due", f"one of: {names}"))

    def due(self) -> Stage:
        """The turns that must be taken now; empty when the debate is complete. They are independent."""
        if self._due is None:
            left = (tuple(turn for turn in stage if turn.id not in self.answers) for stage in self.stages())
            self._due = next((turns for turns in left if turns), ())
        return self._due

    @property
    def complete(self) -> bool:
        return not self.due()

    def stages(self) -> Iterator[Stage]:
        """The agenda as far as the answers so far decide it, in order. Stop at the first stage that is
        not settled: what follows it may yet change."""
        for phase in self.format.before:
            yield from self._unrolled(phase, None)
        for round in range(1, self.rounds + 1):
            for phase in self.format.round:
                for stage in self._unrolled(phase, round):
                    yield stage
                    if self._gave_up(stage):
                        yield from self._closing()
                        return
        yield from self._closing()

    def _closing(self) -> Iterator[Stage]:
        for phase in self.format.after:
            yield from self._unrolled(phase, None, closing=True)

    def _unrolled(self, phase: Phase, round: int | None, *, closing: bool = False) -> Iterator[Stage]:
        setup = self.opened.setup
        if not phase.when.holds(rounds=self.rounds, strictness=setup.strictness, round=round):
            return
        if phase.on == "convergence" and (round is None or not self.intervened(round)):
            return
        turns = tuple(self._turn(phase, seat, round, closing) for seat in self._seats(phase, round))
        if phase.order == "at once":
            yield turns
        else:
            yield from ((one,) for one in turns)

    def _turn(self, phase: Phase, seat: str, round: int | None, closing: bool = False) -> Turn:
        turn_id = id_of(phase, seat, round=round, closing=closing)
        if turn_id not in self._turns:
            self._turns[turn_id] = Turn(id=turn_id, seat=seat, phase=phase, round=round, closing=closing)
        return self._turns[turn_id]

    def _seats(self, phase: Phase, round: int | None) -> tuple[str, ...]:
        sides = tuple(side for side in self.speaking_order() if side in phase.seats)
        if phase.on == "convergence" and round is not None:
            sides = tuple(side for side in sides if side in self.finding(round).sides)
        if JUDGE not in phase.seats:
            return sides
        return sides + (self.judges if phase.panel == "every judge" else self.judges[:1])

    def turn(self, turn_id: str) -> Turn:
        """The turn with that id, due or settled; OutOfTurn if the agenda has none so far."""
        for stage in self.stages():
            for one in stage:
                if one.id == turn_id:
                    return one
            if any(one.id not in self.answers for one in stage):
                break
        raise OutOfTurn(complaint(turn_id, "no such turn so far", "a turn of this debate"))

    def settled(self) -> list[Turn]:
        """Every turn that has its answer, in agenda order."""
        done = []
        for stage in self.stages():
            done += [turn for turn in stage if turn.id in self.answers]
            if any(turn.id not in self.answers for turn in stage):
                break
        return done

    def heard(self, listener: Turn) -> list[Turn]:
        """The speeches that the taker of this turn has heard, in agenda order: those of earlier stages
        whose phase is heard by the seat. Ballots are never among them."""
        heard: list[Turn] = []
        for stage in self.stages():
            if any(turn.id == listener.id for turn in stage):
                break
            heard += [turn for turn in stage if turn.id in self.answers]
        return [
            turn
            for turn in heard
            if turn.phase.reply == "text" and (listener.role in turn.phase.heard_by or turn.seat == listener.seat)
        ]

    def own_ballots(self, seat: str) -> list[Turn]:
        """The turns in which this judge has voted so far."""
        return [turn for turn in self.settled() if turn.seat == seat and self.ballot(turn.id) is not None]

    def terms(self, turn: Turn) -> Terms:
        """What the fields of that turn's shape refer to."""
        setup, rubric = self.opened.setup, self.format.rubric
        return Terms(
            sides=self.format.sides,
            criteria=self.criteria,
            least=rubric.least,
            most=rubric.most,
            rounds=self.rounds,
            strictness=setup.strictness,
            turns=tuple(heard.id for heard in self.heard(turn)),
        )

    def conceded(self) -> str | None:
        """The side that gave up its whole position; `both` where they did so at once; None otherwise."""
        for stage in self.stages():
            if any(turn.id not in self.answers for turn in stage):
                break
            if gave_up := self._gave_up(stage):
                return gave_up[0] if len(gave_up) == 1 else "both"
        return None

    def _gave_up(self, stage: Stage) -> tuple[str, ...]:
        """The sides that conceded the debate in this stage, by their own word or by the ballots cast in it."""
        answers = [self.answers[turn.id] for turn in stage if turn.id in self.answers]
        own = tuple(turn.seat for turn in stage if self.concedes(turn))
        found = conceded([answer for answer in answers if isinstance(answer, Voted)])
        return own or ((found,) if found else ())

    def verdict(self) -> Verdict | None:
        """What the final ballots and the scores add up to; None until there is a final ballot."""
        finals = self.finals()
        if not finals:
            return None
        return final_verdict(finals, self.results(), self.format.sides, self.conceded(), bool(self.persisted()))
