"""The verbs that play a debate again: `replay`, `demo`."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys

from debate_orchestrator.cli.driving import Shown, watched
from debate_orchestrator.cli.output import print_json, remark, say
from debate_orchestrator.cli.setup import amount
from debate_orchestrator.core import transcript
from debate_orchestrator.core.events import Answer, Event
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports import forms, wording
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.model import build_report, closing_line
from debate_orchestrator.reports.review_files import gather_reviews
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadSettings, complaint, short_repr
from debate_orchestrator.util.sanitize import one_line

_PACE = 600.0
"""Words a minute where nobody says how many: slower than a glance, faster than aloud."""
_FASTEST = 100_000
"""Words a minute at most."""


def replay(arguments: argparse.Namespace) -> int:
    """Plays a journal again, event by event, and tells it."""
    return _replayed(arguments, f"debate replay {shlex.quote(arguments.journal)}")[0]


def _replayed(arguments: argparse.Namespace, again: str) -> tuple[int, bool]:
    """Plays a journal again, as the command `again` does: the exit code, and whether it was seen to its end."""
    pace = _pace(arguments)
    if arguments.to:
        forms.place(arguments.to)
    seen = True
    recorded = read(arguments.journal).entries
    told = build_report(recorded, gather_reviews(DebateFiles.of_journal(arguments.journal).ballots, recorded))
    if not arguments.quiet and not arguments.json:
        opened, *events = (entry.event for entry in recorded)
        seen = _play(DebateState([opened]), events, pace)
    if arguments.to:
        forms.write(told, arguments.to, remark)
    summary = closing_line(told, arguments.to) if seen else _rest(again, arguments.to)
    if arguments.json:
        print_json({"status": told.status, "report": arguments.to, "summary": summary})
    else:
        say(summary)
    return 0, seen


def _rest(again: str, to: str | None) -> str:
    """How to see the rest of a debate that was left, without a word on how it ends."""
    report = f"Its report was written to {to}." if to else f"`{again} --to report.md` writes its report."
    return f"Left before the end. `{again}` plays it again, and any key skips a speech. {report}"


def _pace(arguments: argparse.Namespace) -> float | None:
    """Words a minute; None for all at once."""
    if arguments.no_pace:
        return None
    given = _PACE if arguments.pace is None else amount(arguments.pace)
    if not isinstance(given, float) or not 1 <= given <= _FASTEST:
        raise BadSettings(complaint("--pace", short_repr(arguments.pace), f"words a minute, from 1 to {_FASTEST:,}"))
    return given


def _play(debate: DebateState, events: list[Event], pace: float | None) -> bool:
    """Shows a debate again: live where somebody watches, and otherwise as plain text; whether to its end."""
    _begin(debate)
    on_event = watched(debate, sys.stdout, money=False)
    if on_event is not None:
        try:
            return asyncio.run(_played(debate, events, pace, on_event))
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the replay was left.") from None
    player = _Plain()
    for event in events:
        debate.take(event)
        player(debate, event)
    return True


async def _played(debate: DebateState, events: list[Event], pace: float | None, on_event: Shown) -> bool:
    from debate_orchestrator.terminal.player import Player

    player = Player(debate, events, on_event.live, pace)
    async with on_event.session(player.press) as session:
        if session.reads_keys:
            player.show_keys()
        return await player.play()


def _begin(debate: DebateState) -> None:
    """What it is about, and who argues what."""
    setup, rules = debate.opened.setup, debate.format
    say(f"Topic: {one_line(setup.topic)}")
    for side in rules.sides:
        label = f" ({rules.seats[side].side})" if rules.seats[side].side else ""
        say(f"{rules.name_of(side)}{label}: {one_line(setup.positions[side])}")


class _Plain:
    """Prints a debate as it is played: banners, speeches, scores."""

    def __init__(self) -> None:
        self._said = 0

    def __call__(self, debate: DebateState, event: Event) -> None:
        if isinstance(event, Answer) and event.turn in debate.answers:  # not one that would not do
            turn = debate.turn(event.turn)
            if turn.speaking or debate.shape(turn) is None:
                said = transcript.entry(debate, turn)
                say(f"\n{debate.format.heading_of(turn)}\n\n{said.text.strip()}\n")
        if interruption := wording.announced(debate, event):
            say(f"\n{interruption}")
        now = announcements(debate)
        for line in now[self._said :]:
            say(f"\n{line.text}" if line.heading else line.text)
        self._said = len(now)


def demo(arguments: argparse.Namespace) -> int:
    """Replays a debate that ships with the package."""
    shelf = {path.parent.name: path for path in sorted(resources.folder("examples").glob(f"*/*{JOURNAL}"))}
    if arguments.list:
        if arguments.json:
            print_json({"debates": list(shelf)})
        for name in [] if arguments.json else shelf:
            say(name)
        return 0
    name = arguments.name or next(iter(shelf), "")
    if name not in shelf:
        raise BadSettings(complaint("--name", short_repr(name), "one of " + ", ".join(shelf)))
    arguments.journal = str(shelf[name])
    quiet = arguments.quiet or arguments.json
    _pace(arguments)  # a pace that is none, and a report that can't be, are told before anything else
    if arguments.to:
        forms.place(arguments.to)
    if not quiet:
        say(f"A recorded debate, played again ({name}; `debate demo --list` has more).\n")
    again = f"debate demo --name {name}" if arguments.name else "debate demo"
    code, seen = _replayed(arguments, again)
    if not quiet and seen:
        report = "" if arguments.to else f"Its report: `{again} --to report.md`. "
        say(f"\n{report}A debate of your own: `debate`.")
    return code
