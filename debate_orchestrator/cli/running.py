"""The verbs that move a debate on: `open`, `step`, `run`, `resume`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

from debate_orchestrator import opening, providers
from debate_orchestrator.answers import Answers
from debate_orchestrator.cli.output import complain, markdown_path, print_json, remark, say
from debate_orchestrator.cli.setup import interview, settled
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Event, Noted
from debate_orchestrator.datafiles import write_whole
from debate_orchestrator.drive import drive, record
from debate_orchestrator.errors import BadAnswers, BadReply, Paused, complaint
from debate_orchestrator.files import Files
from debate_orchestrator.host.desk import Desk, read_reply
from debate_orchestrator.host.stepping import Step
from debate_orchestrator.host.stepping import step as step_host
from debate_orchestrator.journal import Writer
from debate_orchestrator.replies import LARGEST, decode
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.story import closing, story


def open_debate(arguments: argparse.Namespace) -> int:
    """Writes the journal and lays out the first turns."""
    answers = settled(arguments)
    files = Files.of_output(answers.output)
    with _create(answers, files) as journal:
        done = step_host(journal, Desk(files.turns), {}, begun=True)
        return _told(done, journal, files, json=arguments.json, block=_block(arguments, answers, files))


def step(arguments: argparse.Namespace) -> int:
    """Takes replies and lays out what is due then."""
    files = Files.of_journal(arguments.journal)
    given, unread = _replies(arguments.given)
    with Writer(arguments.journal) as journal:
        done = step_host(journal, Desk(files.turns), given, one_agent=arguments.one_agent)
        done = done.model_copy(update={"complaints": (*unread, *done.complaints)})
        return _told(done, journal, files, json=arguments.json)


def _replies(pairs: list[str]) -> tuple[dict[str, str], list[str]]:
    given: dict[str, str] = {}
    complaints: list[str] = []
    for pair in pairs:
        turn, found, path = pair.partition("=")
        if not found:
            complaints.append(complaint("reply", repr(pair), "TURN=FILE", "As in 1.opening.a=speech.md"))
            continue
        try:
            if path == "-":
                given[turn] = decode(turn, sys.stdin.buffer.read(LARGEST + 1))
            else:
                given[turn] = read_reply(turn, path)
        except BadReply as error:
            complaints += error.complaints
    return given, complaints


def _told(done: Step, journal: Writer, files: Files, *, json: bool, block: list[str] | None = None) -> int:
    """Prints what a step did; writes the report when it was the last."""
    summary = _report(journal, files) if done.done else None
    show = [*(block or []), *done.show]
    if json:
        told: dict[str, Any] = {
            "status": "done" if done.done else "waiting",
            "journal": files.journal,
            "show": show,
            "accepted": [one.model_dump() for one in done.accepted],
            "complaints": list(done.complaints),
            "turns": [_plain(one.model_dump()) for one in done.turns],
            "report": files.report if done.done else None,
            "summary": summary,
        }
        print_json(told)
    else:
        for line in show:
            say(line)
        for one in done.accepted:
            remark(f"accepted {one.turn} ({one.words} words)")
        for turn in done.turns:
            say(f"due: {turn.turn} ({turn.title})\n     brief {turn.brief}\n     reply {turn.reply}")
        if summary:
            say(summary)
    complain(done.complaints)
    return 2 if done.complaints else 0


def _plain(turn: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in turn.items() if key != "json_schema" or value is not None}


def _report(journal: Writer, files: Files) -> str:
    from debate_orchestrator.reports import markdown

    told = story(journal.entries)
    write_whole(markdown_path(files.report), markdown.render(told))
    return closing(told, files.report)


def _create(answers: Answers, files: Files) -> Writer:
    wrong = providers.complaints(answers.cast)
    if not os.path.exists(files.journal):
        files.must_be_new()
    if answers.positions is None:
        hint = "Give --position-a and --position-b, or have the host derive them with `debate ask FILE`."
        wrong.append(complaint("positions", "none, or auto", "two positions, since nobody here can derive them", hint))
    if wrong:
        raise BadAnswers(wrong)
    providers.seated(answers.cast)  # a recording that can't be read is told before anything is written
    journal = Writer.create(files.journal, opening.opened(answers))
    if answers.one_agent:
        journal.append(Noted(note="one agent"))
    return journal


def _block(arguments: argparse.Namespace, answers: Answers, files: Files) -> list[str]:
    """The setup as confirmed, for a debate whose setup nobody has shown yet."""
    from debate_orchestrator.datafiles import read_mapping

    if arguments.answers and "setup" in read_mapping(arguments.answers):
        return []
    given = answers.model_dump() | {"output": files.report}
    return interview(answers.format).confirmed(given).split("\n")


def run(arguments: argparse.Namespace) -> int:
    """Opens a debate and drives it to its report."""
    answers = settled(arguments)
    files = Files.of_output(answers.output)
    with _create(answers, files) as journal:
        if not arguments.quiet and not arguments.json:
            for line in _block(arguments, answers, files):
                remark(line)
        return _drive(journal, files, arguments)


def resume(arguments: argparse.Namespace) -> int:
    """Drives a debate on from its journal."""
    with Writer(arguments.journal) as journal:
        return _drive(journal, Files.of_journal(arguments.journal), arguments)


def _drive(journal: Writer, files: Files, arguments: argparse.Namespace) -> int:
    debate = Debate(journal.events)
    if debate.due() and (changed := opening.changed_prompts(debate)) is not None:
        record(journal, debate, changed)
    seats: Mapping[str, providers.Provider] = providers.seated(debate.opened.cast)
    asyncio.run(drive(journal, debate, seats, None if arguments.quiet or arguments.json else _Progress(debate)))
    due = debate.due()
    if due:
        names = ", ".join(turn.id for turn in due)
        hint = f"Take them with `debate step {files.journal}`."
        raise Paused(complaint(files.journal, f"turns that wait for the host: {names}", "their replies", hint))
    summary = _report(journal, files)
    if arguments.json:
        print_json({"status": "done", "journal": files.journal, "report": files.report, "summary": summary})
    else:
        say(summary)
    return 0


class _Progress:
    """Says on stderr what is announced as it happens."""

    def __init__(self, debate: Debate):
        self._said = len(announcements(debate)) if debate.answers else 0

    def __call__(self, debate: Debate, event: Event) -> None:
        now = announcements(debate)
        try:
            for line in now[self._said :]:
                remark(line)
        except OSError:
            pass  # nobody listens any more; the debate goes on
        self._said = len(now)
