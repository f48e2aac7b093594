"""The progress of a tournament: counted while it runs, and shown at a terminal, in a pipe and as lines of JSON."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from debate_orchestrator.cli.controls import display_of
from debate_orchestrator.cli.output import print_json_line, print_status
from debate_orchestrator.core.events import BriefSent, CallFailed, Event, ReplyEvent
from debate_orchestrator.tournament.plan import ScheduledDebate
from debate_orchestrator.tournament.run import DebateStatus, RunCounts, TournamentRun
from debate_orchestrator.util.numbers import duration, plural

if TYPE_CHECKING:
    from debate_orchestrator.terminal.display import Display

PAINT_SECONDS, LINE_SECONDS = 0.5, 15.0
"""Seconds between two pictures at a terminal, and between two lines in a pipe."""
WINNERS_SHOWN = 5


class Progress:
    """Counts what happens in a run. It is the run's `on_change`."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forgets what was seen so far: the run begins now."""
        self._began = time.monotonic()
        self.calls = self.failed_calls = 0
        self._in_flight: defaultdict[str, set[str]] = defaultdict(set)
        """By debate, the turns whose calls were begun in this run and have not ended. A reply may also be that to a
        call of an earlier run, from a batch."""
        self.completed = 0
        self.last: deque[tuple[ScheduledDebate, DebateStatus]] = deque(maxlen=WINNERS_SHOWN)

    def __call__(self, scheduled: ScheduledDebate, debate_status: DebateStatus, event: Event | None) -> None:
        if event is None:
            self._in_flight.pop(scheduled.id, None)
            if debate_status.is_complete:
                self.completed += 1
                self.last.append((scheduled, debate_status))
            return
        if isinstance(event, BriefSent):
            self._in_flight[scheduled.id].add(event.turn_id)
            self.calls += 1
        elif isinstance(event, ReplyEvent | CallFailed):
            self._in_flight[scheduled.id].discard(event.turn_id)
            self.failed_calls += isinstance(event, CallFailed)

    @property
    def in_flight(self) -> int:
        """Calls that were begun in this run and have not ended."""
        return sum(map(len, self._in_flight.values()))

    def rate(self) -> float:
        """Calls per minute since the run began."""
        return self.calls * 60 / max(1.0, time.monotonic() - self._began)

    def winners(self) -> list[str]:
        """The last winners, a line each."""
        return [f"  {scheduled.topic_id}: {outcome(scheduled, status)}" for scheduled, status in self.last]

    def numbers(self, run: TournamentRun) -> RunCounts:
        return RunCounts.of(
            len(run.statuses),
            run.statuses.values(),
            seconds=time.monotonic() - self._began,
            completed=self.completed,
            calls=self.calls,
            in_flight=self.in_flight,
            failed_calls=self.failed_calls,
            throttled=run.limiters.throttled,
            usd=round(run.budget.committed_cost(), 6),
            max_cost=run.budget.max_cost,
        )


def status_line(numbers: RunCounts) -> str:
    parts = [f"{numbers.complete:,} of {numbers.debates:,} debates"]
    parts.append(f"{numbers.in_flight:,} calls in flight, {numbers.calls_per_minute:,.0f} per minute")
    cap_text = f" of ${numbers.max_cost:.2f}" if numbers.max_cost is not None else ""
    if numbers.usd or cap_text:
        parts.append(f"{'about ' * bool(numbers.unusable)}${numbers.usd:.2f}{cap_text}")
    values = {
        "throttled": numbers.throttled,
        "calls failed": numbers.failed_calls,
        "stopped": numbers.stopped,
        "undecided": numbers.undecided,
        "can't be run": numbers.unusable,
    }
    if problems := ", ".join(f"{count:,} {words}" for words, count in values.items() if count):
        parts.append(problems)
    if numbers.seconds_left is not None and numbers.complete < numbers.debates:
        parts.append(f"about {duration(numbers.seconds_left)} left")
    if numbers.workers is not None:
        parts.append(plural(numbers.workers, "worker"))
    return " · ".join(parts)


def outcome(scheduled: ScheduledDebate, debate_status: DebateStatus) -> str:
    """The debaters and the winner, in a line."""
    sides = f"{scheduled.pro} (pro) against {scheduled.con} (con)"
    match debate_status.winner:
        case "pro" | "con":
            winner = scheduled.pro if debate_status.winner == "pro" else scheduled.con
            return f"{sides}: {winner} wins"
        case None:
            return f"{sides}: no decision" if debate_status.status == "undecided" else sides
    return f"{sides}: {debate_status.winner}"


@asynccontextmanager
async def show_progress(
    numbers: Callable[[], RunCounts], winners: Callable[[], list[str]], arguments: argparse.Namespace
) -> AsyncIterator[None]:
    """Shows how far a run is, unless `quiet`; at a terminal with the lines of `winners`, with `events` as JSON."""
    if arguments.quiet and not arguments.events:
        yield
        return
    display = None if arguments.events else display_of(sys.stderr)  # the terminal, if it can be written over
    if display is not None:
        display.acquire()
    showing = asyncio.create_task(_show(numbers, winners, display, events=arguments.events))
    try:
        yield
    finally:
        showing.cancel()
        with suppress(asyncio.CancelledError):
            await showing
        if display is not None:
            display.release()


async def _show(
    numbers: Callable[[], RunCounts], winners: Callable[[], list[str]], display: Display | None, *, events: bool
) -> None:
    from debate_orchestrator.terminal.display import paragraph

    while True:
        await asyncio.sleep(PAINT_SECONDS if display else LINE_SECONDS)
        now = numbers()
        if events:
            print_json_line({"progress": now.json()})
        elif display is None:
            print_status(status_line(now))
        else:
            columns, rows = display.size()
            lines = [status_line(now), *winners()]
            wrapped = [row for line in lines for row in paragraph(line, max(20, columns - 1))]
            display.paint([], wrapped[: max(1, rows - 1)])
