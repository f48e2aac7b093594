"""A person at a terminal, for tests: what they type is given beforehand, and what they see can be read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from prompt_toolkit.application import application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.styles import style as styles

from debate_orchestrator.cli.answers_and_flags import setup_questions
from debate_orchestrator.providers.discovery import FoundModels, ModelSource
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.setup.state import SetupState
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.terminal.asking import Asker, Quit
from debate_orchestrator.terminal.setup_conversation import SetupConversation
from debate_orchestrator.util.terminal_text import Postponed

# Each question makes all key bindings and styles of the library anew, which takes longer than most questions here.
application.load_key_bindings = cache(application.load_key_bindings)
styles._parse_style_str = cache(styles._parse_style_str)

ENTER, BACK, ALT_ENTER, UP, ERASE = "\r", "\x1b[Z", "\x1b\r", "\x1b[A", "\x15"
CTRL_C, CTRL_D = "\x03", "\x04"
_ENDING = (ENTER, BACK, CTRL_C, CTRL_D, "\x1b[201~")
BEST = {"a": "anthropic:claude-sonnet-5-5", "b": "anthropic:claude-sonnet-5-5", "judge": "anthropic:claude-opus-5-5"}
NO_MODELS = FoundModels((ModelSource(spec="anthropic:MODEL", ready=False, about="no key"),), {}, BEST)
TOPIC = "Tabs are better than spaces."
SETUP = (TOPIC, "rehearse", "yes", "none")
"""Answers to every question up to the last confirmation, where no model is asked."""
GIVEN = {
    "topic": TOPIC,
    "positions": {
        "a": "It is right that: Tabs are better than spaces.",
        "b": "It is not right that: Tabs are better than spaces.",
    },
    "rounds": 3,
    "strictness": "strict",
    "output": "debate-report.md",
    "context": [],
}
"""What such answers give, but for the cast."""


def trusting(path: str, given: Mapping[str, Any], format_name: str | None, calls: Sequence[Risk]) -> None:
    """Agrees to whatever a file does besides the debate."""


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
def typing(*keys: str, columns: int = 80) -> Iterator[tuple[Asker, Screen]]:
    """A terminal at which these are typed, each ended with Enter unless it ends with a key that ends it, and then
    nothing more comes."""
    screen = Screen(columns)
    with create_pipe_input() as pipe:

        def type_() -> None:
            pipe.send_text("".join(key if key.endswith(_ENDING) else key + ENTER for key in keys))
            pipe.close()

        hands = threading.Thread(target=type_)
        hands.start()
        try:
            yield Asker(pipe, screen), screen
        finally:
            while hands.is_alive():  # a pipe that is not read holds only so much
                pipe.read_keys()
                hands.join(0.01)


class SetupResult(NamedTuple):
    """How a conversation ended."""

    state: SetupState
    ended: str
    """`confirmed`, `later`, or `left`."""
    text: str
    conversation: SetupConversation


def future_of(found: FoundModels) -> Future[FoundModels]:
    made: Future[FoundModels] = Future()
    made.set_result(found)
    return made


def no_check(state: SetupState) -> DebateFiles:
    return DebateFiles.made_for(state.answers["output"])


def run_setup(
    *keys: str,
    found: FoundModels = NO_MODELS,
    file: str | None = None,
    check: Callable[[SetupState], DebateFiles] = no_check,
    columns: int = 80,
    goes_on: bool = False,
    script: Asker | None = None,
    **options: Any,
) -> SetupResult:
    """A conversation in the working directory, in which these keys are typed, or at the terminal of a `script`; afresh
    unless it `goes_on`. Only where it `estimates` it plays the debate to say what that takes."""
    for path in [] if goes_on else Path().glob(".debate-setup*.yaml"):
        path.unlink()
    with nullcontext((script, script)) if script else typing(*keys, columns=columns) as (terminal, screen):
        of = partial(setup_questions, default_output="debate-report.md")
        rehearse = options.get("rehearse", False)
        conversation = SetupConversation(terminal, of, future_of(found), check, rehearse=rehearse)
        if not options.get("estimates"):
            conversation.cost_outlook = lambda: ""  # type: ignore[method-assign]
        ended = "confirmed"
        try:
            topic = options.get("topic", "")
            conversation.welcome(
                file,
                options.get("format"),
                options.get("moderator"),
                topic,
                options.get("require_consent", trusting),
                options.get("has_consented", lambda path, calls: True),
            )
            conversation.run()
        except Postponed:
            ended = "later"
        except (Quit, KeyboardInterrupt):
            ended = "left"
        return SetupResult(conversation.state, ended, " ".join(screen.text.split()), conversation)


def settled(held: SetupResult) -> dict[str, Any]:
    """What was answered, but for the cast."""
    return {key: value for key, value in held.state.answers.items() if key != "cast"}


def kept() -> str:
    """The text of the draft in the working directory; empty if there is none."""
    path = Path(".debate-setup.yaml")
    return path.read_text(encoding="utf-8") if path.exists() else ""
