"""The README and docs say what is so: their commands run, their links lead somewhere, their map is the tree."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import scripted_replies
from conftest import Run
from messages_server import Server, schema_of, serving

from debate_orchestrator import load_format
from debate_orchestrator.engine.budget import estimate_debate
from debate_orchestrator.engine.start import make_opened
from debate_orchestrator.setup.answers import make_settings

SPEAKER, JUDGE_MODEL = "anthropic:claude-sonnet-5-5", "anthropic:claude-opus-5-5"
ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "skill").rglob("*.md")),
]


def commands() -> list[list[str]]:
    """Every `debate ...` line of the README's blocks, and of the page on models, without its comment."""
    pages = README + (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    (debate .*)$", pages, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


@pytest.mark.slow
def test_the_commands_run(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every `debate` command of these pages does what its comment says, in the order in which they stand."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    server = Server()
    server.say = rapporteur
    with serving(server):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        run_all(debate)


def rapporteur(request: dict[str, Any]) -> str | None:
    """What a rapporteur answers that writes a usable brief and the advice before it; None for other turns."""
    replies = {
        "weighing": scripted_replies.brief(),
        "considerations": scripted_replies.advice(),
        "findings": {"findings": []},
    }
    wanted = (schema_of(request) or {}).get("properties", {})
    return next((json.dumps(reply) for key, reply in replies.items() if key in wanted), None)


def run_all(debate: Run) -> None:
    for command in commands():
        if ">" in command:
            Path(command[-1]).write_text(debate(*command[:-2]).out, encoding="utf-8")
            continue
        ran = debate(*command)
        is_open = command[0] == "check" and "Not complete" in ran.out  # the debate that its host has not finished
        assert ran.code == (3 if is_open else 0), (command, ran.err)
        if "--json" in command:
            scripted_replies.answer(ran.json["turns"])


def test_the_demo_writes_a_report(debate: Run, here: Path) -> None:
    """`debate demo --to report.md`, which the README mentions, writes a report, and beside it the journal that it is
    checked against; never over another journal."""
    assert "`debate demo --to report.md`" in README
    assert debate("demo", "--quiet", "--to", "report.md").code == 0
    assert Path("report.md").read_text(encoding="utf-8").startswith("# Debate Report")
    assert debate("check", "report.md").code == 0
    again = debate("demo", "--quiet", "--to", "report.html")
    another = debate("demo", "--name", "free-transit", "--to", "report.md")
    assert again.code == 0 and another.code == 2 and "report.journal.jsonl already exists" in another.err


def test_the_decision_brief_is_the_demos() -> None:
    """Every paragraph and every row of the quoted decision brief is in the report that the README links to."""
    report = (ROOT / "examples" / "postgres-queue" / "debate-report.md").read_text(encoding="utf-8")
    page_one = report.partition("## Decision Brief")[2].partition("## Behind the Decision Brief")[0]
    page_one = page_one.replace("\n> ", "\n")  # the recommendation is a block quote
    quoted = "\n".join(line.removeprefix(">").strip() for line in README.splitlines() if line.startswith(">"))
    paragraphs = [part for part in quoted.split("\n\n") if not part.startswith("|")]
    rows = [line for line in quoted.splitlines() if line.startswith("|")]

    assert len(paragraphs) >= 2 and len(rows) >= 4
    assert [part for part in paragraphs if part.replace("\n", " ") not in page_one.splitlines()] == []
    assert [row for row in rows if row not in page_one.splitlines()] == []


def test_links_lead_somewhere() -> None:
    """Every relative link of a page names a file that is there, and no page names a machine's folders. Every room that
    the map names is there, and every room of the package is on the map."""
    for page in PAGES:
        targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))

        assert [target for target in targets if not (page.parent / target).exists()] == [], page

    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert [name for name in ("tmp", "root", "home") if f"/{name}/" in text] == [], page

    development = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    block = development.partition("## The map")[2].partition("\n\n    ")[2].partition("\n\n")[0]
    inside = [name for line in re.findall(r"^ {6}(\S.*?)  ", f"\n{block}", re.MULTILINE) for name in line.split(", ")]
    named = {name.rstrip("/") for name in inside}
    rooms = {path.stem for path in (ROOT / "debate_orchestrator").iterdir() if not path.name.startswith(("_", "py"))}

    assert named <= rooms
    assert rooms - named == set()


def test_the_cost_is_the_estimate() -> None:
    """The calls and the dollars that the README names for three rounds are those of the estimate."""
    named = re.search(
        r"Three rounds .* are (\d+) calls, about (\d+) minutes and about \$(\d\.\d\d) at", README.replace("\n", " ")
    )
    cast = {"a": SPEAKER, "b": SPEAKER, "judge": JUDGE_MODEL}
    positions = {"a": "We should move to gRPC.", "b": "We should not move to gRPC."}
    given = {"topic": "Should we move to gRPC?", "positions": positions, "cast": cast}
    expected = estimate_debate(make_opened(make_settings(given, load_format("adversarial"), "r.md")))

    assert named is not None
    assert (int(named[1]), round(expected.seconds / 60)) == (expected.calls, int(named[2]))
    assert float(named[3]) == pytest.approx(expected.cost, abs=0.05)


def test_the_journal_can_be_checked_as_the_page_says(here: Path) -> None:
    """The code of docs/journal.md verifies the first line of a shipped journal."""
    page = (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^    (import hashlib|line = .*|body, .*|assert .*)$", page, re.MULTILINE))
    shutil.copy(next((ROOT / "examples").glob("*/*.journal.jsonl")), "debate-report.journal.jsonl")

    assert code.count("\n") == 3
    exec(compile(code, "docs/journal.md", "exec"), {})  # noqa: S102 - our own page
