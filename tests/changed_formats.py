"""Journals whose formats were changed where nothing but a format's own validation can notice."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, get_args

import debates
import journals
from core import folding
from pydantic import ValidationError
from scripted_debates import shipped_format

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.shape import Field, json_schema
from debate_orchestrator.util.errors import DebateError

SHIPPED = ("adversarial", "claim", "panel", "question", "transcript")
_KINDS = get_args(Field.model_fields["kind"].annotation)
_OPTIONS = ("a", "b", "tie", "both", "consensus", "decisive", "held", "none", "x y")
_WHEN = {"round": None, "rounds_at_least": None, "strictness": None, "setting": ()}
_MOST_EVENTS = 80


def change_format(format: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The data of a format with one change in it."""
    data: dict[str, Any] = json.loads(json.dumps(format))
    places = [place for shape in data["shapes"].values() for place in _fields(shape)]
    if not places or chance.random() < 0.15:
        return _in_phases(data, chance)
    holder, name = chance.choice(places)
    field = holder[name]
    change: dict[str, Any] = chance.choice(
        [
            {"kind": chance.choice(_KINDS)},
            {"optional": not field["optional"]},
            {"per_side": not field["per_side"]},
            {"per_issue": not field["per_issue"]},
            {"options": chance.sample(_OPTIONS, chance.randint(0, 4))},
            {"fields": {}},
            {"fields": {**field["fields"], "extra": Field(kind="text").model_dump(mode="json")}},
            {"min": None, "max": None, "integer": False},
            {"only_if": {}, "unless": {}},
            {"when": _WHEN | {"strictness": "nowhere"}},
            {"when": _WHEN | {"rounds_at_least": 2}},
            {"kind": "object", "fields": {"why": Field(kind="text").model_dump(mode="json")}},
        ]
    )
    if chance.random() < 0.15:
        del holder[name]
    else:
        holder[name] = {**field, **change}
    return data


def _in_phases(data: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    group = chance.choice([name for name in ("before", "round", "after") if data[name]])
    n = chance.randrange(len(data[group]))
    change: dict[str, Any] = chance.choice(
        [
            {"reply": chance.choice([*data["shapes"], "text"])},
            {"seats": chance.sample(["a", "b", "judge", "rapporteur", "clerk"], chance.randint(1, 2))},
            {"triggered_by": chance.choice(["convergence", "findings", None])},
            {"enabled_by": chance.choice(["each round", "blind", "issues", "brief", None])},
        ]
    )
    data[group][n] |= change
    return data


def _fields(shape: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """What holds each field, with its name there."""
    for name, field in shape.items():
        yield shape, name
        yield from _fields(field["fields"])


def play_format(name: str, chance: random.Random, changes: int) -> list[Event] | None:
    """The events of a debate by a shipped format that was changed so often, as far as it goes; None if the format is
    refused. The last event may be one that can't be folded."""
    data = shipped_format(name).model_dump(mode="json")
    for _ in range(changes):
        data = change_format(data, chance)
    try:
        format = Format.model_validate(data)
    except ValidationError:
        return None
    more = {"issues": True, "brief": True} if format.optional_phases & {"issues", "brief"} else {}
    try:
        events: list[Event] = [folding.opened(1, chance.randint(1, 2), rules=format, **more)]
        _play(events, chance)
    except (DebateError, ValidationError):
        return None  # no debate is begun so
    return events


def _play(events: list[Event], chance: random.Random) -> None:
    """Adds what is said, until the debate is complete, or an event is one that breaks the fold."""
    debate = fold(events)
    while (due := debate.due) and len(events) < _MOST_EVENTS:
        for turn in due:
            shape = debate.shape(turn)
            said = f"I say {turn.id}."
            if shape is not None:
                said = random_value(json_schema(shape, schedule.shape_context(debate, turn)), chance)
            try:
                answers = list(debates.answers(debate, turn, lambda _, said=said: said))
            except AssertionError:
                return
            for event in answers:
                events.append(event)
                try:
                    debate = apply(debate, event)
                except DebateError:
                    events.pop()
                    return
                except Exception:
                    return  # it stays in the journal


def random_value(schema: Any, chance: random.Random) -> Any:
    """A value of a JSON Schema, with null now and then where it may be."""
    if "anyOf" in schema:
        return random_value(chance.choice(schema["anyOf"]), chance)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kinds = schema.get("type", "string")
    match chance.choice(kinds) if isinstance(kinds, list) else kinds:
        case "object":
            return {name: random_value(part, chance) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [random_value(schema["items"], chance) for _ in range(chance.randint(0, 2))]
        case "boolean":
            return chance.random() < 0.5
        case "integer":
            return schema.get("minimum", 1)
        case "number":
            return schema.get("minimum", 1) + 0.5
        case "null":
            return None
    return "So it is."


def with_format(journal: bytes, chance: random.Random) -> bytes:
    """A journal whose format was changed in its first line, with every hash made again."""
    events = [json.loads(line)["event"] for line in journal.splitlines()]
    whole = Format.model_validate(events[0]["format"]).model_dump(mode="json")  # with every default in it
    events[0]["format"] = change_format(whole, chance)
    return journals.chained(events)
