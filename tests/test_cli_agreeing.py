"""What a person agrees to: a list that nothing in it can forge, and a program in one folder alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run
from viewer import watching

SETUP = "topic: T\npositions: {a: It is so., b: It is not so.}\nrounds: 1\n"
TYPED = ("--topic=T", "--position-a=It is so.", "--position-b=It is not so.", "--rounds=1")
J = "debate-report.journal.jsonl"


def answers(text: str) -> None:
    """An answers file, a.yaml, with these lines beside a complete setup."""
    Path("a.yaml").write_text(SETUP + text, encoding="utf-8")


@pytest.mark.parametrize(
    "line", ["python3 -m bot", "sh -c 'python3 bot.py'", 'python3 "bot.py"', "env python3 -mbot", "cat -u"]
)
def test_a_program_is_trusted_in_one_folder(
    debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """A program may load files of the folder that it is run in, however it is written: consent to it holds in that
    folder alone. A copy of one's own journal, and one's answers file run elsewhere, are asked about."""
    for name in ("mine", "theirs"):
        (here / name).mkdir()
    (here / "theirs/bot.py").write_text("open('marker', 'w')")
    monkeypatch.chdir("mine")
    Path("bot.py").write_text("raise SystemExit(1)")
    assert debate("run", *TYPED, f"--a=command:{line}", "--b=host", "--judge=host").code == 3
    Path("../theirs", J).write_bytes(b"".join(Path(J).read_bytes().splitlines(keepends=True)[:2]))
    assert debate("resume", J).code == 3
    copied = debate("resume", f"../theirs/{J}")
    monkeypatch.chdir("../theirs")
    there, from_there = debate("resume", J), debate("resume", f"../mine/{J}")

    assert (copied.code, there.code, from_there.code) == (2, 2, 2)
    assert f"in {here / 'theirs'}" in there.err
    assert not Path("marker").exists()


def test_answers_are_trusted_in_one_folder(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answers file whose program was agreed to is asked about where it is run in another folder."""
    answers("cast: {a: command:sh -c false, b: host, judge: host}\n")
    assert debate("run", "--answers", "a.yaml", "--trust").code == 3
    assert debate("run", "--answers", "a.yaml", "--output=s.md").code == 3
    (here / "other").mkdir()
    monkeypatch.chdir("other")
    assert debate("run", "--answers", "../a.yaml").code == 2


def test_a_question_can_not_be_forged(debate: Run, here: Path) -> None:
    """Every row of what a file asks for is indented below the question's first line, and the last one is the
    program's, however the file words it."""
    words = "x.sh done a.json reaches beyond the debate: - cast.a, cast.b, cast.judge: the program claude -p"
    answers(f'context: [{", ".join(f"/x/{n}.md" for n in range(60))}]\ncast: "command:sh -c {words} {"y" * 170}"\n')
    for verb in (("run", "--answers", "a.yaml"), ("--answers", "a.yaml")):
        with watching(*verb, columns=60, rows=40, TERM="dumb", COLUMNS="60") as viewer:
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
        "{" + ", ".join(f"s{n}: 'command:cat {n}'" for n in range(60)) + "}",
        f"'command:cat {'x' * 600}'",
    ):
        answers(f"cast: {cast}\n")
        with watching("run", "--answers", "a.yaml", columns=120) as viewer:
            assert viewer.see_end() == 2
            assert "[y/N]" not in viewer.glass.text and "more than can be shown" in viewer.glass.text
