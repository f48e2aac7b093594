"""The verb `judges`: what it lists, refuses, asks for, saves and tells."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Run
from messages_server import Server, serving
from probes import KINDS, judge
from started import started

from debate_orchestrator.checking import AT_ONCE
from debate_orchestrator.core.events import Asked
from debate_orchestrator.errors import DebateError
from debate_orchestrator.journal import read

BALLOTS = 39
OPUS, SONNET = "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-5-5"


@pytest.fixture
def server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving(Server()) as made:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        yield made


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_probes_are_listed(debate: Run) -> None:
    """`debate judges` says what there is to put before a judge, how many ballots it takes and how to have them; it
    writes nothing and asks nobody."""
    ran, told = debate("judges"), debate("judges", "--json").json

    assert ran.code == 0
    assert "Padded with filler (6 cases): One side says the same" in ran.out
    assert "36 cases in 3 debates, 39 ballots" in ran.out and "--probe --judge" in ran.out
    assert (told["schema"], told["cases"], told["ballots"]) == (1, 36, BALLOTS)
    assert [kind["name"] for kind in told["kinds"]] == [*KINDS]
    assert [one["name"] for one in told["debates"]] == ["bus-fares", "code-review", "museum-storage"]
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--judge", OPUS), "--judge without --probe"),
        (("--times", "2", "--max-cost", "1"), "--times, --max-cost without --probe"),
        (("--probe",), "--judge: got none"),
        (("--probe", "--judge", "host"), 'the program that runs the host: --judge "command:claude -p"'),
        (("--probe", "--judge", "replay:x.jsonl"), "what it said of other speeches"),
        (("--probe", "--judge", "crowd"), "'crowd'"),
        (("--probe", "--judge", "openrouter:v/m"), "OPENROUTER_API_KEY"),
        (("--probe", "--judge", "rehearse", "--judge", "rehearse"), "--times repeats"),
        (("--probe", "--judge", "rehearse", "--times", "0"), "1 to 20"),
        (("--probe", "--judge", "rehearse", "--times", "two"), "1 to 20"),
        (("--probe", "--judge", "rehearse", "--max-cost", "much"), "US dollars above 0"),
        (("--probe", "--judge", "command:cat", "--max-cost", "1"), "whose price is unknown"),
        (("--probe", "--judge", "rehearse", "--output", "taken"), "taken"),
        (("--probe", "--judge", "rehearse", "--output", "full"), "which holds something else"),
    ],
)
def test_mistakes(debate: Run, arguments: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mistake is told in a line, with exit code 2, as JSON too, before anybody is asked or anything written."""
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    Path("taken").write_text("a file", encoding="utf-8")
    Path("full").mkdir()
    Path("full/card.md").write_text("My own card.\n", encoding="utf-8")
    before = sorted(Path().rglob("*"))
    ran, told = debate("judges", *arguments), debate("judges", *arguments, "--json")

    assert (ran.code, told.code) == (2, 2), ran.err
    assert complaint in ran.err and complaint in " ".join(told.json["complaints"])
    assert sorted(Path().rglob("*")) == before


def test_all_mistakes_at_once(debate: Run) -> None:
    """Whatever is wrong is told in one go."""
    ran = debate("judges", "--probe", "--judge", "host", "--judge", "crowd", "--times", "99", "--max-cost", "0")

    assert ran.code == 2
    assert ran.err.count("debate: ") == 4


def test_a_card_is_written(debate: Run, here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The card is printed, and written as a document and as data; the second time nobody is asked."""
    folder = tmp_path_factory.mktemp("judge")
    log = folder / "log"
    arguments = ("judges", "--probe", "--judge", judge("long", folder, str(log)))
    ran = debate(*arguments)
    again = debate(*arguments, "--quiet")
    data = json.loads(Path("judge-check/card.json").read_text(encoding="utf-8"))
    document = Path("judge-check/card.md").read_text(encoding="utf-8")

    assert (ran.code, again.code) == (0, 0), ran.err
    assert "Padded with filler 6 6 0 100 % (61 to 100 %) +3" in flat(ran.out)
    assert "39 of 39 ballots to be had" in ran.err and "winner a; 0 left" in ran.err
    assert (again.out, again.err) == (ran.out, "")
    assert log.read_text(encoding="utf-8").count("asked") == BALLOTS
    assert (data["schema"], data["status"]) == (1, "done")
    assert "| Padded with filler | 6 | 6 | 0 | 100 % (61 to 100 %) | +3 |" in document
    assert str(folder) not in ran.out + document


def test_programs_get_json(debate: Run) -> None:
    """With --json one object tells everything, and nothing is said beside it."""
    ran = debate("judges", "--probe", "--judge", "rehearse", "--output", "out/here", "--times", "2", "--json")
    told = ran.json

    assert (ran.code, ran.err) == (0, "")
    assert (told["schema"], told["status"], told["times"]) == (1, "done", 2)
    assert (told["card"], told["data"]) == ("out/here/card.md", "out/here/card.json")
    (one,) = told["judges"]
    assert (one["judge"], one["stand_in"], one["cost"]["calls"]) == ("rehearse", True, 0)
    assert [line["cases"] for line in one["kinds"]] == [6, 6, 12, 12, 12, 12, 12]
    assert len(list(Path("out/here", one["folder"]).glob("*.journal.jsonl"))) == 2 * BALLOTS
    written = json.loads(Path("out/here/card.json").read_text(encoding="utf-8"))
    assert {**written, "card": told["card"], "data": told["data"]} == told


def test_the_journals_are_journals(debate: Run) -> None:
    """A ballot's journal is one like any other: it verifies, and is complete."""
    debate("judges", "--probe", "--judge", "rehearse", "--quiet")
    journal = next(Path("judge-check").rglob("code-review.injection.b.1.journal.jsonl"))
    ran = debate("check", str(journal))

    assert ran.code == 0 and "Complete." in ran.out


def test_the_cap_holds_over_all(debate: Run, server: Server) -> None:
    """What all judges' ballots cost together stays within the cap; the card tells what there is; the same command with
    a higher cap asks for the rest alone."""
    arguments = ("judges", "--probe", "--judge", OPUS, "--judge", SONNET, "--quiet")
    ran = debate(*arguments, "--max-cost", "0.3")
    card = json.loads(Path("judge-check/card.json").read_text(encoding="utf-8"))
    spent = sum(one["cost"]["usd"] for one in card["judges"])
    first = len(server.requests)
    rest = debate(*arguments)

    assert ran.code == 3
    assert "higher --max-cost" in ran.err and f"{first} of 78 ballots are saved" in ran.err
    assert 0.15 < spent <= 0.3
    assert card["status"] == "stopped" and sum(line["left"] for one in card["judges"] for line in one["kinds"]) > 0
    assert rest.code == 0, rest.err
    assert len(server.requests) == 2 * BALLOTS


def test_a_cap_counts_what_is_on_record(debate: Run, server: Server) -> None:
    """Where the folder's record has used the cap up, nobody is asked."""
    arguments = ("judges", "--probe", "--judge", OPUS, "--quiet", "--max-cost", "0.2")
    assert debate(*arguments).code == 3
    before = len(server.requests)

    assert debate(*arguments).code == 3
    assert 0 < len(server.requests) == before


def test_a_refused_key_is_told(debate: Run, server: Server) -> None:
    """A server that refuses for good ends the check with exit code 4, with what is saved; another judge's ballots
    are had all the same."""
    server.trouble = lambda request, n: {"status": 401, "kind": "authentication_error"}
    ran = debate("judges", "--probe", "--judge", OPUS, "--judge", "rehearse", "--quiet")

    assert ran.code == 4
    assert "39 of 78 ballots are saved" in ran.err and "judge-check/card.md" in ran.err
    assert len(server.requests) <= AT_ONCE


def until(found: int, log: Path) -> None:
    """Waits until so many briefs were put."""
    for _ in range(3_000):
        if log.exists() and log.read_text(encoding="utf-8").count("asked") >= found:
            return
        time.sleep(0.01)
    raise AssertionError("nobody was asked")


def questions() -> Counter[str]:
    """Journal to the calls that were begun in it, of those that are whole enough to be read."""
    made: Counter[str] = Counter()
    for path in Path("judge-check").rglob("*.journal.jsonl"):
        try:
            made[path.name] = sum(isinstance(event, Asked) for event in read(path).events)
        except DebateError:
            made[path.name] = 0
    return made


def test_killed_and_run_again(debate: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Killed at any moment, the same command goes on: only the calls that were under way are made again."""
    folder = tmp_path_factory.mktemp("judge")
    log = folder / "log"
    arguments = ("--judge", judge("obedient", folder, str(log), "0.1"), "--quiet")
    for seen in (7, 21):
        with started("judges", "--probe", *arguments):
            until(seen, log)
    ran = debate("judges", "--probe", *arguments)
    made = questions()

    assert ran.code == 0, ran.err
    assert "Orders to the judge 6 6 0 100 %" in flat(ran.out)
    assert len(made) == BALLOTS and set(made.values()) <= {1, 2, 3}
    assert BALLOTS <= made.total() <= BALLOTS + 2 * AT_ONCE
    assert log.read_text(encoding="utf-8").count("asked") <= made.total()


def test_an_interrupt_awaits_what_is_under_way(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One interrupt: the ballots under way are awaited and saved, nobody else is asked, and how to go on is said."""
    folder = tmp_path_factory.mktemp("judge")
    log = folder / "log"
    with started("judges", "--probe", "--judge", judge("none", folder, str(log), "0.5"), "--quiet") as process:
        until(3, log)
        process.signal(signal.SIGINT)
        ended = process.end()
    asked = log.read_text(encoding="utf-8").count("asked")

    assert ended.code == 130
    assert f"{asked} of {BALLOTS} ballots are saved. The same command goes on" in ended.err
    assert asked <= AT_ONCE


def test_one_folder_has_one_check(debate: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    """While a check runs, another in the same folder is refused where both would write, with exit code 2."""
    folder = tmp_path_factory.mktemp("judge")
    log = folder / "log"
    arguments = ("--judge", judge("none", folder, str(log), "3"), "--quiet")
    with started("judges", "--probe", *arguments):
        until(1, log)
        ran = debate("judges", "--probe", *arguments)

    assert ran.code == 2 and "another process is writing" in ran.err


def test_help_has_an_example(debate: Run) -> None:
    """`debate judges --help` shows one."""
    assert "example: debate judges --probe --judge" in debate("judges", "--help").out
