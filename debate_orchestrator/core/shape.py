"""The shape of a structured reply, as data: a mapping of names to fields, each with when it is asked for.

`json_schema` asks a model for a shape, and `core.reply_check` holds a reply to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field as PydanticField

from debate_orchestrator.core.values import READS_FORMER_VALUES, DisplayName, FrozenModel, PrintableKey, Text, formerly

MAX_ITEMS = 100
MAX_DEPTH = 6
"""Levels of nested objects and lists that a shape may have."""
MAX_FIELDS = 300
"""Fields that a shape may have, those of its objects included; a field per side counts twice."""
MAX_NUMBER = 1_000_000
"""The largest absolute value that a number in a reply may have."""
MAX_WORDS = 20_000
"""The highest number of words that a format may ask for or set as a limit: half of what a reply may have."""
WordCount = Annotated[int | None, PydanticField(default=None, ge=1, le=MAX_WORDS)]


class Condition(FrozenModel):
    """Conditions on the setup and the round; all that are set must hold."""

    model_config = formerly(setting="option")

    round: Literal["first", "later", "last", "not last"] | int | None = None
    """The rounds, by name, or one round by its number."""
    rounds_at_least: int | None = None
    strictness: PrintableKey | None = None
    setting: Annotated[tuple[PrintableKey, ...], READS_FORMER_VALUES] = PydanticField(default=(), max_length=MAX_ITEMS)
    """Settings of which at least one must be on."""

    def holds(
        self, *, rounds: int, strictness: str, round: int | None = None, settings_on: Collection[str] | None = None
    ) -> bool:
        """Whether all conditions hold. A condition on settings counts as met if `settings_on` is None."""
        if self.setting and settings_on is not None and set(self.setting).isdisjoint(settings_on):
            return False
        if self.rounds_at_least is not None and rounds < self.rounds_at_least:
            return False
        if self.strictness is not None and strictness != self.strictness:
            return False
        if self.round is None:
            return True
        if isinstance(self.round, int):
            return round == self.round
        if round is None:
            return False
        names = {"first": round == 1, "later": round > 1, "last": round == rounds, "not last": round < rounds}
        return names[self.round]


class Field(FrozenModel):
    model_config = formerly(
        null_when="empty",
        id_prefix="numbered",
        options="of",
        min="least",
        max="most",
        integer="whole",
        max_words="words",
        target_words="asked_words",
    )

    kind: Annotated[
        Literal["text", "url", "boolean", "number", "choice", "choices", "list", "object", "scores", "turn", "turns"],
        READS_FORMER_VALUES,
    ]
    """`scores`: a number for each side and criterion of the rubric; `turn`: a turn's id; `turns`: a list of turn ids;
    `url`: the address of a page."""
    title: DisplayName = ""
    """The label of the field in a person's form; its name if empty."""
    about: Text = ""
    null_when: Text = ""
    """Words that tell models when the field is null, as in `unless detected`. They are appended to `about` in the
    schema for models; people are not shown them. They decide nothing: the conditions are `only_if` and `unless`."""
    options: tuple[PrintableKey, ...] = PydanticField(default=(), max_length=MAX_ITEMS)
    """The options of a choice; empty means the sides."""
    fields: dict[PrintableKey, Field] = {}
    """The fields of an object, or of each item of a list."""
    min: float | None = None
    max: float | None = None
    """The limits of a number. For a list, how many items are asked for; a reply with more or fewer is accepted."""
    integer: bool = False
    max_words: WordCount = None
    """The limit: a longer text is asked for again."""
    target_words: WordCount = None
    """The length asked for, in words: here the maximum. A longer text is taken; the rapporteur's is sent back once."""
    id_prefix: str = PydanticField(default="", pattern=r"^[A-Z]?$")
    """The letter that begins the ids of the items of a list: `I` for I1, I2, ..."""
    per_side: bool = False
    """One value for each side instead of a single one."""
    per_issue: bool = False
    """One value for each item of the list of issues; the field is not asked for if there is no such list. A reply
    that has null for all of them leaves the issues open, and is otherwise as good."""
    optional: bool = False
    """Whether null is allowed."""
    only_if: dict[PrintableKey, bool | PrintableKey] = {}
    """Sibling field to the value it must have for this field to be filled in; otherwise this one is null or empty."""
    unless: dict[PrintableKey, bool | PrintableKey] = {}
    """Sibling field to the value with which this field is left out, as null or empty."""
    when: Condition = PydanticField(default_factory=Condition)

    def keys(self, context: ShapeContext) -> tuple[str, ...]:
        """The keys under which there is one value each; empty for a single value."""
        return context.sides if self.per_side else context.issues if self.per_issue else ()

    @property
    def may_be_null(self) -> bool:
        return bool(self.only_if or self.unless or self.optional) and empty_value(self) is None

    @property
    def description(self) -> str:
        """The description of the field, and when it is null, as a model reads it."""
        return "; ".join(filter(None, (self.about, f"null {self.null_when}" if self.null_when else "")))

    @property
    def single(self) -> Field:
        return self.model_copy(update={"per_side": False, "per_issue": False})


Shape = dict[PrintableKey, Field]


class ShapeContext(FrozenModel):
    """The values that the fields of a shape refer to: the sides, the criteria and their scales."""

    sides: tuple[str, ...]
    criteria: tuple[str, ...]
    min: float
    max: float
    rounds: int
    strictness: str
    turns: tuple[str, ...] = ()
    """The turns that a reply may name."""
    scales: dict[str, tuple[float, float]] = {}
    """Criterion to its own minimum and maximum, if they are not those of the rubric."""
    issues: tuple[str, ...] = ()
    """The ids of the list of issues: I1, I2, ..."""
    settings_on: tuple[str, ...] = ()
    """The settings that are on, by the names that conditions have for them."""

    @cached_property
    def turn_ids(self) -> frozenset[str]:
        """The turns that may be named, to look one up."""
        return frozenset(self.turns)

    @cached_property
    def points(self) -> Field:
        """The field of a side's points: a number for each criterion."""
        scales = {name: self.scale(name) for name in self.criteria}
        points = {name: Field(kind="number", min=low, max=high) for name, (low, high) in scales.items()}
        return Field(kind="object", fields=points)

    def scale(self, criterion: str) -> tuple[float, float]:
        """The lowest and highest score of a criterion."""
        return self.scales.get(criterion, (self.min, self.max))


def names_turns(shape: Mapping[str, Field]) -> bool:
    return any(field.kind in ("turn", "turns") or names_turns(field.fields) for field in shape.values())


def fields_asked(shape: Mapping[str, Field], context: ShapeContext) -> Shape:
    """The fields whose conditions hold."""
    return {
        name: field
        for name, field in shape.items()
        if field.when.holds(rounds=context.rounds, strictness=context.strictness, settings_on=context.settings_on)
        and (context.issues or not field.per_issue)
    }


def present_fields(fields: Mapping[str, Field], data: Mapping[str, Any]) -> list[str]:
    """The names of the fields that an object has, in the order of the shape."""
    return [name for name in fields if name in data]


def empty_value(field: Field) -> Any:
    """The value of a field that is not filled in: an empty list for lists, else null."""
    return [] if field.kind in ("choices", "turns", "list") and not (field.per_side or field.per_issue) else None


def applies(field: Field, data: Mapping[str, Any]) -> bool:
    """Whether a field must be filled in, given the values of its sibling fields."""
    condition_met = all(data.get(sibling) == needed for sibling, needed in field.only_if.items())
    return condition_met and not any(
        data[sibling] == field.unless[sibling] for sibling in field.unless.keys() & data.keys()
    )


def json_schema(shape: Mapping[str, Field], context: ShapeContext) -> dict[str, Any]:
    """The shape as a JSON Schema for structured-output modes: every property is required, and no other is allowed. A
    condition inside an object is an `anyOf`; one on the reply is a union with null, since its root must be a plain
    object."""
    return _object({name: _schema(field, context) for name, field in fields_asked(shape, context).items()})


def _object_schema(shape: Mapping[str, Field], context: ShapeContext) -> dict[str, Any]:
    """The schema of an object inside a reply: one alternative for each set of fields that must be filled in."""
    fields = fields_asked(shape, context)
    deciding_fields = {sibling for field in fields.values() for sibling in (*field.only_if, *field.unless)}
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
    if field.per_side or field.optional or field.kind not in ("boolean", "choice"):
        return ()
    return (True, False) if field.kind == "boolean" else field.options or context.sides


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
        case "boolean":
            return {"type": "boolean"}
        case "number":
            return {"type": "integer" if field.integer else "number"}
        case "choice":
            return {"type": "string", "enum": list(field.options or context.sides)}
        case "choices":
            return {"type": "array", "items": {"type": "string", "enum": list(field.options or context.sides)}}
        case "turns":
            return {"type": "array", "items": {"type": "string", "description": "the id of a turn"}}
        case "list":
            items = _object_schema(field.fields, context) if field.fields else {"type": "string"}
            return {"type": "array", "items": items}
        case "object":
            return _object_schema(field.fields, context)
        case "scores":
            each = _object({name: {"type": "number"} for name in context.criteria})
            return _object(dict.fromkeys(context.sides, each))
