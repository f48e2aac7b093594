"""Speech in markdown: shown as its author meant it, unable to leave its place.

A speech keeps its paragraphs, emphasis, lists, tables and code. It loses what could forge the report
around it: headings and rules are shown as text, HTML and images as text, links only to http, https and
mailto, an open code fence is closed. What a second parse still finds suspicious is shown as plain code.
"""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from debate_orchestrator import speech

_CONTAINERS = r"(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*"
_HEADING = re.compile(rf"^({_CONTAINERS})(#)", re.MULTILINE)
_RULE = re.compile(rf"^({_CONTAINERS})((?:=[=\t ]*)|(?:-[-\t ]*)|(?:_[_\t ]*)|(?:\*[*\t ]*))$")
_DEFINITION = re.compile(rf"^({_CONTAINERS})(\[)(?=[^\]\n]*\]?:?)")
_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\]\((?!\s*<?(?:https?://|mailto:))", re.IGNORECASE)
_FORBIDDEN = {"heading_open", "hr", "html_block", "html_inline", "image"}


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True, "maxNesting": 40}).enable(["table", "strikethrough"])


def block(text: str) -> str:
    """A whole speech as markdown that can stand between two headings of a report."""
    tamed = speech.tame(text).strip("\n").expandtabs(4)
    made = _escaped(tamed)
    return made if _harmless(made) else as_code(tamed)


def as_code(text: str) -> str:
    """`text` in a code fence longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _escaped(text: str) -> str:
    """`text` with everything escaped, outside code, that could be structure."""
    lines = text.split("\n")
    code, tables, still_open = _code_lines(text, lines)
    made: list[str] = []
    prose: list[str] = []
    for n, line in enumerate(lines):
        if n in code:
            made += [_inline("\n".join(prose))] if prose else []
            prose = []
            made.append(line)
        else:
            prose.append(_line(line, in_table=n in tables))
    made += [_inline("\n".join(prose))] if prose else []
    return "\n".join(made + ([still_open] if still_open else []))


def _code_lines(text: str, lines: list[str]) -> tuple[set[int], set[int], str]:
    """The lines that are code, those that are tables, and the fence that closes a block left open."""
    code: set[int] = set()
    tables: set[int] = set()
    still_open = ""
    for token in _parser().parse(text):
        if token.map is None:
            continue
        if token.type in ("fence", "code_block"):
            code |= set(range(*token.map))
            last = lines[token.map[1] - 1].strip()
            closed = token.map[1] - token.map[0] > 1 and last == token.markup[0] * len(last) and len(last) >= len(token.markup)
            if token.type == "fence" and token.level == 0 and not closed:
                still_open = token.markup
        elif token.type == "table_open":
            tables |= set(range(*token.map))
    return code, tables, still_open


def _line(line: str, *, in_table: bool) -> str:
    line = _HEADING.sub(r"\1\\\2", line)
    if not in_table:
        line = _RULE.sub(r"\1\\\2", line)
    if (found := _DEFINITION.match(line)) and "]:" in line:
        line = f"{found[1]}\\{line[found.end(1):]}"
    return line


def _inline(text: str) -> str:
    """Escapes HTML, images and links to odd places everywhere but in code spans."""
    made, end = [], 0
    for span in _CODE_SPAN.finditer(text):
        if "\n\n" in span[0]:
            continue
        made += [_outside(text[end : span.start()]), span[0]]
        end = span.end()
    return "".join([*made, _outside(text[end:])])


def _outside(text: str) -> str:
    text = re.sub(r"(?<!\\)<", r"\\<", text)
    text = re.sub(r"(?<!\\)!\[", r"\\![", text)
    return _LINK.sub(r"]\\(", text)


def _harmless(made: str) -> bool:
    """Whether a parser finds none of what could forge a report, and a heading after it stands free."""
    environment: dict[str, object] = {}
    tokens = _parser().parse(f"{made}\n\n# end", environment)
    *said, opened, _, _ = tokens if len(tokens) >= 3 else [None, None, None, None]
    if environment.get("references") or opened is None or opened.type != "heading_open" or opened.level:
        return False
    return not any(_suspicious(token) for token in said if token is not None)


def _suspicious(token: Token) -> bool:
    if token.type in _FORBIDDEN:
        return True
    if token.type == "link_open" and not str(token.attrs.get("href", "")).startswith(("http://", "https://", "mailto:")):
        return True
    return any(_suspicious(child) for child in token.children or [])


_PUNCTUATION = re.compile(r"([\\`*_\[\]<>|~&#])")


def literal(text: str) -> str:
    """One line in which every character is shown as itself: topics, positions, names."""
    return _PUNCTUATION.sub(r"\\\1", speech.one_line(text))


def prose(text: str) -> str:
    """One line that may keep its emphasis, code and links: a judge's sentence, a table's cell."""
    line = re.sub(r"^(\d*)([#>+=.)-])", r"\1\\\2", _inline(speech.one_line(text)))
    return line if _harmless(f"x {line}") else literal(text)


def cell(text: str) -> str:
    """`prose` for a table: a pipe can't end the cell, not even in code."""
    return re.sub(r"(?<!\\)\|", r"\\|", prose(text).replace("\\|", "|"))


def anchor(heading: str, seen: dict[str, int]) -> str:
    """The fragment that GitHub gives to a heading; `seen` counts the same ones before it."""
    slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    again = seen.get(slug, 0)
    seen[slug] = again + 1
    return f"{slug}-{again}" if again else slug
