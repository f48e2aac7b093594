"""The page of a seat: a person with its link reads what the seat has heard, and takes its turns."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from debate_orchestrator.core import schedule, transcript_entries
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.transcript_entries import TranscriptEntry
from debate_orchestrator.prompting import person_turns
from debate_orchestrator.prompting.briefs import positions_shown
from debate_orchestrator.prompting.replies import MAX_SIZE
from debate_orchestrator.reports.html import writer as html
from debate_orchestrator.util.errors import quoting_as_typed
from debate_orchestrator.util.sanitize import quoted
from debate_orchestrator.web import blocks, debate_list, form_fields, pages
from debate_orchestrator.web.form_fields import ReplyField
from debate_orchestrator.web.guard import AccessTokens, form
from debate_orchestrator.web.live import RECONNECT, event_stream, message
from debate_orchestrator.web.pages import address_of, go_to, in_thread, render
from debate_orchestrator.web.runs import NOT_WAITING, AwaitedTurn, ServedDebate, ServedDebates

_MAX_FORM_SIZE = 12 * MAX_SIZE + 100_000
"""Bytes of a form: twelve for each character of a reply, as forms encode one, and the text around its fields."""


class SeatPage(NamedTuple):
    """The page of a seat, and what it shows."""

    request: Request
    debate: DebateState
    served: ServedDebate | None
    awaited: AwaitedTurn | None
    """The turn that waits for the person."""
    form_data: Mapping[str, str] = MappingProxyType({})
    """What was sent, and is shown in the form again."""
    problems: Sequence[str] = ()
    remarks: Sequence[str] = ()
    """What the person has to agree to before the reply is taken."""
    late_reply: str = ""
    """What was handed in for a turn that waits no longer."""

    @property
    def token(self) -> str:
        return str(self.request.path_params["token"])

    async def respond(self, **values: Any) -> Response:
        """The page with these values, made in a thread: a transcript may be long."""
        page = self._replace(**values)
        return HTMLResponse(await in_thread(page.render), 422 if page.problems or page.remarks else 200)

    def render(self) -> str:
        debate, seat, awaited = self.debate, self.request.path_params["seat"], self.awaited
        format, positions = debate.format, debate.opened.settings.positions
        # Debates of other folders may have the same name in the same browser; their links differ.
        draft_name = hashlib.sha256(self.token.encode()).hexdigest()[:16]
        turn_values: dict[str, Any] = {"turn": ""}
        if awaited is not None:
            seen, turn, brief, _ = awaited
            positions = positions_shown(seen, turn)
            turn_values = {
                "turn": turn.id_hiding_mirrored,
                "draft": f"{draft_name} {turn.id_hiding_mirrored} {brief.digest[:16]}",
                "heading": person_turns.heading(debate, turn),
                "heard": [_article(seen, entry) for entry in transcript_entries.entries_for(seen, turn)],
                "material": list(_material(awaited)),
                "task": _task(awaited),
                "brief": person_turns.full_text(seen, turn, brief),
                "length_hint": person_turns.length_hint(turn),
                "questions": _reply_fields(awaited, self.form_data, with_problems=bool(self.problems)),
                "remarks_digest": _digest(self.remarks),
            }
        return render(
            "seat.html.j2",
            form_token=self.token,
            here=address_of(self.request),
            topic=debate.opened.settings.topic,
            name=format.name_of(seat),
            side=seat if seat in format.sides else JUDGE,
            position=positions.get(seat, ""),
            others=[(format.name_of(side), positions[side]) for side in positions if side != seat],
            progress=_progress_sentence(debate),
            taken=_turns_taken(debate, seat, draft_name),
            state=debate,
            running=self.served is not None,
            sent=self.form_data,
            problems=self.problems,
            remarks=self.remarks,
            late_reply=self.late_reply,
            **turn_values,
        )


class Seats:
    """The views of a seat. Its token is in the address; nothing else of this server can be reached with it."""

    def __init__(self, tokens: AccessTokens, served_debates: ServedDebates):
        self._tokens, self._served_debates = tokens, served_debates
        self._handed_in: dict[str, bytes] = {}
        """By the token of a seat, the digest of the reply that was taken last: its form may come twice."""

    async def _debate(self, request: Request) -> tuple[str, DebateState, ServedDebate | None]:
        """The journal, the state and the run of the debate of a seat. 404 for a wrong token, whether or not the
        debate exists: the answer must not tell which debates there are."""
        params = request.path_params
        token_of = partial(self._tokens.seat, seat=params["seat"])
        path = debate_list.journal_of_link(params["name"], token_of, params["token"])
        if path is None:
            raise HTTPException(404)
        served = self._served_debates.running(path)
        if served is not None and served.current is not None:
            debate = served.current.state
        else:
            debate = (await in_thread(lambda: debate_list.load(path)))[1]
        if params["seat"] not in person_turns.human_seats(debate):
            raise HTTPException(404)
        return path, debate, served

    async def seat(self, request: Request) -> Response:
        """The view of a person in a seat: the turn that waits for them, or that none does."""
        _, debate, served = await self._debate(request)
        awaited = served.people.awaited_turn(request.path_params["seat"]) if served else None
        page = SeatPage(request, debate, served, awaited)
        if request.method != "POST":
            return await page.respond()
        form_data = await form(request, page.token, _MAX_FORM_SIZE)
        if (size := len(_reply_as_text(form_data))) > MAX_SIZE:
            problem = f"The reply has {size:,} characters; at most {MAX_SIZE:,} are taken. Go back to what you wrote."
            raise HTTPException(413, problem)
        if awaited is None or form_data.get("turn") != awaited.turn.id_hiding_mirrored or awaited.reply.done():
            return await self._answer_late_reply(page, form_data)
        with quoting_as_typed():
            return await self._take(page._replace(form_data=form_data), awaited, form_data)

    async def _answer_late_reply(self, page: SeatPage, form_data: Mapping[str, str]) -> Response:
        """The response to a reply for which no turn waits: the same as before if it was taken just now."""
        if self._handed_in.get(page.token) == _reply_digest(form_data):
            return go_to(address_of(page.request))
        return await page.respond(form_data={}, problems=[NOT_WAITING], late_reply=_reply_as_text(form_data))

    async def _take(self, page: SeatPage, awaited: AwaitedTurn, form_data: Mapping[str, str]) -> Response:
        """Takes a reply, or shows the form again with its problems and remarks."""
        debate, turn, brief, reply = awaited
        speech = debate.shape(turn) is None
        text = form_data.get("text", "") if speech else _reply_text(awaited, form_data)
        if form_data.get("action") == "more":
            return await page.respond()
        if text is None:
            return await page.respond(problems=["Some of it is missing: see below."])
        remarks_on = person_turns.speech_remarks if speech else person_turns.form_remarks
        remarks = await in_thread(lambda: remarks_on(debate, turn, text))
        if remarks and form_data.get("sure") != _digest(remarks):
            return await page.respond(remarks=remarks)
        if speech and not text.strip():
            return await page.respond(problems=["Your speech is empty. Write it, then hand it in."])
        problems = await in_thread(lambda: person_turns.reply_problems(debate, turn, brief, text))
        if problems:
            return await page.respond(problems=problems)
        if reply.done():
            return await self._answer_late_reply(page, form_data)
        reply.set_result(text)
        self._handed_in[page.token] = _reply_digest(form_data)
        return go_to(address_of(page.request))

    async def stream(self, request: Request) -> Any:
        """Says when the page of the seat has changed. In a pause it ends at once, and the browser looks again."""
        _, _, served = await self._debate(request)
        viewers = served.people.viewers if served else None
        return event_stream(viewers, lambda: [RECONNECT, message("connected", {})])

    async def report(self, request: Request) -> Response:
        """The HTML report, once the debate is complete."""
        path, debate, _ = await self._debate(request)
        if not debate.complete:
            raise HTTPException(404)
        return await pages.report(path)


def _reply_as_text(form_data: Mapping[str, str]) -> str:
    """The reply in a form, as text: the speech, or the fields that were filled in."""
    fields = [f"{'/'.join(path)}: {text}" for path, text in form_fields.typed_answers(form_data).items()]
    return "\n".join(filter(None, [form_data.get("text", ""), *fields]))


def _digest(remarks: Sequence[str]) -> str:
    """The identifier of these remarks: a tick below others agrees to none of them."""
    return hashlib.sha256("\n".join(remarks).encode()).hexdigest()


def _reply_digest(form_data: Mapping[str, str]) -> bytes:
    """A digest that identifies the reply of a form: of its turn and its text."""
    return hashlib.sha256(f"{form_data.get('turn')}\n{_reply_as_text(form_data)}".encode()).digest()


def _turns_taken(debate: DebateState, seat: str, draft_name: str) -> list[dict[str, Any]]:
    """The turns of a seat that are on record, and the names of their drafts, which begin with `draft_name`, before the
    digest of the brief."""
    return [
        _article(debate, transcript_entries.entry(debate, turn)) | {"draft": f"{draft_name} {turn.id_hiding_mirrored} "}
        for turn in schedule.turns_taken(debate)
        if turn.seat == seat
    ]


def _article(debate: DebateState, entry: TranscriptEntry) -> dict[str, Any]:
    return blocks.article(debate, entry, person_turns.heading(debate, entry.turn))


def _progress_sentence(debate: DebateState) -> str:
    """The current round and turn, in a sentence; empty once the debate is complete."""
    if not debate.due:
        return ""
    number, names = debate.due[0].round, dict.fromkeys(debate.format.name_of(turn.seat) for turn in debate.due)
    round_text = f"Round {number} of {debate.rounds}, " if number else ""
    return f"{round_text}{debate.due[0].phase.title}: it is the turn of {' and '.join(names)}."


def _material(awaited_turn: AwaitedTurn) -> Iterator[tuple[str, str]]:
    """The context files that the seat may draw on: what each is called, and its text, as HTML."""
    for document in person_turns.documents(awaited_turn.debate, awaited_turn.brief):
        if document.kind == person_turns.MATERIAL:
            name, _, text = document.body.partition("\n")
            yield f"{document.heading}: {quoted(name.removeprefix('Name: '))}", html.text_of_others(text)


def _task(awaited_turn: AwaitedTurn) -> str:
    """The task of the turn, as HTML. The page has the name of the seat and the title of the turn already."""
    short = awaited_turn.debate.shape(awaited_turn.turn) is None
    pieces = person_turns.task(awaited_turn.debate, awaited_turn.brief, short=short)
    return html.join_html(
        html.paragraphs(re.sub(r"(?m)^# Your (seat|task).*$", "", piece).strip())
        if isinstance(piece, str)
        else html.quoted_document(piece.heading, piece.body, piece.notes)
        for piece in pieces
    )


def _reply_fields(
    awaited_turn: AwaitedTurn, form_data: Mapping[str, str], *, with_problems: bool
) -> list[ReplyField] | None:
    """The fields of a structured reply; None for a speech."""
    debate, turn = awaited_turn.debate, awaited_turn.turn
    if (shape := debate.shape(turn)) is None:
        return None
    answers, shape_context = form_fields.typed_answers(form_data), schedule.shape_context(debate, turn)
    computed = person_turns.computed_answers(debate, turn, answers)
    positions = positions_shown(debate, turn)
    return form_fields.questions(
        shape, shape_context, debate.format, positions, answers, with_problems=with_problems, computed=computed
    )


def _reply_text(awaited_turn: AwaitedTurn, form_data: Mapping[str, str]) -> str | None:
    """The structured reply that was entered, as JSON; None while something is missing."""
    debate, turn, answers = awaited_turn.debate, awaited_turn.turn, form_fields.typed_answers(form_data)
    answers |= person_turns.computed_answers(debate, turn, answers)
    value = form_fields.value(debate.shape(turn) or {}, schedule.shape_context(debate, turn), answers)
    return None if value is None else json.dumps(value, ensure_ascii=False, indent=1)
