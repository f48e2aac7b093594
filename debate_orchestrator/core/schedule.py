"""The order of a debate: the stages as far as they are decided, what is due, who has heard what.

Phases that depend on what was said (interventions, concessions, early ends) are worked out from the answers.
The agenda is a sequence of stages. The turns of one stage are due together and do not hear each
other; a stage is reached when all before it are settled.

The work is done part by part: what comes before the rounds, each round, what comes after them. An answer decides
nothing about the parts before its own, so that the stages of those that are over are remembered, and only the part
under way is worked out anew after an answer. Folding a journal takes time that grows with its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby, islice
from typing import NamedTuple

from debate_orchestrator.core.events import Opened, Rejected
from debate_orchestrator.core.phases import JUDGE, MIRRORED, Slot, Turn
from debate_orchestrator.core.schema import ShapeContext
from debate_orchestrator.core.tally import Tally
from debate_orchestrator.core.verdict import Verdict, conceded, final_verdict
from debate_orchestrator.util.errors import OutOfTurn

Stage = tuple[Turn, ...]


class FloorQuestion(NamedTuple):
    """A question from the floor, as the taker of a turn hears it."""

    number: int
    """Its place among all that were put, from 0."""
    text: str
    new: bool
    """Whether they did not hear it in a turn before."""


class Schedule(Tally):
    """A debate's order, from what is on record."""

    def __init__(self, opened: Opened):
        super().__init__(opened)
        self._turns: dict[str, Turn] = {}
        parts = groupby(self.calendar(), lambda slot: (slot.round, slot.closing))
        self._parts = [list(slots) for _, slots in parts] or [[]]
        self._start_over()

    def _start_over(self) -> None:
        """Forgets what was worked out: something decides the order of the whole debate anew."""
        self._over: list[Stage] = []
        """The stages of the parts that are over."""
        self._reached: dict[str, Turn] = {}
        """Their turns, by id."""
        self._part, self._ended = 0, False
        """The part under way, and whether the rounds were over before it."""
        self._answered()
        self._forget_interventions()

    def _answered(self) -> None:
        """Forgets what was worked out of the part under way."""
        self._under_way: list[Stage] | None = None
        self._due: Stage | None = None

    def due_names(self) -> str:
        """The turns that are due, for a message."""
        return ", ".join(turn.id for turn in self.due()) or "none, the debate is complete"

    def due(self) -> Stage:
        """The turns that must be taken now; empty when the debate is complete. They are independent."""
        if self._due is None:
            self._due = tuple(turn for turn in self._last_stage() if turn.id not in self.answers)
        return self._due

    @property
    def complete(self) -> bool:
        return not self.due()

    def stages(self) -> Iterator[Stage]:
        """The agenda as far as it is decided: every settled stage, in order, and the one that is due."""
        under_way = self._reach()
        return chain(self._over, under_way)

    def _last_stage(self) -> Stage:
        """The stage that is due, or the last of a complete debate."""
        return next(chain(reversed(self._reach()), reversed(self._over)), ())

    def _reach(self) -> list[Stage]:
        """The stages of the part under way, as far as they are decided; those before it are over."""
        while self._under_way is None:
            stages, ended = self._walk(self._parts[self._part])
            if self._part + 1 < len(self._parts) and self._is_settled(stages[-1:]):
                self._over += stages
                self._reached |= {turn.id: turn for stage in stages for turn in stage}
                self._part, self._ended = self._part + 1, ended
            else:
                self._under_way = stages
        return self._under_way

    def _is_settled(self, stages: Sequence[Stage]) -> bool:
        return all(turn.id in self.answers for stage in stages for turn in stage)

    def _walk(self, slots: Sequence[Slot]) -> tuple[list[Stage], bool]:
        """The stages of a part, up to the first that is not settled; whether the rounds are over after it."""
        ended, stages = self._ended, list[Stage]()
        for slot in slots:
            if ended and not slot.closing:
                continue
            for stage in self._stages_of(slot):
                stages.append(stage)
                if not self._is_settled([stage]):
                    return stages, ended
                if not slot.closing and self._gave_up(stage):
                    ended = True
                    break
            ended = ended or slot.turn_id("") == self.closed_after
        return stages, ended or self._refused(slots)

    def _refused(self, slots: Sequence[Slot]) -> bool:
        """Whether a refusal to argue in a part, which is over, ends the debate."""
        if self.format.after_refusal == "goes on":
            return False
        return any(self.declined(slot.turn_id(side)) for slot in slots for side in slot.phase.seats)

    def _stages_of(self, slot: Slot) -> Iterator[Stage]:
        if slot.phase.on == "convergence" and not self.intervened(slot.round or 0):
            return
        order = self.speaking_order()
        if slot.phase.on == "convergence":
            order = tuple(side for side in order if side in self.moved(slot.round or 0))
        for seats in slot.stages(order, self.judges, mirror=self.mirrors(slot.phase)):
            yield tuple(self._turn(slot, seat) for seat in seats)

    def most_turns(self) -> int:
        """How many turns the debate may have, with those that answer something found."""
        order = self.speaking_order()
        stages = (slot.stages(order, self.judges, mirror=self.mirrors(slot.phase)) for slot in self.calendar())
        return sum(len(seats) for one in stages for seats in one)

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
        if found := self._find(turn_id):
            return found
        raise OutOfTurn(f"{turn_id}: this turn is not due. Due now: {self.due_names()}.")

    def _find(self, turn_id: str) -> Turn | None:
        """The turn with that id among those that were reached."""
        under_way = (turn for stage in self._reach() for turn in stage if turn.id == turn_id)
        return self._reached.get(turn_id) or next(under_way, None)

    def _place_of(self, turn: Turn) -> str:
        """The place in the calendar of a turn's phase."""
        return turn.id.removesuffix(turn.seat + (MIRRORED if turn.mirrored else ""))

    def last_place(self) -> str | None:
        """The place of the last phase before what follows the rounds, if the debate is ended early now: the phase that
        is due where anybody in it was asked or has answered, so that every side has its turn in it, and otherwise the
        one before it; with the vote on a round whose speeches are all in. None where that leaves nothing out."""
        begun = {self._place_of(turn) for stage in self.stages() for turn in stage if self._is_begun(turn)}
        slots = self.calendar()
        last = max(n for n, slot in enumerate(slots) if slot.turn_id("") in begun)
        for n, slot in enumerate(slots[last + 1 :], start=last + 1):
            if slot.round != slots[last].round or slot.phase.on or set(slot.phase.seats) & set(self.format.sides):
                break
            last = n
        left = [slot for slot in slots[last + 1 :] if not slot.closing and not slot.phase.on]
        return slots[last].turn_id("") if left else None

    def _is_begun(self, turn: Turn) -> bool:
        """Whether a turn's brief was put, or answered."""
        return turn.id in self.answers or turn.id in self.asked

    @property
    def askable(self) -> tuple[str, ...]:
        """The seats that the floor may put a question to, `judge` for all judges, with or without a turn left."""
        return (*self.format.sides, *((JUDGE,) if self.judges else ()))

    def will_hear(self, seat: str) -> bool:
        """Whether a seat, `judge` for all judges, has a turn yet, as things stand, in which it would hear a question
        that is put now."""
        if not self.due():
            return False
        due = self._place_of(self.due()[0])
        taking = self.judges if seat == JUDGE else (seat,)
        for slot in islice(self.calendar(), self._places[due], None):
            if seat not in slot.phase.seats or self.cut_off(slot) or (slot.phase.on and slot.turn_id("") != due):
                continue
            if any(slot.turn_id(one) not in self.begun for one in taking):
                return True
        return False

    def _begin(self) -> None:
        """Marks the turns of the stage that is due as begun: a brief of theirs is put, or answered."""
        for turn in self._last_stage():
            if turn.id not in self.begun:
                self.begun[turn.id] = self._questions_before(turn)
                self._last_begun[turn.seat, turn.mirrored] = len(self.raised)

    def put_to(self, turn: Turn) -> list[FloorQuestion]:
        """The questions from the floor that the taker of a turn has heard: those put to their seat before the stage
        had begun."""
        known, before = self._questions_before(turn)
        return [
            FloorQuestion(n, one.question, n >= known)
            for n, one in enumerate(self.raised[:before])
            if turn.role in one.to
        ]

    def new_to(self, turn: Turn) -> list[FloorQuestion]:
        """Those of them that they had not heard in a turn before."""
        known, before = self._questions_before(turn)
        return [
            FloorQuestion(n, one.question, new=True)
            for n, one in enumerate(self.raised[known:before], start=known)
            if turn.role in one.to
        ]

    def _questions_before(self, turn: Turn) -> tuple[int, int]:
        return self.begun.get(turn.id) or (self._last_begun.get((turn.seat, turn.mirrored), 0), len(self.raised))

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
            and not isinstance(self.answers.get(turn.id), Rejected)
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

    def terms(self, turn: Turn) -> ShapeContext:
        """What the fields of that turn's shape refer to."""
        setup, rubric = self.opened.setup, self.format.rubric
        return ShapeContext(
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
