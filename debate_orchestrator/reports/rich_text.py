"""Lines of a report as runs of words, each told by whose words they are. What makes a run safe, and how strong words
and links look, is up to the form that writes it down: a report's forms share the values, and never the text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from debate_orchestrator.core.schema import Field, Shape
from debate_orchestrator.core.transcript import as_text, title
from debate_orchestrator.core.values import Value

Kind = Literal["own", "literal", "plain", "prose", "cell", "turn", "page", "found"]


class TextRun(NamedTuple):
    """Some words of a line."""

    text: str
    kind: Kind = "own"
    """`own`: the report's. Of others: `literal` and `plain` are shown character for character, the second also at the
    start of a line; `prose` and `cell` keep emphasis, code and links, the second also in a table. `turn` is the id of
    a turn that is linked, `page` an address that shows all of itself, `found` the title of a page that is linked."""
    strong: bool = False
    to: str = ""
    """The address of a page that was found; of other words, the turn that they rest on, which a form may link."""


Phrase = tuple[TextRun, ...]
"""A line. What is empty says nothing."""


def phrase(*parts: str | Phrase) -> Phrase:
    """Parts in a row; plain strings are the report's own words."""
    made: list[TextRun] = []
    for part in parts:
        made += ([TextRun(part)] if part else []) if isinstance(part, str) else part
    return tuple(made)


def strong(*parts: str | Phrase) -> Phrase:
    """The same, set off."""
    return tuple(run._replace(strong=True) for run in phrase(*parts))


def joined(between: str, phrases: Iterable[str | Phrase]) -> Phrase:
    """Phrases with the same words between each two."""
    made: list[str | Phrase] = []
    for one in phrases:
        made += [between, one] if made else [one]
    return phrase(*made)


def resting(said: Phrase, turn_id: str | None) -> Phrase:
    """The same with the turn that its words rest on: a number's ballot."""
    return tuple(run._replace(to=turn_id) for run in said) if turn_id else said


def literal(text: str) -> Phrase:
    """Somebody's words, character for character."""
    return _said(text, "literal")


def plain(text: str) -> Phrase:
    """The same at the start of a line."""
    return _said(text, "plain")


def prose(text: str) -> Phrase:
    """Somebody's sentence, with its emphasis, code and links."""
    return _said(text, "prose")


def cell(text: str) -> Phrase:
    """The same in a table."""
    return _said(text, "cell")


def _said(text: str, kind: Kind) -> Phrase:
    return (TextRun(text, kind),) if text else ()


def turn(turn_id: str) -> Phrase:
    """A link to a turn."""
    return (TextRun(turn_id, "turn"),)


def page(url: str) -> Phrase:
    """An address that shows all of itself: a link, if it is a page of the web."""
    return (TextRun(url, "page"),)


def found(url: str, title: str) -> Phrase:
    """A page that a search found: its title, linked if it is one of the web, and the host that it leads to."""
    return (TextRun(title, "found", to=url),)


class Table(NamedTuple):
    """Phrases in rows as long as the heads."""

    heads: tuple[Phrase, ...]
    rows: tuple[tuple[Phrase, ...], ...]


def without_empty(heads: Sequence[Phrase], rows: Sequence[Sequence[Phrase]], *, keep: int = 1) -> Table:
    """A table without the columns, after the first `keep`, in which no row has anything."""
    kept = [n for n in range(len(heads)) if n < keep or any(row[n] for row in rows)]
    return Table(tuple(heads[n] for n in kept), tuple(tuple(row[n] for n in kept) for row in rows))


class PlainTable(Value):
    """A table of plain text as it was given, in rows as long as the heads; whoever shows it must make it safe."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> PlainTable:
    """A table without the columns in which no row has anything; an empty cell is a dash."""
    kept = [n for n in range(len(heads)) if any(row[n] for row in rows)]
    return PlainTable(
        heads=tuple(heads[n] for n in kept), rows=tuple(tuple(row[n] or "-" for n in kept) for row in rows)
    )


_WHOLE = ("argument", "text", "speech")
"""Texts that are shown as the speech they are, below the fields that lead to them."""


class FieldPart(NamedTuple):
    """A field of a structured reply."""

    kind: Literal["speech", "quote", "line", "list"]
    label: str = ""
    said: Phrase = ()
    """What stands on the line of the label, or is quoted."""
    items: tuple[Phrase, ...] = ()
    """Of a list."""
    text: str = ""
    """A whole speech."""


class FieldText:
    """Tells structured replies of one debate."""

    def __init__(self, seats: Mapping[str, str]):
        self._seats = seats

    def block(self, shape: Shape, value: Mapping[str, Any]) -> list[FieldPart]:
        """A side's structured speech: where its evidence is from, what is quoted, the rest, and the argument last."""
        made, whole = list[FieldPart](), list[FieldPart]()
        for name, field in shape.items():
            said = value.get(name)
            if said is None or said == [] or name == "refused":
                continue
            if field.kind == "text" and name in _WHOLE:
                whole.append(FieldPart("speech", text=str(said)))
            elif field.kind == "text" and name == "quote":
                made.append(FieldPart("quote", said=prose(str(said))))
            elif field.kind == "url":
                made.append(FieldPart("line", "Evidence", page(str(said))))
            else:
                made.append(self._part(title(name), field, said))
        return [*made, *whole]

    def points(self, shape: Shape, value: Mapping[str, Any], without: Collection[str] = ()) -> list[FieldPart]:
        """The fields of a judge's reply, without those that are told elsewhere, and those that are empty."""
        made: list[FieldPart] = []
        for name, field in shape.items():
            said = value.get(name)
            if name not in without and said is not None and said != []:
                made += self._points(title(name), field, said)
        return made

    def _points(self, label: str, field: Field, said: Any) -> Iterator[FieldPart]:
        if field.per_side and isinstance(said, Mapping):
            one = field.model_copy(update={"per_side": False})
            for side, own in said.items():
                yield self._part(f"{label}, {self._seats.get(side, side)}", one, own)
        else:
            yield self._part(label, field, said)

    def _part(self, label: str, field: Field, said: Any) -> FieldPart:
        if field.kind == "list" and isinstance(said, list):
            items = [self.row(field.fields, one) if field.fields else prose(str(one)) for one in said]
            return FieldPart("list", label, items=tuple(items))
        return FieldPart("line", label, self._inline(field, said))

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
            return plain(as_text(field.fields, said).replace("\n", "; "))
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
