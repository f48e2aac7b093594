"""A process that was begun with a standard stream closed does its work, and ends with 4 where that stream was to show
something. No file that it opens takes the place of the stream."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from conftest import STATED, Run

from debate_orchestrator.cli.parser import VERBS
from debate_orchestrator.storage import journal

MAIN = [sys.executable, "-c", "from debate_orchestrator.cli import main; main()"]
LINES = {
    "answers": ("answers", 4),
    "ask": ("ask new.yaml topic=T", 4),
    "open": ("open --answers a.yaml --output new.md", 4),
    "step": ("step host.journal.jsonl", 4),
    "run": ("run --answers a.yaml --rehearse --output new.md", 4),
    "resume": ("resume done.rehearsed.journal.jsonl", 4),
    "floor": ("floor host.journal.jsonl Why?", 4),
    "close": ("close host.journal.jsonl", 2),
    "judge": ("judge done.rehearsed.journal.jsonl --judge rehearse --output new.md", 4),
    "report": ("report done.rehearsed.journal.jsonl --to new.md", 4),
    "replay": ("replay done.rehearsed.journal.jsonl --no-pace", 4),
    "demo": ("demo --no-pace", 4),
    "check": ("check done.rehearsed.journal.jsonl", 4),
    "models": ("models", 4),
    "formats": ("formats", 4),
    "ballot": ("ballot done.rehearsed.journal.jsonl", 2),
    "compare": ("compare done.rehearsed.journal.jsonl done.rehearsed.journal.jsonl", 4),
    "serve": ("serve --port 0 --no-browser", 4),
    "tournament": ("tournament new spec.yaml", 4),
    "worker": ("worker rubbish", 2),
    "probe": ("probe", 4),
}
"""For each verb a line, and the code with which it ends where both of its streams are closed."""


def ran(line: str, closed: str, **streams: int) -> subprocess.CompletedProcess[str]:
    """`debate` with these words, begun by a shell that closes streams."""
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *MAIN, *line.split()]
    return subprocess.run(shell, text=True, check=False, stdin=subprocess.DEVNULL, **streams)


@pytest.fixture(scope="module")
def debates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the answers of a debate, and its rehearsal."""
    folder = tmp_path_factory.mktemp("debates")
    (folder / "a.yaml").write_text("topic: T\npositions: {a: It is so., b: It is not so.}\nrounds: 1\n")
    line = "run --answers a.yaml --rehearse --output done.md"
    subprocess.run([*MAIN, *line.split()], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def there(debates: Path, debate: Run, here: Path) -> Path:
    """A copy of it with a debate that a host runs, which is the working directory."""
    shutil.copytree(debates, here, dirs_exist_ok=True)
    assert debate("open", *STATED, "--output=host.md").code == 0
    return here


def test_every_verb_has_a_line() -> None:
    """A new verb is tried too."""
    assert LINES.keys() == VERBS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("verb", LINES)
def test_streams_that_are_closed(verb: str, there: Path) -> None:
    """Each verb ends by itself, and without a traceback: it says nothing, since it can't, and its code says so."""
    line, code = LINES[verb]

    assert ran(line, ">&- 2>&-").returncode == code
    for name in there.glob("*.jsonl"):
        journal.read(name)


@pytest.mark.slow
@pytest.mark.parametrize("verb", LINES)
def test_output_that_is_closed(verb: str, there: Path) -> None:
    """Each verb says on stderr, once, why nothing is shown."""
    line, code = LINES[verb]
    told = ran(line, ">&-", stderr=subprocess.PIPE)

    assert "Traceback" not in told.stderr and told.returncode == code
    assert told.stderr.count("Can't write the output (standard output is closed).") == (told.returncode == 4)


@cache
def whole(line: str) -> subprocess.CompletedProcess[str]:
    """What is printed with all streams open; that is asked for once."""
    return ran(line, "", stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(
    ("line", "closed", "code"),
    [
        ("--help", ">&-", 4),
        ("--help", "2>&-", 0),
        ("--help", "<&-", 0),
        ("formats", "2>&-", 4),
        ("frmats", ">&-", 2),
        ("frmats", "2>&-", 2),
        ("formats", "<&-", 0),
    ],
)
def test_a_stream_that_is_not_used_may_be_closed(line: str, closed: str, code: int, here: Path) -> None:
    """It ends with 4 only where something that it had to print was lost; what is open gets what it always gets."""
    told = ran(line, closed, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    assert told.returncode == code, told
    if closed != ">&-":
        assert told.stdout == whole(line).stdout
    if closed == "<&-" or (line == "frmats" and closed == ">&-"):
        assert told.stderr == whole(line).stderr


@pytest.mark.slow
def test_a_journal_takes_the_place_of_no_stream(there: Path) -> None:
    """With all three closed a debate is held to its end, and its journal holds its events and nothing else."""
    assert ran("run --answers a.yaml --rehearse --output new.md", "<&- >&- 2>&-").returncode == 4

    journal.read("new.rehearsed.journal.jsonl")
    assert ran("check new.rehearsed.journal.jsonl", "", stdout=subprocess.DEVNULL).returncode == 0
    assert Path("new.rehearsed.md").read_text() and Path("new.rehearsed.html").read_text()


def test_programs_that_are_begun_have_all_streams(here: Path) -> None:
    """What is put in place of a stream is passed on to programs that inherit it."""
    line = "from debate_orchestrator.cli import output; output.open_streams(); import os;"
    line += "os.system('for n in 0 1 2; do test -e /dev/fd/$n && echo $n >> seen; done')"
    shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", line]
    subprocess.run(shell, check=True)

    assert Path("seen").read_text().split() == ["0", "1", "2"]


def test_a_reply_from_a_closed_stdin_is_refused(debate: Run, here: Path) -> None:
    """It reads as an empty one, and nothing is changed."""
    assert debate("open", *STATED).code == 0
    before = Path("debate-report.journal.jsonl").read_bytes()
    told = ran("step debate-report.journal.jsonl 1.opening.a=-", "<&-", stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    assert told.returncode == 2 and "1.opening.a" in told.stderr and "Traceback" not in told.stderr
    assert Path("debate-report.journal.jsonl").read_bytes() == before


@pytest.mark.parametrize("how", ["read", "closed", "left"])
def test_a_server_is_interrupted_wherever_its_stderr_goes(how: str, here: Path) -> None:
    """Its exit code is the same where stderr is read, was closed at its start, or is a pipe that no program reads any
    more."""
    shell = ["sh", "-c", f'exec "$@" {"2>&-" if how == "closed" else ""}', "sh", *MAIN]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        [*shell, "serve", "--port", "0", "--no-browser"], stdin=subprocess.DEVNULL, **pipes
    ) as served:
        assert served.stdout is not None and served.stderr is not None
        assert served.stdout.readline().startswith(b"http://")
        if how == "left":
            served.stderr.close()
        served.send_signal(signal.SIGINT)
        assert served.wait(60) == 130
