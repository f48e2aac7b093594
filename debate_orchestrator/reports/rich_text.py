"""Lines of a report as spans of words, each marked by whose words they are.

Each type of report file makes a span safe in its own way, and draws strong words and links.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple, Protocol

from debate_orchestrator.core.shape import Field, Shape, present_fields
from debate_orchestrator.core.transcript_entries import as_text
from debate_orchestrator.core.transcript_entries import title as title_of
from debate_orchestrator.reports.parts import Part
from debate_orchestrator.util.sanitize import plain_letters, quoted, visible_address, with_ascii_host

Kind = Literal["own", "as_written", "inline_markdown", "quoted", "turn", "address", "page_title", "issue"]


class Span(NamedTuple):
    """Some words of a line."""

    text: str
    kind: Kind = "own"
    """`own`: the report's own words. Of others: `as_written` is shown character for character; `inline_markdown` keeps
    code, links and struck words. Both fill a line, or the rest of one after a title; where the report has more to say
    on that line, others' words are `quoted`. `turn` is the id of a turn that is linked, or a name for the one that is
    its target, `address` one that shows all of itself, `page_title` the title of a page of the web that is linked, in
    quotation marks too, `issue` the id of an issue."""
    strong: bool = False
    target: str = ""
    """The address of a page that was found; of other words, the turn that they rest on, which a report may link."""
    tooltip: str = ""
    """The question of an issue, which a page shows where a reader points at its id."""


Phrase = tuple[Span, ...]
"""A line. What is empty says nothing."""


def phrase(*parts: str | Phrase) -> Phrase:
    """Parts in a row; plain strings are the report's own words."""
    spans: list[Span] = []
    for part in parts:
        spans += ([Span(part)] if part else []) if isinstance(part, str) else part
    return tuple(spans)


def strong(*parts: str | Phrase) -> Phrase:
    """The same, set off."""
    return tuple(span._replace(strong=True) for span in phrase(*parts))


def join(between: str, phrases: Iterable[str | Phrase]) -> Phrase:
    """Phrases with the same words between each two."""
    parts: list[str | Phrase] = []
    for part in phrases:
        parts += [between, part] if parts else [part]
    return phrase(*parts)


def cite(spans: Phrase, turn_id: str | None) -> Phrase:
    """The same words with a link to the turn that they come from, such as the ballot that gave a number."""
    return tuple(span._replace(target=turn_id) for span in spans) if turn_id else spans


def as_written(text: str) -> Phrase:
    """A speaker's or judge's words, character for character."""
    return _others(text, "as_written")


def inline_markdown(text: str) -> Phrase:
    """A sentence of a speaker or judge, with its code, links and struck words."""
    return _others(text, "inline_markdown")


def quotation(text: str) -> Phrase:
    """Words of others beside those of the report, in quotation marks that nothing in them can end."""
    return _others(text, "quoted")


def _others(text: str, kind: Kind) -> Phrase:
    return (Span(text, kind),) if text else ()


def name_or_quotation(text: str) -> Phrase:
    """A date, a digest or the name of a file, which can say nothing; any other text is quoted."""
    return as_written(text) if re.fullmatch(r"[\w.-]*", text) else quotation(text)


def plain_text(phrase: Phrase) -> str:
    """The words of a phrase alone."""
    return "".join(quoted(span.text) if span.kind == "quoted" else span.text for span in phrase)


def turn(turn_id: str) -> Phrase:
    return (Span(turn_id, "turn"),)


def named_turn(turn_id: str, name: str) -> Phrase:
    """A link to a turn by another name than its own."""
    return (Span(name, "turn", target=turn_id),)


def turn_links(turn_ids: Iterable[str], places: Mapping[str, tuple[int, str]]) -> Phrase:
    """Links to turns, by round: `round 1: opening A, challenge B; round 2: ...`. `places` are the round of each turn
    and its name there."""
    rounds: dict[int, list[Phrase]] = {}
    for turn_id in dict.fromkeys(turn_ids):
        round, name = places.get(turn_id, (0, turn_id))
        rounds.setdefault(round, []).append(named_turn(turn_id, name))
    groups = [(f"round {round}: " if round else "", links) for round, links in sorted(rounds.items())]
    return join("; ", [phrase(name, join(", ", links)) for name, links in groups])


def address(url: str) -> Phrase:
    """An address that shows all of itself: a link, if it is a page of the web."""
    return (Span(visible_address(with_ascii_host(url)), "address"),)


class PhraseTable(NamedTuple):
    """Phrases in rows as long as the headers."""

    headers: tuple[Phrase, ...]
    rows: tuple[tuple[Phrase, ...], ...]


class Subsection(NamedTuple):
    """A part of a report's section: a table, a list or sentences, below its title, if it has one."""

    title: str = ""
    """In the report's own words, without a colon; a table without one goes by the title of its section."""
    table: PhraseTable | None = None
    items: Sequence[Phrase] = ()
    sentences: Sequence[Phrase] = ()
    """A paragraph each."""
    id: str = ""
    """Of its heading on a page, for links to it."""
    is_numbered: bool = False
    """Whether its items are numbered."""
    has_long_cells: bool = False
    """Whether the cells of the table are too long for columns that are read side by side."""

    @property
    def is_empty(self) -> bool:
        return not (self.table or self.items or any(self.sentences))


class Section(NamedTuple):
    """A section of a report."""

    title: str
    subsections: tuple[Subsection, ...]


def without_empty(headers: Sequence[Phrase], rows: Sequence[Sequence[Phrase]], *, kept_columns: int = 1) -> PhraseTable:
    """A table without the columns, after the first `kept_columns`, in which no row has anything."""
    columns = [n for n in range(len(headers)) if n < kept_columns or any(row[n] for row in rows)]
    return PhraseTable(tuple(headers[n] for n in columns), tuple(tuple(row[n] for n in columns) for row in rows))


class PlainTable(Part):
    """A table of text as it was given, in rows as long as the headers. Each type of file makes it safe to show."""

    headers: tuple[str, ...]
    """The heading of each column."""
    rows: tuple[tuple[str, ...], ...]
    """The cells."""

    def phrases(self) -> PhraseTable:
        """The same with every cell shown character for character."""
        return PhraseTable(
            tuple(map(as_written, self.headers)), tuple(tuple(map(as_written, row)) for row in self.rows)
        )


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> PlainTable:
    """A table without the columns in which no row has anything; an empty cell is a dash."""
    columns = [n for n in range(len(headers)) if any(row[n] for row in rows)]
    return PlainTable(
        headers=tuple(headers[n] for n in columns), rows=tuple(tuple(row[n] or "-" for n in columns) for row in rows)
    )


_WHOLE = ("argument", "text", "speech")
"""Texts that are shown as the speech they are, below the other fields."""


_UNITS = {"sure": " %"}
"""The units of numbers, by the names of their fields."""
_QUOTING_FIELDS = frozenset({"quote", "passage"})
"""Fields whose texts quote a page or a speech. What stands beside one is shown word for word, too."""


class FieldPart(NamedTuple):
    """A field of a structured reply."""

    kind: Literal["speech", "quote", "line", "list"]
    title: str = ""
    """Above a speech or a list, before a line; empty for a whole speech and for a quote."""
    phrase: Phrase = ()
    """The text on the line of the title, or the quoted text."""
    items: tuple[Phrase, ...] = ()
    text: str = ""


def _names_subject(field: Field) -> bool:
    """Whether a field of an object says whom or what the object is about."""
    return field.kind == "turn" or (field.kind == "choice" and not field.options)


class FieldText:
    """Writes the structured replies of one debate as phrases. `seats` maps each seat to its name, `issues` the id of
    each issue to its question."""

    def __init__(self, seats: Mapping[str, str], issues: Mapping[str, str] | None = None):
        self._seats, self._issues = seats, issues or {}

    def block(self, shape: Shape, fields: Mapping[str, Any]) -> list[FieldPart]:
        """The fields of a side's structured speech in reading order: source, quote, the rest, and the argument last. It
        has a title where another text has one."""
        parts, speeches = list[FieldPart](), list[FieldPart]()
        for name, field in shape.items():
            value = fields.get(name)
            if value is None or value == [] or name == "refused":
                continue
            if field.kind == "text" and name in _WHOLE:
                is_alone = not any(part.kind == "speech" for part in parts)
                speeches.append(FieldPart("speech", "" if is_alone else title_of(name), text=str(value)))
            elif field.kind == "text" and name == "quote":
                parts.append(FieldPart("quote", phrase=as_written(str(value))))
            elif field.kind == "text":
                parts.append(FieldPart("speech", title_of(name), text=str(value)))
            elif field.kind == "url":
                parts.append(FieldPart("line", "Evidence", address(str(value))))
            else:
                parts.append(self._part(title_of(name), field, value, _UNITS.get(name, "")))
        return [*parts, *speeches]

    def item_parts(self, shape: Shape, fields: Mapping[str, Any], without: Collection[str] = ()) -> list[FieldPart]:
        """The fields of a judge's reply, except empty ones and those shown elsewhere."""
        parts: list[FieldPart] = []
        for name, field in shape.items():
            value = fields.get(name)
            if name not in without and value is not None and value != []:
                parts += self._list_field(title_of(name), field, value)
        return parts

    def _list_field(self, title: str, field: Field, value: Any) -> Iterator[FieldPart]:
        if field.per_side and isinstance(value, Mapping):
            of_side = field.single
            for side, entry in value.items():
                yield self._part(f"{title}, {self._seats.get(side, side)}", of_side, entry)
        elif field.per_issue and isinstance(value, Mapping):
            each = [
                join(" ", [(Span(key, "issue", tooltip=self._issues.get(key, "")),), self._inline(field.single, entry)])
                for key, entry in value.items()
            ]
            yield FieldPart("line", title, join(", ", each))
        else:
            yield self._part(title, field, value)

    def _part(self, title: str, field: Field, value: Any, unit: str = "") -> FieldPart:
        if field.kind == "list" and isinstance(value, list):
            items = [self.row(field.fields, item) if field.fields else inline_markdown(str(item)) for item in value]
            if letter := field.id_prefix:
                items = [join(" ", [phrase(f"{letter}{n}."), item]) for n, item in enumerate(items, start=1)]
            return FieldPart("list", title, items=tuple(items))
        if (
            field.kind == "object"
            and isinstance(value, Mapping)
            and not any(map(_names_subject, field.fields.values()))
        ):
            return FieldPart("list", title, items=tuple(self._titled_parts(field.fields, value)))
        return FieldPart("line", title, phrase(self._inline(field, value), unit))

    def _titled_parts(self, shape: Shape, data: Mapping[str, Any]) -> Iterator[Phrase]:
        for name in present_fields(shape, data):
            if data[name] not in (None, []):
                yield phrase(f"{title_of(name)}: ", self._inline(shape[name], data[name]), _UNITS.get(name, ""))

    def row(self, shape: Shape, data: Mapping[str, Any]) -> Phrase:
        """An object in one line: whom it is about, then the rest. Of several texts that come first, the first is a
        heading, or the case that the second is about, and more of them have their titles. Texts beside other values are
        quoted."""
        present = [name for name in present_fields(shape, data) if data[name] not in (None, [])]
        about = [self._inline(shape[name], data[name]) for name in present if _names_subject(shape[name])]
        rest = [name for name in present if not _names_subject(shape[name])]
        has_quote = not _QUOTING_FIELDS.isdisjoint(present)
        has_only_texts = all(shape[name].kind == "text" for name in present)
        phrases = [
            quotation(str(data[name]))
            if shape[name].kind == "text" and not has_only_texts
            else self._inline(shape[name], data[name])
            if n == len(rest) and not has_quote
            else self._plain(shape[name], data[name])
            for n, name in enumerate(rest, start=1)
        ]
        texts = sum(1 for _ in takewhile(lambda name: shape[name].kind == "text", rest))
        if texts < 2 or has_quote:
            return join(": ", [part for part in (join(", ", about), join("; ", phrases)) if part])
        first, *others = phrases[:texts]
        if texts > 2:
            others = [phrase(f"{title_of(name)}: ", text) for name, text in zip(rest[1:], others, strict=False)]
        between = " " if str(data[rest[0]]).rstrip().endswith((".", "!", "?")) else ": "
        whole = join(": ", [part for part in (join(", ", about), join(between, [first, join(" ", others)])) if part])
        more = [
            phrase(f"{title_of(name).lower()} " if shape[name].kind == "number" else "", text, _UNITS.get(name, ""))
            for name, text in zip(rest[texts:], phrases[texts:], strict=True)
        ]
        return phrase(whole, " (", join("; ", more), ")") if more else whole

    def _plain(self, field: Field, value: Any) -> Phrase:
        """A value that others follow on its line: markup left open in it must not reach into them."""
        if field.kind == "object" and isinstance(value, Mapping):
            return as_written(plain_letters(as_text(field.fields, value)).replace("\n", "; "))
        return as_written(plain_letters(str(value))) if field.kind == "text" else self._inline(field, value)

    def _inline(self, field: Field, value: Any) -> Phrase:
        """A value on a line. Of several texts all but the last are shown as they are written."""
        match field.kind:
            case "url":
                return address(str(value))
            case "boolean":
                return phrase("yes" if value else "no")
            case "number":
                return phrase(f"{value:g}")
            case "choice":
                return as_written(self._seats.get(str(value), str(value)))
            case "turn":
                return turn(str(value))
            case "choices" | "turns" if isinstance(value, list):
                as_phrase = turn if field.kind == "turns" else as_written
                return join(", ", [as_phrase(str(item)) for item in value])
            case "object" if isinstance(value, Mapping):
                return self.row(field.fields, value)
            case "list" if isinstance(value, list):
                return join(", ", [quotation(str(item)) for item in value])
        return inline_markdown(str(value))


class Writer(Protocol):
    """Writes phrases and fields in one form: as markdown, or as HTML."""

    def line(self, phrase: Phrase) -> str: ...

    def block(self, parts: Iterable[FieldPart]) -> str:
        """A speech in fields, as paragraphs, quotes, lists and the speech itself."""

    def items(self, phrases: Iterable[Phrase], *, numbered: bool = False) -> str:
        """Lines as a list."""

    def subsections(self, section: Section) -> str:
        """What is below the heading of a section."""

    def field_items(self, parts: Iterable[FieldPart]) -> str | Sequence[str]:
        """The fields of a judge's reply, as the items of a list."""
