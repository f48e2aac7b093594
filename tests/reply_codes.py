"""Puts the code that a brief asks for into a structured reply to it, as the writer of the reply has to."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

from debate_orchestrator.core import schedule
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.shape import Shape
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.reply_code import ReplyCode, code_for, coded_shape, with_codes

SECRET = b"a secret of a machine, 32 bytes!"
_EARLIER = r"^[BCDFGHJKLMNPQRSTVWXZ]{6} "
"""The code of another brief."""
_ASKED = re.compile(r'Put "(\w+)": "([A-Z]{6})" first into the object, and "(\w+)"')
_SCHEMA = "(a JSON Schema):"
_shapes: dict[str, Shape] = {}
"""A code to the coded shape of its reply."""


def code_of(debate: DebateState, turn: Turn | None = None, by: str = "host", secret: bytes = SECRET) -> ReplyCode:
    """The code of a turn with a structured reply, by default the first that is due."""
    turn = turn or debate.due[0]
    code = code_for(debate, turn, by, lambda: secret)
    assert code is not None
    _shapes[code.text] = coded_shape(debate.shape(turn) or {}, schedule.shape_context(debate, turn), code)
    return code


def signed(reply: dict[str, Any], code: ReplyCode) -> dict[str, Any]:
    """A reply with the code of `code_of` in its places, and its fields in the order of the shape."""
    return with_codes(_shapes[code.text], reply, code)


def coded(brief: str, reply: str | dict[str, Any]) -> str:
    """A reply to the brief with its code, in the order of the schema in the brief; a speech, and a reply to a brief
    without a code, as it is. Of JSON with faults only the object itself gets the code."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    if not (asked := _ASKED.findall(brief)) or not (text.count("{") and text.count("}")):
        return text
    field, code, end_field = asked[-1]
    schema = _schema(brief, code)
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return json.dumps(_filled(schema, value, code))
    text = re.sub(rf'"{field}(_\d+)?": "[^"]*", ', "", text)
    text = re.sub(rf', "{end_field}": "[^"]*"', "", text, count=1)
    text = re.sub(r"\{(\s*)", lambda brace: f'{{{brace[1]}"{field}": "{code}", ', text, count=1)
    for name, following in list(pairwise(schema["properties"]))[1:]:
        if name.startswith(f"{field}_"):
            text = text.replace(f'"{following}":', f'"{name}": "{code}", "{following}":', 1)
    end = text.rindex("}")
    return f'{text[:end].rstrip().removesuffix(",")}, "{end_field}": "{code}"{text[end:]}'


def _schema(brief: str, code: str) -> dict[str, Any]:
    """The schema in a brief, or what the form at its end tells of it where a template shows no schema."""
    if _SCHEMA in brief:
        found, _ = json.JSONDecoder().raw_decode(brief[brief.rindex(_SCHEMA) + len(_SCHEMA) :].lstrip())
        return dict(found)
    return _schema_of(json.loads(brief[brief.rindex("\n{") : brief.rindex("}") + 1]), code)


def _schema_of(form: Any, code: str) -> dict[str, Any]:
    if isinstance(form, dict):
        own = {"type": "string", "enum": [code]}
        return {"properties": {name: own if part == code else _schema_of(part, code) for name, part in form.items()}}
    if isinstance(form, list):
        return {"items": _schema_of(form[0], code)} if form else {}
    begins = isinstance(form, str) and form.startswith(f"{code} ")
    return {"description": f"begins with {code}"} if begins else {}


def _filled(schema: dict[str, Any], value: Any, code: str) -> Any:
    """A value with the code in the places that its schema has for it."""
    for option in schema.get("anyOf", [schema]):
        if isinstance(value, dict) and "properties" in option:
            parts, own = option["properties"], {"type": "string", "enum": [code]}
            known = {
                name: code if part == own else _filled(part, value[name], code)
                for name, part in parts.items()
                if part == own or name in value
            }
            return known | {name: item for name, item in value.items() if name not in parts}
        if isinstance(value, list) and "items" in option:
            return [_filled(option["items"], item, code) for item in value]
    begins = isinstance(value, str) and schema.get("description", "").startswith(f"begins with {code}")
    return f"{code} {re.sub(_EARLIER, '', value)}" if begins else value
