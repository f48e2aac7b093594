"""Speech as safe markdown: it keeps the layout that its author meant, and can't break out of its place.

A speech keeps its paragraphs, emphasis, lists, tables and code. It loses what could forge the report around it:
headings, rules, HTML, images, formulas and links to odd places are shown as text. This holds for every program that
shows markdown, whatever it takes for code or a table, since no speech keeps two characters beside each other that could
begin any of these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_block import table

from debate_orchestrator.core.reply import FoundPage
from debate_orchestrator.reports import rich_text
from debate_orchestrator.reports.rich_text import Phrase, joined, phrase
from debate_orchestrator.util import sanitize

MAX_LENGTH = 100_000
"""Characters of a text that keeps its layout, 25 times what a phase asks for; a longer one is shown as code."""
_MAX_DEPTH = 16
"""Blocks within blocks of a text that keeps its layout."""
_APART = "\u2060"
"""A word joiner, which is not seen, between two characters that would begin something together. Unlike a backslash it
works in code as well as outside of it, so nothing depends on what a program takes for code. `sanitize` takes all of
them out of speech: those in a report are the report's own."""

DECLINED_NOTE = r"[^*\n]+ declined to argue\. A refusal is no concession\."
CUT_NOTE = r"Here (?:a limit of length cut the speech short|the limit of [\d,]+ words was reached: [^*\n]+)\."
ADDED_NOTE = (
    r"(?:It writes lines for the other side, which this format forbids|With this, [^\n]+ conceded the debate)\."
)
"""What a report says of a speech in a line of its own, right above or below it, without its emphasis. A transcript is
read back by these lines, and a line of a speech that would be one of them is escaped, so that only the report says
them."""

_CONTAINERS = rf"(?:[ \t]*+(?:>|[-*+](?=[ \t])|\d{{1,9}}[.)](?=[ \t]))){{0,{_MAX_DEPTH}}}[ \t]*"
_TOO_DEEP = re.compile(rf"^(?:[ \t]*+(?:>|[-*+](?=[ \t])|\d{{1,9}}[.)](?=[ \t]))){{{_MAX_DEPTH + 1}}}", re.MULTILINE)
_RULE_SIGNS = r"(?:[=-][=\s-]*|_[_\s]*|\*[*\s]*)$"  # to some readers, other blanks than those of ASCII are blanks too
_NOTE_SIGNS = rf"[*_](?:{DECLINED_NOTE}|{CUT_NOTE}|{ADDED_NOTE})[*_] *$"
_BEGINNING = rf"#|:::|{_RULE_SIGNS}|{_NOTE_SIGNS}"
_LINE_BEGINS = re.compile(rf"^({_CONTAINERS})(?={_BEGINNING})")
"""The beginning of a line that would be a heading, a block of another markup, a rule, or a note of the report's own."""
_PLAIN = r"[A-Za-z0-9/.:?=&%#~+,@_-]"
_ADDRESS = rf"(?:https?://|mailto:){_PLAIN}*(?:\({_PLAIN}*\){_PLAIN}*)*"
"""An address that may be linked. It holds nothing that could end it, or the attribute it becomes."""
_STRUCTURE = re.compile(
    rf"<(?=[A-Za-z/!?])(?!{_ADDRESS}>)"  # HTML, comments, and links to odd places
    r"|!(?=\[)|\[(?=!)"  # images, and GitHub's alerts
    r"|\](?=:)"  # definitions of links, notes and abbreviations
    rf"|\](?=\()(?!\({_ADDRESS}\))"  # links to odd places
    r"|\\(?=[A-Za-z(\[])|\$(?=\$)",  # TeX, without which a formula says nothing but its letters
    re.IGNORECASE,
)
"""The first of two characters that would begin something that a speech can't have."""
_FENCE = re.compile(r"( *)(`{3,}|~{3,}) *([\w.+#-]*) *")
_FENCE_RUN = re.compile(r"`{3,}|~{3,}")
_FENCE_AMID = re.compile(rf"^({_CONTAINERS})(?=```|~~~)")
_DELIMITERS = re.compile(r"(?=.*-)[ |:-]+")
"""A line that, below a fence, makes a table of both for some readers."""
_MAX_LIST_CODE = 500
"""Lines of code in a list that is still found as such."""


def with_tables(parser: MarkdownIt) -> MarkdownIt:
    """A parser without tables, made to find them where no other block begins, as GitHub does."""
    parser.block.ruler.before("paragraph", "last_table", table, {"alt": ["paragraph", "reference"]})
    return parser


def _apart(text: str) -> str:
    """A text in which nothing begins. A brace, with which attributes begin, belongs neither to what stands before it
    nor to what follows."""
    return _STRUCTURE.sub(rf"\g<0>{_APART}", text).replace("{", f"{_APART}{{{_APART}")


def block(text: str) -> str:
    """A whole speech as markdown that can stand between two headings of a report.

    Fences of code are written anew, at the margin and closed, where a reader of any kind finds their beginning and
    their end. Other fences are text.
    """
    safe_text = sanitize.sanitize(text).strip("\n").expandtabs(4)
    if len(safe_text) > MAX_LENGTH or _TOO_DEEP.search(safe_text):
        return as_code(safe_text)
    lines, shown, at = safe_text.split("\n"), list[str](), 0
    while at < len(lines):
        end = _code_end(lines, at)
        shown += _code(lines[at:end]) if end > at else [_prose_line(lines[at])]
        at = max(end, at + 1)
    return _apart("\n".join(shown).strip("\n"))


def _code_end(lines: list[str], start: int) -> int:
    """The line after the code whose fence stands at `start`; `start` itself if none stands there. What a fence in a
    list holds is indented as it is. One that is never closed ends with the text."""
    opening = _FENCE.fullmatch(lines[start])
    if opening is None:
        return start
    indent, marks = len(opening[1]), opening[2]
    last = len(lines) if indent == 0 else min(len(lines), start + _MAX_LIST_CODE)
    for n in range(start + 1, last):
        line = lines[n]
        if line.strip() and len(line) - len(line.lstrip(" ")) < indent:
            return start
        run = line.strip(" ")
        if run.startswith(marks) and not run.strip(marks[0]):
            return n + 1
    return len(lines) if indent == 0 else start


def _code(lines: list[str]) -> list[str]:
    """Code with fences of its own at the margin, longer than any run in it."""
    indent, marks, language = re.match(_FENCE, lines[0]).groups()  # type: ignore[union-attr]
    last = lines[-1].strip(" ")
    closed = len(lines) > 1 and last.startswith(marks) and not last.strip(marks[0])
    inside = [line[len(indent) :] for line in (lines[1:-1] if closed else lines[1:])]
    if inside and _DELIMITERS.fullmatch(inside[0]):
        inside[0] = _APART + inside[0]
    fence = _fence_around("\n".join(inside), marks)
    return [f"{fence}{language}", *inside, fence]


def _fence_around(text: str, least: str = "```") -> str:
    """A fence for a text that no line of it closes."""
    longest = max((len(run) for run in _FENCE_RUN.findall(text) if run[0] == least[0]), default=0)
    return least[0] * max(len(least), longest + 1)


def _prose_line(line: str) -> str:
    """A line outside of code, with what it could begin, or turn the line before it into, shown as text."""
    if not line.strip():
        return ""  # some readers see no end of a paragraph in blanks
    return _LINE_BEGINS.sub(r"\1\\", _FENCE_AMID.sub(rf"\1{_APART}", line), count=1)


def as_code(text: str) -> str:
    """`text` in a code fence longer than any run of backticks in it."""
    fence = _fence_around(text)
    return _apart(f"{fence}text\n{text}\n{fence}")


def sanitized(markdown: str) -> str:
    """A report read back, as `sanitize` makes it, with what keeps its characters apart."""
    return _APART.join(map(sanitize.sanitize, markdown.split(_APART)))


_STARTED = re.compile(rf"^({_CONTAINERS})\\(?={_BEGINNING})")
_WHOLE = re.compile(r"(`{3,})text\n(.*)\n\1", re.DOTALL)


def unescaped(markdown: str) -> str:
    """The speech of which `block` makes this text, but for where fences stand and how long they are."""
    plain = markdown.replace(_APART, "")
    if whole := _WHOLE.fullmatch(plain):
        return whole[2]
    lines, code = list[str](), ""
    for line in plain.split("\n"):
        fence = _FENCE.fullmatch(line)
        if fence and not code:
            code = fence[2]
        elif fence and fence[2] == code and not fence[3]:
            code = ""
        lines.append(line if code or fence else _STARTED.sub(r"\1", line))
    return "\n".join(lines)


_PUNCTUATION = re.compile(r"[\\`*_\[\]<>|~&#]|:(?=//)|(?<=www)\.|\$(?!\d)|\{", re.IGNORECASE)
_OPENING = re.compile(r"^(\d*)([-+*](?=\s|$)|[-#>+=.)]|:::|\*?\[(?=.*\]:))")


def _as_text(text: str) -> str:
    """`text` with every character shown as itself, but for what begins a line."""
    return _PUNCTUATION.sub(_shown_as_text, text)


def _shown_as_text(found: re.Match[str]) -> str:
    return "&lt;" if found[0] == "<" else f"\\{found[0]}"


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
    return re.sub(r"\\([\\`*_\[\]<>|~&#${:.])|&lt;", lambda found: found[1] or "<", markdown)


_KEPT = re.compile(
    r"(?P<code>(?<!`)(?P<marks>`+)(?!`)[^`]+(?P=marks)(?!`))"
    r"|~~[^~`\[\]<>\\]+~~"
    rf"|(?P<link>\[[^\[\]`<>\\{{}}$]+\]\({_ADDRESS}\)|<{_ADDRESS}>)",
    re.IGNORECASE,
)
"""What a line keeps beside its emphasis: code, struck words and links that begin and end in it."""


def inline(text: str) -> str:
    """One line that keeps its emphasis, code and links, after other markup, such as that of a heading. Others may stand
    on the same line: nothing in it is left open that could reach into them."""
    line, shown, at = sanitize.one_line(text), list[str](), 0
    for kept in _KEPT.finditer(line):
        shown += [_as_text_but_emphasis(line[at : kept.start()]), kept[0] if kept["link"] else _apart(kept[0])]
        at = kept.end()
    whole = "".join([*shown, _as_text_but_emphasis(line[at:])])
    return f"\\{whole}" if whole.startswith("(") else whole  # the text before it may end in a bracket


_REACHING = re.compile(r"[\\`]|<(?=[A-Za-z/!?])|\](?=\()|!(?=\[|\Z)|~~+|:(?=//)|(?<=www)\.|\$(?!\d)|\{", re.IGNORECASE)
"""What begins code, HTML, a link, an image, struck words, an address or a formula, which texts beside it could end."""


def _as_text_but_emphasis(text: str) -> str:
    return _REACHING.sub(lambda found: "".join(f"\\{char}" for char in found[0]).replace("\\<", "&lt;"), text)


def prose(text: str) -> str:
    """The same wherever it stands, at the start of a line too: a judge's sentence, a table's cell."""
    return _LINE_BEGINS.sub(r"\1\\", _OPENING.sub(r"\1\\\2", inline(text)))


def cell(text: str) -> str:
    """`prose` for a table: a pipe can't end the cell, not even in code."""
    return re.sub(r"(?<!\\)\|", r"\\|", prose(text).replace("\\|", "|"))


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
