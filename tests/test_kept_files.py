"""What people wrote in the places where this program writes is kept: briefs, forms, cards, pages, answers, folders."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import Run, hold
from reviewers import debated, filled, paper

from debate_orchestrator.engine import probe
from debate_orchestrator.evidence import fetch
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.reports import reviews
from debate_orchestrator.setup import kept_answers as saving
from debate_orchestrator.setup import session
from debate_orchestrator.setup.kept_answers import KeptAnswers
from debate_orchestrator.setup.session import SetupProgress, SetupState
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.terminal.drafts import Drafts
from debate_orchestrator.util.errors import BadFile, BadReply

SETUP = SetupState(given={"rounds": 2}, progress=SetupProgress(topics=("Tabs?",)))


def test_a_brief_that_was_edited_is_kept(here: Path) -> None:
    """A brief in place that is not the one due is moved aside, and that is told; one that is due is left alone."""
    said = list[str]()
    desk = TurnsFolder("d.turns", said.append)
    laid = desk.place("1.opening.a", "text")
    desk.lay(laid, "brief")
    Path(laid.brief).write_text("brief, with my notes")
    desk.lay(laid, "brief")
    desk.lay(laid, "brief")

    assert Path("d.turns/1.opening.a.brief.edited.md").read_text() == "brief, with my notes"
    assert len(said) == 1 and said[0].endswith("kept as d.turns/1.opening.a.brief.edited.md.")


def test_a_link_is_no_reply(here: Path) -> None:
    """A link or a pipe where a reply belongs is not read, and is moved aside with the brief it does not answer."""
    Path("secret").write_text("password")
    desk = TurnsFolder("d.turns")
    laid = desk.place("1.opening.a", "text")
    desk.lay(laid, "brief")
    os.symlink(here / "secret", laid.reply)
    with pytest.raises(BadReply, match="a symbolic link"):
        desk.collect(laid, "brief")
    desk.lay(laid, "another brief")
    os.mkfifo(laid.reply)
    with pytest.raises(BadReply, match="a pipe"):
        desk.collect(laid, "another brief")

    assert Path("d.turns/1.opening.a.reply.aside-1.md").is_symlink()


@pytest.mark.parametrize("kind", ["turns", "evidence", "ballots", "drafts"])
def test_folders_of_a_debate_are_no_links(here: Path, kind: str) -> None:
    """Where a link stands in the place of a debate's own folder, nothing is written to where it points."""
    os.mkdir("elsewhere")
    os.symlink("elsewhere", f"r.{kind}")
    case = paper(debated(rounds=1))
    desk = TurnsFolder("r.turns")
    attempts = {
        "turns": lambda: desk.lay(desk.place("1.opening.a", "text"), "brief"),
        "evidence": lambda: fetch.keep(Path("r.evidence"), b"page", "html"),
        "ballots": lambda: reviews.file_ballot("r.ballots", filled(case, "ada")),
        "drafts": lambda: Drafts("r.drafts").keep_speech(_brief(), "My speech."),
    }
    with pytest.raises(BadFile, match="a symbolic link"):
        attempts[kind]()
    assert os.listdir("elsewhere") == []


def _brief() -> object:
    """A brief, as far as papers need to know it."""

    class Asked:
        """Names the turn and what is wanted."""

        turn, digest, wants = "1.opening.a", "0" * 64, "text"

    return Asked()


def test_a_page_that_was_changed_is_kept(here: Path) -> None:
    """A kept page whose bytes are not those it is named after is moved aside when the page is kept again."""
    name = fetch.keep(Path("e"), b"<p>as it was", "html")
    Path("e", name).write_bytes(b"my notes on it")
    fetch.keep(Path("e"), b"<p>as it was", "html")
    fetch.keep_text(Path("e"), name, "as it was")
    text = Path("e", f"{name.partition('.')[0]}.txt")
    text.write_text("my notes")
    fetch.keep_text(Path("e"), name, "as it was")

    assert sorted(one.read_bytes() for one in Path("e").iterdir()) == [
        b"<p>as it was",
        b"as it was",
        b"my notes",
        b"my notes on it",
    ]


def test_a_ballot_is_cast_once_by_two_at_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ballot that is cast while another of the same name is being filed does not overwrite it."""
    case = paper(debated(rounds=1))
    monkeypatch.setattr(reviews, "must_be_free", lambda *_: None)
    path = reviews.file_ballot("r.ballots", filled(case, "ada"))
    first = Path(path).read_bytes()
    with pytest.raises(BadFile, match="already exists"):
        reviews.file_ballot("r.ballots", {**filled(case, "ada"), "justification": "Another."})

    assert Path(path).read_bytes() == first


def test_an_answers_file_with_notes_is_kept(here: Path) -> None:
    """An answers file in which someone wrote comments is moved aside before it is written anew; one of ours is not."""
    said = list[str]()
    Path("mine.yaml").write_text("# my notes\nrounds: 2\n")
    session.save("mine.yaml", SETUP, said.append)
    session.save("mine.yaml", SETUP.model_copy(update={"given": {"rounds": 3}}), said.append)

    assert Path("mine.edited.yaml").read_text() == "# my notes\nrounds: 2\n"
    assert sorted(os.listdir()) == ["mine.edited.yaml", "mine.yaml"]
    assert len(said) == 1 and "kept as mine.edited.yaml" in said[0]


def test_answers_of_another_conversation_are_kept(here: Path) -> None:
    """Answers that are moved beside a report overwrite none that are there already."""
    session.save("r.answers.yaml", SETUP)
    before = Path("r.answers.yaml").read_bytes()
    kept = saving.new_file()
    kept.keep(SETUP.model_copy(update={"given": {"rounds": 4}}))

    assert kept.moved(SETUP, "r.md") == "r-2.answers.yaml"
    assert Path("r.answers.yaml").read_bytes() == before
    assert KeptAnswers("r.answers.yaml", own=False).moved(SETUP, "r.md") == "r.answers.yaml"


def test_what_was_moved_aside_is_no_conversation(here: Path) -> None:
    """A conversation's file that was edited and moved aside is not offered as one that was left."""
    saving.new_file().keep(SETUP)
    text = Path(".debate-setup.yaml").read_text()
    Path(".debate-setup.yaml").unlink()
    Path(".debate-setup.edited.yaml").write_text(text)

    assert saving.newest_unfinished() is None


def test_what_was_answered_lately_is_not_written_over(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the place of what was answered lately that holds something else is moved aside."""
    monkeypatch.setenv("XDG_STATE_HOME", str(here))
    path = here / "debate-orchestrator" / "answered-lately.json"
    path.parent.mkdir()
    path.write_text("not this program's")
    saving.RecentAnswers().add("topic", "Tabs?")

    assert path.with_name("answered-lately.edited.json").read_text() == "not this program's"


def test_a_link_that_points_to_nothing_is_there(here: Path) -> None:
    """A dangling link in the place of a report counts as something that is there."""
    os.symlink("nowhere", "r.md")
    with pytest.raises(BadFile, match=r"r\.md already exists"):
        DebateFiles.of_output("r.md").must_be_new()


def test_a_scorecard_that_was_edited_is_kept(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes in a scorecard, and another file in the place of its data, are kept when the probes go on."""
    cases = [case for case in probe.load() if case.name.startswith(("bus-fares.original", "bus-fares.polish"))]
    monkeypatch.setattr(probe, "load", lambda: cases)
    command = ("probe", "--judge=rehearse", "--output=c", "--quiet")
    assert debate(*command).code == 0
    card = Path("c/scorecard.md").read_text()
    Path("c/scorecard.md").write_text(f"{card}\nMy notes.\n")
    Path("c/scorecard.json").write_text("my data")
    ran = debate(*command)

    assert (Path("c/scorecard.edited.md").read_text(), Path("c/scorecard.md").read_text()) == (
        f"{card}\nMy notes.\n",
        card,
    )
    assert Path("c/scorecard.edited.json").read_text() == "my data"
    assert "kept as c/scorecard.edited.md" in ran.err and "kept as c/scorecard.edited.json" in ran.err
    assert debate(*command).code == 0
    assert sorted(name for name in os.listdir("c") if "edited" in name) == [
        "scorecard.edited.json",
        "scorecard.edited.md",
    ]


def test_a_transcript_with_a_reviewers_notes_is_kept(debate: Run, answers: Path) -> None:
    """A transcript for reviewers that one of them has annotated is moved aside, and that is told."""
    hold(debate)
    command = ("ballot", "report.journal.jsonl", "--read", "t.md")
    assert debate(*command).code == 0
    text = Path("t.md").read_text()
    Path("t.md").write_text(f"{text}\nUnconvincing.\n")
    ran = debate(*command)

    assert (ran.code, Path("t.md").read_text()) == (0, text)
    assert Path("t.edited.md").read_text().endswith("\nUnconvincing.\n")
    assert "kept as t.edited.md" in ran.err


def test_a_report_without_its_seal_is_kept_by_the_command(debate: Run, answers: Path) -> None:
    """`debate report` keeps a report whose seal was cut off, and a link in the place of its page, and says so."""
    hold(debate)
    text = Path("report.md").read_bytes()
    Path("report.md").write_bytes(text[: text.rindex(b"\n---\n")])
    Path("page").write_bytes(Path("report.html").read_bytes())
    Path("report.html").unlink()
    os.symlink("page", "report.html")
    ran = debate("report", "report.journal.jsonl")

    assert (ran.code, Path("report.md").read_bytes()) == (0, text)
    assert Path("report.edited.md").read_bytes() == text[: text.rindex(b"\n---\n")]
    assert os.readlink("report.edited.html") == "page"
    assert "kept as report.edited.md" in ran.err and "kept as report.edited.html" in ran.err


def test_nothing_is_removed_through_a_link(here: Path) -> None:
    """Where a link stands in the place of the folder for drafts or turns, nothing is deleted, moved or read where it
    points."""
    real = Drafts("elsewhere")
    real.keep_speech(_brief(), "My speech.")
    desk = TurnsFolder("elsewhere")
    desk.lay(laid := desk.place("1.opening.a", "text"), "brief")
    Path(laid.reply).write_text("speech")
    before = sorted(os.listdir("elsewhere"))
    os.symlink("elsewhere", "r.drafts")
    os.symlink("elsewhere", "r.turns")

    linked, other = Drafts("r.drafts"), TurnsFolder("r.turns")
    with suppress(BadFile):
        linked.keep_speech(_brief(), "")
    assert linked.others(_brief()) == []
    assert other.collect(other.place("1.opening.a", "text"), "brief") is None
    assert sorted(os.listdir("elsewhere")) == before
