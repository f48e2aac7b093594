"""Server-sent events: what happens in a debate, to all who watch it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from debate_orchestrator.core import rapporteur
from debate_orchestrator.core.events import BriefSent, Event
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.private_text import PrivateFilter
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.redact import StreamRedactor, redact_json
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


_FLUSH_SECONDS = 0.12
"""Seconds for which pieces of a reply are gathered before they are sent."""


class StreamedReply:
    """A reply that is being written, as far as others may read it."""

    def __init__(self, debate: DebateState, turn: Turn):
        self.turn, self.heading = turn, debate.format.heading_of(turn)
        self.side = blocks.side(debate, turn)
        self._filter = PrivateFilter(debate.format.private_tag)
        self._public, self.shown, self.pieces = list[str](), "", list[str]()
        self.is_announced = False
        """Whether pages have its heading."""
        # A secret may become whole only when private reasoning is left out of it.
        self._redactor = StreamRedactor(self._public.append)

    def take(self) -> int:
        """Reads the pieces that came. Returns from which character on `shown` is new."""
        if not self.pieces:  # before the first one a secret may still be learned
            return len(self.shown)
        restarts = self._filter.restarts
        piece = self._filter.feed("".join(self.pieces))
        if self._filter.restarts > restarts:  # what came before was private reasoning
            self._public = []
            self._redactor = StreamRedactor(self._public.append)
        self._redactor.feed(piece)
        self.pieces.clear()
        before, self.shown = self.shown, "".join(self._public).lstrip()
        if self.shown.startswith(before):
            return len(before)
        return next((n for n, (old, new) in enumerate(zip(before, self.shown, strict=False)) if old != new), 0)

    def fields(self, start: int = 0) -> dict[str, object]:
        """The event that sends it from that character on."""
        turn = self.turn.id
        return {"turn": turn, "heading": self.heading, "side": self.side, "start": start, "text": self.shown[start:]}


class LivePage:
    """The page of a debate that runs: its blocks, each made once, and below them the speeches that are being written.
    What is new is sent to all viewers."""

    def __init__(self) -> None:
        self.viewers = Viewers()
        self._debate: DebateState | None = None
        self._html_by_id: dict[str, str] = {}
        self._speeches: dict[str, StreamedReply] = {}
        self._flush: asyncio.TimerHandle | None = None

    def update(self, debate: DebateState, event: Event | None = None) -> None:
        """Takes the state after an event, and sends new blocks. The banner of a stage that did not begin is removed."""
        self._debate = debate
        for turn_id in self._speeches.keys() & debate.replies.keys():
            del self._speeches[turn_id]
        if isinstance(event, BriefSent) and event.turn_id in {turn.id for turn in debate.due}:
            self._speeches.pop(event.turn_id, None)  # each attempt is a text of its own
            self.write(debate.turns[event.turn_id])
        before, self._html_by_id = self._html_by_id, {}
        for block in blocks.blocks_of(debate):
            html = before.get(block.id)
            if html is None:
                html = blocks.render_block(debate, block)
                self.viewers.broadcast("block", html)
            self._html_by_id[block.id] = html
        for block_id in before.keys() - self._html_by_id.keys():
            self.viewers.broadcast("removed", block_id)

    def write(self, turn: Turn, piece: str = "") -> None:
        """Takes the next piece of a speech that is being written. Its heading is sent before the first one."""
        assert self._debate is not None
        if self._debate.shape(turn) is not None:
            return
        if turn.id not in self._speeches:
            self._speeches[turn.id] = StreamedReply(self._debate, turn)
        if piece:
            self._speeches[turn.id].pieces.append(piece)
        if self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self._send_speeches)

    def _send_speeches(self) -> None:
        self._flush = None
        for speech in self._speeches.values():
            if speech.pieces or not speech.is_announced:
                start = speech.take()
                is_news = start < len(speech.shown) or not speech.is_announced
                if is_news and self._may_show(speech.turn):
                    speech.is_announced = True
                    self.viewers.broadcast("text", speech.fields(start))

    def _may_show(self, turn: Turn) -> bool:
        """Whether what is written in a turn may be seen before the turns beside it are taken."""
        assert self._debate is not None
        stage = next((stage for stage in self._debate.stages if turn in stage), ())
        return not blocks.is_hidden(self._debate, stage) and not rapporteur.is_hidden_advice(self._debate, turn)

    def html(self) -> str:
        """The blocks so far."""
        return "".join(self._html_by_id.values())

    def messages_so_far(self) -> list[bytes]:
        """What is there already, for a viewer who comes now."""
        speeches = [speech for speech in self._speeches.values() if self._may_show(speech.turn)]
        return [message("page", self.html()), *(message("text", speech.fields()) for speech in speeches)]

    def close(self) -> None:
        """Ends all streams."""
        if self._flush is not None:
            self._flush.cancel()
        self.viewers.close()
