"""`debate step`: takes the replies of an agent host and prints the turns that are due then."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.debates import ConsentedDebate, existing_debate
from debate_orchestrator.cli.driving import write_reports
from debate_orchestrator.cli.interrupts import terminated_like_interrupted
from debate_orchestrator.cli.output import print_errors, print_json, remark, say
from debate_orchestrator.cli.people import people_errors
from debate_orchestrator.core.events import Event
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.host.step import StepResult, take_step
from debate_orchestrator.host.turns_folder import TurnsFolder, read_reply
from debate_orchestrator.prompting.replies import LARGEST, decode
from debate_orchestrator.util.errors import BadReply, BadSettings

EXAMPLE = "debate step debate-report.journal.jsonl --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL")
    about = "a reply that lies elsewhere; TURN=- reads standard input"
    parser.add_argument("given", nargs="*", metavar="TURN=FILE", help=about)
    parser.add_argument("--one-agent", action="store_true", help="record that one agent takes every turn")
    flags.add_trust(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    def refuse_people(state: DebateState) -> list[Event]:
        """Raises BadSettings if a person has a seat, since a step asks nothing; changes nothing."""
        if state.due and people_errors(state.cast, terminal=False):
            resume = f"debate resume {arguments.journal}"
            raise BadSettings(
                f"cast: a human has a seat, and `debate step` can't ask a person. Go on at a terminal with `{resume}`, "
                f"or seat the host: `{resume} --a host`."
            )
        return []

    replies, errors = _read_replies(arguments.given)
    with (
        existing_debate(arguments.journal, refuse_people, trusted=arguments.trust) as debate,
        terminated_like_interrupted(),
    ):
        folder = TurnsFolder(debate.files.turns, remark)
        permissions = flags.permitted(arguments)
        result = take_step(debate.journal, folder, replies, one_agent=arguments.one_agent, permissions=permissions)
        result = result.model_copy(update={"complaints": (*errors, *result.complaints)})
        return print_step(result, debate, as_json=arguments.json)


def _read_replies(pairs: list[str]) -> tuple[dict[str, str], list[str]]:
    """The replies of TURN=FILE arguments by turn, and the errors in the others."""
    replies: dict[str, str] = {}
    errors: list[str] = []
    for pair in pairs:
        turn, equals, path = pair.partition("=")
        if not equals:
            errors.append(f"{pair!r} is not a reply. Try: TURN=FILE, as in 1.opening.a=speech.md.")
            continue
        try:
            replies[turn] = decode(turn, sys.stdin.buffer.read(LARGEST + 1)) if path == "-" else read_reply(turn, path)
        except BadReply as error:
            errors += error.complaints
    return replies, errors


def print_step(result: StepResult, debate: ConsentedDebate, *, as_json: bool, setup: list[str] | None = None) -> int:
    """Prints what a step did and the turns that are due, after the lines of the `setup`; writes the reports if it was
    the last. Returns the exit code."""
    files = debate.files
    written = write_reports(debate.journal, files) if result.done else None
    summary, page = written or (None, None)
    show = [*(setup or []), *result.show]
    if as_json:
        fields: dict[str, Any] = {
            "status": "done" if result.done else "waiting",
            "journal": files.journal,
            "show": show,
            "accepted": [reply.model_dump(exclude_none=True) for reply in result.accepted],
            "complaints": list(result.complaints),
            "turns": [_without_null_schema(turn.model_dump()) for turn in result.turns],
            "report": files.report if result.done else None,
            "page": page,
            "summary": summary,
        }
        print_json(fields)
    else:
        for line in show:
            say(line)
        for reply in result.accepted:
            remark(" ".join(filter(None, (f"accepted {reply.turn} ({reply.words} words)", reply.remark))))
        for turn in result.turns:
            say(f"due: {turn.turn} ({turn.title})\n     brief {turn.brief}\n     reply {turn.reply}")
        if summary:
            say(summary)
        if page:
            remark(f"The same as a page: {page}")
    print_errors(result.complaints)
    return 2 if result.complaints else 0


def _without_null_schema(turn: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in turn.items() if key != "json_schema" or value is not None}
