"""The application of a public site: which address is answered by which view. There is no desk behind it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from debate_orchestrator.util.errors import DebateError
from debate_orchestrator.web.app import static
from debate_orchestrator.web.guard import Guard
from debate_orchestrator.web.public.site import Site
from debate_orchestrator.web.public.views import Views
from debate_orchestrator.web.public.visitors import Requests
from debate_orchestrator.web.replies import html_response

LARGEST_FORM = 20_000
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
        await site.shutdown()

    async def failed(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        title = "Not found" if status == 404 else "This did not work"
        if isinstance(error, HTTPException):
            problems = ["There is no such page. Its debate may have been removed."] if status == 404 else [error.detail]
        else:
            site.log(str(error))
            problems = ["This can't be shown until the owner of this site has looked at it."]
        return html_response("public/error.html.j2", status, site=site.rules.title, title=title, complaints=problems)

    routes = [
        Route("/", views.home),
        Route("/start", views.start, methods=["POST"]),
        Route("/static/{name}", static),
        Route("/d/{name}", views.debate),
        Route("/d/{name}/stream", views.stream),
        Route("/d/{name}/report", views.report),
        Route("/d/{name}/card.png", views.card),
    ]
    handlers: dict[Any, Any] = {DebateError: failed, HTTPException: failed}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return Guard(app, hosts=hosts, admit=requests.admit, largest_body=LARGEST_FORM)
