"""The pages that the sides cite, with what the clerk found and the judges' ratings of the sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from debate_orchestrator.core import schedule, speech_rules, tally
from debate_orchestrator.core.phases import CLERK, Turn
from debate_orchestrator.core.reply import FoundPage
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports.parts import Part
from debate_orchestrator.reports.rich_text import Phrase, Span, join, phrase
from debate_orchestrator.util import model_spec

VERIFIED = "verified"
NOT_YET = "not looked up"
"""The state of a quote that no clerk has reported on."""


class SourceRating(Part):
    """One judge's opinion of a source."""

    judge: str
    """The judge's seat."""
    credibility: str
    """In a word."""
    why: str = ""
    """In the judge's words; empty if it gives no reason."""


class Citation(Part):
    """A page that a side cites, with what a clerk found there."""

    turn: str
    """The turn that cites it."""
    url: str
    """Its address, as the side gave it: nothing vouches for where it leads."""
    state: str
    """The result for its quote: `verified`, `near match`, `not found` ..."""
    title: str = ""
    """The title of the page; empty if it was not seen."""
    date: str = ""
    """As the page has it: 2026, 2026-02 or 2026-02-03; empty if it has none."""
    late: bool = False
    """Whether the page is later than the time to which the topic binds both sides."""
    passage: str = ""
    """The nearest passage that the page holds; empty if none was found."""
    similarity: float | None = None
    """The similarity of passage and quote, from 0 to 1; null if they were not compared."""
    why: str = ""
    """The reason for that result, in a sentence; empty if it needs none."""
    archived: str = ""
    """The file that keeps the page, in the debate's evidence folder; empty if it was not kept."""
    sha256: str = ""
    """Of that file, in hex; empty if it was not kept."""
    ratings: tuple[SourceRating, ...] = ()
    """The judges' opinions of the source."""


class EvidenceReport(Part):
    """The pages that the sides cite, and what was found of them."""

    looked_up_by: str
    """The clerk who looked it up, as a clause."""
    citations: tuple[Citation, ...]
    """In the order of the debate."""


def evidence(debate: DebateState) -> EvidenceReport | None:
    """Everything that the sides cite in the fields of their speeches; None if no clerk has a turn."""
    if not has_clerk(debate):
        return None
    return EvidenceReport(looked_up_by=looked_up_by(debate), citations=tuple(_citations(debate)))


def _citations(debate: DebateState) -> Iterator[Citation]:
    checks, ratings = _checks(debate), _ratings(debate)
    for turn in schedule.turns_taken(debate):
        reply = debate.structured_reply(turn.id) if turn.speaking else None
        if reply is None or speech_rules.has_declined(debate, turn.id) or not reply.data.get("url"):
            continue
        page_check, turn_ratings = checks.get(turn.id, {}), ratings.get(turn.id, {}).values()
        yield _citation(turn.id, str(reply.data["url"]), page_check, debate.opened.settings.as_of, turn_ratings)


def _citation(
    turn: str, url: str, page_check: Mapping[str, Any], as_of: str | None, ratings: Iterable[SourceRating]
) -> Citation:
    texts = {name: str(page_check.get(name) or "") for name in ("title", "date", "passage", "why", "archived")}
    similarity = page_check.get("similarity")
    return Citation(
        turn=turn,
        url=url,
        state=str(page_check.get("state") or NOT_YET),
        late=as_of is not None and is_after(texts["date"], as_of),
        similarity=similarity if isinstance(similarity, int | float) else None,
        sha256=str(page_check.get("digest") or ""),
        ratings=tuple(ratings),
        **texts,
    )


def _checks(debate: DebateState) -> dict[str, Mapping[str, Any]]:
    """Turn id to a clerk's check of the page that the turn cites; the last check counts."""
    page_checks: dict[str, Mapping[str, Any]] = {}
    for turn in schedule.turns_taken(debate):
        for row in rows(debate, turn, "checks") if turn.role == CLERK else ():
            page_checks[str(row.get("turn"))] = row
    return page_checks


def _ratings(debate: DebateState) -> dict[str, dict[str, SourceRating]]:
    """Turn to judge to what it thinks of the source, as it last said."""
    ratings: dict[str, dict[str, SourceRating]] = {}
    for turn in schedule.turns_taken(debate):
        for row in rows(debate, turn, "sources") if turn.judging and not turn.mirrored else ():
            credibility, why = str(row.get("credibility") or "unknown"), str(row.get("why") or "")
            rating = SourceRating(judge=turn.seat, credibility=credibility, why=why)
            ratings.setdefault(str(row.get("turn")), {})[turn.seat] = rating
    return ratings


def rows(debate: DebateState, turn: Turn, field: str) -> list[Mapping[str, Any]]:
    """The rows of a list in a structured reply, with the sides as they are; none if it has no such list."""
    reply, shape = debate.structured_reply(turn.id), debate.shape(turn) or {}
    if reply is None or field not in shape:
        return []
    found = tally.in_original_names(debate, shape, reply).get(field) or []
    return [row for row in found if isinstance(row, Mapping)]


def has_clerk(debate: DebateState) -> bool:
    return any(CLERK in slot.phase.seats for slot in debate.plan.slots)


def summary(debate: DebateState) -> str:
    """The number of verified quotes, and who looked; empty if there was nothing to look up."""
    citations = list(_citations(debate))
    verified = sum(citation.state == VERIFIED for citation in citations)
    return f"Quotes verified: {verified} of {len(citations)}; {looked_up_by(debate)}." if citations else ""


def looked_up_by(debate: DebateState) -> str:
    """The clerk who looked up the citations, as a clause."""
    specs = dict.fromkeys(debate.reply(turn).spec for turn in schedule.turns_taken(debate) if turn.role == CLERK)
    return "; ".join(dict.fromkeys(map(_clerk_clause, specs))) or "it has not been looked up yet"


def _clerk_clause(spec: str) -> str:
    match model_spec.kind(spec):
        case model_spec.FETCH:
            return "pages were fetched by the engine"
        case model_spec.OFFLINE:
            return "the clerk is offline"
        case model_spec.HOST:
            return "an agent of the host said so, and the engine fetched nothing"
        case model_spec.REHEARSE:
            return "a stand-in looks nothing up"
        case model_spec.REPLAY:
            return "as it was found when the debate was held"
    return f"{model_spec.public_name(spec)} said so, and the engine fetched nothing"


_DATE = re.compile(r"(?:19|20)\d\d(?:-\d\d){0,2}")


def is_after(dated: str, as_of: str) -> bool:
    """Whether a page of that date (2020-03-04, 2020-03, 2020) is later than the time that a topic names. Of a time in
    words (`March 2019`) only its year is compared. Returns False if either is not clear."""
    match, end = _DATE.match(dated.strip()), _DATE.search(as_of)
    if match is None or end is None:
        return False
    digits = min(len(match[0]), len(end[0]))
    return match[0][:digits] > end[0][:digits]


_MAX_PAGES = 20
"""Pages that are named of those that a speech cites."""


def cited_pages(pages: Sequence[FoundPage]) -> Phrase:
    """The pages that a speech cites, in a sentence, and how many more were found; empty if none was."""
    by_url = {page.url: page for page in pages}
    quoted = [page for page in by_url.values() if page.quote][:_MAX_PAGES]
    more = len(by_url) - len(quoted)
    if not quoted:
        return phrase(f"Pages found by a search, none of them cited: {more}." if more else "")
    others = f"; {more} more {'was' if more == 1 else 'were'} found" if more else ""
    links = join(", ", [(Span(page.title, "page_title", target=page.url),) for page in quoted])
    return phrase("Pages cited from a search: ", links, f"{others}.")
