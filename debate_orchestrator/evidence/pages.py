"""A page's bytes as text: its title, the date it gives, and the text that is on it.

Nothing of a page is run, so what its scripts would write is not there, and style sheets are not read.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from typing import Any, NamedTuple

from debate_orchestrator.core.verbatim import LOWERED, NOTE_LABEL, RAISED, may_have_power, paragraphs
from debate_orchestrator.evidence.states import Unreadable
from debate_orchestrator.util import sanitize

MAX_LENGTH = 5_000_000
"""Characters of a page that are read."""
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_LATIN = {"ascii", "iso8859-1", "cp1252"}
_ENCODINGS = re.compile(
    r"utf-8|utf-16(-[lb]e)?|iso8859-\d{1,2}|cp125\d|cp874|cp866|koi8-[ru]|mac-roman|shift_jis|cp932|euc_jp|iso2022_jp|"
    r"gb2312|gbk|gb18030|big5(hkscs)?|cp949|euc_kr|tis-620"
)
"""The encodings of pages. Python knows more, including slow ones and some that are not encodings of text."""
_DATE = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_DATES = (
    "article:published_time", "datepublished", "citation_publication_date", "dc.date.issued", "dc.date", "date",
)  # fmt: skip
"""Names of `meta` elements that hold the date of publication, the best first."""
_DATE_IN_SCRIPT = re.compile(rf'"datePublished"\s*:\s*"({_DATE.pattern})')
_TITLE = 300

_DROPPED = {"datalist", "head", "noframes", "noscript", "script", "style", "template", "title"}
_PLACEHOLDERS = {
    "audio": "audio", "canvas": "image", "embed": "object", "iframe": "object", "img": "image", "input": "field",
    "math": "formula", "object": "object", "select": "field", "svg": "image", "textarea": "field", "video": "video",
}  # fmt: skip
"""Elements that show what is not read here, and what stands for them in the text."""
_INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "nobr", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong",
    "sub", "sup", "time", "tt", "u", "var", "wbr", *_PLACEHOLDERS,
}  # fmt: skip
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "col", "colgroup", "dd",
    "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "listing", "main", "menu", "nav", "ol",
    "optgroup", "option", "p", "plaintext", "pre", "search", "section", "summary", "table", "tbody", "td", "tfoot",
    "th", "thead", "tr", "ul", "xmp",
}  # fmt: skip
_PREFORMATTED = {"listing", "plaintext", "pre", "xmp"}
_UNKNOWN = "\x00"
"""The border of an element that is neither. It may be drawn within a word; elsewhere a block begins or ends there."""
_NUMBER_LINK = "\x02"
"""Around numbers that link to a place of a page."""
_CITATION = re.compile(rf"(?<=[^\s(\[\]]) ?\[({_NUMBER_LINK}[\d{_NUMBER_LINK},;\u2013 -]*{_NUMBER_LINK})\](?!\w)")
_ON_LINE = ("", "baseline", "middle", "inherit", "initial", "unset", "revert", "revert-layer")
"""Values of `vertical-align` that raise and lower nothing."""
_MOVED = {"top", "bottom", "inset", "inset-block", "inset-block-start", "inset-block-end"}
_ORDINALS = {"st", "nd", "rd", "th", "er", "re", "\u00e8re", "\u00e8me", "eme"}
_STRUCK = {"del", "s", "strike"}


class Page(NamedTuple):
    """A page as text, made safe to show."""

    title: str = ""
    date: str = ""
    """The date of publication, as YYYY-MM-DD, if the page gives it."""
    text: str = ""
    """Its text in order, each block on a line of its own."""


def plain(body: bytes, charset: str) -> Page:
    """A page of plain text."""
    return Page(text=paragraphs(sanitize.sanitize(decode(body, charset)[:MAX_LENGTH])))


def html_page(body: bytes, charset: str) -> Page:
    """A page of HTML. Raises Unreadable where elements are nested too deep: the parser drops all that follows."""
    from lxml import etree, html  # type: ignore[import-untyped]

    text = decode(body, charset)[:MAX_LENGTH].replace(_UNKNOWN, "").replace(_NUMBER_LINK, "")
    parser = html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False, no_network=True
    )
    try:
        tree = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError):
        return Page()
    if any("depth" in problem.message for problem in parser.error_log.filter_from_fatals()):
        raise Unreadable("its elements are nested too deep to be read")
    metas: dict[str, str] = {}
    for meta in tree.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or ""
        metas.setdefault(name.lower(), meta.get("content") or "")
    title = metas.get("og:title") or tree.findtext(".//title") or ""
    visible = sanitize.sanitize(visible_text(tree))
    return Page(sanitize.one_line(title)[:_TITLE].strip(), _publication_date(tree, metas), visible)


def _publication_date(tree: Any, metas: dict[str, str]) -> str:
    """The date of publication that the page itself gives; "" if it gives none."""
    for name in _DATES:
        if match := _DATE.match(metas.get(name, "").strip().replace("/", "-")):
            return match[0]
    for script in tree.iter("script"):
        if script.get("type") == "application/ld+json" and (match := _DATE_IN_SCRIPT.search(script.text or "")):
            return match[1]
    times = tree.xpath("//time[@itemprop='datePublished' or @pubdate]/@datetime")
    match = _DATE.match(times[0]) if times else None
    return match[0] if match else ""


def visible_text(tree: Any) -> str:
    """The text of a tree in order, without what hides itself."""
    pieces: list[str] = []
    _read(tree, pieces)
    text = _CITATION.sub(_citation, "".join(pieces)).replace(_NUMBER_LINK, "")
    text = re.sub(rf"(?<=[^\s{_UNKNOWN}]){_UNKNOWN}+(?=[^\s{_UNKNOWN}])", "", text)
    lines = (" ".join(line.split()) for line in re.split(rf"[\n{_UNKNOWN}]", text))
    return "\n".join(line for line in lines if line)


def _citation(match: re.Match[str]) -> str:
    """Numbers in brackets that link to places of the page, as a mark after the word before them."""
    label, before = match[1].replace(_NUMBER_LINK, ""), match.string[max(0, match.start() - 30) : match.start()]
    return _note_mark(label, before) if re.fullmatch(NOTE_LABEL, label) else match[0]


def _note_mark(label: str, before: str) -> str:
    """The mark of a note as it is written after a text, so that it can be told from a power."""
    return f"[note {label}]" if may_have_power(before) else f"[{label}]"


def _read(node: Any, pieces: list[str], is_preformatted: bool = False) -> None:
    """Adds an element's text. Its depth is limited by the parser."""
    tag, style = node.tag, _declarations(node)
    is_closed = tag == "dialog" and node.get("open") is None
    if tag in _DROPPED or is_closed or node.get("hidden") is not None or _hides(style):
        return
    if tag in _PLACEHOLDERS:
        decoration = (tag == "img" and node.get("alt") == "") or (tag == "input" and node.get("type") == "hidden")
        pieces.append("" if decoration else f"[{_PLACEHOLDERS[tag]}]")
        return
    before, after = "", ""
    if tag in ("sup", "sub") or _raises(style):
        preceding = "".join(piece[-30:] for piece in pieces[-10:]).replace(_NUMBER_LINK, "").rpartition("\n")[2]
        if preceding.strip() and (note := _raised_note(node, preceding.rstrip())):
            _end_with_word(pieces)
            pieces.append(note)
            return
        before, after = _raised_marks(node, style, preceding)
        if before == RAISED:
            _end_with_word(pieces)
    elif tag == "a" and _links_to_place(node):
        before, after = _NUMBER_LINK, _NUMBER_LINK
    if tag in _STRUCK or any("line-through" in value for value in style.values()):
        before, after = f"[struck: {before}", f"{after}]"
    if tag not in _INLINE:
        border = "\n" if tag in _BLOCKS else _UNKNOWN
        before, after = f"{border}{before}", f"{after}{border}"
    begins_preformatted = tag in _PREFORMATTED and not is_preformatted
    is_preformatted = is_preformatted or tag in _PREFORMATTED
    inner = list[str]() if begins_preformatted else pieces
    inner += [before, _spaced(node.text, is_preformatted)]
    for child in node:
        _read(child, inner, is_preformatted)
        inner.append(_spaced(child.tail, is_preformatted))
    inner.append(after)
    if begins_preformatted:
        pieces.append(f"\n{paragraphs(''.join(inner))}\n")


def _declarations(node: Any) -> dict[str, str]:
    """The `style` attribute of an element, without comments: property to value, in lower case."""
    style = re.sub(r"/\*.*?\*/", "", node.get("style") or "", flags=re.DOTALL)
    pairs = (declaration.partition(":") for declaration in style.lower().split(";"))
    return {name.strip(): value.replace("!important", "").strip() for name, _, value in pairs}


def _hides(style: dict[str, str]) -> bool:
    return style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse")


def _raises(style: dict[str, str]) -> bool:
    """Whether a style draws text above or below the line."""
    moved = style.get("position", "static") != "static" and not style.keys().isdisjoint(_MOVED)
    return style.get("vertical-align", "") not in _ON_LINE or moved or bool(style.keys() & {"transform", "translate"})


def _raised_marks(node: Any, style: dict[str, str], preceding: str) -> tuple[str, str]:
    """Separates raised or lowered text from its neighbours: 10² is not 102, and a note's number is not a digit."""
    text = node.text_content().strip()
    if text.startswith("[") and text.endswith("]"):
        return "", ""
    lowered = node.tag == "sub" or style.get("vertical-align", "").startswith(("sub", "bottom", "text-bottom", "-"))
    return _marks_of_small(text, LOWERED if lowered else RAISED, preceding, _behind(node))


def _behind(node: Any) -> str:
    """The text right after an element."""
    following = node.getnext()
    return node.tail or ("" if following is None or following.tag not in _INLINE else following.text_content())


def _marks_of_small(text: str, sign: str, preceding: str, behind: str) -> tuple[str, str]:
    """The characters to write before and after raised or lowered text, so that 10\u00b2 is not read as 102. Raised
    digits after a word and the punctuation that ends it are a footnote number and get brackets; after a figure they are
    a part of it."""
    if not any(map(str.isalnum, text)):
        return "", ""
    touches, before = behind[:1].isalnum(), preceding[-1:]
    if before.isspace() and preceding.strip() and sign == RAISED and text.isdecimal() and not touches:
        return sign, ""
    if not before or before.isspace() or unicodedata.category(before) in ("Ps", "Pi"):
        return "", " " if touches else ""
    if sign == RAISED and text.isdecimal() and before in ".,;:!?\u201d\u2019\u00bb" and preceding[-2:-1].isalpha():
        return "[", "]"
    if sign == RAISED and before.isdigit() and text.lower() in _ORDINALS:
        return "", ""
    if sign == LOWERED and before.isalpha() and text.isdecimal():
        return "", sign if behind[:1].isdigit() else ""
    return sign, sign if touches or not re.fullmatch(r"[-+\u2212]?\w+", text) else ""


def _raised_note(node: Any, before: str) -> str:
    """The mark of a note whose raised numbers all link to places of the page; "" where an element is none."""
    text = " ".join(node.text_content().split())
    label = re.fullmatch(rf"([\[(]?)({NOTE_LABEL})[\])]?", text)
    if node.tag != "sup" or label is None or not _links_to_place(node) or _behind(node)[:1].isalnum():
        return ""
    return _note_mark(label[2], before) if label[1] == "[" else f"[{label[2]}]"


def _end_with_word(pieces: list[str]) -> None:
    """Drops the spaces at the end of a text, so that raised text comes right after its word."""
    while pieces and not pieces[-1].strip(" "):
        pieces.pop()
    if pieces:
        pieces[-1] = pieces[-1].rstrip(" ")


def _links_to_place(node: Any) -> bool:
    """Whether an element is a number, or several, that all link to places of a page."""
    parent = node.getparent()
    links = [*node.iter("a")]
    if node.getprevious() is None and node.getnext() is None and parent is not None and parent.tag == "a":
        links += [] if (parent.text or "").strip() or (node.tail or "").strip() else [parent]
    linked = " ".join(link.text_content() for link in links if "#" in (link.get("href") or ""))
    numbers = re.findall(r"\d+", node.text_content())
    return numbers != [] and numbers == re.findall(r"\d+", linked)


def _spaced(text: str | None, is_preformatted: bool) -> str:
    """A text with its white space as browsers draw it."""
    return text or "" if is_preformatted else re.sub(r"\s+", " ", text or "")


def decode(body: bytes, charset: str) -> str:
    """A page's text by its byte order mark, by what the server says, by what the page says, as UTF-8, or else as
    Windows-1252, which fits everything."""
    for begins, name in _BYTE_ORDER_MARKS:
        if body.startswith(begins):
            return body[len(begins) :].decode(name, "replace")
    declared = _META.search(body[:2048])
    for name in (charset, declared[1].decode("ascii") if declared else ""):
        if codec := _codec(name):
            return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _codec(name: str) -> str:
    """Python's name of an encoding that pages have; "" if it is none."""
    try:
        codec = codecs.lookup(name).name if name else ""
    except (LookupError, ValueError):
        return ""
    if codec in _LATIN:
        return "cp1252"
    return codec if _ENCODINGS.fullmatch(codec) else ""
