"""The tables of a tournament: the queries of `tables.yaml`, on a SQLite database in memory that holds its rows.

In SQLite `avg(x = y)` is a share, and aggregates leave NULL out.
"""

from __future__ import annotations

import csv
import io
import math
import re
import sqlite3
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from debate_orchestrator.tournament.ratings import Ratings
from debate_orchestrator.tournament.rows import RoleUsage, Rows
from debate_orchestrator.util import yaml
from debate_orchestrator.util.numbers import wilson_interval
from debate_orchestrator.util.sanitize import sanitize

Cell = str | int | float | None


_FORMULA = re.compile('(^|[;,])(?=[\\s"]*[=+@\uff1d\uff0b\uff0d\uff20-])')
"""The places where a spreadsheet may begin a formula: in a cell, and after a character at which it may split the row.
Some treat full-width characters like the others."""


class Table(NamedTuple):
    """A table, whose name is that of its CSV file."""

    name: str
    title: str
    about: str
    """A note on how to read it, and on what it does not show."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def all_tables(rows: Rows, ratings: Ratings) -> list[Table]:
    """Every table of a tournament, those without any row included."""
    queries = (Path(__file__).parent / "tables.yaml").read_text(encoding="utf-8")
    tables = []
    with closing(_database(rows)) as database:
        _add_ratings(database, ratings)
        for name, query in yaml.load(queries).items():
            cursor = database.execute(query["sql"])
            columns = tuple(column[0] for column in cursor.description)
            tables.append(Table(name, query["title"], query["about"], columns, tuple(cursor)))
    return tables


def to_csv(table: Table) -> str:
    """The table as CSV with a header; an unknown figure is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([[_csv_cell(cell) for cell in row] for row in table.rows])
    return text.getvalue()


def _csv_cell(cell: Cell) -> str | int:
    if isinstance(cell, float):
        return f"{cell:.6f}".rstrip("0").rstrip(".") if math.isfinite(cell) else ""
    if isinstance(cell, str):
        return _csv_text(cell)
    return "" if cell is None else cell


@lru_cache(maxsize=1 << 12)  # tables repeat the names of models and judges
def _csv_text(text: str) -> str:
    # Names of models or topics may come from anyone. A carriage return would end the row, since the writer quotes
    # none, and a tab the cell; other controls may reach a terminal.
    return _FORMULA.sub(r"\1'", sanitize(re.sub(r"\s", " ", text)))


def _add_ratings(database: sqlite3.Connection, ratings: Ratings) -> None:
    fit = ratings.fit
    database.executemany("INSERT INTO elo VALUES (?, ?, ?, ?, ?, ?)", ratings.elo)
    if fit is not None:
        database.executemany("INSERT INTO strengths VALUES (?, ?, ?, ?, ?, ?, ?, ?)", fit.strengths)
        effects = ((judge.judge, judge.votes, *judge.bias, *judge.reliability) for judge in fit.judges)
        database.executemany("INSERT INTO judge_effects VALUES (?, ?, ?, ?, ?, ?, ?, ?)", effects)


_SCHEMA = """
-- A debate is named by its number in the order of time: its id may be long, and many rows name it.
CREATE TABLE all_debates (debate INTEGER PRIMARY KEY, id UNIQUE, created, topic_id, category, pro, con, first, winner,
    complete, rehearsed);
-- These ballots are the merged ones.
CREATE TABLE ballots (debate, judge, winner, lead, claim_score, label, round, final, judging_number, decides);
-- Of the panel's ballots on the whole debate; a `dimension` is a criterion, as the CSV files call it.
CREATE TABLE points (debate, dimension, pro, con);
CREATE TABLE elo (model, rating, games, won, lost, tied);
CREATE TABLE strengths (model, strength, low, high, rank, "group", votes, one_sided);
CREATE TABLE judge_effects (judge, votes, bias, bias_low, bias_high, reliability, reliability_low, reliability_high);
CREATE TABLE usage (debate, role, calls, input, output, cost, seconds, words, declined_turns);

-- What stand-ins said counts nowhere.
CREATE VIEW debates AS SELECT * FROM all_debates WHERE NOT rehearsed;

CREATE VIEW decided AS SELECT * FROM debates WHERE complete AND winner IS NOT NULL;

-- Every debate once for each of its sides; `result` is NULL where it was not decided.
CREATE VIEW sides AS SELECT debate, side, model, opponent, category,
    CASE WHEN NOT complete THEN NULL WHEN winner = 'tie' THEN 'tie' WHEN winner = side THEN 'won'
        WHEN winner IS NOT NULL THEN 'lost' END AS result
FROM (
    SELECT *, 'pro' AS side, pro AS model, con AS opponent FROM debates
    UNION ALL SELECT *, 'con' AS side, con AS model, pro AS opponent FROM debates
);

-- Ballots and points of debates that are not finished count nowhere.
CREATE VIEW finished_ballots AS SELECT ballots.*, ballots.rowid AS place
FROM ballots JOIN debates USING (debate) WHERE complete;
CREATE VIEW votes AS SELECT debate, judge, winner, lead FROM finished_ballots WHERE decides;

-- The panel counts as one model.
CREATE VIEW usage_by_model AS SELECT usage.*, complete, winner, pro, con,
    CASE role WHEN 'pro' THEN pro WHEN 'con' THEN con ELSE 'all judges' END AS model
FROM usage JOIN debates USING (debate);
"""

_PANEL_POINTS = """
-- The means of a panel: a table, since two queries read all of it.
CREATE TABLE panel_points AS
SELECT debate, dimension, avg(points.pro) AS pro, avg(points.con) AS con, min(points.rowid) AS place
FROM points JOIN debates USING (debate) WHERE complete GROUP BY debate, dimension;
"""


def _database(rows: Rows) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.executescript(_SCHEMA)
    database.executemany(
        """INSERT INTO all_debates VALUES (:debate, :id, :created, :topic_id, :category, :pro, :con, :first, :winner,
        :complete, :rehearsed)""",
        ({**vars(row), "debate": n} for n, row in enumerate(rows.debates)),
    )
    index, merged_ballots = {row.id: n for n, row in enumerate(rows.debates)}, list(rows.merged_ballots)
    database.executemany(
        """INSERT INTO ballots
        VALUES (:id, :judge, :winner, :lead, :claim_score, :label, :round, :final, :judging_number, :decides)""",
        ({**vars(row), "id": index[row.debate], "lead": row.lead, "decides": row.decides} for row in merged_ballots),
    )
    of_panels = [(index[row.debate], row.scores) for row in merged_ballots if row.final and row.judging_number == 0]
    points = ((debate, name, *pair) for debate, scores in of_panels for name, pair in scores.items())
    database.executemany("INSERT INTO points VALUES (?, ?, ?, ?)", points)
    database.executescript(_PANEL_POINTS)
    usage = (
        (index[row.id], role, *(value for _, value in usage_of_role))
        for row in rows.debates
        for role, usage_of_role in row.usage_by_role.items()
    )
    database.executemany(f"INSERT INTO usage VALUES (?, ?{', ?' * len(RoleUsage.model_fields)})", usage)
    database.create_function("wilson_low", 2, lambda part, total: wilson_interval(part, total)[0] if total else None)
    database.create_function("wilson_high", 2, lambda part, total: wilson_interval(part, total)[1] if total else None)
    for name, arguments, function in (
        ("pearson", 2, pearson),
        ("deviation", 1, deviation),
        ("cohen_kappa", 3, cohen_kappa),
        ("fleiss_kappa", 3, fleiss_kappa),
    ):
        database.create_aggregate(name, arguments, _aggregate(function))
    return database


def _aggregate(function: Callable[[list[Any]], float | None]) -> type:
    """An aggregate of SQLite: a function of the list of all arguments without a NULL, each a tuple."""

    class Aggregate:
        def __init__(self) -> None:
            self.values: list[Any] = []

        def step(self, *values: Any) -> None:
            if None not in values:
                self.values.append(values)

        def finalize(self) -> float | None:
            return function(self.values)

    return Aggregate


def pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's correlation; None of fewer than two pairs, or where one side does not vary."""
    try:
        return statistics.correlation(*zip(*pairs, strict=True)) if pairs else None
    except statistics.StatisticsError:
        return None


def deviation(values: Sequence[tuple[float]]) -> float | None:
    """The standard deviation of a sample; None of fewer than two values."""
    return statistics.stdev(value for (value,) in values) if len(values) > 1 else None


def cohen_kappa(counts: Sequence[tuple[str, str, int]]) -> float | None:
    """Cohen's kappa of two judges, from the labels that each gave and how often they gave these two; None if chance
    alone would agree always.
    Source: J. Cohen, A Coefficient of Agreement for Nominal Scales, 1960."""
    first, second = Counter[str](), Counter[str]()
    for label, other_label, times in counts:
        first[label] += times
        second[other_label] += times
    chance = sum(first[label] * second[label] for label in first)  # of total ** 2
    total = first.total()
    if not total or chance == total * total:
        return None
    agree = sum(times for label, other_label, times in counts if label == other_label)
    return (agree * total - chance) / (total * total - chance)


def fleiss_kappa(panels: Sequence[Sequence[int]]) -> float | None:
    """Fleiss' kappa of panels of two judges or more, which may differ in size, from how many of a panel gave each
    label; None without a panel, or where only one label occurs.
    Source: J. L. Fleiss, Measuring Nominal Scale Agreement among Many Raters, 1971."""
    labels: list[int] = [sum(counts) for counts in zip(*panels, strict=True)]
    if sum(count > 0 for count in labels) < 2:
        return None
    total = sum(labels)
    agreement = [sum(count * (count - 1) for count in panel) / (sum(panel) * (sum(panel) - 1)) for panel in panels]
    chance: float = sum(count * count for count in labels) / (total * total)
    return (sum(agreement) / len(agreement) - chance) / (1 - chance)
