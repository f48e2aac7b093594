"""Forms of visitors that come at the same time: one visitor leaves room for others, and a form that comes twice starts
one debate."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from leap import Leap, leaped
from public_site import HOST, TOPIC, PublicVisitor, rules, visiting_public
from starlette.exceptions import HTTPException
from test_public_guard import counts, database  # noqa: F401
from web_visitor import plain

from debate_orchestrator.web import guard
from debate_orchestrator.web.guard import Guard, HttpError, RequestLimit
from debate_orchestrator.web.open_files import Bounds
from debate_orchestrator.web.public import moderation as moderation_module
from debate_orchestrator.web.public import site as site_module
from debate_orchestrator.web.public.limits import DAY_COST, MemoryCounts, VisitorCounts
from debate_orchestrator.web.public.moderation import ModerationFailed, TopicScreener
from debate_orchestrator.web.public.rules import SiteRules
from debate_orchestrator.web.public.site import Site
from debate_orchestrator.web.public.views import create_app
from debate_orchestrator.web.public.visitors import FormError, RequestLimiter, form_token
from debate_orchestrator.web.repeated_forms import RepeatedForms

MODERATOR = """\
import asyncio, pathlib
asked = []
async def check(request):
    asked.append(request["topic"])
    if pathlib.Path("broken").exists():
        raise (EOFError if pathlib.Path("mute").exists() else OSError)(request["topic"])
    while "slow" in request["topic"] and not pathlib.Path("decided").exists():
        await asyncio.sleep(0.01)
"""


@pytest.fixture
def moderation(here: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A screener that accepts all. Over slow topics it takes its time, until one file is there; while another is, it
    fails."""
    (here / "patient.py").write_text(MODERATOR, encoding="utf-8")
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.delitem(__import__("sys").modules, "patient", raising=False)
    return "python:patient:check"


def begun() -> int:
    return len(list(Path().glob("*.journal.jsonl")))


def from_address(visitor: PublicVisitor, address: str) -> PublicVisitor:
    """Another visitor of the same site."""
    other = PublicVisitor(visitor.client, visitor.site, visitor.log)
    other.address = address
    return other


def test_topics_that_are_looked_at_take_no_place(moderation: str) -> None:
    """Visitors whose topics the screener looks at for long keep no other out, and none of them has a second topic
    looked at beside it."""
    permitted = rules(moderation=moderation, at_once=1, queue=1)
    with visiting_public(permitted) as visitor, ThreadPoolExecutor(2) as clicks:
        import patient

        visitor.token()  # the cookie, which all of this client have
        slow_ones = [from_address(visitor, f"198.51.100.{n}") for n in range(2)]
        slow = [clicks.submit(one.start, {**TOPIC, "topic": "Is slow good?"}) for one in slow_ones]
        while len(patient.asked) < 2:
            assert not any(click.done() for click in slow)
        second = slow_ones[0].start({**TOPIC, "topic": "Is a second one good?"})
        assert second.status_code == 429 and second.headers["retry-after"]
        assert "One of your network is being started" in plain(second.text)
        visitor.until(visitor.started(), "Complete")
        Path("decided").touch()
        assert [click.result().status_code for click in slow] == [303, 303] and begun() == 3
        assert len(patient.asked) == 3


def test_no_topic_of_a_visitor_who_may_start_nothing_is_looked_at(moderation: str) -> None:
    """The screener may cost money."""
    with visiting_public(rules(moderation=moderation, debates_per_visitor=1)) as visitor:
        import patient

        visitor.started()
        refused = visitor.start({**TOPIC, "topic": "Is another good?"})
        assert refused.status_code == 429 and "started 1 debate today" in plain(refused.text)
        assert len(patient.asked) == 1


def test_what_is_only_looked_up_is_not_counted(counts: VisitorCounts) -> None:  # noqa: F811
    """A counter that is full refuses; one that is not stays as it was."""

    async def run() -> None:
        for _ in range(3):
            assert await counts.admit("1", "2030-01-01", {"tries:x": 9}, 0.0, rules(), {"visitor:x": 1}) is None
        assert await counts.admit("2", "2030-01-01", {"visitor:x": 1}, 0.0, rules()) is None
        assert await counts.admit("3", "2030-01-01", {"tries:x": 4}, 0.0, rules(), {"visitor:x": 1}) == "visitor:x"
        assert await counts.admit("4", "2030-01-01", {"tries:x": 4}, 0.0, rules()) is None
        assert await counts.admit("5", "2030-01-01", {"tries:x": 4}, 0.0, rules()) == "tries:x"

    asyncio.run(run())


def test_a_form_that_comes_twice_starts_one_debate(moderation: str) -> None:
    """A form that comes again while its topic is looked at, and later, leads to the debate that it began. Another
    topic, and the same form of another visitor, begin others."""
    with visiting_public(rules(moderation=moderation)) as visitor, ThreadPoolExecutor(2) as clicks:
        import patient

        (form_key,) = re.findall(r'name="form_key" value="(\w{32})"', visitor.get("/").text)
        form = {**TOPIC, "topic": "Is slow good?", "form_key": form_key}
        twice = [clicks.submit(visitor.start, form)]
        while not patient.asked:
            assert not twice[0].done()
        twice.append(clicks.submit(visitor.start, form))
        Path("decided").touch()
        addresses = {click.result().headers["location"] for click in twice}
        assert len(addresses) == 1 and visitor.start(form).headers["location"] in addresses and begun() == 1
        assert visitor.start({**form, "topic": "Is another good?"}).headers["location"] not in addresses
        visitor.client.cookies.clear()
        assert visitor.start(form).headers["location"] not in addresses and begun() == 3


def test_a_form_that_was_refused_may_come_again(moderation: str) -> None:
    """What failed is not what the same form leads to later."""
    with visiting_public(rules(moderation=moderation)) as visitor:
        form = {**TOPIC, "form_key": "f" * 32}
        Path("broken").touch()
        assert visitor.start(form).status_code == 503 and begun() == 0
        Path("broken").unlink()
        assert visitor.start(form).status_code == 303 and begun() == 1


@pytest.mark.parametrize("spent", [float("nan"), float("-inf"), float("inf")])
def test_a_sum_that_is_no_number_is_never_enough(spent: float) -> None:
    """Where the costs so far are not known, no debate that costs anything begins."""
    caps = SiteRules(max_cost_per_day=1.0)
    counted = MemoryCounts({"earlier": ("2026-11-01", spent)})

    assert asyncio.run(counted.admit("paid", "2026-11-01", {}, 0.1, caps)) == DAY_COST
    assert asyncio.run(counted.admit("free", "2026-11-01", {}, 0.0, caps)) is None


REQUEST = {"topic": "Is slow good?", "positions": {}, "offer": "x"}


@pytest.mark.slow
def test_those_who_wait_for_the_moderator_are_few(moderation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more from another network is told when to come back, and takes no place of the queue."""
    monkeypatch.setattr(site_module, "_MAX_STARTING", 6)

    async def run() -> None:
        site = Site(rules(moderation=moderation), MemoryCounts(), list[str]().append)

        async def start(n: int) -> str:
            return await site.start({**TOPIC, "topic": "Is slow good?"}, f"198.51.100.{n}")

        waiting = [asyncio.ensure_future(start(n)) for n in range(6)]
        await asyncio.sleep(0.05)
        with pytest.raises(FormError) as refused:
            await start(6)
        assert refused.value.status == 503 and refused.value.retry_after
        Path("decided").touch()
        assert len(await asyncio.gather(*waiting)) == 6
        assert await start(6)
        await site.shutdown()

    asyncio.run(run())


def test_the_wait_for_the_moderator_counts(moderation: str) -> None:
    """Of many topics that it does not decide, each has its answer once the time for one is over."""

    async def run() -> None:
        screener = TopicScreener(moderation)
        asked = [screener.reason(REQUEST) for _ in range(20)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert {str(answer) for answer in answers} == {"moderation: no answer within 20 s."}
        assert leaped() == pytest.approx(moderation_module.MODERATION_SECONDS, abs=1)

    with asyncio.Runner(loop_factory=Leap) as runner:
        runner.run(run())


def posted(app: Any, n: int, gone: asyncio.Event, form_key: str = "") -> asyncio.Task[None]:
    """A form of the visitor with that number, whose browser stays until it is `gone`."""
    cookie = "A" * 43
    body = [f"form_token={form_token(cookie)}&topic=Is+slow+{n}+good%3F&rounds=1&form_key={form_key}".encode()]
    headers = {
        "host": HOST,
        "origin": f"https://{HOST}",
        "content-type": "application/x-www-form-urlencoded",
        "cookie": f"__Host-debate_visitor={cookie}",
        "x-forwarded-proto": "https",
        "x-forwarded-for": f"198.51.100.{n}",
    }
    scope = {"type": "http", "method": "POST", "path": "/start", "raw_path": b"/start", "query_string": b""}
    scope |= {"headers": [(name.encode(), value.encode()) for name, value in headers.items()], "root_path": ""}

    async def receive() -> Any:
        if body:
            return {"type": "http.request", "body": body.pop(), "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    return asyncio.ensure_future(app(scope, receive, send))


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


def test_a_form_whose_browser_has_gone_is_dropped_before_its_topic_is_looked_at(moderation: str) -> None:
    """Topics that are looked at already are looked at to the end, and their debates begin."""

    async def run() -> None:
        import patient

        site, gone = Site(rules(moderation=moderation), MemoryCounts(), list[str]().append), asyncio.Event()
        app = create_app(site, [HOST])
        forms = [posted(app, n, gone) for n in range(12)]
        await until(lambda: len(site._starting) == 12 and len(patient.asked) == 4)
        gone.set()
        await asyncio.wait(forms, timeout=60)
        await until(lambda: len(site._starting) == 4)
        Path("decided").touch()
        await until(lambda: not site._starting)
        assert len(patient.asked) == 4 == begun()
        await site.shutdown()

    asyncio.run(run())


def test_a_repeated_form_waits_a_few_times() -> None:
    """One more is refused; what the form began goes on, and is dropped only when none waits for it."""
    dropped: list[object] = []

    async def run() -> None:
        forms, gate = RepeatedForms(dropped.append), asyncio.Event()

        async def begin() -> str:
            await gate.wait()
            return "begun"

        waiting = [asyncio.ensure_future(forms.begin("key", begin)) for _ in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(HTTPException, match="sent 5 times"):
            await forms.begin("key", begin)
        for one in waiting[1:]:
            one.cancel()
        await asyncio.gather(*waiting[1:], return_exceptions=True)
        assert not dropped
        gate.set()
        assert await waiting[0] == "begun" == await forms.begin("key", begin)
        gate.clear()
        alone = asyncio.ensure_future(forms.begin("other key", begin))
        await asyncio.sleep(0)
        alone.cancel()
        await asyncio.gather(alone, return_exceptions=True)
        assert len(dropped) == 1
        gate.set()

    asyncio.run(run())


def test_the_forms_of_a_visitor_are_counted() -> None:
    """So are those of a link. What a visitor only reads is not."""
    scope = {"type": "http", "path": "/start", "headers": [(b"x-forwarded-for", b"198.51.100.1")]}
    admit, headers = RequestLimiter().admit, {"origin": f"https://{HOST}"}
    form = admit({**scope, "method": "POST"}, headers)
    assert form.counted_by and form.may_be_dropped
    assert not admit({**scope, "method": "GET"}, headers).counted_by


def test_those_who_read_keep_their_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms from many networks take half of the connections at most; one more is told when to come back."""
    monkeypatch.setattr(guard, "bounds", lambda: Bounds(8, 2, 4, 1))

    async def app(*asgi: Any) -> None:
        raise AssertionError

    guarded = Guard(app, hosts=[], admit=lambda scope, headers: RequestLimit(0))
    with ExitStack() as forms:
        for n in range(4):
            forms.enter_context(guarded._counted(f"visitor {n}", is_form=True))
        with pytest.raises(HttpError) as refused:
            forms.enter_context(guarded._counted("another", is_form=True))
        assert refused.value.status == 503 and refused.value.retry_after
        forms.enter_context(guarded._counted("another", is_form=False))
    forms.enter_context(guarded._counted("another", is_form=True))


def test_all_that_a_moderator_prints_is_read(here: Path) -> None:
    """Its reason may come in pieces, and more than a pipe holds may follow it."""
    program = here / "moderate.py"
    program.write_text(
        "import sys, time\n"
        "for piece in ('No ', 'politics', ' here.\\n'):\n"
        "    print(piece, end='', flush=True)\n"
        "    time.sleep(0.05)\n"
        "print('x' * 1_000_000)\n"
        "sys.exit(1)\n",
        encoding="utf-8",
    )
    screener = TopicScreener(f"{sys.executable} {program}")
    assert asyncio.run(screener.reason(REQUEST)) == "No politics here."


def test_a_moderator_that_prints_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up in time, though what it prints has no end."""
    monkeypatch.setattr(moderation_module, "MODERATION_SECONDS", 0.5)
    with pytest.raises(ModerationFailed, match="no answer within"):
        asyncio.run(TopicScreener("yes").reason(REQUEST))


def test_what_a_moderator_leaves_running_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that has its standard output is waited for a little, and ended."""
    monkeypatch.setattr(moderation_module, "GRACE", 0.05)
    screener = TopicScreener("sh -c 'echo No gossip.; sleep 600 & exit 1'")
    assert asyncio.run(screener.reason(REQUEST)) == "No gossip."


HANGING = """\
import threading
gate = threading.Event()
calls = []
def check(request):
    calls.append(1)
    gate.wait(60)
"""


def test_a_function_that_hangs_holds_up_no_debate(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has threads of its own. Once as many as there may be hang, it is not called, and the owner is told; when they
    have returned, it is called again."""
    (here / "hanging.py").write_text(HANGING, encoding="utf-8")
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setattr(moderation_module, "MODERATION_SECONDS", 0.05)

    async def run() -> None:
        import hanging

        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        screener = TopicScreener("python:hanging:check")
        for _ in range(4):
            with pytest.raises(ModerationFailed, match="no answer within"):
                await screener.reason(REQUEST)
        async with asyncio.timeout(30):
            assert await asyncio.to_thread(lambda: "free") == "free"
        for _ in range(3):
            with pytest.raises(ModerationFailed, match="4 calls of the function hang"):
                await screener.reason(REQUEST)
        assert len(hanging.calls) == 4
        hung = [thread for thread in threading.enumerate() if thread.name == "background"]
        assert len(hung) == 4 and all(thread.daemon for thread in hung)
        hanging.gate.set()
        await until(lambda: all(call.done() for call in screener._given_up))
        assert await screener.reason(REQUEST) == ""

    asyncio.run(run())


def test_a_failure_is_told_once_in_a_while(here: Path) -> None:
    """However many forms bring it about."""
    with visiting_public(rules(moderation=str(here / "missing"))) as visitor:
        assert [visitor.start().status_code for _ in range(3)] == [503] * 3
        assert len(visitor.log) == 1 and "can't be run" in visitor.log[0]


def test_a_failure_that_quotes_the_topic_is_told_once(moderation: str, here: Path) -> None:
    """What a function's errors say does not tell two failures apart, and another one between them changes nothing."""
    (here / "broken").touch()
    with visiting_public(rules(moderation=moderation)) as visitor:
        for n in range(4):
            (here / "mute").unlink(missing_ok=True) if n % 2 else (here / "mute").touch()
            assert from_address(visitor, f"198.51.100.{n}").start({"topic": f"Is {n} good?"}).status_code == 503
        assert [line.partition("(")[2].partition(":")[0] for line in visitor.log] == ["EOFError", "OSError"]


def test_a_damaged_journal_is_told_once_in_a_while(here: Path) -> None:
    """However often its page is loaded; that of another is told too."""
    for name in ("one", "other"):
        Path(f"{name}.public.journal.jsonl").write_text("{}\n{}\n", encoding="utf-8")
    with visiting_public() as visitor:
        visitor.log.clear()
        assert {visitor.get(f"/d/{name}").status_code for name in ("one", "other") * 3} == {500}
        assert len(visitor.log) == 2


def test_a_busy_executor_holds_up_no_debate(here: Path) -> None:
    """An async function of the owner's may use up the threads of asyncio: debates are shown and saved in others."""
    gate = threading.Event()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        busy = loop.run_in_executor(None, gate.wait, 60)
        site = Site(rules(), MemoryCounts(), list[str]().append)
        try:
            name = await site.start(TOPIC, "198.51.100.1")
            path = site.journal(name)
            assert path is not None
            run = site.runs.running(path)
            assert run is not None
            async with asyncio.timeout(30):
                await run.task
            assert run.current is not None and run.current.state.complete and not busy.done()
        finally:
            gate.set()
            await site.shutdown()
            await busy

    asyncio.run(run())
