"""Structured replies, made ready for telling: a side's speech in fields part by part, a judge's as labelled points."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from debate_orchestrator.core.presentation import spelled, title
from debate_orchestrator.core.shapes import Field, Shape
from debate_orchestrator.reports.phrases import Phrase, joined, page, phrase, plain, prose, turn

_WHOLE = ("argument", "text", "speech")
"""Texts that are shown as the speech they are, below the fields that lead to them."""


class Part(NamedTuple):
    """A field of a structured reply."""

    kind: Literal["speech", "quote", "line", "list"]
    label: str = ""
    said: Phrase = ()
    """What stands on the line of the label, or is quoted."""
    items: tuple[Phrase, ...] = ()
    """Of a list."""
    text: str = ""
    """A whole speech."""


class Fields:
    """Tells structured replies of one debate."""

    def __init__(self, seats: Mapping[str, str]):
        self._seats = seats

    def block(self, shape: Shape, value: Mapping[str, Any]) -> list[Part]:
        """A side's structured speech: where its evidence is from, what is quoted, the rest, and the argument last."""
        made, whole = list[Part](), list[Part]()
        for name, field in shape.items():
            said = value.get(name)
            if said is None or said == [] or name == "refused":
                continue
            if field.kind == "text" and name in _WHOLE:
                whole.append(Part("speech", text=str(said)))
            elif field.kind == "text" and name == "quote":
                made.append(Part("quote", said=prose(str(said))))
            elif field.kind == "url":
                made.append(Part("line", "Evidence", page(str(said))))
            else:
                made.append(self._part(title(name), field, said))
        return [*made, *whole]

    def points(self, shape: Shape, value: Mapping[str, Any], without: Collection[str] = ()) -> list[Part]:
        """The fields of a judge's reply, without those that are told elsewhere, and those that are empty."""
        made: list[Part] = []
        for name, field in shape.items():
            said = value.get(name)
            if name not in without and said is not None and said != []:
                made += self._points(title(name), field, said)
        return made

    def _points(self, label: str, field: Field, said: Any) -> Iterator[Part]:
        if field.per_side and isinstance(said, Mapping):
            one = field.model_copy(update={"per_side": False})
            for side, own in said.items():
                yield self._part(f"{label}, {self._seats.get(side, side)}", one, own)
        else:
            yield self._part(label, field, said)

    def _part(self, label: str, field: Field, said: Any) -> Part:
        if field.kind == "list" and isinstance(said, list):
            items = [self.row(field.fields, one) if field.fields else prose(str(one)) for one in said]
            return Part("list", label, items=tuple(items))
        return Part("line", label, self._inline(field, said))

    def row(self, shape: Shape, value: Mapping[str, Any]) -> Phrase:
        """A record in one line: whom it is about, then the rest."""
        given = [(field, said) for name, field in shape.items() if (said := value.get(name)) is not None and said != []]
        about = [field.kind == "turn" or (field.kind == "choice" and not field.of) for field, _ in given]
        lead = [self._inline(*one) for one, leads in zip(given, about, strict=True) if leads]
        rest = [one for one, leads in zip(given, about, strict=True) if not leads]
        said = [self._inline(*one) if n == len(rest) else self._plain(*one) for n, one in enumerate(rest, start=1)]
        return joined(": ", [part for part in (joined(", ", lead), joined("; ", said)) if part])

    def _plain(self, field: Field, said: Any) -> Phrase:
        """A value that others follow on its line: what is left open in it must not reach into them."""
        if field.kind == "record" and isinstance(said, Mapping):
            return plain(spelled(field.fields, said).replace("\n", "; "))
        return plain(str(said)) if field.kind == "text" else self._inline(field, said)

    def _inline(self, field: Field, said: Any) -> Phrase:
        """A value on a line. Of several texts all but the last are shown as they are written."""
        match field.kind:
            case "url":
                return page(str(said))
            case "flag":
                return phrase("yes" if said else "no")
            case "number":
                return phrase(f"{said:g}")
            case "choice":
                return plain(str(said) if field.of else self._seats.get(str(said), str(said)))
            case "turn":
                return turn(str(said))
            case "choices" | "turns" if isinstance(said, list):
                one = turn if field.kind == "turns" else plain
                return joined(", ", [one(str(each)) for each in said])
            case "record" if isinstance(said, Mapping):
                return self.row(field.fields, said)
            case "list" if isinstance(said, list):
                return joined(", ", [plain(str(one)) for one in said])
        return prose(str(said))
