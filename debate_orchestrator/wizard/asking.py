"""One question at a terminal: put with its choices and what they mean, answered by a line that can be edited.

A terminal that can't move its cursor (TERM=dumb) is asked line by line instead. Whatever is shown is tamed first.
"""

from __future__ import annotations

import os
import shutil
import sys
import termios
from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple, Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, PathCompleter, WordCompleter
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.shortcuts import print_formatted_text
from prompt_toolkit.styles import Style

from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import WIDEST, Back, chosen, moves, wrapped

_STYLE = Style.from_dict({"bottom-toolbar": "noreverse", "strong": "bold"})


class Question(NamedTuple):
    """One question as a person is asked it."""

    text: str
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    """Value and what it means; what is answered may be a value, its number or its beginning."""
    default: str = ""
    """What Enter alone answers; empty where it answers nothing."""
    now: str = ""
    """What stands already, to be edited."""
    long: bool = False
    """Whether the answer may be long: then Alt-Enter breaks the line, and an editor can be opened."""
    path: bool = False
    words: tuple[str, ...] = ()
    """What Tab completes."""
    recent: tuple[str, ...] = ()
    """What was answered on earlier days, oldest first, for the arrow keys."""


Live = Callable[[str, int, bool], str]
"""What is typed, the columns there are and whether to wait for it, to a line about where that leads."""


class Asker(Protocol):
    """Somebody at a terminal."""

    abandoned: str
    """What was typed when a question was left unanswered."""

    def tell(self, text: str, *, strong: bool = False) -> None:
        """Says something, wrapped to the width there is."""
        ...

    def ask(self, question: Question, live: Live) -> str:
        """What is answered. Raises Back where the question before is wanted, KeyboardInterrupt or EOFError where
        the person leaves."""
        ...

    def refresh(self) -> None:
        """Shows the live line anew; may be called from another thread."""
        ...

    def __enter__(self) -> Asker:
        """Makes the terminal ready for a conversation; leaving makes it what it was."""
        ...

    def __exit__(self, *raised: object) -> None: ...


class Terminal:
    """A terminal with a cursor."""

    def __init__(self, input: Input | None = None, output: Output | None = None):
        self.abandoned = ""
        self._attributes: Any = None
        self._output = output or create_output()
        self._history = _Recent()
        self._session: PromptSession[str] = PromptSession(
            history=self._history,
            key_bindings=_keys(),
            style=_STYLE,
            wrap_lines=True,
            complete_while_typing=False,
            reserve_space_for_menu=6,
            enable_suspend=input is None,  # it stops the whole group, which is for a shell's terminal alone
            input=input,
            output=self._output,
        )
        # A terminal that can't tell where its cursor is goes without the line below, and need not be told so.
        self._session.app.renderer.cpr_not_supported_callback = None

    def tell(self, text: str, *, strong: bool = False) -> None:
        said = wrapped(text, self._output.get_size().columns)
        shown = FormattedText([("class:strong" if strong else "", said)])
        print_formatted_text(shown, output=self._output, style=_STYLE, include_default_pygments_style=False)

    def ask(self, question: Question, live: Live) -> str:
        tell_question(self, question, self._output.get_size().columns)
        if question.now:
            self.tell("(The answer that stands is in the line: edit it, or Enter keeps it. Shift-Tab goes back.)")
        session = self._session
        self._history.answers = question.recent or tuple(value for value, _ in reversed(question.choices))
        session.completer = _completer(question)
        session.enable_open_in_editor = question.long
        session.placeholder = FormattedText([("", f"(Enter: {question.default})")]) if question.default else None
        session.bottom_toolbar = lambda: live(session.default_buffer.text, self._output.get_size().columns, False)
        try:
            return session.prompt("> ", default=one_line(question.now))
        except (KeyboardInterrupt, EOFError):
            self.abandoned = session.default_buffer.text
            raise

    def refresh(self) -> None:
        """Shows the live line anew; may be called from another thread."""
        self._session.app.invalidate()

    def __enter__(self) -> Terminal:
        """From here on, what is typed between two questions is not echoed into them: the next one takes it."""
        self._attributes = _echo(on=False)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._attributes is not None:
            termios.tcsetattr(sys.stdin, termios.TCSANOW, self._attributes)


class Plain:
    """A terminal whose cursor can't be moved: everything is a line."""

    abandoned = ""

    def __init__(self, read: Callable[[str], str] = input):
        self._read = read

    def tell(self, text: str, *, strong: bool = False) -> None:
        name = sys.stdout.encoding or "utf-8"
        said = wrapped(text, shutil.get_terminal_size().columns)
        print(said.encode(name, "backslashreplace").decode(name), flush=True)

    def ask(self, question: Question, live: Live) -> str:
        columns = shutil.get_terminal_size().columns
        tell_question(self, question, columns)
        if question.now:
            self.tell(f"Now: {one_line(question.now)}")
        if line := live("", columns, True):
            self.tell(f"({line})")
        enter = "keeps it" if question.now else question.default and f"is {question.default}"
        said = self._read(f"(Enter {enter}) > " if enter else "> ")
        return said or question.now

    def refresh(self) -> None:
        """Nothing is shown that changes."""

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *raised: object) -> None:
        """Nothing was changed."""


def here() -> Asker:
    """Whoever sits at this process's terminal."""
    return Terminal() if moves(os.environ) else Plain()


def tell_question(asker: Asker, question: Question, columns: int) -> None:
    """Puts a question, what it means, and its choices with their numbers."""
    asker.tell(f"\n{question.text}", strong=True)
    lines = [question.help] if question.help else []
    widest = max((len(value) for value, _ in question.choices), default=0)
    for number, (value, about) in enumerate(question.choices, 1):
        label, meaning = f"  {number} {value}", one_line(about)
        beside = widest + 6 <= min(columns, WIDEST) // 3
        lines += [f"{label:{widest + 6}}{meaning}"] if beside else [label, f"      {meaning}"]
    if lines:
        asker.tell("\n".join(lines))


def meant(question: Question, said: str) -> str:
    """The value of the choice that was meant: by its value, its number or a beginning that no other has; else what
    was said."""
    values = [value for value, _ in question.choices]
    found = chosen(values, said, begun=":" not in said)
    return said.strip() if found is None else found


def _completer(question: Question) -> Completer | None:
    if question.path:
        return PathCompleter(expanduser=True)
    words = dict.fromkeys((*(value for value, _ in question.choices), *question.words))
    return WordCompleter(list(words), sentence=True, ignore_case=True) if words else None


def _echo(*, on: bool) -> Any:
    """Switches the echo of the standard input; the attributes that it had, None where it is no terminal."""
    try:
        before = termios.tcgetattr(sys.stdin)
        now = [*before]
        now[3] = before[3] | termios.ECHO if on else before[3] & ~termios.ECHO
        termios.tcsetattr(sys.stdin, termios.TCSANOW, now)
    except (termios.error, OSError, ValueError):
        return None
    return before


def _keys() -> KeyBindings:
    made = KeyBindings()

    @made.add("s-tab")
    def _back(event: KeyPressEvent) -> None:
        event.app.exit(exception=Back())

    @made.add("escape", "enter")
    def _break(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return made


class _Recent(History):
    """The answers of earlier days to the question that is put now."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: tuple[str, ...] = ()

    async def load(self) -> AsyncGenerator[str, None]:
        for answer in reversed(self.answers):
            yield answer

    def load_history_strings(self) -> Any:
        return reversed(self.answers)

    def append_string(self, string: str) -> None:
        """Nothing: what is kept is told by whoever asks."""

    def store_string(self, string: str) -> None:
        """Nothing, likewise."""
