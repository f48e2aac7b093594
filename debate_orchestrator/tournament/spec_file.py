"""Reads the spec of a tournament from a YAML file, which is a shorter way to write a `tournament.json`.

Every problem is reported at once, with the nearest key or name for each.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.settings import line_problems
from debate_orchestrator.engine import format_check
from debate_orchestrator.formats import loader
from debate_orchestrator.formats.loader import is_path
from debate_orchestrator.tournament.spec import (
    DEBATE_SETTINGS,
    MAX_CATEGORY_LENGTH,
    MAX_MODELS,
    Topic,
    TournamentSpec,
    as_model,
    spec_from_values,
)
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.data import name_of, read_text, strict_json
from debate_orchestrator.util.errors import (
    BadFile,
    BadSettings,
    DebateError,
    first_few,
    join_names,
    short_repr,
    suggest,
    with_hint,
)

ROUND_ROBIN = "round robin"
DEFAULT_FORMAT = "panel"
_COPIED_KEYS = ("sides", "first", "repetitions", "seed", "max_cost", "limits", "lengths")
"""Keys whose values `tournament.json` has as they are."""
KEYS = ("tag", "models", "judges", "topics", "pairs", "format", *_COPIED_KEYS, *DEBATE_SETTINGS)
_OFF_BY_DEFAULT = {name: False for name in ("issues", "brief") if name in DEBATE_SETTINGS}
"""Settings that are for a person with a decision to make, and off in a tournament unless the spec says otherwise."""
MAX_SIZE = 20_000_000
"""Bytes that a file of topics may have."""
MAX_COLUMNS = 200
"""Columns that a CSV file of topics may have."""
_TOPIC_FIELDS = tuple(Topic.model_fields)
_ID = re.compile(rf"[^\s\x00-\x1f{sanitize.NONCHARACTERS}]{{1,80}}")


def sample() -> str:
    """A commented spec to start from. It is valid without changes."""
    return (Path(__file__).parent / "sample.yaml").read_text(encoding="utf-8")


def parse_spec(content: Mapping[str, Any], folder: str = "", *, rehearse: bool = False) -> TournamentSpec:
    """The spec that the values of a file make; paths in it are relative to `folder`. Raises BadSettings with every
    problem. With `rehearse` a stand-in takes the place of every model."""
    problems = list(first_few((_unknown_key(key) for key in content if key not in KEYS), "spec"))
    loaded_format, templates, prompts = _format(content.get("format", DEFAULT_FORMAT), folder, problems)
    topics, topic_problems = read_topics(content.get("topics"), folder)
    models = _models(content.get("models"))
    data: dict[str, Any] = {
        "tag": content.get("tag", "tournament"),
        "models": models,
        "judges": _judges(content.get("judges"), loaded_format),
        "pairs": _pairs(content.get("pairs", ROUND_ROBIN), models, problems),
        **{key: content[key] for key in _COPIED_KEYS if content.get(key) is not None},
        "topics": topics,
        "order_within_sides": True,
        "settings": _OFF_BY_DEFAULT | {name: content[name] for name in DEBATE_SETTINGS if name in content},
        **{"format": loaded_format.name, "rules": loaded_format, "templates": templates, "prompts": prompts},
    }
    return spec_from_values(data, [*problems, *topic_problems], rehearse=rehearse)


def _unknown_key(key: object) -> str:
    return f"spec: unknown key {short_repr(key)}. {suggest(key, KEYS) or 'Keys: ' + ', '.join(KEYS)}"


def _format(name_or_path: Any, folder: str, problems: list[str]) -> tuple[Format, dict[str, str], dict[str, str]]:
    """A format with its templates and the digests of all prompts; the default one beside a problem."""
    name_or_path = in_folder(name_or_path, folder)
    try:
        if not isinstance(name_or_path, str):
            raise BadSettings(f"format: {short_repr(name_or_path)} is not a name, or the path of a folder.")
        format_check.load(name_or_path)
        loaded_format, templates = loader.load_with_templates(name_or_path)
    except DebateError as error:
        problems += error.problems
        loaded_format, templates = loader.load_with_templates(DEFAULT_FORMAT)
    return loaded_format, templates, loader.digests(loaded_format, templates)


def in_folder(format: Any, folder: str) -> Any:
    """A format as a spec in that folder names it: paths are relative to the spec."""
    if not (isinstance(format, str) and is_path(format)):
        return format
    return os.path.join(folder or ".", os.path.expanduser(format))


def _models(value: Any) -> Any:
    return [as_model(model) for model in value] if isinstance(value, list) else value


def _judges(value: Any, loaded_format: Format) -> Any:
    """The judges with all that a spec may leave out."""
    if JUDGE not in loaded_format.seats and value is None:
        return {"from": [], "panel": 0}
    judges = {"from": value} if value is None or isinstance(value, list) else value
    if not isinstance(judges, dict):
        return value
    return {
        "panel": loaded_format.judge_count,
        "mirror": loaded_format.mirror,
        **judges,
        "from": _models(judges.get("from") or []),
    }


def _pairs(value: Any, models: Any, problems: list[str]) -> Any:
    """The pairs as a list; no pairs of more models than there may be, which `spec_from_values` refuses."""
    entries = models if isinstance(models, list) else []
    names = list(dict.fromkeys(str(model.get("name")) for model in entries if isinstance(model, dict)))
    if len(names) > MAX_MODELS:
        return []
    if value == ROUND_ROBIN:
        return [list(pair) for pair in combinations(names, 2)]
    if isinstance(value, dict) and list(value) == ["against"]:
        return [[value["against"], name] for name in names if name != value["against"]]
    if not (isinstance(value, list) and value):
        hint = "`round robin`, a list such as [[x, y], [x, z]], or {against: x} for x against all others"
        problems.append(with_hint(f"pairs: {short_repr(value)} is not a list of pairs.", hint))
        return []
    return value


def read_topics(rows_or_path: Any, folder: str) -> tuple[tuple[Topic, ...], list[str]]:
    """The topics that a spec names, and what is wrong with them. `rows_or_path` is a list, or the path of a file in
    `folder`. A topic without positions has its `motion` and the opposite of it."""
    file_name = "topics"
    if isinstance(rows_or_path, str) and rows_or_path:
        path = os.path.join(folder, os.path.expanduser(rows_or_path))
        file_name = name_of(rows_or_path)
        try:
            rows_or_path = _topic_rows(path)
        except BadFile as error:
            return (), [f"topics: {problem}" for problem in error.problems]
    if not isinstance(rows_or_path, list) or not rows_or_path:
        hint = "a list of {id, motion, category}, or the path of a CSV, JSON or YAML file with such rows"
        return (), [with_hint(f"{file_name}: {short_repr(rows_or_path)} is not a list of topics.", hint)]
    problems_found = (problem for n, row in enumerate(rows_or_path, 1) for problem in _row_problems(file_name, n, row))
    if problems := list(first_few(problems_found, file_name)):
        return (), problems
    topics = tuple(_topic(row) for row in rows_or_path)
    return topics, list(first_few(_duplicate_problems(file_name, topics), file_name))


def _topic_rows(path: str) -> Any:
    """The rows of a file. Raises BadFile if it can't be read or parsed."""
    text = read_text(path, MAX_SIZE)
    try:
        if path.endswith(".csv"):
            return _csv_rows(text, name_of(path))
        if path.endswith(".json"):
            value = strict_json(text)
        elif path.endswith((".yaml", ".yml")):
            from debate_orchestrator.util import yaml

            value = yaml.load(text)
        else:
            raise BadFile(f"{name_of(path)} has an unknown suffix.", hint="a file that ends in .csv, .json or .yaml")
    except (ValueError, RecursionError, csv.Error) as error:
        raise BadFile(f"{name_of(path)} can't be parsed: {short_repr(str(error), 120)}.") from None
    return value.get("topics") if isinstance(value, dict) else value


def _csv_rows(text: str, name: str) -> list[dict[str, str]]:
    """The rows of a CSV file, with the columns of a topic; without one that it must have, with all that is there."""
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    header = next(reader, [])
    if len(header) > MAX_COLUMNS:
        raise BadFile(f"{name} has {len(header):,} columns, and at most {MAX_COLUMNS} are allowed.")
    has_header_names = {"id", "motion", "category"}.issubset(header)
    columns = {column: n for n, column in enumerate(header) if not has_header_names or column in _TOPIC_FIELDS}
    return [{column: cells[n] for column, n in columns.items() if n < len(cells)} for cells in reader if cells]


def _row_problems(file_name: str, n: int, row: Any) -> Iterator[str]:
    if not isinstance(row, Mapping):
        yield f"{file_name}: row {n} is {short_repr(row)}, not a topic with id, motion and category."
        return
    row = {str(key): value for key, value in row.items() if key is not None}
    name = f"{file_name}: topic {n} ({row['id']})" if _text(row.get("id")) else f"{file_name}: topic {n}"
    for key in ("id", "motion", "category"):
        if not _text(row.get(key)):
            suggestion = suggest(key, [other for other in row if other not in _TOPIC_FIELDS])
            yield " ".join(
                filter(None, (f"{name} has no {key}.", suggestion and f"It has a similar key. {suggestion}"))
            )
    if (topic_id := _text(row.get("id"))) and not _ID.fullmatch(topic_id):
        yield f"{name}: an id has 1 to 80 characters, no spaces and no characters that Unicode never assigns."
    if (length := len(_text(row.get("category")))) > MAX_CATEGORY_LENGTH:
        yield f"{name}: a category has at most {MAX_CATEGORY_LENGTH} characters, and this one has {length:,}."
    for key in ("motion", "position_a", "position_b"):
        if text := _text(row.get(key)):
            yield from (f"{name}: {problem}" for problem in line_problems(key, text))
    if bool(_text(row.get("position_a"))) != bool(_text(row.get("position_b"))):
        yield f"{name} has the position of one side only. Give position_a and position_b, or neither."
    if len(_text(row.get("motion"))) > 950 and not _text(row.get("position_a")):
        yield f"{name}: with more than 950 characters in motion, position_a and position_b are needed."


def _topic(row: Mapping[str, Any]) -> Topic:
    texts = {key: _text(row.get(key)) for key in _TOPIC_FIELDS}
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


def _duplicate_problems(file_name: str, topics: Sequence[Topic]) -> Iterator[str]:
    ids = Counter(topic.id for topic in topics)
    yield from (f"{file_name}: the topic id {name} occurs {count} times." for name, count in ids.items() if count > 1)
    motions: dict[str, list[str]] = {}
    for topic in topics:
        motions.setdefault(sanitize.normalize_unicode(topic.motion).casefold().rstrip(" ."), []).append(topic.id)
    for topic_ids in motions.values():
        if len(set(topic_ids)) > 1:
            yield f"{file_name}: the topics {join_names(topic_ids)} have the same text in motion."
