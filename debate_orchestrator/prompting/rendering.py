"""Renders templates over plain data, and checks them; strangers' templates in a process of their own.

Shipped templates are rendered in this process. A debate's own templates, in its journal or a user's folder, may come
from a stranger: they are checked and rendered by a worker process, which is this module run as a program. It can do
nothing else, and is killed when it takes too long. Each line of its standard input is a task as JSON, and each line of
its standard output the answer.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from debate_orchestrator.core.values import former_names
from debate_orchestrator.prompting import templates
from debate_orchestrator.prompting.templates import FunctionContext, Sandbox
from debate_orchestrator.util import confine, resources
from debate_orchestrator.util.errors import BadFormat, PermanentFailure
from debate_orchestrator.util.sanitize import one_line

_stopped: set[tuple[str, int]] = set()
"""Templates that the worker was killed over, with the hash of their set. They are not tried again: a debate renders
its templates for every turn, and each attempt would cost the whole limit."""
_seconds: ContextVar[Counter[str] | None] = ContextVar("_seconds", default=None)
CPU = 1
"""Seconds of processor time for each task; the system kills the process within one more."""
MEMORY = 512_000_000
"""Bytes of address space."""
READY = "ready"
"""The first line that it prints, when everything is imported."""
MAX_LENGTH = 4_000_000
"""Characters that a rendered template may have."""
SECONDS = 30.0
"""Wall-clock seconds for a task; `CPU` limits the processor time."""
_PLAIN = frozenset({str, int, float, bool, type(None)})
_MAX_SIZE = 64_000_000
"""Bytes that an answer may have: the longest text, with every character escaped."""
_TOO_MUCH = "the template takes too long, or too much memory."


def render(
    names: Sequence[str],
    values: Mapping[str, Any],
    function_context: FunctionContext,
    own_templates: Mapping[str, str],
) -> str:
    """The text of the first of these templates that exists, over `values`. Raises BadFormat, with file and line, if
    it can't be rendered."""
    if own_templates:
        path = templates.shown_path(names[0], own_templates)
        key = path, hash(frozenset(own_templates.items()))
        if key in _stopped:
            raise BadFormat(f"{path}: {_TOO_MUCH}")
        context = function_context.marker, dict(function_context.names), dict(function_context.side_labels)
        task = {"templates": dict(own_templates), "names": [*names], "values": values, "function_context": context}
        answer = _worker().do(task)
        if (seconds := _seconds.get()) is not None:
            seconds[path] += answer["seconds"] if answer else CPU
        if answer is None:
            _stopped.add(key)
            raise BadFormat(f"{path}: {_TOO_MUCH}")
        if "text" in answer:
            return str(answer["text"])
        place, reason = answer["place"], answer["reason"]
    else:
        try:
            return shipped_sandbox().render(names, values, function_context)
        except Exception as error:
            location = templates.error_location(error, own_templates)
            if location is None:
                raise
            place, reason = location, templates.error_text(error)
    why = " The installed prompts are not those of this debate." if place.startswith("prompts/") else ""
    raise BadFormat(f"{place}: the template can't be rendered: {reason}.{why}")


@contextmanager
def measured() -> Iterator[Counter[str]]:
    """Seconds of processor time that each template that may come from a stranger takes within this block."""
    seconds = Counter[str]()
    token = _seconds.set(seconds)
    try:
        yield seconds
    finally:
        _seconds.reset(token)


def template_problems(own_templates: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """As `templates.find_problems`, for templates that may come from a stranger."""
    known_names = sorted(names)
    answer = _worker().do({"templates": dict(own_templates), "known_names": known_names})
    if answer is None:
        deadline = time.monotonic() + SECONDS
        for path, text in own_templates.items():
            if time.monotonic() < deadline and not _worker().do(
                {"templates": {path: text}, "known_names": known_names}
            ):
                return [f"{path}: {_TOO_MUCH}"]
        return ["The templates together take too long, or too much memory."]
    return [str(problem) for problem in answer["problems"]]


@lru_cache(maxsize=1)
def shipped_sandbox() -> Sandbox:
    return Sandbox({})


def plain_data(value: Any) -> Any:
    """A value as templates see it: dicts, lists, text, numbers, bools and None, none of a subclass with methods of its
    own. A model becomes a dict of its fields, under the names that journals have for them now and had earlier. Raises
    TypeError for anything else."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, BaseModel):
        return {key: plain_data(getattr(value, name)) for key, name in _keys(type(value))}
    if isinstance(value, Mapping):
        return {str(key): plain_data(item_value) for key, item_value in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_data(item) for item in value]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | Fraction):
        return float(value)
    raise TypeError(f"a template can't be given a {type(value).__name__}")


@lru_cache(maxsize=256)
def _keys(kind: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    return (*((field.alias or name, name) for name, field in kind.model_fields.items()), *former_names(kind).items())


class _Worker:
    """The process that renders templates from outside, one task at a time."""

    def __init__(self, root: str):
        """Starts the process. Raises PermanentFailure if it can't be started."""
        command = [*confine.command("debate_orchestrator.prompting.rendering"), root]
        pipe = subprocess.PIPE
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=os.sep,
            env=confine.environment(),
            start_new_session=True,
        )
        if self._line() != READY.encode():
            self._process.kill()
            _, stderr = self._process.communicate()
            why = (stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason was given"])[-1]
            problem = f"The process that renders templates can't be started: {one_line(why)}."
            raise PermanentFailure(problem, hint="install again")

    def do(self, task: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a task; None if the process died or was killed over it."""
        assert self._process.stdin is not None
        with self._lock:
            try:
                self._process.stdin.write(json.dumps(task).encode() + b"\n")
                self._process.stdin.flush()
                answer: dict[str, Any] = json.loads(self._line())
            except (OSError, ValueError):  # the process is gone, or its line is no JSON
                self.close()
                return None
            except BaseException:  # an interrupt: a late answer would be taken for the answer to the next task
                self.close()
                raise
            return answer

    def _line(self) -> bytes:
        """The next line of its output; empty if none comes in time."""
        assert self._process.stdout is not None
        limit = threading.Timer(SECONDS, self._process.kill)
        limit.start()
        try:
            return self._process.stdout.readline(_MAX_SIZE).rstrip(b"\n")
        finally:
            limit.cancel()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        """Kills the process and closes its pipes."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


_workers: dict[tuple[int, str], _Worker] = {}
"""By process id and folder of prompts: a forked process must not share its parent's pipes."""


def end_workers() -> None:
    """Ends this process's workers; the next task starts another."""
    for key in [key for key in _workers if key[0] == os.getpid()]:
        _workers.pop(key).close()


atexit.register(end_workers)


def _worker() -> _Worker:
    key = os.getpid(), str(resources.prompts())
    worker = _workers.get(key)
    if worker is None or worker.ended:
        _workers[key] = worker = _Worker(key[1])
    return worker


# Within the worker process


def main() -> None:
    """Answers tasks until standard input ends."""
    root = Path(sys.argv[1])
    shipped = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in root.rglob("*.j2")}

    @lru_cache(maxsize=16)
    def sandbox(own_templates: tuple[tuple[str, str], ...]) -> templates.Sandbox:
        return templates.Sandbox(dict(own_templates), shipped)

    _load(shipped)
    confine.confine(MEMORY)
    print(READY, flush=True)
    ended = time.process_time()
    for line in sys.stdin:
        _allow_more()
        begun, task = ended, json.loads(line)
        try:
            answer = _answer(sandbox(tuple(task["templates"].items())), task)
        except MemoryError:
            sys.exit(1)  # a process that ran out of memory may be in any state
        ended = time.process_time()  # so reading a task counts too, and writing the answer to the one before
        print(json.dumps({**answer, "seconds": ended - begun}), flush=True)


def _load(shipped: dict[str, str]) -> None:
    """Makes Jinja import all that it imports late, for rendering and for errors: `confine` lets nothing in."""
    for text in ("{{ 'x' | json }}{{ 1 // 0 }}", "{% if %}"):
        templates_by_path = {"sample.j2": text}
        task = {
            "templates": templates_by_path,
            "names": ["sample.j2"],
            "values": {},
            "function_context": ["", {}, {}],
        }
        _answer(templates.Sandbox(templates_by_path, shipped), task)


def _allow_more() -> None:
    """Renews the limit on processor time for one more task."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + CPU + 1, hard))


def _answer(sandbox: templates.Sandbox, task: dict[str, Any]) -> dict[str, Any]:
    templates_by_path = task["templates"]
    if "known_names" in task:
        return {"problems": templates.find_problems(sandbox, templates_by_path, task["known_names"])}
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
