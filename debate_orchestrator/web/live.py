"""Server-sent events: what happens in a debate, to all who watch it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from debate_orchestrator.web.guard import Receive, Scope, Send
from debate_orchestrator.web.open_files import bounds

MAX_STREAMS_OF_VISITOR = 10
"""Streams that one visitor of a public site, or the link of one seat, may have open at once."""
_MAX_WAITING = 2_000
"""Messages that wait for a viewer who reads slowly; with more the stream ends, and the browser opens another."""
_OF_DASHBOARD = 5
"""Streams that the dashboard may open where visitors have all that there are."""
_BEAT_SECONDS = 15.0
"""Seconds after which a silent stream says that it is alive."""
_open = Counter[str]()
"""Requester to the number of streams that are open; the dashboard has an empty name, and no limit."""


AGAIN = b"retry: 5000\n\n"
"""Asks a browser to open the stream again 5 s after it has ended."""


def message(kind: str, data: Any) -> bytes:
    """One event of a stream."""
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def json_text(text: str) -> bytes:
    """A text as it stands in the JSON of an event, without the quotation marks around it."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def text_message(kind: str, texts: Iterable[bytes]) -> bytes:
    """An event that holds one text: these, of `json_text`, behind each other."""
    return b'event: %s\ndata: "%s"\n\n' % (kind.encode(), b"".join(texts))


class Viewers:
    """The viewers of one debate. None of them can hold up the debate, or another viewer."""

    def __init__(self) -> None:
        self._viewers: set[asyncio.Queue[bytes | None]] = set()
        self._closed = False

    def broadcast(self, kind: str, data: Any) -> None:
        """Sends an event to all."""
        if self._viewers:
            self._put(message(kind, data))

    def send(self, event: bytes) -> None:
        """The same, for an event that is made."""
        self._put(event)

    def close(self) -> None:
        """Ends all streams, and every one that begins later."""
        self._closed = True
        self._put(None)

    def _put(self, sent: bytes | None) -> None:
        for viewer in list(self._viewers):
            full = viewer.qsize() >= _MAX_WAITING
            if full:
                self._viewers.discard(viewer)
            viewer.put_nowait(None if full else sent)

    def join(self) -> asyncio.Queue[bytes | None]:
        """The queue of a new viewer. If the debate is over, the queue ends at once, and the browser asks again and gets
        the page as it then is."""
        viewer: asyncio.Queue[bytes | None] = asyncio.Queue()
        if self._closed:
            viewer.put_nowait(None)
        else:
            self._viewers.add(viewer)
        return viewer

    def leave(self, viewer: asyncio.Queue[bytes | None]) -> None:
        self._viewers.discard(viewer)


class EventStream:
    """The answer to a request for a stream: first how things stand, then what happens."""

    def __init__(
        self, viewers: Viewers | None, first: Callable[[], Iterable[bytes]], requester: str = "", server_proof: str = ""
    ):
        """`first` makes the events that tell how things stand; without viewers nothing follows them. The streams
        of a `requester`, which is a visitor's pseudonym or the token of a link, are limited in number. A `server_proof`
        is sent before anything else: by it a page knows the server that made it."""
        self._all_viewers, self._first, self._requester, self._server_proof = viewers, first, requester, server_proof

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        requester = self._requester
        full = _open.total() >= bounds().viewers + (0 if requester else _OF_DASHBOARD)
        full = full or (bool(requester) and _open[requester] >= MAX_STREAMS_OF_VISITOR)
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        headers += [(b"retry-after", b"30")] if full else []
        await send({"type": "http.response.start", "status": 503 if full else 200, "headers": headers})
        if full or scope.get("method") == "HEAD":  # a proxy uses the connection again once it has the head
            await send({"type": "http.response.body", "body": b""})
            return
        _open[requester] += 1
        try:
            await self._send(send)  # until the guard cancels it, when the viewer is gone or has stopped reading
        finally:
            _open[requester] -= 1
            if not _open[requester]:
                del _open[requester]

    async def _send(self, send: Send) -> None:
        async def write(body: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": body, "more_body": more})

        viewer = self._all_viewers.join() if self._all_viewers else None
        try:
            if self._server_proof:
                await write(message("server", self._server_proof))
            for body in self._first():
                await write(body)
            while viewer is not None:
                try:
                    next_message = await asyncio.wait_for(viewer.get(), _BEAT_SECONDS)
                except TimeoutError:
                    next_message = b": still here\n\n"
                if next_message is None:
                    break
                await write(next_message)
            await write(b"", more=False)
        finally:
            if self._all_viewers and viewer is not None:
                self._all_viewers.leave(viewer)
