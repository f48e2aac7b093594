"""The setup conversation as a file that a host carries on: answers in, next question out.

The file is an answers file from the start; under `setup` it keeps what was said on the way. The
moderator's work is laid out on a desk beside it, as turns are.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import Any

from debate_orchestrator.core.values import Value
from debate_orchestrator.host.turns_folder import TurnFiles, TurnsFolder, read_reply
from debate_orchestrator.prompting.briefs import moderator_brief
from debate_orchestrator.prompting.replies import parse_structured
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.session import Ask, Propose, Ready, SetupState, Tell, load, save, silent
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.errors import BadSettings, DebateError, complaint
from debate_orchestrator.util.redact import redact


class AskResult(Value):
    """What one call took, and what the conversation needs now."""

    now: Ask | Propose | Ready
    laid: TurnFiles | None
    """Where the moderator's brief lies, if a moderator is needed now."""
    settled: dict[str, Any]
    sources: dict[str, str]
    complaints: tuple[str, ...]


def ask(path: str, given: Mapping[str, str], interview: Questionnaire, tell: Tell = silent) -> AskResult:
    """Takes `given` (key to answer; a moderator's turn to its reply's file) into the answers file at
    `path`, and says what comes next. A bad answer is a complaint; the others are taken. `tell` is told of each file
    that was moved aside."""
    draft = load(path) if os.path.exists(path) else SetupState()
    if not draft.talk.nonce:
        draft = draft.model_copy(update={"talk": draft.talk.model_copy(update={"nonce": secrets.token_hex(8)})})
    read = draft.given
    draft, complaints = interview.checked(draft)
    whole = read.keys() <= draft.given.keys()
    for key, value in given.items():
        try:
            draft = _take(draft, key, value, interview)
        except DebateError as error:
            complaints += error.complaints
    draft, laid = _moderated(TurnsFolder(f"{os.path.splitext(path)[0]}.setup", tell), draft, interview, complaints)
    now = interview.next(draft)
    if isinstance(now, Ask):
        draft = interview.put(draft, now)
    save(path, draft, tell, whole=whole)
    sources = dict(draft.sources)
    return AskResult(now=now, laid=laid, settled=draft.given, sources=sources, complaints=tuple(complaints))


def _moderated(
    desk: TurnsFolder, draft: SetupState, interview: Questionnaire, complaints: list[str]
) -> tuple[SetupState, TurnFiles | None]:
    """The draft with the moderator's replies that are there, and the place of the brief that is laid out for
    the next one. What is wrong with a reply is added to `complaints`."""
    while isinstance(now := interview.next(draft), Propose):
        laid, brief = _brief(desk, now, draft)
        try:
            text = desk.collect(laid, brief)
            if text is None:
                complaints += [said] if (said := desk.lay(laid, brief)) else []
                return draft, laid
            draft = interview.proposed(draft, now.name, parse_structured(now.turn, text))
            desk.spend(laid)
        except DebateError as error:
            complaints += error.complaints
            return draft, laid
    return draft, None


def _take(draft: SetupState, key: str, value: str, interview: Questionnaire) -> SetupState:
    now = interview.next(draft)
    if key.startswith("setup."):
        if not isinstance(now, Propose) or key != now.turn:
            raise BadSettings(complaint(key, "a moderator's reply that is not due", "what ask prints now"))
        return interview.proposed(draft, now.name, parse_structured(key, read_reply(key, value)))
    after = interview.answer(draft, key, value)
    if key == "output":
        DebateFiles.of_output(after.given["output"]).must_be_new()
    return after


def _brief(desk: TurnsFolder, now: Propose, draft: SetupState) -> tuple[TurnFiles, str]:
    laid = desk.place(now.turn, "json")
    text = moderator_brief(
        now.name,
        turn=now.turn,
        nonce=draft.talk.nonce,
        schema=now.json_schema,
        reply_name=os.path.basename(laid.reply),
        **now.values,
    )
    return laid, redact(text)
