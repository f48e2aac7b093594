"""What terminals have in common: the editor of one's choice, opened on a file, and a pager where there is one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from podiums import run

from debate_orchestrator.podium.lectern import Elsewhere, editor, opened, paged


def test_the_editor_of_ones_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """VISUAL comes before EDITOR; without either there is none."""
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.delenv("VISUAL", raising=False)
    assert editor() == "ed"
    monkeypatch.setenv("VISUAL", "code -w")
    assert editor() == "code -w"
    monkeypatch.setenv("VISUAL", "")
    monkeypatch.setenv("EDITOR", "")
    assert editor() == ""


def test_an_editor_is_opened(here: Path) -> None:
    """An editor is called with its arguments and the file, and awaited; what went wrong with it is told."""
    script = here / "ed.py"
    script.write_text("import sys; open(sys.argv[-1], 'a').write(sys.argv[1])")

    assert run(opened(f"{sys.executable} {script} 'two words'", "speech.md")) is None
    assert Path("speech.md").read_text() == "two words"
    assert "it ended with code 3" in str(run(opened(f"{sys.executable} -c 'raise SystemExit(3)'", "x")))
    assert "nowhere" in str(run(opened("nowhere-to-be-found", "x")))
    assert run(opened("'unclosed", "x"))


def test_a_pager(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pager of one's choice gets the text; where there is none, it is said so."""
    (here / "page.py").write_text("import sys; open('seen', 'wb').write(sys.stdin.buffer.read())")
    monkeypatch.setenv("PAGER", f"{sys.executable} page.py")
    assert paged("Wörter.")
    assert Path("seen").read_text(encoding="utf-8") == "Wörter."
    monkeypatch.setenv("PAGER", "nowhere-to-be-found")
    assert not paged("x")
    monkeypatch.setenv("PAGER", "")
    monkeypatch.setenv("PATH", str(here))
    assert not paged("x")


def test_what_is_taken_elsewhere() -> None:
    """Whoever wants an editor takes along what is written."""
    assert Elsewhere("half a sentence").text == "half a sentence"
