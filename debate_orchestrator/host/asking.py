"""The setup conversation as a file that a host carries on: answers in, next question out.

The file is an answers file from the start; under `setup` it keeps what was said on the way. The
moderator's work is laid out on a desk beside it, as turns are.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from debate_orchestrator.briefs import propose
from debate_orchestrator.core.values import Value
from debate_orchestrator.datafiles import name_of, placed, read_mapping, to_yaml, write_whole
from debate_orchestrator.errors import BadAnswers, BadFile, DebateError, complaint
from debate_orchestrator.files import Files
from debate_orchestrator.host.desk import Desk, Laid, read_reply
from debate_orchestrator.interview import Interview
from debate_orchestrator.redaction import redact, redact_values
from debate_orchestrator.replies import structured
from debate_orchestrator.talk import Ask, Draft, Propose, Ready, Talk

Tell = Callable[[str], None]


def _silent(said: str) -> None:
    """Tells nothing."""


class Exchange(Value):
    """What one call took, and what the conversation needs now."""

    now: Ask | Propose | Ready
    laid: Laid | None
    """Where the moderator's brief lies, if a moderator is needed now."""
    settled: dict[str, Any]
    sources: dict[str, str]
    complaints: tuple[str, ...]


def ask(path: str, given: Mapping[str, str], interview: Interview, tell: Tell = _silent) -> Exchange:
    """Takes `given` (key to answer; a moderator's turn to its reply's file) into the answers file at
    `path`, and says what comes next. A bad answer is a complaint; the others are taken. `tell` is told of each file
    that was moved aside."""
    draft = load(path) if os.path.exists(path) else Draft()
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
    draft, laid = _moderated(Desk(f"{os.path.splitext(path)[0]}.setup", tell), draft, interview, complaints)
    now = interview.next(draft)
    if isinstance(now, Ask):
        draft = interview.put(draft, now)
    save(path, draft, tell, whole=whole)
    sources = dict(draft.sources)
    return Exchange(now=now, laid=laid, settled=draft.given, sources=sources, complaints=tuple(complaints))


def _moderated(desk: Desk, draft: Draft, interview: Interview, complaints: list[str]) -> tuple[Draft, Laid | None]:
    """The draft with the moderator's replies that are there, and the place of the brief that is laid out for
    the next one. What is wrong with a reply is added to `complaints`."""
    while isinstance(now := interview.next(draft), Propose):
        laid, brief = _brief(desk, now, draft)
        try:
            text = desk.collect(laid, brief)
            if text is None:
                complaints += [said] if (said := desk.lay(laid, brief)) else []
                return draft, laid
            draft = interview.proposed(draft, now.name, structured(now.turn, text))
            desk.spend(laid)
        except DebateError as error:
            complaints += error.complaints
            return draft, laid
    return draft, None


def _take(draft: Draft, key: str, value: str, interview: Interview) -> Draft:
    now = interview.next(draft)
    if key.startswith("setup."):
        if not isinstance(now, Propose) or key != now.turn:
            raise BadAnswers(complaint(key, "a moderator's reply that is not due", "what ask prints now"))
        return interview.proposed(draft, now.name, structured(key, read_reply(key, value)))
    after = interview.answer(draft, key, value)
    if key == "output":
        Files.of_output(after.given["output"]).must_be_new()
    return after


def _brief(desk: Desk, now: Propose, draft: Draft) -> tuple[Laid, str]:
    laid = desk.place(now.turn, "json")
    text = propose(
        now.name,
        turn=now.turn,
        nonce=draft.talk.nonce,
        schema=now.json_schema,
        reply_name=os.path.basename(laid.reply),
        **now.values,
    )
    return laid, redact(text)


def load(path: str) -> Draft:
    """The conversation kept in an answers file; one that a person wrote counts as said, not as confirmed."""
    data = read_mapping(path)
    talk, sources = data.pop("setup", None), data.pop("sources", None)
    try:
        if talk is not None:
            return Draft(given=data, sources=sources or {}, talk=Talk.model_validate(talk))
        topic, positions = data.pop("topic", None), data.get("positions")
        heard = (topic,) if isinstance(topic, str) else ()
        own = isinstance(positions, dict)
        if not own:
            data.pop("positions", None)
        kind = "own" if own else "auto" if positions == "auto" else None
        return Draft(given=data, sources=dict.fromkeys(data, "file"), talk=Talk(heard=heard, positions=kind))
    except ValidationError:
        raise BadFile(
            complaint(path, "a conversation of another form", "one that ask began", "Begin a new file.")
        ) from None


def save(path: str, draft: Draft, tell: Tell = _silent, *, whole: bool = True) -> None:
    """Keeps the conversation in its file. A file there that `save` did not write, or of which the draft is not the
    `whole`, is moved aside, which is told."""
    data = {**draft.given, "sources": dict(draft.sources), "setup": draft.talk.model_dump(mode="json")}
    if kept := write_whole(path, to_yaml(redact_values(data)), ours=_is_conversation if whole else lambda _: False):
        tell(f"{name_of(path)} was edited by hand: kept as {name_of(kept)}.")


def _is_conversation(there: bytes) -> bool:
    """Whether a file is a conversation as `save` writes it, with nothing more, such as comments."""
    try:
        said = placed(there.decode(), "")[0]
        return "setup" in said and to_yaml(said).encode() == there
    except (BadFile, ValueError):
        return False
