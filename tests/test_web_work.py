"""Pages are made once however many ask for them, and what a stranger sends brings about little work."""

from __future__ import annotations

import asyncio
import shutil
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h11
import pytest
from public_site import visiting_public
from starlette.exceptions import HTTPException
from test_public_site import rules, speaking, spoken_by
from test_web_reviewing import JOURNAL as REVIEWED
from test_web_reviewing import begun as review_begun
from test_web_seats import begun, turn_of
from test_web_server import opened, serving
from web_visitor import HOST, TOKENS, visiting

from debate_orchestrator import read_journal
from debate_orchestrator.providers import discovery
from debate_orchestrator.util import resources
from debate_orchestrator.util.sanitize import few_combining_marks
from debate_orchestrator.web import blocks, connections, folder, pages, reviewing, seats
from debate_orchestrator.web import renderings as web_renderings
from debate_orchestrator.web.cache import SizedCache
from debate_orchestrator.web.guard import Guard, LinkedDebate, RequestLimit
from debate_orchestrator.web.renderings import THIS_USER, Renderings
from debate_orchestrator.web.server import create_app

EXAMPLE = resources.folder("examples") / "friday-deploys" / REVIEWED


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> Counter[Any]:
    """How often a function is called with each second argument."""
    calls, real = Counter[Any](), getattr(module, name)

    def counting(*arguments: Any, **options: Any) -> Any:
        calls[arguments[1] if len(arguments) > 1 else None] += 1
        return real(*arguments, **options)

    monkeypatch.setattr(module, name, counting)
    return calls


def test_a_running_debate_is_rendered_once_for_each_event(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many visitors load its page while nothing happens, no block and no page is made a second time."""
    said = f"""
        import os, time
        os.chdir({str(here)!r})
        try:
            open("first", "x").close()
        except FileExistsError:
            while not os.path.exists("go"):
                time.sleep(0.02)
        print("A reason is given here, and another one.")
    """
    made = counted(monkeypatch, blocks, "rendered")
    with visiting_public(rules(offers={"slow": spoken_by(speaking(here, said), issues=False, brief=False)})) as visitor:
        path = visitor.started()
        visitor.until(path, "2 calls of unknown price")  # the one that waits is under way
        before = visitor.get(path).text
        templates = counted(monkeypatch, pages, "render")
        for n in range(30):
            visitor.address = f"203.0.113.{n}"
            assert visitor.get(path).text == before
        assert {times for block, times in made.items() if block.turn} == {1} and not templates
        (here / "go").touch()
        visitor.until(path, "Complete")


def test_the_dashboard_renders_a_running_debate_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does its owner's page, and the page of a seat is made once for its turn."""
    monkeypatch.setattr(discovery, "available", lambda *_: [])
    with visiting() as visitor:
        address, links = begun(visitor, **{"cast.b": "human"})
        (link,) = links.values()
        turn_of(visitor, link)
        made, heard = counted(monkeypatch, blocks, "rendered"), counted(monkeypatch, seats, "_heard")
        shown = {visitor.get(address).text for _ in range(10)}
        assert len({visitor.get(link).text for _ in range(10)}) == 1
        assert len(shown) == 1 and not made and not heard


def test_a_reviewer_is_shown_a_debate_that_is_read_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page with the ballot, and the report after it, are made once until something is filed."""
    shutil.copy(EXAMPLE, REVIEWED)
    token = TOKENS.review(LinkedDebate("debate-report", read_journal(REVIEWED).entries[0].hash))
    with visiting(enter=False) as reviewer:
        own = review_begun(reviewer, f"/review/debate-report/{token}")
        made = counted(monkeypatch, reviewing, "build_report")
        assert len({reviewer.get(own).text for _ in range(20)}) == 1
        assert made.total() == 1


def test_more_debates_than_are_kept_are_not_read_for_each_view(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The front page and the dashboard keep what they show of a debate, also where not all journals fit into memory."""
    for n in range(6):
        shutil.copy(EXAMPLE, f"topic-{n}.public.journal.jsonl")
    monkeypatch.setattr(folder, "_journals", folder.SizedCache(EXAMPLE.stat().st_size * 2))
    read = counted(monkeypatch, folder, "read")
    with visiting_public() as visitor, visiting() as owner:
        read.clear()
        for _ in range(3):
            assert visitor.get("/").text.count('href="/d/topic-') == 6
            assert owner.get("/").text.count("/debates/topic-") >= 6
        assert read.total() <= 6


def test_journals_are_kept_by_their_bytes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not fit any more is read again, and many that ask for one at once wait for one reading."""
    for n in range(3):
        shutil.copy(EXAMPLE, f"{n}.journal.jsonl")
    monkeypatch.setattr(folder, "_journals", folder.SizedCache(EXAMPLE.stat().st_size * 2))
    read = counted(monkeypatch, folder, "read")
    with ThreadPoolExecutor(8) as pool:
        assert len({id(loaded) for _, loaded in pool.map(folder.load, ["0.journal.jsonl"] * 8)}) == 1
    assert read.total() == 1
    for n in (1, 0, 2, 0, 1):
        folder.load(f"{n}.journal.jsonl")
    assert read.total() == 4  # 1, 2, and 1 once more


def test_a_journal_above_the_bound_is_read_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is loaded, as long as it does not change."""
    shutil.copy(EXAMPLE, REVIEWED)
    monkeypatch.setattr(folder, "_journals", folder.SizedCache(EXAMPLE.stat().st_size - 1))
    read = counted(monkeypatch, folder, "read")
    assert len({id(folder.load(REVIEWED)[1]) for _ in range(5)}) == 1
    assert read.total() == 1


def test_a_value_above_the_bound_takes_the_place_of_no_other() -> None:
    """The newest of them is kept beside those within the bound, and goes when its key gets a smaller value."""
    kept = SizedCache[str](100)

    def kept_of(*keys: str) -> list[str | None]:
        return [kept.get(key) for key in keys]

    for key in ("a", "b"):
        kept.put(key, key.upper(), 40)
    kept.put("large", "L", 101)
    assert kept_of("a", "b", "large") == ["A", "B", "L"]
    kept.put("larger", "M", 200)
    assert kept_of("a", "b", "large", "larger") == ["A", "B", None, "M"]
    kept.put("larger", "S", 20)
    assert kept_of("a", "b", "larger") == ["A", "B", "S"]
    kept.put("a", "X", 101)
    kept.put("c", "C", 40)
    assert kept_of("a", "b", "larger", "c") == ["X", "B", "S", "C"]


@pytest.mark.slow
def test_what_is_kept_stays_within_its_bound() -> None:
    """However long the keys and however short the pages are. What other threads do meanwhile does not count."""
    renderings, bound = Renderings(), 1_000_000

    async def run() -> int:
        renderings._cache = SizedCache(bound)
        tracemalloc.start(8)
        for n in range(6_000):
            await renderings.get(("x", f"{n}" + "k" * 2_000), lambda n=n: f"page {n}", "v")
        of_cache = tracemalloc.Filter(True, web_renderings.__file__, all_frames=True)
        return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([of_cache]).traces)

    try:
        assert bound * 0.1 < asyncio.run(run()) < bound * 1.2
    finally:
        tracemalloc.stop()
        renderings.close()


def test_no_page_is_made_for_a_wrong_key_of_a_review(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of wrong ones is answered with the one page that the link without a key has."""
    shutil.copy(EXAMPLE, REVIEWED)
    token = TOKENS.review(LinkedDebate("debate-report", read_journal(REVIEWED).entries[0].hash))
    made = counted(monkeypatch, reviewing, "render")
    with visiting(enter=False) as reviewer:
        link = f"/review/debate-report/{token}"
        assert len({reviewer.get(f"{link}{query}").text for query in ("", "?as=x&key=1", "?as=y&key=2", "?as=y")}) == 1
    assert made.total() == 1


def test_a_slow_journal_holds_up_no_other(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a link has one read, the dashboard reads another; no lock stays once all is read."""
    for name in "ab":
        shutil.copy(EXAMPLE, f"{name}.journal.jsonl")
    gate, begun_, real = threading.Event(), threading.Event(), folder.read

    def slow(path: str, **given: Any) -> Any:
        if path.startswith("a."):
            begun_.set()
            assert gate.wait(60)
        return real(path, **given)

    monkeypatch.setattr(folder, "read", slow)
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(folder.load, "a.journal.jsonl")
        assert begun_.wait(60)
        try:
            assert pool.submit(folder.load, "b.journal.jsonl").result(10)[1].opened
            assert not held.done()
        finally:
            gate.set()
        assert held.result(60)[1].opened
    assert not folder._reading


def test_work_does_not_wait_for_the_engine(here: Path) -> None:
    """The pool that debates save their journals in may be busy, and pages may be: neither waits for the other."""
    gate = threading.Event()

    async def run() -> None:
        renderings, loop = Renderings(), asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        engine = loop.run_in_executor(None, gate.wait, 60)
        async with asyncio.timeout(30):
            assert await renderings.run(lambda: "page", "a visitor") == "page"
        gate.set()
        await engine
        gate.clear()
        held = [asyncio.ensure_future(renderings.run(lambda: gate.wait(60), f"visitor {n}")) for n in range(20)]
        async with asyncio.timeout(30):
            assert await asyncio.to_thread(lambda: "saved") == "saved"
            assert await renderings.run(lambda: "own", THIS_USER) == "own"
        gate.set()
        await asyncio.gather(*held)
        renderings.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("names", "at_once"), [(["v"], 1), ([f"v {n}" for n in range(10)], 2), ([THIS_USER], 2)], ids=["one", "ten", "own"]
)
def test_what_no_request_waits_for_any_more_is_not_begun(names: list[str], at_once: int) -> None:
    """Of requests whose connections are closed, only those that had begun are worked on, however many visitors sent
    them; what another request still waits for is done."""
    gate, begun_ = threading.Event(), list[int]()

    def work(n: int) -> int:
        begun_.append(n)
        assert gate.wait(60)
        return n

    async def run() -> None:
        renderings = Renderings()

        def asked_for(n: int) -> asyncio.Future[int]:
            return asyncio.ensure_future(renderings.run(lambda: work(n), names[n % len(names)]))

        asked = [asked_for(n) for n in range(50)]
        shared, both = (asyncio.ensure_future(renderings.shared("key", lambda: work(100), names[-1])) for _ in "ab")
        async with asyncio.timeout(60):
            while len(begun_) < at_once:
                await asyncio.sleep(0.01)
            for request in [*asked, shared]:
                request.cancel()
            await asyncio.gather(*asked, shared, return_exceptions=True)
            gate.set()
            assert await both == 100
            assert [await renderings.run(lambda: "next", name) for name in names] == ["next"] * len(names)
            while renderings._requests:  # what had begun ends in its own thread
                await asyncio.sleep(0.01)
        assert not renderings._waiting
        renderings.close()

    asyncio.run(run())
    assert sorted(begun_) == [*range(at_once), 100]


def test_a_request_that_is_given_up_at_once_leaves_nothing() -> None:
    """Whether its work had begun or not, the visitor's next request is worked on."""

    async def run() -> None:
        renderings = Renderings()
        for turns in range(6):
            asked = [asyncio.ensure_future(renderings.run(lambda: "x", "v")) for _ in range(3)]
            for _ in range(turns):
                await asyncio.sleep(0)
            for request in asked:
                request.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
            async with asyncio.timeout(30):
                assert await renderings.run(lambda: "next", "v") == "next"
        assert not renderings._requests and not renderings._waiting
        renderings.close()

    asyncio.run(run())


def test_the_dashboard_does_not_wait_for_what_visitors_asked_for_first() -> None:
    """A page that stands behind those of visitors is made for the dashboard as soon as that asks for it too."""
    gate = threading.Event()

    async def run() -> None:
        renderings = Renderings()
        held = [asyncio.ensure_future(renderings.run(lambda: gate.wait(60), f"visitor {n}")) for n in range(3)]
        theirs = asyncio.ensure_future(renderings.get("report", lambda: "made", "visitor 3"))
        await asyncio.sleep(0.05)
        try:
            async with asyncio.timeout(10):
                assert await renderings.get("report", lambda: "made", THIS_USER) == b"made" == await theirs
        finally:
            gate.set()
        await asyncio.gather(*held)
        renderings.close()

    asyncio.run(run())


def test_a_visitor_has_so_many_requests_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is refused, with what to try; another visitor's is not."""
    monkeypatch.setattr(web_renderings, "_MAX_WAITING", 5)
    gate = threading.Event()

    async def run() -> None:
        renderings = Renderings()
        asked = [asyncio.ensure_future(renderings.run(lambda: gate.wait(60), "v")) for _ in range(5)]
        await asyncio.sleep(0)
        try:
            with pytest.raises(HTTPException, match="Too many requests"):
                async with asyncio.timeout(10):
                    await renderings.run(lambda: True, "v")
            assert await renderings.run(lambda: True, "another")
        finally:
            gate.set()
        assert all(await asyncio.gather(*asked)) and await renderings.run(lambda: True, "v")
        renderings.close()

    asyncio.run(run())


async def answer(app: Any, method: str, path: str, receive: Callable[[], Any], host: str = HOST) -> list[Any]:
    """What an application sends for a request."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", host.encode()), (b"content-type", b"application/x-www-form-urlencoded")]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    await app({**scope, "headers": headers, "root_path": "", "client": ("127.0.0.1", 1)}, receive, send)
    return sent


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_whose_sender_is_gone_is_given_up(method: str) -> None:
    """What only asks is ended before its answer has begun; a form is worked on, since it may have done something."""
    ended: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.sleep(0.2)
            ended.append("done")
        except asyncio.CancelledError:
            ended.append("given up")
            raise

    messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        return messages.pop()

    guarded = Guard(app, hosts=[HOST], admit=lambda scope, headers: RequestLimit(0))
    assert asyncio.run(answer(guarded, method, "/", receive)) == []
    assert ended == [{"GET": "given up", "POST": "done"}[method]]


@pytest.mark.parametrize("path", ["/seat/{}/a/xx", "/review/{}/xx", "/seat/none/a/xx", "/static/page.css", "/review/x"])
def test_nothing_is_read_of_a_form_without_the_right_link(here: Path, path: str) -> None:
    """The token is looked at first, so a stranger's form costs its head and no more."""
    shutil.copy(EXAMPLE, REVIEWED)

    async def receive() -> Any:
        pytest.fail("it was read")

    app = create_app(TOKENS, [HOST])
    sent = asyncio.run(answer(app, "POST", path.format("debate-report"), receive))
    assert sent[0]["status"] == 404


def test_requests_in_chunks_are_refused_at_their_head(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a body in chunks of a byte not one is taken apart, whatever it is sent to."""
    events: list[str] = []
    real = connections.WholeRequests.next_event

    def next_event(connection: Any) -> Any:
        event = real(connection)
        events.append(type(event).__name__)
        return event

    monkeypatch.setattr(connections.WholeRequests, "next_event", next_event)

    async def visit(port: int) -> None:
        for method in (b"POST", b"GET"):
            head = b"%b /seat/d/a/xx HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" % method
            reader = await opened(port, head + b"1\r\na\r\n" * 5_000)
            said = await reader.read()
            assert said.startswith(b"HTTP/1.1 400 ") and b"Content-Length" in said
        assert "Data" not in events

    serving(visit)


HEADS = [
    b"A:" + b" " * 16_000 + b"\x00",
    b"A:" + b" " * 101 + b"b",
    b"A: b" + b"\t " * 51,
    b"A: b\x0bc",
    b"A: b\x0cc",
    b"A: b\rc",
    b"A: b\r\n c: d",
    b"A: " + b"b" * 17_000,
]


@pytest.mark.parametrize("line", HEADS, ids=range(len(HEADS)))
@pytest.mark.parametrize("at_once", [1, 300_000])
def test_a_head_that_costs_much_to_refuse_is_not_parsed(
    monkeypatch: pytest.MonkeyPatch, line: bytes, at_once: int
) -> None:
    """The pattern of h11 does not see it, in one piece or byte by byte, also after a request that was taken."""
    parsed: list[bytes] = []
    monkeypatch.setattr(h11._readers, "validate", lambda regex, data, *_: parsed.append(bytes(data)) or {})
    connection = connections.WholeRequests(h11.SERVER, connections._MAX_HEAD_SIZE)
    request = b"GET / HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n\r\n"
    with pytest.raises(h11.RemoteProtocolError):
        for start in range(0, len(request), at_once):
            connection.receive_data(request[start : start + at_once])
            connection.next_event()
    assert not parsed


def test_heads_are_bounded_and_taken(here: Path) -> None:
    """A head that is not taken is answered with 400, also behind one that is; one that is may come byte by byte."""
    good = b"GET /static/page.css HTTP/1.1\r\nHost: x\r\nCookie: a=" + b"b" * 8_000 + b"\r\n\r\n"

    async def visit(port: int) -> None:
        for line in HEADS:
            reader = await opened(port, good)
            await reader.readuntil(b" 421 ")
            reader.kept.write(b"GET / HTTP/1.1\r\n" + line + b"\r\n\r\n")  # type: ignore[attr-defined]
            assert b"HTTP/1.1 400 " in await reader.read(), line

    serving(visit)
    connection = connections.WholeRequests(h11.SERVER, connections._MAX_HEAD_SIZE)
    for byte in good:
        connection.receive_data(bytes([byte]))
        event = connection.next_event()
    assert isinstance(event, h11.Request)


def test_a_wrong_link_looks_at_no_other_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger with a wrong link does not have the folder listed."""
    shutil.copy(EXAMPLE, REVIEWED)
    with visiting(enter=False) as stranger:
        monkeypatch.setattr(folder, "_all_names", lambda: pytest.fail("the folder was listed"))
        for link in ("/seat/debate-report/a/xx", "/review/debate-report/xx", "/seat/none/a/xx"):
            assert stranger.get(link).status_code == 404


def test_a_letter_has_few_combining_marks_on_a_page(here: Path) -> None:
    """Combining marks that fill a line are cut where a topic is taken or shown; what languages need stays."""
    piled = "H" + "\u0335\u0301" * 140
    with visiting_public(rules(offers={"r": {"about": "x", "cast": {"a": "rehearse", "b": "rehearse"}}})) as visitor:
        page = visitor.get(visitor.started(topic=f"Is {piled} readable?")).text
        assert "\u0335\u0301" * 4 in page and "\u0335\u0301" * 5 not in page
    assert "\u0e49" * 9 not in pages.render(
        "public/error.html.j2", site="x", title="x", problems=["\u0e01" + "\u0e49" * 290]
    )
    for word in ("\u05d1\u05bc\u05b0\u05e8\u05b5\u0591\u05bd", "Vie\u0302\u0323t", "ก็ที่ผู้", "हिन्दी", "👩🏽‍🚀️ 1️⃣"):
        assert few_combining_marks(word) == word
