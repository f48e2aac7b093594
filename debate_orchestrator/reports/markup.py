"""Speech as safe markdown: it keeps the layout that its author meant, and can't break out of its place.

A speech keeps its paragraphs, emphasis, lists, tables and code. It loses what could forge the report
around it: headings and rules are shown as text, HTML, images, formulas and bare addresses as text, links only to
http, https and mailto, an open code fence is closed. Readers of markdown differ in what they take for a table, so a
speech is parsed again as each kind of them reads it: what one of them finds suspicious is shown as plain code.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import Literal, NamedTuple
from urllib.parse import quote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_block import table
from markdown_it.token import Token

from debate_orchestrator.core.reply import FoundPage
from debate_orchestrator.reports import rich_text, speech_notes
from debate_orchestrator.reports.rich_text import Phrase, joined, phrase
from debate_orchestrator.util import sanitize

MAX_LENGTH = 40_000
"""Characters of a text that is still parsed, ten times what a phase asks for; a longer one is shown as it is."""
MAX_PARSED = 1_000_000
"""Characters that are parsed for one report, three times what long debates have; later texts are shown as they are."""
_MAX_SIGNS = {"[": 300, "|": 4_000, "\n": 2_000}
"""How many of these a text that is still parsed may have: beginnings of links, from each of which the parser looks
ahead, borders of cells, and ends of lines."""
_MAX_DEPTH = 16
"""Blocks within blocks; two for each list. The parser looks no deeper than a little more than that."""

_CONTAINERS = r"(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*"
_TOO_DEEP = re.compile(rf"^(?:[ \t]*+(?:>|[-*+](?=[ \t])|\d{{1,9}}[.)](?=[ \t]))){{{_MAX_DEPTH + 1}}}", re.MULTILINE)
_BLANK = re.compile(r"^ +$", re.MULTILINE)
"""A line of blanks, behind which some readers see no end of a paragraph."""
_HEADING = re.compile(rf"^({_CONTAINERS})(#|:::)")
"""The second begins a block that many programs add to markdown, and that may fold away what follows."""
_RULE_SIGNS = r"(?:[=-][=\s-]*|_[_\s]*|\*[*\s]*)$"  # to some readers, other blanks than those of ASCII are blanks too
_RULE = re.compile(rf"^({_CONTAINERS})({_RULE_SIGNS})")
_DEFINITION = re.compile(rf"^({_CONTAINERS})(\*?\[)(?=!|.*\]:|[^\]]*$)")
_NOTE_SIGNS = rf"[*_]{speech_notes.ANY}[*_] *$"
_NOTE = re.compile(rf"^({_CONTAINERS})({_NOTE_SIGNS})")
_DELIMITERS = re.compile(r"^(?=.*-)(?=.*[|:])[ >*+\d.)|:-]+$", re.MULTILINE)
"""A line that may stand below the head of a table."""
_LIST_OR_TABLE = re.compile(r"^[ >]*(?:[-+*]|\d{1,9}[.)]) (?=.*\|)[ >*+\d.)|:-]*$", re.MULTILINE)
"""Such a line with which a list may begin as well: readers differ."""
_FENCE_NAME = re.compile(r" *[\w.+#-]*")
"""What all readers take for the language of the code in a fence."""
_EXTENDED = r"(?::(?=//)|(?<=www)\.|\$(?!\d))"
"""Where readers begin a bare address or a formula. To them an address is all up to a blank or `<`, backslashes and
backticks too, so that what was to be text after it is none; and `$$` alone may take all behind it along."""
_ODD = re.compile(
    r"(?P<kept>\\[^\n<]"  # escaped already: left as it is
    r"|<https?://[^\s<>]*>|\]\(\s*<?(?:https?://|mailto:)[^\s<>()`\\]*)"  # and so are written links
    r"|(?P<less>\\?<(?=[A-Za-z/!?])|\\<)"  # HTML, comments, and links to odd places
    rf"|{_EXTENDED}"
    r"|!(?=\[)"  # images
    r"|\](?=\()",  # links to odd places
    re.IGNORECASE,
)
_ODD_BESIDE_OTHERS = re.compile(rf"{_ODD.pattern}|`|\\$", re.IGNORECASE)
"""The same of a text that others stand beside: a lone backtick, or a backslash at its end, could reach into them."""
_BARE_ADDRESS = re.compile(r"://|www\.", re.IGNORECASE)
_LINK_MIDDLE = re.compile(r"(?<!\\)(?:\\\\)*\]\(")
_STRIKE = re.compile(r"(?<!\\)(?:\\\\)*~~")
_BACKTICKS = re.compile(r"(?<!\\)(\\*)(`+)")
_NEXT_LINE = re.compile(r"\n(?: {0,3}>)* *")  # with what stands before the text of a paragraph's next line
_DRAWN = re.compile(r"[\s|\\:>*+-]")
"""What tables are drawn with, and the blocks around them."""
_LINKED = ("http://", "https://", "mailto:")
_FORBIDDEN = {"heading_open", "hr", "html_block", "html_inline", "image"}


class ParseBudget:
    """What may still be parsed for one report; each file of it begins with a whole one. Texts that it does not
    cover are shown as they are."""

    def __init__(self) -> None:
        self._left = MAX_PARSED

    def covers(self, text: str) -> bool:
        """Whether a text may be parsed. Its length is then taken off."""
        if len(text) > min(MAX_LENGTH, self._left) or any(text.count(sign) > n for sign, n in _MAX_SIGNS.items()):
            return False
        self._left -= len(text)
        return True


Tables = Literal["last", "first", "none"]
"""Where a reader of markdown finds a table: where no other block begins, as GitHub does; before it looks for any other
block, as markdown-it does; nowhere, as in CommonMark."""
_TABLES: tuple[Tables, ...] = ("last", "first", "none")


def with_tables(parser: MarkdownIt, tables: Tables = "last") -> MarkdownIt:
    """A parser without tables, made to find them so."""
    if tables == "last":
        parser.block.ruler.before("paragraph", "last_table", table, {"alt": ["paragraph", "reference"]})
    return parser.enable("table") if tables == "first" else parser


@cache
def _strict(tables: Tables) -> MarkdownIt:
    """A parser that finds whatever any reader's might: it holds no kind of link to be no link. It leaves what is
    escaped apart from other text."""
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _MAX_DEPTH + 8}).enable("strikethrough")
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return with_tables(parser.disable("text_join"), tables)


@cache
def _meant(tables: Tables) -> MarkdownIt:
    """A parser to which all that gets escaped is text: it finds the blocks that will be left, and looks no further."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_DEPTH + 8})
    parser.disable(["heading", "lheading", "hr", "reference", "html_block", "inline"])
    return with_tables(parser, tables)


def block(text: str, budget: ParseBudget | None = None) -> str:
    """A whole speech as markdown that can stand between two headings of a report."""
    safe_text = sanitize.sanitize(text).strip("\n").expandtabs(4)
    if (
        _TOO_DEEP.search(safe_text)
        or _LIST_OR_TABLE.search(safe_text)
        or not (budget or ParseBudget()).covers(safe_text)
    ):
        return as_code(safe_text)
    tables = _TABLES if _DELIMITERS.search(safe_text) else _TABLES[:1]
    escaped = _escaped(_BLANK.sub("", safe_text).strip("\n"), tables)
    return as_code(safe_text) if escaped is None or not _harmless(escaped, tables) else escaped


def as_code(text: str) -> str:
    """`text` in a code fence longer than any run of backticks in it."""
    longest = max((len(run) for _, run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _escaped(text: str, tables: Sequence[Tables]) -> str | None:
    """`text` with everything escaped, outside code, that could be structure; None if readers may differ in what is
    code."""
    lines = text.split("\n")
    layout, *others = [_layout(text, lines, one) for one in tables]
    differ = any((other.code, other.still_open) != (layout.code, layout.still_open) for other in others)
    if differ or any(one.doubtful for one in (layout, *others)):
        return None
    escaped: list[str] = []
    prose: list[str] = []
    for n, line in enumerate(lines):
        if prose and (n in layout.code or n in layout.starts):
            escaped.append(_run(prose))
            prose = []
        (escaped if n in layout.code else prose).append(line)
    escaped += [_run(prose)] if prose else []
    return "\n".join(escaped + ([layout.still_open] if layout.still_open else []))


class _Layout(NamedTuple):
    """The blocks of a text, by the numbers of its lines."""

    code: set[int]
    """Lines that are code."""
    starts: set[int]
    """Lines with which a run of prose begins."""
    still_open: str
    """The fence that closes a block left open."""
    doubtful: bool
    """Whether some readers find other code: rows of a table right below one, no fence where its first line says more
    than a language, no end of a fence left open within another block, and text where code there is only indented."""


def _layout(text: str, lines: list[str], tables: Tables) -> _Layout:
    """The blocks of a text as a kind of reader finds them."""
    code, starts, table_ends = set[int](), set[int](), set[int]()
    still_open, doubtful = "", False
    for token in _meant(tables).parse(text):
        if token.map is None:
            continue
        first, end = token.map
        starts |= {first, end}
        if token.type == "table_open":
            table_ends.add(end)
        if token.type in ("fence", "code_block"):
            code |= set(range(first, end))
        doubtful |= token.type == "code_block" and token.level > 0
        if token.type == "fence":
            indent = "[ >]*" if token.level else " {0,3}"
            closing = rf"{indent}{token.markup[0]}{{{len(token.markup)},}} *"
            closed = end - first > 1 and re.fullmatch(closing, lines[end - 1])
            still_open = "" if closed or token.level else token.markup
            doubtful |= not _FENCE_NAME.fullmatch(token.info) or bool(token.level and not closed)
    return _Layout(code, starts, still_open, doubtful or bool(table_ends & code))


def _run(lines: list[str]) -> str:
    """A run of prose with what could be structure escaped, and each code span on one line: readers differ in where a
    paragraph ends, and where one ends within a span, other backticks would belong together."""
    pieces = _pieces("\n".join(lines))
    pieces[1::2] = [_NEXT_LINE.sub(" ", span) for span in pieces[1::2]]
    return _inline("\n".join(map(_line, "".join(pieces).split("\n"))))


def _line(line: str) -> str:
    """A line of prose with what it could begin, or turn the line before it into, shown as text."""
    for structure in (_HEADING, _RULE, _DEFINITION, _NOTE):
        line = structure.sub(r"\1\\\2", line, count=1)
    return line


def _inline(text: str, odd: re.Pattern[str] = _ODD) -> str:
    """Escapes HTML, images and links to odd places everywhere but in code spans."""
    pieces = _pieces(text)
    pieces[::2] = [odd.sub(_escape, outside) for outside in pieces[::2]]
    return "".join(pieces)


def _escape(found: re.Match[str]) -> str:
    if found["less"]:
        return "&lt;"  # which stays text where a reader takes the sign before it for part of something else
    return found[0] if found["kept"] else f"\\{found[0]}"


def _pieces(text: str) -> list[str]:
    """A run of prose: what is outside of code spans and each span, by turns."""
    return [text[start:end] for start, end in pairwise([0, *chain.from_iterable(_code_spans(text)), len(text)])]


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the code spans of a run of prose begin and end: from some backticks to the next as many."""
    runs = [(found.start(2), found.end(2), len(found[1]) % 2) for found in _BACKTICKS.finditer(text)]
    alike: dict[int, list[tuple[int, int]]] = {}
    for start, end, _ in runs:
        alike.setdefault(end - start, []).append((start, end))
    done = 0
    for start, end, escaped in runs:
        closers = alike.get(end - start - escaped, [])
        n = bisect_left(closers, (end, 0))
        if start >= done and n < len(closers):
            done = closers[n][1]
            yield start + escaped, done


def _harmless(markdown: str, tables: Sequence[Tables]) -> bool:
    """Whether nothing that these readers find in a text could forge a report. Where some find a table, that also goes
    for each piece of a line that may be a cell to one of them."""
    readings = [_harmless_tokens(markdown, one) for one in tables]
    if any(found is None for found in readings):
        return False
    prose = [token.content for token in readings[-1] or [] if token.type == "inline"]
    pieces = {piece for content in prose for piece in re.split(r"[\n|]", content)} if len(tables) > 1 else set[str]()
    return not any(_suspicious(token) for piece in pieces for token in _strict("none").parseInline(piece))


def _harmless_tokens(markdown: str, tables: Tables = "last") -> list[Token] | None:
    """What a parser finds in a text; None if that could forge a report, or a heading after it does not stand
    free."""
    environment: dict[str, object] = {}
    tokens = _strict(tables).parse(f"{markdown}\n\n# end", environment)
    found, end = tokens[:-3], tokens[-3:]
    if environment.get("references") or end[0].type != "heading_open" or end[0].level:
        return None
    return None if any(map(_suspicious, found)) or leaves_out(found, markdown) else found


def leaves_out(tokens: Sequence[Token], text: str) -> bool:
    """Whether a table in `text` has more than its `tokens` show: of a row with more cells than the head, those beyond
    it are dropped by every parser."""
    lines, table_source, shown = text.split("\n"), "", list[str]()
    for token in tokens:
        if token.type == "table_open" and token.map is not None:
            table_source, shown = "\n".join(lines[slice(*token.map)]), []
        elif token.type == "inline":
            shown.append(token.content)
        elif token.type == "table_close" and len(_DRAWN.sub("", "".join(shown))) < len(_DRAWN.sub("", table_source)):
            return True
    return False


def _suspicious(token: Token) -> bool:
    if token.type in _FORBIDDEN or token.level >= _MAX_DEPTH:
        return True
    if token.type == "link_open" and not str(token.attrs.get("href", "")).lower().startswith(_LINKED):
        return True
    if token.type == "code_inline" and ("](" in token.content or "~~" in token.content):
        return True  # some readers find links and struck words first
    if token.type == "text" and _BARE_ADDRESS.search(token.content):
        return True
    children = token.children or []
    written = [False, *(child.type == "link_open" and child.markup == "autolink" for child in children)]
    # What follows such a beginning is the address between `<` and `>`, which is linked already.
    return any(_suspicious(child) for child, linked in zip(children, written, strict=False) if not linked)


class MarkdownBlock(NamedTuple):
    """A block of a document that is not part of another."""

    kind: str
    """`heading`, `paragraph`, `rule`, or the parser's word for anything else."""
    level: int
    """1 to 6 for a heading, otherwise 0."""
    first: int
    """Its first line, from 0."""
    end: int
    """The line after its last."""
    text: str
    """What a heading or a paragraph says, as it is written."""


@cache
def _outliner() -> MarkdownIt:
    """A parser that finds blocks and looks no further, so that a large document takes no time."""
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _MAX_DEPTH + 8})
    return with_tables(parser.disable("inline"))


def outline(text: str) -> list[MarkdownBlock]:
    """The blocks of a document, in order, as a reader of markdown finds them."""
    names = {"heading_open": "heading", "paragraph_open": "paragraph", "hr": "rule"}
    tokens = _outliner().parse(text)
    found = []
    for n, token in enumerate(tokens):
        if token.level or token.nesting < 0 or token.map is None:
            continue
        level = int(token.tag[1]) if token.type == "heading_open" else 0
        heading = tokens[n + 1].content if token.type in ("heading_open", "paragraph_open") else ""
        first, end = token.map
        found.append(MarkdownBlock(names.get(token.type, token.type), level, first, end, heading))
    return found


_STARTED = re.compile(rf"^({_CONTAINERS})\\(?=#|:::|{_RULE_SIGNS}|\*?\[(?=!|.*\]:|[^\]]*$)|{_NOTE_SIGNS})")
_ESCAPED = re.compile(r"\\(?=<[A-Za-z/!?]|!\[|\]\(|://|\$(?!\d)|(?<=www\\)\.)|&lt;(?=[A-Za-z/!?])", re.IGNORECASE)
_WHOLE = re.compile(r"(`{3,})text\n(.*)\n\1", re.DOTALL)


def unescaped(markdown: str, budget: ParseBudget | None = None) -> str:
    """The speech of which `block` makes this text. Where several would do it is the one with fewer backslashes; where
    none is found, the text itself, which `block` leaves as it is."""
    whole = _WHOLE.fullmatch(markdown)
    if whole and block(whole[2], budget) == markdown:
        return whole[2]
    lines, fence = [], ""
    for line in markdown.split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})", line)
        code = bool(fence or found)
        if found and not fence:
            fence = found[1]
        elif fence and re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}} *", line):
            fence = ""
        lines.append(line if code else _ESCAPED.sub(_unescape, _STARTED.sub(r"\1", line)))
    plain = "\n".join(lines)
    made = block(plain, budget)
    # A report of an earlier version has other escapes.
    return plain if made == markdown or made == block(markdown, budget) else markdown


def _unescape(found: re.Match[str]) -> str:
    return "<" if found[0] == "&lt;" else ""


_PUNCTUATION = re.compile(rf"[\\`*_\[\]<>|~&#]|{_EXTENDED}", re.IGNORECASE)
_OPENING = re.compile(r"^(\d*)([-+*](?=\s|$)|[-#>+=.)]|:::|\*?\[(?=.*\]:))")


def _as_text(text: str) -> str:
    """`text` with every character shown as itself, but for what begins a line."""
    return _PUNCTUATION.sub(lambda found: "&lt;" if found[0] == "<" else f"\\{found[0]}", text)


def literal(text: str) -> str:
    """One line in which every character is shown as itself, after other words: topics, positions, names."""
    return _as_text(sanitize.one_line(text))


def plain(text: str) -> str:
    """The same wherever it stands, at the start of a line too."""
    return _OPENING.sub(r"\1\\\2", literal(text))


_BLOCK_OPENING = re.compile(r"^(\s*(?:\d{1,9}(?=[.)](?:\s|$))|(?=[-+](?:\s|$)|=|--|:::)))")


def in_line(text: str) -> str:
    """A part of a line in which every character is shown as itself. It keeps the blanks around it."""
    return _as_text(sanitize.sanitize(text).replace("\n", " "))


def escaped(text: str) -> str:
    """The same wherever it stands, at the start of a line too. Dates and numbers stay as they are."""
    line = _BLOCK_OPENING.sub(r"\1\\", in_line(text).expandtabs(1))
    return line.lstrip(" ") if line.startswith("    ") else line  # four blanks would make code of it


def unliteral(markdown: str) -> str:
    """The line that `literal` made this of."""
    return re.sub(r"\\([\\`*_\[\]<>|~&#$:.])|&lt;", lambda found: found[1] or "<", markdown)


def prose(text: str, budget: ParseBudget | None = None) -> str:
    """One line that may keep its emphasis, code and links, wherever it stands: a judge's sentence, a table's cell.
    Others may stand on the same line."""
    line = sanitize.one_line(text)
    if not (budget or ParseBudget()).covers(line):
        return plain(line)
    escaped = _OPENING.sub(r"\1\\\2", _inline(line, _ODD_BESIDE_OTHERS))
    tokens = _harmless_tokens(escaped)
    return escaped if tokens and tokens[0].type == "paragraph_open" and _closed(escaped, tokens) else plain(line)


def inline(text: str, budget: ParseBudget | None = None) -> str:
    """The same after other markup, such as that of a heading."""
    line = sanitize.one_line(text)
    if not (budget or ParseBudget()).covers(line):
        return literal(line)
    escaped = _inline(line, _ODD_BESIDE_OTHERS)
    tokens = _harmless_tokens(escaped)
    return escaped if tokens is not None and _closed(escaped, tokens) else literal(line)


def _closed(markdown: str, tokens: Sequence[Token]) -> bool:
    """Whether all links and struck words of a line end in it. Half of one could be completed by the text beside it:
    a link's title that begins in one text and ends in the code of the next would lay the rest of that code open."""
    outside = "\n".join(_pieces(markdown)[::2])
    inner = [child for token in tokens for child in token.children or []]
    links = [child for child in inner if child.type == "link_open"]
    # A backtick in an address or a title pairs with none, although `_code_spans` takes it for one that may.
    if any("`" in str(value) or "%60" in str(value) for child in links for value in child.attrs.values()):
        return False
    written = sum(child.markup != "autolink" for child in links)
    struck = sum(child.type in ("s_open", "s_close") for child in inner)
    return len(_LINK_MIDDLE.findall(outside)) == written and len(_STRIKE.findall(outside)) == struck


def cell(text: str, budget: ParseBudget | None = None) -> str:
    """`prose` for a table: a pipe can't end the cell, not even in code."""
    return re.sub(r"(?<!\\)\|", r"\\|", prose(text, budget).replace("\\|", "|"))


def anchor(heading: str, seen: dict[str, int]) -> str:
    """The fragment that GitHub gives to a heading; `seen` counts the same ones before it."""
    slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    again = seen.get(slug, 0)
    seen[slug] = again + 1
    return f"{slug}-{again}" if again else slug


MAX_LINK_LENGTH = 2_000
"""Characters of an address that is still linked, and of a title that is still shown whole."""
_MAX_COUNT = 20
_SAFE = "/:?=&%@+,~$-._#"
"""What stays as it is in an address. Brackets, quotes and the like are written as percent signs and digits, so
that nothing can end the link, and so is the semicolon, without which there is no entity."""


def cited(found: Sequence[FoundPage]) -> Phrase:
    """The pages that a speech cites, in a sentence, and how many more were found; empty if none was."""
    pages = {page.url: page for page in found}
    quoted = [page for page in pages.values() if page.quote][:_MAX_COUNT]
    more = len(pages) - len(quoted)
    if not quoted:
        return phrase(f"Pages found by a search, none of them cited: {more}." if more else "")
    others = f"; {more} more {'was' if more == 1 else 'were'} found" if more else ""
    links = joined(", ", [rich_text.found(page.url, page.title) for page in quoted])
    return phrase("Pages cited from a search: ", links, f"{others}.")


def link(url: str, title: str) -> str:
    """A page as a link with the host it leads to behind it; as plain text where it is not a page of the web."""
    named = literal(title[:MAX_LINK_LENGTH])
    host = host_of(url)
    if host is None:
        return named or literal(url[:MAX_LINK_LENGTH]) or "a page without an address"
    shown = literal(host)
    address = quote(url, safe=_SAFE, errors="replace")
    return f"[{named}]({address}) ({shown})" if named else f"[{shown}]({address})"


def address(url: str) -> str:
    """An address as a link that shows all of itself; as plain text where it is not a page of the web."""
    if host_of(url) is None:
        return plain(url[:MAX_LINK_LENGTH])
    return f"[{literal(url)}]({quote(url, safe=_SAFE, errors='replace')})"


def host_of(url: str) -> str | None:
    """The host of an address that may be linked."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return None
    odd = len(url) > MAX_LINK_LENGTH or url != sanitize.one_line(url) or "@" in parts.netloc
    return host if parts.scheme in ("http", "https") and host and not odd else None
