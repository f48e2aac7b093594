"""A report read as a transcript: the line above a speech that names who spoke."""

from __future__ import annotations

import time

import pytest

from debate_orchestrator.engine.transcript_file import parse

REPORT = """# Debate Report

**Topic:** T

**A (Pro):** x

**B (Con):** y

## Debate Transcript

### Round 1

### Opening — A

[Alpha]

One.

### Opening — B

[Beta]

Two.
"""


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("[Alpha]", "One."),
        ("[Alpha - a model - of a kind]", "One."),
        ("*From the floor:* Why?\n\n*From the floor:* Who?\n\n[Alpha - x]", "One."),
        ("[ - x]", "One."),
        ("[]", "[]\n\nOne."),
        ("[Alpha", "[Alpha\n\nOne."),
        ("[Alpha] spoke", "[Alpha] spoke\n\nOne."),
    ],
)
def test_the_name_above_a_speech(tag: str, text: str) -> None:
    """The line that names who spoke is no part of a speech; a line that merely begins like one is."""
    assert parse(REPORT.replace("[Alpha]", tag), "x.md").speeches[0].text == text


@pytest.mark.parametrize("piece", [" - ", "x", " - ]x", "[ - "])
def test_a_bracket_that_is_never_closed(piece: str) -> None:
    """A speech that begins with a bracket which is not closed is read in time that grows with its length."""

    def seconds(size: int) -> float:
        text = REPORT.replace("[Alpha]", "[" + (piece * size)[:size])
        began = time.process_time()
        found = parse(text, "x.md").speeches
        taken = time.process_time() - began
        assert found[0].text.startswith("[") and found[1].text == "Two."
        return taken

    seconds(10)
    assert seconds(20_000) < 8 * seconds(5_000) + 0.1
