"""Tells the object that a judge replies with from one that it quotes.

A speech may hold a filled ballot, and a judge may repeat it to say that it does not count. Two rules keep such a
quotation from being counted. An object is refused if half of its words stand in one text that the judge was shown,
however that text disguises its letters. It is refused too if the rest of the reply holds another object, or gives a
field that decides another value, as `Winner: B` does. What is refused is asked for again.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from debate_orchestrator.core.phases import VOTES
from debate_orchestrator.core.schema import Field, Shape, ShapeContext, fields_asked
from debate_orchestrator.core.values import Value
from debate_orchestrator.prompting.normalize import COUNTED, SYNONYMS, phrase
from debate_orchestrator.util.sanitize import normalized

_WINDOW = 12
"""Characters of a skeleton that are looked for as one: a letter that is changed hides no more than these."""
_ENOUGH = 40
"""Characters of a skeleton that tell whose words they are. The same words in fewer may be chance."""
_MOST_SHORT = 100
"""Texts of less than a window that are looked for."""
_ESCAPED_SPACE = re.compile(r"\\[nrtbf]")
_ESCAPED_CHAR = re.compile(r"\\{1,4}(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
_QUOTED_LINE = re.compile(r"[ \t]{0,40}(?:(?:[-*+]|\d{1,3}[.)])[ \t]{1,40})?>")
_OBJECT = re.compile(r"\{[^{}]{0,2000}:")
_WORD = re.compile(r"[^\W_]+")
_PART = "\0"
_LATIN = re.compile(
    r"(?:LATIN (?:(?:SMALL|CAPITAL) )?LETTER (?:SMALL CAPITAL |SCRIPT |DOTLESS |OPEN )?|INDICATOR SYMBOL LETTER )"
    r"([A-Z])(?: WITH .*)?$"
)
"""The letter in Unicode's name of a character that is a form of it."""
_ALIKE = {
    "a": "4@\u0391\u03b1\u0410\u0430\u0251",
    "b": "8\u0392\u03b2\u0412\u0432\u042c\u044c",
    "c": "\u03c2\u03f2\u0421\u0441",
    "d": "\u0501",
    "e": "3\u0395\u03b5\u0415\u0435\u0454\u0437\u212e",
    "g": "\u0581",
    "h": "\u0397\u041d\u043d\u04bb\u0570",
    "j": "\u03f3\u0458",
    "k": "\u039a\u03ba\u041a\u043a",
    "l": "1i|!\u0399\u03b9\u0406\u0456\u04cf\u01c0",
    "m": "\u039c\u041c\u043c",
    "n": "\u039d\u03b7\u043f\u0578",
    "o": "0\u039f\u03bf\u03c3\u041e\u043e\u0585",
    "p": "\u03a1\u03c1\u0420\u0440",
    "q": "\u051b\u0566",
    "r": "\u0433",
    "s": "5$\u0405\u0455",
    "t": "7\u03a4\u03c4\u0422\u0442",
    "u": "\u03bc\u03c5\u0438\u057d",
    "v": "\u03bd\u0475",
    "w": "\u03c9\u0448\u051d",
    "x": "\u03a7\u03c7\u0425\u0445",
    "y": "\u03a5\u03b3\u0423\u0443",
    "z": "\u0396",
}
"""Letter to what is written like it. Of Latin letters with a hook, of small capitals and of widths Unicode tells."""
_READ_AS = {look: letter for letter, looks in _ALIKE.items() for look in looks}


class _Letters(dict[int, str]):
    """Character to the plain letters that it looks like, without case, accents, punctuation and invisible ones."""

    def __missing__(self, code: int) -> str:
        letters = (self._letter(char) for char in unicodedata.normalize("NFKD", chr(code)))
        self[code] = "".join(letter for letter in letters if letter.isalnum())
        return self[code]

    def _letter(self, char: str) -> str:
        if unicodedata.category(char) in ("Cf", "Mn", "Me"):
            return ""
        found = _LATIN.search(unicodedata.name(char, ""))
        plain = _READ_AS.get(char) or (found[1].lower() if found else char.casefold())
        return "".join(_READ_AS.get(letter, letter) for letter in plain)


_LETTERS = _Letters()


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
    def field_names(self) -> re.Pattern[str]:
        """What finds a key that means one of the fields, once its words are joined."""
        fields = "|".join(re.escape(name) for name in map(_joined, self.names) if name) or "(?!)"
        return re.compile(rf"(?:and|so|the|my|own|final|overall|\d)*(?:{fields})")

    @cached_property
    def values(self) -> dict[str, str]:
        """Phrase to the side or option that it means."""
        options = {option for field in self.fields.values() if field.kind == "choice" for option in field.of}
        meant = {spoken: option for option in options for spoken in (phrase(option), *SYNONYMS.get(option, ()))}
        return meant | {spoken: side for side, own in self.sides.items() for spoken in own if spoken.count(" ") < 3}

    @cached_property
    def choices(self) -> dict[str, Field]:
        """The fields that have one of these values."""
        return {name: field for name, field in self.fields.items() if field.kind == "choice" and not field.per_side}

    @cached_property
    def statement(self) -> re.Pattern[str]:
        """What finds `Winner: B`, `My vote goes to the con side` and `B wins the debate.`, but no plain sentence on a
        side, such as `Verdict: A showed the costs, and B ...`."""
        value = "|".join(map(_spelled, sorted(self.values.keys() - {"a"}, key=len, reverse=True))) or "(?!)"
        value = rf"(?i:{value})" + (r"|A|a(?!\s[^\W\d_])" if "a" in self.values else "")
        value = rf"(?<![^\W_])(?:{value})(?:\s?\([^()\n]{{1,40}}\))?(?![^\W_])(?!['’]s\b)"
        name, fillers = "|".join(map(_spelled, self.choices)) or "(?!)", "|".join(map(_spelled, self.names)) or "(?!)"
        between = rf"(?:[^\w.!?{_PART}]|_|(?<![^\W_])[.!?]|[.!?](?!\s)){{0,40}}+"
        named = rf"(?<![^\W_])(?i:(?P<name>{name})|{_RESULT})(?![^\W_])"
        filler = rf"(?i:{_FILLER}|{fillers})(?![^\W_])"
        return re.compile(
            rf"{named}(?:{between}{filler}){{0,8}}{between}(?P<value>{value}){_VALUE_ENDS}|(?P<winner>{value}){_WINS}"
        )

    @cached_property
    def score(self) -> re.Pattern[str]:
        """What finds `A's scores: 3`."""
        sides = [spoken for spoken, value in self.values.items() if value in self.sides]
        side = "|".join(map(_spelled, sorted(sides, key=len, reverse=True))) or "(?!)"
        label = r"(?:total|overall|final)?\s?(?:scores?|marks?|rating)"
        return re.compile(
            rf"(?<![^\W_])(?P<side>{side})(?:['’]s)?\s{label}\s?(?:[:=]|is|are)\s?(?P<score>\d{{1,9}}(?:\.\d{{1,9}})?)",
            re.IGNORECASE,
        )


NOTHING_ASKED = Asked()
"""For an object of any shape, with which nothing is heard."""
_RESULT = r"winner|victor|victory|verdict|votes?|voted|result|outcome|decision|judge?ment|awarded|award"
_FILLER = (
    r"is|was|are|be|the|my|own|real|actual|true|final|overall|debate|round|of|for|in|to|goes|go|went|this|and|so|must"
    r"|should|side|seat|\d{1,3}"
)
"""Words that may stand between a field and its value."""
_VALUE_ENDS = r"(?=[^\w\s]|\s*(?:\Z|\n)|\s[^\w\s]|\s(?i:because|since|for|by|on|who|which|wins)\b)"
_ASIDE = re.compile(r"\([^()\n]{0,40}\)")
_WINS = (
    r"\s(?i:wins|won|has\ won|prevails|is\ the\ (?:real\ |overall\ |actual\ )?winner)"
    r"(?i:\s(?:of\ )?(?:this|the|round\ \d{1,3}|overall)(?:\s(?:debate|round|match))?)?(?=\s*(?:\Z|[\n.!;]))"
)


def is_own(part: str, text: str) -> bool:
    """Whether the line of a part of a text does not begin with `>`, as a quotation does."""
    return _QUOTED_LINE.match(text, text.rfind("\n", 0, text.find(part)) + 1) is None


def without(part: str, text: str) -> str:
    """What stands beside a part of a text."""
    return f" {_PART} ".join(piece.replace(_PART, " ") for piece in text.split(part))


def is_quoted(ballot: Any, asked: Asked, *, alone: bool) -> bool:
    """Whether a ballot stands in one text that its writer was shown: half of its keys, without which nothing there can
    be quoted as a ballot, and half of its words, in their skeletons. In a ballot
    of few words, and in a reply that is no vote, the fields that decide must stand there too, behind their keys: a
    list may repeat a speaker's words. A ballot without words that is `alone` in its reply may be a second one like it.
    """
    if not isinstance(ballot, dict) or not asked.heard or not asked.terms:
        return False
    texts = [skeleton(text) for text in _texts(asked.fields, ballot, asked.terms)]
    if not any(texts):
        return not alone and any(_holds_pairs(skeleton(text), ballot, asked) for text in asked.heard)
    long = sum(len(text) for text in texts if len(text) >= _WINDOW) >= _ENOUGH
    needs_pairs = not (long and VOTES & set(asked.fields))
    return any(
        _names_keys(heard, ballot)
        and (_share(heard, texts) if long else _short_share(heard, texts)) >= 0.5
        and (not needs_pairs or _holds_pairs(heard, ballot, asked))
        for heard in map(skeleton, asked.heard)
    )


def contradiction(beside: str, ballot: Mapping[str, Any], asked: Asked) -> str:
    """What in the rest of a reply contradicts its ballot: another object, or another value for a field that decides;
    "" if nothing does. `beside` holds `_PART` where the object stood."""
    plain = re.sub(r"\s*\n\s*", "\n", re.sub(r"[^\S\n]+", " ", normalized(_unescaped(beside, "\n"))))
    plain = "".join(char if char.isascii() else _look_alike(char) for char in plain)
    if _OBJECT.search(plain):
        return "another object stands beside it"
    decided = {ballot.get(name) for name in asked.choices if name in VOTES} - {None}
    for found in (*asked.statement.finditer(plain), *asked.statement.finditer(_ASIDE.sub("", plain))):
        value = asked.values.get(phrase(re.sub(r"\(.*", "", found["value"] or found["winner"])))
        name = next((name for name in asked.choices if _joined(name) == _joined(found["name"] or "")), None)
        standing = {ballot.get(name)} if name else decided
        if value and standing and value not in standing:
            return "the words beside it give another result"
    for found in asked.score.finditer(plain):
        marks = (ballot.get("scores") or {}).get(asked.values[phrase(found["side"])])
        numbers = [mark for mark in marks.values() if isinstance(mark, int | float)] if isinstance(marks, dict) else []
        totals = {sum(numbers), round(sum(numbers) / len(numbers), 1)} if numbers else set()
        if numbers and float(found["score"]) not in {*numbers, *totals}:
            return "the words beside it give another score"
    return ""


def extra_keys(value: Any, asked: Asked) -> str:
    """What an object has under keys that are no fields, a line each, to be read like words beside it."""
    if not isinstance(value, dict):
        return ""
    known = set(map(_joined, asked.names))
    extra = [(key, item) for key, item in value.items() if _joined(key) not in known]
    lines = (f"{key}: {item if isinstance(item, str) else _flat(item)}\n" for key, item in extra)
    return "".join(line.replace("{", "(") for line in lines)


def names_field(key: object, fields: re.Pattern[str]) -> bool:
    """Whether a key means one of the fields of `Asked.field_names`."""
    return fields.fullmatch(_joined(str(key)[:80])) is not None


def skeleton(text: str) -> str:
    """The letters and digits of a text as they look, so that two texts that read alike have the same."""
    return normalized(_unescaped(_unescaped(text))).translate(_LETTERS)


def _texts(fields: Mapping[str, Field], value: Any, terms: ShapeContext) -> Iterator[str]:
    """The texts of a record of these fields."""
    for name, field in fields_asked(fields, terms).items():
        item = value.get(name) if isinstance(value, dict) else None
        each = list(item.values()) if field.keys(terms) and isinstance(item, dict) else [item]
        for single in each:
            if field.kind in ("record", "list") and field.fields:
                for record in single if isinstance(single, list) else [single]:
                    yield from _texts(field.fields, record, terms)
            elif field.kind in ("text", "url", "list"):
                yield from (
                    text for text in (single if isinstance(single, list) else [single]) if isinstance(text, str)
                )


def _share(heard: str, texts: list[str]) -> float:
    """How much of the texts a skeleton holds, from 0 to 1: of their characters, or of the texts where that is less,
    since a judge may cite a whole ballot within one of its own texts."""
    windows = [[text[n : n + _WINDOW] for n in range(0, len(text) - _WINDOW + 1, _WINDOW)] for text in texts]
    wanted = {window for own in windows for window in own}
    found = {heard[n : n + _WINDOW] for n in range(len(heard) - _WINDOW + 1) if heard[n : n + _WINDOW] in wanted}
    counts = [(sum(window in found for window in own), len(own)) for own in windows if own]
    characters = sum(held for held, _ in counts) / sum(most for _, most in counts)
    return min(characters, sum(2 * held >= most for held, most in counts) / len(counts))


def _short_share(heard: str, texts: list[str]) -> float:
    few = [text for text in texts if text][:_MOST_SHORT]
    return sum(len(text) for text in few if text in heard) / sum(map(len, few))


def _names_keys(heard: str, ballot: Mapping[str, Any]) -> bool:
    """Whether half of the keys of an object stand in a text's skeleton."""
    keys = [skeleton(key[:80]) for key in ballot]
    return 2 * sum(key in heard for key in keys) >= len(keys)


def _holds_pairs(heard: str, ballot: Mapping[str, Any], asked: Asked) -> bool:
    """Whether a skeleton holds the fields that decide, or all where none does, as keys with the same values."""
    counted = {name for name, field in asked.fields.items() if field.kind in COUNTED}
    names = [name for name in asked.fields if name in counted and ballot.get(name) is not None] or list(asked.fields)
    pairs = [pair for name in names for pair in _pairs(ballot.get(name), skeleton(name))][:_MOST_SHORT]
    return bool(pairs) and all(pair in heard for pair in pairs)


def _pairs(value: Any, key: str) -> Iterator[str]:
    """The first value behind each key, joined to it, in skeletons."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _pairs(item, skeleton(name))
    elif isinstance(value, list):
        yield from _pairs(value[0], key) if value else ()
    elif isinstance(value, int | float | str) and not isinstance(value, bool):
        yield key + skeleton(f"{value:g}" if isinstance(value, float) else str(value))


def _flat(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _look_alike(char: str) -> str:
    """The plain letter that a character looks like; any other character as it is."""
    return _LETTERS[ord(char)].replace("l", "i") or char


def _spelled(name: str) -> str:
    """A pattern for a name whose words may be written apart."""
    return r"[\W_]{1,3}".join(map(re.escape, _WORD.findall(name))) or "(?!)"


def _joined(text: str) -> str:
    """A text as `normalize` compares it, and without spaces: `strongestArgument` means `strongest_argument` too."""
    return phrase(normalized(text)).replace(" ", "")


def _unescaped(text: str, space: str = " ") -> str:
    """A text without the escapes of JSON, HTML and addresses."""
    text = _ESCAPED_CHAR.sub(lambda escape: chr(int(escape[1] or escape[2], 16)), text)
    return unquote(html.unescape(_ESCAPED_SPACE.sub(space, text)))
