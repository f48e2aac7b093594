"""Debates of any size, folded from scripts (what is not scripted is filled in), and the smallest format there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from hypothesis import settings

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.events import (
    Declined,
    Opened,
    Rejected,
    ReplyEvent,
    Spoke,
    StructuredReplyGiven,
)
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.reply_check import MAX_TEXT_LENGTH, MAX_URL_LENGTH
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.shape import Field, Shape, ShapeContext, applies, fields_asked, names_turns
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.formats import loader
from debate_orchestrator.storage.journal_lines import SCHEMA

ADVERSARIAL = loader.load("adversarial")
CONCEDE = ADVERSARIAL.reserved_lines.concede
DECLINE = ADVERSARIAL.reserved_lines.decline

Script = Mapping[str, str | Mapping[str, Any] | Iterable[ReplyEvent]]
"""Turn id to what happens there: the text of a speech, the fields of a ballot that differ, or events."""

many = settings(max_examples=2 * settings().max_examples)
"""For properties that are quick to try."""


def opened(rounds: int = 3, judges: int = 1, *, rules: Format = ADVERSARIAL, **setup: Any) -> Opened:
    """The opening of a debate of that size."""
    context = setup.pop("context", ())
    given = {"strictness": "strict", "first": rules.sides[0]} | setup
    given["cast"] = {seat: ("host",) * (judges if seat == "judge" else 1) for seat in rules.active_seats()}
    given["cast"] |= {"rapporteur": ("host",)} if given.get("issues") or given.get("brief") else {}
    given["context"] = tuple(file.name for file in context)
    positions = {side: f"{name} says so" for side, name in zip(rules.sides, ("Ann", "Bob"), strict=False)}
    return Opened(
        schema_version=SCHEMA,
        version="0",
        settings=Settings(topic="Is it so?", positions=positions, rounds=rounds, **given),
        context=context,
        format=rules,
        prompts={},
        seed=1,
        nonce="0123456789abcdef",
        mark_rules=2,
        stand_in_findings_decide=False,
    )


def reply(text: str = "So it is.") -> Reply:
    return Reply(text=text, brief_digest="0" * 64, spec="host")


def speech_event(turn: str, text: str = "So it is.") -> Spoke:
    return Spoke(turn_id=turn, reply=reply(text))


def decline_event(turn: str) -> Declined:
    return Declined(turn_id=turn, reply=reply(DECLINE))


def ballot_event(turn: str, ballot: Mapping[str, Any]) -> StructuredReplyGiven:
    return StructuredReplyGiven(turn_id=turn, data=dict(ballot), reply=reply("{}"))


def rejected_event(turn: str, text: str = "no JSON") -> Rejected:
    return Rejected(turn_id=turn, problems=(f"{turn}: no JSON",), reply=reply(text))


def absent_judge(turn: str) -> list[ReplyEvent]:
    """What makes a judge count as absent: the last of its rejected replies says so."""
    return [rejected_event(turn, "no JSON"), rejected_event(turn, "still no JSON").model_copy(update={"absent": True})]


def ballot_fields(a: float = 7, b: float = 6, *, rounds: int = 3, **changes: Any) -> dict[str, Any]:
    """The fields of a ballot in which every criterion has the side's points, and the leader wins."""
    names = ["argument_quality", "use_of_evidence", *(["directness_of_rebuttals"] if rounds > 1 else [])]
    scores = {"a": dict.fromkeys(names, a), "b": dict.fromkeys(names, b)}
    return {"scores": scores, "winner": "a" if a > b else "b" if b > a else "tie"} | changes


def converging(side: str = "both", *criteria: str) -> dict[str, Any]:
    """The fields of a ballot that finds convergence."""
    return {"convergence": {"detected": True, "criteria": list(criteria) or ["same claim"], "side": side}}


def plainest_reply(
    shape: Shape,
    terms: ShapeContext,
    changes: Mapping[str, Any] = MappingProxyType({}),
    texts: Callable[[str], str] | None = None,
    place: str = "",
) -> dict[str, Any]:
    """The plainest value of a shape with these changes: flags down, the first choice, empty lists, the middle of the
    scale. With `texts`, which tells the text for the field at a place, every text is filled in, optional ones too, each
    list has two items, and a judge finds convergence."""
    fields, made = fields_asked(shape, terms), dict(changes)
    for name, field in sorted(fields.items(), key=lambda item: bool(item[1].only_if or item[1].unless)):
        if name in changes:
            continue
        if not applies(field, made):
            made[name] = [] if field.kind in ("list", "choices", "turns") else None
        elif field.optional and not (texts and field.kind == "text"):
            made[name] = None
        else:
            made[name] = _plain(field, terms, texts, place or name)
    return {name: made[name] for name in fields} | made


def _plain(field: Field, terms: ShapeContext, texts: Callable[[str], str] | None, place: str) -> Any:
    if keys := field.keys(terms):
        return {key: _plain(field.single, terms, texts, place) for key in keys}
    options = list(field.options or terms.sides)
    points = (terms.min + terms.max) / 2
    plain_texts = {"text": "So it is.", "url": "so"}
    text = texts(place) if texts and field.kind in plain_texts else plain_texts.get(field.kind, "")
    return {
        "text": lambda: as_much_as_fits(text, field),
        "url": lambda: re.sub(r"[\s<>\"`\x00-\x20\x7f]", "-", f"https://example.org/{text}")[:MAX_URL_LENGTH],
        "boolean": lambda: texts is not None and place == "convergence",
        "number": lambda: int(field.min or 0) if field.integer else field.min or 0,
        "choice": lambda: options[0],
        "choices": lambda: options[:1],
        "turn": lambda: terms.turns[0],
        "turns": lambda: list(terms.turns[:2]),
        "list": lambda: _items(field, terms, texts, place) if texts else [],
        "object": lambda: plainest_reply(field.fields, terms, {}, texts, place),
        "scores": lambda: {side: dict.fromkeys(terms.criteria, points) for side in terms.sides},
    }[field.kind]()


def _items(field: Field, terms: ShapeContext, texts: Callable[[str], str], place: str) -> list[Any]:
    if not terms.turns and names_turns(field.fields):
        return []
    if field.fields:
        return [plainest_reply(field.fields, terms, {}, texts, place) for _ in range(2)]
    return [texts(place)[:MAX_TEXT_LENGTH] for _ in range(2)]


def as_much_as_fits(text: str, field: Field) -> str:
    """As much of a text as a field takes."""
    pieces = re.findall(r"\S+\s*|\s+", text[:MAX_TEXT_LENGTH])
    return "".join(pieces[: field.max_words]) if field.max_words is not None else text[:MAX_TEXT_LENGTH]


def events(debate: DebateState, turn: Turn, script: Script) -> list[ReplyEvent]:
    """What the script has happen in a turn that is due."""
    given = script.get(turn.id)
    shape = debate.shape(turn)
    if given is not None and not isinstance(given, str | Mapping):
        return list(given)
    if shape is None:
        return [speech_event(turn.id, given if isinstance(given, str) else f"This is {turn.id}.")]
    changes = given if isinstance(given, Mapping) else {}
    return [ballot_event(turn.id, plainest_reply(shape, schedule.shape_context(debate, turn), changes))]


def play(
    debate: DebateState, script: Script | None = None, *, until: str = ""
) -> tuple[DebateState, list[tuple[str, ...]]]:
    """The debate after the script's answers, complete or where the turn `until` is due, and what was due at a time, in
    order."""
    played = []
    while (due := debate.due) and until not in [turn.id for turn in due]:
        played.append(tuple(turn.id for turn in due))
        for event in [event for turn in due for event in events(debate, turn, script or {})]:
            debate = apply(debate, event)
    return debate, played


def play_debate(
    rounds: int = 3, judges: int = 1, script: Script | None = None, *, until: str = "", **how: Any
) -> DebateState:
    """A debate of that size, played to its end or until a turn is due."""
    if script is None and not how:
        return _unscripted(rounds, judges, until)
    return play(fold([opened(rounds, judges, **how)]), script, until=until)[0]


@cache
def _unscripted(rounds: int, judges: int, until: str) -> DebateState:
    """Played once for all tests: a state does not change."""
    return play(fold([opened(rounds, judges)]), until=until)[0]


def play_events(opening: Opened, script: Script | None = None, *, until: str = "") -> list[Any]:
    """The events of such a debate, its opening first; every answer is by the one cast for the seat."""
    debate, taken = fold([opening]), [opening]
    while (due := debate.due) and until not in [turn.id for turn in due]:
        for event in [event for turn in due for event in events(debate, turn, script or {})]:
            spec = spec_in(debate, schedule.turn(debate, event.turn_id).seat)
            taken.append(event.model_copy(update={"reply": event.reply.model_copy(update={"spec": spec})}))
            debate = apply(debate, taken[-1])
    return taken


def record(rounds: int = 3, judges: int = 1, script: Script | None = None, **how: Any) -> list[Any]:
    """The events of a whole debate, its opening first."""
    return play_events(opened(rounds, judges, **how), script)


def judged(converged: Mapping[int, str]) -> dict[str, Mapping[str, Any]]:
    """A script in which the judge sees the sides named there converge in those rounds."""
    return {f"{n}.verdict.judge": converging(side) for n, side in converged.items()}


def stages_of(rounds: int, judges: int, first: str) -> list[tuple[str, ...]]:
    """The stages of a debate in which nothing unusual happens."""
    order = ("a", "b") if first == "a" else ("b", "a")
    panel = ("judge",) if judges == 1 else tuple(f"judge-{n}" for n in range(1, judges + 1))
    stages: list[tuple[str, ...]] = []
    for n in range(1, rounds + 1):
        stages += [(f"{n}.{'opening' if n == 1 else 'constructive'}.{side}",) for side in order]
        if rounds > 1:
            stages += [tuple(f"{n}.{phase}.{side}" for side in order) for phase in ("challenge", "rebuttal")]
        stages.append(tuple(f"{n}.verdict.{judge}" for judge in panel))
    return [*stages, tuple(f"final.verdict.{judge}" for judge in panel), (f"final.dissent.{panel[0]}",)]


def heard(debate: DebateState, turn: str) -> list[str]:
    """The ids of the turns that the seat of a turn has heard."""
    return [one.id for one in schedule.turns_heard(debate, schedule.turn(debate, turn))]


def state(debate: DebateState) -> dict[str, Any]:
    """All that a debate can be asked, as plain values that can be compared."""
    stages = []
    for stage in debate.stages:
        stages.append([turn.id for turn in stage])
        if any(turn.id not in debate.replies for turn in stage):
            break
    turns = [*schedule.turns_taken(debate), *debate.due]
    return {
        "due": [turn.id for turn in debate.due],
        "stages": stages,
        "answers": dict(debate.replies),
        "turn events": dict(debate.turn_events),
        "notes": list(debate.notes),
        "heard": {turn.id: [heard.id for heard in schedule.turns_heard(debate, turn)] for turn in turns},
        "convergences": [tally.convergence(debate, n) for n in range(1, debate.rounds + 1)],
        "converged_again": tally.rounds_converged_again(debate),
        "conceded": tally.conceding_side(debate),
        "advice": {
            side: [tally.feedback(debate, side, n) for n in range(1, debate.rounds + 1)] for side in debate.format.sides
        },
        "votes": [tally.votes(debate, n) for n in range(1, debate.rounds + 1)],
        "final votes": tally.final_votes(debate),
        "blind votes": tally.pre_debate_votes(debate),
        "flips": tally.flipped_votes(debate),
        "means": tally.criterion_means(debate),
        "results": tally.results(debate),
        "totals": tally.totals(debate),
        "verdict": tally.verdict(debate),
    }


PLAIN: dict[str, Any] = {
    "name": "plain",
    "title": "Plain",
    "about": "",
    "seats": {
        "a": {"name": "Anna", "label": "Pro", "tag": "A"},
        "b": {"name": "Ben", "label": "Con", "tag": "B"},
        "judge": {"name": "Jo", "tag": "J"},
    },
    "round": [{"name": "speech", "title": "Speech", "tag": "SPEECH", "seats": ["a", "b"]}],
    "after": [
        {"name": "end", "title": "End", "tag": "E", "seats": ["judge"], "order": "simultaneous", "reply": "final"}
    ],
    "shapes": {
        "ballot": {
            "scores": {"kind": "scores"},
            "winner": {"kind": "choice", "options": ["a", "b", "tie"]},
            "convergence": {
                "kind": "object",
                "fields": {
                    "detected": {"kind": "boolean"},
                    "criteria": {"kind": "choices", "options": ["same"], "only_if": {"detected": True}},
                    "side": {"kind": "choice", "options": ["a", "b", "both"], "only_if": {"detected": True}},
                },
            },
            "conceded": {"kind": "choice", "optional": True},
        },
        "final": {"winner": {"kind": "choice", "options": ["a", "b", "tie"]}},
    },
    "rubric": {
        "name": "plain",
        "min": 0,
        "max": 5,
        "criteria": {"wit": {"title": "Wit", "about": ""}},
        "strictness": {"strict": {"about": "", "judge": "", "debaters": ""}},
    },
    "announcements": dict.fromkeys(("round", "intervention", "divergence", "converged_again", "final"), "-"),
    "reserved_lines": {"concede": "You win.", "decline": "No."},
}
"""The smallest format: both speak in turn, and a judge says in the end who won."""
ONE_SIDED: dict[str, Any] = {
    "seats": {seat: PLAIN["seats"][seat] for seat in ("a", "judge")},
    "round": [{**PLAIN["round"][0], "seats": ["a"]}],
    "shapes": {
        "ballot": {"scores": {"kind": "scores"}, "winner": {"kind": "choice", "options": ["a", "tie"]}},
        "final": {"winner": {"kind": "choice", "options": ["a", "tie"]}},
    },
}
"""What makes it a debate of one side."""
_NAMES = {"name": "vote", "title": "Vote", "tag": "VOTE"}
BALLOT = _NAMES | {"seats": ["judge"], "order": "simultaneous", "reply": "ballot"}


def make_format(**changes: Any) -> Format:
    """The plain format with changes."""
    return Format.model_validate(PLAIN | changes)


def phase(name: str, *seats: str, **how: Any) -> dict[str, Any]:
    return {"name": name, "title": name.title(), "tag": name.upper(), "seats": seats, **how}
