"""The setup of a debate: `debate answers` prints an answers file, `debate ask` fills one for an agent host, question by
question, and `debate` alone holds the setup conversation at a terminal, and then the debate."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from debate_orchestrator.cli import consent, flags
from debate_orchestrator.cli.answers_and_flags import setup_questions, setup_questions_of
from debate_orchestrator.cli.output import (
    at_terminal,
    format_name,
    next_step,
    print_json,
    print_status,
    printing_problems,
    say,
)
from debate_orchestrator.cli.piped import Piped
from debate_orchestrator.cli.run import run_settings
from debate_orchestrator.core.settings import Settings, default_of
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import format_check, start
from debate_orchestrator.engine.start import as_rehearsal, check_settings
from debate_orchestrator.host.setup import AskResult, is_moderators, setup_folder
from debate_orchestrator.host.setup import ask as ask_host
from debate_orchestrator.providers.discovery import find_models
from debate_orchestrator.providers.provider import Permissions
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.answers import AUTO, SETTING_TEXTS, format_of, make_settings, sample
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.setup.state import (
    KeptAnswers,
    ModeratorTask,
    Ready,
    SetupQuestion,
    SetupState,
    with_answers,
    with_progress,
    without_answers,
)
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import stored_state
from debate_orchestrator.storage.paths import REPORT, DebateFiles, free_files, free_report
from debate_orchestrator.terminal import prompt
from debate_orchestrator.terminal.setup_conversation import SetupConversation
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import to_yaml
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.terminal_text import Postponed
from debate_orchestrator.util.threads import in_daemon_thread

_REHEARSED = re.compile(r"\.rehearsed(-\d+)?(?=\.)")
"""What the name of a rehearsal's report has before its suffix."""


def answers_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="journal", metavar="JOURNAL", help="the answers that made this journal instead")
    parser.add_argument("--model", metavar="MODEL", help="the model for every seat")


def run_answers(arguments: argparse.Namespace) -> int:
    by_host = False
    if arguments.journal:
        debate = stored_state(arguments.journal, read(arguments.journal).events)
        by_host = model_spec.HOST in model_spec.specs_of(debate.opened.cast)
        report = DebateFiles.of_journal(arguments.journal).report
        print(to_yaml(_answers_of(debate, os.path.basename(report)), ascii_only=True), end="")
    else:
        text = sample()
        if arguments.model:
            line = next(line for line in text.split("\n") if line.startswith("# cast: {"))
            text = text.replace(line, to_yaml({"cast": arguments.model}).strip())
        print(text, end="")
    run, opened = (f"`debate {verb} --answers answers.yaml`" for verb in ("run", "open"))
    verbs = opened if by_host else run if arguments.journal else f"{run}; for an agent host {opened}"
    next_step(f"save this as answers.yaml, edit it, then {verbs}.")
    return 0


def _answers_of(debate: DebateState, output: str) -> dict[str, Any]:
    """The answers that make the same debate again; of a rehearsal, the debate that was rehearsed. Settings that few
    debates have stand only where they differ from the default."""
    opened = debate.opened
    cast = opened.cast
    if model_spec.is_rehearsal(cast) or any(note.note == "estimate" for note in debate.notes):
        output = _REHEARSED.sub("", output)
        cast = {seat: tuple(specs) for seat, specs in model_spec.unrehearsed_cast(cast).items()}
    answers = opened.settings.model_dump(mode="json")
    answers |= {"output": output, "format": format_name(opened.format)}
    answers["context"] = [os.path.basename(file.name) for file in opened.context]
    answers["insist"] = opened.settings.rounds > opened.format.rounds.maximum
    answers["one_agent"] = any(note.note == "one agent" for note in debate.notes)
    answers["cast"] = {seat: list(models) if len(models) > 1 else models[0] for seat, models in cast.items()}
    if not cast:
        del answers["cast"]
    rare = [name for name, texts in SETTING_TEXTS.items() if texts.sample.startswith("#") and name != "cast"]
    return {
        name: value for name, value in answers.items() if name not in rare or value != default_of(name, opened.format)
    }


def ask_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the answers file to fill")
    about = "an answer to a question that was asked; KEY=- reads standard input"
    parser.add_argument("given", nargs="*", default=[], metavar="KEY=VALUE", help=about)
    flags.add_waiting(parser, "the moderator's reply")
    flags.add_schemas(parser)
    about = "print only `questions`, in the form a host's question tool takes"
    parser.add_argument("--dialog", action="store_true", help=about)
    flags.add_json(parser)
    parser.set_defaults(json=True)


def run_ask(arguments: argparse.Namespace) -> int:
    piped, source = Piped("answer", partial(_hand_in, arguments.file)), consent.source_of_file(arguments.file)
    piped.folder = setup_folder(arguments.file)
    with piped.kept_on_failure([]):
        answers = _read_answers(arguments.given, piped)
        result = ask_host(
            arguments.file,
            answers,
            setup_questions_of(arguments.file),
            print_status,
            arguments.wait or 0.0,
            agree=lambda risks_found: not consent.open_risks(source, risks_found),
        )
        piped.forget(answers.keys() - result.refused)
        result = result.model_copy(update={"problems": (*result.problems, *piped.keep())})
    unconfirmed_risks = consent.open_risks(source, risks.of_settings(result.given))
    with printing_problems(result.problems):
        if isinstance(result.now, Ready) and not unconfirmed_risks:
            _check_opening(result)
        print_json(_as_json(arguments, result, unconfirmed_risks))
    return 2 if result.problems else 0


def _read_answers(pairs: list[str], piped: Piped) -> dict[str, str | bytes]:
    """The answers of KEY=VALUE arguments by key. A moderator's reply from standard input is bytes. Raises BadSettings
    for arguments that are no answers."""
    answers, problems = dict[str, str | bytes](), list[str]()
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            problems.append(f"{pair!r} is not an answer.")
        elif value != "-":
            answers[key] = value
        else:
            data = piped.read(key)
            answers[key] = data if is_moderators(key) else data.decode("utf-8-sig", "replace")
    if problems:
        raise BadSettings(problems, hint='KEY=VALUE, quoted as in topic="..."')
    return answers


def _hand_in(file: str, key: str, path: str) -> str:
    """The command that hands in an answer from a file."""
    return f"{command('ask', file)} {key}={path}" if is_moderators(key) else f"{command('ask', file)} {key}=- < {path}"


def _check_opening(result: AskResult) -> None:
    """Raises the errors that `debate open` would raise, so that `ready` is said only of a debate that can be opened.
    Answers that the user has still to agree to are not checked, since that may read files that they name."""
    answers = {**result.given, "sources": result.sources}
    settings = make_settings(answers, format_check.load(format_of(answers)), REPORT)
    start.check_settings(settings, DebateFiles.of_output(settings.output))


def _as_json(
    arguments: argparse.Namespace, result: AskResult, unconfirmed_risks: Sequence[risks.Risk]
) -> dict[str, Any]:
    """An exchange as JSON; `unconfirmed_risks` holds the risks to which the user has not yet agreed."""
    fields: dict[str, Any] = {"answers": arguments.file}
    match result.now:
        case Ready(show=show):
            fields |= {"status": "ready", "show": show.split("\n")}
        case SetupQuestion() as question:
            fields |= {"status": "ask"} | ({} if arguments.dialog else {"question": _single(question)})
            fields |= {"questions": [_for_a_tool(question) for question in result.together]}
        case ModeratorTask() as work if result.turn_files is not None:
            turn: dict[str, Any] = {"turn": work.turn, "seat": "moderator", "title": f"Setup: {work.name}"}
            turn |= {"brief": result.turn_files.brief, "reply": result.turn_files.reply, "wants": "json"}
            fields |= {
                "status": "propose",
                "turns": [turn | ({"json_schema": work.json_schema} if arguments.schemas else {})],
            }
    ready = isinstance(result.now, Ready)
    if not (ready or arguments.dialog):  # what is shown when it is ready holds all of it
        fields |= {"settled": result.given}
    if unconfirmed_risks or ready or not arguments.dialog:
        fields |= {"trust": [risk.model_dump() for risk in unconfirmed_risks]}
    fields |= {"missing": result.missing} if result.missing else {}
    return fields | {"complaints": list(result.problems)}


def _single(question: SetupQuestion) -> dict[str, Any]:
    """The question that comes next."""
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


_WITHOUT_TERMINAL = """\
debate: guided debates with a judge, a verdict and the dissent on record.

  debate                        at a terminal: the setup conversation, then the debate and its report
  debate demo                   replay a real debate: no key, no network
  debate "TOPIC"                a debate by models; `debate models` lists the models that can be called
  echo TOPIC | debate run       the same
  debate run --answers a.yaml   the same from a file, with no questions
  debate answers > a.yaml       an answers file to start from, for `debate open --answers a.yaml`
  debate ask a.yaml             the setup conversation, question by question, for agent hosts
  debate --help                 every verb"""


def run_conversation(arguments: argparse.Namespace) -> int:
    """Holds the setup conversation at a terminal. Without one, prints the commands that need none and asks nothing."""
    if at_terminal(sys.stdout):
        return _converse(arguments)
    if any((arguments.answers, arguments.format, arguments.moderator, arguments.rehearse)):
        hint = "Try: `debate run --answers FILE` asks nothing; `debate ask FILE` asks one question a call."
        raise BadSettings(f"The setup conversation needs a terminal, and there is none. {hint}")
    say(*_WITHOUT_TERMINAL.split("\n"))
    return 0


def _converse(arguments: argparse.Namespace) -> int:
    """Holds the setup conversation and runs its debate. What was answered is kept if the user leaves."""

    def check(state: SetupState) -> DebateFiles:
        settings = conversation.settings()
        files = DebateFiles.of_output(settings.output)
        if conversation.rehearses:
            settings = as_rehearsal(settings, people=at_terminal(sys.stderr))
            files = free_files(files.with_suffix(".rehearsed"))
        check_settings(settings, files, people=at_terminal(sys.stderr), permissions=permissions)
        return files

    permissions, prompter = flags.permissions_of(arguments), prompt.Prompter(stream=sys.stdout)
    questions = partial(setup_questions, default_output=free_report())
    models_future = in_daemon_thread(partial(find_models, permissions))
    conversation = SetupConversation(prompter, questions, models_future, check, rehearse=arguments.rehearse)
    agree = partial(consent.agree_to_answers, trusted=False, ask=conversation.agrees)
    topic = arguments.topic or ""

    def has_agreed(path: str, risks: Sequence[Risk]) -> bool:
        return not consent.open_risks(consent.source_of_file(path), risks)

    try:
        with prompter:
            conversation.welcome(arguments.answers, arguments.format, arguments.moderator, topic, agree, has_agreed)
            settings = conversation.run()
    except (Postponed, prompt.Quit, KeyboardInterrupt, EOFError) as error:
        consent.remember_answers(conversation.kept.path, conversation.state.given, conversation.calls())
        _tell_kept(conversation.kept, rehearse=arguments.rehearse)
        return 0 if isinstance(error, Postponed) else 130
    return _run_debate(conversation, settings, permissions)


def _run_debate(conversation: SetupConversation, settings: Settings, permissions: Permissions) -> int:
    """Keeps the answers beside the report, and runs the debate."""
    kept_answers, rehearse = conversation.kept, conversation.rehearses
    state = _real_answers(conversation.state) if rehearse else conversation.state
    path = kept_answers.move_to_report(state, DebateFiles.of_output(settings.output).report)
    consent.remember_answers(path, conversation.state.given, conversation.calls())
    again, cost_line = command("run --answers", path), conversation.cost_line()
    uses = "." if rehearse else f": `{again}` uses them again."
    print_status(f"The answers are in {path}{uses}", *kept_answers.asides, *([cost_line] if cost_line else []))
    flags = {"quiet": False, "events": False, "json": False, **permissions._asdict()}
    answers = {**conversation.state.given, "setup": {}}  # those in the file may be of the real debate
    arguments = argparse.Namespace(answers=path, answers_read=answers, rehearse=rehearse, **flags)
    arguments.real_debate = f"`{again}`"
    return run_settings(settings, arguments)


def _tell_kept(kept_answers: KeptAnswers, *, rehearse: bool) -> None:
    """Says where the answers are and how to continue. They are those of the real debate."""
    print_status(f"debate: {kept_answers.leaving()}")
    if rehearse and kept_answers.saved:
        print_status("With --rehearse too it is a rehearsal again.")


def _real_answers(state: SetupState) -> SetupState:
    """The answers of the debate that is rehearsed."""

    if state.sources.get("positions") == "default":  # made for the rehearsal: a model derives those of the real debate
        state = with_progress(with_answers(state, "default", positions=AUTO), positions_ok=False)
    cast = model_spec.unrehearsed_cast(state.given["cast"])
    state = without_answers(state, "cast")
    cast_entries = {seat: specs if len(specs) > 1 else specs[0] for seat, specs in cast.items()}
    return with_answers(state, "user", cast=cast_entries) if cast_entries else state
