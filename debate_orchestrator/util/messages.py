"""Messages to the user: the callback that gets them, and the commands that they suggest."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence

Notify = Callable[[str], None]
"""Receives a sentence for the user."""


def ignore(*arguments: object) -> None: ...


def and_joined(names: Sequence[str]) -> str:
    """Names in a sentence: `a, b and judge`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def command(verb: str, path: str | os.PathLike[str]) -> str:
    """The command `debate VERB PATH`, quoted for a shell. The verb may have several words."""
    name = os.fspath(path)
    return shlex.join(["debate", *verb.split(), f"./{name}" if name.startswith("-") else name])
