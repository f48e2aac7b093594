"""A step that waits for replies: what it was given is saved first, and the debate is the same afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import puppets
import pytest
from conftest import Run

from debate_orchestrator.cli import step
from debate_orchestrator.core.fold import fold
from debate_orchestrator.storage.journal import read

J = "report.journal.jsonl"


def test_a_reply_is_saved_before_the_wait(
    debate: Run, opened: dict[str, Any], monkeypatch: pytest.MonkeyPatch, standard_input: Callable[[str], None]
) -> None:
    """A reply from standard input is on record while the step waits for others, and is told as accepted after that."""
    told = opened
    while len(told["turns"]) == 1:
        puppets.answer(told["turns"], rounds=2)
        told = debate("step", J, "--json").json
    typed, filed = told["turns"]
    saved: list[bool] = []

    def waits(journal: str, *_: object) -> None:
        saved.append(typed["turn"] in fold(read(journal).events).replies)
        if len(saved) == 1:
            raise KeyboardInterrupt
        puppets.answer([filed])

    def handed_in(name: str) -> Any:
        standard_input("From the input.")
        return debate("step", J, f"{name}=-", "--wait", "9", "--json")

    monkeypatch.setattr(step, "wait", waits)
    ended = handed_in(typed["turn"])
    assert (ended.code, saved) == (130, [True]) and "Lost" not in ended.err
    whole = handed_in(typed["turn"])
    assert whole.code == 0 and [one["turn"] for one in whole.json["accepted"]] == [filed["turn"]]


def test_one_step_takes_what_was_given_before_and_during_its_wait(
    debate: Run, opened: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a step accepts before its wait and after it is told once and together, with the refusals."""
    told = opened
    while len(told["turns"]) == 1:
        puppets.answer(told["turns"], rounds=2)
        told = debate("step", J, "--json").json
    given, filed = told["turns"]
    Path("given.md").write_text("From a file.", encoding="utf-8")
    monkeypatch.setattr(step, "wait", lambda *_: puppets.answer([filed]))
    ran = debate("step", J, f"{given['turn']}=given.md", "9.opening.a=given.md", "--wait", "9", "--json")

    assert [one["turn"] for one in ran.json["accepted"]] == [given["turn"], filed["turn"]]
    assert ran.code == 2 and len(ran.json["complaints"]) == 1 and "9.opening.a" in ran.json["complaints"][0]
    assert "missing" not in ran.json and ran.json["turns"]


def test_a_journal_that_was_cut_during_a_wait(
    debate: Run, opened: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step does not go on with a journal that lost the reply it accepted."""
    turn, whole = opened["turns"][0]["turn"], Path(J).read_bytes()
    Path("given.md").write_text("From a file.", encoding="utf-8")
    monkeypatch.setattr(step, "wait", lambda *_: Path(J).write_bytes(whole))
    ran = debate("step", J, f"{turn}=given.md", "--wait", "9", "--json")

    assert ran.code == 2 and "replaced or cut" in ran.json["complaints"][0]
    assert Path(J).read_bytes() == whole
