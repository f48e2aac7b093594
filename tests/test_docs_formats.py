"""The page on formats of one's own keeps its word: its files and commands are taken from it, and work."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from started import started

from debate_orchestrator.core import tally
from debate_orchestrator.core.fold import fold
from debate_orchestrator.storage.journal import read

PAGE = Path(__file__).parent.parent / "docs" / "formats.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"\A(?:# |\{# )(\S+)(?: #\})?\n")


def followed(folder: Path) -> dict[str, str]:
    """Command to what it printed, after everything on the page was done in that folder, from top to bottom."""
    printed: dict[str, str] = {}
    for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
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


@pytest.fixture(scope="module")
def oxford(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("oxford")
    return folder, followed(folder)


def test_every_block_is_a_file_or_commands() -> None:
    """Whatever stands on the page in a block is done by these tests: nothing is shown that was not tried."""
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))

    assert [kind for kind, text in blocks if kind != "sh" and not NAMED.match(text)] == []
    assert {kind for kind, _ in blocks} == {"sh", "yaml", "jinja"}


def test_the_page_makes_a_format(oxford: tuple[Path, dict[str, str]]) -> None:
    """Who follows the page has a format without mistakes, unrolled with both votes of the floor."""
    _, printed = oxford

    shown = printed["debate formats ./oxford"]
    assert "Oxford debate" in shown
    assert "start.ballot.judge" in shown and "final.ballot.judge" in shown


def test_the_page_makes_a_debate(oxford: tuple[Path, dict[str, str]]) -> None:
    """The rehearsal of the page's format is a whole debate of five members, decided by swing, and has a report."""
    folder, _ = oxford
    debate = fold(read(str(folder / "oxford.rehearsed.journal.jsonl")).events)
    verdict = tally.verdict(debate)

    assert debate.complete and verdict is not None
    assert len(verdict.panel) == len(verdict.blind) == 5
    assert set(verdict.swing) == {"a", "b"}
    assert (folder / "oxford.rehearsed.md").read_text(encoding="utf-8").startswith("# Debate Report")


def test_a_debate_outlives_its_format(oxford: tuple[Path, dict[str, str]]) -> None:
    """The journal has all that it needs: the report can be made again when the folder is gone."""
    folder, _ = oxford
    (folder / "oxford").rename(folder / "gone")

    run("debate report oxford.rehearsed.journal.jsonl --to again.md", folder)

    assert (folder / "again.md").read_bytes() == (folder / "oxford.rehearsed.md").read_bytes()
