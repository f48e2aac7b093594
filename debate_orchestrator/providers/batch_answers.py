"""What a vendor says of batches: their lists, and their results, of which those of the calls asked for are taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection
from typing import Any

from debate_orchestrator.core.reply import Reply
from debate_orchestrator.providers import call_errors
from debate_orchestrator.providers.api import ApiReply, clean
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.util.data import strict_json
from debate_orchestrator.util.errors import TransientError
from debate_orchestrator.util.redact import redact

LISTED = 20
"""Batches of one page of a list: each takes up to 40 lines of JSON, and a response may have 1,000."""
MAX_ID_LENGTH = 200
"""Characters of the id of a batch: those of vendors have about 40."""
MAX_LISTED = 5_000
"""Batches of all pages of a list that are looked at."""


def batch_id(batch: Any) -> str:
    """The id of a batch. Raises AttributeError or TypeError if it is none. It is written into the record of batches
    and shown as it is, so it is one short line, in which there is nothing to redact."""
    id = batch.id
    if not (isinstance(id, str) and 0 < len(id) <= MAX_ID_LENGTH and id.isprintable() and redact(id) == id):
        raise TypeError("a batch without an id that can be used")
    return id


async def listed_batches(name: str, batches: AsyncIterable[Any]) -> AsyncIterator[Any]:
    """The batches of a list whose pages are fetched as they are needed, until one of them comes again: a server may
    send the same page for ever. TransientError after `MAX_LISTED`: it is open whether the batch that is looked for was
    created, and it must not be paid for twice."""
    seen = set[str]()
    async for batch in batches:
        if (id := batch_id(batch)) in seen:
            return
        if len(seen) == MAX_LISTED:
            raise TransientError(f"{name} lists more than {MAX_LISTED:,} batches, and no more are looked at.", tries=1)
        seen.add(id)
        yield batch


async def batch_replies(
    name: str, results: bytes, calls: Collection[str], read: Callable[[dict[str, Any]], ApiReply | str]
) -> dict[str, Reply | TransientError]:
    """The replies of a batch of the model `name` by the id of each call, from the lines of its results; a call without
    a line has none. Only `calls` are looked at, and of two lines of a call the first counts. `read` makes of a line an
    answer, or tells why there is none. The event loop has its turn after each line."""
    replies: dict[str, Reply | TransientError] = {}
    begin = 0
    while begin < len(results) and len(replies) < len(calls):
        end = results.find(b"\n", begin)
        end = len(results) if end < 0 else end
        line, begin = results[begin:end], end + 1
        await asyncio.sleep(0)
        try:
            data = strict_json(clean(line.decode("utf-8", "replace")))
        except ValueError:
            continue
        call = data.get("custom_id") if isinstance(data, dict) else None
        if isinstance(call, str) and call in calls and call not in replies:
            replies[call] = _result(name, read(data))
    return replies


def _result(name: str, answer: ApiReply | str) -> Reply | TransientError:
    if isinstance(answer, str):
        return TransientError(f"{name} gave no answer in its batch: {call_errors.quote(answer)}.")
    if answer.length > LIMITS.answer:
        return call_errors.oversized(name, f"more than {LIMITS.answer:,} characters", answer.partial(name))
    if incomplete := answer.incomplete():
        return call_errors.broken(name, incomplete, answer.partial(name))
    return answer.reply(name, batch=True)
