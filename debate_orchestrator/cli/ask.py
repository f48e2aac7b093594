"""`debate ask` takes answers to the setup conversation and prints what comes next, for an agent host."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

from debate_orchestrator.cli import consent, flags
from debate_orchestrator.cli.answers_and_flags import setup_questions_of
from debate_orchestrator.cli.output import print_json, print_status, printing_problems
from debate_orchestrator.cli.piped import PipedInput
from debate_orchestrator.engine import format_check, start
from debate_orchestrator.host.setup import AskResult, is_moderator_reply, setup_folder
from debate_orchestrator.host.setup import ask as ask_host
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.answers import format_of, make_settings
from debate_orchestrator.setup.state import ModeratorTask, Ready, SetupQuestion
from debate_orchestrator.storage.paths import REPORT, DebateFiles
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.messages import command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the answers file to fill")
    about = "an answer to a question that was asked; KEY=- reads standard input"
    parser.add_argument("given", nargs="*", default=[], metavar="KEY=VALUE", help=about)
    flags.add_waiting(parser, "the moderator's reply")
    flags.add_schemas(parser)
    about = "print only `questions`, in the form a host's question tool takes"
    parser.add_argument("--dialog", action="store_true", help=about)
    flags.add_json(parser)
    parser.set_defaults(json=True)


def run(arguments: argparse.Namespace) -> int:
    piped, source = PipedInput("answer", partial(_hand_in, arguments.file)), consent.source_of_file(arguments.file)
    piped.folder = setup_folder(arguments.file)

    def answer() -> AskResult:
        answers = _read_answers(arguments.given, piped)
        result = ask_host(
            arguments.file,
            answers,
            setup_questions_of(arguments.file),
            print_status,
            arguments.wait or 0.0,
            has_consented=lambda risks_found: not consent.unapproved_risks(source, risks_found),
        )
        piped.forget(answers.keys() - result.rejected_keys)
        return result.model_copy(update={"problems": (*result.problems, *piped.save())})

    result = piped.saved_on_failure(answer, [])
    unapproved_risks = consent.unapproved_risks(source, risks.of_settings(result.answers))
    with printing_problems(result.problems):
        if isinstance(result.next_item, Ready) and not unapproved_risks:
            _check_opening(result)
        print_json(_as_json(arguments, result, unapproved_risks))
    return 2 if result.problems else 0


def _read_answers(pairs: list[str], piped: PipedInput) -> dict[str, str | bytes]:
    """The answers of KEY=VALUE arguments by key; a moderator's reply from standard input is bytes. Raises
    BadSettings."""
    answers, problems = dict[str, str | bytes](), list[str]()
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            problems.append(f"{pair!r} is not an answer.")
        elif value != "-":
            answers[key] = value
        else:
            data = piped.read(key)
            answers[key] = data if is_moderator_reply(key) else data.decode("utf-8-sig", "replace")
    if problems:
        raise BadSettings(problems, hint='KEY=VALUE, quoted as in topic="..."')
    return answers


def _hand_in(file: str, key: str, path: str) -> str:
    return (
        f"{command('ask', file)} {key}={path}"
        if is_moderator_reply(key)
        else f"{command('ask', file)} {key}=- < {path}"
    )


def _check_opening(result: AskResult) -> None:
    """Raises what `debate open` would, so that `ready` is true. Not before consent, since files may be read for it."""
    answers = {**result.answers, "origins": result.origins}
    settings = make_settings(answers, format_check.load(format_of(answers)), REPORT)
    start.check_settings(settings, DebateFiles.made_for(settings.output))


def _as_json(
    arguments: argparse.Namespace, result: AskResult, unapproved_risks: Sequence[risks.Risk]
) -> dict[str, Any]:
    """An exchange as JSON: `answers` is the path of the answers file, and `settled` has the answers in it.
    `unapproved_risks` holds the risks to which the user has not yet agreed."""
    fields: dict[str, Any] = {"answers": arguments.file}
    match result.next_item:
        case Ready(show=show):
            fields |= {"status": "ready", "show": show.split("\n")}
        case SetupQuestion() as question:
            fields |= {"status": "ask"} | ({} if arguments.dialog else {"question": _single(question)})
            fields |= {"questions": [_for_a_tool(question) for question in result.questions_to_ask]}
        case ModeratorTask() as work if result.turn_files is not None:
            turn: dict[str, Any] = {"turn": work.turn, "seat": "moderator", "title": f"Setup: {work.name}"}
            turn |= {"brief": result.turn_files.brief, "reply": result.turn_files.reply, "wants": "json"}
            fields |= {
                "status": "propose",
                "turns": [turn | ({"json_schema": work.json_schema} if arguments.schemas else {})],
            }
    ready = isinstance(result.next_item, Ready)
    if not (ready or arguments.dialog):  # what is shown when it is ready holds all of it
        fields |= {"settled": result.answers}
    if unapproved_risks or ready or not arguments.dialog:
        fields |= {"needs_consent": [risk.model_dump() for risk in unapproved_risks]}
    fields |= {"awaited": result.awaited} if result.awaited else {}
    return fields | {"complaints": list(result.problems)}


def _single(question: SetupQuestion) -> dict[str, Any]:
    choices = [{"value": value, "about": about} for value, about in question.choices] or None
    keys = ("key", "text", "default", "help")
    return {**{name: getattr(question, name) for name in keys}, "choices": choices}


def _for_a_tool(question: SetupQuestion) -> dict[str, Any]:
    """A question in the form that question tools of hosts take; without options where only free text is valid."""
    options = [{"label": label, "description": about} for label, about in question.options]
    return {
        "key": question.key,
        "header": question.header,
        "question": question.text,
        **({"options": options} if options else {}),
    }
