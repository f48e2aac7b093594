"""A stand-in for any seat, which calls no model: it shows a whole debate before that costs anything.

`rehearse:anthropic:claude-opus-5-5` stands in for that model. Its speeches are about as long as the real ones are asked
to be, its structured replies have the shape that is asked for, and both depend on the turn alone. What the real model
would cost is for `engine.budget`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import count
from typing import Any
from zlib import crc32

from debate_orchestrator.core import rapporteur, schedule, tally
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.phases import CLERK, MIRRORED, RAPPORTEUR, Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.shape import (
    MAX_NUMBER,
    Field,
    ShapeContext,
    applies,
    empty_value,
    fields_asked,
    names_turns,
)
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.verdict import DECISIVE, leader, score_gap
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import clerk
from debate_orchestrator.providers.cast_providers import spec_problem
from debate_orchestrator.providers.provider import OnPiece, Permissions, Provider
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import short_repr

KIND = model_spec.REHEARSE
_WORDS = 200
"""Words of a speech for which no length is asked."""
_WORDS_OF_A_FIELD, _ITEMS = 50, 3
"""Of a structured reply's texts and lists: with these it is about as long as a real one."""
_WORDS_OF_A_REPORT = 15
"""Of each text in what the rapporteur writes."""
_USUAL_VALUES = 500
"""Values of a structured reply after which its lists get the fewest items, and its texts few words."""
_SHORT_TEXT = "Rehearsed words."
_SENTENCES = (
    "Here the speaker would state a claim and give the reason for it.",
    "Evidence would follow, with the source from which it was taken.",
    "The strongest argument of the other side would be named before it is answered.",
    "A concrete case would show what changes in practice, and for whom.",
    "Costs and benefits would be weighed against each other, with numbers where there are any.",
    "An assumption that both sides share would be brought into the open.",
    "The limits of the claim would be admitted, so that the rest of it can stand.",
    "What was said earlier in the transcript would be quoted, with the turn in which it stands.",
    "An objection that is still to come would be met in advance.",
    "The point on which everything depends would be repeated in other words.",
    "Something that could be measured would be proposed, to settle what words cannot.",
)


class StandIn(Provider):
    """The stand-in for one seat."""

    def __init__(self, spec: str, current: CurrentState):
        self.name = spec
        self._current = current

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """The stand-in's reply, at no cost and without counts."""
        text = reply_for(self._current.state, schedule.turn(self._current.state, brief.turn_id))
        on_text(text)
        return Reply(text=text, brief_digest=brief.digest, spec=self.name, cost=0.0)


def problem(spec: str) -> str | None:
    """The reason that nothing can be rehearsed by that name."""
    rest = model_spec.rest(spec)
    if rest in ("", model_spec.HOST, model_spec.FETCH, model_spec.OFFLINE):
        return None
    if model_spec.kind(rest) == KIND:
        return f"{short_repr(rest)} is a rehearsal already. Try: {KIND}:anthropic:MODEL."
    return spec_problem(rest)


def provider(spec: str, current: CurrentState, permissions: Permissions) -> StandIn:
    return StandIn(spec, current)


def reply_for(debate: DebateState, turn: Turn, preferred_values: Mapping[str, str | bool] = {}) -> str:
    """The stand-in's reply to a turn that is due or taken. `preferred_values` gives the choices and booleans that it
    makes, by their fields. A mirrored turn gets the same verdict on the positions as the original one."""
    shape = debate.shape(turn)
    if shape is None:
        name = debate.format.name_of(turn.seat)
        first = f"This is a rehearsal: in {turn.id} a stand-in speaks for {name}, and no model was called."
        return _text(first, turn.phase.target_words or _WORDS)
    if turn.role == CLERK and "checks" in shape:
        return clerk.offline_reply(debate, turn)
    totals = tally.totals(debate)
    gap = score_gap(totals)
    strength = "decisive" if gap is not None and gap > DECISIVE else "narrow"
    preferred = {"winner": leader(totals), "strength": strength, **preferred_values}
    original = schedule.turn(debate, turn.id.removesuffix(MIRRORED))
    shape_context = schedule.shape_context(debate, original)
    if turn.role == RAPPORTEUR:
        reply = _rapporteur_reply(debate, shape, shape_context, turn, preferred_values)
    else:
        ballot = Filler(shape_context, preferred).reply(shape, original.id)
        reply = debate.mirror.structured_reply(shape, ballot) if turn.mirrored else ballot
    return json.dumps(reply, ensure_ascii=False, indent=1)


def _rapporteur_reply(
    debate: DebateState,
    shape: Mapping[str, Field],
    shape_context: ShapeContext,
    turn: Turn,
    preferred_values: Mapping[str, str | bool],
) -> dict[str, Any]:
    """The rapporteur's reply: a list of issues, advice, a check that finds nothing unless that is preferred, or a
    decision brief that the record supports."""
    reply = Filler(shape_context, {"mark": "not challenged"}, _WORDS_OF_A_REPORT).reply(shape, turn.id)
    if "findings" in reply and not preferred_values.get("findings"):
        reply["findings"] = []
    if "recommendation" in reply:
        speeches = [entry for entry in schedule.turns_heard(debate, turn) if entry.speaking]
        for number, row in enumerate(reply["why"] if speeches else ()):  # a format may have none
            speech = speeches[number % len(speeches)]
            row |= {"side": speech.seat, "turns": [speech.id]}
            if rapporteur.mark_problems(debate, row):  # the dissent record says that it was disputed
                row |= {"mark": "weakened", "turns": [speech.id for speech in speeches]}
            if rapporteur.mark_problems(debate, row):  # its side conceded, and heard no answer
                row |= {"side": None, "mark": rapporteur.NOT_ARGUED, "turns": [], "dissent_row": None}
    return reply


class Filler:
    """Fills in one structured reply."""

    def __init__(
        self, shape_context: ShapeContext, preferred_values: Mapping[str, str | bool], words: int = _WORDS_OF_A_FIELD
    ):
        """`preferred_values` has the choices and booleans that are made, by their fields; a text has up to `words`."""
        self._context, self._preferred_values, self._words = shape_context, preferred_values, words
        self._value_count = 0

    def reply(self, shape: Mapping[str, Field], seed_text: str) -> dict[str, Any]:
        """A structured reply of a shape that passes its check. Nothing is found, detected or conceded in it, except
        where that is preferred, and a ballot names the side to which it gives more."""
        fields = fields_asked(shape, self._context)
        values: dict[str, Any] = {}

        def value(name: str) -> Any:
            if name not in values:
                field = fields[name]
                values[name] = empty_value(field)  # so that fields that depend on each other come to an end
                conditions = {other: value(other) for other in (*field.only_if, *field.unless) if other in fields}
                if applies(field, conditions) and not field.optional:
                    preferred = self._preferred_values.get(name)
                    if name == "winner" and "scores" in fields:
                        preferred = leader({side: sum(points.values()) for side, points in value("scores").items()})
                    values[name] = self._value(field, f"{seed_text}, {name}", preferred)
            return values[name]

        return {name: value(name) for name in fields}

    def _value(self, field: Field, seed_text: str, preferred: str | bool | None) -> Any:
        context = self._context
        if keys := field.keys(context):
            return {key: self._value(field.single, f"{seed_text} of {key}", preferred) for key in keys}
        self._value_count += 1
        options = field.options or context.sides
        match field.kind:
            case "text":
                maximum = field.max_words or field.target_words or self._words
                return " ".join(self._text(seed_text, min(maximum, self._words)).split(" ")[:maximum])
            case "url":
                return f"https://example.org/{_stable_number(seed_text)}"
            case "turn":
                return context.turns[_stable_number(seed_text) % len(context.turns)] if context.turns else ""
            case "boolean":
                return preferred is True
            case "number":
                return _number(seed_text, field.min, field.max)
            case "choice":
                return preferred if preferred in options else options[_stable_number(seed_text) % len(options)]
            case "choices":
                return [options[_stable_number(seed_text) % len(options)]]
            case "turns":
                return list(context.turns[-2:])
            case "list":
                return self._items(field, seed_text)
            case "object":
                return self.reply(field.fields, seed_text)
        return {side: self._scores(f"{seed_text} {side}") for side in context.sides}

    def _items(self, field: Field, seed_text: str) -> list[Any]:
        """The items of a list: a few, or the fewest that are asked for once the reply is long."""
        items: list[Any] = []
        if not self._context.turns and names_turns(field.fields):
            return items  # there is no turn yet that it could be about
        minimum = round(field.min or 0)
        usual = round(max(minimum, min(_ITEMS, field.max or _ITEMS)))
        while len(items) < (usual if self._value_count < _USUAL_VALUES else minimum):
            item_seed = f"{seed_text} {len(items) + 1}"
            if field.fields:
                items.append(self.reply(field.fields, item_seed))
            else:
                self._value_count += 1
                items.append(self._text(item_seed, self._words))
        return items

    def _scores(self, seed_text: str) -> dict[str, float]:
        scores: dict[str, float] = {}
        for name in self._context.criteria:
            self._value_count += 1
            scores[name] = _number(f"{seed_text} {name}", *self._context.scale(name))
        return scores

    def _text(self, seed_text: str, words: int) -> str:
        return _text(f"Rehearsed words for {seed_text}.", words) if self._value_count <= _USUAL_VALUES else _SHORT_TEXT


def _number(seed_text: str, minimum: float | None, maximum: float | None) -> float:
    """A whole number from the upper half of a range if there is one in it."""
    low = minimum if minimum is not None else max(maximum - 10, -MAX_NUMBER) if maximum is not None else 0.0
    high = maximum if maximum is not None else min(low + 10, MAX_NUMBER)
    integers = range(math.ceil((low + high) / 2), math.floor(high) + 1) or range(math.ceil(low), math.floor(high) + 1)
    return integers[_stable_number(seed_text) % len(integers)] if integers else (low + high) / 2


def _text(first: str, words: int) -> str:
    """A text of about so many words that begins with this sentence, in paragraphs."""
    sentences = [first]
    words_left = words - len(first.split())
    for n in count(_stable_number(first)):
        sentence = _SENTENCES[n % len(_SENTENCES)]
        words_left -= len(sentence.split())
        if words_left < 0:
            break
        sentences.append(sentence)
    return "\n\n".join(" ".join(sentences[n : n + 5]) for n in range(0, len(sentences), 5))


def _stable_number(seed_text: str) -> int:
    """A number that depends on nothing but what it is for."""
    return crc32(seed_text.encode())
