"""The connection of both APIs: requests without what is meant for another server, and errors of the libraries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest

from debate_orchestrator.providers.api import cause, http_options, is_refused_connection, read_stream
from debate_orchestrator.providers.faults import SilenceClock
from debate_orchestrator.providers.limits import LIMITS, Length, Meter, OverLimit
from debate_orchestrator.providers.servers import key_name, server
from debate_orchestrator.util.redact import redact

URL = "https://models.example/v1"


def test_a_foreign_request_is_bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request to an address from a cast keeps what it needs, and carries the key of that host alone."""
    monkeypatch.setenv(key_name(URL), "own")
    (_, strip) = http_options(server(f"openai:m@{URL}"), insecure=False)["event_hooks"]["request"]
    headers = {"host": "x", "content-type": "json", "authorization": "Bearer vendor", "x-gateway": "secret"}
    request = SimpleNamespace(headers=headers)
    asyncio.run(strip(request))

    assert request.headers == {"host": "x", "content-type": "json", "authorization": "Bearer own"}


def test_a_vendors_request_is_the_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request to the vendor is left as the library makes it, but for the packing that is asked for; no redirect is
    followed, and what is sent as a token, which may be from a profile, is redacted from then on."""
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setattr("debate_orchestrator.util.redact._learned", set())
    made = http_options(server("anthropic:m"), insecure=False)
    hooks = made.pop("event_hooks")
    headers = {"authorization": "Bearer oat-from-a-profile-1", "x-gateway": "g"}
    asyncio.run(hooks["request"][1](SimpleNamespace(headers=headers)))

    packing = {"accept-encoding": "gzip"}
    assert made == {"follow_redirects": False, "headers": packing, "verify": True, "trust_env": True}
    assert [len(hooks[name]) for name in ("request", "response")] == [2, 2]
    assert headers == {"authorization": "Bearer oat-from-a-profile-1", "x-gateway": "g"}
    assert redact("no: oat-from-a-profile-1") == "no: [key]"


def test_plain_http() -> None:
    """Over plain http no certificates are read, and a server on this machine is asked past any proxy."""
    here, near = (
        http_options(server(f"anthropic:m@http://{host}:1"), insecure=False) for host in ("localhost", "10.0.0.2")
    )

    assert (here["verify"], here["trust_env"]) == (False, False)
    assert (near["verify"], near["trust_env"]) == (False, True)


@pytest.mark.parametrize(
    ("error", "unreachable"),
    [
        (ConnectionRefusedError(111, "Connection refused"), True),
        (OSError("[Errno -2] Name or service not known"), True),
        (ConnectionResetError(104, "Connection reset by peer"), False),
        (ValueError("odd"), False),
    ],
)
def test_refused_connections(error: Exception, unreachable: bool) -> None:
    """A refused connection and an unknown host are told from a line that broke, however they are wrapped."""
    try:
        raise RuntimeError("wrapped") from error
    except RuntimeError as wrapped:
        assert is_refused_connection(wrapped) is unreachable
        assert cause(wrapped) is error


def test_too_much_is_not_heard() -> None:
    """A piece that takes an answer over its limit is not handed on."""
    heard: list[str] = []

    class Long:
        """An answer whose first event is too long."""

        length, received, invalid = 0, 0, None

        def take(self, event: str) -> list[str]:
            """The event as the one piece."""
            self.length = self.received = len(event)
            return [event]

    async def events() -> AsyncIterator[str]:
        yield "x" * (LIMITS.answer + 1)

    with pytest.raises(OverLimit):
        asyncio.run(read_stream(events(), Long(), SilenceClock(9), heard.append, Meter(Length(None), str)))
    assert heard == []


def test_a_long_answer_is_measured_a_few_times() -> None:
    """The looks at an answer grow with the logarithm of its length, and it is closed soon after it is too long."""
    looks: list[int] = []

    def visible(text: str) -> str:
        looks.append(len(text))
        return text.partition("<think>")[0]

    meter = Meter(Length(None, words=1_200), visible)
    private = "word " * 1_199 + "<think>" + "so. " * 50_000
    assert not any(meter.exceeded(size, lambda size=size: private[:size]) for size in range(0, len(private), 20))
    assert 5 < len(looks) < 60

    meter, spoken = Meter(Length(None, words=1_200), str), "word " * 5_000
    closed = next(size for size in range(0, len(spoken), 20) if meter.exceeded(size, lambda size=size: spoken[:size]))
    assert 6_000 < closed < 7_000
