"""The code that a structured reply has to hold, which shows that an object is its writer's own.

A speech may hold a filled ballot, or the end of one, and a judge may repeat it. No speech can hold the code: it follows
from a secret of this machine, and only the taker of the turn is shown it, at the very end of its brief. It stands twice
in the object, first and last: a quotation whose quotation marks are not escaped may end the object early, and then the
second one is missing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from debate_orchestrator.core import schedule
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState, Plan
from debate_orchestrator.core.values import Value
from debate_orchestrator.prompting.normalize import phrase
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
    """The code of a turn, and the fields of the reply that it belongs into: the first and the last."""

    field: str
    end_field: str
    text: str

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
    prefix = ""
    while prefix + _FIELD in shape or prefix + _END_FIELD in shape:
        prefix += "turn_"
    return Code(field=prefix + _FIELD, end_field=prefix + _END_FIELD, text=_text(debate, turn, secret()))


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
    """The JSON Schema of a reply with the code as its first and its last field."""
    return _with_fields(schema, code, {"type": "string", "enum": [code.text]}) if code else dict(schema)


def without_value(schema: Mapping[str, Any], code: Code | None) -> dict[str, Any]:
    """The same schema with any text for the code, so that all turns of a kind have the same."""
    about = "the code that stands at the end of the task"
    return _with_fields(schema, code, {"type": "string", "description": about}) if code else dict(schema)


def _with_fields(schema: Mapping[str, Any], code: Code, field: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: item for name, item in schema["properties"].items() if name not in (code.field, code.end_field)}
    properties = {code.field: field} | own | {code.end_field: field}
    return {**schema, "properties": properties, "required": list(properties)}


def in_form(form: Mapping[str, Any], code: Code | None) -> dict[str, Any]:
    """An empty form with the code filled in."""
    return {code.field: code.text} | dict(form) | {code.end_field: code.text} if code else dict(form)


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
