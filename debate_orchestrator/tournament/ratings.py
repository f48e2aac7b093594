"""Ratings of a tournament's models: Elo as a plain replay of results, and Bradley-Terry strengths with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from debate_orchestrator.tournament import bradley_terry
from debate_orchestrator.tournament.bradley_terry import Fit, Strength
from debate_orchestrator.tournament.rows import DebateRow, Rows
from debate_orchestrator.util.errors import BadFile

INITIAL, K = 400.0, 32.0
MIN_GAMES = 5
"""Games that a model must have played to be shown on a leaderboard."""
_FEW_CLUSTERS = 10
_SCORE = {"pro": 1.0, "con": 0.0, "tie": 0.5}


class EloRow(NamedTuple):
    """A model after its last game."""

    model: str
    rating: float
    games: int
    won: int
    lost: int
    tied: int


class Ratings(NamedTuple):
    """Both ratings, the best first, and sentences on what weakens them."""

    elo: tuple[EloRow, ...]
    fit: Fit | None
    """None where no judge's vote is on record."""
    notes: tuple[str, ...]


def elo(debates: Iterable[DebateRow]) -> tuple[EloRow, ...]:
    """Elo over the panels' winners, in the order of (created, id). All start at `INITIAL`, and what one side gains the
    other loses."""
    ratings: dict[str, float] = {}
    results: dict[str, list[int]] = {}  # won, lost, tied
    for debate in sorted(debates, key=lambda row: (row.created, row.id)):
        if not debate.rated:
            continue
        pro, con, winner = str(debate.pro), str(debate.con), str(debate.winner)
        before_pro, before_con = ratings.get(pro, INITIAL), ratings.get(con, INITIAL)
        expected = 1 / (1 + 10 ** ((before_con - before_pro) / 400))
        change = K * (_SCORE[winner] - expected)
        ratings[pro], ratings[con] = before_pro + change, before_con - change
        for model, side, other in ((pro, "pro", "con"), (con, "con", "pro")):
            results.setdefault(model, [0, 0, 0])[(side, other, "tie").index(winner)] += 1
    rows = [EloRow(model, rating, sum(results[model]), *results[model]) for model, rating in ratings.items()]
    return tuple(sorted(rows, key=lambda row: (-row.rating, row.model)))


def rate(rows: Rows) -> Ratings:
    """Both ratings; none where stand-ins spoke in all debates. Raises BadFile if no debate can be rated otherwise,
    BadSettings if the extra `tournament` is missing."""
    rated = elo(rows.debates)
    if not rated and rows.debates and all(debate.rehearsed for debate in rows.debates):
        return Ratings((), None, tuple(rows.all_notes()))
    if not rated:
        notes = rows.all_notes()
        raise BadFile([*notes, "No debate here can be rated."], hint="finish some debates between two models")
    votes = [vote for debate in rows.debates for vote in rows.votes_by_debate[debate.id]]
    fit = bradley_terry.fit(rows.debates, votes)
    return Ratings(rated, fit, (*rows.all_notes(), *_fit_notes(fit)))


def _fit_notes(fit: Fit | None) -> Iterator[str]:
    if fit is None:
        yield "No judge's vote is on record, so there are no Bradley-Terry strengths."
        return
    if fit.groups > 1:
        yield (
            f"The models fall into {fit.groups} groups that never met, directly or through others. Strengths and ranks "
            "compare models within a group only; so do Elo ratings."
        )
    if fit.side is None:
        yield "The schedule can't tell a side effect from the strengths: no models met with the sides exchanged."
    if fit.second is None:
        yield (
            "The effect of speaking second can't be told apart: it takes debates in which pro speaks first and others "
            "in which con does."
        )
    if extreme := [one.model for one in fit.strengths if one.one_sided]:
        yield f"Won every vote or lost every vote, so that the prior alone holds their strength: {', '.join(extreme)}."
    if fit.clusters < 2:
        yield "There is one debate, and so there are no intervals."
    elif fit.drawn_by == "debate":
        yield "There is one topic, or none is known: intervals draw debates, and say nothing about other topics."
    elif fit.clusters < _FEW_CLUSTERS:
        yield f"There are {fit.clusters} topics: intervals drawn from so few are too narrow."


_STRENGTH = ("model", "strength", "low", "high", "rank")
"""What `rate --json` says of a model's strength."""


def summary_json(ratings: Ratings) -> dict[str, Any]:
    """The ratings as `debate tournament rate --json` prints them."""
    fit = ratings.fit
    return {
        "elo": [row._asdict() for row in ratings.elo],
        "bradley_terry": [_strength(row, _STRENGTH) for row in (fit.strengths if fit else ())],
        "side_effect": fit.side.value if fit and fit.side else None,
        "second_speaker_effect": fit.second.value if fit and fit.second else None,
    }


def full_json(ratings: Ratings) -> dict[str, Any]:
    """The same with groups, votes, intervals of all effects, judges and notes, as `ratings.json` has it."""
    fit, data = ratings.fit, {"schema": 1, **summary_json(ratings)}
    if fit is not None:
        effects = {"side_effect": fit.side, "second_speaker_effect": fit.second, "ties": fit.ties}
        data |= {
            "bradley_terry": [_strength(row, (*_STRENGTH, "group", "votes")) for row in fit.strengths],
            "effects": {name: effect and effect._asdict() for name, effect in effects.items()},
            "judges": [
                {**judge._asdict(), "bias": judge.bias._asdict(), "reliability": judge.reliability._asdict()}
                for judge in fit.judges
            ],
            "intervals": {"confidence": bradley_terry.CONFIDENCE, "draws": fit.draws, "drawn_by": fit.drawn_by},
        }
    return {**data, "notes": list(ratings.notes)}


def _strength(row: Strength, fields: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in fields}
