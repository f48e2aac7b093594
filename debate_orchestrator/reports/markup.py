"""Turns the words of others into safe markdown.

A speech is a block quote: every line of it begins with `>`, and no line of the report itself does. So nothing in it can
pass for a line of the report. It keeps its paragraphs, emphasis, lists, tables, code and links. Headings, HTML, HTML
entities, images, formulas and links to odd places are shown as text, in every program that shows markdown. Elsewhere
a text is one line that keeps only closed emphasis, code and links.
"""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from debate_orchestrator.util import sanitize
from debate_orchestrator.util.redact import redact

_APART = "\u2060"
"""A word joiner, which is not seen, between two characters that would begin something together. Unlike a backslash it
works in code as well as outside of it, so nothing depends on what a program takes for code. `sanitize` takes all of
them out of speech: those in a report are the report's own."""
_PLAIN = r"[A-Za-z0-9/.:?=&%#~+,@_-]"
_ADDRESS = rf"(?:https?://|mailto:){_PLAIN}*(?:\({_PLAIN}*\){_PLAIN}*)*"
"""An address that may be linked. It holds nothing that could end it, or the attribute it becomes."""
_HIDING_LINK = re.compile(r"\[(?:(?:[^\w\[\]]|_)*|[^\[\]]*?(?:://|\bwww\.)[^\[\]]*)\](?=\()", re.IGNORECASE)
"""A link without words, or with the words of an address, which may differ from its own."""
_STRUCTURE = re.compile(
    r"<(?=[A-Za-z/!?])"  # HTML and comments, and addresses, which some programs take for HTML
    r"|!(?=\[)|\[(?=!)"  # images, and GitHub's alerts
    r"|&(?=#?\w+;)"  # HTML entities, which would show a tag that was not written
    r"|\[(?=_?toc_?\])"  # a table of contents
    r"|\](?=:)"  # definitions of links, notes and abbreviations
    rf"|\](?=\()(?!\({_ADDRESS}\))"  # links to odd places
    r"|\\(?=[A-Za-z(\[])|\$(?=\$)"  # TeX, without which a formula says nothing but its letters
    r"|(?<=```|~~~)(?=[ \t]*(?:math|mermaid|geojson|topojson|stl)\b)",  # code that GitHub draws as a picture
    re.IGNORECASE,
)
"""The first of two characters that would begin something that a speech can't have."""
_HEADING = re.compile(
    r"^[ \t>*+\-\d.)]*+(?=#|:(?!-))"  # also within a quote or a list; a definition may hold one
    r"|(?:^|(?<=[ \t>]))(?<!\| )(?=(?:=+|-+)[ \t]*$)",  # the line below a heading, but not that of a table
    re.MULTILINE,
)
"""The text before the `#` of a heading: links within a report would lead there."""


def quote_speech(text: str) -> str:
    """A whole speech as a block quote."""
    safe_text = redact(sanitize.sanitize(text)).strip("\n")
    if not safe_text.strip():
        return ""
    safe_text = _HIDING_LINK.sub(rf"\g<0>{_APART}", safe_text)
    lines = _apart(_HEADING.sub(rf"\g<0>{_APART}", safe_text)).split("\n")
    return "\n".join(f"> {line}" if line.strip() else ">" for line in lines)


def _apart(text: str) -> str:
    """A text in which no markdown structure begins. Each brace is separated from the text on both sides, since it could
    begin attributes."""
    return _STRUCTURE.sub(rf"\g<0>{_APART}", text).replace("{", f"{_APART}{{{_APART}")


_SIGNS = re.compile(r"[\\`*_\[\]<>|~&#]|:(?=//)|(?<=www)\.|\$(?!\d)|\{", re.IGNORECASE)
_OPENING = re.compile(r"^( *)(?:(\d{1,9})(?=[.)](?: |$))|(?=[-+](?: |$)|=|--|:::))")
"""The beginning of a list, a rule or the like at the start of a line, where `_SIGNS` leaves it alone."""


def escape(text: str) -> str:
    """A part of a line in which every character is shown as itself. It keeps its spaces."""
    line = _escape_signs(sanitize.without_line_breaks(text).expandtabs(1))
    line = _OPENING.sub(r"\1\2\\", line)
    return line.lstrip(" ") if line.startswith("    ") else line  # four spaces would make code of it


def literal(text: str) -> str:
    """One line in which every character is shown as itself: topics, positions, names."""
    return escape(sanitize.one_line(text))


def _escape_signs(text: str) -> str:
    return _SIGNS.sub(lambda match: "&lt;" if match[0] == "<" else f"\\{match[0]}", text)


_SPAN = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)[^`|]+(?P=ticks)(?!`))"
    rf"|(?P<link>(?<!!)\[(?=[^\[\]]*[^\W_])(?![^\[\]]*(?:://|\bwww\.))[^\[\]`<>\\{{}}$|]+\]\({_ADDRESS}\))"
    r"|(?P<words>\[[^\W_](?:[^\W_]|[ ,.-])+\](?![\[(:]))"
    r"|(?<![\w*_~])(?P<marks>\*{1,3}|_{1,2}|~~)(?P<inside>(?![\s*_~])(?:(?!(?P=marks)).)+(?<!\s))(?P=marks)(?![\w*_~])",
    re.IGNORECASE,
)
"""The parts that a line keeps: code, links, words in brackets and emphasis that begin and end in it."""


def prose(text: str) -> str:
    """One line that keeps its emphasis, code and links: a judge's sentence, a table's cell. Others may be on the
    same line: nothing in it is left open that could reach into them."""
    return _OPENING.sub(r"\1\2\\", _with_spans(sanitize.one_line(text)))


def _with_spans(line: str) -> str:
    parts, end = list[str](), 0
    for span in _SPAN.finditer(line):
        parts.append(_escape_signs(line[end : span.start()]))
        if span["marks"]:
            parts.append(f"{span['marks']}{_with_spans(span['inside'])}{span['marks']}")
        else:
            parts.append(span[0] if span["link"] else _apart(span[0]))
        end = span.end()
    return "".join([*parts, _escape_signs(line[end:])])


def quote_line(text: str) -> str:
    """A text on one line as a block quote; empty if the text is empty."""
    line = prose(text)
    return f"> {line}" if line else ""


def anchor(heading: str, counts: dict[str, int]) -> str:
    """The fragment that GitHub gives to a heading; `counts` counts the same ones before it."""
    slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    again = counts.get(slug, 0)
    counts[slug] = again + 1
    return f"{slug}-{again}" if again else slug


MAX_LINK_LENGTH = 2_000
"""Characters of an address that is still linked, and of a title that is still shown whole."""
_SAFE = "/:?=&%@+,~$-._#"
"""The characters that stay as they are in an address. Brackets, quotes and the like are written as percent signs and
digits, so that nothing can end the link, and so is the semicolon, without which there is no entity."""


def link(url: str, title: str) -> str:
    """A page as a link with the host it leads to after it; as plain text if it is not a page of the web."""
    name = literal(title[:MAX_LINK_LENGTH])
    host = host_of(url)
    if host is None:
        return name or literal(url[:MAX_LINK_LENGTH]) or "a page without an address"
    address = quote(url, safe=_SAFE, errors="replace")
    return f"[{name}]({address}) ({literal(host)})" if name else f"[{literal(host)}]({address})"


def address(url: str) -> str:
    """An address as a link that shows all of itself; as plain text if it is not a page of the web."""
    if host_of(url) is None:
        return literal(url[:MAX_LINK_LENGTH])
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
