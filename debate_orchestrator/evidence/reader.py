"""Reads one page and looks for one quote in it, as a process of its own.

A stranger's page goes through parsers written in C, and through patterns that some page can make run for ever. So it is
read where there is nothing to lose: without the environment and its keys, with no network, no other program, no file to
write, little memory and little time. On its standard input is one line of JSON and then the page; on its standard
output one line of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from typing import Any

from debate_orchestrator.evidence import matching, pages

CPU = 20
"""Seconds of computing."""
MEMORY = 1_500_000_000
"""Bytes of address space."""
MAIN = 6.0
"""Seconds in which the main text has to be made out; where it is not, the whole text must do."""
_REFUSED = (
    "socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.kill", "os.remove",
    "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "shutil.", "ctypes.dlopen",
)  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class _Enough(BaseException):
    """The time for the main text is over. No Exception, so that nobody on the way takes it for one of theirs."""


def main() -> None:
    """Reads, compares and prints."""
    import lxml.html  # type: ignore[import-untyped]  # noqa: F401 - all is loaded before the doors are shut
    import trafilatura  # noqa: F401
    from rapidfuzz import fuzz  # noqa: F401

    shut()
    task = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    print(json.dumps(read(body, task["kind"], task["charset"], task["quote"])), flush=True)


def read(body: bytes, kind: str, charset: str, quote: str) -> dict[str, Any]:
    """What there is to tell of a page, as `reading.Reading` has it."""
    if kind == "plain":
        page = pages.plain(body, charset)
    else:
        page, tree = pages.marked_up(body, charset)
        page = page if tree is None else _in_time(page, tree)
    found = matching.compare(quote, [text for text in (page.main, page.whole) if text])
    return {**found._asdict(), "title": page.title, "date": page.date, "text": page.whole}


def _in_time(page: pages.Page, tree: Any) -> pages.Page:
    def enough(*_: object) -> None:
        raise _Enough

    signal.signal(signal.SIGALRM, enough)
    signal.setitimer(signal.ITIMER_REAL, MAIN, 0.5)  # again and again, until nobody holds it back
    try:
        return pages.with_main(page, tree)
    except (Exception, _Enough):  # what trafilatura stumbles over is the page's doing
        return page
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def shut() -> None:
    """Lets this process do nothing from here on but compute and read. There is no way back."""
    for what, most in (
        (resource.RLIMIT_CPU, CPU),
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):  # not every system has all of them
            continue
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES
    if writes or event.startswith(_REFUSED):
        raise PermissionError(f"{event} has no place here")


if __name__ == "__main__":
    main()
