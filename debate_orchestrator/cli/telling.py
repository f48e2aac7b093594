"""The verbs that read: `report`, `replay`, `demo`, `check`, `formats`."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

from debate_orchestrator import formats as formats_
from debate_orchestrator import library, providers
from debate_orchestrator.cli.output import print_json, remark, say
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Answer, Event, Opened
from debate_orchestrator.core.rules import JUDGE
from debate_orchestrator.datafiles import write_whole
from debate_orchestrator.drive import drive
from debate_orchestrator.errors import BadAnswers, BadFile, DebateError, complaint, shown
from debate_orchestrator.files import JOURNAL, Files
from debate_orchestrator.journal import Entry, Writer, read
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.story import closing, story


def nothing(arguments: argparse.Namespace) -> int:
    """What `debate` alone says."""
    say("debate: guided debates with a judge, a verdict and the dissent on record.\n")
    say("  debate demo                   replay a real debate: no key, no network")
    say("  debate answers > a.yaml       an answers file to start from, for `debate open --answers a.yaml`")
    say("  debate ask a.yaml             the setup conversation, question by question, for agent hosts")
    say("  debate --help                 every verb")
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Writes the report of a journal again."""
    told = story(read(arguments.journal).entries)
    path = _markdown(arguments.to) if arguments.to else Files.of_journal(arguments.journal).report
    write_whole(path, markdown.render(told))
    if arguments.json:
        print_json({"status": told.status, "report": path, "summary": closing(told, path)})
    else:
        say(closing(told, path))
    return 0


def _markdown(path: str) -> str:
    if not path.endswith(".md"):
        raise BadFile(complaint("--to", shown(path), "a file that ends in .md"))
    return path


def replay(arguments: argparse.Namespace) -> int:
    """Plays a journal through the real loop, with the recorded replies in every seat."""
    recorded = read(arguments.journal).entries
    opened = recorded[0].event
    assert isinstance(opened, Opened)
    spec = f"replay:{arguments.journal}"
    cast = {seat: tuple(spec for _ in who) for seat, who in opened.cast.items()}
    seats: dict[str, providers.Provider] = {}
    one = next(iter(providers.seated({JUDGE: (spec,)}).values()))
    seats = {turn_seat: one for turn_seat in providers.seated(cast)}
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
        write_whole(_markdown(arguments.to), markdown.render(told))
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


def check(arguments: argparse.Namespace) -> int:
    """Says whether a journal is whole, unchanged and complete; exit 3 where work is left, 2 where it is damaged."""
    reading = read(arguments.journal)
    debate = Debate(reading.events)
    due = [turn.id for turn in debate.due()]
    found: dict[str, Any] = {
        "journal": arguments.journal,
        "lines": len(reading.entries),
        "unchanged": True,
        "torn_bytes": reading.torn,
        "complete": not due,
        "due": due,
        "in_flight": [turn for turn in debate.asked if turn not in debate.answers],
        "prompts": "as recorded" if debate.opened.prompts == _digests(debate) else "changed since",
        "head": reading.entries[-1].hash,
    }
    if arguments.json:
        print_json({"status": "complete" if not due else "waiting", **found})
    else:
        say(f"{arguments.journal}: {found['lines']} lines, every one as it was written (head {found['head'][:16]}).")
        if reading.torn:
            say(f"{reading.torn} bytes of a line that a crash cut short follow; the next writer trims them.")
        if found["prompts"] != "as recorded":
            say("The prompts of this installation are not those it was opened with.")
        say(f"Not complete: {', '.join(due)} due." if due else "Complete.")
    return 3 if due or reading.torn else 0


def _digests(debate: Debate) -> dict[str, str] | None:
    try:
        return library.digests(debate.format.name)
    except DebateError:
        return None


def formats(arguments: argparse.Namespace) -> int:
    """Lists the formats, or unrolls one from its data."""
    if not arguments.name:
        made = [formats_.load(name) for name in library.format_names()]
        if arguments.json:
            print_json({"formats": [{"name": one.name, "title": one.title, "about": one.about} for one in made]})
        else:
            for one in made:
                say(f"{one.name}: {one.about}")
        return 0
    one = formats_.load(arguments.name)
    rounds = one.rounds.default if arguments.rounds is None else arguments.rounds
    strictness = arguments.strictness or list(one.rubric.strictness)[-1]
    wrong = []
    if not 1 <= rounds <= one.rounds.insist:
        wrong.append(complaint("--rounds", str(rounds), f"1 to {one.rounds.insist}"))
    if strictness not in one.rubric.strictness:
        wrong.append(complaint("--strictness", shown(strictness), " or ".join(one.rubric.strictness)))
    if wrong:
        raise BadAnswers(wrong)
    stages = formats_.agenda(one, rounds, strictness)
    if arguments.json:
        agenda = [{"part": part, "order": how, "turns": ids} for part, how, ids in stages]
        print_json({"format": one.model_dump(mode="json"), "rounds": rounds, "agenda": agenda})
        return 0
    say(f"{one.title} ({one.name})\n{one.about}\n")
    part = ""
    for name, how, ids in stages:
        if name != part:
            part = name
            say(part)
        say(f"  {', '.join(ids):44} {how if len(ids) > 1 or 'only' in how else ''}".rstrip())
    say(f"\nRubric {one.rubric.name}, {one.rubric.least:g} to {one.rubric.most:g}:")
    for key, criterion in one.rubric.criteria.items():
        if criterion.when.holds(rounds=rounds, strictness=strictness):
            say(f"  {key}: {criterion.about}")
    for key, mode in one.rubric.strictness.items():
        say(f"Judge {key}: {mode.about}")
    return 0
