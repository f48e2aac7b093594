"""Asks a person at a terminal: one line, a choice or a longer text.

A `Prompter` puts questions: a `KeyPrompter` where the cursor can be moved, a `LinePrompter` elsewhere. All text that is
shown is sanitized first.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import NamedTuple

from debate_orchestrator.util import coroutines
from debate_orchestrator.util.data import MAX_SIZE, read_text
from debate_orchestrator.util.errors import BadFile
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line, sanitize, unbroken
from debate_orchestrator.util.terminal_text import BACK, MAX_WIDTH, QUIT, Back, Unanswered, chosen, wrapped

_PAGERS = ("less", "more")
_WAY_OUT = "space goes on, b back, q leaves this text"
"""What `less` says at its foot."""
_KEEP_BACK = (
    "To go back, press Shift-Tab or clear the line and type back. To keep the word as part of this answer, press Enter."
)

_NO_BACK = "No question comes before this one."


class Quit(Unanswered):
    """The person wants to quit."""


class EditorWanted(Unanswered):
    """The person wants to go on in an editor with the text written so far."""


class Line(NamedTuple):
    """A line of text to show; the terminal wraps it."""

    text: str
    strong: bool = False


def text_lines(text: str) -> list[Line]:
    """The lines of a text that may have several."""
    return [Line(part) for part in sanitize(text).split("\n")]


def on_screen(line: str | Line, columns: int) -> str:
    """A line as a terminal shows it, wrapped. What follows a line break in it begins no line of its own."""
    return wrapped(unbroken(line.text if isinstance(line, Line) else line), columns)


class Status(NamedTuple):
    """The line below what is typed."""

    text: str = ""
    over: bool = False
    """Whether it reports too much, and is shown in red."""
    notes: tuple[str, ...] = ()
    """Added to the text while there is room."""


class Question(NamedTuple):
    """A question and everything that an answer to it may use."""

    text: str = ""
    lines: tuple[str, ...] = ()
    """What is shown below the question."""
    choices: tuple[tuple[str, str], ...] = ()
    """Values, each with its meaning. An answer may be a value, its number or the beginning of one value only."""
    default: str = ""
    """The answer that Enter alone gives."""
    now: str = ""
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
    """What `?` shows; the question is put again afterwards."""
    back: bool = False
    """Whether a question lies before this one: `ask` then raises Back."""
    own_editor: bool = False
    """Whether the text is edited in a file of its own: `ask` then raises EditorWanted."""
    private: bool = False
    """Whether the question and its answer are removed from the screen once it is answered."""
    status: Callable[[str], Status] = lambda typed: Status()
    changed: Callable[[str], None] = lambda typed: None
    """Called with the text whenever the person changes it."""
    shows: Mapping[str, Callable[[], str]] = {}
    """`brief` (F2) and `entered` (F3): texts that can be looked at meanwhile."""


class Prompter(ABC):
    """A person at a terminal."""

    moves: bool
    """Whether the cursor can be moved."""
    text_keys: tuple[str, ...]
    """What keys do in a longer text, the most important first."""
    line_keys: tuple[str, ...]
    """What keys do in a line."""

    def __init__(self) -> None:
        self.busy_elsewhere = False
        """Whether an editor or a pager has the terminal; an interrupt is meant for it then."""

    async def ask(self, question: Question) -> str:
        """The answer: the value of a choice, or the text. Raises Quit, and Back or EditorWanted where the question
        says so."""
        while True:
            try:
                typed = await self._read(question)
                answer = typed.strip()
                if not question.multiline and answer.lower() in BACK:
                    raise Back(question.now)
                if not question.multiline and answer.lower() in QUIT:
                    raise Quit
            except Back as back:
                if question.back:
                    raise
                self.tell(_NO_BACK)
                question = question._replace(now=back.typed)
                continue
            except EditorWanted as wanted:
                if question.own_editor:
                    raise
                question = question._replace(now=await self.edited(wanted.typed))
                continue
            if question.multiline:
                return typed
            if answer == "?" and question.explanation:
                self.tell(*question.explanation)
            elif _ends_with_back(answer, question.now):
                self.tell(_KEEP_BACK)
                question = question._replace(now=answer)
            else:
                return matching_choice(question, answer) or question.default

    def ask_now(self, question: Question) -> str:
        """Asks where no event loop is running."""
        return coroutines.run(self.ask(question))

    async def edit(self, command: str, path: str) -> str | None:
        """Opens an editor on a file and waits until it is closed. Returns what went wrong, if anything did."""
        self.busy_elsewhere = True
        try:
            running = await asyncio.create_subprocess_exec(*shlex.split(command), path)
            code = await running.wait()
        except (OSError, ValueError) as error:
            return f"{command}: {error}"
        finally:
            self.busy_elsewhere = False
        return f"{command}: it ended with code {code}" if code else None

    async def edited(self, text: str) -> str:
        """The text as the editor left it; the same text where there is no editor, or it failed."""
        command = editor()
        if not command:
            self.tell("No editor was chosen: set VISUAL or EDITOR to one.")
            return text
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            problem = await self.edit(command, file.name)
            try:
                after = read_text(file.name, MAX_SIZE).strip()
            except (BadFile, OSError) as error:
                problem, after = str(error), text
        if problem:
            self.tell(problem)
        return after

    @abstractmethod
    def tell(self, *lines: str | Line) -> None:
        """Shows lines, each as `on_screen`."""

    @abstractmethod
    async def _read(self, question: Question) -> str:
        """What is typed in answer to a question."""

    @abstractmethod
    def clear(self) -> None:
        """Removes everything from the screen and its scroll-back."""

    @abstractmethod
    def quit(self) -> None:
        """Ends the question that is being asked as if the person had typed quit."""

    def refresh(self) -> None:  # noqa: B027
        """Shows the status line anew; may be called from another thread."""

    def __enter__(self) -> Prompter:
        return self

    def __exit__(self, *raised: object) -> None:  # noqa: B027
        """Leaves the terminal as it was found."""


def editor() -> str:
    """The editor that the person has chosen; empty without one."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""


def show_in_pager(text: str) -> bool:
    """Shows a text in the pager; False if there is none."""
    try:
        command = shlex.split(os.environ.get("PAGER") or "") or [next(filter(shutil.which, _PAGERS), "")]
    except ValueError:  # a quotation mark without its other
        return False
    if not shutil.which(command[0]):
        return False
    # `less` runs no commands and writes no files on behalf of a debate that is read in it, and says how to leave it.
    quoted = f"{os.environ.get('LESS', '')} -Ps{_WAY_OUT}$ -Pm{_WAY_OUT}$ -PM{_WAY_OUT}$".strip()
    environment = os.environ | {"LESSSECURE": "1", "LESS": quoted}
    try:
        return subprocess.run(command, input=redact(text).encode(), env=environment, check=False).returncode == 0
    except OSError:
        return False


def matching_choice(question: Question, typed: str) -> str:
    """The value of the choice that was meant, by its value, its number or its beginning; otherwise what was typed."""
    found = chosen([value for value, _ in question.choices], typed, begun=":" not in typed)
    return typed.strip() if found is None else found


def unknown_choice(question: Question) -> str:
    """What to say about an answer that is none of the choices."""
    return f"Choose one of: {', '.join(f'{n} {value}' for n, (value, _) in enumerate(question.choices, 1))}."


def _ends_with_back(typed: str, now: str) -> bool:
    """Whether `back` was typed behind a text that stood in the line already."""
    now = one_line(now).strip()
    return bool(now) and typed.startswith(now) and typed[len(now) :].strip().lower() == "back"


def question_lines(question: Question) -> list[Line]:
    """The lines of a question, its text in bold."""
    text = [line._replace(strong=True) for line in text_lines(question.text)] if question.text else []
    return [*text, *(Line(line) for line in question.lines if line)]


def choice_rows(question: Question, columns: int) -> list[str]:
    """A row for each choice: number, value and meaning, which stands below where there is no room beside."""
    widest = max((len(value) for value, _ in question.choices), default=0)
    beside = widest + 6 <= min(columns, MAX_WIDTH) // 3
    rows = []
    for number, (value, meaning) in enumerate(question.choices, 1):
        named = f"{number} {sanitize(value)}"
        about = one_line(meaning)
        rows.append(f"{named:{widest + 4}}{about}".rstrip() if beside or not about else f"{named}\n      {about}")
    return rows
