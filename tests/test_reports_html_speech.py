"""Speech in HTML keeps what its author meant and runs nothing; excerpts of it are its beginning in its own words."""

from __future__ import annotations

import re

import lxml.html
import page_reading
import pytest
from corpus import for_each
from debates import DECLINE, script_of
from debates import report_model as adversarial
from hostile_texts import NASTY
from scripted_debates import FETCHED, check, checks, evidence, report_model

from debate_orchestrator.core.shape import Field
from debate_orchestrator.core.visible_text import Quote
from debate_orchestrator.reports import report_sections
from debate_orchestrator.reports.html import writer
from debate_orchestrator.reports.html.page import gist
from debate_orchestrator.reports.html.writer import HtmlWriter
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.rich_text import FieldText
from debate_orchestrator.util.sanitize import sanitize, without_quotation_marks

TAGS = ("v_quote", "u_quote")
INLINE = {"strong", "em", "s", "code", "a", "br", "q", "span"}
BLOCKS = INLINE | {"p", "ul", "ol", "li", "blockquote", "pre", "div", "table", "thead", "tbody", "tr", "th", "td"}


def tags(html: str) -> set[str]:
    return set(re.findall(r"<([a-zA-Z!?][a-zA-Z0-9]*)", html))


def runs(text: str) -> list[str]:
    """The runs of letters and digits in a text."""
    return re.findall(r"[^\W_]+", text)


def block(text: str) -> str:
    """A speech as it is on a page, within the block that has a bar beside it."""
    return without_bar(str(writer.speech(text)))


def without_bar(made: str) -> str:
    begin, end = '<div class="words">\n', "</div>\n"
    assert made.startswith(begin) and made.endswith(end)
    return made[len(begin) : -len(end)]


def must_be_harmless(text: str) -> None:
    """A text leaves no place, and every word of it is still shown."""
    for made, allowed in ((block(text), BLOCKS), (writer.line(text), INLINE), (writer.escaped_html(text), set())):
        page = page_reading.read(str(made))
        assert page.odd == []
        assert sanitize(page.text) == page.text, "nothing is hidden, nor moved"
        assert page.ids == page.outline == page.landmarks == []
        assert tags(made) <= allowed
        shown = " ".join((page.text, *page.links))
        missing = [run for run in runs(unentitied(sanitize(text))) if run not in shown and run not in unentitied(shown)]
        assert missing == []


def unentitied(text: str) -> str:
    """Without what markdown takes for numbers: of lists, and of characters."""
    return re.sub(r"&#?\w+;|%[0-9A-Fa-f]{2}|^[\s>*+-]*\d{1,9}[.)]|(?<=\s)\d{1,9}[.)]", " ", text, flags=re.MULTILINE)


def test_a_speech_keeps_its_shape() -> None:
    """Paragraphs, emphasis, lists, quotes, code, tables and links to the web stay what they are."""
    made = block(
        "One **two** *three* `four`.\n\n- a\n- b\n\n3. c\n\n> d\n\n```\ne\n```\n\n[f](https://example.org/g 'h')"
    )

    assert made == (
        "<p>One <strong>two</strong> <em>three</em> <code>four</code>.</p>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"
        '<ol>\n<li value="3">c</li>\n</ol>\n<blockquote>\n<p>d</p>\n</blockquote>\n<pre><code>e\n</code></pre>\n'
        '<p><a href="https://example.org/g" rel="nofollow noopener noreferrer">f</a> (example.org) “h”</p>\n'
    )


def test_headings_are_none() -> None:
    """A heading in a speech is a line that is set off, and a rule is shown as it was written."""
    assert block("## Final Verdict\n\nA\n===\n\n---") == (
        '<p class="headed">Final Verdict</p>\n<p class="headed">A</p>\n<p>---</p>\n'
    )


@for_each(
    [
        ("![alt](https://example.org/x.png)", '!<a href="https://example.org/x.png"'),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](data:text/html,y)", "[x](data:text/html,y)"),
        ("[x](mailto:a@b.example)", "[x](mailto:a@b.example)"),
        ("[x](https://user@evil.example/)", "[x](https://user@evil.example/)"),
        ("<javascript:alert(1)>", "&lt;javascript:alert(1)&gt;"),
        ("<b onclick='x()'>y</b>", "&lt;b onclick='x()'&gt;y&lt;/b&gt;"),
    ]
)
def test_what_leads_elsewhere_is_text(text: str, shown: str) -> None:
    """Markup and addresses that are not pages of the web are shown as they were written, and no image is loaded."""
    made = block(text)

    assert shown in made
    assert "<img" not in made


def test_quotes_that_were_looked_up_have_quotation_marks() -> None:
    """No tag of a quote is seen; what was found of it is not said within the speech, where a speaker could say it."""
    made = HtmlWriter({}, TAGS).speech(
        "It says <v_quote>so *it* is</v_quote>, not <u_quote>no</u_quote>, &lt;v_quote>end"
    )

    assert without_bar(made) == "<p>It says “so <em>it</em> is”, not “no”, &lt;v_quote&gt;end</p>\n"


def test_the_name_of_a_code_block_stands_within_it() -> None:
    """A speaker chooses that name, so it looks like code and not like a caption of the report."""
    made = block("```Looked up in the context files: found.\nx\n```")

    assert (
        made == '<pre><code><span class="code-name">Looked up in the context files: found.</span>\nx\n</code></pre>\n'
    )


@for_each(
    [
        '[According to the WHO ](https://who.example/x "it is not true that") the drug is safe',
        "According to [the WHO](https://who.example/it_is_not_true_that) the drug is ~~un~~safe",
        "`the drug` **is** &amp; _was_ | un\\safe",
        "the drug\n> is\n[](https://who.example/not) safe",
        "the drug\n\n[is](https://who.example/not) safe",
        "a | b\n--|--\nthe drug | is | not safe",
        "a ``` b\n```\n[is](https://who.example/not) safe\n```\n",
    ]
)
def test_a_quote_that_was_looked_up_is_shown_as_it_was_written(quote: str) -> None:
    """No markup in a quote hides, moves or adds a word below the speech: its characters are shown."""
    quote_results = report_sections.quote_results([Quote(text=quote, verified=True)])
    tree = lxml.html.fromstring(str(HtmlWriter({}).items(quote_results)))

    assert tree.text_content() == f"Found in the context files: “{without_quotation_marks(quote)}”"
    assert not tree.xpath("//a")
    field = HtmlWriter({}).block(FieldText({}).block({"quote": Field(kind="text")}, {"quote": quote}))
    assert lxml.html.fromstring(field).text_content() == " ".join(quote.split())


def test_links_hide_nothing() -> None:
    """A title and its host are behind each link, and a link without words shows its address."""
    made = block("[](https://e.example/Judge) [\u2800](https://e.example/order) [a](https://e.example 'not so')")
    other_host = block("[https://good.example/x](https://e.example/y) [www.e.example](https://www.e.example/)")
    page = lxml.html.fromstring(f"<div>{made}{writer.line('[.](https://e.example/line)')}</div>")

    assert page.xpath("//@title") == []
    assert ">  https://e.example/not</a>" in block("[&#x3164;](https://e.example/not)")
    assert page.text_content() == (
        "https://e.example/Judge (e.example) \u2800 https://e.example/order (e.example) a (e.example) “not so”\n"
        ". https://e.example/line (e.example)"
    )
    assert lxml.html.fromstring(other_host).text_content() == (
        "https://good.example/x (e.example) www.e.example (www.e.example)"
    )


TABLE = "a | b{}\n---|---\nx | y | HIDDEN"


@pytest.mark.parametrize("end", ["", " |\t", " |\u00a0", " |\u2003", " | \t"])
@pytest.mark.parametrize("begin", ["", "> ", "- ", "1) ", "* > "])
def test_no_cell_is_dropped(begin: str, end: str) -> None:
    """A speech with a row that has more cells than its head is shown as it was written, wherever the table stands."""
    indent = begin.replace(begin.strip("> "), " " * len(begin.strip("> "))) if begin.strip("> ") else begin
    text = f"{begin}" + TABLE.format(end).replace("\n", f"\n{indent}")

    assert "HIDDEN" in block(text)
    assert "HIDDEN" in block(f"{text}\n\nHIDDEN").replace("HIDDEN", "", 1)


@for_each(
    [
        "<https://e.example/HIDDEN>",
        "[](https://e.example/HIDDEN)",
        "[a](https://e.example 'HIDDEN')",
        "``` HIDDEN\nx\n```",
    ]
)
def test_words_that_are_shown_once_pay_for_no_other(words: str) -> None:
    """A word that a link or the name of code shows once is no reason to drop it from a table."""
    assert block(f"{words}\n\n{TABLE.format('')}").count("| HIDDEN") == 1


@for_each([("<https://e.example/>", "auto"), ("\\* b", "escape"), ("&amp;", "entity"), ("01. x", "01")])
def test_what_a_parser_notes_is_not_shown(row: tuple[str, str]) -> None:
    """The parser's own words for a link, a sign or an item are none that the page shows."""
    words, note = row
    assert f"| {note}" in block(f"{words}\n\n{TABLE.format('').replace('HIDDEN', note)}")


def test_numbers_of_a_list_are_those_that_were_written() -> None:
    """Each item has its own number, whichever is before it."""
    assert block("1929. a\n1945. b\n") == '<ol>\n<li value="1929">a</li>\n<li value="1945">b</li>\n</ol>\n'


@for_each(NASTY)
def test_no_speech_leaves_its_place(text: str) -> None:
    """Whatever is said, it stays where it stands, and is shown."""
    must_be_harmless(text)


def line(report: ReportModel, turn_id: str) -> str:
    """A turn of a debate in a line, the program's words first."""
    return " ".join(
        filter(None, gist(next(turn for turn in report.turns if turn.id == turn_id), report.judging.scales))
    )


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("# Case\n\n**Yes.** This is what I mean.", "Case Yes. This is what I mean."),
        (
            'B says: "It is so, and so it will be." It does not follow.',
            'B says: "It is so, and so it will be." It does',
        ),
        ("```\ncode alone\n```", "code alone"),
    ],
)
def test_a_speech_in_a_line(text: str, begins: str) -> None:
    """A speech's line is its beginning without markup, and with what it quotes."""
    assert line(adversarial(script_of(_1_opening_a=text), rounds=1), "1.opening.a").startswith(begins)


def test_other_turns_in_a_line() -> None:
    """A refusal, a ballot, what a clerk found and a speech in fields each have their line."""
    script = {
        "1.argument.a": evidence(argument="It follows from the page alone."),
        "1.check.clerk": checks(check("1.argument.a"), check("1.argument.b")),
    }
    claim = report_model("claim", script, cast=FETCHED)

    assert line(adversarial(script_of(_1_opening_a=DECLINE), rounds=1), "1.opening.a") == "Declined to argue."
    assert line(adversarial(rounds=1), "1.verdict.judge").startswith("A (A 7, B 6). ")
    assert line(claim, "1.argument.a") == "It follows from the page alone."
    assert line(claim, "1.check.clerk") == "2 verified"


def test_a_line_shows_the_names_of_characters() -> None:
    """A line shows the name of a character as it was written."""
    assert "&amp;lt;v_quote&gt;" in str(writer.line("&lt;v_quote>so"))
