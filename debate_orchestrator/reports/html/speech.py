"""Speech in HTML: shown as its author meant it, unable to leave its place.

A speech keeps its paragraphs, emphasis, lists, tables and code. Markup that it holds is shown as text, its headings and
rules are lines of their own and no headings, images are not loaded, and what is linked is a page of the web. What
is nested too deep, or longer than anybody reads, and a table with more cells than it has columns, is shown as it
was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from debate_orchestrator import speech
from debate_orchestrator.reports import pages
from debate_orchestrator.reports.markup import LONGEST, leaves_out

REL = "nofollow noopener noreferrer"
_DEEPEST = 16
"""Blocks within blocks that are still laid out; two for each list."""
_AS_THEY_ARE = {"paragraph", "bullet_list", "ordered_list", "list_item", "blockquote", "em", "strong", "s"}
_AS_THEY_ARE |= {"thead", "tbody", "tr"}


class _Renderer(RendererHTML):
    """Writes what a speech may have, and nothing that leads, loads or styles anything else."""

    def text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return str(escape(tokens[idx].content))

    def heading_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return '<p class="headed">'

    def heading_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</p>\n"

    def hr(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<p class="ruled">{escape(tokens[idx].markup[:3])}</p>\n'

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        info = tokens[idx].info.strip()
        named = f'<p class="code-name">{escape(info)}</p>\n' if info else ""
        return f"{named}{_code(tokens[idx].content)}"

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return _code(tokens[idx].content)

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return '<th scope="col">'

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "<td>"

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        title = tokens[idx].attrs.get("title")
        titled = f' title="{escape(str(title))}"' if title else ""
        return f'<a href="{escape(str(tokens[idx].attrs["href"]))}" rel="{REL}"{titled}>'

    def quote_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<q class="{tokens[idx].info}">'

    def quote_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        seen = "found in the material" if tokens[idx].info == "held" else "not found in the material"
        mark = "✓" if tokens[idx].info == "held" else "✗"
        return f'</q><span class="sealed {tokens[idx].info}">{mark}<span class="unseen"> {seen}</span></span>'


def _code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>\n"


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST + 8}, renderer_cls=_Renderer)
    made.enable(["table", "strikethrough"]).disable(["reference", "image", "html_block", "html_inline"])
    made.validateLink = lambda url: pages.host_of(url) is not None  # type: ignore[method-assign]
    return made


_FREE = {"text", "softbreak", "hardbreak", "inline", "fence", "code_block", "code_inline", "hr"}
_OWN = {"heading", "table", "th", "td", "link"}


def block(text: str, quotes: tuple[str, str] | None = None) -> Markup:
    """A whole speech; `quotes` are the tags of what was looked up in the material, found and not."""
    tamed = speech.tame(text).strip("\n")
    if len(tamed) <= LONGEST:
        tokens = _parser().parse(tamed)
        if all(map(_known, tokens)) and not leaves_out(tokens, tamed):
            for token in tokens:
                if token.children:
                    _unlink(token.children)
                if quotes and token.children:
                    token.children = list(_quoted(token.children, quotes))
            return Markup(_parser().renderer.render(tokens, _parser().options, {}))
    return Markup(f'<pre class="whole"><code>{escape(tamed)}</code></pre>\n')


def _known(token: Token) -> bool:
    """Whether a token is something that the renderer has its own way with, and not nested too deep."""
    name, _, way = token.type.rpartition("_")
    mine = token.type in _FREE or (way in ("open", "close") and name in _AS_THEY_ARE | _OWN)
    return mine and token.level < _DEEPEST and all(map(_known, token.children or []))


def line(text: str) -> Markup:
    """A sentence on one line, with its emphasis, code and links."""
    said = speech.one_line(text)
    if len(said) <= LONGEST:
        tokens = _parser().parseInline(said)
        if all(map(_known, tokens)):
            _unlink(tokens[0].children or [])
            return Markup(_parser().renderer.render(tokens, _parser().options, {}))
    return escape(said)


def literal(text: str) -> Markup:
    """One line in which every character is shown as itself."""
    return escape(speech.one_line(text))


def plainly(text: str) -> list[str]:
    """The paragraphs of a speech without any markup, each on one line; without its headings, tables and code, and
    without block quotes, unless it has nothing else."""
    tamed = speech.tame(text)
    if len(tamed) > LONGEST:
        return [speech.one_line(tamed)]
    tokens = _parser().parse(tamed)
    own, quoted, depth = list[str](), list[str](), 0
    for n, token in enumerate(tokens):
        depth += token.nesting if token.type.startswith("blockquote") else 0
        if token.type == "paragraph_open":
            said = speech.one_line("".join(map(_shown, tokens[n + 1].children or [])))
            (quoted if depth else own).append(said)
    return [one for one in own if one] or [one for one in quoted if one] or [speech.one_line(tamed)]


def _shown(token: Token) -> str:
    return " " if token.type.endswith("break") else token.content


def _unlink(children: Sequence[Token]) -> None:
    """Makes text of links that lead nowhere, which the parser lets pass."""
    opened: list[Token] = []
    for token in children:
        if token.type == "link_open":
            opened.append(token)
        elif token.type == "link_close":
            start = opened.pop()
            if not start.attrs.get("href"):
                start.type, start.content = "text", "["
                token.type, token.content = "text", "]()"


def _quoted(children: Sequence[Token], tags: tuple[str, str]) -> Iterator[Token]:
    """The tokens of a paragraph with the tags of quotes as quotes, where a quote opens and closes on one level."""
    parts = [part for child in children for part in _split(child, tags)]
    closes: dict[int, int] = {}
    opened: tuple[int, str, int] | None = None
    for n, part in enumerate(parts):
        if opened and part.level < opened[2]:
            opened = None
        if part.type == "mark" and not part.content.startswith("</"):
            opened = (n, part.info, part.level)
        elif part.type == "mark" and opened and (part.info, part.level) == opened[1:]:
            closes[opened[0]] = n
            opened = None
    ends = set(closes.values())
    for n, part in enumerate(parts):
        if part.type == "mark" and (n in closes or n in ends):
            yield Token("quote_open" if n in closes else "quote_close", "q", 0, info=part.info)
        else:
            part.type = "text" if part.type == "mark" else part.type
            yield part


def _split(token: Token, tags: tuple[str, str]) -> Iterator[Token]:
    """A token, or the parts of a text around its tags."""
    if token.type != "text":
        yield token
        return
    names = {f"{edge}{tag}>": how for tag, how in zip(tags, ("held", "unheld"), strict=True) for edge in ("<", "</")}
    for part in re.split(f"({'|'.join(map(re.escape, names))})", token.content):
        if part in names:
            yield Token("mark", "", 0, content=part, info=names[part], level=token.level)
        elif part:
            yield Token("text", "", 0, content=part, level=token.level)
