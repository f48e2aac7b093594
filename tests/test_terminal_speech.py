"""A speech is written here or in an editor, kept on the disk until it is on record, and handed in when it will do."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from debates import CONCEDE, DECLINE, play_events
from human_turns import Script, due, run, taken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from debate_orchestrator.core.fold import fold
from debate_orchestrator.terminal import drafts
from debate_orchestrator.terminal.asking import Quit
from debate_orchestrator.terminal.drafts import Drafts, DraftWriter
from debate_orchestrator.terminal.turn import SpeechEditor
from debate_orchestrator.util.errors import BadFile


def spoken(here: Path, *said: str | Exception, turn: str = "1.opening.a") -> tuple[str, Script]:
    script = Script(*said)
    return run(SpeechEditor(taken(turn, script, here)).run()), script


def papers(here: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted((here / "r.drafts").glob("*"))]


def test_written_and_handed_in(here: Path) -> None:
    """A speech is handed in as it was written, once that was confirmed; it is kept until it is on record. The line
    below counts against what is asked for and what is heard, and says when that is over."""
    text, script = spoken(here, "I say so.\n\nAnd why.", "")

    assert text == "I say so.\n\nAnd why."
    assert papers(here) == [text]
    assert "5 words. About 550 words are asked for" in script.asked[1].lines[0]
    assert script.asked[0].multiline and not script.asked[1].multiline
    below = script.asked[0].status
    assert below("one two") == "2 words of about 550 (825 at most)"
    assert below("word " * 826) == "826 words of about 550, 1 too many"


@pytest.mark.parametrize("bad", ["", "\u200b"])
def test_what_will_not_do_is_reported(here: Path, bad: str) -> None:
    """A speech without a word is complained about right there, and is not asked to be confirmed."""
    text, script = spoken(here, bad, "Better.", "")

    assert text == "Better."
    assert "is empty" in script.text or "no visible character" in script.text


@pytest.mark.parametrize(
    ("speech", "message"),
    [
        (f"It is so.\n\n{CONCEDE}", "concedes the whole debate"),
        (f"It is so.\n\n{DECLINE}", "declines to argue"),
        (f'She wrote: "It is so.\n{CONCEDE}', f'"{CONCEDE}" does not count here'),
    ],
)
def test_what_a_last_line_does_is_reported(here: Path, speech: str, message: str) -> None:
    """A line by which a side concedes or declines is told for what it is before it is handed in, and also that it does
    not count where it is in a quotation, or is not the last."""
    text, script = spoken(here, speech, "", turn="1.opening.b")
    remarks = " ".join(script.asked[1].lines)

    assert text == speech and message in remarks
    assert ("does not count" in remarks) is ("does not count" in message)
    assert ("concedes the whole debate" in remarks) is ("concedes" in message)


def test_a_draft_is_offered_again(here: Path) -> None:
    """What was written before the person left is there when the same turn is due again."""
    with pytest.raises(Quit):
        spoken(here, "Half a thought", Quit())
    text, script = spoken(here, "Half a thought, and the other.", "")

    assert "What you had written is here again: 3 words." in script.text
    assert script.asked[0].initial_text == "Half a thought"
    assert text == "Half a thought, and the other."


@pytest.mark.parametrize("junk", [b"\xff\xfe", b"[1]"])
def test_a_draft_that_can_not_be_read(here: Path, junk: bytes) -> None:
    """A draft that is not a form is refused by its name, and never written over."""
    at = taken("1.verdict.judge", None, here)
    (here / "r.drafts").mkdir()
    path = Path(at.drafts.path_of(at.brief))
    path.write_bytes(junk)
    with pytest.raises(BadFile, match=r"1\.verdict\.judge"):
        at.drafts.read_form(at.brief)

    assert path.read_bytes() == junk


def test_tidying(here: Path) -> None:
    """Drafts go once they are on record, those for another brief when the debate is complete, and then the folder."""
    debate = due("1.opening.b")
    Path("r.drafts").mkdir()
    mine = f"1.opening.a.{debate.replies['1.opening.a'].reply.brief_digest[:8]}.md"
    for name in (mine, "1.opening.a.12345678.md", "1.opening.b.00000000.md", "notes.txt"):
        Path("r.drafts", name).write_text("x")
    Drafts("r.drafts").remove_drafts(debate)
    before = sorted(os.listdir("r.drafts"))
    Drafts("r.drafts").remove_drafts(fold(play_events(rounds=2)))

    assert before == ["1.opening.a.12345678.md", "1.opening.b.00000000.md", "notes.txt"]
    assert os.listdir("r.drafts") == ["notes.txt"]


TEXT = st.text(st.characters(codec="utf-8"), max_size=60)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entered=st.dictionaries(st.lists(TEXT, min_size=1, max_size=3).map(tuple), TEXT, max_size=4))
def test_what_was_entered_comes_back(here: Path, entered: dict[tuple[str, ...], str]) -> None:
    """Whatever was entered in a form comes back as it was."""
    at = taken("1.verdict.judge", None, here)
    at.drafts.save_form(at.brief, entered)

    assert at.drafts.read_form(at.brief) == entered


def test_what_changes_is_kept_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often something changes, the latest of it is written once in a while, and at the end at once."""
    written: list[str] = []
    monkeypatch.setattr(drafts, "SAVE_DELAY", 0.01)

    async def typing() -> None:
        writer = DraftWriter[str](written.append)
        for n in range(20):
            writer.write_soon(f"text {n}")
        assert written == []
        await asyncio.sleep(0.03)
        assert written == ["text 19"]
        writer.write_soon("last")
        writer.write_now()
        writer.write_now()
        await asyncio.sleep(0.03)

    asyncio.run(typing())
    assert written == ["text 19", "last"]
