"""The ledger of what was cited: a row a page, with what a clerk found there and what the judges think of the source."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core import rules
from debate_orchestrator.core.verdict import percent
from debate_orchestrator.reports import markup, pages
from debate_orchestrator.reports.citations import VERIFIED, Citation
from debate_orchestrator.reports.fields import Fields, Link
from debate_orchestrator.reports.story import Story
from debate_orchestrator.reports.tables import Table, without_empty
from debate_orchestrator.reports.told import Told

CLERK = rules.CLERK
_LATE = " (dated later than the topic)"
_DIGITS = 12
"""Of a digest, as it is shown."""


class Ledger(NamedTuple):
    """The section on evidence."""

    table: Table | None
    said: tuple[str, ...]


def ledger(story: Story, link: Link) -> Ledger | None:
    """Everything that was cited; None where no clerk has a place."""
    if story.looked_up is None:
        return None
    if not story.cited:
        return Ledger(None, ("Nothing was cited.",))
    rows = [
        (
            link(one.turn),
            pages.address(one.url),
            f"**{markup.literal(one.state)}**",
            _found(one, story.as_of),
            _kept(one),
            _weighed(story, one),
        )
        for one in story.cited
    ]
    heads = ("Turn", "Page", "Quote", "What was found", "Kept as", "How judges weigh the source")
    verified = sum(one.state == VERIFIED for one in story.cited)
    said = [f"Verified: {verified} of {len(story.cited)}; {story.looked_up}."]
    if story.as_of:
        said.append(f"The topic binds both sides to what was known as of {markup.literal(story.as_of)}.")
    return Ledger(without_empty(heads, rows, keep=3), tuple(said))


def findings(turn: Told, story: Story, fields: Fields) -> str:
    """What a clerk found in a turn, as a list: the turn that cites, the state, and why."""
    rows = (turn.ballot or {}).get("checks") or []
    known = {name: field for name, field in turn.shape["checks"].fields.items() if name in ("turn", "state", "why")}
    late = {one.turn for one in story.cited if one.late}
    if not rows:
        return "Nothing was cited to be looked up."
    return "\n".join(f"- {fields.row(known, row)}{_LATE if row.get('turn') in late else ''}" for row in rows)


def _found(one: Citation, as_of: str | None) -> str:
    """Title, date, the nearest passage and what stood in the way."""
    said = [markup.literal(one.title)] if one.title else []
    if one.date:
        late = f" (**later than {markup.literal(as_of or '')}**)" if one.late else ""
        said.append(f"dated {markup.literal(one.date)}{late}")
    if one.passage:
        alike = f" ({percent(Fraction(str(one.similarity)))} alike)" if one.similarity is not None else ""
        said.append(f"the nearest passage{alike}: “{markup.literal(one.passage)}”")
    if one.why:
        said.append(markup.literal(one.why))
    return "; ".join(said)


def _kept(one: Citation) -> str:
    """The file in the archive, and the beginning of its digest."""
    parts = [markup.literal(one.archived)] if one.archived else []
    parts += [f"sha256 {markup.literal(one.digest[:_DIGITS])}"] if one.digest else []
    return ", ".join(parts)


def _weighed(story: Story, one: Citation) -> str:
    said = []
    for own in one.weighed:
        why = f", {markup.literal(own.why)}" if own.why else ""
        said.append(f"{markup.literal(story.seats[own.seat])}: {markup.literal(own.credibility)}{why}")
    return "; ".join(said)
