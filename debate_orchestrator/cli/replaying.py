"""The verbs that play a debate again: `replay`, `demo`."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from debate_orchestrator import library, providers
from debate_orchestrator.cli.output import markdown_path, print_json, remark, say
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Answer, Event, Opened
from debate_orchestrator.core.rules import JUDGE
from debate_orchestrator.datafiles import write_whole
from debate_orchestrator.drive import drive
from debate_orchestrator.errors import BadAnswers, DebateError, complaint, shown
from debate_orchestrator.files import JOURNAL
from debate_orchestrator.journal import Entry, Writer, read
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.story import closing, story


def replay(arguments: argparse.Namespace) -> int:
    """Plays a journal through the real loop, with the recorded replies in every seat."""
    recorded = read(arguments.journal).entries
    opened = recorded[0].event
    assert isinstance(opened, Opened)
    spec = f"replay:{arguments.journal}"
    cast = {seat: tuple(spec for _ in who) for seat, who in opened.cast.items()}
    seats: dict[str, providers.Provider] = {}
    one = next(iter(providers.seated({JUDGE: (spec,)}).values()))
    seats = dict.fromkeys(providers.seated(cast), one)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"replay{JOURNAL}"
        with Writer.create(path, opened, clock=lambda: recorded[0].at) as journal:
            debate = Debate(journal.events)
            watch = None if arguments.quiet or arguments.json else _Player()
            try:
                asyncio.run(drive(journal, debate, seats, watch))
            except DebateError as error:
                if not debate.answers:
                    raise
                remark(f"The recording ends here: {error.complaints[0]}")
            return _played(arguments, _retold(recorded, journal.entries))


def _retold(recorded: list[Entry], played: list[Entry]) -> list[Entry]:
    """What was played, with the record's own account of who spoke."""
    said = {entry.event.turn: entry for entry in recorded if isinstance(entry.event, Answer)}
    notes = [entry for entry in recorded if entry.event.kind == "noted"]
    events = [said.get(e.event.turn, e) if isinstance(e.event, Answer) else e for e in played]
    return [events[0], *notes, *events[1:]]


def _played(arguments: argparse.Namespace, entries: list[Entry]) -> int:
    told = story(entries)
    if arguments.to:
        write_whole(markdown_path(arguments.to), markdown.render(told))
    summary = closing(told, arguments.to or "nowhere (--to FILE writes it)")
    if arguments.json:
        print_json({"status": told.status, "report": arguments.to, "summary": summary})
    else:
        say(summary)
    return 0


class _Player:
    """Prints a debate as it is played: banners, speeches, scores."""

    def __init__(self) -> None:
        self._said = 0

    def __call__(self, debate: Debate, event: Event) -> None:
        if isinstance(event, Answer):
            turn = debate.turn(event.turn)
            if debate.shape(turn) is None:
                say(f"\n{debate.format.heading_of(turn)}\n\n{event.reply.text.strip()}\n")
        now = announcements(debate)
        for line in now[self._said :]:
            say(f"\n{line}" if line.startswith(("---", "[")) else line)
        self._said = len(now)


def demo(arguments: argparse.Namespace) -> int:
    """Replays a debate that ships with the package."""
    shelf = {path.parent.name: path for path in sorted(library.folder("examples").glob(f"*/*{JOURNAL}"))}
    if arguments.list:
        if arguments.json:
            print_json({"debates": list(shelf)})
        for name in [] if arguments.json else shelf:
            say(name)
        return 0
    name = arguments.name or next(iter(shelf), "")
    if name not in shelf:
        raise BadAnswers(complaint("--name", shown(name), "one of " + ", ".join(shelf)))
    arguments.journal = str(shelf[name])
    return replay(arguments)
