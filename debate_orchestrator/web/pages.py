"""The responses of views: templates as pages, reports, pictures, errors."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from markupsafe import escape
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from debate_orchestrator.core.costs import CostLine
from debate_orchestrator.engine import library
from debate_orchestrator.reports.html import page as html_page
from debate_orchestrator.reports.html import writer as html
from debate_orchestrator.reports.markdown import template_environment
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.coroutines import in_own_thread
from debate_orchestrator.util.errors import BadFile, DebateError
from debate_orchestrator.util.messages import ignore
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import few_combining_marks, quoted
from debate_orchestrator.web.guard import DASHBOARD, Scope
from debate_orchestrator.web.until_changed import debate_version, until_changed

STATIC = {"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8"}
"""The files that pages load, and their types."""


_typed_html: ContextVar[dict[str, str]] = ContextVar("_typed_html")
"""Mark to the HTML that takes its place in the page that is being made."""


def render(template: str, **values: Any) -> str:
    """A template of `web/templates` as HTML, redacted. Every value is escaped that is not HTML already. What a form
    holds that comes back, and what is said about it, goes through the filter `as_typed` and is put into the page after
    it is redacted: otherwise a visitor could type guesses, and see from the redaction which of them are keys."""
    html_by_mark: dict[str, str] = {}
    token = _typed_html.set(html_by_mark)
    try:
        page = redact(_environment().get_template(template).render(**values))
    finally:
        _typed_html.reset(token)
    for mark, typed_html in html_by_mark.items():
        page = page.replace(mark, typed_html)
    return page


def _as_typed(text: str) -> str:
    """A mark in place of a text, or HTML, that `render` does not redact."""
    mark = secrets.token_hex(16)
    _typed_html.get()[mark] = str(escape(text))
    return mark


def money(total: CostLine) -> str:
    """The cost of calls, as every page shows it; empty before the first call."""
    if not total.calls:
        return ""
    unknown = f"{plural(total.unpriced_calls, 'call')} of unknown price"
    if total.unpriced_calls == total.calls:
        return unknown
    return f"at least ${total.cost:.2f}, and {unknown}" if total.unpriced_calls else f"${total.cost:.2f}"


@cache
def static(name: str) -> str:
    """A file that pages load. The stylesheet is the report's, and below it what only these pages need."""
    content = (Path(__file__).parent / "static" / name).read_text(encoding="utf-8")
    return content if name != "page.css" else f"{html_page.style()}\n{content}"


_environment = cache(
    partial(
        template_environment,
        "web/templates",
        {
            "line": html.line,
            "escaped": lambda text: html.escaped_html(few_combining_marks(text)),
            "quoted": lambda text: quoted(few_combining_marks(text)),
            "path": lambda name: quote(name, safe=""),
            "model": model_spec.public_name,
            "as_typed": _as_typed,
        },
    )
)

T = TypeVar("T")
_threads = asyncio.Semaphore(40)


async def in_thread(work: Callable[[], T]) -> T:
    """Returns the result of `work`, which writes nothing. Pages are made in threads: there may be many debates, or much
    in one. A server that ends does not wait for them."""
    async with _threads:
        return await in_own_thread(work)


async def report(path: str) -> HTMLResponse:
    """The report of a journal: the very page that `debate report` writes."""
    return await standalone_page(lambda: _report(path))


@until_changed(32, debate_version)
def _report(path: str) -> str:
    return library.render(path, "html")


_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The report names the one style that it allows by its digest; both policies hold."""


def application(
    routes: Sequence[BaseRoute],
    failed: Callable[[Request, Any], Awaitable[Response]],
    end: Callable[[], Awaitable[None]],
    begin: Callable[[], None] = ignore,
) -> Starlette:
    """The application of these routes. `failed` answers a DebateError or HTTPException of theirs; `begin` and `end` are
    called when it starts and ends. An address with a slash too many or too few leads nowhere: the redirection that
    Starlette has for it goes to http, which behind a proxy sends the token in the address unencrypted."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        begin()
        yield
        await end()

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={DebateError: failed, HTTPException: failed})
    app.router.redirect_slashes = False
    return app


def html_response(template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    return HTMLResponse(render(template, **values), status)


def address_of(request: Request) -> str:
    """The path that a request asks for, as links have it: with the true name of the debate, of which a page shows
    no control characters."""
    return quote(request.scope["path"])


def dashboard_of(scope: Scope) -> str:
    """The part of a path that all pages of the dashboard begin with; empty for a path that is not the dashboard's."""
    path = scope["path"]
    return DASHBOARD + path.removeprefix(DASHBOARD).partition("/")[0] if path.startswith(DASHBOARD) else ""


def go_to(address: str) -> RedirectResponse:
    """The redirect after an accepted form."""
    return RedirectResponse(address, 303)


async def standalone_page(make: Callable[[], str]) -> HTMLResponse:
    """A page of `reports.html`, which brings its style along, without secrets."""
    page = await in_thread(lambda: redact(make()))
    return HTMLResponse(page, headers={"content-security-policy": _REPORT_POLICY})


def png(data: bytes) -> Response:
    """A picture, which may be kept for some minutes by those who show it."""
    policy = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; sandbox"  # a browser may show it as a page
    headers = {"cache-control": "public, max-age=600", "cross-origin-resource-policy": "cross-origin"}
    headers["content-security-policy"] = policy
    return Response(data, media_type="image/png", headers=headers)


async def static_file(request: Request) -> Response:
    """A file that pages load."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    headers = {"cache-control": "max-age=300"}
    return Response(static(name), media_type=STATIC[name], headers=headers)


async def failed(request: Request, error: DebateError | HTTPException) -> Response:
    """The page of an error that no view showed beside a field, or of an address that leads nowhere."""
    title = "This did not work"
    if isinstance(error, DebateError):
        status, problems = 404 if isinstance(error, BadFile) else 409, error.problems
    elif error.status_code == 404:
        status, title, problems = 404, "Not found", ["There is no such page."]
    else:
        status, problems = error.status_code, [error.detail]
    return html_response("error.html.j2", status, dashboard=dashboard_of(request.scope), title=title, problems=problems)
