"""Copies the journals of a tournament from its folder to the database and back.

Where both have a journal, one must be the beginning of the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from debate_orchestrator.storage.files import write_bytes_atomic
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_lines import parse
from debate_orchestrator.tournament.cluster.database import LIVE, Database, fetched
from debate_orchestrator.tournament.cluster.journals import append_lines, left_out
from debate_orchestrator.tournament.folder import Tournament, frozen, identity, is_begun
from debate_orchestrator.tournament.run import DebateStatus, unusable
from debate_orchestrator.util.data import name_of, read_regular, strict_json
from debate_orchestrator.util.errors import BadFile, DamagedJournal, UserError

LEASE = 30.0
"""Seconds without a heartbeat after which a worker is taken for dead, unless the tournament has another number."""
_BATCH_SIZE = 100
"""Journals that are compared or read by one statement."""

_REGISTER = """
INSERT INTO tournaments (id, tag, spec, max_cost, retry_failed, lease) VALUES (%(id)s, %(tag)s, %(spec)s, %(max_cost)s,
    %(retry_failed)s, coalesce(%(lease)s, %(default_lease)s))
ON CONFLICT (id) DO UPDATE SET spec = excluded.spec, max_cost = excluded.max_cost, round = tournaments.round + 1,
    retry_failed = excluded.retry_failed, lease = coalesce(%(lease)s, tournaments.lease)
"""
_COUNTS = """
SELECT debate, lines FROM journals
WHERE tournament = %(id)s AND lines > 0 AND (%(since)s::float IS NULL OR settled > to_timestamp(%(since)s))
"""
_LINE = """
SELECT debate, line FROM unnest(%(debates)s::text[], %(numbers)s::int[]) AS asked (debate, number)
    JOIN journals USING (debate) JOIN lines ON lines.journal = journals.id AND lines.n = asked.number
WHERE tournament = %(id)s
"""
_LINES = """
SELECT debate, string_agg(line, '' ORDER BY n) FROM journals JOIN lines ON lines.journal = journals.id
WHERE tournament = %(id)s AND debate = ANY(%(debates)s::text[]) GROUP BY debate
"""
_UPLOAD = f"""
INSERT INTO journals (tournament, debate, status, winner, cost)
VALUES (%(id)s, %(debate)s, %(status)s, %(winner)s, %(cost)s)
ON CONFLICT (tournament, debate) DO UPDATE SET token = journals.token + 1,
    status = excluded.status, winner = excluded.winner, cost = excluded.cost
WHERE journals.lines = %(before)s AND (journals.holder IS NULL OR journals.holder NOT IN ({LIVE}))
RETURNING id, token
"""
_OVERLAP = 60.0
"""Seconds for which is looked again at what ended lately: a transaction may be seen late."""


class FolderSync:
    """Copies the journals of one tournament from its folder to the database and back."""

    def __init__(self, database: Database, tournament: Tournament, lease: float | None = None):
        """`lease` replaces the one that the tournament has in the database, in seconds."""
        self.database, self.tournament, self._lease = database, tournament, lease
        self.id = identity(tournament.spec)
        self._scheduled = {scheduled.id for scheduled in tournament.schedule}
        self._have: dict[str, int] = {}
        """Lines of the journals in the folder, by debate."""
        self._since: float | None = 0.0
        self._fetched: list[str] = []
        """Debates whose journals have come into the folder, and were not returned yet."""
        self.unusable: dict[str, DebateStatus] = {}
        """Debates of the database that can't be fetched."""

    async def upload(self, statuses: Mapping[str, DebateStatus], *, retry_failed: bool) -> None:
        """Uploads the spec, and of every journal what only the folder has. BadFile, with nothing uploaded, if the
        folder lacks models that the database has, or has other journals."""
        for (text,) in await self.database.rows("SELECT spec FROM tournaments WHERE id = %(id)s", id=self.id):
            self._must_have_models(stored_spec(text, f"The tournament {self.id} in {self.database.where}"))
        known = await self._counts(None)
        usable = [debate_id for debate_id, found in statuses.items() if found.status not in ("waiting", "unusable")]
        if others := [one for debates in _batches(usable) for one in await self._different(debates, known)]:
            folder, where = name_of(self.tournament.folder), self.database.where
            problem = f"{folder} has other journals than {where}, of {len(others):,} debates such as {others[0]}."
            hint = "name a new folder, into which they are fetched; another run of the spec needs another tag"
            raise BadFile(problem, hint=hint)
        await self.register(retry_failed=retry_failed)
        for debate_id in usable:
            if self._have[debate_id] > known.get(debate_id, 0):
                await self._upload_journal(debate_id, known.get(debate_id, 0), statuses[debate_id])

    def _must_have_models(self, known: dict[str, Any]) -> None:
        lacking = [name for name in known.get("added", []) if name not in self.tournament.spec.added]
        if lacking:
            folder, where = name_of(self.tournament.folder), self.database.where
            problem = f"{where} has models in this tournament that {folder} lacks: {', '.join(lacking)}."
            raise BadFile(problem, hint="`debate tournament add` adds them here too")

    async def register(self, *, retry_failed: bool) -> None:
        """Begins a pass: workers read the spec, with its cap and limits, again."""
        spec = self.tournament.spec
        text = json.dumps(frozen(spec), ensure_ascii=False)
        values = {"tag": spec.tag, "spec": text, "max_cost": spec.max_cost, "retry_failed": retry_failed}
        await self.database.execute(_REGISTER, id=self.id, **values, lease=self._lease, default_lease=LEASE)

    async def _counts(self, since: float | None) -> dict[str, int]:
        """Lines of the journals in the database, of all debates or of those that ended lately."""
        return dict(await self.database.rows(_COUNTS, id=self.id, since=since))

    async def _different(self, debates: Sequence[str], known: Mapping[str, int]) -> list[str]:
        """The debates whose journals don't begin alike. Lines are chained: the last one that both have tells."""
        last: dict[str, bytes] = {}
        for debate_id in debates:
            lines = self._lines(debate_id)
            self._have[debate_id] = len(lines)
            if count := min(len(lines), known.get(debate_id, 0)):
                last[debate_id] = lines[count - 1]
        numbers = [min(self._have[debate_id], known[debate_id]) for debate_id in last]
        theirs = dict(await self.database.rows(_LINE, id=self.id, debates=list(last), numbers=numbers))
        if lacking := [debate_id for debate_id in last if debate_id not in theirs]:
            problem = f"{self.database.where} counts more lines than it has of the debate {lacking[0]}."
            raise BadFile(problem, hint="restore the database, or name an empty one")
        return [debate_id for debate_id, line in last.items() if bytes(theirs[debate_id]) != line]

    def _lines(self, debate_id: str) -> list[bytes]:
        """The complete lines of a journal in the folder, each with its newline."""
        data = read_regular(self.tournament.journal_of(debate_id))
        return [line + b"\n" for line in data.split(b"\n")[:-1]]  # not at carriage returns: JSON may hold them

    async def _upload_journal(self, debate_id: str, before: int, debate_status: DebateStatus) -> None:
        """Uploads what only the folder has of a journal, unless a worker has it meanwhile."""
        lines = self._lines(debate_id)
        names = {"id": self.id, "debate": debate_id}
        async with self.database.transaction() as connection:
            cost = "SELECT cost FROM journals WHERE tournament = %(id)s AND debate = %(debate)s"
            spent = sum(float(known) for (known,) in await fetched(connection, cost, **names))
            uploaded = await fetched(connection, _UPLOAD, **names, **debate_status._asdict(), before=before)
            for journal, token in uploaded:
                new = [(journal, token, n, line) for n, line in enumerate(lines[before:], before + 1)]
                counts = await append_lines(connection, self.database.where, new)
                if counts.get((journal, token)) != len(lines):
                    raise left_out(self.database.where)
                commit = b"UPDATE tournaments SET committed = committed + %(cost)s WHERE id = %(id)s"
                await connection.execute(commit, {"cost": debate_status.cost - spent, "id": self.id})

    async def fetch(self, *, everything: bool = False) -> list[str]:
        """Fetches journals of which the database has more: of debates that ended lately, or of all. Returns
        their ids, with those of an earlier fetch that broke off. What can't be fetched is in `unusable`."""
        ((now,),) = await self.database.rows("SELECT extract(epoch FROM now())::float")
        known = await self._counts(None if everything else self._since)
        # An id becomes the name of a file: one that the schedule lacks could lead out of the folder.
        behind = [id for id, count in known.items() if id in self._scheduled and count > self._have.get(id, 0)]
        for debates in _batches(behind):
            found = dict(await self.database.rows(_LINES, id=self.id, debates=debates))
            for debate_id in debates:
                self._write(debate_id, bytes(found.get(debate_id, b"")), known[debate_id])
        self._since = now - _OVERLAP
        fetched, self._fetched = self._fetched, []
        return fetched

    def _write(self, debate_id: str, data: bytes, count: int) -> None:
        """Writes a journal whose chain is whole, with at least `count` lines, and which goes on where the one in the
        folder ends."""
        path, where = self.tournament.journal_of(debate_id), f"{self.database.where}: {debate_id}"
        try:
            if (there := data.count(b"\n")) < count:
                raise DamagedJournal(f"{where} has {there:,} lines, and the database counts {count:,}.")
            parse(where, data)
            if is_begun(path):
                with JournalWriter(path):  # its lock keeps other writers out
                    if not data.startswith(b"".join(self._lines(debate_id))):
                        raise DamagedJournal(f"{name_of(path)} has other lines than {self.database.where}.")
                    write_bytes_atomic(path, data)
            else:
                write_bytes_atomic(path, data)
        except UserError as error:
            self.unusable[debate_id] = unusable(error, DebateStatus("stopped"))
        else:
            self._have[debate_id] = data.count(b"\n")
            self._fetched.append(debate_id)
            self.unusable.pop(debate_id, None)


def stored_spec(text: str, name: str) -> dict[str, Any]:
    """The spec of a tournament as the database has it; `name` names the tournament. BadFile if it is none."""
    try:
        spec = strict_json(text)
    except ValueError as error:
        raise BadFile(f"{name}: its spec is not JSON ({error}).", hint="restore the database") from None
    if not isinstance(spec, dict) or not isinstance(spec.get("added", []), list):
        raise BadFile(f"{name}: its spec is not one that this program wrote.", hint="restore the database")
    return spec


def _batches(debates: Sequence[str]) -> list[Sequence[str]]:
    return [debates[start : start + _BATCH_SIZE] for start in range(0, len(debates), _BATCH_SIZE)]
