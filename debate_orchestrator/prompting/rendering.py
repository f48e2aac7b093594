"""Templates and plain data in, text out.

What shipped with this package is rendered here. What travels with a debate, or lies in a user's folder, may come from a
stranger: it is proofread and rendered by a process that can do nothing else, and that is ended when it takes too long.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from debate_orchestrator.prompting import templates
from debate_orchestrator.prompting.template_worker import READY
from debate_orchestrator.prompting.templates import EntryTemplate, FunctionContext, Sandbox
from debate_orchestrator.util import confine, resources
from debate_orchestrator.util.errors import BadFormat, ProviderFailed, complaint
from debate_orchestrator.util.sanitize import one_line

_stopped: set[tuple[str, int]] = set()
"""Templates over which the process was ended, with the hash of those that it came with: not tried again."""
SECONDS = 30.0
"""Seconds that the process may take for a task, however little of the processor it gets."""
_LARGEST = 64_000_000
"""Bytes that an answer may have: the longest text, with every character escaped."""
_TOO_MUCH = "a template that takes too long, or too much memory"


def render(names: Sequence[str], values: Mapping[str, Any], terms: FunctionContext, own: Mapping[str, str]) -> str:
    """The text of the first of these templates that there is, over values that are `plain`. BadFormat, with file and
    line, where it can't be rendered."""
    if own:
        told = templates.told(names[0], own)
        if (told, hash(frozenset(own.items()))) in _stopped:
            raise BadFormat(complaint(told, _TOO_MUCH, "one within the limits"))
        known = terms.nonce, dict(terms.names), dict(terms.labels)
        answer = _worker().do({"own": dict(own), "names": [*names], "values": values, "terms": known})
        if answer is None:
            _stopped.add((told, hash(frozenset(own.items()))))
            raise BadFormat(complaint(told, _TOO_MUCH, "one within the limits"))
        if "text" in answer:
            return str(answer["text"])
        place, said = answer["place"], answer["said"]
    else:
        try:
            return shipped().rendered(names, values, terms)
        except Exception as error:
            found = templates.error_location(error, own)
            if found is None:
                raise
            place, said = found, templates.error_text(error)
    hint = "The installed prompts are not those of this debate." if place.startswith("prompts/") else ""
    raise BadFormat(complaint(place, said, "a template that can be rendered", hint))


def check_templates(own: Mapping[str, str], roots: Mapping[str, EntryTemplate]) -> list[str]:
    """As `templates.mistakes`, for templates that may be a stranger's."""
    answer = _worker().do({"own": dict(own), "roots": {name: _listed(root) for name, root in roots.items()}})
    if answer is None:
        return [complaint(next(iter(own), "the templates"), _TOO_MUCH, "one within the limits")]
    return [str(one) for one in answer["mistakes"]]


def _listed(root: EntryTemplate) -> tuple[list[tuple[str, list[str]]], str]:
    return [(names.whose, sorted(names.given)) for names in root.kinds], root.where


@lru_cache(maxsize=1)
def shipped() -> Sandbox:
    """What renders the templates of prompts/."""
    return Sandbox({})


def plain_data(value: Any) -> Any:
    """A value as templates see it: mappings, lists, text, numbers, true, false and none, and nothing that has methods
    of its own. A model is a mapping of its fields. TypeError for anything else."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, BaseModel):
        return {name: plain_data(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {str(key): plain_data(held) for key, held in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_data(one) for one in value]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | Fraction):
        return float(value)
    raise TypeError(f"a template can't be given a {type(value).__name__}")


class _Worker:
    """The process that renders strangers' templates, one task at a time."""

    def __init__(self, root: str):
        """Starts it. Failed where it can't be started."""
        words = [*confine.command("debate_orchestrator.prompting.template_worker"), root]
        pipe = subprocess.PIPE
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            words,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=os.sep,
            env=confine.environment(),
            start_new_session=True,
        )
        if self._line() != READY.encode():
            self._process.kill()
            _, said = self._process.communicate()
            why = (said.decode("utf-8", "replace").strip().splitlines() or ["no reason was given"])[-1]
            raise ProviderFailed(
                f"The process that renders templates can't be started: {one_line(why)}. Try: install again."
            )

    def do(self, task: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a task; None where the process came to its end over it."""
        assert self._process.stdin is not None
        with self._lock:
            try:
                self._process.stdin.write(json.dumps(task).encode() + b"\n")
                self._process.stdin.flush()
                answer: dict[str, Any] = json.loads(self._line())
            except (OSError, ValueError):  # it is gone, or it says nothing that is an answer
                self.close()
                return None
            except BaseException:  # an interrupt: what it answers now would be taken for the answer to the next task
                self.close()
                raise
            return answer

    def _line(self) -> bytes:
        """The next line that it prints, in time; empty where there is none."""
        assert self._process.stdout is not None
        limit = threading.Timer(SECONDS, self._process.kill)
        limit.start()
        try:
            return self._process.stdout.readline(_LARGEST).rstrip(b"\n")
        finally:
            limit.cancel()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


_workers: dict[tuple[int, str], _Worker] = {}
"""This process and the folder of its prompts to the worker: one that was forked off shares no pipe with its parent."""


def end_workers() -> None:
    """Ends the processes of this one that render strangers' templates; the next task starts another."""
    for key in [key for key in _workers if key[0] == os.getpid()]:
        _workers.pop(key).close()


atexit.register(end_workers)


def _worker() -> _Worker:
    key = os.getpid(), str(resources.prompts())
    found = _workers.get(key)
    if found is None or found.ended:
        _workers[key] = found = _Worker(key[1])
    return found
