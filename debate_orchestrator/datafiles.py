"""YAML and JSON files, read strictly and written whole.

Answers and formats come from people and from strangers. YAML is read by the pure Python loader
(the C one can be crashed by nesting), without anchors, aliases or tags, and with the meanings that
people expect: `no` is a word, `1:30` is a word, only `true` and `false` are flags.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from debate_orchestrator.errors import BadFile, complaint, shown

LARGEST = 1_000_000
"""Bytes an answers or format file may have."""
_DEEPEST = 32
_HALVES = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


class _Loader(yaml.SafeLoader):
    """The safe loader, less what surprises: aliases, tags, dates, sexagesimals, yes and no."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_mark()
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not taken here", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            name = getattr(key, "value", None)
            if isinstance(name, str) and name in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {name!r} stands twice", problem_mark=key.start_mark)
            seen.add(name if isinstance(name, str) else id(key))
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|false|False)$", "tTfF"),
    ("tag:yaml.org,2002:int", r"^[-+]?[0-9]{1,18}$", "-+0123456789"),
    ("tag:yaml.org,2002:float", r"^[-+]?[0-9]{1,18}\.[0-9]{1,18}$", "-+0123456789"),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))


def read_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The mapping that a YAML or JSON file holds.

    Raises BadFile where it can't be read, is larger than `LARGEST`, or holds anything but a mapping.
    """
    text = read_text(path, LARGEST)
    try:
        value = strict_json(text) if str(path).endswith(".json") else yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadFile(
            complaint(str(path), _reason(error), "well-formed YAML or JSON", "`debate answers` prints a sample.")
        ) from None
    if not isinstance(value, dict):
        kind = "nothing" if value is None else f"a {type(value).__name__}"
        raise BadFile(complaint(str(path), kind, "a mapping of keys to values", "Write it as `topic: ...`."))
    return {str(key): item for key, item in value.items()}


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nesting without end"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    return shown(str(error), 120)


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """The UTF-8 text of a file of at most `most` bytes; BadFile where it is none."""
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise BadFile(complaint(str(path), error.strerror or "an error", "a file that can be read")) from None
    if len(data) > most:
        raise BadFile(complaint(str(path), f"more than {most:,} bytes", f"at most {most:,}"))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(
            complaint(str(path), f"a byte that is not UTF-8 at offset {error.start}", "text in UTF-8")
        ) from None


def strict_json(text: str) -> Any:
    """`text` as JSON, or ValueError: no NaN or Infinity, no key twice, no bottomless nesting, no
    number too long to be one, no half characters (the standard reader takes most of these without a word)."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise ValueError(f"the key {twice[0]!r} stands twice")
        return dict(pairs)

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is not JSON")

    def number(digits: str) -> float:
        value = float(digits)
        if value in (float("inf"), float("-inf")):
            raise ValueError(f"the number {shown(digits, 20)} is too large")
        return value

    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=refuse, parse_float=number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _depth(value) > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} deep")
    if _HALVES.search(text) and _has_half(value):
        raise ValueError("it has half a surrogate pair, which is no character")
    return value


def _has_half(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _depth(value: Any) -> int:
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(item, dict):
            waiting += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list):
            waiting += [(inner, depth + 1) for inner in item]
    return deepest


def to_yaml(value: Mapping[str, Any]) -> str:
    """`value` as YAML that `read_mapping` reads back as it was."""
    return yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, width=100)


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes `text` to `path` so that a reader sees the old file or the new one, never a half."""
    target = Path(path)
    handle, name = -1, ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except OSError as error:
        if name and os.path.exists(name):
            os.unlink(name)
        raise BadFile(
            complaint(str(path), error.strerror or "an error", "a place that can be written", "Name another output.")
        ) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
