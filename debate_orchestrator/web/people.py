"""People in the seats of a debate, each in a browser: their turns wait here until a reply comes that will do."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from debate_orchestrator.core import schedule, speech_rules, transcript
from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.phases import JUDGE, MIRRORED, Turn
from debate_orchestrator.core.state import DebateState, filler
from debate_orchestrator.prompting import brief_pieces, fields, replies
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.reports.html import writer as html
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadReply, Paused
from debate_orchestrator.web import form_fields
from debate_orchestrator.web.form_fields import FormField
from debate_orchestrator.web.live import Audience

NOT_WAITING = "This turn does not wait for a reply now. What was typed is kept in this browser."


class Asking(NamedTuple):
    """A turn that waits for a person."""

    debate: DebateState
    turn: Turn
    brief: Brief
    reply: asyncio.Future[str]


class People:
    """The people of one debate. A provider asks them as it asks the person at a terminal."""

    def __init__(self) -> None:
        self.asking: dict[str, Asking] = {}
        """By turn id, the turns that wait for their person."""
        self.audience = Audience()
        """Those who look at the page of a seat: told only that something has changed."""
        self._left = False

    async def answer(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        """The reply that is handed in for a turn. Raises Paused where the debate is paused before."""
        if self._left:
            raise _paused(turn.id)
        asking = Asking(debate, turn, brief, asyncio.get_running_loop().create_future())
        self.asking[turn.id] = asking
        self.audience.tell("change", {})
        try:
            return await asking.reply
        finally:
            del self.asking[turn.id]

    def tidy(self, debate: DebateState) -> None:
        """Does nothing: drafts are kept by the browser."""

    def tell(self, debate: DebateState) -> None:
        """The debate has changed."""
        self.audience.tell("change", {})

    def leave(self) -> None:
        """The debate is paused: no reply is waited for."""
        self._left = True
        for asking in list(self.asking.values()):
            if not asking.reply.done():
                asking.reply.set_exception(_paused(asking.turn.id))

    def end(self) -> None:
        """The debate runs no more."""
        self.audience.tell("change", {})
        self.audience.close()

    def of(self, seat: str) -> Asking | None:
        """The turn that waits for the person of a seat; None where none does."""
        waiting = (asking for asking in self.asking.values() if not asking.reply.done())
        return next((asking for asking in waiting if asking.turn.seat.removesuffix(MIRRORED) == seat), None)

    async def hand_in(self, asking: Asking, text: str) -> None:
        """Takes a reply. Raises BadReply with what is wrong with it, or where the turn no longer waits for one."""
        if problems := await asyncio.to_thread(_problems, asking, text):
            raise BadReply(problems)
        if asking.reply.done():
            raise BadReply(NOT_WAITING)
        asking.reply.set_result(text)


def _paused(turn_id: str) -> Paused:
    return Paused(f"{turn_id}: the debate was paused before it was handed in. What was typed is kept in the browser.")


def _problems(asking: Asking, text: str) -> list[str]:
    reply = Reply(text=text, brief=asking.brief.digest, by=model_spec.HUMAN)
    try:
        replies.parse_reply(asking.debate, asking.turn, reply, asking.brief.code)
    except BadReply as error:
        return [problem.removeprefix(f"{asking.turn.id}: ") for problem in error.complaints]
    return []


def written(sent: Mapping[str, str]) -> str:
    """What a form holds of a reply, as text: the speech, or the fields that were filled in."""
    fields = ((name.removeprefix("field/"), text) for name, text in sent.items() if name.startswith("field/"))
    return sent.get("text", "") or "\n".join(f"{name}: {text}" for name, text in fields if text)


def seats(debate: DebateState) -> list[str]:
    """The seats that people have, every judge of a panel apart."""
    all_seats = (seat for role in debate.seated for seat in (debate.judges if role == JUDGE else (role,)))
    return [seat for seat in all_seats if filler(debate, seat) == model_spec.HUMAN]


def heard(debate: DebateState, turn: Turn) -> list[dict[str, Any]]:
    """The speeches that the taker of a turn has heard, as they are shown to everybody who takes it."""
    format = debate.format
    return [
        {
            "id": entry.turn.id,
            "heading": format.heading_of(entry.turn),
            "side": entry.turn.seat if entry.turn.seat in format.sides else "judge",
            "body": "" if debate.shape(entry.turn) else html.speech(entry.text).html,
            "lines": entry.text.split("\n") if debate.shape(entry.turn) else [],
        }
        for entry in transcript.entries_for(debate, turn)
    ]


def taken(debate: DebateState, seat: str, name: str) -> list[dict[str, str]]:
    """The turns of a seat that are on record, with its speeches as HTML, and what the names of their drafts begin with
    in the debate of that name."""
    format = debate.format
    return [
        {
            "draft": f"{name} {turn.id} ",
            "heading": format.heading_of(turn),
            "body": "" if debate.shape(turn) else html.speech(speech_rules.visible(debate, turn).text).html,
        }
        for turn in schedule.settled(debate)
        if turn.seat == seat
    ]


def standing(debate: DebateState) -> str:
    """Which round it is and whose turn, in a sentence; empty once the debate is complete."""
    if not debate.due:
        return ""
    number, names = debate.due[0].round, dict.fromkeys(debate.format.name_of(turn.seat) for turn in debate.due)
    where = f"Round {number} of {debate.rounds}, " if number else ""
    return f"{where}{debate.due[0].phase.title}: it is the turn of {' and '.join(names)}."


def task(asking: Asking) -> str:
    """What the turn asks for, as HTML, without what is written for models alone."""
    parsed = brief_pieces.pieces(asking.brief, asking.debate.opened.nonce)
    short = asking.debate.shape(asking.turn) is None
    tasks = [text for piece in parsed if not piece.kind for text in brief_pieces.tasks(piece.body, short=short)]
    return html.speech(re.sub(r"(?m)^# Your task.*$", "", "\n\n".join(tasks)).strip()).html


def remarks(asking: Asking, text: str) -> list[str]:
    """What to know before a speech is handed in: what is not heard of it, and what its last line does."""
    debate, turn = asking.debate, asking.turn
    spoken, lines = speech_rules.as_spoken(debate, text, turn.phase), debate.format.lines
    reply = Reply(text=text, brief="", by=model_spec.HUMAN)
    found = [f"The last {spoken.dropped:,} words are over the limit, and no seat hears them."] if spoken.dropped else []
    if turn.speaking and speech_rules.says(debate, lines.decline, turn, reply):
        found.append("It declines to argue this position, and is on record as a refusal.")
    elif turn.speaking and speech_rules.says(debate, lines.concede, turn, reply):
        found.append("It concedes the whole debate, which ends the debate.")
    return found


def questions(asking: Asking, sent: Mapping[str, str], *, checked: bool) -> list[FormField]:
    """The fields of a structured reply, as far as they are known from what was `sent`."""
    debate, turn = asking.debate, asking.turn
    shape, terms = debate.shape(turn) or {}, schedule.terms(debate, turn)
    typed = form_fields.entered(sent)
    computed = fields.computed(debate, turn, typed)
    return form_fields.questions(shape, terms, debate.format, typed, checked=checked, computed=computed)


def reply_text(asking: Asking, sent: Mapping[str, str]) -> str | None:
    """The structured reply that was entered, as JSON; None while something is missing."""
    shape, terms = asking.debate.shape(asking.turn) or {}, schedule.terms(asking.debate, asking.turn)
    typed = form_fields.entered(sent)
    typed |= fields.computed(asking.debate, asking.turn, typed)
    value = form_fields.value(shape, terms, typed)
    return None if value is None else json.dumps(value, ensure_ascii=False, indent=1)
