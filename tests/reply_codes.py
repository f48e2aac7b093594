"""Puts the code that a brief asks for into a structured reply to it, as the writer of the reply has to."""

from __future__ import annotations

import json
import re
from typing import Any

from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.reply_code import Code, code_for

SECRET = b"a secret of a machine, 32 bytes!"
_OPTIONS = ("criteria", "turns", "winner", "use_of_evidence")
"""Fields whose lists are not of texts."""
_EARLIER = r"^[BCDFGHJKLMNPQRSTVWXZ]{6} "
"""The code of another brief."""
_ASKED = re.compile(r'Put "(\w+)": "([A-Z]{6})" first into the object, and "(\w+)"')


def code_of(debate: DebateState, turn: Turn | None = None, by: str = "host", secret: bytes = SECRET) -> Code:
    """The code of a turn with a structured reply, by default the first that is due."""
    code = code_for(debate, turn or debate.due[0], by, lambda: secret)
    assert code is not None
    return code


def signed(reply: dict[str, Any], code: Code) -> dict[str, Any]:
    """A reply with the code in its places."""
    return _ends(reply, code.field, code.end_field, code.text)


def coded(brief: str, reply: str | dict[str, Any]) -> str:
    """A reply to the brief with its code; a speech, and a reply to a brief without one, as it is. Of JSON with faults
    only the ends get the code."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    if not (asked := _ASKED.findall(brief)) or not (text.count("{") and text.count("}")):
        return text
    field, code, end_field = asked[-1]
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return json.dumps(_ends(value, field, end_field, code))
    text = re.sub(rf'"{field}": "[^"]*", ', "", text, count=1)
    text = re.sub(rf', "{end_field}": "[^"]*"', "", text, count=1)
    text = re.sub(r"\{(\s*)", lambda brace: f'{{{brace[1]}"{field}": "{code}", ', text, count=1)
    end = text.rindex("}")
    return f'{text[:end].rstrip().removesuffix(",")}, "{end_field}": "{code}"{text[end:]}'


def _ends(reply: dict[str, Any], field: str, end_field: str, code: str) -> dict[str, Any]:
    own = {key: value for key, value in reply.items() if key not in (field, end_field)}
    return {field: code} | _in_lists(own, field, code) | {end_field: code}


def _in_lists(value: Any, field: str, code: str) -> Any:
    """A value with the code in every record and text of its lists, but for those of options and turns."""
    if not isinstance(value, dict):
        return value
    return {
        key: [_item(item, field, code) for item in inner]
        if isinstance(inner, list) and key not in _OPTIONS
        else _in_lists(inner, field, code)
        for key, inner in value.items()
    }


def _item(item: Any, field: str, code: str) -> Any:
    if isinstance(item, dict):
        return {field: code} | _in_lists({key: inner for key, inner in item.items() if key != field}, field, code)
    return f"{code} {re.sub(_EARLIER, '', item)}" if isinstance(item, str) else item
