"""A prompter for a terminal whose cursor can be moved: prompt_toolkit edits the line, arrow keys choose, and a status
stands below."""

from __future__ import annotations

import errno
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import Completer, PathCompleter, WordCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Always, Condition, Filter
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.shortcuts import print_formatted_text
from prompt_toolkit.styles import Style

from debate_orchestrator.terminal.prompt import (
    EditorWanted,
    Line,
    Prompter,
    Question,
    Quit,
    choice_rows,
    matching_choice,
    on_screen,
    question_lines,
    show_in_pager,
)
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import Back, Unanswered, wrapped

_STYLE = Style.from_dict({"bottom-toolbar": "noreverse", "strong": "bold", "over": "bold ansired"})


class KeyPrompter(Prompter):
    """A terminal whose cursor can be moved."""

    moves = True
    text_keys = (
        "Alt-Enter, Esc Enter or Ctrl-D hands it in",
        "F2 whole brief",
        "Ctrl-C leaves",
        "Ctrl-X Ctrl-E editor",
    )
    line_keys = ("Shift-Tab back", "F2 whole brief", "F3 what was entered", "Ctrl-C leaves")

    def __init__(self, input: Input | None = None, output: Output | None = None, stream: TextIO | None = None):
        super().__init__()
        self._output = output or create_output(stdout=stream or sys.stderr)
        self._own_input = input
        self._input = input or create_input(sys.stdin)
        self._session: PromptSession[str] | None = None
        self._question = Question()
        self._selected: int | None = None
        self._attributes: Any = None

    def tell(self, *lines: str | Line) -> None:
        print_formatted_text(
            self._formatted(lines), output=self._output, style=_STYLE, include_default_pygments_style=False
        )

    async def _read(self, question: Question) -> str:
        values = [value for value, _ in question.choices]
        self._selected = values.index(question.default) if question.default in values else None
        self._question = question._replace(changed=lambda typed: None)
        if not question.private and (shown := question_lines(question)):
            self.tell("", *shown)
        session = self._session = self._new_session(question)

        def begin() -> None:
            self._question = question

        try:
            typed = await session.prompt_async(
                default=Document(question.now, len(question.now)), handle_sigint=False, pre_run=begin
            )
        except (EOFError, KeyboardInterrupt, Quit):
            raise Quit(session.default_buffer.text) from None
        if not typed.strip() and self._selected is not None:
            return values[self._selected]
        return typed

    def _new_session(self, question: Question) -> PromptSession[str]:
        session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            prompt_continuation="",
            wrap_lines=True,
            history=InMemoryHistory(list(question.recent)),
            completer=_completer(question),
            complete_while_typing=False,
            reserve_space_for_menu=6,
            placeholder=_placeholder(question),
            bottom_toolbar=self._toolbar,
            key_bindings=self._keys(),
            style=_STYLE,
            include_default_pygments_style=False,
            enable_suspend=self._own_input is None,  # it stops the whole group, which is for a shell's terminal alone
            erase_when_done=question.private,
            interrupt_exception=Quit,
            eof_exception=Quit,
            input=self._input,
            output=self._output,
        )
        session.default_buffer.on_text_changed += lambda buffer: self._question.changed(buffer.text)
        # A terminal that can't tell where its cursor is goes without the status line, and need not be told so.
        session.app.renderer.cpr_not_supported_callback = None
        return session

    def _message(self) -> FormattedText:
        """The question where it is private, the choices, and the sign behind which is typed."""
        question, columns = self._question, self._output.get_size().columns
        shown = question_lines(question) if question.private else []
        parts = [*self._formatted(("", *shown)), ("", "\n")] if shown else []
        selected = self._matching_value() if self._typed().strip() else self._selected_value()
        for (value, _), row in zip(question.choices, choice_rows(question, columns), strict=True):
            sign, style = ("* ", "class:strong") if value == selected else ("  ", "")
            parts.append((style, f"{sign}{wrapped(row, columns - 2)}\n"))
        return FormattedText([*parts, ("", "" if question.multiline else "> ")])

    def _toolbar(self) -> FormattedText:
        columns = self._output.get_size().columns
        status = self._question.status(self._matching_value() or self._selected_value())
        text = one_line(status.text)
        for note in status.notes:
            longer = f"{text} · {one_line(note)}" if text else one_line(note)
            text = longer if len(longer) < columns else text
        return FormattedText([("class:over" if status.over else "", text[: max(0, columns - 1)])])

    def _typed(self) -> str:
        return self._session.default_buffer.text if self._session else ""

    def _matching_value(self) -> str:
        return matching_choice(self._question, self._typed())

    def _selected_value(self) -> str:
        return "" if self._selected is None else self._question.choices[self._selected][0]

    def clear(self) -> None:
        self._output.write_raw("\x1b[H\x1b[2J\x1b[3J")
        self._output.flush()

    def quit(self) -> None:
        session = self._session
        if session is not None and session.app.is_running and not session.app.is_done:
            session.app.exit(exception=Quit())

    def refresh(self) -> None:
        if self._session is not None and self._session.app.is_running:
            with suppress(RuntimeError):  # it ends at this moment, in its own thread
                self._session.app.invalidate()

    def __enter__(self) -> KeyPrompter:
        """What is typed between two questions is not echoed; the next question takes it."""
        self._attributes = _no_echo()
        return self

    def __exit__(self, *raised: object) -> None:
        """Raises Quit where a question could not be shown since the terminal is closed."""
        if self._attributes is not None:
            with suppress(termios.error, OSError):
                termios.tcsetattr(sys.stdin, termios.TCSANOW, self._attributes)
        if any(isinstance(error, OSError) and error.errno == errno.EIO for error in raised):
            raise Quit() from None

    def _formatted(self, lines: tuple[str | Line, ...]) -> FormattedText:
        columns = self._output.get_size().columns
        parts: list[tuple[str, str]] = []
        for line in lines:
            strong = isinstance(line, Line) and line.strong
            parts += [("", "\n")] if parts else []
            parts.append(("class:strong" if strong else "", on_screen(line, columns)))
        return FormattedText(parts)

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        multiline = Condition(lambda: self._question.multiline)
        choosing = Condition(lambda: bool(self._question.choices) and self._session is not None and not self._typed())

        def new_line(event: KeyPressEvent) -> None:
            event.current_buffer.newline(copy_margin=False)

        def hand_in(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        def ended_by(error: type[Unanswered]) -> Callable[[KeyPressEvent], None]:
            return lambda event: event.app.exit(exception=error(event.current_buffer.text))

        bindings: tuple[tuple[str, Filter, Callable[[KeyPressEvent], None]], ...] = (
            ("enter", multiline, new_line),
            ("escape enter", ~multiline, new_line),
            ("escape c-j", ~multiline, new_line),
            ("enter", ~multiline, hand_in),
            ("escape enter", multiline, hand_in),
            ("escape c-j", multiline, hand_in),  # what is typed before the question comes has its Enter as this
            ("c-d", multiline, hand_in),
            ("up", choosing, lambda event: self._select(-1)),
            ("down", choosing, lambda event: self._select(1)),
            ("s-tab", Always(), ended_by(Back)),
            ("c-x c-e", Always(), ended_by(EditorWanted)),
            ("f2", Always(), lambda event: self._show("brief")),
            ("f3", Always(), lambda event: self._show("entered")),
        )
        for pressed, when, act in bindings:
            keys.add(*pressed.split(), filter=when)(act)
        return keys

    def _select(self, step: int) -> None:
        count = len(self._question.choices)
        before = self._selected if self._selected is not None else (-1 if step > 0 else count)
        self._selected = (before + step) % count

    def _show(self, name: str) -> None:
        """Shows a text above the question, in a pager if there is one, which leaves nothing behind."""
        if text_of := self._question.shows.get(name):
            text = wrapped(text_of(), self._output.get_size().columns)
            self.busy_elsewhere = True
            run_in_terminal(lambda: self._page(text), in_executor=True)

    def _page(self, text: str) -> None:
        try:
            if not show_in_pager(text):
                self.tell(*text.split("\n"))
        finally:
            self.busy_elsewhere = False


def _placeholder(question: Question) -> FormattedText | None:
    shown = question.default and not question.choices
    return FormattedText([("", f"(Enter: {one_line(question.default)})")]) if shown else None


def _completer(question: Question) -> Completer | None:
    if question.path:
        return PathCompleter(expanduser=True)
    words = dict.fromkeys((*(value for value, _ in question.choices), *question.words))
    return WordCompleter(list(words), sentence=True, ignore_case=True) if words else None


def _no_echo() -> Any:
    """Switches the echo of standard input off. Returns the attributes it had, None if it is no terminal."""
    try:
        before = termios.tcgetattr(sys.stdin)
        termios.tcsetattr(sys.stdin, termios.TCSANOW, [*before[:3], before[3] & ~termios.ECHO, *before[4:]])
    except (termios.error, OSError, ValueError):
        return None
    return before
