"""The blocks of a debate that runs: each is made once, in a thread, and sent to all viewers."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable
from functools import partial

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.threads import in_debate_pool
from debate_orchestrator.web import blocks
from debate_orchestrator.web.live import Viewers, json_text, message, text_message


class LiveBlocks:
    """The blocks so far."""

    def __init__(self, viewers: Viewers):
        self._viewers = viewers
        self._outline = blocks.Outline()
        self._debate: DebateState | None = None
        """The state that was taken last."""
        self._coming = asyncio.Queue[blocks.Block | bytes | None]()
        """Blocks that are to be made and sent, and events that are made; None behind the last."""
        self._texts: dict[str, bytes] = {}
        """By id, those that are made, however many viewers come: as events hold them."""
        self._making = threading.Lock()
        self._page: tuple[int, bytes] | None = None
        """How many were made, and the event that shows them all."""

    def take(self, debate: DebateState) -> None:
        """Takes the state after an event, whose new blocks are sent soon."""
        self._debate = debate
        for block in self._outline.new(debate):
            self._coming.put_nowait(block)
        for block in self._outline.withdrawn:
            self._page = None
            self._coming.put_nowait(message("gone", block.id))

    async def send(self) -> None:
        """Makes and sends what is taken, in its order, until `end` is called."""
        while (coming := await self._coming.get()) is not None:
            if isinstance(coming, blocks.Block):
                coming = text_message("block", [await in_debate_pool(partial(self._made, coming))])
            self._viewers.send(coming)

    def end(self) -> None:
        """Nothing more is taken."""
        self._coming.put_nowait(None)

    def html(self) -> Callable[[], str]:
        """What makes the HTML of all blocks as they are now. It is called in a thread: speeches may be long."""
        return partial(self._html, self._outline.blocks)

    def _html(self, shown: Iterable[blocks.Block]) -> str:
        html: str = json.loads(b'"%s"' % b"".join(map(self._made, shown)))
        return html

    def page(self) -> bytes:
        """The event that shows those that are made; the others are sent to all viewers later."""
        if self._page is None or self._page[0] < len(self._texts):
            count = len(self._texts)
            made = [self._texts[block.id] for block in self._outline.blocks if block.id in self._texts]
            self._page = count, text_message("page", made)
        return self._page[1]

    def _made(self, block: blocks.Block) -> bytes:
        """The HTML of a block as `json_text`."""
        assert self._debate is not None
        with self._making:
            if block.id not in self._texts:
                self._texts[block.id] = json_text(blocks.rendered(self._debate, block))
            return self._texts[block.id]
