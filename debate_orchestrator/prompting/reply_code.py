"""The code of a structured reply, which shows that its object and the items of its lists are its writer's own.

A speech may hold a filled ballot, or a part of one, and a judge may repeat it without escaping its quotation marks. No
speech can hold the code: it follows from a secret of this machine, and only the taker of the turn is shown it, at the
very end of its brief. It stands first and last in the object, so no quotation can be the object or end it early, and at
the beginning of every item of a list, so none can add an item. Every key of the shape has to be written once, and no
other key, so none can add a field.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from debate_orchestrator.core import schedule
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.schema import TURN_ITEM, Field, Shape
from debate_orchestrator.core.state import DebateState, Plan
from debate_orchestrator.core.values import Value
from debate_orchestrator.prompting.phrases import phrase
from debate_orchestrator.util import model_spec

_FIELD, _END_FIELD = "code", "end_code"
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that a code is no word, and no digits, so that it is no number."""
_LENGTH = 6
_NO_CODE = (model_spec.REHEARSE, model_spec.HUMAN, model_spec.FETCH, model_spec.OFFLINE)
"""Specs whose replies need no code: stand-ins, people, who fill in forms, and clerks of the program itself."""


_openings: WeakKeyDictionary[Plan, str] = WeakKeyDictionary()
"""A debate's plan, which all its states share, to the sha256 of its opening."""


class Code(Value):
    """The code of a turn, and the fields that it belongs into: the first of the reply and of every record in a list,
    and the last of the reply."""

    field: str
    end_field: str
    text: str
    in_lists: bool = True
    """Whether the items of lists have to begin with it. Briefs of earlier versions did not ask for that."""

    @property
    def entry(self) -> str:
        """The first field as it is written in JSON."""
        return f'"{self.field}": "{self.text}"'

    @property
    def end_entry(self) -> str:
        """The last field as it is written in JSON."""
        return f'"{self.end_field}": "{self.text}"'


def code_for(debate: DebateState, turn: Turn, by: str, secret: Callable[[], bytes]) -> Code | None:
    """The code that `by` has to put into its reply to a turn that is due; None if it needs none. `secret` is called
    only where a code is needed."""
    shape = debate.shape(turn)
    if shape is None or not needs_code(by):
        return None
    prefix, names = "", set(_names(shape))
    while {prefix + _FIELD, prefix + _END_FIELD} & names:
        prefix += "turn_"
    return Code(field=prefix + _FIELD, end_field=prefix + _END_FIELD, text=_text(debate, turn, secret()))


def _names(shape: Mapping[str, Field]) -> Iterator[str]:
    """The names of the fields of a shape at any depth."""
    for name, field in shape.items():
        yield name
        yield from _names(field.fields)


def needs_code(by: str) -> bool:
    """Whether structured replies of that spec have to hold a code."""
    return model_spec.kind(by) not in _NO_CODE


def _text(debate: DebateState, turn: Turn, secret: bytes) -> str:
    """The letters of a turn's code. They depend on all that the turn hears, so that a code read in a journal does not
    fit a copy of that journal with another speech in it."""
    opened = debate.opened
    heard = [(other.id, debate.answers[other.id].reply.text) for other in schedule.heard(debate, turn)]
    questions = [entry.text for entry in schedule.questions_put_to(debate, turn)]
    if debate.plan not in _openings:
        _openings[debate.plan] = hashlib.sha256(opened.model_dump_json().encode()).hexdigest()
    parts = [opened.nonce, _openings[debate.plan], turn.id, heard, questions, debate.issues]
    number = int.from_bytes(hmac.digest(secret, json.dumps(parts).encode(), "sha256"))
    return "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(_LENGTH))


def with_code(schema: Mapping[str, Any], code: Code | None) -> dict[str, Any]:
    """The JSON Schema of a reply with the code in its places."""
    if code is None:
        return dict(schema)
    return _coded(schema, code, {"type": "string", "enum": [code.text]}, f"begins with {code.text} and a blank")


def without_value(schema: Mapping[str, Any], code: Code | None) -> dict[str, Any]:
    """The same schema with any text for the code, so that all turns of a kind have the same."""
    if code is None:
        return dict(schema)
    about = "the code that stands at the end of the task"
    return _coded(schema, code, {"type": "string", "description": about}, f"begins with {about}, and a blank")


def _coded(schema: Mapping[str, Any], code: Code, field: Mapping[str, Any], about_texts: str) -> dict[str, Any]:
    """A schema with a field for the code first and last, and in the items of its lists. Those that it has already are
    replaced."""

    def within(part: Mapping[str, Any]) -> dict[str, Any]:
        changed = dict(part)
        if "properties" in part:
            changed["properties"] = {name: within(inner) for name, inner in part["properties"].items()}
        if "anyOf" in part:
            changed["anyOf"] = [within(inner) for inner in part["anyOf"]]
        if "items" in part:
            changed["items"] = item(part["items"])
        return changed

    def item(part: Mapping[str, Any]) -> dict[str, Any]:
        if "anyOf" in part:
            return {**part, "anyOf": [item(inner) for inner in part["anyOf"]]}
        if "properties" in part:
            return _with_fields(within(part), {code.field: field}, {})
        is_text = part.get("type") == "string" and "enum" not in part and part != TURN_ITEM
        return {**part, "description": about_texts} if is_text else dict(part)

    return _with_fields(within(schema), {code.field: field}, {code.end_field: field})


def _with_fields(schema: Mapping[str, Any], first: Mapping[str, Any], last: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: part for name, part in schema["properties"].items() if name not in first and name not in last}
    properties = {**first, **own, **last}
    return {**schema, "properties": properties, "required": list(properties)}


def with_codes(shape: Shape, reply: Mapping[str, Any], code: Code) -> dict[str, Any]:
    """A reply of this shape with the code in its places."""
    return {code.field: code.text} | _with_items(shape, reply, code) | {code.end_field: code.text}


def _with_items(shape: Shape, record: Mapping[str, Any], code: Code) -> dict[str, Any]:
    return {name: _with_item(shape[name], value, code) if name in shape else value for name, value in record.items()}


def _with_item(field: Field, value: Any, code: Code) -> Any:
    if isinstance(value, Mapping) and (field.per_side or field.per_issue):
        return {key: _with_item(field.single, inner, code) for key, inner in value.items()}
    if isinstance(value, Mapping) and field.kind == "record":
        return _with_items(field.fields, value, code)
    if isinstance(value, list) and field.kind == "list":
        if not field.fields:
            return [f"{code.text} {item}" for item in value]
        return [{code.field: code.text} | _with_items(field.fields, item, code) for item in value]
    return value


def list_examples(schema: Mapping[str, Any], code: Code) -> list[str]:
    """How the lists of a reply with that schema begin, as they are written in JSON."""
    found: list[str] = []
    for name, part in schema.get("properties", {}).items():
        items = part.get("items", {})
        if code.field in (items.get("anyOf") or [items])[0].get("properties", {}):
            found.append(f'"{name}": [{{{code.entry}, ...}}, ...]')
        elif "begins with" in items.get("description", ""):
            found.append(f'"{name}": ["{code.text} ...", ...]')
        for inner in (part, *part.get("anyOf", ())):
            found += list_examples(inner, code)
    return list(dict.fromkeys(found))


def take_code(value: Mapping[str, Any], code: Code, *, ordered: bool = False) -> dict[str, Any] | None:
    """The object without the code; None if neither the object nor the only object in it holds the code twice. If
    `ordered`, the code has to stand first and last."""
    own = {key: _field_of(key, item, code) for key, item in value.items()}
    rest = {key: item for key, item in value.items() if own[key] is None}
    ends = [*own.values()][:1] + [*own.values()][-1:]
    if {code.field, code.end_field} <= set(ends if ordered else own.values()):
        return rest
    inner = next(iter(rest.values())) if len(rest) == 1 else None
    if not isinstance(inner, dict) or (found := take_code(inner, code, ordered=ordered)) is None:
        return None
    return dict.fromkeys(rest, found)


def _field_of(key: str, value: Any, code: Code) -> str | None:
    """Which of the two fields a key with the code is; None if it is neither."""
    if not isinstance(value, str) or value.strip(" \t\r\n`'\"").casefold() != code.text.casefold():
        return None
    return next((field for field in (code.field, code.end_field) if phrase(key) == phrase(field)), None)


def take_from_item(item: Any, code: Code) -> Any:
    """A record or a text of a list without the code that it has to begin with; None if it has none, or a text holds
    the code once more."""
    if isinstance(item, dict):
        rest = {key: value for key, value in item.items() if _field_of(key, value, code) != code.field}
        return rest if len(rest) < len(item) else None
    if not isinstance(item, str):
        return None
    begins = re.match(rf"\s*[`'\"\[(]?{code.text}\b[`'\"\])]?[.:,]?\s*", item, re.IGNORECASE)
    rest_of_text = item[begins.end() :] if begins else item
    return None if code.text.casefold() in rest_of_text.casefold() or not begins else rest_of_text
