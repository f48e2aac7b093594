"""Events of a response are told apart as the SDKs tell them apart, whatever ends their lines."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from itertools import product

import httpx2
import pytest
from hostile import KINDS, begun, ended, said, sending
from test_providers_anthropic import ask
from test_providers_limits import fails

from debate_orchestrator.providers.bounded_body import LimitedBody
from debate_orchestrator.providers.limits import LIMITS, OverLimit

ENDS = [b"\n", b"\r\n", b"\r"]


class Pieces(httpx2.AsyncByteStream):
    """A body that comes in these pieces."""

    def __init__(self, *pieces: bytes):
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


def passed(*pieces: bytes, empty: int = LIMITS.max_empty_events) -> bytes:
    """What the SDKs get of an answer that comes in these pieces."""

    async def read() -> bytes:
        body = LimitedBody(Pieces(*pieces), "", LIMITS._replace(max_empty_events=empty), whole=True)
        return b"".join([piece async for piece in body])

    return asyncio.run(read())


@pytest.mark.parametrize("end", ENDS)
def test_each_line_has_one_end_wherever_a_piece_ends(end: bytes) -> None:
    """An answer is the same in any pieces: the two characters of one end may come apart."""
    body = end.join((b"event: x", b"data: 1", b"", b": y", b"data: 2", b"", b"", b"data: 3"))
    expected = b"event: x\ndata: 1\n\n: y\ndata: 2\n\n\ndata: 3"

    assert passed(body) == expected
    assert passed(*(body[n : n + 1] for n in range(len(body)))) == expected
    for n in range(len(body)):
        assert passed(body[:n], b"", body[n:]) == expected, n


@pytest.mark.parametrize(("one", "other"), [two for two in product(ENDS, ENDS) if b"".join(two) not in ENDS])
def test_an_event_ends_with_an_empty_line_whatever_ends_its_lines(one: bytes, other: bytes) -> None:
    """Each such event counts, also where its two lines end differently."""
    event = b"data: {}" + one + other
    assert passed(*(event[n : n + 1] for n in range(len(event)))) == b"data: {}\n\n"
    with pytest.raises(OverLimit, match="more than 20 events that are no part of the answer"):
        passed(event * 21, empty=20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ENDS)
def test_line_ends_of_an_answer(kind: str, end: bytes) -> None:
    """An answer is read whatever ends its lines, and events that add nothing are counted."""
    answer = (begun(kind) + said(kind, "A speech.") + ended(kind)).replace(b"\n", end)
    many = gzip.compress(begun(kind) + (b"event: ping\ndata: {}\n" + end) * 50_001)
    with sending(lambda: [answer]) as server:
        assert ask(server.spec(kind)).text == "A speech."
        server.body, server.headers["content-encoding"] = lambda: [many], "gzip"
        error = fails(server.spec(kind), "more than 50,000 events that are no part of the answer")
    assert getattr(error, "tries", None) == 2
