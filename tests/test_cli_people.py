"""A person sits only where there is a terminal to ask them at; elsewhere that is reported before anything is
written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import STATED, Run
from debates import opened_event
from human_turns import PEOPLE

from debate_orchestrator.cli import driving, resume, run
from debate_orchestrator.cli import judge as judge_verb
from debate_orchestrator.cli.driving import terminal_people
from debate_orchestrator.engine.debate import continue_debate, seat_providers
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util.messages import ignore

SETUP = (*STATED, "--output=r.md")
OTHERS = ("--b=rehearse", "--judge=rehearse")


@pytest.mark.parametrize("verb", ["run", "open"])
def test_without_a_terminal(verb: str, debate: Run) -> None:
    """A debate with a person is not opened where no questions can be asked, and what can be done instead is
    reported."""
    ran = debate(verb, *SETUP, "--a=human", *OTHERS)

    assert ran.code == 2
    assert "cast: a: a human needs a terminal" in ran.err and "Try: --a host; `debate step` then writes" in ran.err
    assert os.listdir() == []


def test_a_step_asks_no_person(debate: Run) -> None:
    """A host's step on a debate with a person changes nothing, and says where it goes on."""
    with JournalWriter.create("r.journal.jsonl", opened_event(rounds=1, cast=PEOPLE)):
        pass
    ran = debate("step", "r.journal.jsonl")

    assert ran.code == 2
    assert "`debate resume r.journal.jsonl`" in ran.err and "--a host" in ran.err
    assert len(read("r.journal.jsonl").events) == 1


@pytest.mark.parametrize("verb", ["run", "resume", "judge"])
def test_events_are_not_reported_at_a_persons_terminal(verb: str, debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events hold ballots and speeches that a person at the same terminal must not see: both together are refused, with
    another way, before anything is written."""
    for module in (driving, run, resume, judge_verb):
        monkeypatch.setattr(module, "at_terminal", lambda shown: True)
    journal = next((Path(__file__).parent.parent / "examples").glob("*/*.journal.jsonl"))
    debate("open", *SETUP, "--rounds=1", "--a=host", *OTHERS)
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    panel = ("--judge=human", "--judge=rehearse", "--events")
    given = {
        "run": (*SETUP[:-1], "--output=new.md", "--a=rehearse", "--b=rehearse", *panel),
        "resume": ("r.journal.jsonl", *panel),
        "judge": (str(journal), *panel),
    }
    ran = debate(verb, *given[verb])

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("can't share the terminal with --events") == 1
    assert "Leave --events out: the journal gets the same events" in ran.err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_person_is_reached(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every seat for a person gets the one at this terminal; where there is no such seat, there is no person."""
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        person = terminal_people(PEOPLE, "r.drafts")
        JournalWriter.create("r.journal.jsonl", opened_event(cast=PEOPLE)).close()
        with continue_debate("r.journal.jsonl", ignore) as session:
            providers = seat_providers(session, people=person)

    assert person is not None
    assert {human.people for human in providers.values()} == {person}
    assert terminal_people({"a": ("host",), "judge": ("rehearse",)}, "r.drafts") is None
