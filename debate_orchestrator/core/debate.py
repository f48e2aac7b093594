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
from fractions import Fraction

from debate_orchestrator.core.events import (
    Answer,
    Asked,
    Event,
    Noted,
    Opened,
    Reply,
    Spoiled,
    Spoke,
    Voted,
)
from debate_orchestrator.core.rules import JUDGE, Format, Phase, Turn, id_of, judges
from debate_orchestrator.core.shapes import Shape, Terms
from debate_orchestrator.core.verdict import (
    Finding,
    RoundResult,
    Verdict,
    conceded,
    final_verdict,
    finding,
    round_result,
)
from debate_orchestrator.errors import OutOfTurn, complaint

ATTEMPTS = 2
"""How often a structured reply is asked for before the judge counts as absent."""

Stage = tuple[Turn, ...]


class Debate:
    """One debate, as far as its events go."""

    def __init__(self, events: Iterable[Event]):
        """Folds `events`, the first of which is Opened; OutOfTurn where one does not fit."""
        rest = iter(events)
        opened = next(rest, None)
        if not isinstance(opened, Opened):
            raise OutOfTurn(complaint("the first event", "none that opens a debate", "opened"))
        self.opened: Opened = opened
        self.answers: dict[str, Answer] = {}
        """Turn id to the answer that settled it."""
        self.spoiled: dict[str, list[Spoiled]] = {}
        self.asked: dict[str, list[Asked]] = {}
        self.notes: list[Noted] = []
        self._turns: dict[str, Turn] = {}
        self._due: Stage | None = None
        for event in rest:
            self.take(event)

    # What is fixed

    @property
    def format(self) -> Format:
        return self.opened.format

    @property
    def rounds(self) -> int:
        return self.opened.setup.rounds

    @property
    def judges(self) -> tuple[str, ...]:
        return judges(len(self.opened.cast[JUDGE]))

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria that apply in this debate."""
        return tuple(
            name
            for name, criterion in self.format.rubric.criteria.items()
            if criterion.when.holds(rounds=self.rounds, strictness=self.opened.setup.strictness)
        )

    def speaking_order(self) -> tuple[str, ...]:
        """The sides, whoever was chosen to speak first before the others."""
        sides = self.format.sides
        first = self.opened.setup.first
        return (first, *(side for side in sides if side != first)) if first in sides else sides

    # Taking events

    def take(self, event: Event) -> bool:
        """Folds one event; True if it changed anything.

        False for an answer that is already on record, word for word. OutOfTurn for whatever was not
        due, and nothing has changed then.
        """
        if isinstance(event, Opened):
            raise OutOfTurn(complaint("opened", "a second opening", "one debate to a journal"))
        if isinstance(event, Noted):
            self.notes.append(event)
            return True
        settled = self.answers.get(event.turn)
        if settled is not None and not isinstance(event, Asked) and settled == event:
            return False
        self._must_be_due(event.turn)
        self._due = None if not isinstance(event, Asked) else self._due
        if isinstance(event, Asked):
            self.asked.setdefault(event.turn, []).append(event)
        elif isinstance(event, Spoiled):
            self.spoiled.setdefault(event.turn, []).append(event)
            if len(self.spoiled[event.turn]) >= ATTEMPTS:
                self.answers[event.turn] = event
        else:
            self.answers[event.turn] = event
        return True

    def _must_be_due(self, turn_id: str) -> None:
        due = self.due()
        if any(turn.id == turn_id for turn in due):
            return
        if turn_id in self.answers:
            raise OutOfTurn(complaint(turn_id, "a second answer", "one answer to a turn", "The first stands."))
        names = ", ".join(turn.id for turn in due) or "none, the debate is complete"
        raise OutOfTurn(complaint(turn_id, "an answer to a turn that is not due", f"one of: {names}"))

    # The agenda

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

    # What was said

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

    def reply(self, turn: Turn) -> Reply:
        """The reply that settled a turn."""
        return self.answers[turn.id].reply

    def ballot(self, turn_id: str) -> Voted | None:
        """The ballot cast in that turn; None where none counts."""
        answer = self.answers.get(turn_id)
        return answer if isinstance(answer, Voted) else None

    def ballots(self, round: int) -> list[Voted]:
        """The scored ballots that count for a round, in the order of the panel."""
        found = [
            self.ballot(id_of(phase, seat, round=round))
            for phase in self.format.round
            if "scores" in self.format.shapes.get(phase.reply, {})
            for seat in self.judges
        ]
        return [ballot for ballot in found if ballot is not None]

    def own_ballots(self, seat: str) -> list[Turn]:
        """The turns in which this judge has voted so far."""
        return [turn for turn in self.settled() if turn.seat == seat and self.ballot(turn.id) is not None]

    def shape(self, turn: Turn) -> Shape | None:
        """The shape of reply that a turn wants; None for a speech."""
        return None if turn.phase.reply == "text" else self.format.shapes[turn.phase.reply]

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

    # What follows from it

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

    def concedes(self, turn: Turn) -> bool:
        """Whether a debater's speech holds, on a line of its own, the line that concedes the debate."""
        answer = self.answers.get(turn.id)
        if turn.judging or not isinstance(answer, Spoke):
            return False
        said, text = self.format.lines.concede, answer.reply.text
        return said in text and any(line.strip() == said for line in text.splitlines())

    def finding(self, round: int) -> Finding:
        """What the ballots of a round say of convergence."""
        return finding(self.ballots(round), self.format.sides)

    def intervened(self, round: int) -> bool:
        """Whether a round's convergence is answered by an intervention."""
        if self.rounds == 1 or not any(phase.on == "convergence" for phase in self.format.round):
            return False
        if not self.finding(round).detected or conceded(self.ballots(round)):
            return False
        earliest = round - self.format.intervention.most_in_a_row
        return earliest < 1 or not all(self.intervened(earlier) for earlier in range(earliest, round))

    def persisted(self) -> tuple[int, ...]:
        """The rounds that converged right after an intervention, and were flagged instead of answered again."""
        return tuple(
            n
            for n in range(2, self.rounds + 1)
            if self.finding(n).detected and self.intervened(n - 1) and not self.intervened(n)
        )

    def advice(self, side: str, round: int) -> list[str]:
        """The judges' advice from the round before to a side; empty in round 1 or with feedback off."""
        if round < 2 or not self.opened.setup.feedback:
            return []
        return [vote.ballot["feedback"][side] for vote in self.ballots(round - 1) if "feedback" in vote.ballot]

    def result(self, round: int) -> RoundResult | None:
        """The scores and the winner of a round; None until it is judged."""
        ballots = self.ballots(round)
        return round_result(round, ballots, self.format.sides, self.criteria) if ballots else None

    def results(self) -> list[RoundResult]:
        return [result for n in range(1, self.rounds + 1) if (result := self.result(n)) is not None]

    def totals(self) -> dict[str, Fraction]:
        """Side to the sum of its round scores."""
        results = self.results()
        return {side: sum((one.scores[side] for one in results), Fraction(0)) for side in self.format.sides}

    def verdict(self) -> Verdict | None:
        """What the final ballots and the scores add up to; None until there is a final ballot."""
        finals = [
            ballot
            for phase in self.format.after
            if "winner" in self.format.shapes.get(phase.reply, {})
            for seat in self.judges
            if (ballot := self.ballot(id_of(phase, seat, closing=True))) is not None
        ]
        if not finals:
            return None
        return final_verdict(finals, self.results(), self.format.sides, self.conceded(), bool(self.persisted()))
