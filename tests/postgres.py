"""A PostgreSQL server for tests, in a folder of its own and never run as root, and a line to it that can be cut."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import glob
from itertools import count
from pathlib import Path
from typing import Any

_NAMES = count()


def binaries() -> str | None:
    """The folder of initdb and pg_ctl; None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    return os.path.dirname(os.path.realpath(found)) if found else max(glob("/usr/lib/postgresql/*/bin"), default=None)


class Postgres:
    """A server on this machine, which listens on a port of its own."""

    def __init__(self, folder: Path, programs: str, *, durable: bool = False):
        self._folder, self._programs, self._durable = folder, programs, durable
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    def run(self, program: str, *arguments: str) -> str:
        """Runs one of its programs, as a user who is not root."""
        user = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam("postgres")
            user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        command = [os.path.join(self._programs, program), *arguments]
        where = {"cwd": self._folder, "env": {"PATH": self._programs, "LC_ALL": "C"}}
        ran: Any = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **where, **user)
        assert ran.returncode == 0, ran.stderr
        return str(ran.stdout)

    def start(self) -> None:
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c max_connections=200"
        options += "" if self._durable else " -c fsync=off"
        self.run("pg_ctl", "-D", "data", "-l", "log", "-w", "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")

    def url(self, name: str, port: int | None = None) -> str:
        return f"postgresql://debates@127.0.0.1:{port or self.port}/{name}"

    def database(self) -> str:
        """The name of a new, empty database."""
        name = f"debates{next(_NAMES)}"
        self.run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "debates", name)
        return name

    def query(self, name: str, text: str) -> list[tuple[Any, ...]]:
        """What a statement returns in a database, with the tables of the project in sight."""
        import psycopg

        options = "-c search_path=debate_orchestrator"
        with psycopg.connect(self.url(name), options=options, autocommit=True) as connection:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []


@contextmanager
def running(programs: str, *, durable: bool = False) -> Iterator[Postgres]:
    """A server that is started now, and ended and removed afterwards; a `durable` one waits for its disk."""
    folder = Path(tempfile.mkdtemp(prefix="debate-pg-", dir="/tmp"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        server = Postgres(folder, programs, durable=durable)
        server.run("initdb", "-D", "data", "-A", "trust", "-U", "debates", "-E", "UTF8", "--no-sync")
        server.start()
        try:
            yield server
        finally:
            with suppress(AssertionError):
                server.stop()
    finally:
        shutil.rmtree(folder)


class Line:
    """A line to a server, on a port of its own, that can be cut and mended."""

    def __init__(self, target: int):
        self._target, self._cut = target, False
        self._open: set[asyncio.StreamWriter] = set()
        self._silent: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self.port = 0

    def cut(self) -> None:
        """Drops every connection, and takes none."""
        self._cut = True
        self._loop.call_soon_threadsafe(self._drop)

    def mend(self) -> None:
        self._cut = False

    def silence(self) -> None:
        """Passes nothing on any more of the connections that are open, and tells neither end."""
        self._silent |= self._open

    def _drop(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        both = {writer, far_writer}
        self._open |= both
        with suppress(OSError):
            await asyncio.gather(self._copied(reader, far_writer), self._copied(far_reader, writer))
        self._open -= both
        for one in both:
            one.transport.abort()

    async def _copied(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            if writer not in self._silent:
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    def serve(self, ready: threading.Event) -> None:
        async def forever() -> None:
            server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            await asyncio.Event().wait()

        asyncio.set_event_loop(self._loop)
        self._ending = self._loop.create_task(forever())
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._ending)

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._drop)
        self._loop.call_soon_threadsafe(self._ending.cancel)


@contextmanager
def line(target: int) -> Iterator[Line]:
    """A line to a port of this machine."""
    made, ready = Line(target), threading.Event()
    thread = threading.Thread(target=made.serve, args=(ready,), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield made
    finally:
        made.end()
        thread.join(10)
