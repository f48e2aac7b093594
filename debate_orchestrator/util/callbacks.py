"""The callback that gets messages for the user, and the one for callers that want none."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[str], None]
"""Receives a sentence for the user."""


def ignore(*arguments: object) -> None:
    """Does nothing."""
