"""A format may leave nothing but its transcript, which can be read."""

from __future__ import annotations

from scripted_debates import report, report_model

from debate_orchestrator.reports.model import summary_line

CAST: dict[str, tuple[str, ...]] = {"a": ("anthropic:claude-sonnet-5-5",), "b": ("command:/opt/ask --key secret",)}
WHOLE = """\
# Debate Transcript

**Topic:** Is it so?\x20\x20
**Speaker A (For):** Yes.\x20\x20
**Speaker B (Against):** No.\x20\x20
**Spoken by:** Speaker A: anthropic:claude-sonnet-5-5; Speaker B: command:ask\x20\x20
**Rounds:** 2 / 2\x20\x20
**Date:** 2026-02-03

## Round 1

### Argument — Speaker A

> This is 1.argument.a.

### Argument — Speaker B

> This is 1.argument.b.

## Round 2

### Argument — Speaker A

> This is 2.argument.a.

### Argument — Speaker B

> This is 2.argument.b.

---

*Complete. Speaker A spoke first.*
"""


def test_the_transcript_and_nothing_else() -> None:
    """Topic, who argued what and who spoke, the rounds with every argument under its speaker, and how it was made."""
    assert report("conversation", rounds=2, cast=CAST) == WHOLE


def test_the_summary_line_names_a_transcript() -> None:
    """It names no winner, and says where the debate is not finished."""
    finished, paused = (
        report_model("conversation", rounds=2),
        report_model("conversation", rounds=2, until="2.argument.a"),
    )

    assert summary_line(finished, "talk.md") == "Debate complete. Transcript written to talk.md. 2 rounds completed."
    assert summary_line(paused, "talk.md") == "Debate paused. Transcript so far written to talk.md."
