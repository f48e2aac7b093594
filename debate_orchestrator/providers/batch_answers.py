"""What a vendor says of batches: their lists, and their results, of which those of the calls asked for are taken.

A gateway may answer with a page or an error of its own, or with a part of the answer, and the status may be 200.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from typing import Any, NamedTuple

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
"""Characters of the id of a batch or a file: those of vendors have about 40."""
_QUOTED = 80
"""Characters that are shown of a line that is no result."""
MAX_LISTED = 5_000
"""Batches of all pages of a list that are looked at."""


def usable_id(holder: Any) -> str:
    """The id of a batch or a file. AttributeError or TypeError if it is none. It is written into the record of batches
    and shown as it is, so it is one short line, in which there is nothing to redact."""
    id = holder.id
    if not (isinstance(id, str) and 0 < len(id) <= MAX_ID_LENGTH and id.isprintable() and redact(id) == id):
        raise TypeError("no id that can be used")
    return id


def has_ended(state: Any, ended: Collection[str]) -> bool:
    """Whether the state of a batch is one of these. TypeError if it is none: the SDKs leave out what does not come."""
    if not isinstance(state, str):
        raise TypeError("a batch without a state")
    return state in ended


async def listed_batches(name: str, first_page: Awaitable[Any]) -> AsyncIterator[Any]:
    """The batches of a list whose pages are fetched as they are needed. Only a whole list tells that a batch was not
    created, and none must be paid for twice. Raises AttributeError or TypeError if a page is not valid, does not say
    whether it is the last, or repeats a batch, and TransientError after `MAX_LISTED`."""
    seen = set[str]()
    page = await first_page
    while True:
        if not isinstance(page.data, list) or not isinstance(page.has_more, bool):
            raise TypeError("a page that is not whole")
        for batch in page.data:
            if (id := usable_id(batch)) in seen:
                raise TypeError("a list that has a batch twice")
            if len(seen) == MAX_LISTED:
                problem = f"{name} lists more than {MAX_LISTED:,} batches, and no more are looked at."
                raise TransientError(problem, tries=1)
            seen.add(id)
            yield batch
        if not page.has_more:
            return
        if not page.has_next_page():
            raise TypeError("a page that does not lead to the next")
        page = await page.get_next_page()


class ResultFile(NamedTuple):
    """A file of results, as it came."""

    lines: bytes
    least: int
    """Results that it has if it is whole."""


async def batch_replies(
    name: str,
    files: Iterable[ResultFile],
    calls: Collection[str],
    read: Callable[[dict[str, Any]], ApiReply | str],
) -> dict[str, Reply | TransientError]:
    """The replies of a batch of the model `name` by the id of each call, from its files of results. Only `calls` are
    looked at, and of two lines of a call the first counts. `read` makes of a line an answer, or tells why there is
    none. A call has no reply only where the files are whole; if they are not, TransientError: they may be asked for
    again, and the call would be paid for again. The event loop has its turn after each line."""
    replies: dict[str, Reply | TransientError] = {}
    lacking = ""
    for file in files:
        found = set[str]()
        async for call, line in _results(name, file.lines):
            found.add(call)
            if call in calls and call not in replies:
                replies[call] = _result(name, read(line))
                if len(replies) == len(calls):
                    return replies
        if len(found) < file.least:
            lacking = f"{len(found):,} of {file.least:,} results of a batch"
    if lacking:
        raise call_errors.broken(name, lacking)
    return replies


async def _results(name: str, lines: bytes) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The results in these lines, each with the id of its call. TransientError for a line that is none: it was cut, or
    what came is an error or the page of a gateway."""
    begin = 0
    while begin < len(lines):
        end = lines.find(b"\n", begin)
        end = len(lines) if end < 0 else end
        line, begin = lines[begin:end], end + 1
        await asyncio.sleep(0)
        if not line.strip():
            continue
        try:
            data = strict_json(clean(line.decode("utf-8", "replace")))
        except ValueError:
            data = None
        call = data.get("custom_id") if isinstance(data, dict) else None
        if not isinstance(call, str):
            what = call_errors.quote(line.decode("utf-8", "replace"), _QUOTED)
            raise call_errors.broken(name, f"results of a batch with a line that is none ({what})")
        yield call, data


def _result(name: str, answer: ApiReply | str) -> Reply | TransientError:
    if isinstance(answer, str):
        return TransientError(f"{name} gave no answer in its batch: {call_errors.quote(answer)}.")
    if answer.length > LIMITS.answer:
        return call_errors.oversized(name, f"more than {LIMITS.answer:,} characters", answer.partial(name))
    if incomplete := answer.incomplete():
        return call_errors.broken(name, incomplete, answer.partial(name))
    return answer.reply(name, batch=True)
