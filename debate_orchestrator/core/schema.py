"""The shape of a structured reply, as data: `check` holds a reply to it, and `core.json_schema` asks a model for it.

A shape is a mapping of names to fields. Structured-output modes can't enforce ranges or dependencies between fields, so
those are checked here and nowhere else. Nothing is repaired or guessed: a reply passes if `check` finds no problem.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from pydantic import Field as ModelField

from debate_orchestrator.core.values import DisplayName, FrozenModel, ShownKey, Text
from debate_orchestrator.util.errors import MAX_LISTED, first_few, short_repr
from debate_orchestrator.util.sanitize import count_words

MAX_TEXT_LENGTH = 20_000
"""Characters that one text of a structured reply may have."""
MAX_URL_LENGTH = 2_000
MAX_ITEMS = 100
MAX_DEPTH = 6
"""Levels of nested records and lists that a shape may have."""
MAX_FIELDS = 300
"""Fields that a shape may have, those of its records included; a field per side counts twice."""
MAX_NUMBER = 1_000_000
"""The largest absolute value that a number in a reply may have."""
SPARE_TEXT_FACTOR, SPARE_REPLY_FACTOR = 1.5, 1.1
"""How many times the words asked for a text, and a whole brief, may have before it is sent back."""
_URL = re.compile(r"https?://[^\s<>\"`\x00-\x20\x7f]+", re.IGNORECASE)


class Condition(FrozenModel):
    """Conditions on the setup and the round; all that are set must hold."""

    round: Literal["first", "later", "last", "not last"] | int | None = None
    """The rounds, by name, or one round by its number."""
    rounds_at_least: int | None = None
    strictness: ShownKey | None = None
    option: tuple[ShownKey, ...] = ModelField(default=(), max_length=MAX_ITEMS)
    """Options of which the setup must ask for at least one."""

    def holds(
        self, *, rounds: int, strictness: str, round: int | None = None, options: Collection[str] | None = None
    ) -> bool:
        """Whether all conditions hold; those on options do where no `options` are given."""
        if self.option and options is not None and not set(self.option) & set(options):
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

    def meets(self, other: Condition) -> bool:
        """Whether there is a round of some debate in which both hold."""
        modes = {self.strictness, other.strictness} - {None}
        rounds = {self.round, other.round}
        if len(modes) > 1 or (len(rounds) > 1 and all(isinstance(number, int) for number in rounds)):
            return False
        numbers = {n for n in (*rounds, self.rounds_at_least, other.rounds_at_least) if isinstance(n, int)}
        sizes = {n + more for n in {1, *numbers} for more in (0, 1, 2)}
        mode = next(iter(modes), None) or ""
        return any(
            self.holds(rounds=n, round=number, strictness=mode) and other.holds(rounds=n, round=number, strictness=mode)
            for n in sizes
            for number in (1, 2, n - 1, n, *numbers)
            if 1 <= number <= n
        )


class Field(FrozenModel):
    """One field of a structured reply."""

    kind: Literal["text", "url", "flag", "number", "choice", "choices", "list", "record", "scores", "turn", "turns"]
    """`scores`: a number for each side and criterion of the rubric; `turn`: a turn's id; `turns`: a list of turn ids;
    `url`: the address of a page."""
    title: DisplayName = ""
    """What a person's form calls the field; where it is empty, its name."""
    about: Text = ""
    empty: Text = ""
    """When the field is null, as in `unless detected`: appended to `about` for models, and not shown to people."""
    of: tuple[ShownKey, ...] = ()
    """The options of a choice; empty means the sides."""
    fields: dict[ShownKey, Field] = {}
    """The fields of a record, or of each item of a list."""
    least: float | None = None
    most: float | None = None
    """The limits of a number. For a list, how many items are asked for; a reply with more or fewer is accepted."""
    whole: bool = False
    words: int | None = None
    """The most words that a text may have."""
    asked_words: int | None = None
    """The most words that are asked for. A longer reply is accepted; the rapporteur's is sent back once."""
    numbered: str = ModelField(default="", pattern=r"^[A-Z]?$")
    """The letter by which the items of a list are called, with their number: `I` for I1, I2, ..."""
    per_side: bool = False
    """One value for each side instead of a single one."""
    per_issue: bool = False
    """One value for each item of the list of issues; the field is not asked for where there is no such list. A reply
    that has null for all of them leaves the issues open, and is otherwise as good."""
    optional: bool = False
    """Whether null is allowed."""
    only_if: dict[ShownKey, bool | ShownKey] = {}
    """Sibling field to the value it must have for this field to be filled in; otherwise this one is null or empty."""
    unless: dict[ShownKey, bool | ShownKey] = {}
    """Sibling field to the value with which this field is left out, as null or empty."""
    when: Condition = ModelField(default_factory=Condition)

    def keys(self, context: ShapeContext) -> tuple[str, ...]:
        """The keys under which there is one value each; empty for a single value."""
        return context.sides if self.per_side else context.issues if self.per_issue else ()

    @property
    def may_be_null(self) -> bool:
        """Whether null may be its value."""
        return bool(self.only_if or self.unless or self.optional) and empty_value(self) is None

    @property
    def description(self) -> str:
        """What the field is about, and when it is null, as a model reads it."""
        return "; ".join(filter(None, (self.about, f"null {self.empty}" if self.empty else "")))

    @property
    def single(self) -> Field:
        """The field of one of these values."""
        return self.model_copy(update={"per_side": False, "per_issue": False})


Shape = dict[ShownKey, Field]


class ShapeContext(FrozenModel):
    """What the fields of a shape refer to: the sides, the criteria and their scales."""

    sides: tuple[str, ...]
    criteria: tuple[str, ...]
    least: float
    most: float
    rounds: int
    strictness: str
    turns: tuple[str, ...] = ()
    """The turns that a reply may name."""
    scales: dict[str, tuple[float, float]] = {}
    """Criterion to its own least and most, if they are not those of the rubric."""
    issues: tuple[str, ...] = ()
    """The ids of the list of issues: I1, I2, ..."""
    options: tuple[str, ...] = ()
    """What the setup asks for, by the names that conditions have for it."""

    @cached_property
    def turn_ids(self) -> frozenset[str]:
        """The turns that may be named, to look one up."""
        return frozenset(self.turns)

    def scale(self, criterion: str) -> tuple[float, float]:
        """The lowest and highest score of a criterion."""
        return self.scales.get(criterion, (self.least, self.most))


def names_turns(shape: Mapping[str, Field]) -> bool:
    """Whether a reply of this shape names turns."""
    return any(field.kind in ("turn", "turns") or names_turns(field.fields) for field in shape.values())


def fields_asked(shape: Mapping[str, Field], context: ShapeContext) -> Shape:
    """The fields whose conditions hold."""
    return {
        name: field
        for name, field in shape.items()
        if field.when.holds(rounds=context.rounds, strictness=context.strictness, options=context.options)
        and (context.issues or not field.per_issue)
    }


def empty_value(field: Field) -> Any:
    """The value of a field that is not filled in: an empty list for lists, else null."""
    return [] if field.kind in ("choices", "turns", "list") and not (field.per_side or field.per_issue) else None


def beyond_limits(shape: Mapping[str, Field], value: Mapping[str, Any], where: str = "") -> list[str]:
    """What in a reply that passes `check` is longer or shorter than was asked for: the items of its lists, and the
    words of its texts. That alone makes no reply useless."""
    found: list[str] = []
    for name, field in shape.items():
        held, place = value.get(name), f"{where}{name}"
        if field.kind == "list" and isinstance(held, list):
            if not (field.least or 0) <= len(held) <= (field.most or MAX_ITEMS):
                found.append(f"{place}: it has {len(held)} items; write {_limits(field)}.")
            for n, item in enumerate(held if field.fields else (), start=1):
                found += beyond_limits(field.fields, item, f"{place}[{n}].")
        elif field.kind == "record" and isinstance(held, Mapping):
            found += beyond_limits(field.fields, held, f"{place}.")
        elif field.asked_words is not None and isinstance(held, str):
            words = count_words(held)
            if words > SPARE_TEXT_FACTOR * field.asked_words:
                found.append(f"{place}: it has {words} words; write at most {field.asked_words}.")
    return found


def _limits(field: Field) -> str:
    words = [("at least", field.least), ("at most", field.most)]
    return " and ".join(f"{word} {limit:g}" for word, limit in words if limit is not None)


def check(shape: Mapping[str, Field], value: Any, context: ShapeContext, where: str = "") -> list[str]:
    """The problems of `value` as a reply of this shape; empty if it fits. Each names its field by a path, in which the
    items of a list count from 1: `rows[1].claim`. After more than `MAX_LISTED` no more are looked for: a short reply
    of nested lists could have millions."""
    return _record(fields_asked(shape, context), value, context, where)


def _record(wanted: Mapping[str, Field], value: Any, context: ShapeContext, where: str) -> list[str]:
    """The problems of a value as an object of these fields."""
    if not isinstance(value, dict):
        return [_mismatch(where.rstrip(".") or "the reply", value, "a JSON object")]
    found = [
        f"{where}{name}: this field is missing; it must be {_expected(field, context)}{_or_nothing(field)}."
        for name, field in wanted.items()
        if name not in value
    ]
    fields, unknown = ", ".join(wanted), (short_repr(name) for name in value if name not in wanted)
    others = (f"{where}{name}: there is no such field; the fields are {fields}." for name in unknown)
    found += first_few(others, where.rstrip(".") or "the reply")
    for name, field in wanted.items():
        if len(found) > MAX_LISTED:
            break
        if name in value:
            found += _dependent(field, value, name, context, f"{where}{name}")
    return found


def _dependent(field: Field, record: Mapping[str, Any], name: str, context: ShapeContext, where: str) -> list[str]:
    value = record[name]
    empty_form = empty_value(field)
    empty = value == empty_form and type(value) is type(empty_form)
    if (field.optional or field.per_issue) and empty:
        return []
    if not field.only_if and not field.unless:
        return _value_problems(field, value, context, where)
    if applies(field, record):
        if empty and field.kind != "list":  # an empty list is a list, but choices and turns must name something
            return [_mismatch(where, value, f"{_expected(field, context)}, {_condition(field, 'since')}")]
        return _value_problems(field, value, context, where)
    if empty:
        return []
    barred = [f"{other} is {_word(bar)}" for other, bar in field.unless.items() if record.get(other) == bar]
    why = f"since {' and '.join(barred)}" if barred else _condition(field, "unless")
    return [f"{where}: {short_repr(value)} must be {json.dumps(empty_form)}, {why}."]


def applies(field: Field, record: Mapping[str, Any]) -> bool:
    """Whether a field must be filled in, given the values of its sibling fields."""
    wanted = all(record.get(other) == needed for other, needed in field.only_if.items())
    return wanted and not any(record.get(other) == barred for other, barred in field.unless.items())


def _condition(field: Field, word: Literal["if", "since", "unless"]) -> str:
    """The condition for a field, as in `if detected is true`."""
    wanted = [f"{other} is {_word(needed)}" for other, needed in field.only_if.items()]
    barred = [f"{other} is not {_word(value)}" for other, value in field.unless.items()]
    return f"{word} {' and '.join(wanted + barred)}"


def _word(value: bool | str) -> str:
    """A value as it is written in a reply."""
    return str(value).lower() if isinstance(value, bool) else value


def _or_nothing(field: Field) -> str:
    """The condition under which a field may be empty, and its value then, as the end of a sentence."""
    if field.only_if or field.unless:
        return f" {_condition(field, 'if')}, and {json.dumps(empty_value(field))} otherwise"
    return f", or {json.dumps(empty_value(field))}" if field.optional else ""


def _value_problems(field: Field, value: Any, context: ShapeContext, where: str, *, side: bool = True) -> list[str]:
    if side and (keys := field.keys(context)):
        return _each(keys, value, where, lambda item, at: _value_problems(field.single, item, context, at, side=False))
    if field.kind == "record":
        return check(field.fields, value, context, f"{where}.")
    if field.kind == "scores":
        return _each(context.sides, value, where, lambda item, at: _scores(item, context, at))
    if field.kind == "list":
        return _list(field, value, context, where)
    return [] if _fits(field, value, context) else [_mismatch(where, value, _expected(field, context))]


def _each(keys: Sequence[str], value: Any, where: str, check_one: Any) -> list[str]:
    if problems := _key_problems(keys, value, where):
        return problems
    return [problem for name in keys for problem in check_one(value[name], f"{where}.{name}")]


def _key_problems(keys: Sequence[str], value: Any, where: str) -> list[str]:
    """What keeps a value from being an object with these keys and no others."""
    if not isinstance(value, dict) or not set(value) & set(keys):
        return [_mismatch(where, value, f"an object with the keys {', '.join(keys)}")]
    missing = [key for key in keys if key not in value]
    others = [short_repr(key, 30) for key in value if key not in keys]
    problems = [f"{where}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing."] if missing else []
    return problems + [f"{where}: there is no such key as {key}; the keys are {', '.join(keys)}." for key in others[:3]]


def _scores(value: Any, context: ShapeContext, where: str) -> list[str]:
    problems = _key_problems(context.criteria, value, where)
    if problems:
        return problems
    for name in context.criteria:
        least, most = context.scale(name)
        field = Field(kind="number", least=least, most=most)
        problems += _value_problems(field, value[name], context, f"{where}.{name}")
    return problems


def _list(field: Field, value: Any, context: ShapeContext, where: str) -> list[str]:
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        return [_mismatch(where, value, f"a list of at most {MAX_ITEMS}")]
    if field.fields:
        wanted = fields_asked(field.fields, context)
        checked = (_record(wanted, item, context, f"{where}[{i}].") for i, item in enumerate(value, start=1))
    else:
        text = Field(kind="text")
        checked = (_value_problems(text, item, context, f"{where}[{i}]") for i, item in enumerate(value, start=1))
    found: list[str] = []
    for problems in checked:
        found += problems
        if len(found) > MAX_LISTED:
            break
    return found


def _fits(field: Field, value: Any, context: ShapeContext) -> bool:
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
            return isinstance(value, str) and value in (field.of or context.sides)
        case "choices":
            return _all_of(value, frozenset(field.of or context.sides))
        case "turn":
            return isinstance(value, str) and value in context.turn_ids
        case "turns":
            return _all_of(value, context.turn_ids)
    return False


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


def _expected(field: Field, context: ShapeContext) -> str:
    """What a field must hold, in words."""
    single = _expected_one(field, context)
    keys = field.keys(context)
    return f"an object with the keys {', '.join(keys)}, each {single}" if keys else single


def _expected_one(field: Field, context: ShapeContext) -> str:
    match field.kind:
        case "text" if field.words is not None:
            return f"text of at most {field.words} words"
        case "text":
            return f"text of 1 to {MAX_TEXT_LENGTH:,} characters"
        case "url":
            return "the address of a page, such as https://example.org/page"
        case "flag":
            return "true or false"
        case "number":
            kind = "a whole number" if field.whole else "a number"
            bounded = field.least is not None and field.most is not None
            return f"{kind} from {field.least:g} to {field.most:g}" if bounded else f"{kind} of at most {MAX_NUMBER:,}"
        case "choice":
            return "one of " + ", ".join(field.of or context.sides)
        case "choices":
            return "a list of any of " + ", ".join(field.of or context.sides)
        case "turn":
            return "the id of a turn in the transcript, such as " + ", ".join(context.turns[:2])
        case "turns":
            return "a list of turn ids from the transcript, such as " + ", ".join(context.turns[:2])
        case "list":
            return "a list"
        case "scores":
            sides, criteria = (", ".join(names) for names in (context.sides, context.criteria))
            return f"an object with the keys {sides}, each an object with the keys {criteria}"
    return "an object"


def _mismatch(where: str, value: Any, expected: str) -> str:
    """The problem of a value that is not what it must be."""
    return f"{where}: {_kind(value)} is not {expected}."


def _kind(value: Any) -> str:
    """A value, for a message; an object by its keys."""
    if isinstance(value, dict):
        keys = ", ".join(short_repr(key, 30) for key in list(value)[:6])
        return f"an object with the keys {keys}" if keys else "an empty object"
    return "null" if value is None else short_repr(value)
