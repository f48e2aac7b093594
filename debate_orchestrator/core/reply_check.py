"""The check of a structured reply: `check` holds it to its shape, and `beyond_targets` to the lengths asked for.

Structured-output modes can't enforce ranges or dependencies between fields, so those are checked here and nowhere else.
Nothing is repaired or guessed: a reply passes if `check` finds no problem.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from debate_orchestrator.core.shape import (
    MAX_ITEMS,
    MAX_NUMBER,
    Field,
    ShapeContext,
    applies,
    empty_value,
    fields_asked,
    present_fields,
)
from debate_orchestrator.util.errors import blank_problem, first_few, join_names, short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import count_words

MAX_TEXT_LENGTH = 20_000
"""Characters that one text of a structured reply may have."""
MAX_URL_LENGTH = 2_000
_WORD_TOLERANCE = 1.5
"""A text longer than this many times the words asked for is sent back."""
_URL = re.compile(r"https?://[^\s<>\"`\x00-\x20\x7f]+", re.IGNORECASE)
_TEXT = Field(kind="text")


def beyond_targets(shape: Mapping[str, Field], value: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """The parts of a reply that passes `check` which are longer or shorter than was asked for: the items of its lists,
    and the words of its texts. That alone makes no reply useless."""
    for name in present_fields(shape, value):
        field, field_value, path = shape[name], value[name], f"{where}{name}"
        if field.kind == "list" and isinstance(field_value, list):
            if not (field.min or 0) <= len(field_value) <= (field.max or MAX_ITEMS):
                limits = [f"{word} {n:g}" for word, n in (("at least", field.min), ("at most", field.max)) if n]
                yield f"{path}: it has {plural(len(field_value), 'item')}; write {' and '.join(limits)}."
            for n, item in enumerate(field_value if field.fields else (), start=1):
                yield from beyond_targets(field.fields, item, f"{path}[{n}].")
        elif field.kind == "object" and isinstance(field_value, Mapping):
            yield from beyond_targets(field.fields, field_value, f"{path}.")
        elif field.target_words is not None and isinstance(field_value, str):
            words = count_words(field_value)
            if words > _WORD_TOLERANCE * field.target_words:
                yield f"{path}: {_excess(words, 'word', field.target_words)}"


class _Problem(NamedTuple):
    path: str
    text: str
    is_blank: bool = False
    """Whether the field is null and needs a value."""


def check(
    shape: Mapping[str, Field], value: Any, context: ShapeContext, where: str = "", *, is_form: bool = False
) -> list[str]:
    """The problems of `value` as a reply of this shape, only the first few if there are many (`first_few`); empty if it
    fits. Each names its field by a path, in which the items of a list count from 1: `rows[1].claim`. In a form, which a
    person fills in, the fields that were left blank are one problem."""
    problems, together = _object(shape, value, where, context), list[str]()
    if is_form:
        found = list(problems)
        blank_paths = [problem.path.removeprefix(where) for problem in found if problem.is_blank]
        together = [blank_problem(_names_of_blanks(value, blank_paths), where)] if blank_paths else []
        problems = (problem for problem in found if not problem.is_blank)
    sentences = chain(together, (f"{problem.path}: {problem.text}" for problem in problems))
    return list(first_few(sentences, _name_of_object(where)))


def _names_of_blanks(value: Any, paths: Collection[str], path: str = "") -> list[str]:
    """The blank fields at these paths; an object with nothing but blank fields is named in their place."""
    if not isinstance(value, Mapping):
        return [blank for blank in paths if blank == path or blank.startswith(f"{path}[")]
    parts = {f"{path}.{key}".lstrip("."): item for key, item in value.items()}
    names = {part: _names_of_blanks(item, paths, part) for part, item in parts.items()}
    if path and parts and all(names[part] == [part] for part in parts):
        return [path]
    return [name for part_names in names.values() for name in part_names]


def _name_of_object(where: str) -> str:
    return where.rstrip(".: ") or "the reply"


def _object(shape: Mapping[str, Field], value: Any, where: str, context: ShapeContext) -> Iterator[_Problem]:
    """The problems of a value as an object of the fields that are asked for; `where` is before their names."""
    fields = fields_asked(shape, context)
    if not isinstance(value, dict):
        yield _mismatch(_name_of_object(where), value, "a JSON object")
        return
    for name, field in fields.items():
        if name not in value:
            expected = f"{_expected(field, context)}{_or_empty(field)}"
            yield _Problem(f"{where}{name}", f"this field is missing; it must be {expected}.")
    if unknown := [short_repr(name) for name in value if name not in fields]:
        problem = "there is no such field" if len(unknown) == 1 else f"these {len(unknown):,} are no fields"
        yield _Problem(f"{where}{join_names(unknown)}", f"{problem}; the fields are {join_names(fields)}.")
    for name in present_fields(fields, value):
        yield from _field(fields[name], value, name, f"{where}{name}", context)


def _field(field: Field, data: Mapping[str, Any], name: str, where: str, context: ShapeContext) -> Iterator[_Problem]:
    """The problems of a field of an object, on whose other fields it may depend."""
    value, empty = data[name], empty_value(field)
    is_empty = value == empty and type(value) is type(empty)
    conditional = bool(field.only_if or field.unless)
    if is_empty and (field.optional or field.per_issue):
        return
    if conditional and not applies(field, data):
        if not is_empty:
            yield _Problem(where, f"{short_repr(value)} must be {json.dumps(empty)}, {_why_empty(field, data)}.")
    elif conditional and is_empty and field.kind != "list":  # choices and turns must name something
        yield _mismatch(where, value, f"{_expected(field, context)}, {_condition(field, 'since')}")
    elif keys := field.keys(context):
        yield from _each(dict.fromkeys(keys, field), value, where, context)
    else:
        yield from _value(field, value, where, context)


def _each(fields: Mapping[str, Field], value: Any, where: str, context: ShapeContext) -> Iterator[_Problem]:
    """The problems of an object with one value for each key; of the values, only where the keys are right."""
    if not isinstance(value, dict) or not set(value) & set(fields):
        yield _mismatch(where, value, f"an object with the keys {join_names(fields)}")
        return
    missing = [key for key in fields if key not in value]
    unknown = [short_repr(key, 30) for key in value if key not in fields]
    if missing:
        yield _Problem(where, f"{join_names(missing)} {'is' if len(missing) == 1 else 'are'} missing.")
    if unknown:
        yield _Problem(where, f"there is no such key as {join_names(unknown)}; the keys are {join_names(fields)}.")
    for key, field in fields.items() if not missing and not unknown else ():
        yield from _value(field, value[key], f"{where}.{key}", context)


def _value(field: Field, value: Any, where: str, context: ShapeContext) -> Iterator[_Problem]:
    """The problems of one value: that of a field, or of a side or an issue in it."""
    if field.kind == "object":
        yield from _object(field.fields, value, f"{where}.", context)
    elif field.kind == "scores":
        yield from _each(dict.fromkeys(context.sides, context.points), value, where, context)
    elif too_long := _too_long(field, value):
        yield _Problem(where, too_long)
    elif field.kind == "text" and isinstance(value, str):
        if not value.strip():
            yield _Problem(where, f"it is empty; it must be {in_words(field)}.")
    elif not _fits(field, value, context):
        yield _mismatch(where, value, _expected_value(field, context))
    elif field.kind == "list":
        for n, item in enumerate(value, start=1):
            if field.fields:
                yield from _object(field.fields, item, f"{where}[{n}].", context)
            else:
                yield from _value(_TEXT, item, f"{where}[{n}]", context)


def _too_long(field: Field, value: Any) -> str | None:
    """The problem of a text or a list that is longer than any may be, or than its field allows."""
    if isinstance(value, str) and field.kind in ("text", "url"):
        maximum = MAX_URL_LENGTH if field.kind == "url" else MAX_TEXT_LENGTH
        if len(value) > maximum:
            return _excess(len(value), "character", maximum)
        if field.max_words is not None and (words := count_words(value)) > field.max_words:
            return _excess(words, "word", field.max_words)
    if isinstance(value, list) and field.kind in ("choices", "turns", "list") and len(value) > MAX_ITEMS:
        return _excess(len(value), "item", MAX_ITEMS)
    return None


def _fits(field: Field, value: Any, context: ShapeContext) -> bool:
    """Whether a value of one of the plain kinds is what its field asks for."""
    options = field.options or context.sides
    match field.kind:
        case "url":
            return isinstance(value, str) and _URL.fullmatch(value) is not None
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return _is_number(field, value)
        case "choice":
            return isinstance(value, str) and value in options
        case "choices":
            return _all_of(value, frozenset(options))
        case "turn":
            return isinstance(value, str) and value in context.turn_ids
        case "turns":
            return _all_of(value, context.turn_ids)
        case "list":
            return isinstance(value, list)
    return False


def _is_number(field: Field, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if field.integer else int | float):
        return False
    if not -MAX_NUMBER <= value <= MAX_NUMBER:  # NaN, too, is refused here
        return False
    return (field.min is None or value >= field.min) and (field.max is None or value <= field.max)


def _all_of(value: Any, options: frozenset[str]) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item in options for item in value)


# Words for messages


def _expected(field: Field, context: ShapeContext) -> str:
    """The description of a field's valid values."""
    each, keys = _expected_value(field, context), field.keys(context)
    return f"an object with the keys {join_names(keys)}, each {each}" if keys else each


def _expected_value(field: Field, context: ShapeContext) -> str:
    turns = ", ".join(context.turns[:2])
    example = f", such as {turns}" if turns else ", which has none yet"
    match field.kind:
        case "text" | "number":
            return in_words(field)
        case "url":
            return f"{in_words(field)}, such as https://example.org/page"
        case "boolean":
            return "true or false"
        case "choice":
            return f"one of {join_names([*(field.options or context.sides), *(['null'] * field.optional)])}"
        case "choices":
            return f"a list of any of {join_names(field.options or context.sides)}"
        case "turn":
            return f"the id of a turn in the transcript{example}"
        case "turns":
            return f"a list of turn ids from the transcript{example}"
        case "list":
            return "a list"
        case "scores":
            points = join_names(context.criteria)
            return f"an object with the keys {join_names(context.sides)}, each an object with {points}"
    return "an object"


def in_words(field: Field) -> str:
    """The requirement on a text, the address of a page or a number, for models and people alike."""
    match field.kind:
        case "number":
            minimum, maximum = (field.min, -MAX_NUMBER), (field.max, MAX_NUMBER)
            low, high = (f"{otherwise if limit is None else limit:,.10g}" for limit, otherwise in (minimum, maximum))
            return f"{'a whole number' if field.integer else 'a number'} from {low} to {high}"
        case "url":
            return "the address of a page"
    return "a text" if field.max_words is None else f"a text of at most {plural(field.max_words, 'word')}"


def _condition(field: Field, word: str) -> str:
    """The condition for a field, as in `if detected is true`."""
    conditions = [f"{sibling} is {_literal(needed)}" for sibling, needed in field.only_if.items()]
    exclusions = [f"{sibling} is not {_literal(value)}" for sibling, value in field.unless.items()]
    return f"{word} {join_names(conditions + exclusions, ' and ')}"


def _why_empty(field: Field, data: Mapping[str, Any]) -> str:
    """The condition under which a field must be empty, as in `since refused is true`."""
    exclusions = [
        f"{sibling} is {_literal(excluded)}"
        for sibling, excluded in field.unless.items()
        if data.get(sibling) == excluded
    ]
    return f"since {join_names(exclusions, ' and ')}" if exclusions else _condition(field, "unless")


def _or_empty(field: Field) -> str:
    """The condition under which a field may be empty, and its value then, as the end of a sentence."""
    if field.only_if or field.unless:
        return f" {_condition(field, 'if')}, and {json.dumps(empty_value(field))} otherwise"
    return f", or {json.dumps(empty_value(field))}" if field.optional else ""


def _literal(value: bool | str) -> str:
    return str(value).lower() if isinstance(value, bool) else value


def _excess(count: int, noun: str, maximum: int) -> str:
    """The problem of a value that has more of something than it may have."""
    return f"it has {plural(count, noun)}; write at most {maximum:,}."


def _mismatch(where: str, value: Any, expected: str) -> _Problem:
    if isinstance(value, dict):
        keys = ", ".join(short_repr(key, 30) for key in list(value)[:6])
        text = f"an object with the keys {keys}" if keys else "an empty object"
    else:
        text = "null" if value is None else short_repr(value)
    return _Problem(where, f"{text} is not {expected}.", is_blank=value is None)
