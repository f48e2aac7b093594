"""`debate` without a verb: at a terminal the setup conversation, then the debate and its report."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from debate_orchestrator.cli.output import remark, say
from debate_orchestrator.util.errors import BadSettings

_PRINTS_ALL = {"quiet": False, "events": False, "json": False}
"""The flags of `flags.add_progress` and --json, none of which was given."""
_WITHOUT_TERMINAL = """\
debate: guided debates with a judge, a verdict and the dissent on record.

  debate                        at a terminal: the setup conversation, then the debate and its report
  debate demo                   replay a real debate: no key, no network
  debate run --topic "..."      a debate by models; `debate models` lists the models that can be called
  debate run --answers a.yaml   the same from a file, with no questions
  debate answers > a.yaml       an answers file to start from, for `debate open --answers a.yaml`
  debate ask a.yaml             the setup conversation, question by question, for agent hosts
  debate --help                 every verb"""


def run(arguments: argparse.Namespace) -> int:
    """Without a terminal it asks nothing and prints what needs none."""
    if all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        return _converse(arguments)
    if any((arguments.setup_answers, arguments.setup_format, arguments.moderator, arguments.setup_rehearse)):
        hint = "Try: `debate run --answers FILE` asks nothing; `debate ask FILE` asks one question a call."
        raise BadSettings(f"The setup conversation needs a terminal, and there is none. {hint}")
    say(_WITHOUT_TERMINAL)
    return 0


def _converse(arguments: argparse.Namespace) -> int:
    """Holds the setup conversation and runs its debate. What was answered is kept if the user leaves."""
    from debate_orchestrator.cli import consent, flags
    from debate_orchestrator.cli.debates import check_settings
    from debate_orchestrator.cli.people import PERSON
    from debate_orchestrator.cli.run import run_settings
    from debate_orchestrator.cli.settings import questionnaire
    from debate_orchestrator.engine.start import rehearsed
    from debate_orchestrator.setup.session import SetupState
    from debate_orchestrator.storage.paths import DebateFiles
    from debate_orchestrator.util.terminal_text import Later
    from debate_orchestrator.wizard import asking, conversation, moderating
    from debate_orchestrator.wizard.beside import beside
    from debate_orchestrator.wizard.hall import look
    from debate_orchestrator.wizard.outlook import rehearsed as is_rehearsal
    from debate_orchestrator.wizard.sitting import Sitting

    def check(draft: SetupState) -> DebateFiles:
        settings = conversation.settled(draft, sitting.interview)
        files = DebateFiles.of_output(settings.output)
        if is_rehearsal(draft.given["cast"]):
            settings, files = rehearsed(settings), files.beside(".rehearsed")
        check_settings(settings, files, permissions=permissions)
        return files

    permissions, asker = flags.permitted(arguments), asking.here()
    questions = partial(questionnaire, default_output=_free_report())
    sitting = Sitting(asker, questions, beside(partial(look, permissions)), moderates=not arguments.setup_rehearse)
    agree = partial(consent.agree_to_answers, trusted=False, ask=partial(conversation.agreed, sitting))
    try:
        with asker:
            conversation.welcome(sitting, arguments.setup_answers, arguments.setup_format, arguments.moderator, agree)
            rehearse = arguments.setup_rehearse
            draft = conversation.Conversation(sitting, check, extra=PERSON, rehearse=rehearse).hold()
    except (Later, KeyboardInterrupt, EOFError) as error:
        consent.remember_answers(sitting.kept.path, sitting.draft.given)
        remark(f"debate: {sitting.kept.leaving()}")
        return 0 if isinstance(error, Later) else 130
    settings = conversation.settled(draft, sitting.interview)
    before, path = sitting.kept.path, sitting.kept.moved(draft, DebateFiles.of_output(settings.output).report)
    consent.remember_answers(path, draft.given, before)
    rehearse = is_rehearsal(draft.given["cast"])
    remark(f"The answers are in {path}: {_next_command(path, rehearse=rehearse)}")
    for line in filter(None, (*sitting.kept.asides, moderating.spent(draft))):
        remark(line)
    return run_settings(
        settings, argparse.Namespace(answers=path, rehearse=rehearse, **_PRINTS_ALL, **permissions._asdict())
    )


def _next_command(path: str, *, rehearse: bool) -> str:
    """The command that uses the answers again, in a sentence."""
    command = f"debate run --answers {path}"
    if rehearse:
        return f"with models to argue, `{command} --a MODEL --b MODEL --judge MODEL` is the real debate."
    return f"`{command}` takes them too."


def _free_report() -> str:
    """The name that is proposed for the report: one that no debate in this folder has yet."""
    from debate_orchestrator.storage.paths import JOURNAL, REPORT, DebateFiles

    stem = REPORT.removesuffix(".md")
    for name in (stem, *(f"{stem}-{n}" for n in range(2, 1000))):
        files = DebateFiles.of_journal(f"{name}{JOURNAL}")
        if not files.there():
            return files.report
    return REPORT
