"""One answer of a server that may be a stranger's: what is sent to it, and what of it is read."""

from __future__ import annotations

import gzip
import socket
import tracemalloc
from collections.abc import Callable

import pytest
from corpus import for_each
from evidence_site import ARTICLE, NAME, Site, answer, given_up, packed, run

from debate_orchestrator import __version__
from debate_orchestrator.evidence import Unreachable

BODY = ARTICLE.encode()


def ends(site: Site, **terms: float) -> str:
    """Why nothing is read of what the site says."""
    with pytest.raises(Unreachable) as error:
        run(site.fetcher(**terms).fetch(site.url("/")))
    return error.value.why


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n", more: str = "") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{more}Transfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end


def test_only_this_is_sent(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request says who asks and what is taken, and nothing else: no cookie of an earlier answer, no credential."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    site.says["/robots.txt"] = answer("", "text/plain", Set_Cookie="seen=1")
    site.says["/"] = answer(BODY, Set_Cookie="seen=2")
    fetcher = site.fetcher()

    async def twice() -> None:
        await fetcher.fetch(site.url("/"))
        await fetcher.fetch(site.url("/"))

    run(twice())
    last = site.asked[-1].headers
    assert set(last) == {"host", "user-agent", "accept", "accept-encoding", "connection"}
    assert (last["host"], last["user-agent"]) == (f"{NAME}:{site.port}", f"debate-orchestrator/{__version__}")


@for_each(
    [
        answer(BODY),
        packed(BODY),
        packed(BODY, Content_Type="text/html"),
        chunked(BODY[:10], BODY[10:]),
        chunked(*(BODY[place : place + 1] for place in range(len(BODY)))),
        chunked(gzip.compress(BODY), more="Content-Encoding: gzip\r\n"),
        chunked(gzip.compress(BODY) + b"what follows", more="Content-Encoding: x-gzip\r\n"),
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer(BODY),
    ],
    "said",
)
def test_a_body_is_read_however_it_comes(site: Site, said: bytes) -> None:
    """The same bytes are read from an answer that comes whole, in chunks, or packed."""
    site.says["/"] = said

    assert run(site.fetcher().fetch(site.url("/"))).body == BODY


BROKEN = "the answer broke off, or is not HTTP"


@for_each(
    [
        (b"", BROKEN),
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", BROKEN),
        (answer(BODY)[:-10], BROKEN),
        (chunked(BODY, end=b""), BROKEN),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", BROKEN),
        (answer(b"\x1f\x8bnonsense", Content_Encoding="gzip"), "its compressed data is damaged"),
        (answer(gzip.compress(BODY)[:-20], Content_Encoding="gzip"), BROKEN),
        (answer(BODY, Content_Encoding="br"), "in a compression that was not asked for"),
    ],
    "said",
    "why",
)
def test_what_is_no_answer(site: Site, said: bytes, why: str) -> None:
    """What breaks off, is no HTTP or is packed oddly is not read."""
    site.says["/"] = said

    assert why in ends(site)


def endless(start: bytes, piece: bytes) -> Callable[[socket.socket], None]:
    """A server that goes on until its visitor leaves."""

    def say(line: socket.socket) -> None:
        line.sendall(start)
        while True:
            line.sendall(piece)

    return say


HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKS = HTML + b"Transfer-Encoding: chunked\r\n\r\n"


@for_each(
    [
        answer(b"x" * 300_001),
        endless(HTML + b"\r\n", b"x" * 10_000),
        endless(CHUNKS, b"3e8\r\n" + b"x" * 1000 + b"\r\n"),
        packed(b"\0" * 5_000_000),
        chunked(gzip.compress(b"\0" * 5_000_000), more="Content-Encoding: gzip\r\n"),
        packed(b"x" * 300_001),
    ],
    "say",
)
def test_no_more_is_read_than_is_allowed(site: Site, say: bytes | Callable[[socket.socket], None]) -> None:
    """An answer that is too large, has no end or unpacks to too much is given up while it comes."""
    site.says["/"] = say

    assert ends(site, max_bytes=300_000) == "it is larger than 0.3 MB"


def test_a_bomb_is_never_unpacked(site: Site) -> None:
    """Of an answer that unpacks to much more than it may, no more than that is ever held in memory."""
    site.says["/"] = packed(b"\0" * 60_000_000)
    tracemalloc.start()
    try:
        ends(site, max_bytes=300_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@for_each(
    [
        (b"HTTP/1.1 200 ", b"H"),
        (HTML, b"X: y\r\n"),
        (HTML + b"\r\n", b"x"),
        (CHUNKS, b"1\r\nx\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ]
)
def test_a_slow_answer_is_given_up(start: bytes, piece: bytes) -> None:
    """However an answer drips, it is given up when its time is over."""
    ended = given_up({"/": [(0.0, start), *[(0.05, piece)] * 1_000]}, seconds=0.7)

    assert (ended.error.why, ended.seconds) == ("timed out after 0.7 s", pytest.approx(0.7))
