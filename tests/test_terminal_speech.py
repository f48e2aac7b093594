"""A speech is written here or in an editor, kept on the disk until it is on record, and handed in when it will do."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from debates import CONCEDE, DECLINE, played
from human_turns import Script, due, run, taken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import Rejected
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.terminal.drafts import SOON, Drafts, DraftWriter
from debate_orchestrator.terminal.prompt import EditorWanted, Quit
from debate_orchestrator.terminal.turn import SpeechEditor
from debate_orchestrator.util.errors import BadFile


@pytest.fixture(autouse=True)
def no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "")
    monkeypatch.setenv("EDITOR", "")


def spoken(here: Path, *said: str | Exception, turn: str = "1.opening.a", **more: Any) -> tuple[str, Script]:
    script = Script(*said, **more)
    return run(SpeechEditor(taken(turn, script, here)).take()), script


def papers(here: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted((here / "r.drafts").glob("*"))]


def test_written_and_handed_in(here: Path) -> None:
    """A speech is handed in as it was written, once that was confirmed; it is kept until it is on record."""
    text, script = spoken(here, "I say so.\n\nAnd why.", "")

    assert text == "I say so.\n\nAnd why."
    assert papers(here) == [text]
    assert "5 words. About 550 words are asked for" in script.asked[1].lines[0]
    assert script.asked[0].multiline and not script.asked[1].multiline


def test_gone_on_with(here: Path) -> None:
    """One who does not hand it in yet goes on with what is written; anything else than an answer is asked again."""
    text, script = spoken(here, "One.", "perhaps", "e", "One. Two.", "yes")

    assert text == "One. Two."
    assert script.asked[3].now == "One."


@pytest.mark.parametrize("bad", ["", " \n ", "\u200b"])
def test_what_will_not_do_is_told(here: Path, bad: str) -> None:
    """A speech without a word is complained about right there, and is not asked to be confirmed."""
    text, script = spoken(here, bad, "Better.", "")

    assert text == "Better."
    assert "is empty" in script.text or "no visible character" in script.text


def test_too_long_is_told(here: Path) -> None:
    """A speech over the limit may be handed in; how much of it is not heard is told before."""
    text, script = spoken(here, "word " * 830, "")

    assert len(text.split()) == 830
    assert any("The last 5 words are over the limit" in line for line in script.asked[1].lines)


@pytest.mark.parametrize(("line", "told"), [(CONCEDE, "concedes the whole debate"), (DECLINE, "declines to argue")])
def test_giving_up_is_told(here: Path, line: str, told: str) -> None:
    """A line by which a side concedes or declines is told for what it is before it is handed in."""
    text, script = spoken(here, f"It is so.\n\n{line}", "", turn="1.opening.b")

    assert line in text
    assert any(told in line for line in script.asked[1].lines)


def test_a_line_that_does_not_count_is_told(here: Path) -> None:
    """A speaker whose reserved line stands in a quotation, or is not the last, is told so before handing in."""
    _, script = spoken(here, f'She wrote: "It is so.\n{CONCEDE}', "e", f"So.\n\n{CONCEDE}", "", turn="1.opening.b")
    first, last = ("\n".join(script.asked[n].lines) for n in (1, 3))

    assert f'"{CONCEDE}" does not count here' in first and "concedes the whole debate" not in first
    assert "does not count" not in last and "concedes the whole debate" in last


def test_a_draft_is_offered_again(here: Path) -> None:
    """What was written before the person left is there when the same turn is due again."""
    with pytest.raises(Quit):
        spoken(here, "Half a thought", Quit())
    text, script = spoken(here, "Half a thought, and the other.", "")

    assert "What you had written is here again: 3 words." in script.text
    assert script.asked[0].now == "Half a thought"
    assert text == "Half a thought, and the other."


def test_the_count_below(here: Path) -> None:
    """The line below counts against what is asked for and what is heard, and says when that is over."""
    _, script = spoken(here, "One.", "")
    below = script.asked[0].status

    assert below("one two").text == "2 words of about 550 (825 at most)"
    assert below("word " * 826).text == "826 words of about 550, 1 too many" and below("word " * 826).over


def test_the_brief_is_at_hand(here: Path) -> None:
    """The whole brief can be seen at every moment."""
    _, script = spoken(here, "One.", "")

    assert all("Your task: Opening Statement" in blank.shows["brief"]() for blank in script.asked)


class TestEditor:
    @pytest.fixture(autouse=True)
    def an_editor(self, monkeypatch: pytest.MonkeyPatch, no_editor: None) -> None:
        monkeypatch.setenv("EDITOR", "ed")

    def test_the_file_is_what_is_kept(self, here: Path) -> None:
        """Where an editor is chosen it opens on the very file in which the speech is kept."""
        seen: list[Path] = []

        def edit(path: Path) -> None:
            seen.append(path)
            path.write_text("From the editor.\n")

        text, script = spoken(here, "", "", edits=edit)

        assert text == "From the editor.\n"
        assert seen[0].parent.name == "r.drafts"
        assert "Enter opens your editor (ed)" in script.asked[0].text

    def test_writing_here_all_the_same(self, here: Path) -> None:
        """A person who would rather write here says so, and can take it to the editor later, and back."""

        def edit(path: Path) -> None:
            path.write_text(f"{path.read_text()} And more.")

        text, _ = spoken(here, "w", EditorWanted("Begun here."), "", edits=edit)

        assert text == "Begun here. And more."

    def test_nothing_was_written(self, here: Path) -> None:
        """An editor that leaves nothing ends in no empty speech: it is opened again, or it is written here."""
        text, _ = spoken(here, "", "w", "Here.", "")

        assert text == "Here."

    def test_an_editor_that_fails(self, here: Path) -> None:
        """An editor that can't be used is told, and the speech is written here."""
        text, script = spoken(here, "", "Here.", "", edits=lambda path: "ed: no such program")

        assert text == "Here."
        assert "ed: no such program" in script.text

    def test_bytes_that_are_no_text(self, here: Path) -> None:
        """A file that is no text is told and set aside under another name, and what was there before stays."""

        def edit(path: Path) -> None:
            path.write_bytes("Zwölf Wörter.".encode("latin-1"))

        text, script = spoken(here, "w", EditorWanted("Begun."), "Begun.", "", edits=edit)
        (aside,) = (here / "r.drafts").glob("*.aside-*")

        assert text == "Begun."
        assert "not UTF-8 text" in script.text and f"it is kept in {aside}." in script.text
        assert aside.read_bytes().decode("latin-1") == "Zwölf Wörter."


def test_a_draft_that_can_not_be_read(here: Path) -> None:
    """A draft in another encoding is not written over: it is set aside, its name is told, and it is begun anew."""
    at = taken("1.opening.a", None, here)
    (here / "r.drafts").mkdir()
    Path(at.drafts.path_of(at.brief)).write_bytes("Wörter.".encode("utf-16"))
    text, script = spoken(here, "Anew.", "")
    (aside,) = (here / "r.drafts").glob("*.aside-*")

    assert text == "Anew." and Path(at.drafts.path_of(at.brief)).read_text() == "Anew."
    assert str(aside) in script.text and aside.read_bytes().decode("utf-16") == "Wörter."


def test_no_editor_to_be_had(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no editor is to be had, that is told, and nothing is lost."""
    monkeypatch.setenv("PATH", str(here))
    text, script = spoken(here, EditorWanted("Begun."), "Begun. Ended.", "")

    assert "set VISUAL or EDITOR" in script.text
    assert script.asked[1].now == "Begun."
    assert text == "Begun. Ended."


TEXT = st.text(st.characters(codec="utf-8"), max_size=60)


def two(debate: DebateState) -> tuple[Drafts, object, object]:
    turn = schedule.turn(debate, "1.opening.a")
    short = Rejected(turn=turn.id, problems=("too short",), reply=Reply(text="So.", brief_digest="", by="host"))
    return Drafts("r.drafts"), brief(debate, turn), brief(debate, turn, short)


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
    Path(at.drafts.path_of(at.brief)).write_text(junk)

    assert isinstance(at.drafts.entered(at.brief), dict)


def test_what_is_no_form_is_set_aside(here: Path) -> None:
    """A form that can't be read is moved to a name that nothing has, each time to another; one that can stays."""
    at = taken("1.verdict.judge", None, here)
    moved = []
    for junk in (b"{", b"[1]", b"\xff\xfe"):
        Path("r.drafts").mkdir(exist_ok=True)
        Path(at.drafts.path_of(at.brief)).write_bytes(junk)
        moved.append(at.drafts.set_aside(at.brief))
        assert Path(moved[-1]).read_bytes() == junk
    at.drafts.keep_entered(at.brief, {("winner",): "a"})

    assert len(set(moved)) == 3 and sorted(moved) == at.drafts.others(at.brief)
    assert at.drafts.set_aside(at.brief) == ""
    assert at.drafts.entered(at.brief) == {("winner",): "a"}


def test_a_leaf(here: Path) -> None:
    """A part of a paper is a file of its own, as often as one is asked for; it is never put away by others."""
    at = taken("1.opening.a", None, here)
    first, second = (at.drafts.new_part(at.brief, text) for text in ("Ä", "half \ud800"))
    at.drafts.tidy(fold(played()))

    assert (Path(first).read_text(encoding="utf-8"), Path(second).read_text(encoding="utf-8")) == ("Ä", "half ?")
    assert at.drafts.others(at.brief) == sorted([first, second])


def test_a_leaf_that_can_not_be_written(here: Path) -> None:
    """Where no file can be made, that is a complaint."""
    at = taken("1.opening.a", None, here)
    Path("r.drafts").write_text("no folder")
    with pytest.raises(BadFile, match=r"r\.drafts"):
        at.drafts.new_part(at.brief, "x")


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
        writer = DraftWriter[str](written.append)
        for n in range(20):
            writer.soon(f"text {n}")
        assert written == []
        await asyncio.sleep(SOON * 1.5)
        assert written == ["text 19"]
        writer.soon("last")
        writer.now()
        writer.now()
        await asyncio.sleep(SOON * 1.5)

    asyncio.run(typing())
    assert written == ["text 19", "last"]


def test_what_can_not_be_kept_is_told() -> None:
    """Where nothing can be written that is reported, until it can again."""
    full = [True]

    def write(text: str) -> None:
        if full[0]:
            raise BadFile("no room")

    writer = DraftWriter[str](write)
    writer.now("one")
    assert writer.problem == "can't be kept: no room"
    full[0] = False
    writer.now("two")
    assert writer.problem == ""
