"""A rehearsal walks through a whole debate, in every shape that is asked for, and calls no model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from debates import opening
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Spoke, Voted
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.schema import Field, Shape, ShapeContext, check
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.loop import run_loop
from debate_orchestrator.providers.registry import cast_problems, make_providers
from debate_orchestrator.providers.rehearse import filled
from debate_orchestrator.storage.journal import JournalWriter

STAND_IN = "rehearse:anthropic:claude-opus-5-5"
TERMS = ShapeContext(
    sides=("a", "b"),
    criteria=("x", "y"),
    least=1,
    most=10,
    rounds=2,
    strictness="strict",
    turns=("1.o.a", "1.o.b"),
    scales={"y": (0, 1)},
)


def rehearsed(path: Path, judges: int = 1, **setup: object) -> DebateState:
    """A debate driven to its end with stand-ins in every seat."""
    cast = {"a": (STAND_IN,), "b": ("rehearse",), "judge": ("rehearse:host",) * judges}
    with JournalWriter.create(path, opening(cast=cast, **setup)) as journal:  # type: ignore[arg-type]
        debate = fold(journal.events)
        current = CurrentState(debate)
        return asyncio.run(run_loop(journal, current, make_providers(current)))


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "strictness", "judges"), [(1, "lenient", 1), (2, "strict", 3), (6, "strict", 1)])
def test_it_goes_through_a_whole_debate(tmp_path: Path, rounds: int, strictness: str, judges: int) -> None:
    """Every turn is settled at the first attempt, in the shape asked for, and nothing converges or is conceded."""
    debate = rehearsed(tmp_path / "j", judges, rounds=rounds, strictness=strictness)

    assert debate.complete
    assert debate.rejected == {} and costs_of(debate).lines == ()
    assert {type(one) for one in debate.answers.values()} == {Spoke, Voted}
    assert len(tally.results(debate)) == rounds
    assert tally.conceded(debate) is None
    assert not any(tally.intervened(debate, n) for n in range(1, rounds + 1))


def test_it_says_what_it_is(tmp_path: Path) -> None:
    """Each speech says in its first sentence that it is a rehearsal of that turn, and is about as long as asked."""
    debate = rehearsed(tmp_path / "j")
    speeches = [turn for turn in schedule.settled(debate) if turn.phase.words]
    texts = [debate.reply(turn).text for turn in speeches]

    for turn, text in zip(speeches, texts, strict=True):
        first = text.partition(".\n")[0].split(". ")[0]
        assert "rehearsal" in first
        assert turn.id in first
        assert 0.9 * (turn.phase.words or 0) <= len(text.split()) <= (turn.phase.words or 0)
    assert len(set(texts)) == len(texts)


def test_it_depends_on_the_turn_alone(tmp_path: Path) -> None:
    """The same debate is rehearsed the same way again."""
    one, two = (rehearsed(tmp_path / name, rounds=2) for name in ("one", "two"))

    assert {t: a.reply.text for t, a in one.answers.items()} == {t: a.reply.text for t, a in two.answers.items()}


def test_marks_vary_and_agree(tmp_path: Path) -> None:
    """Ballots differ from round to round, and name the side to which they give more."""
    debate = rehearsed(tmp_path / "j", rounds=6)
    results = tally.results(debate)

    assert len({tuple(result.scores.items()) for result in results}) > 1
    assert [result.winner for result in results] == [result.leader for result in results]
    verdict = tally.verdict(debate)
    assert verdict is not None
    assert set(verdict.remarks) <= {"scores are equal"}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("rehearse:oracle:x", "cast: a: 'oracle:x' is not a model spec"),
        ("rehearse:anthropic:", "cast: a: '' is not the name of a model"),
        ("rehearse:rehearse:host", "cast: a: 'rehearse:host' is a rehearsal already"),
    ],
)
def test_whom_it_cannot_stand_in_for(spec: str, said: str) -> None:
    """It can't stand in for a model that could not be called, nor for a stand-in."""
    (found,) = cast_problems({"a": (spec,)})

    assert found.startswith(said)


PLAIN = st.one_of(
    st.builds(Field, kind=st.sampled_from(["text", "url", "flag", "turns", "scores"])),
    st.builds(Field, kind=st.just("text"), words=st.integers(1, 60)),
    st.builds(Field, kind=st.sampled_from(["text", "choice", "turns", "list"]), per_side=st.booleans()),
    st.builds(Field, kind=st.sampled_from(["choice", "choices"]), of=st.sampled_from([(), ("x",), ("tie", "b")])),
    st.builds(Field, kind=st.just("number"), least=st.integers(-5, 5), most=st.integers(5, 9), whole=st.booleans()),
    st.builds(Field, kind=st.sampled_from(["text", "choice", "list"]), optional=st.just(True)),
)


@st.composite
def shapes(draw: st.DrawFn, depth: int = 2) -> Shape:
    """Shapes with fields that depend on others, before and behind them, and with records within."""
    made: Shape = draw(st.dictionaries(st.sampled_from("pqrs"), PLAIN, min_size=1))
    made["seen"] = Field(kind="flag")
    made["winner"] = Field(kind="choice", of=("a", "b", "tie"))
    wanted = draw(st.sampled_from([{"seen": False}, {"seen": True}, {"winner": "a"}]))
    made["why"] = Field(kind=draw(st.sampled_from(["text", "choices", "turns"])), only_if=wanted)
    made["last"] = Field(kind="text", only_if={"seen": False})
    made["case"] = Field(kind=draw(st.sampled_from(["text", "url", "list", "turns"])), unless=wanted)
    if depth:
        made["in"] = Field(kind=draw(st.sampled_from(["record", "list"])), fields=draw(shapes(depth - 1)))
    names = draw(st.permutations(list(made)))
    return {name: made[name] for name in names}


@given(shape=shapes())
def test_any_shape_is_filled(shape: Shape) -> None:
    """Whatever a format asks for, what is made passes its check; so does what is made again."""
    made = filled(shape, TERMS, "1.verdict.judge", {"winner": "a"})

    assert check(shape, made, TERMS) == []
    assert made == filled(shape, TERMS, "1.verdict.judge", {"winner": "a"})


@pytest.mark.parametrize("judges", [1, 3])
def test_what_is_rehearsed_does_not_hang_on_names(tmp_path: Path, judges: int) -> None:
    """A stand-in says the same of the positions in both presentations, so that no vote of a rehearsal flips."""
    debate = rehearsed(tmp_path / "j", judges, rounds=2, mirror=True, quorum=judges)
    verdict = tally.verdict(debate)

    assert debate.rejected == {}
    assert tally.flips(debate) == (0, 3 * judges)
    assert verdict is not None and verdict.winner != "no decision"
