"""What does not fit: data that somebody wrote, held against the model that it should be.

Every complaint says where the value stands, what came and what was expected, and names the nearest thing that
would have done.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from debate_orchestrator.core.format import InvalidFormat
from debate_orchestrator.util.errors import complaint, short_repr, suggest

Keys = tuple[str | int, ...]
Made = TypeVar("Made", bound=BaseModel)

MOST = 100
"""Complaints about one thing that are told; of the others, how many there are."""
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
    "string_pattern_mismatch": "small letters, digits and hyphens, with a letter first",
}
"""What was expected, by the name of what went wrong; pydantic's own words for the rest."""


def key_path(keys: Sequence[str | int]) -> str:
    """Keys as they are written in a complaint: `round[0].words`."""
    said = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")
    return said if said.isprintable() and len(said) <= 100 else short_repr(said)


def validate(model: type[Made], data: Mapping[str, Any], where: Callable[[Keys], str]) -> tuple[Made | None, list[str]]:
    """The value that `data` makes, or None and every complaint about it; `where` names the place of some keys.

    What hangs together can only be told of a whole: where single values do not fit, it is told as far as it
    does not depend on them.
    """
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        found = error.errors()
    complaints = [*_values(model, data, found, where), *_misfits(found, where)]
    mended = _mended(model, data, found)
    if mended is not None:
        whole, changed = mended
        try:
            model.model_validate(whole)
        except ValidationError as error:
            complaints += _misfits(error.errors(), where, changed)
    complaints = list(dict.fromkeys(complaints))
    left_out = len(complaints) - MOST
    return None, [*complaints[:MOST], *([f"{where(())}: and {left_out:,} more."] if left_out > 0 else [])]


def _misfits(found: Sequence[Any], where: Callable[[Keys], str], changed: Sequence[Keys] = ()) -> Iterator[str]:
    """What does not hang together, less what hangs on values that were `changed`."""
    places = set(changed)
    for item in found:
        if isinstance(wrong := item.get("ctx", {}).get("error"), InvalidFormat):
            for keys, said in wrong.misfits:
                if not any(keys[:n] in places for n in range(len(keys) + 1)):
                    yield f"{where(keys)}: {said}."


def _values(
    model: type[BaseModel], data: Mapping[str, Any], found: Sequence[Any], where: Callable[[Keys], str]
) -> Iterator[str]:
    """Complaints about single values; one a value, whatever it might have been instead."""
    expected: dict[Keys, list[Any]] = {}
    for item in found:
        keys = _there(data, item["loc"])
        if item["type"] == "missing":
            yield complaint(where(keys), f"no {item['loc'][-1]!r}", "that key")
        elif item["type"] == "extra_forbidden":
            known = _known(model, item["loc"][:-1])
            got = f"the key {short_repr(str(keys[-1]))}"
            yield complaint(where(keys), got, f"one of {', '.join(known)}", suggest(keys[-1], known))
        elif not isinstance(item.get("ctx", {}).get("error"), InvalidFormat):
            expected.setdefault(keys, []).append(item)
    for keys, items in expected.items():
        wanted = " or ".join(dict.fromkeys(map(_expected, items)))
        yield complaint(where(keys), _got(items[0]), wanted, _hint(items))


def _got(item: Any) -> str:
    value = item["input"]
    if isinstance(value, dict | list) and len(repr(value)) > 40:
        return "a mapping" if isinstance(value, dict) else "a list"
    return "nothing" if value is None else short_repr(value)


def _expected(item: Any) -> str:
    if item["loc"] and item["loc"][-1] == "[key]":
        return "a key that is text"
    said = _WORDS.get(item["type"]) or str(item["msg"]).removeprefix("Input should be ")
    return said[0].lower() + said[1:]


def _hint(items: Sequence[Any]) -> str:
    value = items[0]["input"]
    if isinstance(value, str):
        options = [one for item in items for one in str(item.get("ctx", {}).get("expected", "")).split("'")[1::2]]
        return suggest(value, options)
    plain = isinstance(value, bool | int | float) and any(item["type"] == "string_type" for item in items)
    return "Put it in quotes." if plain else ""


def _there(data: Any, loc: Sequence[str | int]) -> Keys:
    """The part of a place that the data has: what goes beyond names the kind that was tried."""
    keys: list[str | int] = []
    for key in loc:
        if not (key in data if isinstance(data, dict) else isinstance(data, list) and key in range(len(data))):
            break
        data = data[key]
        keys.append(key)
    return tuple(keys)


def _known(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """The keys that a mapping at that place may have."""
    kind = _kind(model, loc)
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []


def _required(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """The keys that a mapping at that place must have."""
    kind = _kind(model, loc)
    fields = kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else {}
    return [name for name, field in fields.items() if field.is_required()]


def _kind(kind: Any, loc: Sequence[str | int]) -> Any:
    """The type of the value at a place in a model; None where it can't be told."""
    for key in loc:
        kind = _plain(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            field = kind.model_fields.get(str(key))
            kind = field.annotation if field else None
        elif get_origin(kind) in (dict, tuple, list):
            kind = get_args(kind)[1 if get_origin(kind) is dict else 0]
        else:
            return None
    return _plain(kind)


def _plain(kind: Any) -> Any:
    """A type without what says of it that it may be absent."""
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return _plain(next(one for one in get_args(kind) if one is not NoneType))
    return kind


def _mended(
    model: type[BaseModel], data: Mapping[str, Any], found: Sequence[Any]
) -> tuple[dict[str, Any], list[Keys]] | None:
    """The data with stand-ins for the values that do not fit, and their places; None where nothing simple would do."""
    whole: dict[str, Any] = copy.deepcopy(dict(data))
    changed: list[Keys] = []
    for item in found:
        missing = item["type"] == "missing"
        keys = (*_there(data, item["loc"]), *(item["loc"][-1:] if missing else ()))
        kind = _kind(model, keys)
        holder = _at(whole, keys[:-1])
        if not keys or get_origin(kind) in (dict, tuple) or not isinstance(holder, dict):
            return None
        holder.pop(keys[-1], None)
        if str(keys[-1]) in _required(model, keys[:-1]):
            if kind is not str:
                return None
            holder[keys[-1]] = "x"
        changed.append(keys)
    return whole, changed


def _at(data: Any, keys: Keys) -> Any:
    for key in keys:
        data = data[key]
    return data
