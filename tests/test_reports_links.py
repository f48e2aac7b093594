"""Links in the words of others: none hides where it leads, and what readers link stays whole."""

from __future__ import annotations

import re

import reading
from corpus import for_each

from debate_orchestrator.reports.markup import inline_markdown, quote_speech


def shown_text(markdown: str) -> str:
    """A text without the character that is not seen."""
    return markdown.replace("\u2060", "")


@for_each(["", "\u2800", "._.", "see https://good.example", "WWW.good.example"])
def test_a_link_without_words_of_its_own_shows_its_address(words: str) -> None:
    """A link that nothing stands for, or another address, is text, and so is its address."""
    text = f"[{words}](https://e.example/order)"
    for line in (quote_speech(f"a {text} b"), inline_markdown(f"a {text} b")):
        tokens = [child for token in reading.parser().parse(line) for child in token.children or []]
        assert "e.example/order" in "".join(token.content for token in tokens if token.type == "text")
        assert not any(token.attrs for token in tokens if token.info != "auto")


ODD_ADDRESSES = {
    "https://Evil.example:443?x=50%25": "evil.example",
    f"https://evil.example/{'x' * 2_000}@bank.com": "evil.example",
    "mailto:evil%2540evil.example@bank.com": "evil%2540evil.example@bank.com",
    "mailto:a@bank.com?cc=x%40y.z": "a@bank.com?cc=x%40y.z",
}


@for_each(ODD_ADDRESSES.items())
def test_behind_each_link_stands_its_host(link: tuple[str, str]) -> None:
    """Whatever the words of a link look like, and what touches them: its host is shown, of mail the address."""
    url, host = link
    for words in ("bank.com", "bank\u06f0com", "10.0.0.1", "the report", "evil.example"):
        for text in (f"see [{words}]({url})", f"see.[{words}]({url}).com"):
            for made in (quote_speech(text).removeprefix("> "), inline_markdown(text)):
                assert shown_text(made) == text.replace(f"({url})", f"({url}) ({host})"), text


@for_each(["/bank.com@evil.example", "", ":80/x", "bank.com@evil.example", "x@/y", "b%61nk.com", "?x", "x:y"])
def test_what_has_no_plain_host_is_not_linked(rest: str) -> None:
    """Browsers skip a third slash, decode percent signs and pass over a user: no host that is shown would be sure."""
    for made in (quote_speech(f"see [a](https://{rest}), 5%"), inline_markdown(f"see [a](https://{rest}), 5%")):
        assert [reading.links(made, reader) for reader in reading.READERS] == [[]] * len(reading.READERS), made
    assert reading.links(quote_speech("see [a](https://a.example), 5% @ x")) == ["https://a.example"]


ODD_HOSTS = (
    *("g\u0456thub.com", "github.com\u2215x.evil.example", "/evil.example", "a.b@evil.example", "g%D1%96thub.com"),
    *(f"{'a' * 300}@a.b", "x.org\u3000.b", "githu\u017f.com"),
)


@for_each([f"{scheme}{host}/x" for host in ODD_HOSTS for scheme in ("https://", "HTTP://", "ftp://", "www.")])
def test_no_bare_address_hides_its_host(url: str) -> None:
    """No reader that links bare addresses finds one, in what begins with it or is code, whose host is not plain."""
    for text in (f"see {url}.", f"(**{url}**)", f"`{url}`", f"```\n{url}\n```", f"[a]({url})", f'"www.a.b/{url}'):
        made = quote_speech(text)
        assert not re.search(r"(?i)(?:https?|ftp)://|www\.", made.replace("www.a.b/", "")), made
        assert shown_text(made).count(url) == 1


BARE = (
    "https://perldoc.perl.org/Foo::Bar", "https://x.org/?token=abc==&b=a@b", "http://x.org:8/:id", "www.x.org/@(1,2)/a",
    "https://x.org/a#:~:text=so", "https://doi.org/10.1/%28AB%29::AID", "https://x.org", "https://x.org/\u00e9",
)  # fmt: skip


@for_each(BARE)
def test_a_bare_address_stays_whole(url: str) -> None:
    """What readers link leads where it was to lead, and what begins something beside it is parted."""
    for text in (f"see {url}.", f"({url}), **{url}** {url}", f"| a |\n|---|\n| {url} |"):
        assert quote_speech(text) == "> " + text.replace("\n", "\n> ")
    assert quote_speech(f"{url}&lt;x !!{url}!!") == f"> {url}&\u2060lt;x !\u2060!{url}!\u2060!"
    assert quote_speech(f"{url}/[a](javascript:x)") == f"> {url}/[a]\u2060(javascript:x)"
