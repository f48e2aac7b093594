"""Messages to the user: the callback that gets them, and the commands that they suggest."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence

from debate_orchestrator.util.sanitize import is_visible

Notify = Callable[[str], None]
"""Receives a sentence for the user."""


def ignore(*arguments: object) -> None: ...


def and_joined(names: Sequence[str]) -> str:
    """Names in a sentence: `a, b and judge`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def command(verb: str, path: str | os.PathLike[str]) -> str:
    """The command `debate VERB PATH`, quoted for a shell. The verb may have several words."""
    name = os.fspath(path)
    return " ".join(map(shell_word, ["debate", *verb.split(), f"./{name}" if name.startswith("-") else name]))


def shell_word(word: str) -> str:
    """A word of a command to copy, quoted for a shell. What can't be seen in it is escaped, as bash and zsh read it."""
    if all(map(is_visible, word)):
        return shlex.quote(word)
    plain = word.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{''.join(char if is_visible(char) else _escape(ord(char)) for char in plain)}'"


def _escape(code: int) -> str:
    is_byte = 0xDC80 <= code <= 0xDCFF  # a byte of a file's name that is no UTF-8
    return rf"\x{code - 0xDC00:02x}" if is_byte else rf"\U{code:08x}"
