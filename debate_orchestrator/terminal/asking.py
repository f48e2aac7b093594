"""Asks a person at a terminal: one line, a choice or a longer text. prompt_toolkit edits what is typed; all text that
is shown is sanitized first.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import Completer, PathCompleter, WordCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.shortcuts import print_formatted_text
from prompt_toolkit.styles import Style

from debate_orchestrator.util import coroutines
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line, sanitize, without_line_breaks
from debate_orchestrator.util.terminal_text import (
    BACK,
    MAX_WIDTH,
    QUIT,
    Back,
    Unanswered,
    match_option,
    padded,
    shortened,
    width_of,
    wrap,
)

TEXT_KEYS = "Alt-Enter, Esc Enter or Ctrl-D hands it in, F2 whole brief, Ctrl-C leaves, Ctrl-X Ctrl-E editor"
LINE_KEYS = "Shift-Tab back, F2 whole brief, F3 what was entered, Ctrl-C leaves"
_PAGERS = ("less", "more")
_PAGER_KEYS = "space goes on, b back, q leaves this text"
"""The text that `less` shows at its foot."""
_STYLE = Style.from_dict({"bottom-toolbar": "noreverse", "strong": "bold"})


class Quit(Unanswered):
    """The person wants to quit."""


class Line(NamedTuple):
    """A line of text to show; the terminal wraps it."""

    text: str
    strong: bool = False


class Question(NamedTuple):
    """A question and everything that an answer to it may use."""

    text: str = ""
    lines: tuple[str, ...] = ()
    """The text below the question."""
    choices: tuple[tuple[str, str], ...] = ()
    """Values, each with its meaning. An answer may be a value, its number or the beginning of one value only."""
    default: str = ""
    """The answer that Enter alone gives."""
    initial_text: str = ""
    """The text in the line, to be edited."""
    multiline: bool = False
    """Whether Enter begins a new line, as in a speech."""
    path: bool = False
    """Whether Tab completes paths."""
    words: tuple[str, ...] = ()
    """More words that Tab completes."""
    recent: tuple[str, ...] = ()
    """Earlier answers for the arrow keys, oldest first."""
    explanation: tuple[str, ...] = ()
    """The text that `?` shows; the question is asked again afterwards."""
    can_go_back: bool = False
    """Whether there is a question before this one: `ask` then raises Back."""
    private: bool = False
    """Whether the question and its answer are removed from the screen once it is answered."""
    status: Callable[[str], str] = lambda typed: ""
    """The line below what is typed."""
    on_change: Callable[[str], None] = lambda typed: None
    """Called with the text whenever the person changes it."""
    shows: Mapping[str, Callable[[], str]] = {}
    """`brief` (F2) and `entered` (F3): texts that can be looked at meanwhile."""


class Asker:
    """A person at a terminal."""

    def __init__(self, input: Input | None = None, output: Output | None = None, stream: TextIO | None = None):
        """Questions are shown on `stream`, standard error unless given."""
        self._output = output or create_output(stdout=stream or sys.stderr)
        self._at_shell = input is None
        self._input = input or create_input(sys.stdin)
        self._session: PromptSession[str] | None = None
        self._question = Question()
        self._selected: int | None = None
        self.is_in_other_program = False
        """Whether an editor or a pager has the terminal; an interrupt is meant for it then."""

    async def ask(self, question: Question) -> str:
        """The answer: the value of a choice, or the text. Raises Quit, and Back where the question says so."""
        while True:
            try:
                text = await self._read(question)
                if question.multiline:
                    return text
                answer = text.strip()
                if answer.lower() in BACK:
                    raise Back(question.initial_text)
            except Back as back:
                if question.can_go_back:
                    raise
                self.show("No question comes before this one.")
                question = question._replace(initial_text=back.typed)
                continue
            if answer.lower() in QUIT:
                raise Quit
            if answer == "?" and question.explanation:
                self.show(*question.explanation)
            else:
                return matching_choice(question, answer) or question.default

    def ask_now(self, question: Question) -> str:
        """Asks where no event loop is running."""
        return coroutines.run(self.ask(question))

    def show(self, *lines: str | Line) -> None:
        """Shows lines, each wrapped. What follows a line break in one begins no line of its own."""
        print_formatted_text(
            self._format(lines), output=self._output, style=_STYLE, include_default_pygments_style=False
        )

    @property
    def columns(self) -> int:
        """The current width of the terminal."""
        return self._output.get_size().columns

    def clear(self) -> None:
        """Removes everything from the screen and its scroll-back."""
        self._output.write_raw("\x1b[H\x1b[2J\x1b[3J")
        self._output.flush()

    def quit(self) -> None:
        """Ends the question that is being asked as if the person had typed quit."""
        session = self._session
        if session is not None and session.app.is_running and not session.app.is_done:
            session.app.exit(exception=Quit())

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *error_info: object) -> None:
        """Raises Quit where a question could not be shown since the terminal is closed."""
        if any(isinstance(error, OSError) and error.errno == errno.EIO for error in error_info):
            raise Quit() from None

    async def _read(self, question: Question) -> str:
        values = [value for value, _ in question.choices]
        self._selected = values.index(question.default) if question.default in values else None
        self._question = question._replace(on_change=lambda text: None)
        if not question.private and (lines := question_lines(question)):
            self.show("", *lines)
        session = self._session = self._new_session(question)

        def begin() -> None:
            self._question = question

        try:
            text = await session.prompt_async(
                default=Document(question.initial_text, len(question.initial_text)), handle_sigint=False, pre_run=begin
            )
        except (EOFError, KeyboardInterrupt, Quit):
            raise Quit(session.default_buffer.text) from None
        if not text.strip() and self._selected is not None:
            return values[self._selected]
        return text

    def _new_session(self, question: Question) -> PromptSession[str]:
        placeholder = f"(Enter: {one_line(question.default)})" if question.default and not question.choices else ""
        session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            prompt_continuation="" if question.multiline else "  ",
            wrap_lines=True,
            history=InMemoryHistory(list(question.recent)),
            completer=_completer(question),
            complete_while_typing=False,
            reserve_space_for_menu=6,
            placeholder=FormattedText([("", shortened(placeholder, self.columns - 4))]),
            bottom_toolbar=self._toolbar,
            key_bindings=self._keys(),
            style=_STYLE,
            include_default_pygments_style=False,
            enable_suspend=self._at_shell,  # it stops the whole group, which is for a shell's terminal alone
            erase_when_done=question.private,
            interrupt_exception=Quit,
            eof_exception=Quit,
            input=self._input,
            output=self._output,
        )
        session.default_buffer.on_text_changed += lambda buffer: self._question.on_change(buffer.text)
        # A terminal that can't tell where its cursor is goes without the status line, and need not be told so.
        session.app.renderer.cpr_not_supported_callback = None
        return session

    def _message(self) -> FormattedText:
        """The question if it is private, the choices, and the prompt character."""
        question, columns = self._question, self.columns
        lines = question_lines(question) if question.private else []
        parts = [*self._format(("", *lines)), ("", "\n")] if lines else []
        selected = (
            matching_choice(question, self._typed_text()) if self._typed_text().strip() else self._selected_value()
        )
        for (value, _), row in zip(question.choices, choice_rows(question, columns), strict=True):
            sign, style = ("* ", "class:strong") if value == selected else ("  ", "")
            parts.append((style, f"{sign}{wrap(f'  {row}', columns)[2:]}\n"))
        return FormattedText([*parts, ("", "" if question.multiline else "> ")])

    def _toolbar(self) -> FormattedText:
        status = self._question.status(matching_choice(self._question, self._typed_text()) or self._selected_value())
        return FormattedText([("", wrap(one_line(status), self.columns))])

    def _typed_text(self) -> str:
        return self._session.default_buffer.text if self._session else ""

    def _selected_value(self) -> str:
        return "" if self._selected is None else self._question.choices[self._selected][0]

    def _format(self, lines: tuple[str | Line, ...]) -> FormattedText:
        parts: list[tuple[str, str]] = []
        for line in lines:
            text, strong = line if isinstance(line, Line) else (line, False)
            parts += [("", "\n")] if parts else []
            parts.append(("class:strong" if strong else "", wrap(without_line_breaks(text), self.columns)))
        return FormattedText(parts)

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        multiline = Condition(lambda: self._question.multiline)
        choosing = Condition(lambda: bool(self._question.choices) and not self._typed_text())

        @keys.add("enter", filter=multiline)
        @keys.add("escape", "enter", filter=~multiline)
        def new_line(event: KeyPressEvent) -> None:
            event.current_buffer.newline(copy_margin=False)

        @keys.add("enter", filter=~multiline)
        @keys.add("escape", "enter", filter=multiline)
        @keys.add("c-d", filter=multiline)
        def hand_in(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("s-tab")
        def back(event: KeyPressEvent) -> None:
            event.app.exit(exception=Back(event.current_buffer.text))

        @keys.add("c-x", "c-e")
        def edit(event: KeyPressEvent) -> None:
            self.is_in_other_program = True
            event.current_buffer.open_in_editor().add_done_callback(lambda _: self._regain_terminal())

        keys.add("up", filter=choosing)(lambda event: self._select(-1))
        keys.add("down", filter=choosing)(lambda event: self._select(1))
        keys.add("f2")(lambda event: self._show("brief"))
        keys.add("f3")(lambda event: self._show("entered"))
        return keys

    def _select(self, step: int) -> None:
        count = len(self._question.choices)
        index = self._selected if self._selected is not None else (-1 if step > 0 else count)
        self._selected = (index + step) % count

    def _show(self, name: str) -> None:
        """Shows a text above the question, in a pager if there is one, which leaves nothing behind."""
        if text_of := self._question.shows.get(name):
            text = text_of()
            self.is_in_other_program = True
            run_in_terminal(lambda: self._page(text), in_executor=True)

    def _page(self, text: str) -> None:
        try:
            if not show_in_pager(text, self.columns):
                self.show(*text.split("\n"))
        finally:
            self._regain_terminal()

    def _regain_terminal(self) -> None:
        self.is_in_other_program = False


def _completer(question: Question) -> Completer | None:
    if question.path:
        return PathCompleter(expanduser=True)
    words = dict.fromkeys((*(value for value, _ in question.choices), *question.words))
    return WordCompleter(list(words), sentence=True, ignore_case=True) if words else None


def show_in_pager(text: str, columns: int) -> bool:
    """Shows a text, laid out for a terminal that is so wide, in the pager; returns False if there is no pager."""
    try:
        command = shlex.split(os.environ.get("PAGER") or "") or [next(filter(shutil.which, _PAGERS), "")]
    except ValueError:  # a quotation mark without its other
        return False
    if not shutil.which(command[0]):
        return False
    # `less` runs no commands and writes no files on behalf of a debate that is read in it, and says how to leave it. It
    # breaks no rows, not even where the terminal becomes narrower.
    quoted = f"{os.environ.get('LESS', '')} -S -Ps{_PAGER_KEYS}$ -Pm{_PAGER_KEYS}$ -PM{_PAGER_KEYS}$".strip()
    environment = os.environ | {"LESSSECURE": "1", "LESS": quoted}
    rows = wrap(redact(text), columns)  # in this order: a secret may have spaces
    try:
        return subprocess.run(command, input=rows.encode(), env=environment, check=False).returncode == 0
    except OSError:
        return False


def matching_choice(question: Question, text: str) -> str:
    """The value of the choice that was meant, by its value, its number or its beginning; otherwise what was typed."""
    match = match_option([value for value, _ in question.choices], text, by_beginning=":" not in text)
    return text.strip() if match is None else match


def unknown_choice(question: Question) -> str:
    """The message about an answer that matches no choice."""
    return f"Choose one of: {', '.join(f'{n} {value}' for n, (value, _) in enumerate(question.choices, 1))}."


def question_lines(question: Question) -> list[Line]:
    text = [Line(part, strong=True) for part in sanitize(question.text).split("\n")] if question.text else []
    return [*text, *(Line(line) for line in question.lines if line)]


def choice_rows(question: Question, columns: int) -> list[str]:
    """A row for each choice: number, value and meaning, which goes below if there is no room beside."""
    value_width = max((width_of(one_line(value)) for value, _ in question.choices), default=0)
    fits_in_row = value_width + 6 <= min(columns, MAX_WIDTH) // 3
    rows = []
    for number, (value, meaning) in enumerate(question.choices, 1):
        title = f"{number} {one_line(value)}"
        about = one_line(meaning)
        below = f"{title}\n      {about}"
        rows.append(f"{padded(title, value_width + 4)}{about}".rstrip() if fits_in_row or not about else below)
    return rows
