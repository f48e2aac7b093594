"""One step of a host-run debate: take the replies that are there, write the briefs now due."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from debate_orchestrator.core import rapporteur, schedule, speech_rules
from debate_orchestrator.core.events import BriefSent, Noted, Rejected, ReplyEvent, Spoke, StructuredReplyGiven
from debate_orchestrator.core.phases import RAPPORTEUR, Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.engine.debate import DebateSession, continue_debate, drive, finish, seat_providers
from debate_orchestrator.engine.library import consent_if_trusted
from debate_orchestrator.engine.start import must_be_callable
from debate_orchestrator.engine.turn import RunOptions
from debate_orchestrator.host.turns_folder import TurnFiles, TurnsFolder, awaited_reply_text, wait_for_replies
from debate_orchestrator.prompting import replies, reply_code
from debate_orchestrator.prompting.briefs import Brief, brief, brief_file
from debate_orchestrator.prompting.reply_code import code_for
from debate_orchestrator.providers.provider import NO_PERMISSIONS, Permissions
from debate_orchestrator.reports.announcements import Announcer
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import state_of_events
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import coroutines, model_spec, sanitize
from debate_orchestrator.util.errors import (
    BadJournal,
    BadReply,
    DiskFull,
    DoesNotFit,
    JournalWriteError,
    ReplyCouldBeBetter,
    short_repr,
)

_FIRST_LINE = re.compile(r"[\s\ufeff]*\[(?:sub)?agent hand-?back\b[^\]\r\n]*\]?", re.IGNORECASE)
_LAST_LINE = re.compile(r"[ \t\ufeff]*agentId: ?[\w-]+", re.IGNORECASE)
"""Lines that agent hosts add to a reply of an agent: the first line, or one of the last six."""
_SHORT = 40
"""A speech of less than a fortieth of the words asked for gets a remark: its agent may have failed."""


class DueTurn(FrozenModel):
    turn: str
    seat: str
    title: str
    brief: str
    """The path of the file that has the brief."""
    reply: str
    """The path of the file that the reply is expected in."""
    wants: str
    """The kind of reply: `text` or `json`."""
    json_schema: dict[str, Any] | None = None


class Accepted(FrozenModel):
    turn: str
    words: int
    remark: str | None = None
    """A reserved line in it that does not count, the problems that a better reply was asked for and that this one still
    has, or that a speech has only a few of the words asked for."""
    changes: tuple[str, ...] | None = None
    """The changes made to read a structured reply; None if there were none."""


class StepResult(FrozenModel):
    """The result of a step: the replies that it took, and the turns that are due now."""

    show: tuple[str, ...]
    """Lines for the user, word for word."""
    accepted: tuple[Accepted, ...] = ()
    problems: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    """A sentence for each turn that was due before and whose reply did not come."""
    turns: tuple[DueTurn, ...] = ()

    @property
    def done(self) -> bool:
        return not self.turns


def _wrapper(text: str) -> str:
    """The text that an agent host wrote around a reply; empty if none is seen."""
    matches = [_FIRST_LINE.match(text), *map(_LAST_LINE.match, text.splitlines()[-6:])]
    return next((match[0].strip() for match in matches if match), "")


def step(
    journal: str | os.PathLike[str], replies: Mapping[str, str] | None = None, *, trust: bool = False
) -> StepResult:
    """Take the host's replies in a debate, and get the turns due now. Seats with a model are called in an event loop of
    its own, so in async code use `asyncio.to_thread(step, ...)`.

    Args:
        replies: turn id to text (for a structured reply, JSON). Replies in the folder of turns are taken too.
        trust: consent to what the journal makes this program do besides the debate, as in `resume`.

    Returns:
        What was `accepted`, the `problems` about other replies, and the `turns` now due, each with the path of its
        brief. When no turn is left (`done`), the report is on disk, in markdown and in HTML.

    Raises:
        BadSettings: the journal needs your consent, or a person has a seat.
        BadJournal: the file is not a journal, was changed or is in use.
        Paused, PermanentFailure: a seat with a model failed. What was answered is saved.
        PermanentFailure: the disk is full. Make room, and call it again with the same replies. A model's reply, which
            is paid for, waits for room instead, and a warning is logged.
    """
    with continue_debate(journal, consent_if_trusted(trust)) as session:
        if session.state.due:
            must_be_callable(session.state.cast)
        stepper = Stepper(session, TurnsFolder(session.files.turns_folder, session.journal.notify))
        try:
            stepper.take_replies(replies or {}, wait_for_room=False)
            result = stepper.step()
        except JournalWriteError as error:
            raise session.with_saved(error) from error
        if result.done:
            finish(session)
        return result


def wait(journal: str, seconds: float, answered_turns: Collection[str] = ()) -> None:
    """Waits until the file of every reply due at the host is there, or for that many seconds. It does not wait for
    turns in `answered_turns`. The journal is not locked meanwhile. Raises BadJournal."""
    debate = state_of_events(journal, read(journal).events)
    folder = TurnsFolder(DebateFiles.of_journal(journal).turns_folder)
    due = [turn for turn in debate.due if spec_in(debate, turn.seat) == model_spec.HOST]
    wait_for_replies([_files(folder, debate, turn) for turn in due if turn.id not in answered_turns], seconds)


def _files(folder: TurnsFolder, debate: DebateState, turn: Turn) -> TurnFiles:
    return folder.turn_files(turn.id, "text" if debate.shape(turn) is None else "json")


class Stepper:
    """Takes a step of an open debate: the replies that are there, and the turns of seats that can be called."""

    def __init__(
        self,
        session: DebateSession,
        folder: TurnsFolder,
        permissions: Permissions = NO_PERMISSIONS,
        before_calls: Callable[[DebateSession], None] = lambda session: None,
        *,
        just_opened: bool = False,
    ):
        """`before_calls` is called once, before the first call. `just_opened` says that the debate was opened just
        now, so that its first announcements are new."""
        self.session, self.folder, self.before_calls = session, folder, before_calls
        self.permissions, self.just_opened, self.has_announced_calls = permissions, just_opened, False
        self.announcer = Announcer()
        self.earlier_announcements = [] if just_opened else self.announcer.new_announcements(session.state)
        self.providers = seat_providers(session, permissions)
        self.briefed_turn_ids = [turn.id for turn in self._due_at_host() if self.state.briefs_sent(turn.id)]
        self.accepted: list[Accepted] = []
        self.problems: list[str] = []
        self.rejected: set[str] = set()

    @property
    def state(self) -> DebateState:
        return self.session.state

    def reattach(self, session: DebateSession) -> None:
        """Continues with the same debate, its journal reopened. Raises BadJournal if it lacks lines that this step
        left."""
        before, now = self.session.journal.entries, session.journal.entries
        if len(now) < len(before) or now[len(before) - 1].hash != before[-1].hash:  # each hash covers all lines before
            problem = f"{session.files.journal} was replaced or cut while this step waited."
            raise BadJournal(problem, hint="put the journal back, and hand the replies in again")
        self.session, self.providers = session, seat_providers(session, self.permissions)

    def take_replies(
        self, reply_texts: Mapping[str, str], *, one_agent: bool = False, wait_for_room: bool = True
    ) -> None:
        """Takes and saves the replies, by turn id. One that can't be taken is a problem; all others are taken. There
        may be no other copy of them, so they wait for room on a full disk, and an interrupt names what is lost. With
        `wait_for_room` false JournalWriteError is raised there."""
        for turn_id, text in reply_texts.items():
            try:
                self._take(turn_id, text, queue_if_disk_full=wait_for_room)
            except (BadReply, DoesNotFit) as error:
                self._reject(turn_id, error.problems)
        if self.session.journal.unsaved:
            coroutines.run(self.session.journal.wait_for_room(), asyncio.Event(), self.folder.notify)
        if one_agent and (note := Noted(note="one agent")) not in self.state.notes:
            self.session.record(note)
        self.session.journal.sync()

    def step(self) -> StepResult:
        """Takes replies, calls seats, and lays out what is due then. The result tells what was taken before too."""
        try:
            while self._collect() or self._call():
                pass
        finally:
            self.session.journal.sync()
        try:
            turns = tuple(self._write_due_brief(turn) for turn in self.state.due)
        except DiskFull as error:
            raise self.session.with_saved(error) from error
        self.session.journal.sync()
        show = self.announcer.new_announcements(self.state)
        if self.state.due and not (self.just_opened or self.accepted or self.rejected):
            show = [line for line in (*self.earlier_announcements, *show) if line.begins_part][-1:]
        asked = [turn for turn in turns if turn.turn in self.briefed_turn_ids and turn.turn not in self.rejected]
        return StepResult(
            show=(*(line.standalone_text(self.state) for line in show), *self._late_replies()),
            accepted=tuple(self.accepted),
            problems=tuple(self.problems),
            awaited=tuple(awaited_reply_text(turn.turn, turn.reply) for turn in asked),
            turns=turns,
        )

    def _collect(self) -> bool:
        """Takes every reply in the folder that answers what is due; True if there was one."""
        before = len(self.accepted)
        for turn in self._due_at_host():
            turn_files = _files(self.folder, self.state, turn)
            if not os.path.lexists(turn_files.reply):
                continue
            try:
                text = self.folder.collect(turn_files, self._brief_file(self._brief(turn), turn, turn_files))
                if text is not None:
                    self._take(turn.id, text)
            except BadReply as error:
                self._reject(turn.id, self.folder.reject(turn_files, error.problems))
        return len(self.accepted) > before

    def _call(self) -> bool:
        """Runs the seats that have a provider; True if that brought a reply."""
        before = len(self.state.replies)
        if not self.has_announced_calls and any(turn.seat in self.providers for turn in self.state.due):
            self.has_announced_calls = True
            self.before_calls(self.session)
        if self.providers:
            options = RunOptions()
            driving = drive(self.session, self.providers, options)
            coroutines.run(driving, options.stop, self.folder.notify)
        return len(self.state.replies) > before

    def _take(self, turn_id: str, text: str, *, queue_if_disk_full: bool = False) -> None:
        """Takes a reply. Raises BadReply or DoesNotFit if it can't be taken, JournalWriteError if it can't be written
        now."""
        turn = schedule.turn(self.state, turn_id)
        if turn.seat in self.providers:
            raise DoesNotFit(f"{turn_id}: this seat is filled by {self.providers[turn.seat].name}, not by the host.")
        on_record = self.state.replies.get(turn_id)
        if on_record is not None and on_record.reply.text == text:
            return
        turn_brief = self._brief(turn)
        if line := _wrapper(text):
            problem = f"{turn_id}: the reply is wrapped in text of the host's own tools ({short_repr(line)})."
            raise BadReply(problem, hint="hand in what the agent wrote, and nothing around it")
        reply = replies.as_stored(Reply(text=text, brief_digest=turn_brief.digest, spec=model_spec.HOST))
        event: ReplyEvent | Rejected
        rejection: BadReply | None = None
        try:
            event = replies.parse_reply(self.state, turn, reply, turn_brief.code)
        except BadReply as error:
            if self.state.shape(turn) is None and not isinstance(error, ReplyCouldBeBetter):
                raise
            # It goes on record, so that the next brief shows it with what is wrong.
            event, rejection = replies.rejected_event(turn, reply, error), error
        if turn_id not in self.state.replies:
            with suppress(JournalWriteError):  # the reply names its brief too, and is kept in memory
                self._record_brief_sent(turn, turn_brief)
        is_new = self.session.record(event, queue_if_disk_full=queue_if_disk_full)
        if rejection is not None:
            raise rejection
        if is_new:
            words = sanitize.count_words(speech_rules.without_private_reasoning(self.state, text))
            remark = self._remark(turn, event, words)
            changes = (event.changes if isinstance(event, StructuredReplyGiven) else ()) or None
            self.accepted.append(Accepted(turn=turn_id, words=words, remark=remark, changes=changes))

    def _late_replies(self) -> Iterator[str]:
        """A sentence for each turn with a reply of the host whose file now holds another."""
        for turn in schedule.turns_taken(self.state):
            event = self.state.replies[turn.id]
            if isinstance(event, Rejected) or event.reply.spec != model_spec.HOST:
                continue
            turn_files = _files(self.folder, self.state, turn)
            if self.folder.has_other_reply(turn_files, event.reply.text):
                yield f"{turn.id} has its reply; what is in {turn_files.reply} now can't replace it."

    def _remark(self, turn: Turn, event: ReplyEvent | Rejected, words: int) -> str | None:
        if isinstance(event, StructuredReplyGiven) and turn.role == RAPPORTEUR:
            problems = rapporteur.quality_problems(self.state, turn, event.data)
            return f"it still has problems: {' '.join(problems)}" if problems else None
        if remark := speech_rules.ignored_line_remark_of(self.state, turn):
            return remark
        words_asked = turn.phase.target_words or 0
        if isinstance(event, Spoke) and not event.concedes and words * _SHORT < words_asked:
            return f"it stands, though about {words_asked} words are asked for: if its agent failed, tell the user."
        return None

    def _reject(self, turn_id: str, problems: list[str]) -> None:
        self.rejected.add(turn_id)
        self.problems += problems

    def _due_at_host(self) -> list[Turn]:
        return [turn for turn in self.state.due if turn.seat not in self.providers]

    def _record_brief_sent(self, turn: Turn, turn_brief: Brief) -> None:
        earlier = self.state.briefs_sent(turn.id)
        if not earlier or earlier[-1].brief_digest != turn_brief.digest:
            self.session.record(BriefSent(turn_id=turn.id, brief_digest=turn_brief.digest, spec=model_spec.HOST))

    def _brief(self, turn: Turn) -> Brief:
        """The brief of a due turn. It ends with the last reply that could not be used, and why."""
        rejected = self.state.rejected_replies(turn.id)
        last_rejected = rejected[-1] if rejected and rejected[-1].reply.spec == model_spec.HOST else None
        code = code_for(self.state, turn, spec_in(self.state, turn.seat), reply_code.stored_secret)
        return brief(self.state, turn, last_rejected, code)

    def _brief_file(self, turn_brief: Brief, turn: Turn, turn_files: TurnFiles) -> str:
        return brief_file(turn_brief, self.state, turn, os.path.basename(turn_files.reply))

    def _write_due_brief(self, turn: Turn) -> DueTurn:
        turn_brief, turn_files = self._brief(turn), _files(self.folder, self.state, turn)
        self._record_brief_sent(turn, turn_brief)
        if problem := self.folder.write_brief(turn_files, self._brief_file(turn_brief, turn, turn_files)):
            self._reject(turn.id, [problem])
        return DueTurn(
            turn=turn.id,
            seat=turn.seat,
            title=self.state.format.heading_of(turn),
            brief=turn_files.brief,
            reply=turn_files.reply,
            wants=turn_brief.wants,
            json_schema=turn_brief.json_schema,
        )
