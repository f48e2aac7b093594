"""Who argues and who judges: what was found comes first, then stand-ins, people, any model by name, and panels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from human_turns import Script
from persons import BACK, BEST, TOPIC, SetupResult, run_setup

from debate_orchestrator.providers.discovery import FoundModels, ModelSource
from debate_orchestrator.terminal.asking import Asker, Question
from debate_orchestrator.util.terminal_text import Back

CLAUDE = ModelSource(spec="command:claude -p", ready=True, about="claude is installed")
LOCAL = ModelSource(spec="ollama:MODEL", ready=True, about="a server answers", models=("qwen", "glm"))
FULL = FoundModels((LOCAL, CLAUDE), {**BEST, "moderator": "anthropic:claude-sonnet-5-5"}, BEST)
STAND_INS = {seat: f"rehearse:{model}" for seat, model in BEST.items()}


def held_by(*keys: str, found: FoundModels) -> SetupResult:
    """A conversation whose moderator has no key: it is refused at once, where a server would be waited for."""
    script = Script(*(Back() if key == BACK else key for key in keys))
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("OPENROUTER_API_KEY", raising=False)
        return run_setup(script=script, found=found, moderator="openrouter:vendor/model")


def cast(*keys: str, found: FoundModels = FULL) -> Any:
    """The cast that is chosen after the topic; no model is asked for anything."""
    return held_by(TOPIC, *keys, found=found).state.answers.get("cast")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("",), BEST),
        (("rehearse",), STAND_INS),
        (("ollama:glm",), dict.fromkeys(BEST, "ollama:glm")),
    ],
)
def test_one_answer_for_all_seats(here: Path, keys: tuple[str, ...], expected: dict[str, str]) -> None:
    """Enter takes the usual models where there are any; what was found is a choice, and any model can be named."""
    assert {**cast(*keys), "moderator": ""} == {**expected, "moderator": ""}


@pytest.mark.slow
def test_a_seat_at_a_time(here: Path) -> None:
    """Each seat can be filled differently, by a person too, and several judges make a panel of nine at most."""
    assert {**cast("seats", "human", "ollama:qwen", "rehearse", "no", "ollama:glm"), "moderator": ""} == {
        "a": "human",
        "b": "ollama:qwen",
        "judge": "rehearse:anthropic:claude-opus-5-5",
        "rapporteur": "ollama:glm",
        "moderator": "",
    }
    assert cast("seats", "", "", "", "ollama:qwen", "", "")["judge"] == ["anthropic:claude-opus-5-5", "ollama:qwen"]
    assert len(cast("seats", "", "", *["ollama:qwen"] * 9, "judge")["judge"]) == 9
    assert "rapporteur" not in cast("seats", "", "", "", "no", "judge")


def test_back_through_the_seats(here: Path) -> None:
    """Back leads from a seat to the one before and from the first to the question for all. Every answer stays: it is
    the default where its seat is asked for again."""
    glm, qwen, opus = "ollama:glm", "ollama:qwen", "anthropic:claude-opus-5-5"
    changed = cast("seats", glm, qwen, "human", "no", BACK, BACK, BACK, BACK, qwen, "", "", "", "judge")
    assert {seat: changed[seat] for seat in "ab"} == {"a": qwen, "b": qwen} and changed["judge"] == "human"
    assert cast("seats", "", "", "", qwen, BACK, "", "no", "")["judge"] == [opus, qwen]
    assert cast("seats", "", "", "", qwen, BACK, "no", "")["judge"] == opus
    assert cast("seats", glm, BACK, BACK, "seats", "", "", "", "", "")["a"] == glm
    assert cast("seats", BACK, "usual")["a"] == BEST["a"]


def test_models_of_earlier_setups_complete(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tab completes a model that was named in an earlier setup, and none that was refused."""
    cast("martian:x", "ollama:named-before")
    asked = list[Question]()
    ask: Callable[..., str] = Asker.ask_now
    monkeypatch.setattr(Asker, "ask_now", lambda *given: asked.append(given[1]) or ask(*given))
    cast("seats", "human")

    for question in asked[1:]:
        assert "ollama:named-before" in question.words and "martian:x" not in question.words
    assert len(asked) == 4


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ("martian:x", "'martian:x' is not a model spec"),
        ("openrouter:v/m", "set OPENROUTER_API_KEY"),
    ],
)
def test_what_can_not_be_asked(here: Path, monkeypatch: pytest.MonkeyPatch, named: str, problem: str) -> None:
    """A model that is unknown, or has no key, is refused with what would do, and the question is put again."""
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    held = run_setup(TOPIC, named, "seats", named, found=FULL)

    assert held.text.count(problem) >= 2
    assert "cast" not in held.state.answers


def test_a_host_and_a_person_share_no_debate(here: Path) -> None:
    """Where one seat is a person's, `host` is refused at the question of another seat, and the other way round."""
    held = held_by(TOPIC, "seats", "human", "host", "ollama:qwen", "host", "human", "no", "", found=FULL)

    assert held.text.count("a is human and b is host, which can't be in one debate") == 1
    assert held.text.count("a is human and judge is host, which can't be in one debate") == 1
    assert held.state.answers["cast"]["judge"] == "human"
    assert "a is host" in held_by(TOPIC, "seats", "host", "human", found=FULL).text
