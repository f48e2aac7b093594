"""The output of servers and workers: each line redacted, and safe in a terminal."""

from __future__ import annotations

import logging
import sys
import traceback
from contextlib import suppress

from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line, sanitize


def tell_line(line: str) -> None:
    """Prints a line on standard error. A closed standard error, or a full disk behind it, stops nothing."""
    _tell(one_line(line))


def tell_error(error: BaseException) -> None:
    """Prints an error of the program with its traceback."""
    _tell("".join(traceback.format_exception(error)).rstrip("\n"))


def take_records() -> None:
    """Prints log records in the same way, if no other handler takes them."""
    logging.lastResort = _Handler(logging.WARNING)


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _tell(self.format(record))


def _tell(text: str) -> None:
    with suppress(OSError, ValueError):
        print(redact(sanitize(text)), file=sys.stderr, flush=True)
