"""Warnings of the libraries that read an answer: they quote what a server sent, and never reach the terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hostile import begun, ended, event, said, sending
from test_providers_limits import SETUP, ask

from debate_orchestrator.providers.servers import key_name

KEY = "sk-" + "".join(chr(ord("a") + n * n % 23) + str(n % 10) for n in range(49))
"""A made-up key of 101 characters."""


def quoting(key: str) -> list[bytes]:
    """A whole answer in which the key stands in fields that have other types."""
    blocks = [
        {"type": "text", "text": {key: key}, "citations": key},
        {"type": "text", "text": [key], "citations": [key]},
        {"type": "thinking", "thinking": [key], "signature": {"k": key}},
        {"type": "web_search_tool_result", "tool_use_id": [key], "content": [{"k": key}, key]},
        {"type": "server_tool_use", "id": {"k": key}, "name": [key], "input": [key]},
    ]
    starts = [{"type": "content_block_start", "index": n + 1, "content_block": one} for n, one in enumerate(blocks)]
    return [begun("anthropic"), *map(event, starts), said("anthropic", "So it is."), ended("anthropic")]


@pytest.mark.slow
def test_a_key_in_fields_of_another_type(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that quotes the key where no text belongs makes nothing print it, not even in part."""
    with sending(lambda: quoting(KEY)) as server:
        monkeypatch.setenv(key_name(server.url), KEY)
        seats = (f"--a={server.spec('anthropic')}", "--b=rehearse", "--judge=rehearse", "--patience=5")
        command = [sys.executable, "-m", "debate_orchestrator", "run", *SETUP, *seats]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)

    assert len(KEY) == 101 and server.requests
    kept = "".join(path.read_text() for path in here.iterdir() if path.is_file())
    assert [KEY[n : n + 12] for n in range(90) if KEY[n : n + 12] in ran.stdout + ran.stderr + kept] == []


def test_odd_blocks_cause_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    """A program that uses this as a library sees no warning that quotes an answer either."""
    with sending(lambda: quoting(KEY)) as server:
        assert ask(server.spec("anthropic")).text == "So it is."

    assert [str(one.message) for one in recwarn if "pydantic" in str(one.message).lower()] == []


@pytest.mark.slow
def test_no_warning_reaches_the_terminal() -> None:
    """The command line shows no warnings of libraries, unless Python is told to."""
    program = "import atexit, warnings; from debate_orchestrator.cli import main; " + (
        "atexit.register(warnings.warn, 'a library warns'); main(['--version'])"
    )

    def printed(*flags: str) -> str:
        command = [sys.executable, *flags, "-c", program]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr

    assert printed() == ""
    assert "a library warns" in printed("-W", "default")
