"""`debate tournament run --cluster` and `debate worker` as commands: folders, mistakes, consent and keys."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import small_tournaments
from conftest import CommandResult, Run
from corpus import for_each
from postgres import Line, Postgres, line
from started import Started, started

from debate_orchestrator.storage import running_elsewhere
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament.cluster import database as database_module
from debate_orchestrator.tournament.cluster.coordinator import Coordinator
from debate_orchestrator.tournament.cluster.database import open_database
from debate_orchestrator.tournament.cluster.jobs import enqueue
from debate_orchestrator.tournament.cluster.shared import append_lines
from debate_orchestrator.tournament.spec import model_of
from debate_orchestrator.util.errors import LockedJournal, Paused

RUN = ("tournament", "run", "spec.yaml", "--rehearse", "--no-reports", "--to")


@pytest.fixture(autouse=True)
def spec(here: Path) -> None:
    """A spec file of three models and one topic."""
    small_tournaments.write_spec()


def data(where: str) -> dict[str, bytes]:
    """The journals of a folder."""
    return {path.name: path.read_bytes() for path in Path(where, "debates").glob("*.journal.jsonl")}


@contextmanager
def queued(server: Postgres, url: str, *flags: str) -> Iterator[Started]:
    """A run whose debates are in the queue of a database."""
    with started("tournament", "run", "spec.yaml", "--to", "out", "--cluster", url, *flags) as run:
        run.hear("Workers take the debates")
        while not server.query(url.rpartition("/")[2], "SELECT 1 FROM procrastinate_jobs LIMIT 1"):
            pass
        yield run


def held(debate: Run, url: str, *command: str) -> CommandResult:
    """How a command ends while a worker holds its debates."""
    with started("worker", url) as worker:
        ran = debate(*command, "--cluster", url)
        worker.signal(signal.SIGTERM)
        worker.end()
    return ran


@pytest.mark.slow
def test_a_folder_and_the_database_go_on_from_one_another(debate: Run, url: str, postgres_server: Postgres) -> None:
    """What a folder holds is uploaded and nothing of it is held again; a debate that another process runs, or that
    can't be read, is not queued; a second run has nothing to do; an empty folder gets all of it; and a model that is
    added there is known to the other folder only after it was added here."""
    for name in ("whole", "first"):
        assert debate(*RUN, name).code == 0
    begun = data("first")
    for n, path in enumerate(sorted(Path("first", "debates").glob("*.journal.jsonl"))):
        lines = begun[path.name].splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: (len(lines), 7, 0)[n % 3]]))
    left = data("first")
    run_alone, damaged = (Path("first", "debates", sorted(begun)[n]) for n in (1, 4))
    damaged.write_bytes(b"{}\n" + left[damaged.name])
    with JournalWriter(run_alone):
        beside = held(debate, url, *RUN, "first")
    stored = {name for (name,) in postgres_server.query(url.rpartition("/")[2], "SELECT debate FROM journals")}
    damaged.write_bytes(left[damaged.name])
    ran = held(debate, url, *RUN, "first")
    again = debate(*RUN, "first", "--cluster", url, "--json")
    empty = debate(*RUN, "empty", "--cluster", url)
    other = debate(*RUN, "whole", "--cluster", url)
    assert debate("tournament", "add", "first", "openai:gpt-5.1", "--name", "late", "--rehearse").code == 0
    added = held(debate, url, "tournament", "resume", "first", "--no-reports")
    behind = debate(*RUN, "empty", "--cluster", url)

    assert beside.code == 3 and "is locked" in beside.err and "is not a debate's journal" in beside.err, beside.err
    assert stored == {name.split(".")[0] for name in begun} - {path.name.split(".")[0] for path in (run_alone, damaged)}
    assert ran.code == 0 and "6 debates complete" in ran.out, ran.err
    assert all(kept.startswith(left[name]) for name, kept in data("first").items() if name in left)
    assert (again.json["status"], again.json["complete"], again.json["calls"]) == ("done", 6, 0)
    assert empty.code == 0 and data("empty").items() <= data("first").items()
    assert other.code == 2 and "whole has other journals than postgresql://" in other.err
    assert added.code == 0 and "12 debates complete" in added.out, added.err
    assert behind.code == 2 and "has models in this tournament that empty lacks: late" in behind.err


@pytest.mark.slow
def test_what_workers_may_have_is_not_run_alone(debate: Run, url: str, postgres_server: Postgres) -> None:
    """While debates are queued in a database, they would be paid for again on one machine, of a tournament or one
    debate, or by workers of another database: that is refused until they were fetched, with the command for that."""
    assert debate(*RUN, "out").code == 0
    begun, *others = sorted(Path("out/debates").glob("*.journal.jsonl"))
    begun.write_bytes(b"".join(begun.read_bytes().splitlines(keepends=True)[:7]))
    for path in others:
        path.unlink()
    with started(*RUN, "out", "--cluster", url) as run:
        run.hear("Workers take the debates")
        run.signal(signal.SIGINT)
        run.end()
    note = Path("out/cluster.txt")
    note.write_bytes(note.read_bytes().replace(b"\n", b"\r\n"))  # as git or an editor may leave it
    left, resume = data("out"), ("tournament", "resume", "out", "--no-reports")
    other = ("--cluster", postgres_server.url(postgres_server.database()))
    refused = [debate(*resume), debate(*resume, *other), debate("resume", str(begun)), debate("step", str(begun))]
    refused += [debate("floor", str(begun), "Who pays?"), debate(*resume, "--batch")]
    assert data("out") == left
    fetched = held(debate, url, *resume)
    begun.unlink()

    assert [ran.code for ran in refused] == [2] * 6, [ran.err for ran in refused]
    for ran in refused:
        assert f"workers of “{url}” may be running these debates" in ran.err, ran.err
        assert "`debate tournament resume --cluster URL out`, which fetches them" in ran.err, ran.err
    assert fetched.code == 0 and debate(*resume).code == 0 and begun.exists()


@pytest.mark.slow
def test_a_users_file_by_the_name_of_the_note(debate: Run, url: str) -> None:
    """A file that a user wrote holds no debate back, and is neither written over nor removed."""
    assert debate(*RUN, "out").code == 0
    note, journal = Path("out/cluster.txt"), next(Path("out/debates").glob("*.journal.jsonl"))
    note.write_text("postgresql://ours/d1 is for the machines in the cellar\n", encoding="utf-8")
    resume = ("tournament", "resume", "out", "--no-reports")
    journal.unlink()
    alone = debate(*resume)
    journal.unlink()
    queued = debate(*resume, "--cluster", url)

    assert (
        alone.code == 0
        and queued.code == 2
        and "out/cluster.txt is in the place of this program's note on workers. Try: move" in queued.err
    ), queued.err
    assert note.read_text(encoding="utf-8").startswith("postgresql://ours/d1 is for")

    note.write_text(f"{running_elsewhere._HEAD}\n", encoding="utf-8")
    assert "that workers of a database may be running these debates" in debate(*resume).err
    note.write_text(f"{running_elsewhere._HEAD}\na friend. Try: `sh x.sh`, or\n", encoding="utf-8")  # from elsewhere
    assert "of “a%20friend.%20Try:%20`sh%20x.sh`,%20or” may be running" in debate(*resume).err


@pytest.mark.slow
def test_a_database_that_falls_silent_at_first(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A first connection that passes nothing on any more ends with a sentence, and is not awaited for ever. The library
    adds no line of its own."""
    logging.getLogger("psycopg").setLevel(logging.NOTSET)
    create_tables = database_module._create_tables

    async def reached(to_server: Line) -> None:
        async def silenced(connection: Any, address: str) -> None:
            to_server.silence()
            await create_tables(connection, address)

        monkeypatch.setattr(database_module, "_SILENT_SECONDS", 0.5)
        monkeypatch.setattr(database_module, "_create_tables", silenced)
        address = re.sub(r":\d+/", f":{to_server.port}/", url)
        async with asyncio.timeout(20), open_database(address, print):
            pass

    with line(int(re.findall(r":(\d+)/", url)[0])) as to_server, pytest.raises(Paused, match="has said nothing"):
        asyncio.run(reached(to_server))
    assert not caplog.records


@pytest.mark.slow
def test_a_journal_with_a_key_is_not_uploaded(
    debate: Run, url: str, monkeypatch: pytest.MonkeyPatch, postgres_server: Postgres
) -> None:
    """A text of a journal that is a key of the environment by now keeps all of the folder out of the database."""
    assert debate(*RUN, "first").code == 0
    first_line = next(iter(data("first").values())).split(b"\n")[0]
    key = json.loads(first_line)["event"]["nonce"]
    monkeypatch.setenv("OPENROUTER_API_KEY", key)
    ran = debate(*RUN, "first", "--cluster", url)

    assert ran.code == 2 and "holds a key of this environment in line 1" in ran.err and key not in ran.err, ran.err
    assert not postgres_server.query(url.rpartition("/")[2], "SELECT 1 FROM lines")


@pytest.mark.slow
def test_an_upload_beside_a_worker_writes_nothing(url: str) -> None:
    """Where a worker has written a line meanwhile, no line of the folder is mixed with its own."""
    before = [(1, b"one"), (2, b"two"), (3, b"a worker's")]

    async def lines_after_an_upload() -> list[tuple[Any, ...]]:
        async with open_database(url, print) as database:
            await database.execute("INSERT INTO tournaments (id, tag, spec, max_cost) VALUES ('t', 't', '{}', 1.0)")
            await database.execute("INSERT INTO journals (tournament, debate) VALUES ('t', 'd')")
            for n, line in before:
                insert = "INSERT INTO lines (tournament, debate, n, line) VALUES ('t', 'd', %(n)s, %(line)s)"
                await database.execute(insert, n=n, line=line)
            with pytest.raises(LockedJournal, match="another worker"):
                async with database.transaction() as connection:
                    await append_lines(connection, "t", "d", 2, [b"ours", b"ours too"], "d")
            return await database.rows("SELECT n, line FROM lines ORDER BY n")

    assert asyncio.run(lines_after_an_upload()) == before


def test_the_lines_of_another_debate(url: str) -> None:
    """A journal that the database has under the id of another debate is not written to the folder; all others are. A
    run that has nothing to do leaves the note there while another run's debates are queued."""
    held = small_tournaments.tournament("first", topics=1)
    small_tournaments.run_tournament(held)
    one, other = (scheduled.id for scheduled in held.schedule[:2])
    fetched: list[str] = []

    async def play() -> Coordinator:
        async with open_database(url, print) as stored:
            first = Coordinator(stored, held)
            await first.upload()
            await enqueue(stored, first.id, [(one, True)])
            await first.run()
            assert Path("first", "cluster.txt").exists()
            await stored.execute("DELETE FROM lines WHERE debate = %(other)s", other=other)
            copy = "INSERT INTO lines SELECT tournament, %(other)s, n, line FROM lines WHERE debate = %(one)s"
            await stored.execute(copy, one=one, other=other)
            second = Coordinator(stored, small_tournaments.tournament("second", topics=1), on_fetched=fetched.append)
            await second.fetch_all()
            return second

    second = asyncio.run(play())

    assert sorted(fetched) == sorted(scheduled.id for scheduled in held.schedule if scheduled.id != other)
    assert not Path(second.tournament.journal_path(other)).exists() and [*second.unusable] == [other]
    assert f"{other} is the journal of another debate" in second.unusable[other].why[0]


@pytest.mark.slow
def test_a_file_that_was_changed_meanwhile(debate: Run, url: str, postgres_server: Postgres) -> None:
    """A journal whose chain is broken in the database is not fetched, and is reported; all others are."""
    assert held(debate, url, *RUN, "first").code == 0
    changed = "overlay(line PLACING '#' FROM 20 FOR 1)"
    postgres_server.query(
        url.rpartition("/")[2],
        f"UPDATE lines SET line = {changed} WHERE n = 2 AND debate = (SELECT min(debate) FROM lines)",
    )
    ran = debate(*RUN, "second", "--cluster", url)

    assert ran.code == 4 and "line 2 was changed" in ran.err and len(data("second")) == 5

    path = sorted(Path("second", "debates").glob("*.journal.jsonl"))[-1]
    path.write_text("a line of the user's", encoding="utf-8")
    ran = debate("tournament", "resume", "second", "--no-reports", "--cluster", url)
    assert ran.code == 4 and f"{path} is not a debate's journal. Try: move it away" in ran.err, ran.err
    assert path.read_text(encoding="utf-8") == "a line of the user's"


@pytest.mark.slow
@pytest.mark.parametrize("stored", ["[[[[", '{"schema": 1, "added": 5}'])
def test_a_stored_spec_that_is_none(debate: Run, url: str, postgres_server: Postgres, stored: str) -> None:
    """A spec in the database that can't be read is reported in a sentence, by the run as by a worker."""
    with queued(postgres_server, url, "--rehearse") as run:
        run.signal(signal.SIGINT)
        run.end()
    postgres_server.query(url.rpartition("/")[2], f"UPDATE tournaments SET spec = '{stored}'")
    for command in (("tournament", "resume", "out", "--cluster", url), ("worker", url, "--until-done")):
        ran = debate(*command)
        assert ran.code == 2 and "The tournament " in ran.err, ran.err


@pytest.mark.slow
def test_a_worker_needs_keys_and_consent_of_its_own(
    debate: Run, url: str, monkeypatch: pytest.MonkeyPatch, postgres_server: Postgres
) -> None:
    """A worker without a key, or without consent to a program in the spec, says so before it takes a debate. The key of
    a worker is nowhere in the database, and neither is the database's password."""
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-0123456789abcdef")
    program = "command:python3 -c 'import os; print(os.environ[\"OPENROUTER_API_KEY\"])'"
    small_tournaments.write_spec(
        models=[program, "openrouter:x/y", "rehearse:openai:gpt-5.1"], judges={"from": ["command:cat"], "panel": 1}
    )
    with queued(postgres_server, url, "--trust"):
        trusting = debate("worker", url, "--until-done", "--quiet")
        monkeypatch.delenv("OPENROUTER_API_KEY")
        keyless = debate("worker", url, "--until-done", "--trust")

    assert trusting.code == 2 and "the program python3" in trusting.err and "--trust" in trusting.err
    assert keyless.code == 2 and "set OPENROUTER_API_KEY" in keyless.err
    dumped = postgres_server.run("pg_dump", "-h", "127.0.0.1", "-p", str(postgres_server.port), "-U", "debates",
                                 url.rpartition("/")[2])  # fmt: skip
    assert "openrouter:x/y" in dumped and "0123456789abcdef" not in dumped


@pytest.mark.slow
def test_a_database_names_no_file_of_a_worker_unasked(debate: Run, url: str, postgres_server: Postgres) -> None:
    """A worker reads no file of its working folder because a spec in the database names it as a recording, unless it
    trusts that spec; and then nothing that is in the file is told to the database."""
    Path("passwords.txt").write_text("hunter2 is the password\n", encoding="utf-8")
    small_tournaments.write_spec(
        models=["rehearse:openai:gpt-5.1", "replay:passwords.txt"], judges={"from": ["rehearse"], "panel": 1}
    )
    name = url.rpartition("/")[2]
    with queued(postgres_server, url):
        unasked = debate("worker", url, "--until-done", "--quiet")
        begun = postgres_server.query(name, "SELECT count(*) FROM journals")
        trusting = debate("worker", url, "--until-done", "--quiet", "--trust")

    assert unasked.code == 2 and "the recording" in unasked.err and "--trust" in unasked.err, unasked.err
    assert begun == [(0,)] and trusting.code == 0, trusting.err
    dumped = postgres_server.run("pg_dump", "-h", "127.0.0.1", "-p", str(postgres_server.port), "-U", "debates", name)
    assert "passwords.txt can't be replayed" in dumped and "hunter2" not in dumped


@pytest.mark.slow
def test_tables_of_another_version(debate: Run, url: str, postgres_server: Postgres) -> None:
    """Tables that another version made are refused by runs and workers, with what to do."""
    assert debate("worker", url, "--until-done").code == 0
    postgres_server.query(url.rpartition("/")[2], "UPDATE layout SET version = '4'")

    for command in (("worker", url), (*RUN, "out", "--cluster", url)):
        ran = debate(*command)
        assert ran.code == 2 and "install the same versions on all machines" in ran.err, ran.err


def test_other_tables_are_of_another_version() -> None:
    """A change of the tables raises `VERSION`, without which a database that was set up before fails at its queries."""
    tables = re.sub(r"\s*--.*", "", database_module._TABLES)
    assert (database_module.VERSION, hashlib.sha256(tables.encode()).hexdigest()[:16]) == (13, "93b16c2ae07a8585")


def test_the_encoding_of_a_database(debate: Run, postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that can't hold every text is refused with the reason, before any table is made. In one that can, nothing
    that is set for sessions elsewhere garbles texts, or ends connections that wait."""
    for encoding in ("SQL_ASCII", "LATIN1"):
        create = f"CREATE DATABASE {encoding} ENCODING {encoding} LOCALE 'C' TEMPLATE template0"
        postgres_server.query("postgres", create)
        ran = debate("worker", postgres_server.url(encoding.lower()), "--until-done")
        assert ran.code == 2 and f"encoding is {encoding}, not UTF8. Try: a database in UTF8" in ran.err, ran.err

    postgres_server.query("postgres", "CREATE DATABASE utf8")
    postgres_server.query("postgres", "ALTER DATABASE utf8 SET idle_session_timeout = '90s'")
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")

    async def settings() -> list[tuple[str, ...]]:
        async with open_database(postgres_server.url("utf8"), print) as database:
            query = "SELECT current_setting('client_encoding'), current_setting('idle_session_timeout')"
            return await database.rows(query)

    assert asyncio.run(settings()) == [("UTF8", "0")]


def test_what_both_commands_need(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no database answers, they end with one message; without the libraries they say how to install them."""
    url = "postgresql://me@127.0.0.1:1/debates"
    commands = (("worker", url), (*RUN, "out", "--cluster", url))
    away = [debate(*command) for command in commands]
    monkeypatch.setattr(database_module, "find_spec", lambda name: None)
    without = [debate(*command) for command in commands]

    assert all(ran.code == 3 and f"{url} can't be reached" in ran.err and "Traceback" not in ran.err for ran in away)
    assert all(ran.code == 2 and 'pip install "debate-orchestrator[cluster]"' in ran.err for ran in without)


@for_each(
    [
        "mysql://localhost/x",
        "postgresql://h/x?nonsense=1",
        "postgresql://ada:hunter22@db/x",
        "postgresql://ada:1234/hunter22@db/x",
        "postgresql://db/x?password=hunter22",
        "postgresql://ada%3Ahunter22@db/x",
        "postgresql://db/x?user=ada:hunter22",
        "postgresql://ada@db/x?options=-c%20my.password%3Dhunter22",
        "postgresql://ada@db/x?application_name=hunter22",
    ],
    "address",
)
def test_an_address_that_can_not_be_used(debate: Run, address: str) -> None:
    """What is not an address of a PostgreSQL database, or holds a password, is refused with an example of one. Nothing
    of the address is printed."""
    ran = debate("worker", address)

    assert ran.code == 2 and "postgresql://USER@HOST/DATABASE" in ran.err
    assert "hunter22" not in ran.err and "1234" not in ran.err


def test_the_same_tournament(here: Path) -> None:
    """A tournament is known by what its debates depend on: added models, caps and limits make no other of it."""
    late = model_of({"name": "late", "spec": "rehearse:openai:gpt-5.1"})
    more = folder.add_model(small_tournaments.tournament(), late).spec
    limited = small_tournaments.spec(max_cost=3, limits={"anthropic": {"requests": 9}})
    others = [small_tournaments.spec(**change) for change in ({"seed": 2}, {"tag": "b"}, {"rounds": 2})]

    assert folder.identity(more) == folder.identity(small_tournaments.spec()) == folder.identity(limited)
    assert len({folder.identity(spec) for spec in (more, *others)}) == 4


FORGED = ("no tournament/x", "no debate of it", "", None)
"""What jobs that others queue say of their debates."""


@pytest.mark.slow
def test_jobs_that_this_program_did_not_make(debate: Run, url: str, postgres_server: Postgres) -> None:
    """Jobs that name no debate, whatever their arguments are, and those of a dead worker too, end without a traceback,
    and every debate is held."""
    name = url.rpartition("/")[2]
    with queued(postgres_server, url, "--rehearse") as run:
        ((queue,),) = postgres_server.query(name, "SELECT min(queue_name) FROM procrastinate_jobs")
        old = "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 day') RETURNING id"
        ((dead,),) = postgres_server.query(name, old)
        ((ahead,),) = postgres_server.query(name, old.replace("now() - interval '1 day'", "'infinity'"))
        for more, arguments in product(FORGED, ('"text"', f'{{"debate": {"9" * 5_000}}}')):
            lock = "NULL" if more is None else f"'{queue.removeprefix('debates-')}/{more}{len(arguments)}'"
            for status, worker_id in (("todo", "NULL"), ("doing", dead), ("doing", ahead)):
                values = f"'{queue}', 'run_debate', '{arguments}', '{status}', {worker_id}, 5, {lock}"
                columns = "queue_name, task_name, args, status, worker_id, priority, queueing_lock"
                postgres_server.query(name, f"INSERT INTO procrastinate_jobs ({columns}) VALUES ({values})")
        with started("worker", url, "--until-done") as worker:
            worked = worker.end(120)
        ran = run.end(60)
    assert (worked.code, ran.code) == (0, 0), worked.err + ran.err
    assert "Traceback" not in worked.err + ran.err and "can't be reached" not in worked.err + ran.err
    assert "6 debates complete" in ran.out and not postgres_server.query(name, "SELECT 1 FROM procrastinate_jobs")
