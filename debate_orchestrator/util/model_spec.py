"""What the words of a cast mean: `KIND:REST`, whom it calls, and what of it may be shown."""

from __future__ import annotations

import re

HOST, REPLAY, REHEARSE, COMMAND, HUMAN = "host", "replay", "rehearse", "command", "human"
FETCH, OFFLINE = "fetch", "offline"
"""Who looks up what the sides cite: the one fetches the pages, the other says that nothing was checked."""
LONGEST_COMMAND = 500
"""Characters that a program's command line may have: whoever is asked about it must be able to read it."""


def kind(spec: str) -> str:
    """The first word of what a cast says, which names the provider."""
    return spec.partition(":")[0]


def rest(spec: str) -> str:
    """What comes after it."""
    return spec.partition(":")[2]


def is_called(spec: str) -> bool:
    """Whether somebody is called who may be paid for it. A host calls us; a recording and a stand-in call nobody,
    a person at the terminal is asked for nothing but words, and a page costs nothing."""
    return kind(spec) not in (HOST, REPLAY, REHEARSE, HUMAN, FETCH, OFFLINE)


def split_address(rest: str) -> tuple[str, str | None]:
    """Model and server's address, of what comes after a kind; a model's name may have an @ of its own."""
    found = re.search(r"@(?=https?://)", rest)
    return (rest[: found.start()], rest[found.end() :].rstrip("/")) if found else (rest, None)


def vendor(spec: str) -> str:
    """Whose model a seat is filled with, as far as the words of the cast tell; empty where they don't, as where a
    server of somebody else's is named."""
    spec, elsewhere, _ = real(spec).partition("@")
    named = rest(spec)
    if kind(spec) == "openrouter" and "/" in named:
        return named.partition("/")[0].lower()
    if kind(spec) in ("anthropic", "openai"):
        return "" if elsewhere else kind(spec)
    return re.split(r"[:/\d-]", named.lower())[0] if kind(spec) == "ollama" else ""


def real(spec: str) -> str:
    """Who would fill the seat: the spec without its rehearsal, and `host` where a rehearsal names nobody."""
    return (rest(spec) or HOST) if kind(spec) == REHEARSE else spec


def stand_in(spec: str) -> str:
    """The spec of whoever stands in for that one."""
    return f"{REHEARSE}:{real(spec)}"


def public_name(spec: str) -> str:
    """A spec as a report names it: of a program the name alone, since its arguments may hold anything."""
    if kind(spec) != COMMAND:
        return spec
    program = rest(spec).split()
    return f"{COMMAND}:{program[0].rpartition('/')[2]}" if program else spec
