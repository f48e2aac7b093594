"""Mirrors a debate: the side that argued as A is shown as B, in names, tags, turn ids and structured replies.

A judge who judges the arguments alone finds for the same position in the mirrored debate. Mirroring it once more gives
back the original. Positions, and words such as Pro and Con that belong to them, stay with the side that argues them.

Only whole names change places, as the format writes them or in capitals: a letter alone (`B concedes it`) may be a
word or a label, so it stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.shape import Field, Shape

_T = TypeVar("_T")


_GAP = r"(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*)"
"""What may stand between the words of a name: spaces, or the end of a line."""


class Mirror:
    """Shows each of the two sides of a format as the other."""

    def __init__(self, format: Format):
        a, b = format.sides[0], format.sides[-1]  # a debate of one side stays as it is
        self._other = {a: b, b: a}
        self._names = _names(format.seats[a].name, format.seats[b].name)
        self._tags = {format.seats[a].tag: format.seats[b].tag, format.seats[b].tag: format.seats[a].tag}
        self._pattern = _pattern(tuple(self._names), tuple(self._tags), tuple(self._other))

    def side(self, name: str) -> str:
        """The other side; a name that is no side is returned as it is."""
        return self._other.get(name, name)

    def keys(self, values: Mapping[str, _T]) -> dict[str, _T]:
        """The mapping with the two sides' values swapped. Sides come first, in order; other keys follow unchanged."""
        swapped = {self.side(name): value for name, value in values.items()}
        return {name: swapped[name] for name in (*(side for side in self._other if side in swapped), *swapped)}

    def turn_id(self, turn_id: str) -> str:
        """The id that a turn has in the mirrored debate."""
        stem, dot, seat = turn_id.rpartition(".")
        return f"{stem}{dot}{self.side(seat)}"

    def turn(self, turn: Turn) -> Turn:
        """A turn as the other side's."""
        return turn.model_copy(update={"id": self.turn_id(turn.id), "seat": self.side(turn.seat)})

    def text(self, text: str) -> str:
        """A text in which each side goes by the other's name, turn ids and tags among them. (Where one name is a
        part of the other, no text can tell them apart, and this may not lead back.)"""
        return self._pattern.sub(self._exchanged, text)

    def _exchanged(self, match: re.Match[str]) -> str:
        if match["id"]:
            return self.turn_id(match["id"])
        if match["tag"]:
            return f"[{self._tags[match['tag']]} - "
        words = self._names[" ".join(match["name"].split())].split()
        if len(words) != len(match["name"].split()):
            return " ".join(words)
        return re.sub(r"\S+", lambda _: words.pop(0), match["name"])  # with the spaces that are there

    def structured_reply(self, shape: Shape, fields: Mapping[str, Any]) -> dict[str, Any]:
        """A structured reply of that shape, mirrored."""
        swapped = {name: self._field(shape[name], value) if name in shape else value for name, value in fields.items()}
        # Fields that are named like the sides, such as what each holds on a claim, change places: they are alike.
        if set(self._other) <= set(swapped):
            swapped = {name: swapped[self.side(name)] for name in swapped}
        return swapped

    def _field(self, field: Field, value: Any) -> Any:
        if value is None:
            return None
        if field.per_side and isinstance(value, Mapping):
            return {name: self._field(field.single, value[self.side(name)]) for name in value}
        if field.per_issue and isinstance(value, Mapping):
            return {name: self._field(field.single, held) for name, held in value.items()}
        match field.kind:
            case "text":
                return self.text(value)
            case "choice":
                return self.side(value)
            case "choices":
                return [self.side(item) for item in value]
            case "turn":
                return self.turn_id(value)
            case "turns":
                return [self.turn_id(item) for item in value]
            case "scores":
                return {name: value[self.side(name)] for name in value}
            case "record":
                return self.structured_reply(field.fields, value)
            case "list":
                return [
                    self.structured_reply(field.fields, item) if field.fields else self.text(item) for item in value
                ]
        return value


def _names(first: str, second: str) -> dict[str, str]:
    """Either name to the other, as it is and in capitals."""
    first, second = " ".join(first.split()), " ".join(second.split())
    return {first.upper(): second.upper(), second.upper(): first.upper(), first: second, second: first}


@lru_cache(maxsize=16)
def _pattern(names: tuple[str, ...], tags: tuple[str, ...], sides: tuple[str, ...]) -> re.Pattern[str]:
    """What finds turn ids, tags and names in a text."""
    longest_first = sorted(names, key=len, reverse=True)
    gap = _GAP if len({len(name.split()) for name in names}) == 1 else " "
    name = "|".join(gap.join(map(re.escape, name.split())) for name in longest_first)
    turn_id = rf"\b(?P<id>(?:\d+|start|final)\.[a-z][a-z0-9-]*\.(?:{'|'.join(sides)}))\b"
    tag = rf"\[(?P<tag>{'|'.join(map(re.escape, tags))}) - (?=[A-Z])"
    return re.compile(rf"{turn_id}|{tag}|(?<!\w)(?P<name>{name})(?!\w)")
