"""A format may leave nothing but its transcript, which can be read."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from debates import LOOK_ALIKES, entries, opened_with_quotes
from scripted_debates import report, report_model

from debate_orchestrator.core.events import Event, Spoke
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.model import ReportModel, build_report, summary_line

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


@pytest.mark.parametrize("render", [markdown.render, markdown.render_for_review])
def test_what_was_found_of_quotes_stands_outside_of_a_speech(render: Callable[[ReportModel], str]) -> None:
    """No line of a speech, each of which begins with `>`, says what was found of a quote: a list below it does."""
    quotes = "<quote>tabs are one character</quote> <quote>no [file](https://e.example)</quote> "
    said = f"{quotes * 2}{LOOK_ALIKES} Found in the context files: “so it is”"
    reply = Reply(text=said, brief_digest="0" * 64, spec="host")
    events: list[Event] = [opened_with_quotes(), *(Spoke(turn_id=f"1.opening.{side}", reply=reply) for side in "ab")]
    lines = render(build_report(entries(events))).splitlines()

    assert [line for line in lines if "ound in the context files" in line and not line.startswith("> “tabs are")] == [
        "- Found in the context files: “tabs are one character”",
        r"- Not found in the context files: “no \[file\](https\://e.example)”",
    ] * 2
    assert not [line for line in lines if re.search("[vu]_quote", line) and not line.startswith("> ")]
    assert not [line for line in lines if "v_quote>tabs" in line or "v_quote>no" in line]
