"""Reads one page and looks for one quote in it, as a process of its own.

A stranger's page goes through parsers written in C, and through patterns that some page can make run for ever. So it is
read where there is nothing to lose (see `confine`). On its standard input is one line of JSON and then the page; on
its standard output one line of JSON.
"""

from __future__ import annotations

import json
import sys

from debate_orchestrator.evidence import EXTRA, Unreadable, match, pages
from debate_orchestrator.util import confine

CPU = 20
"""Seconds of computing."""
MEMORY = 1_500_000_000
"""Bytes of address space."""


def main() -> None:
    """Reads, compares and prints; where a library can't be loaded or the page can't be read, prints why instead."""
    try:
        import lxml.html  # type: ignore[import-untyped]  # noqa: F401 - imported before `confine` blocks imports
        import webencodings  # type: ignore[import-untyped]  # noqa: F401
        from rapidfuzz import fuzz  # noqa: F401
    except Exception as error:  # a broken installation breaks in its own way
        reason = f"{type(error).__name__}: {error}".rstrip(".")
        problem = f"the libraries that read pages can't be loaded: {reason}. Try: {EXTRA}"
        print(json.dumps({"unreadable": problem}), flush=True)
        sys.exit(1)

    confine.confine(MEMORY, cpu=CPU, may_read_files=True)
    task = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    read = pages.plain if task["kind"] == "plain" else pages.html_page
    try:
        page = read(body, task["charset"])
    except Unreadable as error:
        print(json.dumps({"unreadable": error.why}), flush=True)
        sys.exit(1)
    result = match.compare(task["quote"], page.text, task["addresses"])
    print(json.dumps(result._asdict() | page._asdict()), flush=True)


if __name__ == "__main__":
    main()
