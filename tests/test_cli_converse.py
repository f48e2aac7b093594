"""`debate` alone: a conversation at a terminal, and never a question without one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from conftest import CommandResult, Run
from messages_server import Server, serving
from persons import CTRL_C, SETUP, typing

from debate_orchestrator.cli import main
from debate_orchestrator.storage.journal import read
from debate_orchestrator.terminal import asking
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import read_mapping


class Person:
    """Runs `debate` where a person sits at the terminal and types these keys."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
        self._patch, self._captured = monkeypatch, capfd

    def __call__(self, *arguments: str, keys: tuple[str, ...]) -> tuple[CommandResult, str]:
        with typing(*keys) as (terminal, screen), self._patch.context() as patch:
            patch.setattr(asking, "Asker", lambda stream=None: terminal)
            for stream in (sys.stdin, sys.stdout):
                patch.setattr(stream, "isatty", lambda: True)
            with pytest.raises(SystemExit) as ended:
                main(list(arguments))
        out, err = self._captured.readouterr()
        return CommandResult(int(ended.value.code or 0), out, err), screen.text


@pytest.fixture
def person(no_models: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Person:
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/bin", "/bin"]))
    monkeypatch.setenv("TERM", "xterm")
    return Person(monkeypatch, capfd)


class TestAtATerminal:
    @pytest.mark.slow
    def test_from_the_first_question_to_the_report(self, person: Person, debate: Run) -> None:
        """The conversation ends in a debate and its report, with the answers beside it. Those of a rehearsal are those
        of the real debate, as is said; with `--rehearse` they rehearse it again, into files with a number."""
        ran, shown = person(keys=(*SETUP, "yes"))

        assert ran.code == 0, ran.err
        assert "Output: debate-report.rehearsed.md (of the real debate: debate-report.md)" in shown
        assert Path("debate-report.rehearsed.md").read_text(encoding="utf-8").startswith("# Debate Report")
        assert "Report written to debate-report.rehearsed.md" in ran.out
        assert "DEBATE SETUP CONFIRMED" not in ran.err  # it was shown and confirmed before
        assert not Path(".debate-setup.yaml").exists()
        assert read("debate-report.rehearsed.journal.jsonl").events[0].settings.topic == "Tabs are better than spaces."  # type: ignore[union-attr]
        answers = Path("debate-report.answers.yaml").read_text(encoding="utf-8")
        assert "rehearse" not in answers and "anthropic:claude-opus-5-5" in answers
        assert "positions: auto" in answers  # those of the rehearsal come from no model
        assert ran.err.count("Then `debate run --answers debate-report.answers.yaml` is the real debate.") == 1

        run = ("run", "--answers", "debate-report.answers.yaml", "--rounds=1")
        again = debate(*run, "--rehearse")
        real = debate(*run, "--a=command:cat", "--b=rehearse", "--judge=rehearse")
        assert again.code == 0 and "debate-report.rehearsed-2.md" in again.out
        Path("capital.answers.yaml").write_text(answers.replace("positions: auto", "positions: Auto", 1))
        assert (
            debate("run", "--answers", "capital.answers.yaml", "--position-a=X.", "--position-b=Y.", "--rehearse").code
            == 0
        )
        opened = debate("open", *run[1:], "--output=host.md", "--a=host", "--b=host", "--judge=host")
        assert "Researcher A (Pro): It is right that: Tabs are better than spaces" in again.err
        assert opened.code == 0 and "Researcher A (Pro): It is right that: " in opened.out
        assert real.code == 3, real.err  # `cat` writes no decision brief
        assert Path("debate-report.md").exists()

    def test_leaving(self, person: Person) -> None:
        """Ctrl-C ends with exit code 130 and the command that goes on; that command does."""
        left, _ = person(keys=(*SETUP[:2], CTRL_C))
        ran, _ = person("--answers", ".debate-setup.yaml", keys=(*SETUP[2:], "yes"))

        assert left.code == 130
        assert "debate: You left the setup. Your answers are in .debate-setup.yaml" in left.err
        assert "`debate --answers .debate-setup.yaml`" in left.err
        assert ran.code == 0, ran.err

    def test_a_rehearsal_of_a_file_calls_none_of_its_models(self, person: Person) -> None:
        """With --rehearse, stand-ins take the seats that a file fills too; its answers stay the real debate's."""
        cast = "{a: TOUCHES, b: TOUCHES, judge: [TOUCHES, TOUCHES]}".replace("TOUCHES", "'command:touch marker'")
        text = f"topic: Tabs are better than spaces.\ncast: {cast}\nrounds: 1\n"
        Path("mine.yaml").write_text(f"{text}setup: {{topics: [Tabs are better than spaces.]}}\n")
        ran, shown = person("--rehearse", "--answers", "mine.yaml", keys=("yes", "none", "yes"))
        opened = read("debate-report.rehearsed.journal.jsonl").events[0]

        assert ran.code == 0 and "Debate rehearsed" in ran.out, ran.err
        assert model_spec.is_rehearsal(opened.settings.cast)  # type: ignore[union-attr]
        assert not Path("marker").exists() and "Do you trust it" not in shown
        assert read_mapping("debate-report.answers.yaml")["cast"]["a"] == "command:touch marker"

    @pytest.mark.parametrize(
        ("keys", "kept"),
        [
            (("yes", "none", "yes"), "debate-report.answers.yaml"),
            (("yes", CTRL_C), ".debate-setup.yaml"),
            (("yes", "none", "later"), ".debate-setup.yaml"),
        ],
    )
    def test_a_rehearsal_is_no_consent(self, person: Person, debate: Run, keys: tuple[str, ...], kept: str) -> None:
        """A rehearsal asks nothing about the programs of a file, so the real debate still does, however it ended."""
        cast = "cast: {a: 'command:touch marker', b: 'command:touch marker', judge: 'command:touch marker'}"
        Path("mine.yaml").write_text(f"topic: Tabs are better than spaces.\nrounds: 1\n{cast}\n")
        person("--rehearse", "--answers", "mine.yaml", keys=keys)
        real = debate("run", "--answers", kept, "--position-a=X.", "--position-b=Y.")

        assert real.code == 2 and "needs your consent" in real.err
        assert not Path("marker").exists()

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (("--format", "oxbridge"), "format: there is no format 'oxbridge'"),
            (("--answers", "binary.yaml"), "binary.yaml: "),
            (("--answers", "r.md"), "debate: r.md is a report of a debate, not an answers file."),
        ],
    )
    def test_options_that_will_not_do(self, person: Person, options: tuple[str, ...], problem: str) -> None:
        """An invalid option ends with exit code 2 before anything is asked; a report stays as it is."""
        Path("binary.yaml").write_bytes(b"\xff\x00")
        Path("r.md").write_text("# Debate Report\n")
        ran, _ = person(*options, keys=())

        assert (ran.code, problem in ran.err) == (2, True)
        assert Path("r.md").read_text() == "# Debate Report\n"


class TestWithoutATerminal:
    def test_nothing_is_asked(self, debate: Run) -> None:
        """Without a terminal, `debate` asks nothing and names what goes without questions. A conversation that was
        asked for is refused, with the commands that need none."""
        ran, conversation = debate(), debate("--answers", "a.yaml")

        assert (ran.code, conversation.code) == (0, 2)
        assert "debate run --answers a.yaml" in ran.out and "debate demo" in ran.out
        assert "`debate run --answers FILE`" in conversation.err and "`debate ask FILE`" in conversation.err
        assert os.listdir() == []


class TestFilesOfOthers:
    """A file that names programs, servers or files elsewhere is shown before anything comes of it."""

    SETUP = "topic: Tabs are better than spaces.\ncast: \"command:sh -c 'touch marker'\"\n"

    @pytest.mark.parametrize("name", ["a.yaml", ".debate-setup.yaml"])
    def test_nothing_comes_of_it_before(self, person: Person, name: str) -> None:
        """Neither a file that is named nor one that lies in the folder has its moderator called before a yes; a no
        keeps nothing."""
        Path(name).write_text(f"{self.SETUP}setup: {{topics: [x]}}\n")
        arguments, keys = (("--answers", name), ("no",)) if name == "a.yaml" else ((), ("yes", "no"))
        ran, shown = person(*arguments, keys=keys)

        assert ran.code == 2
        assert (
            f"{name} wants to run programs, contact servers or use files outside this folder." in shown
            and "the program sh -c 'touch marker'" in shown
        )
        assert [path.name for path in Path().iterdir()] == [name]

    def test_enter_continues_the_users_own_setup_alone(self, person: Person) -> None:
        """A setup that lies in the folder may be another's, even if it costs nothing: Enter leaves it. Enter continues
        one that the user left."""
        Path(".debate-setup.yaml").write_text("topic: Cats are nice.\ncast: 'ollama:x'\nsetup: {topics: [x]}\n")
        _, another = person(keys=("", CTRL_C))
        Path(".debate-setup.yaml").unlink()
        person(keys=(*SETUP[:2], CTRL_C))
        _, own = person(keys=("", CTRL_C))

        assert "Settled so far" not in another
        assert "Settled so far" in own

    def test_a_yes_goes_on_and_is_remembered(self, person: Person) -> None:
        """After a yes the moderator is called, and the conversation is continued without the question."""
        Path("a.yaml").write_text(self.SETUP)
        first, shown = person("--answers", "a.yaml", keys=("yes", "no", CTRL_C))
        again, after = person(keys=("yes", CTRL_C))

        assert (first.code, again.code) == (130, 130)
        assert Path("marker").exists()
        assert "Do you trust it" in shown and "Do you trust it" not in after

    def test_a_paid_moderator_is_called_after_a_yes_alone(
        self, person: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A no goes on without it; a yes is remembered for the file, and for the setup that is made of it."""
        cast = "{judge: 'ollama:x', a: 'ollama:x', b: 'ollama:x', moderator: 'anthropic:claude-opus-5-5'}"
        Path("a.yaml").write_text(f"topic: Should we move?\ncast: {cast}\n")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        refusing = Server()
        refusing.problem = lambda request, n: {"status": 401}
        with serving(refusing) as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            _, shown = person("--answers", "a.yaml", keys=("", CTRL_C))
            Path(".debate-setup.yaml").unlink()
            after_no = len(server.requests)
            person("--answers", "a.yaml", keys=("yes", CTRL_C))
            after_yes = len(server.requests)
            _, also = person("--answers", "a.yaml", keys=(CTRL_C,))
            _, too = person(keys=("", CTRL_C))

        assert "May the moderator that a.yaml names be called?" in shown
        assert "paid calls, before the price of the debate is shown, of anthropic:claude-opus-5-5" in shown
        assert after_no == 0 < after_yes < len(server.requests)
        assert "May the moderator" not in also + too and "Ask the moderator again?" in too
