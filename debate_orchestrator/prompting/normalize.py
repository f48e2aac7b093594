"""Reads the values of a structured reply as they are meant: `7/10` as 7, `Researcher A` as the side a.

Only what has one meaning is changed. What is missing stays missing, and an unknown key stays: the check of the reply
finds both. So it does with a winner or a score that is unknown or out of range. A field that the same reply has under
another setup is not unknown: it is left out, unless it decides a debate or has an object.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from debate_orchestrator.core.phases import NEITHER_SIDE
from debate_orchestrator.core.shape import (
    MAX_ITEMS,
    Field,
    ShapeContext,
    applies,
    empty_value,
    fields_asked,
    present_fields,
)
from debate_orchestrator.core.shape_rules import DECIDING_FIELDS, JUDGE_FIELDS
from debate_orchestrator.util.errors import short_repr

_DROPPED = "dropped, since there is no such turn"
MAX_CHANGES = 40
_SYNONYMS = {"tie": ("draw", "a tie", "a draw", "tied"), "no decision": ("undecided",), "both": ("both sides",)}
"""Option of a choice to what it is called otherwise."""
_JOINED_IDS = re.compile(r"""["“”,]""")
_NUMBER = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?)\s*(?:(?:/|out of)\s*(\d{1,9}(?:\.\d{1,9})?)|(%)|points?)?", re.IGNORECASE
)
_WRAPPERS = frozenset((
    "answer", "ballot", "json", "output", "reply", "response", "result", "verdict",
    "final", "my", "the", "your", "judge", "judges", "round", "debate",
))  # fmt: skip
"""Words of the key of an object around a reply."""
_MAX_LENGTH = 1_000
"""Characters of an option or a key that is written in another way than it is asked for."""
_EMPHASIS = re.compile(r"(\*{1,3}|`|(?<!\w)_{1,2})(?=\S)(.+?)(?<=\S)\1")
_ENCLOSED = re.compile(r"""["'“(\[](.+)["'”)\]]|(.+)\.""")
_PLAIN_WORDS = re.compile(r"[^\W_]+(?:(?:[-_'’/]|:?\s+\(?)[^\W_]+)*[):]?")
"""Words with punctuation between them that means nothing."""
_OF_WINNER = re.compile(r"^winner | (?:wins|won|is the winner)$")
"""Words around a side that say that it won. In a choice that says something else, they are read as no side."""
_BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}
_NOTHING = frozenset({"", "none", "null", "n a"})
_NO_OPTION = _NOTHING | {"nobody", "no one", "neither", "neither side", "no"}
_NO_WINNER = (_NO_OPTION | {"both"}) - {"no", ""}
"""What may say that neither side won, also where it is a position."""


class SideWords(NamedTuple):
    """The words for sides in a reply. There are none by default."""

    meanings: Mapping[str, str] = MappingProxyType({})
    """Each phrase, and each position as it is written, to the side that it means, or to "" if it may mean something
    else."""
    short_words: Collection[str] = ()
    """Those that may not be meant as a side, since they are no position and no name that surely means one: a letter, a
    label, or any name, however long, that could also be debated."""
    positions: Collection[str] = ()
    """Those that are positions of the sides."""


class NormalizedReply(NamedTuple):
    """A structured reply in the form that its shape asks for."""

    value: Any
    """Every value that can mean only one thing is in that form; the others are as they were written."""
    changes: list[str]
    """The changes, a short line each."""
    short_words: list[tuple[str, str, str]]
    """The path of each field that a short word decided, with that word and the side that it was read as."""


def normalize(
    shape: Mapping[str, Field], value: Any, shape_context: ShapeContext, side_words: SideWords
) -> NormalizedReply:
    """A reply of this shape, normalized, as a copy."""
    normalizer = _Normalizer(shape_context, side_words)
    data = normalizer.object(shape, value, "")
    changes, more = normalizer.changes[:MAX_CHANGES], len(normalizer.changes) - MAX_CHANGES
    changes += [f"and {more} more changes"] if more > 0 else []
    return NormalizedReply(data, changes, normalizer.short_words)


def removed_references(changes: Iterable[str]) -> list[str]:
    """The changes that took a reference out of a reply: a turn that its writer cited and the debate does not have."""
    return [change for change in changes if change.endswith(_DROPPED)]


def unwrap(value: Any, names: Iterable[str], other_names: Iterable[str]) -> tuple[Any, list[str]]:
    """The inner object of an object whose only key is a common name for a reply, or one of the `other_names`, with
    a note on the change; any other value unchanged. Objects with other keys may say that their value is not the
    reply."""
    if not isinstance(value, dict) or len(value) != 1 or set(value) & set(names):
        return value, []
    ((outer, inner),) = value.items()
    plain = _WRAPPERS | {word for name in other_names for word in phrase(name).split()}
    words = [word for word in phrase(outer).split() if not word.isdigit()]
    if not isinstance(inner, dict) or not words or not plain.issuperset(words):
        return value, []
    return inner, [f"{short_repr(outer)}: taken for a wrapper around the reply"]


class _Normalizer:
    """Normalizes one reply, and keeps the changes so far."""

    def __init__(self, shape_context: ShapeContext, side_words: SideWords):
        self.shape_context, self.meanings = shape_context, side_words.meanings
        self.known_short_words, self.positions = frozenset(side_words.short_words), frozenset(side_words.positions)
        self.changes: list[str] = []
        self.short_words: list[tuple[str, str, str]] = []

    def note(self, where: str, what: str, *values: Any) -> None:
        """Notes a change; `what` has braces for the values."""
        quoted = ("null" if value is None else short_repr(value) for value in values)
        self.changes.append(f"{where or 'the reply'}: {what.format(*quoted)}")

    def object(self, shape: Mapping[str, Field], value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            return value
        fields = fields_asked(shape, self.shape_context)
        keyed = self._keyed(value, fields, where)
        for name in present_fields(shape, keyed):
            if name not in fields and name not in DECIDING_FIELDS and not _is_nested(keyed[name]):
                self.note(f"{where}{name}", "{} left out, since this debate does not ask for it", keyed.pop(name))
        present = present_fields(fields, keyed)
        for name in present:
            keyed[name] = self._field(fields[name], keyed[name], f"{where}{name}")
        for name in present:
            if not applies(fields[name], keyed) and not _is_nested(keyed[name]):
                keyed[name] = self._change(
                    f"{where}{name}", keyed[name], empty_value(fields[name]), ", since it must be empty"
                )
        return keyed

    def _keyed(self, value: Mapping[str, Any], names: Collection[str], where: str) -> dict[str, Any]:
        """A mapping with the keys that are meant; one that is there twice, or unknown, stays, to be reported."""
        meant = {text: side for text, side in self.meanings.items() if side in names}
        meant |= {phrase(name): name for name in names if name not in self.shape_context.sides}
        texts_of = {key: {key, plain_phrase(key) or "", phrase_with_signs(key)} & meant.keys() for key in value}
        readings = {key: {meant[text] for text in texts} for key, texts in texts_of.items()}
        key_names = {key: key if key in names or len(read) != 1 else read.pop() for key, read in readings.items()}
        times = Counter(key_names.values())
        key_names = {key: name if times[name] == 1 else key for key, name in key_names.items()}
        for key, name in key_names.items():
            if key != name:
                self.note(where.rstrip("."), "the key {} read as {}", key, name)
                self._note_short_word(where.rstrip("."), key, texts_of[key], name)
        return {key_names[key]: item for key, item in value.items()}

    def _field(self, field: Field, value: Any, where: str) -> Any:
        if field.optional and _means_nothing(field, value):
            return self._change(where, value, empty_value(field))
        keys = field.keys(self.shape_context)
        if value is None and not keys and field.kind in ("list", "choices", "turns"):
            return self._change(where, value, [])
        if keys:
            return self._each(keys, value, where, lambda item, at: self._single(field, item, at))
        return self._single(field, value, where)

    def _each(self, keys: tuple[str, ...], value: Any, where: str, read_value: Callable[[Any, str], Any]) -> Any:
        if not isinstance(value, dict):
            return value
        keyed = self._keyed(value, keys, where)
        return {key: read_value(item, f"{where}.{key}") if key in keys else item for key, item in keyed.items()}

    def _single(self, field: Field, value: Any, where: str) -> Any:
        match field.kind:
            case "object":
                return self.object(field.fields, value, f"{where}.")
            case "scores":
                sides, points = self.shape_context.sides, self.shape_context.points.fields
                return self._each(sides, value, where, lambda item, at: self.object(points, item, f"{at}."))
            case "list" | "choices" | "turns":
                return self._list(field, value, where)
        normalized = self._scalar(field, value, where)
        return value if normalized is None else self._change(where, value, normalized)

    def _scalar(self, field: Field, value: Any, where: str) -> Any:
        """The meaning of a single value; None if it only means itself."""
        match field.kind:
            case "boolean" if isinstance(value, str):
                return _BOOLEANS.get(plain_phrase(value) or "")
            case "number":
                return _number(value, field.min, field.max, integer=field.integer)
            case "choice":
                item = value[0] if isinstance(value, list) and len(value) == 1 else value
                return self._option(field, item, where)
            case "turn":
                return self._turn(value)
            case "text" if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
                return value[0]
            case "url" if isinstance(value, str):
                return value.strip().removeprefix("<").removesuffix(">")
        return None

    def _list(self, field: Field, value: Any, where: str) -> Any:
        if isinstance(value, str if field.kind != "list" or not field.fields else dict):
            value = self._change(where, value, [value])
        if not isinstance(value, list) or len(value) > MAX_ITEMS:
            return value
        if field.kind == "turns":
            return self._turns(value, where)
        if field.kind == "choices":
            items = [self._option(field, item, where) or item for item in value]
            return value if items == value else self._change(where, value, items)
        if not field.fields:
            return value
        return [self.object(field.fields, item, f"{where}[{i}].") for i, item in enumerate(value, start=1)]

    def _turns(self, value: list[Any], where: str) -> list[Any]:
        """The turns of the transcript that a list names; a text that is none is dropped."""
        if not all(isinstance(item, str) for item in value):
            return value
        turn_ids = [self._turn(item) for item in value]
        unknown = [item for item, turn in zip(value, turn_ids, strict=True) if turn is None]
        if any(_JOINED_IDS.search(item) for item in unknown):  # a comma between two of them is missing
            return value
        for item in unknown:
            self.note(where, f"{{}} {_DROPPED}", item)
        return [turn for turn in turn_ids if turn is not None]

    def _turn(self, value: Any) -> str | None:
        turn_id = value.strip(" `'\"[]().").casefold() if isinstance(value, str) else ""
        return turn_id if turn_id in self.shape_context.turn_ids else None

    def _option(self, field: Field, value: Any, where: str) -> str | None:
        if not isinstance(value, str):
            return None
        options = field.options or self.shape_context.sides
        if value in options:
            return value
        whole, sides = plain_phrase(value) or "", self.shape_context.sides
        reserved = JUDGE_FIELDS.get(where.rpartition(".")[2])
        side_reading = reserved.side_reading if reserved else ""
        if side_reading == "whole names":
            return None if whole in self.known_short_words | self.positions else self.meanings.get(whole) or None
        bare = whole.removeprefix("the ")
        words = _OF_WINNER.sub("", whole).removeprefix("the ") if side_reading == "who won" else bare
        # `Yes`, `false` or `Neither` may say whether a side did so at all, or answer the question of an issue.
        others = self.positions | _BOOLEANS.keys()
        readings = {whole, phrase_with_signs(value)} | ({words} if words == bare else {words} - others)
        if field.optional or field.per_issue or words in _NO_WINNER:
            readings -= others
        meanings = self.meanings if not set(sides).isdisjoint(options) else {}
        meant = {meanings[text] for text in readings & meanings.keys()}
        meant |= {text for text in options if readings & {phrase(text), *_SYNONYMS.get(text, ())} and text not in sides}
        if len(meant) != 1 or not meant <= {*options}:
            return None
        (option,) = meant
        self._note_short_word(where, value, readings & meanings.keys(), option)
        return option

    def _note_short_word(self, where: str, written: str, texts: Collection[str], side: str) -> None:
        """Keeps what was read as a side if all `texts` for sides in it are short words."""
        if texts and self.known_short_words.issuperset(texts):
            self.short_words.append((where, written.strip(), side))

    def _change(self, where: str, old: Any, new: Any, why: str = "") -> Any:
        if type(old) is not type(new) or old != new:
            self.note(where, f"{{}} read as {{}}{why}", old, new)
        return new


def _is_nested(value: Any) -> bool:
    """Whether a value is an object, or a list with one."""
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_is_nested, value)))


def _means_nothing(field: Field, value: Any) -> bool:
    """Whether an optional field is left empty in words, such as `none`."""
    if field.kind == "choice":
        if not isinstance(value, str) or value in field.options:
            return value is False
        return not phrase(value) or plain_phrase(value) in _NO_OPTION
    return isinstance(value, str) and phrase(value) in _NOTHING


def _number(value: Any, minimum: float | None, maximum: float | None, *, integer: bool = False) -> float | None:
    """The number that a value means: `7`, `7.0`, `7/10` where 10 is the most, `70%` where the scale is 0 to 1."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        if match is None or (match[2] and float(match[2]) != maximum) or (match[3] and (minimum, maximum) != (0, 1)):
            return None
        value = float(match[1]) / (100 if match[3] else 1)
        value = int(value) if value.is_integer() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if integer and isinstance(value, float) and value.is_integer() else value


def outcome_words(topic: str, positions: Collection[str]) -> Iterator[str]:
    """The words for outcomes that may mean something that is debated, such as the position `It ends in a draw`."""
    debated = "\n".join((topic, *positions))
    for outcome in NEITHER_SIDE:
        phrases = (outcome, *_SYNONYMS.get(outcome, ()))
        if re.search(rf"\b(?:{'|'.join(phrases)})[snd]?\b", debated, re.IGNORECASE):
            yield from phrases


def phrase(text: str) -> str:
    """A text as a lower-case phrase: without punctuation, with single spaces."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def plain_phrase(text: str) -> str | None:
    """The phrase of a text that has no other punctuation than emphasis, quotation marks and brackets around the whole,
    and those between words, or a full stop. Returns None for any other: a character may negate, strike or doubt the
    words beside it."""
    text = _bare(text)
    return phrase(text) if _PLAIN_WORDS.fullmatch(text) else None


def phrase_with_signs(text: str) -> str:
    """A text in lower case with all its signs, but for emphasis, quotation marks, brackets and a full stop around the
    whole. Empty if it is too long to be a word for a side."""
    return " ".join(_bare(text).casefold().split())


def _bare(text: str) -> str:
    """A text without emphasis, quotation marks, brackets and a full stop around the whole; empty if it is too long."""
    text, former = text.strip(), ""
    if len(text) > _MAX_LENGTH:
        return ""
    while text != former:
        former, text = text, _EMPHASIS.sub(r"\2", text)
        if enclosed := _ENCLOSED.fullmatch(text):
            text = (enclosed[1] or enclosed[2]).strip()
    return text
