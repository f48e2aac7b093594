"""What servers and workers print: failures seldom, and nothing that waits until it is read."""

from __future__ import annotations

import logging
import select
import sys
import time
import traceback
from contextlib import suppress

from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line, sanitize

_TOLD_SECONDS = 60.0
"""Seconds in which failures of one kind are told once: each request of a stranger may bring one about."""
_PIECE = 50
"""Characters that are written at once. They have up to ten bytes each, and a pipe that can be written to takes 512
(POSIX, PIPE_BUF)."""


def tell(text: str) -> None:
    """Prints text, sanitized, on standard error, as far as it is taken at once. A pipe that is full and not read would
    stop the event loop, and with it the server."""
    text = redact(sanitize(text))  # before it is cut, which could split a secret
    with suppress(OSError, ValueError):  # it was closed, or its disk is full
        for start in range(0, len(text), _PIECE):
            if not _takes_more():
                return
            sys.stderr.write(text[start : start + _PIECE])
            sys.stderr.flush()


def tell_line(line: str) -> None:
    """Prints a line as `tell` does."""
    tell(f"{one_line(line)}\n")


def tell_error(error: BaseException) -> None:
    """Prints an error of the program with its traceback, as `tell` does."""
    tell("".join(traceback.format_exception(error)))


def _takes_more() -> bool:
    try:
        return bool(select.select((), (sys.stderr,), (), 0)[1])
    except (OSError, ValueError, AttributeError):  # it is no file, or this is Windows, which asks only sockets
        return True


class Seldom:
    """Says of failures whether one of their kind is to be told."""

    def __init__(self) -> None:
        self._told: dict[str, float] = {}

    def first(self, kind: str) -> bool:
        """Whether none of that kind was told in the last `_TOLD_SECONDS`, and one can be told now; it then counts as
        told."""
        now = time.monotonic()
        self._told = {told: at for told, at in self._told.items() if now - at < _TOLD_SECONDS}
        if kind in self._told or not _takes_more():
            return False
        self._told[kind] = now
        return True


def take_records() -> None:
    """Has a `SeldomHandler` print what is logged where no other handler takes it: Python's own one waits until it is
    read."""
    logging.lastResort = SeldomHandler()


class SeldomHandler(logging.Handler):
    """Prints warnings and errors that are logged: one record for each type of error, or for each message without an
    error, in a minute."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._seldom = Seldom()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[0] if record.exc_info else None
        if self._seldom.first(error.__name__ if error else str(record.msg)):
            tell(f"{self.format(record)}\n")
