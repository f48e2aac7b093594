"""The replay provider says again what a journal says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from speakers import Speaker, begun, driven

from debate_orchestrator.briefs import brief
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.errors import BadAnswers, Failed
from debate_orchestrator.journal import read
from debate_orchestrator.providers import complaints, seated


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    with begun(tmp_path / "recorded", judges=2) as journal:
        driven(journal, Speaker())
    return tmp_path / "recorded"


def test_it_answers_by_turn(recording: Path, tmp_path: Path) -> None:
    """A debate replayed into another journal has the same answers, turn by turn."""
    seats = seated(
        {"a": (f"replay:{recording}",), "b": (f"replay:{recording}",), "judge": (f"replay:{recording}",) * 2}
    )
    with begun(tmp_path / "again", judges=2) as journal:
        from debate_orchestrator.drive import drive

        again = asyncio.run(drive(journal, Debate(journal.events), seats))
    recorded = Debate(read(recording).events)

    assert again.complete
    assert {t: a.reply.text for t, a in again.answers.items()} == {t: a.reply.text for t, a in recorded.answers.items()}


def test_it_fails_plainly_on_a_turn_without_recording(recording: Path, tmp_path: Path) -> None:
    """A turn that was never recorded is a failure that names the turn, not an invention."""
    provider = seated({"a": (f"replay:{recording}",)})["a"]
    with begun(tmp_path / "other") as journal:
        debate = Debate(journal.events)
        asked = brief(debate, debate.due()[0]).model_copy(update={"turn": "7.opening.a"})

    with pytest.raises(Failed, match=r"no recorded reply to 7\.opening\.a"):
        asyncio.run(provider.reply(asked))


def test_unknown_fillers_are_told_all_at_once() -> None:
    """Every seat whose filler nobody knows is complained of, with what there is."""
    cast = {"a": ("oracle:x",), "b": ("host",), "judge": ("host", "crowd")}

    assert len(complaints(cast)) == 2
    with pytest.raises(BadAnswers, match="one of host, replay:"):
        seated(cast)
