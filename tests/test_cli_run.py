"""`run` and `resume`: from answers to a report by real calls, within a cap, with another cast, or with stand-ins."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import STATED, Run
from messages_server import Server

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import BudgetChanged
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.storage.journal import read

J = "r.journal.jsonl"
SETUP = (*STATED, "--output=r.md")


@pytest.fixture
def server(plain_server: Server) -> Server:
    return plain_server


def debate_of(journal: str = J) -> DebateState:
    return fold(read(journal).events)


def test_one_line_a_turn(debate: Run, server: Server) -> None:
    """Without a terminal each turn has one line: turn, words, cost, seconds and model. An estimate precedes
    them, and the cost by seat follows. A seat of the complete debate can't be given away then: the way to other judges
    is named."""
    ran = debate("run", *SETUP, "--rounds=1")
    lines = [line for line in ran.err.splitlines() if line.startswith("  ")]

    turns = ["1.opening.a", "1.opening.b", "1.verdict.judge", "final.verdict.judge", "final.dissent.judge"]
    assert [line.split(":")[0].strip() for line in lines] == turns
    expected = r"  1\.opening\.a: 64 words, \$0\.\d{4} \(\$0\.\d{4} so far\), \d+\.\d s, anthropic:claude-sonnet-5-5"
    assert re.fullmatch(expected, lines[0])
    assert "Scores: A: 7 | B: 6 | Winner: A" in ran.err.splitlines()
    paid = costs_of(debate_of()).total.cost
    assert "\n5 calls, about" in ran.err and f"5 calls: ${paid:.4f} (a $" in ran.err
    assert "## Calls and Cost" in Path("r.md").read_text(encoding="utf-8")
    assert "\x1b" not in ran.err + ran.out

    before = Path(J).read_bytes()
    given = debate("resume", J, "--judge=anthropic:m")
    assert given.code == 2 and "debate judge" in given.err and Path(J).read_bytes() == before


def test_quiet_says_nothing(debate: Run, server: Server) -> None:
    """With --quiet there is the closing line alone; with trouble that passes too."""
    server.problem = lambda request, n: {"status": 529} if n == 1 else None
    ran = debate("run", *SETUP, "--rounds=1", "--quiet")

    assert (ran.code, ran.err, ran.out.count("\n")) == (0, "", 1)


def test_events(debate: Run, server: Server) -> None:
    """With --events a program gets each event as it is recorded, those of before first, and nothing else is said."""
    server.problem = lambda request, n: {"status": 401} if n == 2 else None
    first = debate("run", *SETUP, "--rounds=1", "--events")
    server.problem = lambda request, n: None
    *progress, problem = [line for line in first.err.splitlines() if line.startswith("{")], first.err.splitlines()[-1]
    again = debate("resume", J, "--events", "--json")
    events = [json.loads(line) for line in again.err.splitlines()]

    assert (first.code, again.code) == (4, 0)
    assert problem.startswith("debate: ")
    assert [json.loads(line) for line in progress[0]] == events[: len(progress[0])]
    assert {one["schema"] for one in events} == {1}
    assert [one["event"] for one in events] == [event.model_dump(mode="json") for event in read(J).events]
    assert again.json["status"] == "done"
    assert debate("run", *SETUP, "--events", "--quiet").code == 2


def test_a_cap_pauses_between_turns(debate: Run, server: Server) -> None:
    """Before the cap would be passed, the debate is paused: saved, with what it came to; a higher cap goes on."""
    ran = debate("run", *SETUP, "--rounds=1", "--max-cost=0.03")
    spent = costs_of(debate_of()).total.cost

    assert ran.code == 3
    assert 0 < spent <= 0.03
    assert "max_cost" in ran.err and "--max-cost" in ran.err
    assert debate("resume", J).code == 3
    before = len(server.requests)
    assert debate("resume", J, "--max-cost=1").code == 0
    assert len(server.requests) - before == len(debate_of().replies) - before
    assert [event.max_cost for event in read(J).events if isinstance(event, BudgetChanged)] == [1.0]


def test_a_rehearsal(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With stand-ins no model is called: every brief is laid out, the estimate is of the real cast, all is marked."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    ran = debate("run", *SETUP, "--rehearse", "--rounds=2", "--judge=anthropic:claude-opus-5-5")
    report = Path("r.rehearsed.md").read_text(encoding="utf-8")

    assert ran.code == 0, ran.err
    assert "16 calls, about" in ran.err and "$" in ran.err
    assert ran.out.startswith("Debate rehearsed.")
    assert "Rehearsed: stand-ins spoke" in report
    assert "No winner: only stand-ins judged." in report and "prevailed" not in report
    assert {path.name for path in Path("r.rehearsed.turns").iterdir()} >= {
        "1.opening.a.brief.md",
        "final.dissent.judge.brief.md",
    }
    assert debate_of("r.rehearsed.journal.jsonl").cast["judge"] == ("rehearse:anthropic:claude-opus-5-5",)
    assert not costs_of(debate_of("r.rehearsed.journal.jsonl")).lines
    assert "16 calls, about" in report
    misspelt = debate("run", "Do we?", "--rehearse", "--rounds=1", "--a=anthropic:claude-sonet-5-5", "--max-cost=2")
    assert misspelt.code == 0 and [line[:60] for line in misspelt.err.splitlines()[-3:]] == [
        "Next: fix the problems listed below. Then set ANTHROPIC_API_KEY, or n"[:60],
        "debate: warning, for the real debate: anthropic:claude-sonet-5-5"[:60],
        "debate: warning, for the real debate: max_cost: a cap can't be kept"[:60],
    ]


def settings(path: str) -> dict[str, Any]:
    first: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8").splitlines()[0])["event"]
    return first


def test_settings_come_from_file_and_flags(debate: Run, server: Server) -> None:
    """Search, retries and the shared cache are settings like others: of the file, overridden by flags, and kept."""
    answers = "topic: T\npositions: {a: x, b: y}\nrounds: 1\nsearch: true\nretry_for: 30\noutput: r.md\n"
    Path("a.yaml").write_text(f"{answers}issues: false\nbrief: false\n", encoding="utf-8")
    debate("run", "--answers=a.yaml", "--retry-for=45", "--share-cache")
    kept = settings(J)

    assert tuple(kept["settings"][key] for key in ("search", "retry_for", "share_cache")) == (True, 45.0, True)
    assert ["web_search" in json.dumps(one.get("tools", "")) for one in server.requests] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert debate("run", "--answers=a.yaml", "--retry-for=0", "--output=s.md").code == 2


def test_a_new_cast_keeps_to_the_cap(debate: Run, server: Server) -> None:
    """A seat can't be given, under a cap, to a model whose price is unknown; nothing is changed by trying. A cap is an
    amount above 0, or none."""
    debate("run", *SETUP, "--rounds=1", "--max-cost=0.001")
    before = Path(J).read_bytes()

    assert debate("resume", J, "--a=command:cat").code == 2
    assert debate("resume", J, "--max-cost=5", "--judge=host", "--judge=host").code == 2  # a panel keeps its size
    assert debate("resume", J, "--judge=oracle:x").code == 2
    for cap in ("--max-cost=0", "--max-cost=nan"):
        assert debate("resume", J, cap).code == debate("run", *SETUP, cap, "--output=other.md").code == 2
    assert Path(J).read_bytes() == before
    assert debate("resume", J, "--a=command:cat", "--max-cost=none", "--b=host").code == 3
