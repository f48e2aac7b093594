"""Who argues and who judges: everybody who was found, stand-ins, anybody who can be named, and panels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from persons import BACK, BEST, NOBODY, TO_CAST, hold

from debate_orchestrator.providers.discovery import Available
from debate_orchestrator.wizard.casting import told
from debate_orchestrator.wizard.hall import Hall

CLAUDE = Available(seat="command:claude -p", ready=True, about="claude is installed")
LOCAL = Available(seat="ollama:MODEL", ready=True, about="a server answers", models=("qwen", "glm"))
FULL = Hall((LOCAL, CLAUDE), {**BEST, "moderator": "anthropic:claude-sonnet-5-5"}, BEST)


def cast(*keys: str, hall: Hall = FULL, **options: Any) -> Any:
    """The cast that is chosen after everything else is answered."""
    held = hold(*TO_CAST, *keys, hall=hall, moderates=False, **options)
    return held.draft.given.get("cast")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("",), BEST),
        (("usual",), BEST),
        (("command:claude -p",), dict.fromkeys(BEST, "command:claude -p")),
        (("2",), dict.fromkeys(BEST, "command:claude -p")),
        (("ollama:glm",), dict.fromkeys(BEST, "ollama:glm")),
        (("rehearse",), {seat: f"rehearse:{who}" for seat, who in BEST.items()}),
        (("anthropic:claude-haiku-5-5",), dict.fromkeys(BEST, "anthropic:claude-haiku-5-5")),
    ],
)
def test_one_answer_for_all_seats(here: Path, keys: tuple[str, ...], expected: dict[str, str]) -> None:
    """Who was found is a choice, by Enter where models can be asked as usual; anybody can be named."""
    assert cast(*keys) == expected


def test_a_seat_at_a_time(here: Path) -> None:
    """Each seat can be filled by somebody else, by Enter as usual, and a stand-in may be among them."""
    assert cast("seats", "", "ollama:qwen", "rehearse", "no") == {
        "a": "anthropic:claude-sonnet-5-5",
        "b": "ollama:qwen",
        "judge": "rehearse:anthropic:claude-opus-5-5",
    }


def test_a_panel(here: Path) -> None:
    """Several judges make a panel, of nine at most."""
    two = cast("seats", "", "", "", "ollama:qwen", "")
    nine = cast("seats", "", "", *["ollama:qwen"] * 9)

    assert two["judge"] == ["anthropic:claude-opus-5-5", "ollama:qwen"]
    assert len(nine["judge"]) == 9


def test_back_through_the_seats(here: Path) -> None:
    """Back goes from a seat to the one before, takes a judge from a panel, and leads from the first to the start."""
    assert cast("seats", "ollama:glm", BACK, "ollama:qwen", "", "", "")["a"] == "ollama:qwen"
    assert cast("seats", "", "", "", "ollama:qwen", BACK, "")["judge"] == "anthropic:claude-opus-5-5"
    assert cast("seats", BACK, "usual") == BEST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "complaint"),
    [
        ("martian:x", "'martian:x' is no model spec"),
        ("claude-opus-5-5", "Try: anthropic:claude-opus-5-5"),
        ("anthropic:", "Try: anthropic:MODEL"),
        ("openrouter:v/m", "set OPENROUTER_API_KEY"),
        ("\x1b[2Jx", "use one of host"),
    ],
)
def test_who_can_not_be_asked(here: Path, monkeypatch: pytest.MonkeyPatch, named: str, complaint: str) -> None:
    """Somebody unknown, or without a key, is refused with what would do, and asked for again."""
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    held = hold(*TO_CAST, named, "seats", named, hall=FULL, moderates=False)

    assert held.text.count(complaint) >= 2
    assert "cast" not in held.draft.given


def test_who_can_not_be_asked_yet(here: Path) -> None:
    """Somebody whose way is known and closed is taken, and what is missing is said."""
    held = hold(*TO_CAST, "anthropic:claude-opus-5-5", hall=NOBODY)

    assert "anthropic:claude-opus-5-5: no key." in held.text
    assert held.draft.given["cast"]["a"] == "anthropic:claude-opus-5-5"


def test_nobody_is_the_default_where_nobody_can_be_asked(here: Path) -> None:
    """Where nobody can be asked, that is said with everything that is possible, and Enter alone is no answer."""
    held = hold(*TO_CAST, "", hall=NOBODY)

    assert "cast" not in held.draft.given
    for way in (
        "a rehearsal",
        "`debate demo`",
        "ANTHROPIC_API_KEY",
        "ollama:MODEL",
        "command:PROGRAM",
        "`debate open`",
    ):
        assert way in held.text


def test_others_can_be_offered(here: Path) -> None:
    """Whoever embeds the conversation can offer more choices for a seat."""
    extra = (("human", "somebody at this terminal"),)

    assert cast("seats", "human", "", "", "", extra=extra)["a"] == "human"


def test_a_cast_that_stands_is_kept_by_enter(here: Path) -> None:
    """Asked again, Enter keeps the cast."""
    held = hold(*TO_CAST, "ollama:glm", "change", "cast", "", hall=FULL, moderates=False)

    assert held.draft.given["cast"] == dict.fromkeys(BEST, "ollama:glm")
    assert "keep a ollama:glm, b ollama:glm, judge ollama:glm" in held.text


def test_arguments_of_a_program_are_not_shown() -> None:
    """A cast is told without the arguments of programs, which may hold anything."""
    assert told({"a": "command:claude -p --key x", "judge": ["host", "rehearse"]}) == (
        "a command:claude, judge host and rehearse"
    )
