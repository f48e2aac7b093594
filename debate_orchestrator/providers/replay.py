"""Replays the replies of a journal: for demonstrations, tests, and free reruns of a real debate."""

from __future__ import annotations

from debate_orchestrator.core import tally
from debate_orchestrator.core.events import Declined, Event, Opened, Rejected, ReplyEvent, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.mirror import Mirror
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.reply import RecordedReading, Reply
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.provider import OnPiece, Permissions, Provider
from debate_orchestrator.storage import journal
from debate_orchestrator.storage.journal_lines import parse, state_of_events
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import (
    BadJournal,
    BadSettings,
    DamagedJournal,
    NewerJournal,
    ProviderFailed,
    UnknownEvent,
)
from debate_orchestrator.util.messages import command

_MAX_REPLIES = 4
"""The last replies to a turn that are given again: a turn that was resumed may have more of them than are asked for."""


class Replay(Provider):
    """Answers each turn with the recorded replies to that turn, in their order."""

    def __init__(self, path: str, settings: Settings, mirror: Mirror, judged_digest: str | None = None):
        """The replies to a debate with these settings. If a debate that is judged again is recorded there,
        `judged_digest` is the hash of the last line that its journal had. Ballots on the mirrored debate are given as
        `mirror` shows the sides. Raises BadSettings for a recording of another topic or other positions."""
        self.name = f"replay:{path}"
        self._path = path
        (opened, *events), state = _recording(path, judged_digest)
        assert isinstance(opened, Opened)
        if (settings.topic, settings.positions) != (opened.settings.topic, opened.settings.positions):
            hint = "`debate answers --from` prints the answers that it was recorded with"
            raise BadSettings(f"{name_of(path)} is a recording of another topic, or of other positions.", hint=hint)
        recorded: dict[str, list[Reply]] = {}
        for event in events:
            if isinstance(event, ReplyEvent):
                spec = self.name
                if judged_digest is None and model_spec.is_stand_in(event.reply.spec):
                    spec = model_spec.stand_in(spec)  # its words are filler here too
                reading = _recorded_reading(event, state, mirror)
                reply = event.reply.model_copy(update={"spec": spec, "recorded_reading": reading})
                earlier = recorded.setdefault(event.turn_id, [])
                if isinstance(
                    event, Spoke | Declined
                ):  # a speech is asked for twice in a row, and a re-judging needs it
                    earlier[:] = earlier[-1:] if judged_digest is None else []
                earlier.append(reply)
        self._remaining = {turn: replies[-_MAX_REPLIES:] for turn, replies in recorded.items()}

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """The next recorded reply. Raises ProviderFailed if there is none to that turn."""
        replies = self._remaining.get(brief.turn_id)
        if not replies:
            hint = "Try: replay it with the setup that it was recorded with."
            raise ProviderFailed(f"{self._path} has no recorded reply to {brief.turn_id}. {hint}")
        reply = replies.pop(0)
        on_text(reply.text)
        return reply.model_copy(update={"usage": None, "cost": None})  # it was paid for once


def _recording(path: str, judged_digest: str | None) -> tuple[list[Event], DebateState]:
    """The events of a recording, up to the line with that hash if one is given, and the state of its debate after them.
    Raises BadSettings if no line has that hash, and BadJournal, in words that hold nothing of the file: what stops a
    debate of a tournament may be told to another machine, and the file may be none that was meant."""
    data, prefix = journal.read_bytes(path), f"{name_of(path)} can't be replayed: "
    try:
        entries = parse(path, data).entries
        if judged_digest is not None:  # what was said after that line is not judged
            last = next((entry.n for entry in entries if entry.hash == judged_digest), 0)
            entries = entries[:last]
        events = [entry.event for entry in entries]
        if not events:
            hint = "put the journal back under this name, or judge this one with `debate judge`"
            raise BadSettings(f"{prefix}it is not the journal of the debate that is judged here.", hint=hint)
        state = state_of_events(path, events)  # a journal that says what can't be is refused, as by every verb
    except (NewerJournal, UnknownEvent) as error:
        raise type(error)(f"{prefix}it holds what this version does not know.") from None
    except DamagedJournal:
        hint = f"`{command('check', path)}` tells what is wrong with it"
        raise DamagedJournal(f"{prefix}it is a damaged journal.", hint=hint) from None
    except BadJournal:
        raise BadJournal(f"{prefix}it is not a debate's journal.", hint=journal.JOURNAL_NAME_HINT) from None
    return events, state


def _recorded_reading(event: ReplyEvent, recorded: DebateState, mirror: Mirror) -> RecordedReading:
    """How the recorded debate read a reply. Its codes are not known here, so ballots and reserved lines are not
    read a second time. A reply that it rejected stays rejected, even if the rules have changed since."""
    if isinstance(event, StructuredReplyGiven):
        data, turn = event.data, recorded.turns_reached[event.turn_id]
        shape = recorded.shape(turn)
        if turn.mirrored and shape is not None and recorded.mirror.order_only != mirror.order_only:
            data = mirror.structured_reply(shape, tally.in_original_names(recorded, shape, event))
        return RecordedReading(data=data, changes=event.changes, short_words=event.short_words)
    if isinstance(event, Rejected):
        return RecordedReading(problems=event.problems)
    declined = isinstance(event, Declined)
    return RecordedReading(declined=declined, concedes=not declined and event.turn_id in recorded.conceding_turns)


def problem(spec: str) -> str | None:
    """The reason that a spec names no recording."""
    return None if spec.partition(":")[2] else "replay names no journal. Try: replay:JOURNAL."


def provider(spec: str, current: CurrentState, permissions: Permissions) -> Replay:
    debate = current.state
    earlier, settings = debate.opened.earlier_debate, debate.opened.settings
    gives_speeches = any(spec in specs for role, specs in debate.cast.items() if role != JUDGE)
    digest = earlier.digest if earlier and gives_speeches else None
    return Replay(spec.partition(":")[2], settings, debate.mirror, digest)
