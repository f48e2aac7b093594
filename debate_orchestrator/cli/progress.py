"""What is printed on stderr while a debate runs, and what it has cost: announcements and one line a turn for people, or
events as JSON. A rehearsal also writes its briefs to files."""

from __future__ import annotations

import os
import time

from debate_orchestrator.cli.output import (
    print_json_line,
    print_status,
)
from debate_orchestrator.core import rapporteur, schedule, speech_rules
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import CallFailed, CallIntended, Event, Rejected, ReplyEvent, StructuredReplyGiven
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.prompting.briefs import Brief, brief_file
from debate_orchestrator.prompting.normalize import dropped_turns
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.announcements import Announcer
from debate_orchestrator.util import model_spec, sanitize
from debate_orchestrator.util.numbers import plural


class ProgressLines:
    """Prints what happens as text; announcements that were printed before the debate paused are left out."""

    def __init__(self, debate: DebateState):
        self._announcer = Announcer()
        if debate.replies:
            self._announcer.new(debate)
        self._started: dict[str, float] = {}

    def __call__(self, debate: DebateState, event: Event) -> None:
        lines = []
        if isinstance(event, CallFailed | Rejected) and not _rejected_in_earlier_debate(event):
            lines.append(_problem_line(debate, event))
        if isinstance(event, CallIntended):
            self._started.setdefault(event.turn_id, time.monotonic())
        if isinstance(event, ReplyEvent) and not isinstance(event, Rejected):
            seconds = time.monotonic() - self._started.get(event.turn_id, time.monotonic())
            text = speech_rules.without_private_working(debate, event.reply.text)
            changes_text = "".join(f"; {change}" for change in _dropped_turns(debate, event))
            lines.append(
                f"  {event.turn_id}: {_size(text, event.reply, seconds, costs_of(debate).total.cost)}{changes_text}"
            )
        if line := wording.user_event_text(debate, event):
            lines.append(line)
        lines += [line.shown_alone(debate) for line in self._announcer.new(debate)]
        for line in lines:
            print_status(line)


def print_event(debate: DebateState, event: Event) -> None:
    print_json_line({"event": event.model_dump(mode="json")})


def write_brief(folder: TurnsFolder, debate: DebateState, turn: Turn, brief: Brief) -> None:
    """Writes the brief of a turn to a folder, so that a rehearsal shows what a model would be sent."""
    turn_files = folder.turn_files(turn.id, brief.wants)
    folder.write_brief(turn_files, brief_file(brief, debate, turn, os.path.basename(turn_files.reply)))


def spending_line(debate: DebateState) -> str:
    """What the calls have cost, in a line; empty if there were none."""
    costs = costs_of(debate)
    total = costs.total
    if not total.calls:
        return ""
    tokens = total.usage
    priced_seats = {seat: line.cost for seat, line in costs.of_seats().items() if line.calls > line.unpriced_calls}
    by_seat = ", ".join(f"{seat} ${cost:.4f}" for seat, cost in priced_seats.items())
    priced = (
        [f"{plural(total.calls - total.unpriced_calls, 'call')}: ${total.cost:.4f} ({by_seat})"] if priced_seats else []
    )
    unknown = [f"{plural(total.unpriced_calls, 'call')} of unknown price"] if total.unpriced_calls else []
    cache_writes = tokens.cache_write_5m + tokens.cache_write_1h
    calls = f"{', and '.join([*priced, *unknown])}."
    if not any((tokens.uncached_input, tokens.cached, cache_writes, tokens.output)):
        return calls
    return (
        f"{calls} Tokens: {tokens.uncached_input:,} fresh, "
        f"{tokens.cached:,} from cache, {cache_writes:,} written to it, {tokens.output:,} output."
    )


def _dropped_turns(debate: DebateState, event: ReplyEvent) -> list[str]:
    """The turns that were taken out of a reply, unless the reply must stay hidden."""
    is_shown = not rapporteur.is_hidden_advice(debate, schedule.turn(debate, event.turn_id))
    return dropped_turns(event.changes) if is_shown and isinstance(event, StructuredReplyGiven) else []


def _rejected_in_earlier_debate(event: Rejected | CallFailed) -> bool:
    """Whether this is a reply that was rejected in the debate that is judged again."""
    return isinstance(event, Rejected) and model_spec.kind(event.reply.spec) == model_spec.REPLAY


def _problem_line(debate: DebateState, event: Rejected | CallFailed) -> str:
    """Why a reply does not count or a call failed. The problem may quote a reply that must stay hidden."""
    if isinstance(event, Rejected) and rapporteur.is_hidden_advice(debate, schedule.turn(debate, event.turn_id)):
        return f"  {event.turn_id}: the reply was rejected: it is not what was asked for."
    if isinstance(event, Rejected):
        return f"  {event.turn_id}: the reply was rejected: {' '.join(event.problems)}"
    retry = "" if event.wait is None else f" Retried in {event.wait:.0f} s."
    return f"  {event.turn_id}: {event.problem}{retry}"


def _size(text: str, reply: Reply, seconds: float, total_cost: float) -> str:
    """The length of a reply without its private working, what it took, and the model."""
    words = f"{sanitize.count_words(text):,} words" if text.strip() else "no word"
    money = f", ${reply.cost:.4f} (${total_cost:.4f} so far)" if reply.cost else ""
    return f"{words}{money}, {seconds:.1f} s, {model_spec.public_name(reply.spec)}"
