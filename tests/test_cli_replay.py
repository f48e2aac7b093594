"""`replay` and `demo` at a terminal: live, at a pace, skipped and left by keys; in a pipe, plain text at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run
from viewer import watching

EXAMPLE = str(Path(__file__).parent.parent / "examples" / "friday-deploys" / "debate-report.journal.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("verb", [("demo", "--name=friday-deploys"), ("replay", EXAMPLE)])
def test_played_live(verb: tuple[str, ...]) -> None:
    """At a terminal a recording is played live to its end, with its scores drawn, and its closing line last."""
    with watching(*verb, "--pace=100000", rows=60) as viewer:
        viewer.see_text("any key skips · v verdict · p pause · q quit")
        for turn in ("Opening Statement — Researcher A", "Judge Verdict — Round 1", "[JUDGE - FINAL VERDICT]"):
            viewer.see_text(turn)
            viewer.press("x")
        assert viewer.see_end(pressing="x") == 0
        lines = viewer.glass.text.splitlines()
    assert any("█" in line for line in lines)
    assert "[JUDGE - FINAL VERDICT]" in lines
    assert "Debate complete. Recommendation (70 % sure): " in viewer.glass.text


@pytest.mark.parametrize("to", [(), ("--to=d.md",)])
def test_left(to: tuple[str, ...]) -> None:
    """q ends it and is no mistake: how it ends is not told, but how to see the rest and its report; the report that
    was asked for is written."""
    with watching("demo", *to) as viewer:
        viewer.see_text("q quit")
        viewer.press("q")
        assert viewer.see_end() == 0
        text = " ".join(viewer.glass.text.split())
    assert "Left before the end. `debate demo` plays it again" in text
    assert "Winner" not in text and "A debate of your own" not in text
    assert ("`debate demo --to report.md` writes its report." in text) is not bool(to)
    assert ("Its report was written to d.md." in text) is Path("d.md").exists() is bool(to)


@pytest.fixture(autouse=True)
def _here(here: Path) -> None:
    """Every test writes where nothing is."""


@pytest.mark.parametrize("flags", [(), ("--pace=1",)])
def test_in_a_pipe(debate: Run, flags: tuple[str, ...]) -> None:
    """Without a terminal, it is plain text at once, whatever pace is asked for."""
    ran = debate("demo", *flags)

    assert ran.code == 0
    assert "\x1b" not in ran.out and "█" not in ran.out
    assert "--- ROUND 2 OF 2 ---" in ran.out


@pytest.mark.parametrize("pace", ["0", "nan", "1e9"])
def test_what_is_no_pace(debate: Run, pace: str) -> None:
    """A pace is words a minute; anything else is told before anything is played."""
    ran = debate("demo", f"--pace={pace}")

    assert (ran.code, ran.out) == (2, "")
    assert "words a minute" in ran.err
    assert debate("demo", "--pace=9", "--no-pace").code == 2


@pytest.mark.parametrize("verb", [("demo",), ("replay", EXAMPLE)])
def test_what_can_be_no_report(debate: Run, verb: tuple[str, ...]) -> None:
    """A report that could not be written is refused before anything is played."""
    ran = debate(*verb, "--to=x.pdf")

    assert (ran.code, ran.out) == (2, "")
    assert "a file that ends in" in ran.err
