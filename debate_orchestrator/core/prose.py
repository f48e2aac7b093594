"""Where a speech in markdown says something itself: outside of code, comments, quotations and lists.

`ends_with` decides whether a speech ends with a reserved line. It reads the text line by line, in time that grows with
its length and no faster, and errs on one side: wherever a reader could take the line for something quoted, shown or
only introduced, it does not count. A line that is not the last one never counts, so that only what is left open
above it matters:

Code         a fence that is not closed, whether it is read with or without the quotation or list around it; four
             columns of indentation; a code span that goes on
Containers   a block quote, list, table or HTML block that the line continues, lazily or by its indentation
HTML         a comment, an instruction or an element that is not closed
Quotations   quotation marks that are not closed, straight, curly, angled or in corners
Sentences    a line above that ends in a colon, a comma, a semicolon or a dash, and so introduces this one
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})(.*)", re.DOTALL)
_AROUND = re.compile(r"(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*")
"""Marks of quotations and lists before what a line of them holds."""
_CONTAINER = re.compile(r"[ \t]*(?:>|[-*+•][ \t]|\d{1,9}[.)][ \t]|\||\[\^|<[A-Za-z/!?])")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^`\n]+)\1(?!`)")
_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]{0,40})(?=[\s/>])(?:[^<>\"']|\"[^\"<>]*\"|'[^'<>]*')*?(/?)>")
_EMPTY = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr", "li", "p", "td", "th", "tr"}
"""Elements that have no end, or may do without one."""
_HIDING = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_INTRODUCES = (":", "：", ",", "，", "、", ";", "；", "—", "–")
_EMPHASIS = re.compile(r"[*_~]+")
_MARKS = {
    char: (name, way)
    for name, opening, closing, either in (
        ("straight", "", "", '"＂'),
        ("curly", "“„‟〝", "”〞〟", ""),
        ("single", "‘‚‛", "’", "'"),
        ("angled", "«", "»", ""),
        ("single angled", "‹", "›", ""),
        ("corner", "「", "」", ""),
        ("white corner", "『", "』", ""),
        ("double angle", "《", "》", ""),
        ("single angle", "〈", "〉", ""),
    )
    for way, chars in ((1, opening), (-1, closing), (0, either))
    for char in chars
}
"""Quotation mark to its kind, and whether it opens (1), closes (-1) or does either."""
_MARK = re.compile(f"[{re.escape(''.join(_MARKS))}]")
_ELISION = re.compile(r"\d|(?:t(?:is|was|were|il)|em|cause|bout|n)\b", re.IGNORECASE)
"""What follows an apostrophe that begins a word: '90s, 'tis."""
_BEFORE = set("([{—–-/:=") | {char for char, (_, way) in _MARKS.items() if way >= 0}
_AFTER = set(")]}—–-/.,;:!?…") | {char for char, (_, way) in _MARKS.items() if way <= 0}
_ONE_WAY = {"corner", "white corner", "double angle", "single angle"}
"""Kinds whose marks look one way, wherever they stand."""


class Fence:
    """The code fence that is open after the lines so far."""

    def __init__(self) -> None:
        self._open = ""

    def __bool__(self) -> bool:
        return bool(self._open)

    def read(self, line: str) -> bool:
        """Takes the next line; whether it is part of a code block, the fences included."""
        found, was = _FENCE.fullmatch(line), self._open
        if found and not was:
            self._open = found[1]
        elif found and found[1].startswith(was) and not found[2].strip():
            self._open = ""
        return bool(was or self._open)


def ends_with(text: str, line: str) -> bool:
    """Whether a text, tame already, ends with that line on a line of its own, and says it itself."""
    *above, last = text.rstrip().split("\n")
    indent = len(last.expandtabs(4)) - len(last.expandtabs(4).lstrip())
    if last.strip() != line or indent >= 4:
        return False
    outer, inner = Fence(), Fence()
    code = [outer.read(one) for one in above]
    for one in above:
        inner.read(one[_AROUND.match(one).end() :])  # type: ignore[union-attr]  # it matches nothing at least
    if outer or inner or _continues(above, code, indented=indent > 0):
        return False
    told = "\n".join(_CODE_SPAN.sub("", one) for one, is_code in zip(above, code, strict=True) if not is_code)
    return not (_in_html(told) or _in_quotation(told))


def _continues(above: Sequence[str], code: Sequence[bool], *, indented: bool) -> bool:
    """Whether a line below these goes on with what they begin: a sentence, a quotation, a list, a code span."""
    nearest = next((_EMPHASIS.sub("", one).rstrip() for one in reversed(above) if one.strip()), "")
    if nearest.endswith(_INTRODUCES):
        return True
    for one in _paragraph(above, code):
        if _CONTAINER.match(one) or "`" in _CODE_SPAN.sub("", one):
            return True
    for one in reversed(above) if indented else ():
        if _CONTAINER.match(one):
            return True
        if one.strip() and not one[0].isspace():
            return False
    return False


def _paragraph(above: Sequence[str], code: Sequence[bool]) -> Iterator[str]:
    """The lines right above without a blank line or code between, from the last one up."""
    for one, is_code in zip(reversed(above), reversed(code), strict=True):
        if is_code or not one.strip():
            return
        yield one


def _in_html(told: str) -> bool:
    """Whether a comment or an element is open at the end."""
    if any(told.rfind(opening) > told.rfind(closing) for opening, closing in _HIDING):
        return True
    left: Counter[str] = Counter()
    for closing, name, empty in _TAG.findall(told):
        if name.lower() not in _EMPTY and not empty:
            left[name.lower()] = max(0, left[name.lower()] + (-1 if closing else 1))
    return any(left.values())


def _in_quotation(told: str) -> bool:
    """Whether a quotation is open at the end."""
    said, left = _EMPHASIS.sub("", told), Counter[str]()
    for found in _MARK.finditer(said):
        before, after = said[found.start() - 1 : found.start()], said[found.end() : found.end() + 1]
        name, way = _MARKS[found[0]]
        if name == "single" and _ELISION.match(said, found.end()):
            continue
        left[name] = max(0, left[name] + _way(name, way, before, after, bool(left[name])))
    return any(left.values())


def _way(name: str, way: int, before: str, after: str, is_open: bool) -> int:
    """Whether a quotation mark opens (1), closes (-1) or is none (0), by what stands around it."""
    if name in _ONE_WAY:
        return way
    starts = not before or before.isspace() or before in _BEFORE
    ends = not after or after.isspace() or after in _AFTER
    if starts != ends:
        return 1 if starts else -1
    if starts:
        return -1 if is_open and way <= 0 else 1 if way >= 0 else -1
    if name == "single":
        return max(0, way)  # an apostrophe is none
    return way or (-1 if is_open else 1)
