"""Who a line of a transcript names: a speaker, a side, a round, a kind of turn.

People write `### Claude (Pro)`, `**FOR:**`, `Opening Statement — Researcher A`, `Round 2: Rebuttals`. Nothing is
guessed in here: a word that names neither side, round nor kind of turn is a name, and what it is the name of is
for `transcripts` to find out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from debate_orchestrator.speech import one_line

LONGEST = 80
"""Characters that a label may have; what is longer is a sentence."""

_SIDES = {
    "a": "pro|for|a|affirmative|aff|proposition|government|in favou?r|yes|supporting|proponent",
    "b": "con|contra|against|b|negative|neg|opposition|opposed|no|opposing|opponent",
}
_ROLE = r"(?:the )?(?:arguing |argues |argued )?(?:speaker|debater|side|team|model|researcher|participant|agent)?"
_AFTER = r"(?: (?:side|speaker|team|debater|(?:of |to )?the (?:motion|proposition|resolution)|it))?"
_SIDE = {side: re.compile(rf"{_ROLE} ?(?:{words}){_AFTER}", re.IGNORECASE) for side, words in _SIDES.items()}
_NUMBERED = re.compile(r"(?:speaker|debater|side|team|model|researcher|participant|agent) ([12])", re.IGNORECASE)
_TURN = re.compile(
    r"(?:(?:first|second|third|opening|closing|final|main|initial|concluding|forced|cross|counter)[ -]?)*"
    r"(?:statement|argument|rebuttal|response|reply|challenge|constructive|speech|remark|turn|closing|opening"
    r"|conclusion|divergence|examination|summation|summary|case)s?(?: \d{1,2})?",
    re.IGNORECASE,
)
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ROUND = re.compile(
    rf"round (\d{{1,3}}|{'|'.join(_NUMBERS)})(?: ?(?:of|/) ?(?:\d{{1,3}}|{'|'.join(_NUMBERS)}))?\b", re.IGNORECASE
)
_BETWEEN = re.compile(r"\s+[—–|-]+\s+|\s*[:：|]\s+|\s+by\s+", re.IGNORECASE)
_ASIDE = re.compile(r"[(\[]([^()\[\]]{1,40})[)\]]")
_WORD_BEGINS = re.compile(r"[\w(\[]")
_OTHERS = re.compile(
    r"(?:the )?(?:judge|moderator|host|chair|chairperson|narrator|audience|referee)\b.*", re.IGNORECASE
)


class Label(NamedTuple):
    """What a heading or the beginning of a paragraph names."""

    name: str
    """A name that is none of the rest; empty where there is none."""
    side: str | None
    title: str
    """The kind of turn, such as Opening Statement."""
    round: int | None
    word: str = ""
    """The word that tells the side, as it is written."""

    @property
    def speaks(self) -> bool:
        """Whether it may name a speaker at all."""
        return bool(self.name or self.side)


def read(text: str) -> Label:
    """What a label names. A side is `a` (for) or `b` (against)."""
    said = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", one_line(text))  # a link's words
    said = re.sub(r"\*+|`+|(?<!\w)_++|(?<!_)_++(?!\w)", "", said)
    sides: list[str] = []
    words: list[str] = []

    def taken(aside: re.Match[str]) -> str:
        if (found := side(aside[1])) is None:
            return aside[0]
        sides.append(found)
        words.append(aside[1].strip())
        return " "

    said = " ".join(_ASIDE.sub(taken, said).split())
    names, titles, numbers = [], [], []
    for part in _BETWEEN.split(said):
        bare = _trimmed(part)
        if opening := _ROUND.match(bare):
            word = opening[1].lower()
            numbers.append(_NUMBERS.index(word) + 1 if word in _NUMBERS else int(word))
            bare = re.sub(r"^[^\w(\[]+", "", bare[opening.end() :])
        if not bare:
            continue
        who, turn = _apart(bare)
        titles += [turn] if turn else []
        if who and (found := side(who)) is not None:
            sides.append(found)
            words.append(who)
            names += [who] if _NUMBERED.fullmatch(who) or " " in who else []
        elif who:
            names.append(who)
    agreed = sides[0] if sides and len(set(sides)) == 1 else None
    word = words[0] if agreed else ""
    return Label(" — ".join(names), agreed, ", ".join(titles), numbers[0] if numbers else None, word)


def _trimmed(part: str) -> str:
    """What is left of a part of a label between its first and its last word."""
    first = _WORD_BEGINS.search(part)
    end = next((n for n in range(len(part), 0, -1) if part[n - 1] in "_)]" or part[n - 1].isalnum()), 0)
    return part[first.start() : end] if first else ""


def _apart(said: str) -> tuple[str, str]:
    """A speaker and a kind of turn that stand beside each other: `Pro Rebuttal`, `Claude's Opening Statement`."""
    if _TURN.fullmatch(said):
        return "", said
    who, _, rest = said.partition(" ")
    if side(who) is not None and _TURN.fullmatch(rest):
        return who, rest
    owned = re.fullmatch(r"(.+?)['’]s? (.+)", said)
    if owned and _TURN.fullmatch(owned[2]):
        return owned[1], owned[2]
    return said, ""


def side(said: str) -> str | None:
    """The side that these words mean, and nothing besides."""
    words = one_line(said).strip(" .:")
    if numbered := _NUMBERED.fullmatch(words):
        return "ab"[int(numbered[1]) - 1]
    return next((one for one, pattern in _SIDE.items() if pattern.fullmatch(words)), None)


def is_other(name: str) -> bool:
    """Whether a name is that of somebody who takes no side: a judge, a moderator."""
    return bool(_OTHERS.fullmatch(name))


def key(name: str) -> str:
    """What two ways to write one name have in common."""
    return " ".join(re.findall(r"\w+", name.casefold())) or name


_PAIRS = (("for", "against"), ("pro", "con"), ("pro", "contra"), ("a", "b"), ("yes", "no"))
_EVERYDAY = {word for pair in _PAIRS for word in pair}


def is_pair(one: str, other: str) -> bool:
    """Whether these may be what one document calls its two sides. Everyday words (`no`, `for`) go by pairs, since
    any sentence may begin with one."""
    said = {key(one), key(other)}
    return not said & _EVERYDAY or any(said == set(pair) for pair in _PAIRS)


BOLD, ALONE, PLAIN = "bold", "alone", "plain"
"""How a line may begin with a label: `**FOR:** ...`, `**FOR**` and nothing else, `FOR: ...`."""
_BEGINNINGS = {
    BOLD: re.compile(r"(\*\*|__)(?P<label>[^*]{1,80}?)(?:[:：]\s*\1|\1\s*[:：])[ \t]*(?P<rest>.*)"),
    ALONE: re.compile(r"(\*\*|__)(?P<label>[^*]{1,80}?)\1[ \t]*(?P<rest>)"),
    PLAIN: re.compile(r"(?P<label>[\w(\[][^:：*]{0,59})[:：](?:[ \t]+|$)(?P<rest>.*)"),
}
_ABOUT = re.compile(
    r"(?:topic|motion|resolution|question|title|date|format|rounds?|participants?|speakers?|models?|debaters?|judges?"
    r"|strictness|judge strictness|rounds completed|winner|word limit|note|position|position [ab])",
    re.IGNORECASE,
)
_LOOKS = re.compile(
    r"[\s>*_`#+(\[\"'“‘\d.)|-]*+(?P<label>\w[^:：*]{0,59}?)[*_`)\]\"'”’|]*?\s*"
    r"(?P<end>[:：]|(?<=\s)[—–-]+\s|\*\*|__|$)"
)


class Beginning(NamedTuple):
    """How a line begins."""

    style: str
    text: str
    """The label as it is written."""
    rest: str


def beginning(line: str) -> Beginning | None:
    """The label that a line begins with, whatever it is that it names."""
    for style, pattern in _BEGINNINGS.items():
        if found := pattern.fullmatch(line):
            return Beginning(style, found["label"].strip(), found["rest"])
    return None


def is_about(text: str) -> bool:
    """Whether a label is one of those that tell something about the debate and nobody's words."""
    return bool(_ABOUT.fullmatch(text))


def semblance(line: str) -> tuple[str, bool] | None:
    """What could pass for a label at the beginning of a line, in whatever marks it stands (a list, a quotation,
    italics), and whether a colon follows it."""
    said = line.strip()[:160]
    found = _LOOKS.match(said)
    if found is None or (found["end"] in ("**", "__") and not said.startswith(found["end"])):
        return None
    return found["label"].strip(), found["end"] in (":", "：")


class Participants(NamedTuple):
    """What stands before the first speech."""

    topic: str | None
    positions: dict[str, str]
    sides: dict[str, str]
    """Key of a name to its side."""
    names: dict[str, str]
    """Side to the name as it is written."""


_TOPIC = re.compile(r"(?:debate )?(?:topic|motion|resolution|question|proposition|statement)", re.IGNORECASE)
_STANCE = re.compile(r"(?:(.+) (?:position|stance|thesis)|(?:position|stance|thesis)(?: of)? (.+))", re.IGNORECASE)


def participants(lines: Iterable[str]) -> Participants:
    """Topic, sides and positions as the lines before the first speech give them."""
    made = Participants(None, {}, {}, {})
    for line in lines:
        plain = re.sub(r"^\s*(?:[-*+]\s+|\d+[.)]\s+|>\s*)?", "", line).strip()
        bare = re.sub(r"\*\*|__", "", plain)
        what, colon, value = bare.partition(":")
        value = value.strip()
        if colon and value and _TOPIC.fullmatch(what.strip()):
            made = made._replace(topic=made.topic or value)
        elif colon and value and len(what) <= LONGEST:
            _take(made, what.strip(), value)
        elif not colon and len(bare) <= LONGEST:
            _enter(made, read(bare))
    return made


def _take(made: Participants, what: str, value: str) -> None:
    """Enters what `what: value` says of a participant."""
    stance = _STANCE.fullmatch(what)
    if stance and (found := side(stance[1] or stance[2])):
        made.positions.setdefault(found, value)
        return
    label, told = read(what), read(value)
    if label.side and label.name and side(label.name) is None:
        _enter(made, label)
        made.positions.setdefault(label.side, value)
    elif label.side:
        sentence = len(value.split()) > 5 or value.endswith((".", "!", "?"))
        if sentence:
            made.positions.setdefault(label.side, value)
        else:
            _enter(made, Label(value, label.side, "", None))
    elif told.side and not told.name:
        _enter(made, Label(what, told.side, "", None))
    else:
        for piece in re.split(r"[,;]|\s+vs\.?\s+|\s+and\s+", " ".join(value.split())):
            _enter(made, read(piece))


def _enter(made: Participants, label: Label) -> None:
    if label.name and label.side and label.side not in made.names:
        made.sides[key(label.name)] = label.side
        made.names[label.side] = label.name


def introduce(made: Participants, labels: Iterable[Label]) -> None:
    """Enters the names that are told with their sides on the way (`Alice (for)`), where that tells one name for each
    side: from then on the name alone is enough."""
    told: dict[str, dict[str, Label]] = {"a": {}, "b": {}}
    for label in labels:
        if label.side and label.name and side(label.name) is None:
            told[label.side].setdefault(key(label.name), label)
    if all(len(names) == 1 for names in told.values()) and told["a"].keys() != told["b"].keys():
        for names in told.values():
            for label in names.values():
                _enter(made, label)
