"""What is on record: the answers so far, and what the ballots among them say of each round.

Knows turns only by their ids: who is next is `debate.Debate`'s to say, which builds on this.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from debate_orchestrator.core.events import (
    Answer,
    Asked,
    Declined,
    Noted,
    Opened,
    Reply,
    Spoiled,
    Spoke,
    Unanswered,
    Voted,
)
from debate_orchestrator.core.exchange import Exchange
from debate_orchestrator.core.hearing import Heard, heard, writes_lines_for
from debate_orchestrator.core.parts import JUDGE, MIRRORED, Phase
from debate_orchestrator.core.rules import Format, Slot, Turn, calendar, judges
from debate_orchestrator.core.shapes import Shape
from debate_orchestrator.core.verdict import Finding, RoundResult, conceded, finding, round_result, sums
from debate_orchestrator.core.votes import Reading, Vote, mean, read_ballot


class _Cast(NamedTuple):
    """The turns in which one judge votes in one phase, the mirrored one last."""

    judge: str
    shape: Shape
    turns: tuple[str, ...]


class Record:
    """The answers to the turns of one debate."""

    def __init__(self, opened: Opened):
        self.opened = opened
        self.answers: dict[str, Answer] = {}
        """Turn id to the answer that settled it."""
        self.spoiled: dict[str, list[Spoiled]] = {}
        self.asked: dict[str, list[Asked]] = {}
        self.unanswered: dict[str, list[Unanswered]] = {}
        self.notes: list[Noted] = []
        self.cast = dict(opened.cast)
        """Who fills the seats now."""
        self.max_cost = opened.max_cost
        self.exchange = Exchange(opened.format)
        self._calendar: list[Slot] = []
        self._heard: dict[str, Heard] = {}
        self._readings: dict[str, Reading] = {}
        self._conceding: dict[str, bool] = {}
        self._sides_end = tuple(f".{side}" for side in opened.format.sides)

    @property
    def format(self) -> Format:
        return self.opened.format

    @property
    def rounds(self) -> int:
        return self.opened.setup.rounds

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges' seats; none where the format has nobody judge."""
        return judges(len(self.cast.get(JUDGE, ()))) if JUDGE in self.format.seated else ()

    @property
    def weights(self) -> dict[str, Fraction]:
        """The criteria that apply in this debate, with how much each counts."""
        return {name: Fraction(str(self.format.rubric.criteria[name].weight)) for name in self.criteria}

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

    def reply(self, turn: Turn) -> Reply:
        """The reply that settled a turn."""
        return self.answers[turn.id].reply

    def shape(self, turn: Turn) -> Shape | None:
        """The shape of reply that a turn wants; None for a speech."""
        return None if turn.phase.reply == "text" else self.format.shapes[turn.phase.reply]

    def ballot(self, turn_id: str) -> Voted | None:
        """The ballot cast in that turn; None where none counts."""
        answer = self.answers.get(turn_id)
        return answer if isinstance(answer, Voted) else None

    def calendar(self) -> list[Slot]:
        """Every phase that this debate may have, in order."""
        if not self._calendar:
            setup = self.opened.setup
            self._calendar = list(calendar(self.format, self.rounds, setup.strictness, setup.options))
        return self._calendar

    @property
    def labels(self) -> dict[str, str]:
        """The winner that each label stands for, where votes are labels; empty where judges name winners or score."""
        shapes = [self.format.shapes.get(phase.reply, {}) for phase in self.format.phases() if self.format.votes(phase)]
        named = any({"winner", "scores"} & set(shape) for shape in shapes)
        return {} if named else self.format.winner_of

    def mirrors(self, phase: Phase) -> bool:
        """Whether judges take a second, mirrored turn in a phase."""
        return self.opened.setup.mirror and self.format.votes(phase)

    def ballots(self, round: int) -> list[Voted]:
        """The ballots that count for a round, as judges cast them who saw it straight, in the order of the
        panel; none before the whole panel has voted."""
        return self._ballots(self.votes(round))

    def finals(self) -> list[Voted]:
        """The same of the final ballots."""
        return self._ballots(self.final_votes())

    def _ballots(self, votes: Sequence[Vote]) -> list[Voted]:
        counting = [vote for vote in votes if not vote.absent]
        return [ballot for vote in counting if (ballot := self.ballot(vote.turn)) is not None]

    def votes(self, round: int) -> list[Vote]:
        """What each judge makes of a round, absent ones among them; none before the whole panel has voted."""
        return self._votes([slot for slot in self.calendar() if slot.round == round])

    def final_votes(self) -> list[Vote]:
        """What each judge makes of the debate."""
        return self._votes([slot for slot in self.calendar() if slot.closing])

    def blind_votes(self) -> list[Vote]:
        """What each judge held before the first word; none where nobody was asked."""
        return self._votes([slot for slot in self.calendar() if slot.phase.option == "blind"])

    def _votes(self, slots: Sequence[Slot]) -> list[Vote]:
        cast = self._cast(slots)
        if any(turn_id not in self.answers for one in cast for turn_id in one.turns):
            return []
        return [
            Vote(
                judge=one.judge,
                turn=one.turns[0],
                straight=self._reading(one.shape, one.turns[0]),
                mirrored=self._reading(one.shape, one.turns[1]) if len(one.turns) > 1 else None,
                twice=len(one.turns) > 1,
            )
            for one in cast
        ]

    def _reading(self, shape: Shape, turn_id: str) -> Reading | None:
        """What a ballot says of the sides as they are; None where none counts."""
        if (vote := self.ballot(turn_id)) is None:
            return None
        if turn_id not in self._readings:
            seen = self.seen(shape, vote)
            self._readings[turn_id] = read_ballot(seen, self.format.sides, self.weights, self.format.winner_of)
        return self._readings[turn_id]

    def seen(self, shape: Shape, vote: Voted) -> dict[str, Any]:
        """A ballot in the terms of the sides as they are, in whichever presentation it was cast."""
        return self.exchange.ballot(shape, vote.ballot) if vote.turn.endswith(MIRRORED) else vote.ballot

    def _cast(self, slots: Sequence[Slot]) -> list[_Cast]:
        """The turns in which each judge votes in some phases."""
        made: list[_Cast] = []
        for slot in slots:
            if not self.format.votes(slot.phase):
                continue
            mirror, shape = self.mirrors(slot.phase), self.format.shapes[slot.phase.reply]
            voting = self.judges if slot.phase.panel == "every judge" else self.judges[:1]
            for judge in voting:
                seats = (judge, judge + MIRRORED) if mirror else (judge,)
                made.append(_Cast(judge, shape, tuple(slot.turn_id(seat) for seat in seats)))
        return made

    def concedes(self, turn: Turn) -> bool:
        """Whether a debater's speech holds, on a line of its own, the line that concedes the debate."""
        answer = self.answers.get(turn.id)
        if not turn.speaking or not isinstance(answer, Spoke):
            return False
        if turn.id not in self._conceding:
            self._conceding[turn.id] = self.says(self.format.lines.concede, turn, answer.reply.text)
        return self._conceding[turn.id]

    def says(self, line: str, turn: Turn, text: str) -> bool:
        """Whether a speech says something to the engine: that line on a line of its own, as others hear it; not in
        private, and not after the words that are heard."""
        seen = heard(text, turn.phase, private=self.format.private).text
        return line in seen and any(said.strip() == line for said in seen.split("\n"))

    def declined(self, turn_id: str) -> bool:
        """Whether a side declined to argue in a turn: in a speech, or in a structured reply."""
        answer = self.answers.get(turn_id)
        if isinstance(answer, Declined):
            return True
        return isinstance(answer, Voted) and turn_id.endswith(self._sides_end) and answer.ballot.get("refused") is True

    def hear(self, turn: Turn) -> Heard:
        """What others hear of a speech that was given: see `hearing`."""
        if turn.id not in self._heard:
            self._heard[turn.id] = self.aloud(self.reply(turn).text, turn.phase)
        return self._heard[turn.id]

    def aloud(self, text: str, phase: Phase | None = None) -> Heard:
        """What others hear of a text, which has the length of a phase if it has any."""
        rules, material = self.format, [file.text for file in self.opened.setup.context]
        return heard(text, phase, private=rules.private, quotes=rules.quotes, material=material)

    def writes_for_the_other(self, turn: Turn) -> bool:
        """Whether a speech has lines for the other side in it, where the format forbids that."""
        if "other's lines" not in self.format.forbids or not isinstance(self.answers.get(turn.id), Spoke):
            return False
        names = [self.format.seats[side].name for side in self.format.sides if side != turn.seat]
        return writes_lines_for(self.hear(turn).text, names)

    def finding(self, round: int) -> Finding:
        """What the ballots of a round say of convergence."""
        return finding(self.ballots(round), self.format.sides)

    def moved(self, round: int) -> tuple[str, ...]:
        """The sides that answer the intervention of a round."""
        course = self.opened.course
        return self.finding(round).sides if course is None else course.interventions.get(round, ())

    def given_up(self, round: int) -> str | None:
        """The side that the ballots of a round hold to have given up its whole position; it ends the debate."""
        course = self.opened.course
        if course is None:
            return conceded(self.ballots(round))
        return course.conceded.get(round) if self._voted(round) else None

    def intervened(self, round: int) -> bool:
        """Whether a round's convergence is answered by an intervention."""
        if self.opened.course is not None:
            return round in self.opened.course.interventions
        if not any(slot.phase.on == "convergence" and slot.round == round for slot in self.calendar()):
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
        return [vote.ballot["feedback"][side] for vote in self.ballots(round - 1) if vote.ballot.get("feedback")]

    def result(self, round: int) -> RoundResult | None:
        """The scores and the winner of a round; None until it is judged."""
        votes = self.votes(round)
        if all(vote.absent for vote in votes):
            return None
        return round_result(round, votes, self.format.sides, self.opened.setup.quorum, self.labels)

    def unjudged(self, round: int) -> bool:
        """Whether a round's panel has had its turns, and no ballot of theirs counts."""
        return self._voted(round) and self.result(round) is None

    def _voted(self, round: int) -> bool:
        """Whether the whole panel of a round has had its turns; False where the round has no ballots."""
        return self.judged(round) and all(turn_id in self.answers for turn_id in self._round_votes(round))

    def judged(self, round: int) -> bool:
        """Whether a round is one that gets scored, when its turn comes."""
        return bool(self._round_votes(round))

    def _round_votes(self, round: int) -> list[str]:
        cast = self._cast([slot for slot in self.calendar() if slot.round == round])
        return [turn_id for one in cast for turn_id in one.turns]

    def results(self) -> list[RoundResult]:
        """The rounds that were judged."""
        return [result for n in range(1, self.rounds + 1) if (result := self.result(n)) is not None]

    def scored(self) -> list[RoundResult]:
        """Everything that gave points: the rounds, and final ballots that score the debate as a whole."""
        votes = [vote for vote in self.final_votes() if vote.scores]
        return [*self.results(), *([round_result(0, votes, self.format.sides)] if votes else [])]

    def means(self) -> dict[str, dict[str, Fraction]]:
        """Side to criterion to the mean of what judges gave it, over all ballots whose scores count; empty without
        any."""
        marks: dict[str, dict[str, list[Fraction]]] = {}
        for one in self._cast([slot for slot in self.calendar() if slot.phase.option != "blind"]):
            votes = [vote for turn_id in one.turns if (vote := self.ballot(turn_id)) is not None]
            for vote in votes if "scores" in one.shape and len(votes) == len(one.turns) else ():
                scores = self.seen(one.shape, vote)["scores"]
                for side in self.format.sides:
                    given = marks.setdefault(side, {})
                    for name in self.criteria:
                        given.setdefault(name, []).append(Fraction(str(scores[side][name])))
        return {side: {name: mean(all_of) for name, all_of in given.items()} for side, given in marks.items()}

    def flips(self) -> tuple[int, int]:
        """How many of the votes that were cast in both presentations changed with it, and how many there are."""
        every = [vote for slot in self.calendar() for vote in self._votes([slot])]
        pairs = [vote for vote in every if vote.twice and not vote.absent]
        return sum(not vote.stable for vote in pairs), len(pairs)

    def results_of(self, judge: str, *, mirrored: bool = False) -> list[RoundResult]:
        """The rounds as one judge of the panel saw them in one presentation: by those ballots alone, in the
        terms of the sides as they are."""
        made = []
        for n in range(1, self.rounds + 1):
            own = [vote for vote in self.votes(n) if vote.judge == judge]
            given = [vote.mirrored if mirrored else vote.straight for vote in own]
            votes = [Vote(judge=judge, turn="", straight=one) for one in given if one is not None]
            made += [round_result(n, votes, self.format.sides)] if votes else []
        return made

    def totals(self) -> dict[str, Fraction]:
        """Side to the sum of its scores."""
        return sums(self.scored(), self.format.sides)
