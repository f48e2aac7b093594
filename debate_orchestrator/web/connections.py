"""The server of uvicorn, with an end that comes in order, and limits for connections without a whole request."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Seconds in which the head of a request has to arrive, and that a connection may be idle."""
MOST_UNFINISHED = 256
"""Connections at once on which no whole request has come. For one more the oldest is closed, so that a browser gets
through however many are opened. They are not counted by address: all that come by a proxy have the same."""
BACKLOG = 100
"""Connections that are accepted at a time; fewer than may be unfinished, so that each is read before it can be the
oldest."""

_unfinished: dict[Connection, None] = {}
"""Connections on which no whole request has come, the oldest first."""


class Server(uvicorn.Server):
    """Ends the debates before it waits for open connections: the streams among these end with them."""

    def __init__(self, config: uvicorn.Config, end_debates: Callable[[], Awaitable[None]]):
        super().__init__(config)
        self._end_debates = end_debates

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._end_debates()
        await super().shutdown(sockets)


class Connection(H11Protocol):
    """Closes a connection on which no head comes in time: one that never ends would hold it for ever. The time for the
    rest of a request is kept by the guard."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        _unfinished.pop(self, None)
        super().connection_lost(exc)

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _watch(self) -> None:
        if self._answering:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._close)
        if self._answering and not self.cycle.more_body:
            _unfinished.pop(self, None)
            return
        _unfinished.setdefault(self)
        if len(_unfinished) > MOST_UNFINISHED:
            oldest = next(iter(_unfinished))
            del _unfinished[oldest]
            # Not `close`: that waits until all of an answer is read, and the other side may never read it.
            oldest.transport.abort()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if not self._answering:
            self.transport.close()
