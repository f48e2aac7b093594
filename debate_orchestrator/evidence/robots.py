"""What a host's robots.txt allows this program to fetch (RFC 9309), as Protego reads it."""

from __future__ import annotations

import re
from typing import Any

NAME = "debate-orchestrator"
"""The name by which a robots.txt addresses this program."""
LARGEST = 500_000
"""Bytes that a robots.txt may have."""
_VERSION = re.compile(r"^([ \t]*user-agent[ \t]*:[ \t]*[a-z_-]+)/[^\r\n]*", re.IGNORECASE | re.MULTILINE)
"""A user-agent line with a version, which is not part of the name; Protego would compare it too."""


class RobotsRules:
    """The rules of one host's robots.txt; an empty text allows everything."""

    def __init__(self, text: str = ""):
        from protego import Protego

        self._rules: Any = Protego.parse(_VERSION.sub(r"\1", text.removeprefix("\ufeff")))

    def allow(self, target: str) -> bool:
        """Whether this program may fetch a path, with its query."""
        # A whole URL: of a bare path that begins with // Protego would take the first part for a host.
        return bool(self._rules.can_fetch(f"https://host{target}", NAME))
