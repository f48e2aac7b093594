"""The application of a public site and its pages: the form and the list, one debate as it runs, its report, its card.
There is no dashboard behind it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.errors import DebateError, with_hint
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.web import blocks, card, folder, live, pages
from debate_orchestrator.web.guard import Guard, is_https
from debate_orchestrator.web.pages import form, go_to, html_response, own_page, png
from debate_orchestrator.web.public import renderings, visitors
from debate_orchestrator.web.public.renderings import Rendering, Renderings
from debate_orchestrator.web.public.site import MAX_TOPIC_LENGTH, Site
from debate_orchestrator.web.public.visitors import FormError, Requests

_LISTED = 20
"""Debates that the front page shows."""


class Views:
    """The views of a public site."""

    def __init__(self, site: Site, requests: Requests):
        self._site, self._requests, self._renderings = site, requests, Renderings()

    def close(self) -> None:
        """Makes no more reports and pictures."""
        self._renderings.close()

    async def home(self, request: Request) -> Response:
        """The form of a new debate, and the debates of others."""
        return await self._home(request, {}, None)

    async def start(self, request: Request) -> Response:
        """Starts a debate, or says beside the fields why not and whether to try again."""
        https = is_https(request.scope)
        held = request.cookies.get(visitors.cookie_name(https=https), "")
        if not held:
            hint = "allow cookies for this site, and send the form again"
            return await self._home(
                request, {}, FormError(403, {"": [with_hint("Your browser sent no cookie.", hint)]})
            )
        sent = await form(request, visitors.form_token(held))
        try:
            name = await self._site.start(sent, visitors.address(request.scope))
        except FormError as error:
            return await self._home(request, sent, error)
        return go_to(f"/d/{name}")

    async def _home(self, request: Request, sent: dict[str, str], error: FormError | None) -> Response:
        https, rules = is_https(request.scope), self._site.rules
        held = visitors.form_cookie(request.cookies, https=https)
        response = html_response(
            "public/home.html.j2",
            error.status if error else 200,
            site=rules.title,
            rules=rules,
            most_rounds=max(cast.rounds for cast in rules.casts.values()),
            longest=MAX_TOPIC_LENGTH,
            sent=sent,
            problems=error.problems if error else {},
            form_token=visitors.form_token(held),
            rows=await asyncio.to_thread(self._recent) if rules.listed else [],
            base=_base(request),
        )
        name = visitors.cookie_name(https=https)
        response.set_cookie(name, held, httponly=True, samesite="lax", secure=https, path="/", max_age=7 * 86_400)
        if error and error.retry_after is not None:
            response.headers["retry-after"] = str(error.retry_after)
        return response

    def _recent(self) -> list[tuple[str, str, str]]:
        """The newest debates: name, topic, and what was decided or how far they are."""
        rows = []
        for name in self._site.names()[:_LISTED]:
            if path := self._site.journal(name):
                try:
                    debate = folder.load(path)[1]
                except (DebateError, OSError):
                    continue
                rows.append((name, one_line(debate.opened.settings.topic), self._standing(path, debate)))
        return rows

    def _standing(self, path: str, debate: DebateState) -> str:
        """How far a debate is, or what was decided, in a line."""
        if debate.complete:
            return _result(path, debate)
        if self._site.runs.running(path):
            return "running now"
        return "waiting for its turn" if self._site.queue.place(path) else "not finished"

    # One debate

    def _found(self, request: Request) -> str:
        path = self._site.journal(request.path_params["name"])
        if path is None:
            raise HTTPException(404)
        return path

    async def debate(self, request: Request) -> Response:
        """A debate: as it waits, as it runs, or as it was decided."""
        path, name = self._found(request), request.path_params["name"]
        run = self._site.runs.running(path)
        _, state = await asyncio.to_thread(folder.load, path)
        if run is not None and run.current is not None:
            state = run.current.state
            body = await asyncio.to_thread(_body, state)
        else:
            body = [str(await self._rendering(request, "page", path, lambda: "".join(_body(folder.load(path)[1]))))]
        waits = run is not None or self._site.queue.place(path) > 0
        rules, setup = state.format, state.opened.settings
        described = _result(path, state) if state.complete else "; ".join(setup.positions.values())
        page = html_response(
            "public/debate.html.j2",
            site=self._site.rules.title,
            name=name,
            setup=setup,
            topic=one_line(setup.topic),
            sides={side: rules.name_of(side) for side in rules.sides},
            state=state,
            live=waits and not state.complete,
            reloads=not waits and not state.complete,
            status=self.status(path, state),
            outcome=folder.outcome(state) if state.complete else "",
            described=one_line(described)[:300],
            rehearsal=_is_rehearsal(path),
            body=body,
            base=_base(request),
        )
        return self._of_debate(page)

    def _of_debate(self, response: Response) -> Response:
        """An answer of one debate, which search engines leave out where the owner lists none."""
        if not self._site.rules.listed:
            response.headers["x-robots-tag"] = "noindex"
        return response

    def status(self, path: str, debate: DebateState) -> str:
        """Where a debate stands, as HTML."""
        if run := self._site.runs.running(path):
            return run.status(debate)
        queue = self._site.queue
        place, retry = queue.place(path), queue.retry_seconds(path)
        wait = queue.wait_seconds(place) if place else None
        return pages.render(
            "public/status.html.j2",
            complete=debate.complete,
            place=place,
            wait=visitors.minutes(wait) if wait is not None else "",
            retry=visitors.minutes(retry) if retry is not None else "",
            problems=self._site.runs.problems(path),
            given_up=visitors.given_up() if queue.given_up(path) else "",
        )

    async def stream(self, request: Request) -> Any:
        """What happens in a debate, as it happens; its place while it waits."""
        path = self._found(request)
        visitor = self._requests.mark(request.scope)
        run = self._site.runs.running(path)
        if run is not None:
            return live.EventStream(run.viewers, run.messages_so_far, visitor)
        viewers = self._site.queue.viewers(path)
        if viewers is None:
            return live.EventStream(None, lambda: [live.message("over", {})], visitor)
        _, state = await asyncio.to_thread(folder.load, path)

        def first() -> list[bytes]:
            if self._site.queue.viewers(path) is not viewers:  # it began meanwhile: pages load it
                return [live.message("over", {})]
            return [live.message("status", self.status(path, state))]

        return live.EventStream(viewers, first, visitor)

    async def report(self, request: Request) -> Response:
        """The report."""
        path = self._found(request)
        page = str(await self._rendering(request, "report", path, lambda: renderings.report(path)))
        return self._of_debate(own_page(page))

    async def card(self, request: Request) -> Response:
        """The picture that other sites show beside a link to the debate."""
        path = self._found(request)
        made = await self._rendering(request, "card", path, lambda: _card(path, self._site.rules.title))
        assert isinstance(made, bytes)
        return self._of_debate(png(made))

    async def _rendering(self, request: Request, kind: str, path: str, make: Callable[[], Rendering]) -> Rendering:
        """What is made of a journal as it is now."""
        there, visitor = os.stat(path), self._requests.mark(request.scope)
        return await self._renderings.get((kind, path, there.st_mtime_ns, there.st_size), make, visitor)


def _base(request: Request) -> str:
    """How addresses of this site begin; the guard has checked the host."""
    return f"{'https' if is_https(request.scope) else 'http'}://{request.headers['host']}"


def _is_rehearsal(path: str) -> bool:
    return path.endswith(f".rehearsed{JOURNAL}")


def _result(path: str, debate: DebateState) -> str:
    """What a complete debate came to, where it stands without its page: of a rehearsal only that it is one."""
    return "A rehearsal: no model spoke." if _is_rehearsal(path) else folder.outcome(debate)


def _body(debate: DebateState) -> list[str]:
    return [blocks.rendered(debate, block) for block in blocks.outline(debate)]


def _card(path: str, site: str) -> bytes:
    debate = folder.load(path)[1]
    positions = [
        (debate.format.name_of(side), one_line(debate.opened.settings.positions.get(side, "")))
        for side in debate.format.sides
    ]
    result = _result(path, debate) if debate.complete else "Not decided yet"
    return card.draw(one_line(debate.opened.settings.topic), positions, result, site)


MAX_FORM_SIZE = 20_000
"""Bytes of a visitor's form."""


def create_app(site: Site, hosts: Iterable[str]) -> Guard:
    """The application for the public debates of the working folder. `hosts` are the names under which it is asked for,
    with their ports; the debates of `site` are ended with it."""
    requests = Requests()
    views = Views(site, requests)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        site.go_on()
        yield
        views.close()
        await site.shutdown()

    async def failed(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        title = "Not found" if status == 404 else "This did not work"
        if isinstance(error, HTTPException):
            problems = ["There is no such page. Its debate may have been removed."] if status == 404 else [error.detail]
        else:
            site.log(str(error))
            problems = ["This can't be shown until the owner of this site has looked at it."]
        return html_response("public/error.html.j2", status, site=site.rules.title, title=title, problems=problems)

    routes = [
        Route("/", views.home),
        Route("/start", views.start, methods=["POST"]),
        Route("/static/{name}", pages.static_file),
        Route("/d/{name}", views.debate),
        Route("/d/{name}/stream", views.stream),
        Route("/d/{name}/report", views.report),
        Route("/d/{name}/card.png", views.card),
    ]
    handlers: dict[Any, Any] = {DebateError: failed, HTTPException: failed}
    app = pages.application(routes, lifespan, handlers)
    return Guard(app, hosts=hosts, admit=requests.admit, largest_body=MAX_FORM_SIZE)
