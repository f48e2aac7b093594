"""Ballots that one of several judges must not see are kept from the screen until the debate is over."""

from __future__ import annotations

import debates
from glass import Glass, OnGlass

from debate_orchestrator.core.debate import Debate
from debate_orchestrator.screen.live import Live


def shown(upto: int | None = None, *, sealed: bool = True) -> list[str]:
    """What is seen of a debate of two rounds and two judges, up to some of its events."""
    first, *events = debates.played(rounds=2, judges=2)
    glass = Glass(80, 24)
    debate, terminal = Debate([first]), OnGlass(glass)
    live = Live(debate, terminal, now=lambda: 0.0, sealed=sealed)
    terminal.hold()
    for event in events[:upto]:
        debate.take(event)
        live.watch(debate, event)
    live.leave()
    terminal.let_go()
    return glass.text.splitlines()


def test_nothing_of_ballots_is_shown_before_the_end() -> None:
    """Speeches and rounds are shown as they come; no score, no winner and no reason is, as long as a vote is due."""
    lines = shown(-2)
    text = "\n".join(lines)

    assert "--- ROUND 2 OF 2 ---" in lines and "This is what b says in 2.rebuttal.b." in text
    for secret in ("Judge Verdict", "Scores:", "Winner", "It was better argued.", "█"):
        assert secret not in text
        assert secret in "\n".join(shown(-2, sealed=False))


def test_all_is_shown_in_the_end() -> None:
    """When the debate is over, everything that was sealed is shown, once."""
    lines, opened = shown(), shown(sealed=False)

    assert sorted(line for line in lines if line) == sorted(line for line in opened if line)
