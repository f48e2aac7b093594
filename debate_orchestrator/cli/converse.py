"""`debate` without a verb: at a terminal the setup conversation, then the debate and its report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from debate_orchestrator.cli import consent, flags
from debate_orchestrator.cli.answers_and_flags import must_be_no_report, setup_questions
from debate_orchestrator.cli.output import at_terminal, print_result, print_status
from debate_orchestrator.cli.run import run_settings
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.engine.start import as_rehearsal, check_settings
from debate_orchestrator.providers.discovery import find_models
from debate_orchestrator.providers.provider import Permissions
from debate_orchestrator.setup.answers import AUTO
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.setup.state import SetupFile, SetupState, with_answers, with_progress, without_answers
from debate_orchestrator.storage.paths import REHEARSED, DebateFiles, unused_files, unused_report
from debate_orchestrator.terminal import asking
from debate_orchestrator.terminal.setup_conversation import SetupConversation
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.coroutines import in_daemon_thread
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.terminal_text import Postponed

_WITHOUT_TERMINAL = """\
debate: structured debates with a judge, a verdict and the dissent on record.

  debate                        at a terminal: the setup conversation, then the debate and its report
  debate demo                   replay a real debate: no key, no network
  debate "TOPIC"                a debate by models; `debate models` lists the models that can be called
  echo TOPIC | debate run       the same
  debate run --answers a.yaml   the same from a file, with no questions
  debate answers > a.yaml       an answers file to start from, for `debate open --answers a.yaml`
  debate ask a.yaml             the setup conversation, question by question, for agent hosts
  debate --help                 every verb"""


def run(arguments: argparse.Namespace) -> int:
    """Holds the setup conversation at a terminal. Without one, prints the commands that need none and asks nothing."""
    if at_terminal(sys.stdout):
        return _converse(arguments)
    if any((arguments.answers, arguments.format, arguments.moderator, arguments.rehearse)):
        hint = "Try: `debate run --answers FILE` asks nothing; `debate ask FILE` asks one question a call."
        raise BadSettings(f"The setup conversation needs a terminal, and there is none. {hint}")
    print_result(*_WITHOUT_TERMINAL.split("\n"))
    return 0


def _converse(arguments: argparse.Namespace) -> int:
    """Holds the setup conversation and runs its debate. What was answered is kept if the user leaves."""
    if arguments.answers:
        must_be_no_report(arguments.answers)

    def check(state: SetupState) -> DebateFiles:
        settings = conversation.settings()
        files = DebateFiles.made_for(settings.output)
        if conversation.is_rehearsal:
            settings = as_rehearsal(settings, people=at_terminal(sys.stderr))
            files = unused_files(files.with_suffix(REHEARSED))
        check_settings(settings, files, people=at_terminal(sys.stderr), permissions=permissions)
        return files

    permissions, asker = flags.permissions_of(arguments), asking.Asker(stream=sys.stdout)
    questions = partial(setup_questions, default_output=unused_report())
    models_future = in_daemon_thread(partial(find_models, permissions))
    conversation = SetupConversation(asker, questions, models_future, check, rehearse=arguments.rehearse)
    require_consent = partial(consent.require_consent_to_answers, trusted=False, ask=conversation.ask_consent)
    topic = arguments.topic or ""

    def has_consented(path: str, risks: Sequence[Risk]) -> bool:
        source = consent.source_of_file(path)
        return consent.is_known(source) and not consent.unapproved_risks(source, risks)

    try:
        with asker:
            conversation.welcome(
                arguments.answers, arguments.format, arguments.moderator, topic, require_consent, has_consented
            )
            settings = conversation.run()
    except (Postponed, asking.Quit, KeyboardInterrupt, EOFError) as error:
        consent.remember_answers(conversation.setup_file.path, conversation.approved_answers(), conversation.calls())
        _print_setup_file(conversation.setup_file, rehearse=arguments.rehearse)
        return 0 if isinstance(error, Postponed) else 130
    return _run_debate(conversation, settings, permissions)


def _run_debate(conversation: SetupConversation, settings: Settings, permissions: Permissions) -> int:
    setup_file, rehearse = conversation.setup_file, conversation.is_rehearsal
    state = _real_answers(conversation.state) if rehearse else conversation.state
    path = setup_file.move_to_report(state, DebateFiles.made_for(settings.output).report)
    consent.remember_answers(path, conversation.approved_answers(), conversation.calls())
    run_again, cost_line = command("run --answers", path), conversation.cost_line()
    uses = "." if rehearse else f": `{run_again}` uses them again."
    print_status(
        f"The answers are in {name_of(path)}{uses}", *setup_file.moved_files, *([cost_line] if cost_line else [])
    )
    flags = {"quiet": False, "events": False, "json": False, **permissions._asdict()}
    answers = {**conversation.state.answers, "setup": {}}  # those in the file may be of the real debate
    arguments = argparse.Namespace(answers=path, answers_read=answers, rehearse=rehearse, **flags)
    arguments.real_debate = f"`{run_again}`"
    return run_settings(settings, arguments)


def _print_setup_file(setup_file: SetupFile, *, rehearse: bool) -> None:
    """Says where the answers are and how to continue. They are those of the real debate."""
    print_status(f"debate: {setup_file.leaving_message()}")
    if rehearse and setup_file.holds_setup:
        print_status("With --rehearse too it is a rehearsal again.")


def _real_answers(state: SetupState) -> SetupState:
    """The answers of the debate that is rehearsed."""

    if state.origins.get("positions") == "default":  # made for the rehearsal: a model derives those of the real debate
        state = with_progress(with_answers(state, "default", positions=AUTO), positions_ok=False)
    cast = model_spec.unrehearsed_cast(state.answers["cast"])
    state = without_answers(state, "cast")
    cast_entries = {seat: specs if len(specs) > 1 else specs[0] for seat, specs in cast.items()}
    return with_answers(state, "user", cast=cast_entries) if cast_entries else state
