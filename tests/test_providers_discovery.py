"""Who can be asked from here: keys, servers and programs that are there, and what is said where none is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import local_http
import pytest
from conftest import Run
from hostile import sending

from debate_orchestrator.providers import discovery
from debate_orchestrator.providers.casting import cast_problems
from debate_orchestrator.util.errors import BadSettings

pytestmark = pytest.mark.usefixtures("no_models")


@pytest.fixture
def server() -> Iterator[str]:
    """A server that lists models, and refuses the key `bad`."""

    def respond(asked: local_http.Asked) -> local_http.Answer:
        bad = "bad" in f"{asked.headers.get('x-api-key')} {asked.headers.get('authorization')}"
        body = {"models": [{"name": "llama\x1b[1m:8b"}, 7], "data": [{"id": "m-2"}, {"id": "m-1"}, None]}
        return 401 if bad else 200, {}, [json.dumps(body).encode()]

    with local_http.answering(respond) as url:
        yield url


def found(seat: str) -> discovery.ModelSource:
    return next(one for one in discovery.model_sources() if one.spec.startswith(seat))


def test_nothing_is_there() -> None:
    """Each way that is not there says what is missing; a host and a recording are always there."""
    found = discovery.model_sources()
    ways = {one.spec.partition(":")[0]: one for one in reversed(found)}

    assert {one.spec for one in found if one.ready} >= {"host", "human", "replay:JOURNAL", "rehearse"}
    assert "ANTHROPIC_API_KEY" in ways["anthropic"].about
    assert "OPENROUTER_API_KEY" in ways["openrouter"].about
    assert "127.0.0.1:9" in ways["ollama"].about


def test_with_nothing_what_works_is_offered(debate: Run) -> None:
    """Without any model `run` ends with exit code 2, and offers everything that works without a key."""
    ran = debate("run", "--topic=T", "--position-a=x", "--position-b=y", "--no-issues", "--no-brief")

    assert ran.code == 2
    for way in (
        "ANTHROPIC_API_KEY",
        "ollama:",
        "command:",
        "debate open",
        "--rehearse",
        "debate demo",
        "debate models",
    ):
        assert way in ran.err
    assert ran.err.count("no model is named") == 1
    with pytest.raises(BadSettings):
        discovery.default("judge")


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_key_is_tried(variable: str, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is named and never shown, and the server is asked whether it takes it."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server)
    monkeypatch.setenv(variable, "good-key-1")
    good = found("anthropic")
    monkeypatch.setenv(variable, "bad-key-1")
    bad = found("anthropic")

    assert (good.ready, good.models) == (True, ("m-1", "m-2"))
    assert (bad.ready, "401" in bad.about) == (False, True)
    assert "key-1" not in f"{good} {bad}"


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for a server that can't be reached is no way to fill a seat."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")

    assert (found("anthropic").ready, "can't be reached" in found("anthropic").about) == (False, True)


def test_defaults_come_from_what_is_there(server: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An Opus-level judge and capable debaters: by the vendor, else by OpenRouter. A local server's models are
    named and never chosen."""
    monkeypatch.setenv("OLLAMA_HOST", server)
    with pytest.raises(BadSettings, match=r"llama.*Try: name them in `cast`"):
        discovery.default("judge")
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    assert discovery.default("judge") == "openrouter:anthropic/claude-opus-5.5"
    (here / "nothing" / "configs").mkdir(parents=True)
    (here / "nothing" / "configs" / "default.json").write_text("{}", encoding="utf-8")
    assert discovery.default("judge") == "anthropic:claude-opus-5-5"
    assert discovery.default("a") == discovery.default("b") == "anthropic:claude-sonnet-5-5"


def test_programs_are_looked_up(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that reads a prompt is offered as a command, as it must be called."""
    monkeypatch.setenv("PATH", str(here))
    (here / "claude").write_text("#!/bin/sh\n", encoding="utf-8")
    (here / "claude").chmod(0o755)

    assert found("command:").spec == "command:claude -p"
    assert cast_problems({"a": ("command:claude -p",)}) == []


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000, b'{"models": [' + b'{"name":' * 900 + b"1" + b"}" * 900 + b"]}", b'{"models": 7}', b"\xff",
        b'{"models": [{"name": ' + b"[" * 500 + b"]" * 500 + b"}]}", b'{"models": [{"name": "\\ud800"}]}', b"9" * 5_000,
    ],
)  # fmt: skip
def test_an_odd_list(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a server sends as its list, it is printed as text or not at all."""
    with sending(lambda: [body]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        entry = found("ollama")

    assert str(entry).encode() and all(isinstance(name, str) and name.isprintable() for name in entry.models)


def test_a_password_in_an_address_is_not_shown(debate: Run, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user, the password and the query of a server's address are printed by no verb, whatever word is there."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    for address in (
        f"http://ann:hunter@{server.removeprefix('http://')}",
        "http://ann:hunter@127.0.0.1:1",
        f"{server}/v1?key=hunter#hunter",
    ):
        monkeypatch.setenv("OLLAMA_HOST", address.removeprefix("http://"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "good")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        monkeypatch.setenv("OPENAI_BASE_URL", address.replace("127.0.0.1", "example.org"))
        ran = debate("models")
        problems = [one for spec in ("anthropic:m", "openai:m", "ollama:m") for one in cast_problems({"a": (spec,)})]
        assert "hunter" not in f"{ran.out}{ran.err}{problems}"
