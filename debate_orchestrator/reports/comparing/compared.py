"""One journal among others it is compared with: what it decided, by the letters of the first."""

from __future__ import annotations

from typing import NamedTuple

from debate_orchestrator.core.parts import CONSENSUS, NO_DECISION, TIE
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.core.votes import Reading, Vote
from debate_orchestrator.reports import lines
from debate_orchestrator.reports.lines import winner_word
from debate_orchestrator.reports.story import Story

FINAL = 0
"""The place of the final votes among those of the rounds."""


class Run(NamedTuple):
    """One journal."""

    number: int
    path: str
    story: Story
    turned: bool = False
    """Whether its sides are exchanged, beside those of the first run."""

    @property
    def debated(self) -> str:
        """What stands for the speeches: two runs that have it in common judge the same ones."""
        return self.story.course.debated if self.story.course else self.story.digest

    def side(self, name: str) -> str:
        """A side, or a winner, by the letters of the first run."""
        return {"a": "b", "b": "a"}.get(name, name) if self.turned else name

    def reading(self, given: Vote | RoundResult, label: str | None) -> Reading:
        """What a vote, or the votes on a round, come to."""
        scores = {self.side(side): points for side, points in given.scores.items()}
        ordered = dict(sorted(scores.items()))
        return Reading(winner=self.side(given.winner), scores=ordered, label=label, score=given.score)

    def result(self, n: int) -> Reading | None:
        """What came of a round; None where it was not judged by itself."""
        told = next((one for one in self.story.told if one.number == n), None)
        if told is None or told.result is None:
            return None
        return self.reading(told.result, told.label(self.story.judging.quorum))

    def votes(self) -> dict[str, dict[int, Reading]]:
        """Judge's seat to place to its vote, of those that are not absent."""
        found: dict[str, dict[int, Reading]] = {}
        places: list[tuple[int, Vote]] = [(one.number, vote) for one in self.story.told for vote in one.votes]
        places += [(FINAL, vote) for vote in self.story.judging.panel]
        for place, vote in places:
            if not vote.absent:
                own = found.setdefault(vote.judge, {})
                own[place] = self.reading(vote, vote.label)
        return found

    def decided(self, *, labelled: bool = True) -> str | None:
        """Its winner, or label, where labels are wanted; None where nothing was decided."""
        verdict = self.story.verdict
        if verdict is None:
            return None
        if labelled and self.story.judging.labelled:
            return lines.label_of(verdict) or NO_DECISION
        return self.side(verdict.winner)

    def who(self, seat: str) -> str:
        """Who sits in a judge's seat, in the cast's words."""
        number = seat.rpartition("-")[2]
        n = int(number) - 1 if number.isdigit() else 0
        return self.story.judges[n] if n < len(self.story.judges) else ""


def turned(first: Story, other: Story) -> bool:
    """Whether each side argues, word for word, what the other does in the first run."""
    one, two = first.positions, other.positions
    same = {"a", "b"} == set(one) == set(two) and one["a"] != one["b"]
    return same and (one["a"], one["b"]) == (two["b"], two["a"])


def named_by(reading: Reading, *, labelled: bool = True) -> str:
    """Whom it is for, or which label, where labels are wanted."""
    return reading.label if labelled and reading.label else reading.winner


def word(won: str) -> str:
    """A winner, or a label, as a report writes it."""
    return winner_word(won) if won in ("a", "b", TIE, CONSENSUS, NO_DECISION) else won
