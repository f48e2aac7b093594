"""The loop: stages run at once, answers are saved before failures are reported, and no debate goes on without a
judge."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest
import scripted_replies
from core.folding import many
from hypothesis import given
from hypothesis import strategies as st
from speakers import Speaker, begun, driven

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.events import BriefSent, Rejected, Reopened
from debate_orchestrator.core.fold import CurrentState, fold, would_change
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.engine.retry import INITIAL_WAIT, MAX_WAIT, next_delay
from debate_orchestrator.engine.turn import record_event
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import rehearse
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import DoesNotFit, Paused, ProviderFailed, TransientError


def test_a_whole_debate(tmp_path: Path) -> None:
    """The loop runs a debate from its opening to its last turn, and the journal folds to the same. Each answer in it
    follows the `BriefSent` that asked for it, with the same brief."""
    with begun(tmp_path / "j") as journal:
        debate = driven(journal, Speaker())
    events, waiting = read(tmp_path / "j").events, dict[str, str]()
    for event in events[1:]:
        if isinstance(event, BriefSent):
            waiting[event.turn_id] = event.brief_digest
        else:
            assert waiting.pop(event.turn_id) == event.reply.brief_digest  # type: ignore[union-attr]

    assert debate.complete and waiting == {}
    assert fold(events).replies == debate.replies


def test_independent_turns_run_at_once(tmp_path: Path) -> None:
    """The turns of a stage are asked for at the same time. The loop runs what it can, and leaves the host's turns
    due."""
    speaker = Speaker(rounds=1)
    with begun(tmp_path / "j", judges=3, rounds=1) as journal:
        assert [turn.id for turn in driven(journal, speaker, "a").due] == ["1.opening.b"]
        driven(journal, speaker)

    assert speaker.most_at_once == 3


def test_nothing_paid_is_asked_again(tmp_path: Path) -> None:
    """Where one turn of a stage fails, the other's answer is saved before the failure is reported, and after it the
    loop asks only for what is missing."""

    def say(brief: Brief) -> str | None:
        if brief.turn_id == "1.challenge.a":
            raise ProviderFailed("the line is dead")
        return None

    speaker = Speaker()
    with begun(tmp_path / "j") as journal:
        with pytest.raises(ProviderFailed, match="the line is dead"):
            driven(journal, Speaker(say))
        debate = fold(read(tmp_path / "j").events)
        assert [turn.id for turn in debate.due] == ["1.challenge.a"] and "1.challenge.b" in debate.replies
        driven(journal, speaker)

    asked = [brief.turn_id for brief in speaker.briefs]
    assert asked[0] == "1.challenge.a" and len(asked) == len(set(asked))


def test_a_ballot_is_asked_for_again(tmp_path: Path) -> None:
    """A ballot that is not the shape is kept and asked for again with the complaint and the ballot itself."""
    replies = iter(['{"winner": "a"}', json.dumps(scripted_replies.ballot(rounds=1))])
    speaker = Speaker(lambda brief: next(replies) if brief.turn_id == "1.verdict.judge" else None, rounds=1)
    with begun(tmp_path / "j", rounds=1) as journal:
        debate = driven(journal, speaker)
    asked = [brief for brief in speaker.briefs if brief.turn_id == "1.verdict.judge"]

    assert len(asked) == 2
    assert "could not be used" in asked[1].messages[-1].parts[-1]
    assert '"winner": "a"' in asked[1].messages[-1].parts[-1]
    assert asked[1].messages[-1].parts[:-1] == asked[0].messages[-1].parts[:-1]
    assert debate.structured_reply("1.verdict.judge") is not None


def test_a_panel_goes_on_without_one_judge(tmp_path: Path) -> None:
    """A judge of a panel with no usable ballot is absent after four replies, which are kept; the others decide."""
    speaker = Speaker(lambda brief: "A wins!" if brief.turn_id == "1.verdict.judge-2" else None, rounds=1)
    with begun(tmp_path / "j", judges=3, rounds=1) as journal:
        debate = driven(journal, speaker)
        spoiled = [event for event in journal.events if isinstance(event, Rejected)]

    result = tally.result(debate, 1)
    assert [event.absent for event in spoiled] == [False, False, False, True]
    assert result is not None and result.judges_present == 2
    assert debate.complete


@pytest.mark.parametrize("judges", [1, 3])
@pytest.mark.parametrize("place", ["1.verdict.", "final.verdict."])
def test_no_debate_goes_on_without_a_ballot(tmp_path: Path, place: str, judges: int) -> None:
    """Where no judge gives a usable ballot the debate stops there, and asks for nothing else."""
    mute = Speaker(lambda brief: "A wins!" if brief.turn_id.startswith(place) else None, rounds=1)
    with begun(tmp_path / "j", judges=judges, rounds=1) as journal:
        with pytest.raises(Paused, match="none of the judge's 4 replies can be used"):
            driven(journal, mute)
        due = [turn.id for turn in fold(journal.events).due]
        new = Speaker(rounds=1)
        new.name = "another"
        debate = driven(journal, new)

    assert len(due) == (1 if judges == 1 else 2), "a panel of three has a quorum of two, and spares one judge"
    assert all(turn.startswith(place) for turn in due)
    assert [brief.turn_id for brief in mute.briefs].count(due[0]) == 4
    assert [brief.turn_id for brief in new.briefs][: len(due)] == due
    assert "A wins!" not in new.briefs[0].messages[-1].parts[-1]
    assert debate.complete and tally.verdict(debate) is not None


@pytest.mark.parametrize(("cast", "quorum"), [(["host"] * 3, 3), (["rehearse", "host", "rehearse"], 1)])
def test_a_quorum_is_kept(tmp_path: Path, cast: list[str], quorum: int) -> None:
    """With a quorum of three, a panel of three spares no judge; stand-ins beside another judge fill none."""
    speaker = Speaker(lambda brief: "A wins!" if brief.turn_id.startswith("1.verdict.judge-2") else None, rounds=1)
    with begun(tmp_path / "j", rounds=1, quorum=quorum, cast={"judge": cast}) as journal, pytest.raises(Paused):
        driven(journal, speaker)
    debate = fold(read(tmp_path / "j").events)

    assert [turn.id for turn in debate.due] == ["1.verdict.judge-2"]


def test_an_undecided_debate_is_reopened(tmp_path: Path) -> None:
    """A debate that ended undecided because its judge's last ballots could not be used can be reopened."""
    with begun(tmp_path / "j", rounds=1) as journal:
        current = CurrentState(driven(journal, Speaker(rounds=1), "a", "b"))
        while not current.state.complete:
            turn = current.state.due[0].id
            reply = Reply(text="No.", brief_digest="0" * 64, spec="old")
            absent = not current.state.due[0].speaking
            record_event(journal, current, Rejected(turn_id=turn, problems=("no JSON",), reply=reply, absent=absent))
            if current.state.due and current.state.due[0].speaking:
                current = CurrentState(driven(journal, Speaker(rounds=1), "a", "b"))
        assert tally.verdict(current.state) is None
        unanswered = schedule.turns_without_usable_ballot(current.state)
        assert [turn.id for turn in unanswered] == ["final.verdict.judge", "final.dissent.judge"]
        record_event(journal, current, Reopened())
        judge = Speaker(rounds=1)
        debate = driven(journal, judge)

    assert [brief.turn_id for brief in judge.briefs] == ["final.verdict.judge", "final.dissent.judge"]
    verdict = tally.verdict(fold(read(tmp_path / "j").events))
    assert verdict is not None and verdict.winner == "a"
    with pytest.raises(DoesNotFit, match="it lacks nothing that"):
        would_change(debate, Reopened())


def test_an_undecided_debate_with_a_decision_brief_is_reopened(tmp_path: Path) -> None:
    """The ballots that could not be used are asked for again, with the brief that was written without them."""
    with begun(tmp_path / "j", rounds=1, brief=True) as journal:
        current = CurrentState(driven(journal, Speaker(rounds=1), "a", "b"))
        while not current.state.complete:
            turn = current.state.due[0]
            text = rehearse.reply_for(current.state, turn)
            reply = Reply(text=text, brief_digest="0" * 64, spec="old")
            event = replies.parse_reply(current.state, turn, reply, None)
            if turn.phase.name == "verdict":
                event = Rejected(turn_id=turn.id, problems=("no JSON",), reply=reply, absent=True)
            record_event(journal, current, event)
        assert schedule.is_undecided(current.state)
        record_event(journal, current, Reopened())
        due = [turn.id for turn in schedule.turns_to_reopen(fold(journal.events[:-1]))]
        while not current.state.complete:
            turn = current.state.due[0]
            reply = Reply(text=rehearse.reply_for(current.state, turn), brief_digest="0" * 64, spec="new")
            record_event(journal, current, replies.parse_reply(current.state, turn, reply, None))

    debate = fold(read(tmp_path / "j").events)
    assert due == ["final.verdict.judge", "final.brief.rapporteur", "final.brief-check.rapporteur"]
    assert [turn for turn, event in debate.replies.items() if event.reply.spec == "new"] == due
    assert tally.verdict(debate) is not None and not schedule.is_undecided(debate)
    assert schedule.turns_to_reopen(debate) == []


def test_a_debate_whose_ballots_could_all_be_used_is_not_reopened(tmp_path: Path) -> None:
    """A vote that changed with the sides swapped, beside that of a stand-in, leaves no decision. Nothing is asked
    again: the answers would be the same."""
    cast = {"judge": ["command:x", "rehearse"]}
    with begun(tmp_path / "j", rounds=1, brief=True, mirror=True, cast=cast) as journal:
        current = CurrentState(driven(journal, Speaker(rounds=1), "a", "b"))
        while not current.state.complete:
            turn = current.state.due[0]
            spec = "rehearse" if turn.seat == "judge-2" else "command:x"
            reply = Reply(text=rehearse.reply_for(current.state, turn), brief_digest="0" * 64, spec=spec)
            record_event(journal, current, replies.parse_reply(current.state, turn, reply, None))

    verdict = tally.verdict(current.state)
    assert verdict is not None and verdict.winner == "no decision"
    assert not schedule.is_undecided(current.state)


def test_a_spoiled_speech_is_kept_and_asked_again(tmp_path: Path) -> None:
    """A debater whose speech is invalid twice stops the debate and is not an absence; resumed, it is asked again."""
    silent = Speaker(lambda brief: " " if brief.turn_id == "1.opening.b" else None, rounds=1)
    with begun(tmp_path / "j", rounds=1) as journal:
        with pytest.raises(ProviderFailed, match="the reply is empty"):
            driven(journal, silent)
        spoiled = [event for event in journal.events if isinstance(event, Rejected)]
        debate = driven(journal, Speaker(rounds=1))

    assert [event.turn_id for event in spoiled] == ["1.opening.b", "1.opening.b"]
    assert debate.complete


CHANCE = st.floats(0, 1, exclude_max=True)
SECONDS = st.floats(1, 86_400)


@many
@given(CHANCE, SECONDS)
def test_trouble_is_bounded(drawn: float, retry_for: float) -> None:
    """A wait is half to all of a doubling second, at most a minute, and never zero. However long trouble lasts, the
    waits together never exceed the time for retries, and there are at least two."""
    spent = 0.0
    for attempt in count(1):
        waited = next_delay(TransientError("x"), attempt, spent, retry_for, lambda: drawn)
        if waited is None:
            break
        whole = min(INITIAL_WAIT * 2 ** min(attempt - 1, 16), MAX_WAIT)
        assert min(whole / 2, retry_for / 4) <= waited <= whole and waited > 0
        spent += waited

    assert attempt > 2
    assert spent <= retry_for
    assert next_delay(TransientError("x"), 10_000, 0, retry_for, lambda: drawn)  # and no count is too large
