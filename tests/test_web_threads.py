"""Pages are made in threads, so that none holds up the event loop, and with it the debates and all other pages."""

from __future__ import annotations

import asyncio
import re
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import contests
import jinja2
import pytest
from debates import opened_event
from public_site import TOPIC, visiting_public
from starlette.routing import BaseRoute, Mount, Route, compile_path
from starlette.testclient import TestClient
from test_web_blocks import long_journal
from test_web_reviewing import ANSWERS
from test_web_reviewing import JOURNAL as REVIEWED
from test_web_reviewing import begun as review_begun
from test_web_seats import SPEECH, begun, hand_in, state
from test_web_work import EXAMPLE
from web_visitor import HOST, TOKENS, visiting

from debate_orchestrator import read_journal
from debate_orchestrator.engine.debate import create_debate
from debate_orchestrator.engine.user_events import audience_question
from debate_orchestrator.providers import discovery
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.web import runs
from debate_orchestrator.web.guard import LinkedDebate
from debate_orchestrator.web.public.views import create_app as create_app_of
from debate_orchestrator.web.server import create_app

IN_LOOP = " in the event loop"
LINES = ("status.html.j2", "public/status.html.j2")
"""What is rendered in the event loop: where a debate stands, a few lines that its viewers get at each event."""


def leaves(routes: Iterable[BaseRoute], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The method and the pattern of each address of an application; of HEAD nothing, since it does what GET does."""
    for route in routes:
        if isinstance(route, Mount):
            yield from leaves(route.routes, prefix + route.path)
        elif isinstance(route, Route):
            yield from ((method, prefix + route.path) for method in (route.methods or ()) if method != "HEAD")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The templates that are rendered, those in an event loop marked as such."""
    names, real = list[str](), jinja2.Template.render

    def render(template: jinja2.Template, *given: Any, **values: Any) -> str:
        in_loop = asyncio._get_running_loop() is not None
        if str(template.name).endswith(".html.j2"):
            names.append(f"{template.name}{IN_LOOP if in_loop else ''}")
        return real(template, *given, **values)

    monkeypatch.setattr(discovery, "available", lambda *_: [])
    monkeypatch.setattr(jinja2.Template, "render", render)
    return names


def all_visited(wanted: Iterable[tuple[str, str]], asked: list[tuple[str, str]]) -> None:
    """Fails unless every address of a route table was asked for."""
    patterns = {leaf: compile_path(leaf[1])[0] for leaf in wanted}
    found = {
        leaf for leaf, regex in patterns.items() for method, path in asked if method == leaf[0] and regex.match(path)
    }
    assert found == patterns.keys()


def asking(client: TestClient) -> list[tuple[str, str]]:
    """The methods and paths that a client asks for from now on; each answer is none of a failure or of an address that
    leads nowhere."""
    asked, real = list[tuple[str, str]](), client.request

    def request(method: str, url: Any, **options: Any) -> Any:
        answer = real(method, url, **options)
        assert answer.status_code in (200, 303, 422), (method, url, answer.text)
        asked.append((method, unquote(answer.request.url.path)))
        return answer

    client.request = request  # type: ignore[method-assign]
    return asked


def test_no_page_of_this_user_is_made_in_the_event_loop(here: Path, made: list[str]) -> None:
    """Whatever address is asked for, of those that the application has: a list, a debate, a form, a transcript or a
    table may be very long."""
    shutil.copy(EXAMPLE, REVIEWED)
    contests.ran(contests.tournament("held", topics=1))
    Path("held/index.html").write_text("<p>The whole report</p>", encoding="utf-8")
    long_journal(rounds=1)
    with visiting() as visitor:
        asked = asking(visitor.client)
        pages_of_all = ("", "/", "/proof", "/new", "/search?q=tabs", "/tournaments", "/tournaments/held")
        for path in (
            *pages_of_all,
            "/compare?debate=debate-report&debate=debate-report",
            "/debates/debate-report/report",
        ):
            visitor.get(path)
        sent = {"topic": "Is tea good?", "positions.a": "Yes.", "positions.b": "No."}
        for action in ("format", "cost"):
            visitor.send("/new", sent | {"action": action})
        visitor.get("/debates/x")
        visitor.send("/debates/x/judge", {"judges": "command:judge"})
        visitor.get("/debates/x/stream")
        (debate, *_) = re.findall(r'"(/dashboard/[^"]+/held/debates/[^"]+)"', visitor.get("/tournaments/held").text)
        visitor.get(debate)
        page = visitor.get("/tournaments/held/report").headers["location"]
        for path in (page, f"{page}debates/{debate.rpartition('/')[2]}", "/static/page.css"):
            visitor.client.get(path)
        token = TOKENS.review(LinkedDebate("debate-report", read_journal(REVIEWED).entries[0].hash))
        visitor.get(f"/review/debate-report/{token}/proof")
        own = review_begun(visitor, f"/review/debate-report/{token}")
        visitor.get(own)
        visitor.send(own, {"action": "file", **ANSWERS}, token=token)
        visitor.get(own.replace("?", "/report?"))
        address, links = begun(visitor, **{"cast.b": "human"})
        (seat,) = links.values()
        for path in ("", "/proof"):
            visitor.get(f"{seat}{path}")
        while not state().complete:
            if ": your turn" in visitor.text(seat):
                hand_in(visitor, seat, text=SPEECH)
        visitor.until(address, "Complete")
        for path in ("", "/stream", "/report"):
            visitor.get(f"{seat}{path}")
        all_visited(leaves(create_app(TOKENS, [HOST])._app.routes), asked)  # type: ignore[attr-defined]
    assert {name for name in made if name.endswith(IN_LOOP)} <= {f"{line}{IN_LOOP}" for line in LINES} and made


def test_no_page_of_a_public_site_is_made_in_the_event_loop(here: Path, made: list[str]) -> None:
    """Nor are its front page, which shows what a stranger sent, and the picture of a debate."""
    with visiting_public() as visitor:
        asked = asking(visitor.client)
        visitor.start({**TOPIC, "topic": ""})
        debate = visitor.started()
        visitor.until(debate, "Complete")
        for path in ("/", "/static/page.css", *(f"{debate}{part}" for part in ("/stream", "/report", "/card.png"))):
            visitor.get(path)
        all_visited(leaves(create_app_of(visitor.site, [HOST])._app.routes), asked)  # type: ignore[attr-defined]
    assert {name for name in made if name.endswith(IN_LOOP)} <= {f"{line}{IN_LOOP}" for line in LINES} and made


def test_a_journal_that_is_opened_holds_up_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be long, and a thread reads it; a question from the floor that comes meanwhile waits, and is taken."""
    cast = {"a": ("human",), "b": ("human",), "judge": ("rehearse",)}
    create_debate(opened_event(cast=cast), DebateFiles.of_journal("x.journal.jsonl")).journal.close()
    begun_, gate, real = threading.Event(), threading.Event(), runs.continue_debate

    def slow(*given: Any) -> Any:
        begun_.set()
        assert gate.wait(60)
        return real(*given)

    async def asked() -> None:
        served = runs.Runs(remember=False)
        run = served.start("x.journal.jsonl", runs.consent_already_given)
        async with asyncio.timeout(60):
            while not begun_.is_set():
                await asyncio.sleep(0.01)
            question = asyncio.ensure_future(served.record(run.path, lambda debate: audience_question(debate, "Why?")))
            await asyncio.sleep(0.05)
            assert not question.done() and run.open_debate is None
            gate.set()
            await question
            assert run.current is not None and [one.question for one in run.current.state.questions] == ["Why?"]
            await served.shutdown()

    monkeypatch.setattr(runs, "continue_debate", slow)
    watchdog = threading.Timer(30, gate.set)  # an event loop that is held up could not set it
    watchdog.start()
    try:
        asyncio.run(asked())
    finally:
        watchdog.cancel()


def test_a_server_that_ends_while_a_journal_is_opened_lets_it_go(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end waits for the thread, calls no seat, and the next server gets the journal."""
    cast = {"a": ("rehearse",), "b": ("rehearse",), "judge": ("rehearse",)}
    create_debate(opened_event(cast=cast), DebateFiles.of_journal("x.journal.jsonl")).journal.close()
    begun_, gate, real = threading.Event(), threading.Event(), runs.continue_debate

    def slow(*given: Any) -> Any:
        begun_.set()
        assert gate.wait(60)
        return real(*given)

    async def ended() -> None:
        served = runs.Runs(remember=False)
        served.start("x.journal.jsonl", runs.consent_already_given)
        async with asyncio.timeout(60):
            while not begun_.is_set():
                await asyncio.sleep(0.01)
            ending = asyncio.ensure_future(served.shutdown())
            await asyncio.sleep(0.5)  # until its task is cancelled
            assert not ending.done()
            gate.set()
            await ending

    monkeypatch.setattr(runs, "continue_debate", slow)
    asyncio.run(ended())
    assert len(read_journal("x.journal.jsonl").events) == 1
    real("x.journal.jsonl", runs.consent_already_given).journal.close()
