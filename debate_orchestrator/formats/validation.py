"""Validation of data that a user wrote against a pydantic model, with errors in plain words.

Each error names the place of the value, the value, what it should be and, where there is one, the nearest name that
would be right.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import getitem
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from debate_orchestrator.core.format import InvalidFormat
from debate_orchestrator.util.errors import short_repr, suggest

Keys = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)

MAX_LISTED = 100
"""Errors that are listed; of the others only the number."""
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
    "too_long": "a list that is not so long",
    "string_pattern_mismatch": "small letters, digits and hyphens, with a letter first",
}
"""What the value should be, by pydantic's type of error; for other types its own message is used."""


def key_path(keys: Sequence[str | int]) -> str:
    """Keys as they are written in an error: `round[0].words`."""
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")
    return path if path.isprintable() and len(path) <= 100 else short_repr(path)


def validate(
    model: type[Model], data: Mapping[str, Any], where: Callable[[Keys], str]
) -> tuple[Model | None, list[str]]:
    """The model made of `data`, or None and every error; `where` gives the place of some keys.

    Checks over the whole model (InvalidFormat) can only run on a valid one. If single values are wrong, they run on a
    copy with placeholders, and their errors about the placeholders are left out. If there are more wrong values than
    are listed, these checks are skipped.
    """
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        found = error.errors()
    listed = found[:MAX_LISTED]
    rest = {(_keys_to(data, item["loc"]), item["type"] == "missing" and item["loc"]) for item in found[MAX_LISTED:]}
    problems = [*_values(model, data, listed, where), *_model_problems(listed, where)]
    repaired = _repaired(model, data, found) if not rest else None
    if repaired is not None:
        copied, changed = repaired
        try:
            model.model_validate(copied)
        except ValidationError as error:
            problems += _model_problems(error.errors(), where, changed)
    problems = list(dict.fromkeys(problems))
    left_out = max(0, len(problems) - MAX_LISTED) + len(rest)
    return None, [*problems[:MAX_LISTED], *([f"{where(())}: and {left_out:,} more."] if left_out > 0 else [])]


def _model_problems(found: Sequence[Any], where: Callable[[Keys], str], changed: Sequence[Keys] = ()) -> Iterator[str]:
    """The errors over the whole model, without those about values that were `changed`."""
    places = set(changed)
    for item in found:
        if isinstance(invalid := item.get("ctx", {}).get("error"), InvalidFormat):
            for keys, message in invalid.problems:
                if not any(keys[:n] in places for n in range(len(keys) + 1)):
                    yield f"{where(keys)}: {message}."


def _values(
    model: type[BaseModel], data: Mapping[str, Any], found: Sequence[Any], where: Callable[[Keys], str]
) -> Iterator[str]:
    """The errors about single values, one for each value, whatever types it might have had."""
    expected: dict[Keys, list[Any]] = {}
    for item in found:
        keys = _keys_to(data, item["loc"])
        if item["type"] == "missing":
            yield f"{where(keys)}: the key {item['loc'][-1]!r} is missing."
        elif item["type"] == "extra_forbidden":
            known = list(_fields(_kind(model, item["loc"][:-1])))
            message = f"{short_repr(str(keys[-1]))} is not a key here; use one of {', '.join(known)}."
            yield f"{where(keys)}: {message} {suggest(keys[-1], known)}".rstrip()
        elif not isinstance(item.get("ctx", {}).get("error"), InvalidFormat):
            expected.setdefault(keys, []).append(item)
    for keys, items in expected.items():
        wanted = " or ".join(dict.fromkeys(map(_expected, items)))
        yield f"{where(keys)}: {_got(items[0])} should be {wanted}. {_hint(items)}".rstrip()


def _got(item: Any) -> str:
    value = item["input"]
    if isinstance(value, dict | list) and len(repr(value)) > 40:
        return "a mapping" if isinstance(value, dict) else "a list"
    return "nothing" if value is None else short_repr(value)


def _expected(item: Any) -> str:
    if item["loc"] and item["loc"][-1] == "[key]" and item["type"] == "string_type":
        return "a key that is text"
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


def _fields(kind: Any) -> dict[str, FieldInfo]:
    """The fields of a model by the keys that data has for them; empty for another type."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return {}
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _kind(kind: Any, loc: Sequence[str | int]) -> Any:
    """The type of the value at a location in a model; None if it is unknown."""
    for key in loc:
        kind = _plain(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            field = _fields(kind).get(str(key))
            kind = field.annotation if field else None
        elif get_origin(kind) in (dict, tuple, list):
            kind = get_args(kind)[1 if get_origin(kind) is dict else 0]
        else:
            return None
    return _plain(kind)


def _plain(kind: Any) -> Any:
    """The type without Annotated and without `| None`."""
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return _plain(next(part for part in get_args(kind) if part is not NoneType))
    return kind


def _repaired(
    model: type[BaseModel], data: Mapping[str, Any], found: Sequence[Any]
) -> tuple[dict[str, Any], list[Keys]] | None:
    """The data with stand-ins for the wrong values, and their places; None if there is no simple stand-in."""
    copied: dict[str, Any] = copy.deepcopy(dict(data))
    changed: list[Keys] = []
    for item in found:
        missing = item["type"] == "missing"
        keys = (*_keys_to(data, item["loc"]), *(item["loc"][-1:] if missing else ()))
        kind = _kind(model, keys)
        holder = reduce(getitem, keys[:-1], copied)
        if not keys or get_origin(kind) in (dict, tuple) or not isinstance(holder, dict):
            return None
        holder.pop(keys[-1], None)
        field = _fields(_kind(model, keys[:-1])).get(str(keys[-1]))
        if field is not None and field.is_required():
            if kind is not str:
                return None
            holder[keys[-1]] = "x"
        changed.append(keys)
    return copied, changed
