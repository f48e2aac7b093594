"""The pages keep their word: what they mention is there, and their commands, checks, tables and numbers hold."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from conftest import Run
from debates import entries, report_model
from reviewers import adversarial_entries, ballot_for, gather_ballots, review_form
from started import started
from test_reports_model import paid

from debate_orchestrator.core import tally
from debate_orchestrator.core.events import _FORMER_KINDS, EarlierDebate, Event, Opened
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.values import former_names
from debate_orchestrator.reports import report_files, reviewer_ballots
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import read_mapping, to_yaml

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "debate_orchestrator"
SOURCES = sorted(PACKAGE.rglob("*.py"))
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
EXAMPLES = {"providers/acme.py", "cli/greet.py", "reports/text.py"}
"""Files that docs/development.md tells readers to write."""
_SUFFIXES = {"key", "md", "json", "jsonl", "yaml", "html", "csv", "py", "txt"}
"""What follows the dot in names of files, which may begin like a module."""
_PATH = re.compile(r"`((?:[\w-]+/)+[\w.-]+\.(?:py|ya?ml|md|j2))`")
_MEMBER = re.compile(r"`([a-z_]+)\.(\w+)(?:\([^`]*\))?`")


KNOWN = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}
"""What may be before a dot."""


def defined(path: Path) -> set[str]:
    """The names that a module defines or imports."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias | ast.arg):
            names.add(node.asname or node.name if isinstance(node, ast.alias) else node.arg)
    return names


@cache
def members(module: str) -> set[str]:
    """What may follow `module.` or `package.`."""
    inside = {name for path in SOURCES if path.stem == module for name in defined(path)}
    return inside | {path.stem for path in SOURCES if path.parent.name == module}


def missing(text: str) -> set[str]:
    """The files and names that a text mentions and that are not there."""
    folders = {path.name for top in (ROOT, PACKAGE) for path in top.iterdir() if path.is_dir()}
    paths = {path for path in _PATH.findall(text) if path.partition("/")[0] in folders} - EXAMPLES
    absent = {path for path in paths if not (ROOT / path).is_file() and not (PACKAGE / path).is_file()}
    mentioned = [(module, name) for module, name in _MEMBER.findall(text) if module in KNOWN]
    return absent | {f"{module}.{name}" for module, name in mentioned if name not in _SUFFIXES | members(module)}


def test_what_pages_mention_is_there() -> None:
    """Paths and names in backticks on a page lead to files of the project and names of the package. The words that a
    user has to learn are at most fifteen, each once and with one sentence."""
    found = {page.name: missing(page.read_text(encoding="utf-8")) for page in PAGES}
    assert {page: absent for page, absent in found.items() if absent} == {}

    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^\| \*\*(.+)\*\* \| (.+) \|$", page, re.MULTILINE)

    assert len(entries) == page.count("| **") and 0 < len({word for word, _ in entries}) == len(entries) <= 15
    assert [word for word, meaning in entries if not re.fullmatch(r"[A-Z](?:[^.]|\.(?! ))*\.", meaning)] == []


def test_the_journals_page_names_the_fields_of_its_first_event() -> None:
    """The table on the first line in docs/journal.md has a row for every field of `opened`, and for no other; and the
    page names all former names."""
    page = (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")
    section = page.partition("\n### The first line\n")[2].partition("\n#")[0]

    assert sorted(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)) == sorted({*Opened.model_fields} - {"kind"})
    models = (*get_args(Event), EarlierDebate, Settings, Reply, Usage)
    former = {names for kind in models for names in former_names(kind).items()} | {*_FORMER_KINDS.items()}
    told = re.findall(r"^\| (?:kind|field) \| `(\w+)` \| `(\w+)` \|$", page, re.MULTILINE)
    assert sorted((was, now) for now, was in told) == sorted(former)


FORMATS = Path(__file__).parent.parent / "docs" / "formats.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"\A(?:# |\{# )(\S+)(?: #\})?\n")


def followed(folder: Path) -> dict[str, str]:
    """Command to what it printed, after everything on the page was done in that folder, from top to bottom."""
    printed: dict[str, str] = {}
    for kind, text in BLOCK.findall(FORMATS.read_text(encoding="utf-8")):
        if kind == "sh":
            for line in text.strip().splitlines():
                printed[line] = run(line, folder)
        elif named := NAMED.match(text):
            (folder / named[1]).write_text(text[named.end() :], encoding="utf-8")
    return printed


def run(line: str, folder: Path) -> str:
    command, *arguments = shlex.split(line)
    if command == "debate":
        with started(*arguments, folder=folder) as process:
            made = process.end()
        assert made.code == 0, f"{line}\n{made.out}{made.err}"
        return made.out
    return subprocess.run(
        [command, *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_the_page_makes_a_format(tmp_path: Path) -> None:
    """Who follows the page, of which every block is a file or commands, has a format without mistakes, with both votes
    of its audience. Its rehearsal is a whole debate of five members, decided by swing, and has a report, which can be
    made again when the folder of the format is gone."""
    printed, folder = followed(tmp_path), tmp_path

    shown = printed["debate formats ./oxford"]
    assert "Oxford debate" in shown
    assert "start.ballot.judge" in shown and "final.ballot.judge" in shown

    debate = fold(read(str(folder / "oxford.rehearsed.journal.jsonl")).events)
    verdict = tally.verdict(debate)

    assert debate.complete and verdict is not None
    assert len(verdict.votes) == len(verdict.pre_debate_votes) == 5
    assert set(verdict.swing) == {"a", "b"}
    assert (folder / "oxford.rehearsed.md").read_text(encoding="utf-8").startswith("# Debate Report")

    (folder / "oxford").rename(folder / "gone")

    run("debate report oxford.rehearsed.journal.jsonl --to again.md", folder)

    assert (folder / "again.md").read_bytes() == (folder / "oxford.rehearsed.md").read_bytes()

    blocks = BLOCK.findall(FORMATS.read_text(encoding="utf-8"))

    assert [kind for kind, text in blocks if kind != "sh" and not NAMED.match(text)] == []
    assert {kind for kind, _ in blocks} == {"sh", "yaml", "jinja"}


REPORTS = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
SHELL = "\n".join(re.findall(r"^    (d=.*|test .*)$", REPORTS, re.MULTILINE))
PYTHON = "\n".join(re.findall(r"^    (import hashlib.*|data = .*|digest = .*|assert .*)$", REPORTS, re.MULTILINE))


@pytest.fixture(params=report_files.FILE_TYPES)
def report(request: pytest.FixtureRequest, here: Path) -> Path:
    """A sealed report of each form."""
    path = here / f"debate-report{request.param}"
    model = report_model(rounds=1)
    path.write_text(report_files.render_file(model, request.param), encoding="utf-8")
    return path


def change_a_byte(path: Path) -> None:
    """Replaces the last letter before the middle of a file by another."""
    data = path.read_bytes()
    at = max(data.rfind(letter, 0, len(data) // 2) for letter in (b"e", b"a", b"t"))
    path.write_bytes(data[:at] + b"x" + data[at + 1 :])


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum here")
def test_a_seal_can_be_checked_in_a_shell(report: Path) -> None:
    """The page's two lines say that a report is unchanged, and nothing of one that was changed."""
    said = SHELL.replace("debate-report.md", report.name)

    def ran() -> tuple[int, str]:
        made = subprocess.run(["sh", "-c", said], capture_output=True, text=True, check=False, timeout=60)
        return made.returncode, made.stdout

    assert SHELL.count("\n") == 1
    assert ran() == (0, "unchanged\n")
    change_a_byte(report)
    assert ran() == (1, "")


def test_a_seal_can_be_checked_in_python(report: Path) -> None:
    """The page's four lines pass for a report that is unchanged, not for one that was changed."""
    code = compile(PYTHON.replace("debate-report.md", report.name), "docs/reports.md", "exec")

    assert PYTHON.count("\n") == 3
    exec(code, {})  # noqa: S102 - our own page
    change_a_byte(report)
    with pytest.raises(AssertionError):
        exec(code, {})  # noqa: S102 - our own page


def test_what_is_rounded_is_reported() -> None:
    """Dollars have the decimals that the page names. Reviewers' ballots make another report of the same journal, and
    whatever says what it is made from says so."""
    places = re.findall(r"Numbers are not rounded, except US dollars, which have (\d+) decimal places\.", REPORTS)
    made = build_report(entries(paid(cost=1 / 3)))
    report_json = json.loads(report_files.render_file(made, ".json"))

    assert [line["usd"] for line in report_json["costs"]["lines"]][:1] == [round(1 / 3, int(n)) for n in places]

    journal = adversarial_entries(rounds=1)
    reviewed = build_report(journal, gather_ballots(review_form(journal), ballot_for(review_form(journal))))

    assert report_files.render_file(reviewed, ".md") != report_files.render_file(build_report(journal), ".md")
    for page in (REPORTS, (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")):
        assert "ballots" in page.partition("\n\n")[2].partition("\n\n")[0]
    assert "ballots" in (report_files.__doc__ or "")


def test_the_table_has_every_state() -> None:
    """Each state that `check` may tell has its row, and no other has. The table of forms has every form, and the
    checksum that the page shows reads like one."""
    assert re.findall(r"^\| `([\w ]+)` \|", REPORTS, re.MULTILINE) == list(get_args(report_files.ReportState))

    shown = next(line for line in REPORTS.split("\n") if line.startswith("    Made by "))
    real = report_files.checksum_sentence(report_model(rounds=1))
    plain = re.compile(r"sha256:[0-9a-f.]*?(?=[,.] )|\d+ lines|\d+\.\d+\.\d+(?=\. )")

    assert re.findall(r"^\| `(\.\w+)` \|", REPORTS, re.MULTILINE) == list(report_files.FILE_TYPES)
    assert plain.sub("", shown.strip()) == plain.sub("", real)


REVIEWING = (Path(__file__).parent.parent / "docs" / "reviewing.md").read_text(encoding="utf-8")
JOURNAL = "debate-report.journal.jsonl"


def commands() -> list[list[str]]:
    """Every command of the page, in order."""
    lines = re.findall(r"^(?:    )?(debate .*)$", REVIEWING, re.MULTILINE)
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.slow
def test_the_commands_run(debate: Run, here: Path) -> None:
    """Who follows the page in a script has a report with a reviewer in it."""
    examples = resources.folder("examples")
    shutil.copy(examples / "compulsory-voting" / JOURNAL, JOURNAL)
    shutil.copy(examples / "compulsory-voting" / JOURNAL, "again.journal.jsonl")
    for command in commands():
        if "--as" in command and "--form" not in command:
            continue  # it asks at a terminal
        words = command[: command.index(">")] if ">" in command else command
        if "--take" in words:
            entries = read(JOURNAL).entries
            assert read_mapping("ada.yaml")["journal"] == entries[-1].hash
            Path("ada.yaml").write_text(to_yaml(ballot_for(review_form(entries)) | {"journal": entries[-1].hash}))
        ran = debate(*words)
        assert ran.code == 0, (command, ran.err)
        if ">" in command:
            Path(command[-1]).write_text(ran.out, encoding="utf-8")

    assert "| “ada” | reviewer |" in Path("debate-report.md").read_text(encoding="utf-8")


def test_the_table_has_every_key() -> None:
    """The page describes each key of a ballot, and no other; thresholds and lengths are reported as they are."""
    table = REVIEWING.partition("| key |")[2].partition("\n\n")[0]
    named = {key for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)}
    examples = resources.folder("examples")
    asked = review_form(read(examples / "compulsory-voting" / JOURNAL).entries)

    assert named == set(asked.shape)

    assert f"at most {reviewer_ballots.MAX_REASON_WORDS} words" in REVIEWING
    assert f"the version of this form: {reviewer_ballots.VERSION}" in REVIEWING
