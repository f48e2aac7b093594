"""The verbs that play a debate again: `replay`, `demo`."""

from __future__ import annotations

import argparse

from debate_orchestrator import library
from debate_orchestrator.cli.output import markdown_path, print_json, say
from debate_orchestrator.core import presentation
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Answer, Event
from debate_orchestrator.datafiles import write_whole
from debate_orchestrator.errors import BadAnswers, complaint, shown
from debate_orchestrator.files import JOURNAL
from debate_orchestrator.journal import read
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.story import closing, story
from debate_orchestrator.speech import one_line


def replay(arguments: argparse.Namespace) -> int:
    """Plays a journal again, event by event, and tells it."""
    recorded = read(arguments.journal).entries
    if not arguments.quiet and not arguments.json:
        opened, *events = (entry.event for entry in recorded)
        debate = Debate([opened])
        player = _Player(debate)
        for event in events:
            debate.take(event)
            player(debate, event)
    told = story(recorded)
    if arguments.to:
        write_whole(markdown_path(arguments.to), markdown.render(told))
    summary = closing(told, arguments.to)
    if arguments.json:
        print_json({"status": told.status, "report": arguments.to, "summary": summary})
    else:
        say(summary)
    return 0


class _Player:
    """Prints a debate as it is played: what it is about, banners, speeches, scores."""

    def __init__(self, debate: Debate) -> None:
        self._said = 0
        setup, rules = debate.opened.setup, debate.format
        say(f"Topic: {one_line(setup.topic)}")
        for side in rules.sides:
            label = f" ({rules.seats[side].side})" if rules.seats[side].side else ""
            say(f"{rules.name_of(side)}{label}: {one_line(setup.positions[side])}")

    def __call__(self, debate: Debate, event: Event) -> None:
        if isinstance(event, Answer):
            turn = debate.turn(event.turn)
            if turn.speaking or debate.shape(turn) is None:
                said = presentation.shown(debate, turn)
                say(f"\n{debate.format.heading_of(turn)}\n\n{said.text.strip()}\n")
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
    quiet = arguments.quiet or arguments.json
    if not quiet:
        say(f"A recorded debate, played again ({name}; `debate demo --list` has more).\n")
    code = replay(arguments)
    if not quiet:
        say("\nIts report: `debate demo --to report.md`. A debate of your own: `debate run --topic ...`.")
    return code
