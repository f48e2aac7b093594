"""Plots of a tournament, drawn by Altair from its tables and rendered by vl-convert as SVG and PNG without a browser.

Values are told apart by place, shape and lightness, so that a plot reads the same in grey.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from debate_orchestrator.tournament.tables import Cell, Table
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.sanitize import one_line

if TYPE_CHECKING:
    import altair as alt

_MOST = 30
"""Models, judges or topics in one plot: more could not be read."""
_DARK, _MIDDLE, _LIGHT = "#16324f", "#6f9fc4", "#cfdfeb"
_WIDTH, _STEP = 460, 24
_LEAST = 0.5
"""Log odds to either side of 0 that the axis of an interval shows at least."""
_SCALE = 2
"""Pixels of a PNG for each unit of the drawing."""


class Plot(NamedTuple):
    """One plot, rendered."""

    name: str
    title: str
    reading: str
    """How to read it, and what it does not show."""
    svg: str
    png: bytes


def draw(tables: Sequence[Table], order: Sequence[str]) -> list[Plot]:
    """The plots for which there is data; `order` is the models, the strongest first.

    Raises BadSettings where the extra `tournament` is missing.
    """
    try:
        import altair  # noqa: F401
        import vl_convert
    except ImportError:
        problem = "Plots need libraries that are not installed here."
        raise BadSettings(problem, hint="pip install 'debate-orchestrator[tournament]'") from None
    found = []
    of = {table.name: table for table in tables}
    for name, table, how, make in _PLOTS:
        rows, cut = _shown(of[table], order)
        if rows and (chart := make(rows, [one_line(model) for model in order])) is not None:
            spec = chart.configure_view(stroke=None).configure_axis(labelLimit=260, gridColor="#e4e4e4").to_json()
            reading = f"{how} {of[table].about}{f' The first {_MOST} are shown.' if cut else ''}"
            svg, png = vl_convert.vegalite_to_svg(spec), vl_convert.vegalite_to_png(spec, scale=_SCALE)
            found.append(Plot(name, of[table].title, reading, svg, png))
    return found


def _shown(table: Table, order: Sequence[str]) -> tuple[list[dict[str, Any]], bool]:
    """The table's rows by column, with no more than `_MOST` names in any column of names, and whether that cut any."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    cut, place = False, {name: n for n, name in enumerate(order)}
    for column in ("model", "model_a", "model_b", "judge", "judge_a", "judge_b", "debater", "topic_id", "turn"):
        if column in table.columns:
            names = dict.fromkeys(row[column] for row in rows)
            if len(names) > _MOST:
                cut = True
                kept = {*sorted(names, key=lambda name: place.get(str(name), len(order)))[:_MOST]}
                rows = [row for row in rows if row[column] in kept]
    return [{key: _plain(value) for key, value in row.items()} for row in rows], cut


def _plain(value: Cell) -> Cell:
    """A value without anything that could not stand in a drawing."""
    return one_line(value) if isinstance(value, str) else value


def _names(rows: Sequence[Mapping[str, Any]], column: str, order: Sequence[str]) -> list[str]:
    """The names in a column: models in their order, then others by name."""
    names = dict.fromkeys(row[column] for row in rows)
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def _chart(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    import altair as alt

    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def _intervals(column: str, value: str, low: str, high: str, title: str) -> Callable[[Any, Any], Any]:
    """Points with their intervals, and a line at 0. The axis is never so short that rounding errors show."""

    def make(rows: list[dict[str, Any]], order: list[str]) -> Any:
        import altair as alt

        y = alt.Y(f"{column}:N", sort=_names(rows, column, order), title=None)
        base = _chart(rows).properties(width=_WIDTH, height=alt.Step(_STEP))
        zero = _chart([{"zero": 0}]).mark_rule(color="#999", strokeDash=[3, 3]).encode(x="zero:Q")
        ends = [row[name] for row in rows for name in (low, high, value) if row[name] is not None]
        scale = alt.Scale(domain=[min(-_LEAST, *ends), max(_LEAST, *ends)])
        line = base.mark_rule(strokeWidth=2, color=_MIDDLE).encode(
            x=alt.X(f"{low}:Q", title=title, scale=scale), x2=f"{high}:Q", y=y
        )
        points = base.mark_point(filled=True, size=70, color=_DARK, opacity=1).encode(x=f"{value}:Q", y=y)
        return zero + line + points

    return make


def _elo(rows: list[dict[str, Any]], order: list[str]) -> Any:
    import altair as alt

    sort = [row["model"] for row in rows]
    return (
        _chart(rows)
        .mark_point(filled=True, size=70, color=_DARK, opacity=1)
        .encode(
            x=alt.X("rating:Q", title="Elo", scale=alt.Scale(zero=False)), y=alt.Y("model:N", sort=sort, title=None)
        )
        .properties(width=_WIDTH, height=alt.Step(_STEP))
    )


def _by_side(rows: list[dict[str, Any]], order: list[str]) -> Any:
    import altair as alt

    points = [
        {"model": row["model"], "side": side, "rate": row[f"{side}_win_rate"]}
        for row in rows
        for side in ("pro", "con")
        if row[f"{side}_win_rate"] is not None
    ]
    if not points:
        return None
    y = alt.Y("model:N", sort=_names(rows, "model", order), title=None)
    scale = alt.Scale(domain=["pro", "con"], range=[_DARK, _MIDDLE])
    marks = (
        _chart(points)
        .mark_point(size=80, filled=True, opacity=1)
        .encode(
            x=alt.X("rate:Q", title="win rate", scale=alt.Scale(domain=[0, 1])),
            y=y,
            shape=alt.Shape("side:N", scale=alt.Scale(domain=["pro", "con"], range=["circle", "square"]), title="side"),
            color=alt.Color("side:N", scale=scale, title="side"),
        )
    )
    return marks.properties(width=_WIDTH, height=alt.Step(_STEP))


def _matrix(
    down: str, across: str, value: str, domain: tuple[float, float], cells: Callable[[Any], Any] = iter
) -> Callable[[Any, Any], Any]:
    """A matrix of figures on tiles that are darker for more."""

    def make(rows: list[dict[str, Any]], order: list[str]) -> Any:
        import altair as alt

        given = [row for row in cells(rows) if row[value] is not None]
        if not given:
            return None
        base = _chart(given).encode(
            x=alt.X(
                f"{across}:N",
                sort=_names(given, across, order),
                title=None,
                axis=alt.Axis(orient="top", labelAngle=-40),
            ),
            y=alt.Y(f"{down}:N", sort=_names(given, down, order), title=None),
        )
        scale = alt.Scale(domain=list(domain), range=["#f4f7fa", _DARK], clamp=True)
        # Each tile has its figure, so a legend would say nothing more; and Vega numbers its gradients by the process.
        tiles = base.mark_rect(stroke="white").encode(color=alt.Color(f"{value}:Q", scale=scale, legend=None))
        middle = sum(domain) / 2
        ink = alt.condition(f"datum['{value}'] > {middle}", alt.value("white"), alt.value("black"))
        text = base.mark_text(fontSize=11).encode(text=alt.Text(f"{value}:Q", format=".2f"), color=ink)
        return (tiles + text).properties(width=alt.Step(46), height=alt.Step(28))

    return make


def _both_ways(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Head to head as win rates, from either model's side."""
    for row in rows:
        for own, other in (("a", "b"), ("b", "a")):
            share = row[f"{own}_wins"] / row["total"]
            yield {"model": row[f"model_{own}"], "opponent": row[f"model_{other}"], "rate": share}


def _mirrored(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield row
        yield {**row, "judge_a": row["judge_b"], "judge_b": row["judge_a"]}


def _stacked(rows: list[dict[str, Any]], order: list[str]) -> Any:
    import altair as alt

    parts = [
        {"judge": row["judge"], "vote": vote, "rate": row[f"{vote}_rate"], "place": place}
        for row in rows
        for place, vote in enumerate(("pro", "tie", "con"))
    ]
    scale = alt.Scale(domain=["pro", "tie", "con"], range=[_DARK, _LIGHT, _MIDDLE])
    bars = _chart(parts).mark_bar(stroke="white")
    return bars.encode(
        x=alt.X("rate:Q", title="share of votes", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("judge:N", title=None),
        color=alt.Color("vote:N", scale=scale, title="vote"),
        order="place:O",
    ).properties(width=_WIDTH, height=alt.Step(_STEP))


def _topics(rows: list[dict[str, Any]], order: list[str]) -> Any:
    import altair as alt

    sort = [row["topic_id"] for row in sorted(rows, key=lambda row: -(row["pro_rate"] or 0))]
    points = _chart(rows).mark_point(filled=True, size=60, color=_DARK, opacity=1)
    return points.encode(
        x=alt.X("pro_rate:Q", title="pro's win rate", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("topic_id:N", sort=sort, title=None),
    ).properties(width=_WIDTH, height=alt.Step(18))


def _courses(rows: list[dict[str, Any]], order: list[str]) -> Any:
    import altair as alt

    lines = _chart(rows).mark_line(point=alt.OverlayMarkDef(size=60, filled=True), color=_DARK)
    return lines.encode(
        x=alt.X("turn:O", title="round", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("mean_score:Q", title="mean score", scale=alt.Scale(zero=False)),
        shape=alt.Shape("judge:N", title="judge"),
        strokeDash=alt.StrokeDash("judge:N", title="judge"),
    ).properties(width=_WIDTH, height=240)


_INTERVAL = "The dot is the estimate, the line its 95 % interval."
_DARKER = "Darker is more; each tile has its figure."
_PLOTS: tuple[tuple[str, str, str, Callable[[Any, Any], Any]], ...] = (
    ("strengths", "bradley_terry", _INTERVAL, _intervals("model", "strength", "low", "high", "strength (log odds)")),
    ("elo", "elo", "The best is at the top.", _elo),
    (
        "head_to_head",
        "head_to_head",
        f"Each tile is how often the model of the row beat that of the column. {_DARKER}",
        _matrix("model", "opponent", "rate", (0, 1), _both_ways),
    ),
    ("winrate_by_side", "model_winrate_by_side", "A circle for pro, a square for con.", _by_side),
    ("topics", "topic_winrate", "Each dot is one topic.", _topics),
    (
        "judge_agreement",
        "judge_agreement",
        f"Each tile is the kappa of two judges. {_DARKER}",
        _matrix("judge_a", "judge_b", "kappa", (0, 1), _mirrored),
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
        _matrix("judge", "debater", "win_rate", (0, 1)),
    ),
    ("score_by_turn", "score_by_turn", "A line for each judge.", _courses),
)
"""Name of a plot, its table, how to read it, and what draws it."""
