"""Server-sent events: what happens in a debate, to all who watch it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.redact import redact_json
from debate_orchestrator.web import blocks

_MAX_WAITING = 2_000
"""Messages that wait for a viewer who reads slowly; with more the stream ends, and the browser opens another."""
_KEEP_ALIVE_SECONDS = 15.0
"""Seconds after which a silent stream says that it is alive."""

RECONNECT = b"retry: 5000\n\n"
"""Tells a browser to open the stream again 5 s after it has ended."""


def message(kind: str, data: Any) -> bytes:
    """One event of a stream, without secrets."""
    text = redact_json(json.dumps(data, ensure_ascii=False), ensure_ascii=False)
    return f"event: {kind}\ndata: {text}\n\n".encode()


class Viewers:
    """The viewers of one debate. No viewer can delay the debate, or another viewer."""

    def __init__(self) -> None:
        self._viewers: set[asyncio.Queue[bytes | None]] = set()
        self._closed = False

    def broadcast(self, kind: str, data: Any) -> None:
        """Sends an event to all."""
        if self._viewers:
            self._put(message(kind, data))

    def close(self) -> None:
        """Ends all streams, and every one that begins later."""
        self._closed = True
        self._put(None)

    def _put(self, data: bytes | None) -> None:
        for viewer in list(self._viewers):
            full = viewer.qsize() >= _MAX_WAITING
            if full:
                self._viewers.discard(viewer)
            viewer.put_nowait(None if full else data)

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


class _EventStream(StreamingResponse):
    """A stream of events that is sent within a context, which ends with it, also where nothing could be sent."""

    def __init__(self, events: AsyncIterator[bytes], context: AbstractContextManager[None]):
        super().__init__(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._context:
            await super().__call__(scope, receive, send)


def event_stream(
    viewers: Viewers | None,
    first: Callable[[], Iterable[bytes]],
    context: AbstractContextManager[None] | None = None,
) -> StreamingResponse:
    """The response to a request for a stream: first the current status, then the events. Without viewers nothing
    follows what `first` makes. It is sent within the `context`, which can refuse it with an HTTPException."""

    async def events() -> AsyncIterator[bytes]:
        viewer = viewers.join() if viewers else None
        try:
            for event in first():
                yield event
            while viewer is not None:
                try:
                    event_or_end = await asyncio.wait_for(viewer.get(), _KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    event_or_end = b": still here\n\n"
                if event_or_end is None:
                    break
                yield event_or_end
        finally:
            if viewers and viewer is not None:
                viewers.leave(viewer)

    return _EventStream(events(), context or nullcontext())


class LiveBlocks:
    """The blocks of a debate that runs: each is made once, and sent to all viewers."""

    def __init__(self, viewers: Viewers):
        self._viewers = viewers
        self._html_by_id: dict[str, str] = {}

    def update(self, debate: DebateState) -> None:
        """Takes the state after an event, and sends new blocks. The banner of a stage that did not begin is removed."""
        before, self._html_by_id = self._html_by_id, {}
        for block in blocks.blocks_of(debate):
            html = before.get(block.id)
            if html is None:
                html = blocks.render_block(debate, block)
                self._viewers.broadcast("block", html)
            self._html_by_id[block.id] = html
        for block_id in before.keys() - self._html_by_id.keys():
            self._viewers.broadcast("gone", block_id)

    def html(self) -> str:
        return "".join(self._html_by_id.values())
