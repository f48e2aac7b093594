"""A terminal whose cursor can't be moved: everything is a line, and what keys do elsewhere is a line too."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterable

from debate_orchestrator.podium.briefing import Line
from debate_orchestrator.podium.lectern import Blank, Elsewhere, Left, opened
from debate_orchestrator.util.sanitize import sanitize
from debate_orchestrator.util.terminal_text import Back

_MOST = 65536
"""Bytes that are read at once."""
_END = "."
"""A line that is just this ends what is long."""


def _print(text: str) -> None:
    name = sys.stderr.encoding or "utf-8"
    print(text.encode(name, "backslashreplace").decode(name), end="", file=sys.stderr, flush=True)


class Slate:
    """A terminal without a cursor."""

    long_keys: tuple[str, ...] = (
        "a line that is just . hands it in",
        ":brief shows the whole brief",
        ":new begins anew",
        ":edit an editor",
    )
    short_keys: tuple[str, ...] = (":back goes back", ":brief shows the whole brief", ":entered what was entered")

    def __init__(self, descriptor: int | None = None, say: Callable[[str], None] = _print):
        self.elsewhere = False
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._say = say
        self._rest = b""
        self._coming: asyncio.Future[str] | None = None

    def tell(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._say(f"{sanitize(line.text)}\n")

    async def ask(self, blank: Blank) -> str:
        self.tell(blank.above)
        if blank.now:
            self.tell([Line(f"Written so far:\n{blank.now}")])
        if below := blank.below(blank.now).text:
            self.tell([Line(f"({below})")])
        return await (self._long(blank) if blank.long else self._short(blank))

    async def _short(self, blank: Blank) -> str:
        while True:
            self._say("(Enter keeps it) > " if blank.now else "> ")
            said = await self._line()
            if not self._ordered(said, blank, blank.now):
                return said or blank.now

    async def _long(self, blank: Blank) -> str:
        text = blank.now
        while True:
            said = await self._line()
            if said == _END:
                return text
            if said == ":new":
                text = ""
            elif not self._ordered(said, blank, text):
                text = f"{text}\n{said}" if text else said
            blank.changed(text)

    def _ordered(self, said: str, blank: Blank, text: str) -> bool:
        """Whether a line was an order, which is carried out."""
        if said == ":back":
            raise Back
        if said == ":edit":
            raise Elsewhere(text)
        if made := blank.shows.get(said.removeprefix(":")) if said.startswith(":") else None:
            self.tell([Line(made())])
            return True
        return False

    async def _line(self) -> str:
        """The next line. Left where nothing more comes."""
        loop = asyncio.get_running_loop()
        self._coming = loop.create_future()
        self._take(b"")
        if self._coming.done():
            return self._coming.result()
        loop.add_reader(self._descriptor, self._read)
        try:
            return await self._coming
        finally:
            loop.remove_reader(self._descriptor)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _MOST)
        except OSError:
            data = b""
        if data:
            self._take(data)
        else:
            self.abandon()

    def _take(self, data: bytes) -> None:
        self._rest += data
        line, found, rest = self._rest.partition(b"\n")
        if found and self._coming is not None and not self._coming.done():
            self._rest = rest
            self._coming.set_result(line.decode("utf-8", "replace").rstrip("\r"))

    async def edit(self, command: str, path: str) -> str | None:
        self.elsewhere = True
        try:
            return await opened(command, path)
        finally:
            self.elsewhere = False

    def clear(self) -> None:
        self._say("\n" * 2 * shutil.get_terminal_size().lines)

    def abandon(self) -> None:
        if self._coming is not None and not self._coming.done():
            self._coming.set_exception(Left())
