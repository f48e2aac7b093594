"""What verbs name as the next command for a debate with turns due: `step` for a host's turns, `resume` for others."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run
from corpus import for_each
from debates import opened_event, play_events
from journals import write_journal

from debate_orchestrator.core.events import Event, Opened
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import spec_in
from debate_orchestrator.reports.wording import next_command

J = "a b.journal.jsonl"


def waiting(judges: tuple[str, ...], sides: str = "host", until: str = "1.verdict.judge-1") -> list[Event]:
    """A debate of one round that waits for that turn."""
    cast = {"a": (sides,), "b": (sides,), "judge": judges}
    opened, *events = play_events(rounds=1, until=until, cast=cast)
    assert isinstance(opened, Opened)
    return [opened, *events]


@for_each(
    [
        (("rehearse:", "rehearse:"), "resume"),
        (("host", "rehearse:"), "step"),
        (("rehearse:", "host"), "step"),
        (("rehearse:", "human"), "resume"),
        (("host", "human"), "resume"),
    ]
)
def test_who_fills_the_due_seats(judges: tuple[str, ...], verb: str) -> None:
    """One host on the panel is enough for `step`, which calls the models too and asks no person."""
    debate = fold(waiting(judges))

    assert [spec_in(debate, turn.seat) for turn in debate.due] == [*judges]
    assert next_command(debate, "a b.jsonl") == f"debate {verb} 'a b.jsonl'"


@pytest.mark.parametrize("verb", [("replay",), ("check",), ("judge", "--judge", "host"), ("ballot", "--form")])
def test_every_verb_names_it(debate: Run, here: Path, verb: tuple[str, ...]) -> None:
    """A verb that meets an unfinished debate names the command that finishes it, and no other."""
    write_journal(here / J, [opened_event(rounds=1)])
    ran = debate(verb[0], J, *verb[1:])

    assert f"`debate step '{J}'`" in ran.err
    assert "debate resume" not in ran.err and "debate judge" not in ran.err
