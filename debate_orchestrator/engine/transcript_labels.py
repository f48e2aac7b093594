"""Reads labels: the headings, bold words and names that say who speaks for which side in a transcript, and in which
round."""

from __future__ import annotations

import re
from typing import NamedTuple

from debate_orchestrator.util.errors import short_repr
from debate_orchestrator.util.sanitize import normalized, one_line

_MAX_LABEL_LENGTH = 80
_PAIRS = (
    *(("pro", "con"), ("pro", "contra"), ("for", "against"), ("a", "b"), ("yes", "no"), ("affirmative", "negative")),
    *(("proposition", "opposition"), ("government", "opposition"), ("proponent", "opponent"), ("aff", "neg")),
)
_SIDES = {word: side for pair in _PAIRS for side, word in zip("ab", pair, strict=True)}
_SIDE = re.compile(r"(?:the |arguing )?(?:speaker |debater |researcher |side |team )?(\w+)(?: side| team)?")
_NAME_AND_SIDE = re.compile(r"(.*\S) ?\(([^()]*)\)")
_BETWEEN = re.compile(r" [—–-]+ |[:：](?: |$)| (?=\[)")
ROUND = re.compile(r"round (\d{1,3})(?: ?(?:of|/) ?\d{1,3})?\b", re.IGNORECASE)


class Label(NamedTuple):
    """What a heading, a bold label or a JSON entry names."""

    name: str = ""
    """The name before a side in parentheses."""
    word: str = ""
    """The phrase for the side, as written."""
    parts: tuple[str, ...] = ()
    """The rest: the name of a speaker who is known already, or the title of a turn."""
    round: int | None = None

    @property
    def who(self) -> str:
        return self.name or self.word

    @property
    def side(self) -> str | None:
        return _SIDES.get(side_word(self.word))


def key_of(name: str) -> str:
    """What two spellings of one name have in common."""
    return " ".join(re.findall(r"\w+", normalized(name).casefold())) or name


def side_word(phrase: str) -> str:
    """The word for a side in a phrase that holds nothing else, such as `Speaker A`; empty if there is none."""
    found = _SIDE.fullmatch(key_of(phrase))
    return found[1] if found and found[1] in _SIDES else ""


def _is_pair(label: Label, other: Label | None) -> bool:
    """Whether one document may call its sides so: a `No` beside a `Pro` is more likely to begin a sentence."""
    words = {side_word(label.word), side_word(other.word)} if other else set()
    return not words or any(words == set(pair) for pair in _PAIRS)


def read_label(text: str) -> Label:
    """Reads `Alice (Pro)`, `Opening — Alice`, `Round 2: Pro`. A label that names two sides names none."""
    plain = one_line(text.replace("**", "").replace("`", ""))
    name, words, parts, number = "", list[str](), list[str](), None
    for piece in _BETWEEN.split(plain) if len(plain) <= _MAX_LABEL_LENGTH else ():
        found = ROUND.match(piece)
        number = int(found[1]) if found else number
        part = (piece[found.end() :] if found else piece).strip(" -—–_[]")
        if (named := _NAME_AND_SIDE.fullmatch(part)) and side_word(named[2]):
            name = named[1]
            words += [named[2], *([name] if side_word(name) else [])]
        elif part:
            (words if side_word(part) else parts).append(part)
    if len({_SIDES[side_word(word)] for word in words}) > 1:
        return Label(parts=(plain,))
    return Label(name, words[0] if words else "", tuple(parts), number)


class Speakers:
    """Who speaks for which side. The first label of a side settles what its speaker is called."""

    def __init__(self) -> None:
        self.labels: dict[str, Label] = {}
        self.sides: dict[str, str] = {}
        """The key of everything that a side is called, to that side."""

    def names(self) -> dict[str, str]:
        """Side to name; `Speaker A` is none."""
        labels = sorted(self.labels.items())
        return {side: label.name for side, label in labels if label.name and not side_word(label.name)}

    def side_of(self, label: Label) -> str | None:
        """The one side that a label names by a word or by known names; None if it names none, or both."""
        named = {self.sides[key_of(part)] for part in label.parts if key_of(part) in self.sides}
        named |= {label.side} if label.side else set()
        return named.pop() if len(named) == 1 else None

    def title(self, label: Label) -> str:
        """What a label says besides who speaks."""
        return ", ".join(part for part in label.parts if key_of(part) not in self.sides)

    def introduce(self, label: Label) -> str | None:
        """Takes a label that may name a side. Returns what is wrong if the side has another name already."""
        if (side := label.side) is None:
            return None
        known, key = self.labels.setdefault(side, label), key_of(label.who)
        other = self.labels.get("b" if side == "a" else "a")
        for called in (key, key_of(label.word), key_of(f"{label.name} {label.word}")):
            self.sides.setdefault(called, side)
        other_speaker = known if key_of(known.who) != key else None
        if other_speaker is None and (self.sides[key] != side or (known is label and not _is_pair(label, other))):
            other_speaker = other
        advice = "Call each speaker the same everywhere."
        return (
            f"{short_repr(label.who, 40)} does not fit {short_repr(other_speaker.who, 40)}. {advice}"
            if other_speaker
            else None
        )
