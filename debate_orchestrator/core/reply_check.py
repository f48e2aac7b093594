"""The check of a structured reply: `check` holds it to its shape, and `beyond_limits` to the lengths asked for.

Structured-output modes can't enforce ranges or dependencies between fields, so those are checked here and nowhere else.
Nothing is repaired or guessed: a reply passes if `check` finds no problem.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar

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
from debate_orchestrator.util.errors import first_few, listed, short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import count_words

MAX_TEXT_LENGTH = 20_000
"""Characters that one text of a structured reply may have."""
MAX_URL_LENGTH = 2_000
_SPARE_FACTOR = 1.5
"""How many times the words asked for a text it may have before it is sent back."""
_URL = re.compile(r"https?://[^\s<>\"`\x00-\x20\x7f]+", re.IGNORECASE)
_TEXT = Field(kind="text")
_T = TypeVar("_T")


def beyond_limits(shape: Mapping[str, Field], value: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """What in a reply that passes `check` is longer or shorter than was asked for: the items of its lists, and the
    words of its texts. That alone makes no reply useless."""
    for name in present_fields(shape, value):
        field, held, place = shape[name], value[name], f"{where}{name}"
        if field.kind == "list" and isinstance(held, list):
            if not (field.least or 0) <= len(held) <= (field.most or MAX_ITEMS):
                yield f"{place}: it has {plural(len(held), 'item')}; write {_limits(field)}."
            for n, item in enumerate(held if field.fields else (), start=1):
                yield from beyond_limits(field.fields, item, f"{place}[{n}].")
        elif field.kind == "record" and isinstance(held, Mapping):
            yield from beyond_limits(field.fields, held, f"{place}.")
        elif field.asked_words is not None and isinstance(held, str):
            words = count_words(held)
            if words > _SPARE_FACTOR * field.asked_words:
                yield _excess(place, words, "word", field.asked_words)


def _limits(field: Field) -> str:
    words = [("at least", field.least), ("at most", field.most)]
    return " and ".join(f"{word} {limit:g}" for word, limit in words if limit is not None)


def check(shape: Mapping[str, Field], value: Any, context: ShapeContext, where: str = "") -> list[str]:
    """The problems of `value` as a reply of this shape, of many the `first_few`; empty if it fits. Each names its field
    by a path, in which the items of a list count from 1: `rows[1].claim`."""
    return list(first_few(_Checker(context).record(shape, value, where), _called(where)))


def _called(where: str) -> str:
    """The name of what has its fields behind `where`."""
    return where.rstrip(".: ") or "the reply"


class _Checker:
    """Finds the problems of one reply, one after the other: no more are looked for than are told."""

    def __init__(self, context: ShapeContext):
        self._context = context

    @cached_property
    def _points(self) -> dict[str, Field]:
        """Criterion to the field that its points are."""
        scales = {name: self._context.scale(name) for name in self._context.criteria}
        return {name: Field(kind="number", least=least, most=most) for name, (least, most) in scales.items()}

    def record(self, shape: Mapping[str, Field], value: Any, where: str) -> Iterator[str]:
        """The problems of a value as an object of the fields that are asked for; `where` is what stands before their
        names."""
        fields = fields_asked(shape, self._context)
        if not isinstance(value, dict):
            yield _mismatch(_called(where), value, "a JSON object")
            return
        for name, field in fields.items():
            if name not in value:
                yield (f"{where}{name}: this field is missing; it must be {self._expected(field)}{_or_nothing(field)}.")
        for name in value:
            if name not in fields:
                yield f"{where}{short_repr(name)}: there is no such field; the fields are {listed(fields)}."
        for name in present_fields(fields, value):
            yield from self._dependent(fields[name], value, name, f"{where}{name}")

    def _dependent(self, field: Field, record: Mapping[str, Any], name: str, where: str) -> Iterator[str]:
        """The problems of a field that may depend on others of its record."""
        value, empty_form = record[name], empty_value(field)
        empty = value == empty_form and type(value) is type(empty_form)
        depends = bool(field.only_if or field.unless)
        if (field.optional or field.per_issue) and empty:
            return
        if depends and not applies(field, record):
            if not empty:
                barred = [f"{other} is {_word(bar)}" for other, bar in field.unless.items() if record.get(other) == bar]
                why = f"since {listed(barred, ' and ')}" if barred else _condition(field, "unless")
                yield f"{where}: {short_repr(value)} must be {json.dumps(empty_form)}, {why}."
        elif depends and empty and field.kind != "list":  # choices and turns must name something
            yield _mismatch(where, value, f"{self._expected(field)}, {_condition(field, 'since')}")
        elif keys := field.keys(self._context):
            yield from _each(dict.fromkeys(keys, field), value, where, self._single)
        else:
            yield from self._single(field, value, where)

    def _single(self, field: Field, value: Any, where: str) -> Iterator[str]:
        """The problems of one value: that of a field, or of a side or an issue in it."""
        match field.kind:
            case "record":
                yield from self.record(field.fields, value, f"{where}.")
            case "scores":
                points = dict.fromkeys(self._context.sides, self._points)
                yield from _each(points, value, where, lambda of, item, at: _each(of, item, at, self._single))
            case "list":
                yield from self._list(field, value, where)
            case _ if not self._fits(field, value):
                yield self._misfit(field, value, where)

    def _misfit(self, field: Field, value: Any, where: str) -> str:
        """The problem of a value of one of the plain kinds that does not fit."""
        most = {"text": MAX_TEXT_LENGTH, "url": MAX_URL_LENGTH}.get(field.kind, MAX_ITEMS)
        measured = isinstance(value, list if field.kind in ("choices", "turns") else str)
        if field.kind in ("text", "url", "choices", "turns") and measured and len(value) > most:
            return _excess(where, len(value), "character" if isinstance(value, str) else "item", most)
        if field.kind == "text" and isinstance(value, str):
            if value.strip() and field.words is not None:
                return _excess(where, count_words(value), "word", field.words)
            return f"{where}: it is empty; it must be {self._expected_one(field)}."
        return _mismatch(where, value, self._expected_one(field))

    def _list(self, field: Field, value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield _mismatch(where, value, self._expected_one(field))
            return
        if len(value) > MAX_ITEMS:
            yield _excess(where, len(value), "item", MAX_ITEMS)
            return
        for n, item in enumerate(value, start=1):
            if field.fields:
                yield from self.record(field.fields, item, f"{where}[{n}].")
            else:
                yield from self._single(_TEXT, item, f"{where}[{n}]")

    def _fits(self, field: Field, value: Any) -> bool:
        """Whether a value of one of the plain kinds is what its field asks for."""
        match field.kind:
            case "text":
                return isinstance(value, str) and _text(field, value)
            case "url":
                return isinstance(value, str) and len(value) <= MAX_URL_LENGTH and _URL.fullmatch(value) is not None
            case "flag":
                return isinstance(value, bool)
            case "number":
                return _number(field, value)
            case "choice":
                return isinstance(value, str) and value in (field.of or self._context.sides)
            case "choices":
                return _all_of(value, frozenset(field.of or self._context.sides))
            case "turn":
                return isinstance(value, str) and value in self._context.turn_ids
            case "turns":
                return _all_of(value, self._context.turn_ids)
        return False

    def _expected(self, field: Field) -> str:
        """What a field must hold, in words."""
        single, keys = self._expected_one(field), field.keys(self._context)
        return f"an object with the keys {listed(keys)}, each {single}" if keys else single

    def _expected_one(self, field: Field) -> str:
        sides = self._context.sides
        turns = ", ".join(self._context.turns[:2])
        example = f", such as {turns}" if turns else ", which has none yet"
        match field.kind:
            case "text" | "number":
                return in_words(field)
            case "url":
                return f"{in_words(field)}, such as https://example.org/page"
            case "flag":
                return "true or false"
            case "choice":
                return f"one of {listed(field.of or sides)}"
            case "choices":
                return f"a list of any of {listed(field.of or sides)}"
            case "turn":
                return f"the id of a turn in the transcript{example}"
            case "turns":
                return f"a list of turn ids from the transcript{example}"
            case "list":
                return "a list"
            case "scores":
                criteria = listed(self._context.criteria)
                return f"an object with the keys {listed(sides)}, each an object with the keys {criteria}"
        return "an object"


def _each(
    wanted: Mapping[str, _T], value: Any, where: str, check_one: Callable[[_T, Any, str], Iterator[str]]
) -> Iterator[str]:
    """The problems of an object that has a value for each key, by what is wanted there; of those values, only where the
    keys are right."""
    if problems := _key_problems([*wanted], value, where):
        yield from problems
        return
    for name, one in wanted.items():
        yield from check_one(one, value[name], f"{where}.{name}")


def _key_problems(keys: Sequence[str], value: Any, where: str) -> list[str]:
    """What keeps a value from being an object with these keys and no others."""
    if not isinstance(value, dict) or not set(value) & set(keys):
        return [_mismatch(where, value, f"an object with the keys {listed(keys)}")]
    missing = [key for key in keys if key not in value]
    others = [short_repr(key, 30) for key in value if key not in keys]
    problems = [f"{where}: {listed(missing)} {'is' if len(missing) == 1 else 'are'} missing."] if missing else []
    return problems + [f"{where}: there is no such key as {key}; the keys are {listed(keys)}." for key in others[:3]]


def _condition(field: Field, word: Literal["if", "since", "unless"]) -> str:
    """The condition for a field, as in `if detected is true`."""
    wanted = [f"{other} is {_word(needed)}" for other, needed in field.only_if.items()]
    barred = [f"{other} is not {_word(value)}" for other, value in field.unless.items()]
    return f"{word} {listed(wanted + barred, ' and ')}"


def _word(value: bool | str) -> str:
    """A value as it is written in a reply."""
    return str(value).lower() if isinstance(value, bool) else value


def _or_nothing(field: Field) -> str:
    """The condition under which a field may be empty, and its value then, as the end of a sentence."""
    if field.only_if or field.unless:
        return f" {_condition(field, 'if')}, and {json.dumps(empty_value(field))} otherwise"
    return f", or {json.dumps(empty_value(field))}" if field.optional else ""


def _text(field: Field, value: str) -> bool:
    short = field.words is None or count_words(value) <= field.words
    return short and bool(value.strip()) and len(value) <= MAX_TEXT_LENGTH


def _number(field: Field, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if field.whole and not isinstance(value, int):
        return False
    if not -MAX_NUMBER <= value <= MAX_NUMBER:  # NaN, too, is refused here
        return False
    return (field.least is None or value >= field.least) and (field.most is None or value <= field.most)


def _all_of(value: Any, options: frozenset[str]) -> bool:
    if not isinstance(value, list) or len(value) > MAX_ITEMS or not all(isinstance(item, str) for item in value):
        return False
    return options.issuperset(value)


def in_words(field: Field) -> str:
    """What a text, the address of a page or a number must be, for models and people alike."""
    match field.kind:
        case "number":
            least, most = (field.least, -MAX_NUMBER), (field.most, MAX_NUMBER)
            low, high = (f"{otherwise if limit is None else limit:,.10g}" for limit, otherwise in (least, most))
            return f"{'a whole number' if field.whole else 'a number'} from {low} to {high}"
        case "url":
            return "the address of a page"
    return "a text" if field.words is None else f"a text of at most {plural(field.words, 'word')}"


def _excess(where: str, count: int, noun: str, most: int) -> str:
    """The problem of a value that has more of something than it may have."""
    return f"{where}: it has {plural(count, noun)}; write at most {most:,}."


def _mismatch(where: str, value: Any, expected: str) -> str:
    """The problem of a value that is not what it must be."""
    return f"{where}: {_kind(value)} is not {expected}."


def _kind(value: Any) -> str:
    """A value, for a message; an object by its keys."""
    if isinstance(value, dict):
        keys = ", ".join(short_repr(key, 30) for key in list(value)[:6])
        return f"an object with the keys {keys}" if keys else "an empty object"
    return "null" if value is None else short_repr(value)
