"""Forms: what is read of one, when, and how many of one link are held in memory."""

from __future__ import annotations

import asyncio
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from leap import Leap
from public_site import rules
from test_web_dashboard import visitor  # noqa: F401
from test_web_seats import begun, state, turn_of
from web_visitor import HOST, PATIENCE, TOKENS, Visitor

from debate_orchestrator import read_journal
from debate_orchestrator.util import resources
from debate_orchestrator.web import guard, sent_form, server
from debate_orchestrator.web.guard import LinkedDebate
from debate_orchestrator.web.public.limits import MemoryCounts
from debate_orchestrator.web.public.site import Site
from debate_orchestrator.web.public.views import create_app as public_app
from debate_orchestrator.web.server import create_app

JOURNAL = "debate-report.journal.jsonl"
FORM = "application/x-www-form-urlencoded"


def review_link() -> str:
    """The link of a review of a finished debate, which is put into the working folder."""
    shutil.copy(resources.folder("examples") / "friday-deploys" / JOURNAL, JOURNAL)
    return (
        f"/review/debate-report/{TOKENS.review(LinkedDebate('debate-report', read_journal(JOURNAL).entries[0].hash))}"
    )


def in_parts(fields: dict[str, str], boundary: str = "----WebKitFormBoundaryAaB03x") -> tuple[bytes, str]:
    """A form as browsers send one in parts, and its type."""
    heads = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n' for name in fields]
    sent = "".join(f"{head}{value}\r\n" for head, value in zip(heads, fields.values(), strict=True))
    return f"{sent}--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


@pytest.mark.slow
def test_the_longest_reply_is_taken_in_every_script(visitor: Visitor) -> None:  # noqa: F811
    """The form of a seat sends a character as its UTF-8, so that the limit of a speech is the only one that counts."""
    _, links = begun(visitor, **{"cast.a": "human"})
    (link,) = links.values()
    turn, page = turn_of(visitor, link), visitor.get(link).text
    assert re.search(r'<form method="post" enctype="multipart/form-data"[^>]* data-draft', page)
    speech = ("討論" * 50 + "。\r\n") * 400
    token = link.rpartition("/")[2]
    body, kind = in_parts({"form_token": token, "turn": turn, "text": speech, "sure": "yes"})

    answer = visitor.client.post(link, content=body, headers={"content-type": kind}, follow_redirects=False)

    assert answer.status_code == 303, answer.text[:300]
    assert state().replies[turn].reply.text.strip() == speech.replace("\r\n", "\n").strip()


@pytest.mark.parametrize("damage", [b"", b"x", b"\r\n--"])
def test_a_form_in_parts_that_is_cut_off_is_refused(visitor: Visitor, damage: bytes) -> None:  # noqa: F811
    """Nothing counts of it: the end of what was typed may be missing."""
    body, kind = in_parts({"form_token": TOKENS.form, "topic": "Is this whole?", "action": "start"})
    cut = body[: body.index(b"start")] + damage
    answer = visitor.client.post(visitor.at("/new"), content=cut, headers={"content-type": kind})
    assert answer.status_code == 400 and list(Path().iterdir()) == []


@pytest.mark.parametrize("in_pieces", [True, False])
def test_the_token_comes_first(visitor: Visitor, monkeypatch: pytest.MonkeyPatch, in_pieces: bool) -> None:  # noqa: F811
    """Nothing is decoded of a form without the token of its page."""
    monkeypatch.setattr(sent_form, "_fields", lambda *_, **__: pytest.fail("it was decoded"))
    body, kind = in_parts({"form_token": "0" * 40, "topic": "x"}) if in_pieces else (b"topic=%41&form_token=0", FORM)
    assert visitor.client.post(visitor.at("/new"), content=body, headers={"content-type": kind}).status_code == 403


def test_a_form_is_decoded_beside_the_server(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Other pages are served while one is decoded, and of a ballot only the fields that its page has."""
    link, seen = review_link(), list[Any]()
    token = link.rpartition("/")[2]
    real = server.Reviews._begin

    def begin(self: Any, request: Any, case: Any, sent: dict[str, str]) -> Any:
        seen.append((sent, threading.current_thread()))
        return real(self, request, case, sent)

    decoding = list[threading.Thread]()
    decode = sent_form._fields
    monkeypatch.setattr(server.Reviews, "_begin", begin)
    monkeypatch.setattr(
        sent_form,
        "_fields",
        lambda *given, **named: (decoding.append(threading.current_thread()), decode(*given, **named))[1],
    )
    sent = {
        "action": "begin",
        "reviewer": "ad%61",
        "seen": "no",
        "before": "a",
        "junk": "x",
        f"field/{'1/' * 200}": "x",
    }
    assert visitor.send(link, {**sent, "field/why": "a+b"}, token=token).status_code == 303

    assert seen[0][0] == {**{name: sent[name] for name in ("action", "reviewer", "seen", "before")}, "field/why": "a+b"}
    assert decoding[0].name.startswith("visitors")


def test_a_ballot_has_a_small_form(visitor: Visitor) -> None:  # noqa: F811
    """A reviewer writes a sentence, so a form of megabytes is refused before it is read."""
    answer = visitor.client.post(review_link(), content=b"x" * 200_000, headers={"content-type": FORM})
    assert answer.status_code == 413


class Sending:
    """A form that a browser sends to an application, in its own time."""

    def __init__(self, app: Any, path: str, host: str = HOST):
        self.come: asyncio.Queue[tuple[bytes, bool]] = asyncio.Queue()
        self._sent: list[Any] = []
        head = {"host": host, "content-type": FORM, "sec-fetch-site": "same-origin"}
        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
        scope |= {"headers": [(name.encode(), value.encode()) for name, value in head.items()], "root_path": ""}
        self.answered = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        body, more = await self.come.get()
        return {"type": "http.request", "body": body, "more_body": more}

    async def _send(self, message: Any) -> None:
        self._sent.append(message)

    def part(self, *, more: bool) -> None:
        """Sends a part of it, and the last unless there are `more`."""
        self.come.put_nowait((b"form_token=0", more))

    async def status(self) -> int:
        async with asyncio.timeout(PATIENCE):
            await self.answered
        return int(self._sent[0]["status"])


async def heard() -> None:
    """Lets every task of the loop go on as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_one_link_has_few_forms_at_once() -> None:
    """With so many that came whole, one more is refused unread; once they are answered, the link takes forms again."""

    async def run() -> None:
        answer = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await answer.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        guarded = guard.Guard(app, hosts=[HOST], admit=lambda scope, headers: guard.RequestLimit(100, "/link"))
        held = [Sending(guarded, "/link") for _ in range(guard.MAX_FORMS)]
        for form in held:
            form.part(more=False)
        await heard()
        late = Sending(guarded, "/link")
        late.part(more=False)
        assert await late.status() == 429 and late.come.qsize() == 1
        answer.set()
        assert [await form.status() for form in held] == [200] * guard.MAX_FORMS
        again = Sending(guarded, "/link")
        again.part(more=False)
        assert await again.status() == 200

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["dashboard", "review", "seat", "public site"])
def test_forms_that_never_end_keep_no_other_out(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """However many of one sender are held, a form that comes whole is answered. The one that is furthest behind ends
    for it, and no more of them than a sender has places are kept."""
    monkeypatch.setattr(guard, "_PACE", 0)  # how far they are apart in time is up to this machine
    link = review_link()
    seat = TOKENS.seat(LinkedDebate("debate-report", read_journal(JOURNAL).entries[0].hash), "a")
    paths = {"dashboard": f"/dashboard/{TOKENS.dashboard}/new", "review": link, "seat": f"/seat/debate-report/a/{seat}"}
    refused = 404 if kind == "seat" else 403  # by the view: no person has that seat, and the form has another token

    async def run() -> None:
        site = Site(rules(), MemoryCounts(), list[str]().append)
        app = public_app(site, [HOST]) if kind == "public site" else create_app(TOKENS, [HOST])
        path = paths.get(kind, "/start")
        held = [Sending(app, path) for _ in range(guard.MAX_FORMS)]
        await heard()
        held[0].part(more=True)
        await heard()
        for over in (held[1], held[2]):
            honest = Sending(app, path)
            honest.part(more=False)
            assert await honest.status() == refused
            assert await over.status() == 408
            held.append(Sending(app, path))
            await heard()
        waiting = [form for form in held if not form.answered.done()]
        assert len(waiting) == guard.MAX_FORMS and held[0] in waiting
        held[0].part(more=False)
        assert await held[0].status() == refused
        for form in waiting:
            form.answered.cancel()
        await site.shutdown()

    asyncio.run(run())


def test_a_form_that_comes_steadily_is_not_ended_for_drips(here: Path) -> None:
    """Forty forms of one link that send a byte at a time, and begin again when they are ended, keep out none that comes
    faster, though each of them has sent something more lately."""
    link = review_link()

    async def run() -> None:
        app = create_app(TOKENS, [HOST])
        drips: list[Sending] = []

        async def drip() -> None:
            drips[:] = [form for form in drips if not form.answered.done()]
            drips.extend(Sending(app, link) for _ in range(40 - len(drips)))
            await heard()
            for form in drips:
                form.come.put_nowait((b"a", True))
            await asyncio.sleep(0.1)

        for _ in range(5):
            await drip()
        honest = Sending(app, link)
        for _ in range(4):
            honest.come.put_nowait((b"a" * 20_000, True))
            await heard()
            await drip()
        honest.part(more=False)
        assert await honest.status() == 403  # by the view: the form has another token
        for form in drips:
            form.answered.cancel()

    with asyncio.Runner(loop_factory=Leap) as runner:
        runner.run(run())
