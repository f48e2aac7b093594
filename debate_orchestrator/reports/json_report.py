"""The report as JSON, for programs: the report model dumped, and its schema.

The file is ASCII with everything else escaped: whatever was said moves no cursor and hides nothing in a terminal, a log
or a diff, and every JSON reader gives it back as it was. Numbers are unrounded, except dollars.
"""

from __future__ import annotations

import ast
import inspect
import json
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field
from pydantic.json_schema import GenerateJsonSchema

from debate_orchestrator import __version__
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.reports.model import ReportModel

SCHEMA: Literal[2] = 2
"""The version of this schema. Within one version fields may be added; none is removed, renamed or given another
meaning."""
SHA256 = r"^[0-9a-f]{64}$"


class JsonReport(ReportModel):
    """One debate, complete or as far as it got, as a report of debate_orchestrator tells it. Sides are named as their
    seats are (`a`, `b`), turns by their ids (`2.rebuttal.a`)."""

    schema_: Literal[2] = Field(default=SCHEMA, serialization_alias="schema")
    """The version of this schema."""
    document: Literal["debate report"] = "debate report"
    """The kind of this object."""
    version: str = __version__
    """The version of this package that made this report."""
    digest: str = Field(default="0" * 64, pattern=SHA256)
    """The sha256, in hex, of this file's bytes with these 64 digits as zeros: it is last, and `debate check`
    compares it."""


_FIRST, _LAST = ("schema", "document"), ("version", "journal", "digest")
"""Keys that a reader of the file finds by their place: `report_files` looks for them there."""


def render(report: ReportModel) -> str:
    """The whole report, ending in a newline. The checksum in it is blank, and its last value."""
    data = JsonReport.model_construct(**dict(report)).model_dump(mode="json", by_alias=True)
    return json.dumps(_ordered(data), ensure_ascii=True, allow_nan=False, indent=2) + "\n"


def _ordered(data: dict[str, Any]) -> dict[str, Any]:
    keys = (*_FIRST, *(key for key in data if key not in _FIRST + _LAST), *_LAST)
    return {key: data[key] for key in keys}


class _Published(GenerateJsonSchema):
    """Each field with the docstring below it as its description, which is read here and not at every start of the
    program. Titles made of field names would only repeat them."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: Any) -> dict[str, Any]:
        json_schema: dict[str, Any] = super().model_schema(schema)
        kind = schema["cls"]
        for name, text in _docstrings(kind).items():
            field = kind.model_fields[name]
            # What has the words of its type needs no others.
            if not field.exclude and field.description is None and text != inspect.getdoc(field.annotation):
                json_schema["properties"][field.serialization_alias or name]["description"] = text
        return json_schema


def _docstrings(kind: type) -> dict[str, str]:
    """The docstrings below the fields of a part and of the values that it is made from."""
    found: dict[str, str] = {}
    for base in (base for base in reversed(kind.__mro__) if issubclass(base, FrozenModel)):
        body = ast.parse(inspect.getsource(base)).body[0].body  # type: ignore[attr-defined]
        for field, text in pairwise(body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(docstring))):
                    found[name] = inspect.cleandoc(docstring)
    return found


def schema() -> dict[str, Any]:
    """The JSON Schema of a report, draft 2020-12."""
    schema_data = JsonReport.model_json_schema(mode="serialization", schema_generator=_Published)
    schema_data["properties"] = _ordered(schema_data["properties"])
    head = {
        "$schema": _Published.schema_dialect,
        "$id": f"urn:debate-orchestrator:report:{SCHEMA}",
        "title": "A report of debate_orchestrator",
    }
    return {**head, **_tidy({name: value for name, value in schema_data.items() if name != "title"})}


def _tidy(value: Any) -> Any:
    """The same with every description on one line, and without a ban on fields that a later version may add."""
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: " ".join(item.split()) if name == "description" and isinstance(item, str) else _tidy(item)
        for name, item in value.items()
        if (name, item) != ("additionalProperties", False)
    }
