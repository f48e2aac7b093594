"""Topics restated and positions derived, by a model where one can be asked; where none can, nothing is invented."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.engine import moderator, start
from debate_orchestrator.providers import registry
from debate_orchestrator.providers.registry import Provider
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.session import SetupState, with_progress
from debate_orchestrator.setup.settings import MODERATOR, settings_from
from debate_orchestrator.storage.paths import REPORT
from debate_orchestrator.util import model_spec

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
    return model_spec.is_called(spec) and not registry.complaints({MODERATOR: (spec,)})


def moderated(
    draft: SetupState,
    spec: str,
    interview: Questionnaire,
    tell: Callable[[str], None],
    keep: Callable[[SetupState], None],
    permissions: registry.Permissions = registry.NO_PERMISSIONS,
) -> bool:
    """Has a moderator called for the work that comes next; whether any came of it. `keep` is given the draft after
    it. What was paid is in it in any case, also where the person leaves meanwhile; what went wrong is told."""
    from debate_orchestrator.util.errors import DebateError

    cap = draft.given.get("max_cost")
    most = float(cap) if isinstance(cap, int | float) and not isinstance(cap, bool) else None
    terms = moderator.ModeratorLimits(_PATIENCE, most, tell, "", "")
    if not draft.talk.nonce:
        draft = with_progress(draft, nonce=secrets.token_hex(8))
    after, done, paid = draft, False, list[Reply]()
    try:
        provider = _provider(spec, interview, permissions)
        after, done = moderator.run_moderator(draft, provider, interview, terms, paid), True
    except DebateError as error:
        for one in error.complaints:
            tell(one)
    finally:
        keep(with_progress(after, paid=(*draft.talk.paid, *paid)))
    return done


def _provider(spec: str, interview: Questionnaire, permissions: registry.Permissions) -> Provider:
    """Whoever is asked, in a debate of which nothing is settled yet."""
    rules = interview.rules
    positions = {side: f"{side}, to be settled" for side in rules.sides}
    given = {"topic": "to be settled", "positions": positions, "cast": spec}
    debate = fold([start.make_opening(settings_from(given, rules, REPORT))])
    return registry.make_provider(spec, CurrentState(debate), permissions)


def spent(draft: SetupState) -> str:
    """What the moderator's calls have cost, in a line; empty where there were none."""
    calls = [one for one in draft.talk.paid if one.called]
    if not calls:
        return ""
    unknown = sum(one.cost is None for one in calls)
    cost = sum(one.cost or 0.0 for one in calls)
    said = f"The setup took {len(calls)} call{'s' * (len(calls) != 1)} of the moderator: ${cost:.4f}"
    return f"{said}{f', and {unknown} of unknown price' if unknown else ''}. The report does not count them."
