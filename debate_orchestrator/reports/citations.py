"""What the sides cited, what a clerk found of it, and what the judges think of the source."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping
from datetime import date
from typing import Any

from debate_orchestrator.core.events import Voted
from debate_orchestrator.core.phases import CLERK, Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value
from debate_orchestrator.util import model_spec

VERIFIED = "verified"
_UNSEEN = ("unreachable", "blocked")
"""States in which nobody has seen the page, and nothing is known of the quote."""
UNCHECKED = "not checked"
NOT_YET = "not looked up"
"""The state of what no clerk has reported on."""


class Weighed(Value):
    """What one judge thinks of a source."""

    seat: str
    credibility: str
    why: str = ""


class Citation(Value):
    """A page that a side cites, with a quote from it."""

    turn: str
    url: str
    state: str
    title: str = ""
    date: str = ""
    late: bool = False
    """Whether the page is dated after the time to which the topic binds both sides."""
    passage: str = ""
    similarity: float | None = None
    why: str = ""
    archived: str = ""
    digest: str = ""
    weighed: tuple[Weighed, ...] = ()


def citations(debate: DebateState) -> tuple[Citation, ...]:
    """Everything that the sides cite in the fields of their speeches, in the order of the debate."""
    checks, weighed = _checks(debate), _weighed(debate)
    made = []
    for turn in debate.settled():
        answer = debate.answers[turn.id]
        if not turn.speaking or not isinstance(answer, Voted) or debate.declined(turn.id):
            continue
        if url := answer.ballot.get("url"):
            found = checks.get(turn.id, {"state": NOT_YET})
            own = tuple(weighed.get(turn.id, {}).values())
            made.append(_citation(turn.id, str(url), found, debate.opened.setup.as_of, own))
    return tuple(made)


def _citation(
    turn: str, url: str, found: Mapping[str, Any], as_of: str | None, weighed: tuple[Weighed, ...]
) -> Citation:
    texts = {name: str(found.get(name) or "") for name in ("title", "date", "passage", "why", "archived", "digest")}
    likeness = found.get("similarity")
    return Citation(
        turn=turn,
        url=url,
        state=str(found.get("state") or NOT_YET),
        late=as_of is not None and is_after(texts["date"], as_of),
        similarity=likeness if isinstance(likeness, int | float) else None,
        weighed=weighed,
        **texts,
    )


def _checks(debate: DebateState) -> dict[str, Mapping[str, Any]]:
    """Turn to what a clerk found of what it cites; the last finding counts."""
    found: dict[str, Mapping[str, Any]] = {}
    for turn in debate.settled():
        for row in rows(debate, turn, "checks") if turn.role == CLERK else ():
            found[str(row.get("turn"))] = row
    return found


def _weighed(debate: DebateState) -> dict[str, dict[str, Weighed]]:
    """Turn to judge to what it thinks of the source, as it last said."""
    found: dict[str, dict[str, Weighed]] = {}
    for turn in debate.settled():
        for row in rows(debate, turn, "sources") if turn.judging and not turn.mirrored else ():
            one = Weighed(
                seat=turn.seat, credibility=str(row.get("credibility") or "unknown"), why=str(row.get("why") or "")
            )
            found.setdefault(str(row.get("turn")), {})[turn.seat] = one
    return found


def rows(debate: DebateState, turn: Turn, field: str) -> list[Mapping[str, Any]]:
    """The rows of a list in a structured reply, in the terms of the sides as they are; none where it has no such
    list."""
    answer, shape = debate.answers[turn.id], debate.shape(turn) or {}
    if not isinstance(answer, Voted) or field not in shape:
        return []
    return [row for row in debate.seen(shape, answer).get(field) or [] if isinstance(row, Mapping)]


def looks(debate: DebateState) -> bool:
    """Whether a clerk has a place in this debate."""
    return any(CLERK in slot.phase.seats for slot in debate.calendar())


def provenance(debate: DebateState) -> list[str]:
    """How many of the quotes were verified, and who looked; nothing where there was nothing to look up."""
    cited = citations(debate)
    if not cited or not looks(debate):
        return []
    n, verified = len(cited), sum(one.state == VERIFIED for one in cited)
    quotes = f"{n} quote{'s' * (n != 1)} cited"
    if all(one.state in (UNCHECKED, NOT_YET) for one in cited):
        return [f"{quotes}, and {'none of them was' if n > 1 else 'it was not'} checked: {who(debate)}."]
    held = f"{verified or 'none'} {'were' if verified > 1 else 'was'}"
    unseen = sum(one.state in _UNSEEN for one in cited)
    pages = "no page" if unseen == n else f"{unseen} page{'s' * (unseen != 1)}"
    missing = f", since {pages} could be had" if unseen == n else f", and {pages} could not be had" if unseen else ""
    return [f"Of {quotes}, {held} verified{missing}: {who(debate)}."]


def who(debate: DebateState) -> str:
    """Who looked up what was cited, as a clause."""
    by = dict.fromkeys(debate.reply(turn).by for turn in debate.settled() if turn.role == CLERK)
    return "; ".join(dict.fromkeys(map(_did, by))) or "nobody has looked yet"


def _did(spec: str) -> str:
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


_NAMES = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october"]
_NAMES += ["november", "december"]
_MONTHS = {name[:n]: month for month, name in enumerate(_NAMES, start=1) for n in (3, 4, len(name))}
_ISO = re.compile(r"((?:19|20)\d\d)(?:-(\d\d)(?:-(\d\d))?)?(?!\d)")
_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_DAY = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)?(?!\d)")


def is_after(dated: str, as_of: str) -> bool:
    """Whether a page of that date (2020-03-04, 2020-03, 2020) is surely later than a time as topics write it (2019,
    March 2019, 4 March 2019). False wherever either can't be told."""
    found, end = _ISO.match(dated.strip()), _end(as_of)
    if found is None or end is None:
        return False
    begin = _day(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    return begin is not None and begin > end


def _end(as_of: str) -> date | None:
    """The last day of a time as topics write it."""
    if found := _ISO.fullmatch(as_of.strip()):
        year, month, day = int(found[1]), int(found[2] or 12), found[3]
    elif (named := _YEAR.search(as_of)) is None:
        return None
    else:
        months = [_MONTHS[word] for word in re.findall(r"[a-z]+", as_of.lower()) if word in _MONTHS]
        days = _DAY.search(_YEAR.sub(" ", as_of)) if months else None
        year, month, day = int(named[1]), months[0] if months else 12, days[1] if days else None
    if not 1 <= month <= 12:
        return None
    return _day(year, month, int(day) if day else monthrange(year, month)[1])


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
