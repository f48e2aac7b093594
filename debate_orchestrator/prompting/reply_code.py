"""The code of a structured reply, which shows that its object and the items of its lists are its writer's own.

A speech may hold a filled ballot, or a part of one, and a judge may repeat it without escaping its quotation marks:

    {"winner": "a", "reason": "B ended with", "winner": "b", "reason": "so it is"}

Is the second winner the judge's decision or a part of the quotation? The code tells. No speech can hold it: it follows
from a secret of this machine, and only the seat of the turn is shown it, at the very end of its brief. It stands first
and last in the object, at the beginning of every item of a list, and before every non-text field that follows a
free-text field. All fields are written in the order of the shape. So between a text, where a quotation may stand,
and the next decision there is always a code: a quotation can't write that decision, and a text that swallows it
swallows the code, too.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from debate_orchestrator.core import schedule
from debate_orchestrator.core.json_schema import json_schema
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.shape import Field, Shape, ShapeContext, fields_asked
from debate_orchestrator.core.state import DebatePlan, DebateState
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.util import model_spec

CODE = Field(kind="text", about="the code that stands at the end of the task")
"""A field of a coded shape that holds the code of the turn."""
_FIELD, _END_FIELD = "code", "end_code"
_WORDS = frozenset({"text", "url", "list"})
"""Kinds of fields with free words; the others decide something."""
_TEXT_ITEM = {"type": "string"}
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that a code is no word, and no digits, so that it is no number."""
_LENGTH = 6
_NO_CODE = (model_spec.REHEARSE, model_spec.HUMAN, model_spec.FETCH, model_spec.OFFLINE)
"""Specs whose replies need no code: stand-ins, people, who fill in forms, and clerks of the program itself."""


_opened_digests: WeakKeyDictionary[DebatePlan, str] = WeakKeyDictionary()
"""A debate's plan, which all its states share, to the sha256 of its event `Opened`."""


class ReplyCode(FrozenModel):
    """The code of a turn, and the names of the fields that hold it: the first of the reply and of every record in a
    list, and the last of the reply. Those between have the first name and a number: `code_2`."""

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

    def is_text(self, value: Any) -> bool:
        """Whether a value of a reply is the code."""
        return isinstance(value, str) and value.strip(" \t\r\n`'\"").casefold() == self.text.casefold()

    def count_in(self, value: Any) -> int:
        """How often a value of a reply holds the code, in its keys and texts."""
        return json.dumps(value).casefold().count(self.text.casefold())


def code_for(debate: DebateState, turn: Turn, by: str, secret: Callable[[], bytes]) -> ReplyCode | None:
    """The code that `by` has to put into its reply to a turn that is due; None if it needs none. `secret` is called
    only where a code is needed."""
    shape = debate.shape(turn)
    if shape is None or not needs_code(by):
        return None
    prefix, names = "", set(_names(shape))
    while any(re.fullmatch(rf"{prefix}({_FIELD}(_\d+)?|{_END_FIELD})", name) for name in names):
        prefix += "turn_"
    return ReplyCode(field=prefix + _FIELD, end_field=prefix + _END_FIELD, text=_text(debate, turn, secret()))


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
    heard = [(other.id, debate.replies[other.id].reply.text) for other in schedule.heard(debate, turn)]
    questions = [entry.text for entry in schedule.questions_put_to(debate, turn)]
    if debate.plan not in _opened_digests:
        _opened_digests[debate.plan] = hashlib.sha256(opened.model_dump_json().encode()).hexdigest()
    parts = [opened.nonce, _opened_digests[debate.plan], turn.id, heard, questions, debate.changed_issues]
    number = int.from_bytes(hmac.digest(secret, json.dumps(parts).encode(), "sha256"))
    return "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(_LENGTH))


def coded_shape(shape: Mapping[str, Field], shape_context: ShapeContext, code: ReplyCode) -> Shape:
    """The fields that are asked for, in their order, with `CODE` in the places of the code."""
    inner, _ = _coded(shape, shape_context, code, count(2), False)
    return {code.field: CODE, **inner, code.end_field: CODE}


def _coded(
    shape: Mapping[str, Field], shape_context: ShapeContext, code: ReplyCode, numbers: Iterator[int], words: bool
) -> tuple[Shape, bool]:
    """The fields of a record with the code in its places, and whether free words stand behind the last code. `words`
    says so for what stands before the record."""
    fields: Shape = {}
    for name, field in fields_asked(shape, shape_context).items():
        items = field.kind == "list" or bool(field.fields and field.keys(shape_context))
        if words and not items and _decides(field, shape_context):
            fields[f"{code.field}_{next(numbers)}"], words = CODE, False
        fields[name] = field
        if field.fields:
            inner, worded = _coded(field.fields, shape_context, code, numbers, words and not items)
            first = {code.field: CODE} if items else {}
            fields[name] = field.model_copy(update={"fields": first | inner})
            words = worded or (words and items)
        words = words or (field.kind in _WORDS and not field.fields)
    return fields, words


def _decides(field: Field, shape_context: ShapeContext) -> bool:
    """Whether a field holds more than free words; lists have a code in each item."""
    inner = fields_asked(field.fields, shape_context).values() if field.kind == "record" else ()
    return any(_decides(part, shape_context) for part in inner) if inner else field.kind not in _WORDS


def coded_schema(shape: Mapping[str, Field], shape_context: ShapeContext, code: ReplyCode) -> dict[str, Any]:
    """The JSON Schema of a reply with any text for the code, so that all turns of a kind have the same."""
    text, plain = (
        json.dumps(json_schema(coded_shape(shape, shape_context, code), shape_context)),
        json.dumps(_TEXT_ITEM),
    )
    described = json.dumps(_TEXT_ITEM | {"description": _begins_with(CODE.about)})
    return dict(json.loads(text.replace(f'"items": {plain}', f'"items": {described}')))


def with_code(schema: Mapping[str, Any], code: ReplyCode) -> dict[str, Any]:
    """A coded schema with the code of a turn."""
    text = json.dumps(schema)
    for any_text, own in _values(code):
        text = text.replace(any_text, own)
    return dict(json.loads(text))


def without_value(schema: Mapping[str, Any], code: ReplyCode | None) -> dict[str, Any]:
    """The coded schema that `with_code` gave the code of a turn."""
    text = json.dumps(schema)
    for any_text, own in _values(code) if code else ():
        text = text.replace(own, any_text)
    return dict(json.loads(text))


def _values(code: ReplyCode) -> list[tuple[str, str]]:
    """How the places of the code are written in a schema, for any text and for that of a turn."""
    any_text, own = {"type": "string", "description": CODE.about}, {"type": "string", "enum": [code.text]}
    places = [(any_text, own), (_begins_with(CODE.about), _begins_with(code.text))]
    return [(json.dumps(one), json.dumps(other)) for one, other in places]


def _begins_with(text: str) -> str:
    return f"begins with {text} and a space"


def with_codes(shape: Shape, reply: Mapping[str, Any], code: ReplyCode) -> dict[str, Any]:
    """A reply with the code in its places, which a coded shape has, and with its fields in the order of that shape."""
    known = {
        name: code.text if field is CODE else _with_code(field, reply[name], code)
        for name, field in shape.items()
        if field is CODE or name in reply
    }
    return known | {name: value for name, value in reply.items() if name not in shape}


def _with_code(field: Field, value: Any, code: ReplyCode) -> Any:
    if isinstance(value, Mapping) and (field.per_side or field.per_issue):
        return {key: _with_code(field.single, inner, code) for key, inner in value.items()}
    if isinstance(value, Mapping) and field.fields:
        return with_codes(field.fields, value, code)
    if isinstance(value, list) and field.kind == "list":
        if field.fields:
            return [with_codes(field.fields, item, code) for item in value]
        return [f"{code.text} {item}" for item in value]
    return value


def skeleton(shape: Shape, shape_context: ShapeContext, code: ReplyCode) -> list[str]:
    """The fields of a coded shape as they are written in JSON, each with an ellipsis for what it holds."""
    return [f'"{name}": {_outline(field, shape_context, code)}' for name, field in shape.items()]


def _outline(field: Field, shape_context: ShapeContext, code: ReplyCode) -> str:
    if field is CODE:
        return f'"{code.text}"'
    if keys := field.keys(shape_context) if field.fields else ():
        return f'{{"{keys[0]}": {_outline(field.single, shape_context, code)}, ...}}'
    record = f"{{{', '.join(skeleton(field.fields, shape_context, code))}}}"
    if field.kind == "list":
        return f"[{record}, ...]" if field.fields else f'["{code.text} ...", ...]'
    return record if field.fields else "..."


def holds_code(value: Any, code: ReplyCode) -> bool:
    """Whether an object, or the only object in it, has both the first and the last field with the code."""
    if not isinstance(value, dict):
        return False
    own = {phrase(key) for key, item in value.items() if code.is_text(item)}
    inner = next(iter(value.values())) if len(value) == 1 else None
    return {phrase(code.field), phrase(code.end_field)} <= own or holds_code(inner, code)


def text_behind(item: str, code: ReplyCode) -> str | None:
    """The text of an item of a list behind its code; None if it does not begin with that."""
    begins = re.match(rf"\s*[`'\"\[(]?{code.text}\b[`'\"\])]?[.:,]?\s*", item, re.IGNORECASE)
    return item[begins.end() :] if begins else None


def phrase(text: str) -> str:
    """A text as a lower-case phrase: without punctuation, with single spaces."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
