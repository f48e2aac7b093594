"""Somebody at a terminal, for tests: what they type is given beforehand, and what they see can be read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from debate_orchestrator.cli.settings import questionnaire as interview
from debate_orchestrator.providers.discovery import Available
from debate_orchestrator.setup.session import SetupState
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.terminal_text import Later
from debate_orchestrator.wizard import conversation
from debate_orchestrator.wizard.asking import Terminal
from debate_orchestrator.wizard.hall import Choice, Hall
from debate_orchestrator.wizard.sitting import Sitting

ENTER, BACK, BREAK, UP, ERASE = "\r", "\x1b[Z", "\x1b\r", "\x1b[A", "\x15"
CTRL_C, CTRL_D = "\x03", "\x04"
_ENDING = (BACK, CTRL_C, CTRL_D, "\x1b[201~")
BEST = {"a": "anthropic:claude-sonnet-5-5", "b": "anthropic:claude-sonnet-5-5", "judge": "anthropic:claude-opus-5-5"}
NOBODY = Hall((Available(seat="anthropic:MODEL", ready=False, about="no key"),), {}, BEST)
TO_CAST = ("Tabs are better than spaces.", "yes", "own", "Tabs.", "Spaces.", "yes", "1", "strict", "out.md")
"""Answers to every question up to the cast, where no model is asked."""


def trusting(path: str, given: Mapping[str, Any]) -> None:
    """Agrees to whatever a file does beyond the debate."""


class Screen(DummyOutput):
    """A terminal of some size that keeps what is written to it."""

    def __init__(self, columns: int = 80):
        self._columns = columns
        self._written: list[str] = []

    def get_size(self) -> Size:
        return Size(rows=40, columns=self._columns)

    def write(self, data: str) -> None:
        self._written.append(data)

    write_raw = write

    @property
    def text(self) -> str:
        """What was written, with every run of white space as one."""
        return " ".join("".join(self._written).split())

    @property
    def lines(self) -> list[str]:
        return "".join(self._written).replace("\r", "").split("\n")


@contextmanager
def fed(keys: str) -> Iterator[PipeInput]:
    """An input at which these are typed, and then nothing more comes."""
    with create_pipe_input() as pipe:

        def type_() -> None:
            pipe.send_text(keys)
            pipe.close()

        hands = threading.Thread(target=type_)
        hands.start()
        try:
            yield pipe
        finally:
            while hands.is_alive():  # a pipe that nobody reads holds only so much
                pipe.read_keys()
                hands.join(0.01)


@contextmanager
def typing(*keys: str, columns: int = 80) -> Iterator[tuple[Terminal, Screen]]:
    """A terminal at which these are typed, each ended with Enter unless it ends with a key that ends it, and then
    nothing more comes."""
    screen = Screen(columns)
    with fed("".join(key if key.endswith(_ENDING) else key + ENTER for key in keys)) as pipe:
        yield Terminal(pipe, screen), screen


class Held(NamedTuple):
    """How a conversation ended."""

    draft: SetupState
    ended: str
    """`confirmed`, `later`, or `left`."""
    text: str
    sitting: Sitting


def coming(hall: Hall) -> Future[Hall]:
    made: Future[Hall] = Future()
    made.set_result(hall)
    return made


def no_check(draft: SetupState) -> DebateFiles:
    return DebateFiles.of_output(draft.given["output"])


def hold(
    *keys: str,
    hall: Hall = NOBODY,
    file: str | None = None,
    check: Callable[[SetupState], DebateFiles] = no_check,
    extra: tuple[Choice, ...] = (),
    moderates: bool = True,
    columns: int = 80,
    goes_on: bool = False,
    **options: Any,
) -> Held:
    """A conversation in the working directory, in which these keys are typed; afresh unless it `goes_on`."""
    for path in [] if goes_on else Path().glob(".debate-setup*.yaml"):
        path.unlink()
    with typing(*keys, columns=columns) as (terminal, screen):
        of = partial(interview, default_output="debate-report.md")
        sitting = Sitting(terminal, of, coming(hall), moderates=moderates)
        ended = "confirmed"
        try:
            conversation.welcome(sitting, file, options.get("format"), options.get("moderator"), trusting)
            talk = conversation.Conversation(sitting, check, extra=extra, rehearse=options.get("rehearse", False))
            talk.hold()
        except Later:
            ended = "later"
        except (KeyboardInterrupt, EOFError):
            ended = "left"
        return Held(sitting.draft, ended, screen.text, sitting)


def kept() -> str:
    """The text of the draft in the working directory; empty where there is none."""
    path = Path(".debate-setup.yaml")
    return path.read_text(encoding="utf-8") if path.exists() else ""
