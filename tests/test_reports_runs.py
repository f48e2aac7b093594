"""How a debate was run is told in a word, and who filled its seats as far as that may be shown."""

from __future__ import annotations

import pytest
from debates import played
from shapes import again
from tellings import FETCHED, events

from debate_orchestrator.core.events import Reassigned
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports.provenance import Kind, run_kind

CASTS: dict[Kind, tuple[str, str, str]] = {
    "host": ("host", "host", "host"),
    "called": ("anthropic:claude-sonnet-5-5", "command:ask", "openai:gpt-5@http://localhost:1/v1"),
    "replayed": ("replay:a.journal.jsonl", "replay:a.journal.jsonl", "replay:b.journal.jsonl"),
    "rehearsed": ("rehearse", "rehearse:anthropic:x", "rehearse:host"),
    "people": ("human", "human", "human"),
    "mixed": ("human", "anthropic:claude-sonnet-5-5", "host"),
}


@pytest.mark.parametrize("kind", CASTS)
def test_a_kind_for_every_cast(kind: Kind) -> None:
    """What all seats have in common names the kind; where they differ, it is mixed."""
    cast = {seat: (who,) for seat, who in zip(("a", "b", "judge"), CASTS[kind], strict=True)}
    assert run_kind(DebateState(events("adversarial", cast=cast))).kind == kind


def test_who_came_later_counts() -> None:
    """A seat that was recast on the way makes a mixed run, whoever has it at the end."""
    first, *rest = played(rounds=1)
    recast = [Reassigned(seat="a", who=("anthropic:x",)), Reassigned(seat="a", who=("host",))]

    assert run_kind(DebateState([first, *rest])).kind == "host"
    assert run_kind(DebateState([first, recast[0], *rest])).kind == "mixed"


def test_a_clerk_takes_no_part() -> None:
    """Whoever looks up what is cited does not change how a debate was run, and is in its cast."""
    made = run_kind(DebateState(events("claim", cast=FETCHED)))
    assert (made.kind, made.format, made.cast["clerk"]) == ("host", "claim", ("fetch",))


def test_a_programs_arguments_are_not_shown() -> None:
    """Of a program the cast has the name alone."""
    cast = {"a": ("command:/opt/ask --key secret",), "b": ("host",), "judge": ("host", "host")}
    made = run_kind(DebateState(events("adversarial", panel=2, cast=cast)))
    assert made.cast == {"a": ("command:ask",), "b": ("host",), "judge": ("host", "host")}


def test_a_debate_judged_again_tells_of_its_judges() -> None:
    """Who spoke in a recorded debate was asked for nothing, and does not count."""
    cast = {"a": ("replay:x",), "b": ("replay:x",), "judge": ("anthropic:x",)}
    debate = DebateState(events("adversarial", cast=cast))
    before = run_kind(debate).kind
    debate.opened = debate.opened.model_copy(update={"course": again().course})

    assert (before, run_kind(debate).kind) == ("mixed", "called")
