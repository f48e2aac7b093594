"""The report of a tournament: one self-contained HTML page, tables as CSV, plots as SVG and PNG, ratings as JSON.

Plots are the Vega-Lite specs of `plots.yaml` with the rows of the tables, rendered by vl-convert without a browser.

`SHA256SUMS` lists the files with their checksums, as `sha256sum -c` reads them. When the report is made again, a file
that is listed and unchanged is replaced, and any other is moved aside.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from debate_orchestrator.reports.html import page as html_page
from debate_orchestrator.reports.html.writer import escaped_html
from debate_orchestrator.reports.markdown import template_environment
from debate_orchestrator.storage.files import make_folder, must_have_prefix, redacted_bytes, write_listed
from debate_orchestrator.tournament.folder import PAGE, PLOTS, RATINGS, TABLES, title
from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.tournament.ratings import MIN_GAMES, EloRow, ModelStrength, Ratings, full_json, rate
from debate_orchestrator.tournament.rows import Rows
from debate_orchestrator.tournament.tables import Cell, Table, all_tables, to_csv
from debate_orchestrator.util import yaml
from debate_orchestrator.util.errors import BadSettings, short_repr
from debate_orchestrator.util.sanitize import one_line, quoted


def write_report(folder: str, minimum: int = MIN_GAMES) -> tuple[list[str], tuple[str, ...]]:
    """Writes all of it into the tournament's folder. Returns the files, the page first, and notes: what weakens the
    results, and which files were moved aside. Raises BadFile if the folder is not a tournament or a file can't be
    written, and BadSettings, before anything is written, where the extra `tournament` is missing."""
    rows = read_rows(folder)
    if not all(debate.rehearsed for debate in rows.debates):  # of rehearsals nothing is drawn
        plot_library()
    ratings = rate(rows)
    tables = all_tables(rows, ratings)
    plots, problems = draw(tables, [elo.model for elo, _ in _leaders(ratings, 0)])
    must_have_prefix(os.path.join(folder, PAGE), PAGE_PREFIX.encode(), "a tournament's page")
    for subfolder in (TABLES, PLOTS):
        make_folder(os.path.join(folder, subfolder))
    texts = {
        PAGE: render_page(title(folder), rows, ratings, tables, plots, minimum),
        RATINGS: json.dumps(full_json(ratings), ensure_ascii=False, indent=2) + "\n",
        **{f"{TABLES}/{table.name}.csv": to_csv(table) for table in tables},
        **{f"{PLOTS}/{plot.name}.svg": plot.svg for plot in plots},
    }
    pictures = {f"{PLOTS}/{plot.name}.png": plot.png for plot in plots}
    files = {name: redacted_bytes(name, text) for name, text in texts.items()} | pictures
    notes = [*ratings.notes, *problems, *write_listed(folder, files)]
    return [os.path.join(folder, name) for name in files], tuple(notes)


PAGE_PREFIX = '<!doctype html>\n<html lang="en" class="debate-tournament">'
"""The beginning of every such page."""
_MAX_ROWS = 40
"""Rows of a table that the page shows; its CSV file has all."""
_MAX_DEBATES = 300
"""Debates without a page of their own that are listed."""


def render_page(
    name: str, rows: Rows, ratings: Ratings, tables: Sequence[Table], plots: Sequence[Plot], minimum: int
) -> str:
    """The page, ending in a newline. Models with fewer than `minimum` games are not on the leaderboard."""
    plotted = {plot.name for plot in plots}
    values: dict[str, Any] = {
        "name": name,
        "style": _style(),
        "digest": b64encode(sha256(_style().encode()).digest()).decode(),
        "rows": rows,
        "ratings": ratings,
        "fit": ratings.fit,
        "leaders": _leaders(ratings, minimum),
        "least": minimum,
        "plots": plots,
        "plotted": plotted,
        "tables": [table for table in tables if table.rows],
        "most": _MAX_ROWS,
        "listed": [debate for n, debate in enumerate(rows.debates) if debate.html_report or n < _MAX_DEBATES],
    }
    return _environment().get_template("tournament/page.html.j2").render(values).strip("\n") + "\n"


def _leaders(ratings: Ratings, minimum: int) -> list[tuple[EloRow, ModelStrength | None]]:
    """The models with enough games, in the order of their strengths; those without one in the order of Elo."""
    strengths = {strength.model: strength for strength in (ratings.fit.strengths if ratings.fit else ())}
    places = {model: place for place, model in enumerate(strengths)}
    leaders = [(row, strengths.get(row.model)) for row in ratings.elo if row.games >= minimum]
    return sorted(leaders, key=lambda leader: places.get(leader[0].model, len(places)))


def _figure(cell: Cell) -> str:
    if isinstance(cell, float):
        return f"{cell:.3f}".rstrip("0").rstrip(".") or "0"
    return "" if cell is None else f"{cell:,}" if isinstance(cell, int) else cell


_environment = cache(
    partial(
        template_environment,
        "",
        {
            "escaped": escaped_html,
            "figure": lambda cell: escaped_html(_figure(cell)),
            "signed": lambda value: "?" if value is None else f"{value:+z.2f}",
            "image": lambda plot: f"data:image/svg+xml;base64,{b64encode(plot.svg.encode()).decode()}",
            # Percent signs for everything but the slash: no path can be read as another scheme or leave the attribute.
            "address": lambda path: quote(path, safe="/", errors="replace"),
            "thousands": lambda number: f"{number:,}",
        },
    )
)


@cache
def _style() -> Markup:
    """The style of a debate's own page, and what a tournament's adds."""
    css = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return Markup(f"{html_page.style()}\n{css}")


_MAX_SHOWN = 30
"""Models, judges or topics in one plot: more could not be read."""
_MAX_LABEL = 40
"""Characters of a name in a plot. Vega measures the whole of a text, and shows less."""
_JAVASCRIPT_NAMES = {
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
    "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
}  # fmt: skip
"""What every object of JavaScript has. Vega takes such a name for one that it has met before."""
_NAME_COLUMNS = ("model", "model_a", "model_b", "judge", "judge_a", "judge_b", "debater", "topic_id")
_BASE_PLOT = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "width": 460,
    "height": {"step": 24},
    "config": {"view": {"stroke": None}, "axis": {"labelLimit": 260, "gridColor": "#e4e4e4"}},
}
_PNG_SCALE = 2
"""Pixels of a PNG for each unit of the drawing."""


class Plot(NamedTuple):
    name: str
    title: str
    how_to_read: str
    """A note on how to read it, and on what it does not show."""
    svg: str
    png: bytes


def plot_library() -> Any:
    """The library that draws. Raises BadSettings where the extra `tournament` is missing."""
    try:
        import vl_convert
    except ImportError:
        problem = "Plots need libraries that are not installed here."
        raise BadSettings(problem, hint="pip install 'debate-orchestrator[tournament]'") from None
    return vl_convert


def draw(tables: Sequence[Table], order: Sequence[str]) -> tuple[list[Plot], list[str]]:
    """The plots for which there is data, and a sentence on each that could not be drawn; `order` is the models, the
    strongest first. Raises BadSettings where the extra `tournament` is missing."""
    plots, problems = list[Plot](), list[str]()
    tables_by_name = {table.name: table for table in tables}
    entries = yaml.load((Path(__file__).parent / "plots.yaml").read_text(encoding="utf-8"))
    parts = entries.pop("parts")
    for name, entry in entries.items():
        table = tables_by_name[entry["table"]]
        rows, is_cut = _rows(table, entry["needs"], order)
        if not rows:
            continue
        names = {_label(str(row[column])) for row in rows for column in _NAME_COLUMNS if column in row}
        by_strength = [label for label in map(_label, order) if label in names]
        by_strength += sorted(names.difference(by_strength))
        values = [{key: _label(cell) if isinstance(cell, str) else cell for key, cell in row.items()} for row in rows]
        replacements = {**entry.get("replacements", {}), "BY STRENGTH": by_strength}
        parts_of_spec = _filled({**parts.get(entry.get("like"), {}), **entry.get("spec", {})}, replacements)
        plot_spec = {**_BASE_PLOT, **parts_of_spec, "data": {"values": values}}
        how_to_read = f"{entry['how']} {table.about}{f' The first {_MAX_SHOWN} are shown.' if is_cut else ''}"
        vl_convert = plot_library()
        try:
            svg = vl_convert.vegalite_to_svg(plot_spec)
            png = vl_convert.svg_to_png(svg, scale=_PNG_SCALE)
        except ValueError as error:
            problems.append(f"The plot {name} could not be drawn ({short_repr(str(error))}).")
        else:
            plots.append(Plot(name, table.title, how_to_read, svg, png))
    return plots, problems


def _rows(table: Table, needs: str, order: Sequence[str]) -> tuple[list[dict[str, Any]], bool]:
    """The rows of a table that have a value in the column `needs`, with no more than `_MAX_SHOWN` names in any column
    of names, and whether that left any out."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    rows = [row for row in rows if row[needs] is not None]
    is_cut, rank = False, {name: n for n, name in enumerate(order)}
    for column in (*_NAME_COLUMNS, "round"):
        if column in table.columns:
            names = dict.fromkeys(row[column] for row in rows)
            if len(names) > _MAX_SHOWN:
                is_cut = True
                names_shown = {*sorted(names, key=lambda name: rank.get(str(name), len(order)))[:_MAX_SHOWN]}
                rows = [row for row in rows if row[column] in names_shown]
    return rows, is_cut


def _label(name: str) -> str:
    """A name in one line that is not long. Two names that begin alike stay two."""
    text = one_line(name)
    if text in _JAVASCRIPT_NAMES:
        return quoted(text)
    return text if len(text) <= _MAX_LABEL else f"{text[:_MAX_LABEL]}... ({sha256(text.encode()).hexdigest()[:8]})"


def _filled(part: Any, replacements: Mapping[str, Any]) -> Any:
    """A part of a plot's Vega-Lite spec, with values in the place of some of its words."""
    if isinstance(part, dict):
        return {key: _filled(value, replacements) for key, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, replacements) for value in part]
    return replacements.get(part, part) if isinstance(part, str) else part
