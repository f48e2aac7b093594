"""`debate replay` plays a journal again: in the live view at a terminal, otherwise as text."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.controls import live_view, terminal_control
from debate_orchestrator.cli.journals import find_journal
from debate_orchestrator.cli.output import next_step, print_json, print_quoted, print_result, print_status
from debate_orchestrator.core import schedule, transcript_entries
from debate_orchestrator.core.events import Event, ReplyEvent
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.visible_text import quote_results, with_quotation_marks
from debate_orchestrator.reports import report_files, wording
from debate_orchestrator.reports.announcements import Announcer
from debate_orchestrator.reports.model import report_of, summary_line
from debate_orchestrator.reports.provenance import rehearsed_seats
from debate_orchestrator.setup.answers import number
from debate_orchestrator.storage.journal import is_being_written, read
from debate_orchestrator.storage.journal_lines import state_of_events
from debate_orchestrator.util import coroutines, model_spec
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadSettings, short_repr
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.sanitize import one_line

if TYPE_CHECKING:
    from debate_orchestrator.terminal.live import LiveView

_PACE = 600.0
"""Words per minute by default: slower than skimming, faster than reading aloud."""
_MAX_SPEED = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser)
    flags.add_replay(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    arguments.journal = find_journal(arguments.journal)
    pace = checked_pace(arguments)
    play_journal(arguments, arguments.journal, pace, command("replay", arguments.journal))
    if not arguments.quiet and not arguments.json:
        debate = state_of_events(arguments.journal, read(arguments.journal).events)
        if debate.due:
            next_step(f"`{wording.next_command(debate, arguments.journal)}` continues it.")
        elif rehearsed_seats(debate):
            next_step(f"`{command('answers --from', arguments.journal)}` prints the answers of the real debate.")
        else:
            next_step(f"`{command('judge', arguments.journal)}` judges it again.")
    return 0


def checked_pace(arguments: argparse.Namespace) -> float | None:
    """The pace in words per minute; None for all at once. Raises BadSettings or BadFile for a bad pace or --to."""
    if arguments.to:
        report_files.checked_path(arguments.to)
    if arguments.no_pace:
        return None
    pace = _PACE if arguments.pace is None else number(arguments.pace)
    if not isinstance(pace, float) or not 1 <= pace <= _MAX_SPEED:
        value = short_repr(arguments.pace)
        raise BadSettings(f"--pace must be words per minute, from 1 to {_MAX_SPEED:,}, not {value}.")
    return pace


def play_journal(arguments: argparse.Namespace, journal: str, pace: float | None, replay_command: str) -> bool:
    """Plays a journal and writes its report to --to; whether to its end. `replay_command` plays it again."""
    to, entries = arguments.to, read(journal).entries
    report = report_of(journal, entries)
    finished = True
    if not arguments.quiet and not arguments.json:
        opened, *events = (entry.event for entry in entries)
        finished = _play(fold([opened]), events, pace)
    if to:
        report_files.write(report, to, print_status)
    if finished:
        summary = summary_line(report, to, under_way=is_being_written(journal))
    else:  # it does not say how the debate ends
        where = (
            f"Its report was written to {name_of(to)}."
            if to
            else f"`{replay_command} --to report.md` writes its report."
        )
        summary = f"Left before the end. `{replay_command}` plays it again, and any key skips a speech. {where}"
    if arguments.json:
        print_json({"status": report.status, "report": to, "summary": summary})
    else:
        print_result(summary)
    return finished


def _play(debate: DebateState, events: list[Event], pace: float | None) -> bool:
    """Plays the events of a debate; returns whether it was played to its end."""
    _print_header(debate)
    live = live_view(debate, sys.stdout, money=False)
    if live is not None:
        try:
            return coroutines.run(_play_live(debate, events, pace, live))
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the replay was left.") from None
    announcer = Announcer()
    for event in events:
        debate = apply(debate, event)
        _print_event(debate, event)
        for line in announcer.new_announcements(debate):
            # A judge's words are indented, as speeches are, so that they pass for no announcement.
            lines = _indented(line.text) if line.kind == "reason" else line.text.split("\n")
            print_quoted(*[""] * line.begins_part, *lines)
    return True


async def _play_live(debate: DebateState, events: list[Event], pace: float | None, live: LiveView) -> bool:
    from debate_orchestrator.terminal.player import Player

    player = Player(debate, events, live, pace)
    async with terminal_control(live, player.press) as terminal:
        if terminal is not None and terminal.reads_keys:
            player.show_keys()
        return await player.play()


def _print_header(debate: DebateState) -> None:
    settings, format = debate.opened.settings, debate.format
    print_quoted(f"Topic: {one_line(settings.topic)}")
    for side in format.sides:
        print_quoted(f"{format.full_name_of(side)}: {one_line(settings.positions[side])}")


def _print_event(debate: DebateState, event: Event) -> None:
    """Prints the speech that an event brought, unless it was rejected, and what the event announces."""
    if isinstance(event, ReplyEvent) and event.turn_id in debate.replies:
        turn = schedule.turn(debate, event.turn_id)
        if turn.speaking or debate.shape(turn) is None:
            entry = transcript_entries.entry(debate, turn)
            text = with_quotation_marks(entry.text.strip(), debate.format.checked_tags)
            text = wording.filler_in_place(text) if model_spec.is_stand_in(event.reply.spec) else text
            print_quoted("", debate.format.heading_of(turn), "", *_indented(text), "", *quote_results(entry.quotes))
    if line := wording.user_event_text(debate, event):
        print_quoted("", line)


def _indented(text: str) -> list[str]:
    """The lines of what was said, which begin further right than those of this program."""
    return [f"  {line}" if line.strip() else "" for line in text.split("\n")]
