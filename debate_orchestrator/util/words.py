"""The words of texts that are compared, and whether a text holds those of a quote in a row.

Nothing is dropped that a reader sees as a word. A word is a run of letters, their marks and digits, also with an
apostrophe between two letters ("won't", "l'eau"); or a figure (`util.figures`); or symbols in a row, with the
punctuation that touches them (`!=`). Symbols are those of Unicode, the signs that are read aloud (`&`, `@`, `%`,
`\u00a7`), `!` before a letter, and whatever is shown and no letter by its category.

Only what stands between words may differ: white space, punctuation, dashes, marks of emphasis. So may case, the kinds
of quotation marks and apostrophes, unseen characters, and letters that Unicode encodes twice. But what no white space
and no long dash parts is joined, whatever stands between ("non-toxic", "(un)safe"), and so is what a hyphen ends
("non- toxic"). Joined words are held only where they are joined, and a quote neither begins nor ends between them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator

from debate_orchestrator.util.figures import ALONE, CHUNK, figure, fold_case, join_figures
from debate_orchestrator.util.sanitize import UNSEEN

_LETTER = rf"[^\W\d_{ALONE}\uac00-\ud7a3]"
"""A letter that an apostrophe may stand beside within a word. In Korean it is always a quotation mark."""
_APOSTROPHE = re.compile(
    rf"(?<={_LETTER})['\u2018\u2019\u02bc\u02b9\u2032\u00b4\u05f3](?={_LETTER})"
    r"|(?<=[\u05d0-\u05ea])[\"\u201c\u201d\u05f4](?=[\u05d0-\u05ea])"  # abbreviations in Hebrew
)
APOSTROPHE = "\u02bc"
"""What stands for an apostrophe within a word: Unicode has it for a letter."""
_READ_ALOUD = "&@#%\u2030\u2031\u066a\u0609\u060a\u00a7\u204a\u2e52"
_QUOTATION_MARKS = "`\u00b4"
"""Symbols that are used as quotation marks."""
_QUOTES = "'\"\u2032\u2033\u2034\u2035\u2036\u05f3\u05f4\u055a"
"""Those that are no brackets by their category."""
_LETTERS_BY_USE = "\u104c\u104d\u104e\u104f\u17d8"
"""Words of Burmese and Khmer that are punctuation by their category."""
_APOSTROPHES = r"['\"\u2018-\u201f\u02bc\u02b9\u2032\u2035\u00b4`\u05f3\u055a]"
_PARTING = re.compile(r"(?!-)(?s:.)*\s(?s:.)*")
"""What parts two words: white space, but not behind a hyphen."""
_SPLIT = re.compile(rf"\s*{_APOSTROPHES}\s*")
_REMAINDERS = {"t", "s", "d", "ll", "re", "ve", "m"}
"""What stands behind an apostrophe in English, also where blanks set it off."""
_NOTE = re.compile(r"\[(?=[0-9]{1,3}\])")
_JOINT = "\n"
"""What stands between joined words, instead of a blank."""
_STRUCK = re.compile(r"~~|(?<![\w/:])~(?=\w)[^~\n]*(?<=\w)~(?!\w)")


class _Kinds(dict[int, str]):
    """Maps a character to its kind: `w` a letter or digit, `m` a mark, `a` a letter of a script without spaces, `s` a
    symbol, `p` and `!` what belongs to a symbol that it touches, `,` what does so before one, `(` an opening bracket, a
    space for what only separates."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if char in _READ_ALOUD:
            kind = "s"
        elif char in _LETTERS_BY_USE:
            kind = "a"
        elif char == "!":
            kind = "!"
        elif category in ("Po", "Pd") and char not in _QUOTES:
            kind = "," if char in ".,;:?" else "p"
        elif category == "Ps":
            kind = "("
        elif category[0] in "PZ" or category == "Cc" or char in _QUOTATION_MARKS or UNSEEN.match(char):
            kind = " "
        elif category[0] == "M":
            kind = "m"
        elif category[0] in "LN":
            kind = "a" if re.match(f"[{ALONE}]", char) else "w"
        else:
            kind = "s"
        self[code] = kind
        return kind


_KINDS = _Kinds()
_WORD = re.compile("am*|[wm]+|(?<![p,!])(?:[p,!]*+s[p!]*+)++|s|(?<!!)!++(?=[wma(])|(?<= )!(?= s)")


class Words:
    """The words of a text in order, and where they stand in it."""

    def __init__(self, text: str):
        self.source = _APOSTROPHE.sub(APOSTROPHE, join_figures(text))
        """What the words were taken from."""
        self.spans: list[tuple[int, int]] = []
        self.words: list[str] = []
        kinds = self.source.translate(_KINDS)
        joined: list[str] = []
        previous = 0, 0
        for start, end, word in _parts_of(self.source, kinds):
            alone = not self.words or "a" in (kinds[previous[0]], kinds[start])
            joined += [" " if alone or _are_parted(self.source, previous[1], start, word) else _JOINT, word]
            previous = start, end
            self.spans.append((start, end))
            self.words.append(word)
        self.text = "".join(f" {word}" for word in self.words) + " "
        """The words, with blanks around each."""
        self.joined_text = "".join(joined) + " "
        """The same with another sign than a blank before each word that is joined to the one before it."""
        self.starts: list[int] = []
        """Where each word, with its blank, begins in `text`."""
        length = 0
        for word in self.words:
            self.starts.append(length)
            length += len(word) + 1

    def __len__(self) -> int:
        return len(self.words)

    def places(self, part: Words, begin: int = 0) -> Iterator[int]:
        """The words from `begin` on where those of `part` stand in a row, joined as they are there, and whole: they
        begin and end no word in the middle, as "toxic" does in "non-toxic"."""
        while begin < len(self) and (place := self.joined_text.find(part.joined_text, self.starts[begin])) >= 0:
            yield (first := self.word_at(place))
            begin = first + 1

    def holds(self, part: Words) -> bool:
        """Whether the words of `part` stand here in a row, joined as they are there, and whole."""
        return part.joined_text in self.joined_text

    def word_at(self, place: int) -> int:
        """The number of the word at a place of `text`."""
        return max(0, bisect_right(self.starts, place) - 1)

    @property
    def are_struck(self) -> bool:
        """Whether the text holds marks that strike words out where it is shown as markdown."""
        return _STRUCK.search(self.source) is not None


def _are_parted(source: str, end: int, start: int, word: str) -> bool:
    """Whether what stands between two words keeps them apart: white space, or the bracket of a note's number."""
    if _SPLIT.fullmatch(source, end, start) and word in _REMAINDERS:
        return False
    return _PARTING.fullmatch(source, end, start) is not None or (
        start > end and _NOTE.match(source, start - 1) is not None
    )


def _parts_of(source: str, kinds: str) -> Iterator[tuple[int, int, str]]:
    """Where each word of a text begins and ends, and how it is compared."""
    at = 0
    for chunk in CHUNK.finditer(source):
        if number := figure(chunk[0]):
            yield from _plain_words(source, kinds, at, chunk.start())
            yield chunk.start(), chunk.end(), number
            at = chunk.end()
    yield from _plain_words(source, kinds, at, len(source))


def _plain_words(source: str, kinds: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    for match in _WORD.finditer(kinds, start, end):
        yield match.start(), match.end(), fold_case(source[match.start() : match.end()])
