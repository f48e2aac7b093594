"""The order of a debate: the stages as far as they are decided, what is due, who has heard what.

Phases that depend on what was said (interventions, concessions, early ends) are worked out from the answers
each time they are asked for; there is no second state to keep in step. (What is worked out is remembered until
the next answer.)

The agenda is a sequence of stages. The turns of one stage are due together and do not hear each
other; a stage is reached when all before it are settled.
"""

from __future__ import annotations

from collections.abc import Iterator

from debate_orchestrator.core.events import Opened, Spoiled
from debate_orchestrator.core.parts import JUDGE, MIRRORED
from debate_orchestrator.core.shapes import Terms
from debate_orchestrator.core.tally import Tally
from debate_orchestrator.core.turns import Slot, Turn
from debate_orchestrator.core.verdict import Verdict, conceded, final_verdict
from debate_orchestrator.errors import OutOfTurn, complaint

Stage = tuple[Turn, ...]


class Agenda(Tally):
    """A debate's order, from what is on record."""

    def __init__(self, opened: Opened):
        super().__init__(opened)
        self._turns: dict[str, Turn] = {}
        self._reached: list[Stage] = []
        self._due: Stage | None = None

    def _moved_on(self) -> None:
        """Forgets what was worked out: something decides the order anew."""
        self._reached, self._due = [], None

    def due_names(self) -> str:
        """The turns that are due, for a complaint."""
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
        if not self._reached:
            self._reached = list(self._decided())
        return iter(self._reached)

    def _decided(self) -> Iterator[Stage]:
        for stage in self._agenda():
            yield stage
            if not all(turn.id in self.answers for turn in stage):
                return

    def _agenda(self) -> Iterator[Stage]:
        ended, reached, last = False, 0, self.closed_after
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
            ended = ended or slot.turn_id("") == last

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
        raise OutOfTurn(complaint(turn_id, "a turn that is not due", f"one of: {self.due_names()}"))

    def _place_of(self, turn: Turn) -> str:
        """The place in the calendar of a turn's phase."""
        where = (turn.phase, turn.round, turn.closing)
        return next(one.turn_id("") for one in self.calendar() if (one.phase, one.round, one.closing) == where)

    def under_way(self) -> str:
        """The place of the phase under way: the one that is due if anybody in it was asked or has answered, so that
        every side has its turn in it; the one before it otherwise."""
        due = self._place_of(self.due()[0])
        taken = [turn for stage in self.stages() for turn in stage if turn.id in self.answers or turn.id in self.asked]
        places = [place for turn in taken if (place := self._place_of(turn)) != due]
        return due if any(self._place_of(turn) == due for turn in taken) or not places else places[-1]

    def will_hear(self, seat: str) -> bool:
        """Whether a seat, `judge` for all judges, is sure to have a turn yet whose brief has not been put to it."""
        due = self._place_of(self.due()[0]) if self.due() else None
        places = [slot.turn_id("") for slot in self.calendar()]
        left = self.calendar()[places.index(due) :] if due is not None else []
        last = places.index(self.closed_after) if self.closed_after in places else len(places)
        taking = self.judges if seat == JUDGE else (seat,)
        for slot in left:
            place = slot.turn_id("")
            if seat not in slot.phase.seats or (slot.phase.on and place != due):
                continue
            if not slot.closing and places.index(place) > last:
                continue
            if any(slot.turn_id(one) not in self.answers and slot.turn_id(one) not in self.asked for one in taking):
                return True
        return False

    def put_to(self, turn: Turn) -> list[tuple[str, bool]]:
        """The questions from the floor that the taker of a turn has heard, each with whether it is new: not heard
        by them in a turn before."""
        if not self.raised:
            return []
        known: set[int] = set()
        for stage in self.stages():
            if any(one.id == turn.id for one in stage):
                break
            own = [one for one in stage if (one.seat, one.mirrored) == (turn.seat, turn.mirrored)]
            known.update(n for one in own for n in self._hears(one))
        return [(self.raised[n][0].question, n not in known) for n in self._hears(turn)]

    def _hears(self, turn: Turn) -> list[int]:
        """Which of the questions a turn's taker hears: those put to their seat before they were asked to take it."""
        return [n for n, (one, before) in enumerate(self.raised) if turn.role in one.to and turn.id not in before]

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
