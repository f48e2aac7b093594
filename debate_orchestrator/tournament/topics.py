"""Reads the topics of a tournament from CSV, JSON or YAML, with every problem at once."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from debate_orchestrator.core.settings import line_problems
from debate_orchestrator.core.values import Text, Value
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.data import name_of, read_text, strict_json
from debate_orchestrator.util.errors import BadFile, short_repr, suggest, with_hint

LARGEST = 20_000_000
"""Bytes that a file of topics may have."""
_FIELDS = ("id", "motion", "category", "position_a", "position_b")
_ID = re.compile(r"[^\s\x00-\x1f]{1,80}")


class Topic(Value):
    """A motion that is debated by every pair of models."""

    id: str
    motion: Text
    category: str
    position_a: Text
    """What the pro side argues."""
    position_b: Text


def read_topics(given: Any, folder: str) -> tuple[tuple[Topic, ...], list[str]]:
    """The topics that a spec names, and what is wrong with them. `given` is a list, or the path of a file in `folder`.

    A topic without positions has the motion and its opposite.
    """
    where = "topics"
    if isinstance(given, str) and given:
        path = os.path.join(folder, os.path.expanduser(given))
        where = name_of(given)
        try:
            given = _rows(path)
        except BadFile as error:
            return (), [f"topics: {problem}" for problem in error.complaints]
    if not isinstance(given, list) or not given:
        hint = "a list of {id, motion, category}, or the path of a CSV, JSON or YAML file with such rows"
        return (), [with_hint(f"{where}: {short_repr(given)} is no list of topics.", hint)]
    problems = [problem for n, row in enumerate(given, 1) for problem in _row_problems(where, n, row)]
    if problems:
        return (), problems
    topics = tuple(_topic(row) for row in given)
    return topics, list(_twice(where, topics))


def _rows(path: str) -> Any:
    """The rows of a file. BadFile if it can't be read or parsed."""
    text = read_text(path, LARGEST)
    try:
        if path.endswith(".csv"):
            return [dict(row) for row in csv.DictReader(text.splitlines(keepends=True), strict=True)]
        if path.endswith(".json"):
            value = strict_json(text)
        elif path.endswith((".yaml", ".yml")):
            from debate_orchestrator.util import yaml

            value = yaml.load(text)
        else:
            raise BadFile(f"{name_of(path)} has an unknown ending.", hint="a file that ends in .csv, .json or .yaml")
    except (ValueError, RecursionError, csv.Error) as error:
        raise BadFile(f"{name_of(path)} can't be parsed: {short_repr(str(error), 120)}.") from None
    return value.get("topics") if isinstance(value, dict) else value


def _row_problems(where: str, n: int, row: Any) -> Iterator[str]:
    if not isinstance(row, Mapping):
        yield f"{where}: row {n} is {short_repr(row)}, and no topic with id, motion and category."
        return
    row = {str(key): value for key, value in row.items() if key is not None}
    name = f"{where}: topic {n} ({row['id']})" if _text(row.get("id")) else f"{where}: topic {n}"
    for key in ("id", "motion", "category"):
        if not _text(row.get(key)):
            near = suggest(key, [other for other in row if other not in _FIELDS])
            yield " ".join(filter(None, (f"{name} has no {key}.", near and f"It has a similar key. {near}")))
    if (topic_id := _text(row.get("id"))) and not _ID.fullmatch(topic_id):
        yield f"{name}: an id has 1 to 80 characters and no blanks."
    for key in ("motion", "position_a", "position_b"):
        if text := _text(row.get(key)):
            yield from (f"{name}: {problem}" for problem in line_problems(key, text))
    if bool(_text(row.get("position_a"))) != bool(_text(row.get("position_b"))):
        yield f"{name} has the position of one side only. Give position_a and position_b, or neither."
    if len(_text(row.get("motion"))) > 950 and not _text(row.get("position_a")):
        yield f"{name}: a motion of more than 950 characters needs position_a and position_b."


def _topic(row: Mapping[str, Any]) -> Topic:
    texts = {key: _text(row.get(key)) for key in _FIELDS}
    motion = texts["motion"]
    return Topic(
        id=texts["id"],
        motion=motion,
        category=texts["category"],
        position_a=texts["position_a"] or f"For the motion: {motion}",
        position_b=texts["position_b"] or f"Against the motion: {motion}",
    )


def _text(value: Any) -> str:
    """A cell as text; numbers count as text, since YAML reads an id of digits as one."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip()


def _twice(where: str, topics: Sequence[Topic]) -> Iterator[str]:
    ids = Counter(topic.id for topic in topics)
    yield from (f"{where}: the topic id {name} stands {count} times." for name, count in ids.items() if count > 1)
    motions: dict[str, list[str]] = {}
    for topic in topics:
        motions.setdefault(sanitize.normalized(topic.motion).casefold().rstrip(" ."), []).append(topic.id)
    for same in motions.values():
        if len(set(same)) > 1:
            yield f"{where}: the topics {', '.join(same)} have the same motion."
