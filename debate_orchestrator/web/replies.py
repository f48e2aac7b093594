"""What views answer with, and how they read a form."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from debate_orchestrator.engine.api import render
from debate_orchestrator.web import pages
from debate_orchestrator.web.tokens import same

_MOST_FIELDS = 500
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The report names the one style that it allows by its digest; both policies hold."""


def html_response(template: str, code: int = 200, **values: Any) -> HTMLResponse:
    """A page."""
    return HTMLResponse(pages.render(template, **values), code)


def go_to(address: str) -> RedirectResponse:
    """What follows a form that was taken."""
    return RedirectResponse(address, 303)


async def form(request: Request, token: str) -> dict[str, str]:
    """The fields of a form; of several with one name, their values with commas between. Raises HTTPException where it
    lacks the `token` that forms have here, so that no other site can have sent it; with an empty one none is taken."""
    try:
        body = (await request.body()).decode("utf-8")
        pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise HTTPException(400, "This form can't be read.") from None
    fields: dict[str, str] = {}
    for name, sent in pairs:
        value = sent.replace("\r\n", "\n")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    if not token or not same(token, fields.pop("form_token", "")):
        raise HTTPException(
            403,
            "This form is not from a page of this server, or the page is too old. Reload it and send it again.",
        )
    return fields


async def report_page(path: str) -> HTMLResponse:
    """The report of a journal: the very page that `debate report` writes."""
    return own_page(await asyncio.to_thread(render, path, "html"))


def own_page(page: str) -> HTMLResponse:
    """A page of `reports.html`, which brings its style along."""
    return HTMLResponse(page, headers={"content-security-policy": _REPORT_POLICY})


def png(data: bytes) -> Response:
    """A picture, which may be kept for some minutes by those who show it."""
    policy = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; sandbox"  # a browser may show it as a page
    headers = {"cache-control": "public, max-age=600", "cross-origin-resource-policy": "cross-origin"}
    headers["content-security-policy"] = policy
    return Response(data, media_type="image/png", headers=headers)
