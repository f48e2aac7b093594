"""Mirrors a debate: the side that argued as A is shown as B, in names, tags, turn ids and structured replies.

A judge who judges the arguments alone finds for the same position in the mirrored debate. Mirroring it once more gives
back the original. Positions, and words such as Pro and Con that belong to them, stay with the side that argues them.
What a source says stays word for word: verified quotes, and fields of a reply that hold words of a page.

A tag names its side in brackets (`[R1 - ROUND 1 - OPENING]`) and alone (`R1 is right`), save where what is debated has
the same word: in a debate on the model R1, the word is the model's.

Where names end in a letter (`Debater A`), speakers also use the letter alone. Whether a capital letter names a side
(`B concedes it`) or is a word or a label (`A broker`, `plan B`) is decided by the words around it, never by the letter
itself. The decision is therefore the same in the mirrored text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import Seat, Turn
from debate_orchestrator.core.shape import Field, Shape

_T = TypeVar("_T")
_GAP = r"(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*)"
"""The separators of the words of a name: spaces, or the end of a line."""
_BEGIN, _END = r"(?<![^\W_])(?<![^\W_]_)(?<![^\W_]__)", r"(?!_{0,2}[^\W_])"
"""The borders of a word. Underscores around it are emphasis; within a word (`plan_A`) they are a part of it."""


class Mirror:
    """Shows each of the two sides of a format as the other."""

    def __init__(self, format: Format, debated: str = ""):
        """`debated` is the text of the topic and the positions."""
        a, b = format.sides[0], format.sides[-1]  # a debate of one side stays as it is
        self._other = {a: b, b: a}
        self._names = _names(format.seats[a].name, format.seats[b].name)
        self._tags = {format.seats[a].tag: format.seats[b].tag, format.seats[b].tag: format.seats[a].tag}
        self._letters = _letters(format.seats[a].name, format.seats[b].name)
        verified = format.quotes.verified if format.quotes else ""
        seats = (format.seats[a], format.seats[b])
        tags_alone = () if any(_is_a_word_of_its_own(seat, debated) for seat in seats) else tuple(self._tags)
        self._pattern = _pattern(
            tuple(self._names), tuple(self._tags), tags_alone, tuple(self._other), tuple(self._letters), verified
        )

    def side(self, name: str) -> str:
        """The other side; a name that is not a side is returned as it is."""
        return self._other.get(name, name)

    def keys(self, values: Mapping[str, _T]) -> dict[str, _T]:
        """The mapping with the two sides' values swapped. Sides come first, in order; other keys follow unchanged."""
        swapped = {self.side(name): value for name, value in values.items()}
        return {name: swapped[name] for name in (*(side for side in self._other if side in swapped), *swapped)}

    def turn_id(self, turn_id: str) -> str:
        stem, dot, seat = turn_id.rpartition(".")
        return f"{stem}{dot}{self.side(seat)}"

    def turn(self, turn: Turn) -> Turn:
        """A turn as the other side's."""
        return turn.model_copy(update={"id": self.turn_id(turn.id), "seat": self.side(turn.seat)})

    def text(self, text: str) -> str:
        """A text in which each side goes by the other's name, in turn ids and tags too, but for verified quotes."""
        return self._pattern.sub(self._word, text)

    def _word(self, match: re.Match[str]) -> str:
        if match["quote"] is not None:
            return match["quote"]
        if match["id"] is not None:
            return self.turn_id(match["id"])
        if match["tag"] is not None:
            return f"[{self._tags[match['tag']]} - "
        if match["alone"] is not None:
            return self._tags[match["alone"]]
        if match["letter"] is not None:
            return self._letters[match["letter"]] if _names_a_side(match) else match["letter"]
        words = match["name"].split()
        other = self._names[" ".join(words)]
        gaps = [*re.findall(r"\s+", match["name"]), ""]
        other_words = other.split(" ")
        if len(other_words) != len(words):
            return other
        return "".join(word + gap for word, gap in zip(other_words, gaps, strict=True))

    def structured_reply(
        self, shape: Shape, fields: Mapping[str, Any], source_fields: Collection[str] = ()
    ) -> dict[str, Any]:
        """A structured reply, mirrored; fields named in `source_fields` hold what a source says, and stay."""
        swapped = {
            name: self._field(shape[name], value, source_fields)
            if name in shape and name not in source_fields
            else value
            for name, value in fields.items()
        }
        # Fields that are named like the sides, such as what each holds on a claim, change places: they are of one kind.
        if set(self._other) <= set(swapped):
            swapped = {name: swapped[self.side(name)] for name in swapped}
        return swapped

    def _field(self, field: Field, value: Any, source_fields: Collection[str]) -> Any:
        if value is None:
            return None
        if field.per_side and isinstance(value, Mapping):
            return {name: self._field(field.single, value[self.side(name)], source_fields) for name in value}
        if field.per_issue and isinstance(value, Mapping):
            return {name: self._field(field.single, item, source_fields) for name, item in value.items()}
        match field.kind:
            case "text":
                return self.text(value)
            case "choice":
                return self.side(value)
            case "choices":
                return [self.side(item) for item in value]
            case "turn":
                return self.turn_id(value)
            case "turns":
                return [self.turn_id(item) for item in value]
            case "scores":
                return {name: value[self.side(name)] for name in value}
            case "record":
                return self.structured_reply(field.fields, value, source_fields)
            case "list":
                return [
                    self.structured_reply(field.fields, item, source_fields) if field.fields else self.text(item)
                    for item in value
                ]
        return value


def _names(first: str, second: str) -> dict[str, str]:
    """Either name to the other, as it is and in capitals; a name of several words also in lower case, unless
    the last is a letter, which may be a word of the language: `a debater a listener believes`."""
    spellings: list[Callable[[str], str]] = [lambda name: name, str.upper]
    if (
        " " in first
        and " " in second
        and not {len(first.rsplit(maxsplit=1)[-1]), len(second.rsplit(maxsplit=1)[-1])} & {1}
    ):
        spellings += [str.lower, lambda name: name[:1].lower() + name[1:]]
    names: dict[str, str] = {}
    for spell in spellings:
        name, other = spell(" ".join(first.split())), spell(" ".join(second.split()))
        if name != other and not {name, other} & set(names):
            names |= {name: other, other: name}
    return names


def _letters(first: str, second: str) -> dict[str, str]:
    """The letters in which two names differ, each to the other: `A`, `B` of `Debater A`, `Debater B`; or none."""
    (stem, _, letter), (other_stem, _, other) = (" ".join(name.split()).rpartition(" ") for name in (first, second))
    differ_in_letter = (
        stem == other_stem and letter != other and all(len(word) == 1 and word.isupper() for word in (letter, other))
    )
    return {letter: other, other: letter} if differ_in_letter else {}


def _is_a_word_of_its_own(seat: Seat, debated: str) -> bool:
    """Whether the tag of a side's seat, found without brackets, may be something else than the side: a letter or a
    number, the name of its position, or a word of what is debated."""
    tag = seat.tag
    is_too_short = len(tag) < 2 or not re.search(r"[^\W\d_]", tag) or not re.fullmatch(r"\w.*\w", tag)
    is_debated = re.search(rf"(?<!\w){re.escape(tag)}(?!\w)", debated, re.IGNORECASE)
    return is_too_short or tag.casefold() == seat.side.casefold() or is_debated is not None


@lru_cache(maxsize=16)
def _pattern(
    names: tuple[str, ...],
    tags: tuple[str, ...],
    tags_alone: tuple[str, ...],
    sides: tuple[str, ...],
    letters: tuple[str, ...],
    verified: str,
) -> re.Pattern[str]:
    quote = f"(?P<quote>{f'<{verified}>[^<]*+</{verified}>' if verified else '(?!)'})"
    same_word_count = len({len(name.split()) for name in names}) < 2
    name_patterns = [
        (_GAP if same_word_count else " ").join(map(re.escape, name.split())) for name in sorted(names, key=len)[::-1]
    ]
    turn_id = rf"{_BEGIN}(?P<id>(?:\d+|start|final)\.[a-z][a-z0-9-]*\.(?:{'|'.join(sides)})){_END}"
    tag = rf"\[(?P<tag>{'|'.join(map(re.escape, tags))}) - (?=[A-Z])"
    # `Debater A/B` is the name of both, and means the same in either text.
    name = rf"{_BEGIN}(?P<name>{'|'.join(name_patterns) or '(?!)'})(?!/[A-Z]\b){_END}"
    # A hyphen before makes it a part of another name (`DeepSeek-R1`), unless the other tag is before it (`R1-R2`).
    after_tag = "".join(rf"|(?<=\b{re.escape(tag)}-)" for tag in tags_alone)
    alone = (
        rf"(?:{_BEGIN}(?<!\w[.-]){after_tag})(?P<alone>{'|'.join(map(re.escape, tags_alone)) or '(?!)'})(?!\.\d){_END}"
    )
    letter = rf"{_BEGIN}(?<![.&/+-])(?P<letter>{'|'.join(letters) or '(?!)'})(?![&/+-]|\.\w){_END}"
    return re.compile(f"{quote}|{turn_id}|{tag}|{name}|{alone}|{letter}")


# A letter alone


_CONTEXT_LENGTH = 40
"""Characters on either side that are looked at."""
_LABEL = re.compile(
    r"\b(?:appendix|class|column|exhibit|figure|grade|group|item|level|list|model|option|part|phase|plan|question|row|"
    r"sample|scenario|section|series|stage|step|table|team|type|variant|version|vitamin)\s+\Z",
    re.IGNORECASE,
)
"""A noun before the letter that makes it a label."""
_WITHIN = re.compile(r"[a-z0-9)\]’”\"'%][,;]?(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*)[\"“‘'(\[*_]*\Z")
"""The end of the text before a letter within a sentence."""
_LINE_START = re.compile(r"(?:^|\n)[\s>*_#(-]*\Z")
_POSSESSIVE = re.compile(r"['’]s\b")
_LOWER_CASE = re.compile(r"[*_]*\s+[a-z']")
_NAME_BEFORE = re.compile(
    r"[*_]*\s+(?:[a-z]+ly\s+)?(?!(?:means|news|lens|bias|series|species)\b)(?:"
    r"again|also|and|are|as|at|but|can(?:not)?|could|did|from|gave|had|has|however|in|instead|is|itself|may|might|must|"
    r"never|nor|now|on|only|or|said|saw|shall|should|since|so|still|than|that|then|therefore|though|thus|to|was|went|"
    r"versus|vs|were|where|whereas|which|while|who|whose|will|with|won|would|yet|does|goes|says|"
    r"[a-z]*(?:argu|valu|continu)es|[a-z]+[^aiosu']s|(?!one|once|eu)[aeio][a-z]+|"
    r"(?:[a-z]+ed|beat|broke|built|chose|drew|found|held|kept|left|lost|made|met|paid|put|ran|sent|spoke|told|took|wrote)"
    r"\s+(?:[A-Z]|an?|all|for|her|his|it|its|my|no|on|only|our|that|the|their|this|to|your)"
    r")(?![\w'])"
)
"""Words that follow a name at the beginning of a sentence, mostly verbs. An article has a noun or an adjective after
it, which is seldom one of these, and no vowel."""


def _names_a_side(match: re.Match[str]) -> bool:
    """Whether the letter that was found in a text names a side. The match has it as its group `letter`."""
    start, end = match.span("letter")
    before, after = match.string[max(0, start - _CONTEXT_LENGTH) : start], match.string[end : end + _CONTEXT_LENGTH]
    if _LABEL.search(before):
        return False
    if _POSSESSIVE.match(after) or _NAME_BEFORE.match(after):
        return True
    if re.match(r"[*_]*\s+[A-Za-z']", after):
        return bool(_WITHIN.search(before) and _LOWER_CASE.match(after))
    return not (_LINE_START.search(before) and after[:1] in (".", ")"))
