"""Phrases, tables, speeches and structured replies in HTML; nothing in a speech can leave its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import quote

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from debate_orchestrator.core.visible_text import with_quotation_marks
from debate_orchestrator.reports import markdown_parser
from debate_orchestrator.reports.rich_text import FieldPart, Phrase, PhraseTable, Section, Span, Subsection
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.redact import redact

_SAFE = "/:?=&%@+,~$-._#;!*()[]'"
"""The characters that stay as they are in an address: everything else is written as percent signs and digits."""


def anchor(turn_id: str) -> str:
    """The id of a turn on the page: `t-1.opening.a`."""
    return f"t-{re.sub(r'[^a-z0-9.-]', '-', turn_id)}"


class HtmlWriter:
    """The `rich_text.Writer` of one page, which has the turns in `places`: turn id to its round and its name
    there. `checked_tags` are those of quotes that were looked up; quotation marks take their place."""

    def __init__(self, places: Mapping[str, tuple[int, str]], checked_tags: Sequence[str] = ()):
        self._places, self._checked_tags = places, checked_tags

    def speech(self, text: str) -> Markup:
        return text_of_others(with_quotation_marks(text, self._checked_tags))

    def line(self, phrase: Phrase) -> Markup:
        markup = Markup()
        for strong, spans in groupby(phrase, key=lambda span: span.strong):
            text = Markup().join(map(self._span, spans))
            markup += Markup("<strong>{}</strong>").format(text) if strong else text
        return markup

    def _span(self, span: Span) -> Markup:
        match span.kind:
            case "turn":
                return self.link_to(span.target, span.text) if span.target else self.turn(span.text)
            case "address":
                return self._page(span.text, span.text)
            case "page_title":
                host = markdown_parser.host_of(span.target)
                title = sanitize.quoted(span.text[: markdown_parser.MAX_LINK_LENGTH]) if span.text else ""
                linked = self._page(span.target, title)
                return linked + f" ({host})" if host and span.text else linked
            case "issue":
                title = Markup(' title="{}"').format(sanitize.one_line(span.tooltip)) if span.tooltip else ""
                return Markup("<abbr{}>{}</abbr>").format(title, escaped_html(span.text))
            case "inline_markdown":
                text = line(with_quotation_marks(span.text, self._checked_tags))
            case "quoted":
                plain = sanitize.plain_letters(with_quotation_marks(span.text, self._checked_tags))
                text = escaped_html(sanitize.quoted(plain))
            case "own":
                text = escape(sanitize.sanitize(span.text))
            case _:
                text = escaped_html(with_quotation_marks(span.text, self._checked_tags))
        return self.link_to(span.target, text) if span.target else text

    def _page(self, url: str, title: str) -> Markup:
        if markdown_parser.host_of(url) is None:
            shown = title or (
                sanitize.quoted(url[: markdown_parser.MAX_LINK_LENGTH]) if url else markdown_parser.NO_ADDRESS
            )
            return escaped_html(shown[: markdown_parser.MAX_LINK_LENGTH])
        link = escaped_html(title) or escaped_html(url[: markdown_parser.MAX_LINK_LENGTH])
        address = quote(sanitize.with_ascii_host(url), safe=_SAFE, errors="replace")
        attribute = Markup(' class="whole"') if title == url else ""
        return Markup('<a href="{}" rel="{}"{}>{}</a>').format(address, REL, attribute, link)

    def turn(self, turn_id: str) -> Markup:
        """A link to a turn: `round 1, opening A`."""
        round, name = self._places.get(turn_id, (0, turn_id))
        return self.link_to(turn_id, escape(f"round {round}, {name}" if round else name))

    def link_to(self, turn_id: str, text: str) -> Markup:
        """Words that lead to a turn, if it is on the page."""
        if turn_id not in self._places:
            return escape(text)
        return Markup('<a href="#{}">{}</a>').format(anchor(turn_id), text)

    def table(self, table: PhraseTable, caption: str, *, unseen: bool = False) -> Markup:
        """A table that scrolls by itself if it is too wide. Its first column names the rows."""
        headers = Markup().join(
            Markup('<th scope="col">{}</th>' if header else "<td>{}</td>").format(self.line(header))
            for header in table.headers
        )
        rows = Markup("\n").join(self._row(row) for row in table.rows)
        hidden = Markup(' class="unseen"') if unseen else ""
        return Markup(
            '<div class="wide" role="group" aria-label="{1}" tabindex="0"><table>\n<caption{0}>{1}</caption>\n'
            "<thead><tr>{2}</tr></thead>\n<tbody>\n{3}\n</tbody>\n</table></div>"
        ).format(hidden, caption, headers, rows)

    def _row(self, row: Sequence[Phrase]) -> Markup:
        first, *rest = row
        cells = Markup().join(Markup("<td>{}</td>").format(self.line(cell)) for cell in rest)
        return Markup('<tr><th scope="row">{}</th>{}</tr>').format(self.line(first), cells)

    def cards(self, table: PhraseTable) -> Markup:
        """A table whose cells are long, as a list: each row under its first cell, the others by their headers."""
        markup = Markup()
        for first, *rest in table.rows:
            cells = [(header, cell) for header, cell in zip(table.headers[1:], rest, strict=True) if cell]
            values = Markup().join(
                Markup("<div><dt>{}</dt><dd>{}</dd></div>\n").format(self.line(header), self.line(cell))
                for header, cell in cells
            )
            title = Markup("<p><strong>{}</strong></p>").format(self.line(first))
            markup += Markup('<li>{}\n<dl class="particulars">\n{}</dl></li>\n').format(title, values)
        return Markup('<ul class="cards">\n{}</ul>').format(markup)

    def block(self, parts: Iterable[FieldPart]) -> Markup:
        return Markup("\n").join(map(self._part, parts))

    def _part(self, part: FieldPart) -> Markup:
        if part.kind == "quote":
            return Markup("<blockquote><p>{}</p></blockquote>").format(self.line(part.phrase))
        if part.kind == "line":
            return Markup("<p>{}</p>").format(self._field(part))
        words = self.speech(part.text) if part.kind == "speech" else framed(self.items(part.items))
        return (Markup("<p><strong>{}:</strong></p>\n").format(escaped_html(part.title)) if part.title else "") + words

    def field_items(self, parts: Iterable[FieldPart]) -> Markup:
        return Markup("\n").join(Markup("<li>{}</li>").format(self._field(part)) for part in parts)

    def _field(self, part: FieldPart) -> Markup:
        title = Markup("<strong>{}:</strong> ").format(escaped_html(part.title))
        return title + (self.items(part.items) if part.kind == "list" else self.line(part.phrase))

    def subsections(self, section: Section) -> Markup:
        return Markup("\n").join(self.subsection(subsection, section.title) for subsection in section.subsections)

    def subsection(self, subsection: Subsection, section_title: str) -> Markup:
        """A part of the section that has this title."""
        blocks: list[Markup] = []
        has_caption = subsection.table and not subsection.has_long_cells
        if subsection.title and not has_caption:
            attribute = Markup(' id="{}"').format(subsection.id) if subsection.id else ""
            blocks.append(Markup("<h3{}>{}</h3>").format(attribute, subsection.title))
        if subsection.table and has_caption:
            blocks.append(self.table(subsection.table, subsection.title or section_title, unseen=not subsection.title))
        elif subsection.table:
            blocks.append(self.cards(subsection.table))
        blocks += [self.items(subsection.items, numbered=subsection.is_numbered)] if subsection.items else []
        blocks += [Markup("<p>{}</p>").format(self.line(sentence)) for sentence in subsection.sentences]
        return Markup("\n").join(blocks)

    def items(self, phrases: Iterable[Phrase], *, numbered: bool = False) -> Markup:
        markup = Markup().join(Markup("<li>{}</li>").format(self.line(item)) for item in phrases)
        return Markup('<ol class="items">{}</ol>' if numbered else "<ul>{}</ul>").format(markup)


REL = "nofollow noopener noreferrer"


class _Renderer(RendererHTML):
    """Writes code with its name, and tables that scroll."""

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        info = tokens[idx].info.strip()  # the speaker's words, so they go inside the box
        name = f'<span class="code-name">{escape(info)}</span>\n' if info else ""
        return f"<pre><code>{name}{escape(tokens[idx].content)}</code></pre>\n"


def quoted_document(heading: str, text: str, notes: Iterable[str] = ()) -> Markup:
    """A text of others below its heading, both hostile, and below it notes of the program."""
    below = Markup().join(Markup("<p>{}</p>\n").format(escaped_html(note)) for note in notes)
    return Markup("<h3>{}</h3>\n{}").format(escaped_html(heading), text_of_others(text)) + below


def join_html(parts: Iterable[Markup]) -> Markup:
    """Parts of a page, one after the other."""
    return Markup().join(parts)


def text_of_others(text: str) -> Markup:
    """A text of others, in the element beside which pages draw a bar: what has no bar beside it is the program's."""
    return framed(paragraphs(text))


def framed(markup: Markup) -> Markup:
    return Markup('<div class="words">\n{}</div>\n').format(markup)


def paragraphs(text: str) -> Markup:
    """A text in markdown, as paragraphs and other blocks."""
    safe_text = redact(sanitize.sanitize(text)).strip("\n")
    tokens = markdown_parser.of_speech(safe_text)
    if not tokens:
        return Markup('<pre class="whole"><code>{}</code></pre>\n').format(safe_text)
    _restyle(tokens)
    return _render(tokens)


def _render(tokens: Sequence[Token]) -> Markup:
    _redact(tokens)
    return Markup(_Renderer().render(tokens, markdown_parser.parser().options, {}))


def _restyle(tokens: Sequence[Token]) -> None:
    """Makes paragraphs of headings, which belong to the report alone, lets links lead out of it, and gives each item
    of an ordered list the number that was written."""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag, token.attrs = "p", {"class": "headed"} if token.nesting > 0 else {}
        elif token.type in ("th_open", "td_open"):
            token.attrs = {"scope": "col"} if token.tag == "th" else {}
        elif token.type == "ordered_list_open":
            token.attrs = {}
        elif token.type == "list_item_open" and token.info:
            token.attrs = {"value": token.info}
        elif token.children:
            token.children = list(_with_plain_links(token.children))


def _with_plain_links(tokens: Sequence[Token]) -> Iterator[Token]:
    """The content of a line, with links that hide nothing: their hosts and titles, and addresses without text, are
    shown."""
    href, title, text = "", "", ""
    for token in tokens:
        if token.type == "link_open":
            href, title, text = str(token.attrs.get("href", "")), str(token.attrs.get("title", "")), ""
            token.attrs = {"href": href, "rel": REL} if href else {}
        elif token.type == "link_close" and not markdown_parser.words_in(text):
            yield Token("text", "", 0, content=f" {href}" if text else href)
        text += token.content
        yield token
        if token.type == "link_close":
            yield Token("text", "", 0, content=f" ({markdown_parser.host_of(href)})" + (f" “{title}”" if title else ""))


def _redact(tokens: Sequence[Token]) -> None:
    """Takes out secrets that emphasis parts, which a page would show in one piece."""
    for token in tokens:
        children = token.children or []
        plain = "".join(child.content for child in children)
        if len(children) > 1 and (redacted := redact(plain)) != plain:
            token.children = [Token("text", "", 0, content=redacted)]


def line(text: str) -> Markup:
    """A sentence on one line, with its code and links; only titles of the page are emphasized on a line."""
    plain = sanitize.plain_letters(sanitize.one_line(text))
    tokens = [Token("inline", "", 0, children=markdown_parser.of_line(plain))]
    _restyle(tokens)
    return _render(tokens) if tokens[0].children else escape(plain)


def escaped_html(text: str) -> Markup:
    """One line in which every character is shown as itself."""
    return escape(sanitize.one_line(text))
