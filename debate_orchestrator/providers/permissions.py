"""What a user permits for one command, by its flags or the environment, and a file never can."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

COMMAND_ENV = "DEBATE_COMMAND_ENV"
"""The variable that names, separated by commas, what programs get of the environment besides the usual."""


class Permissions(NamedTuple):
    """What is permitted."""

    command_env: tuple[str, ...] = ()
    """Environment variables that programs in a cast get too."""
    insecure: bool = False
    """Whether a key may be sent over plain http to another machine."""


_now = Permissions()


def permissions() -> Permissions:
    """What is permitted now, with what the environment names."""
    named = (one.strip() for one in os.environ.get(COMMAND_ENV, "").split(","))
    return _now._replace(command_env=(*_now.command_env, *filter(None, named)))


@contextmanager
def permitted(command_env: Iterable[str] = (), *, insecure: bool = False) -> Iterator[None]:
    """Inside, this is permitted, in every thread."""
    global _now  # noqa: PLW0603
    before, _now = _now, Permissions(tuple(command_env), insecure)
    try:
        yield
    finally:
        _now = before
