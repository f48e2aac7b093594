"""Says again what a journal says: demonstrations, tests and free reruns of a real debate."""

from __future__ import annotations

from debate_orchestrator import journal
from debate_orchestrator.briefs import Brief
from debate_orchestrator.core.events import Declined, Reply, Spoiled, Spoke, Voted
from debate_orchestrator.errors import Failed, complaint


class Replay:
    """Answers each turn with the recorded replies to that turn, in the order they were given."""

    def __init__(self, path: str):
        self.name = f"replay:{path}"
        self._path = path
        self._left: dict[str, list[Reply]] = {}
        for event in journal.read(path).events:
            if isinstance(event, Spoke | Declined | Voted | Spoiled):
                self._left.setdefault(event.turn, []).append(event.reply)

    async def reply(self, brief: Brief) -> Reply:
        """The recorded reply. Failed where the journal has none."""
        left = self._left.get(brief.turn)
        if not left:
            hint = "Replay it with the setup it was recorded with."
            raise Failed(complaint(self._path, f"no recorded reply to {brief.turn}", "one for each turn", hint))
        return left.pop(0)


def provider(rest: str) -> Replay:
    return Replay(rest)
