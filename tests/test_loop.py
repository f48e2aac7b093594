"""The loop: stages run at once, answers are saved before failures are told, spoiled ballots are asked again."""

from __future__ import annotations

import json
from pathlib import Path

import puppets
import pytest
from speakers import Speaker, begun, driven

from debate_orchestrator.core import tally
from debate_orchestrator.core.events import Asked, Rejected
from debate_orchestrator.core.fold import fold
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import ProviderFailed


def test_a_whole_debate(tmp_path: Path) -> None:
    """The loop runs a debate from its opening to its last turn, and the journal folds to the same."""
    with begun(tmp_path / "j") as journal:
        debate = driven(journal, Speaker())

        assert debate.complete
        assert fold(read(tmp_path / "j").events).answers == debate.answers


def test_independent_turns_run_at_once(tmp_path: Path) -> None:
    """The turns of a stage are asked for at the same time."""
    speaker = Speaker()
    with begun(tmp_path / "j", judges=3) as journal:
        driven(journal, speaker)

    assert speaker.most_at_once == 3


def test_seats_without_a_provider_stay_due(tmp_path: Path) -> None:
    """The loop runs what it can, and leaves the host's turns due."""
    with begun(tmp_path / "j") as journal:
        debate = driven(journal, Speaker(), "a")

        assert [turn.id for turn in debate.due] == ["1.opening.b"]


def test_siblings_answers_survive_a_failure(tmp_path: Path) -> None:
    """Where one turn of a stage fails, the other's answer is saved before the failure is told."""

    def say(brief: Brief) -> str | None:
        if brief.turn == "1.challenge.a":
            raise ProviderFailed("the line is dead")
        return None

    with begun(tmp_path / "j") as journal, pytest.raises(ProviderFailed, match="the line is dead"):
        driven(journal, Speaker(say))
    debate = fold(read(tmp_path / "j").events)

    assert [turn.id for turn in debate.due] == ["1.challenge.a"]
    assert "1.challenge.b" in debate.answers


def test_nothing_paid_is_asked_again(tmp_path: Path) -> None:
    """After a failure the loop asks only for what is missing."""
    speaker, failing = Speaker(), Speaker(lambda brief: 1 / 0 if brief.turn == "1.verdict.judge" else None)  # type: ignore[arg-type,return-value]
    with begun(tmp_path / "j") as journal:
        with pytest.raises(ZeroDivisionError):
            driven(journal, failing)
        driven(journal, speaker)

    asked = [brief.turn for brief in speaker.briefs]
    assert asked[0] == "1.verdict.judge"
    assert len(asked) == len(set(asked))


def test_an_intent_comes_before_its_answer(tmp_path: Path) -> None:
    """Each answer in the journal follows the intent that asked for it, with the same brief."""
    with begun(tmp_path / "j") as journal:
        driven(journal, Speaker())
    waiting: dict[str, str] = {}
    for event in read(tmp_path / "j").events[1:]:
        if isinstance(event, Asked):
            waiting[event.turn] = event.brief
        else:
            assert waiting.pop(event.turn) == event.reply.brief  # type: ignore[union-attr]
    assert waiting == {}


def test_a_spoiled_ballot_is_asked_again_once(tmp_path: Path) -> None:
    """A ballot that is not the shape is kept, asked for again with the complaint, and the second one counts."""
    replies = iter(['{"winner": "a"}', json.dumps(puppets.ballot(rounds=1))])
    speaker = Speaker(lambda brief: next(replies) if brief.turn == "1.verdict.judge" else None, rounds=1)
    with begun(tmp_path / "j", rounds=1) as journal:
        debate = driven(journal, speaker)
    asked = [brief for brief in speaker.briefs if brief.turn == "1.verdict.judge"]

    assert len(asked) == 2
    assert "could not be used" in asked[1].messages[-1].parts[-1]
    assert asked[1].messages[-1].parts[:-1] == asked[0].messages[-1].parts[:-1]
    assert debate.ballot("1.verdict.judge") is not None


def test_a_ballot_spoiled_twice_is_an_absence(tmp_path: Path) -> None:
    """A judge whose ballot is spoiled twice is absent: both replies are kept, and no vote is counted."""
    speaker = Speaker(lambda brief: "A wins!" if brief.turn == "1.verdict.judge-2" else None, rounds=1)
    with begun(tmp_path / "j", judges=3, rounds=1) as journal:
        debate = driven(journal, speaker)
        spoiled = [event for event in journal.events if isinstance(event, Rejected)]

    result = tally.result(debate, 1)
    assert len(spoiled) == 2
    assert result is not None and result.ballots == 2
    assert debate.complete


def test_a_spoiled_speech_is_kept_and_asked_anew(tmp_path: Path) -> None:
    """A debater whose speech will not do twice stops the debate and is no absence; resumed, it is asked again."""
    silent = Speaker(lambda brief: " " if brief.turn == "1.opening.b" else None, rounds=1)
    with begun(tmp_path / "j", rounds=1) as journal:
        with pytest.raises(ProviderFailed, match="the reply is empty"):
            driven(journal, silent)
        spoiled = [event for event in journal.events if isinstance(event, Rejected)]
        debate = driven(journal, Speaker(rounds=1))

    assert [event.turn for event in spoiled] == ["1.opening.b", "1.opening.b"]
    assert debate.complete
