"""The JSON Schema of a shape, for models and hosts that keep to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from debate_orchestrator.core.shape import Field, ShapeContext, applies, empty_value, fields_asked


def json_schema(shape: Mapping[str, Field], context: ShapeContext) -> dict[str, Any]:
    """The shape as a JSON Schema for structured-output modes: every property is required, and no other is allowed.

    A condition inside a record is an `anyOf`. One on the reply itself is a union with null, because structured-output
    modes refuse a schema whose root is not a plain object.
    """
    return _object({name: _schema(field, context) for name, field in fields_asked(shape, context).items()})


def _record_schema(shape: Mapping[str, Field], context: ShapeContext) -> dict[str, Any]:
    """The schema of a record inside a reply: one alternative for each set of fields that must be filled in."""
    fields = fields_asked(shape, context)
    deciding_fields = {other for field in fields.values() for other in (*field.only_if, *field.unless)}
    deciding_field = next(iter(deciding_fields), "")
    options = (
        _options(fields[deciding_field], context) if len(deciding_fields) == 1 and deciding_field in fields else ()
    )
    branches: dict[tuple[str, ...], list[bool | str]] = {}
    for option in options:
        present = tuple(name for name, field in fields.items() if applies(field, {deciding_field: option}))
        branches.setdefault(present, []).append(option)
    if len(branches) < 2:
        return json_schema(shape, context)
    return {
        "anyOf": [
            _alternative(fields, present, {deciding_field: allowed}, context) for present, allowed in branches.items()
        ]
    }


def _options(field: Field, context: ShapeContext) -> tuple[bool | str, ...]:
    """The values of a field on which others may depend."""
    if field.per_side or field.optional or field.kind not in ("flag", "choice"):
        return ()
    return (True, False) if field.kind == "flag" else field.options or context.sides


def _alternative(
    fields: Mapping[str, Field],
    present: tuple[str, ...],
    allowed: Mapping[str, list[bool | str]],
    context: ShapeContext,
) -> dict[str, Any]:
    properties = {}
    for name, field in fields.items():
        absent = name not in present and empty_value(field) is None
        unconditional = field.model_copy(update={"only_if": {}, "unless": {}})
        schema = {"type": "null"} if absent else _schema(unconditional, context)
        properties[name] = schema | ({"enum": allowed[name]} if name in allowed else {})
        properties[name] |= {"description": field.description} if field.description else {}
    return _object(properties)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _schema(field: Field, context: ShapeContext) -> dict[str, Any]:
    """The schema of a field, also of one for each side or issue."""
    schema = _value_schema(field, context)
    if keys := field.keys(context):
        schema = _object(dict.fromkeys(keys, schema))
    if field.may_be_null:
        if "anyOf" in schema:
            schema = {"anyOf": [*schema["anyOf"], {"type": "null"}]}
        else:
            schema |= {"type": [schema["type"], "null"]}
            schema |= {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | ({"description": field.description} if field.description else {})


def _value_schema(field: Field, context: ShapeContext) -> dict[str, Any]:
    match field.kind:
        case "text" | "url" | "turn":
            return {"type": "string"}
        case "flag":
            return {"type": "boolean"}
        case "number":
            return {"type": "integer" if field.is_integer else "number"}
        case "choice":
            return {"type": "string", "enum": list(field.options or context.sides)}
        case "choices":
            return {"type": "array", "items": {"type": "string", "enum": list(field.options or context.sides)}}
        case "turns":
            return {"type": "array", "items": {"type": "string", "description": "the id of a turn"}}
        case "list":
            items = _record_schema(field.fields, context) if field.fields else {"type": "string"}
            return {"type": "array", "items": items}
        case "record":
            return _record_schema(field.fields, context)
        case "scores":
            each = _object({name: {"type": "number"} for name in context.criteria})
            return _object(dict.fromkeys(context.sides, each))
