"""What was said, in markdown: it reads as it was meant, and can't forge what is around it."""

from __future__ import annotations

import re

import pytest
import reading
from corpus import for_each
from hostile_texts import NASTY, alike, texts
from hypothesis import example, given, settings
from hypothesis import strategies as st

from debate_orchestrator.reports import safe_markdown
from debate_orchestrator.reports.html import writer
from debate_orchestrator.reports.markdown import html_text, markdown_text, template_environment
from debate_orchestrator.reports.safe_markdown import escape_line, inline_markdown, quote_speech
from debate_orchestrator.util import sanitize

WORDS = st.lists(st.text("abcXYZ019", min_size=1, max_size=6), min_size=1, max_size=6)
JOINT = st.sampled_from([" ", "\n", "\n\n", " <", "> ", "`", " **", "* ", "\n# ", "\n- ", "\n> ", "|", "\n---\n"])


def shown_text(markdown: str) -> str:
    """A text without the character that is not seen."""
    return markdown.replace("\u2060", "")


def unquoted(markdown: str) -> str:
    """The speech of which a block quote was made."""
    return "\n".join(re.sub("^> ?", "", line) for line in shown_text(markdown).replace(r"\$", "$").split("\n"))


def unescaped(markdown: str) -> str:
    """The line of which `escape_line` made this."""
    return re.sub(r"\\([!-/:-@\[-`{-~])|&lt;", lambda match: match[1] or "<", markdown)


def hostile() -> st.SearchStrategy[str]:
    """Texts made to break out, and texts of any letters."""
    return texts | st.text(max_size=60) | st.sampled_from(NASTY).flatmap(alike)


def must_stay_quoted(text: str) -> None:
    """Every line of a speech is one of a block quote, which forges and runs nothing and ends where it should."""
    quoted = quote_speech(text)
    assert all(line.startswith(">") for line in quoted.split("\n") if quoted)
    assert not EXTENSION.search(ADDRESS.sub("x", quoted))
    for reader in reading.READERS:
        assert reading.forged(quoted, reader) == [], reader
        tokens = reading.parsed(f"#### before\n\n{quoted}\n\n#### after", reader)
        outside = [token.type for token in tokens if token.level == 0]
        quotes = ["blockquote_open", "blockquote_close"] if quoted else []
        assert outside == ["heading_open", "inline", "heading_close", *quotes, *outside[:3]] or outside == [
            "heading_open", "heading_close", *quotes, "heading_open", "heading_close"
        ]  # fmt: skip


@for_each(NASTY)
def test_no_speech_leaves_its_quote(text: str) -> None:
    """A hostile speech forges no heading, HTML, image, link, definition or line of the report."""
    must_stay_quoted(text)


@for_each([*NASTY, "[so]\n\t>" + " " * 200 + "(javascript:alert(1))", "so {x style='so'}"])
def test_code_is_harmless_to_those_who_see_none(text: str) -> None:
    """Also where a program does not know quotes, fences or code spans, a hostile speech and its lines run nothing."""
    made = quote_speech(text) + inline_markdown(text)
    assert not re.search(r"(?<!\\)\][\s>]+\(|\{(?!\u2060)|\}(?!\u2060)", made), "a link, attributes, to some programs"
    for made in (quote_speech(text), inline_markdown(text)):
        for shown in (re.sub("(?m)^> ?", "", made), re.sub("[`~]", "", made), re.sub("(?m)^[ >]*[`~]*", "", made)):
            found = [one for one in reading.forged(shown) if not one.startswith(("heading", "hr", "definition"))]
            assert found == []


@given(WORDS, st.lists(JOINT))
def test_a_speech_shows_every_word(words: list[str], joints: list[str]) -> None:
    """What a reader of the report sees holds all words of a speech, in their order."""
    joints += [" "] * len(words)
    text = "".join(word + joint for word, joint in zip(words, joints, strict=False))
    shown = iter(reading.runs(reading.visible(quote_speech(text))))

    assert all(any(one == run for one in shown) for run in reading.runs(text) if not run.isdigit())


AS_THEY_ARE = (
    "Plain prose, with **bold**, *emphasis*, ~~struck~~ and `code <T>`.\n\nA second paragraph: 3 < 4 > 2, R&D, #1!",
    "- one\n- two `List<T>`\n  - deeper\n\n1. first\n2. second",
    "| what | cost |\n|---|---:|\n| REST | 3 |\n| gRPC | `a<b>` |",
    "a | b\n--- | ---\n1 | 2",
    "As the RFC says:\n\n> A quotation, with **weight**.\n\nSo it is.",
    '```\n# a comment\nif a < b:\n    print("<b>", "---")\n---\n```\n\nAfter it.',
    "See [RFC 9113](https://rfc-editor.org/rfc/rfc9113) (rfc-editor.org) or [write](mailto:a@b.io) (a@b.io).",
    "Run `echo $HOME`.\n\n    echo\n\n```\necho $A $B\n```",
    "AT&amp;T wins **now**: x &lt; y &#38; z.\n\n- `a&nbsp;b`\n- a &amp;amp; b",
    "Costs $5 to $10 [sic], see note [3], array[0], f(x), a_b_c and 2 * 3 * 4.",
)


@for_each(AS_THEY_ARE)
def test_harmless_speech_keeps_its_layout(text: str) -> None:
    """Emphasis, code, lists, tables, quotations and links are those of the speech, in a quote."""
    kinds = [
        [token.type for token in reading.parsed(made) if "blockquote" not in token.type]
        for made in (quote_speech(text), text.replace("\n---\n```", "\n```"))
    ]
    assert kinds[0] == kinds[1]
    assert unquoted(quote_speech(text)) == re.sub(r"(\]\([^)]*\)) (\([^)]*\))", r"\1 \2 \2", text)


QUOTED = {  # a bar stands for a character that is not seen
    "## Final Verdict": "> ¦## Final Verdict",
    "> - ## x": "> > - ¦## x",
    "Final Verdict\n---": "> Final Verdict\n> ¦---",
    "**Scores:** 9\n\n*The winner is B*": "> **Scores:** 9\n>\n> *The winner is B*",
    "x <b>y</b> `<b>`": "> x <¦b>y<¦/b> `<¦b>`",
    "![x](https://example.org/x.png)": "> ¦!¦[x](https://example.org/x.png) (example.org)",
    "[!NOTE]\nx": "> [¦!NOTE]\n> x",
    "[x](javascript:y)": "> [x]¦(javascript:y)",
    "[a]: https://example.org": "> [a]¦: https://example.org",
    "**x**{: onclick=y}": "> **x**¦{¦: onclick=y¦}¦",
    "<mailto:x/autofocus/onfocus=y> <https://x/onfocus=y>": "> <¦mailto:x/autofocus/onfocus=y> <¦https://x/onfocus=y>",
    "x\n\n:   # head": "> x\n>\n> ¦:   # head",
    "a\n:-:": "> a\n> :-:",
    "\\input{x} $$": "> \\¦input¦{¦x¦}¦ ¦\\$¦¦\\$¦",
    "```\n[x](https://a.b)": "> ```\n> [x]¦(https://a.b)\n> ```",
    "!so\n> !so": "> ¦!so\n> > ¦!so",
    "~~~# 12\nx": "> ~~~\n> ¦# 12\n> x\n> ~~~",
    "````---": "> ````\n> ¦---\n> ````",
    "\x1b[31mred": "> ␛[31mred",
    "\n \n": "",
    # a row with more cells than its head, also to programs that find tables first
    "a | b\n---|---\nx | y | `not`\n\nso": ">     a | b\n>     ---|---\n>     x | y | `not`\n>\n>     so",
    "# a | b\n---|---\nx | y | not": ">     ¦# a | b\n>     ---|---\n>     x | y | not",
    # dollar signs in what every program sees as code, or else as text
    "see http://a.io/` $x % y$ ` z": "> see http://a.io/\\` ¦\\$¦x % y¦\\$¦ \\` z",
    "`a` by //a.io/` $x$ `": "> `a` by //a.io/\\` ¦\\$¦x¦\\$¦ \\`",
    "a@b.io `$x` `y`": "> a@b.io \\`¦\\$¦x\\` `y`",
    "WWW.a.io `$x`": "> WWW.a.io \\`¦\\$¦x\\`",
    "`$x` is set\n\nhttps://a.io `y`": "> `$x` is set\n>\n> https://a.io `y`",
    "> x\n    > ~~~\n    > $x$": ">     > x\n>         > ~~~\n>         > $x$",
    "- ~~~\n  $x$\n  ~~~": ">     - ~~~\n>       $x$\n>       ~~~",
    "- ~~~\n  x\n  ~~~\n\n`$x`": "> - ~~~\n>   x\n>   ~~~\n>\n> \\`¦\\$¦x\\`",
    "~~~\n$x$\n \t~~~\ny": ">     ~~~\n>     $x$\n>      \t~~~\n>     y",
    "so\n~~~\n$x$\n~~~\nso": "> so\n>\n> ~~~\n> $x$\n> ~~~\n> so",
}


def test_structure_is_shown_as_text() -> None:
    """What could forge is kept apart where it stands, and nothing else is touched. A speech of which a cell would be
    dropped, or whose formulas may be drawn, is shown as it was written."""
    for text, quoted in QUOTED.items():
        assert quote_speech(text) == quoted.replace("¦", "\u2060"), text


def must_be_one_paragraph(line: str) -> None:
    """A line is shown as one paragraph, or as nothing, and forges nothing, at its start and after other words."""
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
    "a | b\n--- | -",
    ":-:",
    ": x",
)
"""What begins a block, or makes a heading of the line before it."""
ADDRESSES = (
    "http://a.example/<img src=x onerror=y>",
    "https://a.example/![x](https://b.example/x.png)",
    "ftp://a.example/[x](javascript:y)",
    "http://a.example/`<b>`",
    "Www.a.example/<b>",
)
"""To readers that link bare addresses, what follows these up to a space or `<` is part of the address."""


ENVIRONMENT = template_environment("reports", {}, markdown_text)
VALUE, PARAGRAPH = map(ENVIRONMENT.from_string, ("{{ value }}", "before\n{{ value }}"))
"""Templates that name no filter for a value."""


@for_each((*NASTY, *OPENINGS, *ADDRESSES))
def test_no_line_leaves_its_place(text: str) -> None:
    """A hostile line is one paragraph at most, as inline_markdown, as a name, and where a template names no filter."""
    for line in (inline_markdown(text), escape_line(text), VALUE.render(value=text)):
        must_be_one_paragraph(line)
    after = reading.parser().parse(PARAGRAPH.render(value=text))
    assert [token.type for token in after] == ["paragraph_open", "inline", "paragraph_close"]


def test_a_value_in_html_is_text() -> None:
    """A template of HTML escapes a value, and nothing hides in it or moves a cursor."""
    template = template_environment("reports/html", {}).from_string('<p title="{{ value }}">')

    assert template.render(value='"<b>\x1b[2J\u202e&') == '<p title="&#34;&lt;b&gt;␛[2J&amp;">'


@given(hostile())
def test_a_literal_line_shows_every_character(text: str) -> None:
    """A literal line is read as exactly the line that was written, and can be unescaped."""
    (_, inline, _) = reading.parser().parse("x" + escape_line(text))

    assert shown_text(reading.shown(inline)) == "x" + sanitize.one_line(text)
    assert escape_line(unescaped(escape_line(text))) == escape_line(text)


@given(st.lists(hostile() | st.sampled_from(NASTY), min_size=2, max_size=2))
def test_a_cell_stays_in_its_column(cells: list[str]) -> None:
    """A table with hostile cells has as many rows and columns as were meant, and nothing else in it."""
    first, second = map(inline_markdown, cells)
    table = f"| a | b | c |\n|---|---|---|\n| 1 | {first} | {second} |\n| 2 | x | y |"
    (found,) = reading.tables(table)

    assert reading.forged(table) == []
    assert [len(row) for row in found] == [3, 3, 3]
    assert (found[0], found[1][0], found[2]) == (["a", "b", "c"], "1", ["2", "x", "y"])


LINES = {
    "It was **close**, but `f<T>` decided.": "It was close, but `f<\u2060T>` decided.",
    "**Bold with `code`** and ***both***, _so_ a_b, ~~no~~": "Bold with `code` and both, so a\\_b, ~~no~~",
    "**# 1**": "\\# 1",
    "1. first": "1\\. first",
    "- a": "\\- a",
    "* a **b": "\\* a \\*\\*b",
    "# 1": "\\# 1",
    "```": "\\`\\`\\`",
    "a | `b|c`": "a \\| \\`b\\|c\\`",
    "[R1 - ROUND 1] and [x]": "[R1 - ROUND 1] and \\[x\\]",
    "[x](https://a.example/b_(c)) http://a.example": "[x](https://a.example/b_(c)) (a.example) http\\://a.example",
    "<mailto:x/onfocus=y>": "&lt;mailto:x/onfocus=y\\>",
    "2024 was a year. 2026-02-03": "2024 was a year. 2026-02-03",
    "two\nlines": "two lines",
    "a ==x== and a == b": "a =\u2060=x=\u2060= and a =\u2060= b",
    "[[a b]](https://a.example/)": "[\u2060[a b]](https://a.example/) (a.example)",
    "\u200b": "",
    ": x": "\u2060: x",
    "![x](https://a.b/c)": "\u2060!\u2060\\[x\\](https\\://a.b/c)",
    "~~a ~~b~~ c~~": "~~a b c~~",
    "*x*~~,a~~ b": "x~~\u2060,a~~ b",
    "~~a(~~*x*": "~~a(\u2060~~x",
    '[x](https://a.b/c "t")': '\u2060\\[x\\](https\\://a.b/c "t")',
    "[^x](https://a.b/c)": "[\u2060^\u2060x](https://a.b/c) (a.b)",
    "[!x](https://a.b/c)": "[\u2060!x](https://a.b/c) (a.b)",
}


def test_a_line_is_prose() -> None:
    """A line keeps its code and links, begins no list, heading, rule, fence or definition, and looks like no title."""
    for text, expected in LINES.items():
        assert inline_markdown(text) == expected, text
    assert writer.line("Dear. **Concession:** *all* `x`") == "Dear. Concession: all <code>x</code>"


STYLED = {
    "𝗖𝗼𝗻𝗰𝗲𝘀𝘀𝗶𝗼𝗻: 𝟳𝟬 %": "Concession: 70 %", "𝘎𝘳𝘢𝘯𝘵𝘦𝘥 𝔟𝔶 𝒷": "Granted by b", "ℋℴ𝗹𝗱 🅐🅱🅲": "Hold ABC",
    "Ⓐⓑ 🄿🅞": "Ab PO", "𝚷 in ℝ": "Π in R", "ħ is no ℏ 🅎 ﬩": "ħ is no ℏ 🅎 ﬩", "① № ™ Ａ é 人 🎉": "① № ™ Ａ é 人 🎉",
}  # fmt: skip


def test_no_letter_has_a_style_of_its_own() -> None:
    """A letter that differs from another in its style alone is the other one, on each line of others that titles may
    share. What names something (a topic, a position, a file) keeps its letters."""
    for text, expected in STYLED.items():
        assert {str(function(f"A {text}")) for function in (inline_markdown, writer.line)} == {f"A {expected}"}
        assert quote_speech(text) == f"> {text}"
        functions = (escape_line, markdown_text, html_text, writer.escaped_html, sanitize.without_line_breaks)
        assert {str(function(f"A {text}")) for function in functions} == {f"A {text}"}
    assert sanitize.quoted("ℝ and 𝗕") == "“ℝ and 𝗕”"


def test_what_emphasis_parted_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in which a model set a few letters in italics is taken out of a line that leaves emphasis out."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnop")
    assert inline_markdown("It is sk-abc*defg*hijklmnop **here**.") == "It is \\[key\\] here."


ATOMS = (
    "`", "``", "```", "\\", "a", " ", "`<b>x</b>`", "``<i>x</i>``", "<b>", "[", "]", "[a](https://x.org)",
    '[a](https://x.org "', ")", "](https://x.org)", "<https://x.org/`>", "~~", "*", "**", "_", "|", "!", "<",
)  # fmt: skip
"""What half a link, half a code span and HTML within code are made of."""
ATOM_LINES = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=9).map("".join)


def shown_alone(line: str) -> list[str]:
    """The code and links of a line."""
    kinds = ("code_inline", "link_open", "html_inline")
    inner = [child for token in reading.parser().parse(f"x {line}") for child in token.children or []]
    return [f"{child.type} {child.content} {child.attrs}" for child in inner if child.type in kinds]


@given(first=ATOM_LINES, second=ATOM_LINES)
@example(first="a `", second="`<b>x</b>`")
@example(first='[a](https://x.org "', second='`") <b>x</b>`')
def test_texts_on_one_line_keep_apart(first: str, second: str) -> None:
    """Each shows what it shows alone: half a link or code span is not completed by the other."""
    both = f"{inline_markdown(first)} *Then:* {inline_markdown(second)}"
    assert reading.forged(both) == []
    assert shown_alone(both) == shown_alone(inline_markdown(first)) + shown_alone(inline_markdown(second))


MARKS = (
    *("*", "**", "_", "~~", "`", "\\", "!", "[", "]", "](", ")", "^", ":", "%", "$", "|", "<", ">", "&", "#", "{", "/"),
    *(" ", "a", "so", "x y", "1.", "- ", "[x]", "[^1]", "[foo bar]", "www.", "&lt;", "&#33;", "mailto:a@b.org", "\n"),
    *("&#10;", "&Tab;", "&#x202e;", "&#3164;", "%0A%E2%80%AE", '(https://x.org "&NewLine;# so', '")', "(//x.org/&#10;"),
    *("https://x.org", "(https://x.org)", "(data:image/png;base64,x)", "(#final-verdict)", "javascript:x", "toc"),
)
"""What others may write images, links, notes and the like of, with the marks that a line leaves out between them."""
EXTENSION = re.compile(r"(?im)<[^\s\d\u2060]|([!%:=?@^])(\1|[\[(])|\|\||(?<!\w):[a-z]|^[> ]*(?:[!=?@]|%.)")
"""What begins a file, media, a comment, a component of a site, marked or covered words, in programs that have such."""
ADDRESS = re.compile(r"(?i)(?<![a-z])(?:(?:https?|ftp)://|www\.)[a-z\d](?:[\w/.:?=&#~+,@()-]|%(?!%))*", re.ASCII)
"""What readers link as it is, so that nothing begins in it."""
FORMS = re.compile(r"(?<!\\)(?:\[\^|\]:|\]\[|\$)|(?<![\w\\]):(?!-+:)[\w+-]+:|(?:https?|ftp)://|www\.", re.I)
"""What begins a note, a definition, a formula, a picture or a bare link, in some programs."""
PLACES = ("**Why:** {}", "- {}", "- {} *Points to:* it", "> {}", "1. **A:** {} ", "| a | b |\n|---|---|\n| {} | *c* |")


def kinds(markdown: str, reader: str) -> list[str]:
    """The elements of a piece of a report, except code, links and struck words, which others may write."""
    ignored = ("text", "text_special", "code_inline", "link_open", "link_close", "s_open", "s_close")
    return [token.type for token in reading.every(reading.parsed(markdown, reader)) if token.type not in ignored]


def must_begin_nothing(text: str) -> None:
    """Wherever a line of others stands, it is text with links and code that were links and code before."""
    line = inline_markdown(text)
    assert line.replace(safe_markdown._JOINER, "") == sanitize.without_line_breaks(line), (
        "one line, of which all is seen"
    )
    assert not re.search(r"(?<!\\)\]\s+\(", line), "a link to some programs"
    # Formulas are no links, and what begins a block of code alone begins none within a line.
    own_links = set(reading.links(f"so {sanitize.one_line(text)}".replace("$", "S")))
    for place in PLACES:
        made = place.format(line)
        for reader in reading.READERS:
            assert reading.forged(made, reader) == [], (made, reader)
            assert kinds(made, reader) == kinds(place.format("so" if line else ""), reader), (made, reader)
            assert set(reading.links(made, reader)) <= own_links, (made, reader)
    assert not FORMS.search(re.sub(r"(?<!\\)`[^`]*`|\]\((?:https?|mailto):[^ ]*?\)(?!\))", "", line)), line
    assert not EXTENSION.search(ADDRESS.sub("x", line)), line


JOINED = (
    "It is dear. ![B conceded]*(data:image/png;base64,x)*", "!*[x](https://evil.example/p.png)*",
    "[foo bar]*(javascript:alert(1))*", "[github.com]*(https://evil.example/)*", "[a b]*(#decision-brief)*",
    "[foo]*: https://evil.example*", "^*[note words]*", ":*smile*:", "%*%so*%", "[*^*1] [_[_so]]", "**1**. so",
    "```[so](https://so@evil.example/)", "[the record] (javascript:alert(1))", "[so]\t (https://evil.example/x)",
    "http*s*://evil.example w**ww**.evil.example", "*`a`*_`<b>`_", "~~a~~**~~b~~**", "~~*(a)*~~b", "~~_a ~~b~~_ c~~",
    "$[**Concession:**](https://evil.example/) [so *it*, __is__](https://x.org)$", "!*[so](https://x.org)*",
    '[so](https://x.org "a&#10;&#10;Final Verdict&NewLine;---&#10;&#10;- so&#x202e;")', "<https://x.org/%0A%E2%80%AEso>",
)  # fmt: skip
"""Lines whose marks part what would begin something."""


@for_each(JOINED)
def test_what_emphasis_parted_begins_nothing(text: str) -> None:
    """No image, link, note, list or definition is made of what is left when emphasis is left out."""
    must_begin_nothing(text)


@given(st.lists(st.sampled_from(MARKS) | st.sampled_from(JOINED), max_size=14).map("".join) | hostile())
@example("|(")
@example("%")
@example("@[x.org]")
@example("[a Www.x.org]")
@settings(max_examples=300)
def test_a_line_of_others_begins_nothing(text: str) -> None:
    """The same of lines that are made of such marks at random, and of any hostile line."""
    must_begin_nothing(text)


@for_each(["&lt;v_quote>so&lt;/v_quote>", "`&lt;`v_quote>", "a &#60;v_quote>", "a &#x3c;v_quote>", "**&LT;v_quote**>"])
def test_no_name_of_a_character_becomes_one(text: str) -> None:
    """A speech, and a line, that names a character shows the name."""
    for markdown in (quote_speech(text), inline_markdown(text)):
        for reader in reading.READERS:
            tokens = reading.parsed(markdown, reader)
            assert "<v_quote" not in "".join(child.content for token in tokens for child in token.children or [])
    assert "AT&T, R&D; so" in quote_speech("AT&T, R&D; so").replace(safe_markdown._JOINER, "")


@for_each(["```math", "~~~ Mermaid", "````geojson", "```python so it is not", "- > ``` {.x}", "> 1. ~~~`x` y"])
def test_the_name_of_code_is_shown_in_it(opening: str) -> None:
    """No program shows the name of a block, and some draw a formula or a map of what has it: it is the first line."""
    marks = re.sub("[^>]", " ", opening[: re.search("[`~]", opening).start()])
    name = re.search("(?:`{3,}|~{3,}) *(.*)", opening)[1]
    quoted = quote_speech(f"{opening}\n{marks}x")
    (shown,) = (token for token in reading.every(reading.parsed(quoted)) if token.type == "fence")

    assert (shown.info, shown_text(shown.content).strip("\n")) == ("", f"{name}\nx")


FORMULAS = (
    "it is $\\phantom{not}$ so",
    "$`x`$, $$x$$ and $ x $",
    "$$\nx\n$$",
    "$5 and $7",
    "a ` `$x$` b",
    "a ` b\nc `$x$ `",
    "- a `\n- `$x$`\n- `",
    "\\`$x$` `a`",
    "a | `$x` | $y\n--|--|--\n`$` | $x$ | `$`",
    "> ```\n> $a$\n$x$\n$y$",
    "\\$x\\$ \\\\$x\\\\$",
    "\t````]a|b\n-|-\n``````\n$x$",
)


@for_each(FORMULAS)
def test_no_formula_is_drawn(text: str) -> None:
    """Every dollar sign outside of code is one: words in a formula may vanish."""
    for made in (quote_speech(text), inline_markdown(text), escape_line(text)):
        for reader in reading.READERS:
            assert reading.forged(made, reader) == []
    assert shown_text(quote_speech("costs $5")) == "> costs \\$5"


HIDDEN_BY_SOME = (
    "%%so%%", "% so", "^[so]", "so ^not-so", ":no_entry:", '!!! not ""', "??? so", "/// so", "+++ so", "(so)=", "~ so",
    "(@so)", "`#!so x`", "`:::so x`", "{--so--}", "so !!!include(x.md)!!! so", "@[so](x)", "=> so", ":[x](y)", "?> so",
    "so :style[x]", "(:img)", "::so", "a ::: so", '@import "x"', "==so==", "`= so`", "[TOC]", "`[TOC]`",
)  # fmt: skip
HIDDEN = (
    "[[_toc_]]",
    ">! so",
    "*[so]: so",
    "[^1]: so",
    "[[not so|so]]",
    '=== "so"',
    "<<< ../.env",
    "- <<< /so",
    "||so||",
)


@for_each((*HIDDEN_BY_SOME, *HIDDEN))
def test_what_a_program_hides_is_parted(text: str) -> None:
    """Comments, names, boxes and notes of single programs are text: a character that is not seen parts their signs."""
    for one in (quote_speech(text), *([inline_markdown(text)] if text in HIDDEN_BY_SOME else [])):
        assert one not in (f"> {text}", text) and not EXTENSION.search(one)
        assert shown_text(one).removeprefix("> ").replace("\\", "") == text
