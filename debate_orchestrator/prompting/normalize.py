"""Reads the values of a structured reply as they are meant: `7/10` as 7, `Researcher A` as the side a.

Only what has one meaning is changed. A winner or a score that is missing, unknown or out of range stays as it is, and
the check of the reply finds it. So does an unknown key with another value for a field that counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from debate_orchestrator.core.schema import (
    MOST_ITEMS,
    Field,
    ShapeContext,
    applies,
    check,
    empty_value,
    fields_asked,
)
from debate_orchestrator.util.data import strict_json
from debate_orchestrator.util.errors import short_repr

MOST_CHANGES = 40
"""Changes that are told one by one."""
_NUMBER = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?)\s*(?:(?:/|out of)\s*(\d{1,9}(?:\.\d{1,9})?)|(%)|points?)?", re.IGNORECASE
)
_PLAIN_KEY = re.compile(r"[\w .()/-]{1,80}")
COUNTED = frozenset({"flag", "number", "choice", "record", "scores"})
"""Kinds of fields that may decide something; the others are words to be read."""
_WORDS = frozenset({"text", "url"})
"""Kinds of fields that decide nothing."""
_AROUND = frozenset({"score", "value", "points"})
"""The key of a number that stands in an object of its own."""
_MAXIMUM = frozenset({"max", "maximum", "max score", "out of", "of", "scale"})
_REASONS = frozenset({"why", "reason", "reasons", "reasoning", "justification", "rationale", "explanation", "comment"})
"""Keys that may stand beside such a number."""
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
_NOTHING = frozenset({"", "none", "null", "n a"})
_NO_OPTION = _NOTHING | {"nobody", "no one", "neither", "neither side", "no"}
SYNONYMS = {"tie": ("draw", "a tie", "a draw", "tied"), "no decision": ("undecided",), "both": ("both sides",)}
"""Option of a choice to what it is called otherwise."""
_CALLED = ("side", "researcher", "debater", "speaker", "participant", "position", "team", "seat")
"""What a side's letter may follow."""


def phrase(text: str) -> str:
    """A text as a lower-case phrase: without punctuation, with single spaces."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def side_phrases(side: str, name: str, label: str, position: str) -> frozenset[str]:
    """The phrases that can only mean one side: its key, its name, what it stands for (`Pro`) and its position."""
    names = {side, name, *(f"{called} {side}" for called in _CALLED)}
    if label:
        names |= {label, f"{label} side", *(f"{text} {label}" for text in (side, name)), f"{label} {name}"}
    return frozenset(filter(None, map(phrase, (*names, position))))


def normalize(
    shape: Mapping[str, Field],
    value: Any,
    terms: ShapeContext,
    sides: Mapping[str, frozenset[str]],
    *,
    whole: bool = False,
    closed: bool = False,
    quoted: Collection[str] = (),
) -> tuple[Any, list[str]]:
    """A reply of this shape with every value that has one meaning in the form that the shape asks for, and what was
    changed, a short line each. `sides` are the `side_phrases` of each side. `value` itself is left as it is.

    Of a `whole` reply every field that may decide something must be written, if only as null: so a key that comes from
    a quotation stands twice. Its unknown keys stay, to be complained about, since a quotation may have brought them in;
    but a text beside its fields is dropped, unless its key names a field or is `quoted`, as a phrase. In a `closed` one
    all unknown keys stay.
    """
    reading = _Reading(terms, sides, whole=whole, closed=closed, quoted=quoted)
    reading.known = shape.keys()
    record = reading.record(shape, value, "")
    more = len(reading.changes) - MOST_CHANGES
    return record, [*reading.changes[:MOST_CHANGES], *([f"and {more} more changes"] if more > 0 else [])]


def unwrapped(value: Any, names: Iterable[str], called: Iterable[str] = ()) -> tuple[Any, list[str]]:
    """What an object around a reply holds, with a note, if its only key is a plain name for a reply or one that it is
    `called`; any other value as it is. Other keys may say that what they hold is not the reply."""
    if not isinstance(value, dict) or len(value) != 1 or set(value) & set(names):
        return value, []
    ((outer, inner),) = value.items()
    plain = _WRAPPERS | {word for name in called for word in phrase(name).split()}
    words = [word for word in phrase(outer).split() if not word.isdigit()]
    if not isinstance(inner, dict) or not words or not plain.issuperset(words):
        return value, []
    return inner, [f"{short_repr(outer)}: taken for a wrapper around the reply"]


class _Reading:
    """The reading of one reply, with the changes so far."""

    def __init__(
        self,
        terms: ShapeContext,
        sides: Mapping[str, frozenset[str]],
        *,
        whole: bool = False,
        closed: bool = False,
        quoted: Collection[str] = (),
    ):
        self.terms, self.sides, self.whole, self.closed, self.quoted = terms, sides, whole, closed, quoted
        self.known: Collection[str] = ()
        """The names of the reply's own fields."""
        self.changes: list[str] = []

    def note(self, where: str, what: str) -> None:
        self.changes.append(f"{where}: {what}")

    def record(self, shape: Mapping[str, Field], value: Any, where: str) -> Any:
        """A record with its fields by their names, without any others, and empty where they must be."""
        value = self._decoded(value, dict, where.rstrip("."))
        if not isinstance(value, dict):
            return value
        fields = fields_asked(shape, self.terms)
        keyed, unknown = self._keyed(value, fields)
        for name, field in fields.items():
            if name in keyed:
                keyed[name] = self._field(field, keyed[name], f"{where}{name}")
        keyed |= self._kept(unknown, where, lambda key, item: self._contradicts(fields, key, item, keyed))
        for name, field in fields.items():
            conditional = bool(field.only_if or field.unless)
            left_out = field.optional and name not in keyed and not (self.whole and field.kind not in _WORDS)
            idle = not applies(field, keyed) if conditional else left_out
            vacant = empty_value(field)
            if idle and (name not in keyed or keyed[name] != vacant):
                found = f"{_shown(keyed[name])} read" if name in keyed else "missing, taken"
                self.note(f"{where}{name}", f"{found} as {_shown(vacant)}{', since it must be empty' * conditional}")
                keyed[name] = vacant
        return keyed

    def _keyed(self, value: Mapping[str, Any], names: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """A mapping with the keys that are meant, and what stands under unknown ones. A key that is there twice, or
        that no model would name a field, stays, to be complained about."""
        known = {phrase(name): name for name in names}
        known |= {text: side for side in self.sides if side in names for text in self.sides[side]}
        meant = {key: key if key in known.values() else known.get(phrase(str(key))) for key in value}
        times = Counter(meant.values())
        found: dict[str, Any] = {}
        unknown: dict[str, Any] = {}
        for key, item in value.items():
            name = meant[key]
            if name is None and _PLAIN_KEY.fullmatch(key):
                unknown[key] = item
            elif name is None or times[name] > 1:
                found[key] = item
            else:
                found[name] = item
        return found, unknown

    def _kept(self, unknown: Mapping[str, Any], where: str, contradicts: Callable[[str, Any], bool]) -> dict[str, Any]:
        """What stands under unknown keys and may not be dropped, to be complained about."""
        kept = {
            key: item
            for key, item in unknown.items()
            if self.closed or (self.whole and not self._is_harmless(key, item, where)) or contradicts(key, item)
        }
        for key in unknown:
            if key not in kept:
                self.note(f"{where}{short_repr(key, 40)}", "dropped, since there is no such field")
        return kept

    def _is_harmless(self, key: str, value: Any, where: str) -> bool:
        """Whether an unknown key is a remark of the writer's: a text beside the fields of the reply, under a name that
        is none of theirs."""
        named = any(_names(key, name) for name in self.known)
        return not where and isinstance(value, str) and not named and phrase(key) not in self.quoted

    def _contradicts(self, fields: Mapping[str, Field], key: str, item: Any, standing: Mapping[str, Any]) -> bool:
        """Whether an unknown key names a field that counts, and has its only value or another one than `standing`,
        the fields as they were read. An explanation under such a key is neither."""
        for name, field in fields.items():
            if field.kind not in COUNTED or not _names(key, name):
                continue
            inner = standing.get(name)
            if field.kind == "record" and isinstance(inner, dict) and not isinstance(item, dict):
                if self._contradicts(fields_asked(field.fields, self.terms), key, item, inner):
                    return True
                continue
            read = _Reading(self.terms, self.sides)._field(field, item, "")
            if name not in standing and read != empty_value(field):
                return True
            free = field.model_copy(update={"only_if": {}, "unless": {}})
            if name in standing and read != inner and not check({name: free}, {name: read}, self.terms):
                return True
        return False

    def _field(self, field: Field, value: Any, where: str) -> Any:
        if field.optional and _means_nothing(field, value):
            return self._changed(where, value, empty_value(field))
        keys = field.keys(self.terms)
        if value is None and not keys and field.kind in ("list", "choices", "turns"):
            return self._changed(where, value, [])
        if keys:
            return self._each(keys, value, where, lambda item, at: self._single(field, item, at))
        return self._single(field, value, where)

    def _each(self, keys: Sequence[str], value: Any, where: str, read: Callable[[Any, str], Any]) -> Any:
        """A value for each key. Marks under an unknown key that names a side stay, if they differ from its own."""
        value = self._decoded(value, dict, where)
        if not isinstance(value, dict):
            return value
        keyed, unknown = self._keyed(value, keys)
        values = {key: read(item, f"{where}.{key}") for key, item in keyed.items()}

        def contradicts(key: str, item: Any) -> bool:
            sides = [side for side in keys if any(_names(key, name) for name in self.sides.get(side, ()))]
            return isinstance(item, dict) and any(
                self._is_other_mark(name, mark, values.get(side))
                for side in sides
                for name, mark in self._keyed(item, self.terms.criteria)[0].items()
            )

        return values | self._kept(unknown, f"{where}.", contradicts)

    def _single(self, field: Field, value: Any, where: str) -> Any:
        match field.kind:
            case "record":
                return self.record(field.fields, value, f"{where}.")
            case "scores":
                return self._each(self.terms.sides, value, where, self._marks)
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

    def _marks(self, value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            return value
        marks, unknown = self._keyed(value, self.terms.criteria)
        for name in self.terms.criteria:
            if name in marks and (read := _number(marks[name], *self.terms.scale(name))) is not None:
                marks[name] = self._changed(f"{where}.{name}", marks[name], read)
        criteria = self.terms.criteria

        def contradicts(key: str, item: Any) -> bool:
            return any(_names(key, name) and self._is_other_mark(name, item, marks) for name in criteria)

        return marks | self._kept(unknown, f"{where}.", contradicts)

    def _is_other_mark(self, criterion: str, value: Any, marks: Any) -> bool:
        """Whether a value is a score of a criterion, and not the one that stands in these marks."""
        if criterion not in self.terms.criteria:
            return False
        least, most = self.terms.scale(criterion)
        mark = _number(value, least, most)
        standing = marks.get(criterion) if isinstance(marks, dict) else None
        return mark is not None and least <= mark <= most and mark != standing

    def _list(self, field: Field, value: Any, where: str) -> Any:
        value = self._decoded(value, list, where)
        if isinstance(value, str if field.kind != "list" or not field.fields else dict):
            value = self._changed(where, value, [value])
        if not isinstance(value, list) or len(value) > MOST_ITEMS:
            return value
        if field.kind == "turns":
            return self._turns(value, where)
        if field.kind == "choices":
            read = [self._option(field, item) or item for item in value]
            return value if read == value else self._changed(where, value, read)
        return [
            self.record(field.fields, item, at) if field.fields else self._changed(at, item, _only_text(item))
            for at, item in ((f"{where}[{i}]{'.' * bool(field.fields)}", item) for i, item in enumerate(value, start=1))
        ]

    def _turns(self, value: list[Any], where: str) -> list[str]:
        """The turns of the transcript that a list names; what is none is dropped."""
        read = [self._turn(item) for item in value]
        for item in [item for item, turn in zip(value, read, strict=True) if turn is None]:
            self.note(where, f"{_shown(item)} dropped, since there is no such turn")
        return [turn for turn in read if turn is not None]

    def _turn(self, value: Any) -> str | None:
        turn_id = value.strip(" `'\"[]().").casefold() if isinstance(value, str) else ""
        return turn_id if turn_id in self.terms.turn_ids else None

    def _option(self, field: Field, value: Any) -> str | None:
        """The option that a value can only mean."""
        options = field.of or self.terms.sides
        if not isinstance(value, str) or value in options:
            return value if isinstance(value, str) else None
        if _UNCLEAR.search(value):
            return None
        words = phrase(value).removeprefix("winner ").removeprefix("the ")
        words = re.sub(r" (?:wins|won|is the winner)$", "", words)
        meant = {
            option
            for option in options
            if words in (phrase(option), *SYNONYMS.get(option, ())) or words in self.sides.get(option, ())
        }
        return meant.pop() if len(meant) == 1 else None

    def _decoded(self, value: Any, kind: type, where: str) -> Any:
        """A record or list that may have been written as JSON in a text."""
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
            return value
        try:
            read = strict_json(value)
        except ValueError:
            return value
        return self._changed(where, value, read) if isinstance(read, kind) else value

    def _changed(self, where: str, old: Any, new: Any) -> Any:
        if type(old) is not type(new) or old != new:
            self.note(where, f"{_shown(old)} read as {_shown(new)}")
        return new


def _names(key: str, name: str) -> bool:
    """Whether the words of a key contain those of a name."""
    return f" {phrase(name)} " in f" {phrase(key)} "


def _means_nothing(field: Field, value: Any) -> bool:
    """Whether an optional field is left empty in words, such as `none`."""
    if field.kind == "choice":
        return value is False or (isinstance(value, str) and value not in field.of and phrase(value) in _NO_OPTION)
    return isinstance(value, str) and phrase(value) in _NOTHING


def _shown(value: Any) -> str:
    """A value of a reply for a message."""
    return "null" if value is None else short_repr(value)


def _only_text(value: Any) -> Any:
    """The text of an object that holds nothing else, such as `{"question": "..."}`."""
    inner = list(value.values()) if isinstance(value, dict) else []
    return inner[0] if len(inner) == 1 and isinstance(inner[0], str) else value


def _fits_beside(key: str, value: Any, most: float | None) -> bool:
    """Whether a key beside a number leaves its scale as it is: a reason in words, or the scale's own maximum."""
    if phrase(key) in _MAXIMUM:
        return _number(value, None, None) == most
    return phrase(key) in _REASONS and isinstance(value, str)


def _number(value: Any, least: float | None, most: float | None, *, whole: bool = False) -> float | None:
    """The number that a value means: `7`, `7.0`, `7/10` where 10 is the most, `70%` where the scale is 0 to 1."""
    if isinstance(value, dict) and len(value.keys() & _AROUND) == 1:
        if not all(_fits_beside(key, item, most) for key, item in value.items() if key not in _AROUND):
            return None
        (value,) = (value[key] for key in value.keys() & _AROUND)
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value.strip())
        if found is None or (found[2] and float(found[2]) != most) or (found[3] and (least, most) != (0, 1)):
            return None
        value = float(found[1]) / (100 if found[3] else 1)
        value = int(value) if value.is_integer() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if whole and isinstance(value, float) and value.is_integer() else value
