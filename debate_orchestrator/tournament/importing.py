"""Takes judged debates that were made elsewhere: CSV or JSON lines with a row for each judge, read through a map of
their columns, and the JSON lines of DebateBench, another program (github.com/adamblumoff/debate-bench), which need no
map.

Nothing is guessed. What can't be read counts as missing, and the notes say how often, with the first line of each kind.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import Field

from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.formats.validation import key_path, validate
from debate_orchestrator.storage.files import make_folder, write_new
from debate_orchestrator.tournament import rows
from debate_orchestrator.tournament.folder import IMPORTED, SPEC, must_be_new
from debate_orchestrator.tournament.imported_rows import ImportedRow, RowCollector, finite
from debate_orchestrator.tournament.rows import RoleUsage, Rows
from debate_orchestrator.util.data import name_of, read_mapping, read_text, strict_json
from debate_orchestrator.util.errors import BadFile, suggest
from debate_orchestrator.util.sanitize import count_words

MAX_SIZE = 100_000_000
"""Bytes of a file that is imported."""


class ColumnMap(FrozenModel):
    """The meaning of columns. In JSON lines a column is a path of keys: `transcript.topic.id`."""

    debate: str
    pro: str
    con: str
    judge: str
    topic: str | None = None
    motion: str | None = None
    category: str | None = None
    created: str | None = None
    first: str | None = None
    """The first speaker: pro or con."""
    winner: str | None = None
    """pro, con, tie, or a side's model. Without this column, the scores decide."""
    scores: dict[str, tuple[str, str]] = Field(default={}, max_length=rows.MAX_CRITERIA)
    """Criterion to the columns of pro's and con's points."""
    round: str | None = None
    """The round after which the ballot was cast; the last one of a debate is on the whole of it."""
    mirrored: str | None = None
    """Whether the judge saw the sides swapped. The row holds the sides as they are."""
    repeat: str | None = None
    """A number or name for each time that a judge judged the same debate."""
    label: str | None = None
    score: str | None = None
    """A single number for the topic itself."""

    def columns(self) -> list[str]:
        """Every column that it names."""
        names = [value for name, value in self if name != "scores" and value is not None]
        return [*names, *(column for pair in self.scores.values() for column in pair)]


def import_rows(source: str, map_file: str | None, to: str) -> Rows:
    """Reads `source` and writes the folder `to`: its rows, and a `tournament.json` that says where they come from.
    Raises BadFile if either can't be read, the map names a column that is not there, or `to` holds files."""
    if os.path.lexists(os.path.join(to, SPEC)):
        raise BadFile(f"{name_of(to)} holds a tournament already.", hint="name a new folder")
    must_be_new(to)
    text = read_text(source, MAX_SIZE)
    columns = _read_map(map_file) if map_file else None
    imported = read_debates(text, name_of(source), columns)
    about = {
        "from": os.path.basename(source),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "map": columns.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True) if columns else None,
        "debates": len(imported.debates),
        "ballots": len(imported.ballots),
        "notes": list(imported.notes),
    }
    text = rows.dump(imported)
    make_folder(to)
    write_new(os.path.join(to, rows.ROWS), text)
    write_new(os.path.join(to, SPEC), json.dumps({"schema": 1, IMPORTED: about}, indent=2) + "\n")
    return imported


def _read_map(path: str) -> ColumnMap:
    columns, problems = validate(
        ColumnMap, read_mapping(path), lambda keys: ": ".join(filter(None, (name_of(path), key_path(keys))))
    )
    if columns is None:
        raise BadFile(problems)
    return columns


def read_debates(text: str, file_name: str, columns: ColumnMap | None) -> Rows:
    """The rows in a text of CSV or JSON lines; without a map, JSON lines as DebateBench writes them."""
    is_json = text.lstrip().startswith(("{", "["))
    if not text.strip():
        raise BadFile(f"{file_name} is empty.")
    if columns is None and not is_json:
        raise BadFile(f"{file_name} needs a map of its columns.", hint="a YAML file that says which column is what")
    collector = RowCollector(file_name, has_time=columns is None or columns.created is not None)
    if columns is None:
        imported_rows = _debatebench(_json_lines(text, file_name), file_name)
    else:
        lines = _json_lines(text, file_name) if is_json else _csv_lines(text, columns, file_name)
        imported_rows = _mapped_rows(lines, columns, file_name)
    for count, row in enumerate(imported_rows, start=1):
        if count > rows.MAX_ROWS:
            raise BadFile(f"{file_name} has more than {rows.MAX_ROWS:,} rows.", hint="import a part of it")
        collector.add(row)
    return collector.rows()


def _json_lines(text: str, file_name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                value = strict_json(line)
                if not isinstance(value, dict):
                    raise ValueError("it is not an object")
            except ValueError as error:
                problem = f"{file_name}:{number}: not valid JSON ({error})."
                raise BadFile(problem, hint="one JSON object on each line") from None
            yield number, value


def _csv_lines(text: str, columns: ColumnMap, file_name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    first = 1  # the line with which a row begins
    try:
        header = list(reader.fieldnames or ())
        if missing := [name for name in columns.columns() if name not in header][:20]:
            raise BadFile([f"{file_name} has no column `{name}`. {suggest(name, header)}".rstrip() for name in missing])
        first = reader.line_num + 1
        if repeated := [name for name in columns.columns() if header.count(name) > 1]:
            raise BadFile(f"{file_name} has the column `{repeated[0]}` more than once.")
        for record in reader:
            # Of a figure with a decimal comma, say, all cells after it would be read as another column's.
            if None in record or None in record.values():
                problem = f"{file_name}:{first}: a row of another number of cells than the header's {len(header)}."
                raise BadFile(problem, hint="put cells that hold the delimiter into double quotes")
            first = reader.line_num + 1
            yield reader.line_num, record
    except csv.Error as error:
        close = 'close each quoted cell before the next begins, and write `"` in one twice'
        hint = "leave out the column of such long texts" if "field larger" in str(error) else close
        raise BadFile(f"{file_name}:{first}: not valid CSV ({error}).", hint=hint) from None


def _mapped_rows(
    lines: Iterable[tuple[int, dict[str, Any]]], columns: ColumnMap, file_name: str
) -> Iterator[ImportedRow]:
    keys = {key: name for key, name in columns if key != "scores" and name is not None}
    absent = {"debate", "pro", "con", "judge"}
    for number, record in lines:
        values = {key: _value_at(record, name) for key, name in keys.items()}
        scores = {name: (_value_at(record, pro), _value_at(record, con)) for name, (pro, con) in columns.scores.items()}
        absent = {key for key in absent if values[key] is None}
        yield ImportedRow(number, values, scores)
    if absent:
        raise BadFile([f"{file_name} has no `{getattr(columns, key)}` in any row." for key in sorted(absent)])


def _value_at(value: Any, path: str) -> Any:
    """The value in a column, or at a path of keys; None if there is none."""
    if isinstance(value, dict) and path in value:
        return value[path]
    for key in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _debatebench(lines: Iterable[tuple[int, Any]], file_name: str) -> Iterator[ImportedRow]:
    """The judges of each debate as rows. A debate without judges is one row without a judge."""
    for number, record in lines:
        transcript, panel = record.get("transcript"), record.get("judges")
        if not isinstance(transcript, dict) or not isinstance(panel, list):
            problem = f"{file_name}:{number}: no `transcript` and `judges`, as each line of DebateBench's debates has."
            raise BadFile(problem, hint="a map of the columns, for another layout")
        turn_list = transcript.get("turns")
        turns = [turn for turn in turn_list if isinstance(turn, dict)] if isinstance(turn_list, list) else []
        panel = [judge for judge in panel if isinstance(judge, dict)]
        debate = {
            "debate": transcript.get("debate_id"),
            "topic": _value_at(transcript, "topic.id"),
            "motion": _value_at(transcript, "topic.motion"),
            "category": _value_at(transcript, "topic.category"),
            "pro": transcript.get("pro_model_id"),
            "con": transcript.get("con_model_id"),
            "created": record.get("created_at"),
            "first": turns[0].get("speaker") if turns else transcript.get("round_order"),
        }
        usage: dict[Any, RoleUsage] = {}
        if turns:
            usage = {side: _usage([turn for turn in turns if turn.get("speaker") == side]) for side in rows.SIDES}
            usage["judge"] = _usage(panel)
        for judge in panel or [{}]:
            pro, con = (_value_at(judge, f"{side}.scores") for side in rows.SIDES)
            has_both_scores = isinstance(pro, dict) and isinstance(con, dict)
            scores = {name: (pro[name], con.get(name)) for name in pro} if has_both_scores else {}
            values = {**debate, "judge": judge.get("judge_id")}
            values |= {"winner": judge["winner"]} if "winner" in judge else {}
            yield ImportedRow(number, values, scores, usage)


def _usage(turns: list[dict[str, Any]]) -> RoleUsage:
    """The usage of a side's turns, or of the judges' ballots, as far as the record has it."""

    def total(*names: str) -> float | None:
        amounts = [next((turn[name] for name in names if turn.get(name) is not None), None) for turn in turns]
        numbers = [number for value in amounts if (number := finite(value)) is not None and number >= 0]
        return finite(sum(numbers)) if numbers and len(numbers) == len(turns) else None

    milliseconds = total("duration_ms", "latency_ms")
    prompt = total("prompt_tokens")
    answer = total("completion_tokens")
    contents = [turn["content"] for turn in turns if isinstance(turn.get("content"), str)]
    return RoleUsage(
        calls=len(turns),
        input=None if prompt is None else int(prompt),
        output=None if answer is None else int(answer),
        cost=total("cost"),
        seconds=None if milliseconds is None else milliseconds / 1000,
        words=sum(count_words(content) for content in contents) if contents else None,
    )
