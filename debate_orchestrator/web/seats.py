"""The page of a seat: a person with its link reads what the seat has heard, and takes its turns."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
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
from debate_orchestrator.web.people import NOT_WAITING, AwaitedTurn
from debate_orchestrator.web.runs import ServedDebate, ServedDebates

_MAX_FORM_SIZE = 12 * MAX_SIZE + 100_000
"""Bytes of a form: twelve for each character of a reply, as forms encode one, and the text around its fields."""

_WITHOUT_A_TURN = {**dict.fromkeys(("heard", "material", "task", "brief", "length_hint"), ""), "questions": None}
"""The values of a page on which no turn waits."""


class SeatRequest(NamedTuple):
    """A request for the page of a seat, with the values that the page shows."""

    request: Request
    state: DebateState
    served: ServedDebate | None
    awaited: AwaitedTurn | None
    """The turn that waits for the person."""


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
        awaited_turn = served.people.awaited_turn(request.path_params["seat"]) if served else None
        seat_request = SeatRequest(request, debate, served, awaited_turn)
        if request.method != "POST":
            return await self._page(seat_request, {}, [])
        token = request.path_params["token"]
        form_data = await form(request, token, _MAX_FORM_SIZE)
        size = sum(len(text) for name, text in form_data.items() if name == "text" or name.startswith("field/"))
        if size > MAX_SIZE:
            problem = f"The reply has {size:,} characters; at most {MAX_SIZE:,} are taken. Go back to what you wrote."
            raise HTTPException(413, problem)
        if awaited_turn is None or form_data.get("turn") != awaited_turn.turn.neutral_id or awaited_turn.reply.done():
            return await self._answer_late_reply(seat_request, form_data)
        with quoting_as_typed():
            return await self._take(seat_request, awaited_turn, form_data)

    async def _answer_late_reply(self, seat_request: SeatRequest, form_data: Mapping[str, str]) -> Response:
        """The response to a reply for which no turn waits: the same as before if it was taken just now."""
        if self._handed_in.get(seat_request.request.path_params["token"]) == _reply_digest(form_data):
            return go_to(address_of(seat_request.request))
        return await self._page(seat_request, {}, [NOT_WAITING], late_reply=_reply_as_text(form_data))

    async def _take(
        self, seat_request: SeatRequest, awaited_turn: AwaitedTurn, form_data: Mapping[str, str]
    ) -> Response:
        """Takes a reply, or shows the form again with its problems and remarks."""
        speech = awaited_turn.debate.shape(awaited_turn.turn) is None
        text = form_data.get("text", "") if speech else _reply_text(awaited_turn, form_data)
        if form_data.get("action") == "more":
            return await self._page(seat_request, form_data, [])
        if text is None:
            return await self._page(seat_request, form_data, ["Some of it is missing: see below."])
        remarks_on = person_turns.speech_remarks if speech else person_turns.form_remarks
        remarks = await in_thread(lambda: remarks_on(*awaited_turn[:2], text))
        if remarks and form_data.get("sure") != _digest(remarks):
            return await self._page(seat_request, form_data, [], remarks)
        if speech and not text.strip():
            return await self._page(seat_request, form_data, ["Your speech is empty. Write it, then hand it in."])
        problems = await in_thread(lambda: person_turns.reply_problems(*awaited_turn[:3], text))
        if problems:
            return await self._page(seat_request, form_data, problems)
        if awaited_turn.reply.done():
            return await self._answer_late_reply(seat_request, form_data)
        awaited_turn.reply.set_result(text)
        self._handed_in[seat_request.request.path_params["token"]] = _reply_digest(form_data)
        return go_to(address_of(seat_request.request))

    async def _page(
        self,
        seat_request: SeatRequest,
        form_data: Mapping[str, str],
        problems: list[str],
        remarks: Sequence[str] = (),
        late_reply: str = "",
    ) -> Response:
        """The page that `_render` makes, in a thread: a transcript may be long."""
        page = await in_thread(lambda: self._render(seat_request, form_data, problems, remarks, late_reply))
        return HTMLResponse(page, 422 if problems or remarks else 200)

    def _render(
        self,
        seat_request: SeatRequest,
        form_data: Mapping[str, str],
        problems: list[str],
        remarks: Sequence[str],
        late_reply: str,
    ) -> str:
        """The page; `late_reply` is what was handed in for a turn that waits no longer."""
        request, debate, served, awaited_turn = seat_request
        seat, format = request.path_params["seat"], debate.format
        side = seat if seat in format.sides else JUDGE
        # Debates of other folders may have the same name in the same browser; their links differ.
        draft_name = hashlib.sha256(request.path_params["token"].encode()).hexdigest()[:16]
        values: dict[str, Any] = {**_WITHOUT_A_TURN}
        turn_id, positions = "", debate.opened.settings.positions
        if awaited_turn is not None:
            seen, turn = awaited_turn.debate, awaited_turn.turn
            turn_id, positions = turn.neutral_id, positions_shown(seen, turn)
            values = {
                "heard": [_article(seen, entry) for entry in transcript_entries.entries_for(seen, turn)],
                "material": list(_material(awaited_turn)),
                "task": _task(awaited_turn),
                "brief": person_turns.full_text(*awaited_turn[:3]),
                "length_hint": person_turns.length_hint(turn),
                "questions": _questions(awaited_turn, form_data, with_problems=bool(problems)),
            }
        return render(
            "seat.html.j2",
            form_token=request.path_params["token"],
            here=address_of(request),
            topic=debate.opened.settings.topic,
            name=format.name_of(seat),
            side=side,
            others=[(format.name_of(side), positions[side]) for side in positions if side != seat],
            progress=_progress_sentence(debate),
            taken=_turns_taken(debate, seat, draft_name),
            position=positions.get(seat, ""),
            heading=person_turns.heading(debate, awaited_turn.turn) if awaited_turn else "",
            turn=turn_id,
            draft=f"{draft_name} {turn_id} {awaited_turn.brief.digest[:16]}" if awaited_turn else "",
            state=debate,
            running=served is not None,
            sent=form_data,
            problems=problems,
            remarks=remarks,
            remarks_digest=_digest(remarks),
            late_reply=late_reply,
            **values,
        )

    async def stream(self, request: Request) -> Any:
        """Says when the page of the seat has changed. In a pause it ends at once, and the browser looks again."""
        _, _, served = await self._debate(request)
        viewers = served.people.viewers if served else None
        return event_stream(viewers, lambda: [RECONNECT, message("here", {})])

    async def report(self, request: Request) -> Response:
        """The finished page, once the debate is complete."""
        path, debate, _ = await self._debate(request)
        if not debate.complete:
            raise HTTPException(404)
        return await pages.report(path)


def _reply_as_text(form_data: Mapping[str, str]) -> str:
    """The reply in a form, as text: the speech, or the fields that were filled in."""
    fields = ((name.removeprefix("field/"), text) for name, text in form_data.items() if name.startswith("field/"))
    return form_data.get("text", "") or "\n".join(f"{name}: {text}" for name, text in fields if text)


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
        _article(debate, transcript_entries.entry(debate, turn)) | {"draft": f"{draft_name} {turn.neutral_id} "}
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
            yield f"{document.heading}: {quoted(name.removeprefix('Name: '))}", html.speech(text)


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


def _questions(
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
