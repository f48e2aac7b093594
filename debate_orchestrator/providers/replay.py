"""Says again what a journal says: demonstrations, tests and free reruns of a real debate."""

from __future__ import annotations

from debate_orchestrator.core.events import Declined, Opened, Rejected, Reply, Spoke, Voted
from debate_orchestrator.core.state import ATTEMPTS, DebateState
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.registry import Piece
from debate_orchestrator.storage import journal
from debate_orchestrator.util import errors, sanitize
from debate_orchestrator.util.errors import BadSettings, ProviderFailed


class Replay:
    """Answers each turn with the recorded replies to that turn, in the order they were given."""

    caches = False

    def __init__(self, path: str):
        self.name = f"replay:{path}"
        self._path = path
        self._left: dict[str, list[Reply]] = {}
        opened, *events = journal.read(path).events
        assert isinstance(opened, Opened)
        self._topic = sanitize.sanitize(opened.setup.topic)
        for event in events:
            if isinstance(event, Spoke | Declined | Voted | Rejected):
                self._left.setdefault(event.turn, []).append(event.reply)
        # what was asked for again after a resume is not spoiled once more: a loop asks ATTEMPTS times
        self._left = {turn: replies[-ATTEMPTS:] for turn, replies in self._left.items()}

    async def reply(self, brief: Brief, on_text: Piece) -> Reply:
        """The recorded reply. BadAnswers where it was given in a debate on another topic, Failed where there is
        none."""
        if self._topic not in brief.messages[0].parts[0]:
            hint = "`debate answers --from` prints the answers that it was recorded with."
            raise BadSettings(errors.complaint(self._path, "a recording of another debate", "one on this topic", hint))
        left = self._left.get(brief.turn)
        if not left:
            hint = "Replay it with the setup it was recorded with."
            raise ProviderFailed(
                errors.complaint(self._path, f"no recorded reply to {brief.turn}", "one for each turn", hint)
            )
        reply = left.pop(0)
        on_text(reply.text)
        return reply.model_copy(update={"usage": None, "cost": None})  # it was paid for once

    async def close(self) -> None:
        """Nothing is open."""


def complaint(spec: str) -> str | None:
    return None if spec.partition(":")[2] else errors.complaint("replay", "no journal", "replay:JOURNAL")


def provider(spec: str, debate: DebateState) -> Replay:
    return Replay(spec.partition(":")[2])
