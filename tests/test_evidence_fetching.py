"""A page is fetched by way of redirects that are looked at one by one, in time, and as robots.txt allows."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest
from corpus import for_each
from evidence_site import ARTICLE, HERE, NAME, Names, Site, answer, given_up, here, moved, run

from debate_orchestrator.evidence import Blocked, NotFetched
from debate_orchestrator.evidence.fetch import MAX_ROBOTS_SIZE, FetchedPage, Fetcher, RobotsRules


def fetched(site: Site, path: str = "/", **terms: float) -> FetchedPage:
    return run(site.fetcher(**terms).fetch(site.url(path)))


def refused(site: Site, path: str = "/", **terms: float) -> NotFetched:
    with pytest.raises(NotFetched) as error:
        fetched(site, path, **terms)
    return error.value


def test_the_default_refuses_this_machine(site: Site) -> None:
    """A fetcher that is told nothing connects to no private address, whatever name it is given."""
    with pytest.raises(Blocked, match="port"):
        run(Fetcher(resolver=Names()).fetch(site.url("/")))
    with pytest.raises(Blocked, match="the host resolves to an address that is not public"):
        run(Fetcher(resolver=Names()).fetch(f"http://{NAME}/"))
    assert site.asked == []


@for_each(
    [
        ("text/html", "html", ""),
        ("text/html; charset=UTF-8", "html", "UTF-8"),
        ('TEXT/HTML;x=y; charset="iso-8859-1"', "html", "iso-8859-1"),
        ("application/xhtml+xml", "html", ""),
        ("text/plain;charset=utf-8", "plain", "utf-8"),
        ("text/markdown", "plain", ""),
        ("application/pdf", "pdf", ""),
        ("image/png", "", "it is image/png, not text"),
        ("application/octet-stream", "", "it is application/octet-stream, not text"),
        ("application/json; charset=utf-8", "", "it is application/json, not text"),
        ("", "", "it is of an unknown type, not text"),
        ("Text/<b>Html</b>", "", "it is 'text/<b>html</b>', not text"),
    ],
    "kind",
    "made",
    "says",
)
def test_what_kinds_are_read(site: Site, kind: str, made: str, says: str) -> None:
    """HTML, plain text and PDF are taken, with the encoding that the server names. What is not text is left where it
    is, and its kind is reported without harm."""
    site.says["/"] = answer(ARTICLE, "text/html").replace(b"text/html", kind.encode())
    if made:
        assert fetched(site) == FetchedPage(site.url("/"), made, says, ARTICLE.encode())
        return
    error = refused(site)
    assert (error.state, error.why) == ("unreachable", says)


@for_each([
    (404, "404 Not Found"), (503, "503 Service Unavailable"), (206, "206 Partial Content"), (302, "302 Found"),
    (799, "status 799"),
], "status", "why")  # fmt: skip
def test_a_status_is_reported(site: Site, status: int, why: str) -> None:
    """Anything but 200 is reported by the standard's name for it, not by the server's."""
    site.says["/"] = answer(ARTICLE, status=status).replace(b"Whatever", b"I am \x1b[1mroot")
    error = refused(site)

    assert (error.state, error.why) == ("unreachable", why)


@for_each([301, 302, 303, 307, 308], "status")
def test_redirects_are_followed(site: Site, status: int) -> None:
    """A redirect leads on, and the page says where it was found."""
    site.says["/a"] = moved("/b?x=ä", status)
    site.says["/b?x=%C3%A4"] = moved(f"//elsewhere.example.org:{site.port}/c", status)
    site.says["/c"] = answer(ARTICLE)

    assert fetched(site, "/a").url == site.url("/c", "elsewhere.example.org")


@pytest.mark.parametrize(("stations", "reached"), [(5, True), (6, False)])
def test_redirects_come_to_an_end(site: Site, stations: int, reached: bool) -> None:
    """Five redirects are followed and no more."""
    for place in range(stations):
        site.says[f"/{place}"] = moved(f"/{place + 1}")
    site.says[f"/{stations}"] = answer(ARTICLE)
    if reached:
        assert fetched(site, "/0").url == site.url("/5")
        return

    assert refused(site, "/0").why == "it is redirected more than 5 times"
    assert len(site.targets) == 6


@for_each(
    [
        ("http://169.254.169.254/latest/meta-data/", "not a public address"),
        ("http://localhost/", "a name inside a network"),
        ("file:///etc/passwd", "not an http or https address"),
        ("http://example.com:6379/", "port 6379"),
        ("http://inside.example.org/", "the host resolves to an address that is not public"),
    ],
    "to",
    "why",
)
def test_a_redirect_into_a_network_is_refused(site: Site, to: str, why: str) -> None:
    """A redirect to what may not be asked is refused like the thing itself, with where it led; one to a public name
    with a private address when that is resolved."""
    site.says["/"] = moved(to)

    class Split(Names):
        async def __call__(self, host: str) -> list[str]:
            return ["10.0.0.1"] if host.startswith("inside") else [HERE]

    with pytest.raises(Blocked, match=why) as refusal:
        run(Fetcher(resolver=Split(), allowed=here, ports=frozenset({site.port, 80})).fetch(site.url()))

    assert "inside" in to or "it is redirected to " in refusal.value.why
    assert set(site.targets) == {"/"}


def test_robots_are_asked_once(site: Site) -> None:
    """A host's robots.txt is read once in a run, and kept to, however the path is written."""
    site.says["/robots.txt"] = answer("User-agent: debate-orchestrator\nDisallow: /secret", "text/plain")
    site.says["/?../secret"] = answer("Open.", "text/plain")
    fetcher = site.fetcher()

    async def visits() -> None:
        await asyncio.gather(fetcher.fetch(site.url("/")), fetcher.fetch(site.url("/?again")), return_exceptions=True)
        paths = "/secret/page", "/a/../secret", "/./%73ecret", "//secret", "/a/.%2E//secret", "/a/..%2fsecret"
        paths += "/a/..;v=1/secret", "/;x/secret", "/a%5C..%5Csecret", "//secret/x%2f..%2f..%2fopen"
        for path in paths:
            with pytest.raises(Blocked, match=r"^robots.txt forbids it$"):
                await fetcher.fetch(site.url(path))
        await fetcher.fetch(site.url("/secret/.././?../secret"))

    run(visits())
    assert [one.target for one in site.asked].count("/robots.txt") == 1
    assert site.targets == ["/", "/?again", "/?../secret"]


def test_robots_hold_for_every_station(site: Site) -> None:
    """Where a redirect leads, that host's robots.txt holds."""
    site.says["/robots.txt"] = answer("User-agent: *\nDisallow: /b", "text/plain")
    site.says["/"] = moved("/b")
    error = refused(site)

    assert (error.state, error.why) == ("blocked", "robots.txt forbids it")
    assert site.targets == ["/"]


@for_each([404, 401, 403, 410], "status")
def test_robots_that_are_not_there_allow_everything(site: Site, status: int) -> None:
    """A host without a robots.txt, or that keeps it to itself, forbids nothing."""
    site.says["/robots.txt"] = answer("User-agent: *\nDisallow: /", status=status)

    assert fetched(site).kind == "html"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer(status=500), "500 Internal Server Error"),
        (answer(status=429), "429 Too Many Requests"),
        (answer(b"#" * (MAX_ROBOTS_SIZE + 1)), "it is larger than 0.512 MB"),
        (moved("/robots.txt"), "redirected more than 5 times"),
        (moved("http://10.0.0.1/robots.txt"), "which is refused"),
        (moved("/elsewhere"), "the answer broke off, or is not HTTP"),
    ],
)
def test_robots_that_can_not_be_read_forbid_everything(site: Site, said: bytes, why: str) -> None:
    """Where a robots.txt is there and can't be read, nothing is asked of its host."""
    site.says |= {"/robots.txt": said, "/elsewhere": b"?"}
    error = refused(site)

    assert error.state == "blocked" and error.why.startswith("its robots.txt can't be read") and why in error.why
    assert [target for target in site.targets if target == "/"] == []


@for_each([600.0, 0.4])
def test_a_host_that_hangs_is_unreachable(robots_after: float) -> None:
    """Where the robots.txt itself takes too long, the page is unreachable, and the time holds for both together."""
    ended = given_up({"/robots.txt": [(robots_after, answer(status=404))], "/": [(600.0, b"")]}, seconds=0.6)

    assert (ended.error.state, ended.error.why) == ("unreachable", "timed out after 0.6 s")
    assert ended.seconds == pytest.approx(0.6)


def test_one_at_a_time_of_a_host(site: Site) -> None:
    """Of one host one thing is asked at a time, and waiting in line takes none of a page's own time."""
    fetcher = site.fetcher(seconds=2.0)
    paths = [f"/{place}" for place in range(4)]
    alone, overlaps = threading.Lock(), list[bool]()

    def slowly_alone(line: socket.socket) -> None:
        """Says whether another is being answered; it is over before the last word goes out."""
        overlaps.append(not alone.acquire(blocking=False))
        time.sleep(0.1)
        if alone.locked():
            alone.release()
        line.sendall(answer(ARTICLE))

    for path in paths:
        site.says[path] = slowly_alone

    async def visits() -> list[FetchedPage]:
        return list(await asyncio.gather(*(fetcher.fetch(site.url(path)) for path in paths)))

    assert len(run(visits())) == 4
    assert overlaps == [False] * 4


GROUPS = """
# a comment
User-agent: somebody-else
Disallow: /

User-Agent: Another
user-agent: Debate-Orchestrator
Crawl-delay: 10
Disallow: /private   # and why
Allow: /private/open
disallow: /*.pdf$

User-agent: *
Disallow: /everybody
"""
OTHERS = "Disallow: /\nUser-agent: *\nDisallow:"


@for_each(
    [
        *((GROUPS, target, True) for target in ("/", "/everybody", "/private/open/x")),
        *((GROUPS, target, False) for target in ("/private/x", "/a/b.pdf")),
        ("User-agent: Debate-Orchestrator/0.1 (+https://x)\nDisallow: /", "/x", False),
        ("useragent debate-orchestrator*\nDissallow /", "/x", False),
        ("User-agent: debate-orchestrator\nCrawl-delay: 5\nUser-agent: * # all\nDisallow: /", "/x", False),
        ("User-agent: *\nDisallow: /\nUser-agent: debate\nAllow: /", "/x", False),
        (f"User-agent: debate\n{OTHERS}", "/x", True),
        (f"User-agent: *bot*\n{OTHERS}", "/x", True),
        (f"User-agent: other\nUser-agent:\n{OTHERS}", "/x", True),
    ]
)
def test_the_group_that_names_this_program_counts(text: str, target: str, allowed: bool) -> None:
    """As in RFC 9309: the group with this program's name holds, in whatever case, and that for all does not. The name
    is compared whole, without what follows it, and groups end at rules alone."""
    assert RobotsRules(text).allow(target) is allowed


def test_many_programs_and_rules_are_read_in_time() -> None:
    """A group of many programs with as many rules makes no rule for each program."""
    names = "".join(f"user-agent: x{number}\n" for number in range(15_000))
    rules = "".join(f"allow: /{number}$\n" for number in range(15_000))
    begun = time.process_time()
    assert RobotsRules(f"{names}{rules}user-agent: *\ndisallow: /x").allow("/x") is False
    assert time.process_time() - begun < 3
