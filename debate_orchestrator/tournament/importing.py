"""Takes judged debates that were made elsewhere: CSV or JSON lines with a row for each judge, read through a map of
their columns, and the JSON lines of DebateBench, which need no map.

Nothing is guessed. What can't be read counts as missing, and the notes say how often, with the first line of each kind.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any

from debate_orchestrator.core.settings import MAX_COUNT
from debate_orchestrator.formats.validation import key_path, validate
from debate_orchestrator.storage.files import make_folder, write_new
from debate_orchestrator.tournament import judge_rows, rows
from debate_orchestrator.tournament.folder import SPEC, must_be_new
from debate_orchestrator.tournament.journal_rows import IMPORTED
from debate_orchestrator.tournament.judge_rows import NESTED, OF_DEBATE, ColumnMap, JudgeRow
from debate_orchestrator.tournament.rows import BallotRow, DebateRow, Rows, Side, Winner
from debate_orchestrator.util.data import MAX_FILE_SIZE, name_of, read_mapping, read_text
from debate_orchestrator.util.errors import BadFile, short_repr
from debate_orchestrator.util.numbers import plain_number
from debate_orchestrator.util.sanitize import normalized

_MISSING = {"", "-", "none", "null", "nan", "n/a", "na", "unknown", "invalid", "abstain", "no decision"}
_MAX_MISSING_LENGTH = max(map(len, _MISSING))
_LEFT_OUT = ", whose dimension is left out of their ballot"
_WINNERS: dict[str, Winner] = {"pro": "pro", "con": "con", "tie": "tie", "draw": "tie"}
_TRUE = {"1", "true", "yes"}
_SIDES: dict[str, Side] = {"pro": "pro", "con": "con", "pro-first": "pro", "con-first": "con"}
_TWICE = "Rows that stand twice, of which one counts"
_DIFFERENT = (
    "Second ballots of a judge on one debate that differ from the first, left out (map `repeat` if they are repeats)"
)
_LIMITED = {"topic": "topic", "category": "category", "pro": "model", "con": "model"}
"""Names of a debate whose length is limited, and what they are names of."""
_LATEST_SECONDS = 1e11
"""A number beyond this is a time in milliseconds."""


_MAX_PARTS, _MAX_PATH_LENGTH = 32, 500
"""Keys of a path in a map, and its characters."""
MAX_SCORES = 1_000_000
"""Scores of all rows: a map may read one short column as many dimensions."""
MAX_JUDGES_OF_A_ROUND = 1_000
"""Judges of a debate after one round, or on the whole of it. Which round is the last, whose ballots are votes, is known
once all rows are read."""


def import_rows(source: str, map_file: str | None, to: str) -> Rows:
    """Reads `source` and writes the folder `to`: its rows, and a `tournament.json` that says where they come from.

    Raises BadFile if either can't be read, the map names a column that is not there, or `to` holds files.
    """
    if os.path.lexists(os.path.join(to, SPEC)):
        raise BadFile(f"{name_of(to)} holds a tournament already.", hint="name a new folder")
    must_be_new(to)
    text = read_text(source, MAX_FILE_SIZE)
    columns = _read_map(map_file) if map_file else None
    found = read_debates(text, name_of(source), columns)
    about = {
        "from": os.path.basename(source),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "map": columns.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True) if columns else None,
        "debates": len(found.debates),
        "ballots": len(found.ballots),
        "notes": list(found.notes),
    }
    text_of_rows = rows.dump(found, name_of(source))
    make_folder(to)
    written = os.path.join(to, rows.ROWS)
    write_new(written, text_of_rows)
    try:
        write_new(os.path.join(to, SPEC), json.dumps({"schema": 1, IMPORTED: about}, indent=2) + "\n")
    except BaseException:  # an interrupt too: rows alone are no tournament, and would be in the way of the next import
        with suppress(OSError):
            os.remove(written)
        raise
    return found


def _read_map(path: str) -> ColumnMap:
    given = read_mapping(path)
    scores = given.get("scores")
    if isinstance(scores, dict) and len(scores) > rows.MAX_DIMENSIONS:
        found = f"{len(scores):,} dimensions, and at most {rows.MAX_DIMENSIONS} are allowed"
        raise BadFile(f"{name_of(path)}: `scores` has {found}.")
    columns, problems = validate(
        ColumnMap, given, lambda keys: ": ".join(filter(None, (name_of(path), key_path(keys))))
    )
    if columns is None:
        raise BadFile(problems)
    for name in columns.columns():
        if len(name) > _MAX_PATH_LENGTH or name.count(".") >= _MAX_PARTS:
            problem = f"{name_of(path)}: the column {short_repr(name)} is too long or too deep"
            raise BadFile(f"{problem}; at most {_MAX_PATH_LENGTH} characters and {_MAX_PARTS} keys are allowed.")
    return columns


def read_debates(text: str, where: str, columns: ColumnMap | None) -> Rows:
    """The rows in a text of CSV or JSON lines; without a map, JSON lines as DebateBench writes them."""
    is_json = text.lstrip().startswith("{")
    if columns is None and not is_json:
        raise BadFile(f"{where} needs a map of its columns.", hint="a YAML file that says which column is what")
    found, scores = _Collector(where, has_time=columns is None or columns.created is not None), 0
    if columns is None:
        rows_read = judge_rows.debatebench(judge_rows.json_lines(text, where), where)
    elif is_json:
        rows_read = judge_rows.mapped(judge_rows.json_lines(text, where), columns, where)
    else:
        rows_read = judge_rows.mapped(judge_rows.csv_lines(text, columns, where), columns, where)
    for row in rows_read:
        if (scores := scores + len(row.scores)) > MAX_SCORES:
            hint = "a map with fewer `scores`, or the rows in several files"
            raise BadFile(f"{where} has more than the {MAX_SCORES:,} scores that are allowed.", hint=hint)
        found.take(row)
    return found.rows()


class _Collector:
    """Puts rows of judges together into debates and ballots."""

    def __init__(self, where: str, *, has_time: bool):
        self._where, self._has_time = where, has_time
        self._unread: dict[str, tuple[int, str]] = {}
        """What could not be read, by kind: how often, and the first case."""
        self._debates: dict[str, dict[str, Any]] = {}
        self._latest: tuple[Mapping[str, Any] | None, str] = None, ""
        """The values of a debate that were read last, and its id."""
        self._ballots: dict[tuple[Any, ...], BallotRow] = {}
        self._seen: dict[tuple[Any, ...], int] = {}
        """The hash of each row that was taken."""
        self._judges: dict[tuple[str, float | None], set[str]] = {}
        """Debate and round to its judges, except on the mirrored debate."""
        self._conflicts: list[str] = []
        """The first of them."""
        self._conflict_count = 0
        self._readable = 0

    def take(self, row: JudgeRow) -> None:
        """Raises BadFile if a name is longer, or a round of a debate has more judges, than is allowed."""
        debate_id = self._debate(row)
        if not debate_id:
            self._note("Rows without a debate, left out", lambda: f"line {row.line}")
            return
        judge = self._name(row.values.get("judge"), row)
        if not judge:
            self._note("Rows without a judge, which cast no vote", lambda: f"line {row.line}")
            return
        rows.check_name("judge", judge, debate_id, self._where)
        number = self._number(row, "round", MAX_COUNT, whole=True)
        mirrored = _text(row.values.get("mirrored")).casefold() in _TRUE
        key = (debate_id, judge, number, mirrored, self._name(row.values.get("repeat"), row))
        content = _content(row)
        if key in self._seen:
            kind = _TWICE if self._seen[key] == content else _DIFFERENT
            self._note(kind, lambda: f"line {row.line}, debate {short_repr(debate_id)}")
            return
        self._seen[key] = content
        if not mirrored:
            judges = self._judges.setdefault((debate_id, number), set())
            judges.add(judge)
            if len(judges) > MAX_JUDGES_OF_A_ROUND:
                many = f"more than the {MAX_JUDGES_OF_A_ROUND:,} judges of one round that are allowed"
                raise BadFile(f"{self._where}: the debate {short_repr(debate_id)} has {many}.")
        scores = self._scores(row)
        ballot = BallotRow(
            debate=debate_id,
            judge=judge,
            winner=self._winner(row, self._debates[debate_id], scores),
            scores=scores,
            round=None if number is None else int(number),
            mirrored=mirrored,
            label=self._name(row.values.get("label"), row) or None,
            score=self._number(row, "score", rows.MAX_NUMBER),
        )
        rows.check_name("label", ballot.label, debate_id, self._where)
        self._readable += ballot.winner is not None
        self._ballots[key] = ballot

    def _note(self, kind: str, case: Callable[[], str]) -> None:
        """Takes note of something that could not be read. Only the first case is put into words."""
        count, first = self._unread.get(kind) or (0, case())
        self._unread[kind] = (count + 1, first)

    def _name(self, value: Any, row: JudgeRow) -> str:
        """A text or a number as text; empty for anything else."""
        if value is NESTED:
            self._note("Lists and objects in place of a name, taken as missing", lambda: f"line {row.line}")
        return _text(value)

    def _debate(self, row: JudgeRow) -> str:
        """The id of a row's debate, empty where it has none. Every row may give values of a debate that others lack."""
        if row.debate is self._latest[0]:
            return self._latest[1]
        debate_id = self._name(row.debate.get("debate"), row)
        self._latest = row.debate, debate_id
        if not debate_id:
            return ""
        rows.check_id(debate_id, self._where)
        debate = self._debates.setdefault(debate_id, {"usage_by_role": row.usage_by_role})
        given = tuple(row.debate.get(key) for key in OF_DEBATE)
        if debate.get("given") == given:
            return debate_id
        debate["given"] = given
        for key in OF_DEBATE:
            text = self._name(row.debate.get(key), row)
            text = self._time(text, row) if key == "created" and text else text
            if not text or (key in ("pro", "con") and _is_missing(text)):
                continue
            if what := _LIMITED.get(key):
                rows.check_name(what, text, debate_id, self._where)
            if key in ("pro", "con") and debate.get(key, text) != text:
                self._conflict(debate_id, key, debate[key], text, row.line)
            debate[key] = min(debate.get(key, text), text) if key == "created" else debate.get(key, text)
        return debate_id

    def _conflict(self, debate_id: str, key: str, known: str, text: str, line: int) -> None:
        self._conflict_count += 1
        if len(self._conflicts) < 3:
            problem = f"debate {short_repr(debate_id)} has two models for {key}: {short_repr(known)} and "
            self._conflicts.append(f"{problem}{short_repr(text)} (line {line}).")

    def _time(self, text: str, row: JudgeRow) -> str:
        """A time in one form; empty, with a problem, where it can't be read. One without a zone is UTC."""
        number = _finite(text)
        try:
            if number is not None:
                seconds = number / 1000 if abs(number) > _LATEST_SECONDS else number
                moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
            else:
                moment = datetime.fromisoformat(text)
                moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError):
            self._note("Times that can't be read, taken as unknown", lambda: f"{short_repr(text)}, line {row.line}")
            return ""
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def _number(self, row: JudgeRow, key: str, most: int, *, whole: bool = False) -> float | None:
        """What a column holds, if it is a number of at most `most`, with or without a minus, and whole if asked."""
        value = row.values.get(key)
        number = _finite(value)
        if number is not None and (abs(number) > most or (whole and not number.is_integer())):
            number = None
        if number is None and not _is_missing(value):
            key_in_map = ColumnMap.model_fields[key].alias or key
            self._note(f"`{key_in_map}` that is no {'whole ' if whole else ''}number", lambda: _case(value, row.line))
        return number

    def _scores(self, row: JudgeRow) -> dict[str, tuple[float, float]]:
        """The points of both sides. A dimension with a missing or unreadable number on either side is left out."""
        found = {}
        for name, pair in row.scores.items():
            pro, con = _finite(pair[0]), _finite(pair[1])
            if pro is not None and con is not None:
                found[name] = (pro, con)
                continue
            if (pro is not None or _is_missing(pair[0])) and (con is not None or _is_missing(pair[1])):
                self._note("Scores that are missing" + _LEFT_OUT, lambda: f"line {row.line}")
            else:
                self._note(
                    "Scores that are no numbers" + _LEFT_OUT,
                    partial(_case, pair[0] if pro is None else pair[1], row.line),
                )
        return found

    def _winner(
        self, row: JudgeRow, debate: Mapping[str, Any], scores: dict[str, tuple[float, float]]
    ) -> Winner | None:
        value = row.values.get("winner")
        text = _text(value)
        pro, con = debate.get("pro"), debate.get("con")
        if text and pro != con and text in (pro, con):
            return "pro" if text == pro else "con"
        if found := _WINNERS.get(text.casefold()):
            return found
        if not _is_missing(value):
            kind = "Winners that are neither pro, con, tie nor a side's model, taken as missing"
            self._note(kind, lambda: _case(value, row.line))
            return None
        by_scores = rows.winner_by_scores(scores.values())
        if by_scores is None:
            self._note("Missing votes", lambda: f"line {row.line}")
        return by_scores

    def rows(self) -> Rows:
        """All of it. Raises BadFile if a debate contradicts itself, or no winner at all could be read."""
        notes = [f"{kind}: {count:,} (the first: {first})." for kind, (count, first) in self._unread.items()]
        if self._conflicts:
            more = [f"There are {self._conflict_count:,} such rows."] if self._conflict_count > 3 else []
            problems = [f"{self._where}: {problem}" for problem in self._conflicts] + more
            raise BadFile(problems, hint="map a column to `debate` that names each debate once")
        if not self._readable:
            raise BadFile([f"{self._where}: no row has a winner that can be read.", *notes])
        ballots = rows.mark_flipped(_finals(self._ballots))
        votes: dict[str, list[Winner | None]] = {debate_id: [] for debate_id in self._debates}
        for ballot in ballots:
            if ballot.is_vote:
                votes[ballot.debate].append(ballot.winner)
        debates = [self._row(debate_id, rows.panel_winner(votes[debate_id])) for debate_id in self._debates]
        rows.check_sizes(debates, ballots, self._where)
        if not self._has_time:
            notes.append("No column for time is mapped: Elo takes debates in the order of their ids.")
        elif any(not debate.created for debate in debates):
            notes.append("Debates without a time come first in the order that Elo takes.")
        return Rows(debates, ballots, notes)

    def _row(self, debate_id: str, winner: Winner | None) -> DebateRow:
        debate = self._debates[debate_id]
        texts = {key: debate.get(key, "") for key in ("created", "topic", "motion", "category")}
        first = _SIDES.get(debate.get("first", "").casefold())
        models = {side: debate.get(side) for side in rows.SIDES}
        return DebateRow(
            id=debate_id, **texts, **models, first=first, winner=winner, usage_by_role=debate["usage_by_role"]
        )


def _finals(ballots: Mapping[tuple[Any, ...], BallotRow]) -> list[BallotRow]:
    """The ballots, of which the last of each debate judge the whole of it, with repeats numbered from 0."""
    last: dict[str, int] = {}
    for ballot in ballots.values():
        last[ballot.debate] = max(last.get(ballot.debate, 0), ballot.round or 0)
    numbers: dict[tuple[Any, ...], dict[str, int]] = {}
    found = []
    for (*key, repeat), ballot in ballots.items():
        known = numbers.setdefault((key[0], key[1]), {})
        number = known.setdefault(repeat, len(known))
        final = ballot.round is None or ballot.round == last[ballot.debate]
        changed = number or not final
        found.append(ballot.model_copy(update={"repeat": number, "final": final}) if changed else ballot)
    return found


def _content(row: JudgeRow) -> int:
    """A hash of what a row holds. Texts are hashed once, however many rows share them."""
    points = (value for pair in row.scores.values() for value in pair)
    values = (*row.debate.values(), *row.values.values(), *row.scores, *points)
    # -1 and -2, or 1 and True, have the same hash; their texts do not.
    return hash(tuple(value if isinstance(value, str) else (type(value), str(value)) for value in values))


def _text(value: Any) -> str:
    """A value as text, in one Unicode form, so that a name written in two ways is one name; empty for what is none."""
    if isinstance(value, str):
        return _clean(value)
    return "" if value is None or value is NESTED else str(value)


@lru_cache(maxsize=1 << 16)
def _clean(text: str) -> str:
    return normalized(text.strip(), "NFC")


def _is_missing(value: Any) -> bool:
    """Whether nothing stands there, or a word that says so."""
    if not isinstance(value, str):
        return value is None
    text = _clean(value)
    return len(text) <= _MAX_MISSING_LENGTH and text.casefold() in _MISSING


def _shown(value: Any) -> str:
    return "a list or an object" if value is NESTED else short_repr(_text(value))


def _case(value: Any, line: int) -> str:
    return f"{_shown(value)}, line {line}"


def _finite(value: Any) -> float | None:
    """A number; None for anything else, and numbers whose sums no float holds among them."""
    if isinstance(value, str):
        number = plain_number(value)
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= rows.MAX_NUMBER:
        number = float(value)
    else:
        return None
    return number if number is not None and abs(number) <= rows.MAX_NUMBER else None
