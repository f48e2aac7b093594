"""Validation of data that a user wrote against a pydantic model, with problems in plain words.

Each problem names the place of the value, the value, what it should be and if there is one, the nearest name that
would be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from debate_orchestrator.core.format import InvalidFormat
from debate_orchestrator.core.shape_rules import Keys
from debate_orchestrator.util.errors import join_names, short_repr, suggest, with_hint
from debate_orchestrator.util.numbers import plural

Model = TypeVar("Model", bound=BaseModel)

MAX_LISTED = 100
"""Problems that are listed; of the others only the number."""
_WORDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number that is not so large",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping of keys to values",
    "mapping_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "tuple_type": "a list",
    "list_type": "a list",
    "string_pattern_mismatch": "lower-case letters, digits and hyphens, with a letter first",
}
"""The expected value by pydantic's type of error; for other types its own message is used."""


def key_path(keys: Sequence[str | int]) -> str:
    """Keys as they are written in a problem: `round[0].words`."""
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")
    return path if path.isprintable() and len(path) <= 100 else short_repr(path)


def validate(
    model: type[Model], data: Mapping[str, Any], where: Callable[[Keys], str]
) -> tuple[Model | None, list[str]]:
    """The model made of `data`, or None and every problem; `where` gives the place of some keys. Checks over the whole
    model (InvalidFormat) run once its single values are valid."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        items = error.errors()
    problems = list(dict.fromkeys([*_values(model, data, items[:MAX_LISTED], where), *_model_problems(items, where)]))
    left_out = max(0, len(items) - MAX_LISTED, len(problems) - MAX_LISTED)
    return None, [*problems[:MAX_LISTED], *([f"{where(())}: and {left_out:,} more."] if left_out else [])]


def _model_problems(items: Sequence[Any], where: Callable[[Keys], str]) -> Iterator[str]:
    for item in items:
        if isinstance(invalid := item.get("ctx", {}).get("error"), InvalidFormat):
            yield from (f"{where(keys)}: {message}." for keys, message in invalid.problems)


def _values(
    model: type[BaseModel], data: Mapping[str, Any], items: Sequence[Any], where: Callable[[Keys], str]
) -> Iterator[str]:
    """The problems with single values, one for each value, whatever types it might have had."""
    expected: dict[Keys, list[Any]] = {}
    for item in items:
        keys = _keys_to(data, item["loc"])
        if item["type"] == "missing":
            yield f"{where(keys)}: the key {item['loc'][-1]!r} is missing."
        elif item["type"] == "extra_forbidden":
            message, allowed = f"{short_repr(str(keys[-1]))} is not a key here.", _allowed_keys(model, keys[:-1])
            suggestion = suggest(keys[-1], allowed)
            hint = f"one of {join_names(allowed)}" if allowed else ""
            yield f"{where(keys)}: {f'{message} {suggestion}' if suggestion else with_hint(message, hint)}"
        elif not isinstance(item.get("ctx", {}).get("error"), InvalidFormat):
            expected.setdefault(keys, []).append(item)
    for keys, options in expected.items():
        alternatives = " or ".join(dict.fromkeys(map(_expected, options)))
        yield f"{where(keys)}: {_got(options[0])} should be {alternatives}. {_hint(options)}".rstrip()


def _got(item: Any) -> str:
    value = item["input"]
    if isinstance(value, dict | list) and len(repr(value)) > 40:
        return "a mapping" if isinstance(value, dict) else "a list"
    return "nothing" if value is None else short_repr(value)


def _expected(item: Any) -> str:
    if item["loc"] and item["loc"][-1] == "[key]" and item["type"] == "string_type":
        return "a key that is text"
    for key, beyond in (("max_length", "at most"), ("min_length", "at least")):
        if key in item.get("ctx", {}):
            return f"of {beyond} {plural(item['ctx'][key], 'entry', 'entries')}"
    expected = _WORDS.get(item["type"]) or str(item["msg"]).removeprefix("Input should be ")
    return expected[0].lower() + expected[1:]


def _hint(items: Sequence[Any]) -> str:
    value = items[0]["input"]
    if isinstance(value, str):
        options = [name for item in items for name in str(item.get("ctx", {}).get("expected", "")).split("'")[1::2]]
        return suggest(value, options)
    plain = isinstance(value, bool | int | float) and any(item["type"] == "string_type" for item in items)
    return "Put it in quotes." if plain else ""


def _keys_to(data: Any, loc: Sequence[str | int]) -> Keys:
    """The part of a location that exists in the data. Pydantic adds the type that was tried to the others."""
    keys: list[str | int] = []
    for key in loc:
        if not (key in data if isinstance(data, dict) else isinstance(data, list) and key in range(len(data))):
            break
        data = data[key]
        keys.append(key)
    return tuple(keys)


def _allowed_keys(model: type[BaseModel], keys: Keys) -> list[str]:
    """The keys that a mapping at a place in the data may have; if it may be of several types, those of each."""
    schemas = _options(_schema(model), _schema(model))
    for key in keys:
        inner = (
            schema.get("properties", {}).get(key) or schema.get("additionalProperties") or schema.get("items")
            for schema in schemas
        )
        schemas = [option for part in inner if isinstance(part, dict) for option in _options(part, _schema(model))]
    return list(dict.fromkeys(name for schema in schemas for name in schema.get("properties", {})))


def _options(part: Mapping[str, Any], whole: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A part of a JSON Schema as what it refers to, and as each of its alternatives."""
    if "$ref" in part:
        return _options(whole["$defs"][part["$ref"].removeprefix("#/$defs/")], whole)
    return (
        [option for alternative in part["anyOf"] for option in _options(alternative, whole)]
        if "anyOf" in part
        else [part]
    )


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()
