"""What the votes add up to, round by round: scores and winners, and what judges found of the course of the debate."""

from __future__ import annotations

from fractions import Fraction

from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.record import Record
from debate_orchestrator.core.verdict import (
    ConvergenceFinding,
    RoundResult,
    conceded,
    finding,
    round_result,
    score_totals,
)
from debate_orchestrator.core.votes import Vote, mean


class Tally(Record):
    """A record, counted. Once the whole panel of a round has voted, nothing changes what comes of that, and it is
    remembered."""

    def __init__(self, opened: Opened):
        super().__init__(opened)
        self._findings: dict[int, ConvergenceFinding] = {}
        self._results: dict[int, RoundResult | None] = {}
        self._interventions: dict[int, bool] = {}

    def finding(self, round: int) -> ConvergenceFinding:
        """What the ballots of a round say of convergence."""
        if round not in self._findings:
            found = finding(self.ballots(round), self.format.sides)
            if not self.votes(round):
                return found
            self._findings[round] = found
        return self._findings[round]

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
        if round not in self._interventions:
            before = range(round - self.format.intervention.most_in_a_row, round)
            found = self._calls_for_one(round) and not all(n > 0 and self.intervened(n) for n in before)
            if not self.votes(round):
                return found
            self._interventions[round] = found
        return self._interventions[round]

    def _forget_interventions(self) -> None:
        """An early end leaves out the phases after it, which answer what is found."""
        self._interventions.clear()

    def _calls_for_one(self, round: int) -> bool:
        """Whether a round converges, in which something answers that, and no side has given up."""
        answering = [slot for slot in self.slots(round) if slot.phase.on == "convergence"]
        if not any(not self.cut_off(slot) for slot in answering):
            return False
        return self.finding(round).detected and not conceded(self.ballots(round))

    def persisted(self) -> tuple[int, ...]:
        """The rounds that converged right after an intervention, and were flagged instead of answered again."""
        return tuple(n for n in range(2, self.rounds + 1) if self.persists(n))

    def persists(self, round: int) -> bool:
        """Whether a round is one of those."""
        return self.finding(round).detected and self.intervened(round - 1) and not self.intervened(round)

    def advice(self, side: str, round: int) -> list[str]:
        """The judges' advice from the round before to a side; empty in round 1 or with feedback off."""
        if round < 2 or not self.opened.setup.feedback:
            return []
        return [vote.ballot["feedback"][side] for vote in self.ballots(round - 1) if vote.ballot.get("feedback")]

    def result(self, round: int) -> RoundResult | None:
        """The scores and the winner of a round; None until it is judged."""
        if round not in self._results:
            votes = self.votes(round)
            if not votes:
                return None
            absent = all(vote.absent for vote in votes)
            rules = (self.format.sides, self.opened.setup.quorum, self.labels)
            self._results[round] = None if absent else round_result(round, votes, *rules)
        return self._results[round]

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
        cast = self._cast(self.slots(round))
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
        return score_totals(self.scored(), self.format.sides)
