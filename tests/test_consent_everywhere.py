"""Every verb on a stranger's journal, with a program in each place of its cast: none runs without consent."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import STATED, Run
from messages_server import Server

from debate_orchestrator.core.events import Reassigned
from debate_orchestrator.storage.journal import JournalWriter

TOUCHES = "command:sh -c 'touch marker; exit 1'"
"""A program that leaves a file where it is run."""
J = "r.journal.jsonl"
CASTS = {
    "a": (TOUCHES,),
    "b": (TOUCHES,),
    "judge": (TOUCHES, "host"),
    "second judge": ("rehearse", TOUCHES),
    "rapporteur": (TOUCHES,),
}
"""Whose seats a stranger gave away, and to whom."""
TAKES_TURNS = (
    f"step {J}",
    f"step {J} --json --one-agent",
    f"resume {J}",
    f"resume {J} --retry-for=1",
    f"resume {J} --a=rehearse --b=rehearse",
    f"resume {J} --judge=host --judge=rehearse",
)
"""What asks for consent, unless its flags give the seat away."""
READS = (
    f"report {J}",
    f"report {J} --to r.json",
    f"check {J}",
    f"replay {J}",
    f"compare {J} copy.journal.jsonl",
    f"answers --from {J}",
    f"floor {J} Why?",
)
"""What never takes a turn of the journal's cast."""


def stranger(debate: Run, seat: str, cast: tuple[str, ...], *, held: bool) -> None:
    """The journal of a debate that was begun elsewhere, at its first turns or with everything said but the verdict;
    then that cast took a seat."""
    waiting = ("judge", "rapporteur") if held else ("b", "judge") if seat == "b" else ("a", "b", "judge")
    filled = {role: "host" if role in waiting else "rehearse" for role in ("a", "b", "judge")}
    flags = [*(f"--{role}={spec}" for role, spec in filled.items()), f"--judge={filled['judge']}"]
    flags += [] if seat == "rapporteur" else ["--no-brief"]
    ran = debate("run", *STATED[:3], "--rounds=1", "--no-issues", "--output=r.md", "--retry-for=1", *flags)
    assert ran.code == 3, ran.err
    with JournalWriter(J) as journal:
        journal.append(Reassigned(seat=seat.rsplit(maxsplit=1)[-1], specs=cast))


@pytest.mark.parametrize(
    ("seat", "held"),
    [
        ("a", False),
        ("second judge", True),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("b", False), ("judge", True), ("rapporteur", False))
        ),
    ],
)
def test_no_verb_runs_a_program_unasked(
    debate: Run, monkeypatch: pytest.MonkeyPatch, here: Path, seat: str, held: bool
) -> None:
    """Neither a verb nor a flag that gives another seat away is consent to the program in a seat; --trust is."""
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "who held it"))
    stranger(debate, seat, CASTS[seat], held=held)
    before = Path(J).read_bytes()
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "who got it"))
    for verb in TAKES_TURNS + READS:
        shutil.rmtree("r.turns", ignore_errors=True)
        Path(J).write_bytes(before)
        Path("copy.journal.jsonl").write_bytes(before)
        ran = debate(*verb.split())
        assert not Path("marker").exists(), verb
        assert "touch" not in "".join((ran.out + ran.err).split("`")[1::2]), verb  # commands to paste
        if verb in READS or f"--{seat.rsplit(maxsplit=1)[-1]}=" in verb:
            assert ran.code in (0, 3), verb
        else:
            assert ran.code == 2 and "touch marker" in ran.err and "--trust" in ran.err, verb

    Path(J).write_bytes(before)
    debate("resume", J, "--trust")
    due = ("judge", "second judge", "rapporteur") if held else ("a", "b", "rapporteur")
    assert Path("marker").exists() == (seat in due)


MODEL = "anthropic:claude-opus-5-5"
JUDGED = f"judge r.rehearsed.journal.jsonl --judge={MODEL}"
PAYS = ("open --answers a.json", f"step {J}", "run --answers a.json", f"resume {J}", JUDGED)
"""What calls models that a file names, or for it."""


def dear_files(debate: Run) -> None:
    """Answers and a debate that name a dear model for every seat; in the debate a first turn is taken."""
    seats = ("a", "b", "judge")
    positions = {"a": "Tabs win.", "b": "Spaces win."}
    given = {"topic": "Tabs or spaces?", "positions": positions, "rounds": 1, "issues": False, "brief": False}
    Path("a.json").write_text(json.dumps(given | {"output": "new.md", "cast": dict.fromkeys(seats, MODEL)}))
    Path("b.json").write_text(json.dumps(given | {"output": "r.md", "cast": dict.fromkeys(seats, "host")}))
    due = debate("open", "--answers", "b.json", "--json").json["turns"]
    Path(due[0]["reply"]).write_text("Tabs are shorter, and each reader sets their width.")
    with JournalWriter(J) as journal:
        for seat in seats:
            journal.append(Reassigned(seat=seat, specs=(MODEL,)))


@pytest.mark.parametrize(
    ("verb", "flags"), [(PAYS[0], "--json"), (PAYS[1], ""), (PAYS[2], ""), (PAYS[3], "--json"), (PAYS[4], "")]
)
def test_what_it_takes_is_reported_before_the_first_call(
    debate: Run, server: Server, capfd: pytest.CaptureFixture[str], verb: str, flags: str
) -> None:
    """Every verb that calls models says first what they take; on stdout stands nothing of it."""
    dear_files(debate)
    if verb == JUDGED:
        debate("run", *STATED, "--rounds=1", "--output=r.md", "--model=rehearse")
    printed: list[str] = []

    def refused(request: dict[str, Any], n: int) -> dict[str, Any]:
        printed.append(capfd.readouterr().err)
        return {"status": 401}

    server.problem = refused
    ran = debate(*verb.split(), *flags.split())

    assert ran.code == 4, ran.err
    assert re.search(r"^\d+ calls?, about .*, about \$\d", printed[0], re.MULTILINE), printed
    assert "prices of" not in ran.out


@pytest.mark.parametrize("flags", ["--quiet", "--events"])
def test_who_asks_for_silence_has_it(debate: Run, server: Server, flags: str) -> None:
    """With --quiet stderr holds errors alone, and with --events JSON alone."""
    dear_files(debate)
    server.problem = lambda request, n: {"status": 401}

    assert "prices of" not in debate("run", "--answers", "a.json", flags).err


def test_a_step_that_calls_no_model_tells_no_price(debate: Run, answers: Path, here: Path) -> None:
    """Where all seats are the host's there is nothing to pay from here."""
    assert " calls, " not in debate("open", "--answers", "answers.yaml").err
    assert " calls, " not in debate("step").err


def test_a_step_takes_a_cap(debate: Run, server: Server) -> None:
    """`step --max-cost` limits what a stranger's journal may cost, as `resume` does, and refuses what it can't hold. A
    cap that is there it only lowers."""
    dear_files(debate)
    ran = debate("step", J, "--max-cost=0.0001")

    assert ran.code == 3 and "exceeds the cap of $0.00" in ran.err and not server.requests
    assert "max_cost: 'much' is not an amount in US dollars" in debate("step", J, "--max-cost=much").err
    with JournalWriter(J) as journal:
        journal.append(Reassigned(seat="b", specs=("anthropic:unheard-of",)))
    assert "can lower the cap on costs, not raise it" in debate("step", J, "--max-cost=3").err
    ran = debate("step", J, "--max-cost=0.00005")
    assert ran.code == 2 and "a cap can't be kept with anthropic:unheard-of" in ran.err
