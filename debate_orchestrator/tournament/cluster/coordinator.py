"""A run whose debates workers take: copies journals to the database and back, queues the debates, and watches them.

Debates are queued in passes. Those that stopped are queued again as long as others are completed meanwhile, as in a run
on one machine. If folder and database both have a journal, one must be the beginning of the other. `cluster.txt` in
the folder names the database.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from debate_orchestrator.storage.files import take_lock, write_bytes_atomic
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_lines import parse
from debate_orchestrator.storage.running_elsewhere import (
    CLUSTER_FILE_LOCK,
    cluster_address,
    must_not_be_elsewhere,
    open_lock,
    remove_cluster_file,
    write_cluster_file,
)
from debate_orchestrator.tournament.cluster.database import (
    RETRY_SECONDS,
    Database,
    fetch_rows,
    out_of_reach,
)
from debate_orchestrator.tournament.cluster.jobs import count_queue, enqueue
from debate_orchestrator.tournament.cluster.shared import append_lines, record_status
from debate_orchestrator.tournament.folder import Tournament, identity, is_begun, spec_data, spec_from_text
from debate_orchestrator.tournament.plan import ScheduledDebate
from debate_orchestrator.tournament.run import DebateStatus, RunCounts, TournamentRun, count_completed, unusable
from debate_orchestrator.util.coroutines import in_own_thread
from debate_orchestrator.util.data import name_of, read_regular
from debate_orchestrator.util.errors import BadFile, DamagedJournal, UserError
from debate_orchestrator.util.redact import redact_values

_POLL_SECONDS = 1.0
"""The polling interval of the database, in seconds."""
_LOCK_POLL_SECONDS = 0.1
_SILENT_WAITS = 50
"""Polls of a lock before the user is told why nothing happens."""

_REGISTER = """
INSERT INTO tournaments (id, tag, spec, max_cost, retry_undecided, spent)
VALUES (%(id)s, %(tag)s, %(spec)s, %(max_cost)s, %(retry_undecided)s, %(unusable_cost)s)
ON CONFLICT (id) DO UPDATE SET pass = tournaments.pass + 1,
    retry_undecided = CASE WHEN %(is_first)s THEN excluded.retry_undecided ELSE tournaments.retry_undecided END,
    spec = CASE WHEN %(is_first)s THEN excluded.spec ELSE tournaments.spec END,
    max_cost = CASE WHEN %(is_first)s THEN excluded.max_cost ELSE tournaments.max_cost END
RETURNING pass
"""
_LATEST_PASS = "SELECT pass FROM tournaments WHERE id = %(id)s"
_LINES = """
SELECT debate, count(*), coalesce(max(n), 0) FROM lines WHERE tournament = %(id)s GROUP BY debate
"""
_JOURNAL = "SELECT string_agg(line, '' ORDER BY n) FROM lines WHERE tournament = %(id)s AND debate = %(debate)s"
_STATUSES = "SELECT debate, status, winner, cost, why, permanent FROM journals WHERE tournament = %(id)s"
_COUNTS = """
SELECT calls, failed_calls, spent, max_cost, (SELECT count(*) FROM calls WHERE tournament = tournaments.id)
FROM tournaments WHERE id = %(id)s
"""
_COST = "SELECT cost FROM journals WHERE tournament = %(id)s AND debate = %(debate)s"


class Coordinator:
    """The run of one tournament by workers."""

    def __init__(
        self,
        database: Database,
        tournament: Tournament,
        *,
        retry_undecided: bool = False,
        on_fetched: Callable[[str], None] = lambda debate_id: None,
    ):
        """`on_fetched` is called with the id of each debate whose journal has come into the folder."""
        self.database, self.tournament, self.id = database, tournament, identity(tournament.spec)
        self._retry_undecided, self._on_fetched = retry_undecided, on_fetched
        self._pass: int | None = None
        """The latest pass that this run has begun."""
        self._local = TournamentRun(tournament)
        """The statuses of the journals in the folder."""
        self._has_uploaded = False
        """Whether the database has had all of the folder's lines."""
        self._local_line_counts: dict[str, int] = {}
        """Lines of the journals in the folder, by debate."""
        self.statuses: dict[str, DebateStatus] = {}
        """The statuses in the database of the debates that have begun."""
        self.unusable: dict[str, DebateStatus] = {}
        """Debates whose journals can't be uploaded or fetched, and which are not queued."""
        self._began = time.monotonic()
        self._start: tuple[int, int, int] | None = None
        """The calls, failed calls and complete debates of the tournament when this run began."""
        self.numbers = RunCounts(len(tournament.schedule), max_cost=tournament.spec.max_cost, workers=0)

    async def upload(self) -> None:
        """Uploads the spec, and every journal that the database lacks or has less of; those that are unusable, or that
        another process writes, are in `unusable`. Raises BadFile, with no journal uploaded, if the folder lacks models
        that the database has, has another journal of a debate, or has one that holds a secret of this environment;
        BadSettings if workers of another database may be running its debates."""
        must_not_be_elsewhere(self.tournament.folder, self.database.address)
        for (text,) in await self.database.rows("SELECT spec FROM tournaments WHERE id = %(id)s", id=self.id):
            stored = spec_from_text(text, f"The tournament {self.id} in {self.database.address}")
            missing = [name for name in stored.added if name not in self.tournament.spec.added]
            if missing:
                folder, where = name_of(self.tournament.folder), self.database.address
                problem = f"{where} has models in this tournament that {folder} lacks: {', '.join(missing)}."
                raise BadFile(problem, hint="`debate tournament add` adds them here too")
        async with self._cluster_file_locked():
            await self._upload_journals()

    async def _upload_journals(self) -> None:
        """Uploads the journals as they are now, and begins a pass. The folder's `cluster.txt` must be locked."""
        self._has_uploaded = False
        last_lines = {debate_id: last for debate_id, _, last in await self.database.rows(_LINES, id=self.id)}
        await in_own_thread(self._local.read_journals)
        statuses = self._local.statuses
        self.unusable = {debate_id: status for debate_id, status in statuses.items() if status.status == "unusable"}
        usable = [one for one in self.tournament.schedule if statuses[one.id].status not in ("waiting", "unusable")]
        for scheduled in usable:
            await self._must_agree(scheduled.id, last_lines.get(scheduled.id, 0))
        await self._begin_pass()
        for scheduled in usable:
            try:
                await self._upload_missing_lines(scheduled, last_lines.get(scheduled.id, 0))
            except UserError as error:
                self.unusable[scheduled.id] = unusable(error, statuses[scheduled.id])
        self._has_uploaded = True

    async def _upload_missing_lines(self, scheduled: ScheduledDebate, last_line: int) -> None:
        """Uploads the lines after `last_line`. A debate that is not complete may be run alone by a process that began
        before there was a `cluster.txt`: its lock tells, and its lines since."""
        if self._local.statuses[scheduled.id].status != "complete":
            with JournalWriter(self.tournament.journal_path(scheduled.id)):
                self._local.read_status(scheduled)
                await self._must_agree(scheduled.id, last_line)
        lines, names = self._lines(scheduled.id), {"id": self.id, "debate": scheduled.id}
        if len(lines) <= last_line:
            return
        local, name = self._local.statuses[scheduled.id], f"{self.database.address}: {scheduled.id}"
        async with self.database.transaction() as connection:
            uploaded_cost = sum(cost for (cost,) in await fetch_rows(connection, _COST, **names))
            await record_status(connection, self.id, scheduled.id, local)
            await append_lines(connection, self.id, scheduled.id, last_line, lines[last_line:], name)
            update = b"UPDATE tournaments SET spent = spent + %(cost)s WHERE id = %(id)s"
            await connection.execute(update, {"id": self.id, "cost": max(0.0, local.cost - uploaded_cost)})

    async def _begin_pass(self) -> None:
        """Begins a pass: workers read the spec, with its cap and limits, again. The first pass of a run sets them; a
        later one leaves them as they are, since another run may have set them meanwhile. The folder has a `cluster.txt`
        from then on, until all that workers have written is in the folder."""
        spec = self.tournament.spec
        text = json.dumps(spec_data(spec), ensure_ascii=False)
        values = {"tag": spec.tag, "spec": text, "max_cost": spec.max_cost, "retry_undecided": self._retry_undecided}
        values |= {"id": self.id, "is_first": self._pass is None}
        values["unusable_cost"] = sum(debate_status.cost for debate_status in self.unusable.values())
        async with self.database.transaction() as connection:
            ((begun_pass,),) = await fetch_rows(connection, _REGISTER, **values)
            write_cluster_file(self.tournament.folder, self.database.address)
        self._pass = begun_pass

    async def queue(self, *, include_stopped: bool) -> None:
        """Begins a pass, and queues the debates that are left then. Where `cluster.txt` was removed meanwhile, some may
        have gone on in the folder."""
        async with self._cluster_file_locked():
            if self._has_uploaded and cluster_address(self.tournament.folder) is not None:
                await self._begin_pass()
            else:
                await self._upload_journals()
            await self._read_progress()
            await enqueue(self.database, self.id, self._pending(include_stopped=include_stopped))

    @asynccontextmanager
    async def _cluster_file_locked(self) -> AsyncIterator[None]:
        """Locks the folder's `cluster.txt` for this run: others that share the folder wait for it, however long this
        process stands still. A transaction would end meanwhile."""
        handle = open_lock(self.tournament.folder, CLUSTER_FILE_LOCK)
        try:
            waits = 0
            while not take_lock(handle, name_of(self.tournament.folder), BadFile):
                waits += 1
                if waits == _SILENT_WAITS:
                    self.database.notify("Another run of this folder, which may be suspended, keeps its cluster.txt.")
                await asyncio.sleep(_LOCK_POLL_SECONDS)
            yield
        finally:
            os.close(handle)

    async def _must_agree(self, debate_id: str, last_line: int) -> None:
        lines = self._lines(debate_id)
        self._must_hold_no_secret(debate_id, lines, last_line)
        self._local_line_counts[debate_id] = len(lines)
        if count := min(len(lines), last_line):
            query = "SELECT line FROM lines WHERE tournament = %(id)s AND debate = %(debate)s AND n = %(n)s"
            database_lines = await self.database.rows(query, id=self.id, debate=debate_id, n=count)
            # Lines are chained: the last one tells.
            if [bytes(line) for (line,) in database_lines] != [lines[count - 1]]:
                folder, where = name_of(self.tournament.folder), self.database.address
                hint = "name a new folder, into which they are fetched; another run of the spec needs another tag"
                raise BadFile(f"{folder} has other journals than {where}, such as that of {debate_id}.", hint=hint)

    def _must_hold_no_secret(self, debate_id: str, lines: list[bytes], stored_count: int) -> None:
        """Lines may be older than the secret, and are chained: none can be taken out of them."""
        for n, line in enumerate(lines[stored_count:], start=stored_count + 1):
            if redact_values(event := json.loads(line)) is not event:
                path = name_of(self.tournament.journal_path(debate_id))
                problem = f"{path} holds a key of this environment in line {n}, so it is not sent to the database."
                hint = "run this tournament without a database; unset the variable if it is not a key"
                raise BadFile(problem, hint=hint)

    def _lines(self, debate_id: str) -> list[bytes]:
        """The complete lines of a journal in the folder, each with its newline."""
        data = read_regular(self.tournament.journal_path(debate_id))
        return [line + b"\n" for line in data.split(b"\n")[:-1]]  # not at carriage returns: JSON may hold them

    async def run(self) -> None:
        """Returns when no more debates can be completed for now, and what there is of them was fetched."""
        reached, is_first_pass = self.database.retried_until_reached, True
        await reached(self._read_progress)
        while self._pending(include_stopped=is_first_pass):
            earlier_count = count_completed(self.statuses.values())
            await reached(partial(self.queue, include_stopped=is_first_pass))
            await self._wait_until_run()
            await reached(self._read_progress)
            if count_completed(self.statuses.values()) <= earlier_count:
                break
            is_first_pass = False
        await reached(self.fetch_all)
        await reached(self._withdraw_cluster_file)

    async def _withdraw_cluster_file(self) -> None:
        """Removes `cluster.txt`, unless workers may be running debates that are not in the folder: another run may have
        queued some, or be about to, since its pass is later than this one's."""
        async with self._cluster_file_locked():
            ((latest_pass,),) = await self.database.rows(_LATEST_PASS, id=self.id)
            is_over = latest_pass == self._pass or not self._pending(include_stopped=True)
            queue = await count_queue(self.database, self.id)
            if is_over and not queue.unfinished and not self.unusable.keys() & self.statuses.keys():
                remove_cluster_file(self.tournament.folder)

    def _pending(self, *, include_stopped: bool) -> list[tuple[str, bool]]:
        """The debates that are left and not unusable, and whether each has begun; with `include_stopped` those too that
        stopped for good."""
        debates = []
        for debate_id in self.tournament.debates:
            stored = self.statuses.get(debate_id, DebateStatus("waiting"))
            is_left = not stored.is_complete and (include_stopped or not stored.permanent)
            is_retried = stored.status == "undecided" and self._retry_undecided and include_stopped
            if (is_left or is_retried) and debate_id not in self.unusable:
                debates.append((debate_id, stored.status != "waiting"))
        return debates

    async def _wait_until_run(self) -> None:
        """Watches until no debate is queued or running, and fetches what has come."""
        while True:
            try:
                await self._read_progress()
                complete = {debate_id for debate_id, stored in self.statuses.items() if stored.is_complete}
                await self.fetch(sorted(complete - self._local_line_counts.keys() - self.unusable.keys()))
                if not (await count_queue(self.database, self.id)).unfinished:
                    return
                self.database.note_reached()
            except out_of_reach() as error:
                self.database.note_unreachable(error)
                await asyncio.sleep(RETRY_SECONDS)
            await asyncio.sleep(_POLL_SECONDS)

    async def _read_progress(self) -> None:
        for debate_id, status, winner, cost, why, permanent in await self.database.rows(_STATUSES, id=self.id):
            if debate_id in self.tournament.debates:
                self.statuses[debate_id] = DebateStatus(status, winner, cost, tuple(why), permanent)
        ((calls, failed_calls, spent, max_cost, in_flight),) = await self.database.rows(_COUNTS, id=self.id)
        queue, completed = await count_queue(self.database, self.id), count_completed(self.statuses.values())
        self._start = self._start or (calls, failed_calls, completed)
        calls_before, failed_before, completed_before = self._start
        numbers = RunCounts.of(
            len(self.tournament.schedule),
            self.statuses.values(),
            seconds=time.monotonic() - self._began,
            completed=completed - completed_before,
            calls=calls - calls_before,
            in_flight=in_flight,
            failed_calls=failed_calls - failed_before,
            usd=round(spent, 6),
            max_cost=max_cost,
            workers=queue.workers,
        )
        # A debate that a worker runs has the status in which the last one left it.
        self.numbers = numbers._replace(running=queue.running, stopped=max(0, numbers.stopped - queue.running))

    async def fetch_all(self) -> None:
        """Fetches every journal of which the database has more than the folder."""
        rows = await self.database.rows(_LINES, id=self.id)
        longer = [debate_id for debate_id, count, _ in rows if count > self._local_line_counts.get(debate_id, 0)]
        await self.fetch(longer)

    async def fetch(self, debates: list[str]) -> None:
        """Fetches journals. What can't be fetched is in `unusable`."""
        for debate_id in debates:
            if debate_id not in self.tournament.debates:
                continue  # an id becomes the name of a file, and another could lead elsewhere
            try:
                ((data,),) = await self.database.rows(_JOURNAL, id=self.id, debate=debate_id)
                self._write(debate_id, bytes(data or b""))
            except UserError as error:
                self.unusable[debate_id] = unusable(error, DebateStatus("stopped"))
            else:
                self._local_line_counts[debate_id] = data.count(b"\n")
                self.unusable.pop(debate_id, None)
                self._on_fetched(debate_id)

    def _write(self, debate_id: str, data: bytes) -> None:
        """Writes a journal of the debate whose chain is whole, and which goes on where the one in the folder ends."""
        path, where = self.tournament.journal_path(debate_id), f"{self.database.address}: {debate_id}"
        self.tournament.must_belong(self.tournament.debates[debate_id], parse(where, data).events, where)
        if is_begun(path):
            with JournalWriter(path):  # its lock keeps other writers out
                if not data.startswith(b"".join(self._lines(debate_id))):
                    raise DamagedJournal(f"{name_of(path)} has other lines than {self.database.address}.")
                write_bytes_atomic(path, data)
        else:
            with JournalWriter.reserve(path):  # what another wrote there is no journal to be replaced
                write_bytes_atomic(path, data)
