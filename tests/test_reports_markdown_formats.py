"""Reports of formats that are not the adversarial one: speeches outside the rounds, ballots with little on them."""

from __future__ import annotations

from typing import Any

import reading
from core.folding import opened, play

from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.formats import loader
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.markdown import render
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.storage.journal import Entry


def spoken(name: str, title: str) -> dict[str, Any]:
    return {"name": name, "title": title, "tag": name.upper(), "seats": ["a", "b"]}


def bare() -> Format:
    """A format with speeches before and after its one kind of round, and the smallest ballots there can be."""
    data = loader.load("adversarial").model_dump()
    winner = {"kind": "choice", "of": ["a", "b", "tie"]}
    vote = {"name": "vote", "title": "Vote", "tag": "VOTE", "seats": ["judge"], "order": "at once", "reply": "ballot"}
    end = {"name": "verdict", "title": "Final Verdict", "tag": "END", "seats": ["judge"], "reply": "final"}
    changes = {
        "before": [spoken("welcome", "Welcome")],
        "round": [spoken("speech", "Speech"), vote],
        "after": [spoken("farewell", "Farewell"), end],
        "shapes": {"ballot": {"scores": {"kind": "scores"}, "winner": winner}, "final": {"winner": winner}},
    }
    return Format.model_validate(data | changes)


def entries() -> list[Entry]:
    """A whole debate of that format, of two rounds."""
    first = opened(2, rules=bare())
    debate = fold([first])
    debate, _ = play(debate)
    events: list[Event] = [first, *debate.answers.values()]
    return [Entry(n, "2026-02-03T04:05:06.789Z", event, "0" * 64) for n, event in enumerate(events, start=1)]


def test_every_speech_is_in_the_transcript() -> None:
    """Speeches before the first round and after the last stand in the transcript, around the rounds."""
    lines = [line for line in render(build_report(entries())).split("\n") if line.startswith(("### ", "#### "))]

    assert [line.lstrip("# ").partition(" — ")[0] for line in lines] == [
        *("Before Round 1", "Welcome", "Welcome"),
        *("Round 1", "Speech", "Speech", "Vote"),
        *("Round 2", "Speech", "Speech", "Vote"),
        *("After the Last Round", "Farewell", "Farewell"),
    ]


def test_a_ballot_shows_the_fields_it_has() -> None:
    """A ballot of scores and a winner is shown as that, without empty lines for what it was not asked."""
    made = render(build_report(entries()))

    assert "- **Round winner:** A\n" in made
    assert [word for word in ("Strongest", "Feedback", "Convergence", "None on record.:") if f"**{word}" in made] == []
    assert reading.tables(made)


def test_it_is_announced() -> None:
    """The screen shows rounds and scores of such a format too."""
    said = [line.text for line in announcements(fold([entry.event for entry in entries()]))]

    assert said[0] == "--- ROUND 1 OF 2 ---"
    assert any(line.startswith("Winner: ") for line in said)
