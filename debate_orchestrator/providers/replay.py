"""Says again what a journal says: demonstrations, tests and free reruns of a real debate."""

from __future__ import annotations

from debate_orchestrator import journal, speech
from debate_orchestrator.briefs import Brief
from debate_orchestrator.core.events import Declined, Opened, Reply, Spoiled, Spoke, Voted
from debate_orchestrator.errors import BadAnswers, Failed, complaint


class Replay:
    """Answers each turn with the recorded replies to that turn, in the order they were given."""

    def __init__(self, path: str):
        self.name = f"replay:{path}"
        self._path = path
        self._left: dict[str, list[Reply]] = {}
        opened, *events = journal.read(path).events
        assert isinstance(opened, Opened)
        self._topic = speech.tame(opened.setup.topic)
        for event in events:
            if isinstance(event, Spoke | Declined | Voted | Spoiled):
                self._left.setdefault(event.turn, []).append(event.reply)

    async def reply(self, brief: Brief) -> Reply:
        """The recorded reply. BadAnswers where it was given in a debate on another topic, Failed where there is
        none."""
        if self._topic not in brief.messages[0].parts[0]:
            hint = "`debate answers --from` prints the answers that it was recorded with."
            raise BadAnswers(complaint(self._path, "a recording of another debate", "one on this topic", hint))
        left = self._left.get(brief.turn)
        if not left:
            hint = "Replay it with the setup it was recorded with."
            raise Failed(complaint(self._path, f"no recorded reply to {brief.turn}", "one for each turn", hint))
        return left.pop(0)


def provider(rest: str) -> Replay:
    return Replay(rest)
