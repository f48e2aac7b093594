"""A callback for callers that want none."""

from __future__ import annotations


def ignore(*arguments: object) -> None:
    """Does nothing."""
