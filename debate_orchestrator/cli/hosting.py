"""The verbs of an agent host: `open`, `step`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from debate_orchestrator.cli import consent
from debate_orchestrator.cli.beginning import block, check, create, with_positions, write_report
from debate_orchestrator.cli.interrupts import terminated_like_interrupted
from debate_orchestrator.cli.output import complain, print_json, remark, say
from debate_orchestrator.cli.seating import permitted, unseated
from debate_orchestrator.cli.setup import settled
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.host.step import StepResult, take_step
from debate_orchestrator.host.turns_folder import TurnsFolder, read_reply
from debate_orchestrator.prompting.replies import LARGEST, decode
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.errors import BadReply, BadSettings, complaint


def open_debate(arguments: argparse.Namespace) -> int:
    """Writes the journal and lays out the first turns."""
    answers = settled(arguments)
    files = DebateFiles.of_output(answers.output)
    permissions = permitted(arguments)
    check(answers, files, terminal=False, permissions=permissions)
    answers, derived = with_positions(answers, remark, permissions)
    with create(answers, files, derived) as journal, terminated_like_interrupted():
        done = take_step(journal, TurnsFolder(files.turns, remark), {}, begun=True, permissions=permissions)
        return _told(done, journal, files, json=arguments.json, block=block(arguments, answers, files))


def step(arguments: argparse.Namespace) -> int:
    """Takes replies and lays out what is due then."""
    files = DebateFiles.of_journal(arguments.journal)
    given, unread = _replies(arguments.given)
    with JournalWriter(arguments.journal) as journal, terminated_like_interrupted():
        debate = DebateState(journal.events)
        _must_not_ask(debate, arguments.journal)
        consent.agree_to_debate(journal, debate, trusted=arguments.trust)
        folder = TurnsFolder(files.turns, remark)
        done = take_step(journal, folder, given, one_agent=arguments.one_agent, permissions=permitted(arguments))
        done = done.model_copy(update={"complaints": (*unread, *done.complaints)})
        return _told(done, journal, files, json=arguments.json)


def _must_not_ask(debate: DebateState, path: str) -> None:
    """BadAnswers where a person would have to be asked: a step asks nobody."""
    if debate.due() and unseated(debate.cast, terminal=False):
        hint = f"Go on at a terminal with `debate resume {path}`, or seat the host: `debate resume {path} --a host`."
        raise BadSettings(complaint("cast", "human", "seats that a step can take", hint))


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


def _told(
    done: StepResult, journal: JournalWriter, files: DebateFiles, *, json: bool, block: list[str] | None = None
) -> int:
    """Prints what a step did; writes the report when it was the last."""
    summary, page = write_report(journal, files) if done.done else (None, None)
    show = [*(block or []), *done.show]
    if json:
        told: dict[str, Any] = {
            "status": "done" if done.done else "waiting",
            "journal": files.journal,
            "show": show,
            "accepted": [one.model_dump(exclude_none=True) for one in done.accepted],
            "complaints": list(done.complaints),
            "turns": [_plain(one.model_dump()) for one in done.turns],
            "report": files.report if done.done else None,
            "page": page,
            "summary": summary,
        }
        print_json(told)
    else:
        for line in show:
            say(line)
        for one in done.accepted:
            remark(" ".join(filter(None, (f"accepted {one.turn} ({one.words} words)", one.remark))))
        for turn in done.turns:
            say(f"due: {turn.turn} ({turn.title})\n     brief {turn.brief}\n     reply {turn.reply}")
        if summary:
            say(summary)
        if page:
            remark(f"The same as a page: {page}")
    complain(done.complaints)
    return 2 if done.complaints else 0


def _plain(turn: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in turn.items() if key != "json_schema" or value is not None}
