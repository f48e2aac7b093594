"""A page's bytes as text: its title, the date it gives, its main text, and all that a visitor would see of it.

The main text is trafilatura's; it is handed a tree and no address, and makes no request. Nothing of a page is
run, so what its scripts would write is not there.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from debate_orchestrator.util import sanitize

MAX_LENGTH = 5_000_000
"""Characters of a page that are read."""
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_LATIN = {"ascii", "iso8859-1", "cp1252"}
_KNOWN = re.compile(
    r"utf-8|utf-16(-[lb]e)?|iso8859-\d{1,2}|cp125\d|cp874|cp866|koi8-[ru]|mac-roman|shift_jis|cp932|euc_jp|iso2022_jp|"
    r"gb2312|gbk|gb18030|big5(hkscs)?|cp949|euc_kr|tis-620"
)
"""What pages are encoded in. Python knows more, among them some that are no encodings of text, or slow ones."""
_SILENT = {
    "annotation", "annotation-xml", "audio", "canvas", "datalist", "head", "iframe", "meter", "mphantom", "noembed",
    "noframes", "noscript", "object", "progress", "rp", "script", "select", "style", "svg", "template", "textarea",
    "video",
}  # fmt: skip
_INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "nobr", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt",
    "u", "var", "wbr",
}  # fmt: skip
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPED = r"\\(?:\r\n|.)"
_STYLE_TOKEN = re.compile(
    rf"""{_COMMENT.pattern}|(?<![\w\\-])url\((?![ \t\r\n\f]*["'])(?:[^)\\]|{_ESCAPED})*+\)?|"""
    rf""""(?:[^"\\\n\r\f]|{_ESCAPED})*+"?|'(?:[^'\\\n\r\f]|{_ESCAPED})*+'?|{_ESCAPED}|[;()\[\]{{}}]""",
    re.DOTALL | re.IGNORECASE,
)
"""What decides in a style where a declaration ends; a semicolon in a comment, a string, an address or brackets ends
none. A string ends with its line, and an address without quotes with its bracket, whatever stands in it."""
_ANY = r"inherit|initial|unset|revert|revert-layer|var\(.*\)"
_SHOWING = {
    "display": re.compile(
        r"none|inline|contents|list-item|flow-root|run-in|(-webkit-|-ms-)?(inline-)?(block|flex|flexbox|grid|table|box)|"
        rf"table-[a-z-]+|ruby[a-z-]*|(block|inline) [a-z-]+|{_ANY}",
        re.DOTALL,
    ),
    "visibility": re.compile(rf"visible|hidden|collapse|{_ANY}", re.DOTALL),
}
"""The properties that hide an element, and their values: browsers ignore a declaration with another one."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TITLE = 300


class Page(NamedTuple):
    """A page as text, made safe to show."""

    title: str = ""
    date: str = ""
    """When it was published, as YYYY-MM-DD, where the page says so."""
    main: str = ""
    """Its main text; "" where none was made out."""
    whole: str = ""
    """All that a visitor sees."""


def plain(body: bytes, charset: str) -> Page:
    """A page of plain text."""
    return Page(whole=sanitize.sanitize(decoded(body, charset)[:MAX_LENGTH]))


def html_page(body: bytes, charset: str) -> tuple[Page, Any]:
    """A page of HTML without its main text, and the tree that `with_main` makes that out from."""
    from lxml import etree, html  # type: ignore[import-untyped]

    text = decoded(body, charset)[:MAX_LENGTH].replace("\x00", "")
    parser = html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False, no_network=True
    )
    try:
        tree = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError):
        return Page(), None
    _keep_apart(tree)
    title = tree.findtext(".//title") or ""
    _leave_out_unseen(tree)
    return Page(title=sanitize.one_line(title)[:_TITLE], whole=sanitize.sanitize(_seen(tree))), tree


def with_main(page: Page, tree: Any) -> Page:
    """`page` with the main text, title and date that trafilatura makes out."""
    from trafilatura import bare_extraction, extract_metadata

    about: Any = extract_metadata(tree, date_config={"original_date": True, "extensive_search": False})
    # The data that tell title and date may hold a text, too, which trafilatura takes for the page's.
    for script in list(tree.iter("script")):
        script.clear(keep_tail=True)
    found: Any = bare_extraction(tree, include_comments=False, favor_recall=True, with_metadata=False)
    date = about.date if _DATE.fullmatch(about.date or "") else ""
    title = sanitize.one_line(about.title or "")[:_TITLE]
    main = sanitize.sanitize(found.text or "") if found is not None else ""
    return page._replace(title=title or page.title, date=date, main=main)


def decoded(body: bytes, charset: str) -> str:
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
    """Python's name of an encoding that pages have; "" where it is none."""
    try:
        known = codecs.lookup(name).name if name else ""
    except (LookupError, ValueError):
        return ""
    if known in _LATIN:
        return "cp1252"
    return known if _KNOWN.fullmatch(known) else ""


def _keep_apart(tree: Any) -> None:
    """Keeps raised figures apart from those that they stand behind: 10² is not 102, and a note's number no digit."""
    for raised in list(tree.iter("sup")):
        inside = "".join(raised.itertext()).strip()
        if not inside[:1].isdigit() and inside[:1] not in ("+", "-", "\u2212"):
            continue
        previous, parent = raised.getprevious(), raised.getparent()
        before = parent.text if parent is not None else ""
        if previous is not None:
            before = previous.tail or "".join(previous.itertext())
        if not (before or "").rstrip()[-1:].isdigit():
            continue
        note, tail = raised.find(".//a") is not None, raised.tail
        raised.clear()
        raised.tail = tail
        raised.text = f"[{inside}]" if note else f"^{inside}"


def _leave_out_unseen(tree: Any) -> None:
    """Empties what no visitor sees, so that no quote is found in it; not the head, nor the data that give a date. The
    empty elements stay: to take out each would copy the text around it."""
    for node in list(tree.iter()):
        kept = node.tag == "head" or (node.tag == "script" and node.get("type") == "application/ld+json")
        if not kept and (node.tag in _SILENT or _is_hidden(node)):
            node.clear(keep_tail=True)
            node.tag = "span"


def _is_hidden(node: Any) -> bool:
    """Whether an element hides itself, by the attribute `hidden` or by its own style, which outranks that."""
    values, important = {"display": "none" if node.get("hidden") is not None else ""}, set[str]()
    for declaration in _declarations(node.get("style") or ""):
        name, _, text = _COMMENT.sub(" ", declaration).lower().partition(":")
        value, bang, _ = map(str.strip, text.partition("!"))
        name = name.strip()
        if name in _SHOWING and _SHOWING[name].fullmatch(value) and (bang or name not in important):
            values[name] = value
            important |= {name} if bang else set()
    return values["display"] == "none" or values.get("visibility") in ("hidden", "collapse")


def _declarations(style: str) -> Iterator[str]:
    """The declarations of a style attribute, such as "color: red"."""
    begin = depth = 0
    for token in _STYLE_TOKEN.finditer(style):
        if token[0] == ";" and not depth:
            if begin < token.start():
                yield style[begin : token.start()]
            begin = token.end()
        depth = max(0, depth + (token[0] in "([{") - (token[0] in ")]}"))
    yield style[begin:]


def _seen(tree: Any) -> str:
    """The visible text of a tree, with a new line where a block begins or ends."""
    out: list[str] = []
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            out.append(node)
            continue
        tag = node.tag if isinstance(node.tag, str) else ""
        after = node.tail or "" if node is not tree else ""
        if not tag or tag in _SILENT:
            out.append(after)
            continue
        apart = "" if tag in _INLINE else "\n"
        waiting.append(apart + after)
        waiting.extend(reversed(node))
        out.append(apart + (node.text or ""))
    lines = (" ".join(line.split()) for line in "".join(out).splitlines())
    return "\n".join(line for line in lines if line)
