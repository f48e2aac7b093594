"""One question at a terminal: what is typed, edited, completed and brought back, and what is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from persons import BACK, BREAK, CTRL_C, CTRL_D, ERASE, UP, Screen, typing
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from debate_orchestrator.util.terminal_text import Back
from debate_orchestrator.wizard import asking
from debate_orchestrator.wizard.asking import Plain, Question, meant

CHOICES = (("lenient", "Mild."), ("strict", "Hard."), ("stricter", "Harder."), ("ollama:x", "Who."))
CHOICE = Question("Which?", "One of them.", CHOICES)


def silent(text: str, columns: int, wait: bool) -> str:
    return ""


def answered(question: Question, *keys: str, columns: int = 80) -> tuple[str, Screen]:
    with typing(*keys, columns=columns) as (terminal, screen):
        return terminal.ask(question, silent), screen


def completed(question: Question, typed: str) -> list[str]:
    """What Tab offers when that was typed."""
    with typing("1") as (terminal, _):
        terminal.ask(question, silent)
        completer = terminal._session.completer
    found = completer.get_completions(Document(typed), CompleteEvent()) if completer else ()
    return [one.text for one in found]


class TestTerminal:
    def test_a_question_is_shown_with_its_choices(self) -> None:
        """A question comes with what it means, and its choices with their numbers."""
        said, screen = answered(CHOICE, "strict")

        assert said == "strict"
        assert "Which? One of them. 1 lenient Mild. 2 strict Hard. 3 stricter Harder. 4 ollama:x Who. >" in screen.text

    def test_what_stands_is_edited_in_place(self) -> None:
        """What stands already is in the line, and may be edited or kept."""
        assert answered(Question("Topic?", now="Tabs are fine"), "")[0] == "Tabs are fine"
        assert answered(Question("Topic?", now="Tabs are fine"), "!")[0] == "Tabs are fine!"
        assert answered(Question("Topic?", now="Tabs are fine"), ERASE + "No")[0] == "No"

    def test_a_default_is_shown_and_not_typed(self) -> None:
        """What Enter alone means is shown; nothing is put into the line."""
        said, screen = answered(Question("Rounds?", default="3"), "")

        assert said == ""
        assert "(Enter: 3)" in screen.text

    def test_lines_can_be_broken(self) -> None:
        """Alt-Enter breaks the line of a long answer, and Enter sends it; so do pasted line breaks."""
        assert answered(Question("Topic?", long=True), "One" + BREAK + "two")[0] == "One\ntwo"
        assert answered(Question("Topic?", long=True), "\x1b[200~a\r\nb\x1b[201~", "")[0] == "a\nb"

    def test_the_question_before_is_a_key_away(self) -> None:
        """Shift-Tab goes back, whatever is typed."""
        with pytest.raises(Back):
            answered(CHOICE, "str" + BACK)

    @pytest.mark.parametrize(("keys", "error"), [((CTRL_C,), KeyboardInterrupt), ((CTRL_D,), EOFError), ((), EOFError)])
    def test_leaving(self, keys: tuple[str, ...], error: type[BaseException]) -> None:
        """Ctrl-C, Ctrl-D and a terminal that is gone leave."""
        with pytest.raises(error):
            answered(CHOICE, *keys)

    def test_keys_that_are_piped_in_stop_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ctrl-Z stops whatever a shell has begun together; where no shell is in front, it is no order, but
        typed like any other key."""
        stopped: list[tuple[int, ...]] = []
        monkeypatch.setattr(os, "kill", lambda *told: stopped.append(told))

        assert answered(Question("Topic?"), "on\x1ae")[0] == "on\x1ae"
        assert stopped == []

    def test_what_was_typed_is_not_lost(self) -> None:
        """What was typed when the person left can be had."""
        with typing("A long thought" + CTRL_C) as (terminal, _):
            with pytest.raises(KeyboardInterrupt):
                terminal.ask(Question("Topic?"), silent)

            assert terminal.abandoned == "A long thought"

    def test_earlier_answers_come_back(self) -> None:
        """The arrow keys bring what was answered on earlier days, the latest first; or the choices."""
        recent = Question("Topic?", recent=("old", "new"))

        assert answered(recent, UP + "!")[0] == "new!"
        assert answered(recent, UP + UP + "")[0] == "old"
        assert answered(CHOICE, UP)[0] == "lenient"

    def test_completion(self, here: Path) -> None:
        """Tab completes choices, names, and paths."""
        (here / "reports-of-mine").mkdir()

        assert completed(CHOICE, "str") == ["strict", "stricter"]
        assert completed(Question("Who?", words=("ollama:qwen",)), "oll") == ["ollama:qwen"]
        assert completed(Question("Where?", path=True), "repo") == ["rts-of-mine"]
        assert completed(Question("Topic?"), "x") == []

    def test_the_live_line_hears_what_is_typed(self) -> None:
        """The line below is made from what is typed so far and the columns there are."""
        heard: list[tuple[str, int, bool]] = []

        def live(text: str, columns: int, wait: bool) -> str:
            heard.append((text, columns, wait))
            return "so and so much"

        with typing("5", columns=40) as (terminal, _):
            terminal.ask(Question("Rounds?"), live)
            line = terminal._session.bottom_toolbar
            assert callable(line)
            line()

        assert ("5", 40, False) in heard

    def test_what_is_shown_is_tamed(self) -> None:
        """Control characters of a text, wherever it comes from, move nothing at the terminal."""
        hostile = "\x1b[2J\x1b]0;x\x07evil\u202e"
        _, screen = answered(Question(hostile, hostile, ((hostile, hostile),), now=hostile), "")

        assert "\x1b" not in screen.text and "\u202e" not in screen.text and "\x07" not in screen.text


class TestPlain:
    @pytest.fixture
    def plain(self) -> Plain:
        self.typed: list[str] = []
        self.prompts: list[str] = []

        def read(prompt: str) -> str:
            self.prompts.append(prompt)
            if not self.typed:
                raise EOFError
            return self.typed.pop(0)

        return Plain(read)

    def test_lines_alone(self, plain: Plain, capsys: pytest.CaptureFixture[str]) -> None:
        """Without a cursor a question is asked by lines: the estimate before, what Enter means in the prompt."""
        self.typed = [""]
        said = plain.ask(CHOICE._replace(default="strict"), lambda text, columns, wait: "5 calls" if wait else "")
        shown = capsys.readouterr().out

        assert said == ""
        assert "(5 calls)" in shown and "2 strict" in shown
        assert self.prompts == ["(Enter is strict) > "]

    def test_what_stands_is_kept_by_enter(self, plain: Plain, capsys: pytest.CaptureFixture[str]) -> None:
        """What can't be edited in place is shown; Enter keeps it, and a line replaces it."""
        self.typed = ["", "Spaces"]

        assert plain.ask(Question("Topic?", now="Tabs"), silent) == "Tabs"
        assert plain.ask(Question("Topic?", now="Tabs"), silent) == "Spaces"
        assert "Now: Tabs" in capsys.readouterr().out

    def test_leaving(self, plain: Plain) -> None:
        """The end of input leaves."""
        with pytest.raises(EOFError):
            plain.ask(CHOICE, silent)

    @pytest.mark.parametrize("term", ["dumb", "DUMB", "", "unknown"])
    def test_where_it_is_used(self, monkeypatch: pytest.MonkeyPatch, term: str) -> None:
        """A terminal that says it can't move its cursor is asked by lines."""
        monkeypatch.setenv("TERM", term)

        assert isinstance(asking.here(), Plain)


class TestMeaning:
    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("2", "strict"),
            (" Strict ", "strict"),
            ("len", "lenient"),
            ("stri", "stri"),  # two begin so
            ("stricte", "stricter"),
            ("ollama:", "ollama:"),
            ("0", "0"),
            ("5", "5"),
            ("٢", "٢"),
            ("99999999999999999999", "99999999999999999999"),
            ("", ""),
            ("something else", "something else"),
        ],
    )
    def test_choices(self, said: str, expected: str) -> None:
        """A choice is made by its number, its name, or a beginning that is its alone; all else stays what it is."""
        assert meant(CHOICE, said) == expected

    @given(st.text())
    def test_any_text_means_something(self, said: str) -> None:
        """Whatever is said is a choice's value or stays as it is."""
        assert meant(CHOICE, said) in {value for value, _ in CHOICES} | {said.strip()}


class TestWidth:
    @pytest.mark.parametrize("columns", [40, 80, 160])
    def test_a_question_at_every_width(self, columns: int) -> None:
        """A question and its choices are whole at 40, 80 and 160 columns, and no line is wider."""
        about = "Demands evidence for every empirical claim, penalises bare assertion, and flags what is false."
        _, screen = answered(Question("How strict?", about, (("strict", about), ("no", about))), "1", columns=columns)

        assert screen.text.count(about) == 3
        assert max(map(len, screen.lines)) < columns
