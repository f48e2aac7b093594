"""The verbs that step in from outside the seats: a question from the floor, and an early end."""

from __future__ import annotations

from pathlib import Path

import puppets
import pytest
from conftest import Run, finish, place_finished_debate

from debate_orchestrator.storage.journal import JournalWriter

J = "report.journal.jsonl"
WHY = "Why not next year?"


@pytest.fixture
def opened(debate: Run, answers: Path) -> Run:
    """A host-run debate whose first speech was given: the second opening is due, and its brief is laid."""
    puppets.answer(debate("open", "--answers", "answers.yaml", "--json").json["turns"])
    debate("step", J)
    return debate


def brief(turn: str) -> str:
    return Path(f"report.turns/{turn}.brief.md").read_text(encoding="utf-8")


def test_a_question_reaches_the_next_briefs(opened: Run) -> None:
    """It is said to whom it went and which briefs were put before it; those put after it hold it."""
    ran = opened("floor", J, WHY, "--to", "b", "--to", "judge")
    assert ran.out.startswith(
        f"From the floor, to Researcher B and Judge: {WHY}\n"
        "These turns were briefed before the question and will not see it: "
    )
    assert "1.opening.b." in ran.out and f"Continue with `debate step {J}`." in ran.out
    finish(opened, opened("step", J, "--json").json, rounds=2)
    assert WHY not in brief("1.opening.b") and WHY not in brief("1.challenge.a")
    assert all(WHY in brief(turn) for turn in ("1.challenge.b", "1.verdict.judge", "2.rebuttal.b"))
    assert f"*From the floor:* {WHY}" in Path("report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((WHY, "--to", "c"), "one of a, b, judge"),
        ((WHY, "--to", "judge-1"), "one of a, b, judge"),
        ((" ",), "is not a question of 1 to 2,000 characters"),
        (("x" * 2001,), "is not a question of 1 to 2,000 characters"),
    ],
)
def test_questions_that_will_not_do(opened: Run, given: tuple[str, ...], said: str) -> None:
    """A question to a seat that is not there, an empty one and one that is too long are refused; nothing is written."""
    before = Path(J).read_bytes()
    ran = opened("floor", J, *given)
    assert (ran.code, Path(J).read_bytes()) == (2, before)
    assert said in ran.err


def test_a_question_that_waits_is_not_put_again(opened: Run) -> None:
    """The same question is refused to a seat that has not heard it yet, and taken by other seats."""
    opened("floor", J, WHY, "--to", "b")
    before = Path(J).read_bytes()
    again = opened("floor", J, WHY)
    assert (again.code, Path(J).read_bytes()) == (2, before)
    assert "question: it was put to Researcher B before and has not been heard yet." in again.err
    assert opened("floor", J, WHY, "--to", "judge").code == 0


def test_an_early_end(opened: Run) -> None:
    """The phase under way is finished, then the verdict is due; the report tells that it was ended early."""
    ran = opened("close", J)
    assert ran.out.startswith("Ended early, after Opening Statement of round 1. Due now: 1.opening.b.")
    step = opened("step", J, "--json").json
    puppets.answer(step["turns"])
    assert [turn["turn"] for turn in opened("step", J, "--json").json["turns"]] == ["final.verdict.judge"]
    finish(opened, opened("step", J, "--json").json, rounds=2)
    report = Path("report.md").read_text(encoding="utf-8")
    assert "Ended early, after Opening Statement of round 1." in report
    assert opened("check", J).code == 0
    assert opened("replay", J).out.count("Ended early") == 1


def test_a_finished_debate(debate: Run, answers: Path) -> None:
    """Neither is there anything to ask or to end when it is over. Where it is judged again, judges alone are asked."""
    place_finished_debate(debate)
    assert [debate("close", J).code, debate("floor", J, WHY).code] == [2, 2]
    debate("judge", J, "--judge", "host", "--output", "again.md")
    ran = debate("floor", "again.journal.jsonl", WHY, "--to", "a")
    assert ran.code == 2 and "the speeches are on record, so no side can answer it. Try: put it to the" in ran.err
    assert "to Judge" in debate("floor", "again.journal.jsonl", WHY).out


def test_a_debate_that_is_being_driven(opened: Run) -> None:
    """While another process writes the journal, the keys of its terminal are named; nothing is written."""
    with JournalWriter(J):
        for ran in (opened("close", J), opened("floor", J, WHY)):
            assert ran.code == 2 and "Press f or e at the terminal where it runs" in ran.err
