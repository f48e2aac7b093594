"""A person as a provider: one turn after the other, at no cost, with nothing said that was not theirs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from debates import opening
from human_turns import PEOPLE

from debate_orchestrator.core import schedule
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.budget import unpriced_seats
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.engine.loop import run_loop
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.providers import registry, rehearse
from debate_orchestrator.providers.human import Human
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import Paused, ProviderFailed


class StandIn:
    """A person who says what a stand-in would."""

    one_at_a_time = True

    def __init__(self, leaves: str = "") -> None:
        self.asked: list[str] = []
        self.at_once = self.most = 0
        self.tidied = 0
        self._leaves = leaves

    async def answer(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        self.asked.append(turn.id)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.01)
        self.at_once -= 1
        if turn.id == self._leaves:
            raise Paused("left")
        return rehearse.reply_for(debate, turn)

    def tidy(self, debate: DebateState) -> None:
        self.tidied += 1


def held(here: Path, person: StandIn) -> DebateState:
    """A debate with persons in all seats."""
    with JournalWriter.create(here / "r.jsonl", opening(rounds=2, cast=PEOPLE)) as journal:
        debate = fold(journal.events)
        current = CurrentState(debate)
        seats = registry.make_providers(current)
        [human] = {id(one): one for one in seats.values()}.values()
        assert isinstance(human, registry.Personal)
        human.person = person
        try:
            asyncio.run(run_loop(journal, current, seats))
        except Paused:
            pass
        return fold(journal.events)


def test_a_debate_among_people(here: Path) -> None:
    """A whole debate is held by people, who are never asked two things at once; what is on record is who said it, and
    that it cost nothing."""
    person = StandIn()
    debate = held(here, person)

    assert debate.complete
    assert person.most == 1 and person.tidied == 1
    replies = [debate.reply(turn) for turn in schedule.settled(debate)]
    assert {(one.by, one.model, one.usage, one.cost, one.called) for one in replies} == {
        ("human", None, None, 0.0, False)
    }
    assert costs_of(debate).lines == ()


def test_a_person_who_leaves(here: Path) -> None:
    """What others said to the same stage is on record when a person leaves, and the turn that was left is due."""
    debate = held(here, StandIn(leaves="1.challenge.b"))

    assert [turn.id for turn in debate.due] == ["1.challenge.b"]
    assert not debate.failed["1.challenge.b"][0].unsure


def test_the_brief_is_that_of_any_model(here: Path) -> None:
    """A reply is on record with the digest of the same brief that any other provider would get."""
    debate = held(here, StandIn())
    others = fold([opening(rounds=2)])
    turn = schedule.turn(others, "1.opening.a")

    assert debate.asked["1.opening.a"][0].brief == brief(others, turn).digest
    assert debate.reply(schedule.turn(debate, "1.opening.a")).brief == brief(others, turn).digest


def test_no_terminal() -> None:
    """Without a terminal to ask at, the error says what to do instead."""
    debate = fold([opening(cast=PEOPLE)])

    with pytest.raises(ProviderFailed, match="debate open"):
        asyncio.run(
            Human(CurrentState(debate)).reply(brief(debate, schedule.turn(debate, "1.opening.a")), lambda piece: None)
        )


def test_how_a_person_is_named() -> None:
    """A person is `human` and nothing besides, argues or judges, and is no clerk and no moderator."""
    assert registry.cast_problems(PEOPLE) == []
    assert registry.cast_problems({"a": ("rehearse:human",)}) == []
    assert "Try: human" in registry.cast_problems({"a": ("human:Ann",)})[0]
    assert [len(registry.cast_problems({seat: ("human",)})) for seat in ("clerk", "moderator")] == [1, 1]
    assert "human" in registry.cast_problems({"a": ("x:y",)})[0]


def test_what_a_person_costs() -> None:
    """A person is not called, has a price that is known, and stands in estimates only as time."""
    told = estimate(opening(rounds=1, cast={**PEOPLE, "b": ("anthropic:claude-sonnet-5-5",)}))

    assert not model_spec.is_called("human")
    assert unpriced_seats(PEOPLE) == []
    assert told.calls == 1 and told.waits and told.persons
    assert "and what the other seats take" in told.sentence() and told.sentence().endswith(
        "; a person's turns cost nothing"
    )
    assert estimate(opening(cast=PEOPLE)).sentence() == "no calls; a person's turns cost nothing"
