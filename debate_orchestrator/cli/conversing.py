"""`debate` alone: at a terminal the setup conversation, then the debate and its report."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from debate_orchestrator.cli.listing import nothing
from debate_orchestrator.util.errors import BadSettings, complaint

_TALKATIVE = {"quiet": False, "events": False, "json": False}


def converse(arguments: argparse.Namespace) -> int:
    """Leads through the setup and begins the debate. Without a terminal it asks nothing, and says what goes without."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        return _without_terminal(arguments)
    from debate_orchestrator.cli import consent
    from debate_orchestrator.cli.beginning import check, rehearsed
    from debate_orchestrator.cli.output import remark
    from debate_orchestrator.cli.running import begin
    from debate_orchestrator.cli.seating import PERSON, permitted
    from debate_orchestrator.cli.setup import interview
    from debate_orchestrator.rostrum import Later
    from debate_orchestrator.setup.session import SetupState
    from debate_orchestrator.storage.paths import DebateFiles
    from debate_orchestrator.wizard import asking, conversation, moderating
    from debate_orchestrator.wizard.beside import beside
    from debate_orchestrator.wizard.hall import look
    from debate_orchestrator.wizard.outlook import rehearsed as rehearses
    from debate_orchestrator.wizard.sitting import Sitting

    def checked(draft: SetupState) -> DebateFiles:
        answers = conversation.settled(draft, sitting.interview)
        files = DebateFiles.of_output(answers.output)
        if rehearses(draft.given["cast"]):
            answers, files = rehearsed(answers), files.beside(".rehearsed")
        check(answers, files, permissions=permissions)
        return files

    permissions, asker = permitted(arguments), asking.here()
    interview_of = partial(interview, default_output=_free_report())
    sitting = Sitting(asker, interview_of, beside(partial(look, permissions)), moderates=not arguments.rehearsing)
    agree = partial(consent.agree_to_answers, trusted=False, ask=partial(conversation.agreed, sitting))
    try:
        with asker:
            conversation.welcome(sitting, arguments.going_on, arguments.in_format, arguments.moderator, agree)
            talk = conversation.Conversation(sitting, checked, extra=PERSON, rehearse=arguments.rehearsing)
            draft = talk.hold()
    except (Later, KeyboardInterrupt, EOFError) as left:
        consent.remember_answers(sitting.kept.path, sitting.draft.given)
        remark(f"debate: {sitting.kept.leaving()}")
        return 0 if isinstance(left, Later) else 130
    answers = conversation.settled(draft, sitting.interview)
    before, path = sitting.kept.path, sitting.kept.moved(draft, DebateFiles.of_output(answers.output).report)
    consent.remember_answers(path, draft.given, before)
    rehearse = rehearses(draft.given["cast"])
    remark(f"The answers are in {path}: {_next(path, rehearsal=rehearse)}")
    for said in filter(None, (*sitting.kept.asides, moderating.spent(draft))):
        remark(said)
    flags = {**_TALKATIVE, **permissions._asdict()}
    return begin(answers, argparse.Namespace(answers=path, rehearse=rehearse, **flags))


def _next(path: str, *, rehearsal: bool) -> str:
    """The command that takes the answers again."""
    if rehearsal:
        return f"with somebody to argue, `debate run --answers {path} --a WHO --b WHO --judge WHO` is the real debate."
    return f"`debate run --answers {path}` takes them too."


def _without_terminal(arguments: argparse.Namespace) -> int:
    """The list of what there is; BadAnswers where a conversation was asked for by its options."""
    asked = (arguments.going_on, arguments.in_format, arguments.moderator, arguments.rehearsing)
    if not any(asked):
        return nothing(arguments)
    hint = "`debate run --answers FILE` asks nothing; `debate ask FILE` asks one question a call."
    raise BadSettings(complaint("debate", "no terminal", "a terminal, to ask at", hint))


def _free_report() -> str:
    """The report's name that is proposed: one that no debate here has yet."""
    from debate_orchestrator.storage.paths import JOURNAL, REPORT, DebateFiles

    stem = REPORT.removesuffix(".md")
    for name in (stem, *(f"{stem}-{n}" for n in range(2, 1000))):
        files = DebateFiles.of_journal(f"{name}{JOURNAL}")
        if not files.there():
            return files.report
    return REPORT
