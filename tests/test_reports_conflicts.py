"""A report warns where a judge is kin to those it judges, as far as can be known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from debates import entries, played
from tellings import Cast, events, told

from debate_orchestrator.core.fold import fold
from debate_orchestrator.engine import rejudge
from debate_orchestrator.reports.provenance import conflicts_of_interest

OPUS, SONNET, GPT = "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-5-5", "openai:gpt-6"


def cast(a: str, b: str, *judges: str) -> Cast:
    return {"a": (a,), "b": (b,), "judge": judges}


def warned(a: str, b: str, *judges: str) -> tuple[str, ...]:
    """What is said of a debate of these."""
    return conflicts_of_interest(fold(events("adversarial", cast=cast(a, b, *judges), panel=len(judges))))


def test_the_same_model() -> None:
    """A judge that is the model of a debater, or of both, is named with it."""
    assert warned(OPUS, GPT, OPUS) == (f"Judge is the same model as Researcher A: {OPUS}.",)
    assert warned(OPUS, OPUS, OPUS) == (f"Judge is the same model as Researcher A and Researcher B: {OPUS}.",)


def test_the_same_vendor() -> None:
    """A judge of the same vendor is named with it; the one warning does not hide the other."""
    assert warned(SONNET, GPT, OPUS) == ("Judge is a model of the same vendor as Researcher A: anthropic.",)
    assert warned(OPUS, SONNET, OPUS) == (
        f"Judge is the same model as Researcher A: {OPUS}.",
        "Judge is a model of the same vendor as Researcher B: anthropic.",
    )
    assert warned("openrouter:anthropic/claude-opus-5.5", GPT, OPUS) == (
        "Judge is a model of the same vendor as Researcher A: anthropic.",
    )


def test_every_judge_of_a_panel() -> None:
    """Each judge is looked at by itself."""
    assert warned(OPUS, "ollama:qwen3", GPT, OPUS) == (f"Judge 2 is the same model as Researcher A: {OPUS}.",)


@pytest.mark.parametrize("who", ["host", "replay:x.jsonl", "human", "rehearse"])
def test_unknown_kinship(who: str) -> None:
    """Where a cast does not tell who speaks, nothing is said."""
    assert warned(who, who, who) == ()


def test_stand_ins_are_whom_they_stand_in_for() -> None:
    """A rehearsal warns of what the real debate would be."""
    assert warned(f"rehearse:{OPUS}", GPT, f"rehearse:{OPUS}") == (f"Judge is the same model as Researcher A: {OPUS}.",)


def test_a_program_shows_no_arguments() -> None:
    """The same program is called a program, and its arguments, which may hold anything, are not told."""
    one = "command:/opt/bin/ask --key secret"

    assert warned(one, GPT, one) == ("Judge is the same program as Researcher A: command:ask.",)


def test_a_debate_that_was_held_before() -> None:
    """Where a debate is judged again, its judges are held against those who spoke in it then."""
    old = played(rounds=1, cast=cast(SONNET, GPT, "host"))
    opened, _ = rejudge.of_journal(entries(old), "old.journal.jsonl", (OPUS,))
    made = told("adversarial", cast={"a": ("replay:x",), "b": ("replay:x",), "judge": (OPUS,)})
    debate = fold(events("adversarial", cast=cast("replay:x", "replay:x", OPUS)))
    debate = replace(debate, opened=debate.opened.model_copy(update={"recording": opened.recording}))

    assert made.judging.conflicts == ()
    assert conflicts_of_interest(debate) == ("Judge is a model of the same vendor as Researcher A: anthropic.",)
