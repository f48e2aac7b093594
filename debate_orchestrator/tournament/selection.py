"""Part of a tournament's debates: those on a topic, of a model, by a judge's votes, and how the models did in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from debate_orchestrator.tournament.ratings import elo
from debate_orchestrator.tournament.rows import DebateRow, Rows, Side, Winner, panel_winner

Result = Literal["won", "lost", "tied"]
RESULTS: tuple[Result, ...] = ("won", "lost", "tied")


class Filters(NamedTuple):
    """What is chosen; an empty text chooses everything."""

    topic: str = ""
    category: str = ""
    judge: str = ""
    """Only debates that this judge voted on, decided by this judge alone."""
    model: str = ""
    opponent: str = ""
    side: str = ""
    """`pro` or `con`: the side that the model argued."""
    result: str = ""
    """What came of it for the model: one of RESULTS."""


class Game(NamedTuple):
    """A debate as one of its two models sees it."""

    debate: DebateRow
    model: str
    opponent: str
    side: Side
    result: Result | None
    """None where it was not decided."""


class Standing(NamedTuple):
    """How a model did in the chosen debates."""

    model: str
    rating: float | None
    """Elo over all decided debates that topic, category and judge choose; None where it has none."""
    won: int
    lost: int
    tied: int

    @property
    def games(self) -> int:
        return self.won + self.lost + self.tied

    @property
    def rate(self) -> float | None:
        """The share of games won, a tie being half of one."""
        return (self.won + self.tied / 2) / self.games if self.games else None


def debates(rows: Rows, filters: Filters) -> list[DebateRow]:
    """The debates that topic, category and judge choose, with the winner by that judge's vote."""
    found = [
        debate
        for debate in rows.debates
        if filters.topic in ("", debate.topic) and filters.category in ("", debate.category)
    ]
    if not filters.judge:
        return found
    return [
        debate.model_copy(update={"winner": winner})
        for debate in found
        if (winner := _vote(rows, debate, filters.judge)) is not None
    ]


def _vote(rows: Rows, debate: DebateRow, judge: str) -> Winner | None:
    return panel_winner(vote.winner for vote in rows.votes[debate.id] if vote.judge == judge)


def games(chosen: Iterable[DebateRow], filters: Filters) -> Iterator[Game]:
    """The games of these debates that the other filters choose, each debate once for each of its models."""
    for debate in chosen:
        if debate.pro is None or debate.con is None or debate.pro == debate.con:
            continue
        for model, opponent, side in ((debate.pro, debate.con, "pro"), (debate.con, debate.pro, "con")):
            result = _result(debate, side)
            if (
                filters.model in ("", model)
                and filters.opponent in ("", opponent)
                and filters.side in ("", side)
                and filters.result in ("", result)
            ):
                yield Game(debate, model, opponent, "pro" if side == "pro" else "con", result)


def _result(debate: DebateRow, side: str) -> Result | None:
    if not debate.complete or debate.winner is None:
        return None
    return "tied" if debate.winner == "tie" else "won" if debate.winner == side else "lost"


def standings(chosen: Sequence[DebateRow], played: Iterable[Game]) -> list[Standing]:
    """The models of these games, the best first by Elo over the chosen debates."""
    counts: dict[str, dict[Result, int]] = {}
    for game in played:
        own = counts.setdefault(game.model, dict.fromkeys(RESULTS, 0))
        if game.result is not None:
            own[game.result] += 1
    ratings = {row.model: row.rating for row in elo(chosen)}
    found = [Standing(model, ratings.get(model), *(own[result] for result in RESULTS)) for model, own in counts.items()]
    return sorted(found, key=lambda one: (-(one.rating or 0.0), -(one.rate or 0.0), one.model))


def head_to_head(played: Iterable[Game]) -> dict[tuple[str, str], Standing]:
    """Model and opponent to how the model did against it."""
    counts: dict[tuple[str, str], dict[Result, int]] = {}
    for game in played:
        own = counts.setdefault((game.model, game.opponent), dict.fromkeys(RESULTS, 0))
        if game.result is not None:
            own[game.result] += 1
    return {pair: Standing(pair[0], None, *(own[result] for result in RESULTS)) for pair, own in counts.items()}


def choices(rows: Rows) -> dict[str, list[str]]:
    """What each filter can be set to, in the order of the alphabet."""
    models = {model for debate in rows.debates for model in (debate.pro, debate.con) if model is not None}
    found: dict[str, Iterable[str]] = {
        "topic": {debate.topic for debate in rows.debates},
        "category": {debate.category for debate in rows.debates if debate.category},
        "judge": {ballot.judge for ballot in rows.ballots if ballot.votes},
        "model": models,
        "opponent": models,
        "side": {"pro", "con"},
        "result": RESULTS,
    }
    return {name: sorted(values) for name, values in found.items()}
