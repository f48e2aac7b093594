"""Where a speech in markdown says something itself: outside of code, comments, quotations and lists.

`ends_with` decides whether a speech ends with a reserved line. It reads the text line by line, in time that grows with
its length and no faster, and errs on one side: wherever a reader could take the line for something quoted, shown or
only introduced, it does not count. A line that is not the last one never counts, so that only what is left open
above it matters:

Code         a fence that is not closed, whether it is read with or without the quotation or list around it; four
             columns of indentation; a code span that goes on
Containers   a block quote, list, table or HTML block that the line continues, lazily or by its indentation
HTML         a comment, an instruction or an element that is not closed; only the names of HTML's own elements and of
             the format's tags open one, and not right behind a word, as in `Vec<String>`. A name of one letter, which
             may be a variable, does so to the end of its paragraph
Quotations   quotation marks that are not closed, straight, curly, angled or in corners, in the line's own paragraph.
             A mark left open in an earlier paragraph is a slip, or is taken up by the mark that begins the next one.
             Only a quotation that a colon announces runs on, until it is closed or a paragraph begins with a mark
Sentences    a line above that ends in a colon, a comma, a semicolon or a dash, and so introduces this one. Hyphens
             behind a word are a dash; a row of them alone is a rule. An ellipsis ends a sentence
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})(.*)", re.DOTALL)
_AROUND = re.compile(r"(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*")
"""Marks of quotations and lists before what a line of them holds."""
_CONTAINER = re.compile(r"[ \t]*(?:>|[-*+•][ \t]|\d{1,9}[.)][ \t]|\||\[\^|<[A-Za-z/!?])")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^`\n]+)\1(?!`)")
_TAG = re.compile(
    r"(?P<glued>\w|::)?<(?P<closing>/?)(?P<name>[A-Za-z][\w:-]{0,40})(?=[\s/>])"
    r"(?:[^<>\"']|\"[^\"<>]*\"|'[^'<>]*')*?(?P<empty>/?)>"
)
_ELEMENT = re.compile(
    "a|abbr|address|article|aside|audio|b|bdi|bdo|big|blockquote|body|button|canvas|caption|center|cite|code"
    "|colgroup|data|datalist|dd|del|details|dfn|dialog|dir|div|dl|dt|em|fieldset|figcaption|figure|font|footer"
    "|form|h[1-6]|head|header|hgroup|html|i|iframe|ins|kbd|label|legend|main|map|mark|marquee|math|menu|meter|nav"
    "|noframes|noscript|object|ol|optgroup|option|output|picture|pre|progress|q|rp|rt|ruby|s|samp|script|search"
    "|section|select|slot|small|span|strike|strong|style|sub|summary|sup|svg|table|tbody|template|textarea|tfoot"
    "|thead|time|title|tt|u|ul|var|video|xmp"
)
_HIDING = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_INTRODUCES = re.compile(r"[:：,，、;；—–―]\Z|[^\s-](?:\s*-{2,3}|\s+-)\Z")
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
_EITHER = f"[{re.escape(''.join(_MARKS))}]"
_MARK_OR_GAP = re.compile(rf"({_EITHER})|\n\n\s*(?=({_EITHER})?)")
"""A quotation mark; or what parts two paragraphs, and the mark with which the second begins."""
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


def ends_with(text: str, line: str, tags: Container[str] = ()) -> bool:
    """Whether a text, tame already, ends with that line on a line of its own, and says it itself.

    `tags` are the format's own.
    """
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
    prose = ("" if is_code else _CODE_SPAN.sub("", one) for one, is_code in zip(above, code, strict=True))
    told = "\n".join([*(one if one.strip() else "" for one in prose), ""])
    return not (_in_html(told, tags) or _in_quotation(_EMPHASIS.sub("", told)))


def _continues(above: Sequence[str], code: Sequence[bool], *, indented: bool) -> bool:
    """Whether a line below these goes on with what they begin: a sentence, a quotation, a list, a code span."""
    nearest = next((_EMPHASIS.sub("", one).rstrip() for one in reversed(above) if one.strip()), "")
    if _INTRODUCES.search(nearest, max(0, len(nearest) - 8)):
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


def _in_html(told: str, tags: Container[str]) -> bool:
    """Whether a comment or an element is open at the end."""
    if any(told.rfind(opening) > told.rfind(closing) for opening, closing in _HIDING):
        return True
    left, own = Counter[str](), told.rfind("\n\n")
    for tag in _TAG.finditer(told):
        name = tag["name"].lower()
        if tag["closing"]:
            left[name] = max(0, left[name] - 1)
        elif not tag["empty"] and (name in tags or (_ELEMENT.fullmatch(name) and not tag["glued"])):
            left[name] += len(name) > 1 or tag.start() >= own
    return any(left.values())


def _in_quotation(said: str) -> bool:
    """Whether a quotation is open at the end."""
    left, announced = Counter[str](), set[str]()
    for found in _MARK_OR_GAP.finditer(said):
        before, after = said[max(0, found.start() - 8) : found.start()], said[found.end() : found.end() + 1]
        if not found[1]:
            left = Counter(name for name in announced if left[name] and not found[2])
            continue
        name, way = _MARKS[found[1]]
        if name == "single" and _ELISION.match(said, found.end()):
            continue
        way = _way(name, way, before[-1:], after, bool(left[name]))
        if way > 0:
            (announced.add if before.rstrip().endswith(":") else announced.discard)(name)
        left[name] = max(0, left[name] + way)
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
