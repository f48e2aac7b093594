"""Who can be asked from here, looked up once."""

from __future__ import annotations

import pytest

from debate_orchestrator.providers import discovery
from debate_orchestrator.providers.discovery import Available
from debate_orchestrator.wizard.hall import Hall, look


@pytest.fixture
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENROUTER_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")


def test_nobody(nothing_set: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key, a server or a program there is nobody, but it is known who would be best."""
    monkeypatch.setattr(discovery, "_PROGRAMS", {})
    hall = look()

    assert hall.usual == {} and hall.moderator is None and not hall.anybody()
    assert hall.ready() == []
    assert set(hall.best) == {"a", "b", "judge"}


def test_a_key(nothing_set: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a key there are usual debaters, a judge and a moderator."""
    monkeypatch.setenv("OPENROUTER_API_KEY", "x")
    hall = look()

    assert hall.anybody()
    assert hall.moderator == "openrouter:anthropic/claude-sonnet-5.5"
    assert set(hall.usual) == {"a", "b", "judge", "moderator"}


def test_programs_and_local_models_are_ready() -> None:
    """Programs and the first models of a server of one's own can be asked without another word; Tab knows all."""
    ways = (
        Available(seat="command:llm", ready=True, about="llm is installed"),
        Available(seat="command:PROGRAM ARGS", ready=True, about="any program"),
        Available(seat="ollama:MODEL", ready=True, about="a server answers", models=("a", "b", "c", "d")),
        Available(seat="openai:MODEL", ready=False, about="no key"),
    )
    hall = Hall(ways, {}, {})

    assert [who for who, _ in hall.ready()] == ["command:llm", "ollama:a", "ollama:b", "ollama:c"]
    assert {"ollama:d", "command:llm", "openai:MODEL"} <= set(hall.names())
