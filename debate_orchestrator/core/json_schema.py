"""The JSON Schema of a shape, for models and hosts that keep to one.

Every property is required, and no other is allowed. A field that depends on another may be null: `core.reply_check`
says when it must be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from debate_orchestrator.core.shape import Field, ShapeContext, fields_asked

TURN_ITEM = {"type": "string", "description": "the id of a turn"}
"""The schema of an item of a list of turns."""


def json_schema(shape: Mapping[str, Field], context: ShapeContext) -> dict[str, Any]:
    """The shape as a JSON Schema for structured-output modes."""
    return _object({name: _schema(field, context) for name, field in fields_asked(shape, context).items()})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _schema(field: Field, context: ShapeContext) -> dict[str, Any]:
    """The schema of a field, also of one for each side or issue."""
    schema = _value(field, context)
    if keys := field.keys(context):
        schema = _object(dict.fromkeys(keys, schema))
    if field.may_be_null:
        schema |= {"type": [schema["type"], "null"]}
        schema |= {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | ({"description": field.description} if field.description else {})


def _value(field: Field, context: ShapeContext) -> dict[str, Any]:
    """The schema of a field's value for one side, when it is filled in."""
    match field.kind:
        case "text" | "url" | "turn":
            return {"type": "string"}
        case "flag":
            return {"type": "boolean"}
        case "number":
            return {"type": "integer" if field.whole else "number"}
        case "choice":
            return {"type": "string", "enum": list(field.of or context.sides)}
        case "choices":
            return {"type": "array", "items": {"type": "string", "enum": list(field.of or context.sides)}}
        case "turns":
            return {"type": "array", "items": dict(TURN_ITEM)}
        case "list":
            return {
                "type": "array",
                "items": json_schema(field.fields, context) if field.fields else {"type": "string"},
            }
        case "record":
            return json_schema(field.fields, context)
        case "scores":
            each = _object({name: {"type": "number"} for name in context.criteria})
            return _object(dict.fromkeys(context.sides, each))
