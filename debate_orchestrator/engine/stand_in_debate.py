"""A whole debate in memory, with a stand-in in every seat, for the estimate and for the dry run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from debate_orchestrator.core.fold import apply
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting import replies
from debate_orchestrator.providers import rehearse
from debate_orchestrator.util.errors import reason


class StandInFailed(Exception):
    """A turn that a stand-in can't take. The cause is the format, which may come from anyone."""

    def __init__(self, turn: Turn, cause: Exception):
        super().__init__(f"a stand-in can't take the turn {turn.id} ({reason(cause)})")
        self.turn, self.cause = turn, cause


def play(
    debate: DebateState, text_for: Callable[[DebateState, Turn], str] = rehearse.reply_for
) -> Iterator[DebateState]:
    """Plays a debate to its end in memory with stand-ins: the debate before each stage, and at its end. Raises
    StandInFailed."""
    while True:
        yield debate
        if not debate.due:
            return
        for turn in debate.due:
            try:
                reply = Reply(text=text_for(debate, turn), brief_digest="", spec=rehearse.KIND)
                debate = apply(debate, replies.parse_reply(debate, turn, reply, None))
            except Exception as error:
                raise StandInFailed(turn, error) from error
