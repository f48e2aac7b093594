"""A public site as a process of its own, and viewers at plain connections: many of them cost little."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode


class Served(NamedTuple):
    """A site that is served."""

    port: int
    process: subprocess.Popen[str]

    @property
    def megabytes(self) -> float:
        """The memory of its process now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1000

    @property
    def cpu_seconds(self) -> float:
        """What its process has taken of the processor so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served_public(folder: Path, rules: Mapping[str, Any], **environment: str) -> Iterator[Served]:
    """A site with these rules in that folder."""
    (folder / "site.yaml").write_text(json.dumps(rules), encoding="utf-8")
    command = [sys.executable, "-m", "debate_orchestrator", "serve", "--public", "site.yaml", "--trust"]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), **environment}
    with open(folder / "log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [*command, "--no-browser", "--port", "0"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        address = process.stdout.readline()
        assert address.startswith("http://127.0.0.1:"), (folder / "log").read_text(encoding="utf-8")
        yield Served(int(address.rsplit(":", 1)[1].strip("/\n")), process)
    finally:
        process.terminate()
        process.wait(60)


class Answer(NamedTuple):
    """An answer, and how long its first byte took."""

    status: int
    headers: dict[str, str]
    body: str
    seconds: float


async def ask(port: int, path: str, form: Mapping[str, str] | None = None, *, visitor: str = "10.0.0.1") -> Answer:
    """One request, on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = urlencode(form or {}).encode()
    lines = [f"{'POST' if form else 'GET'} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close"]
    lines += [f"X-Forwarded-For: {visitor}"]
    if form:
        lines += ["Content-Type: application/x-www-form-urlencoded", f"Origin: http://127.0.0.1:{port}"]
        lines += [f"Content-Length: {len(body)}"]
    began = time.perf_counter()
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    first = await reader.readline()
    seconds = time.perf_counter() - began
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head.splitlines())}
    rest = (await reader.read()).decode("utf-8", "replace")
    writer.close()
    return Answer(int(first.split()[1]), headers, rest, seconds)


async def start(port: int, topic: str, visitor: str = "10.0.0.1", **fields: str) -> str:
    """The path of a debate that was started as a visitor does."""
    answer = await ask(port, "/start", {"topic": topic, **fields}, visitor=visitor)
    assert answer.status == 303, answer
    return answer.headers["location"]


async def events(port: int, path: str, visitor: str = "10.0.0.1") -> AsyncIterator[tuple[str, Any]]:
    """What a viewer of a debate is sent, until the stream ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    head = f"GET {path}/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Forwarded-For: {visitor}\r\n\r\n"
    writer.write(head.encode())
    try:
        assert b" 200 " in await reader.readline()
        await reader.readuntil(b"\r\n\r\n")
        kind = ""
        while line := await reader.readline():
            if line.startswith(b"event: "):
                kind = line[7:].decode().strip()
            elif line.startswith(b"data: "):
                yield kind, json.loads(line[6:])
                if kind == "over":
                    break
    finally:
        writer.close()


async def watch(port: int, path: str, visitor: str = "10.0.0.1") -> list[tuple[str, Any]]:
    """All that a viewer is sent until the debate is over, through its time in the queue too."""
    received: list[tuple[str, Any]] = []
    while not received or not any(kind in ("page", "block") for kind, _ in received):
        received = [event async for event in events(port, path, visitor)]
    return received
