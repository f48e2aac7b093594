"""Proofreads and renders templates that did not ship with this package, as a process of its own.

Each line of its standard input is a task as JSON, and each line of its standard output the answer. `rendering` starts
it and hands it the tasks.
"""

from __future__ import annotations

import json
import resource
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from debate_orchestrator.prompting import templates
from debate_orchestrator.util import confine

CPU = 3
"""Whole seconds of computing that every task may take; the system ends it within another one."""
MEMORY = 512_000_000
"""Bytes of address space."""
READY = "ready"
"""The first line that it prints, when all is loaded."""
LONGEST = 4_000_000
"""Characters that a template may make."""


def main() -> None:
    """Does tasks until there are no more."""
    root = Path(sys.argv[1])
    shipped = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in root.rglob("*.j2")}

    @lru_cache(maxsize=16)
    def sandbox(own: tuple[tuple[str, str], ...]) -> templates.Sandbox:
        return templates.Sandbox(dict(own), shipped)

    _load(shipped)
    confine.confine(MEMORY)
    print(READY, flush=True)
    for line in sys.stdin:
        _allow_more()
        task = json.loads(line)
        try:
            answer = _answer(sandbox(tuple(task["own"].items())), task)
        except MemoryError:
            sys.exit(1)  # what is left of this process is not to be relied on
        print(json.dumps(answer), flush=True)


def _load(shipped: dict[str, str]) -> None:
    """Has Jinja import everything that it imports late: what it needs for text and for mistakes, of both kinds."""
    for text in ("{{ 'x' | json }}{{ 1 // 0 }}", "{% if %}"):
        own = {"sample.j2": text}
        _answer(
            templates.Sandbox(own, shipped), {"own": own, "names": ["sample.j2"], "values": {}, "terms": ["", {}, {}]}
        )


def _allow_more() -> None:
    """Sets the time after which the system ends this process, counted from here."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + CPU + 1, hard))


def _answer(sandbox: templates.Sandbox, task: dict[str, Any]) -> dict[str, Any]:
    own = task["own"]
    if "roots" in task:
        roots = {
            name: templates.EntryTemplate(
                [templates.KnownNames(whose, frozenset(given)) for whose, given in kinds], where
            )
            for name, (kinds, where) in task["roots"].items()
        }
        return {"mistakes": templates.find_mistakes(sandbox, own, roots)}
    first = templates.told(task["names"][0], own)
    try:
        text = sandbox.rendered(task["names"], task["values"], templates.FunctionContext(*task["terms"]))
    except MemoryError:
        raise
    except Exception as error:
        return {
            "place": templates.error_location(error, own) or first,
            "said": templates.error_text(error),
        }
    if any("\ud800" <= one <= "\udfff" for one in text):
        return {"place": first, "said": "half a character, which no text can be written with"}
    if len(text) > LONGEST:
        return {"place": first, "said": f"{len(text):,} characters"}
    return {"text": text}


if __name__ == "__main__":
    main()
