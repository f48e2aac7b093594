"""Looks for quotes in a text, word for word.

Quote and text are brought into one form. Only typography may differ: white space, the kinds of quotation marks,
apostrophes and dashes, emphasis in pairs, unseen characters, superscript and subscript digits, ligatures, letters that
Unicode encodes twice, and the case of the first letter. Everything else is compared as it is, with its case and
punctuation.

A line ends a paragraph or an item of a list. A quote continues after one only where a sentence ends. A blank line ends
a heading or a cell, and no quote continues after it.

Footnote markers, as in "word[3]", are none of the words: they are kept beside the words, with their places. A quote
may leave them out; if it has one, the text must have it too. After a figure, a unit, an abbreviation or a short word a
number in brackets may be a part of it ("10[6]", "CO[2]"), so that it is one of the words there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from typing import NamedTuple

from debate_orchestrator.util.sanitize import INVISIBLE, normalize_unicode

UNSPACED_SCRIPTS = (
    "\u0e00-\u0e3e\u0e40-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff\u1000-\u103f\u104a-\u108f\u109a-\u109f\u1780-\u17da"
    "\u17dc-\u17df\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts that set no spaces between words, without their digits."""
SUPERSCRIPT, SUBSCRIPT = "^", "\u02c5"
"""The signs written before superscript and subscript letters and digits."""
MAX_PLACES = 1_000
"""Places of a part of a quote at which it is checked whether all of it is there."""
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
    | {"\u2015": "\u2014", "\u2026": "...", "\u2044": "/", "\u05f3": "'", "\u05f4": '"'}
    | {chr(code): normalize_unicode(chr(code), "NFKC") for code in range(0xFB00, 0xFB07)}
)
_SUPERSCRIPTS = re.compile(
    "(?:(?<=\\S) (?=[\u00b2\u00b3\u00b9\u2070-\u207f]+(?!\\w)))?[\u00b2\u00b3\u00b9\u2070-\u207f]+"
)
_SUBSCRIPTS = re.compile("[\u2080-\u208e\u2090-\u209c]+")
FOOTNOTE_NUMBERS = r"\d{1,3}(?: ?[,;\u2013-] ?\d{1,3})*"
"""The number of a footnote, or those of several."""
_FOOTNOTES = re.compile(
    rf"(?<=[^\s(\[\]])(?:\[(?:(?:note )?{FOOTNOTE_NUMBERS}|\^\d{{1,3}}|[abc]|citation needed)\])+"
    rf"(?:(?![\w\[])|(?=[{UNSPACED_SCRIPTS}]))",
    re.IGNORECASE,
)
"""Footnote markers after a word or a sentence, without a space. Text in brackets by itself is a word."""
_TYPED_FOOTNOTE = re.compile(rf"(?<=[^\s(\[\]]) ?\[(?={FOOTNOTE_NUMBERS}\])")
"""The beginning of a footnote marker, which some write after a space."""
_MAY_HAVE_EXPONENT = re.compile(
    r"(?:\d[\"')\]]*[.,;:!?]?[\"')\]]*|[)}|^*\u02c5\u2032]|"
    r"(?<![^\W\d_'])(?:[kcdmn\u00b5\u03bc]?m|ft|yd|mi|in|sec|ha|kg|mol|sin|cos|tan|log|ln|exp|(?![aAI])[A-Za-z\u0370-\u03ff])\.?)\Z"
)
"""The text that a number in brackets may be an exponent of."""
_YEAR = re.compile(r"(?<![\d.,])[12]\d{3}[\"')]*[.,;:]?[\"')]*\Z")
_UNIT = re.compile(r"\w*met(?:er|re)s?|miles?|foot|feet|yards?|inch(?:es)?|hours?|seconds?", re.IGNORECASE)
_EMPHASIS = re.compile(r"(?<![\w*_`])([*_]{1,3}|`)(?=[^\W\d_][^\s\d*_`])([^*_`\n]*[^\s\d*_`(\[]{2})\1(?![\w*_`])")
"""A pair of marks around words of two letters or more. The operators of a formula are not such marks."""
_DASHES = re.compile(r"(?<=[^\W\d_]{2})--(?=[^\W\d_]{2})")
_SENTENCE_END = re.compile("""([.!?]["')\\]]?(?:\\[[\\w ,;^-]{1,40}\\])*)\n(?=["'(]?[^\\W\\d_]{2})""")
_SENTENCE_END_ALONE = re.compile("(?<=[\u3002\uff01\uff1f\u300d\u300f])\n(?!\n)")
_BLANK_ALONE = re.compile(f"(?<=[{UNSPACED_SCRIPTS}\u3001-\u3003\uff01-\uff1f]) (?=[{UNSPACED_SCRIPTS}])")
_BULLET = re.compile(r"\A\s*[-*+\u2022\u00b7]\s+(?=[\"'(\[*_`]{0,3}[^\W\d_]{2})")
"""The mark of an item that is neither a number nor a formula, so that it is not a minus."""
_BEGINS_BLOCK = re.compile(r"\s*(?:[-*+\u2022\u00b7]\s|\d{1,2}[.)]\s|#{1,6}\s|\||(?:```|~~~|[-*_=]{3}))")
_HEADING = re.compile(r"\A\s*#{1,6}\s+")
_BLOCK_QUOTE = re.compile(r"\A\s*(?:>\s?)+(?=[\"'(\[*_`]{0,3}[^\W\d_]{2}|\s*\Z)")
"""The marks of a block quote, which are not signs of a figure."""
_STRUCK = re.compile(r"~~|(?<![\w/:])~(?=\w)[^~\n]*(?<=\w)~(?!\w)")
_CELLS = re.compile(r"(?<=\S)(?:[^\S\t]*\t\s*|\s{3,}|(?<![.!?])(?<![.!?][\"')\u201d\u2019])\s{2})(?=\S)")
"""The separator of the cells of a line of plain text: a tab, or two spaces that are not after a sentence."""
_NUMBERED = re.compile(r"\A(\d{1,2}[.)])\s+")
_KEY = re.compile(r"[^:]{1,40}:\s+\S")
_CLOSE_COMMA = re.compile(r",(?=\S)(?!(?<=\d,)\d)")
"""A comma that is not written as in a sentence or a figure."""
_QUOTATION_MARKS = "\"'\u00ab\u00bb"
_STOPS = ".\u0964\u0965\u06d4"
"""Full stops of scripts that put spaces between sentences."""

_WIDE_PUNCTUATION = "\u3001\u3002\uff0c\uff1a\uff1b\uff01"
_PUNCTUATED = re.compile(rf"[{_QUOTATION_MARKS}{_STOPS},;:!?\u2026{_WIDE_PUNCTUATION}\uff1f\u300d\u300f]\Z")
_BEFORE = re.compile(
    rf"(?:(?<![^\s-][-\u00ac\uff0d\u2e17])[\s\u2014]|[{_WIDE_PUNCTUATION}\u300c\u300e\uff08])[{_QUOTATION_MARKS}(\[\u00bf\u00a1\u2022]*\Z"
)
"""The text before the first word of a quote must not be an unfinished word or its hyphen."""
_AFTER = re.compile(
    rf"(?:[{_QUOTATION_MARKS})\]{_STOPS},;:!\u2020*]|(?<=\d[.,;:!?])(?:\[\d{{1,3}}\])+)*(?:[\s\u2014]|[{_WIDE_PUNCTUATION}\u300d\u300f\uff09])"
)
"""The text after the last word. The words of a question are not a statement, so a question mark is excluded."""
_SKIPPED = r"(?:[^\w?(\[]|\[[^\[\]?]{1,20}\]|\([^()?]{1,20}\)|[\[(](?=[?!]))*"
"""Whatever has no word between the last word and the mark: punctuation, emoji and notes in brackets."""
_ASKS = re.compile(
    rf"(?:[\u304b\u306e\u5417\u55ce\u5462]|\sm[i\u0131u\u00fc]\w{{0,6}})?{_SKIPPED}"
    "[?\uff1f\u061f\u203d\u2047-\u2049\u2753\u2754\u2e2e\u055e\u1367]"
)
"""The mark of a question, in any script, after the last word and a particle that asks."""
_ASKS_IN_GREEK = re.compile(f"{_SKIPPED};")
_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]{2}")
_MAX_SENTENCE = 500
"""Characters of a sentence that are looked at."""
_GOES_ON = re.compile(r"\s?n?['\"\u00b4`\u2032\u2035\u055a]\s?(?:t|s|d|ll|re|ve|m)\b", re.IGNORECASE)
"""A continuation of the last word, as in "can 't" and "could n't"."""
_UNSPACED_LETTER = re.compile(f"[{UNSPACED_SCRIPTS}]")
_BEGINS = re.compile(r"(?:(?<!\d)[!?;]\s|[\u3002\uff01\uff1f\uff1b])[\"'(]*\Z")
"""The beginning of a sentence, right before a figure. A full stop may be that of an abbreviation: "approx. 5"."""
_ENDS = re.compile(r"\n?\Z|;(?:[\"')]|\[\d{1,3}\])*\s(?!\d)|,\s(?=[^\W\d_]{2})|[\u3002\uff1b]")
"""The end of the text or a clause, right after a figure."""
_ENDS_SENTENCE = re.compile(r"\.(?:[\"')]|\[\d{1,3}\])*\s(?!\d)")
_ENDS_TEXT = re.compile(r"\.(?:[\"')]|\[\d{1,3}\])*\n?\Z")
_MAY_BE_ORDINAL = re.compile(r"(?<![\d.,'])\d{1,3}\Z")
"""A figure that is an ordinal with a full stop after it, as in "19. Jahrhundert"."""
_SIGN_BEFORE = re.compile(r"[^\w\s.,;:!?\"'()\[\]\u2014]\s?\Z")
_SIGN_AFTER = re.compile(r"\s?[^\w\s.,;:?)\]\u2014]")
"""Characters that may make another term of a single letter: `n!`, `f'`."""
_NEIGHBOURS = 30
"""Characters beside a quote that are looked at."""


def paragraphs(text: str) -> str:
    """A plain text, which may be markdown, with each paragraph, item, heading and cell on a line of its own, as the
    text of a page has them. Lines within a paragraph are joined, but not digits at the end and the beginning of two,
    nor the rows of a table."""
    lines = text.split("\n")
    unquoted_lines = [_BLOCK_QUOTE.sub("", line, count=1) for line in lines]
    is_row_pair = [False, *(_are_rows(*pair) for pair in pairwise(unquoted_lines)), False]
    pieces, joins, quoted, follows_block = [""], False, False, False
    for index, line in enumerate(lines):
        joins = joins and quoted == (unquoted_lines[index] != line) and not _BEGINS_BLOCK.match(unquoted_lines[index])
        quoted = unquoted_lines[index] != line
        is_heading = _HEADING.match(unquoted_lines[index]) is not None
        line_text = _HEADING.sub("", _BULLET.sub("", unquoted_lines[index], count=1), count=1).strip()
        if re.match(r"[-*+]\s", line_text):
            line_text = f"\u2022{line_text[1:]}"  # no minus
        joins = joins and not (pieces[-1][-1:].isdigit() and line_text[:1].isdigit())
        if line_text:
            cells = _CELLS.split(_NUMBERED.sub(r"\1 ", line_text))
            is_block = is_heading or len(cells) > 1 or is_row_pair[index] or is_row_pair[index + 1]
            pieces += ["\n\n" if is_block or follows_block else " " if joins else "\n", "\n\n".join(cells)]
            follows_block = is_block
        joins = bool(line_text)
    return "".join(pieces[2:])


def _are_rows(line: str, other: str) -> bool:
    """Whether two lines have the form of rows of a table: a key and a value, or as many separators."""
    if _KEY.match(line) and _KEY.match(other):
        return True
    if any(0 < line.count(separator) == other.count(separator) for separator in "|;"):
        return True
    is_sentence = other.lstrip()[:1].islower() and not _CLOSE_COMMA.search(line)
    return 0 < line.count(",") == other.count(",") and not is_sentence


def comparable(text: str) -> str:
    """A text whose lines are blocks, in the form in which texts are compared."""
    text = normalize_unicode(INVISIBLE.sub("", text), "NFC").translate(_TYPOGRAPHY)
    text = _SUPERSCRIPTS.sub(lambda run: _on_line(run, SUPERSCRIPT), text)
    text = _SUBSCRIPTS.sub(lambda run: _on_line(run, SUBSCRIPT), text)
    text = "\n".join(" ".join(line.split()) for line in text.strip().split("\n"))
    text = _DASHES.sub("\u2014", _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text)))
    text = text.replace(" \u2014 ", " - ").replace(" -- ", " - ")
    text = re.sub("\n+", "\n", _SENTENCE_END_ALONE.sub("", _SENTENCE_END.sub(r"\1 ", text)))
    return _BLANK_ALONE.sub("", text)


def _on_line(run: re.Match[str], sign: str) -> str:
    """Superscript or subscript characters as they are written on a line."""
    plain = normalize_unicode(run[0].strip()).translate(_TYPOGRAPHY)
    before, after_run = run.string[max(0, run.start() - 1) : run.start()], run.string[run.end() : run.end() + 1]
    if sign == SUBSCRIPT and before.isalpha() and plain.isdecimal() and not after_run.isdigit():
        return plain  # CO\u2082
    closed = after_run.isalnum() or not re.fullmatch(r"[-+]?\w+", plain)
    return f"{sign}{plain}{sign if closed else ''}"


class FootnotedText(NamedTuple):
    """A comparable text without footnote markers, and these markers."""

    text: str
    footnotes: Mapping[int, str]
    """The markers, by the number of characters before them."""


def without_footnotes(text: str) -> FootnotedText:
    """A comparable text and, beside it, the footnote markers in it."""
    pieces, footnotes, length, begin = list[str](), dict[int, str](), 0, 0
    for match in _FOOTNOTES.finditer(text):
        before = text[max(0, match.start() - _NEIGHBOURS) : match.start()]
        if not re.search("note|citation", match[0].lower()) and not is_before_footnote(before):
            continue
        pieces.append(text[begin : match.start()])
        length, begin = length + len(pieces[-1]), match.end()
        footnotes[length] = match[0].lower().replace("note ", "").replace(" ", "")
    return FootnotedText("".join([*pieces, text[begin:]]), footnotes)


def may_have_exponent(before: str) -> bool:
    """Whether a number after a text may be an exponent of its end, as in "10[6]"."""
    return _MAY_HAVE_EXPONENT.search(before) is not None and _YEAR.search(before) is None


def is_before_footnote(before: str) -> bool:
    """Whether a number in brackets after a text is a footnote marker, and no part of its last word."""
    word = re.split(r"[\W\d_]", before)[-1]
    if not before or may_have_exponent(before) or _UNIT.fullmatch(word):
        return False
    if unicodedata.category(before[-1]) in ("Lo", "Mn", "Mc") or _PUNCTUATED.search(before) or _YEAR.search(before):
        return True
    return len(word) >= 4 and word[1:] == word[1:].lower()


def quote_variants(quote: str) -> tuple[str, ...]:
    """A quote as it is written, and with each number in brackets as a footnote marker."""
    return tuple(dict.fromkeys((quote, _TYPED_FOOTNOTE.sub("[note ", quote))))


def comparable_quote(quote: str) -> FootnotedText:
    """A quote, or a part of one, in the same form, without quotation marks around it and punctuation at its end."""
    # A quote is shown as it was written, so that each of its characters counts, also at the beginning of a line.
    text = comparable("\n".join(" ".join(block.split()) for block in re.split(r"\n[^\S\n]*\n", quote)))
    footnoted = without_footnotes(_unquoted(_unquoted(text).rstrip(f"{_STOPS},;: ")))
    return FootnotedText(footnoted.text.rstrip(f"{_STOPS},;: "), footnoted.footnotes)


def _unquoted(text: str) -> str:
    while len(text) > 1 and text[0] in _QUOTATION_MARKS and text[-1] in _QUOTATION_MARKS:
        text = text[1:-1].strip()
    return text


_RUN = re.compile(rf"[{UNSPACED_SCRIPTS}]|[^\s{UNSPACED_SCRIPTS}]+(?:\w[^\s{UNSPACED_SCRIPTS}]*)?")
"""A run of characters between spaces. It is a word if it has a letter or a digit."""
_OF_WORD = re.compile(rf"[\w{UNSPACED_SCRIPTS}]")


def words_of(text: str) -> list[str]:
    """The words of a comparable text with their punctuation; each letter of a script without spaces is one."""
    return [run for run in _RUN.findall(text) if _OF_WORD.search(run)]


def word_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    runs = _RUN.finditer(text, start, min(end, len(text)))
    return [run.span() for run in runs if _OF_WORD.search(run[0])]


def is_struck(quote: str) -> bool:
    """Whether a quote has marks that strike words out if it is shown as markdown."""
    return _STRUCK.search(quote) is not None


class Place(NamedTuple):
    """The place of a part of a quote."""

    start: int
    end: int
    whole: bool
    """Whether no word or figure at an end of it goes on."""


class SearchedText:
    """A text whose lines are blocks, in which quotes are looked for."""

    def __init__(self, text: str):
        self.text, self.footnotes = without_footnotes(f"\n{comparable(text)}\n")

    def find(self, part: FootnotedText, begin: int = 0) -> Place | None:
        """The place of a comparable part of a quote from `begin` on: the first place where it is whole, or else the
        first of all; None if it is not there."""
        first = None
        for start in islice(self._starts(part, begin), MAX_PLACES):
            place = Place(start, end := start + len(part.text), self._is_whole(start, end))
            if place.whole:
                return place
            first = first or place
        return first

    def _starts(self, footnoted: FootnotedText, begin: int) -> Iterator[int]:
        """The places of a part with its footnotes, its first letter in either case."""
        part, footnotes = footnoted
        # "the" is "The", but "mW" is not "MW".
        initials = {part[:1].lower(), part[:1].upper()} if part[1:2].islower() else {part[:1]}
        place = self.text.find(part[1:], begin + 1) if len(part) > 1 else -1
        while place >= 0:
            has_footnotes = all(
                self.footnotes.get(place - 1 + at, "").startswith(footnote) for at, footnote in footnotes.items()
            )
            if has_footnotes and self.text[place - 1] in initials:
                yield place - 1
            place = self.text.find(part[1:], place + 1)

    def with_neighbours(self, span: tuple[int, int]) -> tuple[int, int]:
        """A place in the text with the word before it and the one after."""
        start, end = span
        before = word_spans(self.text, max(0, start - _NEIGHBOURS), start)
        after = word_spans(self.text, end, end + _NEIGHBOURS)
        return before[-1][0] if before else start, after[0][1] if after else end

    def with_whole_words(self, start: int, end: int) -> str:
        """The text at a place, with the rest of the words at its ends."""
        before = re.split(r"\s", self.text[max(0, start - _NEIGHBOURS) : start])[-1]
        after = re.split(r"\s", self.text[end : end + _NEIGHBOURS], maxsplit=1)[0]
        return f"{before}{self.text[start:end]}{after}"

    def _is_whole(self, start: int, end: int) -> bool:
        before, after = self.text[max(0, start - _NEIGHBOURS) : start], self.text[end : end + _NEIGHBOURS]
        words = words_of(self.text[start:end]) or [""]
        first, last = words[0], words[-1]
        begins = _BEFORE.search(before) or _are_unspaced_letters(before[-1:], self.text[start])
        ends = (
            not _GOES_ON.match(after)
            and not _ASKS.match(after)
            and not (_ASKS_IN_GREEK.match(after) and self._is_in_greek(end))
            and (_AFTER.match(self.text, end) or _are_unspaced_letters(self.text[end - 1], after[:1]))
        )
        return bool(begins and ends and _begins_whole(first, before, start == 1) and _ends_whole(last, after))

    def _is_in_greek(self, end: int) -> bool:
        """Whether the sentence that goes on to a place has a Greek word."""
        sentence = re.split(r"[.!;]\s|\n", self.text[max(0, end - _MAX_SENTENCE) : end])[-1]
        return _GREEK.search(sentence) is not None


def _are_unspaced_letters(char: str, other: str) -> bool:
    """Whether two letters are side by side and one of them is of a script without spaces."""
    letters = all(unicodedata.category(char)[0] in "LMN" for char in char + other)
    return letters and bool(_UNSPACED_LETTER.match(char) or _UNSPACED_LETTER.match(other))


def _begins_whole(word: str, before: str, begins_text: bool) -> bool:
    if any(map(str.isnumeric, word)):
        return begins_text or _BEGINS.search(before) is not None
    return not _is_letter(word) or not _SIGN_BEFORE.search(before)


def _ends_whole(word: str, after: str) -> bool:
    if any(map(str.isnumeric, word)):
        stop = _ENDS_TEXT if _MAY_BE_ORDINAL.search(word.rstrip(_QUOTATION_MARKS)) else _ENDS_SENTENCE
        return bool(stop.match(after) or _ENDS.match(after))
    return not _is_letter(word) or not _SIGN_AFTER.match(after)


def _is_letter(word: str) -> bool:
    """Whether a word is a single letter, which may be a term of a formula."""
    letters = "".join(filter(str.isalnum, word))
    return len(letters) == 1 and letters not in ("a", "A", "I") and not _UNSPACED_LETTER.match(letters)
