"""The documented cache rules of the Messages API, applied to what is on the wire; no code of the package is in it."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, NamedTuple

LOOKBACK = 20


class Counted(NamedTuple):
    """The input tokens of one request."""

    uncached_input: int
    cached: int
    cache_write_5m: int
    cache_write_1h: int


class _Entry(NamedTuple):
    tokens: int
    keeps: float
    until: float
    readable: float


class _Block(NamedTuple):
    prefix: str
    tokens: int
    """Of all blocks up to this one."""
    keeps: float | None
    """Seconds that a breakpoint asks for; None if there is none."""


def tokens(text: str) -> int:
    """How many tokens a text counts for."""
    return math.ceil(len(text) / 3.5)


class Cache:
    """What one provider keeps."""

    def __init__(self, least: int = 512):
        self._least = least
        self._kept: dict[str, _Entry] = {}

    def count(self, request: dict[str, Any], now: float, first_byte: float) -> Counted:
        """Counts a request that comes at `now` and is answered from `first_byte` on, and keeps its prefixes."""
        blocks = _blocks(request)
        assert sum(block.keeps is not None for block in blocks) <= 4, "more breakpoints than a request may have"
        places = [place for place, block in enumerate(blocks) if block.keeps is not None]
        cached = max((self._read(blocks, place, now) for place in places), default=0)
        written = {300.0: 0, 3600.0: 0}
        upto = cached
        for place in places:
            block = blocks[place]
            assert block.keeps is not None
            if block.tokens < self._least:
                continue
            if block.tokens > upto:
                written[block.keeps] += block.tokens - upto
                upto = block.tokens
            entry = self._kept.get(block.prefix)
            if entry is None or entry.until < now:
                self._kept[block.prefix] = _Entry(block.tokens, block.keeps, now + block.keeps, first_byte)
            elif entry.readable > now:
                self._kept[block.prefix] = entry._replace(readable=min(entry.readable, first_byte))
        return Counted(blocks[-1].tokens - upto, cached, written[300.0], written[3600.0])

    def _read(self, blocks: list[_Block], place: int, now: float) -> int:
        """The tokens that the breakpoint at that place reads; what is read is kept anew."""
        for back in range(place, max(-1, place - LOOKBACK), -1):
            entry = self._kept.get(blocks[back].prefix)
            if entry is not None and entry.until >= now and entry.readable <= now:
                self._kept[blocks[back].prefix] = entry._replace(until=now + entry.keeps)
                return entry.tokens
        return 0


def _blocks(request: dict[str, Any]) -> list[_Block]:
    """The blocks of a request in the order in which they are hashed, under all that a cache depends on."""
    settings = [request.get("model"), request.get("tools"), request.get("output_config"), request.get("thinking")]
    prefix = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    made, total = [], 0
    system = request.get("system", [])
    parts = [("system", part) for part in ([{"text": system}] if isinstance(system, str) else system)]
    for message in request["messages"]:
        content = message["content"]
        parts += [(message["role"], part) for part in ([{"text": content}] if isinstance(content, str) else content)]
    for role, part in parts:
        text = part.get("text", "")
        prefix.update(f"{role}\0{text}\0".encode())
        total += tokens(text)
        control = part.get("cache_control")
        keeps = None if control is None else 3600.0 if control.get("ttl") == "1h" else 300.0
        made.append(_Block(prefix.copy().hexdigest(), total, keeps))
    return made
