"""Tells the object that a judge replies with from one that it quotes.

A speech may hold a filled ballot, and a judge may repeat it to say that it does not count. Three rules keep such a
quotation from being counted. An object that stands in what the judge has heard is refused. Where a text that it heard
may hold an object of this shape, nothing but a plain announcement may stand beside the object. In every reply, no other
object, no value of a field and no word about the result may stand beside it. What is refused is asked for again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from debate_orchestrator.core.schema import Field, Shape, ShapeContext, fields_asked
from debate_orchestrator.core.values import Value
from debate_orchestrator.prompting.normalize import COUNTED, SYNONYMS, phrase
from debate_orchestrator.util.sanitize import normalized

_QUOTED_LINE = re.compile(r"[ \t]{0,40}(?:(?:[-*+]|\d{1,3}[.)])[ \t]{1,40})?>")
_ESCAPED_SPACE = re.compile(r"\\[nrtbf]")
_ESCAPED_CHAR = re.compile(r"\\{1,4}u([0-9a-fA-F]{4})")
_PART = "\0"
_TOKEN = re.compile(
    rf"(?P<part>{_PART})|(?P<word>[^\W_]+(?:['’][^\W_]+)*)|(?P<assignment>[:=：→|])|(?P<end>[^\w\s_*~()/-]|\n)"
)
"""A word, what stands between a key and its value, and what ends a key, a sentence or a line."""
_LONGEST_LABEL, _LONGEST_KEY = 8, 80
"""Words, and characters, of what may name a field."""
_OBJECT = re.compile(r"\{[^{}]{0,2000}:")
_WORD = re.compile(r"[^\W_]+")
_ANNOUNCEMENT = re.compile(
    r"(?:\b(?:above|all|as|asked|ask|answer|ballot|below|complete|debate|decision|done|end|final|find|follows|following"
    r"|for|format|here|hope|i|if|in|is|it|json|judge|know|let|me|more|my|need|object|of|ok|okay|please|reply|requested"
    r"|required|round|sure|thank|thanks|that|the|this|verdict|with|you)\b|[\s\0.,:;!?*_#`'\"(){}-])*+",
    re.IGNORECASE,
)
"""All that may stand beside the object where a quotation is possible. It names no side, denies nothing and gives no
value."""
_RESULT = r"\bw[io]n|verdict|\bvot(?:e|ing)|decision|decid|victor|prevail|ballot|judge?ment|outcome|favou?r|goes\ to"
_AMOUNT = r"scor(?:e|ing)|points?\b|marks?\b|rating|grade"
_NEAR, _BESIDE = 100, 20
"""Characters between a word about the result and a value, and between a side and its number."""
_CLASHES = {
    "amount": {"value", "number"},
    "result": {"value"},
    "value": {"amount", "result"},
    "number": {"amount"},
}
"""What may not stand near what beside an object."""
_SENTENCE = re.compile(rf"[.!?;\n{_PART}]")
_SHORT = 40
"""Characters of a sentence that may be a vote, or say whose object it is."""
_SIDE_A = r"(?<!\w)(?:A|a(?!\ [a-z])|(?:(?<=[^\w\s.,;]\ )|(?<=\bto\ )|(?<=\bfor\ ))a)(?!\w)"
"""The side a, and not the article."""
_NOT_AN_AMOUNT = r"\bround\ \d{1,3}|(?:\A|\n)\s{0,20}\d{1,3}[.)]\s"


class Asked(Value):
    """What a reply is asked for, and what its writer has heard."""

    fields: Shape = {}
    terms: ShapeContext | None = None
    sides: dict[str, frozenset[str]] = {}
    """The `side_phrases` of each side."""
    heard: tuple[str, ...] = ()
    """The texts in which an object may stand that is quoted."""

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of the reply."""
        return tuple(self.fields)

    @cached_property
    def heard_joined(self) -> str:
        """All that was heard, joined."""
        return "".join(joined(_unescaped(text)) for text in self.heard)

    @cached_property
    def suspicious(self) -> bool:
        """Whether one of the heard texts holds the names of half of the fields that a reply must have. Half, because a
        speech may disguise a name, and a judge that quotes it may write the name as it is meant."""
        required = set(self._required(self.fields)) or {joined(name) for name in self.names}
        texts = (joined(_unescaped(text)) for text in self.heard)
        return any(2 * sum(name in text for name in required) >= len(required) for text in texts)

    def _required(self, fields: Mapping[str, Field]) -> Iterator[str]:
        for name, field in fields.items():
            if field.optional or field.only_if or field.unless:
                continue
            yield joined(name)
            if field.kind == "record" and self.terms:
                yield from self._required(fields_asked(field.fields, self.terms))
            elif field.kind == "scores" and self.terms:
                yield from map(joined, self.terms.criteria)

    @cached_property
    def field_names(self) -> re.Pattern[str]:
        """What finds a key that means one of the fields, once its words are joined."""
        return field_pattern(self.names)

    @cached_property
    def result(self) -> re.Pattern[str]:
        """What finds words about the result, amounts and values in a text."""
        names = [name for name, field in self.fields.items() if field.kind in COUNTED and len(name) > 3]
        amounts = [name for name in names if self.fields[name].kind in ("number", "scores")]
        amount = "|".join([_AMOUNT, *map(_spelled, amounts)])
        result = "|".join([_RESULT, *map(_spelled, names)])
        skipped = _NOT_AN_AMOUNT
        if self.terms:
            skipped += rf"|\b{self.terms.least:g}\s?(?:-|–|to)\s?{self.terms.most:g}\b"
        number = r"\d{1,9}(?:\.\d{1,9})?"
        return re.compile(
            rf"(?P<skipped>(?i:{skipped}))|(?P<amount>(?i:{amount}))|(?P<result>(?i:{result}))"
            rf"|(?P<value>{'|'.join(self._values()) or '(?!)'})|(?P<number>{number})"
        )

    def _values(self) -> Iterator[str]:
        """Patterns of the sides and of the options of what counts."""
        options = [option for field in self.fields.values() if field.kind in COUNTED for option in field.of]
        options += [phrase for option in options for phrase in SYNONYMS.get(option, ())]
        spoken = {phrase for own in self.sides.values() for phrase in own if phrase.count(" ") < 3}
        for value in sorted({*options, *spoken, *self.sides} - {"a"}, key=len, reverse=True):
            yield rf"(?<!\w)(?i:{_spelled(value)})(?!\w)"
        if "a" in self.sides or "a" in options:
            yield _SIDE_A


NOTHING_ASKED = Asked()
"""For an object of any shape, with which nothing is heard."""


def _spelled(name: str) -> str:
    """A pattern for a name whose words may be written apart."""
    return r"[\W_]{1,3}".join(map(re.escape, _WORD.findall(name))) or "(?!)"


def is_own(part: str, text: str, asked: Asked) -> bool:
    """Whether a part of a text is its writer's own object, and no quotation: its line does not begin with `>`, and
    what stands beside it neither gives a field a value nor says what came of the debate."""
    if not asked.names:
        return True
    begins = text.rfind("\n", 0, text.find(part)) + 1
    if _QUOTED_LINE.match(text, begins):
        return False
    beside = _plain(f" {_PART} ".join(piece.replace(_PART, " ") for piece in text.split(part)))
    if asked.suspicious and not _ANNOUNCEMENT.fullmatch(beside):
        return False
    return not (
        _OBJECT.search(beside)
        or _names_side(beside, asked)
        or _gives_field(beside, asked.field_names)
        or _tells_result(beside, asked)
    )


def is_quoted(value: Any, asked: Asked, *, alone: bool) -> bool:
    """Whether an object stands in a text that its writer has heard: every value beside its key. One that is `alone` in
    its reply and has no text is none, since two writers may choose the same values."""
    if not asked.suspicious or (alone and not _has_text(asked.fields)):
        return False
    names = asked.names
    if isinstance(value, dict) and len(value) == 1 and not _known(value, names):
        (value,) = value.values()
    if not isinstance(value, dict):
        return False
    leaves = list(_leaves(_known(value, names)))
    return bool(leaves) and all(leaf in asked.heard_joined for leaf in leaves)


def _known(value: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What stands under the names of fields."""
    known = set(map(joined, names))
    return {key: item for key, item in value.items() if joined(key) in known}


def _leaves(value: Any, key: str = "") -> Iterator[str]:
    """Each number and text of a value, joined, behind its key."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, joined(name))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, int | float | str) and not isinstance(value, bool):
        said = joined(value if isinstance(value, str) else f"{value:g}")
        if said:
            yield key + said


def _has_text(fields: Mapping[str, Field]) -> bool:
    return any(field.kind == "text" or _has_text(field.fields) for field in fields.values())


def _names_side(text: str, asked: Asked) -> bool:
    """Whether a short sentence names a side or an option: `B it is`, or `A's block says` before the object."""
    sentences = (piece for piece in _SENTENCE.split(text) if len(piece) <= _SHORT)
    return any(found.lastgroup == "value" for piece in sentences for found in asked.result.finditer(piece))


def _tells_result(text: str, asked: Asked) -> bool:
    """Whether a side, an option or a number stands near a word about the result, or a number behind a side."""
    for piece in text.split(_PART):
        at = dict.fromkeys(_CLASHES, -_NEAR - 1)
        for found in asked.result.finditer(piece):
            kind = str(found.lastgroup)
            if kind == "skipped":
                continue
            start, end = found.span()
            near = {name for name, place in at.items() if start - place <= _NEAR}
            if not near.isdisjoint(_CLASHES[kind]) or (kind == "number" and start - at["value"] <= _BESIDE):
                return True
            at[kind] = end
    return False


def _gives_field(text: str, fields: re.Pattern[str]) -> bool:
    """Whether a text gives a field a value, as in `"Winner": "b"`, `- **winner**: b`, `The winner is b` and a heading.
    The object itself, written as _PART, is no such value."""
    label = list[str]()
    labels, ended, named = 0, True, False
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup, token[0][:_LONGEST_KEY]
        assigns = kind == "assignment" or word.casefold() == "is"
        if kind == "part":
            named = False
        elif kind == "word" and not assigns:
            if named and word.casefold() != "json":
                return True
            labels += ended
            label, ended = [*([] if ended else label[:_LONGEST_LABEL]), word], False
        else:
            if assigns or (word == "\n" and labels == 1):
                named = named or (len(label) <= _LONGEST_LABEL and names_field("".join(label), fields))
                label = []
            labels, ended = 0 if word == "\n" else labels, True
    return False


def field_pattern(names: Sequence[str]) -> re.Pattern[str]:
    """What finds a key that means one of these fields, once its words are joined."""
    fields = "|".join(re.escape(name) for name in map(joined, names) if name) or "(?!)"
    return re.compile(rf"(?:and|so|the|my|own|final|overall|\d)*(?:{fields})")


def names_field(key: object, fields: re.Pattern[str]) -> bool:
    """Whether a key means one of the fields of a `field_pattern`."""
    return fields.fullmatch(joined(str(key)[:_LONGEST_KEY])) is not None


def joined(text: str) -> str:
    """A text as `normalize` compares it, and without spaces: `strongestArgument` means `strongest_argument` too."""
    return phrase(normalized(text)).replace(" ", "")


def _plain(text: str) -> str:
    """A text with its escapes, wide characters and line breaks as a reader sees them."""
    return normalized(_unescaped(text, "\n"))


def _unescaped(text: str, space: str = " ") -> str:
    return _ESCAPED_SPACE.sub(space, _ESCAPED_CHAR.sub(lambda escape: chr(int(escape[1], 16)), text))
