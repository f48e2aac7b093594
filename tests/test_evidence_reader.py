"""A page is read by a process that can do nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from evidence_site import ARTICLE

from debate_orchestrator.evidence import pages, reader_process

QUOTE = "The sea rose by 3.4 millimetres a year between 1993 and 2023"


def shut(code: str, where: Path) -> subprocess.CompletedProcess[str]:
    """What becomes of `code` in a process that is shut like a reader."""
    lines = [
        "import os, socket, subprocess, pathlib, resource",
        "from debate_orchestrator.util import confine as confinement",
    ]
    lines += ["from debate_orchestrator.evidence import reader_process as reader"]
    program = "\n".join([*lines, "confinement.confine(reader.MEMORY, cpu=reader.CPU, reads=True)", code])
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, check=False, text=True, cwd=where, timeout=60)


@pytest.mark.parametrize(
    "code",
    [
        "socket.create_connection(('127.0.0.1', 9))", "socket.getaddrinfo('example.com', 80)",
        "socket.socket(socket.AF_UNIX)", "subprocess.run(['true'])", "os.system('true')", "os.fork()",
        "os.execv('/bin/true', ['true'])", "os.posix_spawn('/bin/true', ['true'], {})", "open('made', 'w')",
        "open('here', 'a')", "os.open('made', os.O_CREAT | os.O_WRONLY)", "pathlib.Path('here').unlink()",
        "os.rename('here', 'there')", "os.mkdir('made')", "os.kill(os.getppid(), 0)",
        "__import__('ctypes').CDLL(None)",
    ],
)  # fmt: skip
def test_a_reader_can_do_nothing(code: str, tmp_path: Path) -> None:
    """Once it is shut, a process reaches no network, starts no other, and writes and removes no file."""
    (tmp_path / "here").write_text("as it was", encoding="utf-8")
    ran = shut(code, tmp_path)

    assert ran.returncode == 1 and "PermissionError" in ran.stderr and "is not allowed" in ran.stderr
    assert [(path.name, path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()] == [("here", "as it was")]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold a process to its memory")
def test_a_reader_has_little_memory(tmp_path: Path) -> None:
    """A process that is shut can't take all the memory there is."""
    ran = shut("bytearray(3_000_000_000)", tmp_path)

    assert ran.returncode == 1 and "MemoryError" in ran.stderr


def test_a_reader_has_little_time(tmp_path: Path) -> None:
    """A process that is shut is ended when it has computed for too long."""
    ran = shut("print(resource.getrlimit(resource.RLIMIT_CPU))", tmp_path)

    assert ran.stdout.strip() == str((reader_process.CPU, reader_process.CPU))


def test_a_reader_still_reads(tmp_path: Path) -> None:
    """As a program it takes a task and a page, and prints what it found."""
    task = json.dumps({"kind": "html", "charset": "", "quote": QUOTE})
    ran = subprocess.run(
        [sys.executable, "-m", "debate_orchestrator.evidence.reader_process"],
        input=f"{task}\n{ARTICLE}".encode(), capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    said = json.loads(ran.stdout)

    assert (said["state"], said["title"], said["date"]) == ("verified", "Rising water", "2024-03-05")


@pytest.mark.parametrize(
    ("quote", "state"),
    [
        (QUOTE, "verified"),
        ("All the news of the day before", "verified"),
        ("Written for everybody, kept by nobody in particular", "verified"),
        ("The sea rose by 3.5 millimetres a year between 1993 and 2023", "not found"),
        ("This sentence was never meant to be seen by anybody", "not found"),
        ("This sentence is written by a script alone", "not found"),
        ("Nobody who lives at the shore was surprised by this", "near match"),
    ],
)
def test_the_whole_page_is_looked_through(quote: str, state: str) -> None:
    """What is not in the main text is looked for in all that a visitor sees, and nowhere else."""
    assert reader_process.read(ARTICLE.encode(), "html", "", quote)["state"] == state


def test_without_a_main_text_the_whole_text_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the main text takes too long to make out, or can't be, the whole text is enough."""

    def stumble(*_: object) -> None:
        raise RuntimeError("a page that was not expected")

    def never(*_: object) -> None:
        while True:
            try:
                sum(range(1_000))
            except Exception:
                continue

    monkeypatch.setattr(reader_process, "MAIN", 0.2)
    for making in (stumble, never):
        monkeypatch.setattr(pages, "with_main", making)
        said = reader_process.read(ARTICLE.encode(), "html", "", QUOTE)
        assert (said["state"], said["title"]) == ("verified", "Rising water")


def test_plain_text_is_read_as_it_is() -> None:
    """A page of plain text is looked through as it stands."""
    assert (
        reader_process.read(b"<p>four words and more of them</p>", "plain", "", "<p>four words and more of them")[
            "state"
        ]
        == "verified"
    )
