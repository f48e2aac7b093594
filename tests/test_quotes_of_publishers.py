"""Quotes of pages and files as publishers, wikis and journals write them: honest ones, and ones that are not there."""

from __future__ import annotations

import pytest

from debate_orchestrator.evidence.match import compare
from debate_orchestrator.evidence.pages import html_page, plain


def link(number: int) -> str:
    return f'<a href="#ref{number}">{number}</a>'


YEAR = "Vaccines save millions of lives each year{} in many of the poor countries."
AREA = "The town has 3,662,381{} inhabitants and an area of 891.3 km<sup>2</sup> in all."
NOTES = {
    "list and range": f"<sup>{link(1)},{link(2)}–{link(5)}</sup>",
    "list": f"<sup>{link(1)}, {link(2)}</sup>",
    "one": f"<sup>{link(1)}</sup>",
    "after a space": f" <sup>{link(1)}</sup>",
    "bracketed": f"<sup>[{link(1)}]</sup>",
    "parts in spans": '<sup><a href="#n1"><span>[</span>1<span>]</span></a></sup>',
    "two": f"<sup>[{link(1)}]</sup><sup>[{link(2)}]</sup>",
    "in round brackets": f"<sup>({link(1)})</sup>",
    "in line": f" [{link(1)}, {link(2)}]",
    "wanted": '<sup>[<i><a href="/wiki/W">citation needed</a></i>]</sup>',
}
HONEST = [
    *((f"note: {name}", YEAR.format(note), YEAR.format("")) for name, note in NOTES.items()),
    ("note: shown", YEAR.format(NOTES["in line"]), YEAR.format(" [1, 2]")),
    ("note: kept", YEAR.format(NOTES["two"]), YEAR.format("[1][2]")),
    ("note: behind a figure", AREA.format(NOTES["bracketed"]), "the town has 3,662,381 inhabitants and an area"),
    ("unit", AREA.format(""), "inhabitants and an area of 891.3 km² in all"),
    ("typed dashes", "The plan – first made in 1999 – was dropped.", "The plan -- first made in 1999 -- was dropped"),
    ("hyphens", "The plan - first made in 1999 - was dropped.", "The plan – first made in 1999 – was dropped"),
    ("Chinese", "统计局公布，去年国内生产总值增长百分之五点二。", "去年国内生产总值增长百分之五点二"),
    ("Hindi", "सरकार इस साल किसानों को नई सहायता देगी।", "सरकार इस साल किसानों को नई सहायता देगी"),
    ("Urdu", "حکومت اس سال کسانوں کو نئی امداد دے گی۔", "حکومت اس سال کسانوں کو نئی امداد دے گی"),
    ("closed mark", "He said ‘the law protects the teachers’ there.", "the law protects the teachers"),
]  # fmt: skip
HONEST_OF_FILES = [
    ("note of markdown", "The bank raised its rate[^1] in the town.", "The bank raised its rate in the town"),
]  # fmt: skip
HOSTILE = [
    ("power after a space", "The area of the wood is 5 km <sup>2</sup> in all.", "the area of the wood is 5 km"),
    ("power of a letter", "The area of the figure is x <sup>2</sup> in all.", "the area of the figure is x"),
    ("figure after a space", "More than 10 <sup>6</sup> people were killed.", "more than 10 6 people were killed"),
    ("half a power", "More than 10<sup>6</sup> people were killed.", "more than 106 people were killed"),
    ("linked power", f"The field of fifty km<sup>{link(2)}</sup> is big.", "the field of fifty km is big"),
    ("power in brackets", "The number of people is (10)[6]; many.", "the number of people is (10)"),
    ("power of a bracket", "The output is (AB)\u00b2 as is said.", "the output is (AB) as is said"),
    ("function", "The value of sin<sup>2</sup> x is small.", "the value of sin x is small"),
    ("note that is not there", "The bank raised its rate in the town.", "The bank raised its rate[1] in the town"),
    ("other note", YEAR.format(NOTES["one"]), YEAR.format("[3]")),
    ("word in brackets", "Deaths fell by [90] percent in it.", "deaths fell by percent in it"),
    ("Greek question", "Το φάρμακο είναι ασφαλές για όλα;", "Το φάρμακο είναι ασφαλές για όλα"),
    ("question behind a note", "The drug is safe for all[3]?", "the drug is safe for all"),
    ("half a word", "It was quite un-\nsafe for all the children.", "safe for all the children"),
    ("cut figure", "统计局公布，2023年人口总数为14亿。", "统计局公布，2023年人口总数为14"),
    ("negation", "The plan is <del>not</del> safe for all of us.", "the plan is safe for all of us"),
    ("hidden", 'The plan is good. <i style="display:none">It is safe for us all.</i>', "It is safe for us all"),
    ("minus", "The mean of it was -5 degrees there.", "the mean of it was 5 degrees there"),
    ("raised without a link", "The energy grows as the velocity<sup>2</sup> of it.", "grows as the velocity of it"),
    ("raised after a space", "The town has an area of six km \u00b2 in all.", "the town has an area of six km"),
    ("product of a group", "It is the number (see below)[2] of the people.", "the number (see below) of the people"),
    ("symbol", "The deviation of it is \u03c3[2] of the mean.", "deviation of it is \u03c3 of the mean"),
    ("sign", "It was shown that a <= b in all.", "it was shown that a < b in all"),
]  # fmt: skip


@pytest.mark.parametrize(("page", "quote"), [row[1:] for row in HONEST], ids=[row[0] for row in HONEST])
def test_an_honest_quote_of_a_page_is_verified(page: str, quote: str) -> None:
    """However publishers mark their notes, a quote that keeps the words and figures is verified."""
    match = compare(quote, html_page(f"<p>{page}</p>".encode(), "utf-8").text)
    assert match.state == "verified", match


@pytest.mark.parametrize(
    ("text", "quote"), [row[1:] for row in HONEST_OF_FILES], ids=[row[0] for row in HONEST_OF_FILES]
)
def test_an_honest_quote_of_a_plain_text_is_verified(text: str, quote: str) -> None:
    """So it is in plain text, which may be markdown."""
    match = compare(quote, plain(text.encode(), "utf-8").text)
    assert match.state == "verified", match


@pytest.mark.parametrize(("page", "quote"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_what_a_page_does_not_show_is_not_verified(page: str, quote: str) -> None:
    """A part of a term, figure or word, a question, a word left out or hidden: none is a quote of the page."""
    match = compare(quote, html_page(f"<p>{page}</p>".encode(), "utf-8").text)
    assert match.state != "verified", match


def test_a_linked_year_in_brackets_keeps_its_blank() -> None:
    """A year in brackets is not a note, though it links to a place of the page."""
    text = html_page(b'<p>It was shown by Smith [<a href="#s">2020</a>] in all.</p>', "utf-8").text
    assert text == "It was shown by Smith [2020] in all."


def test_a_long_run_of_brackets_is_read_quickly() -> None:
    """Signs without a letter are not words, and each is looked at once: else this would take half a minute."""
    assert compare(HOSTILE[0][2], "[" * 40_000).why == "the page shows no text without running its scripts"
