"""How far a tournament is, in numbers and in lines for people."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from debate_orchestrator.core.events import Answer, Asked, CallFailed, Event
from debate_orchestrator.tournament.plan import ScheduledDebate
from debate_orchestrator.tournament.run import Standing, TournamentRun

LAST = 5
"""Debates whose winners are shown."""
_RATE = 60.0
"""Seconds over which the rate is measured."""


class Progress:
    """Counts what happens in a run. It is the run's `on_change`."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now = now
        self.begin()

    def begin(self) -> None:
        """Forgets what was seen so far: the run begins now."""
        self._began = self._now()
        self._asked: deque[float] = deque()
        self.in_flight = self.calls = self.failed_calls = 0
        self.completed = 0
        """Debates completed in this run."""
        self.last: deque[tuple[ScheduledDebate, Standing]] = deque(maxlen=LAST)

    def __call__(self, debate: ScheduledDebate, standing: Standing, event: Event | None) -> None:
        if event is None:
            if standing.status in ("complete", "undecided"):
                self.completed += 1
                self.last.append((debate, standing))
            return
        if isinstance(event, Asked):
            self.in_flight += 1
            self.calls += 1
            self._asked.append(self._now())
        elif isinstance(event, Answer | CallFailed):
            self.in_flight -= 1
            self.failed_calls += isinstance(event, CallFailed)

    def rate(self) -> float:
        """Calls begun in the last minute, or as many as that would be."""
        now = self._now()
        while self._asked and self._asked[0] < now - _RATE:
            self._asked.popleft()
        return len(self._asked) * 60 / max(1.0, min(_RATE, now - self._began))

    def numbers(self, run: TournamentRun) -> dict[str, Any]:
        """Everything that is known, as plain data."""
        counts = Counter(standing.status for standing in run.standings.values())
        left = counts["waiting"] + counts["running"] + counts["stopped"]
        seconds = self._now() - self._began
        return {
            "debates": len(run.standings),
            "complete": counts["complete"] + counts["undecided"],
            "undecided": counts["undecided"],
            "running": counts["running"],
            "stopped": counts["stopped"],
            "unusable": counts["unusable"] + counts["elsewhere"],
            "calls": self.calls,
            "in_flight": self.in_flight,
            "failed_calls": self.failed_calls,
            "throttled": run.limiters.throttled,
            "calls_a_minute": round(self.rate(), 1),
            "usd": round(run.budget.committed(), 6),
            "max_cost": run.budget.cap,
            "seconds": round(seconds, 1),
            "seconds_left": round(seconds / self.completed * left) if self.completed else None,
        }


def status_line(numbers: dict[str, Any]) -> str:
    """One line on how far a run is."""
    parts = [f"{numbers['complete']:,} of {numbers['debates']:,} debates"]
    parts.append(f"{numbers['in_flight']:,} calls in flight, {numbers['calls_a_minute']:,.0f} a minute")
    cap = f" of ${numbers['max_cost']:.2f}" if numbers["max_cost"] is not None else ""
    if numbers["usd"] or cap:
        parts.append(f"${numbers['usd']:.2f}{cap}")
    if trouble := _trouble(numbers):
        parts.append(trouble)
    if numbers["seconds_left"] is not None and numbers["complete"] < numbers["debates"]:
        parts.append(f"about {duration(numbers['seconds_left'])} left")
    return " · ".join(parts)


def _trouble(numbers: dict[str, Any]) -> str:
    found = {
        "throttled": "refused for load",
        "failed_calls": "calls failed",
        "stopped": "stopped",
        "undecided": "undecided",
        "unusable": "unusable",
    }
    return ", ".join(f"{numbers[key]:,} {words}" for key, words in found.items() if numbers[key])


def view(numbers: dict[str, Any], run: TournamentRun, progress: Progress) -> list[str]:
    """The lines of the live view."""
    lines = [bar(numbers), status_line(numbers)]
    limits = [
        f"{key}: {amount:,.0f} {name.replace('_', ' ')} a minute" for key, name, amount in run.limiters.tightest()
    ]
    if limits:
        lines.append(f"limits: {'; '.join(limits[:4])}")
    for debate, standing in progress.last:
        lines.append(f"  {debate.topic}: {outcome(debate, standing)}")
    return lines


def bar(numbers: dict[str, Any]) -> str:
    """The share of debates that are complete, as a bar."""
    done, total, width = numbers["complete"], max(1, numbers["debates"]), 40
    filled = round(width * done / total)
    return f"{'█' * filled}{'░' * (width - filled)} {done / total:.0%}"


def outcome(debate: ScheduledDebate, standing: Standing) -> str:
    """Who argued and who has won, in a line."""
    sides = f"{debate.pro} (pro) against {debate.con} (con)"
    match standing.winner:
        case "pro" | "con":
            winner = debate.pro if standing.winner == "pro" else debate.con
            return f"{sides}: {winner} wins"
        case None:
            return f"{sides}: no decision" if standing.status == "undecided" else sides
    return f"{sides}: {standing.winner}"


def duration(seconds: float) -> str:
    """Seconds in words: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
