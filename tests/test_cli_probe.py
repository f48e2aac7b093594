"""The verb `probe`: what it lists, refuses, asks for, saves and prints."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import small_tournaments
from conftest import Run
from messages_server import Server
from weak_judges import judge

from debate_orchestrator.core.events import Reassigned
from debate_orchestrator.engine import probe
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.running_elsewhere import lock_folder

OPUS, SONNET = "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-5-5"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two probes on one debate: five ballots of each judge."""
    names = ("bus-fares.original", "bus-fares.padded", "bus-fares.polish")
    cases = [case for case in probe.load() if case.name.startswith(names)]
    monkeypatch.setattr(probe, "load", lambda: cases)


def test_list(debate: Run) -> None:
    """Without a judge the probes are listed, with the ballots they take and the command. Nothing is written."""
    ran, data = debate("probe"), debate("probe", "--json").json

    assert ran.code == 0 and "Padded with filler (6 cases): One side says the same" in ran.out
    assert "36 cases in 3 debates, 39 ballots" in ran.out and "debate probe --judge" in ran.out
    assert (data["schema"], data["cases"], data["ballots"]) == (1, 36, 39)
    assert len(data["probes"]) == 7 and [*data["debates"]] == ["bus-fares", "code-review", "museum-storage"]
    assert list(Path().iterdir()) == []
    assert "example: debate probe --judge" in debate("probe", "--help").out


MISTAKES = {
    "--times=2 --max-cost=1": "--judge is missing",
    "--judge=host": 'a program such as "command:claude -p"',
    "--judge=openrouter:v/m": "OPENROUTER_API_KEY",
    "--judge=rehearse --times=0": "1 to 20",
    "--judge=command:cat --max-cost=1": "whose price is unknown",
    "--judge=rehearse --output=taken": "taken",
}


def test_mistakes(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake ends with exit code 2, as JSON too, before anything is asked or written."""
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    Path("taken").write_text("a file", encoding="utf-8")
    for flags, problem in MISTAKES.items():
        ran, data = debate("probe", *flags.split()), debate("probe", *flags.split(), "--json")
        assert (ran.code, data.code) == (2, 2)
        assert problem in ran.err and problem in " ".join(data.json["complaints"])
        assert list(Path().iterdir()) == [Path("taken")]


def test_a_scorecard_is_written(debate: Run, few: None, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The scorecard is printed, and written as a document and as data. The second time nothing is asked. A judge's
    arguments are shown nowhere, and the journal of a ballot is one like any other."""
    folder = tmp_path_factory.mktemp("judge")
    log = folder / "log"
    command = ("probe", f"--judge={judge('long', folder, str(log))}", "--output=out/here")
    ran, again, data = debate(*command), debate(*command, "--quiet"), debate(*command, "--json")
    document = Path("out/here/scorecard.md").read_text(encoding="utf-8")
    written = json.loads(Path("out/here/scorecard.json").read_text(encoding="utf-8"))
    journal = next(Path("out/here").rglob("bus-fares.padded.b.1.journal.jsonl"))

    assert (ran.code, again.code, data.code, data.err) == (0, 0, 0, "")
    row = "| Padded with filler |     2 |           2 |         0 | 100 % (34 % to 100 %) |         +3 |"
    assert row in ran.out and row in document and (again.out, again.err) == (ran.out, "")
    assert "5 of 5 ballots to go: 5 calls" in ran.err and "; 0 ballots to go" in ran.err
    assert log.read_text(encoding="utf-8").count("asked") == 5
    assert str(folder) not in ran.out + document + json.dumps(written) + str(journal)
    assert data.json == written | {"scorecard": "out/here/scorecard.md", "data": "out/here/scorecard.json"}
    assert (written["schema"], written["status"], written["confidence"]) == (1, "done", 0.95)
    assert "Complete." in debate("check", str(journal)).out


def test_the_cap_is_for_all_ballots_in_the_folder(debate: Run, few: None, plain_server: Server) -> None:
    """What another judge's ballots cost counts too, and so do further repeats. Its scorecard is replaced, though other
    judges are named; one that was edited is kept. A second probe of the folder is refused meanwhile."""
    plain_server.say = small_tournaments.replied
    agreed = "--max-cost=5", "--json"
    spent = debate("probe", f"--judge={OPUS}", "--times=2", *agreed).json["judges"][0]["usd"]
    cap = f"--max-cost={spent + 0.0001:.4f}"
    Path("judge-probe/another").mkdir()
    Path("judge-probe/another/begun.journal.jsonl").touch()  # a journal of an interrupted probe of another judge
    for judge_flags in ((f"--judge={SONNET}",), (f"--judge={OPUS}", f"--judge={SONNET}")):
        ran = debate("probe", *judge_flags, cap)
        assert ran.code == 3 and f"with ${spent:.4f} spent" in ran.err and "is kept as" not in ran.err

    with lock_folder("judge-probe", "", ""):  # two at once would each spend the whole cap
        ran = debate("probe", f"--judge={OPUS}", "--times=2")
    assert ran.code == 2 and "Another `debate probe` runs in judge-probe" in ran.err
    assert debate("probe", f"--judge={OPUS}", "--times=2").code == 0

    document = Path("judge-probe/scorecard.md")
    document.write_text("my words", encoding="utf-8")
    assert "scorecard.md was edited" in debate("probe", f"--judge={SONNET}", "--max-cost=5").err
    assert Path("judge-probe/scorecard.edited.md").read_text(encoding="utf-8") == "my words"


def laid(spec: str) -> Path:
    """A ballot that a stranger put into the folder for the judge `rehearse`, and in which another one is to go on."""
    ballot = probe.ProbeRun(probe.load(), ["rehearse"], "judge-probe").tasks[0]
    opened, speeches = probe.make_opened(ballot.case, ballot.judge)
    Path(ballot.path).parent.mkdir(parents=True)
    with JournalWriter.create(ballot.path, opened) as writer:
        for event in [*speeches, *([Reassigned(seat="judge", specs=(spec,))] if spec else [])]:
            writer.append(event)
    return Path(ballot.path)


def test_a_strangers_ballots_are_not_counted(debate: Run, few: None) -> None:
    """Ballots that this user did not make there are refused with what to do. They count once the user says so, and need
    no further consent then; nor do the user's own, and one that has no answer yet is simply continued."""
    begun = laid("")
    size = begun.stat().st_size
    assert debate("probe", "--judge=rehearse").code == 0 and begun.stat().st_size > size
    assert debate("probe", "--judge=rehearse", "--times=2", "--quiet").code == 0

    Path("judge-probe").rename("moved")
    ran = debate("probe", "--judge=rehearse", "--output=moved")
    assert ran.code == 2 and "5 ballots" in ran.err and "--trust" in ran.err
    assert debate("probe", "--judge=rehearse", "--output=moved", "--trust").code == 0
    assert debate("probe", "--judge=rehearse", "--output=moved").code == 0


def test_an_interrupt_is_reported_at_the_end(debate: Run, few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the exit code is 130, also where every ballot under way was the last one; the same command then
    writes the scorecard."""
    ask = probe.ProbeRun.run

    async def interrupted(*arguments: Any) -> list[Any]:
        failures = await ask(*arguments)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.1)
        return failures

    monkeypatch.setattr(probe.ProbeRun, "run", interrupted)
    ran = debate("probe", "--judge=rehearse")
    assert ran.code == 130 and "5 of 5 ballots are saved. Run the same command again for the scorecard." in ran.err
    monkeypatch.setattr(probe.ProbeRun, "run", ask)
    assert debate("probe", "--judge=rehearse").code == 0
