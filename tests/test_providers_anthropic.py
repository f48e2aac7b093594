"""Models that speak the Messages API: what is sent, what is believed, and what an independent server thinks of us."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import debates
import pytest
from conftest import Run
from messages_server import Server, serving

from debate_orchestrator.core.events import CallFailed, FoundPage, Reply
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers.registry import make_provider
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import ProviderFailed

SETUP = (
    "--topic=T",
    "--position-a=It is so.",
    "--position-b=It is not so.",
    "--no-issues",
    "--no-brief",
    "--output=r.md",
)
KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with serving(Server()) as made:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
        yield made


def replied(spec: str, turn: str = "1.opening.a", patience: float = 4, **changes: Any) -> Reply:
    """One call of a model named so, for the first turn of a debate."""
    opened = debates.opening().with_settings(retry_for=patience)
    debate = fold([opened])
    provider = make_provider(spec, CurrentState(debate))

    async def asked() -> Reply:
        try:
            put = brief(debate, debate.due[0]).model_copy(update=changes)
            return await provider.reply(put, lambda piece: None)
        finally:
            await provider.close()

    return asyncio.run(asked())


def test_the_layout_on_the_wire(debate: Run, server: Server) -> None:
    """One neutral system text for all seats; blocks that only ever grow at their end; the task last and never marked;
    at most four marks, and none where no call will read what is written."""
    assert debate("run", *SETUP, "--rounds=2").code == 0
    seen = server.requests
    texts = [[block["text"] for message in one["messages"] for block in message["content"]] for one in seen]

    assert len({json.dumps(one["system"]) for one in seen}) == 1
    for before, after in pairwise(texts):
        shared = min(len(before), len(after)) - 1
        assert before[:shared] == after[:shared]
    for one in seen:
        blocks = [block for message in one["messages"] for block in message["content"]]
        marked = [place for place, block in enumerate(blocks) if "cache_control" in block]
        assert "cache_control" not in blocks[-1]
        assert len(marked) <= 4
    last = [one for one, blocks in zip(seen, texts, strict=True) if "# Your task: Final" in blocks[-1]]
    assert len(last) == 1
    assert all("cache_control" not in json.dumps(one["messages"]) for one in (*last, seen[-1]))
    assert sum(one.cached for one in server.counted) > sum(one.written for one in server.counted)


def test_what_is_never_sent(debate: Run, server: Server) -> None:
    """No temperature, no forced tool, no half answer to be gone on from: current models refuse them."""
    debate("run", *SETUP, "--rounds=1")
    for one in server.requests:
        assert not {"temperature", "top_p", "top_k", "tool_choice"} & set(one)
        assert one["messages"][-1]["role"] == "user"
        assert one["stream"] is True


def test_ballots_are_asked_for_in_their_shape(debate: Run, server: Server) -> None:
    """A judge's call carries the schema of its reply; a debater's carries none."""
    debate("run", *SETUP, "--rounds=1")
    shapes = [one.get("output_config", {}).get("format", {}).get("type") for one in server.requests]

    assert shapes == [None, None, "json_schema", "json_schema", "json_schema"]


def test_a_cast_names_any_server(debate: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A seat may be filled from an address, which gets the key that is named after its host and not the vendor's."""
    url, host = server.url, f"DEBATE_KEY_127_0_0_1_{server.url.rpartition(':')[2]}"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OLLAMA_HOST", url)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-gateway: secret-gateway")
    seats = (f"--a=anthropic:m@{url}", f"--b=ollama:m@{url}", f"--judge=anthropic:n@{url}")
    first = debate("run", *SETUP, "--rounds=1", *seats)
    keys = set(server.keys)
    monkeypatch.setenv(host, "the-hosts-own")
    replied(f"anthropic:m@{url}")

    assert first.code == 0, first.err
    assert keys == {"Bearer none"}
    assert not any("secret-gateway" in str(one) for one in server.headers)
    assert server.keys[-1] == "Bearer the-hosts-own"
    assert KEY not in str(server.keys)
    assert "$0.00" in first.err  # a server of one's own costs nothing


def test_search(server: Server) -> None:
    """Where debaters may search, pages are kept with the speech, an answer that pauses is gone on with, and no
    citation is ever sent back."""
    result = {"type": "web_search_result", "url": "https://x/1", "title": "T", "encrypted_content": "e"}
    block = {"type": "web_search_tool_result", "tool_use_id": "t", "content": [result]}
    cited = {
        "type": "web_search_result_location",
        "url": "https://x/1",
        "title": "T",
        "cited_text": "so",
        "encrypted_index": "i",
    }
    first = {"text": "First. ", "stop": "pause_turn", "blocks": [block], "citations": [cited]}
    server.trouble = lambda request, n: first if n == 0 else {"text": "Then."}
    reply = replied("anthropic:m", search=True)

    assert reply.text == "First. Then."
    assert reply.found == (FoundPage(url="https://x/1", title="T", quote="so"),)
    assert [one["tools"][0]["name"] for one in server.requests] == ["web_search"] * 2
    resent = server.requests[1]["messages"][-1]
    assert resent["role"] == "assistant"
    assert [one["type"] for one in resent["content"]] == ["web_search_tool_result", "text"]
    assert "cited_text" not in json.dumps(resent)


def test_a_server_without_search(server: Server) -> None:
    """A server that knows no search is asked at once without it, and what was lacking is on record."""
    refusal = {"status": 400, "message": "tools.0: web_search is not supported"}
    server.trouble = lambda request, n: refusal if "tools" in request else None

    assert replied("anthropic:m", search=True).lacked == ("search",)
    assert len(server.requests) == 2


def test_pieces_are_told_as_they_come(server: Server) -> None:
    """What is heard on the way is, together, the speech; the first piece tells that it has begun."""
    opened = debates.opening()
    debate, heard = fold([opened]), []
    provider = make_provider("anthropic:m", CurrentState(debate))

    async def asked() -> Reply:
        reply = await provider.reply(brief(debate, debate.due[0]), heard.append)
        await provider.close()
        return reply

    assert "".join(heard) == "" and asyncio.run(asked()).text == "".join(heard)
    assert heard[0] == "" and len(heard) > 3


def test_a_provider_outlives_its_event_loop(server: Server) -> None:
    """Closed, it can be asked again in another loop."""
    opened = debates.opening()
    debate = fold([opened])
    provider = make_provider("anthropic:m", CurrentState(debate))

    async def asked() -> str:
        reply = await provider.reply(brief(debate, debate.due[0]), lambda piece: None)
        await provider.close()
        return reply.text

    assert asyncio.run(asked()) == asyncio.run(asked())


LLMOCK_FAULTS = {
    "rate_limit": {"retry_after": 0.2}, "fail": {"status": 529}, "truncate": {"after_chunks": 3},
    "disconnect": {"after_chunks": 3}, "corrupt": {"after_chunks": 3}, "stall": {"seconds": 20},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("fault", LLMOCK_FAULTS)
def test_an_independent_server_finds_no_fault_with_us(fault: str, llmock: Any, here: Path, debate: Run) -> None:
    """A server that grades its clients sees each fault survived: waits kept, backed off, no half taken for a whole."""
    getattr(llmock, fault)(**{"times": 1, **LLMOCK_FAULTS[fault]})
    ran = debate("run", *SETUP, "--rounds=1", "--retry-for=8", "--judge=host", "--a=anthropic:m", "--b=anthropic:m")
    troubles = [event for event in read("r.journal.jsonl").events if isinstance(event, CallFailed)]

    assert ran.code == 3, ran.err  # both have spoken, and the host's judge is due
    assert "1.verdict.judge" in ran.err
    assert len(troubles) >= 1
    llmock.assert_resilient()


@pytest.mark.slow
def test_the_library_is_loaded_late(here: Path) -> None:
    """Verbs that call no model load neither SDK."""
    root = Path(__file__).parent.parent / "examples" / "postgres-queue"
    journal = next(root.glob("*.journal.jsonl"))
    (here / "x.journal.jsonl").write_bytes(journal.read_bytes())
    verbs = ["--help", "report x.journal.jsonl --to y.md", "check x.journal.jsonl", "replay x.journal.jsonl"]
    verbs += ["step x.journal.jsonl", "formats", "demo --quiet", "models"]
    code = (
        f"import sys\nfrom debate_orchestrator.cli import main\nfor verb in {verbs!r}:\n"
        "    try: main(verb.split())\n    except SystemExit as end: assert not end.code, verb\n"
        "    assert not {'anthropic', 'openai', 'aiohttp', 'httpx2'} & set(sys.modules), verb\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True, timeout=100)

    assert ran.returncode == 0, ran.stderr


def test_no_redirect_is_followed(server: Server) -> None:
    """A server that sends a call elsewhere gets it nowhere: a key would go along."""
    server.trouble = lambda request, n: {"status": 307, "headers": {"location": f"{server.url}/elsewhere"}}
    with pytest.raises(ProviderFailed):
        replied("anthropic:m")

    assert len(server.requests) == 1
