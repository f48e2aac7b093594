"""What is remarked on a reply besides its words."""

from __future__ import annotations

import debates
import pytest

from debate_orchestrator.core.events import CallFailed, Rejected, Reply, Spoke
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.screen.remarks import lost, lost_under_seal, noted

SPOILED = Rejected(
    turn="1.verdict.judge",
    complaints=("winner: got 'A, by far'; expected a, b or tie.",),
    reply=Reply(text="{}", brief="0" * 64, by="host"),
)


def spoken(text: str, ended: str = "whole") -> str:
    """What is noted of the first opening."""
    first = debates.opening(rounds=1)
    debate = DebateState([first])
    turn = debate.turn("1.opening.a")
    event = Spoke(
        turn=turn.id, reply=Reply.model_validate({"text": text, "brief": "0" * 64, "by": "host", "ended": ended})
    )
    debate.take(event)
    return noted(debate, turn, event)


def test_what_is_noted() -> None:
    """Of a speech it is noted that it was cut short, and how much of it nobody hears; else nothing."""
    assert spoken("A few words.") == ""
    assert spoken("A few", "cut") == "-- cut short by a limit of length."
    assert "words are over the limit, and nobody hears them" in spoken("word " * 5000)


@pytest.mark.parametrize(("wait", "ending"), [(None, "Lost."), (4.0, "Lost. Asked again in 4 s.")])
def test_what_got_no_answer(wait: float | None, ending: str) -> None:
    """Trouble is told as it is, under a seal too, with the wait where there is one."""
    event = CallFailed(turn="1.verdict.judge", by="x", trouble="Lost.", wait=wait)
    debate = DebateState(debates.played(until="1.verdict.judge"))

    assert lost(event) == lost_under_seal(debate, event) == ending


def test_what_is_told_under_a_seal() -> None:
    """A complaint quotes the reply, and is told whole where nothing is sealed; under a seal nothing of it is."""
    debate = DebateState(debates.played(until="1.verdict.judge"))

    assert "A, by far" in lost(SPOILED)
    assert lost_under_seal(debate, SPOILED) == "a reply that will not do. It is asked for again."
    debate.take(SPOILED)
    debate.take(SPOILED.model_copy(update={"reply": SPOILED.reply.model_copy(update={"text": "[]"})}))
    assert lost_under_seal(debate, SPOILED) == "a reply that will not do."
