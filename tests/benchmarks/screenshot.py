"""Draws docs/demo.svg, the picture at the top of the README: the end of `debate demo` as a terminal shows it.

Run it with `python tests/benchmarks/screenshot.py`, with the package installed.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS, ROWS = 100, 34
PICTURE = Path(__file__).parent.parent.parent / "docs" / "demo.svg"
COMMAND = [sys.executable, "-m", "debate_orchestrator", "demo", "--no-pace"]
FONTS = re.compile(r"@font-face \{[^}]*\}\s*")
"""Fonts that a viewer would fetch from elsewhere."""


def printed() -> str:
    """What the command prints at a terminal of that size."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color"}
    with subprocess.Popen(COMMAND, stdin=slave, stdout=slave, stderr=slave, env=environment):
        os.close(slave)
        pieces = []
        while True:
            try:
                pieces.append(os.read(master, 65536))
            except OSError:  # the command has ended
                break
    return b"".join(pieces).decode()


def main() -> None:
    text = re.sub(r"\x1b\[[?\d;]*[A-HJKSTfhl]|\r", "", printed())
    lines = text.split("\n")
    last = max(n for n, line in enumerate(lines) if "FINAL VERDICT" in line)
    first = max(n for n, line in enumerate(lines[:last]) if "Scores: " in line)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi("\n".join(lines[first : first + ROWS])))
    PICTURE.write_text(FONTS.sub("", console.export_svg(title="debate demo", unique_id="demo")), encoding="utf-8")
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
