"""Does a page hold what is quoted from it? From the address to the answer and the kept page, over real sockets; and
what of one answer of a stranger's server is read."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from corpus import for_each
from evidence_site import ARTICLE, NAME, Site, answer, given_up, moved, packed, run

from debate_orchestrator import __version__
from debate_orchestrator.evidence import Unreachable
from debate_orchestrator.evidence import check as evidence_check
from debate_orchestrator.evidence.check import QuoteCheck, check
from debate_orchestrator.evidence.fetch import Kind
from debate_orchestrator.util.errors import BadFile

QUOTE = "The sea rose by 3.4 millimetres a year between 1993 and 2023"
DIGEST = hashlib.sha256(ARTICLE.encode()).hexdigest()


def checked(site: Site, quote: str = QUOTE, path: str = "/", folder: Path | None = None, **terms: Any) -> QuoteCheck:
    return run(check(site.url(path), quote, folder, site.fetcher(**terms)))


def test_a_quote_that_is_there(site: Site, tmp_path: Path) -> None:
    """A quote that its page holds is verified, with the page's title, date and digest, and the page is kept."""
    site.says["/moved"] = moved("/")
    found = checked(site, path="/moved", folder=tmp_path)

    assert found == QuoteCheck(
        url=site.url("/moved"),
        state="verified",
        similarity=1.0,
        title="Rising water",
        date="2024-03-05",
        digest=DIGEST,
        archived=f"{DIGEST[:24]}.html.txt",
        why="the page holds the quote word for word",
    )
    assert hashlib.sha256((tmp_path / found.archived).read_bytes()).hexdigest() == found.digest
    assert "Written for everybody" in (tmp_path / f"{DIGEST[:24]}.txt").read_text(encoding="utf-8")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(("name", "host"), [("www.аррӏе.com", "www.xn--80ak6aa92e.com"), ("short.org", "other.org")])
def test_a_page_that_comes_from_another_host_than_is_seen(site: Site, name: str, host: str) -> None:
    """The host is named where the cited address does not show it: in letters that look like others, or redirected."""
    site.says["/moved"] = moved(site.url("/", "other.org"))
    url = site.url("/" if name.startswith("www") else "/moved", name)
    found = run(check(url, QUOTE, None, site.fetcher()))

    assert (found.state, found.url) == ("verified", url)
    assert found.why == f"the page holds the quote word for word; the page came from {host.removeprefix('www.')}"


def test_a_page_that_repeats_its_address(site: Site) -> None:
    """A search page that repeats what it was asked, also before a redirect, verifies nothing."""
    asked = "/?q=" + QUOTE.replace(" ", "+")
    site.says[asked] = answer(f"<p>No results for {QUOTE}.</p>")
    assert checked(site, path=asked).state == "near match"
    site.says[asked] = moved("/")
    assert checked(site, path=asked).state == "near match"
    site.says["/short"] = moved(asked)
    assert checked(site, path="/short").state == "near match"


def test_a_short_quote_is_not_even_fetched(site: Site) -> None:
    """A quote that could be anywhere is not looked for, and the page is not asked for."""
    found = checked(site, "the sea rose")

    assert (found.state, found.similarity) == ("not found", None)
    assert "too short to check" in found.why
    assert site.asked == []


@pytest.mark.parametrize(
    ("said", "state", "why", "kept"),
    [
        (answer(status=404), "unreachable", "404 Not Found", 0),
        (answer("x", "image/png"), "unreachable", "it is image/png, not text", 0),
        (packed(b"\0" * 6_000_000), "unreachable", "it is larger than 5 MB", 0),
        (moved("http://10.0.0.1/"), "blocked", "it is redirected to http://10.0.0.1/, which is refused: port 80", 0),
        (answer(b"%PDF-1.7", "application/pdf"), "not checked", "it is a PDF, which is not read here", 1),
        (
            answer("<body><div id=app></div><script>x</script>"),
            "not found",
            "the page shows no text without running",
            2,
        ),
    ],
)
def test_what_comes_of_a_page(site: Site, tmp_path: Path, said: bytes, state: str, why: str, kept: int) -> None:
    """Each thing that can happen has its state, and says why. The bytes that came are kept, and the text that was
    read."""
    site.says["/"] = said
    found = checked(site, folder=tmp_path)

    assert found.state == state
    assert found.why.startswith(why)
    assert len(list(tmp_path.iterdir())) == kept and bool(found.archived) == bool(kept)
    assert not kept or said.endswith((tmp_path / found.archived).read_bytes())


def test_a_page_that_breaks_its_reader(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that can't be read in time is not checked, though kept."""
    monkeypatch.setattr(evidence_check, "MAX_READING_SECONDS", 0.01)
    found = checked(site, folder=tmp_path)

    assert (found.state, found.why) == ("not checked", "it could not be read within 0.01 s")
    assert (tmp_path / found.archived).read_bytes() == ARTICLE.encode()


def test_a_folder_that_can_not_be_written(site: Site, tmp_path: Path) -> None:
    """A folder that is none is the user's to mend, and is reported as such."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BadFile):
        checked(site, folder=tmp_path / "file")


def test_without_the_extra_nothing_is_checked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is not installed the answer names it, and no request is made."""
    found = importlib.util.find_spec
    monkeypatch.setattr(evidence_check, "find_spec", lambda name: None if name == "rapidfuzz" else found(name))
    answered = checked(site)

    assert (answered.state, site.asked) == ("not checked", [])
    assert 'pip install "debate-orchestrator[evidence]"' in answered.why


PAGE = b"<script>alert(1)</script>\r\n\x00\xff"
PAGE_DIGEST = hashlib.sha256(PAGE).hexdigest()[:24]


@pytest.mark.parametrize(("kind", "suffix"), [("html", ".html.txt"), ("plain", ".plain.txt"), ("pdf", ".pdf")])
def test_bytes_are_kept_as_they_came(tmp_path: Path, kind: Kind, suffix: str) -> None:
    """A page's bytes lie in a file that is named after their digest, with a suffix that nothing runs. A link that lies
    there is replaced, and what it leads to stays as it is."""
    folder, precious = tmp_path / "made" / "on the way", tmp_path / "precious"
    name = evidence_check.save_page(folder, PAGE, kind)
    assert name == f"{PAGE_DIGEST}{suffix}"
    precious.write_text("as it was", encoding="utf-8")
    (folder / name).unlink()
    (folder / name).symlink_to(precious)
    evidence_check.save_page(folder, PAGE, kind)

    assert (folder / name).read_bytes() == PAGE and not (folder / name).is_symlink()
    assert (folder / name).stat().st_mode & 0o111 == 0
    assert precious.read_text(encoding="utf-8") == "as it was"


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
        packed(b"\0" * 20_000_000),
        chunked(gzip.compress(b"\0" * 5_000_000), more="Content-Encoding: gzip\r\n"),
        packed(b"x" * 300_001),
    ],
    "say",
)
def test_no_more_is_read_than_is_allowed(site: Site, say: bytes | Callable[[socket.socket], None]) -> None:
    """An answer that is too large, has no end or unpacks to too much is given up while it comes, and no more of it is
    ever held in memory."""
    site.says["/"] = say
    tracemalloc.start()
    try:
        assert ends(site, max_bytes=300_000) == "it is larger than 0.3 MB"
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
