"""Reviewers who fill in their ballots for tests, in the shape that each debate asks for."""

from __future__ import annotations

from typing import Any

from debates import entries, play_events
from scripted_debates import events as events_of

from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.shape import Shape
from debate_orchestrator.reports.reviewer_ballots import VERSION, GatheredBallots, ReviewForm
from debate_orchestrator.storage.journal_lines import Entry

DIGEST = "d" * 64
KINDS = ("adversarial", "panel", "question", "claim", "conversation", "transcript")


def with_digest(made: list[Entry]) -> list[Entry]:
    """Entries whose last has the digest that ballots here are cast on, and the one before it another."""
    *first, one, last = made
    return [*first, one._replace(hash="e" * 64), last._replace(hash=DIGEST)]


def adversarial_entries(**setup: Any) -> list[Entry]:
    """The entries of an adversarial debate."""
    return with_digest(entries(play_events(**setup)))


def entries_of(name: str, **how: Any) -> list[Entry]:
    """The entries of a debate of any format."""
    return with_digest(entries(events_of(name, **how)))


def review_form(made: list[Entry]) -> ReviewForm:
    return ReviewForm(fold(entry.event for entry in made))


def ballot_for(
    asked: ReviewForm, reviewer: str = "ada", *, side: str = "a", number: float = 7, **changes: Any
) -> dict[str, Any]:
    """A ballot for `side`, in which every criterion has so many points for it and two less for any other."""
    made: dict[str, Any] = {"ballot": VERSION, "journal": DIGEST, "reviewer": reviewer, "date": "2026-02-04"}
    made |= {"seen": False, "before": "undecided", "why": "It answered the other.", "after": side}
    if asked.rounds:
        made["rounds"] = {n: _part(asked, shape, side, number) for n, shape in asked.rounds.items()}
    return made | {"final": _part(asked, asked.final, side, number)} | changes


def _part(asked: ReviewForm, shape: Shape, side: str, number: float) -> dict[str, Any]:
    points = {one: number if one == side else number - 2 for one in asked.sides}
    values: dict[str, Any] = {
        "scores": {one: dict.fromkeys(asked.shape_context.criteria, points[one]) for one in asked.sides},
        "winner": side,
        "label": "supported" if side == "a" else "contradicted",
        "score": 7,
        "probability": 0.75,
    }
    return {name: values[name] for name in shape}


def gather_ballots(asked: ReviewForm, *given: dict[str, Any], left_out: tuple[str, ...] = ()) -> GatheredBallots:
    """These ballots, as if they had lain beside the journal."""
    return GatheredBallots(counted=tuple(asked.ballot(one) for one in given), left_out=left_out)
