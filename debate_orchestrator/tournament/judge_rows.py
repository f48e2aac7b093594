"""The rows of judges in a file of judged debates: CSV or JSON lines, read through a map of their columns, and the JSON
lines of DebateBench.

A value is a text, a number, true, false or None, as it stands in the file. A list or an object is `NESTED`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import Field

from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.tournament import rows
from debate_orchestrator.tournament.rows import RoleUsage
from debate_orchestrator.util.data import MAX_FILE_SIZE, strict_json
from debate_orchestrator.util.errors import BadFile, first_few, suggest
from debate_orchestrator.util.sanitize import count_words

OF_DEBATE = ("topic", "motion", "category", "pro", "con", "created", "first")
"""The keys whose values belong to the debate, and should be the same in each of its rows."""
MAX_COLUMNS = 10_000
"""Columns that a CSV file may have."""
NESTED = ()
"""A list or an object, which is neither a name nor a number. What is in it is not looked at: a map may read one column
as many."""


class ColumnMap(FrozenModel):
    """Which column holds what. In JSON lines a column is a path of keys: `transcript.topic.id`."""

    debate: str
    pro: str
    con: str
    judge: str
    topic: str | None = None
    motion: str | None = None
    category: str | None = None
    created: str | None = None
    first: str | None = None
    """pro or con, whichever speaks first."""
    winner: str | None = None
    """pro, con, tie, or a side's model."""
    scores: dict[str, tuple[str, str]] = {}
    """Dimension to the columns of pro's and con's points."""
    round: str | None = Field(default=None, alias="turn")
    """The round after which the ballot was cast; the last one of a debate is on the whole of it."""
    mirrored: str | None = None
    """Whether the judge saw the sides exchanged. The row holds the sides as they are."""
    repeat: str | None = None
    """A number or name for each time that a judge judged the same debate."""
    label: str | None = None
    score: str | None = None
    """A single number for the motion itself."""

    def columns(self) -> list[str]:
        """Every column that it names."""
        own = [value for name, value in self if name != "scores" and value is not None]
        return [*own, *(column for pair in self.scores.values() for column in pair)]


class JudgeRow(NamedTuple):
    """One row as it was read: values by the fields of the map, those of scores by dimension."""

    line: int
    debate: Mapping[str, Any]
    """The values of its debate. Rows that are made of one record share one mapping, so that they are read once."""
    values: Mapping[str, Any]
    """Those of the judge; in a file with a row for each judge, the same as `debate`."""
    scores: dict[str, tuple[Any, Any]]
    usage_by_role: dict[Any, RoleUsage]


def json_lines(text: str, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                value = strict_json(line)
            except ValueError as error:
                problem = f"{where}:{number}: not valid JSON ({error})."
                raise BadFile(problem, hint="one JSON object on each line") from None
            if not isinstance(value, dict):
                raise BadFile(f"{where}:{number}: not a JSON object.", hint="one JSON object on each line")
            yield number, value


def csv_lines(text: str, columns: ColumnMap, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(MAX_FILE_SIZE)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    first = 1  # the line with which a row begins
    try:
        header = next(reader, [])
        if len(header) > MAX_COLUMNS:
            raise BadFile(f"{where} has {len(header):,} columns, and at most {MAX_COLUMNS:,} are allowed.")
        place = {name: n for n, name in enumerate(header)}
        missing = (name for name in columns.columns() if name not in place)
        problems = (f"{where} has no column `{name}`. {suggest(name, header)}".rstrip() for name in missing)
        if told := list(first_few(problems, where)):
            raise BadFile(told)
        mapped = {name: place[name] for name in columns.columns()}
        first = reader.line_num + 1
        for cells in reader:
            first = reader.line_num + 1
            if cells:
                yield reader.line_num, {name: cells[n] if n < len(cells) else "" for name, n in mapped.items()}
    except csv.Error as error:
        hint = 'close each quoted cell before the next begins, and write `"` in one twice'
        raise BadFile(f"{where}:{first}: not valid CSV ({error}).", hint=hint) from None


def mapped(lines: Iterable[tuple[int, dict[str, Any]]], columns: ColumnMap, where: str) -> Iterator[JudgeRow]:
    named = {key: _path(name) for key, name in columns if key != "scores" and name is not None}
    scored = {name: (_path(pro), _path(con)) for name, (pro, con) in columns.scores.items()}
    absent = {"debate", "pro", "con", "judge"}
    for number, record in lines:
        values = {key: _value(_at(record, name)) for key, name in named.items()}
        scores = {name: (_value(_at(record, pro)), _value(_at(record, con))) for name, (pro, con) in scored.items()}
        absent = {key for key in absent if values[key] is None}
        yield JudgeRow(number, values, values, scores, {})
    if absent:
        raise BadFile([f"{where} has no `{getattr(columns, key)}` in any row." for key in sorted(absent)])


def _value(found: Any) -> Any:
    return NESTED if isinstance(found, list | dict) else found


def _path(text: str) -> tuple[str, ...]:
    """The keys of a path: the whole as one key, which comes first where it is there, and then one after another."""
    return text, *text.split(".")


def _at(value: Any, path: tuple[str, ...]) -> Any:
    """The value at a path of keys; None where there is none."""
    whole, *keys = path
    if isinstance(value, dict) and whole in value:
        return value[whole]
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def debatebench(lines: Iterable[tuple[int, Any]], where: str) -> Iterator[JudgeRow]:
    """The judges of each debate as rows. A debate without judges is one row without a judge."""
    for number, record in lines:
        transcript, panel = record.get("transcript"), record.get("judges")
        if not isinstance(transcript, dict) or not isinstance(panel, list):
            problem = f"{where}:{number}: no `transcript` and `judges`, as each line of DebateBench's debates has."
            raise BadFile(problem, hint="a map of the columns, for another layout")
        given = transcript.get("turns")
        turns = [turn for turn in given if isinstance(turn, dict)] if isinstance(given, list) else []
        debate = {
            "debate": transcript.get("debate_id"),
            "topic": _at(transcript, _path("topic.id")),
            "motion": _at(transcript, _path("topic.motion")),
            "category": _at(transcript, _path("topic.category")),
            "pro": transcript.get("pro_model_id"),
            "con": transcript.get("con_model_id"),
            "created": record.get("created_at"),
            "first": turns[0].get("speaker") if turns else transcript.get("round_order"),
        }
        debate = {key: _value(value) for key, value in debate.items()}
        panel = [judge for judge in panel if isinstance(judge, dict)]
        usage_by_role: dict[Any, RoleUsage] = {}
        if turns:
            usage_by_role = {
                side: _side_usage([turn for turn in turns if turn.get("speaker") == side]) for side in rows.SIDES
            }
            usage_by_role["judge"] = _side_usage(panel)
        for judge in panel or [{}]:
            pro, con = (_mapping(_at(judge, _path(f"{side}.scores"))) for side in rows.SIDES)
            points = {name: (_value(pro[name]), _value(con.get(name))) for name in pro}
            own = {"judge": _value(judge.get("judge_id")), "winner": _value(judge.get("winner"))}
            yield JudgeRow(number, debate, own, points, usage_by_role)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _side_usage(turns: list[dict[str, Any]]) -> RoleUsage:
    """What a side's turns took, or the judges' ballots, as far as the record says."""

    def total(*names: str) -> float | None:
        given = [next((turn[name] for name in names if turn.get(name) is not None), None) for turn in turns]
        known = [value for value in given if isinstance(value, int | float) and abs(value) <= rows.MAX_NUMBER]
        return amount if known and len(known) == len(turns) and abs(amount := sum(known)) <= rows.MAX_SUM else None

    milliseconds = total("duration_ms", "latency_ms")
    prompt, answer = total("prompt_tokens"), total("completion_tokens")
    contents = [turn["content"] for turn in turns if isinstance(turn.get("content"), str)]
    return RoleUsage(
        calls=len(turns),
        input=None if prompt is None else int(prompt),
        output=None if answer is None else int(answer),
        cost=total("cost"),
        seconds=None if milliseconds is None else milliseconds / 1000,
        words=sum(count_words(content) for content in contents) if contents else None,
    )
