"""The briefs that were laid out for a turn before, from the journal, to tell them from what a person wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from debate_orchestrator.core.events import Asked, Event
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.prompting.briefs import brief, brief_file
from debate_orchestrator.prompting.reply_code import code_for
from debate_orchestrator.storage import reply_secret
from debate_orchestrator.util import model_spec


def earlier_briefs(events: Sequence[Event], turn: Turn, reply_name: str) -> Iterator[str]:
    """Every brief file of a turn since the journal began, the newest first. They differ where a reply was refused, a
    question was put or the list of issues was changed in between."""
    for n in range(len(events) - 1, 0, -1):
        event = events[n]
        if not isinstance(event, Asked) or event.turn != turn.id:
            continue
        then = fold(events[: n + 1])
        code = code_for(then, turn, model_spec.real(event.by), reply_secret.secret)
        for former in (*reversed(then.rejected.get(turn.id, ())), None):
            yield brief_file(brief(then, turn, former, code).redacted(), then, turn, reply_name)
