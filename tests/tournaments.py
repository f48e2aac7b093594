"""Judged debates for tests of tournaments: rows of judges as CSV, and folders that `debate tournament` reads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conftest import Run

from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.tournament.ratings import Ratings, elo
from debate_orchestrator.tournament.tables import all_tables, to_csv

COLUMNS = ("id", "when", "topic", "category", "pro", "con", "first", "judge", "winner")
MAP = {
    "debate": "id",
    "created": "when",
    "topic": "topic",
    "category": "category",
    "pro": "pro",
    "con": "con",
    "first": "first",
    "judge": "judge",
    "winner": "winner",
}


def row(debate: str, pro: str, con: str, winner: str, judge: str = "j1", **more: Any) -> dict[str, Any]:
    """One judge's row."""
    base = {"id": debate, "when": "", "topic": "t1", "category": "", "first": "pro"}
    return {**base, "pro": pro, "con": con, "judge": judge, "winner": winner, **more}


def write_rows(rows: Iterable[Mapping[str, Any]], scores: Mapping[str, Sequence[str]] | None = None) -> None:
    """Writes rows.csv and map.yaml into the working directory; JSON is YAML too. Extra columns of rows are mapped by
    their own names."""
    given = list(rows)
    columns = list(dict.fromkeys([*COLUMNS, *(name for one in given for name in one)]))
    with Path("rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(given)
    marks = {column for pair in (scores or {}).values() for column in pair}
    extra = {name: name for name in columns if name not in COLUMNS and name not in marks}
    made = {**MAP, **extra, **({"scores": scores} if scores else {})}
    Path("map.yaml").write_text(json.dumps(made), encoding="utf-8")


def imported(debate: Run, rows: Iterable[Mapping[str, Any]], scores: Mapping[str, Sequence[str]] | None = None) -> Any:
    """Imports these rows to `t/`; what `debate tournament import --json` printed."""
    write_rows(rows, scores)
    ran = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t", "--json")
    assert ran.code == 0, ran.err
    return ran.json


def ratings(debate: Run) -> Any:
    """What `debate tournament rate t --json` prints."""
    ran = debate("tournament", "rate", "t", "--json")
    assert ran.code == 0, ran.err
    return ran.json


def table(name: str) -> list[dict[str, str]]:
    """The rows of a table of `t/`, as its CSV file has them."""
    rows = read_rows("t")
    tables = all_tables(rows, Ratings(elo(rows.debates), None, ()))
    return list(csv.DictReader(io.StringIO(next(to_csv(one) for one in tables if one.name == name))))
