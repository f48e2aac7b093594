"""Reads markdown as strictly as any reader might: what could forge, hide or run something is found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

FORGING = {"heading_open", "hr", "html_block", "html_inline", "image", "formula"}
LINKED = ("http://", "https://", "mailto:")


READERS = ("tables first", "tables last", "no tables", "tables last, addresses", "tables first, addresses")
"""Kinds of programs that show markdown: where they find a table, and whether they link bare addresses."""


@cache
def parser(reader: str = READERS[0]) -> MarkdownIt:
    """A parser that knows HTML and tables and holds every kind of address to be a link."""
    made = MarkdownIt("commonmark", {"html": True, "maxNesting": 64}).enable("strikethrough")
    made.inline.ruler.after("escape", "formula", _formula)
    made.validateLink = lambda url: True  # type: ignore[method-assign]
    if "first" in reader:
        made.enable("table")
    elif "last" in reader:
        made.block.ruler.before("paragraph", "last_table", table, {"alt": ["paragraph", "reference"]})
    if "addresses" in reader:
        made.disable("text").inline.ruler.push("address", _bare_address)
    return made


def _formula(state: StateInline, silent: bool) -> bool:
    """What the most eager programs draw: all from some dollar signs to as many, code or not."""
    found = re.compile(r"(\$+)(?!\$).+?(?<!\$)\1(?!\$)", re.DOTALL).match(state.src, state.pos)
    if found is None or silent:
        return False
    state.push("formula", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _bare_address(state: StateInline, silent: bool) -> bool:
    """GitHub's rule: an address is all up to a space or `<`, outside of the text of a link."""
    found = re.compile(r"(?:(?:https?|ftp)://|www\.)[^\s<]+", re.IGNORECASE).match(state.src, state.pos)
    if found is None or silent or state.linkLevel:
        return False
    state.push("text", "", 0).content = found[0]
    state.pos = found.end()
    return True


@lru_cache(maxsize=64)
def _parsed(markdown: str, reader: str) -> tuple[list[Token], list[str]]:
    known: dict[str, Any] = {}
    tokens = parser(reader).parse(markdown, known)
    return tokens, list(known.get("references", {}))


def parsed(markdown: str, reader: str = READERS[0]) -> list[Token]:
    """Its tokens. A report is looked at in many ways, one after the other, and is parsed once."""
    return _parsed(markdown, reader)[0]


def every(tokens: list[Token]) -> Iterator[Token]:
    """All tokens, those within others too."""
    for token in tokens:
        yield token
        yield from every(token.children or [])


def forged(markdown: str, reader: str = READERS[0]) -> list[str]:
    """Whatever in a piece of a report could be taken for the report's own, or runs something."""
    tokens, known = _parsed(markdown, reader)
    found = []
    for token in every(tokens):
        if token.type in FORGING and not (token.type == "hr" and token.level):
            found.append(f"{token.type} {token.content}")
        if token.type == "link_open" and not str(token.attrs["href"]).lower().startswith(LINKED):
            found.append(f"link to {token.attrs['href']}")
    return found + [f"definition of {name}" for name in known]


def between(markdown: str, reader: str = READERS[0]) -> tuple[str, ...]:
    """The markup of the headings and paragraphs around a piece that is in a report, if it stays within them."""
    tokens = parsed(f"#### before\n\n{markdown}\n\n#### after", reader)
    first, *_, opened, inside, closed = tokens
    return (first.markup, tokens[1].content, opened.type, inside.content, closed.type, str(opened.level))


BETWEEN = ("####", "before", "heading_open", "after", "heading_close", "0")
"""What `between` finds around a piece that stays in its place."""


def links(markdown: str, reader: str = READERS[0]) -> list[str]:
    """The address of each link."""
    return [str(token.attrs["href"]) for token in every(parsed(markdown, reader)) if token.attrs.get("href")]


def headings(markdown: str) -> list[tuple[int, str]]:
    """Every heading with its level, wherever it stands."""
    tokens = parsed(markdown)
    return [(int(token.tag[1]), shown(tokens[n + 1])) for n, token in enumerate(tokens) if token.type == "heading_open"]


def tables(markdown: str) -> list[list[list[str]]]:
    """Every table that is not part of something else, as rows of cells as they are shown."""
    found: list[list[list[str]]] = []
    inside = False
    for token in parsed(markdown):
        if token.type in ("table_open", "table_close") and token.level == 0:
            inside = token.type == "table_open"
            found += [[]] if inside else []
        elif inside and token.type == "tr_open":
            found[-1].append([])
        elif inside and token.type == "inline":
            found[-1][-1].append(shown(token))
    return found


def shown(token: Token) -> str:
    """What a reader sees of a line of text."""
    breaks = {"softbreak": "\n", "hardbreak": "\n"}
    return "".join(breaks.get(child.type, child.content) for child in token.children or [])


def visible(markdown: str) -> str:
    """All that a reader sees, and the addresses of links."""
    found = []
    for token in parsed(markdown):
        if token.type in ("fence", "code_block"):
            found += [token.info, token.content]
        elif token.type == "inline":
            found += [one.content for one in token.children or []]
            found += [str(one.attrs["href"]) for one in token.children or [] if one.type == "link_open"]
    return "\n".join(found)


def runs(text: str) -> list[str]:
    """The runs of letters and digits in a text."""
    return re.findall(r"[^\W_]+", text)


def fragments(markdown: str) -> list[str]:
    """The fragments that GitHub gives to the headings, in order."""
    made: list[str] = []
    for _, title in headings(markdown):
        slug = "".join(one for one in title.lower() if one.isalnum() or one in "_- ").replace(" ", "-")
        again = sum(one == slug or (one.startswith(f"{slug}-") and one[len(slug) + 1 :].isdigit()) for one in made)
        made.append(f"{slug}-{again}" if again else slug)
    return made


def links_within(markdown: str) -> list[str]:
    """The fragments that the links within the report lead to."""
    found = every(parsed(markdown))
    addresses = [str(token.attrs["href"]) for token in found if token.type == "link_open"]
    return [address[1:] for address in addresses if address.startswith("#")]
