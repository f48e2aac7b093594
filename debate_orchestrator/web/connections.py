"""The connections of the server: how many there may be, which one ends for another, and what a request may cost to
read."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from debate_orchestrator.util.signals import terminating
from debate_orchestrator.web import guard
from debate_orchestrator.web.log import Seldom, take_records, tell_line
from debate_orchestrator.web.open_files import bounds, is_out_of_files

HEAD_SECONDS = 10.0
"""Seconds in which the head of a request has to arrive, and that a connection may be idle."""
_MAX_HEAD_SIZE = 16_384
"""Bytes of a request's head."""
_MAX_BLANKS = 100
"""Blanks in a row in a head."""
QUEUE = 512
"""Connections that the system holds until they are accepted."""
_MAX_BEHIND = 2 * _MAX_HEAD_SIZE
"""Bytes that may come behind a request before it is answered. They are thrown away."""
_DROP_SECONDS, _MAX_DROPPED = 2.0, 4_000_000
"""Seconds and bytes in which the rest of a request that was refused is read and thrown away."""

_open: dict[Connection, None] = {}
"""All connections, the oldest first."""
_new: dict[Connection, None] = {}
"""Those on which no request has come yet, the one that has waited longest first."""
_idle: dict[Connection, None] = {}
"""Those that have been answered and wait for a further request, or for the end of one that was refused, the one that
has waited longest first. If these and the new ones together exceed the bound, the oldest of these is closed, or the
oldest new one if there are none of these. So a browser gets through however many are opened, and however often they are
used. They are not counted by address: all that come by a proxy have the same."""
_unread: dict[Connection, None] = {}
"""Those on which an answer waits to be read, the one that has waited longest first."""


def _end_oldest() -> None:
    """Ends a connection that waits for a further request, or else one whose answer is not read, or else a new one: in
    each case the one that has stood still for longest."""
    for connections in (_idle, _unread, _new, _open):
        if connections:
            next(iter(connections)).abort()
            return


class Server(uvicorn.Server):
    """Ends the debates before it waits for open connections, since live streams end with their debates. If too many
    files are open to accept a connection, it closes another one to make room."""

    def __init__(self, config: uvicorn.Config, end_debates: Callable[[], Awaitable[None]]):
        super().__init__(config)
        self._end_debates = end_debates
        self.ended_by: signal.Signals | None = None
        """The signal that began its end."""
        self._seldom = Seldom()
        take_records()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._failed)
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(QUEUE)  # uvicorn has one number for this and for what is accepted at a time

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._end_debates()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As in uvicorn, and for SIGHUP too unless it is ignored. It raises no signal again, since `handle_exit` leaves
        none to uvicorn for that."""
        here = threading.current_thread() is threading.main_thread()  # Python lets no other thread handle signals
        with super().capture_signals():
            before = {sign: signal.signal(sign, self.handle_exit) for sign in (terminating() if here else ())}
            try:
                yield
            finally:
                for sign, handler in before.items():
                    signal.signal(sign, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begins the end, which is bounded, and notes the signal: uvicorn would raise it again before the last line is
        printed. A second signal changes nothing: uvicorn would leave out the application's end for it, and print
        tracebacks of what is then cancelled."""
        if not self.should_exit:
            self.should_exit, self.ended_by = True, signal.Signals(sig)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Ignores accepts that fail because too many files are open: asyncio reports each one, and tries again."""
        if not is_out_of_files(context.get("exception")):
            loop.default_exception_handler(context)
            return
        _end_oldest()
        if self._seldom.first("files"):
            tell_line("No more files can be opened, so connections are ended. Try: a higher `ulimit -n`.")


_CHUNKED = "This server takes a request whole, with its Content-Length, and not in chunks (Transfer-Encoding)."
_HEAD = f"Its head may have {_MAX_HEAD_SIZE:,} bytes, on lines without control characters and long runs of blanks."
_NO_BODY = "Only a POST has a body."
_BLANK_LINE = re.compile(rb"\n\r?\n")
_MALFORMED = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|\n[ \t]")
"""Control characters, a carriage return within a line, and a line that goes on with the one above."""


class WholeRequests(h11.Connection):
    """Refuses requests that cost far more to read than to send: bodies in chunks, of which each may be a byte, while
    browsers and proxies send forms whole; and heads with long runs of blanks, since h11 tries a line again from each
    blank before it refuses the line."""

    asked_for_head = False
    """Whether the request that is read is a HEAD, whose answer has no body."""
    _searched = 0
    """Bytes of the next head in which its end was looked for."""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            self.asked_for_head = False
            if self.trailing_data[0] == b"\r":
                return h11.NEED_DATA
            if self.trailing_data[0].startswith(b"\r\n"):  # RFC 9112, 2.2, which h11 does not follow here
                self._receive_buffer.maybe_extract_next_line()
                self._searched = 0
            self._check_head()
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.asked_for_head = event.method == b"HEAD"
            headers = dict(event.headers)
            if b"transfer-encoding" in headers:
                raise h11.RemoteProtocolError(_CHUNKED)
            if event.method in (b"GET", b"HEAD") and headers.get(b"content-length", b"").strip(b"0"):
                raise h11.RemoteProtocolError(_NO_BODY)
        return event

    def _check_head(self) -> None:
        """Raises RemoteProtocolError for a head that arrived whole and is not taken; h11 bounds one that has not."""
        received = self.trailing_data[0]
        end = _BLANK_LINE.search(received, max(0, self._searched - 2))
        if end is None:
            self._searched = len(received)
            return
        self._searched = 0
        head = received[: end.end()]
        if (
            len(head) > _MAX_HEAD_SIZE
            or _MALFORMED.search(head)
            or b" " * (_MAX_BLANKS + 1) in head.replace(b"\t", b" ")
        ):
            raise h11.RemoteProtocolError(_HEAD)


class Connection(H11Protocol):
    """Closes a connection on which no head comes in time, and ends one whose answers are not read: either would be held
    for ever.

    While a request is answered, the guard keeps the time, and no other connection ends this one to be let in. What
    comes behind the request by then is read, since the client may end behind it, and thrown away: no browser and no
    proxy sends another request so soon. The connection then ends with the answer."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn: WholeRequests = WholeRequests(h11.SERVER, _MAX_HEAD_SIZE)
        self._app, self.app = self.app, self._answer

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        cycle = self.cycle
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:  # the server ends, and has waited for this answer
            cycle.disconnected = True
            self._end()

    def send_400_response(self, msg: str) -> None:
        """Says why a request is not read, and closes the connection."""
        text = f"The request can't be read. {_HEAD} {_CHUNKED} {_NO_BODY}\n".encode()
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        headers.append((b"content-length", str(len(text)).encode()))
        answer = self.conn.send(h11.Response(status_code=400, headers=headers, reason=b"Bad Request")) or b""
        if not self.conn.asked_for_head:
            answer += self.conn.send(h11.Data(data=text)) or b""
        self.transport.write(answer + (self.conn.send(h11.EndOfMessage()) or b""))
        self._drop_rest()

    _timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None
    _to_drop: int | None = None
    """Bytes that may still come before the connection is ended; None while requests are read."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        _open[self] = None
        self._wait(_new, HEAD_SECONDS)
        if len(_open) > bounds().connections:
            _end_oldest()

    def data_received(self, data: bytes) -> None:
        with self._closed_on_errors():
            if self._to_drop is None and not self._has_request:
                super().data_received(data)
                if self._answering:
                    self._wait_no_more()
                data = self.conn.trailing_data[0] if self._has_request else b""
            if data not in (b"", b"\r\n"):  # some clients send an empty line behind a form
                self._to_drop = (_MAX_BEHIND if self._to_drop is None else self._to_drop) - len(data)
                if self._to_drop < 0:
                    self.abort()

    def on_response_complete(self) -> None:
        with self._closed_on_errors():
            if self.transport.is_closing():
                self._end()
            elif self._to_drop is not None or self.conn.their_state is h11.SEND_BODY:
                self._drop_rest()
            else:
                super().on_response_complete()
                if self._to_drop is None:
                    self._wait(_idle, HEAD_SECONDS)

    def shutdown(self) -> None:
        with self._closed_on_errors():
            super().shutdown()

    @contextmanager
    def _closed_on_errors(self) -> Iterator[None]:
        """Tells of an error in here and ends the connection."""
        try:
            yield
        except Exception as error:
            self.logger.error("A connection failed", exc_info=error)
            self.abort()

    def _drop_rest(self) -> None:
        """Closes the connection behind an answer. What still comes is thrown away for a moment: to close at once would
        reset the connection, and the client would not see the answer."""
        self._to_drop = _MAX_DROPPED
        if self.cycle is not None:
            self.cycle.body = bytearray()
        self._wait_no_more()
        self._wait(_idle, _DROP_SECONDS)
        try:
            self.transport.write_eof()
        except OSError:  # the client is gone
            self.abort()
        else:
            self.flow.resume_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        _unread.setdefault(self)
        self._await_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():  # a closing one is held until the rest is read too, and pauses no more
            _unread.pop(self, None)
            self._stop_unread()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_unread()
        self._forget()
        super().connection_lost(exc)
        del self.app  # a reference to itself: Python's collector would find it late, with all that came

    def abort(self) -> None:
        """Ends it at once. `close` waits until all of an answer is read, and the client may never read it."""
        self._forget()
        self.transport.abort()

    def _forget(self) -> None:
        self._wait_no_more()
        for connections in (_open, _unread):
            connections.pop(self, None)

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _has_request(self) -> bool:
        """Whether a request has come whole that is not answered yet."""
        return self._answering and not self.cycle.more_body

    def _wait(self, waiting: dict[Connection, None], seconds: float) -> None:
        """Waits as one of these for so long."""
        self._timer = self.loop.call_later(seconds, self._end)
        waiting[self] = None
        if len(_new) + len(_idle) > bounds().waiting:
            next(iter(_idle or _new))._end()

    def _wait_no_more(self) -> None:
        _new.pop(self, None)
        _idle.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        """Ends it once what it has sent is read."""
        self._wait_no_more()
        if self in _open:
            self.transport.close()
            _unread.setdefault(self)
            self._await_reading()

    def _await_reading(self) -> None:
        """Ends the connection unless the client reads some of what waits for it every `UNREAD_SECONDS`."""
        if self._unread_timer is None:
            waiting = self.transport.get_write_buffer_size()
            self._unread_timer = self.loop.call_later(guard.UNREAD_SECONDS, self._must_have_read, waiting)

    def _must_have_read(self, before: int) -> None:
        self._unread_timer = None
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._await_reading()

    def _stop_unread(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None
