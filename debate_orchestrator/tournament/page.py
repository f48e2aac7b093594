"""A tournament as one self-contained HTML page: leaderboard, plots, tables, and links to every debate's own page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from debate_orchestrator.reports.html.writer import literal_html
from debate_orchestrator.tournament.bradley_terry import Strength
from debate_orchestrator.tournament.plots import Plot
from debate_orchestrator.tournament.ratings import EloRow, Ratings
from debate_orchestrator.tournament.rows import Rows
from debate_orchestrator.tournament.tables import Cell, Table

MARK = '<!doctype html>\n<html lang="en" class="debate-tournament">'
"""How every such page begins."""
_MOST_ROWS = 40
"""Rows of a table that the page shows; its CSV file has all."""
_MOST_DEBATES = 300
"""Debates without a page of their own that are listed."""


class _Place(NamedTuple):
    """A model on the leaderboard."""

    elo: EloRow
    strength: Strength | None


def render(name: str, rows: Rows, ratings: Ratings, tables: Sequence[Table], plots: Sequence[Plot], least: int) -> str:
    """The page, ending in a newline. Models with fewer than `least` games are not on the leaderboard."""
    plotted = {plot.name for plot in plots}
    listed = [debate for n, debate in enumerate(rows.debates) if debate.page or n < _MOST_DEBATES]
    values: dict[str, Any] = {
        "name": name,
        "style": _style(),
        "digest": b64encode(sha256(_style().encode()).digest()).decode(),
        "rows": rows,
        "ratings": ratings,
        "fit": ratings.fit,
        "leaders": _leaders(ratings, least),
        "least": least,
        "plots": plots,
        "plotted": plotted,
        "tables": [table for table in tables if table.rows],
        "most": _MOST_ROWS,
        "listed": listed,
    }
    return _environment().get_template("tournament/page.html.j2").render(values).strip("\n") + "\n"


def _leaders(ratings: Ratings, least: int) -> list[_Place]:
    """The models with enough games, in the order of their strengths, or else of Elo."""
    elo = {row.model: row for row in ratings.elo if row.games >= least}
    if ratings.fit is None:
        return [_Place(row, None) for row in elo.values()]
    return [_Place(elo[one.model], one) for one in ratings.fit.strengths if one.model in elo]


def _figure(cell: Cell) -> str:
    if isinstance(cell, float):
        return f"{cell:.3f}".rstrip("0").rstrip(".") or "0"
    return "" if cell is None else f"{cell:,}" if isinstance(cell, int) else cell


def _image(plot: Plot) -> str:
    return f"data:image/svg+xml;base64,{b64encode(plot.svg.encode()).decode()}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("debate_orchestrator", ""),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "literal": literal_html,
        "figure": lambda cell: literal_html(_figure(cell)),
        "signed": lambda value: "?" if value is None else f"{value:+z.2f}",
        "image": _image,
        # Percent signs for everything but the slash: no path can be read as another scheme or leave the attribute.
        "address": lambda path: quote(path, safe="/", errors="replace"),
        "many": lambda number: f"{number:,}",
    }
    environment.tests["figure"] = lambda cell: isinstance(cell, int | float)
    return environment


@cache
def _style() -> Markup:
    """The style of a debate's own page, and what a tournament's adds."""
    environment = _environment()
    assert environment.loader is not None
    names = ("reports/html/page.css", "tournament/page.css")
    return Markup("\n".join(environment.loader.get_source(environment, name)[0] for name in names))
