"""Where a person stands when it is their turn: what a terminal must be able to do for them, whatever kind it is."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from debate_orchestrator.podium.briefing import Line
from debate_orchestrator.util.redact import redact

_PAGERS = ("less", "more")


class Left(Exception):
    """The person leaves."""


class Elsewhere(Exception):
    """The editor is wanted, for what is written so far."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text


class Below(NamedTuple):
    """The line below what is written."""

    text: str
    over: bool = False
    """Whether it tells of too much."""
    notes: tuple[str, ...] = ()
    """What comes after it, as far as there is room."""


class Blank(NamedTuple):
    """Something to be filled in."""

    above: tuple[Line, ...] = ()
    """What is asked; it goes when it is answered."""
    now: str = ""
    """What is written already, to be gone on with."""
    long: bool = False
    """Whether Enter begins a new line, as in a speech."""
    below: Callable[[str], Below] = lambda text: Below("")
    changed: Callable[[str], None] = lambda text: None
    """Is told what is written, whenever that changes."""
    words: tuple[str, ...] = ()
    """What Tab completes."""
    shows: Mapping[str, Callable[[], str]] = {}
    """`brief` and `entered`: what can be looked at meanwhile."""


class Lectern(Protocol):
    """Where a person stands."""

    long_keys: tuple[str, ...]
    """What can be done while something long is written, the most important first."""
    short_keys: tuple[str, ...]
    """What can be done while a field is filled in."""
    elsewhere: bool
    """Whether an editor or a pager has the terminal; an interrupt is theirs then."""

    def tell(self, lines: Iterable[Line]) -> None:
        """Says something, wrapped to the width there is."""
        ...

    async def ask(self, blank: Blank) -> str:
        """What is written. Raises Left, Back, or Elsewhere."""
        ...

    async def edit(self, command: str, path: str) -> str | None:
        """Opens an editor on a file, and waits until it is closed; what went wrong, if anything did."""
        ...

    def clear(self) -> None:
        """Takes away whatever can be seen, also by scrolling back."""
        ...

    def abandon(self) -> None:
        """Leaves what is being asked, as if the person had."""
        ...


def editor() -> str:
    """The editor of the person's choice; empty where none was chosen."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""


async def opened(command: str, path: str) -> str | None:
    """Opens an editor on a file, and waits until it is closed; what went wrong, if anything did."""
    try:
        running = await asyncio.create_subprocess_exec(*shlex.split(command), path)
    except (OSError, ValueError) as error:
        return f"{command}: {error}"
    code = await running.wait()
    return f"{command}: it ended with code {code}" if code else None


def paged(text: str) -> bool:
    """Shows a text in the pager that there is; False where there is none."""
    command: list[Any] = shlex.split(os.environ.get("PAGER") or "") or [next(filter(shutil.which, _PAGERS), "")]
    if not shutil.which(command[0]):
        return False
    try:
        return subprocess.run(command, input=redact(text).encode(), check=False).returncode == 0
    except OSError:
        return False
