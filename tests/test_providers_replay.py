"""The replay provider says again what a journal says."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from speakers import Speaker, begun, driven

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Usage
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.engine.loop import run_loop
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers.registry import cast_problems, make_provider, make_providers
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import BadSettings, ProviderFailed


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    with begun(tmp_path / "recorded", judges=2) as journal:
        driven(journal, Speaker())
    return tmp_path / "recorded"


def test_it_answers_by_turn(recording: Path, tmp_path: Path) -> None:
    """A debate replayed into another journal has the same answers, turn by turn."""
    seat = f"replay:{recording}"
    with begun(tmp_path / "again", judges=2) as journal:
        again = replace(fold(journal.events), cast={"a": (seat,), "b": (seat,), "judge": (seat, seat)})
        current = CurrentState(again)
        again = asyncio.run(run_loop(journal, current, make_providers(current)))
    recorded = fold(read(recording).events)

    assert again.complete
    assert {t: a.reply.text for t, a in again.answers.items()} == {t: a.reply.text for t, a in recorded.answers.items()}


def test_it_fails_plainly_on_a_turn_without_recording(recording: Path, tmp_path: Path) -> None:
    """A turn that was never recorded is a failure that names the turn, not an invention."""
    with begun(tmp_path / "other") as journal:
        debate = fold(journal.events)
        provider = make_provider(f"replay:{recording}", CurrentState(debate))
        asked = brief(debate, debate.due[0]).model_copy(update={"turn": "7.opening.a"})

    with pytest.raises(ProviderFailed, match=r"no recorded reply to 7\.opening\.a"):
        asyncio.run(provider.reply(asked, lambda piece: None))


def test_unknown_fillers_are_told_all_at_once(tmp_path: Path) -> None:
    """Every seat with an unknown spec is named, with the specs that there are."""
    cast = {"a": ("oracle:x",), "b": ("host",), "judge": ("host", "crowd")}

    assert len(cast_problems(cast)) == 2
    with begun(tmp_path / "other") as journal:
        debate = replace(fold(journal.events), cast=cast)
        with pytest.raises(BadSettings, match="one of host, human, anthropic:"):
            make_providers(CurrentState(debate))


def test_only_who_fits_a_seat_is_named() -> None:
    """What could be written instead is told by seat: who looks pages up for the clerk's alone, a person for others."""
    (side,), (clerk,) = cast_problems({"a": ("oracle:x",)}), cast_problems({"clerk": ("oracle:x",)})

    assert "human" in side and "fetch" not in side and "offline" not in side
    assert "human" not in clerk and ", fetch, offline," in clerk


def test_a_recording_costs_nothing(tmp_path: Path) -> None:
    """What a recorded reply cost was paid for once, and is on no later bill."""
    paid = Speaker(usage=Usage(fresh=1_000), cost=0.5)
    with begun(tmp_path / "recorded") as journal:
        first = driven(journal, paid)
    seat = f"replay:{tmp_path / 'recorded'}"
    with begun(tmp_path / "again") as journal:
        again = fold(journal.events)
        again = replace(again, cast=dict.fromkeys(again.cast, (seat,)))
        current = CurrentState(again)
        again = asyncio.run(run_loop(journal, current, make_providers(current)))

    assert costs_of(first).total.cost > 1
    assert costs_of(again).lines == ()
