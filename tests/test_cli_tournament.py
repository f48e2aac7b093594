"""`debate tournament new|plan|run|resume|add`: what is printed, asked, refused and resumed."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import small_tournaments
from conftest import Run
from messages_server import Server
from started import started

from debate_orchestrator.core.events import BriefSent, Spoke, StructuredReplyGiven
from debate_orchestrator.storage import journal
from debate_orchestrator.storage.journal import read
from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament.spec import model_of
from debate_orchestrator.util.errors import PermanentFailure

pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture
def spec(here: Path) -> Path:
    """A spec file of three models and one topic."""
    small_tournaments.write_spec()
    return here / "spec.yaml"


def journals(folder: str = "out") -> list[Path]:
    return sorted(Path(folder, "debates").glob("*.journal.jsonl"))


@pytest.mark.slow
def test_from_new_to_all_journals(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample runs as it is, without a key: planned, held, and with a report and a page of every debate. The report
    of a rehearsal has no plots, and needs no library that draws."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    ran = [debate("tournament", "new"), debate("tournament", "plan", "tournament.yaml")]
    assert "`debate tournament run tournament.yaml --rehearse`" in ran[0].err  # a folder beside that of the real one
    assert "`debate tournament run tournament.yaml --to demo`" in ran[1].err
    assert "`debate tournament plan 'a b.yaml'`" in debate("tournament", "new", "a b.yaml").err
    tried = debate("tournament", "plan", "a b.yaml", "--rounds=2", "--tag=xy", "--max-cost=9", "--rehearse").err
    assert "`debate tournament run 'a b.yaml' --tag xy --rounds 2 --max-cost 9 --rehearse`" in tried
    run = debate("tournament", "run", "tournament.yaml", "--to", "demo", "--rehearse")
    again = debate("tournament", "resume", "demo", "--json")

    assert [one.code for one in (*ran, run, again)] == [0, 0, 0, 0], run.err
    assert "24 debates: 3 models, 4 topics, sides swapped" in ran[1].out and "192 calls" in ran[1].out
    assert "24 debates complete: demo" in run.out and "`debate tournament report demo` lists its debates" in run.err
    assert len(journals("demo")) == 24 and len(list(Path("demo/debates").glob("*.html"))) == 24
    assert (again.json["status"], again.json["complete"], again.json["calls"]) == ("done", 24, 0)
    assert debate("tournament", "new").code == 2
    assert debate("tournament", "rate", "demo").out == "No model is ranked: stand-ins spoke in every debate.\n"
    assert debate("tournament", "report", "demo").code == 0
    page = Path("demo/index.html").read_text(encoding="utf-8")
    assert "All of this is a rehearsal" in page.partition('id="leaderboard"')[0] and 'id="plots"' not in page
    assert re.findall(r'id="table-(\w+)"', page) == ["debates"]
    assert "Complete." in debate("check", str(journals("demo")[0])).out


def test_the_end_of_a_run_counts_what_is_lost(
    debate: Run, spec: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where journals take no more, the last line claims that all is saved only of what else was answered."""
    append = journal.append_line

    def append_line(handle: int, line: bytes, *more: Any, **options: Any) -> int:
        if b'"reply":{' in line:
            raise PermanentFailure("It takes no more.")
        return append(handle, line, *more, **options)

    monkeypatch.setattr(journal, "append_line", append_line)
    ran = debate("tournament", "run", "spec.yaml", "--to", "out", "--rehearse")
    lost = caplog.text.count("Lost: ")
    assert ran.code != 0 and lost
    assert re.search(rf" left\. {lost} repl(y|ies) lost, as named above\. Every other one is saved\. Continue", ran.err)


def test_a_plan_is_written(debate: Run, spec: Path) -> None:
    """A plan as JSON and as a file has the whole schedule; flags go before the file."""
    ran = debate("tournament", "plan", "spec.yaml", "--to", "plan.json", "--repetitions", "2", "--panel", "1")
    data = debate("tournament", "plan", "spec.yaml", "--repetitions", "2", "--panel", "1", "--json").json

    assert ran.code == 0 and json.loads(Path("plan.json").read_text()) == data["schedule"]
    assert data["debates"] == len(data["schedule"]) == 12 and data["calls"] == 12 * 7
    assert data["usd"]["low"] < data["usd"]["expected"] < data["usd"]["high"]
    assert all(len(line["judges"]) == 1 for line in data["schedule"])


def test_a_misspelt_model_is_noted(debate: Run, spec: Path) -> None:
    """A model that its vendor's price table does not have is reported with the nearest one, and refused under a cap."""
    spec.write_text(spec.read_text().replace("claude-haiku-5-5", "claude-haiku-55"))
    ran, capped = debate("tournament", "plan", "spec.yaml"), debate("tournament", "plan", "spec.yaml", "--max-cost=5")

    assert ran.code == 0 and "Did you mean 'claude-haiku-5-5'?" in ran.err and "price is unknown" in ran.out
    assert capped.code == 2 and "a cap can't be kept with anthropic:claude-haiku-55" in capped.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("run nowhere.yaml", "nowhere.yaml"),
        ("resume nowhere", "holds no tournament.json"),
        ("run spec.yaml --rehearse --concurrency 0", "--concurrency"),
        ("run spec.yaml --rehearse --sides both", "sides: 'both' should be"),
        ("run spec.yaml --max-cost much", "--max-cost"),
        ("run spec.yaml", "set ANTHROPIC_API_KEY"),
    ],
)
def test_mistakes(
    debate: Run, spec: Path, arguments: str, problem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A mistake ends with exit code 2 before anything is called, or written."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    if problem.startswith("set"):
        spec.write_text(spec.read_text().replace("anthropic:claude-haiku-5-5", "openrouter:vendor/model"))
        monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
        problem = "OPENROUTER_API_KEY"
    ran = debate("tournament", *arguments.split())

    assert ran.code == 2 and problem in ran.err, ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["spec.yaml"]


def test_what_a_spec_may_do_is_asked_once(debate: Run, spec: Path) -> None:
    """A program in a spec needs consent, which is remembered for the file. One that was added to a folder, which the
    user's own spec does not name, needs it too."""
    small_tournaments.write_spec(models=["command:cat", small_tournaments.OPUS])
    refused = debate("tournament", "run", "spec.yaml", "--to", "out")
    planned = debate("tournament", "plan", "spec.yaml", "--trust")
    agreed = debate("tournament", "plan", "spec.yaml")
    rehearsed = debate("tournament", "run", "spec.yaml", "--to", "free", "--rehearse")

    assert refused.code == 2 and "the program cat" in refused.err and not Path("out").exists()
    assert (planned.code, agreed.code, rehearsed.code) == (0, 0, 0)

    folder.add_model(folder.load("free"), model_of({"name": "late", "spec": "command:touch marker"}))
    ran = debate("tournament", "run", "spec.yaml", "--to", "free", "--rehearse")
    assert ran.code == 2 and "the program touch marker" in ran.err and not Path("marker").exists()


@pytest.mark.slow
def test_a_folder_from_elsewhere_is_asked_about(debate: Run, spec: Path, server: Server) -> None:
    """A folder that was copied here with a server in its spec is continued only after consent."""
    small_tournaments.write_spec(models=[f"anthropic:m@{server.url}", small_tournaments.OPUS])
    assert debate("tournament", "run", "spec.yaml", "--to", "out", "--trust").code == 0
    assert debate("tournament", "resume", "out").code == 0
    Path("out").rename("moved")
    ran = debate("tournament", "resume", "moved")

    assert ran.code == 2 and "the server" in ran.err and "--trust" in ran.err
    assert debate("tournament", "resume", "moved", "--trust").code == 0


@pytest.mark.slow
def test_a_cap_and_then_a_higher_one(debate: Run, spec: Path, server: Server) -> None:
    """At the cap the run ends with exit code 3 and the command that goes on, which pays for nothing twice; with --json
    stdout has one object, with the debates that are left."""
    ran = debate("tournament", "run", "spec.yaml", "--to", "out", "--max-cost", "0.2")
    spent = len(server.requests)
    output = debate("tournament", "resume", "out", "--json")
    assert (
        output.code == 3
        and output.json["status"] == "stopped"
        and output.json["problems"]
        and "resume out" in output.err
    )
    again = debate("tournament", "resume", "out", "--max-cost", "none")

    assert ran.code == 3 and "exceeds the cap of $0.20" in ran.err and "debate tournament resume out" in ran.err
    assert again.code == 0 and 0 < spent < len(server.requests) == 6 * 8


def test_another_spec_in_the_folder(debate: Run, spec: Path) -> None:
    """Another spec for the same folder is refused with all that changed and what to do; another cap is not a change."""
    run = ("tournament", "run", "spec.yaml", "--to", "out", "--rehearse", "--no-reports")
    assert debate(*run).code == 0
    ran, capped = debate(*run, "--sides", "fixed", "--seed", "9"), debate(*run, "--max-cost", "4")

    assert ran.code == 2 and 'sides: it was "swapped" and is "fixed"' in ran.err and "name another folder" in ran.err
    assert "seed: it was 0 and is 9" in ran.err
    assert capped.code == 0 and folder.load("out").spec.max_cost == 4


def test_a_model_is_added(debate: Run, spec: Path) -> None:
    """A model that is added to a finished tournament meets all others with the next run, and what was scheduled and
    held stays as it is. With --events every line of stderr is JSON, and what was said is not in it."""
    first = debate("tournament", "run", "spec.yaml", "--to", "out", "--rehearse", "--events")
    lines = [json.loads(line) for line in first.err.splitlines()]
    assert first.code == 0 and sum("status" in line for line in lines) >= 12
    assert {line["event"]["kind"] for line in lines if "event" in line} == {
        "brief_sent",
        "spoke",
        "structured_reply_given",
    }
    assert "This is a rehearsal" not in first.err

    before, schedule = {path: path.read_bytes() for path in journals()}, folder.load("out").schedule
    add = ("tournament", "add", "out", "openai:gpt-5.1", "--name", "late", "--rehearse")
    added, again = debate(*add), debate(*add)
    ran = debate("tournament", "resume", "out", "--no-reports")
    later = folder.load("out").schedule

    assert added.code == 0 and "6 more debates" in added.out
    assert again.code == 2 and "late takes part already" in again.err
    assert ran.code == 0 and "12 debates complete" in ran.out
    assert later[:6] == schedule and all("late" in (one.pro, one.con) for one in later[6:])
    assert all(path.read_bytes() == data for path, data in before.items()) and len(journals()) == 12


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_killed_and_resumed(debate: Run, spec: Path, server: Server, how: int) -> None:
    """Interrupted or killed in the middle, a tournament goes on to the same journals: every turn has one answer, no
    more calls were repeated than were under way, and Ctrl-C, also if it is passed on, repeats none."""
    server.whole = 0.2
    with started("tournament", "run", "spec.yaml", "--to", "out") as run:
        until = time.monotonic() + 60
        while len(server.requests) < 20:
            assert time.monotonic() < until
            time.sleep(0.02)
        run.interrupt() if how == signal.SIGINT else run.signal(signal.Signals(how))
        ended = run.end()
    at_once = server.most_at_once
    ran = debate("tournament", "resume", "out")
    answers = [
        event.turn_id
        for path in journals()
        for event in read(path).events
        if isinstance(event, Spoke | StructuredReplyGiven)
    ]
    asked = sum(isinstance(event, BriefSent) for path in journals() for event in read(path).events)

    assert ran.code == 0 and len(answers) == 6 * 8, ran.err
    assert asked - len(answers) <= (0 if how == signal.SIGINT else at_once)
    assert ended.code == (130 if how == signal.SIGINT else -how)
