"""What people wrote in the places where this program writes is kept: briefs, forms, cards, pages, answers, folders."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from conftest import STATED, Run, place_finished_debate
from reviewers import adversarial_entries, ballot_for, review_form

from debate_orchestrator.evidence import check
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.reports import ballot_filing
from debate_orchestrator.setup import state as saving
from debate_orchestrator.setup.state import SetupFile, SetupProgress, SetupState, with_answers
from debate_orchestrator.storage import files
from debate_orchestrator.terminal.drafts import Drafts
from debate_orchestrator.terminal.setup_base import RecentAnswers
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadFile, BadReply

DRAFT = SetupState(answers={"rounds": 2}, progress=SetupProgress(topics=("Tabs?",)))


def test_a_brief_that_was_edited_is_kept(here: Path) -> None:
    """A brief in place that is not the one due is moved aside; one that is due is left alone."""
    turns_folder = TurnsFolder("d.turns")
    laid = turns_folder.turn_files("1.opening.a", "text")
    turns_folder.write_brief(laid, "brief")
    Path(laid.brief).write_text("brief, with my notes")
    turns_folder.write_brief(laid, "brief")
    turns_folder.write_brief(laid, "brief")

    assert Path("d.turns/1.opening.a.brief.earlier-1.md").read_text() == "brief, with my notes"
    assert len(list(Path("d.turns").iterdir())) == 2


def test_a_brief_that_can_not_be_written_hides_no_reply(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reply that was moved aside for it is named with the failure."""
    turns_folder = TurnsFolder("d.turns")
    laid = turns_folder.turn_files("1.opening.a", "text")
    turns_folder.write_brief(laid, "brief")
    Path(laid.reply).write_text("to the brief")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "_place", full)
    with pytest.raises(BadFile) as failed:
        turns_folder.write_brief(laid, "another brief")
    assert "make room" in failed.value.problems[0]
    assert "It was kept as d.turns/1.opening.a.reply.aside-1.md." in failed.value.problems[1]


def test_a_link_is_no_reply(here: Path) -> None:
    """A link or a pipe where a reply belongs is not read, and is moved aside with the brief it does not answer."""
    Path("secret").write_text("password")
    turns_folder = TurnsFolder("d.turns")
    laid = turns_folder.turn_files("1.opening.a", "text")
    turns_folder.write_brief(laid, "brief")
    os.symlink(here / "secret", laid.reply)
    with pytest.raises(BadReply, match="a symbolic link"):
        turns_folder.collect(laid, "brief")
    turns_folder.write_brief(laid, "another brief")
    os.mkfifo(laid.reply)
    with pytest.raises(BadReply, match="a pipe"):
        turns_folder.collect(laid, "another brief")

    assert Path("d.turns/1.opening.a.reply.aside-1.md").is_symlink()


@pytest.mark.parametrize("kind", ["turns", "evidence", "ballots", "drafts"])
def test_folders_of_a_debate_are_no_links(here: Path, kind: str) -> None:
    """Where a link is in the place of a debate's own folder, nothing is written to where it points."""
    os.mkdir("elsewhere")
    os.symlink("elsewhere", f"r.{kind}")
    case = review_form(adversarial_entries(rounds=1))
    turns_folder = TurnsFolder("r.turns")
    attempts = {
        "turns": lambda: turns_folder.write_brief(turns_folder.turn_files("1.opening.a", "text"), "brief"),
        "evidence": lambda: check.save_page(Path("r.evidence"), b"page", "html"),
        "ballots": lambda: ballot_filing.file_ballot("r.ballots", ballot_for(case, "ada")),
        "drafts": lambda: Drafts("r.drafts").save_speech(_brief(), "My speech."),
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
    name = check.save_page(Path("e"), b"<p>as it was", "html")
    Path("e", name).write_bytes(b"my notes on it")
    check.save_page(Path("e"), b"<p>as it was", "html")
    check.save_text(Path("e"), name, "as it was")
    text = Path("e", f"{name.partition('.')[0]}.txt")
    text.write_text("my notes")
    check.save_text(Path("e"), name, "as it was")

    assert sorted(one.read_bytes() for one in Path("e").iterdir()) == [
        b"<p>as it was",
        b"as it was",
        b"my notes",
        b"my notes on it",
    ]


def test_an_answers_file_with_notes_is_kept(here: Path) -> None:
    """An answers file in which someone wrote comments is moved aside before it is written again; one of ours is not."""
    said = list[str]()
    Path("mine.yaml").write_text("# my notes\nrounds: 2\n")
    kept = SetupFile("mine.yaml", notify=said.append)
    kept.load()
    kept.write(DRAFT)
    kept.write(DRAFT.model_copy(update={"answers": {"rounds": 3}}))

    assert Path("mine.edited.yaml").read_text() == "# my notes\nrounds: 2\n"
    assert sorted(os.listdir()) == ["mine.edited.yaml", "mine.yaml"]
    assert len(said) == 1 and "kept as mine.edited.yaml" in said[0]


@pytest.mark.parametrize("named", [True, False])
def test_answers_that_another_wrote_meanwhile_are_kept(debate: Run, here: Path, named: bool) -> None:
    """What `ask` or a person wrote into the file of a conversation at the terminal is moved aside, not written over,
    and it is said; nor is it deleted when the answers are moved beside the report."""
    kept = saving.from_file("setup.yaml")[0] if named else saving.new_file()
    kept.save(DRAFT)
    kept.save(with_answers(DRAFT, "user", rounds=1))
    assert debate("ask", kept.path, "strictness=strict").code == 0
    theirs = Path(kept.path).read_text()
    kept.save(DRAFT)
    edited = kept.path.replace(".yaml", ".edited.yaml")
    assert (Path(edited).read_text(), saving.load(kept.path).answers["rounds"]) == (theirs, 2)
    assert len(kept.moved_files) == 1 and kept.moved_files[0].endswith(f"kept as {edited}.")

    path, ours = kept.path, Path(kept.path).read_text()
    changed = ours.replace("rounds: 2", "rounds: 4")
    Path(path).write_text(changed)
    kept.move_to_report(DRAFT, "report.md")
    assert (Path(path).read_text(), Path("report.answers.yaml").read_text()) == (changed, ours)


@pytest.mark.parametrize("verb", ["run", "open"])
@pytest.mark.parametrize("folder", ["turns", "evidence", "drafts", "ballots"])
def test_a_link_for_a_folder_is_reported_before_a_debate_begins(debate: Run, verb: str, folder: str) -> None:
    """Nothing is written beside it, or where it leads."""
    os.mkdir("elsewhere")
    os.symlink("elsewhere", f"r.{folder}")
    cast = "--model=host" if verb == "open" else "--model=command:true"
    ran = debate(verb, *STATED, "--rounds=1", "--output=r.md", cast)

    assert ran.code == 2 and f"output: r.{folder} is a symbolic link." in ran.err
    assert sorted(os.listdir()) == ["elsewhere", f"r.{folder}"] and os.listdir("elsewhere") == []


def test_a_report_without_its_seal_is_kept_by_the_command(debate: Run, answers: Path) -> None:
    """`debate report` keeps a report whose checksum was cut off, and a link in the place of its page, and says so."""
    place_finished_debate(debate)
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


class TestKept:
    def test_the_latest_draft_comes_back(self, here: Path) -> None:
        """Of conversations that were left, the last one is found again as it was; none takes another's file."""
        saving.new_file().save(DRAFT)
        first = saving.newest_unfinished()
        assert first is not None and (first[0].path, first[1]) == (".debate-setup.yaml", DRAFT)
        second = saving.new_file()
        second.save(SetupState(answers={"rounds": 5}))
        os.utime(".debate-setup.yaml", (1, 1))
        found = saving.newest_unfinished()

        assert second.path == ".debate-setup-2.yaml"
        assert found is not None and found[1].answers == {"rounds": 5}

    @pytest.mark.parametrize("text", ["", "[1]", "\x00", "setup: 3\n", "setup: {asked: [}\n", "rounds: 2\n"])
    def test_what_is_no_conversation_is_passed_over(self, here: Path, text: str) -> None:
        """A file of that name that keeps no conversation is left alone."""
        Path(".debate-setup.yaml").write_text(text)

        assert saving.newest_unfinished() is None
        assert saving.new_file().path == ".debate-setup-2.yaml"

    def test_leaving_names_the_way_on(self, here: Path) -> None:
        """Where the answers are is said with the command that goes on; where nothing was kept, that is said."""
        kept = saving.new_file()
        nothing = kept.leaving_message()
        kept.save(DRAFT)

        assert "without answering anything" in nothing
        assert "`debate --answers .debate-setup.yaml`" in kept.leaving_message()
        assert (
            "The setup that you left here before is still in .debate-setup.yaml." in saving.new_file().leaving_message()
        )

    def test_a_folder_that_can_not_be_written(self, here: Path) -> None:
        """Answers that can't be kept stop nothing, and it is said why."""
        Path("file").write_text("")
        kept = SetupFile("file/draft.yaml", has_generated_name=True)
        kept.save(DRAFT)

        assert "could not be saved" in kept.leaving_message()

    def test_a_persons_file_is_not_written_to(self, here: Path) -> None:
        """Answers that a person wrote are read, and their file stays as it is."""
        Path("mine.yaml").write_text("# my notes\ntopic: Tabs?\nrounds: 2\n")
        kept, state = saving.from_file("mine.yaml")
        kept.save(state)

        assert state.progress.topics == ("Tabs?",)
        assert Path("mine.yaml").read_text().startswith("# my notes")
        assert kept.path == ".debate-setup.yaml"


class TestMoved:
    def test_answers_lie_beside_the_report(self, here: Path) -> None:
        """In the end the answers lie beside the report, under a name that no file of a person has, and the file of
        their own is gone; one that the user named stays."""
        kept = saving.new_file()
        kept.save(DRAFT)

        assert kept.move_to_report(DRAFT, "out/report.md") == "out/report.answers.yaml"
        assert read_mapping("out/report.answers.yaml")["rounds"] == 2
        assert not Path(".debate-setup.yaml").exists()
        kept.save(with_answers(DRAFT, "user", rounds=1))
        assert (kept.moved_files, read_mapping(kept.path)["rounds"]) == ([], 1)

        Path("report.answers.yaml").write_text("topic: mine\n")
        named = SetupFile("mine.yaml", has_generated_name=False)
        named.save(DRAFT)
        assert named.move_to_report(DRAFT, "report.md") == "report-2.answers.yaml"
        assert Path("mine.yaml").exists() and Path("report.answers.yaml").read_text() == "topic: mine\n"


class TestRecent:
    def test_answers_are_remembered(self) -> None:
        """The latest answer of a kind is the last, none appears twice, and of each kind the latest fifty are kept."""
        for answer in ("one", "two", "one", "  "):
            RecentAnswers().add("topic", answer)
        assert RecentAnswers().answers_of("topic") == ("two", "one") and RecentAnswers().answers_of("seat") == ()
        for n in range(60):
            RecentAnswers().add("topic", str(n))
        assert RecentAnswers().answers_of("topic") == tuple(map(str, range(10, 60)))

    def test_a_key_is_not_kept(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A key that was typed into an answer is not written down with it."""
        monkeypatch.setenv("DEBATE_KEY_OTHER", "gsk-a1B2c3D4e5F6g7H8")
        RecentAnswers().add("topic", "Is gsk-a1B2c3D4e5F6g7H8 good?")

        assert RecentAnswers().answers_of("topic") == ("Is [key] good?",)

    def test_a_file_that_is_no_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the file holds something else, or can't be written, nothing is remembered and nothing breaks."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        RecentAnswers().add("topic", "x")
        next(tmp_path.rglob("*.json")).write_text('{"topic": 3}')
        assert RecentAnswers().answers_of("topic") == ()
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
        RecentAnswers().add("topic", "x")
        assert RecentAnswers().answers_of("topic") == ()
