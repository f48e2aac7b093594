"""The bounds of a shape: of its numbers, of the JSON Schema that asks for a reply, and of the smallest reply to it.

Formats come from strangers. Lists of so many items multiply along their nestings, and so do values for each side or
issue, so a short format could ask for a reply of billions of values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from debate_orchestrator.core.phases import MAX_WORDS
from debate_orchestrator.core.shape import MAX_DEPTH, MAX_FIELDS, MAX_ITEMS, MAX_NUMBER, Field, Shape

MAX_VALUES = 3_000
"""Values of a reply with the fewest items, at least one in each list: a reply has 256 KiB, and a value with its key
some 80 bytes."""
MAX_SCHEMA_LENGTH = 1_000_000
"""Characters that the JSON Schema of a reply may have, about; those of the shipped formats have 10,000."""
_SCHEMA_OF_A_FIELD = 100
"""Characters of a field in a JSON Schema, besides its name, its description and its options; about."""

Problem = tuple[tuple[str, ...], str]
"""The keys that lead to a part of a format, and what is wrong with it."""


class _Waiting(NamedTuple):
    """A field that is to be looked at, and how often it stands in what is made of its shape."""

    where: tuple[str, ...]
    field: Field
    depth: int = 1
    sides: int = 1
    """In the list of fields: twice within a field per side."""
    values: int = 1
    """In a reply with the fewest items."""
    schema: int = 1
    """In the JSON Schema."""


def size_problem(name: str, shape: Shape, sides: int, criteria: int) -> Problem | None:
    """What makes a shape deeper or larger than its schema, its checks and its smallest reply may become. The numbers
    are those of the format's sides and of its rubric's criteria."""
    scores = max(1, sides) * max(1, criteria)
    waiting = [_Waiting((key,), field) for key, field in shape.items()]
    fields = values = length = 0
    while waiting:
        one = waiting.pop()
        field, where = one.field, ("shapes", name, *one.where)
        called = ".".join((name, *one.where[::2]))
        if one.depth > MAX_DEPTH:
            return where, f"{called} is nested too deeply: at most {MAX_DEPTH} levels"
        if wrong := _field_problem(field, one.sides):
            return (*where, *wrong[0]), f"{called} {wrong[1]}"
        here = _at(one, sides)
        fields += here.sides
        values += here.values * (scores if field.kind == "scores" else 1 + _items(field) * (not field.fields))
        options = sum(len(option) + 4 for option in field.of) + scores * (field.kind == "scores")
        length += here.schema * (_SCHEMA_OF_A_FIELD + len(one.where[-1]) + len(field.description) + options)
        waiting += _inner(here)
    if fields > MAX_FIELDS:
        return ("shapes", name), f"{name} has {fields:,} fields; at most {MAX_FIELDS}"
    if values > MAX_VALUES:
        problem = f"{name} asks for {values:,} values in a reply with the fewest items; at most {MAX_VALUES:,}"
        return ("shapes", name), problem
    if length > MAX_SCHEMA_LENGTH:
        problem = f"{name} has a JSON Schema of about {length:,} characters; at most {MAX_SCHEMA_LENGTH:,}"
        return ("shapes", name), problem
    return None


def _at(one: _Waiting, sides: int) -> _Waiting:
    """The same with what the field itself multiplies: its sides or issues. The list of issues may have as many items as
    any list."""
    field = one.field
    keys = max(1, sides) if field.per_side else MAX_ITEMS if field.per_issue else 1
    return one._replace(sides=one.sides * (1 + field.per_side), values=one.values * keys, schema=one.schema * keys)


def _items(field: Field) -> int:
    """The fewest items that are asked for, at least one; of anything but a list, none."""
    return max(1, round(field.least or 0)) if field.kind == "list" else 0


def _inner(here: _Waiting) -> Iterator[_Waiting]:
    """The fields of a record, or of the items of a list."""
    field = here.field
    values = here.values * (_items(field) if field.kind == "list" else 1)
    schema = here.schema * _branches(field.fields)
    for key, inner in field.fields.items():
        yield _Waiting((*here.where, "fields", key), inner, here.depth + 1, here.sides, values, schema)


def _branches(fields: Shape) -> int:
    """How many alternatives the schema of a record has at most: one for each set of fields that is filled in, by the
    value of the one field on which others depend."""
    dependent = [field for field in fields.values() if field.only_if or field.unless]
    named = {other for field in dependent for other in (*field.only_if, *field.unless)}
    decisive = fields.get(next(iter(named), "")) if len(named) == 1 else None
    return min(max(2, len(decisive.of)), len(dependent) + 1) if decisive is not None else 1


def _field_problem(field: Field, sides: int) -> tuple[tuple[str, ...], str] | None:
    """What is wrong with a field by itself: the keys within it, and the end of a sentence."""
    if len(field.of) > MAX_ITEMS:
        return ("of",), f"has {len(field.of):,} options; at most {MAX_ITEMS}"
    if len(set(field.of)) < len(field.of):
        return ("of",), "has an option twice"
    if field.per_side and sides > 1:
        return (), "is per_side inside a field that is per_side"
    low, high = (0, MAX_ITEMS) if field.kind == "list" else (-MAX_NUMBER, MAX_NUMBER)
    for key, limit in (("least", field.least), ("most", field.most)):
        if limit is not None and not low <= limit <= high:
            return (key,), f"has {limit:g} as `{key}`; it must be from {low:,} to {high:,}"
    for key, words in (("words", field.words), ("asked_words", field.asked_words)):
        if words is not None and not 1 <= words <= MAX_WORDS:
            return (key,), f"has a number of words in `{key}` that is not from 1 to {MAX_WORDS:,}"
    return None
