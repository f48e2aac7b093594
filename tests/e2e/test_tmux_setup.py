"""The setup conversation in a real terminal: from the first question to a written report, however little it can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from .tmux import Screen, screen

pytestmark = pytest.mark.slow

ANSWERS = [
    ("What is the debate topic or question?", "Should our team write new services in Rust instead of Go?"),
    ("Who argues, and who judges?", "rehearse"),
    ("Correct?", "edit"),
    ("What does Researcher A (Pro) argue?", ""),
    ("What does Researcher B (Con) argue?", " The team should stay with Go."),
    ("Correct?", "yes"),
    ("Is there a file with your own figures", ""),
    ("Begin the debate?", "more"),
    ("Which answer?", "output"),
    ("Where should I save the debate report?", "\x15reports/rust.md"),
    ("Begin the debate?", "yes"),
]
"""What is at the end of a screen, and what is typed then."""


TOPIC = ANSWERS[0][1]


def question(one: Screen, words: str) -> str:
    """The screen once these words are on it, however its lines break, and nothing more comes."""
    wanted = "".join(words.split())
    return one.see(lambda text: wanted in "".join(text.split()), still=True)


def answered(one: Screen, begin: int = 0, end: int = len(ANSWERS)) -> list[str]:
    """The screens on which each of these questions stood, each with its answer given."""
    screens = []
    for words, answer in ANSWERS[begin:end]:
        screens.append(question(one, words))
        one.type(answer)
    return screens


def test_from_the_first_question_to_the_report(here: Path) -> None:
    """A person who types `debate` is led through every question to a written report, in a narrow terminal too."""
    with screen(40, 30, here) as one:
        one.debate(NO_COLOR="1")
        screens = answered(one)
        last = question(one, "Report written to reports/rust.rehearsed.md.")

    assert "Traceback" not in last
    assert max(len(line) for text in screens[1:] for line in text.split("\n")) <= 40
    assert "with modelswouldtake27calls".replace(" ", "") in "".join(
        "\n".join(screens).split()
    )  # a terminal may break a line in a word
    assert (here / "reports" / "rust.rehearsed.md").read_text(encoding="utf-8").startswith("# Debate Report")
    kept = (here / "reports" / "rust.answers.yaml").read_text(encoding="utf-8")
    assert "The team should stay with Go." in " ".join(kept.split())


def test_resized_stopped_left_continued_and_gone_back_in(here: Path) -> None:
    """A conversation goes on whatever happens to its window, out of order, and over two sittings."""
    with screen(80, 30, here) as one:
        one.debate()
        _resized_while_a_line_is_typed(one)
        answered(one, 1, 3)
        _stopped(one)
        _left(one)
        _continued(one)
        answered(one, 2, 7)
        _arrow_keys_choose(one)
        question(one, "How many debate rounds?")
        one.type("1")
        _gone_back_in(one)


def _resized_while_a_line_is_typed(one: Screen) -> None:
    """A window may be made narrower and wider under a question: what is typed stays, and the answer counts."""
    question(one, ANSWERS[0][0])
    one.ask("send-keys", "-l", TOPIC[:-1])
    for columns in (40, 160, 60):
        one.resize(columns, 30)
        question(one, TOPIC[-20:-1])
    one.type("?")
    assert TOPIC.removesuffix("?") in " ".join(question(one, "Who argues, and who judges?").split())
    one.resize(80, 30)


def _stopped(one: Screen) -> None:
    """Ctrl-Z gives the shell its terminal, and `fg` goes on at the same question."""
    question(one, ANSWERS[3][0])
    one.press("C-z")
    one.see("Stopped")
    one.type("fg")
    stands = '> The answer to "Should our team'
    one.see(lambda text: stands in text.partition("Stopped")[2], still=True)


def _left(one: Screen) -> None:
    """Ctrl-C leaves the shell as it was, and names the command that goes on."""
    one.press("C-c")
    question(one, "Continue with `debate --answers .debate-setup.yaml`.")
    one.type("echo code $?")
    one.see("code 130")


def _continued(one: Screen) -> None:
    """That command continues with what was answered."""
    one.type("clear")
    one.debate("--answers", ".debate-setup.yaml")
    assert f"topic: {TOPIC}" in question(one, ANSWERS[2][0])


def _arrow_keys_choose(one: Screen) -> None:
    """The arrow keys select another choice, and Enter takes it."""
    question(one, "* 1 yes")
    one.press("Down")
    question(one, "* 2 more")
    one.press("Enter")
    question(one, "Which answer?")
    one.type("rounds")


def _gone_back_in(one: Screen) -> None:
    """Shift-Tab puts the question before, with the answer that stands, and nothing later is asked again."""
    question(one, "Rounds: 1")
    for shown in ("(Enter: none)", "* 1 yes", "* 1 keep"):
        one.press("BTab")
        question(one, shown)
    one.press("Enter")
    one.see(lambda text: "Begin the debate?" in text)
