"""A page's bytes as text: its title, the date it gives, and the text that is on it.

Nothing of a page is run, so what its scripts would write is not there, and style sheets are not read.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, NamedTuple

from debate_orchestrator.core.verbatim import (
    FOOTNOTE_NUMBERS,
    SUBSCRIPT,
    SUPERSCRIPT,
    is_before_footnote,
    may_have_exponent,
    paragraphs,
)
from debate_orchestrator.evidence import Unreadable
from debate_orchestrator.util import sanitize

MAX_LENGTH = 5_000_000
"""Characters of a page that are read."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_DECLARED = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}
"""What is meant where a `meta` element, which was read as ASCII, names these encodings."""
_DATE = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_DATES = (
    "article:published_time", "datepublished", "citation_publication_date", "dc.date.issued", "dc.date", "date",
)  # fmt: skip
"""Names of `meta` elements that hold the date of publication, the best first."""
_DATE_IN_SCRIPT = re.compile(rf'"datePublished"\s*:\s*"({_DATE.pattern})')
_MAX_TITLE_LENGTH = 300

_DROPPED = {"datalist", "head", "noembed", "noframes", "noscript", "script", "style", "template", "title"}
_PLACEHOLDER_NAMES = {
    "audio": "audio", "canvas": "image", "embed": "object", "iframe": "object", "img": "image", "input": "field",
    "math": "formula", "meter": "field", "object": "object", "progress": "field", "select": "field", "svg": "image",
    "textarea": "field", "video": "video",
}  # fmt: skip
"""Elements that show what is not read here, and what stands for them in the text."""
_INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "nobr", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong",
    "sub", "sup", "time", "tt", "u", "var", "wbr", *_PLACEHOLDER_NAMES,
}  # fmt: skip
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "col", "colgroup", "dd",
    "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "listing", "main", "menu", "nav", "ol",
    "optgroup", "option", "p", "plaintext", "pre", "search", "section", "summary", "table", "tbody", "td", "tfoot",
    "th", "thead", "tr", "ul", "xmp",
}  # fmt: skip
_ISOLATED_BLOCKS = {"caption", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th"}
"""Blocks that a quote may not continue past."""
_PREFORMATTED = {"listing", "plaintext", "pre", "xmp"}
_CODE = {"code", "kbd", "samp", "tt", *_PREFORMATTED}
_INDEX = re.compile(rf"(?<=[^\W\d_])\[(?=(?:{FOOTNOTE_NUMBERS}|[abc])\])")
"""A bracket of code right after a word, which begins no footnote."""
_SPLIT_MARK = "\u00a6"
"""Marks where an element splits a number: the page may draw one part as an exponent."""
_STRUCK_BEGIN = "[struck: "
PLACEHOLDERS = (_SPLIT_MARK, _STRUCK_BEGIN, "[symbol]", *sorted({f"[{name}]" for name in _PLACEHOLDER_NAMES.values()}))
"""What a text has in place of what a page shows."""
_CELL_SENTINEL = "\f"
_UNKNOWN_ELEMENT = "\x00"
"""Around an element that is in neither of these sets. It may be drawn within a word; elsewhere a block begins or
ends there."""
_NUMBER_LINK = "\x02"
"""Around numbers that link to a place of a page."""
_BEGIN, _END = "\x03", "\x04"
"""Around an element within a line."""
_BLANKS = f" {_BEGIN}{_END}"
_SENTINELS = f"{_UNKNOWN_ELEMENT}{_NUMBER_LINK}{_BEGIN}{_END}"
_WITHOUT_SENTINELS = str.maketrans("", "", _SENTINELS)
_WITHOUT_ANY_SENTINEL = str.maketrans("", "", f"{_SENTINELS}{_CELL_SENTINEL}")
_SPLIT_NUMBER = re.compile(rf"(?<=[\w)\]%\u00b0])[{_SENTINELS}]+(?=\d)|(?<=\d)[{_SENTINELS}]*{_BEGIN}(?=[-+\u2212]\d)")
_CITATION = re.compile(
    rf"(?<=[^\s(\[\]{_SENTINELS}])[ {_SENTINELS}]*\["
    rf"({_NUMBER_LINK}[\d{_SENTINELS},;\u2013 -]*{_NUMBER_LINK})[{_SENTINELS}]*\](?!\w)"
)
_SYMBOL_FONT = re.compile(
    r"(?:.*\d\S*\s)?\s*[\"']?(?:symbol|wingdings(?: [23])?|webdings|zapf ?dingbats)[\"']?\s*(?:,|\Z)"
)
"""The value of `font-family` or `font` that draws letters as other signs."""
_ENDS_IN_WORD = re.compile("(?:\\w|[^\\W\\d_][.,;:!?\"')\u201d\u2019\u00bb]+)\\Z")
"""A word or letter at the end of a text, perhaps with punctuation, directly before a number."""
_ON_BASELINE = ("", "baseline", "middle", "inherit", "initial", "unset", "revert", "revert-layer")
"""Values of `vertical-align` that make no superscript or subscript."""
_OFFSET_PROPERTIES = {"top", "bottom", "inset", "inset-block", "inset-block-start", "inset-block-end"}
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
    return Page(text=paragraphs(sanitize.sanitize(decode(body, charset)[:MAX_LENGTH])))


def html_page(body: bytes, charset: str) -> Page:
    """A page of HTML. Raises Unreadable where elements are nested too deep: the parser drops all that follows."""
    from lxml import etree, html  # type: ignore[import-untyped]

    text = decode(body, charset, _declared(body))[:MAX_LENGTH].translate(_WITHOUT_ANY_SENTINEL)
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
    return Page(sanitize.one_line(title)[:_MAX_TITLE_LENGTH].strip(), _publication_date(tree, metas), visible)


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
    text = _divided(_CITATION.sub(_citation, "".join(pieces))).replace(_NUMBER_LINK, "")
    text = re.sub(rf"(?<=[^\s{_UNKNOWN_ELEMENT}]){_UNKNOWN_ELEMENT}+(?=[^\s{_UNKNOWN_ELEMENT}])", "", text)
    text = re.sub("\u00ad(?=\\s)", "-", text)
    cells = (_lines(cell) for cell in text.split(_CELL_SENTINEL))
    return "\n\n".join(cell for cell in cells if cell)


def _lines(text: str) -> str:
    lines = (" ".join(line.split()) for line in re.split(rf"[\n{_UNKNOWN_ELEMENT}]", text))
    return "\n".join(line for line in lines if line)


def _divided(text: str) -> str:
    """A text with a sign where elements divide figures, and without the other borders within lines."""
    return _SPLIT_NUMBER.sub(_SPLIT_MARK, text).replace(_BEGIN, "").replace(_END, "")


def _citation(match: re.Match[str]) -> str:
    """Numbers in brackets that link to places of the page, as a footnote marker after the word before them."""
    number = match[1].translate(_WITHOUT_SENTINELS)
    before = match.string[max(0, match.start() - 30) : match.start()].translate(_WITHOUT_SENTINELS)
    return _footnote_marker(number, before) if re.fullmatch(FOOTNOTE_NUMBERS, number) else match[0]


def _footnote_marker(number: str, before: str) -> str:
    """A footnote marker as it is written after a text, apart from its last word."""
    return f"[{number}]" if is_before_footnote(before) else f"[note {number}]"


def _read(node: Any, pieces: list[str], is_preformatted: bool = False) -> None:
    """Adds an element's text. Its depth is limited by the parser."""
    tag, style = node.tag, _declarations(node)
    is_closed = (tag == "dialog" and node.get("open") is None) or node.get("popover") is not None
    hides = style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse")
    if is_closed or hides or node.get("hidden") is not None:
        pieces.append(_BEGIN)
        return
    if placeholder := _placeholder_for(node, style):
        pieces.append(placeholder)
        return
    is_shifted, before, after = tag in ("sup", "sub") or _shifts_baseline(style), "", ""
    if is_shifted or tag == "a":
        preceding = "".join(piece[-30:] for piece in pieces[-20:]).translate(_WITHOUT_SENTINELS)
        preceding = re.split(rf"[\n{_CELL_SENTINEL}]", preceding)[-1]
        if preceding.strip() and (footnote := _linked_footnote(node, preceding)):
            _end_with_word(pieces, _BLANKS)
            pieces.append(footnote)
            return
    if is_shifted:
        before, after = _shift_marks(node, style, preceding)
        _end_with_word(pieces, _BLANKS if before == SUPERSCRIPT else _BEGIN + _END)
    elif tag == "a" and _links_to_place(node):
        before, after = _NUMBER_LINK, _NUMBER_LINK
    if tag in _STRUCK or any("line-through" in value for value in style.values()):
        before, after = f"{_STRUCK_BEGIN}{before}", f"{after}]"
    begin, end = _sentinels_around(tag, {} if is_shifted else style)
    if begin != _BEGIN or not (is_shifted or before):
        before, after = f"{begin}{before}", f"{after}{end}"
    begins_code = tag in _CODE and not is_preformatted
    begins_preformatted = tag in _PREFORMATTED and not is_preformatted
    is_preformatted = is_preformatted or tag in _PREFORMATTED
    pieces.append(before)
    inner = list[str]() if begins_code else pieces
    inner.append(_spaced(node.text, is_preformatted))
    for child in node:
        _read(child, inner, is_preformatted)
        inner.append(_spaced(child.tail, is_preformatted))
    if begins_code:
        text = _divided("".join(inner))
        text = paragraphs(text).replace("\n\n", _CELL_SENTINEL) if begins_preformatted else text
        pieces.append(_INDEX.sub(f"{_SPLIT_MARK}[", text))
    pieces.append(after)


def _placeholder_for(node: Any, style: dict[str, str]) -> str:
    """What stands in the text for an element that is not read; "" for one that is."""
    tag, classes = node.tag, (node.get("class") or "").lower().split()
    is_script = tag == "script" and (node.get("type") or "").lower().startswith("math/")
    is_drawn = any(name.startswith(("mathjax", "katex")) for name in classes)
    if is_script or (is_drawn and not any(map(str.strip, node.itertext()))):
        return "[formula]"
    if tag in _DROPPED:
        return _BEGIN
    if tag in _PLACEHOLDER_NAMES:
        decoration = (tag == "img" and node.get("alt") == "") or (tag == "input" and node.get("type") == "hidden")
        return _BEGIN if decoration else f"[{_PLACEHOLDER_NAMES[tag]}]"
    font = style.get("font-family") or style.get("font") or (node.get("face") or "").lower()
    text = node.text_content() if _SYMBOL_FONT.match(font) else ""
    return re.sub(r"\S(?:.*\S)?", "[symbol]", text, flags=re.DOTALL)


def _sentinels_around(tag: str, style: dict[str, str]) -> tuple[str, str]:
    """What is written where an element begins and ends."""
    display = style.get("display", "")
    if tag in _ISOLATED_BLOCKS or display == "table-cell":
        return _CELL_SENTINEL, _CELL_SENTINEL
    if display.startswith(("block", "flex", "flow", "grid", "list", "table")) or tag in _BLOCKS:
        return "\n", "\n"
    if style.get("position") in ("absolute", "fixed"):
        return "\n", "\n"
    if tag not in _INLINE or display.startswith("inline-") or style.get("float", "none") != "none":
        return _UNKNOWN_ELEMENT, _UNKNOWN_ELEMENT
    return ("", "") if tag == "wbr" else (_BEGIN, _END)


def _declarations(node: Any) -> dict[str, str]:
    """The `style` attribute of an element, without comments: property to value, in lower case."""
    style = re.sub(r"/\*.*?\*/", "", node.get("style") or "", flags=re.DOTALL)
    declarations = sorted(style.lower().split(";"), key=lambda declaration: "important" in declaration)  # it wins
    pairs = (declaration.partition(":") for declaration in declarations)
    return {name.strip(): re.sub(r"!\s*important", "", value).strip() for name, _, value in pairs}


def _shifts_baseline(style: dict[str, str]) -> bool:
    """Whether a style draws text above or below the line."""
    moved = style.get("position", "static") != "static" and not style.keys().isdisjoint(_OFFSET_PROPERTIES)
    return (
        style.get("vertical-align", "") not in _ON_BASELINE or moved or bool(style.keys() & {"transform", "translate"})
    )


def _shift_marks(node: Any, style: dict[str, str], preceding: str) -> tuple[str, str]:
    """The characters to write before and after superscript or subscript, so that 10\u00b2 is not read as 102.
    Superscript digits after a word and the punctuation that ends it are a footnote number and get brackets; after a
    figure they are a part of it."""
    text, following, before = node.text_content().strip(), _text_after(node), preceding[-1:]
    raised = node.tag != "sub" and not style.get("vertical-align", "").startswith(("sub", "bottom", "text-bottom", "-"))
    sign, touches = SUPERSCRIPT if raised else SUBSCRIPT, following[:1].isalnum()
    if text.startswith("[") and text.endswith("]"):
        return ("", "") if raised else (sign, "")
    if not any(map(str.isalnum, text)):
        return "", ""
    if before.isspace() and preceding.strip() and raised and text.isdecimal() and not touches:
        return sign, ""
    if not before or before.isspace() or unicodedata.category(before) in ("Ps", "Pi"):
        return "", " " if touches else ""
    if raised and text.isdecimal() and before in ".,;:!?\u201d\u2019\u00bb" and preceding[-2:-1].isalpha():
        return (sign, "") if may_have_exponent(preceding) and not touches else ("[", "]")
    if raised and before.isdigit() and text.lower() in _ORDINALS:
        return "", ""
    if not raised and before.isalpha() and text.isdecimal():
        return "", sign if following[:1].isdigit() else ""
    return sign, sign if touches or not re.fullmatch(r"[-+\u2212]?\w+", text) else ""


def _text_after(node: Any) -> str:
    """The text right after an element."""
    following = node.getnext()
    return node.tail or ("" if following is None or following.tag not in _INLINE else following.text_content())


def _linked_footnote(node: Any, preceding: str) -> str:
    """The marker of a footnote whose numbers link within the page, in superscript or right after a word; else empty."""
    text, before = " ".join(node.text_content().split()), preceding.rstrip()
    found = re.fullmatch(rf"([\[(]?)({FOOTNOTE_NUMBERS})[\])]?", text)
    if found is None or not _links_to_place(node) or _text_after(node)[:1].isalnum():
        return ""
    follows_directly = node.tag == "a" and node.find(".//sup") is None and _ENDS_IN_WORD.search(preceding) is not None
    if node.tag != "sup" and not follows_directly:
        return ""
    may_be_exponent = found[1] != "[" and may_have_exponent(before) and not (follows_directly and before[-1:].isdigit())
    return f"[{found[2]}]" if may_be_exponent else _footnote_marker(found[2], before)


def _end_with_word(pieces: list[str], blanks: str) -> None:
    """Drops what is blank at the end of a text, so that a superscript comes right after its word."""
    while pieces and not pieces[-1].strip(blanks):
        pieces.pop()
    if pieces:
        pieces[-1] = pieces[-1].rstrip(blanks)


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


def decode(body: bytes, charset: str, declared: str = "") -> str:
    """A page's text by its byte order mark, the server, the page, as UTF-8, or as Windows-1252, which fits all. The
    names of encodings mean what they mean to browsers."""
    import webencodings  # type: ignore[import-untyped]

    encoding = webencodings.lookup(charset) or webencodings.lookup(declared)
    if encoding is None:
        try:
            return body.decode("utf-8-sig")
        except UnicodeDecodeError:
            encoding = webencodings.lookup("windows-1252")
    if encoding.name == "gbk":
        encoding = webencodings.lookup("gb18030")  # with characters of four bytes
    text: str = webencodings.decode(body, encoding)[0]
    return text


def _declared(body: bytes) -> str:
    """The encoding that the first `meta` element with a known one names; "" if there is none."""
    import webencodings
    from lxml import etree

    head = etree.HTML(b"<html>" + body[:2048], etree.HTMLParser(encoding="iso-8859-1"))
    for meta in head.iter("meta"):
        name: str = meta.get("charset", "")
        if not name and meta.get("http-equiv", "").lower() == "content-type":
            name = "".join(_CHARSET.findall(meta.get("content", ""))[:1])
        if encoding := webencodings.lookup(name):
            name = encoding.name
            return _DECLARED.get(name, name)
    return ""
