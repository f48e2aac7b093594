"""What is printed on stderr while a debate runs: announcements and one line a turn for people, or events as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from debate_orchestrator.cli.output import remark
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Answer, Asked, CallFailed, Event, Rejected, Reply
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.prompting.briefs import Brief, brief_file
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.announcements import Announcer
from debate_orchestrator.util import model_spec, sanitize


class Progress:
    """Prints what happens as text; announcements that were printed before the debate paused are left out."""

    def __init__(self, debate: DebateState, *, now: Callable[[], float] = time.monotonic):
        self._now = now
        self._announcer = Announcer()
        if debate.answers:
            self._announcer.new(debate)
        self._started: dict[str, float] = {}

    def __call__(self, debate: DebateState, event: Event) -> None:
        lines = [_trouble(event)] if isinstance(event, Rejected | CallFailed) else []
        if isinstance(event, Asked):
            self._started.setdefault(event.turn, self._now())
        if isinstance(event, Answer) and not isinstance(event, Rejected):
            seconds = self._now() - self._started.get(event.turn, self._now())
            size = _size(debate.public(event.reply.text), event.reply, seconds, costs_of(debate).total.cost)
            lines.append(f"  {event.turn}: {size}")
        if line := wording.announced(debate, event):
            lines.append(line)
        lines += [line.text for line in self._announcer.new(debate)]
        with suppress(OSError):  # stderr was closed; the debate goes on
            for line in lines:
                remark(line)


def silent(debate: DebateState, event: Event) -> None:
    """Prints nothing."""


class JsonEvents:
    """Prints each event as one JSON object a line, beginning with those that are in the journal already."""

    def __init__(self, events: Iterable[Event]):
        for event in events:
            self._print(event)

    def __call__(self, debate: DebateState, event: Event) -> None:
        self._print(event)

    @staticmethod
    def _print(event: Event) -> None:
        with suppress(OSError):  # stderr was closed; the debate goes on
            print(json.dumps({"schema": 1, "event": event.model_dump(mode="json")}), file=sys.stderr, flush=True)


class BriefFiles:
    """Writes the brief of every turn to a folder, so that a rehearsal shows what a model would be sent."""

    def __init__(self, folder: TurnsFolder):
        self._folder = folder

    def __call__(self, debate: DebateState, turn: Turn, brief: Brief) -> None:
        place = self._folder.place(turn.id, brief.wants)
        self._folder.lay(place, brief_file(brief, debate, turn, os.path.basename(place.reply)))


def spending_line(debate: DebateState) -> str:
    """What the calls have cost, in a line; empty if there were none."""
    costs = costs_of(debate)
    total = costs.total
    if not total.calls:
        return ""
    tokens = total.usage
    known = {seat: line.cost for seat, line in costs.of_seats().items() if line.calls > line.unknown}
    by_seat = ", ".join(f"{seat} ${cost:.4f}" for seat, cost in known.items())
    priced = [f"{_calls(total.calls - total.unknown)}: ${total.cost:.4f} ({by_seat})"] if known else []
    unknown = [f"{_calls(total.unknown)} of unknown price"] if total.unknown else []
    written = tokens.written + tokens.written_hour
    return (
        f"{', and '.join([*priced, *unknown])}. Tokens: {tokens.fresh:,} fresh, "
        f"{tokens.cached:,} from cache, {written:,} written to it, {tokens.output:,} output."
    )


def _trouble(event: Rejected | CallFailed) -> str:
    if isinstance(event, Rejected):
        return f"  {event.turn}: the reply was rejected: {'; '.join(event.complaints)}"
    retry = "" if event.wait is None else f" Retried in {event.wait:.0f} s."
    return f"  {event.turn}: {event.trouble}{retry}"


def _size(text: str, reply: Reply, seconds: float, total_cost: float) -> str:
    """The length of a reply without its private working, what it took, and the model."""
    words = f"{sanitize.count_words(text):,} words" if text.strip() else "no word"
    money = f", ${reply.cost:.4f} (${total_cost:.4f} so far)" if reply.cost else ""
    return f"{words}{money}, {seconds:.1f} s, {model_spec.public_name(reply.by)}"


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count:,} calls"
