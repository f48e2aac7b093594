"""What markdown makes of the words of others: their blocks, and whether all words are shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from html import unescape
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_block import table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from debate_orchestrator.util import sanitize

_MAX_DEPTH = 16
"""Blocks within blocks that are still laid out; two for each list."""
_MAX_LENGTH = 40_000
"""Characters of a text that is parsed, ten times what a phase asks for; a longer one is shown as it is."""
_MAX_SIGNS = {"[": 300, "|": 4_000, "\n": 2_000}
"""The most of these in a parsed text: beginnings of links, from which the parser looks ahead, cells, and lines."""
MAX_LINK_LENGTH = 2_000
"""Characters of an address that is still linked, and of a title that is still shown whole."""
_PLAIN = r"(?-i:[A-Za-z0-9/.:?=&%#~+,@_-])"  # no letter beyond ASCII that is an "s" or a "k" in lower case
_REST = rf"{_PLAIN}*(?:\({_PLAIN}*\){_PLAIN}*)*"
PLAIN_ADDRESS = rf"(?:https?://(?-i:[A-Za-z0-9._-])+(?::\d*)?(?:[/?#]{_REST})?|mailto:{_REST})"
"""An address that may be linked in markdown. It holds nothing that could end it, or the attribute it becomes, and what
is before its path is a host and a port, which every browser reads alike: a user, percent signs or a third slash is not.
"""
_HOST = r"[^ \t\n</?#]"
_ODD_HOST = rf"(?-i:[/?#]|{_HOST}{{0,253}}(?:[%@]|[^\x00-\x7f])|{_HOST}{{254}})"
ODD_ADDRESS = rf"(?<=:)/(?=/{_ODD_HOST})|(?<=ww)w(?=\.{_ODD_HOST})"
"""The character before an address whose host is not plain. For programs that link bare addresses, such a host ends at
an ASCII blank or a slash."""
_BARE = rf"(?!&#?\w+;|%%|{ODD_ADDRESS})(?:{_PLAIN}|[()])"
BARE_ADDRESS = rf"(?<![A-Za-z])(?:(?:https?|ftp)://|www\.)(?!{_ODD_HOST})(?=[A-Za-z0-9])(?:{_BARE})+"
"""An address that such programs link as it is, up to what could begin something where it is no link."""
NO_ADDRESS = "a page without an address"


@cache
def parser(*, of_lines: bool = False, tables_first: bool = False, for_markdown: bool = False) -> MarkdownIt:
    """A parser without HTML, images and link definitions. Rules are shown as text, and entities in single lines. To be
    written as markdown, an address in angle brackets is text too, and a link has an address that markdown can hold."""
    markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_DEPTH + 8})
    markdown.block.ruler.before("paragraph", "last_table", table, {"alt": ["paragraph", "reference"]})  # as GitHub does
    markdown.enable("strikethrough").disable(["reference", "image", "html_block", "html_inline", "hr"])
    markdown.validateLink = lambda url: host_of(url) is not None  # type: ignore[method-assign]
    if tables_first:  # as in VS Code
        markdown.enable("table")
    if of_lines:
        markdown.disable("entity")
    if for_markdown:
        markdown.disable("autolink")
        markdown.validateLink = lambda url: re.fullmatch(PLAIN_ADDRESS, url) is not None  # type: ignore[method-assign]
    markdown.normalizeLinkText = lambda link: link  # type: ignore[method-assign]  # else `%E2%80%AE` is decoded
    markdown.core.ruler.push("sanitize", _sanitize)
    return markdown


def _sanitize(state: StateCore) -> None:
    """Makes the tokens safe, as their text was before entities were decoded in it. All within a line, titles of links
    too, stays on that line."""
    for block in state.tokens:
        for token in block.children or []:
            token.content = sanitize.without_line_breaks(token.content)
            if "title" in token.attrs:
                token.attrs["title"] = sanitize.one_line(str(token.attrs["title"]))


def of_speech(text: str) -> list[Token]:
    """The blocks of a whole speech; none if it is too long or too deep, or if they would leave out a word."""
    if not _is_laid_out(text):
        return []
    tokens, words = parser().parse(text, {}), Counter(words_in(text))
    whole = _shows_all(tokens, words)
    if whole and "|" in text:  # else there is no table, and every parser sees the same
        whole = _shows_all(parser(tables_first=True).parse(text, {}), words)
    return tokens if whole and not _is_deep(tokens) else []


def of_line(text: str, *, for_markdown: bool = False) -> list[Token]:
    """The content of one line without its emphasis, which only titles of a report have; none if it is too long or too
    deep."""
    if not _is_laid_out(text):
        return []
    (line,) = parser(of_lines=True, for_markdown=for_markdown).parseInline(text, {})
    return [] if _is_deep([line]) else [token for token in line.children or [] if token.tag not in ("em", "strong")]


def code_blocks(tokens: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    """Of each fenced block of code: its first line, the line after it, both from 0, and the fence that opens it."""
    for token in tokens:
        if token.type == "fence" and token.map:
            yield token.map[0], token.map[1], token.markup


def _is_laid_out(text: str) -> bool:
    """Whether a text is short and plain enough to be parsed."""
    return len(text) <= _MAX_LENGTH and all(text.count(sign) <= n for sign, n in _MAX_SIGNS.items())


def _is_deep(tokens: Sequence[Token]) -> bool:
    return any(token.level >= _MAX_DEPTH or _is_deep(token.children or []) for token in tokens)


def _shows_all(tokens: Sequence[Token], words: Counter[str]) -> bool:
    """Whether the tokens show all these words: parsers drop the cells that a row has beyond its head."""
    return not words - Counter(words_in("\n".join(_shown(tokens))))


def _shown(tokens: Sequence[Token]) -> Iterator[str]:
    """The visible text of each token once it is restyled, and the addresses of links; nothing twice."""
    for token in tokens:
        if token.children is not None:
            yield from _shown(token.children)
        elif token.type == "link_open" and token.markup != "autolink":  # the address of one is its text
            yield from (str(token.attrs.get("href", "")), str(token.attrs.get("title", "")))
        elif token.type == "list_item_open" and token.info:
            yield str(int(token.info))
        else:
            yield token.info if token.type == "fence" else ""
            yield token.content


def words_in(text: str) -> list[str]:
    """The runs of letters and digits that are seen in a text, however its characters and addresses are written,
    and whatever parts them unseen, as the names of characters are in reports."""
    return re.findall(r"[^\W_]+", sanitize.sanitize(unquote(unescape(sanitize.sanitize(text)))).casefold())


def host_of(url: str) -> str | None:
    """The host of an address that may be linked, in ASCII. One with percent signs, which browsers decode, may not."""
    try:
        parts = urlsplit(sanitize.with_ascii_host(url))
        host = parts.hostname
    except ValueError:
        return None
    odd = len(url) > MAX_LINK_LENGTH or url != sanitize.one_line(url) or set(parts.netloc) & {"@", "%"}
    return host if parts.scheme in ("http", "https") and host and not odd else None
