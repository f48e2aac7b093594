"""The form that a request brings: its token first, and then its fields, which are decoded in a thread."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from urllib.parse import unquote_to_bytes

from starlette.exceptions import HTTPException
from starlette.requests import Request

from debate_orchestrator.web.guard import MULTIPART, same

_MAX_FIELDS = 500
_ANY = re.compile(".{1,200}")
"""The names of fields where no others are given."""
_NAME = re.compile(rb'; *name="([^"\r\n]*)"', re.IGNORECASE)
_BOUNDARY = re.compile(r'; *boundary="?([^\s";]{1,70})"?', re.IGNORECASE)

Pairs = list[tuple[bytes, bytes]]
"""Names and values as they were sent."""
Work = Callable[[Callable[[], dict[str, str]]], Awaitable[dict[str, str]]]
"""Does work in a thread, and returns what it returns."""


async def form(request: Request, token: str, work: Work, known: re.Pattern[str] = _ANY) -> dict[str, str]:
    """The fields of a form whose names match `known`; of several with one name, their values with commas between.
    Raises HTTPException where it can't be read, and where it lacks the `token` that forms have here, so that no other
    site can have sent it; with an empty one none is taken."""
    unreadable = HTTPException(400, "This form can't be read.")
    body, kind = await request.body(), request.headers.get("content-type", "")
    multipart = kind.lower().startswith(MULTIPART)
    try:
        pairs = _parts(body, kind) if multipart else _pairs(body)
    except ValueError:
        raise unreadable from None
    if not token or not any(name == b"form_token" and same(token, value.decode("latin-1")) for name, value in pairs):
        raise HTTPException(
            403,
            "This form is not from a page of this server, or the page is too old. Reload it and send it again.",
        )
    try:
        return await work(lambda: _fields(pairs, known, encoded=not multipart))
    except UnicodeDecodeError:
        raise unreadable from None


def _pairs(body: bytes) -> Pairs:
    """The fields of a body in percent-encoding. Raises ValueError."""
    if body.count(b"&") >= _MAX_FIELDS:
        raise ValueError("too many fields")
    return [(name, value) for name, _, value in (pair.partition(b"=") for pair in body.split(b"&"))]


def _parts(body: bytes, kind: str) -> Pairs:
    """The fields of a body in parts, which stand there as plain UTF-8. Raises ValueError."""
    if (boundary := _BOUNDARY.search(kind)) is None:
        raise ValueError("no boundary")
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary[1].encode("latin-1"), _MAX_FIELDS + 2)
    if not parts or not parts.pop().startswith(b"--") or len(parts) > _MAX_FIELDS:
        raise ValueError("cut off, or too many fields")
    pairs = Pairs()
    for part in parts:
        head, _, value = part.partition(b"\r\n\r\n")
        if name := _NAME.search(head):
            pairs.append((name[1], value))
    return pairs


def _fields(pairs: Pairs, known: re.Pattern[str], *, encoded: bool) -> dict[str, str]:
    """The fields by their names. Raises UnicodeDecodeError."""

    def text(sent: bytes) -> str:
        return (unquote_to_bytes(sent.replace(b"+", b" ")) if encoded else sent).decode("utf-8")

    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if known.fullmatch(field := text(name)) and field != "form_token":
            fields.setdefault(field, []).append(text(value).replace("\r\n", "\n"))
    return {name: ", ".join(values) for name, values in fields.items()}
