"""A terminal that is closed while a question stands: the command ends as one that was left."""

from __future__ import annotations

import os
import pty
import select
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from started import PATIENCE, begun

ROOT = Path(__file__).parent.parent
JOURNAL = "debate-report.journal.jsonl"
CONVERSATION, BALLOT = ("--rehearse",), ("ballot", JOURNAL)


def asked(master: int, question: bytes) -> None:
    """Returns once a question, and the sign after which it is answered, are shown on a terminal."""
    shown, until = b"", time.monotonic() + PATIENCE
    while b">" not in shown.partition(question)[2]:
        assert time.monotonic() < until, f"not seen: {shown[-2000:]!r}"
        if select.select([master], [], [], 0.05)[0]:
            shown += os.read(master, 65536)


@pytest.mark.parametrize(
    ("command", "keys", "says"),
    [
        (CONVERSATION, b"", "You left the setup without answering anything."),
        (BALLOT, b"", "left; nothing was answered."),
        (BALLOT, b"Ann\r", "left; your answers are in"),
    ],
)
def test_a_terminal_is_closed(command: tuple[str, ...], keys: bytes, says: str, tmp_path: Path) -> None:
    """The exit code is that of an interruption, and standard error, which is a file here, has no traceback."""
    shutil.copy(next((ROOT / "examples/free-transit").glob("*.journal.jsonl")), tmp_path / JOURNAL)
    master, slave = pty.openpty()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        made = begun(command, [slave, slave, err.fileno()], (out, err), tmp_path, TERM="xterm")
        os.close(slave)
        try:
            asked(master, b"?")
            if keys:
                os.write(master, keys)
                asked(master, b"Have you seen the verdict")
            os.close(master)
            code, _, said = made.end()
        finally:
            made.kill()

    assert (code, says in said, "Traceback" in said) == (130, True, False), said
