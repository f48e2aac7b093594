"""One question at a terminal: what is typed, chosen, edited, brought back and looked up, and what is shown."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from human_turns import EDIT, F2, F3, HAND_IN, run, standing
from hypothesis import given
from hypothesis import strategies as st
from persons import BACK, BREAK, CTRL_C, CTRL_D, ENTER, ERASE, UP, Screen
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input

from debate_orchestrator.terminal import key_prompter
from debate_orchestrator.terminal.key_prompter import KeyPrompter
from debate_orchestrator.terminal.line_prompter import LinePrompter, terminal_prompter
from debate_orchestrator.terminal.prompt import (
    EditorWanted,
    Line,
    Prompter,
    Question,
    Quit,
    Status,
    matching_choice,
)
from debate_orchestrator.util.terminal_text import Back

DOWN = "\x1b[B"
CHOICES = (("lenient", "Mild."), ("strict", "Hard."), ("stricter", "Harder."), ("ollama:x", "A model."))
CHOICE = Question("Which?", ("One of them.",), CHOICES, default="strict")
SPEECH = Question(multiline=True, private=True)
LEFT = SPEECH._replace(back=True, own_editor=True)
"""A speech whose writer may go back, and has an editor."""


def answered(question: Question, *keys: str, columns: int = 80) -> tuple[str, Screen]:
    with standing(*keys, columns=columns) as (terminal, screen):
        return run(terminal.ask(question)), screen


class TestALine:
    @pytest.mark.parametrize(
        ("question", "keys", "answer"),
        [
            (Question(now="Tabs are fine"), "!" + ENTER, "Tabs are fine!"),
            (Question(now="Tabs are fine"), ERASE + "No" + ENTER, "No"),
            (Question(), "One" + BREAK + "two" + ENTER, "One\ntwo"),
            (Question(), "One\x1b\ntwo" + ENTER, "One\ntwo"),
            (SPEECH, "One" + ENTER + "two\x1b\n", "One\ntwo"),
            (Question(), "\x1b[200~a\r\nb\x1b[201~" + ENTER, "a\nb"),
            (Question(recent=("old", "new")), UP + "!" + ENTER, "new!"),
            (Question(recent=("old", "new")), UP + UP + ENTER, "old"),
            (Question(), "?" + ENTER, "?"),
        ],
        ids=(
            "edited",
            "erased",
            "broken",
            "broken ahead",
            "handed in ahead",
            "pasted",
            "latest",
            "older",
            "no explanation",
        ),
    )
    def test_what_is_typed(self, question: Question, keys: str, answer: str) -> None:
        """What stands is edited in its line, Alt-Enter breaks a line (also where it was typed before the question came:
        a terminal makes its end a line feed then), and the arrows bring earlier answers back."""
        assert answered(question, keys)[0] == answer

    def test_enter_takes_the_default(self) -> None:
        """What Enter alone means is shown, and is the answer; nothing is put into the line."""
        answer, screen = answered(Question("Rounds?", default="3"), ENTER)

        assert answer == "3"
        assert "(Enter: 3)" in screen.text

    def test_back_behind_what_stands(self) -> None:
        """`back` typed behind a text that stands may be meant as the order: it is asked about, and Enter keeps it."""
        question = Question("Position?", now="Tabs.", back=True)
        with pytest.raises(Back):
            answered(question, " back" + ENTER + BACK)
        answer, screen = answered(question, "back" + ENTER + ENTER)

        assert answer == "Tabs.back"
        assert "To go back, press Shift-Tab" in screen.text

    def test_a_question_mark_explains(self) -> None:
        """A question mark shows the explanation, and the question is put again."""
        answer, screen = answered(CHOICE._replace(explanation=("It changes the scores.",)), "?" + ENTER + ENTER)

        assert answer == "strict" and "It changes the scores." in screen.text

    @pytest.mark.parametrize(
        ("keys", "error"),
        [("x" + BACK, Back), ("back" + ENTER, Back), ("x" + EDIT, EditorWanted), ("x" + CTRL_C, Quit),
         (CTRL_D, Quit), ("", Quit)],
        ids=("key", "word", "editor", "ctrl-c", "ctrl-d", "gone"),
    )  # fmt: skip
    def test_leaving(self, keys: str, error: type[Exception]) -> None:
        """A question is left by going back, for an editor, or for good; a terminal that is gone leaves too."""
        with pytest.raises(error):
            answered(Question("Topic?", back=True, own_editor=True), keys)

    def test_what_was_typed_is_not_lost(self) -> None:
        """What was typed when the person left comes with it."""
        with pytest.raises(Quit) as left:
            answered(Question("Topic?"), "A long thought" + CTRL_C)

        assert left.value.typed == "A long thought"

    def test_keys_that_are_piped_in_stop_no_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ctrl-Z stops whatever a shell has begun together; where no shell is in front, it is typed like any key."""
        stopped: list[tuple[int, ...]] = []
        monkeypatch.setattr(os, "kill", lambda *told: stopped.append(told))

        assert answered(Question("Topic?"), "on\x1ae" + ENTER)[0] == "on\x1ae"
        assert stopped == []


class TestAChoice:
    def test_it_is_shown_with_its_choices(self) -> None:
        """A question comes with what it means, its choices with their numbers, and a sign at the one Enter takes."""
        answer, screen = answered(CHOICE, ENTER)

        assert answer == "strict"
        assert "Which? One of them. 1 lenient Mild. * 2 strict Hard. 3 stricter Harder. 4 ollama:x A model. >" in (
            screen.text
        )

    @pytest.mark.parametrize(
        ("default", "keys", "answer"),
        [("strict", DOWN, "stricter"), ("strict", UP + UP, "ollama:x"), ("strict", DOWN * 3, "lenient"),
         ("", "", ""), ("", DOWN, "lenient"), ("", UP, "ollama:x")],
    )  # fmt: skip
    def test_arrow_keys_choose(self, default: str, keys: str, answer: str) -> None:
        """Up and down select another, from the default or from nothing, round and round; Enter takes it."""
        assert answered(CHOICE._replace(default=default), keys + ENTER)[0] == answer

    @pytest.mark.parametrize(
        ("typed", "value"),
        [("1", "lenient"), ("l", "lenient"), ("STRICT", "strict"), ("strict", "strict"), ("str", "str"),
         ("ollama:", "ollama:"), ("else", "else"), ("9", "9")],
    )  # fmt: skip
    def test_what_is_meant(self, typed: str, value: str) -> None:
        """A choice is taken by its value, its number or a beginning of its own; anything else is what was typed."""
        assert matching_choice(CHOICE, typed) == answered(CHOICE, typed + ENTER)[0] == value


class TestALongerText:
    def test_it_has_lines(self) -> None:
        """Enter begins a new line; Alt-Enter (which is Esc Enter) and Ctrl-D hand it in."""
        assert answered(SPEECH, "One." + ENTER + ENTER + "Two." + HAND_IN)[0] == "One.\n\nTwo."
        assert answered(SPEECH, "One." + ENTER + "Two." + CTRL_D)[0] == "One.\nTwo."
        assert answered(SPEECH._replace(now="One."), " Two." + HAND_IN)[0] == "One. Two."

    def test_changes_are_told(self) -> None:
        """Every change is reported, and not what stood there before."""
        changes: list[str] = []
        answered(Question(now="a", changed=changes.append), "bc" + ENTER)

        assert changes[-1] == "abc" and "a" not in changes

    def test_the_status(self) -> None:
        """The line below is made from what is typed; notes that do not fit are left out, the text never."""

        def status(typed: str) -> Status:
            return Status(f"{len(typed)} letters", notes=("a note", "x" * 200, "\x1bevil"))

        _, screen = answered(Question(status=status), "ab" + ENTER, columns=60)

        assert "0 letters · a note · ␛evil" in screen.text and "x" * 60 not in screen.text

    def test_a_private_question_goes_with_its_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is asked and answered is taken off the screen; another question stays."""
        erased: list[bool] = []
        renderer = key_prompter.PromptSession().app.renderer.__class__
        monkeypatch.setattr(renderer, "erase", lambda self, leave_alternate_screen=True: erased.append(True))
        answered(Question("Winner"), "a" + ENTER)
        assert erased == []
        _, screen = answered(Question("Winner", ("who won",), private=True), "secret" + ENTER)

        assert erased and "who won" in screen.text


@pytest.mark.parametrize(("key", "name"), [(F2, "brief"), (F3, "entered")])
def test_looking_something_up(key: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The brief, and what was entered, are a key away; an interrupt is the pager's meanwhile, and no text is lost."""
    paged: list[str] = []
    monkeypatch.setattr(key_prompter, "show_in_pager", lambda text: paged.append(text) or True)

    async def looking() -> str:
        with create_pipe_input() as pipe:
            terminal = KeyPrompter(pipe, Screen())
            asking = asyncio.create_task(terminal.ask(Question(shows={name: lambda: f"The {name}."})))
            pipe.send_text("half" + key)
            while not paged or terminal.busy_elsewhere:
                await asyncio.sleep(0.02)
            pipe.send_text(" whole" + ENTER)
            return await asking

    assert asyncio.run(looking()) == "half whole"
    assert paged == [f"The {name}."]


def test_the_question_can_be_abandoned() -> None:
    """What is asked when the debate is left ends; where nothing is, nothing happens."""

    async def leaving() -> None:
        with create_pipe_input() as pipe:
            terminal = KeyPrompter(pipe, Screen())
            terminal.quit()
            asking = asyncio.ensure_future(terminal.ask(Question()))
            await asyncio.sleep(0.2)
            terminal.quit()
            with pytest.raises(Quit):
                await asking

    asyncio.run(leaving())


@pytest.mark.parametrize(
    ("question", "typed", "offered"),
    [
        (CHOICE, "str", {"strict", "stricter"}),
        (Question("Which?", words=("anthropic:m", "openai:m")), "ant", {"anthropic:m"}),
        (Question("Where?", path=True), "sub/fi", {"le.md"}),
        (Question("What?"), "x", set()),
    ],
)
def test_tab_completes(here: Path, question: Question, typed: str, offered: set[str]) -> None:
    """Tab offers the choices, known names, or the paths there are."""
    (here / "sub").mkdir()
    (here / "sub" / "file.md").touch()
    found = key_prompter._completer(question)

    got = found.get_completions(Document(typed), CompleteEvent()) if found else ()
    assert {completion.text for completion in got} == offered


def test_an_editor_has_the_terminal() -> None:
    """While an editor is open, an interrupt is the editor's."""
    seen: list[bool] = []
    with standing() as (terminal, _):

        async def editing() -> None:
            coming = asyncio.create_task(terminal.edit("sleep", "0.2"))
            await asyncio.sleep(0.05)
            seen.append(terminal.busy_elsewhere)
            await coming
            seen.append(terminal.busy_elsewhere)

        asyncio.run(editing())
    assert seen == [True, False]


def test_a_line_in_an_editor(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line comes back as the editor left it; without an editor, or where it fails, it stays as it was."""
    script = here / "edit.sh"
    script.write_text("#!/bin/sh\nprintf 'more' >> \"$1\"\n")
    script.chmod(0o755)
    with standing() as (terminal, screen):
        for command, after in ((str(script), "A topicmore"), ("", "A topic"), ("false", "A topic")):
            monkeypatch.setenv("VISUAL", command)
            monkeypatch.setenv("EDITOR", "")
            assert run(terminal.edited("A topic")) == after

    assert "set VISUAL or EDITOR" in screen.text and "false: it ended with code 1" in screen.text


@given(st.text(max_size=60), st.integers(12, 120))
def test_what_is_shown_is_tamed(text: str, columns: int) -> None:
    """Whatever a text holds, no control character reaches the terminal, and no line is wider than it."""
    screen = Screen(columns)
    with create_pipe_input() as pipe:
        KeyPrompter(pipe, screen).tell(Line(text, True), text)

    assert not any(ord(char) < 32 and char != "\t" for line in screen.lines for char in line)


def typed_in_lines(typed: str, do: Callable[[Prompter], Any]) -> tuple[Any, str]:
    """What comes of it where the cursor can't be moved and this is typed, and what is seen."""
    reading, writing = os.pipe()
    os.write(writing, typed.encode())
    os.close(writing)
    stream = StringIO()
    try:
        return run(do(LinePrompter(reading, stream))), stream.getvalue()
    finally:
        os.close(reading)


class TestWithoutACursor:
    def test_a_speech_ends_with_a_line(self) -> None:
        """A speech is written line by line from what is there, and handed in by a line that is just a dot."""
        changes: list[str] = []
        question = SPEECH._replace(
            now="One.", status=lambda typed: Status(f"{len(typed)} letters"), changed=changes.append
        )
        text, seen = typed_in_lines("\nTwo.\n.\n", lambda terminal: terminal.ask(question))

        assert text == "One.\n\nTwo."
        assert changes == ["One.\n", "One.\n\nTwo."]
        assert "Written so far:\nOne." in seen and "(4 letters)" in seen

    def test_a_last_line_without_an_end_is_kept(self) -> None:
        """Where the input ends within a line, that line is part of the draft."""
        changes: list[str] = []
        with pytest.raises(Quit):
            typed_in_lines("One.\nTw", lambda terminal: terminal.ask(SPEECH._replace(changed=changes.append)))

        assert changes == ["One.", "One.\nTw"]

    def test_begun_anew(self) -> None:
        """What is written can be dropped; other lines that begin with a colon are what they say."""
        assert typed_in_lines(":new\n:-)\n.\n", lambda it: it.ask(SPEECH._replace(now="One.")))[0] == ":-)"

    def test_a_choice(self) -> None:
        """Choices are listed and taken by number; Enter takes the default, which is shown."""
        answer, seen = typed_in_lines("3\n", lambda terminal: terminal.ask(CHOICE))
        default, _ = typed_in_lines("\n", lambda terminal: terminal.ask(CHOICE))

        assert (answer, default) == ("stricter", "strict")
        assert "Which?\nOne of them.\n  1 lenient" in seen and "(Enter: strict) > " in seen

    def test_what_stands_is_kept_by_enter(self) -> None:
        """An empty line keeps what stands, and says so."""
        answer, seen = typed_in_lines("\n", lambda terminal: terminal.ask(Question("Winner", now="a")))

        assert answer == "a" and "(Enter keeps it) > " in seen

    @pytest.mark.parametrize("typed", ["b\ntie\n", "b\r\ntie\r\n"])
    def test_typing_ahead(self, typed: str) -> None:
        """What is typed ahead is for the next question."""

        async def both(terminal: Prompter) -> list[str]:
            return [await terminal.ask(Question()), await terminal.ask(Question())]

        assert typed_in_lines(typed, both)[0] == ["b", "tie"]

    @pytest.mark.parametrize(
        ("typed", "error"), [(":back\n", Back), (":edit\n", EditorWanted), ("", Quit), ("half", Quit)]
    )
    def test_orders(self, typed: str, error: type[Exception]) -> None:
        """Going back, an editor and leaving are lines, or the end of them."""
        with pytest.raises(error):
            typed_in_lines(typed, lambda terminal: terminal.ask(LEFT._replace(now="so far")))

    def test_nothing_lies_before(self) -> None:
        """Going back from a speech before which nothing is asked says so, and leaves the text as it was."""
        text, seen = typed_in_lines("Two.\n:back\n.\n", lambda it: it.ask(SPEECH._replace(now="One.")))

        assert text == "One.\nTwo." and "No question comes before this one." in seen

    def test_looking_something_up(self) -> None:
        """The brief can be seen while a field is filled in."""
        question = Question(shows={"brief": lambda: "The whole brief."})
        answer, seen = typed_in_lines(":brief\nx\n", lambda terminal: terminal.ask(question))

        assert answer == "x" and "The whole brief." in seen

    def test_what_is_seen_is_tamed_and_can_be_pushed_away(self) -> None:
        """Control characters move nothing; what was seen is pushed out of sight."""
        stream = StringIO()
        terminal = LinePrompter(0, stream)
        terminal.tell("\x1b[2Jevil")
        assert stream.getvalue() == "␛[2Jevil\n"
        terminal.clear()
        assert stream.getvalue().count("\n") >= 25


def test_which_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cursor can't be moved, lines are asked for."""
    monkeypatch.setenv("TERM", "dumb")

    assert isinstance(terminal_prompter(), LinePrompter)
