"""What a person is writing is on the disk, for exactly the brief that it answers, until the reply is on record."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from debates import played
from human_turns import due, taken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import Rejected, Reply
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.terminal.drafts import SOON, Drafts, Keeping
from debate_orchestrator.util.errors import BadFile

TEXT = st.text(st.characters(codec="utf-8"), max_size=60)


def two(debate: DebateState) -> tuple[Drafts, object, object]:
    turn = schedule.turn(debate, "1.opening.a")
    short = Rejected(turn=turn.id, complaints=("too short",), reply=Reply(text="So.", brief="", by="host"))
    return Drafts("r.drafts"), brief(debate, turn), brief(debate, turn, short)


def test_a_speech_comes_back(here: Path) -> None:
    """What is kept for a brief is there for the same brief, as a file that can be read."""
    papers, first, _ = two(due("1.opening.a"))
    papers.keep_speech(first, "One.\n\nTwö.")  # type: ignore[arg-type]

    assert Drafts("r.drafts").speech(first) == "One.\n\nTwö."  # type: ignore[arg-type]
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
    at.drafts.keep_entered(at.brief, entered)

    assert at.drafts.entered(at.brief) == entered


@pytest.mark.parametrize("junk", ["", "{", "[1]", '{"a": 1}', "[[[]]]", "\x00", '[["a"]]', "[" * 10_000])
def test_a_paper_that_is_no_form(here: Path, junk: str) -> None:
    """A paper that was spoiled breaks nothing."""
    at = taken("1.verdict.judge", None, here)
    Path("r.drafts").mkdir()
    Path(at.drafts.place(at.brief)).write_text(junk)

    assert isinstance(at.drafts.entered(at.brief), dict)


def test_what_is_no_form_is_set_aside(here: Path) -> None:
    """A form that can't be read is moved to a name that nothing has, each time to another; one that can stays."""
    at = taken("1.verdict.judge", None, here)
    moved = []
    for junk in (b"{", b"[1]", b"\xff\xfe"):
        Path("r.drafts").mkdir(exist_ok=True)
        Path(at.drafts.place(at.brief)).write_bytes(junk)
        moved.append(at.drafts.set_aside(at.brief))
        assert Path(moved[-1]).read_bytes() == junk
    at.drafts.keep_entered(at.brief, {("winner",): "a"})

    assert len(set(moved)) == 3 and sorted(moved) == at.drafts.others(at.brief)
    assert at.drafts.set_aside(at.brief) == ""
    assert at.drafts.entered(at.brief) == {("winner",): "a"}


def test_a_leaf(here: Path) -> None:
    """A part of a paper is a file of its own, as often as one is asked for; it is never put away by others."""
    at = taken("1.opening.a", None, here)
    first, second = (at.drafts.leaf(at.brief, text) for text in ("Ä", "half \ud800"))
    at.drafts.tidy(fold(played()))

    assert (Path(first).read_text(encoding="utf-8"), Path(second).read_text(encoding="utf-8")) == ("Ä", "half ?")
    assert at.drafts.others(at.brief) == sorted([first, second])


def test_a_leaf_that_can_not_be_written(here: Path) -> None:
    """Where no file can be made, that is a complaint."""
    at = taken("1.opening.a", None, here)
    Path("r.drafts").write_text("no folder")
    with pytest.raises(BadFile, match=r"r\.drafts"):
        at.drafts.leaf(at.brief, "x")


def test_tidying(here: Path) -> None:
    """Drafts that are on record as replies go, also what a crash left half written, and then the folder does."""
    debate = due("1.opening.b")
    Path("r.drafts").mkdir()
    for name in ("1.opening.a.00000000.md", ".1.opening.a.12345678.md.k3j2", "1.opening.b.00000000.md"):
        Path("r.drafts", name).write_text("x")
    Drafts("r.drafts").tidy(debate)
    left = os.listdir("r.drafts")
    Drafts("r.drafts").tidy(due("1.challenge.a"))

    assert left == ["1.opening.b.00000000.md"]
    assert not Path("r.drafts").exists()
    Drafts("r.drafts").tidy(debate)  # nothing there is nothing to do


def test_what_answers_another_brief_stays(here: Path) -> None:
    """What was written for a turn that is on record, in answer to another brief of it, goes only when the debate is
    complete; what was set aside, never."""
    Path("r.drafts").mkdir()
    for name in ("1.opening.a.12345678.md", "1.opening.a.12345678.aside-1.md", "notes.txt"):
        Path("r.drafts", name).write_text("x")
    Drafts("r.drafts").tidy(due("final.dissent.judge"))
    before = sorted(os.listdir("r.drafts"))
    Drafts("r.drafts").tidy(fold(played(rounds=2)))

    assert before == ["1.opening.a.12345678.aside-1.md", "1.opening.a.12345678.md", "notes.txt"]
    assert sorted(os.listdir("r.drafts")) == ["1.opening.a.12345678.aside-1.md", "notes.txt"]


def test_what_changes_is_kept_soon() -> None:
    """However often something changes, the latest of it is written once in a while, and at the end at once."""
    written: list[str] = []

    async def typing() -> None:
        keeping = Keeping[str](written.append)
        for n in range(20):
            keeping.soon(f"text {n}")
        assert written == []
        await asyncio.sleep(SOON * 1.5)
        assert written == ["text 19"]
        keeping.soon("last")
        keeping.now()
        keeping.now()
        await asyncio.sleep(SOON * 1.5)

    asyncio.run(typing())
    assert written == ["text 19", "last"]


def test_what_can_not_be_kept_is_told() -> None:
    """Where nothing can be written that is reported, until it can again."""
    full = [True]

    def write(text: str) -> None:
        if full[0]:
            raise BadFile("no room")

    keeping = Keeping[str](write)
    keeping.now("one")
    assert keeping.trouble == "can't be kept: no room"
    full[0] = False
    keeping.now("two")
    assert keeping.trouble == ""
