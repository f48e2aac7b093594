"""The page is whole, makes no request, and tells what the markdown report tells; speech on it keeps what its
author meant and runs nothing."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from typing import Any

import lxml.html
import page_reading
import pytest
from corpus import for_each
from debates import CONCEDE, DECLINE, script_of
from debates import report_model as adversarial
from hostile_texts import NASTY
from scripted_debates import FETCHED, check, checks, evidence, report_model
from scripted_replies import ballot, dissent, final

from debate_orchestrator.core.shape import Field
from debate_orchestrator.core.visible_text import Quote
from debate_orchestrator.reports import markdown, report_sections
from debate_orchestrator.reports.html import writer
from debate_orchestrator.reports.html.page import gist, render
from debate_orchestrator.reports.html.writer import HtmlWriter
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import Note
from debate_orchestrator.reports.rich_text import FieldText
from debate_orchestrator.util.sanitize import sanitize, without_quotation_marks

FORMATS: dict[str, dict[str, Any]] = {
    "adversarial": {},
    "transcript": {},
    "conversation": {},
    "panel": {"panel": 3},
    "question": {"mirror": True, "blind": True},
    "question-blind": {},
    "question-consultancy": {},
    "question-open": {},
    "claim": {"each_round": True, "cast": FETCHED},
}


def of(name: str, **how: Any) -> ReportModel:
    return report_model(name, rounds=1 if name in ("question-blind", "question-open") else 2, **(FORMATS[name] | how))


def must_be_whole(page: str) -> page_reading.Page:
    """A page whose elements close, whose ids are there once, and all of whose links lead somewhere."""
    found = page_reading.read(page)
    assert found.odd == []
    assert len(set(found.ids)) == len(found.ids)
    assert {link[1:] for link in found.links if link.startswith("#")} <= set(found.ids)
    levels = [int(tag[1]) for tag, _ in found.outline]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    labels = re.findall(r'aria-labelledby="([^"]*)"', page)
    assert {one for names in labels for one in names.split()} <= set(found.ids)
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_page(name: str) -> None:
    """Every shipped format is reported, whole and paused, on a page that holds together and has the speeches, turns,
    positions and how it was made; how it was judged, as in the markdown report, before there is a vote too."""
    model = of(name)
    page = must_be_whole(render(model))
    text = " ".join(page.text.split())

    assert [turn.id for turn in model.turns if f"t-{turn.id}" not in page.ids] == []
    must_be_whole(render(of(name, until="1.argument.a")))
    paused = of(name, until="1.argument.b")
    assert 'id="scores"' in render(paused) or "## How It Was Judged" not in markdown.render(paused)
    for one in (model.topic, *model.positions.values(), *model.provenance):
        assert one == "Complete." or one in text
    assert model.transcript_only or page.text.count(model.topic) <= 3  # motion, title and appendix
    for turn in model.turns:
        assert turn.kind == "record" or turn.id in text
        assert turn.text is None or turn.text.split("\n")[0] in text


def test_nothing_from_outside() -> None:
    """The policy lets in the page's own style, known by its digest, and nothing else."""
    page = render(adversarial(rounds=1))
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

    assert f"content=\"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'" in page
    assert "form-action 'none'\"" in page
    assert not re.search(r"<script|\sstyle=|\son\w+=|<link|@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg)", page)
    assert page.endswith("</html>\n")


def test_the_first_screen_comes_in_its_order() -> None:
    """What the debate is, its question, the answer, how firm, why, what is open, what to do and what weakens it
    are before everything else, in that order."""
    page = must_be_whole(render(adversarial(rounds=2)))
    head = page.text.partition("Each claim, what each side holds")[0]
    order = [
        *("Adversarial debate", "2 rounds", "1 judge", "Tabs are better than spaces.", "Indent with tabs."),
        *("Researcher A (Pro) argued better (narrow).", "A leads by 14.29%; at most 20 points each", "Why"),
        *("It came down to one point.", "Still in dispute", "C1 Unresolved: It is cheaper.", "Do next"),
        *("Measure the cost.", "What weakens the result", "No source that the debaters cite", "Researcher B (Con)"),
    ]
    text = " ".join(head.partition("Appendix")[2].split())
    places = [text.find(part) for part in order]

    assert [part for part, place in zip(order, places, strict=True) if place < 0] == []
    assert places == sorted(places)
    assert [name for _, name in page.outline][:2] == ["Tabs are better than spaces.", "Decision"]


def test_claims_and_turns_are_linked_both_ways() -> None:
    """A disputed claim has an id and leads to the turns where it was made, challenged and answered, with its outcome;
    those turns lead back to it."""
    turns = ["1.opening.b", "1.challenge.a", "1.rebuttal.b", "2.constructive.a"]
    page = render(adversarial(script_of(_final_dissent_judge=dissent(turns)), rounds=2))
    claim = page.partition('<li id="C1">')[2].partition("</li>")[0]
    path = " ".join(page_reading.read(claim.partition('<p class="claim-course">')[2].partition("</p>")[0]).text.split())

    assert path == (
        "Made in round 1: opening B; round 2: constructive A, challenged in round 1: challenge A, "
        "answered in round 1: rebuttal B, in the end unresolved."
    )
    assert re.findall(r'href="#(t-[^"]*)"', claim) == [f"t-{n}" for n in (turns[0], turns[3], turns[1], turns[2])]
    assert all('href="#C1"' in article(page, turn) for turn in turns)
    assert 'href="#C1"' not in article(page, "2.rebuttal.a")


def test_what_happened_is_reported_where_it_happened() -> None:
    """A refusal, a concession, an intervention and questions from the floor are at their turns."""
    converged = ballot(7, 6, rounds=2) | {"convergence": {"detected": True, "criteria": ["same claim"], "side": "b"}}
    refused = render(adversarial(script_of(_1_opening_a=DECLINE), rounds=1))
    conceded = render(adversarial(script_of(_1_rebuttal_b=f"You are right.\n\n{CONCEDE}"), rounds=2))
    forced = render(adversarial(script_of(_1_verdict_judge=converged), rounds=2))

    assert "</strong> Researcher A declined to argue. To decline is not to concede." in article(refused, "1.opening.a")
    assert "With this, Researcher B conceded the debate." in article(conceded, "1.rebuttal.b")
    assert forced.index("[ANTI-CONVERGENCE INTERVENTION - ROUND 1]</strong>") < forced.index('id="t-1.divergence.b"')


def article(page: str, turn: str) -> str:
    return page.partition(f'id="t-{turn}"')[2].partition("</article>")[0]


def test_nothing_is_cut_without_a_way_to_open_it() -> None:
    """A long reason is on page one by its beginning, with how many words follow, and opens to all of it."""
    long = "It came down to one point, in the end. " * 50
    first, short = (
        render(adversarial(script_of(_final_verdict_judge=final(justification=text)), rounds=1)).partition(
            'id="dissent"'
        )[0]
        for text in (long, "The lead is thin.")
    )
    folded = first.partition('<details class="fold">')[2].partition("</details>")[0]

    assert "404 more words" in folded.partition("</summary>")[0]
    assert folded.count("It came down to one point, in the end.") == 5 + 50
    assert "The lead is thin." in short and "more words" not in short
    speech = article(render(adversarial(script_of(_1_opening_a=long), rounds=1)), "1.opening.a")
    assert speech.partition("</summary>")[2].count("in the end.") == 50


def test_a_folded_turn_tells_the_programs_words_from_a_sides() -> None:
    """What the program says of a turn has a mark, and the same words in a speech, or in a judge's reason, have none."""
    declined = render(adversarial(script_of(_1_opening_a=DECLINE, _1_opening_b="Declined to argue."), rounds=1))
    voted = render(adversarial(script_of(_final_verdict_judge=final(justification="Winner: B")), rounds=1))
    places = ((declined, "1.opening.a"), (declined, "1.opening.b"), (voted, "final.verdict.judge"))
    lines = [
        article(page, turn).partition("<summary>")[2].partition(' <span class="more-hint">')[0] for page, turn in places
    ]

    assert lines[:2] == [
        '<span class="line"><span class="by">Declined to argue.</span></span>',
        '<span class="line">Declined to argue.</span>',
    ]
    assert re.fullmatch(r'<span class="line"><span class="by">[^<]+</span> Winner: B</span>', lines[2])


@pytest.mark.parametrize("name", ["adversarial", "conversation"])
def test_a_note_is_shown_as_it_is(name: str) -> None:
    """A name in a note of the program's links nowhere and has no emphasis."""
    text = "Who spoke in it: “Ann [so](https://e.example/x) **Verified**”."
    report = of(name).model_copy(update={"notes": (Note(kind="cast", text=text, severity="warning"),)})
    page = render(report)
    assert page.count(text) == (2 if name == "adversarial" else 1)
    assert "e.example/x<" not in page and 'href="https://e.example' not in page


def test_the_evidence_and_the_appendix() -> None:
    """What was cited is reported with what was found; the appendix has the cast, the prompts and the journal's hash."""
    rows = checks(check("1.argument.a"), check("1.argument.b", "not found"))
    page = must_be_whole(render(report_model("claim", {"1.check.clerk": rows}, cast=FETCHED)))

    assert "not found" in page.text and "Verified: 1 of 2" in page.text
    assert "0" * 64 in page.text
    assert "debate replay X.journal.jsonl" in page.text
    assert "formats/adversarial/opening.md.j2" in page_reading.read(render(adversarial(rounds=1))).text


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
    return without_bar(str(writer.text_of_others(text)))


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
    """Paragraphs, emphasis, lists, quotes, code, tables and links to the web stay what they are, and each item has the
    number that was written. A heading is a line that is set off, and a rule is shown as it was written."""
    made = block(
        "One **two** *three* `four`.\n\n- a\n- b\n\n3. c\n\n> d\n\n```\ne\n```\n\n[f](https://example.org/g 'h')"
    )
    headed = block("## Final Verdict\n\nA\n===\n\n---")
    assert headed == '<p class="headed">Final Verdict</p>\n<p class="headed">A</p>\n<p>---</p>\n'
    name = "Looked up in the context files: found."  # a speaker chooses it, so it looks like code, and like no caption
    assert block(f"```{name}\nx\n```") == f'<pre><code><span class="code-name">{name}</span>\nx\n</code></pre>\n'
    assert block("1929. a\n1945. b\n") == '<ol>\n<li value="1929">a</li>\n<li value="1945">b</li>\n</ol>\n'

    assert made == (
        "<p>One <strong>two</strong> <em>three</em> <code>four</code>.</p>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"
        '<ol>\n<li value="3">c</li>\n</ol>\n<blockquote>\n<p>d</p>\n</blockquote>\n<pre><code>e\n</code></pre>\n'
        '<p><a href="https://example.org/g" rel="nofollow noopener noreferrer">f</a> (example.org) “h”</p>\n'
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
    assert "&amp;lt;v_quote&gt;" in str(writer.line("&lt;v_quote>so")), "the name of a character is shown as it is"


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
    """A word that a link or the name of code shows once is no reason to drop it from a table; nor is the parser's own
    word for a link, a sign or an item, which the page does not show."""
    assert block(f"{words}\n\n{TABLE.format('')}").count("| HIDDEN") == 1
    for noted, note in (("<https://e.example/>", "auto"), ("\\* b", "escape"), ("&amp;", "entity"), ("01. x", "01")):
        assert f"| {note}" in block(f"{noted}\n\n{TABLE.format('').replace('HIDDEN', note)}")


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
