"""Pages from a search are told as links that lead where they say, whatever their titles and addresses are."""

from __future__ import annotations

import reading
from debates import entries, played
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from nasty import NASTY

from debate_orchestrator.core.events import FoundPage, Spoke
from debate_orchestrator.reports import markdown, markup
from debate_orchestrator.reports.markdown import MarkdownWriter
from debate_orchestrator.reports.markup import address, link
from debate_orchestrator.reports.model import build_report


def page(n: int = 1, quote: str = "it is so") -> FoundPage:
    return FoundPage(url=f"https://example.org/{n}", title=f"Page {n}", quote=quote)


def cited(found: list[FoundPage]) -> str:
    return MarkdownWriter(str).line(markup.cited(found))


def links(text: str) -> list[str]:
    """The address of every link that a reader of markdown finds."""
    tokens = reading.every(MarkdownIt("gfm-like", {"linkify": False}).parse(text))
    return [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]


def test_what_is_cited_is_told() -> None:
    """Cited pages are linked with their titles and hosts; of the others only the number is told."""
    assert cited([page(1), page(2, quote=""), page(3), page(3), page(4, quote="")]) == (
        "Pages cited from a search: [Page 1](https://example.org/1) (example.org), "
        "[Page 3](https://example.org/3) (example.org); 2 more were found."
    )


def test_what_is_not_cited_is_counted() -> None:
    """Where a search brought pages and none is cited, that is told; where there was no search, nothing is."""
    assert cited([page(quote="")]) == "Pages found by a search, none of them cited: 1."
    assert cited([]) == ""


def test_a_long_list_is_cut() -> None:
    """No more than twenty pages are listed, and the rest are counted."""
    assert cited([page(n) for n in range(30)]).endswith("; 10 more were found.")
    assert cited([page(n) for n in range(21)]).endswith("; 1 more was found.")


NO_LINKS = [
    "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//example.org",
    "https://", "https://user@example.org", "https://[::1", "https://example.org/\nx", "https://example.org/\u202ex",
    "https://example.org/" + "x" * 3000, "",
]  # fmt: skip


def test_other_addresses_are_no_links() -> None:
    """Only pages of the web are linked, without users, breaks or anything hidden in their address."""
    for url in NO_LINKS:
        assert links(link(url, "A page")) == [], url
        assert link(url, "A page") == "A page", url
        assert links(link(url, "")) == [], url


def test_odd_addresses_stay_whole() -> None:
    """Whatever stands in an address, the link is one, and leads to that host."""
    for path in ["a)b", "a(b)c", "a b", "<a>", 'a"b', "a'b", "a\\b", "a`b", "a|b", "a]b[c", "&copy;"]:
        (found,) = links(link(f"https://example.org/{path}", "A page"))

        assert found.startswith("https://example.org/"), path
        assert not set(found) & set("()<>\"'`|[]\\; "), path


def test_a_title_cannot_claim_another_host() -> None:
    """Behind a title that names some other place stands the host that the link leads to."""
    made = link("https://evil.example/x", "https://good.example](https://good.example")

    assert links(made) == ["https://evil.example/x"]
    assert made.endswith("(evil.example)")


@given(title=st.one_of(st.sampled_from(NASTY), st.text()), url=st.one_of(st.sampled_from(NASTY), st.text()))
def test_nothing_is_forged(title: str, url: str) -> None:
    """Whatever titles and addresses hold, the sentence stays in its place and forges nothing."""
    made = cited(
        [
            FoundPage(url=f"https://example.org/{url}", title=title, quote="x"),
            FoundPage(url=url, title=title, quote="x"),
        ]
    )

    assert reading.forged(made) == []
    assert reading.between(made) == reading.BETWEEN


def test_they_stand_under_their_speech() -> None:
    """A speech is followed by the pages that it cites, and by a line where a limit cut it short."""
    more = {"found": (page(),), "ended": "cut"}
    events = [
        event.model_copy(update={"reply": event.reply.model_copy(update=more)})
        if isinstance(event, Spoke) and event.turn == "1.opening.a"
        else event
        for event in played(rounds=1)
    ]

    assert (
        "And this is **why**.\n\n*Here a limit of length cut the speech short.*\n\n"
        "Pages cited from a search: [Page 1](https://example.org/1) (example.org).\n\n#### Opening"
    ) in markdown.render(build_report(entries(events)))


def test_an_address_shows_all_of_itself() -> None:
    """An address that stands for itself is a link with its own words; what is no page of the web is text."""
    assert address("https://example.org/a_b?c=d") == "[https://example.org/a\\_b?c=d](https://example.org/a_b?c=d)"
    assert address("ftp://example.org/x") == "ftp://example.org/x"
    assert address("- x") == "\\- x"


@given(st.text() | st.sampled_from(NASTY))
def test_no_address_leads_elsewhere(text: str) -> None:
    """Whatever stands in place of an address forges nothing, alone or after a host."""
    for made in (address(text), address(f"https://example.org/{text}")):
        assert reading.forged(made) == []
        assert all(one.startswith(("https://", "http://")) for one in links(made))
