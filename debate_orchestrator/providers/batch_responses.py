"""Reads strictly what a vendor says of batches: their states, and their results.

A gateway may respond with a page or an error of its own, or with a part of the response, and the status may still be
200. So a response that does not have the documented shape raises TransientError. It is never taken to mean that a call
has no result, since the call would then be made and paid for again.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

from debate_orchestrator.core.reply import Reply
from debate_orchestrator.providers import call_errors
from debate_orchestrator.providers.api import ApiReply, clean
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.util.data import strict_json
from debate_orchestrator.util.errors import TransientError
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import map_leaves, redact

MAX_ID_LENGTH = 200
"""Characters of the id of a batch or a file: those of vendors have about 40."""
_MAX_RECORDS = 20_000
"""Lists and objects of one response about batches, of which each costs time to check."""
_QUOTED = 80
"""Characters that are shown of a response without the documented shape."""


def _check_id(id: str) -> str:
    """An id is recorded and shown as it is, so it is one short line, in which there is nothing to redact."""
    if not (0 < len(id) <= MAX_ID_LENGTH and id.isprintable() and redact(id) == id):
        raise ValueError("no id that can be used")
    return id


Id = Annotated[str, AfterValidator(_check_id)]


class DocumentedShape(BaseModel):
    """A documented shape; fields that are not used are left out."""

    model_config = ConfigDict(strict=True, frozen=True)


class HasId(DocumentedShape):
    """A thing with an id, such as a file."""

    id: Id


class ResultLine(DocumentedShape):
    custom_id: str


_DocumentedShape = TypeVar("_DocumentedShape", bound=DocumentedShape)
_Batch = TypeVar("_Batch", bound=HasId)
_Line = TypeVar("_Line", bound=ResultLine)


def parse_documented(name: str, shape: type[_DocumentedShape], data: bytes) -> _DocumentedShape:
    """The response of the server of the model `name`, or a line of it, in its documented shape. Half a character in one
    of its texts is replaced, as in a stream. Raises TransientError if it has another shape."""
    text = data.decode("utf-8-sig", "replace")
    if len(text) > LIMITS.max_event_bytes or text.count("[") + text.count("{") > _MAX_RECORDS:
        raise call_errors.broken_reply(name, "an answer about batches that is larger than any list of them")
    try:
        value = strict_json(clean(text), lone_surrogates=True)
        return shape.model_validate(map_leaves(value, lambda leaf: clean(leaf) if isinstance(leaf, str) else leaf))
    except ValueError:
        what = call_errors.quote(text, _QUOTED)
        raise call_errors.broken_reply(name, f"an answer about batches without the documented shape: {what}") from None


def read_batch(name: str, shape: type[_Batch], data: bytes, id: str) -> _Batch:
    """The batch of that id. Raises TransientError if the response is none, or is another batch."""
    batch = parse_documented(name, shape, data)
    if batch.id != id:
        raise call_errors.broken_reply(name, "another batch than the one that was asked for")
    return batch


async def result_lines(name: str, data: bytes, shape: type[_Line], calls: Collection[str]) -> dict[str, _Line]:
    """The lines of a file of results by the id of each of the batch's `calls`. Raises TransientError for a line of
    another shape, since it was cut, or what came is an error or the page of a gateway, for a second line of a call, and
    for more lines than there are calls or a response may have. The event loop has its turn before each of them."""
    if data.count(b"\n") > LIMITS.max_response_lines:
        raise call_errors.broken_reply(name, f"more than {LIMITS.max_response_lines:,} lines")
    lines: dict[str, _Line] = {}
    for text in filter(bytes.strip, io.BytesIO(data)):
        await asyncio.sleep(0)
        if len(lines) == len(calls):
            raise call_errors.broken_reply(name, f"more results than the {plural(len(calls), 'call')} of a batch")
        line = parse_documented(name, shape, text)
        if line.custom_id in lines:
            raise call_errors.broken_reply(name, "results of a batch with two of one call")
        lines[line.custom_id] = line
    return lines


async def batch_replies(
    name: str,
    lines: Mapping[str, _Line],
    calls: Collection[str],
    parse_line: Callable[[_Line], ApiReply | str],
    *,
    missing: str | None,
) -> dict[str, Reply | TransientError]:
    """The replies of a batch of the model `name` by the id of each call, without those that break off. `parse_line`
    returns the reply in a line, or why there is none. `missing` is why a call may have no line; None if each must have
    one. Raises TransientError if some lines are of other calls, or if one of `calls` has none and must have."""
    calls = set(calls)
    ours = len(lines.keys() & calls)
    if ours < len(lines) or (ours < len(calls) and missing is None):
        raise call_errors.broken_reply(
            name, f"{ours:,} of {len(calls):,} results of a batch, and {len(lines) - ours:,} others"
        )
    replies: dict[str, Reply | TransientError] = {
        call: TransientError(f"{name} gave no answer in its batch: {missing}.") for call in calls - lines.keys()
    }
    for call, line in lines.items():
        await asyncio.sleep(0)
        if (result := _result(name, parse_line(line))) is not None:
            replies[call] = result
    return replies


def _result(name: str, api_reply: ApiReply | str) -> Reply | TransientError | None:
    """The reply that an API's reply amounts to, or why there is none; None if it breaks off."""
    if isinstance(api_reply, str):
        return TransientError(f"{name} gave no answer in its batch: {call_errors.quote(api_reply)}.")
    if api_reply.length > LIMITS.max_reply_chars:
        return call_errors.oversized_reply(
            name, f"more than {LIMITS.max_reply_chars:,} characters", api_reply.partial(name)
        )
    if problem := api_reply.broken_end():
        return call_errors.broken_reply(name, problem, api_reply.partial(name))
    return None if api_reply.incomplete() else api_reply.reply(name, batch=True)
