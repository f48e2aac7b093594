"""Mirrors a debate: the side that argued as A is shown as B, in names, tags, turn ids and structured replies.

A judge who judges the arguments alone finds for the same position in the mirrored debate. Mirroring it once more gives
back the original. Positions, and words such as Pro and Con that belong to them, stay with the side that argues them.

What is debated, the topic, the positions and the context files, is the same in both texts. If it could have a name, a
letter or a tag of a side (see `debated_names`), the mirrored debate has the order of the sides swapped, and no word
changes.

In any other debate only speakers call something A or B, and call it the other's letter in the mirrored text. A tag
names its side in brackets (`[R1 - ROUND 1 - OPENING]`) and alone (`R1 is right`); where names end in a letter
(`Debater A`), the letter alone does, too. A name that comes from outside the debate stays, as in `R2 = 0.91`,
`DeepSeek R1`, `vitamin A` or `plan B`, and so does the article. The words around each place decide. Before they are
read, all names, tags and letters of both sides are replaced by the same placeholders, so that the mirrored text gets
the same decision. In doubt a tag or a letter names its side: one that stays gives one side's words to the other.
Verified quotes, fields of a reply that hold words of a page, and addresses stay word for word. In code, only turn ids,
tags in brackets and names of several words are swapped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
    """Shows each of the two sides of a format as the other; with `order_only`, each as itself, the last one first."""

    def __init__(self, format: Format, *, order_only: bool = False):
        a, b = format.sides[0], format.sides[-1]  # a debate of one side stays as it is
        self.order_only = order_only
        self._other = {b: b, a: a} if order_only else {a: b, b: a}
        first, second = format.seats[a], format.seats[b]
        self._tags = {first.tag: second.tag, second.tag: first.tag}
        self._names, self._letters = _names(first.name, second.name), _letters(first.name, second.name)
        verified = format.quotes.verified if format.quotes else "(?!)"
        self._quote = re.compile(f"<{verified}>[^<]*+</{verified}>")
        tags_alone = self._tags if all(map(tag_names_side, (first, second))) else {}
        self._pattern = _pattern(self._other, self._names, self._tags, tags_alone, self._letters)
        self._texts: dict[str, str] = {}
        """Texts that were swapped to what they are then: all judges of a panel hear the same."""
        self._left_in_code = {"alone", "letter"} | (set() if all(" " in name for name in self._names) else {"name"})

    def side(self, name: str) -> str:
        """The other side; a name that is not a side is returned as it is."""
        return self._other.get(name, name)

    def swapped(self, values: Mapping[str, _T]) -> dict[str, _T]:
        """The mapping with the two sides' values swapped, or their order. Sides come first; other keys follow
        unchanged."""
        swapped = {self.side(name): value for name, value in values.items()}
        return {name: swapped[name] for name in (*(side for side in self._other if side in swapped), *swapped)}

    def turn_id(self, turn_id: str) -> str:
        stem, dot, seat = turn_id.rpartition(".")
        return f"{stem}{dot}{self.side(seat)}"

    def turn(self, turn: Turn) -> Turn:
        """A turn as the other side's."""
        return turn.model_copy(update={"id": self.turn_id(turn.id), "seat": self.side(turn.seat)})

    def text(self, text: str) -> str:
        """A text in which each side goes by the other's name, in turn ids and tags too, but for verified quotes,
        addresses and code."""
        if self.order_only:
            return text
        if text not in self._texts:
            self._texts[text] = self._swapped(text)
        return self._texts[text]

    def _swapped(self, text: str) -> str:
        pieces, end = list[str](), 0
        for match in self._naming(text):
            pieces += [text[end : match.start()], self._word(match)]
            end = match.end()
        return "".join([*pieces, text[end:]])

    def _naming(self, text: str) -> Iterator[re.Match[str]]:
        """The places of a text that name a side, by all that the words around them tell."""
        unquoted = self._quote.sub(lambda quote: "<" * len(quote[0]), text)
        without_code = _CODE_BLOCK.sub(lambda code: "`" * len(code[0]), unquoted)
        matches = list(self._pattern.finditer(unquoted))
        ends = [0, *(match.end() for match in matches)]
        gaps = [slice(end, match.start()) for end, match in zip(ends, matches, strict=False)]
        masks = [_MASKS.get(match.lastgroup or "", match[0]) for match in matches]
        neutral = "".join(unquoted[gap] + mask for gap, mask in zip(gaps, masks, strict=True))
        neutral += unquoted[ends[-1] :]
        end = 0
        for gap, match, mask in zip(gaps, matches, masks, strict=True):
            kind, start = match.lastgroup or "", end + gap.stop - gap.start
            end = start + len(mask)
            if kind == "url" or (kind in self._left_in_code and without_code[match.start()] == "`"):
                continue
            before, after = neutral[max(0, start - _CONTEXT_LENGTH) : start], neutral[end : end + _CONTEXT_LENGTH]
            if kind not in ("alone", "letter") or _names_a_side(kind, before, after):
                yield match

    def _word(self, match: re.Match[str]) -> str:
        """What is found, as the other side's."""
        found = match[0]
        match match.lastgroup:
            case "id":
                other = self.side(found[-1].lower())
                return found[:-1] + (other.upper() if found[-1].isupper() else other)
            case "tag":
                return f"[{self._tags[found[1:-3]]} - "
            case "alone":
                return self._tags[found]
            case "letter":
                return self._letters[found]
        gaps = iter(re.findall(r"\s+", found))  # single spaces, if the names differ in their number of words
        return re.sub(" ", lambda _: next(gaps, " "), self._names[" ".join(found.split())])

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
            case "object":
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
    spellings: list[Callable[[str], str]] = [str, str.upper]
    if all(" " in name and len(name.split()[-1]) > 1 for name in (first, second)):
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
    are_letters = all(len(word) == 1 and word.isupper() for word in (letter, other))
    return {letter: other, other: letter} if are_letters and stem == other_stem and letter != other else {}


def tag_names_side(seat: Seat) -> bool:
    """Whether the tag of a side's seat names it without brackets, too: no letter, number, or word of its position."""
    is_word = re.search(r"[^\W\d_]", seat.tag) and re.fullmatch(r"\w.*\w", seat.tag)
    return bool(is_word) and seat.tag.casefold() != seat.label.casefold()


_URL = r"(?i:https?://|(?<![\w.@-])(?:[a-z0-9-]+\.)+[a-z]{2,}/)[^\s<>`]*"
_CODE_BLOCK = re.compile(
    r"(?m:^)[>\t ]*(?P<fence>`{3,9}|~{3,9})[^`\n]*\n(?:[\s\S]*?\n)??[>\t ]*(?P=fence)"
    r"|(?<!`)(?P<ticks>`{1,3}+)(?!`)(?:(?!\n[^\S\n]*\n)[\s\S])*?(?<!`)(?P=ticks)(?!`)"
)
"""A block of code, or code within a line. A fence that is never closed begins none."""


def _pattern(
    sides: Iterable[str], names: Iterable[str], tags: Iterable[str], tags_alone: Iterable[str], letters: Iterable[str]
) -> re.Pattern[str]:
    """The pattern of what may name a side, and of addresses, in which nothing does."""
    same_word_count = len({len(name.split()) for name in names}) < 2
    name_patterns = [
        (_GAP if same_word_count else " ").join(map(re.escape, name.split())) for name in sorted(names, key=len)[::-1]
    ]
    turn_id = rf"{_BEGIN}(?P<id>(?:\d+|(?i:start|final))\.(?i:[a-z][a-z0-9-]*\.(?:{'|'.join(sides)}))){_END}"
    tag = rf"(?P<tag>\[(?:{'|'.join(map(re.escape, tags))}) - )(?=[A-Z])"
    # `Debater A/B` is the name of both, and means the same in either text. What a domain follows is a part of it.
    end = rf"(?![\w.-]*\.(?i:[a-z]{{2,}})/)(?!@){_END}"
    # A hyphen or a slash makes it a part of another name (`DeepSeek-R1`, `R1-Zero`), unless the other tag is there.
    alone = "|".join(map(re.escape, tags_alone)) or "(?!)"
    after_tag = "".join(rf"|(?<=\b{re.escape(tag)}[/-])" for tag in tags_alone)
    alone = (
        rf"(?:{_BEGIN}(?<!\w[.-])(?<![@#$/\\=&+]){after_tag})(?P<alone>{alone})"
        rf"(?!\.\w|[@$\\=&+]|[/-](?!(?:{alone})\b)\w){end}"
    )
    letter = rf"{_BEGIN}(?<![.&/+@#$\\=-])(?P<letter>{'|'.join(letters) or '(?!)'})(?![&/+@$\\=-]|\.\w){end}"
    name = rf"{_BEGIN}(?P<name>{'|'.join(name_patterns) or '(?!)'})(?!/(?:{'|'.join(letters) or '(?!)'})\b){end}"
    return re.compile(f"(?P<url>{_URL})|{turn_id}|{tag}|{name}|{alone}|{letter}")


# A letter or a tag alone: \0 stands for it in the words around it


_MASKS = {"id": "1.x.x", "tag": "[Xx - ", "name": "Xx", "alone": "Xx", "letter": "A"}
"""The placeholder for each name that was found, the same for both sides, used while the context of another one is
examined."""
_CONTEXT_LENGTH = 40
"""Characters on either side that are looked at."""
_SIGN = re.compile(r"\0[*_]*\s*(?:[=≈≥≤±∈]|of\s+[-−]?0?[.,]\d)")
"""A sign of mathematics, or a fraction, after a variable."""
_ADVERB = (
    r"(?!(?:ally|anomaly|assembly|bully|costly|daily|deadly|early|elderly|family|fly|friendly|hourly|likely|lively|"
    r"monopoly|monthly|orderly|quarterly|rally|reply|supply|timely|unlikely|weekly|yearly)\b)[a-z]+ly"
)
"""A word in -ly, but for nouns and adjectives: `A family: four people` begins with an article."""
_ARGUES = re.compile(
    rf"\0[*_]*\s+(?:{_ADVERB}\s+)?(?:(?:admit|answer|argue|assert|cite|claim|concede|contend|defend|describe|ignore|"
    r"object|offer|propose|raise|state)(?:s|e?d)|sa(?:ys|id)|repl(?:ies|ied)|writes|wrote)\b"
)
_CLAUSE = re.compile(r"\b(?i:an?|any|every|no|that|the|this)\s+(?:[\w-]+\s+){1,2}\0")
"""A noun before a side that argues: `the plan A proposed`."""
_BEFORE_TAG = re.compile(
    r"\b(?i:chip|device|group|model|option|phase|product|reference|register|release|requirement|resistor|route|row|"
    r"sample|series|site|stage|step|table|type|variant|version|zone)s?\s+(?:Xx\s+(?:and|or|to|versus|vs\.?)\s+)?\0"
)
"""A noun before a tag, or before the first of two, that makes it a label."""
_BEFORE_LETTER = re.compile(
    r"\b(?i:annex|appendix|class|equation|exhibit|fig(?:ure)?\.?|grade|group|hepatitis|influenza|plan|schedule|section|"
    r"series|table|tier|type|vitamin)s?\s+(?:(?:[A-Z],\s+)*[A-Z],?\s+(?:and|or|to|versus|vs\.?)\s+)?\0"
)
"""A noun before a letter, or before the first of several, of which names are known beyond a debate."""
_PROPER_NAME = re.compile(
    r"(?:[\w,;’')]\s+(?!Xx|Opening|Constructive|Challenge|Rebuttal|Closing|Judge)[A-Z][a-z]\w*|"
    r"\b[A-Z]?[a-z]+[A-Z]\w*|\b(?!It|That|Here|What)[A-Z]\w*['’]s)\s+\0"
)
"""A name before a tag, of which it is a part: `DeepSeek R1`, `the Canon R1`."""
_OTHER_LETTER = re.compile(
    r"\b(?i:an?|straight)\s+[*_]*\0|\w\((?:A\|)?\0|"  # `an A`, `P(A)`
    r"\0[*_]*\s+(?:cells?|flat|lymphocytes?|m(?:aj|in)or|models?|movies?|paper|rating|shares|virus(?:es)?|vitamins?)\b|"
    r"\0(?:,?\s+(?:and|or)|,)\s+(?:A(?:,?\s+(?:and|or)|,)\s+)?[C-HJ-Z]\b(?!['’.])|"  # `A, B and C`
    r"\b(?!Xx)[A-Z][a-z]+\s\0\.\s+[A-Z][a-z]|"  # `John A. Smith`
    r"\0\.\s+[A-Z][\w'’-]+(?:\s+\(|\s+et\s+al\b|\s+and\s+[A-Z]|,?\s+\d{4})"  # `A. Smith et al.`
    r"|(?:^|\n)[\s>*_#(-]*\0[.)]"  # the head of a row
)
_NAME_BEFORE = re.compile(
    rf"\0[*_]*\s+(?:(?:likely|{_ADVERB})\s+)?(?!(?:means|news|lens|bias|series|species|can of|will to|might is)\b)(?:"
    r"(?:again|also|and|are|as|at|but|can(?:not)?|could|did|from|gave|had|has|however|in|instead|is|itself|may|might|"
    r"must|never|nor|now|on|only|or|said|saw|shall|should|since|so|still|than|that|then|therefore|though|thus|to|was|went|"
    r"versus|vs|were|where|whereas|which|while|who|whose|will|with|won|would|yet|does|goes|says|[a-z]+n['’]t|"
    rf"{_ADVERB}(?=:)|[a-z]+[^aiosu']s|(?!one|once|eu)[aeio][a-z]+)(?![\w'’-])|"
    r"(?:[a-z]+ed|beat|began|broke|built|chose|drew|found|grew|held|kept|left|lost|made|met|misread|paid|put|ran|sent|"
    r"spoke|told|took|withdrew|wrote)(?:\s*(?:[.,;:!?)]|\Z)|\s+[*_]*(?:[A-Z]\d*+(?![\w'’-])|"
    rf"(?:{_ADVERB}|about|against|all|an?|any|at|both|by|each|every|for|from|her|his|how|in|into|it|its|less|many|more|"
    r"much|my|no|none|nothing|on|only|our|some|that|the|their|them|these|this|those|three|to|two|upon|what|whether|why|"
    r"with|your)(?![\w'’-]))))"
)
"""Words that follow a name at the beginning of a sentence, mostly verbs. An article has a noun or an adjective after
it, which is seldom one of these, and no vowel."""
_WORD_AFTER = re.compile(r"\0[*_]*\s+[A-Za-z']")
_WITHIN = re.compile(rf"[a-z0-9)\]’”\"'%][,;]?{_GAP}[\"“‘'(\[*_]*\0[*_]*\s+[a-z']")


@lru_cache(maxsize=10_000)
def _names_a_side(kind: str, before: str, after: str) -> bool:
    """Whether a tag or a letter that was found alone between these words names a side."""
    around, at = f"{before}\0{after}", len(before)
    noun = _BEFORE_TAG if kind == "alone" else _BEFORE_LETTER
    if _SIGN.match(around, at):
        return False
    argues = _ARGUES.match(around, at) is not None
    if noun.search(around) and not (argues and _CLAUSE.search(around)):
        return False
    if kind == "alone":
        return argues or _PROPER_NAME.search(around) is None
    if _WORD_AFTER.match(around, at) and not (_NAME_BEFORE.match(around, at) or _WITHIN.search(around)):
        return False
    return not _OTHER_LETTER.search(around)
