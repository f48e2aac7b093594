"""Single keys while a debate runs: read as they are pressed, without an echo, and the terminal as it was afterwards."""

from __future__ import annotations

import asyncio
import os
import re
import termios
import tty
from collections.abc import Callable
from typing import Any

Press = Callable[[str], None]
"""Is told each key: a character, or the whole sequence that a special key sends."""

_KEY = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|.", re.DOTALL)
_MOST = 4096
"""Bytes that are read at once."""


def typed(data: bytes) -> list[str]:
    """The keys in what came from a terminal: an arrow is one key, and no letter."""
    return _KEY.findall(data.decode("utf-8", "ignore"))


def in_front(descriptor: int) -> bool:
    """Whether this process may use that terminal now: it is one, and another job is not in front of it."""
    try:
        return os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False


class Keyboard:
    """The keys of one terminal. Ctrl-C and Ctrl-Z stay what they are."""

    def __init__(self, descriptor: int, press: Press):
        self.descriptor, self._press = descriptor, press
        self._before: Any = None

    def take(self) -> None:
        """From here on keys come one by one. Nothing happens where it is no terminal of ours."""
        if self._before is not None or not in_front(self.descriptor):
            return
        try:
            self._before = termios.tcgetattr(self.descriptor)
            tty.setcbreak(self.descriptor, termios.TCSADRAIN)
            asyncio.get_running_loop().add_reader(self.descriptor, self._read)
        except (OSError, termios.error):
            self.give_back()

    def give_back(self) -> None:
        """The terminal is as it was; what was typed and not read is dropped, so that no shell takes it."""
        before, self._before = self._before, None
        if before is None:
            return
        asyncio.get_running_loop().remove_reader(self.descriptor)
        try:
            termios.tcsetattr(self.descriptor, termios.TCSAFLUSH, before)
        except (OSError, termios.error):
            pass  # the terminal is gone

    @property
    def taken(self) -> bool:
        return self._before is not None

    def _read(self) -> None:
        try:
            data = os.read(self.descriptor, _MOST)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self.descriptor)
            return
        for key in typed(data):
            self._press(key)
