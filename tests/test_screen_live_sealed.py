"""Ballots that one of several judges must not see are kept from the screen until the debate is over."""

from __future__ import annotations

import debates
import puppets
from glass import Glass, OnGlass

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.screen.live import Live


def shown(upto: int | None = None, *, sealed: bool = True, say: puppets.Say | None = None) -> list[str]:
    """What is seen of a debate of two rounds and two judges, up to some of its events."""
    first, *events = debates.played(say, rounds=2, judges=2)
    glass = Glass(80, 24)
    debate, terminal = DebateState([first]), OnGlass(glass)
    live = Live(debate, terminal, now=lambda: 0.0, sealed=sealed)
    terminal.hold()
    for event in events[:upto]:
        debate.take(event)
        live.on_event(debate, event)
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


def test_a_spoiled_ballot_is_sealed_too() -> None:
    """Complaints about a ballot quote it: before the end it is only told that it will not do, and whether it is asked
    for again; in the end, why."""
    spoiled = puppets.ballot(rounds=2, winner="Researcher A, by far")
    say = debates.saying(_1_verdict_judge_1=spoiled)
    before, after, opened = (
        " ".join(one) for one in (shown(-2, say=say), shown(say=say), shown(say=say, sealed=False))
    )
    secret = "'Researcher A, by far'"

    assert secret in opened and secret in after and secret not in before
    assert before.count("a reply that will not do. It is asked for again.") == 1
    assert before.count("a reply that will not do.") == 2
