"""What the debate would take with the answers so far: calls, minutes, money, worked out beside the conversation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from debate_orchestrator.core.format import Format
from debate_orchestrator.engine import start
from debate_orchestrator.engine.estimate import Estimate, estimate
from debate_orchestrator.setup.settings import settings_from
from debate_orchestrator.storage.paths import REPORT
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import DebateError
from debate_orchestrator.wizard.beside import beside

_COUNTS = (
    "rounds",
    "insist",
    "strictness",
    "cast",
    "context",
    "search",
    "share_cache",
    "mirror",
    "quorum",
    "each_round",
    "blind",
)
"""Answers on which the estimate depends."""
_PLACEHOLDER = "What is debated, in a sentence of about this length that somebody has still to say."


class Outlook:
    """Estimates, each worked out once. `best` tells who fills a seat that nobody is named for yet."""

    def __init__(self, best: Callable[[str], str]):
        self._best = best
        self._known: dict[str, Future[Estimate | None]] = {}

    def of(self, given: Mapping[str, Any], rules: Format, changed: Callable[[], None]) -> Future[Estimate | None]:
        """The estimate of a debate with these answers; None where they would not do. `changed` is called when it is
        there."""
        counts = {key: given[key] for key in _COUNTS if key in given}
        key = json.dumps([rules.name, counts], sort_keys=True, default=str)
        if key not in self._known:
            self._known[key] = beside(lambda: self._worked_out(counts, rules))
            self._known[key].add_done_callback(lambda done: changed())
        return self._known[key]

    def _worked_out(self, counts: Mapping[str, Any], rules: Format) -> Estimate | None:
        positions = {side: f"{side}: {_PLACEHOLDER}" for side in rules.sides}
        try:
            answers = settings_from(
                {**counts, "topic": _PLACEHOLDER, "positions": positions}, rules, REPORT, self._best
            )
            return estimate(start.make_opening(answers))
        except DebateError:
            return None


def told(found: Estimate | None, cast: Mapping[str, Any] | None, columns: int) -> str:
    """An estimate in as many words as there is room for; nothing where there is none."""
    if found is None:
        return ""
    short = found.short()
    if cast is None:
        said = [f"with models: {short}", short]
    elif rehearsed(cast):
        said = [f"a rehearsal: no calls (with models: {short})", "a rehearsal: no calls"]
    else:
        said = [short]
    return next((one for one in said if len(one) < columns), said[-1][: max(0, columns - 1)])


def rehearsed(cast: Mapping[str, Any]) -> bool:
    """Whether stand-ins fill every seat."""
    fillers = [one for who in cast.values() for one in (who if isinstance(who, list) else [who])]
    return bool(fillers) and all(model_spec.kind(str(one)) == model_spec.REHEARSE for one in fillers)
