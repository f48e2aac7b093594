"""What views answer with: templates as pages, reports, pictures, errors."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from debate_orchestrator.core.costs import CostLine
from debate_orchestrator.reports.html import page as html_page
from debate_orchestrator.reports.html import writer as html
from debate_orchestrator.reports.markdown import template_environment
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadFile, DebateError
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import few_combining_marks
from debate_orchestrator.web.guard import dashboard_of

STATIC = {"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8"}
"""The files that pages load, and their types."""


def render(template: str, **values: Any) -> str:
    """A template of `web/templates` as HTML. Every value is escaped that is not HTML already."""
    return _environment().get_template(template).render(values)


def money(total: CostLine) -> str:
    """What calls have cost, as every page says it; empty before the first call."""
    if not total.calls:
        return ""
    unknown = f"{plural(total.unknown, 'call')} of unknown price"
    if total.unknown == total.calls:
        return unknown
    return f"at least ${total.cost:.2f}, and {unknown}" if total.unknown else f"${total.cost:.2f}"


@cache
def static(name: str) -> str:
    """A file that pages load. The stylesheet is the report's, and below it what only these pages need."""
    own = (Path(__file__).parent / "static" / name).read_text(encoding="utf-8")
    return own if name != "page.css" else f"{html_page.style()}\n{own}"


@cache
def _integrity(name: str) -> str:
    """The digest by which a browser tells a file of this server from one that another server left in its cache."""
    return f"sha384-{b64encode(hashlib.sha384(static(name).encode()).digest()).decode()}"


_environment = cache(
    partial(
        template_environment,
        "web/templates",
        {
            "integrity": _integrity,
            "line": html.line,
            "literal": lambda text: html.literal_html(few_combining_marks(text)),
            "path": lambda name: quote(name, safe=""),
            "model": model_spec.public_name,
        },
    )
)

_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The report names the one style that it allows by its digest; both policies hold."""


def application(
    routes: Sequence[BaseRoute],
    failed: Callable[[Request, Any], Awaitable[Response]],
    begin: Callable[[], None],
    end: Callable[[], Awaitable[None]],
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


def html_response(template: str, code: int = 200, **values: Any) -> HTMLResponse:
    """A page."""
    return HTMLResponse(render(template, **values), code)


def address_of(request: Request) -> str:
    """The path that a request asks for, as it stands in links: with the true name of the debate, of which a page shows
    no control characters."""
    return quote(request.scope["path"])


def of_dashboard(request: Request) -> dict[str, Any]:
    """What every page of the dashboard holds: the address of all of them, and its `server_proof`. Empty texts for
    other pages."""
    address = dashboard_of(request.url.path)
    return {"dashboard": address, "server_proof": request.app.state.server_proof if address else ""}


def go_to(address: str) -> RedirectResponse:
    """What follows a form that was taken."""
    return RedirectResponse(address, 303)


def standalone_page(page: str | bytes) -> HTMLResponse:
    """A page of `reports.html`, which brings its style along."""
    return HTMLResponse(page, headers={"content-security-policy": _REPORT_POLICY})


_INERT = r'(?: (?:alt|aria-label|aria-labelledby|class|id|lang|role|scope|tabindex)="[^"<>]*")*'
_POLICY = r"default-src 'none'; style-src 'sha256-[\w+/=]*'; img-src data:; base-uri 'none'; form-action 'none'"
_TAG = re.compile(
    r"(?P<ours><(?:!doctype html"
    r"|/?(?:body|details|div|figcaption|figure|footer|h[1-3]|head|header|html|li|main|nav|ol|p|section|small|span|style"
    rf"|summary|table|tbody|td|th|thead|title|tr|ul){_INERT}"
    r'|/a|a(?: class="skip")? href="(?!/)[\w.~/%#-]*"'
    rf'|img src="data:image/svg\+xml;base64,[\w+/=]*"{_INERT}'
    r'|meta (?:charset="utf-8"|name="(?:viewport|color-scheme|generator)" content="[^"<>]*"'
    rf'|name="referrer" content="no-referrer"|http-equiv="Content-Security-Policy" content="{_POLICY}"))>)'
    r"|<(?=[A-Za-z/!?])",
    re.ASCII,
)
"""What browsers read as a tag, which is `ours` if `tournament/page.html.j2` could have written it."""


def foreign_page(page: str) -> bytes:
    """The page of a tournament, which may be a stranger's, with no tags but those of such a page: others become text,
    since no policy keeps browsers from connecting to the server of a frame or a `preconnect`."""
    # A function in Python lets other threads run; a template would hold them up until the whole page is done.
    return _TAG.sub(lambda tag: tag["ours"] or "&lt;", page).encode()


def foreign_response(page: bytes) -> HTMLResponse:
    """A `foreign_page`. It runs nothing, leads nowhere by itself, opens no window, which could then replace this page,
    and has no origin. It can tell other sites its address, so the address must hold no token but its own."""
    headers = {
        "x-dns-prefetch-control": "off",
        "content-security-policy": f"{_REPORT_POLICY}; sandbox",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "unsafe-none",  # browsers refuse a sandboxed page that asks for more
    }
    return HTMLResponse(page, headers=headers)


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
    return html_response("error.html.j2", status, **of_dashboard(request), title=title, problems=problems)
