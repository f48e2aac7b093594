"""The output of servers and workers: each line redacted, and safe in a terminal."""

from __future__ import annotations

import logging
import sys
import traceback
from contextlib import suppress

from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line, sanitize
from debate_orchestrator.util.terminal_text import terminal_size, wrap


def log_line(line: str) -> None:
    """Prints a line on standard error. A closed standard error, or a full disk behind it, stops nothing."""
    _print(one_line(line))


def log_error(error: BaseException) -> None:
    """Prints an error of the program with its traceback."""
    _print("".join(traceback.format_exception(error)).rstrip("\n"))


def print_log_records() -> None:
    """Prints log records in the same way, if no other handler takes them."""
    logging.lastResort = _Handler(logging.WARNING)


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _print(self.format(record))


def _print(text: str) -> None:
    """Prints a text whose first line alone begins in the first column, with its lines broken at a terminal."""
    with suppress(OSError, ValueError):
        indented = redact(sanitize(text)).replace("\n", "\n  ")
        at_terminal = sys.stderr.isatty()
        rows = wrap(indented, terminal_size(sys.stderr)[0]) if at_terminal else indented
        print(rows, file=sys.stderr, flush=True)
