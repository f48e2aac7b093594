"""The speeches of a transcript in their order, and the rounds that they belong to."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise, takewhile
from typing import NamedTuple

from debate_orchestrator.core.values import Value
from debate_orchestrator.errors import shown
from debate_orchestrator.reports.markup import Block
from debate_orchestrator.transcripts import attribution
from debate_orchestrator.transcripts.attribution import Label

_RULE = re.compile(r" {0,3}([-*_=])(?:[ \t]*\1){2,}[ \t]*")
PLAINLY = "Make labels bold (`**FOR:** ...`), and put other words before what is none."
ARGUMENT = "Argument"
"""What a speech is called where the document does not say."""


class Speech(Value):
    """One speech, verbatim."""

    side: str
    round: int
    title: str = ARGUMENT
    text: str
    declined: bool = False
    cut: bool = False
    """Whether a limit of length cut it short."""


class Transcript(Value):
    """A debate as it was written down."""

    topic: str | None
    positions: dict[str, str]
    """As far as the document gives them."""
    speakers: dict[str, str]
    """Side to what the document calls its speaker."""
    speeches: tuple[Speech, ...]
    notes: tuple[str, ...] = ()
    """What was assumed, in sentences."""

    @property
    def rounds(self) -> int:
        return max(speech.round for speech in self.speeches)


class Mark(NamedTuple):
    """A line that says what follows it."""

    first: int
    end: int
    """The line at which what follows begins."""
    kind: str
    """`speaker`, `round` or `section`."""
    label: Label
    text: str
    level: int
    rest: str = ""
    """What stands behind the label on its own line."""

    @property
    def called(self) -> tuple[str, str, str]:
        """All that it calls the speaker."""
        return self.text, self.label.name, self.label.word


Fault = tuple[int, str, str, str]
"""What is wrong in a line: the line, what came, what was expected, and a hint."""


def _groups(marks: list[Mark]) -> list[list[Mark]]:
    """The marks of one side, together where they call it the same: by one word alone, by a name with
    one word, or by one name. Words count to the letter."""
    same: dict[str, str] = {}

    def root(key: str) -> str:
        while same.setdefault(key, key) != key:
            same[key] = key = same[same[key]]
        return key

    keys = []
    for mark in marks:
        word, named = mark.label.word, mark.label.name and not attribution.side(mark.label.name)
        keys.append(f"{'with ' if named else ''}={word}" if word else attribution.key(mark.label.name))
        if word and named:
            same[root(keys[-1])] = root(attribution.key(mark.label.name))
    groups: dict[str, list[Mark]] = {}
    for key, mark in zip(keys, marks, strict=True):
        groups.setdefault(root(key), []).append(mark)
    return sorted(groups.values(), key=len, reverse=True)


def misnamed(ones: list[Mark], others: list[Mark]) -> Iterator[Fault]:
    """What is wrong with how two speakers are called: one of them in several ways, or both in ways that can't be
    those of one document. Such a label may be the beginning of somebody's sentence."""
    hint = "Call each speaker the same everywhere, and put other words before what names none."
    for marks in (ones, others):
        most, *rest = _groups(marks)
        for mark in sorted(mark for group in rest for mark in group):
            got = f"{shown(mark.text, 40)}, which may be the side that line {most[0].first + 1} calls"
            yield mark.first, f"{got} {shown(most[0].text, 40)}", "one name for each speaker", hint
    if len(_groups(ones)) == len(_groups(others)) == 1 and not _match(ones, others):
        got = f"{shown(ones[0].text, 40)} (line {ones[0].first + 1}) and {shown(others[0].text, 40)} as speakers"
        yield others[0].first, got, "two names, or two words that are a pair", hint


def is_missed(marks: list[Mark], line: int, whose: Callable[[Mark], str], who: str) -> bool:
    """Whether `who` would have had a turn at this line, which is no mark and in the other's speech: the other speaks
    next, or has spoken more often in this round."""
    at = bisect_left(marks, line, key=lambda mark: mark.first)
    if not at or marks[at - 1].kind != "speaker" or whose(marks[at - 1]) == who:
        return False
    if at < len(marks) and marks[at].kind == "speaker":
        return whose(marks[at]) != who
    before = (marks[n] for n in range(at - 1, -1, -1))
    here = [whose(mark) for mark in takewhile(lambda mark: mark.kind == "speaker", before)]
    return here.count(who) < len(here) - here.count(who)


def _match(ones: list[Mark], others: list[Mark]) -> bool:
    """Whether the marks of two speakers can be those of one document: two names, or two words that are a pair."""
    named = [any(mark.label.name and not attribution.side(mark.label.name) for mark in all) for all in (ones, others)]
    words = [next((mark.label.word for mark in marks if mark.label.word), "") for marks in (ones, others)]
    if all(named):
        return True
    return attribution.is_pair(words[0] or ones[0].label.name, words[1] or others[0].label.name)


def plainly(marks: list[Mark], whose: Callable[[Mark], str], listed: set[str]) -> Iterator[Fault]:
    """What is wrong with plain labels. They are written one way, come again unless they are `listed` as a
    participant's name, and take turns: any words may look like one."""
    speaking = [mark for mark in marks if mark.kind == "speaker"]
    for who in dict.fromkeys(map(whose, speaking)):
        first, *more = [mark for mark in speaking if whose(mark) == who]
        for mark in more:
            if mark.text != first.text:
                got = f"the plain labels {shown(first.text, 40)} (line {first.first + 1}) and {shown(mark.text, 40)}"
                yield mark.first, got, "one name for each speaker", PLAINLY
        if not more and attribution.key(first.label.name) not in listed:
            expected = "each plain label twice or more, or a list of participants"
            yield first.first, f"the plain label {shown(first.text, 40)} just once", expected, PLAINLY
    for one, two in pairwise(marks):
        if one.kind == two.kind == "speaker" and whose(one) == whose(two):
            got = f"the plain label {shown(two.text, 40)} again, and nobody else's since line {one.first + 1}"
            yield two.first, got, "speakers who take turns", PLAINLY


def semblances(
    block: Block, lines: list[str], style: str, marks: set[int], who: dict[str, str]
) -> Iterator[tuple[int, str]]:
    """The lines of a block that look like labels and are none of the `marks`, each with what would be its label.
    `who`: all that speakers are called; `style`: that of the labels."""
    for n in range(block.first, min(block.end, len(lines))):
        if n in marks or not (found := attribution.semblance(lines[n])):
            continue
        text, colon = found
        begun, label = attribution.beginning(lines[n].strip()), attribution.read(text)
        alike = block.kind == "paragraph" and begun is not None and begun.style == style and label.speaks
        stray = alike and not attribution.is_about(text) and (style != attribution.PLAIN or len(text.split()) <= 3)
        apart = colon or block.kind == "heading" or (begun is not None and begun.style == attribution.ALONE)
        sided = label.side is not None or attribution.is_other(label.name)
        if attribution.key(text) in who or (sided and apart) or stray:
            yield n, text


def told(looks: dict[str, list[int]]) -> str:
    """The note on what only looks like labels; label to its lines."""
    texts = [f"{shown(text, 40)} ({_at(lines)})" for text, lines in list(looks.items())[:10]]
    more = f", and {len(looks) - 10} more" if len(looks) > 10 else ""
    return f"What looks like a speaker's label here is taken for words of a speech: {', '.join(texts)}{more}."


def _at(lines: list[int]) -> str:
    more = f" and {len(lines) - 10} more" if len(lines) > 10 else ""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:10]))}{more}"


def bare(said: list[str]) -> str:
    """The lines of a speech, without the rule that may stand below it."""
    while said and (not said[-1].strip() or (_RULE.fullmatch(said[-1]) and len(said) > 1)):
        said.pop()
    first = next((n for n, line in enumerate(said) if line.strip()), len(said))
    return "\n".join(said[first:])


def left_open(lines: list[str], last: Block) -> str:
    """The marks of the code block that a document ends with, if it is never closed."""
    fence = re.match(r" {0,3}(`{3,}|~{3,})", lines[last.first]) if last.kind == "fence" else None
    ends = lines[last.end - 1] if last.end <= len(lines) else ""
    if fence and (last.end - last.first < 2 or not re.fullmatch(rf" {{0,3}}{fence[1]}[`~]* *", ends)):
        return fence[1]
    return ""


class Walk:
    """Goes through the marks of a document and counts its rounds."""

    def __init__(self, refuse: Callable[..., None]):
        self._refuse = refuse
        self._said: list[tuple[int, Mark, Speech]] = []
        """Group, mark, and the speech, whose round is still to be told."""
        self._groups: list[Mark | None] = [None]
        self._part: Mark | None = None
        """A section inside a round."""

    @property
    def _round(self) -> Mark | None:
        """The mark of the round that is on, if rounds are marked."""
        now = self._groups[-1]
        return now if now is not None and now.label.round is not None else None

    def turn_page(self, mark: Mark, said: str) -> None:
        """A heading that names no speaker."""
        begun = self._said or mark.kind == "round" or self._round
        if self._round is not None and mark.kind == "section" and not mark.label.title:
            what = f"the heading {shown(mark.text, 40)} amid the rounds"
            self._refuse(mark.first, what, "a round or a speaker", "Make it no heading, or one below its speaker's.")
        elif begun and said:
            what = f"text under {shown(mark.text, 40)}, which names no speaker"
            self._refuse(mark.end, what, "speeches alone", "Take it out, or put it under its speaker's name.")
        inside = self._round is not None and mark.kind == "section" and mark.level > self._round.level
        self._part = mark if inside else None
        if not inside:
            self._groups.append(mark)

    def speak(self, mark: Mark, side: str, said: str) -> None:
        """A speech."""
        if not said.strip():
            self._refuse(mark.first, f"{shown(mark.text, 40)} without a word", "a speech")
        if mark.label.round is not None and (self._round is None or self._round.label.round != mark.label.round):
            self._groups.append(mark)
            self._part = None
        title = mark.label.title or self._over(mark)
        self._said.append((len(self._groups) - 1, mark, Speech(side=side, round=1, title=title or ARGUMENT, text=said)))

    def _over(self, mark: Mark) -> str:
        """What the headings above a speech call it."""
        over = self._part or self._groups[-1]
        if over is None or over is mark:
            return ""
        named = " — ".join(one for one in (over.label.name, over.label.title) if one)
        return (named or "" if over.label.round is not None else over.text)[: attribution.LONGEST]

    def speeches(self) -> list[Speech]:
        """Every speech with its round."""
        used = list(dict.fromkeys(group for group, *_ in self._said))
        marked = [self._groups[group] for group in used]
        if all(mark is None or mark.label.round is None for mark in marked) and len(used) < 2:
            return _exchanges([speech for *_, speech in self._said])
        self._must_ascend([mark for mark in marked if mark is not None])
        numbers = {group: n for n, group in enumerate(used, start=1)}
        return [speech.model_copy(update={"round": numbers[group]}) for group, _, speech in self._said]

    def _must_ascend(self, marks: list[Mark]) -> None:
        before = None
        for mark in marks:
            now = mark.label.round
            if now is not None and before is not None and now != before + 1:
                self._refuse(mark.first, f"round {now} after round {before}", f"round {before + 1}")
            before = now if now is not None else before


def _exchanges(said: list[Speech]) -> list[Speech]:
    """The speeches of a document without rounds: a new one begins where the first speaker answers."""
    made: list[Speech] = []
    round, heard = 1, set[str]()
    for speech in said:
        if made and speech.side == made[0].side and heard - {speech.side}:
            round, heard = round + 1, set()
        heard.add(speech.side)
        made.append(speech.model_copy(update={"round": round}))
    return made
