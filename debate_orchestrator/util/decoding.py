"""Decodes text: drops hidden characters and white space, and decodes escapes. Places can be traced back.

Escapes are those of JSON, Python, JavaScript, C and PHP (`\\u002b`, `\\x2b`, `\\053`, `\\/`), of addresses (`%2B`) and
of HTML (`&#43;`, `&plus;`), also where they were escaped again. Markup that is not shown can be dropped too: the
sequences with which terminals are told of colours, tags of HTML, and a line break that is escaped.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property, partial
from html.entities import html5
from itertools import chain, islice, takewhile
from operator import itemgetter

from debate_orchestrator.util.sanitize import HIDDEN, JOINER

MIN_LENGTH = 8
"""Characters from which on something decoded, or half of something, is looked for."""
_DEPTH = 4
"""How often a text is decoded; escapes that were escaped again in the same way are decoded at once."""
_UNSEEN = f"[{HIDDEN}\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u2400-\u2406\u2408-\u241a\u241c-\u241f\u2421]|{JOINER}"
"""Characters that can't be seen, and the characters that `sanitize` shows for them, except those that may be part of
markup."""
_PICTURES = re.compile("[\u2407\u241b\ufffd]")
"""The other characters that `sanitize` shows. Where markup is dropped, they can't be told from the controls that begin
and end it: U+241B stands for ESC."""
_HEX = "[0-9a-fA-F]"
_BACKSLASH = r"\\{1,8}+"
"""One that may be escaped again. None is given back: what follows it is never one."""
_ESCAPES_BEGIN = "\\%&"
"""What escapes begin with."""
_ESC_NAMED = "(?:u001[bB]|x1[bB]|033|e)"
_ESC = rf"(?:[\x1b\u241b]|{_BACKSLASH}(?:u241[bB]|{_ESC_NAMED}))"
"""The character that begins terminals' sequences: as it is, as `sanitize` shows it, and either in escapes."""
_CSI, _STRING = rf"(?:{_ESC}\[|[\x9b\ufffd])[0-?]{{0,99}}[ -/]{{0,99}}", rf"(?:{_ESC}[]PX^_]|[\x90\x98\x9d-\x9f])"
# A sequence that could hold the beginnings of others would take time that grows with the square of their number.
_STRING += r"[^\x07\x1b\x90\x98\x9b-\x9f\u2407\u241b\\]{0,1000}"
# A sequence ends with ESC and a backslash. Where ESC is written as an escape, that backslash is doubled as often as the
# one of the escape: a further one begins another escape. A picture of ESC may have been escaped less often than the
# backslash behind it. Half of the backslashes then end the sequence where an escape follows, and all of them elsewhere.
_STRING_END = (
    rf"\x1b\\|(?:\u241b|{_BACKSLASH}u241[bB])"
    rf"(?:(?P<half>\\{{1,4}})(?=(?P=half)(?:U{_HEX}{{8}}|[ux]{_HEX}{{2}}|[ux]\{{{_HEX}))"
    rf"|(?<=u241[bB])(?P<two>\\{{2,4}})(?=(?P=two)[0-3][0-7]{{2}})|{_BACKSLASH})"
    rf"|(?P<doubled>{_BACKSLASH}){_ESC_NAMED}(?P=doubled){{1,2}}"
)
_MARKUP = re.compile(
    # Most characters begin none of these.
    rf"(?=[\x1b\u241b\x90\x98\x9b\x9d-\x9f\ufffd<=]|{_BACKSLASH}[uxe0 \t\r\n])(?:"
    rf"{_CSI}[@-~]|{_STRING}(?:[\x07\u2407\x9c]|{_BACKSLASH}(?:u0007|u2407|u009[cC]|x07|007|a)|{_STRING_END})"
    rf"|{_ESC}[ -/]{{0,9}}[0-OQ-WYZ`-~]"
    r"|<[A-Za-z/!?][^<>]{0,1000}>"
    r"|[=\\][ \t]{0,99}(?:\r\n?|\n))"  # a line goes on, in quoted-printable and in shells
)
_OPEN_MARKUP = re.compile(
    rf"(?:{_CSI}|{_STRING}{_ESC}?|{_ESC}[ -/]{{0,9}}|<(?:[A-Za-z/!?][^<>]{{0,1000}})?)?(?:[=\\][ \t]{{0,99}}){{0,3}}\Z"
)
"""Markup that may go on after the end of a text."""
_TAG_BEGINS, _LINE_GOES_ON = re.compile("<[A-Za-z/!?]"), re.compile("=[ \t]{0,99}[\r\n]")
"""How markup begins in a text of ASCII without escapes."""
_MAX_MARKUP_LENGTH = 1_200
_MAX_CROWD = 40_000
"""Characters that the readings of one depth may have together, as far as the end of a text is read in several ways."""
_END_LENGTH = 10_000
"""Characters of a text's end that are looked at first; ordinary text needs no more."""
_MARKUP_BEGINS = f"\x1b\u241b\x90\x98\x9b\x9d\x9e\x9f\ufffd<={_ESCAPES_BEGIN}"
_PERCENT = "%(?:25){0,4}"
_BYTE = rf"(?:{_PERCENT}|{_BACKSLASH}x)"
_AMPERSAND = "&(?:amp;){0,4}"
_NAMES = {
    name: value
    for name, value in html5.items()
    if name.endswith(";") and len(value) == 1 and re.fullmatch(rf"[\x21-\x7e\s]|{_UNSEEN}", value)
}
_BEGINNINGS = "|".join(sorted({name[:size] for name in _NAMES for size in range(1, len(name))}, key=len, reverse=True))


def _escapes(octal: str) -> re.Pattern[str]:
    """What finds escapes, of which those in octal have such digits."""
    return re.compile(
        rf"(?=[%&]|{_BACKSLASH}[^\\])(?:(?P<pair>{_BACKSLASH}u[dD][89abAB]{_HEX}{{2}}{_BACKSLASH}u[dD][c-fC-F]{_HEX}{{2}})"
        rf"|(?:{_BACKSLASH}|{_PERCENT})(?:u(?P<four>{_HEX}{{4}})|[ux]\{{0{{0,9}}(?P<any>{_HEX}{{1,6}})\}}|U(?P<eight>{_HEX}{{8}}))"
        rf"|(?P<bytes>{_BYTE}[c-fC-F]{_HEX}(?:{_BYTE}[89abAB]{_HEX}){{1,3}})|{_BYTE}(?P<byte>{_HEX}{{2}})"
        rf"|{_BACKSLASH}(?:(?P<octal>{octal})|(?P<control>[abfnrtv])|(?P<char>[^\\]))"
        rf"|{_AMPERSAND}(?:#[xX]0{{0,9}}(?P<point>{_HEX}{{1,6}});?|#0{{0,9}}(?P<decimal>\d{{1,7}});?|(?P<name>{'|'.join(_NAMES)})))"
    )


_ESCAPES = {False: _escapes("[0-3][0-7]{2}"), True: _escapes("0?[0-3][0-7]{2}|[0-7]{1,2}")}
"""Escapes as they are read with markup, and without it: `\\55` may be octal, or `55` in the hexadecimal of CSS."""
_BASES = {"four": 16, "any": 16, "eight": 16, "byte": 16, "point": 16, "octal": 8, "decimal": 10}
_INCOMPLETE = re.compile(
    rf"(?:{_BYTE}[c-fC-F]{_HEX}(?:{_BYTE}[89abAB]{_HEX}){{0,2}})?"
    rf"(?:{_PERCENT}(?:2|{_HEX}|u{_HEX}{{0,3}}|x|[ux]\{{0{{0,9}}{_HEX}{{0,6}}|U{_HEX}{{0,7}})?"
    rf"|{_BACKSLASH}(?:x{_HEX}?|u{_HEX}{{0,3}}|[ux]\{{0{{0,9}}{_HEX}{{0,6}}|U{_HEX}{{0,7}}|0[0-3]?[0-7]?|[1-3][0-7]?|[4-7])?)\Z"
    rf"|{_BYTE}[c-fC-F]{_HEX}(?:{_BYTE}[89abAB]{_HEX}){{0,2}}\Z"
    rf"|{_BACKSLASH}u[dD][89abAB]{_HEX}{{2}}(?:{_BACKSLASH}(?:u{_HEX}{{0,3}})?)?\Z"
    rf"|{_AMPERSAND}(?:#(?:[xX]0{{0,9}}{_HEX}{{0,6}}|0{{0,9}}\d{{0,7}})|{_BEGINNINGS}|(?:amp;){{0,4}}(?:a|am|amp)?)?\Z"
)
"""What may be an escape, or another one, depending on what follows."""
_MAX_LENGTH, _ESCAPED = 200, 32
"""Characters of it, and backslashes before it, that matter."""
_Change = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


def _char(found: re.Match[str]) -> str:
    """What an escape stands for."""
    kind, digits = str(found.lastgroup), found[str(found.lastgroup)]
    if kind in _BASES:
        code = int(digits, _BASES[kind])
        return chr(code) if code <= 0x10FFFF else ""
    if kind == "char":
        return digits
    if kind == "name":
        return _NAMES[digits]
    if kind == "pair":
        high, low = (int(half, 16) for half in re.findall(f"u({_HEX}{{4}})", digits))
        return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)
    if kind == "bytes":
        raw = bytes(int(half, 16) for half in re.findall(rf"{_BYTE}({_HEX}{{2}})", digits))
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("latin-1")
    return "\n"


_SPACE = re.compile(r"\s+")
_CLEANED: dict[str, tuple[_Change, ...]] = {
    "": ((re.compile(rf"(?:\s|{_UNSEEN})+"), lambda _: ""),),
    " ": ((re.compile(rf"(?:{_UNSEEN})+"), lambda _: ""), (_SPACE, lambda _: " ")),
}
_AS_IT_IS: _Change = (_PICTURES, lambda _: "")
_BARE: _Change = (_MARKUP, lambda _: "")


def clean(text: str, space: str) -> str:
    """`text` without hidden characters, and with `space` for white space, which is one space or nothing."""
    if not text.isascii() or not text.replace("\n", "").isprintable():
        text = _CLEANED[" "][0][0].sub("", text)
    bare = space.join(text.split())
    if not space or not text:
        return bare
    # The same as a substitution of all white space, in a quarter of its time.
    before, after = text[0].isspace(), text[-1].isspace()
    return f"{space * before}{bare}{space * after}" if bare else space


class _Work(threading.local):
    """What reading texts has taken in this thread."""

    done = 0


WORK = _Work()
"""`WORK.done` grows with each reading by its characters, and by `_A_READING`: by about 8 million in a second."""
_A_READING = 100
"""What a reading takes besides its characters."""


class DecodedText:
    """A decoded text, which can tell where in the first text each of its characters came from."""

    def __init__(self, text: str, source: DecodedText | None = None, changes: tuple[_Change, ...] = ()):
        WORK.done += _A_READING + len(text)
        self.text, self._source, self._changes = text, source, changes
        self.crowded: bool = source is not None and source.crowded
        """Whether other readings were left out, all of which end later: what follows it may be anything."""

    def cut(self, at: int) -> DecodedText:
        """Its beginning."""
        return self if at >= len(self.text) else DecodedText(self.text[:at], self)

    def begin(self, at: int) -> int:
        """The place in the first text at which begins what the character at `at` stands for."""
        return self._place(at, first=True)

    def end(self, at: int) -> int:
        """The place in the first text at which ends what the characters before `at` stand for; `at` is at least 1."""
        return self._place(at - 1, first=False) + 1

    def whole_end(self) -> int:
        """The place in the first text at which ends what all its characters stand for."""
        return self.end(len(self.text)) if self.text else 0

    def _place(self, at: int, *, first: bool) -> int:
        """The first or the last of the characters of the first text that a character stands for."""
        for changed in reversed(self._changed):
            n = bisect_right(changed, at, key=itemgetter(0)) - 1
            if n >= 0:
                _, end, before, after = changed[n]
                at += after - end
                if at < after:
                    at = before if first else after - 1
        return self._source._place(at, first=first) if self._source else at

    @cached_property
    def _changed(self) -> list[list[tuple[int, int, int, int]]]:
        """What each change replaced: where it begins and ends after the change, and before. Most readings are never
        asked."""
        text, changed = self._source.text if self._source else "", list[list[tuple[int, int, int, int]]]()
        for pattern, change in self._changes:
            WORK.done += len(text)
            at, pieces, length, spans = 0, list[str](), 0, list[tuple[int, int, int, int]]()
            for found in pattern.finditer(text):
                pieces += [text[at : found.start()], change(found)]
                length += found.start() - at
                spans.append((length, length := length + len(pieces[-1]), *found.span()))
                at = found.end()
            text = "".join(pieces) + text[at:]
            changed.append(spans)
        return changed


def readings(text: str, space: str, *, bare: bool = False, goes_on: bool = False) -> Iterator[DecodedText]:
    """`text` cleaned, then decoded once and cleaned again, and so on while that changes it. With `bare`, markup is
    dropped too. With `goes_on` more text will follow: then only what is certain by now, once for each way in which the
    end may be markup. Where these are too many, it is the one that ends first, which is `crowded`."""
    changes = (_BARE if bare else _AS_IT_IS, *_CLEANED[space])
    decoded: list[DecodedText | None] = [DecodedText(text)]
    for _ in range(_DEPTH + 1):
        ways = [list(_before_markup(one)) if bare and goes_on else [one] for one in decoded if one]
        # The ways are counted before they are cleaned and decoded, which takes far longer than to tell where they end.
        lengths = [len(way.text) for way in chain(*ways)]
        crowded = len(lengths) > 1 and sum(lengths) > max(_MAX_CROWD, 2 * len(text))
        if crowded:
            ways = [[min(several, key=lambda way: len(way.text))] for several in ways]
        same_depth = {reading.text: reading for reading in (_cleaned(way, space, changes) for way in chain(*ways))}
        if crowded:
            earliest = min(same_depth.values(), key=DecodedText.whole_end)
            earliest.crowded = True
            same_depth = {earliest.text: earliest}
        yield from same_depth.values()
        decoded = [_decoded(reading, bare=bare, goes_on=goes_on) for reading in same_depth.values()]


def _cleaned(reading: DecodedText, space: str, changes: tuple[_Change, ...]) -> DecodedText:
    return DecodedText(clean(changes[0][0].sub("", reading.text), space), reading, changes)


def _before_markup(reading: DecodedText) -> Iterator[DecodedText]:
    """A text that continues, up to each place where markup may begin that is not complete, and as a whole: markup may
    begin within what may be markup, and that may turn out to be none."""
    certain = incomplete(reading.text)
    if certain < len(reading.text):
        yield reading
        reading = reading.cut(certain)  # an escape that continues may be the rest of markup
    text = reading.text
    at = _open_markup(text, len(text) - _MAX_MARKUP_LENGTH)
    complete = [found.span() for found in _MARKUP.finditer(text)] if at < len(text) else []
    while at < len(text):
        if not any(first < at < last for first, last in complete):
            yield reading.cut(at)
        at = _open_markup(text, at + 1)
    yield reading


def _open_markup(text: str, start: int) -> int:
    """Where, from a place on, markup begins that may go on after the end of a text; its end where there is none."""
    found = _OPEN_MARKUP.search(text, max(0, start))
    return found.start() if found else len(text)


def _decoded(reading: DecodedText, *, bare: bool, goes_on: bool) -> DecodedText | None:
    """A reading with its escapes decoded, if it has any."""
    if goes_on:
        reading = reading.cut(incomplete(reading.text))
    if not any(sign in reading.text for sign in _ESCAPES_BEGIN):
        return None
    text = _ESCAPES[bare].sub(_char, reading.text)
    return None if text == reading.text else DecodedText(text, reading, ((_ESCAPES[bare], _char),))


def _all_readings(text: str, space: str, *, goes_on: bool = False) -> Iterator[DecodedText]:
    """The readings of a text with markup and without it, since a secret may have markup in it or stand in it."""
    for bare in (False, True) if _differs_bare(text, goes_on=goes_on) else (False,):
        yield from readings(text, space, bare=bare, goes_on=goes_on)


def _differs_bare(text: str, *, goes_on: bool) -> bool:
    """Whether a text may read otherwise without markup. Most that may hold some has only `<` and `=` of another kind,
    which is seen faster than all markup is looked for."""
    if goes_on or not text.isascii() or any(sign in text for sign in _ESCAPES_BEGIN) or "\x1b" in text:
        return any(sign in text for sign in _MARKUP_BEGINS)
    return ("<" in text and bool(_TAG_BEGINS.search(text))) or ("=" in text and bool(_LINE_GOES_ON.search(text)))


def incomplete(text: str) -> int:
    """Where an escape begins that may go on after the end of a cleaned text; its end where there is none."""
    found = _INCOMPLETE.search(text, max(0, len(text) - _MAX_LENGTH))
    if not found:
        return len(text)
    before = text[max(0, found.start() - _ESCAPED) : found.start()]
    return found.start() - len(before) + len(before.rstrip("\\"))


def _with(text: str, at: int, lost: Iterable[str]) -> int:
    """Where, right before a place, any of these begins, the longest that stands there; that place where none does."""
    return at - max((len(one) for one in lost if text.endswith(one, 0, at)), default=0)


class Search:
    """Strings to be found in a text, with one space or with nothing for white space in both."""

    def __init__(self, space: str, spellings: Collection[str]):
        self._space = space
        read = [(n, reading.text) for spelling in spellings for n, reading in enumerate(readings(spelling, space))]
        # What stands before a spelling may make an escape of its first characters.
        taken = [
            (n, reading.text.strip())
            for spelling in spellings
            for sign in _ESCAPES_BEGIN
            for n, reading in enumerate(readings(sign + spelling, space))
            if n
        ]
        # A sequence for the terminal that stands there without its end takes them.
        rests = {
            clean(_MARKUP.sub("", f"{begin}{spelling}", count=1), space).strip(): spelling
            for spelling in spellings
            for begin in ("\x1b", "\x1b[")
        }
        self._lost = {rest: spelling.removesuffix(rest) for rest, spelling in rests.items()}
        read += [(1, reading) for reading in rests]
        self._spellings = sorted({reading for n, reading in read + taken if len(reading) >= (MIN_LENGTH if n else 1)})
        self._heads = {spelling[:size] for spelling in self._spellings for size in (1, 2, 3)}
        self._longest = max(map(len, self._spellings), default=0)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where any of them begins and ends."""
        for reading in self._readings(text):
            for spelling in (each for each in self._spellings if each in reading.text):
                at = reading.text.find(spelling)
                while at >= 0:
                    after = at + len(spelling)
                    yield _with(text, reading.begin(at), {self._lost.get(spelling, "")}), reading.end(after)
                    at = reading.text.find(spelling, after)

    def begun(self, text: str, half: bool) -> Iterator[int]:
        """Where text begins that may become one of them as it goes on, or that is the larger `half` of one."""
        start = self._end_start(text)
        text = text[start:]
        for reading in self._readings(text, goes_on=True):
            if reading.crowded:
                yield start + reading.whole_end()
            larger_half = half and not reading.crowded
            certain = incomplete(reading.text)
            at = self._begun(reading.text[:certain], larger_half)
            if at < (certain if larger_half else len(reading.text)):
                yield start + _with(text, reading.begin(at), self._lost.values())

    def _end_start(self, text: str) -> int:
        """Where the end of a text begins that decides what has begun: in each reading it is longer than any spelling
        and all markup that may be cut from it, and an escape or markup through which it may begin."""
        enough = self._longest + (_DEPTH + 2) * _MAX_MARKUP_LENGTH
        least = max(_END_LENGTH, enough)
        for size in (least, 2 * least, 8 * least):  # where none is enough, nearly all of it is escapes of nothing
            if size < len(text) and all(
                len(reading.text) >= enough
                for bare in (True, False)
                for reading in readings(text[-size:], self._space, bare=bare)
            ):
                return len(text) - size
        return 0

    def _readings(self, text: str, *, goes_on: bool = False) -> Iterator[DecodedText]:
        return _all_readings(text, self._space, goes_on=goes_on) if self._spellings else iter(())

    def _begun(self, reading: str, half: bool) -> int:
        for at in range(max(0, len(reading) - self._longest + 1), len(reading)):
            if reading[at : at + 3] in self._heads:
                begun = reading[at:]
                alike = islice(self._spellings, bisect_left(self._spellings, begun), None)
                lengths = map(len, takewhile(partial(_goes_on, begun), alike))
                if any(not half or len(begun) >= max(MIN_LENGTH, length / 2) for length in lengths):
                    return at
        return len(reading)


class FragmentSearch:
    """Parts of strings to be found in a text, each part of so many characters."""

    def __init__(self, fragments: Collection[str], length: int = MIN_LENGTH):
        self._fragments, self._length = frozenset(fragments), length

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where those that overlap begin and end. It takes time that grows with the text, however many there are."""
        for reading in _all_readings(text, "") if self._fragments else ():
            read, length = reading.text, self._length
            places = (at for at in range(len(read) - length + 1) if read[at : at + length] in self._fragments)
            for first, last in merged((at, at + length) for at in places):
                yield reading.begin(first), reading.end(last)


def _goes_on(begun: str, spelling: str) -> bool:
    return spelling.startswith(begun)


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in their order, those that overlap made one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first < joined[-1][1]:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined
