"""Reads the values of a structured reply as they are meant: `7/10` as 7, `Researcher A` as the side a.

Only what has one meaning is changed. What is missing stays missing, and an unknown key stays: the check of the reply
finds both. So it does with a winner or a score that is unknown or out of range.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from debate_orchestrator.core.shape import (
    MAX_ITEMS,
    Field,
    OnceForEach,
    Shape,
    ShapeContext,
    applies,
    empty_value,
    fields_asked,
    present_fields,
)
from debate_orchestrator.prompting.reply_code import CODE, ReplyCode, coded_shape, phrase, text_behind
from debate_orchestrator.util.data import strict_json
from debate_orchestrator.util.errors import listed, short_repr, with_hint

MAX_CHANGES = 40
"""Changes that are told one by one."""
_SYNONYMS = {"tie": ("draw", "a tie", "a draw", "tied"), "no decision": ("undecided",), "both": ("both sides",)}
"""Option of a choice to what it is called otherwise."""
_SEVERAL = re.compile(r"""["“”,]""")
_NUMBER = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?)\s*(?:(?:/|out of)\s*(\d{1,9}(?:\.\d{1,9})?)|(%)|points?)?", re.IGNORECASE
)
_WRAPPERS = frozenset(
    {
        "answer",
        "ballot",
        "json",
        "output",
        "reply",
        "response",
        "result",
        "verdict",
        "final",
        "my",
        "the",
        "your",
        "judge",
        "judges",
        "round",
        "debate",
    }
)
"""Words of the key of an object around a reply."""
_UNCLEAR = re.compile(r'["{}\[\]]|[?~]|!\w')
"""In an option: two values that a repair may have joined, a doubt, a negation."""
_FLAGS = {"yes": True, "true": True, "no": False, "false": False}
_MAX_PLACES = 4
"""Places without a code that a problem names."""
_NOTHING = frozenset({"", "none", "null", "n a"})
_NO_OPTION = _NOTHING | {"nobody", "no one", "neither", "neither side", "no"}


class NormalizedReply(NamedTuple):
    """A structured reply in the form that its shape asks for."""

    value: Any
    """Every value that can mean only one thing is in that form; the others are as they were written."""
    changes: list[str]
    """What was changed, a short line each."""
    problems: list[str]
    """What in the reply may not be its writer's: places without the code, and fields out of order."""
    unknown: list[str]
    """Keys that the shape does not have."""


def normalize(
    shape: Mapping[str, Field],
    value: Any,
    shape_context: ShapeContext,
    sides: Mapping[str, frozenset[str]],
    code: ReplyCode | None = None,
) -> NormalizedReply:
    """A reply of this shape, normalized. `sides` are the `side_phrases` of each side. Where a `code` is given, it
    has to stand in all its places and in no other, and the fields in the order of the shape. `value` itself is left as
    it is."""
    normalizer = _Normalizer(shape_context, sides, code)
    record = normalizer.record(shape if code is None else coded_shape(shape, shape_context, code), value, "")
    normalizer.problems[:0] = _one_problem(normalizer.uncoded, normalizer.missing_codes, code)
    if code is not None and not normalizer.problems and code.count_in(value) != normalizer.codes:
        problem = "the code of the turn stands within a text or out of its places."
        normalizer.problems.append(with_hint(problem, "write it in its places alone"))
    more = normalizer.changed - len(normalizer.changes)
    changes = [*normalizer.changes, *([f"and {more} more changes"] if more else [])]
    return NormalizedReply(record, changes, normalizer.problems, normalizer.unknown)


def _one_problem(uncoded: Mapping[str, str], missing: int, code: ReplyCode | None) -> list[str]:
    """The places without their code, in a single sentence however many are `missing`; `uncoded` are the first."""
    if code is None or not uncoded:
        return []
    first, hint = next(iter(uncoded.items()))
    if missing == 1:
        return [with_hint(f"{first}: the code of the turn is missing here.", hint)]
    hint = f'write "{code.text}" in each, as the keys at the end of the brief show it'
    places = listed(uncoded, most=_MAX_PLACES, count=missing)
    return [with_hint(f"the code of the turn is missing in {missing} places: {places}.", hint)]


def unwrapped(value: Any, names: Iterable[str], called: Iterable[str] = ()) -> tuple[Any, list[str]]:
    """The object in an object whose only key is a plain name for a reply, or one of the names that it is `called`, with
    a note on that; any other value as it is. Other keys may say that their value is not the reply."""
    if not isinstance(value, dict) or len(value) != 1 or set(value) & set(names):
        return value, []
    ((outer, inner),) = value.items()
    plain = _WRAPPERS | {word for name in called for word in phrase(name).split()}
    words = [word for word in phrase(outer).split() if not word.isdigit()]
    if not isinstance(inner, dict) or not words or not plain.issuperset(words):
        return value, []
    return inner, [f"{short_repr(outer)}: taken for a wrapper around the reply"]


class _Names(NamedTuple):
    """The keys that an object may have."""

    known: frozenset[str]
    meant: Mapping[str, str]
    """Phrases to the key that they mean."""


class _Wanted(NamedTuple):
    """What is looked up in each record of a shape."""

    fields: Shape
    """Those that are asked for."""
    names: _Names
    coded: Mapping[str, Field]
    """The fields that hold the code."""
    places: dict[str, str]
    """Field to where it is to be written."""
    quotable: bool
    """Whether a text in its place may be a quotation: it has free words and no code."""


class _Options(NamedTuple):
    """What may be chosen."""

    known: frozenset[str]
    meant: Mapping[str, str]
    """Phrases to the only option that they mean."""


class _Normalizer:
    """Normalizes one reply, and keeps the changes, problems and unknown keys so far."""

    def __init__(self, shape_context: ShapeContext, sides: Mapping[str, frozenset[str]], code: ReplyCode | None):
        self.shape_context, self.sides, self.code = shape_context, sides, code
        self.changes: list[str] = []
        """The first of the changes, a line each."""
        self.changed = 0
        """How many changes there are."""
        self.problems: list[str] = []
        self.uncoded: dict[str, str] = {}
        """The first places without their code, with what to write there."""
        self.missing_codes = 0
        """How many places are without their code."""
        self.codes = 0
        """The places in which the code was found so far."""
        self.unknown: list[str] = []
        self._wanted = OnceForEach(self._wanted_of)
        self._names = OnceForEach(self._names_of)
        self._options = OnceForEach(self._options_of)

    def _wanted_of(self, shape: Mapping[str, Field]) -> _Wanted:
        """What is looked up in the records of a shape."""
        fields = fields_asked(shape, self.shape_context)
        names = tuple(fields)
        coded = {name: field for name, field in fields.items() if field is CODE}
        places = dict.fromkeys(names[:1], "first")
        places |= {name: f"right behind {before}" for before, name in pairwise(names)}
        quotable = self.code is not None and not coded and any(map(_is_worded, fields.values()))
        return _Wanted(fields, self._names_of(names), coded, places, quotable)

    def _names_of(self, names: tuple[str, ...]) -> _Names:
        """What is looked up of an object with these keys."""
        meant = {phrase(name): name for name in names}
        meant |= {text: side for side in self.sides if side in names for text in self.sides[side]}
        return _Names(frozenset(names), meant)

    def _options_of(self, options: tuple[str, ...]) -> _Options:
        """What is looked up of a choice among these."""
        meant = dict[str, set[str]]()
        for option in options:
            for words in (phrase(option), *_SYNONYMS.get(option, ()), *self.sides.get(option, ())):
                meant.setdefault(words, set()).add(option)
        return _Options(frozenset(options), {words: only for words, (only, *more) in meant.items() if not more})

    def note(self, where: str, what: str, *values: Any) -> None:
        """Counts a change, and words it if it is one of the first; `what` has braces for the values."""
        self.changed += 1
        if len(self.changes) < MAX_CHANGES:
            self.changes.append(f"{where or 'the reply'}: {what.format(*map(_shown, values))}")

    def record(self, shape: Mapping[str, Field], value: Any, where: str) -> Any:
        """A record with its fields by their names, and empty where they must be."""
        wanted = self._wanted(shape)
        value = self._decoded(value, dict, where.rstrip("."), quotable=wanted.quotable)
        if not isinstance(value, dict):
            return value
        fields, keyed = wanted.fields, self._keyed(value, wanted.names)
        if self.code is not None:
            keyed = self._without_codes(wanted, self.code, keyed, where)
        held = present_fields(fields, keyed)
        for name in held:
            keyed[name] = self._field(fields[name], keyed[name], f"{where}{name}")
        for name in held:
            if not applies(fields[name], keyed) and not _is_nested(keyed[name]):
                keyed[name] = self._changed(
                    f"{where}{name}", keyed[name], empty_value(fields[name]), ", since it must be empty"
                )
        return keyed

    def _without_codes(self, wanted: _Wanted, code: ReplyCode, keyed: Mapping[str, Any], where: str) -> dict[str, Any]:
        """A record without its codes; those that are missing are noted, with a problem for the first field that is
        not in its place."""
        fields, places = wanted.fields, wanted.places
        found = sum(code.is_text(keyed[name]) for name in wanted.coded.keys() & keyed.keys())
        self.codes += found
        self.missing_codes += len(wanted.coded) - found
        if found < len(wanted.coded) and len(self.uncoded) < _MAX_PLACES:
            for name in wanted.coded:
                if not code.is_text(keyed.get(name)):
                    self.uncoded[f"{where}{name}"] = f'write "{name}": "{code.text}" {places[name]}'
        in_order, written = present_fields(fields, keyed), [name for name in keyed if name in fields]
        if moved := next((name for name, other in zip(written, in_order, strict=True) if name != other), None):
            self.problems.append(f"{where}{moved}: it is out of place; write it {places[moved]}.")
        return {name: item for name, item in keyed.items() if fields.get(name) is not CODE}

    def _keyed(self, value: Mapping[str, Any], names: _Names) -> dict[str, Any]:
        """A mapping with the keys that are meant. A key that is there twice, or that is unknown, stays, to be
        reported."""
        meant = {key: key if key in names.known else names.meant.get(phrase(str(key))) for key in value}
        times = Counter(meant.values())
        keyed: dict[str, Any] = {}
        for key, item in value.items():
            name = meant[key]
            if name is None or times[name] > 1:
                keyed[key] = item
                self.unknown.append(key)
            else:
                keyed[name] = item
        return keyed

    def _field(self, field: Field, value: Any, where: str) -> Any:
        if field.optional and _means_nothing(field, value):
            return self._changed(where, value, empty_value(field))
        keys = field.keys(self.shape_context)
        if value is None and not keys and field.kind in ("list", "choices", "turns"):
            return self._changed(where, value, [])
        if keys:
            quotable = self.code is not None and not field.fields and _is_worded(field)
            value = self._decoded(value, dict, where, quotable=quotable)
            return self._each(keys, value, where, lambda item, at: self._single(field, item, at))
        return self._single(field, value, where)

    def _each(self, keys: tuple[str, ...], value: Any, where: str, read: Callable[[Any, str], Any]) -> Any:
        """A value for each key."""
        if not isinstance(value, dict):
            return value
        names = self._names(keys)
        keyed = self._keyed(value, names)
        return {key: read(item, f"{where}.{key}") if key in names.known else item for key, item in keyed.items()}

    def _single(self, field: Field, value: Any, where: str) -> Any:
        match field.kind:
            case "record":
                return self.record(field.fields, value, f"{where}.")
            case "scores":
                return self._each(self.shape_context.sides, self._decoded(value, dict, where), where, self._points)
            case "list" | "choices" | "turns":
                return self._list(field, value, where)
        read = self._scalar(field, value)
        return value if read is None else self._changed(where, value, read)

    def _scalar(self, field: Field, value: Any) -> Any:
        """What a single value means; None if it has no other meaning than its own."""
        match field.kind:
            case "flag" if isinstance(value, str):
                return _FLAGS.get(phrase(value))
            case "number":
                return _number(value, field.least, field.most, whole=field.whole)
            case "choice":
                return self._option(field, value[0] if isinstance(value, list) and len(value) == 1 else value)
            case "turn":
                return self._turn(value)
            case "text" if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
                return value[0]
            case "url" if isinstance(value, str):
                return value.strip().removeprefix("<").removesuffix(">")
        return None

    def _points(self, value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            return value
        points = self._keyed(value, self._names(self.shape_context.criteria))
        for name in self.shape_context.criteria if points else ():
            if name in points and (read := _number(points[name], *self.shape_context.scale(name))) is not None:
                points[name] = self._changed(f"{where}.{name}", points[name], read)
        return points

    def _list(self, field: Field, value: Any, where: str) -> Any:
        value = self._decoded(value, list, where)
        if isinstance(value, str if field.kind != "list" or not field.fields else dict):
            value = self._changed(where, value, [value])
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            return value
        if field.kind == "turns":
            return self._turns(value, where)
        if field.kind == "choices":
            read = [self._option(field, item) or item for item in value]
            return value if read == value else self._changed(where, value, read)
        return [self._item(field, item, f"{where}[{i}]") for i, item in enumerate(value, start=1)]

    def _item(self, field: Field, item: Any, where: str) -> Any:
        """A record or a text of a list, without the code that it has to begin with."""
        if field.fields:
            return self.record(field.fields, item, f"{where}.")
        if self.code is None or not isinstance(item, str):
            return item
        if (text := text_behind(item, self.code)) is None:
            self.missing_codes += 1
            if len(self.uncoded) < _MAX_PLACES:
                self.uncoded[where] = f'begin it with "{self.code.text} ", as every item of the list'
            return item
        self.codes += 1
        return text

    def _turns(self, value: list[Any], where: str) -> list[Any]:
        """The turns of the transcript that a list names; a text that is none is dropped."""
        if not all(isinstance(item, str) for item in value):
            return value
        read = [self._turn(item) for item in value]
        dropped = [item for item, turn in zip(value, read, strict=True) if turn is None]
        if any(_SEVERAL.search(item) for item in dropped):  # a comma between two of them is missing
            return value
        for item in dropped:
            self.note(where, "{} dropped, since there is no such turn", item)
        return [turn for turn in read if turn is not None]

    def _turn(self, value: Any) -> str | None:
        turn_id = value.strip(" `'\"[]().").casefold() if isinstance(value, str) else ""
        return turn_id if turn_id in self.shape_context.turn_ids else None

    def _option(self, field: Field, value: Any) -> str | None:
        """The option that a value can only mean."""
        if not isinstance(value, str):
            return None
        options = self._options(field.of or self.shape_context.sides)
        if value in options.known:
            return value
        if _UNCLEAR.search(value):
            return None
        words = phrase(value).removeprefix("winner ").removeprefix("the ")
        words = re.sub(r" (?:wins|won|is the winner)$", "", words)
        return options.meant.get(words)

    def _decoded(self, value: Any, kind: type, where: str, *, quotable: bool = False) -> Any:
        """A record or list that may have been written as JSON in a text. One that is `quotable` stays a text: it may be
        a speech that the writer quotes, whose words would be taken for the writer's own."""
        if quotable or not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
            return value
        try:
            read = strict_json(value)
        except ValueError:
            return value
        return self._changed(where, value, read) if isinstance(read, kind) else value

    def _changed(self, where: str, old: Any, new: Any, why: str = "") -> Any:
        if type(old) is not type(new) or old != new:
            self.note(where, f"{{}} read as {{}}{why}", old, new)
        return new


def _is_worded(field: Field) -> bool:
    """Whether a field has free words in it, besides those of lists, in which each item has the code."""
    return field.kind in ("text", "url") or (field.kind == "record" and any(map(_is_worded, field.fields.values())))


def _is_nested(value: Any) -> bool:
    """Whether a value is an object, or a list with one."""
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_is_nested, value)))


def _means_nothing(field: Field, value: Any) -> bool:
    """Whether an optional field is left empty in words, such as `none`."""
    if field.kind == "choice":
        return value is False or (isinstance(value, str) and phrase(value) in _NO_OPTION and value not in field.of)
    return isinstance(value, str) and phrase(value) in _NOTHING


def _shown(value: Any) -> str:
    """A value of a reply for a message."""
    return "null" if value is None else short_repr(value)


def _number(value: Any, minimum: float | None, maximum: float | None, *, whole: bool = False) -> float | None:
    """The number that a value means: `7`, `7.0`, `7/10` where 10 is the most, `70%` where the scale is 0 to 1."""
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value.strip())
        if found is None or (found[2] and float(found[2]) != maximum) or (found[3] and (minimum, maximum) != (0, 1)):
            return None
        value = float(found[1]) / (100 if found[3] else 1)
        value = int(value) if value.is_integer() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if whole and isinstance(value, float) and value.is_integer() else value
