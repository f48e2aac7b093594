"""The code that a structured reply has to hold, which shows that an object is its writer's own.

A speech may hold a filled ballot, and a judge may repeat it. No speech can hold the code: only the taker of the turn is
shown it, at the very end of its brief. It is added to the shape here, and taken out of the reply again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value
from debate_orchestrator.prompting.normalize import phrase
from debate_orchestrator.util import model_spec

_FIELD = "code"
_NO_CODE = (model_spec.REHEARSE, model_spec.HUMAN, model_spec.FETCH, model_spec.OFFLINE)
"""Stand-ins, the forms that people fill in, and clerks of the program itself: what they write is their own."""


class Code(Value):
    """The code of a turn, and the field of the reply that it belongs into."""

    field: str
    text: str

    @property
    def entry(self) -> str:
        """The field as it is written in JSON."""
        return f'"{self.field}": "{self.text}"'


def code_for(debate: DebateState, turn: Turn, by: str, recorded: str | None = None) -> Code | None:
    """The code that `by` has to put into its reply to a turn; None if it needs none. `recorded` is that of another
    debate, from which the reply comes."""
    text = debate.code(turn) if recorded is None else recorded
    shape = debate.shape(turn)
    if not text or shape is None or not needs_code(by):
        return None
    field = _FIELD
    while field in shape:
        field = f"turn_{field}"
    return Code(field=field, text=text)


def needs_code(by: str) -> bool:
    """Whether structured replies of that spec have to hold a code."""
    return model_spec.kind(by) not in _NO_CODE


def with_code(schema: Mapping[str, Any], code: Code | None) -> dict[str, Any]:
    """The JSON Schema of a reply with the code as its first field."""
    return _with_field(schema, code.field, {"type": "string", "enum": [code.text]}) if code else dict(schema)


def without_value(schema: Mapping[str, Any], code: Code | None) -> dict[str, Any]:
    """The same schema with any text for the code, so that all turns of a kind have the same."""
    about = "the code that stands at the end of the task"
    return _with_field(schema, code.field, {"type": "string", "description": about}) if code else dict(schema)


def _with_field(schema: Mapping[str, Any], name: str, field: Mapping[str, Any]) -> dict[str, Any]:
    properties = {name: field} | schema["properties"] | {name: field}
    return {**schema, "properties": properties, "required": list(properties)}


def take_code(value: Mapping[str, Any], code: Code) -> dict[str, Any] | None:
    """An object without the code that it holds, or that the only object in it holds; None if there is none."""
    rest = {key: item for key, item in value.items() if not _is_code(key, item, code)}
    if len(rest) < len(value):
        return rest
    inner = next(iter(value.values())) if len(value) == 1 else None
    if not isinstance(inner, dict) or (found := take_code(inner, code)) is None:
        return None
    return dict.fromkeys(value, found)


def _is_code(key: str, value: Any, code: Code) -> bool:
    return (
        isinstance(value, str)
        and phrase(key) == phrase(code.field)
        and value.strip(" \t\r\n`'\"").casefold() == code.text.casefold()
    )
