"""At a terminal the user is asked for consent, with a list that nothing in the file can forge."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Run
from test_cli_consent import MARKS, answers
from viewer import watching


@pytest.mark.parametrize("said", ["n", ""])
def test_consent_is_asked_for_at_a_terminal(debate: Run, here: Path, said: str) -> None:
    """At a terminal what reaches beyond the debate is shown, and nothing happens unless the user says yes."""
    answers(f'cast: "{MARKS}"\n')
    with watching("run", "--answers", "a.yaml", columns=120) as viewer:
        viewer.see_text("[y/N]")
        assert "sh -c 'touch marker; exit 1'" in viewer.glass.text
        viewer.press(f"{said}\r")
        assert viewer.see_end() == 2
    assert os.listdir() == ["a.yaml"]


def test_consent_given_at_a_terminal(debate: Run, here: Path) -> None:
    """A yes goes on, and is remembered for that file: the same things are not asked about again, others are."""
    answers(f'cast: "{MARKS}"\n')
    with watching("run", "--answers", "a.yaml", columns=120) as viewer:
        viewer.see_text("[y/N]")
        viewer.press("y\r")
        assert viewer.see_end() == 3
    assert Path("marker").exists()
    assert debate("open", "--answers", "a.yaml", "--output=s.md").code == 3
    answers('cast: "command:sh -c false"\n')
    assert debate("open", "--answers", "a.yaml", "--output=t.md").code == 2


def test_a_question_can_not_be_forged(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row of what a file asks for is indented below the question's first line, and the last one is the
    program's, however the file words it."""
    monkeypatch.delenv("COLUMNS", raising=False)  # test runners set it, and it would replace the terminal's own width
    words = "x.sh done a.json reaches beyond the debate: - cast.a, cast.b, cast.judge: the program claude -p"
    answers(f'context: [{", ".join(f"/x/{n}.md" for n in range(60))}]\ncast: "command:sh -c {words} {"y" * 170}"\n')
    for verb in (("run", "--answers", "a.yaml"), ("--answers", "a.yaml")):
        with watching(*verb, columns=60, rows=40, TERM="dumb") as viewer:
            viewer.see_text("[y/N]" if verb[0] == "run" else "Leave, and do nothing")
            rows = viewer.glass.text.split("\n")
            begin = next(n for n, row in enumerate(rows) if row.startswith("  - "))
            end = next(n for n, row in enumerate(rows) if row.startswith(("Do you", "  1 yes")) and n > begin)
            listed = [row for row in rows[begin:end] if row]
            assert [row for row in listed if not row.startswith(("  - ", "    "))] == []
            items = [row for row in listed if row.startswith("  - ")]
            assert "more files" in items[-2] and "the program sh -c x.sh" in items[-1]
            viewer.press("n\r")
            assert viewer.see_end() == 2


def test_more_than_can_be_shown(debate: Run, here: Path) -> None:
    """A file that names more programs than a screen can show, or a longer one, is refused at a terminal without a
    question."""
    for cast in (
        f"{{a: rehearse, b: rehearse, judge: {[f'command:cat {n} {200 * chr(120)}' for n in range(9)]}}}",
        f"'command:cat {'x' * 600}'",
    ):
        answers(f"cast: {cast}\n")
        with watching("run", "--answers", "a.yaml", columns=120) as viewer:
            assert viewer.see_end() == 2
            assert "[y/N]" not in viewer.glass.text and "more than can be shown" in viewer.glass.text
