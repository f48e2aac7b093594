"""`debate tournament rate`: the ratings of a tournament's models."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import page, print_json, remark
from debate_orchestrator.util.commands import command

if TYPE_CHECKING:
    from debate_orchestrator.tournament.ratings import Ratings

EXAMPLE = "debate tournament rate spring/ --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a tournament's folder, or a folder of journals")
    about = "hide models with fewer games from the table; 5 by default (--json lists all)"
    parser.add_argument("--min-games", metavar="N", type=int, default=5, help=about)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the ratings, and on stderr what weakens them."""
    from debate_orchestrator.tournament import ratings
    from debate_orchestrator.tournament.journal_rows import read_rows

    rated = ratings.rate(read_rows(arguments.folder))
    if arguments.json:
        print_json(ratings.summary_json(rated))
    else:
        page("\n".join([*_table(rated, arguments.min_games), ""]))
    for note in rated.notes:
        remark(f"Note: {note}")
    if not arguments.json:
        remark(f"Tables, plots and a page: `{command('tournament report', arguments.folder)}`")
    return 0


def _table(rated: Ratings, min_games: int) -> Iterator[str]:
    games = {row.model: row.games for row in rated.elo}
    shown = [row for row in rated.elo if row.games >= min_games]
    rows: list[tuple[str, ...]] = [("Elo", "games", "won", "lost", "tied", "model")]
    rows += [(f"{row.rating:.1f}", *map(str, row[2:]), row.model) for row in shown]
    yield from _aligned(rows)
    if hidden := len(rated.elo) - len(shown):
        yield f"{hidden} with fewer than {min_games} games not shown (--min-games)."
    if rated.fit is None or not shown:
        return
    yield "\nBradley-Terry strength in log odds, 95 % interval; equal ranks are not told apart by the intervals"
    rows = [("rank", "strength", "low", "high", "votes", "model")]
    for one in rated.fit.strengths:
        if games.get(one.model, 0) >= min_games:
            group = f" (group {one.group})" if rated.fit.groups > 1 else ""
            figures = (_signed(value) for value in one.strength)
            rows.append((str(one.rank), *figures, str(one.votes), f"{one.model}{group}"))
    yield from _aligned(rows)
    for name, effect in (("arguing pro", rated.fit.side), ("speaking second", rated.fit.second)):
        if effect is not None:
            low, high = _signed(effect.low), _signed(effect.high)
            yield f"Effect of {name}: {_signed(effect.value)} ({low} to {high})"


def _signed(value: float | None) -> str:
    return "?" if value is None else f"{value:+z.2f}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Rows of which all cells but the last are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for *figures, name in rows:
        cells = [figure.rjust(width) for figure, width in zip(figures, widths, strict=False)]
        yield "  ".join([*cells, name])
