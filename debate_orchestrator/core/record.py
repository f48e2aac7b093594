"""What is on record: the answers so far, and what the ballots among them say of each round.

Knows turns only by their ids: who is next is `debate.Debate`'s to say, which builds on this.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from debate_orchestrator.core.events import Answer, Asked, Noted, Opened, Reply, Spoiled, Spoke, Unanswered, Voted
from debate_orchestrator.core.rules import JUDGE, Format, Slot, Turn, calendar, judges
from debate_orchestrator.core.shapes import Shape
from debate_orchestrator.core.verdict import Finding, RoundResult, conceded, finding, round_result, sums


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
        self._calendar: list[Slot] = []

    @property
    def format(self) -> Format:
        return self.opened.format

    @property
    def rounds(self) -> int:
        return self.opened.setup.rounds

    @property
    def judges(self) -> tuple[str, ...]:
        return judges(len(self.cast[JUDGE]))

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
            self._calendar = list(calendar(self.format, self.rounds, self.opened.setup.strictness))
        return self._calendar

    def ballots(self, round: int) -> list[Voted]:
        """The scored ballots that count for a round, in the order of the panel; none before the whole
        panel has voted."""
        return self._votes([slot for slot in self.calendar() if slot.round == round], "scores")

    def finals(self) -> list[Voted]:
        """The final ballots that count; none before the whole panel has voted."""
        return self._votes([slot for slot in self.calendar() if slot.closing], "winner")

    def _votes(self, slots: Sequence[Slot], field: str) -> list[Voted]:
        """The ballots of the phases whose shape has that field."""
        ids = self._vote_ids(slots, field)
        if any(turn_id not in self.answers for turn_id in ids):
            return []
        return [ballot for turn_id in ids if (ballot := self.ballot(turn_id)) is not None]

    def _vote_ids(self, slots: Sequence[Slot], field: str) -> list[str]:
        return [
            slot.turn_id(seat)
            for slot in slots
            if field in self.format.shapes.get(slot.phase.reply, {})
            for stage in slot.stages((), self.judges)
            for seat in stage
        ]

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
        return [vote.ballot["feedback"][side] for vote in self.ballots(round - 1) if "feedback" in vote.ballot]

    def result(self, round: int) -> RoundResult | None:
        """The scores and the winner of a round; None until it is judged."""
        ballots = self.ballots(round)
        return round_result(round, ballots, self.format.sides, self.criteria) if ballots else None

    def unjudged(self, round: int) -> bool:
        """Whether a round's panel has had its turns, and no ballot of theirs counts."""
        return self._voted(round) and not self.ballots(round)

    def _voted(self, round: int) -> bool:
        """Whether the whole panel of a round has had its turns; False where the round has no ballots."""
        return self.judged(round) and all(turn_id in self.answers for turn_id in self._round_votes(round))

    def judged(self, round: int) -> bool:
        """Whether a round is one that gets scored, when its turn comes."""
        return bool(self._round_votes(round))

    def _round_votes(self, round: int) -> list[str]:
        return self._vote_ids([slot for slot in self.calendar() if slot.round == round], "scores")

    def results(self) -> list[RoundResult]:
        return [result for n in range(1, self.rounds + 1) if (result := self.result(n)) is not None]

    def results_of(self, judge: str) -> list[RoundResult]:
        """The rounds as one judge of the panel sees them: by that judge's ballots alone."""
        own = [[vote for vote in self.ballots(n) if vote.turn.endswith(f".{judge}")] for n in range(1, self.rounds + 1)]
        made = enumerate(own, start=1)
        return [round_result(n, votes, self.format.sides, self.criteria) for n, votes in made if votes]

    def totals(self) -> dict[str, Fraction]:
        """Side to the sum of its round scores."""
        return sums(self.results(), self.format.sides)
