"""A prompter for a terminal whose cursor can't be moved (TERM=dumb): everything is a line, and words such as `:back`
stand in for keys."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from typing import TextIO

from debate_orchestrator.terminal.prompt import (
    EditorWanted,
    Line,
    Prompter,
    Question,
    Quit,
    choice_rows,
    on_screen,
    question_lines,
    text_lines,
)
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import Back, moves

_READ_AT_ONCE = 65536
"""Bytes."""
_END_OF_TEXT = "."
"""The line that ends a longer text."""


class LinePrompter(Prompter):
    """A terminal whose cursor can't be moved."""

    moves = False
    text_keys = (
        "a line that is just . hands it in",
        ":brief shows the whole brief",
        ":new starts over",
        ":edit opens an editor",
    )
    line_keys = (":back goes back", ":brief shows the whole brief", ":entered shows what was entered")

    def __init__(self, descriptor: int | None = None, stream: TextIO | None = None):
        super().__init__()
        self._given, self._stream = descriptor, stream or sys.stderr
        self._unread = b""
        self._ended = False
        self._coming: asyncio.Future[str] | None = None

    def tell(self, *lines: str | Line) -> None:
        for line in lines:
            self._print(f"{on_screen(line, self._columns())}\n")

    def _columns(self) -> int:
        return shutil.get_terminal_size().columns

    def _print(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", file=self._stream, flush=True)

    async def _read(self, question: Question) -> str:
        shown: list[str | Line] = [
            *question_lines(question),
            *(part for row in choice_rows(question, self._columns()) for part in f"  {row}".split("\n")),
        ]
        self.tell(*(["", *shown] if shown else []))
        if question.now:
            self.tell("Written so far:", *text_lines(question.now))
        if status := question.status(question.now or question.default).text:
            self.tell(f"({status})")
        return await (self._text(question) if question.multiline else self._line_of(question))

    async def _line_of(self, question: Question) -> str:
        enter = "(Enter keeps it) " if question.now else f"(Enter: {one_line(question.default)}) "
        while True:
            self._print(f"{enter if question.now or question.default else ''}> ")
            typed = await self._line()
            if not self._ordered(typed, question, question.now):
                return typed or question.now

    async def _text(self, question: Question) -> str:
        text = question.now
        while True:
            try:
                typed = await self._line()
            except Quit:
                if rest := self._unread.decode("utf-8", "replace"):  # the last line may lack its end
                    question.changed(f"{text}\n{rest}" if text else rest)
                raise
            if typed == _END_OF_TEXT:
                return text
            if typed == ":new":
                text = ""
            elif not self._ordered(typed, question, text):
                text = f"{text}\n{typed}" if text else typed
            question.changed(text)

    def _ordered(self, typed: str, question: Question, text: str) -> bool:
        """Whether a line was an order; it is carried out."""
        if typed == ":back":
            raise Back(text)
        if typed == ":edit":
            raise EditorWanted(text)
        shows = question.shows.get(typed.removeprefix(":")) if typed.startswith(":") else None
        if shows is not None:
            self.tell(*text_lines(shows()))
        return shows is not None

    async def _line(self) -> str:
        """The next line. Raises Quit where no more will come."""
        loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno() if self._given is None else self._given
        self._coming = loop.create_future()
        self._take(b"")
        if self._coming.done():
            return self._coming.result()
        loop.add_reader(descriptor, lambda: self._readable(descriptor))
        try:
            return await self._coming
        finally:
            loop.remove_reader(descriptor)

    def _readable(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, _READ_AT_ONCE)
        except OSError:
            data = b""
        if data:
            self._take(data)
        else:
            self.quit()

    def _take(self, data: bytes) -> None:
        self._unread += data
        line, found, rest = self._unread.partition(b"\n")
        if found and self._coming is not None and not self._coming.done():
            self._unread = rest
            self._coming.set_result(line.decode("utf-8", "replace").rstrip("\r"))

    def clear(self) -> None:
        self._print("\n" * 2 * shutil.get_terminal_size().lines)

    def quit(self) -> None:
        if self._coming is not None and not self._coming.done():
            self._coming.set_exception(Quit())


def terminal_prompter(stream: TextIO | None = None) -> Prompter:
    """The terminal of this process; questions are shown on `stream`, standard error unless given."""
    if not moves(os.environ):
        return LinePrompter(stream=stream)
    from debate_orchestrator.terminal.key_prompter import KeyPrompter

    return KeyPrompter(stream=stream)
