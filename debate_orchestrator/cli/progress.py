"""What is said on stderr while a debate runs and nobody watches: what is announced, one line a turn, and any
trouble; or each event, for a program."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable

from debate_orchestrator.cli.output import remark
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Answer, Asked, CallFailed, Event, Rejected, Reply
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.prompting.briefs import Brief, brief_file
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.util import model_spec, sanitize


class Progress:
    """Says what happens, as it happens; nothing where it is to be quiet."""

    def __init__(self, debate: DebateState, *, quiet: bool = False, now: Callable[[], float] = time.monotonic):
        self._quiet, self._now = quiet, now
        self._said = 0 if quiet or not debate.answers else len(announcements(debate))
        self._asked: dict[str, float] = {}

    def __call__(self, debate: DebateState, event: Event) -> None:
        if self._quiet:
            return
        lines = [_trouble(event)] if isinstance(event, Rejected | CallFailed) else []
        if isinstance(event, Asked):
            self._asked.setdefault(event.turn, self._now())
        if isinstance(event, Answer) and not isinstance(event, Rejected):
            seconds = self._now() - self._asked.get(event.turn, self._now())
            size = _size(debate.public(event.reply.text), event.reply, seconds, costs_of(debate).total.cost)
            lines.append(f"  {event.turn}: {size}")
        if said := wording.announced(debate, event):
            lines.append(said)
        now = announcements(debate)
        lines += [line.text for line in now[self._said :]]
        self._said = len(now)
        try:
            for line in lines:
                remark(line)
        except OSError:
            pass  # nobody listens any more; the debate goes on


class Events:
    """Tells each event to a program, one JSON object a line, those on record already first."""

    def __init__(self, events: Iterable[Event]):
        for event in events:
            self._tell(event)

    def __call__(self, debate: DebateState, event: Event) -> None:
        self._tell(event)

    @staticmethod
    def _tell(event: Event) -> None:
        try:
            print(json.dumps({"schema": 1, "event": event.model_dump(mode="json")}), file=sys.stderr, flush=True)
        except OSError:
            pass  # nobody listens any more; the debate goes on


def _trouble(event: Rejected | CallFailed) -> str:
    if isinstance(event, Rejected):
        return f"  {event.turn}: a reply that will not do: {'; '.join(event.complaints)}"
    then = "" if event.wait is None else f" Asked again in {event.wait:.0f} s."
    return f"  {event.turn}: {event.trouble}{then}"


def _size(text: str, reply: Reply, seconds: float, so_far: float) -> str:
    """How long a reply is without its private working, what it took, and who gave it."""
    words = f"{sanitize.count_words(text):,} words" if text.strip() else "no word"
    money = f", ${reply.cost:.4f} (${so_far:.4f} so far)" if reply.cost else ""
    return f"{words}{money}, {seconds:.1f} s, {model_spec.public_name(reply.by)}"


def spent(debate: DebateState) -> str:
    """What the calls have cost, in a line; empty where there were none."""
    made = costs_of(debate)
    total = made.total
    if not total.calls:
        return ""
    tokens = total.usage
    known = {seat: line.cost for seat, line in made.of_seats().items() if line.calls > line.unknown}
    each = ", ".join(f"{seat} ${cost:.4f}" for seat, cost in known.items())
    priced = [f"{_calls(total.calls - total.unknown)}: ${total.cost:.4f} ({each})"] if known else []
    unknown = [f"{_calls(total.unknown)} of unknown price"] if total.unknown else []
    written = tokens.written + tokens.written_hour
    return (
        f"{', and '.join([*priced, *unknown])}. Tokens: {tokens.fresh:,} fresh, "
        f"{tokens.cached:,} from cache, {written:,} written to it, {tokens.output:,} output."
    )


def _calls(n: int) -> str:
    return "1 call" if n == 1 else f"{n:,} calls"


class Prompts:
    """Writes each brief into the folder of turns, so that a rehearsal shows all that would be sent to a model."""

    def __init__(self, folder: TurnsFolder):
        self._folder = folder

    def __call__(self, debate: DebateState, turn: Turn, brief: Brief) -> None:
        files = self._folder.place(turn.id, brief.wants)
        self._folder.lay(files, brief_file(brief, debate, turn, os.path.basename(files.reply)))
