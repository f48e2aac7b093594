"""The application of a public site and its pages: the form and the list, one debate as it runs, its report, its card.
There is no dashboard behind it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.errors import DebateError, with_hint
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.web import blocks, card, folder, live, pages
from debate_orchestrator.web.cache import Key
from debate_orchestrator.web.guard import Guard, is_https
from debate_orchestrator.web.pages import go_to, html_response, png, standalone_page
from debate_orchestrator.web.public import visitors
from debate_orchestrator.web.public.report import report_html
from debate_orchestrator.web.public.site import MAX_TOPIC_LENGTH, Site
from debate_orchestrator.web.public.visitors import FormError, RequestLimiter, not_started
from debate_orchestrator.web.renderings import Renderings
from debate_orchestrator.web.runs import Run
from debate_orchestrator.web.sent_form import form

_LISTED = 20
"""Debates that the front page shows."""
_GIVEN_UP = "It was tried several times, and is not tried again by itself.", "start the debate again later"
"""What a visitor is told of a debate that was interrupted and has used up its tries, and what to try."""


class PageState(NamedTuple):
    """Where a debate stands beside what its journal says, as far as its page shows that."""

    run: Run | None
    stopping: bool
    place: int
    """In the queue; 0 where it does not wait."""
    wait: str
    retry: str
    """How long, in words; empty where that is not known or it is not tried again."""
    problems: tuple[str, ...]
    given_up: str
    """What to try where it is not tried again by itself; empty otherwise."""


class Views:
    """The views of a public site."""

    def __init__(self, site: Site, limiter: RequestLimiter, renderings: Renderings):
        self._site, self._limiter, self._renderings = site, limiter, renderings

    async def home(self, request: Request) -> Response:
        """The form of a new debate, and the debates of others."""
        return await self._home(request, {}, None)

    async def start(self, request: Request) -> Response:
        """Starts a debate, or says beside the fields why not and whether to try again."""
        held = visitors.held_cookie(request.scope)
        if not held:
            hint = "allow cookies for this site, and send the form again"
            return await self._home(request, {}, not_started(403, "Your browser sent no cookie.", hint))
        visitor, address = self._limiter.pseudonym(request.scope), visitors.address(request.scope)
        work = partial(self._renderings.run, requester=visitor)
        sent = await form(request, visitors.form_token(held), work)
        form_key = sent.pop("form_key", "")
        try:
            name = await self._site.runs.forms.begin(form_key, lambda: self._site.start(sent, address), held, sent)
        except FormError as error:
            return await self._home(request, sent, error)
        return go_to(f"/d/{name}")

    async def _home(self, request: Request, sent: dict[str, str], error: FormError | None) -> Response:
        https, rules, visitor = is_https(request.scope), self._site.rules, self._limiter.pseudonym(request.scope)
        rows = await self._renderings.shared("recent", self._recent, visitor) if rules.listed else []
        held = visitors.held_cookie(request.scope) or secrets.token_urlsafe(32)
        values = {
            "site": rules.title,
            "rules": rules,
            "most_rounds": max(offer.rounds for offer in rules.offers.values()),
            "longest": MAX_TOPIC_LENGTH,
            "sent": sent,
            "problems": error.problems if error else {},
            "form_token": visitors.form_token(held),
            "form_key": secrets.token_hex(16),
            "rows": rows,
            "base": _base(request),
        }
        status = error.status if error else 200
        response = await self._renderings.run(lambda: html_response("public/home.html.j2", status, **values), visitor)
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
                    debate = folder.row(path.removesuffix(JOURNAL))
                except (DebateError, OSError):
                    continue
                rows.append((name, debate.topic, self._told(path, debate)))
        return rows

    def _told(self, path: str, debate: folder.Listed) -> str:
        """How far a debate is, or what was decided, in a line."""
        if debate.complete:
            return _result(path, debate.outcome)
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
        """A debate: as it waits, as it runs, or as it was decided. Its page is made once for all who ask, until it
        changes."""
        path, base = self._found(request), _base(request)
        page_state = self._page_state(path)
        run = page_state.run if page_state.run and page_state.run.current else None
        running = (run.current.state, run.blocks_html()) if run and run.current else None
        version: Key = run.version if run else folder.version(path)

        def page() -> str:
            debate, body = running or _as_written(path)
            return self._page(request.path_params["name"], path, debate, page_state, body(), base)

        key = ("page", version, repr(page_state._replace(run=None)), page_state.run is not None, base)
        html = await self._renderings.get(key, page, self._limiter.pseudonym(request.scope))
        return self._of_debate(HTMLResponse(html))

    def _page(self, name: str, path: str, debate: DebateState, page_state: PageState, body: str, base: str) -> str:
        """The page of a debate as HTML."""
        waits = page_state.run is not None or page_state.place > 0
        format, setup = debate.format, debate.opened.settings
        outcome = folder.outcome(debate) if debate.complete else ""
        described = _result(path, outcome) if debate.complete else "; ".join(setup.positions.values())
        return pages.render(
            "public/debate.html.j2",
            site=self._site.rules.title,
            name=name,
            setup=setup,
            topic=one_line(setup.topic),
            sides={side: format.name_of(side) for side in format.sides},
            state=debate,
            live=waits and not debate.complete,
            reloads=not waits and not debate.complete and not page_state.given_up,
            status=page_state.run.status(debate) if page_state.run else _status(page_state, complete=debate.complete),
            outcome=outcome,
            described=one_line(described)[:300],
            rehearsal=_is_rehearsal(path),
            body=body,
            base=base,
        )

    def _of_debate(self, response: Response) -> Response:
        """An answer of one debate, which search engines leave out where the owner lists none."""
        if not self._site.rules.listed:
            response.headers["x-robots-tag"] = "noindex"
        return response

    def _page_state(self, path: str) -> PageState:
        run, queue = self._site.runs.running(path), self._site.queue
        place, retry = queue.place(path), queue.retry_seconds(path)
        wait = queue.wait_seconds(place) if place else None
        return PageState(
            run=run,
            stopping=run is not None and run.stopping,
            place=place,
            wait=visitors.minutes(wait) if wait is not None else "",
            retry=visitors.minutes(retry) if retry is not None else "",
            problems=tuple(self._site.runs.problems(path)),
            given_up=with_hint(*_GIVEN_UP) if queue.given_up(path) else "",
        )

    async def stream(self, request: Request) -> Any:
        """What happens in a debate, as it happens; its place while it waits."""
        path = self._found(request)
        visitor = self._limiter.pseudonym(request.scope)
        run = self._site.runs.running(path)
        if run is not None:
            return live.EventStream(run.viewers, run.messages_so_far, visitor)
        viewers = self._site.queue.viewers(path)
        if viewers is None:
            return live.EventStream(None, lambda: [live.message("over", {})], visitor)

        def first() -> list[bytes]:
            if self._site.queue.viewers(path) is not viewers:  # it began meanwhile: pages load it
                return [live.message("over", {})]
            return [live.message("status", _status(self._page_state(path), complete=False))]

        return live.EventStream(viewers, first, visitor)

    async def report(self, request: Request) -> Response:
        """The report."""
        path, visitor = self._found(request), self._limiter.pseudonym(request.scope)
        key = ("report", folder.version(path))
        return self._of_debate(standalone_page(await self._renderings.get(key, lambda: report_html(path), visitor)))

    async def card(self, request: Request) -> Response:
        """The picture that other sites show beside a link to the debate."""
        path, visitor = self._found(request), self._limiter.pseudonym(request.scope)
        key = ("card", folder.version(path))
        return self._of_debate(
            png(await self._renderings.get(key, lambda: _card(path, self._site.rules.title), visitor))
        )


def _as_written(path: str) -> tuple[DebateState, Callable[[], str]]:
    """A debate that does not run, and what makes its blocks."""
    debate = folder.load(path)[1]
    return debate, partial(blocks.all_rendered, debate)


def _status(page_state: PageState, *, complete: bool) -> str:
    """Where a debate that does not run stands, as HTML."""
    return pages.render("public/status.html.j2", complete=complete, **page_state._asdict())


def _base(request: Request) -> str:
    """How addresses of this site begin; the guard has checked the host."""
    return f"{'https' if is_https(request.scope) else 'http'}://{request.headers['host']}"


def _is_rehearsal(path: str) -> bool:
    return path.endswith(f".rehearsed{JOURNAL}")


def _result(path: str, outcome: str) -> str:
    """What a complete debate came to, where it stands without its page: of a rehearsal only that it is one."""
    return "A rehearsal: no model spoke." if _is_rehearsal(path) else outcome


def _card(path: str, site: str) -> bytes:
    debate = folder.load(path)[1]
    positions = [
        (debate.format.name_of(side), one_line(debate.opened.settings.positions.get(side, "")))
        for side in debate.format.sides
    ]
    result = _result(path, folder.outcome(debate)) if debate.complete else "Not decided yet"
    return card.draw(one_line(debate.opened.settings.topic), positions, result, site)


def create_app(site: Site, hosts: Iterable[str]) -> Guard:
    """The application for the public debates of the working folder. `hosts` are the names under which it is asked for,
    with their ports; the debates of `site` are ended with it."""
    limiter, renderings = RequestLimiter(), Renderings()
    views = Views(site, limiter, renderings)

    async def end() -> None:
        renderings.close()
        await site.shutdown()
        await renderings.ended()

    async def failed(request: Request, error: DebateError | HTTPException) -> Response:
        status, title = 500, "This did not work"
        problem = "This can't be shown until the owner of this site has looked at it."
        if isinstance(error, DebateError):
            site.tell(error)
        elif error.status_code == 404:
            status, title, problem = 404, "Not found", "There is no such page. Its debate may have been removed."
        else:
            status, problem = error.status_code, error.detail
        return html_response("public/error.html.j2", status, site=site.rules.title, title=title, problems=[problem])

    routes = [
        Route("/", views.home),
        Route("/start", views.start, methods=["POST"]),
        Route("/static/{name}", pages.static_file),
        Route("/d/{name}", views.debate),
        Route("/d/{name}/stream", views.stream),
        Route("/d/{name}/report", views.report),
        Route("/d/{name}/card.png", views.card),
    ]
    app = pages.application(routes, failed, site.go_on, end)
    return Guard(app, hosts=hosts, admit=limiter.admit)
