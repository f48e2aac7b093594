"""`replay` and `demo` at a terminal: live, at a pace, skipped and left by keys; in a pipe, plain text at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run
from viewer import watching

EXAMPLE = str(Path(__file__).parent.parent / "examples" / "friday-deploys" / "debate-report.journal.jsonl")


@pytest.mark.parametrize("verb", [("demo", "--name=friday-deploys"), ("replay", EXAMPLE)])
def test_played_live(verb: tuple[str, ...]) -> None:
    """At a terminal a recording is played live to its end, with its scores drawn, and its closing line last."""
    with watching(*verb, "--pace=100000", rows=60) as viewer:
        viewer.see_text("any key skips · p pause · q quit")
        for turn in ("Opening Statement — Researcher A", "Judge Verdict — Round 1", "[JUDGE - FINAL VERDICT]"):
            viewer.see_text(turn)
            viewer.press("x")
        assert viewer.see_end() == 0
        lines = viewer.glass.text.splitlines()
    assert any("█" in line for line in lines)
    assert "[JUDGE - FINAL VERDICT]" in lines
    assert "Debate complete. Winner: " in viewer.glass.text


def test_left() -> None:
    """q ends it with what it came to, and is no mistake; the report that was asked for is written."""
    with watching("demo", "--to=d.md") as viewer:
        viewer.see_text("q quit")
        viewer.press("q")
        assert viewer.see_end() == 0
        assert "Debate complete. Report written to d.md." in " ".join(viewer.glass.text.split())
    assert Path("d.md").exists()


@pytest.fixture(autouse=True)
def _here(here: Path) -> None:
    """Every test writes where nothing is."""


@pytest.mark.parametrize("flags", [(), ("--no-pace",), ("--pace=1",)])
def test_in_a_pipe(debate: Run, flags: tuple[str, ...]) -> None:
    """Where nobody watches, it is plain text at once, whatever pace is asked for."""
    ran = debate("demo", *flags)

    assert ran.code == 0
    assert "\x1b" not in ran.out and "█" not in ran.out
    assert "--- ROUND 2 OF 2 ---" in ran.out


@pytest.mark.parametrize("pace", ["0", "-5", "fast", "nan", "1e9"])
def test_what_is_no_pace(debate: Run, pace: str) -> None:
    """A pace is words a minute; anything else is told before anything is played."""
    ran = debate("demo", f"--pace={pace}")

    assert (ran.code, ran.out) == (2, "")
    assert "words a minute" in ran.err
    assert debate("demo", "--pace=9", "--no-pace").code == 2
