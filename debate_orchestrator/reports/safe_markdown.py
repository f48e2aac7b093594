"""Turns the words of others into safe markdown.

A speech is a block quote: every line of it begins with `>`, and no line of the report itself does. So nothing in it can
pass for a line of the report. It keeps its paragraphs, emphasis, lists, tables, code and links. Headings, HTML, HTML
entities, images, formulas and links that hide where they lead are shown as text in every program that reads CommonMark
or GitHub's markdown, and what single programs add to these is parted where it is known: docs/reports.md has the
promise. Elsewhere a text is one line that keeps only code, links and struck words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, takewhile
from operator import itemgetter
from urllib.parse import quote, urlsplit

from markdown_it.token import Token

from debate_orchestrator.reports import markdown_parser
from debate_orchestrator.reports.markdown_parser import (
    BARE_ADDRESS,
    MAX_LINK_LENGTH,
    ODD_ADDRESS,
    PLAIN_ADDRESS,
    host_of,
    words_in,
)
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.redact import redact

_JOINER = "\u2060"
"""A word joiner, which is not seen, between two characters that would begin something together. Unlike a backslash it
works in code as well as outside of it, so nothing depends on what a program takes for code. `sanitize` takes all of
them out of speech: those in a report are the report's own."""
_WORDED = r"(?=[^\[\]]*[^\W_])(?![^\[\]]*(?:://|\bwww\.))"
"""Of the text of a link that follows: there is some, and none looks like a whole address."""
_ADDRESS_IN_WORDS = re.compile(r"://|\bwww\.", re.IGNORECASE)
_UNESCAPABLE = (
    r"(?P<sign>[!%:=?@^|])(?=(?P=sign))"  # included files, comments, notes, admonitions, highlights, spoilers
    r"|[!%:=?@^](?=[\[(])"  # media and the like
    r"|&(?=#?\w+;)"  # HTML entities, which would show a tag that was not written
    r"|(?<!\S)\^(?=[\w-])"  # the block id of a paragraph
    r"|:(?=(?!-+:)[\w+-]{1,40}:)|(?<![^\W_]):(?=[A-Za-z])"  # emoji shortcodes, directives
)
"""The first character of a pair that some programs interpret even after a backslash. No layout that stays needs one."""
_STRUCTURE = re.compile(
    rf"(?P<bare>{BARE_ADDRESS})|{ODD_ADDRESS}"  # what stays whole, and what some programs would link
    r"|<(?=[^\s\d])"  # HTML and comments, addresses, which some programs take for HTML, and included files
    r"|\[(?=!)"  # GitHub's alerts
    r"|\[(?=_?toc_?\]|\[)"  # a table of contents; wiki links, which may show other pages
    r"|\](?=[:\[])"  # definitions of links, notes and abbreviations, and what refers to one
    rf"|\[(?P<text>{_WORDED}[^\[\]]+)\]\((?P<to>{PLAIN_ADDRESS})\)"  # the links that may stay
    r"|\](?=[\s>]*\()"  # all others; some programs allow blanks between, and the marks of a quote after a line break
    r"|\\(?=[A-Za-z(\[])"  # TeX
    r"|>(?=!)"  # spoilers
    r"|(?<=```|~~~)(?=[ \t]*\w)|(?<=`)(?=[ \t]*(?:#!|:::|\$?=))"  # info strings: such code may be hidden, drawn or run
    rf"|{_UNESCAPABLE}",
    re.IGNORECASE,
)
"""The first of two characters that would begin something that a speech can't have, and links."""
_BLOCK_EXTENSION = r"[!=?@]|%(?=.)|///|\+(?=[^\s\d])|\([^()\n]*\)=|~(?=[ \t])|\(@[\w-]*\)"
"""What begins an admonition, a spoiler, a comment, a directive, an anchor, a definition or a numbered example."""
_HEADING = re.compile(
    rf"^[ \t>*+\-\d.)]*?(?=#|:(?!-)|{_BLOCK_EXTENSION})"  # also within a quote or a list; a definition may hold one
    r"|(?:^|(?<=[ \t>]))(?<!\| )(?=(?:=+|-+)[ \t]*$)",  # the line below a heading, but not that of a table
    re.MULTILINE,
)
"""The text before the `#` of a heading, to which links within a report would lead, and the like."""
_DOLLAR = re.compile(r"(?<!\\)(\\*)\$")
_CODE = re.compile(r"(?<![`\\])(`+)(?!`)[^`|\n]+\1(?!`)")
_LINKED_BARE = re.compile(r"//|www\.|@", re.IGNORECASE)
"""What some programs link without a mark around it. To them the backtick after it is a part of the address."""


def quote_speech(text: str) -> str:
    """A whole speech as a block quote. It is shown as it was written, as code, if its layout would leave out a word, or
    if it has a dollar sign between fences of which not every program sees the same."""
    safe_text = redact(sanitize.sanitize(text)).strip("\n")
    if not safe_text.strip():
        return ""
    parted = _HEADING.sub(rf"\g<0>{_JOINER}", safe_text)
    text_lines, code_lines = (_apart(parted, is_code=is_code).split("\n") for is_code in (False, True))
    lines, quoted_code = ([f"> {line}" if line.strip() else ">" for line in part] for part in (text_lines, code_lines))
    tokens = markdown_parser.of_speech("\n".join(lines))  # quoted, since that moves what stands after a tab
    blocks = list(markdown_parser.code_blocks(tokens))
    is_clear = _is_clear(lines, blocks)
    if tokens and (is_clear or not any("$" in line for start, after, _ in blocks for line in lines[start:after])):
        return "\n".join(_lines(lines, quoted_code, blocks, is_clear=is_clear))
    return "\n".join(f">     {line}" if line.strip() else ">" for line in code_lines)


def _is_clear(lines: list[str], blocks: Iterable[tuple[int, int, str]]) -> bool:
    """Whether all programs see these blocks of code alone: each fence is at the margin, and nothing else looks so."""
    ends = {
        line for start, after, fence in blocks for line in (start, after - 1) if lines[line].startswith(f"> {fence}")
    }
    return all(number in ends for number, line in enumerate(lines) if re.search("```|~~~", line))


def _lines(
    lines: list[str], quoted_code: list[str], blocks: Iterable[tuple[int, int, str]], *, is_clear: bool
) -> list[str]:
    """The lines of a quoted speech without formulas, in blocks those of `quoted_code`. The name of a code block, which
    no program shows, is its first line. A blank line is before a block, and one that is left open is closed, without
    which it is no code to some programs."""
    quoted, end = list[str](), 0
    for start, after, fence in blocks:
        before, _, name = lines[start].partition(fence)
        name, indent = name.strip(f" \t{_JOINER}"), re.sub(r"[^>\s]", " ", before)
        name = name if name[:1].isalnum() else name and f"{_JOINER}{name}"  # some programs see no code here
        quoted += _without_formulas(lines[end:start], is_clear=is_clear)
        quoted += [">"] if before == "> " and quoted and quoted[-1].strip(" >") else []
        quoted += [before + fence, *([indent + name] if name else [])]
        quoted += quoted_code[start + 1 : after]
        if after == start + 1 or not re.fullmatch(rf"[ \t>]*{fence}+[ \t]*", lines[after - 1]):
            quoted.append(indent + fence)
        end = after
    return quoted + _without_formulas(lines[end:], is_clear=is_clear)


def _without_formulas(lines: Sequence[str], *, is_clear: bool) -> list[str]:
    """Lines outside of code blocks, in which every dollar sign is one. Code on a line keeps its own only where all
    programs see it: where blocks are clear, and no backtick is left over or may belong to an address. Else its
    backticks are shown."""
    text = "\n".join(lines)
    paragraphs = re.split(r"(\n[ \t>]*\n)", text)
    without_formulas = (_without_formula(paragraph, is_clear=is_clear) for paragraph in paragraphs)
    return "".join(without_formulas).split("\n") if lines else []


def _without_formula(paragraph: str, *, is_clear: bool) -> str:
    parts, end = list[str](), 0
    is_clear = is_clear and not _LINKED_BARE.search(paragraph)
    for code in _CODE.finditer(paragraph) if "`" not in _CODE.sub("", paragraph) else ():
        is_kept = is_clear or "$" not in code[0]
        parts += [_DOLLAR.sub(_dollar, paragraph[end : code.start()]), code[0] if is_kept else _escape_signs(code[0])]
        end = code.end()
    return "".join([*parts, _DOLLAR.sub(_dollar, paragraph[end:])])


def _dollar(sign: re.Match[str]) -> str:
    """A dollar sign that begins no formula: most programs respect the backslash, GitHub the characters around it."""
    backslashes = len(sign[1]) // 2 * 2
    return rf"{sign[1][:backslashes]}{_JOINER}\${_JOINER}"


def _apart(text: str, *, is_code: bool = False) -> str:
    """A text in which no markdown structure begins, and no link either if `is_code`. Braces, which could begin
    attributes, are set apart."""
    separated = partial(_separated, is_code=is_code)
    return re.sub("[{}]", rf"{_JOINER}\g<0>{_JOINER}", _STRUCTURE.sub(separated, text))


def _separated(found: re.Match[str], *, is_code: bool = False) -> str:
    """What was found with a word joiner after it; a link that may stay is made again."""
    if found["to"] is None:
        return found["bare"] or f"{found[0]}{_JOINER}"
    words = _STRUCTURE.sub(_separated, found["text"])
    return f"[{words}]{_JOINER}({found['to']})" if is_code else _link(words, found["to"])


def _link(text: str, url: str) -> str:
    """A link of a speaker's with this text. Its host follows, of mail its address: words can look like any other."""
    return f"[{text}]({url}) ({escape_line(urlsplit(url).hostname or url.partition(':')[2])})"


_SIGNS = re.compile(rf"[\\`*_\[\]<>|~#${{}}]|:(?=//)|(?<=www)\.|(?P<unescapable>{_UNESCAPABLE})", re.IGNORECASE)
_OPENING = re.compile(r"^( *)(?:(\d{1,9})(?=[.)](?: |$))|(?=[-+](?: |$)|=|--|:::))")
"""The beginning of a list, a rule or the like at the start of a line, where `_SIGNS` leaves it alone."""


def escape_part(text: str) -> str:
    """A part of a line in which every character is shown as itself. It keeps its spaces."""
    line = _escape_signs(sanitize.without_line_breaks(text).expandtabs(1))
    line = _without_opening(line)
    return line.lstrip(" ") if line.startswith("    ") else line  # four spaces would make code of it


def escape_line(text: str) -> str:
    """One line in which every character is shown as itself: topics, positions, names."""
    return escape_part(sanitize.one_line(text))


def _escape_signs(text: str) -> str:
    return _SIGNS.sub(_escaped, text)


def _escaped(sign: re.Match[str]) -> str:
    if sign["unescapable"]:
        return f"{sign[0]}{_JOINER}"
    escapes = {"<": "&lt;", "$": rf"{_JOINER}\${_JOINER}"} | {brace: f"{_JOINER}{brace}{_JOINER}" for brace in "{}"}
    return escapes.get(sign[0], rf"\{sign[0]}")


_BRACKETED = re.compile(r"(?<![!%:=?@^\w\[\]])\[(?!(?i:[^]]*www\.))[^\W_](?:[^\W_]|[ ,.-])+\](?![\w\[\](:]|\s*\()")
"""Words in brackets, which begin nothing: `[sic]`."""


def inline_markdown(text: str) -> str:
    """One line that keeps its code, links and struck words: a judge's sentence, a table's cell. Others may be on the
    same line: nothing in it is left open that could reach into them, and it has no emphasis, which titles of a report
    have. What the line says is found first and written anew, so that nothing begins where a mark was left out."""
    line = sanitize.plain_letters(sanitize.one_line(text))
    tokens = markdown_parser.of_line(line, for_markdown=True)
    words = "".join(token.content for token in tokens)
    if not tokens or redact(words) != words:  # emphasis parted a secret
        return _without_opening(_escape_signs(redact(words) or line))
    return re.sub("^:", f"{_JOINER}:", _without_opening(_written(tokens)))  # what follows a term may be its definition


def _without_opening(line: str) -> str:
    """A line that begins no block, a formula in brackets among them."""
    return re.sub(rf"^(?= *(?:\\\[|:-+:?$|{_BLOCK_EXTENSION}))", _JOINER, _OPENING.sub(r"\1\2\\", line))


def _written(tokens: Sequence[Token]) -> str:
    """The tokens of a line as markdown. A word joiner parts two of them, unless a letter or the like does."""
    line = ""
    for is_markdown, group in groupby(_pieces(iter(tokens)), key=itemgetter(0)):
        pieces = [piece for _, piece in group]
        for piece in pieces if is_markdown else [_escape_text("".join(pieces))]:
            line += f"{_JOINER}{piece}" if line and _must_be_parted(line[-1], piece[0]) else piece
    return line


def _must_be_parted(before: str, after: str) -> bool:
    is_plain = before.isalnum() or before in " (" or after.isalnum() or after in " ),.;"
    return not is_plain or (before == "~" and after in "),.;") or (before == "(" and after == "~")


def _pieces(tokens: Iterator[Token]) -> Iterator[tuple[bool, str]]:
    """Pieces of a line, and whether each is markdown already: code that a table can hold, links that hide nothing, and
    the marks around struck words, which say that these do not count. All else is text."""
    struck, before = 0, ""
    for token in tokens:
        if token.type == "code_inline" and not set(token.content) & set("`|"):
            yield True, _apart(f"`{token.content}`", is_code=True)
        elif token.type == "code_inline":
            yield False, f"{token.markup}{token.content}{token.markup}"
        elif token.tag == "s":
            struck += token.nesting
            if struck == (token.nesting > 0):  # not within others
                yield True, "~~"
        elif token.type == "link_open":
            inside = list(takewhile(lambda token: token.type != "link_close", tokens))
            words = "".join(token.content for token in inside)
            url, title = str(token.attrs["href"]), token.attrs.get("title")
            is_image = before.endswith("!")
            if url and not title and not is_image and words_in(words) and not _ADDRESS_IN_WORDS.search(words):
                label = _written(inside)
                label = f"{_JOINER}{label}" if label[0] in "^![" else label
                yield True, _link(label, url)
            else:
                yield from ((False, "["), *_pieces(iter(inside)))
                yield False, f']({url} "{title}")' if title else f"]({url})"
        elif token.content:
            yield False, token.content
        before = token.content


def _escape_text(text: str) -> str:
    parts, end = list[str](), 0
    for words in _BRACKETED.finditer(text):
        parts += [_escape_signs(text[end : words.start()]), _apart(words[0])]
        end = words.end()
    return "".join([*parts, _escape_signs(text[end:])])


def anchor(heading: str, counts: dict[str, int]) -> str:
    """The fragment that GitHub gives to a heading; `counts` counts the same ones before it."""
    slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    again = counts.get(slug, 0)
    counts[slug] = again + 1
    return f"{slug}-{again}" if again else slug


_SAFE = "/:?=&%@+,~$-._#"
"""The characters that stay as they are in an address. Brackets, quotes and the like are written as percent signs and
digits, so that nothing can end the link, and so is the semicolon, without which there is no entity."""


def link(url: str, title: str) -> str:
    """A page as a link with the host it leads to after it; as plain text if it is not a page of the web. Its title is
    in quotation marks."""
    name = escape_line(sanitize.quoted(title[:MAX_LINK_LENGTH])) if title else ""
    host = host_of(url)
    if host is None:
        return name or (escape_line(sanitize.quoted(url[:MAX_LINK_LENGTH])) if url else markdown_parser.NO_ADDRESS)
    address = quote(sanitize.with_ascii_host(url), safe=_SAFE, errors="replace")
    return f"[{name}]({address}) ({escape_line(host)})" if name else f"[{escape_line(host)}]({address})"


def address(url: str) -> str:
    """An address as a link that shows all of itself; as plain text if it is not a page of the web."""
    if host_of(url) is None:
        return escape_line(url[:MAX_LINK_LENGTH])
    return f"[{escape_line(url)}]({quote(url, safe=_SAFE, errors='replace')})"
