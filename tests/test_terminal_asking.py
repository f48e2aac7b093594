"""One question at a terminal: what is typed, chosen, edited, brought back and looked up, and what is shown."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from corpus import for_each
from human_turns import EDIT, F2, F3, HAND_IN, run
from persons import ALT_ENTER, BACK, CTRL_C, CTRL_D, ENTER, ERASE, UP, Screen, typing
from prompt_toolkit.input import create_pipe_input

from debate_orchestrator.terminal import asking
from debate_orchestrator.terminal.asking import (
    Asker,
    Question,
    Quit,
    matching_choice,
)
from debate_orchestrator.util.terminal_text import Back

DOWN = "\x1b[B"
CHOICES = (("lenient", "Mild."), ("strict", "Hard."), ("stricter", "Harder."), ("ollama:x", "A model."))
CHOICE = Question("Which?", ("One of them.",), CHOICES, default="strict")
SPEECH = Question(multiline=True, private=True)
"""A speech whose writer may go back, and has an editor."""


def answered(question: Question, *keys: str, columns: int = 80) -> tuple[str, Screen]:
    with typing(*keys, columns=columns) as (terminal, screen):
        return run(terminal.ask(question)), screen


@for_each(range(10))
def test_no_question_passes_for_its_choices(length: int) -> None:
    """However a question and the lines below it are broken, no row of theirs stands where a choice does."""
    forged = (
        f"{'word ' * 9}{'w' * length} " + "1\u2800strict\u2800\u2800\u2800Hard for side b and mild for side a. " * 5
    )
    _, screen = answered(Question(forged, (forged,), CHOICES), "1" + ENTER, columns=60)
    begins = [row.index("1\u2800strict") for row in screen.lines if row.lstrip().startswith("1\u2800strict")]

    assert begins and min(begins) == 8


class TestALine:
    @pytest.mark.parametrize(
        ("question", "keys", "answer"),
        [
            (Question(initial_text="Tabs are fine"), "!" + ENTER, "Tabs are fine!"),
            (Question(initial_text="Tabs are fine"), ERASE + "No" + ENTER, "No"),
            (Question(), "One" + ALT_ENTER + "two" + ENTER, "One\ntwo"),
            (Question(), "\x1b[200~a\r\nb\x1b[201~" + ENTER, "a\nb"),
            (Question(recent=("old", "new")), UP + "!" + ENTER, "new!"),
            (Question(recent=("old", "new")), UP + UP + ENTER, "old"),
            (Question(), "?" + ENTER, "?"),
        ],
        ids=(
            "edited",
            "erased",
            "broken",
            "pasted",
            "latest",
            "older",
            "no explanation",
        ),
    )
    def test_what_is_typed(self, question: Question, keys: str, answer: str) -> None:
        """What stands is edited in its line, Alt-Enter breaks a line, and the arrows bring earlier answers back."""
        assert answered(question, keys)[0] == answer

    def test_enter_takes_the_default(self) -> None:
        """What Enter alone means is shown, and is the answer; nothing is put into the line."""
        answer, screen = answered(Question("Rounds?", default="3"), ENTER)

        assert answer == "3"
        assert "(Enter: 3)" in screen.text

    def test_a_question_mark_explains(self) -> None:
        """A question mark shows the explanation, and the question is put again."""
        answer, screen = answered(CHOICE._replace(explanation=("It changes the scores.",)), "?" + ENTER + ENTER)

        assert answer == "strict" and "It changes the scores." in screen.text

    @pytest.mark.parametrize(
        ("keys", "error"),
        [("x" + BACK, Back), ("back" + ENTER, Back), ("x" + CTRL_C, Quit),
         (CTRL_D, Quit), (None, Quit)],
        ids=("key", "word", "ctrl-c", "ctrl-d", "gone"),
    )  # fmt: skip
    def test_leaving(self, keys: str | None, error: type[Exception]) -> None:
        """A question is left by going back, for an editor, or for good; a terminal that is gone leaves too."""
        with pytest.raises(error):
            answered(Question("Topic?", can_go_back=True), *filter(None, [keys]))


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
        assert answered(SPEECH._replace(initial_text="One."), " Two." + HAND_IN)[0] == "One. Two."


def test_an_editor(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text comes back as the editor left it; an interrupt is the editor's meanwhile."""
    script = here / "edit.sh"
    script.write_text("#!/bin/sh\nprintf ' more' >> \"$1\"\n")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    seen: list[bool] = []

    async def editing() -> str:
        with create_pipe_input() as pipe:
            terminal = Asker(pipe, Screen())
            asking = asyncio.create_task(
                terminal.ask(Question(on_change=lambda text: seen.append(terminal.is_in_other_program)))
            )
            pipe.send_text("A topic" + EDIT)
            while "A topic more" not in terminal._typed_text():
                await asyncio.sleep(0.02)
            pipe.send_text(ENTER)
            return await asking

    assert asyncio.run(editing()) == "A topic more"
    assert seen[0] is False and seen[-1] is True


@pytest.mark.parametrize(("key", "name"), [(F2, "brief"), (F3, "entered")])
def test_looking_something_up(key: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The brief, and what was entered, are a key away; an interrupt is the pager's meanwhile, and no text is lost."""
    paged: list[str] = []
    monkeypatch.setattr(asking, "show_in_pager", lambda text, columns: paged.append(text) or True)

    async def looking() -> str:
        with create_pipe_input() as pipe:
            terminal = Asker(pipe, Screen())
            asking = asyncio.create_task(terminal.ask(Question(shows={name: lambda: f"The {name}."})))
            pipe.send_text("half" + key)
            while not paged or terminal.is_in_other_program:
                await asyncio.sleep(0.02)
            pipe.send_text(" whole" + ENTER)
            return await asking

    assert asyncio.run(looking()) == "half whole"
    assert paged == [f"The {name}."]
