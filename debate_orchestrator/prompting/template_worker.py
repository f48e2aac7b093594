"""The worker process of `rendering`: checks and renders templates that did not ship with this package.

Each line of its standard input is a task as JSON, and each line of its standard output the answer.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from debate_orchestrator.prompting import templates
from debate_orchestrator.util import confine

CPU = 1
"""Seconds of processor time for each task; the system kills the process within one more."""
MEMORY = 512_000_000
"""Bytes of address space."""
READY = "ready"
"""The first line that it prints, when everything is imported."""
MAX_LENGTH = 4_000_000
"""Characters that a rendered template may have."""


def main() -> None:
    """Answers tasks until standard input ends."""
    root = Path(sys.argv[1])
    shipped = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in root.rglob("*.j2")}

    @lru_cache(maxsize=16)
    def sandbox(bundled_templates: tuple[tuple[str, str], ...]) -> templates.Sandbox:
        return templates.Sandbox(dict(bundled_templates), shipped)

    _load(shipped)
    confine.confine(MEMORY)
    print(READY, flush=True)
    for line in sys.stdin:
        _allow_more()
        task = json.loads(line)
        begun = time.process_time()
        try:
            answer = _answer(sandbox(tuple(task["own"].items())), task)
        except MemoryError:
            sys.exit(1)  # a process that ran out of memory may be in any state
        print(json.dumps({**answer, "seconds": time.process_time() - begun}), flush=True)


def _load(shipped: dict[str, str]) -> None:
    """Makes Jinja import all that it imports late, for rendering and for errors: `confine` lets nothing in."""
    for text in ("{{ 'x' | json }}{{ 1 // 0 }}", "{% if %}"):
        templates_by_path = {"sample.j2": text}
        task = {"own": templates_by_path, "names": ["sample.j2"], "values": {}, "function_context": ["", {}, {}]}
        _answer(templates.Sandbox(templates_by_path, shipped), task)


def _allow_more() -> None:
    """Renews the limit on processor time for one more task."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + CPU + 1, hard))


def _answer(sandbox: templates.Sandbox, task: dict[str, Any]) -> dict[str, Any]:
    templates_by_path = task["own"]
    if "known_names" in task:
        return {"mistakes": templates.find_problems(sandbox, templates_by_path, task["known_names"])}
    first = templates.shown_path(task["names"][0], templates_by_path)
    try:
        text = sandbox.render(task["names"], task["values"], templates.FunctionContext(*task["function_context"]))
    except MemoryError:
        raise
    except Exception as error:
        return {
            "place": templates.error_location(error, templates_by_path) or first,
            "reason": templates.error_text(error),
        }
    if any("\ud800" <= char <= "\udfff" for char in text):
        return {"place": first, "reason": "the text holds half a surrogate pair, which is not a character"}
    if len(text) > MAX_LENGTH:
        return {"place": first, "reason": f"the text has more than {MAX_LENGTH:,} characters"}
    return {"text": text}


if __name__ == "__main__":
    main()
