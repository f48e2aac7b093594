"""Plots of a tournament: the Vega-Lite specs of `plots.yaml` with the rows of its tables, rendered by vl-convert as SVG
and PNG without a browser."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from debate_orchestrator.tournament.tables import Table
from debate_orchestrator.util import yaml
from debate_orchestrator.util.errors import BadSettings, short_repr
from debate_orchestrator.util.sanitize import one_line

_MAX_SHOWN = 30
"""Models, judges or topics in one plot: more could not be read."""
_MAX_LABEL = 40
"""Characters of a name in a plot. Vega measures the whole of a text, and shows less."""
_NAME_COLUMNS = ("model", "model_a", "model_b", "judge", "judge_a", "judge_b", "debater", "topic_id")
_BASE_SPEC = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "width": 460,
    "height": {"step": 24},
    "config": {"view": {"stroke": None}, "axis": {"labelLimit": 260, "gridColor": "#e4e4e4"}},
}
_PNG_SCALE = 2
"""Pixels of a PNG for each unit of the drawing."""


class Plot(NamedTuple):
    """One plot, rendered."""

    name: str
    title: str
    how_to_read: str
    """How to read it, and what it does not show."""
    svg: str
    png: bytes


def library() -> Any:
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
    vl_convert, plots, problems = library(), list[Plot](), list[str]()
    tables_by_name = {table.name: table for table in tables}
    entries = yaml.load((Path(__file__).parent / "plots.yaml").read_text(encoding="utf-8"))
    for name, entry in entries.items():
        table = tables_by_name[entry["table"]]
        rows, is_cut = _rows(table, entry["needs"], order)
        if not rows:
            continue
        names = {_label(str(row[column])) for row in rows for column in _NAME_COLUMNS if column in row}
        by_strength = [label for label in map(_label, order) if label in names]
        by_strength += sorted(names.difference(by_strength))
        values = [{key: _label(cell) if isinstance(cell, str) else cell for key, cell in row.items()} for row in rows]
        spec = {**_BASE_SPEC, **_with_order(entry["spec"], by_strength), "data": {"values": values}}
        how_to_read = f"{entry['how']} {table.about}{f' The first {_MAX_SHOWN} are shown.' if is_cut else ''}"
        try:
            svg = vl_convert.vegalite_to_svg(spec)
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
    is_cut, place = False, {name: n for n, name in enumerate(order)}
    for column in (*_NAME_COLUMNS, "turn"):
        if column in table.columns:
            names = dict.fromkeys(row[column] for row in rows)
            if len(names) > _MAX_SHOWN:
                is_cut = True
                names_shown = {*sorted(names, key=lambda name: place.get(str(name), len(order)))[:_MAX_SHOWN]}
                rows = [row for row in rows if row[column] in names_shown]
    return rows, is_cut


def _label(name: str) -> str:
    """A name in one line that is not long. Two names that begin alike stay two."""
    text = one_line(name)
    return text if len(text) <= _MAX_LABEL else f"{text[:_MAX_LABEL]}... ({sha256(text.encode()).hexdigest()[:8]})"


def _with_order(part: Any, by_strength: list[str]) -> Any:
    """A part of a spec, with names in place of BY STRENGTH."""
    if isinstance(part, dict):
        return {key: _with_order(value, by_strength) for key, value in part.items()}
    if isinstance(part, list):
        return [_with_order(value, by_strength) for value in part]
    return by_strength if part == "BY STRENGTH" else part
