"""Structured replies in markdown: a side's speech in fields as a small block, a judge's fields as a list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from debate_orchestrator.core.presentation import spelled, title
from debate_orchestrator.core.shapes import Field, Shape
from debate_orchestrator.reports import markup, pages

Link = Callable[[str], str]
"""A turn's id to a link to it."""
_WHOLE = ("argument", "text", "speech")
"""Texts that are shown as the speech they are, below the fields that lead to them."""


class Fields:
    """Tells structured replies of one debate."""

    def __init__(self, seats: Mapping[str, str], link: Link):
        self._seats, self._link = seats, link

    def block(self, shape: Shape, value: Mapping[str, Any]) -> str:
        """A side's structured speech: where its evidence is from, what is quoted, the rest, and the argument last."""
        made, whole = [], []
        for name, field in shape.items():
            said = value.get(name)
            if said is None or said == [] or name == "refused":
                continue
            if field.kind == "text" and name in _WHOLE:
                whole.append(markup.block(str(said)))
            elif field.kind == "text" and name == "quote":
                made.append(f"> {markup.prose(str(said))}")
            elif field.kind == "url":
                made.append(f"**Evidence:** {pages.address(str(said))}")
            else:
                made.append("\n".join(self._list(title(name), field, said, bullet="")))
        return "\n\n".join([*made, *whole])

    def points(self, shape: Shape, value: Mapping[str, Any], without: Collection[str] = ()) -> list[str]:
        """The fields of a judge's reply, as the lines of a list; without those that are told elsewhere, and those
        that are empty."""
        made: list[str] = []
        for name, field in shape.items():
            said = value.get(name)
            if name not in without and said is not None and said != []:
                made += self._points(title(name), field, said)
        return made

    def _points(self, label: str, field: Field, said: Any) -> Iterator[str]:
        if field.per_side and isinstance(said, Mapping):
            one = field.model_copy(update={"per_side": False})
            for side, own in said.items():
                yield from self._list(f"{label}, {self._seats.get(side, side)}", one, own)
        else:
            yield from self._list(label, field, said)

    def _list(self, label: str, field: Field, said: Any, bullet: str = "- ") -> Iterator[str]:
        named = f"{bullet}**{markup.literal(label)}:**"
        if field.kind == "list" and isinstance(said, list):
            yield named if bullet else f"{named}\n"
            indent = "  " if bullet else ""
            yield from (f"{indent}- {self.row(field.fields, one) if field.fields else _prose(one)}" for one in said)
        else:
            yield f"{named} {self._inline(field, said)}"

    def row(self, shape: Shape, value: Mapping[str, Any]) -> str:
        """A record in one line: whom it is about, then the rest."""
        given = [(field, said) for name, field in shape.items() if (said := value.get(name)) is not None and said != []]
        about = [field.kind == "turn" or (field.kind == "choice" and not field.of) for field, _ in given]
        lead = [self._inline(*one) for one, leads in zip(given, about, strict=True) if leads]
        rest = [one for one, leads in zip(given, about, strict=True) if not leads]
        said = [self._inline(*one) if n == len(rest) else self._plain(*one) for n, one in enumerate(rest, start=1)]
        return ": ".join(part for part in (", ".join(lead), "; ".join(said)) if part)

    def _plain(self, field: Field, said: Any) -> str:
        """A value that others follow on its line: what is left open in it must not reach into them."""
        if field.kind == "record" and isinstance(said, Mapping):
            return markup.plain(spelled(field.fields, said).replace("\n", "; "))
        return markup.plain(str(said)) if field.kind == "text" else self._inline(field, said)

    def _inline(self, field: Field, said: Any) -> str:
        """A value on a line. Of several texts all but the last are shown as they are written."""
        match field.kind:
            case "url":
                return pages.address(str(said))
            case "flag":
                return "yes" if said else "no"
            case "number":
                return f"{said:g}"
            case "choice":
                return markup.plain(str(said) if field.of else self._seats.get(str(said), str(said)))
            case "turn":
                return self._link(str(said))
            case "choices" | "turns" if isinstance(said, list):
                one = self._link if field.kind == "turns" else markup.plain
                return ", ".join(one(each) for each in said)
            case "record" if isinstance(said, Mapping):
                return self.row(field.fields, said)
            case "list" if isinstance(said, list):
                return ", ".join(markup.plain(str(one)) for one in said)
        return _prose(said)


def _prose(said: Any) -> str:
    return markup.prose(str(said))
