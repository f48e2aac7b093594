"""Where answers are kept: after every answer, beside the report in the end, and what was answered lately."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from debate_orchestrator.setup import kept_answers as saving
from debate_orchestrator.setup.kept_answers import KeptAnswers, RecentAnswers
from debate_orchestrator.setup.session import SetupProgress, SetupState
from debate_orchestrator.util.data import read_mapping

DRAFT = SetupState(given={"rounds": 2}, progress=SetupProgress(topics=("Tabs?",)))


class TestKept:
    def test_a_draft_comes_back(self, here: Path) -> None:
        """A conversation that was left is found again as it was."""
        saving.new_file().keep(DRAFT)
        found = saving.newest_unfinished()

        assert found is not None
        assert (found[0].path, found[1]) == (".debate-setup.yaml", DRAFT)

    def test_the_latest_is_found(self, here: Path) -> None:
        """Of several, the one that was left last is found; none takes another's file."""
        saving.new_file().keep(DRAFT)
        second = saving.new_file()
        second.keep(SetupState(given={"rounds": 5}))
        os.utime(".debate-setup.yaml", (1, 1))
        found = saving.newest_unfinished()

        assert second.path == ".debate-setup-2.yaml"
        assert found is not None and found[1].given == {"rounds": 5}

    @pytest.mark.parametrize("text", ["", "[1]", "\x00", "setup: 3\n", "setup: {asked: [}\n", "rounds: 2\n"])
    def test_what_is_no_conversation_is_passed_over(self, here: Path, text: str) -> None:
        """A file of that name that keeps no conversation is left alone."""
        Path(".debate-setup.yaml").write_text(text)

        assert saving.newest_unfinished() is None
        assert saving.new_file().path == ".debate-setup-2.yaml"

    def test_leaving_names_the_way_on(self, here: Path) -> None:
        """Where the answers are is said with the command that goes on; where nothing was kept, that is said."""
        kept = saving.new_file()
        nothing = kept.leaving()
        kept.keep(DRAFT)

        assert "nothing was answered" in nothing
        assert "`debate --answers .debate-setup.yaml`" in kept.leaving()

    def test_a_folder_that_can_not_be_written(self, here: Path) -> None:
        """Answers that can't be kept stop nothing, and it is said why."""
        Path("file").write_text("")
        kept = KeptAnswers("file/draft.yaml", own=True)
        kept.keep(DRAFT)

        assert "could not be kept" in kept.leaving()

    def test_a_persons_file_is_not_written_to(self, here: Path) -> None:
        """Answers that a person wrote are read, and their file stays as it is."""
        Path("mine.yaml").write_text("# my notes\ntopic: Tabs?\nrounds: 2\n")
        kept, draft = saving.from_file("mine.yaml")
        kept.keep(draft)

        assert draft.progress.topics == ("Tabs?",)
        assert Path("mine.yaml").read_text().startswith("# my notes")
        assert kept.path == ".debate-setup.yaml"

    def test_a_named_conversation_is_gone_on_with_in_its_file(self, here: Path) -> None:
        """A conversation that was named is kept where it is; a name that is not there yet begins one."""
        KeptAnswers("new.yaml", own=False).keep(DRAFT)

        assert saving.from_file("new.yaml")[0].path == "new.yaml"
        assert saving.from_file("other.yaml")[1] == SetupState()
        assert saving.from_file("other.yaml")[0].path == "other.yaml"

    def test_its_own_file_is_its_own_though_it_is_named(self, here: Path) -> None:
        """What the conversation kept for itself is gone when its answers lie beside the report."""
        saving.new_file().keep(DRAFT)
        saving.from_file(".debate-setup.yaml")[0].moved(DRAFT, "report.md")

        assert saving.newest_unfinished() is None


class TestMoved:
    def test_answers_lie_beside_the_report(self, here: Path) -> None:
        """In the end the answers lie beside the report, and the file of its own is gone."""
        kept = saving.new_file()
        kept.keep(DRAFT)

        assert kept.moved(DRAFT, "out/report.md") == "out/report.answers.yaml"
        assert read_mapping("out/report.answers.yaml")["rounds"] == 2
        assert not Path(".debate-setup.yaml").exists()

    def test_a_named_file_stays(self, here: Path) -> None:
        """A file that the user named stays where it is."""
        kept = KeptAnswers("mine.yaml", own=False)
        kept.keep(DRAFT)
        kept.moved(DRAFT, "report.md")

        assert Path("mine.yaml").exists() and Path("report.answers.yaml").exists()

    def test_no_file_of_the_users_is_overwritten(self, here: Path) -> None:
        """A file of that name that a person wrote stays, and another name is taken."""
        Path("report.answers.yaml").write_text("topic: mine\n")

        assert saving.new_file().moved(DRAFT, "report.md") == "report-2.answers.yaml"
        assert Path("report.answers.yaml").read_text() == "topic: mine\n"


class TestLately:
    def test_answers_are_remembered(self) -> None:
        """The latest answer of a kind is the last, and none appears twice."""
        for answer in ("one", "two", "one", "  "):
            RecentAnswers().add("topic", answer)

        assert RecentAnswers().of("topic") == ("two", "one")
        assert RecentAnswers().of("seat") == ()

    def test_only_so_many(self) -> None:
        """Of each kind the latest fifty are kept."""
        lately = RecentAnswers()
        for n in range(60):
            lately.add("topic", str(n))

        assert lately.of("topic") == tuple(map(str, range(10, 60)))

    @pytest.mark.parametrize("text", ["", "[]", "{", '{"topic": 3}', '{"topic": [3, "x\\ud800"]}', "\udcff"])
    def test_a_file_that_is_no_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        """Whatever lies there, nothing breaks, and it is written anew."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        RecentAnswers().add("topic", "x")
        path = next(tmp_path.rglob("*.json"))
        path.write_bytes(text.encode("utf-8", "surrogateescape"))

        assert set(RecentAnswers().of("topic")) <= {"x"}
        RecentAnswers().add("topic", "y")
        assert RecentAnswers().of("topic")[-1] == "y"

    def test_no_place_to_remember(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where nothing can be written, nothing is remembered, and nothing breaks."""
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
        RecentAnswers().add("topic", "x")

        assert RecentAnswers().of("topic") == ()

    def test_a_key_is_not_kept(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A key that was typed into an answer is not written down with it."""
        monkeypatch.setenv("DEBATE_KEY_OTHER", "gsk-a1B2c3D4e5F6g7H8")
        RecentAnswers().add("topic", "Is gsk-a1B2c3D4e5F6g7H8 good?")

        assert RecentAnswers().of("topic") == ("Is [key] good?",)
