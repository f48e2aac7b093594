"""A page is fetched by way of redirects that are looked at one by one, in time, and as robots.txt allows."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest
from corpus import for_each
from counting import calls, calls_without_a_turn
from evidence_site import ARTICLE, HERE, NAME, Names, Site, answer, given_up, moved, run
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.evidence.fetch import MAX_REQUESTS, MAX_ROBOTS_SIZE, Fetched, Fetcher, RobotsRules
from debate_orchestrator.evidence.states import Blocked, NotFetched


def fetched(site: Site, path: str = "/", **terms: float) -> Fetched:
    return run(site.fetcher(**terms).fetch(site.url(path)))


def refused(site: Site, path: str = "/", **terms: float) -> NotFetched:
    with pytest.raises(NotFetched) as trouble:
        fetched(site, path, **terms)
    return trouble.value


def test_the_default_refuses_this_machine(site: Site) -> None:
    """A fetcher that is told nothing connects to no private address, whatever name it is given."""
    with pytest.raises(Blocked, match="port"):
        run(Fetcher(resolver=Names()).fetch(site.url("/")))
    with pytest.raises(Blocked, match="the host resolves to a loopback address"):
        run(Fetcher(resolver=Names()).fetch(f"http://{NAME}/"))
    assert site.asked == []


@pytest.mark.parametrize(
    ("kind", "made", "charset"),
    [
        ("text/html", "html", ""),
        ("text/html; charset=UTF-8", "html", "UTF-8"),
        ('TEXT/HTML;x=y; charset="iso-8859-1"', "html", "iso-8859-1"),
        ("application/xhtml+xml", "html", ""),
        ("text/plain;charset=utf-8", "plain", "utf-8"),
        ("text/markdown", "plain", ""),
        ("application/pdf", "pdf", ""),
    ],
)
def test_what_kinds_are_read(site: Site, kind: str, made: str, charset: str) -> None:
    """HTML, plain text and PDF are taken, with the encoding that the server names."""
    site.says["/"] = answer(ARTICLE, kind)

    assert fetched(site) == Fetched(site.url("/"), made, charset, ARTICLE.encode())


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("image/png", "it is image/png, not text"),
        ("application/octet-stream", "it is application/octet-stream, not text"),
        ("application/json; charset=utf-8", "it is application/json, not text"),
        ("", "it is of an unknown type, not text"),
        ("Text/<b>Html</b>", "it is 'text/<b>html</b>', not text"),
    ],
)
def test_other_kinds_are_not_read(site: Site, kind: str, why: str) -> None:
    """What is no text is left where it is, and its kind is told without harm."""
    site.says["/"] = answer(ARTICLE, "text/html").replace(b"text/html", kind.encode())
    trouble = refused(site)

    assert (trouble.state, trouble.why) == ("unreachable", why)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (404, "404 Not Found"), (403, "403 Forbidden"), (410, "410 Gone"), (429, "429 Too Many Requests"),
        (500, "500 Internal Server Error"), (503, "503 Service Unavailable"), (204, "204 No Content"),
        (206, "206 Partial Content"), (304, "304 Not Modified"), (302, "302 Found"), (799, "status 799"),
    ],
)  # fmt: skip
def test_a_status_is_told(site: Site, status: int, why: str) -> None:
    """Anything but 200 is told by the standard's name for it, not by the server's."""
    site.says["/"] = answer(ARTICLE, status=status).replace(b"Whatever", b"I am \x1b[1mroot")
    trouble = refused(site)

    assert (trouble.state, trouble.why, trouble.at) == ("unreachable", why, site.url("/"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
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


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("http://169.254.169.254/latest/meta-data/", "a link-local address"),
        ("http://[::1]/", "a loopback address"),
        ("http://localhost/", "a name inside a network"),
        ("http://2130706433/", "an IP address in an unusual form"),
        ("file:///etc/passwd", "not an http or https address"),
        ("http://user:secret@example.com/", "a user's name"),
        ("http://example.com:6379/", "port 6379"),
        ("gopher://x/\\r\\n", "which is not allowed in an address"),
    ],
)
def test_a_redirect_into_a_network_is_refused(site: Site, to: str, why: str) -> None:
    """A redirect to what may not be asked is refused like the thing itself, with where it led."""
    site.says["/"] = moved(to)
    with pytest.raises(Blocked) as refusal:
        run(
            Fetcher(resolver=Names(), allowed=lambda ip: str(ip) == HERE, ports=frozenset({site.port, 80})).fetch(
                site.url()
            )
        )

    assert "it is redirected to " in refusal.value.why and why in refusal.value.why
    assert refusal.value.at == site.url("/")


def test_a_redirect_to_a_name_inside_a_network_is_refused(site: Site) -> None:
    """A redirect to a public name with a private address is refused when that is resolved."""
    site.says["/"] = moved(site.url("/secret", "inside.example.org"))

    class Split(Names):
        async def __call__(self, host: str) -> list[str]:
            return ["10.0.0.1"] if host.startswith("inside") else [HERE]

    with pytest.raises(Blocked, match="the host resolves to a private address"):
        run(site.fetcher(Split()).fetch(site.url("/")))
    assert site.targets == ["/"]


def test_robots_are_asked_once(site: Site) -> None:
    """A host's robots.txt is read once in a run, and kept to."""
    site.says["/robots.txt"] = answer("User-agent: debate-orchestrator\nDisallow: /secret", "text/plain")
    fetcher = site.fetcher()

    async def visits() -> None:
        await asyncio.gather(fetcher.fetch(site.url("/")), fetcher.fetch(site.url("/?again")), return_exceptions=True)
        with pytest.raises(Blocked, match=r"^robots.txt forbids it$"):
            await fetcher.fetch(site.url("/secret/page"))

    run(visits())
    assert [one.target for one in site.asked].count("/robots.txt") == 1
    assert "/secret/page" not in site.targets


def test_robots_hold_for_every_station(site: Site) -> None:
    """Where a redirect leads, that host's robots.txt holds."""
    site.says["/robots.txt"] = answer("User-agent: *\nDisallow: /b", "text/plain")
    site.says["/"] = moved("/b")
    trouble = refused(site)

    assert (trouble.state, trouble.why, trouble.at) == ("blocked", "robots.txt forbids it", site.url("/b"))
    assert site.targets == ["/"]


@pytest.mark.parametrize("status", [404, 401, 403, 410])
def test_robots_that_are_not_there_allow_everything(site: Site, status: int) -> None:
    """A host without a robots.txt, or that keeps it to itself, forbids nothing."""
    site.says["/robots.txt"] = answer("User-agent: *\nDisallow: /", status=status)

    assert fetched(site).kind == "html"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer(status=500), "500 Internal Server Error"),
        (answer(status=503), "503 Service Unavailable"),
        (answer(status=429), "429 Too Many Requests"),
        (answer(b"#" * (MAX_ROBOTS_SIZE + 1)), "it is larger than 0.512 MB"),
        (moved("/robots.txt"), "redirected more than 5 times"),
        (moved("http://10.0.0.1/robots.txt"), "which is refused"),
        (moved("http://[::1]/robots.txt"), "which is refused"),
        (answer(b"\x1f\x8bnonsense", Content_Encoding="gzip"), "its compressed data is damaged"),
    ],
)
def test_robots_that_can_not_be_read_forbid_everything(site: Site, said: bytes, why: str) -> None:
    """Where a robots.txt is there and can't be read, nothing is asked of its host."""
    site.says["/robots.txt"] = said
    trouble = refused(site)

    assert trouble.state == "blocked" and trouble.why.startswith("its robots.txt can't be read") and why in trouble.why
    assert [target for target in site.targets if target == "/"] == []


@for_each([600.0, 0.4])
def test_a_host_that_hangs_is_unreachable(robots_after: float) -> None:
    """Where the robots.txt itself takes too long, the page is unreachable, and the time holds for both together."""
    ended = given_up({"/robots.txt": [(robots_after, answer(status=404))], "/": [(600.0, b"")]}, seconds=0.6)

    assert (ended.trouble.state, ended.trouble.why) == ("unreachable", "timed out after 0.6 s")
    assert ended.trouble.at.endswith("/") and ended.seconds == pytest.approx(0.6)


def test_a_resolver_that_hangs_is_given_up() -> None:
    """The time holds for looking up a name, too."""

    async def never(host: str) -> list[str]:
        await asyncio.sleep(60)
        return []

    ended = given_up({}, seconds=0.3, resolver=never)

    assert (ended.trouble.why, ended.seconds) == ("timed out after 0.3 s", pytest.approx(0.3))


def slowly(line: socket.socket) -> None:
    time.sleep(0.3)
    line.sendall(answer(ARTICLE))


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

    async def visits() -> list[Fetched]:
        return list(await asyncio.gather(*(fetcher.fetch(site.url(path)) for path in paths)))

    assert len(run(visits())) == 4
    assert overlaps == [False] * 4


def test_a_few_at_a_time_in_all(site: Site) -> None:
    """Of many hosts only a few are asked at a time."""
    fetcher = site.fetcher()
    site.says["/slow"] = slowly

    async def visits() -> None:
        await asyncio.gather(*(fetcher.fetch(site.url("/slow", f"host{place}.example.org")) for place in range(12)))

    run(visits())
    # The site may notice the end of a request after the next one has begun; without a limit it would count 12.
    assert 1 < site.most_at_once < 2 * MAX_REQUESTS


def test_hosts_that_lead_to_each_other_do_not_wait_for_each_other(site: Site) -> None:
    """Two pages that redirect to each other's hosts, robots.txt and all, are both fetched."""
    one, other = site.url("", "one.example.org"), site.url("", "other.example.org")
    site.says["/one"], site.says["/other"] = moved(f"{other}/"), moved(f"{one}/")
    site.says["/robots.txt"] = moved(f"{other}/rules")
    fetcher = site.fetcher()

    async def visits() -> list[Fetched]:
        return await asyncio.gather(fetcher.fetch(f"{one}/one"), fetcher.fetch(f"{other}/other"))

    assert {page.url for page in run(visits())} == {f"{one}/", f"{other}/"}


def test_a_page_that_was_called_off_holds_no_other_up(site: Site) -> None:
    """When a fetch is cancelled, the next one of the same host goes on."""
    site.says["/slow"] = lambda line: time.sleep(30)
    fetcher = site.fetcher()

    async def visits() -> Fetched:
        waiting = asyncio.create_task(fetcher.fetch(site.url("/slow")))
        await asyncio.sleep(0.3)
        waiting.cancel()
        return await asyncio.wait_for(fetcher.fetch(site.url("/")), 10)

    assert run(visits()).kind == "html"


GROUPS = """
# a comment
User-agent: somebody-else
Disallow: /

User-Agent: Another
user-agent: Debate-Orchestrator/9.9
Crawl-delay: 10
Disallow: /private   # and why
Allow: /private/open
disallow: /*.pdf$

User-agent: *
Disallow: /everybody
"""


@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        ("/", True), ("/everybody", True), ("/private", False), ("/private/x", False), ("/privately", False),
        ("/private/open/x", True), ("/a/b.pdf", False), ("/a/b.pdf?x", True), ("/a/b.pdfs", True),
    ],
)  # fmt: skip
def test_the_group_that_names_this_program_counts(target: str, allowed: bool) -> None:
    """The group with this program's name holds, in whatever case and version, and that for all does not."""
    assert RobotsRules(GROUPS).allow(target) is allowed


@for_each(["debate-orchestrator*", "Debate-Orchestrator*  # all versions", "debate-orchestrator*/1.0", "*"])
def test_a_star_behind_its_name_means_this_program(name: str) -> None:
    """A name that ends in a star is a pattern that fits this program."""
    assert not RobotsRules(f"User-agent: {name}\nDisallow: /").allow("/a")


def test_all_are_meant_where_none_is_named() -> None:
    """Without a group of its name this program keeps to what is said to all programs."""
    rules = RobotsRules(
        "User-agent: *\nDisallow: /everybody\n\nUser-agent: x\nDisallow: /\n\nUser-agent: *\nDisallow: /too"
    )

    assert [rules.allow(target) for target in ("/", "/everybody/x", "/too")] == [True, False, False]


@pytest.mark.parametrize(
    ("lines", "target", "allowed"),
    [
        ("Disallow: /a\nAllow: /a", "/a", True), ("Disallow: /a/b\nAllow: /a", "/a/b/c", False),
        ("Allow: /a/*/c\nDisallow: /a/", "/a/b/c", True), ("Disallow: *", "/x", False),
        ("Disallow: /*?id=*&x", "/p?id=3&x", False), ("Disallow: /a*$", "/abc", False), ("Disallow: /$", "/a", True),
        ("Disallow: /$", "/", False), ("Disallow: /a*b*b$", "/ab", True), ("Disallow:", "/x", True),
        ("Disallow: /stra%C3%9Fe", "/stra%c3%9fe/1", False), ("Disallow: /straße", "/stra%C3%9Fe/1", False),
        ("Disallow: /%7Ejoe", "/~joe/", False), ("nonsense\n: : :\nSitemap: http://x/", "/x", True),
    ],
)  # fmt: skip
def test_rules_fit_as_the_standard_says(lines: str, target: str, allowed: bool) -> None:
    """The longest rule that fits decides; stars, ends and escapes are read as RFC 9309 reads them."""
    assert RobotsRules(f"\ufeffUser-agent: *\n{lines}\n").allow(target) is allowed


@for_each(["", "\n\n", "Disallow: /", "<html>no robots here</html>", "User-agent: *"])
def test_no_rules_allow_everything(text: str) -> None:
    """Where nothing is said to this program or to all, everything may be asked for."""
    assert RobotsRules(text).allow("/anything?at=all")


@given(st.text())
def test_any_text_may_stand_in_other_groups(text: str) -> None:
    """Any text in the group of another program leaves the rules for this one as they are."""
    rules = RobotsRules(
        f"User-agent: other\nDisallow: {text}\n{text}\n\nUser-agent: debate-orchestrator\nDisallow: /private\n"
    )

    assert not rules.allow("/private/page?x=1")


def test_a_path_may_begin_with_two_slashes() -> None:
    """The first part of such a path is not taken for a host."""
    assert not RobotsRules("User-agent: *\nDisallow: //h").allow("//h/a")


def test_a_pattern_can_not_run_for_ever() -> None:
    """A pattern of many stars, which would keep a regular expression busy for years, comes to an end."""
    rules = RobotsRules("User-agent: *\nDisallow: /" + "*a" * 5_000 + "$")

    assert rules.allow("/" + "a" * 4_000 + "b")


def test_others_have_their_turn_while_a_robots_txt_is_read(site: Site) -> None:
    """However large it is: to parse it takes seconds, in which the debates of this process would stand still."""
    rules = "User-agent: *\n" + "Allow: /x\n" * 20_000
    site.says["/robots.txt"] = answer(rules, "text/plain")
    site.says["/"] = answer(ARTICLE)

    assert calls_without_a_turn(lambda: site.fetcher().fetch(site.url("/"))) < calls(lambda: RobotsRules(rules)) / 10


@pytest.mark.slow
@for_each(["\n", "\r\n", "\t\n", " ", "user-agent", "user-agent ", "user-agent:\n", "user-agent: a"])
def test_no_text_takes_long_to_read(piece: str) -> None:
    """A robots.txt twice as long as any that is read comes to its end, whatever it is made of; looked through again
    from each place it would take many minutes."""
    size = 2 * MAX_ROBOTS_SIZE
    text = (piece * size)[:size]

    assert not RobotsRules(f"{text}\nUser-agent: *\nDisallow: /a\n").allow("/a/b")


def test_robots_may_be_elsewhere(site: Site) -> None:
    """A robots.txt that is redirected holds for the host that was asked."""
    site.says["/robots.txt"] = moved("/real")
    site.says["/real"] = answer("User-agent: *\nDisallow: /", "text/plain")

    assert refused(site).why == "robots.txt forbids it"


@for_each(
    ["user-agent: x{}\n", "User agent x{}\n", "useragent:x{}*\n", "user-agent: x{}/1 # y\n", "\tuser-agent:x{}\r"]
)
def test_rules_for_many_programs_are_read_once(name: str) -> None:
    """A group of 500 programs with as many rules would be 250,000; what is said to others changes nothing."""
    names, rules = (name.format(n) for n in range(500)), (f"allow:/{n}\n" for n in range(500))
    text = "".join(["user-agent: *\ndisallow: /private\n", *names, "allow:/\nuser-agentx: y\n", *rules])
    read = RobotsRules(text)

    assert calls(lambda: RobotsRules(text)) < 100 * len(text.splitlines())
    assert not read.allow("/private") and read.allow("/open")
