"""What an earlier panel decided of the same debate, set beside what this one decides."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core.figures import decimals
from debate_orchestrator.reports.lines import winner_word
from debate_orchestrator.reports.phrases import Phrase, cell, joined, literal, phrase
from debate_orchestrator.reports.story import Story

UNDECIDED = "not decided"
_NONE = phrase("-")
_FINEST = 1_000_000
"""The largest denominator that a score can have; it is kept as a number with a fraction's worth of digits."""


class Earlier(NamedTuple):
    """Both verdicts, as rows: what it is about, what was said then, what is said now."""

    verdicts: tuple[tuple[str, Phrase, Phrase], ...]
    rounds: tuple[tuple[Phrase, ...], ...]
    """Round, each side's score then, the winner then, each side's score now, the winner now; without scores where
    sides are not scored."""
    scored: tuple[str, ...]
    """The sides whose scores stand in the rows."""
    agreement: Phrase
    """Where they differ, in a sentence."""


def earlier(story: Story) -> Earlier | None:
    """The comparison for a debate that is judged again; None where nobody had judged it."""
    course, verdict = story.course, story.verdict
    if course is None or not course.judges:
        return None
    measured = story.judging.measured
    sides = list(story.names) if measured else []
    totals = verdict.totals if verdict else {}
    verdicts = [
        ("Judges", cell(", ".join(course.judges)), cell(", ".join(story.judges))),
        ("Winner", _winner(course.winner), _winner(verdict.winner if verdict else None)),
    ]
    if measured:
        strength = (verdict.strength if verdict else None) or UNDECIDED
        verdicts.append(("Strength", literal(course.strength or UNDECIDED), literal(strength)))
    for side in sides:
        verdicts.append((f"Total, {story.seats[side]}", _points(course.totals.get(side)), _points(totals.get(side))))
    now = {told.number: told.result for told in story.told if told.result}
    rounds = []
    for n in sorted({*course.rounds, *now}):
        then, result = course.rounds.get(n), now.get(n)
        before = [_points(then.scores.get(side) if then else None) for side in sides]
        scores = [_points(result.scores.get(side) if result else None) for side in sides]
        winners = (_winner(then.winner) if then else _NONE, _winner(result.winner) if result else _NONE)
        rounds.append((phrase(str(n)), *before, winners[0], *scores, winners[1]))
    rounds = rounds if story.judging.round_fields else []
    said = _agreement(verdicts, rounds, len(sides))
    return Earlier(verdicts=tuple(verdicts), rounds=tuple(rounds), scored=tuple(sides), agreement=said)


def _winner(winner: str | None) -> Phrase:
    return literal(UNDECIDED if winner is None else winner_word(winner))


def _points(score: float | Fraction | None) -> Phrase:
    return _NONE if score is None else phrase(decimals(Fraction(score).limit_denominator(_FINEST)))


def _agreement(verdicts: list[tuple[str, Phrase, Phrase]], rounds: list[tuple[Phrase, ...]], sides: int) -> Phrase:
    """A sentence on where two judgings differ."""
    differing = [
        phrase(f"the {what.lower()} (", then, " then, ", now, " now)")
        for what, then, now in verdicts
        if what in ("Winner", "Strength") and then != now
    ]
    for n, *cells in rounds:
        then, now = cells[: sides + 1], cells[sides + 1 :]
        if then[-1] != now[-1]:
            differing.append(phrase("the winner of round ", n, " (", then[-1], " then, ", now[-1], " now)"))
    if differing:
        return phrase("The two judgings differ in ", joined(", ", differing), ".")
    agreed = [f"the {what.lower()}" for what, _, _ in verdicts if what in ("Winner", "Strength")]
    *most, last = [*agreed, *(["every round"] if rounds else [])]
    said = f"The two judgings agree on {', '.join(most)} and {last}" if most else f"The two judgings agree on {last}"
    if not sides:
        return phrase(f"{said}.")
    same = all(cells[1 : sides + 2] == cells[sides + 2 :] for cells in rounds) and _same_totals(verdicts)
    return phrase(f"{said}, to the point." if same else f"{said}; they differ in the scores alone.")


def _same_totals(verdicts: list[tuple[str, Phrase, Phrase]]) -> bool:
    return all(then == now for what, then, now in verdicts if what.startswith("Total"))
