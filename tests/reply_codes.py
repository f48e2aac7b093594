"""Puts the code that a brief asks for into a structured reply to it, as the writer of the reply has to."""

from __future__ import annotations

import json
import re
from typing import Any

_ASKED = re.compile(r'Put "(\w+)": "([A-Z]{6})" into the object')


def coded(brief: str, reply: str | dict[str, Any]) -> str:
    """A reply to the brief with its code as the first field; a speech, and a reply to a brief without one, as it is."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    if not (asked := _ASKED.findall(brief)):
        return text
    field, code = asked[-1]
    text = re.sub(rf'"{field}": "[^"]*", ', "", text, count=1)
    return re.sub(r"\{(\s*)", lambda brace: f'{{{brace[1]}"{field}": "{code}", ', text, count=1)
