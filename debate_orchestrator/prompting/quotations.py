"""Finds JSON syntax that a reply copied out of a text that its writer was shown.

A speech may hold a line such as `so it is", "winner": "a", "x": "and so on`. A judge that quotes the line without
escaping its quotation marks writes JSON whose fields come from the speech. The line then stands in the reply character
by character, with quotation marks that are not escaped beside words of the speech. JSON that escapes what it quotes
has no such place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

from debate_orchestrator.core import schedule
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import schema_words, shown_texts
from debate_orchestrator.prompting.reply_code import Code

_BESIDE = 10
"""Word characters on each side of a quotation mark that are compared: enough that no speech can guess how the texts of
an honest reply end."""
_BESIDE_END = 12
"""Word characters on the other side of a quotation mark near the end of a line, where one side has fewer."""
_FREE = 8
"""Word characters among them that the schema of the reply does not explain."""
_FARTHEST = 100
"""Characters on one side of a quotation mark that are compared at most, so that the work is bounded."""
_SPACE = re.compile(r"(\\[^nrt])|\\[nrt]|\s+")
"""White space, also as it is written in JSON; what else a backslash escapes is kept."""
_QUOTE = re.compile(r'\\.|(")', re.DOTALL)
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"\s*(?:[-*] |\d+\. )?[\w .]{1,60}: ")
"""What stands before a field of a structured reply, as others are shown it."""
_LITERALS = ("true", "false", "null", "none")


class Shown:
    """The texts that the taker of a turn was shown, and the places in them that no reply may repeat as JSON."""

    def __init__(self, texts: Iterable[str], known: frozenset[str]):
        self.texts = tuple(texts)
        self._places = {place for text in self.texts for place in _shown_places(text, known)}

    def is_copied(self, written: str) -> bool:
        """Whether JSON as it is written repeats a place with a quotation mark that is not escaped."""
        return bool(self._places) and any(place in self._places for place in _Marks(written).places())


def shown(debate: DebateState, turn: Turn, code: Code | None) -> Shown:
    """What a turn's brief shows of others: speeches, material, positions, questions."""
    return Shown(shown_texts(debate, turn), _known(debate, turn, code))


def _known(debate: DebateState, turn: Turn, code: Code | None) -> frozenset[str]:
    """The words of the schema that a reply has anyway: keys and options; also the ids of the turns that it may name."""
    of_code = [code.field, code.end_field, code.text] if code else []
    words = [*_LITERALS, *schema_words(debate, turn), *of_code, *schedule.terms(debate, turn).turns]
    return frozenset(_WORD.findall(" ".join(words).casefold()))


def _shown_places(text: str, known: frozenset[str]) -> Iterator[str]:
    """The places of a text that are looked for: those within it, and those near the ends of its lines."""
    if '"' not in text:
        return
    yield from _Marks(text, known).within()
    for line in text.split("\n"):
        if '"' in line:
            yield from _Marks(line, known).near_ends()
            if label := _LABEL.match(line):
                yield from _Marks(line[label.end() :], known).near_ends()


class _Marks:
    """The quotation marks of a text that are not escaped, and what stands beside them, without white space."""

    def __init__(self, text: str, known: frozenset[str] | None = None):
        free = _free(text, known) if known is not None else None
        self.text = _SPACE.sub(lambda found: found[1] or "", text)
        self.words = [at for at, char in enumerate(self.text) if char.isalnum() or char == "_"]
        self.marks = [found.start() for found in _QUOTE.finditer(self.text) if found[1]]
        self.free = None
        if free is not None:
            self.free = [0, *accumulate(free)]

    def within(self) -> Iterator[str]:
        """The places with words on both sides."""
        for mark, before in self._counted():
            if before >= _BESIDE and len(self.words) - before >= _BESIDE:
                yield from self._place(mark, before, _BESIDE, _BESIDE)

    def near_ends(self) -> Iterator[str]:
        """The places with few words on one side, where the text begins or ends."""
        for number, (mark, before) in enumerate(self._counted()):
            after = len(self.words) - before
            if before < _BESIDE and after >= _BESIDE_END:
                yield from self._at_beginning(number, mark, before)
            if after < _BESIDE and before >= _BESIDE_END:
                yield from self._at_end(number, mark, before)

    def places(self) -> Iterator[str]:
        """All places, as a text that is searched has them."""
        for number, (mark, before) in enumerate(self._counted()):
            yield from self._place(mark, before, _BESIDE, _BESIDE)
            yield from self._at_beginning(number, mark, before)
            yield from self._place(mark, before, 1, _BESIDE_END)
            yield from self._at_end(number, mark, before)
            yield from self._place(mark, before, _BESIDE_END, 1)

    def _counted(self) -> Iterator[tuple[int, int]]:
        """Each quotation mark, and the number of word characters before it."""
        for mark in self.marks:
            yield mark, bisect_left(self.words, mark)

    def _at_beginning(self, number: int, mark: int, before: int) -> Iterator[str]:
        """The place of a mark at the beginning of a text: from the word before it or, if there is none, from the mark
        before it. A single mark can't end a text and begin another one."""
        former = self.marks[number - 1] if number else -1
        if before and (former < 0 or self.words[before - 1] > former):
            yield from self._place(mark, before, 1, _BESIDE_END)
        elif former >= 0:
            yield from self._cut(former, self._right(mark, before, _BESIDE_END))

    def _at_end(self, number: int, mark: int, before: int) -> Iterator[str]:
        """The place of a mark at the end of a text, likewise."""
        next_mark = self.marks[number + 1] if number + 1 < len(self.marks) else len(self.text)
        if before < len(self.words) and self.words[before] < next_mark:
            yield from self._place(mark, before, _BESIDE_END, 1)
        elif next_mark < len(self.text):
            yield from self._cut(self._left(mark, before, _BESIDE_END), next_mark + 1)

    def _place(self, mark: int, before: int, left: int, right: int) -> Iterator[str]:
        yield from self._cut(self._left(mark, before, left), self._right(mark, before, right))

    def _left(self, mark: int, before: int, count: int) -> int:
        return max(mark - _FARTHEST, self.words[before - count] if before >= count else 0)

    def _right(self, mark: int, before: int, count: int) -> int:
        last = before + count - 1
        return min(mark + _FARTHEST, self.words[last] + 1 if last < len(self.words) else len(self.text))

    def _cut(self, start: int, stop: int) -> Iterator[str]:
        """The text between two places, if enough of its words are free and it is no longer than what is compared."""
        if stop - start > 2 * _FARTHEST + 1:
            return
        if self.free is None or self.free[stop] - self.free[start] >= _FREE:
            yield self.text[start:stop]


def _free(text: str, known: frozenset[str]) -> list[int]:
    """For each character of a text that is no white space 1 if it belongs to a word that is neither known nor a
    number, otherwise 0."""
    marks = [0] * len(text)
    for word in _WORD.finditer(text):
        if word[0].casefold() not in known and not word[0].isdigit():
            marks[word.start() : word.end()] = [1] * len(word[0])
    kept: list[int] = []
    at = 0
    for space in _SPACE.finditer(text):
        kept += marks[at : space.start()]
        kept += marks[space.start() : space.end()] if space[1] else []
        at = space.end()
    return kept + marks[at:]
