"""Plots of a tournament: Vega-Lite specs of its tables, rendered by vl-convert as SVG and PNG without a browser.

Values are told apart by place, shape and lightness, so that a plot reads the same in grey.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from debate_orchestrator.tournament.tables import Table
from debate_orchestrator.util.errors import BadSettings, short_repr
from debate_orchestrator.util.sanitize import one_line

_MAX_SHOWN = 30
"""Models, judges or topics in one plot: more could not be read."""
_MAX_LABEL = 40
"""Characters of a name in a plot. Vega measures the whole of a text, and shows less."""
_DARK, _MIDDLE, _LIGHT = "#16324f", "#6f9fc4", "#cfdfeb"
_WIDTH, _STEP = 460, 24
_MIN_RANGE = 0.5
"""Log odds to either side of 0 that the axis of an interval shows at least."""
_SCALE = 2
"""Pixels of a PNG for each unit of the drawing."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_CONFIG = {"view": {"stroke": None}, "axis": {"labelLimit": 260, "gridColor": "#e4e4e4"}}
_POINT = {"type": "point", "filled": True, "size": 70, "color": _DARK, "opacity": 1}

Rows = list[dict[str, Any]]
VegaSpec = dict[str, Any]
"""A Vega-Lite spec, or a part of one."""
Draw = Callable[[Rows, list[str]], VegaSpec]
"""Makes a spec of the rows of a table and the models, the strongest first."""


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
    vl_convert, found, problems = library(), list[Plot](), list[str]()
    of = {table.name: table for table in tables}
    for name, table, how, make in _PLOTS:
        rows, cut = _shown(of[table], order)
        chart = make(rows, [_label(model) for model in order])
        if chart["data"]["values"]:
            spec = {"$schema": _SCHEMA, "width": _WIDTH, "height": {"step": _STEP}, "config": _CONFIG, **chart}
            how_to_read = f"{how} {of[table].about}{f' The first {_MAX_SHOWN} are shown.' if cut else ''}"
            try:
                svg = vl_convert.vegalite_to_svg(spec)
                png = vl_convert.svg_to_png(svg, scale=_SCALE)
            except ValueError as error:
                problems.append(f"The plot {name} could not be drawn ({short_repr(str(error))}).")
            else:
                found.append(Plot(name, of[table].title, how_to_read, svg, png))
    return found, problems


def _label(name: str) -> str:
    """A name in one line that is not long. Two names that begin alike stay two."""
    text = one_line(name)
    return text if len(text) <= _MAX_LABEL else f"{text[:_MAX_LABEL]}... ({sha256(text.encode()).hexdigest()[:8]})"


def _shown(table: Table, order: Sequence[str]) -> tuple[list[dict[str, Any]], bool]:
    """The table's rows by column, with no more than `_MAX_SHOWN` names in any column of names, and whether that cut
    any."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    cut, place = False, {name: n for n, name in enumerate(order)}
    for column in ("model", "model_a", "model_b", "judge", "judge_a", "judge_b", "debater", "topic_id", "turn"):
        if column in table.columns:
            names = dict.fromkeys(row[column] for row in rows)
            if len(names) > _MAX_SHOWN:
                cut = True
                kept = {*sorted(names, key=lambda name: place.get(str(name), len(order)))[:_MAX_SHOWN]}
                rows = [row for row in rows if row[column] in kept]
    return [
        {key: _label(value) if isinstance(value, str) else value for key, value in row.items()} for row in rows
    ], cut


def _names(rows: Sequence[Mapping[str, Any]], field: str, order: Sequence[str], **more: Any) -> VegaSpec:
    """An axis of the names in a field: models in their order, then others by name."""
    names = dict.fromkeys(row[field] for row in rows)
    sort = sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))
    return {"field": field, "type": "nominal", "title": None, "sort": sort, **more}


def _figures(field: str, title: str, **scale: Any) -> VegaSpec:
    """An axis of figures."""
    return {"field": field, "type": "quantitative", "title": title, "scale": scale}


def _intervals(field: str, value: str, low: str, high: str, title: str) -> Draw:
    """Points with their intervals, and a line at 0. The axis is never so short that rounding errors show."""

    def make(rows: Rows, order: list[str]) -> VegaSpec:
        ends = [row[name] for row in rows for name in (low, high, value) if row[name] is not None]
        x = _figures(low, title, domain=[min([-_MIN_RANGE, *ends]), max([_MIN_RANGE, *ends])])
        y = _names(rows, field, order)
        zero = {"type": "rule", "color": "#999", "strokeDash": [3, 3]}
        line = {"type": "rule", "strokeWidth": 2, "color": _MIDDLE}
        return {
            "data": {"values": rows},
            "layer": [
                {"data": {"values": [{"zero": 0}]}, "mark": zero, "encoding": {"x": _plain_figures("zero")}},
                {"mark": line, "encoding": {"x": x, "x2": {"field": high}, "y": y}},
                {"mark": _POINT, "encoding": {"x": _plain_figures(value), "y": y}},
            ],
        }

    return make


def _plain_figures(field: str) -> VegaSpec:
    """Figures on the axis of another layer."""
    return {"field": field, "type": "quantitative"}


def _elo(rows: Rows, order: list[str]) -> VegaSpec:
    best_first = [row["model"] for row in rows]
    encoding = {"x": _figures("rating", "Elo", zero=False), "y": _names(rows, "model", best_first)}
    return {"data": {"values": rows}, "mark": _POINT, "encoding": encoding}


def _by_side(rows: Rows, order: list[str]) -> VegaSpec:
    points = [
        {"model": row["model"], "side": side, "rate": row[f"{side}_win_rate"]}
        for row in rows
        for side in ("pro", "con")
        if row[f"{side}_win_rate"] is not None
    ]
    side = {"field": "side", "type": "nominal", "title": "side"}
    return {
        "data": {"values": points},
        "mark": {"type": "point", "size": 80, "filled": True, "opacity": 1},
        "encoding": {
            "x": _figures("rate", "win rate", domain=[0, 1]),
            "y": _names(rows, "model", order),
            "shape": {**side, "scale": {"domain": ["pro", "con"], "range": ["circle", "square"]}},
            "color": {**side, "scale": {"domain": ["pro", "con"], "range": [_DARK, _MIDDLE]}},
        },
    }


def _matrix(down: str, across: str, value: str, cells: Callable[[Rows], Iterator[dict[str, Any]]] = iter) -> Draw:
    """A matrix of figures from 0 to 1 on tiles that are darker for more."""

    def make(rows: Rows, order: list[str]) -> VegaSpec:
        given = [row for row in cells(rows) if row[value] is not None]
        axis = {"orient": "top", "labelAngle": -40}
        places = {"x": _names(given, across, order, axis=axis), "y": _names(given, down, order)}
        scale = {"domain": [0, 1], "range": ["#f4f7fa", _DARK], "clamp": True}
        # Each tile has its figure, so a legend would say nothing more; and Vega numbers its gradients by the process.
        shade = {**_plain_figures(value), "scale": scale, "legend": None}
        ink = {"condition": {"test": f"datum['{value}'] > 0.5", "value": "white"}, "value": "black"}
        figure = {**_plain_figures(value), "format": ".2f"}
        return {
            "data": {"values": given},
            "width": {"step": 46},
            "height": {"step": 28},
            "layer": [
                {"mark": {"type": "rect", "stroke": "white"}, "encoding": {**places, "color": shade}},
                {"mark": {"type": "text", "fontSize": 11}, "encoding": {**places, "text": figure, "color": ink}},
            ],
        }

    return make


def _both_ways(rows: Rows) -> Iterator[dict[str, Any]]:
    """Head to head as win rates, from either model's side."""
    for row in rows:
        for own, other in (("a", "b"), ("b", "a")):
            share = row[f"{own}_wins"] / row["total"]
            yield {"model": row[f"model_{own}"], "opponent": row[f"model_{other}"], "rate": share}


def _mirrored(rows: Rows) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield row
        yield {**row, "judge_a": row["judge_b"], "judge_b": row["judge_a"]}


def _stacked(rows: Rows, order: list[str]) -> VegaSpec:
    parts = [
        {"judge": row["judge"], "vote": vote, "rate": row[f"{vote}_rate"], "place": place}
        for row in rows
        for place, vote in enumerate(("pro", "tie", "con"))
    ]
    scale = {"domain": ["pro", "tie", "con"], "range": [_DARK, _LIGHT, _MIDDLE]}
    return {
        "data": {"values": parts},
        "mark": {"type": "bar", "stroke": "white"},
        "encoding": {
            "x": _figures("rate", "share of votes", domain=[0, 1]),
            "y": {"field": "judge", "type": "nominal", "title": None},
            "color": {"field": "vote", "type": "nominal", "title": "vote", "scale": scale},
            "order": {"field": "place", "type": "ordinal"},
        },
    }


def _topics(rows: Rows, order: list[str]) -> VegaSpec:
    sort = [row["topic_id"] for row in sorted(rows, key=lambda row: -(row["pro_rate"] or 0))]
    return {
        "data": {"values": rows},
        "height": {"step": 18},
        "mark": {**_POINT, "size": 60},
        "encoding": {
            "x": _figures("pro_rate", "pro's win rate", domain=[0, 1]),
            "y": _names(rows, "topic_id", sort),
        },
    }


def _courses(rows: Rows, order: list[str]) -> VegaSpec:
    judge = {"field": "judge", "type": "nominal", "title": "judge"}
    return {
        "data": {"values": rows},
        "height": 240,
        "mark": {"type": "line", "point": {"size": 60, "filled": True}, "color": _DARK},
        "encoding": {
            "x": {"field": "turn", "type": "ordinal", "title": "round", "axis": {"labelAngle": 0}},
            "y": _figures("mean_score", "mean score", zero=False),
            "shape": judge,
            "strokeDash": judge,
        },
    }


_INTERVAL = "The dot is the estimate, the line its 95 % interval."
_DARKER = "Darker is more; each tile has its figure."
_PLOTS: tuple[tuple[str, str, str, Draw], ...] = (
    ("strengths", "bradley_terry", _INTERVAL, _intervals("model", "strength", "low", "high", "strength (log odds)")),
    ("elo", "elo", "The best is at the top.", _elo),
    (
        "head_to_head",
        "head_to_head",
        f"Each tile is how often the model of the row beat that of the column. {_DARKER}",
        _matrix("model", "opponent", "rate", _both_ways),
    ),
    ("winrate_by_side", "model_winrate_by_side", "A circle for pro, a square for con.", _by_side),
    ("topics", "topic_winrate", "Each dot is one topic.", _topics),
    (
        "judge_agreement",
        "judge_agreement",
        f"Each tile is the kappa of two judges. {_DARKER}",
        _matrix("judge_a", "judge_b", "kappa", _mirrored),
    ),
    ("judge_side_preference", "judge_side_preference", "Each bar is one judge's votes.", _stacked),
    (
        "judge_bias",
        "judge_effects",
        f"To the right is towards pro. {_INTERVAL}",
        _intervals("judge", "bias", "bias_low", "bias_high", "bias towards pro (log odds)"),
    ),
    (
        "persuasion",
        "persuasion",
        f"Each tile is how often the judge of the row voted for the debater of the column. {_DARKER}",
        _matrix("judge", "debater", "win_rate"),
    ),
    ("score_by_turn", "score_by_turn", "A line for each judge.", _courses),
)
"""Name of a plot, its table, how to read it, and what draws it."""
