"""The bounds of a shape: of its numbers, of the JSON Schema that asks for a reply, and of the smallest reply to it.

Formats come from strangers. Lists of so many items multiply along their nestings, and so do values for each side or
issue, so a short format could ask for a reply of billions of values.
"""

from __future__ import annotations

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


def size_problem(name: str, shape: Shape, sides: int, criteria: int) -> Problem | None:
    """What makes a shape deeper or larger than its schema, its checks and its smallest reply may become. The numbers
    are those of the format's sides and of its rubric's criteria."""
    if wrong := _problem_within(shape, ("shapes", name), name, 1):
        return wrong
    sides = max(1, sides)
    scores = sides * max(1, criteria)
    sizes = (
        (f"{name} has {{:,}} fields; at most {MAX_FIELDS}", _fields(shape), MAX_FIELDS),
        (
            f"{name} asks for {{:,}} values in a reply with the fewest items; at most {MAX_VALUES:,}",
            _values(shape, sides, scores),
            MAX_VALUES,
        ),
        (
            f"{name} has a JSON Schema of about {{:,}} characters; at most {MAX_SCHEMA_LENGTH:,}",
            _schema_length(shape, sides, scores),
            MAX_SCHEMA_LENGTH,
        ),
    )
    return next(((("shapes", name), problem.format(size)) for problem, size, most in sizes if size > most), None)


def _problem_within(shape: Shape, where: tuple[str, ...], called: str, depth: int, sides: int = 1) -> Problem | None:
    """The first problem of a field of a shape by itself, or of one within it."""
    for key, field in shape.items():
        here, name = (*where, key), f"{called}.{key}"
        if depth > MAX_DEPTH:
            return here, f"{name} is nested too deeply: at most {MAX_DEPTH} levels"
        if wrong := _field_problem(field, sides):
            return (*here, *wrong[0]), f"{name} {wrong[1]}"
        if inner := _problem_within(field.fields, (*here, "fields"), name, depth + 1, sides * (1 + field.per_side)):
            return inner
    return None


def _fields(shape: Shape) -> int:
    """How many fields there are, those per side counted twice."""
    return sum((1 + field.per_side) * (1 + _fields(field.fields)) for field in shape.values())


def _keys(field: Field, sides: int) -> int:
    """How often a field stands in a reply. The list of issues may have as many items as any list."""
    return sides if field.per_side else MAX_ITEMS if field.per_issue else 1


def _values(shape: Shape, sides: int, scores: int) -> int:
    """How many values the smallest reply has."""
    total = 0
    for field in shape.values():
        items = max(1, round(field.least or 0)) if field.kind == "list" else 0
        own = scores if field.kind == "scores" else 1 + items * (not field.fields)
        total += _keys(field, sides) * (own + max(1, items) * _values(field.fields, sides, scores))
    return total


def _schema_length(shape: Shape, sides: int, scores: int) -> int:
    """About how many characters the JSON Schema has."""
    total = 0
    for key, field in shape.items():
        options = sum(len(option) + 4 for option in field.of) + scores * (field.kind == "scores")
        own = _SCHEMA_OF_A_FIELD + len(key) + len(field.description) + options
        inner = _branches(field.fields) * _schema_length(field.fields, sides, scores)
        total += _keys(field, sides) * (own + inner)
    return total


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
