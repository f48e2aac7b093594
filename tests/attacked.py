"""Debates of any format in which chosen texts stand wherever a stranger's words can stand, with all their briefs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from attacks import NONCE

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import ContextFile, Opened, ReplyEvent, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.phases import CLERK, JUDGE, Turn
from debate_orchestrator.core.reply import FoundPage, Reply
from debate_orchestrator.core.reply_check import MAX_TEXT_LENGTH, MAX_URL_LENGTH
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.shape import Field, Shape, ShapeContext, applies, fields_asked
from debate_orchestrator.core.speech_rules import visible_text
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting.briefs import Brief, brief, brief_file
from debate_orchestrator.storage.journal_lines import SCHEMA

Texts = Callable[[str], str]
"""A place to the text that is there, asked in the order in which texts come to stand somewhere. Places are `topic`,
`position`, `file`, `name` (a file's), `page` (that a search found), `speech of a`, and the fields of
structured replies: `reply of a: quote`, `clerk: checks`, `judge: feedback`."""


class Put(NamedTuple):
    """A brief, as it was put before a seat."""

    debate: DebateState
    turn: Turn
    brief: Brief
    brief_file: str
    heard: list[Turn]
    """What its reader has heard."""


def opened(texts: Texts, name: str, *, rounds: int = 1, judges: int = 1, whole: bool = True, **rules: Any) -> Opened:
    """The opening of a debate, with everything that its format leaves open if it is to be `whole`: mirrored, judged
    each round and cast a pre-debate vote."""
    made = loader.load(name).model_copy(update=rules)
    context = tuple(ContextFile(name=texts("name"), text=texts("file")) for _ in range(2))
    cast = dict.fromkeys(made.active_seats(), ("host",)) | (
        {JUDGE: ("host",) * judges} if JUDGE in made.active_seats() else {}
    )
    setup = Settings(
        topic=texts("topic"),
        positions={side: texts("position") for side in made.sides},
        rounds=min(rounds, made.round_limits.max),
        strictness="strict",
        first=made.sides[0],
        context=tuple(file.name for file in context),
        cast=cast,
        mirror=whole and any(map(made.is_vote, made.phases())),
        each_round=whole and "each round" in made.optional_phases,
        blind=whole and "blind" in made.optional_phases,
    )
    given = {"settings": setup, "context": context, "format": made, "prompts": {}}
    return Opened(schema_version=SCHEMA, version="0", seed=1, nonce=NONCE, **given)


def put(texts: Texts, opening: Opened) -> Iterator[Put]:
    """Every brief of a debate in which every seat says what `texts` tells."""
    debate = fold([opening])
    while due := debate.due:
        for turn in due:
            made = brief(debate, turn)
            yield Put(debate, turn, made, brief_file(made, debate, turn, "reply"), schedule.turns_heard(debate, turn))
        for turn in due:
            debate = apply(debate, answer(debate, turn, texts))


def answer(debate: DebateState, turn: Turn, texts: Texts) -> ReplyEvent:
    """What is said in a turn."""
    shape = debate.shape(turn)
    if shape is not None:
        role = turn.role if turn.role in (JUDGE, CLERK) else f"reply of {turn.seat}"
        ballot = fill_shape(shape, schedule.shape_context(debate, turn), lambda field: texts(f"{role}: {field}"))
        return StructuredReplyGiven(
            turn_id=turn.id, data=ballot, reply=Reply(text="{}", brief_digest="0" * 64, spec="host")
        )
    said = _spoken(debate, turn, texts(f"speech of {turn.seat}"))
    page = FoundPage(url=texts("page"))
    return Spoke(turn_id=turn.id, reply=Reply(text=said, brief_digest="0" * 64, spec="host", found_pages=(page,)))


def _spoken(debate: DebateState, turn: Turn, said: str) -> str:
    """A speech of which something is heard; any other would be asked for again."""
    return said if visible_text(debate, said, turn.phase).text.strip() else f"calm {said}"


def fill_shape(shape: Shape, terms: ShapeContext, texts: Texts, place: str = "") -> dict[str, Any]:
    """A structured reply with all its fields filled in, lists with two items; flags are down."""
    made: dict[str, Any] = {}
    fields = fields_asked(shape, terms)
    for name, field in sorted(fields.items(), key=lambda one: bool(one[1].only_if or one[1].unless)):
        if applies(field, made):
            made[name] = _value(field, terms, texts, place or name)
        else:
            made[name] = [] if field.kind in ("list", "choices", "turns") else None
    return {name: made[name] for name in fields}


def _value(field: Field, terms: ShapeContext, texts: Texts, place: str) -> Any:
    if field.optional and field.kind != "text":
        return None
    if field.per_side:
        one = field.model_copy(update={"per_side": False})
        return {side: _value(one, terms, texts, place) for side in terms.sides}
    match field.kind:
        case "text":
            return fitting(texts(place), field)
        case "url":
            return re.sub(r"[\s<>\"`\x00-\x20\x7f]", "-", f"https://example.org/{texts(place)}")[:MAX_URL_LENGTH]
        case "boolean":
            return place == "convergence"  # the judge steps in wherever it may
        case "number":
            return int(field.min or 0) if field.integer else field.min or 0
        case "choice":
            return next(iter(field.options or terms.sides))
        case "choices":
            return list(field.options or terms.sides)[:1]
        case "turn":
            return terms.turns[0]
        case "turns":
            return list(terms.turns[:2])
        case "scores":
            return {side: {name: terms.scale(name)[1] for name in terms.criteria} for side in terms.sides}
        case "object":
            return fill_shape(field.fields, terms, texts, place)
    if not terms.turns and any(one.kind == "turn" for one in field.fields.values()):
        return []
    return [
        fill_shape(field.fields, terms, texts, place) if field.fields else texts(place)[:MAX_TEXT_LENGTH]
        for _ in range(2)
    ]


def fitting(text: str, field: Field) -> str:
    """As much of a text as a field takes."""
    pieces = re.findall(r"\S+\s*|\s+", text[:MAX_TEXT_LENGTH])
    return "".join(pieces[: field.max_words]) if field.max_words is not None else text[:MAX_TEXT_LENGTH]
