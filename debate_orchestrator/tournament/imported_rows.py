"""Puts the rows of judges together into debates and ballots, and notes what can't be read in them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from debate_orchestrator.core.settings import MAX_COUNT
from debate_orchestrator.tournament import rows
from debate_orchestrator.tournament.rows import BallotRow, DebateRow, RoleUsage, Rows, Side, Winner
from debate_orchestrator.util.errors import BadFile, short_repr
from debate_orchestrator.util.numbers import plain_number
from debate_orchestrator.util.sanitize import normalize_unicode

_NO_VOTE = {"abstain", "abstained", "abstains", "abstention", "invalid", "no decision"}
_EMPTY = {"", "-", "none", "null", "nan", "n/a", "na"}
"""What programs write into an empty cell."""
_MISSING = {*_EMPTY, "unknown", *_NO_VOTE}
_WINNERS: dict[str, Winner] = {"pro": "pro", "con": "con", "tie": "tie", "draw": "tie"}
_SIDES: dict[str, Side] = {"pro": "pro", "con": "con", "pro-first": "pro", "con-first": "con"}
_YES_OR_NO = {
    **dict.fromkeys(("1", "1.0", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "0.0", "false", "f", "no", "n", "off"), False),
}
_DEBATE_KEYS = ("topic", "motion", "category", "pro", "con", "created", "first")
"""The keys whose values belong to the debate, and should be the same in each of its rows."""
_DAY = re.compile(r"(?:19|20)\d\d(?:\d\d){0,2}")
"""A date without hyphens, or a year, which is no number of seconds."""
_LATEST_SECONDS = 1e11
"""A number beyond this is a time in milliseconds."""


Value = TypeVar("Value")


class ImportedRow(NamedTuple):
    """A row of an imported file, on one judge, as it was read: values by the fields of the map, scores by criterion."""

    line: int
    values: Mapping[str, Any]
    scores: dict[str, tuple[Any, Any]]
    usage_by_role: dict[Any, RoleUsage] = {}


class RowCollector:
    """Puts rows of judges together into debates and ballots."""

    def __init__(self, file_name: str, *, has_time: bool):
        self._file_name, self._has_time = file_name, has_time
        self._examples_by_problem: dict[str, list[str]] = {}
        """What could not be read, with its line, by the kind of problem."""
        self._debates: dict[str, dict[str, Any]] = {}
        self._ballots: dict[tuple[Any, ...], BallotRow] = {}

    def add(self, row: ImportedRow) -> None:
        debate_id, judge = self._name(row, "debate"), self._name(row, "judge")
        if not debate_id:
            self._note("Rows without a debate, left out", f"line {row.line}")
            return
        self._take_debate(debate_id, row)
        if not judge:
            self._note("Rows without a judge, which cast no vote", f"line {row.line}")
            return
        number = self._read(row, "round", _whole_number, "`round` that is not a whole number")
        kind = "`mirrored` that is neither yes nor no, taken as no"
        mirrored = self._read(row, "mirrored", lambda value: _YES_OR_NO.get(_text(value).casefold()), kind) or False
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
            round=number,
            mirrored=mirrored,
            label=self._name(row, "label") or None,
            score=self._read(row, "score", finite, "`score` that is not a number"),
        )

    def _read(self, row: ImportedRow, key: str, read: Callable[[Any], Value | None], kind: str) -> Value | None:
        """The value of a column; None for an empty cell and, with a note of this kind, for one that can't be read."""
        cell = row.values.get(key)
        if _is_missing(cell):
            return None
        if (value := read(cell)) is None:
            self._note(kind, _example(cell, row.line))
        return value

    def _repeat(self, row: ImportedRow) -> int | str:
        """The number of a judge's judging of a debate: 0 for an empty cell; for any other value a text, with a note."""
        cell, text = row.values.get("repeat"), self._name(row, "repeat")
        number = _whole_number(cell) if text or isinstance(cell, list | dict) else 0
        if number is not None and number >= 0:
            return number
        self._note("`repeat` that is not 0, 1, 2 ..., numbered after those by order of rows", _example(cell, row.line))
        return text

    def _note(self, kind: str, example: str) -> None:
        self._examples_by_problem.setdefault(kind, []).append(example)

    def _name(self, row: ImportedRow, key: str) -> str:
        """A text or a number as text; empty for an empty cell and all else. Raises BadFile for one that is too long."""
        text = _text(row.values.get(key))
        rows.check_name(key, text, self._file_name)
        return "" if text.casefold() in _EMPTY else text

    def _take_debate(self, debate_id: str, row: ImportedRow) -> None:
        """Takes the values of a row's debate. Every row may give values that others lack."""
        debate = self._debates.setdefault(debate_id, {"usage_by_role": row.usage_by_role})
        for key in _DEBATE_KEYS:
            if key == "created":
                text = self._read(row, key, _time, "Times that can't be read, taken as unknown")
            elif key == "first":
                kind = "`first` that is neither pro nor con, taken as unknown"
                text = self._read(row, key, lambda value: _SIDES.get(_text(value).casefold()), kind)
            else:
                text = self._name(row, key)
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
                self._note(kind, f"{_example(text, row.line)}, debate {short_repr(debate_id)}")

    def _scores(self, row: ImportedRow) -> dict[str, tuple[float, float]]:
        """The points of both sides. A criterion with a missing or unreadable number on either side is left out."""
        points = {}
        for name, pair in row.scores.items():
            pro, con = map(finite, pair)
            if pro is not None and con is not None:
                points[name] = (pro, con)
                continue
            for value in pair:
                if finite(value) is None and not _is_missing(value):
                    kind = "Scores that are not numbers, whose criterion is left out of their ballot"
                    self._note(kind, _example(value, row.line))
        return points

    def _winner(
        self, row: ImportedRow, debate: Mapping[str, Any], scores: dict[str, tuple[float, float]]
    ) -> Winner | None:
        cell = row.values.get("winner")
        text, example = _text(cell), _example(cell, row.line)
        stands_for: set[Winner] = {side for side in rows.SIDES if text and debate.get(side) == text}
        if (word := text.casefold()) in _WINNERS:
            stands_for.add(_WINNERS[word])
        if len(stands_for) == 1:
            return stands_for.pop()
        if stands_for:
            kind = "Winners that stand for one side as a word or a model and for another too, taken as missing"
        elif word in _NO_VOTE:
            kind = "Abstentions and invalid ballots, which are no votes whatever their scores"
            example = f"line {row.line}"
        elif not _is_missing(cell):
            kind = "Winners that are neither pro, con, tie nor a model that a row before names, taken as missing"
        elif "winner" in row.values:
            kind, example = "Ballots that name no winner, which are no votes whatever their scores", f"line {row.line}"
        elif (winner := rows.winner_by_scores(scores.values())) is not None:
            return winner
        else:
            kind, example = "Missing votes", f"line {row.line}"
        self._note(kind, example)
        return None

    def rows(self) -> Rows:
        """All of it. Raises BadFile if no winner at all could be read."""
        ballots = rows.mark_flipped(_with_final_ballots_marked(self._ballots))
        voting = {(ballot.debate, ballot.judge) for ballot in ballots if ballot.final and ballot.judging_number == 0}
        for debate, judge in sorted({(ballot.debate, ballot.judge) for ballot in ballots} - voting):
            kind = "Judges without a ballot on the whole debate or after its last round, who have no vote on it"
            self._note(kind, f"{short_repr(judge)}, debate {short_repr(debate)}")
        notes = [
            f"{kind}: {len(examples):,} (the first: {examples[0]})."
            for kind, examples in self._examples_by_problem.items()
        ]
        if not any(ballot.winner for ballot in ballots):
            hint = "map the column that has it as `winner`; without `winner` in the map, the scores decide"
            raise BadFile([*notes, f"{self._file_name}: no row has a winner that can be read."], hint=hint)
        votes: dict[str, list[Winner | None]] = {debate_id: [] for debate_id in self._debates}
        for ballot in ballots:
            if ballot.is_panel_vote:
                votes[ballot.debate].append(ballot.winner)
        debates = [self._row(debate_id, rows.panel_winner(votes[debate_id])) for debate_id in self._debates]
        if not self._has_time:
            notes.append("No column for time is mapped: Elo takes debates in the order of their ids.")
        elif any(not debate.created for debate in debates):
            notes.append("Debates without a time come first in the order that Elo takes.")
        imported = Rows(debates, ballots, notes)
        rows.check_sizes(imported.ballots, self._file_name)  # by the names that are written, which are redacted
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
    judging_numbers = dict[tuple[str, str], dict[int | str, int]]()
    for debate, judge, _, _, repeat in ballots:
        judging_numbers.setdefault((debate, judge), {})[repeat] = 0
    for found in judging_numbers.values():
        in_order = sorted(found, key=lambda repeat: repeat if isinstance(repeat, int) else math.inf)
        found.update((repeat, number) for number, repeat in enumerate(in_order))
    last = dict[tuple[str, int], int]()
    for debate, judge, number, _, repeat in ballots:
        if number is not None:
            judging = (debate, judging_numbers[debate, judge][repeat])
            last[judging] = max(last.get(judging, number), number)
    marked = []
    for (debate, judge, number, mirrored, repeat), ballot in ballots.items():
        judging_number = judging_numbers[debate, judge][repeat]
        is_last = (
            number == last.get((debate, judging_number)) and (debate, judge, None, mirrored, repeat) not in ballots
        )
        marked.append(ballot.model_copy(update={"judging_number": judging_number, "final": number is None or is_last}))
    return marked


def _text(value: Any) -> str:
    """A value as text, in one Unicode form, so that a name written in two ways is one name; empty for what is none."""
    if isinstance(value, str):
        return normalize_unicode(value.strip(), "NFC")
    return "" if value is None or isinstance(value, list | dict) else str(value)


def _whole_number(value: Any) -> int | None:
    number = finite(value)
    return int(number) if number is not None and number.is_integer() and abs(number) <= MAX_COUNT else None


def _time(value: Any) -> str | None:
    """A time in one form; None if it can't be read. One without a zone is UTC."""
    text, number = _text(value), finite(value)
    try:
        if number is not None and not _DAY.fullmatch(text):
            seconds = number / 1000 if abs(number) > _LATEST_SECONDS else number
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _is_missing(value: Any) -> bool:
    """Whether the value is empty, or a word that means so."""
    return value is None or (isinstance(value, str) and _text(value).casefold() in _MISSING)


def _example(value: Any, line: int) -> str:
    text = "a list or an object" if isinstance(value, list | dict) else short_repr(_text(value))
    return f"{text}, line {line}"


def finite(value: Any) -> float | None:
    """A number that is not too large; None for anything else."""
    if isinstance(value, str):
        number = plain_number(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    else:
        number = None
    return float(number) if number is not None and abs(number) <= rows.MAX_NUMBER else None
