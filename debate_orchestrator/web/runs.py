"""The debates that this server runs: each is a task that continues a journal, asks the people in its seats, and sends
its viewers what happens."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.phases import MIRRORED, Turn
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.debate import (
    DebateSession,
    RequireConsent,
    continue_debate,
    drive,
    finish,
    record_between_runs,
    reopening,
    seat_providers,
)
from debate_orchestrator.engine.library import create
from debate_orchestrator.engine.start import must_be_callable
from debate_orchestrator.engine.turn import RunOptions
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.util.coroutines import in_debate_pool_to_end
from debate_orchestrator.util.errors import (
    BadSettings,
    DebateError,
    JournalWriteError,
    LockedJournal,
    Paused,
    short_repr,
)
from debate_orchestrator.util.log import log_error, log_line
from debate_orchestrator.util.messages import Notify, ignore
from debate_orchestrator.web import blocks
from debate_orchestrator.web.live import LivePage, Viewers, message

Explain = Callable[[Exception], list[str]]


def error_sentences(error: Exception) -> list[str]:
    """The message of an error for the user whose keys and files it may name."""
    if isinstance(error, DebateError):
        return error.problems
    return ["The server failed here. What was saved until now is kept."]


def must_be_among(approved_risks: Iterable[Risk], risks_found: Iterable[Risk]) -> None:
    """Raises BadSettings if a journal has a risk that was not shown to the user."""
    if not {risk.digest for risk in risks_found} <= {risk.digest for risk in approved_risks}:
        problem = "The journal has changed since you agreed to what it does besides the debate."
        raise BadSettings(problem, hint="do it again: the page then shows what the journal does now")


consent_already_given: RequireConsent = ignore
"""For a journal that this program has just written: it does what the user has agreed to."""


NOT_WAITING = "This turn does not wait for a reply now. What was typed is kept in this browser."


class AwaitedTurn(NamedTuple):
    """A turn that waits for a person."""

    debate: DebateState
    turn: Turn
    brief: Brief
    reply: asyncio.Future[str]


class BrowserPeople:
    one_at_a_time = False

    def __init__(self) -> None:
        self.awaited_turns: dict[str, AwaitedTurn] = {}
        """By turn id, the turns that wait for their person."""
        self.viewers = Viewers()
        """Those who look at the page of a seat: told only that something has changed."""
        self._is_paused = False

    async def reply(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        """The reply that is handed in for a turn. Raises Paused where the debate is paused before."""
        if self._is_paused:
            raise _paused(turn)
        awaited_turn = AwaitedTurn(debate, turn, brief, asyncio.get_running_loop().create_future())
        self.awaited_turns[turn.id] = awaited_turn
        self.notify(debate)
        try:
            return await awaited_turn.reply
        finally:
            del self.awaited_turns[turn.id]

    def remove_drafts(self, debate: DebateState) -> None:
        """Does nothing: drafts are kept by the browser."""

    def notify(self, debate: DebateState) -> None:
        """Tells the pages of seats that the debate has changed."""
        self.viewers.broadcast("change", {})

    def pause(self) -> None:
        """Ends every wait for a reply with Paused, since the debate is paused."""
        self._is_paused = True
        for awaited_turn in list(self.awaited_turns.values()):
            if not awaited_turn.reply.done():
                awaited_turn.reply.set_exception(_paused(awaited_turn.turn))

    def end(self) -> None:
        """Closes the streams of the pages: the debate no longer runs."""
        self.viewers.broadcast("change", {})
        self.viewers.close()

    def awaited_turn(self, seat: str) -> AwaitedTurn | None:
        """The turn that waits for the person of a seat; None if none does."""
        waiting = (awaited for awaited in self.awaited_turns.values() if not awaited.reply.done())
        return next((awaited for awaited in waiting if awaited.turn.seat.removesuffix(MIRRORED) == seat), None)


def _paused(turn: Turn) -> Paused:
    problem = "the debate was paused before it was handed in. What was typed is kept in the browser."
    return Paused(f"{turn.id_hiding_mirrored}: {problem}")


class ServedDebate:
    """A debate that runs in this process. It ends when nothing is left that can be asked from here, when it is paused,
    or when a provider fails; `problems` then says why."""

    def __init__(
        self,
        path: str,
        explain: Explain,
        notify: Notify,
        require_consent: RequireConsent,
        journal_lock: asyncio.Lock,
    ) -> None:
        """`journal_lock` is held while an event is written to the journal without a run, and while it is opened."""
        self.path, self.people, self.page = path, BrowserPeople(), LivePage()
        self.problems: list[str] = []
        self.failure: Exception | None = None
        """The reason that it ended before its debate was complete, unless it was paused on purpose."""
        self._explain, self._notify, self._require_consent = explain, notify, require_consent
        self._journal_lock = journal_lock
        self.session: DebateSession | None = None
        """The debate while it runs."""
        self._journal: JournalWriter | None = None
        self.session_settled = asyncio.Event()
        """Set once `session` is there, or never will be: a thread reads the journal, which may be long."""
        self.current: CurrentState | None = None
        self._stop = asyncio.Event()
        self._shutting_down = False
        """Whether the server shuts down: pages then stay as they are, until a server runs again."""
        self.task = asyncio.create_task(self._run())

    @property
    def running(self) -> bool:
        return not self.task.done()

    @property
    def lost_count(self) -> int:
        """The number of replies that could not be saved; each was reported."""
        return len(self._journal.lost_results) if self._journal else 0

    @property
    def pausing(self) -> bool:
        return self._stop.is_set()

    def pause(self) -> None:
        """Starts no further call; the replies under way are awaited, since they are paid for."""
        self._stop.set()
        self.people.pause()
        self._send_status()

    def pause_for_shutdown(self) -> None:
        """Does as `pause`, because the server shuts down."""
        self._shutting_down = True
        self.people.viewers.close()
        self.pause()

    def record(self, event: Event) -> None:
        """Writes an event of the user's to the journal. Raises DoesNotFit where the debate does not admit it."""
        assert self.session is not None
        self.session.record(event, self._on_event)
        self.session.journal.sync()

    def messages_so_far(self) -> list[bytes]:
        """How things stand, for a viewer who comes now."""
        if self.current is None:
            return []
        return [message("status", self.status(self.current.state)), *self.page.messages_so_far()]

    def status(self, debate: DebateState) -> str:
        return blocks.status(debate, running=self.running, pausing=self.pausing, problems=self.problems)

    async def _run(self) -> None:
        try:
            try:
                await self._work()
            finally:
                self.session = None
                self.session_settled.set()
        except Paused as error:
            if not self.pausing:
                self.failure = error
        except Exception as error:
            self.failure = error
        finally:
            self._report_failure()
            self.problems = self._current_problems()
            if not self._shutting_down:
                self.page.viewers.broadcast("over", {})
            self.page.close()
            self.people.end()

    async def _work(self) -> None:
        """Takes every turn that can be taken from here, and writes the report when none is left."""
        async with self._journal_lock:
            session = await in_debate_pool_to_end(partial(continue_debate, self.path, self._require_consent, reopening))
            self.session, self.current, self._journal = session, session.current, session.journal
            session.journal.notify = self._notify_unsaved
        with session:
            self.session_settled.set()
            self.page.update(session.state)
            if session.state.due:
                must_be_callable(session.state.cast, people=True)
            providers = seat_providers(session, people=self.people, on_event=self._on_event)
            options = RunOptions(on_event=self._on_event, on_text=self._on_text, stop=self._stop)
            await drive(session, providers, options)
            if not session.state.due:
                await in_debate_pool_to_end(lambda: finish(session))

    def _report_failure(self) -> None:
        """Tells the owner why the run failed, unless another process has the debate."""
        if self.failure is None or isinstance(self.failure, LockedJournal):
            return
        if isinstance(self.failure, DebateError):
            self._notify(f"{type(self.failure).__name__}: {self.failure}")
        else:
            log_error(self.failure)

    def _current_problems(self) -> list[str]:
        """The message to viewers about the failure, and about replies that wait for room in the journal or are lost."""
        unsaved, failure = self._journal.unsaved if self._journal else [], self.failure
        if unsaved and isinstance(failure, DebateError | None):
            failure = JournalWriteError([*(failure.problems if failure else ()), *unsaved])
        return self._explain(failure) if failure else []

    def _notify_unsaved(self, sentence: str) -> None:
        self._notify(sentence)
        self.problems = self._current_problems()
        self._send_status()

    def _on_event(self, debate: DebateState, event: Event) -> None:
        self.page.update(debate, event)
        self.people.notify(debate)
        self._send_status()

    def _on_text(self, turn: Turn, piece: str) -> None:
        if piece:
            self.page.write(turn, piece)

    def _send_status(self) -> None:
        if self.current is not None:
            self.page.viewers.broadcast("status", self.status(self.current.state))


class FormSubmissions:
    """Forms that may be sent twice, by a double click or because the first response took long. The second sending gets
    the result of the first."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[str]] = {}
        self._ending = False

    async def begin(self, submission_id: str, begin: Callable[[], Coroutine[Any, Any, str]], *form: object) -> str:
        """Calls `begin` and returns its result. If the same `submission_id` and `form` came before, and that call did
        not fail, returns its result instead. An empty id is never the same. `begin` continues if the request is
        cancelled. Raises Paused if the server ends first."""
        key = repr((submission_id or secrets.token_hex(16), form))
        task = self._tasks.get(key)
        if task is None:
            if self._ending:
                raise Paused(_SERVER_ENDS)
            task = self._tasks[key] = asyncio.ensure_future(begin())
            task.add_done_callback(lambda task: self._done(key, task))
        return await self._result(task)

    def earlier(self, submission_id: str, *form: object) -> Awaitable[str] | None:
        """The result of an earlier `begin` for the same `submission_id` and `form`, or its error; None if there is
        none that is under way or was done lately."""
        task = self._tasks.get(repr((submission_id, form)))
        return self._result(task) if task is not None else None

    @staticmethod
    async def _result(task: asyncio.Task[str]) -> str:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            raise Paused(_SERVER_ENDS) from None

    def _done(self, key: str, task: asyncio.Task[str]) -> None:
        if task.cancelled() or task.exception():
            del self._tasks[key]
        finished = [key for key, form_task in self._tasks.items() if form_task.done()]
        for finished_key in finished[:-_KEPT_FORMS]:
            del self._tasks[finished_key]

    async def end(self, seconds: float) -> None:
        """Waits up to so many seconds for the tasks that are not done. Then cancels them, and waits until they have
        ended. None begins from now on."""
        self._ending = True
        working = [task for task in self._tasks.values() if not task.done()]
        if working:
            await asyncio.wait(working, timeout=seconds)
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)


_SERVER_ENDS = "The server has ended before this was done, and nothing was opened. Try again once it is there."
_LAST_CALLS = 8.0
"""Seconds for which calls that derive positions are awaited when the server ends: a container often has ten."""
_KEPT_FORMS = 1_000
"""Submitted forms that are remembered, with the debates that they began."""


class ServedDebates:
    """The debates that run here, by the path of their journal, and the forms that begin them."""

    def __init__(self, explain: Explain = error_sentences, notify: Notify = log_line) -> None:
        """`explain` says to viewers why a debate is paused; `notify` gets what the owner should know, a line each."""
        self.forms = FormSubmissions()
        self._by_journal: dict[str, ServedDebate] = {}
        self._journal_locks = WeakValueDictionary[str, asyncio.Lock]()
        """By the path of a journal, what is held while it is opened, as long as it is used."""
        self._problems: dict[str, list[str]] = {}
        self._explain, self._notify = explain, notify
        self._lost_count = 0
        self._ending = asyncio.Event()
        """Set once no further call is to be made."""
        self._opening = 0
        """Debates whose positions may be awaited, by a call that is paid for."""

    def problems(self, path: str) -> list[str]:
        """The reason that a debate is paused; empty if nothing has failed since the server was started."""
        served = self._by_journal.get(path)
        return served.problems if served is not None else self._problems.get(path, [])

    @property
    def lost_count(self) -> int:
        """The number of replies that could not be saved; each was reported."""
        return self._lost_count + sum(served.lost_count for served in self._by_journal.values())

    def running(self, path: str) -> ServedDebate | None:
        served = self._by_journal.get(path)
        return served if served is not None and served.running else None

    async def open(self, settings: Settings, *, rehearse: bool) -> str:
        """Opens a new debate, to whose risks the user has agreed, and runs it; its journal. Positions that are derived
        and can't be saved count as lost."""
        journals: list[JournalWriter] = []

        def follow_journal(journal: JournalWriter) -> None:
            journal.notify = self._notify
            journals.append(journal)

        self._opening += 1
        try:
            opening = create(settings, rehearse=rehearse, people=True, stop=self._ending, on_journal=follow_journal)
            with await opening as session:
                path = session.files.journal
        except asyncio.CancelledError:
            if not any(journal.lost_results for journal in journals):
                self._notify(f"Given up: the positions on {short_repr(settings.topic)}, which did not come in time.")
            raise
        finally:
            self._opening -= 1
            self._lost_count += sum(len(journal.lost_results) for journal in journals)
        self.start(path, consent_already_given)
        return path

    def start(self, path: str, require_consent: RequireConsent) -> ServedDebate:
        """Continues a debate, unless it runs already. `require_consent` gets the risks of its journal as it is
        when it is opened; `consent_already_given` is for one that this program has just written."""
        if (served := self.running(path)) is None:
            served = self._by_journal[path] = ServedDebate(
                path,
                self._explain,
                self._notify,
                require_consent,
                self._lock(path),
            )
            self._problems.pop(path, None)
            served.task.add_done_callback(lambda _: self._ended(served))
            if self._ending.is_set():
                served.pause_for_shutdown()
        return served

    def _lock(self, path: str) -> asyncio.Lock:
        return self._journal_locks.setdefault(path, asyncio.Lock())

    def _ended(self, served: ServedDebate) -> None:
        """Forgets a run, and keeps only why it failed: the journal has the rest."""
        self._lost_count += served.lost_count
        if self._by_journal.get(served.path) is served:
            del self._by_journal[served.path]
            if served.failure is not None:
                self._problems[served.path] = served.problems

    async def record(self, path: str, make: Callable[[DebateState], Event]) -> None:
        """Writes an event of the user's into a debate, whether it runs or waits. Raises DebateError where the debate
        does not admit it, or runs in another process."""
        if (served := self.running(path)) is not None:
            await served.session_settled.wait()
        async with self._lock(path):
            if (served := self.running(path)) is not None and served.session is not None:
                served.record(make(served.session.state))
            else:
                await in_debate_pool_to_end(lambda: record_between_runs(path, make))

    async def shutdown(self) -> None:
        """Ends the forms, which may begin runs, and all runs, as SIGTERM does: parts of replies that came are kept."""
        self._ending.set()
        for served in self._by_journal.values():
            served.pause_for_shutdown()
        await self.forms.end(_LAST_CALLS if self._opening else 0.0)
        running = [served for served in self._by_journal.values() if served.running]
        if running:
            await asyncio.wait([served.task for served in running], timeout=0.2)
        for served in running:
            served.task.cancel()
        await asyncio.gather(*(served.task for served in running), return_exceptions=True)
