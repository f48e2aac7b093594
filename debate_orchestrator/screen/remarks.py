"""What the house remarks on a reply besides its words: what to note of a speech, and why something came to nothing."""

from __future__ import annotations

from debate_orchestrator.core.events import CallFailed, Declined, Rejected, Spoke
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState


def noted(debate: DebateState, turn: Turn, event: Spoke | Declined) -> str:
    """What there is to say of a speech besides its words; empty where there is nothing."""
    said = ["cut short by a limit of length"] if event.reply.ended == "cut" else []
    if isinstance(event, Spoke):
        heard = debate.visible(turn)
        said += [f"the last {heard.dropped} words are over the limit, and nobody hears them"] if heard.dropped else []
        false = sum(not quote.verified for quote in heard.quotes)
        said += [f"{false} of {len(heard.quotes)} quotes not found in the material"] if false else []
    return f"-- {'; '.join(said)}." if said else ""


def lost(event: Rejected | CallFailed) -> str:
    """Why a call, or an answer, came to nothing. Complaints about a reply may quote it."""
    if isinstance(event, Rejected):
        return f"a reply that will not do: {'; '.join(event.complaints)}"
    return event.trouble + ("" if event.wait is None else f" Asked again in {event.wait:.0f} s.")


def lost_under_seal(debate: DebateState, event: Rejected | CallFailed) -> str:
    """The same to somebody who may know nothing of what the reply holds."""
    if not isinstance(event, Rejected):
        return lost(event)
    return "a reply that will not do." + ("" if event.turn in debate.answers else " It is asked for again.")
