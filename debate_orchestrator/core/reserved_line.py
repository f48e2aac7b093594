"""Whether a speech ends with a reserved line that is its own: neither quoted, nor shown, nor only introduced.

`ends_with_line` decides whether a speech ends with a reserved line, in time that grows with its length and no faster.
It errs on the safe side: if a reader could take the line for something quoted, shown or only introduced, it does not
count. It counts as the whole speech, or below a blank line and indented by a blank at most, so that no list, quotation
or table continues it, and where all of these hold of what stands above it:

Code         every fence stands at the margin and is closed, and every backtick is part of a code span on one line.
             Where there is code, no line begins with a tag, below which it may be no code
HTML         tags and comments are plain, each on one line, and elements are closed in the order in which they were
             opened: on the same line with no link, image or table cell in between, or on a line of closing tags alone
             at the margin. Only HTML's own names and the format's open one, or any name at the beginning of a line; not
             right behind a word as in `Vec<Option>`, and `a`, `b`, `i`, `p` and `u` only right before a word. There are
             at most 200 tags. Where a line begins with a tag or a comment, whatever may be a tag counts as one
Directives   none of other markups begins a line (`:::`, `[quote]`, `\\begin{...}`)
Sentences    the last line of words ends one, with a full stop, question mark or exclamation mark, not an ellipsis
Quotations   every quotation is closed that a colon announces, and every bracket that it announces or that begins a
             paragraph. Other quotation marks that are left open are slips
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container
from html import unescape

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})(.*)", re.DOTALL)
_CODE = "\0"
"""Stands for code that is left out; no sanitized text holds it."""
_CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)([^`\n]+)\1(?!`)")
_AROUND = r"^(?:[ \t]|>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*"
"""Markers of quotations and lists before what a line of them holds."""
_BEGINS_WITH_TAG = re.compile(rf"{_AROUND}<[A-Za-z/!?]", re.MULTILINE)
_DIRECTIVE = re.compile(
    rf"{_AROUND}(?::::|\\begin\b|\{{[%{{]|#\+begin|\[/?(?:quote|cite|code|spoiler|hide|pre)\b)",
    re.MULTILINE | re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--[^<>\n\0]*-->")
_COMMENTED = "\1"
"""Stands for a comment while tags are read: what stands on both sides of one is never one tag."""
_MAX_TAGS = 200
_TAG = re.compile(
    r"(?P<glued>(?<=\w)|(?<=::))?<(?:/(?P<closed>[A-Za-z][\w:-]{0,40})|(?P<name>[A-Za-z][\w:-]{0,40})"
    r"(?:[ \t]+[\w:-]+(?:=(?:\"[^\"<>\n\0]*\"|'[^'<>\n\0]*'|[^\s\"'`=<>\0\1]+))?)*+)[ \t]*/?>"
)
_ELEMENT = (
    "abbr|address|article|aside|audio|bdi|bdo|big|blockquote|body|button|canvas|caption|center|cite|code|colgroup|data"
    "|datalist|dd|del|details|dfn|dialog|dir|div|dl|dt|em|fieldset|figcaption|figure|font|footer|form|h[1-6]|head|header"
    "|hgroup|html|iframe|ins|kbd|label|legend|li|listing|main|map|mark|marquee|math|menu|meter|nav|noembed|noframes"
    "|noscript|object|ol|optgroup|option|output|picture|plaintext|pre|progress|rb|rp|rt|rtc|ruby|samp|script|search"
    "|section|select|slot|small|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th"
    "|thead|time|title|tr|tt|ul|var|video|xmp|[abiqsup]"
)
_KNOWN = re.compile(_ELEMENT)
_TYPES = {"data", "form", "label", "map", "menu", "object", "option", "output", "section", "table", "time"}
"""Names that are types in code, and hide nothing in a page."""
_PLAIN = {"a", "b", "i", "p", "u"}
"""Names of one letter that hide nothing in a page."""
_CLOSING_TAGS = re.compile(r"(?:</[A-Za-z][\w:-]*[ \t]*>[ \t]*)+")
_NOT_HTML = re.compile(r"[\[\]|]")
"""What a link, an image, a definition or a table has, in which a tag may be none, or be left out."""
_LIST = re.compile(r"[ \t]*(?:[>*+-]|\d{1,9}[.)])")
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
_LEFT = re.compile(rf"<(?:[!?]|/?(?:{_ELEMENT})(?![\w:-]))|{_AROUND}</?[A-Za-z]", re.MULTILINE | re.IGNORECASE)
"""What begins a tag that is not plain."""
_RAW = re.compile(rf"{_AROUND}(?:<[A-Za-z/]|{_COMMENTED})", re.MULTILINE)
"""How a line begins below which a page takes everything for HTML."""
_LEFT_IN_RAW = re.compile(r"<[A-Za-z/!?]")
"""What begins a tag there, whatever its name."""
_EMPHASIS = re.compile(r"[*_~]+")
_COLONS = ":：﹕︓∶꞉ː׃"
_PAIRS = (
    "༺༻༼༽᚛᚜⁅⁆⁽⁾₍₎⌈⌉⌊⌋\u2329\u232a❨❩❪❫❬❭❰❱❲❳❴❵⟅⟆⟦⟧⟨⟩⟬⟭⟮⟯⦃⦄⦅⦆⦇⦈⦉⦊⦋⦌⦍⦎⦏⦐⦑⦒⦓⦔⦕⦖⦗⦘⧘⧙⧚⧛⧼⧽⸂⸃⸄⸅⸉⸊⸌⸍⸜⸝⸠⸡⸢⸣⸤⸥⸦⸧⸨⸩⹕⹖⹗⹘⹙⹚⹛⹜"
    "〔〕〖〗〘〙〚〛︗︘︵︶︷︸︹︺︻︼︽︾︿﹀﹁﹂﹃﹄﹇﹈﹙﹚﹛﹜﹝﹞｛｝｟｠｢｣﴿﴾"
)
"""The other brackets of Unicode, each before the one that closes it."""
_BRACKETS = {"round", "square", "curled", "wide round", "wide square", "thick", *_PAIRS[::2]}
_QUOTES = {
    char: (name, way)
    for name, opening, closing, either in (
        ("straight", "", "", '"＂″ʺ'),
        ("curly", "“„‟〝❝⹂", "”〞〟❞", ""),
        ("single", "‘‚‛❛", "’❜", "'＇′"),
        ("angled", "«⟪", "»⟫", ""),
        ("single angled", "‹❮", "›❯", ""),
        ("corner", "「", "」", ""),
        ("white corner", "『", "』", ""),
        ("double angle", "《", "》", ""),
        ("single angle", "〈", "〉", ""),
        ("round", "(", ")", ""),
        ("square", "[", "]", ""),
        ("curled", "{", "}", ""),
        ("wide round", "（", "）", ""),
        ("wide square", "［", "］", ""),
        ("thick", "【", "】", ""),
        *((opening, opening, closing, "") for opening, closing in zip(_PAIRS[::2], _PAIRS[1::2], strict=True)),
    )
    for way, chars in ((1, opening), (-1, closing), (0, either))
    for char in chars
}
"""Quotation mark or bracket to its kind, and whether it opens (1), closes (-1) or does either."""
_CLOSING = rf"[\s{re.escape(''.join(set(_QUOTES) - set('([{')))}]"
_STOP = re.compile(rf"(?:[\w\0%°+$€£>]|{_CLOSING})[.!?。！？｡।؟։]+{_CLOSING}*+(?:\[\^?\d{{1,4}}\]\s*)*\Z")
_ELLIPSIS = re.compile(rf"(?:…|[.。]{_CLOSING}*+[.。]){_CLOSING}*+\Z")
_SIGN = re.compile(rf"(?P<quote>[{re.escape(''.join(_QUOTES))}])|(?P<colon>[{_COLONS}])|(?P<gap>\n\n\s*)|[\w.!?\0]")
_ELISION = re.compile(r"\d|(?:t(?:is|was|were|il)|em|cause|bout|n)\b", re.IGNORECASE)
"""What follows an apostrophe that begins a word: '90s, 'tis."""
_BEFORE = set("([{—–-/:=") | {char for char, (_, way) in _QUOTES.items() if way >= 0}
_AFTER = set(")]}—–-/.,;:!?…") | {char for char, (_, way) in _QUOTES.items() if way <= 0}
_ONE_WAY = {"corner", "white corner", "double angle", "single angle"} | _BRACKETS
"""Kinds whose quotation marks or brackets look one way, wherever they stand."""


class Fence:
    """The code fence that is open after the lines so far."""

    def __init__(self) -> None:
        self._open = ""

    def __bool__(self) -> bool:
        return bool(self._open)

    def read(self, line: str) -> bool:
        """Takes the next line; whether it is part of a code block, the fences included."""
        found, opening = _FENCE.fullmatch(line), self._open
        if found and not opening:
            self._open = found[1]
        elif found and found[1].startswith(opening) and not found[2].strip(" \t"):
            self._open = ""
        return bool(opening or self._open)


def ends_with_line(text: str, line: str, tags: Container[str] = ()) -> bool:
    """Whether a sanitized text ends with that line in a paragraph of its own, and says it itself.

    `tags` are the format's own.
    """
    *above, last = text.rstrip(" \t\n").split("\n")
    if last.removeprefix(" ") != line or (above and above[-1].strip(" \t")):
        return False
    prose = _prose(above)
    if prose is None or _DIRECTIVE.search(prose):
        return False
    bare = _without_html(prose, tags)
    return bare is not None and _says_all(_EMPHASIS.sub("", bare))


def _prose(lines: list[str]) -> str | None:
    """The lines without their code; None if some code may be open, or be none."""
    fence, prose = Fence(), list[str]()
    for line in lines:
        if fence.read(line):
            if prose[-1:] != [_CODE] and (line.startswith(" ") or "|" in line):  # of a list, or the head of a table
                return None
            prose.append(_CODE)
        else:
            prose.append(_CODE_SPAN.sub(_CODE, line) if line.strip(" \t") else "")
    text = "\n".join(prose)
    unclear = fence or "`" in text or (_CODE in text and _BEGINS_WITH_TAG.search(text))
    return None if unclear else text


class _Elements:
    """The elements that are open after the lines so far."""

    def __init__(self, tags: Container[str], *, raw: bool) -> None:
        """`tags` are the format's own; `raw` says that a page may take the text for HTML, in which every tag is one."""
        self._tags, self._every = tags, raw
        self._open = list[str]()
        self._raw = self._after_gap = True
        """Whether a closing tag below is one: the paragraph so far is HTML and nothing else; there is none so far."""
        self.count = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    def read(self, line: str) -> bool:
        """Takes the next line; whether its tags fit."""
        alone = (self._after_gap or self._raw) and _CLOSING_TAGS.fullmatch(line)
        opened_here, start = 0, 0
        for tag in _TAG.finditer(line):
            self.count += 1
            name, between = (tag["name"] or tag["closed"]).lower(), line[start : tag.start()]
            begins = not between.strip(f" \t>-*+{_COMMENTED}")
            if _NOT_HTML.search(between):
                opened_here = 0
            start = tag.start()
            if tag["closed"] and self._open[-1:] == [name] and (alone or opened_here) and not between.endswith("\\"):
                self._open.pop()
                opened_here = max(0, opened_here - 1)
            elif name not in _VOID and self._counts(tag, name, begins):
                if tag["closed"]:
                    return False
                self._open.append(name)
                opened_here += 1
            if self.count > _MAX_TAGS:
                return False
        self._raw = line.startswith("<") if self._after_gap else self._raw
        self._raw = self._raw and not _NOT_HTML.search(line) and not _LIST.match(line)
        self._after_gap = not line.strip(" \t")
        return True

    def _counts(self, tag: re.Match[str], name: str, begins: bool) -> bool:
        """Whether a tag is meant as one, and not as a type or a comparison."""
        if self._every:
            return True
        if tag["glued"] is not None and name in _TYPES | _PLAIN:
            return False
        if name in _PLAIN and tag["name"] and not begins:
            return bool(tag.string[tag.end() : tag.end() + 1].strip())
        return begins or name in self._tags or bool(_KNOWN.fullmatch(name))


def _without_html(prose: str, tags: Container[str]) -> str | None:
    """The text without its tags and comments; None if an element is open, or may be."""
    commented = _COMMENT.sub(_COMMENTED, prose)
    raw = bool(_RAW.search(commented))
    elements = _Elements(tags, raw=raw)
    plain = all(elements.read(line) for line in commented.split("\n"))
    bare = _TAG.sub("", commented).replace(_COMMENTED, "")
    left = _LEFT_IN_RAW if raw else _LEFT
    return None if elements or not plain or left.search(bare) else bare


def _says_all(text: str) -> bool:
    """Whether a text without markup ends with a sentence, and leaves no bracket or announced quotation open."""
    text = unescape(text)
    nearest = next((line for line in reversed(text.split("\n")) if re.search(r"\w", line)), "")
    if nearest and (not _STOP.search(nearest[-200:]) or _ELLIPSIS.search(nearest[-200:])):
        return False
    return not _in_quotation(text)


def _in_quotation(text: str) -> bool:
    """Whether a quotation that a colon announces, or a bracket that it announces or that begins a paragraph, is open at
    the end. A quotation mark that begins a paragraph continues a quotation. What a colon announces may be a list:
    other quotations of the same paragraph."""
    left, announced, listing, begins = Counter[str](), False, False, True
    for found in _SIGN.finditer(text):
        if found.lastgroup == "gap":
            listing, begins = False, True
            continue
        if found.lastgroup != "quote":
            announced, begins = found.lastgroup == "colon", False
            continue
        name, way = _QUOTES[found[0]]
        if name == "single" and _ELISION.match(text, found.end()):
            continue
        before = text[max(0, found.start() - 1) : found.start()]
        way = _way(name, way, before, text[found.end() : found.end() + 1], bool(left[name]))
        listing = listing or announced
        if way < 0 or listing or (begins if name in _BRACKETS else left[name] and not begins):
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
