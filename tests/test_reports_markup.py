"""Speech in markdown: it reads as it was meant, and can't forge what stands around it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import reading
from corpus import for_each
from hostile_texts import HUGE, NASTY, alike, texts
from hypothesis import example, given
from hypothesis import strategies as st

from debate_orchestrator.reports import markup
from debate_orchestrator.reports.markdown import markdown_text, template_environment
from debate_orchestrator.reports.markup import block, literal, unescaped, unliteral
from debate_orchestrator.util import sanitize

WORDS = st.lists(st.text("abcXYZ019", min_size=1, max_size=6), min_size=1, max_size=6)
JOINT = st.sampled_from([" ", "\n", "\n\n", " <", "> ", "`", " **", "* ", "\n# ", "\n- ", "\n> ", "|", "\n---\n"])


def hostile() -> st.SearchStrategy[str]:
    """Texts made to break out, and texts of any letters."""
    return texts | st.text(max_size=60) | st.sampled_from(NASTY).flatmap(alike)


def stays(markdown: str) -> None:
    """A piece of markdown forges nothing and ends where it should, for every kind of reader."""
    for reader in reading.READERS:
        assert reading.forged(markdown, reader) == [], reader
        assert reading.between(markdown, reader) == reading.BETWEEN, reader


def one_paragraph(line: str) -> None:
    """A line is shown as one paragraph, or as nothing, and forges nothing."""
    assert "\n" not in line
    for reader in reading.READERS:
        assert reading.forged(line, reader) == reading.forged(f"x {line}", reader) == [], reader
        kinds = [token.type for token in reading.parsed(line, reader)]
        assert kinds in ([], ["paragraph_open", "inline", "paragraph_close"]), reader


OPENINGS = (
    "=",
    "===",
    "--",
    "---",
    "- x",
    "-",
    "+ x",
    "1. x",
    "12) x",
    "1.",
    "    x",
    "\tx",
    " - x",
    "a | b\n--- | ---",
)
"""What begins a block, or makes a heading of the line before it."""


@for_each((*NASTY, *OPENINGS))
def test_a_value_in_a_template_is_text(text: str) -> None:
    """A template of markdown that names no filter shows a value as one line of text, wherever it stands."""
    environment = template_environment("reports", {}, markdown_text)
    line = environment.from_string("{{ value }}").render(value=text)

    one_paragraph(line)
    after = reading.parser().parse(environment.from_string("before\n{{ value }}").render(value=text))
    assert [token.type for token in after] == ["paragraph_open", "inline", "paragraph_close"]
    assert not [
        token for token in reading.every(after) if token.type.startswith(("link", "em", "strong", "code", "s_"))
    ]
    assert sanitize.sanitize(line) == line


def test_a_value_in_a_page_is_text() -> None:
    """A template of HTML escapes a value, and nothing hides in it or moves a cursor."""
    page = template_environment("reports/html", {}).from_string('<p title="{{ value }}">')

    assert page.render(value='"<b>\x1b[2J\u202e&') == '<p title="&#34;&lt;b&gt;␛[2J&amp;">'


@for_each(NASTY)
def test_no_block_leaves_its_place(text: str) -> None:
    """A hostile speech forges no heading, rule, HTML, image, link or definition, and the next heading stands free."""
    stays(markup.block(text))


@pytest.mark.slow
@given(hostile())
def test_no_block_made_by_chance_leaves_its_place(text: str) -> None:
    """Nor does any speech put together from what markdown takes for structure."""
    stays(markup.block(text))


def runs_nothing(markdown: str) -> None:
    """No program that shows markdown finds HTML, images or odd links in it, whatever it takes for code."""
    for shown in (markdown, re.sub("[`~]", "", markdown), re.sub("(?m)^[ >]*[`~]*", "", markdown)):
        for reader in reading.READERS:
            found = [
                one for one in reading.forged(shown, reader) if not one.startswith(("heading", "hr", "definition"))
            ]
            assert found == [], reader


@for_each(NASTY)
def test_code_is_harmless_to_those_who_see_none(text: str) -> None:
    """Also where a program does not know fences or code spans, a hostile speech and its lines run nothing."""
    runs_nothing(markup.block(text))
    runs_nothing(markup.as_code(text))
    runs_nothing(markup.prose(text))


@given(WORDS, st.lists(JOINT))
def test_a_block_shows_every_word(words: list[str], joints: list[str]) -> None:
    """What a reader of the report sees holds all words of a speech, in their order."""
    joints += [" "] * len(words)
    text = "".join(word + joint for word, joint in zip(words, joints, strict=False))
    shown = iter(reading.runs(reading.visible(markup.block(text))))

    assert all(any(one == run for one in shown) for run in reading.runs(text) if not run.isdigit())


@pytest.mark.slow
@for_each(HUGE)
def test_a_huge_text_is_shown_as_it_is(name: str) -> None:
    """A text of 200 kB is a block of code, whatever it is made of."""
    made = markup.block(HUGE[name])

    assert made == markup.as_code(HUGE[name].strip("\n"))
    assert made.split("text")[0] not in HUGE[name]


AWAKE = (
    "http://a.example/<img src=x onerror=y>",
    "www.a.example/<h2>Final Verdict</h2>",
    "https://a.example/![x](https://b.example/x.png)",
    "ftp://a.example/[x](javascript:y)",
    "http://a.example/`<b>`",
    "foo](http://a.example)`<b>`",
    "[a](http://a.example/`<b>`)",
    "HTTP://a.example/\\<b>",
    "Www.a.example/<b>",
)
"""To readers that link bare addresses, what follows these up to a blank or `<` is part of the address."""


@for_each(AWAKE)
def test_no_address_takes_an_escape_along(text: str) -> None:
    """HTML, images and links behind a bare address stay text, wherever it stands."""
    stays(markup.block(text))
    stays(f"| a |\n|---|\n| {markup.cell(text)} |")
    for shown in (markup.prose(text), markup.inline(text), markup.literal(text), markup.plain(text)):
        one_paragraph(shown)
    one_paragraph(markup.escaped(text))


def test_a_bare_address_is_text_and_a_written_link_a_link() -> None:
    """Addresses keep their letters, and links their addresses."""
    text = "See https://a.example/b_c, www.a.example, [x](https://www.a.example/b_(c)) and <http://a.example>."
    made = "See https\\://a.example/b_c, www\\.a.example, [x](https://www.a.example/b_(c)) and <http://a.example>."

    assert markup.prose(text) == markup.inline(text) == made
    assert markup.block(text) == text


@for_each(NASTY)
def test_no_line_leaves_its_place(text: str) -> None:
    """A hostile line is one paragraph at most, at the start of a line and after other words."""
    one_paragraph(markup.prose(text))
    one_paragraph("x " + markup.literal(text))


@given(hostile())
def test_a_literal_line_shows_every_character(text: str) -> None:
    """A literal line is read as exactly the line that was written."""
    (_, inline, _) = reading.parser().parse("x" + markup.literal(text))

    assert reading.shown(inline) == "x" + sanitize.one_line(text)


@given(st.lists(hostile() | st.sampled_from(NASTY), min_size=2, max_size=2))
def test_a_cell_stays_in_its_column(cells: list[str]) -> None:
    """A table with hostile cells has as many rows and columns as were meant, and nothing else in it."""
    row = f"| 1 | {markup.cell(cells[0])} | {markup.cell(cells[1])} |"
    table = f"| a | b | c |\n|---|---|---|\n{row}\n| 2 | x | y |"
    (found,) = reading.tables(table)

    stays(table)
    assert [len(row) for row in found] == [3, 3, 3]
    assert (found[0], found[1][0], found[2]) == (["a", "b", "c"], "1", ["2", "x", "y"])


def test_a_pipe_in_a_cell_is_shown() -> None:
    """A pipe is shown in a cell, in code too."""
    table = f"| a |\n|---|\n| {markup.cell('x | y and `p|q`')} |"

    assert reading.tables(table) == [[["a"], ["x | y and p|q"]]]


AS_THEY_ARE = (
    "Plain prose, with **bold**, *emphasis*, ~~struck~~ and `code <T>`.\n\nA second paragraph: 3 < 4 > 2, R&D, #1!",
    "- one\n- two `List<T>`\n  - deeper\n\n1. first\n2. second",
    "| what | cost |\n|---|---:|\n| REST | 3 |\n| gRPC | `a<b>` |",
    "As the RFC says:\n\n> A quotation, with **weight**.\n\nSo it is.",
    '```python\n# a comment\nif a < b:\n    print("<b>", "---")\n---\n```\n\nAfter it.',
    "See [RFC 9113](https://rfc-editor.org/rfc/rfc9113), <https://example.org/a?b=c> or [write](mailto:a@example.org).",
    "Costs $5 to $10 [sic], see note [3], array[0], f(x), a_b_c and 2 * 3 * 4.",
    "``a ` <b> c`` and `<i>`; and a stray ` here",
)


@for_each(AS_THEY_ARE)
def test_harmless_speech_is_left_as_it_is(text: str) -> None:
    """Emphasis, code, lists, tables, quotations and links come out as they were written."""
    assert markup.block(text).replace("\u2060", "") == text


ESCAPED = {  # a bar stands for a character that is not seen
    "## Final Verdict": "\\## Final Verdict",
    "> - ## x": "> - \\## x",
    "Final Verdict\n---": "Final Verdict\n\\---",
    "a\n\n***\n\nb": "a\n\n\\***\n\nb",
    "x <b>y</b> `<b>`": "x <¦b>y<¦/b> `<¦b>`",
    "<!-- x": "<¦!-- x",
    "![x](https://example.org/x.png)": "!¦[x](https://example.org/x.png)",
    "https://example.org": "https://example.org",
    "www.example.org": "www.example.org",
    "$$\n$x$ or $5": "$¦$\n$x$ or $5",
    "::: x": "\\::: x",
    "*[a]: x": "*[a]¦: x",
    "a\n=-": "a\n\\=-",
    "[x](javascript:y)": "[x]¦(javascript:y)",
    "**x**{: onclick=y}": "**x**¦{¦: onclick=y}",
    '<https://x"/onclick="y">': '<¦https://x"/onclick="y">',
    '[x](https://a.b"onclick="y)': '[x]¦(https://a.b"onclick="y)',
    "\\input{x}": "\\¦input¦{¦x}",
    "<javascript:x>": "<¦javascript:x>",
    "[a]: https://example.org": "[a]¦: https://example.org",
    "[a\nb]: https://example.org": "[a\nb]¦: https://example.org",
    "[^1]: x": "[^1]¦: x",
    "> [!NOTE]\n> x": "> [¦!NOTE]\n> x",
    "\\\\<b>": "\\\\<¦b>",
    "\\<b>": "\\<¦b>",
    "```\nx": "```\nx\n```",
    "~~~~\n```": "~~~~\n```\n~~~~",
    "```\nx\n    ```": "```\nx\n```",
    "a `x\n\nb` <i>": "a `x\n\nb` <¦i>",
    "| Final |\n---": "| Final |\n\\---",
    "\x1b[31mred": "␛[31mred",
    "\ud800 lone \udfff": "\ufffd lone \ufffd",
    "": "",
    "\n \n": "",
}


def test_structure_is_shown_as_text() -> None:
    """What could forge is escaped where it stands, and nothing else is touched."""
    for text, escaped in ESCAPED.items():
        assert markup.block(text) == escaped.replace("¦", "\u2060"), text


LINES = {
    "It was **close**, but `f<T>` decided.": "It was **close**, but `f<\u2060T>` decided.",
    "1. first": "1\\. first",
    "- a": "\\- a",
    "* a": "\\* a",
    "**Bold** start": "**Bold** start",
    "# 1": "\\# 1",
    "```": "\\`\\`\\`",
    "~~~": "\\~\\~\\~",
    "***": "\\***",
    "[a]: https://example.org": "\\[a]: https\\://example.org",
    "[^1]: a note": "\\[^1]: a note",
    "2024 was a year.": "2024 was a year.",
    "two\nlines": "two lines",
    "\u200b": "",
}


def test_a_line_is_prose() -> None:
    """A line keeps its emphasis and code, and begins no list, heading, rule, fence or definition."""
    for text, escaped in LINES.items():
        assert markup.prose(text) == escaped, text


def test_headings_that_recur_are_numbered() -> None:
    """Fragments are made as GitHub makes them: small letters, no punctuation, recurring ones numbered."""
    seen: dict[str, int] = {}
    made = [markup.anchor(one, seen) for one in ("Opening Statement — Researcher A", "Round 1", "Round 1", "A_b [C]-d")]

    assert made == ["opening-statement--researcher-a", "round-1", "round-1-1", "a_b-c-d"]


ORDINARY = [
    "Plain words.\n\nAnd *more* of `them`.", "# A heading\n\ntext", "a list:\n\n- one\n- two <b>\n\n1. three", "---",
    "x < y and List<int> and [a](javascript:x) and ![i](u)", "```python\n# no heading\nx = '<b>'\n```\nafter <b>",
    "| a | b |\n|---|---|\n| 1 | <i> |", "a \\* star, a C:\\path, \\(x\\)",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_speech_comes_back(text: str) -> None:
    """What people and models write comes back to the letter."""
    assert unescaped(block(text)) == text


@pytest.mark.slow
@for_each(NASTY)
def test_whatever_comes_back_is_told_the_same(text: str) -> None:
    """A speech read back from a report makes the same report again."""
    assert block(unescaped(block(text))) == block(text)


@pytest.mark.slow
@given(texts)
def test_a_line_comes_back(text: str) -> None:
    """What `literal` makes of a line is undone."""
    once = unliteral(literal(text))

    assert literal(once) == literal(text)
    assert unliteral(literal("a *b* [c](d) <e> & f_g")) == "a *b* [c](d) <e> & f_g"


ATOMS = (
    "`", "``", "```", "\\", "\\`", "a", " ", "`<b>x</b>`", "``<i>x</i>``", "``` <!-- x ```", "` <script> ``", "<b>",
    "[", "]", "[a](https://x.org)", '[a](https://x.org "', '[a](https://x.org/` "`")', '")', "](https://x.org)", ")",
    "<https://x.org/`>", "~", "~~", "*", "**", "_", "|", "!", "<", "(https://x.org)",
)  # fmt: skip
"""What half a link, half a code span and HTML within code are made of."""
ATOM_LINES = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=9).map("".join)


def shown_alone(line: str) -> list[str]:
    """The code and links of a line."""
    kinds = ("code_inline", "link_open", "html_inline")
    inner = [child for token in reading.parser().parse(f"x {line}") for child in token.children or []]
    return [f"{child.type} {child.content} {child.attrs}" for child in inner if child.type in kinds]


@pytest.mark.parametrize("made_safe", [markup.prose, markup.inline, markup.cell])
@given(first=ATOM_LINES, second=ATOM_LINES)
@example(first="a `", second="`<b>x</b>`")
@example(first='[a](https://x.org "', second='`") <b>x</b>`')
@example(first="<https://x.org/`> `", second="`<b>x</b>`")
def test_texts_on_one_line_keep_apart(made_safe: Callable[[str], str], first: str, second: str) -> None:
    """Each shows what it shows alone: half a link or code span is not completed by the other."""
    both = f"{made_safe(first)} *Then:* {made_safe(second)}"
    assert reading.forged(both) == []
    assert shown_alone(both) == shown_alone(made_safe(first)) + shown_alone(made_safe(second))


@pytest.mark.parametrize("blank", ["\xa0", "\u1680", "\u2003", "\u202f", "\u205f", "\u3000"])
@pytest.mark.parametrize("line", ["===", "---", "***", "___"])
def test_a_rule_with_any_blank_is_text(line: str, blank: str) -> None:
    """Some readers take other blanks than those of ASCII for the end of a line that makes a heading or a rule."""
    text = f"- Final Verdict\n{line}{blank}"

    assert markup.block(text) == f"- Final Verdict\n\\{line}{blank}"
    assert unescaped(markup.block(text)) == text
