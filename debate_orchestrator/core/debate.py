"""Events in, next turns out: the fold that is the whole state of a debate.

Law 1: an event out of turn is refused and changes nothing; the same answer twice is harmless.
Law 2: what a seat hears follows the agenda's order, never the order in which answers arrived.
Law 3: phases that depend on what was said (interventions, concessions, early ends) are worked out
       from the answers each time they are asked for; there is no second state to keep in step. (What is
       due is remembered until the next answer, and only `take` changes the answers.)

The agenda is a sequence of stages. The turns of one stage are due together and do not hear each
other; a stage is reached when all before it are settled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from debate_orchestrator.core.events import (
    Answer,
    Asked,
    Capped,
    Declined,
    Event,
    Noted,
    Opened,
    Recast,
    Spoiled,
    Spoke,
    Unanswered,
    Voted,
)
from debate_orchestrator.core.parts import MIRRORED
from debate_orchestrator.core.record import Record
from debate_orchestrator.core.rules import Slot, Turn
from debate_orchestrator.core.shapes import Terms, check
from debate_orchestrator.core.verdict import (
    Verdict,
    conceded,
    final_verdict,
)
from debate_orchestrator.errors import OutOfTurn, complaint

ATTEMPTS = 2
"""How often a reply is asked for before a judge counts as absent. A debater is never absent: nothing is
judged on a one-sided transcript."""

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
        word. OutOfTurn for whatever is not due, or is no answer to what was asked."""
        if isinstance(event, Opened):
            raise OutOfTurn(complaint("opened", "a second opening", "one debate to a journal"))
        if isinstance(event, Noted | Capped):
            return True
        if isinstance(event, Recast):
            return self._may_recast(event)
        if self.answers.get(event.turn) == event or self._is_known(event):
            return False
        turn = self._must_be_due(event.turn)
        self._must_answer(turn, event)
        return True

    def _is_known(self, event: Event) -> bool:
        """Whether a spoiled reply is on record already: the same words, and no brief put since."""
        if not isinstance(event, Spoiled):
            return False
        spoiled = self.spoiled.get(event.turn, [])
        return event in spoiled and len(spoiled) >= len(self.asked.get(event.turn, []))

    def _may_recast(self, event: Recast) -> bool:
        """Whether a new cast for a seat changes anything; OutOfTurn where the panel's size would change."""
        if self.complete:
            hint = "`debate judge` has other judges judge it again."
            raise OutOfTurn(complaint(f"recast {event.seat}", "a debate that is complete", "one with turns left", hint))
        before = self.cast.get(event.seat, ())
        if len(event.who) != len(before):
            raise OutOfTurn(complaint(f"recast {event.seat}", f"{len(event.who)} for it", f"{len(before)}, as before"))
        return event.who != before

    def _must_answer(self, turn: Turn, event: Asked | Unanswered | Answer) -> None:
        shape = self.shape(turn)
        answers = isinstance(event, Spoke | Declined | Voted)
        if isinstance(event, Declined) and turn.speaking:
            return
        if answers and isinstance(event, Voted) == (shape is None):
            wanted = "a speech" if shape is None else "a structured reply"
            raise OutOfTurn(complaint(turn.id, f"an answer that {event.kind}", wanted))
        if isinstance(event, Voted) and shape is not None and (wrong := check(shape, event.ballot, self.terms(turn))):
            raise OutOfTurn([f"{turn.id}: {one}" for one in wrong])

    def take(self, event: Event) -> bool:
        """Folds one event; True if it changed anything. As `admits`, and nothing has changed where it raises."""
        if not self.admits(event):
            return False
        match event:
            case Noted():
                self.notes.append(event)
            case Recast():
                self.cast[event.seat] = event.who
            case Capped():
                self.max_cost = event.max_cost
            case Unanswered():
                self.unanswered.setdefault(event.turn, []).append(event)
            case Asked():
                self.asked.setdefault(event.turn, []).append(event)
            case Spoiled():
                self.spoiled.setdefault(event.turn, []).append(event)
                turn = self.turn(event.turn)
                if len(self.spoiled[event.turn]) >= ATTEMPTS and not turn.speaking:
                    self._settle(event)
            case Spoke() | Declined() | Voted():
                self._settle(event)
        return True

    def _settle(self, answer: Answer) -> None:
        self.answers[answer.turn] = answer
        self._due = None

    def _must_be_due(self, turn_id: str) -> Turn:
        due = self.due()
        for turn in due:
            if turn.id == turn_id:
                return turn
        if turn_id in self.answers:
            raise OutOfTurn(complaint(turn_id, "a second answer", "one answer to a turn", "The first stands."))
        raise OutOfTurn(complaint(turn_id, "a turn that is not due", f"one of: {self._due_names()}"))

    def _due_names(self) -> str:
        return ", ".join(turn.id for turn in self.due()) or "none, the debate is complete"

    def due(self) -> Stage:
        """The turns that must be taken now; empty when the debate is complete. They are independent."""
        if self._due is None:
            *_, last = self.stages()
            self._due = tuple(turn for turn in last if turn.id not in self.answers)
        return self._due

    @property
    def complete(self) -> bool:
        return not self.due()

    def stages(self) -> Iterator[Stage]:
        """The agenda as far as it is decided: every settled stage, in order, and the one that is due."""
        for stage in self._agenda():
            yield stage
            if not all(turn.id in self.answers for turn in stage):
                return

    def _agenda(self) -> Iterator[Stage]:
        ended, reached = False, 0
        for slot in self.calendar():
            if slot.round is not None and slot.round > reached:
                ended = ended or self._refused(reached)
                reached = slot.round
            if ended and not slot.closing:
                continue
            for stage in self._stages_of(slot):
                yield stage
                if not slot.closing and self._gave_up(stage):
                    ended = True
                    break

    def _refused(self, round: int) -> bool:
        """Whether a refusal to argue in a round, which is over, ends the debate; in round 0, before the first."""
        if self.format.after_refusal == "goes on":
            return False
        slots = [slot for slot in self.calendar() if (slot.round or 0) == round and not slot.closing]
        return any(self.declined(slot.turn_id(side)) for slot in slots for side in slot.phase.seats)

    def _stages_of(self, slot: Slot) -> Iterator[Stage]:
        if slot.phase.on == "convergence" and not self.intervened(slot.round or 0):
            return
        order = self.speaking_order()
        if slot.phase.on == "convergence":
            order = tuple(side for side in order if side in self.moved(slot.round or 0))
        for seats in slot.stages(order, self.judges, mirror=self.mirrors(slot.phase)):
            yield tuple(self._turn(slot, seat) for seat in seats)

    def _turn(self, slot: Slot, seat: str) -> Turn:
        turn_id = slot.turn_id(seat)
        if turn_id not in self._turns:
            self._turns[turn_id] = Turn(
                id=turn_id,
                seat=seat.removesuffix(MIRRORED),
                phase=slot.phase,
                round=slot.round,
                closing=slot.closing,
                mirrored=seat.endswith(MIRRORED),
            )
        return self._turns[turn_id]

    def turn(self, turn_id: str) -> Turn:
        """The turn with that id, due or settled; OutOfTurn if the agenda has none so far."""
        for stage in self.stages():
            for one in stage:
                if one.id == turn_id:
                    return one
        raise OutOfTurn(complaint(turn_id, "a turn that is not due", f"one of: {self._due_names()}"))

    def settled(self) -> list[Turn]:
        """Every turn that has its answer, in agenda order."""
        return [turn for stage in self.stages() for turn in stage if turn.id in self.answers]

    def heard(self, listener: Turn) -> list[Turn]:
        """The speeches, and what a clerk found, that the taker of this turn has heard, in agenda order: those of
        earlier stages whose phase is heard by the seat. Ballots are never among them, nor replies that did not
        count. They are as they were given; a mirrored judge is shown them with the sides exchanged."""
        heard: list[Turn] = []
        for stage in self.stages():
            if any(turn.id == listener.id for turn in stage):
                break
            heard += stage
        return [
            turn
            for turn in heard
            if (turn.phase.reply == "text" or not turn.judging)
            and not isinstance(self.answers.get(turn.id), Spoiled)
            and (listener.role in self._hearers(turn) or turn.seat == listener.seat)
        ]

    def _hearers(self, turn: Turn) -> tuple[str, ...]:
        """The seats that are told of a settled turn."""
        heard_by = turn.phase.heard_by
        if not self.declined(turn.id):
            return heard_by
        return tuple(seat for seat in heard_by if seat in turn.phase.refusals_heard_by)

    def own_ballots(self, turn: Turn) -> list[Turn]:
        """The turns in which this judge has voted so far in the same presentation, without what it held before
        the first word."""
        return [
            one
            for one in self.settled()
            if one.seat == turn.seat and one.mirrored == turn.mirrored and one.phase.option != "blind"
            if self.ballot(one.id) is not None
        ]

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
            turns=tuple(self._named(turn, heard.id) for heard in self.heard(turn)),
            scales={name: rubric.scale(name) for name in self.criteria},
        )

    def _named(self, listener: Turn, turn_id: str) -> str:
        """A turn's id as the taker of a turn knows it."""
        return self.exchange.turn_id(turn_id) if listener.mirrored else turn_id

    def conceded(self) -> str | None:
        """The side that gave up its whole position; `both` where they did so at once; None otherwise. Where a
        debate is judged again, what only the earlier ballots found ends it, and is no finding of these."""
        for stage in self.stages():
            if all(turn.id in self.answers for turn in stage) and (gave_up := self._gave_up(stage)):
                said = any(self.concedes(turn) for turn in stage)
                if not said and conceded(self.ballots(stage[0].round or 0)) not in gave_up:
                    return None
                return gave_up[0] if len(gave_up) == 1 else "both"
        return None

    def _gave_up(self, stage: Stage) -> tuple[str, ...]:
        """The sides that conceded the debate in this stage: by their own word, or by the ballots of a round
        whose panel has voted in it."""
        own = tuple(turn.seat for turn in stage if self.concedes(turn))
        first = stage[0]
        if own or first.round is None or "conceded" not in (self.shape(first) or {}):
            return own
        if self._round_votes(first.round)[-1:] != [stage[-1].id] or stage[-1].id not in self.answers:
            return ()  # judges of a panel may vote one after another: the last of them ends it
        found = self.given_up(first.round)
        return (found,) if found else ()

    def verdict(self) -> Verdict | None:
        """What the final ballots and the scores add up to; None until there is a final ballot."""
        votes = self.final_votes()
        if all(vote.absent for vote in votes):
            return None
        said = [ballot.ballot.get("strength") for ballot in self.finals()]
        return final_verdict(
            votes,
            self.scored(),
            self.format.sides,
            quorum=self.opened.setup.quorum,
            blind=self.blind_votes(),
            by_swing=self.format.decided_by == "swing",
            winner_of=self.labels,
            measured=any("scores" in shape for shape in self.format.shapes.values()),
            concession=self.conceded(),
            persisted=bool(self.persisted()),
            said=[word for word in said if word is not None],
        )
