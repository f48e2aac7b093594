"""From a turn to its brief: the prompt that a seat is sent. `replies` is the other half, from the reply to an event.

What is sent only ever grows at its end, since prompt caches pay for a prefix that stays the same: a system text shared
by all seats; the topic; one block for each turn, in the order of the schedule; and last, never repeated, the seat's
role, its task and its own earlier ballots. Speech is only ever a value in a template, in blocks,
which prompts call documents.

Three things keep what speakers write apart from what the program writes:

Nonce       a random text, drawn once for a debate and written in its journal. No brief shows it.
Marker      the text that opens and closes one block, made of the nonce and the place of the block. A speaker has never
            seen the marker of the block that its speech will be in, so it can't end the block, nor write a tag that
            says what a look-up found: those tags hold the marker. A speech keeps its marker in all later briefs.
Reply code  the text that a seat must put into its reply, so that the reply counts: see `reply_code`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from debate_orchestrator.core import rapporteur, schedule, speech_rules, tally, transcript_entries
from debate_orchestrator.core.events import Rejected, StructuredReplyGiven
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE, MIRRORED, RAPPORTEUR, QuoteRules, Turn
from debate_orchestrator.core.shape import json_schema
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.transcript_entries import TranscriptEntry
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.core.verdict import rounds_won, score_gap, score_totals
from debate_orchestrator.core.visible_text import with_marker
from debate_orchestrator.core.winner import deciding_verdict
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import rendering, templates
from debate_orchestrator.prompting.forms import empty_form
from debate_orchestrator.prompting.json_object import without_reasoning_around
from debate_orchestrator.prompting.reply_code import ReplyCode, with_code
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.errors import first_few
from debate_orchestrator.util.numbers import percent
from debate_orchestrator.util.redact import redact_values

MAX_REJECTED_LENGTH = 20_000
"""Characters of an unusable reply that are shown again to its writer."""
_CODE_PLACEHOLDER = "CODE"
_ASKED_ONCE = "This is asked for once. If your next reply does not change it, the report shows it as it is."

Role = Literal["user", "assistant"]
_REDACTED = AfterValidator(redact_values)
"""Takes the secrets of the environment out of what a brief shows: no brief has any."""


class Message(FrozenModel):
    """One message of a brief, in parts. All parts but a brief's very last are sent again, unchanged
    and in the same place, with the seat's later briefs."""

    role: Role
    parts: Annotated[tuple[str, ...], _REDACTED]


class Brief(FrozenModel):
    """The prompt for one turn of a seat, and the shape of the reply."""

    turn_id: str
    system: Annotated[str, _REDACTED]
    messages: tuple[Message, ...]
    wants: Literal["text", "json"]
    json_schema: Annotated[dict[str, Any] | None, _REDACTED] = None
    code: ReplyCode | None = None
    """What the reply has to hold, as its schema and last message say; of a speech, only its reserved line."""
    target_words: int | None = None
    """The length asked for, in words, if one is."""
    max_words: int | None = None
    """Words after which what others hear of the reply ends, if the phase has such a limit."""
    max_tokens: int | None = None
    """The most tokens that the reply may have, if the format sets a limit."""
    search: bool = False
    """Whether the seat may search the web."""

    @property
    def digest(self) -> str:
        """The sha256 of everything that the seat is shown, with a placeholder for the code: a journal holds the digest
        while the turn is due, and the few letters of a code could be worked out from it."""
        text = self.model_dump_json(exclude={"turn_id", "code", "target_words", "max_words", "max_tokens", "search"})
        if self.code is not None:
            text = text.replace(self.code.text, _CODE_PLACEHOLDER)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def shared_schema(self) -> dict[str, Any] | None:
        """The schema of the reply without this turn's code, for an API that puts it before what it caches."""
        if self.json_schema is None or self.code is None:
            return self.json_schema
        return with_code(self.json_schema, self.code, any_text=True)


def brief(debate: DebateState, turn: Turn, rejected: Rejected | None = None, code: ReplyCode | None = None) -> Brief:
    """The brief of a turn that is due; a `rejected` reply comes at the very end, with its problems, and after it the
    `code` that the reply has to hold. Only for a due turn: a judge's brief made later would hold results that were
    counted since."""
    values = _template_values(debate, turn, code)
    messages = _transcript(debate, turn, values)
    own_templates = debate.opened.templates
    system = _render(loader.system_templates(debate.format), values | _marker(debate, "system"), own_templates)
    lines = (
        debate.format.reserved_lines.with_code(code.text)
        if code is not None and turn.speaking
        else debate.format.reserved_lines
    )
    own_values = values | {"lines": rendering.plain_data(lines)}
    last = _render(loader.task_template(debate.format, turn.phase), own_values, own_templates)
    if code is not None and values["schema"] is None:
        last += _about_lines(debate, f"{system}\n{last}", code)
    if values["floor"]:
        last = f"{last}\n\n{_render('shared/floor.md.j2', values)}"
    if rejected is not None:
        last = f"{last}\n\n{_render('shared/rejected-reply.md.j2', _rejected_values(debate, turn, rejected))}"
    if code is not None and values["schema"] is not None:
        keys = list(values["schema"]["properties"])
        code_values = {"keys": keys, "letters": code.text, "entry": code.entry, "end_entry": code.end_entry}
        last = f"{last}\n\n{_render('shared/code.md.j2', code_values)}"
    messages.append(("user", last))
    return Brief(
        turn_id=turn.id,
        system=system,
        messages=_merged(messages),
        wants="json" if values["schema"] else "text",
        json_schema=values["schema"],
        code=code,
        target_words=turn.phase.target_words,
        max_words=turn.phase.max_words,
        max_tokens=turn.phase.max_tokens,
        search=values["search"],
    )


def _about_lines(debate: DebateState, text: str, code: ReplyCode) -> str:
    """The code of the turn, and the reserved lines that a text shows without it; empty if it mentions none."""
    lines, with_code = debate.format.reserved_lines, debate.format.reserved_lines.with_code(code.text)
    pairs = (lines.concede, with_code.concede), (lines.decline, with_code.decline)
    if not any(line in text for line, _ in pairs):
        return ""
    lines_with_code = [own for line, own in pairs if line in text and own not in text]
    return f"\n\n{_render('shared/lines.md.j2', {'letters': code.text, 'lines_with_code': lines_with_code})}"


def _transcript(debate: DebateState, turn: Turn, values: dict[str, Any]) -> list[tuple[Role, str]]:
    """The topic and the speeches that the seat of a turn has heard; in a dialogue its own ones are its messages."""
    dialogue = debate.format.history == "dialogue" and not turn.judging
    messages: list[tuple[Role, str]] = [("user", _render("shared/motion.md.j2", values | _marker(debate, "motion")))]
    names = {key: values[key] for key in ("names", "side_labels")}
    for turn_values in values["heard"]:
        # The sides of a mirrored debate have each other's turn ids, whose markers they have seen.
        marker_value = _marker(debate, turn_values["turn"]["id"], *(["mirrored"] if turn.mirrored else []))
        marker = marker_value["marker"]
        text = sanitize.without_block_marker(turn_values["text"], marker)
        if debate.format.quotes:
            text = with_marker(text, debate.format.quotes, marker)
        if dialogue and turn_values["turn"]["seat"] == turn.seat and text.strip() and not turn_values["declined"]:
            messages.append(("assistant", text))
        else:
            block_values = names | turn_values | marker_value | {"said": text}
            messages.append(("user", _turn_block(json.dumps(block_values))))
    return messages


@lru_cache(maxsize=256)
def _turn_block(values: str) -> str:
    """A speech as a block. All who heard it have the same block in all their briefs."""
    return _render("shared/turn.md.j2", json.loads(values))


def _rejected_values(debate: DebateState, turn: Turn, rejected: Rejected) -> dict[str, Any]:
    """The messages that show an unusable reply again. Their marker depends on it: its writer saw the earlier ones."""
    if is_speech := debate.shape(turn) is None:
        text = speech_rules.without_private_reasoning(debate, rejected.reply.text)
    else:
        text = without_reasoning_around(sanitize.sanitize(rejected.reply.text))
    return {
        "complaints": (
            *(problem.replace(f"{turn.id}: ", f"{_shown_id(turn)}: ") for problem in rejected.problems),
            *([_ASKED_ONCE] if rejected.could_be_better else []),
        ),
        "former": text[:MAX_REJECTED_LENGTH],
        "cut": len(text) > MAX_REJECTED_LENGTH,
        "wants": "text" if is_speech else "json",
        **_marker(debate, turn.id, "again", rejected.reply.text),
    }


def _marker(debate: DebateState, *place: str) -> dict[str, str]:
    """The marker of the blocks of one part of a brief, by the name that templates have for it. A debate's own
    may use the older name."""
    marker = sanitize.block_marker(debate.opened.nonce, *place)
    return {"marker": marker, "nonce": marker}


def earlier_speech(brief: Brief, nonce: str, text: str) -> str:
    """A seat's own speech as a block, where a brief is one text and has no messages."""
    marker = sanitize.block_marker(nonce, brief.turn_id, "earlier")
    return f"<<< EARLIER {marker} said by you\n{sanitize.without_block_marker(text, marker)}\nEND {marker} >>>"


def _merged(turns: list[tuple[Role, str]]) -> tuple[Message, ...]:
    by_role = groupby(turns, key=lambda turn: turn[0])
    return tuple(Message(role=role, parts=tuple(text for _, text in group)) for role, group in by_role)


def brief_file(brief: Brief, debate: DebateState, turn: Turn, reply_name: str) -> str:
    """The brief as one file for an agent that reads nothing else; its reply goes into `reply_name` beside it."""
    values = {"brief": rendering.plain_data(brief), "turn": _turn(debate, turn), "reply_name": reply_name}
    values |= {"shown_id": _shown_id(turn), "names": _names(debate), "form": None}
    values["parts"] = [
        earlier_speech(brief, debate.opened.nonce, part) if message.role == "assistant" else part
        for message in brief.messages
        for part in message.parts
    ]
    if (shape := debate.shape(turn)) is not None:
        form = empty_form(shape, schedule.shape_context(debate, turn))
        if (code := brief.code) is not None:
            form = {code.field: code.text, **form, code.end_field: code.text}
        values["form"] = json.dumps(form, indent=1)
    return _render("shared/brief-file.md.j2", values) + "\n"


def moderator_brief(name: str, nonce: str, **values: Any) -> str:
    """A moderator's brief, from the template of that name, as one self-contained file. Its marker depends on all that
    it shows, since the moderator may have written some of it after an earlier brief."""
    plain = rendering.plain_data(values)
    plain["marker"] = sanitize.block_marker(nonce, name, json.dumps(plain))
    return _render(f"moderator/{name}.md.j2", plain) + "\n"


def _render(name: str | tuple[str, ...], values: Mapping[str, Any], own_templates: Mapping[str, str] = {}) -> str:
    """The text of a template, or of the first of several that exists; `own_templates` are in the debate's journal."""
    name_values = {key: values.get(key) or {} for key in ("names", "side_labels")}
    context = templates.FunctionContext(values.get("marker", ""), name_values["names"], name_values["side_labels"])
    return rendering.render([name] if isinstance(name, str) else name, values, context, own_templates)


def known_names(debate: DebateState) -> set[str]:
    """The names that templates may use in some brief: those that there would be if the first turn due were a debater's,
    a judge's or the rapporteur's."""
    first = debate.due[0]
    seats = (debate.format.sides[0], JUDGE, RAPPORTEUR)
    seat_values = (_template_values(debate, first.model_copy(update={"seat": seat})) for seat in seats)
    return {*templates.functions(templates.FunctionContext()), *(name for values in seat_values for name in values)}


_FORMER_NAMES = {
    "holder": "shown_as",
    "labels": "announcements",
    "words": "target_words",
    "advice": "feedback",
    "marks": "possible_marks",
    "may_be_dry": "asks_about_new_ground",
    "asks_for_no_new_ground": "asks_about_new_ground",
    "played": "rounds_judged",
    "persisted": "converged_again",
    "until_dry": "until_no_new_ground",
}
"""Older names of values in templates in journals, to the names now."""


def _template_values(debate: DebateState, turn: Turn, code: ReplyCode | None = None) -> dict[str, Any]:
    heard_turns = _turns_heard(debate, turn)
    fixed = _of_format(debate) | (_of_rubric(debate) if turn.judging else {})
    values = fixed | _common(debate, turn) | _for_role(debate, turn, heard_turns)
    plain = {name: rendering.plain_data(value) for name, value in values.items()}
    plain |= {former: plain[name] for former, name in _FORMER_NAMES.items() if name in plain}
    return {"turn": _turn(debate, turn), "heard": heard_turns, **plain, "schema": _schema(debate, turn, code)}


def _common(debate: DebateState, turn: Turn) -> dict[str, Any]:
    format, settings, mirror = debate.format, debate.opened.settings, debate.mirror
    as_they_are = {side: side for side in format.sides}
    actual_sides = mirror.swapped(as_they_are) if turn.mirrored else as_they_are
    renamed: Callable[[str], str] = mirror.text if turn.mirrored else str
    return {
        "mirrored": turn.mirrored,
        **_marker(debate, turn.id, "task"),
        "topic": settings.topic,
        "as_of": settings.as_of,
        "sides": tuple(actual_sides),
        "positions": positions_shown(debate, turn),
        "shown_as": {actual: side for side, actual in actual_sides.items()},
        "side_labels": {side: format.seats[actual].label for side, actual in actual_sides.items()},
        "context": debate.opened.context if turn.hears_as in format.context_heard_by else (),
        "rounds": settings.rounds,
        "strictness_name": settings.strictness,
        "target_words": turn.phase.target_words,
        "floor": [
            {"question": renamed(question.text), "new": question.new}
            for question in schedule.questions_put_to(debate, turn)
        ],
        "search": settings.search and turn.speaking and debate.shape(turn) is None,
        "until_no_new_ground": settings.until_no_new_ground,
        "own_issues": settings.own_issues is not None,
        **_issues(debate, renamed),
    }


def positions_shown(debate: DebateState, turn: Turn) -> dict[str, str]:
    """What each side argues, as the seat of a turn is told it, in the order in which it is told."""
    positions = {side: debate.opened.settings.positions[side] for side in debate.format.sides}
    return debate.mirror.swapped(positions) if turn.mirrored else positions


def _of_format(debate: DebateState) -> dict[str, Any]:
    format = debate.format
    return {
        "names": _names(debate),
        "strictness": format.rubric.strictness[debate.opened.settings.strictness],
        "lines": format.reserved_lines,
        "announcements": format.announcements,
        "private": format.private_tag,
        "quotes": quote_tags(format),
    }


def quote_tags(format: Format) -> QuoteRules | None:
    """The tags of quotes as templates name them, in which MARKER stands for the marker of a document."""
    if (quotes := format.quotes) is None:
        return None
    marked = {name: f"{getattr(quotes, name)} MARKER" for name in ("verified", "unverified")}
    return quotes.model_copy(update=marked)


def _of_rubric(debate: DebateState) -> dict[str, Any]:
    rubric = debate.format.rubric
    low, high = f"{rubric.min:g}", f"{rubric.max:g}"
    return {
        "scale": {"min": low, "max": high, "least": low, "most": high},  # the last two are former names
        "scales": {name: rubric.scale(name) for name in debate.criteria},
        "criteria": {name: rubric.criteria[name] for name in debate.criteria},
        "convergence": rubric.convergence,
    }


def _schema(debate: DebateState, turn: Turn, code: ReplyCode | None) -> dict[str, Any] | None:
    """The JSON Schema of the reply with the turn's code in it; None for a speech."""
    shape = debate.shape(turn)
    if shape is None:
        return None
    schema = json_schema(shape, schedule.shape_context(debate, turn, with_turns=False))
    return schema if code is None else with_code(schema, code)


def _issues(debate: DebateState, renamed: Callable[[str], str]) -> dict[str, Any]:
    """The list of issues if there is one, and which of them neither side has dealt with."""
    issue_list = rapporteur.issue_list(debate)
    if issue_list is None:
        return {"issues": None, "untouched": ()}
    issues = {
        "cases": [renamed(case) for case in issue_list.cases],
        "issues": {name: renamed(question) for name, question in issue_list.issues.items()},
        "unknowns": [renamed(fact) for fact in issue_list.unknowns],
    }
    return {"issues": issues, "untouched": rapporteur.untouched_issues(debate)}


def _turn(debate: DebateState, turn: Turn) -> dict[str, Any]:
    """A turn as templates see it, as plain data."""
    names = ("id", "seat", "round", "mirrored", "role", "judging", "speaking", "after_rounds", "phase")
    plain = {name: rendering.plain_data(getattr(turn, name)) for name in names}
    return {**plain, "closing": turn.after_rounds, "tag": debate.format.tag_of(turn)}  # the first is a former name


def _turns_heard(debate: DebateState, for_turn: Turn) -> list[dict[str, Any]]:
    """The speeches that the seat of a turn has heard, as templates see them, as plain data."""
    names = [name for name in TranscriptEntry.model_fields if name not in ("turn", "structured")]
    return [
        {name: rendering.plain_data(getattr(entry, name)) for name in names} | {"turn": _turn(debate, entry.turn)}
        for entry in transcript_entries.entries_for(debate, for_turn)
    ]


def _names(debate: DebateState) -> dict[str, str]:
    return {seat: debate.format.name_of(seat) for seat in (*debate.format.seats, *debate.judges)}


def _for_role(debate: DebateState, turn: Turn, heard_turns: list[dict[str, Any]]) -> dict[str, Any]:
    """The values that only templates of a turn's role may name."""
    if turn.role == JUDGE:
        return _for_judge(debate, turn, heard_turns)
    if turn.role == RAPPORTEUR:
        return _for_rapporteur(debate, heard_turns)
    return _for_debater_or_clerk(debate, turn, heard_turns)


def _for_debater_or_clerk(debate: DebateState, turn: Turn, heard_turns: list[dict[str, Any]]) -> dict[str, Any]:
    other = next((side for side in debate.format.sides if side != turn.seat), turn.seat)
    theirs = [entry["turn"] for entry in heard_turns if entry["turn"]["seat"] == other]
    return {
        "other": other,
        "tells_rounds": debate.format.tells_rounds,
        "spoken": any((entry["round"], entry["phase"]["name"]) == (turn.round, turn.phase.name) for entry in theirs),
        "target": theirs[-1] if theirs else None,
        "feedback": tally.feedback(debate, turn.seat, turn.round or 0),
        "evidence": citations_to_check(debate, turn),
    }


def _for_judge(debate: DebateState, turn: Turn, heard_turns: list[dict[str, Any]]) -> dict[str, Any]:
    mirror = debate.mirror
    own_ballots = [earlier.id for earlier in schedule.own_ballot_turns(debate, turn)]
    results = tally.results_of(debate, own_ballots)
    totals, won = score_totals(results, debate.format.sides), rounds_won(results, debate.format.sides)
    share, conceded = score_gap(totals), tally.conceding_side(debate)
    if turn.mirrored:
        totals, won, conceded = mirror.swapped(totals), mirror.swapped(won), mirror.side(conceded or "") or None
    return {
        "asks_about_new_ground": bool({"issues", "until no new ground"} & set(debate.opened.settings.settings_on)),
        "round_turns": [earlier["turn"]["id"] for earlier in heard_turns if earlier["turn"]["round"] == turn.round],
        "declined": [earlier["turn"] for earlier in heard_turns if earlier["declined"]],
        "ballots": [
            debate.replies[turn_id].model_copy(update={"turn_id": turn_id.removesuffix(MIRRORED)})
            for turn_id in own_ballots
        ],
        "totals": totals,
        "won": won,
        "gap": None if share is None else percent(share),
        "rounds_judged": len(results),
        "conceded": conceded,
        "converged_again": bool(tally.rounds_converged_again(debate)),
    }


def _for_rapporteur(debate: DebateState, heard_turns: list[dict[str, Any]]) -> dict[str, Any]:
    """The values that templates of the rapporteur's turn may name: the result, but no ballot."""
    verdict, advice = deciding_verdict(debate), rapporteur.prior_advice(debate)
    return {
        "own_advice": advice.turn_id if advice else None,
        "declined": [turn_values["turn"] for turn_values in heard_turns if turn_values["declined"]],
        "totals": tally.totals(debate),
        "result": {"winner": verdict.winner, "strength": verdict.strength} if verdict else None,
        "standings": rapporteur.issue_standings(debate),
        "dissent": rapporteur.dissent_rows(debate),
        "conceded": tally.deciding_conceders(debate),
        "possible_marks": {side: rapporteur.marks_possible(debate, side) for side in debate.format.sides},
        "findings": rapporteur.decision_brief_findings(debate),
        "shortcomings": [*first_few(rapporteur.decision_brief_problems(debate), "the brief")],
    }


def _shown_id(turn: Turn) -> str:
    """The id of a turn in the text of its brief: no judge is told whether it sees the debate mirrored. It is the same
    for both turns of a judge; `Turn.id_hiding_mirrored`, which names files, tells them apart."""
    return turn.id.removesuffix(MIRRORED)


def citations_to_check(debate: DebateState, turn: Turn) -> list[dict[str, str]]:
    """The citations of the sides in a round, for a clerk to look up: the turn, the address and the quote of each."""
    citations = []
    for earlier in schedule.turns_heard(debate, turn):
        reply_event = debate.replies[earlier.id]
        if (
            earlier.round != turn.round
            or not isinstance(reply_event, StructuredReplyGiven)
            or speech_rules.has_declined(debate, earlier.id)
        ):
            continue
        if (url := reply_event.data.get("url")) and (quote := reply_event.data.get("quote")):
            address = sanitize.sanitize(sanitize.visible_address(url))
            citations.append({"turn": earlier.id, "url": address, "quote": sanitize.sanitize(quote)})
    return citations
