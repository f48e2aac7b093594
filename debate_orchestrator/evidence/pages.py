"""A page's bytes as text: its title, the date it gives, and all that a visitor would see of it.

Title and date are trafilatura's, which is handed a tree and no address, and makes no request. Its main text is not
used: it leaves words out from within sentences. Nothing of a page is run, so what its scripts would write is not there.
"""

from __future__ import annotations

import codecs
import re
from typing import Any, NamedTuple

from debate_orchestrator.evidence import visible
from debate_orchestrator.evidence.states import Unreadable
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
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TITLE = 300


class Page(NamedTuple):
    """A page as text, made safe to show."""

    title: str = ""
    date: str = ""
    """When it was published, as YYYY-MM-DD, where the page says so."""
    text: str = ""
    """All that a visitor sees, in order."""


def plain(body: bytes, charset: str) -> Page:
    """A page of plain text."""
    return Page(text=sanitize.sanitize(decoded(body, charset)[:MAX_LENGTH]))


def html_page(body: bytes, charset: str) -> tuple[Page, Any]:
    """A page of HTML, and the tree from which `with_metadata` makes out more; None where nothing could be read. Raises
    Unreadable where elements are nested too deep: the parser drops all that follows."""
    from lxml import etree, html  # type: ignore[import-untyped]

    text = decoded(body, charset)[:MAX_LENGTH].replace("\x00", "")
    parser = html.HTMLParser(encoding="utf-8", remove_pis=True, collect_ids=False, no_network=True)
    try:
        tree = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError):
        return Page(), None
    if any("depth" in problem.message for problem in parser.error_log.filter_from_fatals()):
        raise Unreadable("its elements are nested too deep to be read")
    # Formulas and drawings show sections of character data, which this parser takes for comments.
    for comment in list(tree.iter(etree.Comment)):
        if (comment.text or "").startswith("[CDATA["):
            comment.addprevious(etree.Element("cdata"))
    etree.strip_tags(tree, etree.Comment)
    title = sanitize.one_line(tree.findtext(".//title") or "")[:_TITLE]
    return Page(title=title, text=sanitize.sanitize(visible.take_text(tree))), tree


def with_metadata(page: Page, tree: Any) -> Page:
    """`page` with the title and date that trafilatura makes out."""
    from trafilatura import extract_metadata

    about: Any = extract_metadata(tree, date_config={"original_date": True, "extensive_search": False})
    date = about.date if _DATE.fullmatch(about.date or "") else ""
    title = sanitize.one_line(about.title or "")[:_TITLE]
    return page._replace(title=title or page.title, date=date)


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
