"""Tournaments for tests: a small spec with its runs, and debates judged elsewhere, as rows that are imported."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from conftest import Run
from messages_server import schema_of

from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.tournament.ratings import Ratings, elo
from debate_orchestrator.tournament.run import TournamentRun
from debate_orchestrator.tournament.spec import TournamentSpec
from debate_orchestrator.tournament.spec_file import parse_spec
from debate_orchestrator.tournament.tables import all_tables, to_csv

OPUS, SONNET, HAIKU = "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-5-5", "anthropic:claude-haiku-5-5"
JUDGES = ["anthropic:claude-opus-5", "anthropic:claude-sonnet-5", "anthropic:claude-sonnet-4-6"]


def spec_data(topics: int | str = 2, **changes: Any) -> dict[str, Any]:
    """The values of a spec file: three models, three judges of whom two judge, swapped sides, and so many topics, or
    those of a file."""
    rows: Any = topics
    if isinstance(topics, int):
        rows = [{"id": f"t{n}", "motion": f"Motion {n} holds.", "category": "test"} for n in range(topics)]
    spec = {"tag": "test", "models": [OPUS, SONNET, HAIKU], "judges": {"from": JUDGES, "panel": 2}, "topics": rows}
    return {**spec, "rounds": 1, **changes}


def write_spec(name: str = "spec.yaml", *, topics: int | str = 1, **changes: Any) -> None:
    """Writes the file of such a spec; JSON is YAML too."""
    Path(name).write_text(json.dumps(spec_data(topics, **changes)), encoding="utf-8")


def spec(topics: int = 2, *, rehearse: bool = True, **changes: Any) -> TournamentSpec:
    return parse_spec(spec_data(topics, **changes), rehearse=rehearse)


def tournament(path: str | Path = "held", **changes: Any) -> Tournament:
    """A tournament in a folder, with nothing run yet."""
    return folder.create(str(path), spec(**changes))


def runner(held: Tournament, **options: Any) -> TournamentRun:
    """A run that has looked at the journals."""
    run = TournamentRun(held, **options)
    run.read_journals()
    return run


def run_tournament(held: Tournament, **options: Any) -> TournamentRun:
    """A run that was run to its end."""
    run = runner(held, **options)

    async def to_the_end() -> None:
        await run.run(asyncio.Event())

    asyncio.run(to_the_end())
    return run


def replied(request: dict[str, Any]) -> str | None:
    """What a server says to a request of the panel format: a ballot of the shape that is asked for, or a speech."""
    schema = schema_of(request)
    return None if schema is None else json.dumps(fitting(schema, request["model"]))


def fitting(schema: Mapping[str, Any], about: str) -> Any:
    """A value of a JSON Schema: null wherever that is allowed."""
    if "anyOf" in schema:
        return fitting(schema["anyOf"][-1], about)
    kinds = schema.get("type", "string")
    if None in schema.get("enum", ()) or "null" in (kinds if isinstance(kinds, list) else [kinds]):
        return None
    if "enum" in schema:
        return schema["enum"][crc32(about.encode()) % len(schema["enum"])]
    match kinds[0] if isinstance(kinds, list) else kinds:
        case "object":
            return {name: fitting(part, f"{about}, {name}") for name, part in schema.get("properties", {}).items()}
        case "array":
            return [fitting(schema["items"], about)]
        case "boolean":
            return False
        case "number" | "integer":
            return 5 + crc32(about.encode()) % 6
    return f"Words for {about}."


def statuses(run: TournamentRun) -> list[str]:
    """How the debates stand, in the order of the schedule."""
    return [run.statuses[debate.id].status for debate in run.tournament.schedule]


COLUMNS = ("id", "when", "topic", "category", "pro", "con", "first", "judge", "winner")
MAP = {"debate": "id", "created": "when", **{name: name for name in COLUMNS[2:]}}


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
    points = {column for pair in (scores or {}).values() for column in pair}
    extra = {name: name for name in columns if name not in COLUMNS and name not in points}
    made = {**MAP, **extra, **({"scores": scores} if scores else {})}
    Path("map.yaml").write_text(json.dumps(made), encoding="utf-8")


def import_rows(
    debate: Run, rows: Iterable[Mapping[str, Any]], scores: Mapping[str, Sequence[str]] | None = None
) -> Any:
    """Imports these rows to a new `t/`; what `debate tournament import --json` printed."""
    shutil.rmtree("t", ignore_errors=True)
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
