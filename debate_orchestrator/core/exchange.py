"""A debate with its sides exchanged: who argued as A is shown as B, in names, tags, turn ids and ballots.

A judge who sees it so and means what it says decides for the same position as before. Exchanging twice gives
back what was there. Positions, and words such as Pro and Con that belong to them, stay with whoever argues them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from debate_orchestrator.core.rules import Format, Turn
from debate_orchestrator.core.shapes import Field, Shape

_T = TypeVar("_T")


class Exchange:
    """The exchange of the two sides of a format."""

    def __init__(self, rules: Format):
        a, b = rules.sides[0], rules.sides[-1]  # a debate of one side is what it was
        self._other = {a: b, b: a}
        self._words, self._pattern = _names(rules.seats[a].name, rules.seats[b].name)
        tags = (rules.seats[a].tag, rules.seats[b].tag)
        self._tags = {tags[0]: tags[1], tags[1]: tags[0]} if tags[0] != tags[1] else {}

    def side(self, name: str) -> str:
        """The other side; whatever is no side is itself."""
        return self._other.get(name, name)

    def keys(self, values: Mapping[str, _T]) -> dict[str, _T]:
        """A value for each side, each at the other; in the order of the sides, with what is no side's after them."""
        made = {self.side(name): value for name, value in values.items()}
        return {name: made[name] for name in (*(side for side in self._other if side in made), *made)}

    def turn_id(self, turn_id: str) -> str:
        """The id that a turn has when the sides are exchanged."""
        stem, dot, seat = turn_id.rpartition(".")
        return f"{stem}{dot}{self.side(seat)}"

    def turn(self, turn: Turn) -> Turn:
        """A turn as the other side's."""
        return turn.model_copy(update={"id": self.turn_id(turn.id), "seat": self.side(turn.seat)})

    def text(self, text: str) -> str:
        """A text in which each side goes by the other's name, turn ids and tags among them."""
        made = self._pattern.sub(lambda match: self._words[match[0]], text)
        made = re.sub(r"\b((?:\d+|start|final)\.[a-z][a-z0-9-]*)\.([ab])\b", self._id, made)
        for tag, other in self._tags.items():
            made = re.sub(rf"\[{re.escape(tag)} - (?=[A-Z])", f"[\x00{other} - ", made)
        return made.replace("[\x00", "[")

    def _id(self, match: re.Match[str]) -> str:
        return f"{match[1]}.{self.side(match[2])}"

    def ballot(self, shape: Shape, ballot: Mapping[str, Any]) -> dict[str, Any]:
        """A structured reply of that shape with the sides exchanged."""
        made = {name: self._field(shape[name], value) if name in shape else value for name, value in ballot.items()}
        # Fields that are named like the sides, such as what each holds on a claim, change places.
        if set(self._other) <= set(made):
            made = {name: made[self.side(name)] for name in made}
        return made

    def _field(self, field: Field, value: Any) -> Any:
        if value is None:
            return None
        if field.per_side and isinstance(value, Mapping):
            one = field.model_copy(update={"per_side": False})
            return {name: self._field(one, value[self.side(name)]) for name in value}
        match field.kind:
            case "text":
                return self.text(value)
            case "choice":
                return self.side(value)
            case "choices":
                return [self.side(one) for one in value]
            case "turn":
                return self.turn_id(value)
            case "turns":
                return [self.turn_id(one) for one in value]
            case "scores":
                return {name: value[self.side(name)] for name in value}
            case "record":
                return self.ballot(field.fields, value)
            case "list":
                return [self.ballot(field.fields, one) if field.fields else self.text(one) for one in value]
        return value


@lru_cache(maxsize=16)
def _names(first: str, second: str) -> tuple[dict[str, str], re.Pattern[str]]:
    """Either name, as it is and in capitals, to the other one so written; and what finds them in a text."""
    names = {first.upper(): second.upper(), second.upper(): first.upper(), first: second, second: first}
    listed = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return names, re.compile(rf"(?<!\w)(?:{listed})(?!\w)")
