"""A shape as a form: one question after the other, from what was entered so far, and what it all amounts to.

What is entered is kept as it was typed, by the place of its field, and read anew each time: an answer that is changed
changes which fields are asked for, and nothing that was entered is lost by that. Nothing is guessed and nothing has a
default: what will do is what `shapes.check` lets pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple

from debate_orchestrator.core import transcript
from debate_orchestrator.core.schema import (
    MOST_ITEMS,
    Field,
    Shape,
    ShapeContext,
    applies,
    check,
    empty_value,
    fields_asked,
)
from debate_orchestrator.util.errors import BadReply, short_repr
from debate_orchestrator.util.terminal_text import chosen

Place = tuple[str, ...]
Entered = Mapping[Place, str]

GATE = "?"
"""Ends the place of a question that the shape does not have: whether there is anything, or one more, to be said."""
_ALONE = ("text", "url", "number", "choice", "turn")
"""Kinds of a first field whose emptiness ends a list of records."""
_MISSING: Any = object()
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?", re.ASCII)
_YES, _NO = ("yes", "y", "true"), ("no", "n", "false")


class Step(NamedTuple):
    """One question of a form."""

    place: Place
    field: Field
    """What is asked for, alone: of one side, and whatever else was entered."""
    about: str
    may_be_empty: bool
    """Whether nothing at all is an answer."""
    ends: bool = False
    """Whether that ends a list."""

    def options(self, terms: ShapeContext) -> tuple[str, ...]:
        """What may be chosen."""
        match self.field.kind:
            case "choice" | "choices":
                return self.field.of or terms.sides
            case "turn" | "turns":
                return terms.turns
            case "flag":
                return ("yes", "no")
        return ()

    @property
    def short(self) -> bool:
        """Whether an answer is a word, and so quicker written anew than edited."""
        return self.field.kind in ("number", "flag", "choice", "turn") and not self.may_be_empty


Filled = Generator[Step, None, Any]
"""Yields the questions, and returns the value that the answers amount to, or `_MISSING` where one is still missing."""


def steps(shape: Shape, terms: ShapeContext, entered: Entered) -> list[Step]:
    """The questions of a form, as far as they are known from what was entered."""
    return list(_record(shape, terms, entered, ()))


def value(shape: Shape, terms: ShapeContext, entered: Entered) -> dict[str, Any] | None:
    """What was entered as a structured reply; None while something is missing."""
    made = _returned(_record(shape, terms, entered, ()))
    return None if made is _MISSING else made


def read(step: Step, terms: ShapeContext, text: str) -> Any:
    """What an answer means. BadReply, with what is expected, where it will not do."""
    text = text.strip()
    if not text and step.may_be_empty:
        return empty_value(step.field)
    if step.ends and step.field.kind == "text" and text.lower() in (*_YES, *_NO):
        raise BadReply([f"got {short_repr(text)}; expected one item of the list. Enter alone ends the list."])
    made = _meant(step, terms, text)
    if step.field.kind == "flag" and isinstance(made, str):
        raise BadReply([f"got {short_repr(text)}; expected yes or no." if text else "Answer yes or no."])
    alone = step.field.model_copy(update={"optional": False})
    if made is not _MISSING and not (wrong := check({"it": alone}, {"it": made}, terms)):
        return made
    wrong = check({"it": alone}, {"it": text if made is _MISSING else made}, terms)
    raise BadReply([one.removeprefix("it: ") for one in wrong] or [_choose(step, terms)])


def _choose(step: Step, terms: ShapeContext) -> str:
    return f"got nothing that was offered; expected one of {', '.join(step.options(terms))}."


def _meant(step: Step, terms: ShapeContext, text: str) -> Any:
    """The value that a text stands for; _MISSING where it stands for none of those that may be chosen."""
    match step.field.kind:
        case "number":
            if not _NUMBER.fullmatch(text):
                return text
            return float(text) if "." in text else int(text)
        case "flag":
            return True if text.lower() in _YES else False if text.lower() in _NO else text
        case "choice" | "turn":
            found = chosen(step.options(terms), text)
            return _MISSING if found is None else found
        case "choices" | "turns":
            return _options(step.options(terms), text)
    return text


def _options(options: tuple[str, ...], text: str) -> Any:
    """The options that are listed with commas between them, or by number; each once."""
    if (one := chosen(options, text)) is not None:
        return [one]
    said = [part.strip() for part in text.split(",")]
    said = [word for part in said for word in (part.split() if re.fullmatch(r"[\d\s]+", part) else [part]) if word]
    found = [chosen(options, one) for one in said]
    return _MISSING if not found or None in found else list(dict.fromkeys(found))


# Shape by shape


def _record(shape: Shape, terms: ShapeContext, entered: Entered, place: Place, first: Step | None = None) -> Filled:
    """The fields of a record; of an item of a list, its `first` question is given."""
    made: dict[str, Any] = {}
    wanted = fields_asked(shape, terms)
    beside = _Beside(wanted, terms, entered, place)
    whole = True
    for name, field in wanted.items():
        conditional = bool(field.only_if or field.unless)
        if first is not None and first.place == (*place, name):
            made[name] = yield from _leaf(first, terms, entered)
            whole = whole and made[name] is not _MISSING
            continue
        if conditional and not beside.applies(field):
            made[name] = empty_value(field)
            whole = whole and beside.settled(field)
            continue
        must = conditional and not field.optional
        made[name] = yield from _field(field, terms, entered, (*place, name), must=must)
        whole = whole and made[name] is not _MISSING
    return made if whole else _MISSING


def _field(field: Field, terms: ShapeContext, entered: Entered, place: Place, *, must: bool) -> Filled:
    """A field that is to be filled in; `must` says that an empty list of choices will not do."""
    keys = field.keys(terms)
    compound = bool(keys) or field.kind in ("record", "scores")
    if field.optional and compound:
        there = yield from _leaf(Step((*place, GATE), Field(kind="flag"), field.about, False), terms, entered)
        if there is not True:
            return None if there is False else _MISSING
    if not keys:
        return (yield from _one(field, terms, entered, place, must=must))
    made = {}
    for key in keys:
        one = field.single.model_copy(update={"optional": False})
        made[key] = yield from _one(one, terms, entered, (*place, key), must=False)
    return _whole(made)


def _one(field: Field, terms: ShapeContext, entered: Entered, place: Place, *, must: bool) -> Filled:
    """A field for one side, or for none."""
    match field.kind:
        case "record":
            return (yield from _record(field.fields, terms, entered, place))
        case "list":
            return (yield from _list(field, terms, entered, place))
        case "scores":
            made = {}
            for side in terms.sides:
                marks = {}
                for name in terms.criteria:
                    least, most = terms.scale(name)
                    mark = Field(kind="number", least=least, most=most)
                    marks[name] = yield from _leaf(Step((*place, side, name), mark, field.about, False), terms, entered)
                made[side] = _whole(marks)
            return _whole(made)
    bare = field.model_copy(update={"only_if": {}, "unless": {}})
    empty = field.optional or (field.kind == "choices" and not must)
    return (yield from _leaf(Step(place, bare, field.about, empty), terms, entered))


def _list(field: Field, terms: ShapeContext, entered: Entered, place: Place) -> Filled:
    """Item after item, until one is empty, or the first field of one is; of records that may well begin with
    nothing, until no further one is wanted."""
    made: list[Any] = []
    while len(made) < MOST_ITEMS:
        here = (*place, str(len(made) + 1))
        if field.fields and (first := _first(field, terms, here)) is not None:
            begun = _returned(_leaf(first, terms, entered))
            if begun is None or begun is _MISSING:
                yield first
                return made if begun is None else _MISSING
            made.append((yield from _record(field.fields, terms, entered, here, first)))
            if made[-1] is _MISSING:
                return _MISSING
            continue
        if field.fields:
            another = yield from _leaf(Step((*here, GATE), Field(kind="flag"), field.about, False), terms, entered)
            if another is not True:
                return made if another is False else _MISSING
            made.append((yield from _record(field.fields, terms, entered, here)))
            if made[-1] is _MISSING:
                return _MISSING
            continue
        item = yield from _leaf(Step(here, Field(kind="text", optional=True), field.about, True, True), terms, entered)
        if item is None or item is _MISSING:
            return made if item is None else _MISSING
        made.append(item)
    return made


def _first(field: Field, terms: ShapeContext, here: Place) -> Step | None:
    """The question that begins an item of a list of records and, left empty, ends the list; None where nothing may
    be an answer to it."""
    name, one = next(iter(fields_asked(field.fields, terms).items()), ("", None))
    if one is None or one.kind not in _ALONE or one.optional or one.per_side or one.only_if or one.unless:
        return None
    about = "; ".join(part for part in (field.about, one.about) if part)
    return Step((*here, name), one, about, True, True)


def _leaf(step: Step, terms: ShapeContext, entered: Entered) -> Filled:
    yield step
    if step.place not in entered:
        return _MISSING
    try:
        return read(step, terms, entered[step.place])
    except BadReply:
        return _MISSING


def _whole(made: dict[str, Any]) -> Any:
    return _MISSING if _MISSING in made.values() else made


def _returned(made: Filled) -> Any:
    """What a generator returns, whatever it yields."""
    while True:
        try:
            next(made)
        except StopIteration as end:
            return end.value


class _Beside:
    """The values of the fields of one record on which others depend."""

    def __init__(self, wanted: Shape, terms: ShapeContext, entered: Entered, place: Place):
        self._wanted, self._terms, self._entered, self._place = wanted, terms, entered, place
        self._known: dict[str, Any] = {}

    def applies(self, field: Field) -> bool:
        """Whether a field is to be filled in, by what was entered beside it so far."""
        return applies(field, {name: self._value(name) for name in (*field.only_if, *field.unless)})

    def settled(self, field: Field) -> bool:
        """Whether all that this depends on is known."""
        return all(self._value(name) is not _MISSING for name in (*field.only_if, *field.unless))

    def _value(self, name: str) -> Any:
        if name not in self._wanted:
            return None
        if name not in self._known:
            field = self._wanted[name]
            self._known[name] = None  # so that fields that depend on each other come to an end
            if (field.only_if or field.unless) and not self.applies(field):
                self._known[name] = empty_value(field)
            else:
                must = bool(field.only_if or field.unless) and not field.optional
                made = _field(field, self._terms, self._entered, (*self._place, name), must=must)
                self._known[name] = _returned(made)
        return self._known[name]


# For people


def label(place: Place, name: Callable[[str], str]) -> str:
    """A place as people read it: `Strongest: Researcher A`. `name` tells what a side or a criterion is called."""
    parts = [part for part in place if part != GATE]
    return ": ".join(part if part.isdigit() else name(part) for part in parts)


def titled(part: str) -> str:
    """The name of a field, where it is neither a side nor a criterion."""
    return transcript.title(part)
