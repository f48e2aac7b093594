"""Links whose resolved path is longer than any path may be: what lies behind them is judged by where it really lies."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run
from debates import opening
from own_formats import written

from debate_orchestrator.formats import source
from debate_orchestrator.setup import risks
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.data import read_regular, read_text, real_path, system_owned
from debate_orchestrator.util.errors import BadFile

SETUP = "topic: T\npositions: {a: It is so., b: It is not so.}\nissues: false\nbrief: false\nrounds: 1\n"
LEVELS = 22
Deep = Callable[[str, Path | str], str]


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is not below the working folder, with a file in it."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "private.md").write_text("private words")
    return folder


@pytest.fixture
def deep(here: Path) -> Deep:
    """Makes a link with a target at the bottom of a folder so deep that its real path is too long for the system; the
    short path to it, through a link on the way."""
    parts = ["a" * 200] * LEVELS

    def made(name: str, target: Path | str) -> str:
        handle = os.open(".", os.O_RDONLY)
        for part in parts:
            if part not in os.listdir(handle):
                os.mkdir(part, dir_fd=handle)
            inner = os.open(part, os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = inner
        os.symlink(target, name, dir_fd=handle)
        os.close(handle)
        if not os.path.lexists("s"):
            os.symlink("/".join(parts[:-3]), "s")
        return "/".join(["s", *parts[-3:], name])

    return made


def ran(debate: Run, line: str, *flags: str) -> tuple[int, str]:
    """How a run with that line in its answers ended."""
    Path("a.yaml").write_text(f"{SETUP}cast: rehearse\n{line}\n")
    said = debate("run", "--answers", "a.yaml", *flags)
    return said.code, said.err


def test_the_link_works(deep: Deep, outside: Path) -> None:
    """The system itself follows such a link."""
    assert (Path(deep("l", outside)) / "private.md").read_text() == "private words"


def test_material_behind_it(debate: Run, deep: Deep, outside: Path) -> None:
    """It needs consent as material, and since nothing can tell where it lies it is not read with consent either."""
    line = f"context: ['{deep('l', outside)}/private.md']"
    code, said = ran(debate, line)
    assert (code, "--trust" in said) == (2, True)
    assert ran(debate, line, "--trust")[0] == 2
    assert not list(Path().glob("*.jsonl"))


def test_the_systems_files_behind_it(debate: Run, deep: Deep) -> None:
    """The environment is never material, with consent or without, by however long a way it is reached."""
    line = f"context: ['{deep('e', '/proc/self/environ')}']"
    assert ran(debate, line)[0] == ran(debate, line, "--trust")[0] == 2
    with pytest.raises(BadFile):
        read_text(deep("f", "/proc/self/environ"), 10**6)
    with pytest.raises(OSError):
        read_regular(deep("g", "/proc/self/environ"), follow=True)


def test_a_report_behind_it(debate: Run, deep: Deep, outside: Path) -> None:
    """Nothing is written, and no folder made, where such a link leads: an output is refused, typed or not."""
    way = deep("l", outside)
    before = sorted(os.listdir(outside))
    for name in ("r.md", "new/r.md", "new/"):
        code, said = ran(debate, f"output: '{way}/{name}'")
        assert (code, "--trust" in said) == (2, True)
        assert ran(debate, f"output: '{way}/{name}'", "--trust")[0] == 2
        with pytest.raises(BadFile):
            DebateFiles.of_output(f"{way}/{name}")
    assert sorted(os.listdir(outside)) == before


def test_a_recording_behind_it(debate: Run, deep: Deep, outside: Path) -> None:
    """A recording there needs consent."""
    JournalWriter.create(str(outside / "r.journal.jsonl"), opening(rounds=1)).close()
    Path("a.yaml").write_text(f"{SETUP}cast: 'replay:{deep('l', outside)}/r.journal.jsonl'\n")
    refused = debate("run", "--answers", "a.yaml")
    assert (refused.code, "--trust" in refused.err) == (2, True)


def test_a_template_behind_it(deep: Deep, here: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format's template can't be such a link: the format's own files are used alone."""
    written(here / "town")
    monkeypatch.chdir("town")
    os.unlink("speech.md.j2")
    os.symlink(f"{deep('l', outside)}/private.md", "speech.md.j2")
    made = source.read_source(str(here / "town"))
    assert any("out of the format's folder" in one for one in made.complaints), made.complaints
    assert "speech.md.j2" not in made.texts


def test_steps_back_behind_it(debate: Run, deep: Deep, outside: Path) -> None:
    """Steps back from behind such a link are not taken from its name: they count from where it leads."""
    back = "/".join([deep("l", outside), *[".."] * (LEVELS + 1)])
    line = f"context: ['{back}{outside}/private.md']"
    code, said = ran(debate, line)
    assert (code, "--trust" in said) == (2, True)


def test_where_a_path_leads(here: Path, outside: Path) -> None:
    """Links are followed, also those to what is not there yet; a part that is missing keeps its name; where a part
    can't be looked at, that is told."""
    (here / "in").mkdir()
    (here / "file").write_text("")
    (here / "up").symlink_to("in/..")
    (here / "new").symlink_to(outside / "not/yet")
    (here / "loop").symlink_to("loop")
    for path in (".", "in/../in", "up/in", "up/missing/x", str(outside), "new", "missing/../in", "//", "in/"):
        assert real_path(path) == os.path.realpath(path), path
    assert real_path("new/x.md") == str(outside / "not/yet/x.md")
    assert not any(map(system_owned, ("in", "up/in", "new/x.md")))
    for path in ("loop", "file/x", "x" * 300):
        with pytest.raises(OSError):
            real_path(path)
    assert [one.what for one in risks.of_settings({"context": ["new/x.md"]})] == [str(outside / "not/yet/x.md")]
