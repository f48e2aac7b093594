"""Puts the code that a brief asks for into a reply to it, as the writer of the reply has to."""

from __future__ import annotations

import json
import re
from typing import Any

from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.reply_code import ReplyCode, code_for

SECRET = b"a secret of a machine, 32 bytes!"
_ASKED = re.compile(r'Put "(\w+)": "([A-Z]{6})" first into the object, and "(\w+)"')
_OF_LINES = re.compile(r"^\[([A-Z]{6})\] is the code of this turn", re.MULTILINE)


def code_of(debate: DebateState, turn: Turn | None = None, by: str = "host", secret: bytes = SECRET) -> ReplyCode:
    """The code of a turn, by default the first that is due."""
    code = code_for(debate, turn or debate.due[0], by, lambda: secret)
    assert code is not None
    return code


def signed(reply: dict[str, Any], code: ReplyCode) -> dict[str, Any]:
    """A reply with the code in its places."""
    own = {name: item for name, item in reply.items() if name not in (code.field, code.end_field)}
    return {code.field: code.text, **own, code.end_field: code.text}


def coded(brief: str, reply: str | dict[str, Any]) -> str:
    """A reply to the brief with its code; a reply to a brief without a code, and a speech that does not end with a
    reserved line, as it is. Of JSON with faults only the object itself gets the code."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    if of_lines := _OF_LINES.findall(brief):
        *_, last = text.strip().splitlines() or [""]
        line = f" {last.strip()} [{of_lines[-1]}]"
        return f"{text.rstrip()} [{of_lines[-1]}]" if line in brief else text
    if not (asked := _ASKED.findall(brief)) or not (text.count("{") and text.count("}")):
        return text
    field, letters, end_field = asked[-1]
    code = ReplyCode(field=field, end_field=end_field, text=letters)
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return json.dumps(signed(value, code))
    text = re.sub(rf'"{field}": "[^"]*", |, "{end_field}": "[^"]*"', "", text)
    text = re.sub(r"\{(\s*)", lambda brace: f"{{{brace[1]}{code.entry}, ", text, count=1)
    end = text.rindex("}")
    return f"{text[:end].rstrip().removesuffix(',')}, {code.end_entry}{text[end:]}"
