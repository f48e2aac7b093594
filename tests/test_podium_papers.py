"""What a person is writing is on the disk, for exactly the brief that it answers, until the reply is on record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from podiums import due, taken

from debate_orchestrator.briefs import brief
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.podium.papers import Papers

TEXT = st.text(st.characters(codec="utf-8"), max_size=60)


def two(debate: Debate) -> tuple[Papers, object, object]:
    turn = debate.turn("1.opening.a")
    return Papers("r.drafts"), brief(debate, turn), brief(debate, turn, ["too short"])


def test_a_speech_comes_back(here: Path) -> None:
    """What is kept for a brief is there for the same brief, as a file that can be read."""
    papers, first, _ = two(due("1.opening.a"))
    papers.keep_speech(first, "One.\n\nTwö.")  # type: ignore[arg-type]

    assert Papers("r.drafts").speech(first) == "One.\n\nTwö."  # type: ignore[arg-type]
    assert [path.read_text(encoding="utf-8") for path in Path("r.drafts").glob("1.opening.a.*.md")] == ["One.\n\nTwö."]


def test_another_brief_is_another_paper(here: Path) -> None:
    """What answers another brief is offered for none but that, and is named."""
    papers, first, second = two(due("1.opening.a"))
    papers.keep_speech(first, "One.")  # type: ignore[arg-type]

    assert papers.speech(second) == ""  # type: ignore[arg-type]
    assert papers.others(second) == [papers.place(first)]  # type: ignore[arg-type]
    assert papers.others(first) == []  # type: ignore[arg-type]


def test_nothing_is_not_kept(here: Path) -> None:
    """A speech without a word leaves no file."""
    papers, first, _ = two(due("1.opening.a"))
    papers.keep_speech(first, "One.")  # type: ignore[arg-type]
    papers.keep_speech(first, " \n")  # type: ignore[arg-type]

    assert os.listdir("r.drafts") == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entered=st.dictionaries(st.lists(TEXT, min_size=1, max_size=3).map(tuple), TEXT, max_size=4))
def test_what_was_entered_comes_back(here: Path, entered: dict[tuple[str, ...], str]) -> None:
    """Whatever was entered in a form comes back as it was."""
    at = taken("1.verdict.judge", None, here)
    at.papers.keep_entered(at.brief, entered)

    assert at.papers.entered(at.brief) == entered


@pytest.mark.parametrize("junk", ["", "{", "[1]", '{"a": 1}', "[[[]]]", "\x00", '[["a"]]', "[" * 10_000])
def test_a_paper_that_is_no_form(here: Path, junk: str) -> None:
    """A paper that somebody spoiled breaks nothing."""
    at = taken("1.verdict.judge", None, here)
    Path("r.drafts").mkdir()
    Path(at.papers.place(at.brief)).write_text(junk)

    assert isinstance(at.papers.entered(at.brief), dict)


def test_tidying(here: Path) -> None:
    """Papers of turns on record go, also what a crash left half written; the others stay, and then the folder goes."""
    debate = due("1.opening.b")
    Path("r.drafts").mkdir()
    for name in ("1.opening.a.12345678.md", ".1.opening.a.12345678.md.k3j2", "1.opening.b.12345678.md"):
        Path("r.drafts", name).write_text("x")
    Papers("r.drafts").tidy(debate)
    left = os.listdir("r.drafts")
    Papers("r.drafts").tidy(due("1.challenge.a"))

    assert left == ["1.opening.b.12345678.md"]
    assert not Path("r.drafts").exists()
    Papers("r.drafts").tidy(debate)  # nothing there is nothing to do
