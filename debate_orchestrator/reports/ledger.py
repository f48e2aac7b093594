"""The ledger of what was cited: a row a page, with what a clerk found there and what the judges think of the source."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core import rules
from debate_orchestrator.core.figures import percent
from debate_orchestrator.reports.citations import VERIFIED, Citation
from debate_orchestrator.reports.fields import Fields
from debate_orchestrator.reports.phrases import Phrase, joined, literal, page, phrase, strong, turn
from debate_orchestrator.reports.story import Story
from debate_orchestrator.reports.tables import Table, without_empty
from debate_orchestrator.reports.told import Told

CLERK = rules.CLERK
NOTHING = "Nothing was cited to be looked up."
_LATE = " (dated later than the topic)"
_DIGITS = 12
"""Of a digest, as it is shown."""


class Ledger(NamedTuple):
    """The section on evidence."""

    table: Table | None
    said: tuple[Phrase, ...]


def ledger(story: Story) -> Ledger | None:
    """Everything that was cited; None where no clerk has a place."""
    if story.looked_up is None:
        return None
    if not story.cited:
        return Ledger(None, (phrase("Nothing was cited."),))
    rows = [
        (
            turn(one.turn),
            page(one.url),
            strong(literal(one.state)),
            _found(one, story.as_of),
            _kept(one),
            _weighed(story, one),
        )
        for one in story.cited
    ]
    heads = ("Turn", "Page", "Quote", "What was found", "Kept as", "How judges weigh the source")
    verified = sum(one.state == VERIFIED for one in story.cited)
    said = [phrase(f"Verified: {verified} of {len(story.cited)}; {story.looked_up}.")]
    if story.as_of:
        said.append(phrase("The topic binds both sides to what was known as of ", literal(story.as_of), "."))
    return Ledger(without_empty(tuple(map(phrase, heads)), rows, keep=3), tuple(said))


def findings(clerks: Told, story: Story, fields: Fields) -> list[Phrase]:
    """What a clerk found in its turn, a line each: the turn that cites, the state, and why. None where nothing was
    cited."""
    known = {name: field for name, field in clerks.shape["checks"].fields.items() if name in ("turn", "state", "why")}
    late = {one.turn for one in story.cited if one.late}
    rows = (clerks.ballot or {}).get("checks") or []
    return [phrase(fields.row(known, row), _LATE if row.get("turn") in late else "") for row in rows]


def _found(one: Citation, as_of: str | None) -> Phrase:
    """Title, date, the nearest passage and what stood in the way."""
    said = [literal(one.title)] if one.title else []
    if one.date:
        late = phrase(" (", strong("later than ", literal(as_of or "")), ")") if one.late else ()
        said.append(phrase("dated ", literal(one.date), late))
    if one.passage:
        alike = f" ({percent(Fraction(str(one.similarity)))} alike)" if one.similarity is not None else ""
        said.append(phrase(f"the nearest passage{alike}: “", literal(one.passage), "”"))
    if one.why:
        said.append(literal(one.why))
    return joined("; ", said)


def _kept(one: Citation) -> Phrase:
    """The file in the archive, and the beginning of its digest."""
    parts = [literal(one.archived)] if one.archived else []
    parts += [phrase("sha256 ", literal(one.digest[:_DIGITS]))] if one.digest else []
    return joined(", ", parts)


def _weighed(story: Story, one: Citation) -> Phrase:
    said = []
    for own in one.weighed:
        why = phrase(", ", literal(own.why)) if own.why else ()
        said.append(phrase(literal(story.seats[own.seat]), ": ", literal(own.credibility), why))
    return joined("; ", said)
