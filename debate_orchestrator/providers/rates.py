"""What a server of models says of its own limits in the headers of its responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

_WORDS = {
    "requests": ("anthropic-ratelimit-requests-{}", "x-ratelimit-{}-requests"),
    "input_tokens": ("anthropic-ratelimit-input-tokens-{}",),
    "output_tokens": ("anthropic-ratelimit-output-tokens-{}",),
    "tokens": ("x-ratelimit-{}-tokens",),
}
"""What is limited, and the headers that say so; {} is `limit` or `remaining`."""


class Rate(NamedTuple):
    """A limit a minute, and what is left of it now."""

    limit: int
    remaining: int | None


Listener = Callable[[int, Mapping[str, str]], None]
"""Gets the status and the headers of each response to a call."""

listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
"""Set in the task that makes a call, by what has to know."""


async def tell(response: Any) -> None:
    """A hook of the HTTP client: passes the limits to the listener of the call."""
    listening = listener.get()
    if listening is not None:
        # As a mapping of its own: each look into the library's one goes through all headers.
        listening(int(response.status_code), dict(response.headers.items()))


def read_rates(headers: Mapping[str, str]) -> dict[str, Rate]:
    """The limits that headers tell, by what they limit."""
    found = {}
    for name, words in _WORDS.items():
        for word in words:
            limit = _count(headers.get(word.format("limit")))
            if limit:
                found[name] = Rate(limit, _count(headers.get(word.format("remaining"))))
    return found


def _count(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 13 else None
