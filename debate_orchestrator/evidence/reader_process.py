"""Reads one page and looks for one quote in it, as a process of its own.

A stranger's page goes through parsers written in C, and through patterns that some page can make run for ever. So it is
read where there is nothing to lose (see `confine`). On its standard input is one line of JSON and then the page; on
its standard output one line of JSON.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

from debate_orchestrator.evidence import match, pages
from debate_orchestrator.evidence.states import Unreadable
from debate_orchestrator.util import confine

CPU = 20
"""Seconds of computing."""
MEMORY = 1_500_000_000
"""Bytes of address space."""
METADATA = 6.0
"""Seconds to make out the date of a page and its best title; after them it has none, and the title of its head."""


class _Enough(BaseException):
    """The time for the metadata is over. Not an Exception, so that no `except Exception` on the way catches it."""


def main() -> None:
    """Reads, compares and prints; where a library can't be loaded or the page can't be read, prints why instead."""
    try:
        import lxml.html  # type: ignore[import-untyped]  # noqa: F401 - all is loaded before the doors are shut
        import trafilatura  # noqa: F401
        from rapidfuzz import fuzz  # noqa: F401
    except Exception as error:  # a broken installation breaks in its own way
        print(json.dumps({"broken": f"{type(error).__name__}: {error}"}), flush=True)
        sys.exit(1)

    confine.confine(MEMORY, cpu=CPU, reads=True)
    task = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    try:
        found = read(body, task["kind"], task["charset"], task["quote"])
    except Unreadable as error:
        print(json.dumps({"unreadable": error.why}), flush=True)
        sys.exit(1)
    print(json.dumps(found), flush=True)


def read(body: bytes, kind: str, charset: str, quote: str) -> dict[str, Any]:
    """What was found on a page, with the fields of `reader.PageReading`. Raises Unreadable."""
    if kind == "plain":
        page = pages.plain(body, charset)
    else:
        page, tree = pages.html_page(body, charset)
        page = page if tree is None else _in_time(page, tree)
    found = match.compare(quote, page.text)
    return {**found._asdict(), "title": page.title, "date": page.date, "text": page.text}


def _in_time(page: pages.Page, tree: Any) -> pages.Page:
    def enough(*_: object) -> None:
        raise _Enough

    signal.signal(signal.SIGALRM, enough)
    signal.setitimer(signal.ITIMER_REAL, METADATA, 0.5)  # repeated, in case a library catches the first one
    try:
        return pages.with_metadata(page, tree)
    except (Exception, _Enough):  # what trafilatura stumbles over is the page's doing
        return page
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
