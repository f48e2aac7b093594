"""A real server of local models, `llama-cpp-python[server]`, with a tiny model that never stops by itself.

The server takes minutes to build, so it is not a dependency: `DEBATE_TEST_LLAMA` names a Python that has it and `gguf`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import messages_server
import pytest
from chat_server import Answer, answering, chunks
from conftest import STATED, Run
from test_providers_openai import PLAIN, SHAPED, ask

from debate_orchestrator.core.events import CallFailed, Spoke
from debate_orchestrator.storage.journal import read

pytestmark = pytest.mark.slow

PYTHON = os.environ.get("DEBATE_TEST_LLAMA", sys.executable)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The model spec of the tiny model at a server of its own."""
    found = subprocess.run([PYTHON, "-c", "import gguf, llama_cpp.server.app"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip(f"{PYTHON} has no llama-cpp-python[server] and gguf; DEBATE_TEST_LLAMA names one that has them")
    folder = tmp_path_factory.mktemp("llama")
    model = folder / "tiny.gguf"
    writer = Path(__file__).parent.parent / "tiny_model.py"
    subprocess.run([PYTHON, str(writer), str(model)], check=True, timeout=120)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [PYTHON, "-m", "llama_cpp.server", f"--model={model}", "--n_ctx=32768", f"--port={port}"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([*words, "--host=127.0.0.1"], stdout=log, stderr=log)
    try:
        _until_ready(f"http://127.0.0.1:{port}/v1/models", server)
        yield f"openai:tiny@http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(30)


def _until_ready(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while True:
        assert server.poll() is None and time.monotonic() < until, "the server did not start"
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                assert json.load(response)["data"]
                return
        except OSError:
            time.sleep(0.2)


def test_structured_output(spec: str) -> None:
    """The server refuses a schema with HTTP 500, and is asked for any JSON object, which it gives."""
    (reply,) = ask(spec, SHAPED.model_copy(update={"max_tokens": 40}), retry_for=600)

    assert reply.text.lstrip().startswith("{")
    assert (reply.ended, reply.stop_reason, reply.unsupported) == ("cut", "length", ("structured output",))


def test_a_limit_of_tokens(spec: str) -> None:
    """The server respects the field for the limit that is sent, and says that it cut the answer."""
    (reply,) = ask(spec, PLAIN.model_copy(update={"max_tokens": 20}), retry_for=600)

    assert len(reply.text.split()) in range(15, 25)
    assert (reply.ended, reply.stop_reason) == ("cut", "length")


def test_a_speech_without_an_end(spec: str) -> None:
    """The stream is closed at twice the words of the phase, and the server is free for the next call."""
    speech = PLAIN.model_copy(update={"target_words": 50, "max_words": 75})
    first, second = ask(spec, speech, speech, retry_for=600)

    for reply in (first, second):
        assert 150 <= len(reply.text.split()) < 400
        assert (reply.ended, reply.stop_reason, reply.cost) == ("cut", None, 0.0)


def test_a_debate(spec: str, debate: Run, here: Path) -> None:
    """A debate between two models that never stop is judged, and its report says that their speeches were cut."""

    def judge(body: dict[str, Any]) -> Answer:
        last = body["messages"][-1]["content"]
        return chunks([{"content": messages_server.answer({"messages": [{"content": [{"text": last}]}]})}])

    with answering(judge) as server:
        setup = (*STATED, "--rounds=1", "--output=r.md")
        models = (f"--a={spec}", f"--b={spec}", f"--judge=openai:judge@{server.url}")
        ran = debate("run", *setup, *models, "--trust")
    events = read("r.journal.jsonl").events

    assert ran.code == 0, ran.err
    assert [event.reply.ended for event in events if isinstance(event, Spoke)] == ["cut", "cut"]
    assert [event for event in events if isinstance(event, CallFailed)] == []
    assert "cut" in Path("r.md").read_text(encoding="utf-8")
