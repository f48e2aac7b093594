"""The web application: which address is answered by which view, behind the guard."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from debate_orchestrator.util.errors import BadFile, DebateError
from debate_orchestrator.web import pages, tournaments
from debate_orchestrator.web.desk import Desk
from debate_orchestrator.web.guard import DESK, Guard, Tokens, desk_alone, desk_of
from debate_orchestrator.web.pages import html_response
from debate_orchestrator.web.reviewing import Reviews
from debate_orchestrator.web.runs import Runs
from debate_orchestrator.web.seats import Seats

NOT_DONE = "This did not work"


def create_app(tokens: Tokens, hosts: Iterable[str], runs: Runs | None = None) -> Guard:
    """The application for the debates of the working folder. `hosts` are the names under which it is asked for, with
    their ports; `runs` are ended with it."""
    runs = runs or Runs()
    desk, seats, reviews = Desk(tokens, runs), Seats(tokens, runs), Reviews(tokens)
    report_pages = tournaments.ReportPages(tokens)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        runs.go_on()
        yield
        await runs.shutdown()

    of_desk = [
        Route("/", desk.debates),
        Route("/new", desk.new, methods=["GET", "POST"]),
        Route("/search", desk.search),
        Route("/compare", desk.compare),
        Route("/tournaments", tournaments.listed),
        Route("/tournaments/{name}", tournaments.tournament),
        Route("/tournaments/{name}/report", report_pages.lead),
        Route("/tournaments/{name}/debates/{debate}", tournaments.debate),
        Route("/debates/{name}", desk.debate),
        Route("/debates/{name}/stream", desk.stream),
        Route("/debates/{name}/report", desk.report),
        Route("/debates/{name}/{action}", desk.act, methods=["POST"]),
    ]
    routes = [
        Mount(f"{DESK}{{key}}", routes=of_desk),
        Route("/static/{name}", static),
        Route("/review/{name}/{token}", reviews.review, methods=["GET", "POST"]),
        Route("/review/{name}/{token}/report", reviews.report),
        Route("/tournament/{name}/{token}/", report_pages.page),
        Route("/tournament/{name}/{token}/debates/{debate}", report_pages.debate),
        Route("/seat/{name}/{seat}/{token}", seats.seat, methods=["GET", "POST"]),
        Route("/seat/{name}/{seat}/{token}/stream", seats.stream),
        Route("/seat/{name}/{seat}/{token}/report", seats.report),
    ]
    handlers: dict[Any, Any] = {DebateError: failed, HTTPException: not_found}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return Guard(app, hosts=hosts, admit=desk_alone(tokens))


async def static(request: Request) -> Response:
    """A file that pages load."""
    name = request.path_params["name"]
    if name not in pages.STATIC:
        raise HTTPException(404)
    headers = {"cache-control": "max-age=300"}
    return Response(pages.static(name), media_type=pages.STATIC[name], headers=headers)


async def failed(request: Request, error: DebateError) -> Response:
    """The page of an error that a view did not show beside a field."""
    status = 404 if isinstance(error, BadFile) else 409
    desk = desk_of(request.url.path)
    return html_response("error.html.j2", status, desk=desk, title=NOT_DONE, complaints=error.complaints)


async def not_found(request: Request, error: HTTPException) -> Response:
    """The page of an address that leads nowhere, or of a request that is refused."""
    missing = error.status_code == 404
    title, complaints = ("Not found", ["There is no such page."]) if missing else (NOT_DONE, [str(error.detail)])
    desk = desk_of(request.url.path)
    return html_response("error.html.j2", error.status_code, desk=desk, title=title, complaints=complaints)
