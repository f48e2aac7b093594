"""A public site holds against visitors who mean harm, and its limits are counted, capped in dollars and shared."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from postgres import Postgres
from public_site import HOST, REHEARSAL, TOPIC, PublicVisitor, rules, visiting_public
from started import PATIENCE
from web_visitor import plain

from debate_orchestrator.core.fold import fold
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import DebateError
from debate_orchestrator.web import guard, live
from debate_orchestrator.web.open_files import bounds
from debate_orchestrator.web.public import visitors
from debate_orchestrator.web.public.limits import (
    ALL_COST,
    DAY_COST,
    LimitsUnavailable,
    MemoryCounts,
    PostgresCounts,
    VisitorCounts,
)
from debate_orchestrator.web.public.site import charged, spent_before
from debate_orchestrator.web.runs import Run

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def visitor(here: Path) -> Iterator[PublicVisitor]:
    """A visitor of a site on which stand-ins debate."""
    with visiting_public() as visitor:
        yield visitor


def nothing_written() -> bool:
    return not list(Path().iterdir())


def test_forms_of_other_sites_start_nothing(visitor: PublicVisitor) -> None:
    """A form is taken from a page of this site alone: the browser says so, and it holds the token of its cookie. Where
    no cookie comes back, the page says what to allow."""
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"origin": f"https://{HOST}", "sec-fetch-site": "same-site"},
        {"origin": "", "sec-fetch-site": ""},
    ):
        assert visitor.start(headers=headers).status_code == 403, headers
    stolen = visitor.token()
    visitor.client.cookies.clear()
    data = {**TOPIC, "form_token": stolen}
    same_site = {**visitor.headers, "origin": f"https://{HOST}"}
    answer = visitor.client.post("/start", data=data, headers=same_site)
    assert answer.status_code == 403 and "allow cookies for this site" in answer.text
    assert visitor.client.post("/start", data={**data, "form_token": ""}, headers=same_site).status_code == 403
    assert nothing_written()


def test_no_cookie_of_another_is_parsed(visitor: PublicVisitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the cookies sent, the one of this site is found by its name, and is taken only if this site can have set it:
    a long quoted one would hold up the server."""
    monkeypatch.setattr("starlette.requests.cookie_parser", lambda _: pytest.fail("a header was parsed whole"))
    quoted = 'a="' + "\\" * 12_000 + '"'
    token = visitor.token()
    held, data = visitor.client.cookies[visitors.SECURE_COOKIE], {**TOPIC, "form_token": token}
    for cookies, status in (
        (f"{quoted}; {visitors.SECURE_COOKIE}={held}", 303),
        (quoted, 403),
        (f'{visitors.SECURE_COOKIE}="{held}"', 403),
        (f"{visitors.SECURE_COOKIE}={held}x", 403),
        (f"{visitors.COOKIE}={held}", 403),
    ):
        headers = {**visitor.headers, "origin": f"https://{HOST}", "cookie": cookies}
        answer = visitor.client.post("/start", data=data, headers=headers, follow_redirects=False)
        assert answer.status_code == status, cookies[-60:]


def test_a_damaged_journal_is_not_told_to_visitors(visitor: PublicVisitor) -> None:
    """The page of a debate whose file was spoilt says no more than that; the owner's log says what is wrong."""
    path = visitor.started()
    visitor.until(path, "Complete")
    (journal,) = Path().glob("*.journal.jsonl")
    journal.write_text(journal.read_text(encoding="utf-8").replace("gRPC", "gRPX", 1), encoding="utf-8")
    answer = visitor.get(path)
    assert answer.status_code == 500 and "until the owner of this site" in answer.text
    assert "line" not in plain(answer.text) and "journal" in visitor.log[-1]
    assert visitor.get("/").status_code == 200


def test_what_is_served_and_under_which_names(visitor: PublicVisitor) -> None:
    """A public site has no address of the dashboard or of seats, with whatever cookie, and no address with a slash too
    many, which would send a visitor on to http. No page, and so no link within one, is made for another name. Behind
    https, no script and no other name of the domain gets or sets the cookie of the form."""
    for path in ("/enter?key=0", "/new", "/search?q=x", "/compare", "/debates/x", "/seat/x/a/0"):
        assert visitor.get(path).status_code == 404, path
    for path in ("/d/nothing/", "/d/nothing/report/", "/static/page.js/"):
        answer = visitor.get(path)
        assert answer.status_code == 404 and "location" not in answer.headers, path
    for host in ("evil.example", "127.0.0.1", "", f"{HOST}.evil.example", f"evil@{HOST}"):
        assert visitor.get("/", host=host).status_code == 421, host
    (cookie,) = visitor.get("/").headers.get_list("set-cookie")
    assert cookie.startswith("__Host-debate_visitor=") and "HttpOnly" in cookie and "Secure" in cookie
    assert "samesite=lax" in cookie.lower() and "domain" not in cookie.lower()


def test_forms_have_a_size_and_a_type(visitor: PublicVisitor) -> None:
    """A form over the limit is refused before it is read, and anything that is no form too."""
    token = visitor.token()
    sent = {**visitor.headers, "origin": f"https://{HOST}", "content-type": FORM}
    large = b"topic=" + b"x" * visitors.MAX_FORM_SIZE
    assert visitor.client.post("/start", content=large, headers=sent).status_code == 413
    assert visitor.client.post("/start", content=iter([large]), headers=sent).status_code == 413
    as_json = {**sent, "content-type": "application/json"}
    assert visitor.client.post("/start", content=json.dumps(TOPIC), headers=as_json).status_code == 415
    assert visitor.client.post("/start", content=f"form_token={token}&topic=%ff", headers=sent).status_code == 400
    assert visitor.start({**TOPIC, **{f"field{n}": "" for n in range(600)}}).status_code == 400
    assert visitor.client.delete("/start", headers=visitor.headers).status_code == 405
    assert nothing_written()


def test_pages_run_no_script_of_others(visitor: PublicVisitor) -> None:
    """Every page forbids scripts and styles but those of this server's files, and has none within it."""
    path = visitor.started(
        topic="<script>alert(1)</script> Is this safe?", **{"position.a": "Yes.", "position.b": "No."}
    )
    visitor.until(path, "Complete")
    for address in ("/", path, "/nothing"):
        answer = visitor.get(address)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert answer.text.count("<script") == answer.text.count('<script src="/static/page.js?') == 1
        assert " style=" not in answer.text and "<style" not in answer.text and " onclick" not in answer.text


def test_a_flood_is_stopped(visitor: PublicVisitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A visitor who asks too often is told when to come back; others are served meanwhile."""
    monkeypatch.setattr(visitors, "_MAX_REQUESTS", 5)
    codes = [visitor.get("/static/page.css").status_code for _ in range(7)]
    assert codes == [200] * 5 + [429] * 2
    assert 1 <= int(visitor.get("/").headers["retry-after"]) <= 60
    visitor.address = "203.0.113.8"
    assert visitor.get("/").status_code == 200


def test_visitors_that_are_counted_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests from ever new addresses fill no memory."""
    monkeypatch.setattr(visitors, "_MAX_VISITORS", 10)
    limiter = visitors.RequestLimiter()
    for number in range(50):
        limiter.admit({"method": "GET", "headers": [(FORWARDED, b"10.0.0.%d" % number)]}, {})
    assert len(limiter._counts) == 10


FORWARDED = b"x-forwarded-for"


@pytest.mark.parametrize(
    ("stated", "address"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("1.2.3.4:5678", "1.2.3.4"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("[::ffff:1.2.3.4]:99", "1.2.3.4"),
        ("64:ff9b::1.2.3.4", "1.2.3.4"),
        ("[2001:db8::1]:99", "2001:db8::/64"),
        ("[2001:db8::1]", "2001:db8::/64"),
        ("2001:db8::1", "2001:db8::/64"),
        ("8.8.8.8, 1.2.3.4:1", "1.2.3.4"),
        ("1.2.3.4:5678:9", "unknown"),
        ("none", "unknown"),
        ("", "203.0.113.7"),
    ],
)
def test_a_port_is_no_part_of_an_address(stated: str, address: str) -> None:
    """A visitor is the same one whether or not the proxy adds the port of the connection to the address."""
    scope = {"client": ("203.0.113.7", 1), "headers": [(FORWARDED, stated.encode())]}
    assert visitors.address(scope) == address


def test_a_visitor_can_not_state_an_address_before_the_proxy_does(here: Path) -> None:
    """A proxy adds to the visitor's header, or a header of its own below it. Whatever the visitor writes there, it is
    the same visitor to every limit."""
    with visiting_public(rules(debates_per_visitor=1)) as visitor:
        codes = []
        for number in range(3):
            spoofed = [("x-forwarded-for", f"10.0.0.{number}, 10.0.1.{number}"), ("x-forwarded-proto", "http")]
            headers = [*spoofed, *visitor.headers.items(), ("origin", f"https://{HOST}")]
            data = {"form_token": visitor.token(), **TOPIC}
            codes.append(visitor.client.post("/start", data=data, headers=headers, follow_redirects=False).status_code)
        assert codes == [303, 429, 429]


def test_the_key_of_pseudonyms_changes_with_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same address has another pseudonym on another day, and the same one within a day."""
    limiter, scope = visitors.RequestLimiter(), {"client": ("203.0.113.7", 1), "headers": []}
    pseudonyms = []
    for day in ("2030-01-01", "2030-01-01", "2030-01-02"):
        monkeypatch.setattr(visitors, "today", lambda day=day: day)
        pseudonyms.append(limiter.pseudonym(scope))
    assert pseudonyms[0] == pseudonyms[1] != pseudonyms[2]


async def opened(stream: live.EventStream) -> tuple[int, asyncio.Task[None]]:
    """The status with which a stream begins, and the task that it runs in."""
    status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def receive() -> Any:
        await asyncio.sleep(3600)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            status.set_result(message["status"])

    task = asyncio.create_task(stream({}, receive, send))
    return await status, task


def test_streams_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """One visitor can't hold all streams, all visitors together can't hold more than there are, and a stream that ends
    makes room."""
    monkeypatch.setattr(live, "MAX_STREAMS_OF_VISITOR", 2)
    monkeypatch.setattr(live, "bounds", lambda: bounds()._replace(viewers=3))

    async def run() -> None:
        viewers = live.Viewers()

        async def status(visitor: str) -> int:
            code, task = await opened(live.EventStream(viewers, list, visitor))
            tasks.append(task)
            return code

        tasks: list[asyncio.Task[None]] = []
        assert [await status("a") for _ in range(3)] == [200, 200, 503]
        assert [await status("b"), await status("c")] == [200, 503]
        tasks[0].cancel()
        await asyncio.gather(tasks[0], return_exceptions=True)
        assert await status("c") == 200
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())


def test_slow_forms_are_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that does not arrive in time holds nothing."""
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.05)
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    with visiting_public(rules()) as visitor:
        headers = {"host": HOST, "content-type": FORM, "origin": f"https://{HOST}"}
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "POST", "path": "/start", "headers": pairs, "query_string": b""}
        asyncio.run(visitor.client.app(scope, receive, send))
    assert sent[0]["status"] == 408


@pytest.mark.slow
def test_connections_that_say_nothing_are_closed(here: Path) -> None:
    """Half a head, and nothing more on a connection that was used, are closed; a request beside them is answered."""
    code = (
        "from debate_orchestrator.web import connections; connections.HEAD_SECONDS = 0.5\n"
        "from debate_orchestrator.cli import main; main(['serve', '--public', '--no-browser', '--port', '0'])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rsplit(":", 1)[1].strip("/\n"))
        request = f"GET /static/page.css HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: x", request + b"GET / HT"):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.settimeout(PATIENCE)
                connection.sendall(sent)
                answer = b""
                while part := connection.recv(65536):
                    answer += part
                assert answer.startswith(b"HTTP/1.1 200" if sent == request else b"")
    finally:
        process.terminate()
        process.wait(PATIENCE)


DAY, NEXT, AHEAD = "2030-01-01", "2030-01-02", "2031-01-01"


class Caps(NamedTuple):
    """US dollars for all debates together."""

    max_cost_per_day: float | None = None
    max_cost: float | None = None


@pytest.fixture
def database(postgres_server: Postgres) -> str:
    """The address of an empty database."""
    return postgres_server.url(postgres_server.database())


@pytest.fixture(params=["memory", pytest.param("postgresql", marks=pytest.mark.slow)])
def counts(request: pytest.FixtureRequest) -> VisitorCounts:
    """Counts of a site that no visitor has used."""
    if request.param == "memory":
        return MemoryCounts()
    return PostgresCounts(request.getfixturevalue("database"))


@pytest.mark.slow
def test_sums_are_read_after_the_lock_was_waited_for(database: str) -> None:
    """A database whose transactions see one moment alone by default admits no more than the cap for all."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'repeatable read'")

    async def run() -> None:
        show = "SHOW transaction_isolation"
        (isolation,) = await PostgresCounts(database)._locked(lambda connection: connection.execute(show).fetchone())
        assert isolation == "read committed"

    try:
        asyncio.run(run())
    finally:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("ALTER ROLE CURRENT_USER RESET default_transaction_isolation")


def test_counters_are_for_a_day(counts: VisitorCounts) -> None:
    """A counter that is full refuses, and what is refused counts nowhere; the next day begins anew."""

    async def run() -> None:
        assert await counts.admit("1", DAY, {"visitor:x": 1, "model:y": 3}, 0.0, Caps()) is None
        assert await counts.admit("2", DAY, {"model:y": 3, "visitor:x": 1}, 0.0, Caps()) == "visitor:x"
        assert await counts.admit("3", DAY, {"model:y": 3}, 0.0, Caps()) is None
        assert await counts.admit("4", DAY, {"model:y": 3}, 0.0, Caps()) is None
        assert await counts.admit("5", DAY, {"model:y": 3}, 0.0, Caps()) == "model:y"
        assert await counts.admit("6", NEXT, {"visitor:x": 1}, 0.0, Caps()) is None

    asyncio.run(run())


def test_a_day_that_has_begun_does_not_begin_anew(counts: VisitorCounts) -> None:
    """A form of the day before, which was looked at over midnight, leaves the counts of the new day as they are."""

    async def run() -> None:
        assert await counts.admit("1", NEXT, {"visitor:x": 1}, 0.0, Caps()) is None
        await counts.admit("2", DAY, {"visitor:y": 1}, 0.0, Caps())
        assert await counts.admit("3", NEXT, {"visitor:x": 1}, 0.0, Caps()) == "visitor:x"

    asyncio.run(run())


def test_a_clock_that_jumped_ahead_stops_no_visitor_later(counts: VisitorCounts) -> None:
    """Once it is right again, each day has its own key and counts."""

    async def run() -> None:
        await counts.day_key(AHEAD)
        assert await counts.admit("ahead", AHEAD, {"visitor:x": 1}, 0.0, Caps()) is None
        keys = set()
        for day in (DAY, NEXT):
            keys.add(await counts.day_key(day))
            assert await counts.admit(f"first {day}", day, {"visitor:x": 1}, 0.0, Caps()) is None
            assert await counts.admit(f"second {day}", day, {"visitor:x": 1}, 0.0, Caps()) == "visitor:x"
        assert len(keys) == 2

    asyncio.run(run())


def test_dollars_are_reserved_and_settled(counts: VisitorCounts) -> None:
    """A debate's cap is reserved until what it has cost is known; a day has a cap of its own, and a debate that costs
    nothing is never refused for money."""

    async def run() -> None:
        caps = Caps(max_cost_per_day=1.0, max_cost=1.5)
        assert await counts.admit("1", DAY, {}, 0.6, caps) is None
        assert await counts.admit("2", DAY, {}, 0.6, caps) == DAY_COST
        assert await counts.admit("free", DAY, {}, 0.0, caps) is None
        await counts.charge("1", DAY, 0.2)
        assert await counts.admit("3", DAY, {}, 0.6, caps) is None
        assert await counts.admit("4", NEXT, {}, 0.8, caps) == ALL_COST
        await counts.charge("3", DAY, 0.1)
        assert await counts.admit("5", NEXT, {}, 0.8, caps) is None

    asyncio.run(run())


def test_the_key_changes_with_the_day(counts: VisitorCounts) -> None:
    """A day has one random key, and an earlier day's is gone: asked for again, it is another one."""

    async def run() -> None:
        key = await counts.day_key(DAY)
        assert await counts.day_key(DAY) == key and len(key) == 32
        assert await counts.day_key(NEXT) != key
        if isinstance(counts, PostgresCounts):
            assert await PostgresCounts(counts._url).day_key(NEXT) == await counts.day_key(NEXT)
        assert await counts.day_key(DAY) != key

    asyncio.run(run())


@pytest.mark.slow
def test_processes_share_a_limit(database: str, counts: VisitorCounts) -> None:
    """Of many processes that ask at the same time, no more are admitted than the limit says."""
    if not isinstance(counts, PostgresCounts):
        pytest.skip("memory is of one process")

    async def run() -> None:
        sites = [PostgresCounts(database) for _ in range(24)]
        asked = (site.admit(str(n), DAY, {"visitor:x": 5}, 0.1, Caps(max_cost=1.0)) for n, site in enumerate(sites))
        answers = await asyncio.gather(*asked)
        assert sorted(answer or "" for answer in answers) == [""] * 5 + ["visitor:x"] * 19
        keys = await asyncio.gather(*(site.day_key(DAY) for site in sites))
        assert len(set(keys)) == 1

    asyncio.run(run())


@pytest.mark.slow
def test_a_site_whose_database_is_away_starts_nothing(database: str, here: Path) -> None:
    """Without its limits a site starts no debate, and says so without the address of the database."""
    away = "postgresql://owner:hunter22-secret@127.0.0.1:1/limits"
    with visiting_public(counts=PostgresCounts(away)) as visitor:
        refused = visitor.start()
        assert refused.status_code == 503 and refused.headers["retry-after"]
        assert "hunter22" not in refused.text + "".join(visitor.log) and "does not answer" in visitor.log[-1]
        assert not list(Path().iterdir())
    with pytest.raises(LimitsUnavailable):
        asyncio.run(PostgresCounts(away).day_key(DAY))
    with visiting_public(rules(debates_per_visitor=1), PostgresCounts(database)) as visitor:
        visitor.started()
        assert visitor.start().status_code == 429


def test_money_is_counted_before_a_debate_begins(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A debate is started only where its own cap fits below the site's; the cap stands in its journal, so that it also
    holds for those who go on with it; and it stays reserved after a restart while the debate is not complete."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-for-this-test-alone")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    model = "anthropic:claude-sonnet-5-5"
    paid = {"about": "Paid", "cast": {"a": model, "b": model, "judge": model}, "max_cost": 0.5, "retry_for": 1.0}
    permitted = rules(offers={"paid": paid, "free": REHEARSAL}, max_cost=0.9)
    for _ in range(2):
        with visiting_public(permitted) as visitor:
            if not spent_before():
                visitor.started(offer="paid")
            refused = visitor.start({"topic": "Should we use tabs?", "offer": "paid"})
            assert refused.status_code == 503 and "has reached its limit of costs" in refused.text
            assert "retry-after" not in refused.headers
            visitor.started(offer="free")
    (journal,) = Path().glob("*.public.journal.jsonl")
    assert fold(read(str(journal)).events).opened.settings.max_cost == 0.5
    assert charged(fold(read(str(journal)).events)) == 0.5
    assert "sk-ant" not in journal.read_text(encoding="utf-8")


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library of the database is not installed, the sentence says how to get it."""
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(DebateError, match=r"debate-orchestrator\[postgresql\]"):
        PostgresCounts("postgresql:///x")


@pytest.mark.slow
def test_debates_that_are_over_take_no_memory(here: Path) -> None:
    """A site that runs for months holds nothing of a debate that has ended, well or not, but why it failed."""
    program = here / "speaker"
    program.write_text('#!/bin/sh\nrm "$0"\necho A reason is given.\n', encoding="utf-8")
    program.chmod(0o755)
    failing = {"about": "Ends", "cast": {"a": f"command:{program}", "b": f"command:{program}", "judge": "rehearse"}}
    with visiting_public(rules(offers={"rehearsal": REHEARSAL, "failing": {**failing, "free": True}})) as visitor:
        over = [(visitor.started(offer="rehearsal"), "Complete"), (visitor.started(offer="failing"), "can't be asked")]
        for path, words in over:
            visitor.until(path, words)
        end = time.monotonic() + PATIENCE
        while [held for held in gc.get_objects() if isinstance(held, Run)]:
            assert time.monotonic() < end, "the run of a debate is still held"
            time.sleep(0.1)
            gc.collect()
        for path, words in over:
            assert words in visitor.text(path)
