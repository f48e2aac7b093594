"""A step that waits for replies: what it was given is saved first, and the debate is the same afterwards."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import scripted_replies
from conftest import Run
from started import started

from debate_orchestrator.cli import step
from debate_orchestrator.core.events import QuestionAsked
from debate_orchestrator.core.fold import fold
from debate_orchestrator.host import turns_folder
from debate_orchestrator.setup.state import load
from debate_orchestrator.storage.journal import JournalWriter, read

J = "report.journal.jsonl"


@pytest.fixture
def two_due(debate: Run, opened: dict[str, Any]) -> list[dict[str, Any]]:
    """Two turns of an open debate that are due at the same time."""
    output = opened
    while len(output["turns"]) == 1:
        scripted_replies.answer(output["turns"], rounds=2)
        output = debate("step", J, "--json").json
    turns: list[dict[str, Any]] = output["turns"]
    return turns


def test_a_reply_is_saved_before_the_wait(
    debate: Run, two_due: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, standard_input: Callable[[str], None]
) -> None:
    """A reply from standard input is on record while the step waits for others, and is reported as accepted after
    that."""
    typed, filed = two_due
    saved: list[bool] = []

    def waits(journal: str, *_: object) -> None:
        saved.append(typed["turn"] in fold(read(journal).events).replies)
        if len(saved) == 1:
            raise KeyboardInterrupt
        scripted_replies.answer([filed])

    def handed_in(name: str) -> Any:
        standard_input("From the input.")
        return debate("step", J, f"{name}=-", "--wait", "9", "--json")

    monkeypatch.setattr(step, "wait", waits)
    ended = handed_in(typed["turn"])
    assert (ended.code, saved) == (130, [True]) and "Lost" not in ended.err
    whole = handed_in(typed["turn"])
    assert whole.code == 0 and [one["turn"] for one in whole.json["accepted"]] == [filed["turn"]]


def test_one_step_takes_what_was_given_before_and_during_its_wait(
    debate: Run, two_due: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a step accepts before its wait and after it is reported once and together, with the refusals."""
    given, filed = two_due
    Path("given.md").write_text("From a file.", encoding="utf-8")
    monkeypatch.setattr(step, "wait", lambda *_: scripted_replies.answer([filed]))
    ran = debate("step", J, f"{given['turn']}=given.md", "9.opening.a=given.md", "--wait", "9", "--json")

    assert [one["turn"] for one in ran.json["accepted"]] == [given["turn"], filed["turn"]]
    assert ran.code == 2 and len(ran.json["complaints"]) == 1 and "9.opening.a" in ran.json["complaints"][0]
    assert "awaited" not in ran.json and ran.json["turns"]


def test_a_wait_without_replies_needs_no_journal_of_its_own(
    debate: Run, two_due: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that was given no reply waits also while another process writes the journal."""
    writer = JournalWriter(J)

    def waits(*_: object) -> None:
        writer.close()
        scripted_replies.answer(two_due)

    monkeypatch.setattr(step, "wait", waits)
    monkeypatch.setattr(step, "_LOCK_SECONDS", 0.0)
    ran = debate("step", J, "--wait", "9", "--json")
    writer.close()
    assert ran.code == 0 and len(ran.json["accepted"]) == 2


def awaited(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_wait_leaves_the_journal_free(debate: Run, two_due: list[dict[str, Any]]) -> None:
    """While a step waits, another process may write to the debate, and both find what the other wrote."""
    given, filed = two_due
    Path("given.md").write_text("From a file.", encoding="utf-8")
    with started("step", J, f"{given['turn']}=given.md", "--wait", "60", "--json") as waiting:
        awaited(lambda: given["turn"] in fold(read(J).events).replies)
        awaited(lambda: debate("floor", J, "What does it cost?", "--to", "b").code == 0)
        assert waiting.look() is None
        scripted_replies.answer([filed])
        ended = waiting.end(within=60)

    assert ended.code == 0 and [one["turn"] for one in json.loads(ended.out)["accepted"]] == [
        given["turn"],
        filed["turn"],
    ]
    assert "What does it cost?" in [event.question for event in read(J).events if isinstance(event, QuestionAsked)]


def test_a_wait_leaves_the_answers_file_free(debate: Run, here: Path) -> None:
    """While an `ask` waits for the moderator, another one may answer; neither loses what the other wrote."""
    (turn,) = debate("ask", "setup.yaml", "topic=tabs or spaces?").json["turns"]
    with started("ask", "setup.yaml", "rounds=2", "--wait", "60") as waiting:
        awaited(lambda: "rounds" in load("setup.yaml").answers)
        assert debate("ask", "setup.yaml", "strictness=lenient").code == 0
        assert waiting.look() is None
        restated = {"ambiguous": False, "restated": "Tabs win.", "recommended": None, "alternative": None}
        Path(turn["reply"]).write_text(json.dumps(restated), encoding="utf-8")
        ended = waiting.end(within=60)

    assert ended.code == 0 and json.loads(ended.out)["status"] == "ask", ended
    kept = load("setup.yaml")
    assert (kept.answers["rounds"], kept.answers["strictness"]) == (2, "lenient")
    assert kept.progress.proposal and not list(here.glob("*.edited*"))


def test_a_journal_that_was_cut_during_a_wait(
    debate: Run, opened: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step does not continue with a journal that lost the reply it accepted."""
    turn, whole = opened["turns"][0]["turn"], Path(J).read_bytes()
    Path("given.md").write_text("From a file.", encoding="utf-8")
    monkeypatch.setattr(step, "wait", lambda *_: Path(J).write_bytes(whole))
    ran = debate("step", J, f"{turn}=given.md", "--wait", "9", "--json")

    assert ran.code == 2 and "replaced or cut" in ran.json["complaints"][0]
    assert Path(J).read_bytes() == whole


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What happens in the pauses of a step, one after another, instead of waiting. Files are whole after a second."""
    happenings = list[Callable[[], object]]()
    clock = SimpleNamespace(monotonic=time.monotonic, time=time.time, sleep=lambda _: happenings.pop(0)())
    monkeypatch.setattr(turns_folder, "time", clock)
    monkeypatch.setattr(turns_folder, "_QUIET_SECONDS", 1.0)
    return happenings


def accepted(output: dict[str, Any]) -> list[tuple[str, int]]:
    return [(one["turn"], one["words"]) for one in output["accepted"]]


def write_rest(path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write("And the rest.")


def test_a_reply_that_is_being_written_is_left(
    debate: Run, opened: dict[str, Any], pauses: list[Callable[[], object]]
) -> None:
    """A file that grows within a second is not a reply yet: the step says so, and a later one takes all of it. One that
    has not changed for a second is taken at once."""
    (turn,) = opened["turns"]
    Path(turn["reply"]).write_text("The first half. ", encoding="utf-8")
    pauses.append(lambda: write_rest(turn["reply"]))
    early = debate("step", J, "--json")
    assert (early.code, early.json["accepted"], early.json["turns"]) == (0, [], [turn])
    sentence = f"{turn['turn']}: the reply at {turn['reply']} is still being written, and is left for the next call."
    assert early.json["awaited"] == [sentence]

    os.utime(turn["reply"], (time.time() - 2, time.time() - 2))
    assert accepted(debate("step", J, "--json").json) == [(turn["turn"], 6)]
    assert fold(read(J).events).replies[turn["turn"]].reply.text == "The first half. And the rest."


def test_a_reply_that_was_just_written_is_taken(
    debate: Run, opened: dict[str, Any], pauses: list[Callable[[], object]]
) -> None:
    """A step right after a reply waits a second, and takes it; by a clock that is behind, too."""
    (turn,) = opened["turns"]
    Path(turn["reply"]).write_text("All of it.", encoding="utf-8")
    os.utime(turn["reply"], (time.time() + 9, time.time() + 9))
    pauses.append(lambda: None)
    assert accepted(debate("step", J, "--json").json) == [(turn["turn"], 3)] and not pauses


def test_a_wait_ends_when_the_reply_is_whole(
    debate: Run, opened: dict[str, Any], pauses: list[Callable[[], object]]
) -> None:
    """`--wait` goes on while the file still grows."""
    (turn,) = opened["turns"]
    first_half = partial(Path(turn["reply"]).write_text, "The first half. ", encoding="utf-8")
    pauses += [first_half, lambda: write_rest(turn["reply"]), *[lambda: None] * 3]
    ran = debate("step", J, "--json", "--wait", "60").json
    assert accepted(ran) == [(turn["turn"], 6)] and "awaited" not in ran and not pauses


def test_a_named_file_that_is_being_written_is_refused(
    debate: Run, opened: dict[str, Any], pauses: list[Callable[[], object]]
) -> None:
    """`TURN=FILE` is refused while the file grows, and can be given again."""
    Path("a.md").write_text("The first half. ", encoding="utf-8")
    pauses.append(lambda: write_rest("a.md"))
    ran = debate("step", J, "--json", "1.opening.a=a.md")
    problem = "1.opening.a: a.md is still being written. Try: hand it in once it is whole."
    assert (ran.code, ran.json["complaints"], ran.json["accepted"]) == (2, [problem], [])
