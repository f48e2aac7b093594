"""Takes judged debates that were made elsewhere: CSV or JSON lines with a row for each judge, read through a map of
their columns, and the JSON lines of DebateBench, which need no map.

Nothing is guessed. What can't be read counts as missing, and the notes say how often, with the first line of each kind.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pydantic import Field

from debate_orchestrator.core.settings import MAX_COUNT
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.formats.validation import key_path, validate
from debate_orchestrator.storage.files import make_folder, write_new
from debate_orchestrator.tournament import rows
from debate_orchestrator.tournament.folder import IMPORTED, SPEC, must_be_new
from debate_orchestrator.tournament.rows import BallotRow, DebateRow, RoleUsage, Rows, Side, Winner
from debate_orchestrator.util.data import name_of, read_mapping, read_text, strict_json
from debate_orchestrator.util.errors import BadFile, short_repr, suggest
from debate_orchestrator.util.numbers import plain_number
from debate_orchestrator.util.sanitize import count_words, normalize_unicode

MAX_SIZE = 100_000_000
"""Bytes of a file that is imported."""
_NO_VOTE = {"abstain", "abstained", "abstains", "abstention", "invalid", "no decision"}
_EMPTY = {"", "-", "none", "null", "nan", "n/a", "na"}
"""What programs write into an empty cell."""
_MISSING = {*_EMPTY, "unknown", *_NO_VOTE}
_WINNERS: dict[str, Winner] = {"pro": "pro", "con": "con", "tie": "tie", "draw": "tie"}
_SIDES: dict[str, Side] = {"pro": "pro", "con": "con", "pro-first": "pro", "con-first": "con"}
_YES, _NO = {"1", "1.0", "true", "t", "yes", "y", "on"}, {"0", "0.0", "false", "f", "no", "n", "off"}
_DEBATE_KEYS = ("topic", "motion", "category", "pro", "con", "created", "first")
"""The keys whose values belong to the debate, and should be the same in each of its rows."""
_DAY = re.compile(r"(?:19|20)\d\d(?:\d\d){0,2}")
"""A date without hyphens, or a year, which is no number of seconds."""
_LATEST_SECONDS = 1e11
"""A number beyond this is a time in milliseconds."""


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
    scores: dict[str, tuple[str, str]] = Field(default={}, max_length=rows.MAX_DIMENSIONS)
    """Dimension to the columns of pro's and con's points."""
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


class _JudgeRow(NamedTuple):
    """One row as it was read: values by the fields of the map, those of scores by dimension."""

    line: int
    values: Mapping[str, Any]
    scores: dict[str, tuple[Any, Any]]
    usage_by_role: dict[Any, RoleUsage] = {}


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
    collector = _Collector(file_name, has_time=columns is None or columns.created is not None)
    if columns is None:
        judge_rows = _debatebench(_json_lines(text, file_name), file_name)
    else:
        judge_rows = _mapped_rows(
            _json_lines(text, file_name) if is_json else _csv_lines(text, columns, file_name), columns, file_name
        )
    for count, row in enumerate(judge_rows, start=1):
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
        missing = [name for name in columns.columns() if name not in header]
        if missing:
            raise BadFile(
                [f"{file_name} has no column `{name}`. {suggest(name, header)}".rstrip() for name in missing[:20]]
            )
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
) -> Iterator[_JudgeRow]:
    keys = {key: name for key, name in columns if key != "scores" and name is not None}
    absent = {"debate", "pro", "con", "judge"}
    for number, record in lines:
        values = {key: _value_at(record, name) for key, name in keys.items()}
        scores = {name: (_value_at(record, pro), _value_at(record, con)) for name, (pro, con) in columns.scores.items()}
        absent = {key for key in absent if values[key] is None}
        yield _JudgeRow(number, values, scores)
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


def _debatebench(lines: Iterable[tuple[int, Any]], file_name: str) -> Iterator[_JudgeRow]:
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
            yield _JudgeRow(number, values, scores, usage)


def _usage(turns: list[dict[str, Any]]) -> RoleUsage:
    """The usage of a side's turns, or of the judges' ballots, as far as the record has it."""

    def total(*names: str) -> float | None:
        amounts = [next((turn[name] for name in names if turn.get(name) is not None), None) for turn in turns]
        numbers = [number for value in amounts if (number := _finite(value)) is not None and number >= 0]
        return _finite(sum(numbers)) if numbers and len(numbers) == len(turns) else None

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


class _Collector:
    """Puts rows of judges together into debates and ballots."""

    def __init__(self, file_name: str, *, has_time: bool):
        self._file_name, self._has_time = file_name, has_time
        self._problem_cases: dict[str, list[str]] = {}
        """The unreadable values, by kind."""
        self._debates: dict[str, dict[str, Any]] = {}
        self._ballots: dict[tuple[Any, ...], BallotRow] = {}

    def add(self, row: _JudgeRow) -> None:
        debate_id, judge = self._name(row, "debate"), self._name(row, "judge")
        if not debate_id:
            self._note("Rows without a debate, left out", f"line {row.line}")
            return
        self._take_debate(debate_id, row)
        if not judge:
            self._note("Rows without a judge, which cast no vote", f"line {row.line}")
            return
        number = self._number(row, "round", MAX_COUNT, integer=True)
        mirrored = self._mirrored(row)
        key = (debate_id, judge, number, mirrored, self._repeat(row))
        if key in self._ballots:
            kind = "Second ballots of a judge on one debate, left out (map `repeat` if they are repeats)"
            self._note(kind, f"line {row.line}, debate {short_repr(debate_id)}")
            return
        scores = self._scores(row)
        self._ballots[key] = BallotRow(
            debate=debate_id,
            judge=judge,
            winner=self._winner(row, self._debates[debate_id], scores),
            scores=scores,
            round=None if number is None else int(number),
            mirrored=mirrored,
            label=self._name(row, "label") or None,
            score=self._number(row, "score", rows.MAX_NUMBER),
        )

    def _mirrored(self, row: _JudgeRow) -> bool:
        text = _text(row.values.get("mirrored")).casefold()
        if text in _YES or text in _NO or _is_missing(text):
            return text in _YES
        self._note("`mirrored` that is neither yes nor no, taken as no", _case(text, row.line))
        return False

    def _repeat(self, row: _JudgeRow) -> int | str:
        """The number of a judge's judging of a debate: 0 for an empty cell; for any other value a text, with a note."""
        value, text = row.values.get("repeat"), self._name(row, "repeat")
        number = _finite(value) if text or isinstance(value, list | dict) else 0.0
        if number is not None and number.is_integer() and 0 <= number <= MAX_COUNT:
            return int(number)
        self._note("`repeat` that is not 0, 1, 2 ..., numbered after those by order of rows", _case(value, row.line))
        return text

    def _note(self, kind: str, case: str) -> None:
        self._problem_cases.setdefault(kind, []).append(case)

    def _name(self, row: _JudgeRow, key: str) -> str:
        """A text or a number as text; empty for an empty cell and all else. Raises BadFile for one that is too long."""
        text = _text(row.values.get(key))
        rows.check_name(key, text, self._file_name)
        return "" if text.casefold() in _EMPTY else text

    def _take_debate(self, debate_id: str, row: _JudgeRow) -> None:
        """Takes the values of a row's debate. Every row may give values that others lack."""
        debate = self._debates.setdefault(debate_id, {"usage_by_role": row.usage_by_role})
        for key in _DEBATE_KEYS:
            text = self._name(row, key)
            text = self._time(text, row) if key == "created" and text else text
            text = self._first(text, row) if key == "first" and text else text
            if not text or (key in rows.SIDES and text.casefold() in _MISSING):
                continue
            if key in rows.SIDES and debate.get(key, text) != text:
                both_models = f"{short_repr(debate[key])} and {short_repr(text)} (line {row.line})"
                problem = f"{self._file_name}: debate {short_repr(debate_id)} has two models for {key}: {both_models}."
                raise BadFile(problem, hint="map a column to `debate` that names each debate once")
            if key == "created":
                debate[key] = min(debate.get(key, text), text)
            elif debate.setdefault(key, text) != text:
                kind = f"Rows with another `{key}` than an earlier row of their debate, which counts"
                self._note(kind, f"{_case(text, row.line)}, debate {short_repr(debate_id)}")

    def _first(self, text: str, row: _JudgeRow) -> str:
        if text.casefold() not in _SIDES and text.casefold() not in _MISSING:
            self._note("`first` that is neither pro nor con, taken as unknown", _case(text, row.line))
        return _SIDES.get(text.casefold(), "")

    def _time(self, text: str, row: _JudgeRow) -> str:
        """A time in one form; empty, with a note, if it can't be read. One without a zone is UTC."""
        number = _finite(text)
        try:
            if number is not None and not _DAY.fullmatch(text):
                seconds = number / 1000 if abs(number) > _LATEST_SECONDS else number
                moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
            else:
                moment = datetime.fromisoformat(text)
                moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError):
            self._note("Times that can't be read, taken as unknown", f"{short_repr(text)}, line {row.line}")
            return ""
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

    def _number(self, row: _JudgeRow, key: str, maximum: int, *, integer: bool = False) -> float | None:
        """The value of a column, if it is a number of at most `maximum`, positive or negative, and whole if asked."""
        value = row.values.get(key)
        number = _finite(value)
        if number is not None and abs(number) <= maximum and (number.is_integer() or not integer):
            return number
        if not _is_missing(value):
            key_in_map = ColumnMap.model_fields[key].alias or key
            self._note(f"`{key_in_map}` that is not a {'whole ' if integer else ''}number", _case(value, row.line))
        return None

    def _scores(self, row: _JudgeRow) -> dict[str, tuple[float, float]]:
        """The points of both sides. A dimension with a missing or unreadable number on either side is left out."""
        points = {}
        for name, pair in row.scores.items():
            pro, con = map(_finite, pair)
            if pro is not None and con is not None:
                points[name] = (pro, con)
                continue
            for value in pair:
                if _finite(value) is None and not _is_missing(value):
                    kind = "Scores that are not numbers, whose dimension is left out of their ballot"
                    self._note(kind, _case(value, row.line))
        return points

    def _winner(
        self, row: _JudgeRow, debate: Mapping[str, Any], scores: dict[str, tuple[float, float]]
    ) -> Winner | None:
        value = row.values.get("winner")
        text, pro, con = _text(value), debate.get("pro"), debate.get("con")
        by_model: Winner | None = (
            ("pro" if text == pro else "con") if text and pro != con and text in (pro, con) else None
        )
        by_word = _WINNERS.get(text.casefold())
        if by_model and by_word and by_model != by_word:
            self._note(
                "Winners that are a word for one side and the model of another, taken as missing", _case(text, row.line)
            )
            return None
        if winner := by_model or by_word:
            return winner
        if text.casefold() in _NO_VOTE:
            self._note("Abstentions and invalid ballots, which are no votes whatever their scores", f"line {row.line}")
            return None
        if not _is_missing(value):
            kind = "Winners that are neither pro, con, tie nor a model that a row before names, taken as missing"
            self._note(kind, _case(value, row.line))
            return None
        if "winner" in row.values:
            self._note("Ballots that name no winner, which are no votes whatever their scores", f"line {row.line}")
            return None
        by_scores = rows.winner_by_scores(scores.values())
        if by_scores is None:
            self._note("Missing votes", f"line {row.line}")
        return by_scores

    def rows(self) -> Rows:
        """All of it. Raises BadFile if no winner at all could be read."""
        ballots = rows.mark_flipped(_with_final_ballots_marked(self._ballots))
        voting = {(ballot.debate, ballot.judge) for ballot in ballots if ballot.final and ballot.repeat == 0}
        for debate, judge in sorted({(ballot.debate, ballot.judge) for ballot in ballots} - voting):
            kind = "Judges without a ballot on the whole debate or after its last round, who have no vote on it"
            self._note(kind, f"{short_repr(judge)}, debate {short_repr(debate)}")
        notes = [f"{kind}: {len(cases):,} (the first: {cases[0]})." for kind, cases in self._problem_cases.items()]
        if not any(ballot.winner for ballot in ballots):
            hint = "map the column that has it as `winner`; without `winner` in the map, the scores decide"
            raise BadFile([*notes, f"{self._file_name}: no row has a winner that can be read."], hint=hint)
        votes: dict[str, list[Winner | None]] = {debate_id: [] for debate_id in self._debates}
        for ballot in (ballot for ballot in ballots if ballot.is_vote):
            votes[ballot.debate].append(ballot.winner)
        debates = [self._row(debate_id, rows.panel_winner(votes[debate_id])) for debate_id in self._debates]
        if not self._has_time:
            notes.append("No column for time is mapped: Elo takes debates in the order of their ids.")
        elif any(not debate.created for debate in debates):
            notes.append("Debates without a time come first in the order that Elo takes.")
        imported = Rows(debates, ballots, notes)
        rows.check_sizes(imported.ballots, self._file_name)  # by the names that are written, which hold no keys
        return imported

    def _row(self, debate_id: str, winner: Winner | None) -> DebateRow:
        debate = self._debates[debate_id]
        texts = {key: debate.get(key, "") for key in ("created", "topic", "motion", "category")}
        others = {key: debate.get(key) for key in (*rows.SIDES, "first")}
        return DebateRow(id=debate_id, **texts, **others, winner=winner, usage_by_role=debate["usage_by_role"])


def _with_final_ballots_marked(ballots: Mapping[tuple[Any, ...], BallotRow]) -> list[BallotRow]:
    """The ballots, with `final` on each judge's ballot on the whole debate, and with each judge's judgings of a
    debate numbered from 0: in the order of their numbers, and those without one after them, as they occur. The final
    ballot is the one without a round, if there is one, or else the one after the last round of all judges' first
    judgings, or of their second ones, and so on: a later judging may have more rounds than the first."""
    places = dict[tuple[str, str], dict[int | str, int]]()
    for debate, judge, _, _, repeat in ballots:
        places.setdefault((debate, judge), {})[repeat] = 0
    for found in places.values():
        in_order = sorted(found, key=lambda repeat: repeat if isinstance(repeat, int) else math.inf)
        found.update((repeat, place) for place, repeat in enumerate(in_order))
    last = dict[tuple[str, int], int]()
    for debate, judge, number, _, repeat in ballots:
        judging = (debate, places[debate, judge][repeat])
        last[judging] = max(last.get(judging, -MAX_COUNT), -MAX_COUNT if number is None else number)
    marked = []
    for (debate, judge, number, mirrored, repeat), ballot in ballots.items():
        place = places[debate, judge][repeat]
        is_last = number == last[debate, place] and (debate, judge, None, mirrored, repeat) not in ballots
        marked.append(ballot.model_copy(update={"repeat": place, "final": number is None or is_last}))
    return marked


def _text(value: Any) -> str:
    """A value as text, in one Unicode form, so that a name written in two ways is one name; empty for what is none."""
    if isinstance(value, str):
        return normalize_unicode(value.strip(), "NFC")
    return "" if value is None or isinstance(value, list | dict) else str(value)


def _is_missing(value: Any) -> bool:
    """Whether the value is empty, or a word that means so."""
    return value is None or (isinstance(value, str) and _text(value).casefold() in _MISSING)


def _case(value: Any, line: int) -> str:
    text = "a list or an object" if isinstance(value, list | dict) else short_repr(_text(value))
    return f"{text}, line {line}"


def _finite(value: Any) -> float | None:
    """A number that is not too large; None for anything else."""
    number = plain_number(value) if isinstance(value, str) else None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= rows.MAX_NUMBER:
        number = float(value)
    return number if number is not None and abs(number) <= rows.MAX_NUMBER else None
