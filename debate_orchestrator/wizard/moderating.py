"""Topics restated and positions derived, by a model where one can be asked; where none can, nothing is invented."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from debate_orchestrator import casts, deriving, opening, providers
from debate_orchestrator.answers import MODERATOR, settle
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.rules import JUDGE
from debate_orchestrator.files import REPORT
from debate_orchestrator.interview import Interview
from debate_orchestrator.providers import Provider
from debate_orchestrator.talk import Draft, talked

_PATIENCE = 60.0
"""Seconds that a call may be in trouble while a person waits for it."""


def named(given: dict[str, Any]) -> str | None:
    """Who moderates by these answers: the cast's moderator, else its first judge or speaker, if they can be called."""
    cast = given.get("cast")
    cast = {MODERATOR: cast} if isinstance(cast, str) else cast if isinstance(cast, dict) else {}
    filler = cast.get(MODERATOR) or cast.get(JUDGE) or next(iter(cast.values()), None)
    first = filler[0] if isinstance(filler, list) and filler else filler
    return first if isinstance(first, str) and callable_(first) else None


def callable_(spec: str) -> bool:
    """Whether somebody can be called by that name."""
    return casts.is_called(spec) and not providers.complaints({MODERATOR: (spec,)})


def moderated(
    draft: Draft, spec: str, interview: Interview, tell: Callable[[str], None], keep: Callable[[Draft], None]
) -> bool:
    """Has a moderator called for the work that comes next; whether any came of it. `keep` is given the draft after
    it. What was paid is in it in any case, also where the person leaves meanwhile; what went wrong is told."""
    from debate_orchestrator.errors import DebateError

    cap = draft.given.get("max_cost")
    most = float(cap) if isinstance(cap, int | float) and not isinstance(cap, bool) else None
    terms = deriving.Terms(_PATIENCE, most, tell, "", "")
    if not draft.talk.nonce:
        draft = talked(draft, nonce=secrets.token_hex(8))
    after, done, paid = draft, False, list[Reply]()
    try:
        after, done = deriving.moderated(draft, _provider(spec, interview), interview, terms, paid), True
    except DebateError as error:
        for one in error.complaints:
            tell(one)
    finally:
        keep(talked(after, paid=(*draft.talk.paid, *paid)))
    return done


def _provider(spec: str, interview: Interview) -> Provider:
    """Whoever is asked, in a debate of which nothing is settled yet."""
    rules = interview.rules
    positions = {side: f"{side}, to be settled" for side in rules.sides}
    given = {"topic": "to be settled", "positions": positions, "cast": spec}
    return providers.maker(spec)(spec, Debate([opening.opened(settle(given, rules, REPORT))]))


def spent(draft: Draft) -> str:
    """What the moderator's calls have cost, in a line; empty where there were none."""
    calls = [one for one in draft.talk.paid if one.called]
    if not calls:
        return ""
    unknown = sum(one.cost is None for one in calls)
    cost = sum(one.cost or 0.0 for one in calls)
    said = f"The setup took {len(calls)} call{'s' * (len(calls) != 1)} of the moderator: ${cost:.4f}"
    return f"{said}{f', and {unknown} of unknown price' if unknown else ''}. The report does not count them."
