"""What a host's robots.txt lets this program ask for, by RFC 9309.

The longest rule that fits decides, and of two as long the one that allows. A group that names this program
counts alone; where none does, the group for everybody does.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote

NAME = "debate-orchestrator"
"""The name by which a robots.txt addresses this program."""
LARGEST = 500_000
"""Bytes a robots.txt may have."""
_TOKEN = re.compile(r"[a-z_-]+")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


class Rules(NamedTuple):
    """The rules that hold for this program: whether one allows, and the pattern it is about."""

    lines: tuple[tuple[bool, str], ...] = ()

    def allow(self, target: str) -> bool:
        """Whether a path with its query may be asked for."""
        plain = _canonical(target)
        best = (0, True)
        for allows, pattern in self.lines:
            weight = (len(pattern), allows)
            if weight > best and _fits(pattern, plain):
                best = weight
        return best[1]


def parse(text: str) -> Rules:
    """The rules of a robots.txt for `NAME`; what is no rule is passed over."""
    groups: dict[str, list[tuple[bool, str]]] = {}
    named: list[str] = []
    naming = False
    for line in text.removeprefix("\ufeff").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            named = [*named, _agent(value)] if naming else [_agent(value)]
            naming = True
            groups.setdefault(named[-1], [])
        elif key in ("allow", "disallow"):
            naming = False
            if value:
                for name in set(named):
                    groups[name].append((key == "allow", _canonical(value)))
    return Rules(tuple(groups.get(NAME, groups.get("*", []))))


def _agent(value: str) -> str:
    """The product token of a user-agent line, which may have a version behind it."""
    found = _TOKEN.match(value.lower())
    return found[0] if found else value[:1]


def _canonical(text: str) -> str:
    """A path or pattern with only those characters escaped that must be, so that two spellings of one are the same."""

    def once(found: re.Match[str]) -> str:
        one = chr(int(found[1], 16))
        return one if _UNRESERVED.fullmatch(one) else found[0].upper()

    return re.sub(r"%([0-9A-Fa-f]{2})", once, quote(text, errors="replace", safe="/!$&'()*+,;=:@~%?[]"))


def _fits(pattern: str, target: str) -> bool:
    """Whether a pattern, in which `*` is anything and a last `$` the end, fits the beginning of `target`: by looking
    for its pieces one after the other, since a pattern made into a regular expression could be made to run for ever."""
    ends = pattern.endswith("$")
    first, *rest = pattern.removesuffix("$").split("*")
    if not target.startswith(first):
        return False
    if not rest:
        return not ends or target == first
    place = len(first)
    for piece in rest[:-1] if ends else rest:
        found = target.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return not ends or (len(target) - place >= len(rest[-1]) and target.endswith(rest[-1]))
