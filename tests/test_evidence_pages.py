"""A page's bytes become the text that a visitor would read."""

from __future__ import annotations

import pytest
from evidence_site import ARTICLE
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.evidence import pages
from debate_orchestrator.evidence.pages import Page, decoded, marked_up, plain, with_main


def whole(html: str) -> str:
    return marked_up(html.encode(), "utf-8")[0].whole


def read(html: str) -> Page:
    page, tree = marked_up(html.encode(), "utf-8")
    return with_main(page, tree)


def test_a_page_is_read() -> None:
    """Title, date and main text are made out; the main text leaves out what stands around it."""
    page = read(ARTICLE)

    assert (page.title, page.date) == ("Rising water", "2024-03-05")
    assert "The sea rose by 3.4\u00a0millimetres a year".replace("\u00a0", " ") in page.main.replace("\u00a0", " ")
    assert "“a wall is not an answer” — it is" in page.main
    assert "All the news of the day" not in page.main


def test_all_that_is_seen_is_there_and_no_more() -> None:
    """The whole text has what stands around the main text too, and nothing that is hidden or written by a script."""
    text = read(ARTICLE).whole

    assert text.splitlines()[0] == "All the news of the day before"
    assert text.splitlines()[-1] == "Written for everybody, kept by nobody in particular."
    assert "never meant to be seen" not in text and "by a script" not in text and "Rising water" in text


VISIBLE_TEXTS = [
    ("<p>one <b>two</b>three</p>", "one twothree"), ("<p>one</p><p>two</p>", "one\ntwo"),
    ("<p>one<br>two</p>", "one\ntwo"), ("<table><tr><td>one</td><td>two</td></tr></table>", "one\ntwo"),
    ("<ul><li>one<li>two</ul>three", "one\ntwo\nthree"), ("<p>one <!-- no --> two</p>", "one two"),
    ("<p>one<script>no</script><style>no</style><noscript>no</noscript> two</p>", "one two"),
    ("<p>one<span hidden>no</span><span style='color: red; DISPLAY : none'>no</span> two</p>", "one two"),
    ("<p>one<template>no</template> <i style='visibility:hidden'>no<b>no</b></i>two</p>", "one two"),
    ("<p>&lt;b&gt; &amp;amp; &#x41;&nbsp;x</p>", "<b> &amp; A x"),
    ("<p>10<sup>2</sup> and 10<sup>\u22126</sup></p>", "10^2 and 10^\u22126"),
    ("<p>in 2019<sup><a href='#n'>3</a></sup> and <sup>4</sup>He, x<sup>2</sup></p>", "in 2019[3] and 4He, x2"),
    ("<p>in <b>2019</b><sup>3</sup>.</p>", "in 2019^3."), ("<p>exam<wbr>ple</p>", "example"),
    ("no markup at all", "no markup at all"), ("<p>one<p>\x1b[2Jtwo\u202e", "one\n␛[2Jtwo"),
    ("<?php no ?><p>one", "one"), ("<svg><text>no</text></svg><p>one", "one"),
]  # fmt: skip


def test_what_a_visitor_sees() -> None:
    """Blocks are apart, inline elements are not; raised figures are kept from those before them."""
    for html, text in VISIBLE_TEXTS:
        assert whole(f"<html><body>{html}</body></html>") == text, html


@pytest.mark.parametrize(
    "html", ["", " ", "<", "<!-- only a comment -->", "\x00", "<html></html>", "<script>x</script>"]
)
def test_a_page_without_text(html: str) -> None:
    """A page that shows nothing has no text."""
    assert whole(html).strip("<") == ""


ENCODINGS = [
    ("größer".encode(), "utf-8", "größer"), ("größer".encode(), "", "größer"),
    ("größer".encode("latin-1"), "iso-8859-1", "größer"), ("größer".encode("latin-1"), "", "größer"),
    ("“größer”".encode("cp1252"), "iso-8859-1", "“größer”"),
    (b'<meta charset="koi8-r">' + "река".encode("koi8-r"), "", '<meta charset="koi8-r">река'),
    (b"<meta http-equiv=x content='text/html; charset=gbk'>" + "河".encode("gbk"), "", None),
    ("\ufeffgrößer".encode(), "iso-8859-1", "größer"), ("größer".encode("utf-16"), "utf-8", "größer"),
    ("川".encode("shift_jis"), "Shift_JIS", "川"), (b"gr\xff\xfe", "utf-8", "gr\ufffd\ufffd"),
    ("größer".encode(), "no-such-thing", "größer"), ("größer".encode(), "unicode_escape", "größer"),
    ("größer".encode(), "punycode", "größer"), (b"+AGE-", "utf-7", "+AGE-"), (b"6161", "hex", "6161"),
]  # fmt: skip


def test_encodings() -> None:
    """The encoding is the one of its mark, its server, its own word or its looks; odd ones are not believed."""
    for body, charset, text in ENCODINGS:
        assert decoded(body, charset) == text if text else decoded(body, charset).endswith("河"), body


@pytest.mark.parametrize(
    ("meta", "date"),
    [
        ('<meta name="date" content="2021-12-24">', "2021-12-24"),
        ('<meta property="article:published_time" content="2021-12-24T08:00:00+01:00">', "2021-12-24"),
        (
            '<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2021-12-24"}</script>',
            "2021-12-24",
        ),
        ('<meta name="date" content="tomorrow">', ""),
        ("", ""),
    ],
)
def test_the_date_is_the_page_s_own(meta: str, date: str) -> None:
    """A date is what the page gives as the day of its publication, and not any that it mentions."""
    body = "<p>It was on the fifth of the month that they came, as was said, to nobody's surprise at all.</p>" * 9
    page = read(f"<html><head><title>x</title>{meta}</head><body><article>{body}</article></body></html>")

    assert page.date == date


def test_a_title_is_one_safe_line() -> None:
    """A title is shown on one line, without anything that moves a cursor, and not too long."""
    page = read(f"<title>one\n\x1b]0;two\x07 \u202ethree {'x' * 900}</title><p>{'text and more text. ' * 50}</p>")

    assert page.title.startswith("one ") and "two" in page.title and "three xxx" in page.title
    assert page.title.isprintable() and len(page.title) <= 300


def test_plain_text_is_its_own_text() -> None:
    """A page of plain text is read as it is, markup and all."""
    assert plain(b"one <b>two</b>\r\nthree\x00", "").whole == "one <b>two</b>\nthree␀"


def test_deep_nesting_is_no_harm() -> None:
    """A page nested a million deep is read, or not, without a crash."""
    assert isinstance(whole("<div>" * 100_000 + "here"), str)
    assert isinstance(whole("<b>" * 100_000 + "here"), str)


@given(
    st.one_of(st.binary(max_size=400), st.text(max_size=400).map(lambda text: f"<p>{text}".encode("utf-8", "replace")))
)
def test_any_bytes_are_a_page(body: bytes) -> None:
    """Whatever comes is read as a page, and what is read is safe to show."""
    page, _ = marked_up(body, "")
    assert not set(page.whole + page.title) & set(map(chr, [*range(9), *range(14, 32), 0x7F, 0x202E]))
    assert plain(body, "utf-16").title == ""
    assert len(pages.decoded(body, "")) <= len(body)
