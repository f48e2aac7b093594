"""Mirrors a debate: the side that argued as A is shown as B, in names, tags, turn ids and structured replies.

A judge who judges the arguments alone finds for the same position in the mirrored debate. Mirroring it once more gives
back the original. Positions, and words such as Pro and Con that belong to them, stay with the side that argues them.
What a source says stays word for word: verified quotes, and fields of a reply that hold words of a page. So do
addresses of pages; in code, only turn ids, tags in brackets and names of several words are exchanged.

A tag names its side in brackets (`[R1 - ROUND 1 - OPENING]`) and alone (`R1 is right`). Where names end in a letter
(`Debater A`), speakers also use the letter alone. Either may be something else: `R2 = 0.91`, `the model R1`,
`A broker`, `plan B`. The words around it decide. They are read with every name, tag and letter of both sides made the
same, so that the decision is the same in the mirrored text. If a tag means something else at one place of a text, it
does so throughout, except where it is the subject of a verb of arguing (`R1 concedes`). A tag that is also a word of
the topic or a position never names a side unless it is in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from itertools import accumulate, chain
from operator import add
from typing import Any, Literal, TypeVar

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
        self._pattern, self._in_code, self._series = _patterns(
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
        """A text in which each side goes by the other's name, in turn ids and tags too, but for verified quotes,
        addresses and code."""
        matches = list(self._pattern.finditer(text))
        ends = [0, *(match.end() for match in matches)]
        gaps = [text[end : match.start()] for end, match in zip(ends, matches, strict=False)]
        stand_ins = [_SAME_FOR_BOTH.get(match.lastgroup or "", match[0]) for match in matches]
        rest = text[ends[-1] :]
        neutral = "".join([*chain(*zip(gaps, stand_ins, strict=True)), rest])
        neutral_ends = accumulate(map(len, map(add, gaps, stand_ins)))
        uses = [
            _use(match.lastgroup, neutral, end - len(stand_in), end)
            for match, stand_in, end in zip(matches, stand_ins, neutral_ends, strict=True)
        ]
        if self._series.search(neutral) or any(
            (match.lastgroup, use) == ("alone", "other") for match, use in zip(matches, uses, strict=True)
        ):
            uses = ["other" if use == "unsure" else use for use in uses]
        words = [match[0] if use == "other" else self._word(match) for match, use in zip(matches, uses, strict=True)]
        return "".join([*chain(*zip(gaps, words, strict=True)), rest])

    def _word(self, match: re.Match[str]) -> str:
        """What is found, as the other side's."""
        found = match[0]
        match match.lastgroup:
            case "code":
                return self._in_code.sub(self._word, found)
            case "id":
                other = self.side(found[-1].lower())
                return found[:-1] + (other.upper() if found[-1].isupper() else other)
            case "tag":
                return f"[{self._tags[found[1:-3]]} - "
            case "alone":
                return self._tags[found]
            case "letter":
                return self._letters[found]
            case "name":
                return self._name(found)
        return found

    def _name(self, name: str) -> str:
        words = name.split()
        other = self._names[" ".join(words)]
        gaps = [*re.findall(r"\s+", name), ""]
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


_URL = r"(?i:https?://|(?<![\w.@-])(?:[a-z0-9-]+\.)+[a-z]{2,}/)[^\s<>]*"
_CODE = (
    r"(?P<code>(?m:^)[>\t ]*(?P<fence>`{3,}|~{3,})[^`\n]*\n(?:[\s\S]*?\n[>\t ]*(?P=fence)|[\s\S]*\Z)"
    r"|(?<!`)(?P<ticks>`{1,3}+)(?!`)(?:(?!\n[^\S\n]*\n)[\s\S])*?(?<!`)(?P=ticks)(?!`))"
)
"""A block of code, to the end of the text if it is never closed, or code within a line."""


@lru_cache(maxsize=16)
def _patterns(
    names: tuple[str, ...],
    tags: tuple[str, ...],
    tags_alone: tuple[str, ...],
    sides: tuple[str, ...],
    letters: tuple[str, ...],
    verified: str,
) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """The patterns of what is exchanged in a text, of what is in code, and of the tags of a longer series (`R3`)."""
    quote = f"(?P<quote>{f'<{verified}>[^<]*+</{verified}>' if verified else '(?!)'})"
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
    in_code = [turn_id, tag, *([name] if all(" " in name for name in names) else [])]
    stems = {tag.rstrip("0123456789") for tag in tags_alone}
    series = rf"(?<![^\W_]){re.escape(stems.pop())}\d" if len(stems) == 1 else r"(?!)"
    return (
        re.compile(f"{quote}|(?P<url>{_URL})|{_CODE}|{turn_id}|{tag}|{name}|{alone}|{letter}"),
        re.compile("|".join(in_code)),
        re.compile(series),
    )


# A letter or a tag alone


_SAME_FOR_BOTH = {"code": "`x`", "id": "1.x.x", "tag": "[Xx - ", "name": "Xx", "alone": "Xx", "letter": "A"}
"""What stands for each kind of find while the words around another are read."""
_CONTEXT_LENGTH = 40
"""Characters on either side that are looked at."""
_LABEL = re.compile(
    r"\b(?<!\bits )(?<!\bthis )(?<!\bthat )(?<!\blast )(?<!\bfirst )(?<!\bsecond )"
    r"(?i:annex|appendix|building|categor(?:y|ies)|chip|class|cohort|column|compan(?:y|ies)|device|equation|exhibit|"
    r"fig(?:ure)?\.?|firm|grade|group|hepatitis|influenza|item|level|list|model|option|paper|part|patient|phase|plan|"
    r"product|question|reference|register|release|requirement|resistor|row|sample|scenario|schedule|section|series|site|"
    r"stage|step|table|team|tier|type|variant|version|vitamin|zone)s?\s+"
    r"(?:(?:[A-Z][a-z]?(?:\(\w+\))?,\s+)*[A-Z][a-z]?(?:\(\w+\))?,?\s+(?:and|or|to|versus|vs\.?)\s+)?\Z"
)
"""A noun before the letter, or before the first of several, that makes it a label."""
_ARTICLE = re.compile(r"\b(?:an?|the|adjusted|every|each|straight)\s+[*_]*\Z", re.IGNORECASE)
_OF_A_SIDE = re.compile(
    r"(?:['’]s)?[*_]*\s+(?:side|team|arguments?|case|claims?|closing|opening|point|position|rebuttal|speech|turn)\b"
)
"""Nouns after a side: `the R1 argument`, `R1's case`."""
_ARGUES = re.compile(
    r"[*_]*\s+(?:[a-z]+ly\s+)?(?:(?:admit|answer|argue|assert|claim|concede|contend|ignore|object|state)(?:s|ed)|"
    r"sa(?:ys|id)|repl(?:ies|ied)|writes|wrote)\b"
)
_SIGN = re.compile(r"[*_]*\s*[=≈≥≤±∈]")
"""A sign of mathematics after a variable."""
_VALUE = re.compile(
    r"[*_)]*(?:\s*[:(<>~]\s*|\s+(?:(?:of|is|was|at|above|below|around|exceed(?:s|ed))\s+)?(?:about\s+|only\s+)?)"
    r"[-−]?0?[.,]\d+(?!\d|\s+points?\b)"
)
"""A number below one after what is a quantity. A higher one may be a side's points."""
_NOUN = re.compile(
    r"[*_]*\s+(?:cells?|checkpoints?|flat|lymphocytes?|m(?:aj|in)or|models?|movies?|paper|rating|release|shares|value|"
    r"virus(?:es)?|vitamins?|weights)\b"
)
"""Nouns that a letter or a tag makes a kind of: `memory B cells`, `R1 weights`."""
_OTHER_LETTERS = re.compile(r"(?:,?\s+(?:and|or)|,)\s+(?:A(?:,?\s+(?:and|or)|,)\s+)?[C-HJ-Z]\b(?!['’.])")
"""More letters of a list that is not one of two sides: `A, B and C`."""
_INITIAL = re.compile(r"\.\s+[A-Z][\w'’-]+(?:\s+\(|\s+et\s+al\b|\s+and\s+[A-Z]|,?\s+\d{4})")
_MIDDLE_INITIAL = re.compile(r"\b(?!Xx)[A-Z][a-z]+\s\Z")
_PROPER_NAME = re.compile(
    r"(?:[\w,;’')]\s+(?!Xx|Opening|Constructive|Challenge|Rebuttal|Closing|Judge)[A-Z][a-z]\w*|"
    r"\b[A-Z]?[a-z]+[A-Z]\w*|\b(?!It|That|Here|What)[A-Z]\w*['’]s)\s+\Z"
)
"""A name before a tag, of which it is a part: `DeepSeek R1`, `the Canon R1`."""
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


def _use(kind: str | None, neutral: str, start: int, end: int) -> Literal["side", "other", "unsure"]:
    """Whether what was found names a side or is something else, by the words around it in a text in which the sides
    have the same names. Only a letter or a tag alone may be something else."""
    if kind not in ("alone", "letter"):
        return "side"
    before, after = neutral[max(0, start - _CONTEXT_LENGTH) : start], neutral[end : end + _CONTEXT_LENGTH]
    argues, of_a_side = _ARGUES.match(after), _OF_A_SIDE.match(after)
    if _LABEL.search(before) or _SIGN.match(after) or (_ARTICLE.search(before) and not of_a_side):
        return "other"
    if kind == "alone":
        if argues or of_a_side:
            return "side"
        is_other = _VALUE.match(after) or _NOUN.match(after) or _PROPER_NAME.search(before)
        return "other" if is_other else "unsure"
    if (
        _NOUN.match(after)
        or _OTHER_LETTERS.match(after)
        or re.search(r"\w\((?:A\|)?\Z", before)
        or _is_initial(before, after)
    ):
        return "other"
    return "side" if _letter_names_a_side(before, after) else "other"


def _is_initial(before: str, after: str) -> bool:
    """Whether a letter is one of a person's name: `John A. Smith`, `A. Smith et al.`."""
    middle = _MIDDLE_INITIAL.search(before) and re.match(r"\.\s+[A-Z][a-z]", after)
    return middle is not None or _INITIAL.match(after) is not None


def _letter_names_a_side(before: str, after: str) -> bool:
    if _POSSESSIVE.match(after) or _NAME_BEFORE.match(after):
        return True
    if re.match(r"[*_]*\s+[A-Za-z']", after):
        return bool(_WITHIN.search(before) and _LOWER_CASE.match(after))
    return not (_LINE_START.search(before) and after[:1] in (".", ")"))
