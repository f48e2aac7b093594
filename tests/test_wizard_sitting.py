"""One conversation whatever is typed: nothing breaks it, and no answer is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from persons import BACK, BREAK, CTRL_C, ERASE, NOBODY, TO_CAST, UP, coming, hold, no_check, trusting

from debate_orchestrator.cli.settings import questionnaire as interview
from debate_orchestrator.setup.session import SetupProgress, SetupState, load, save
from debate_orchestrator.util.terminal_text import Back, Later
from debate_orchestrator.wizard import conversation
from debate_orchestrator.wizard.asking import Live, Question
from debate_orchestrator.wizard.saving import named
from debate_orchestrator.wizard.sitting import Sitting

SAID = ["", "yes", "no", "edit", "auto", "own", "1", "2", "3", "7", "9", "strict", "lenient", "o.md", "out/", "x.pdf"]
SAID += [
    "change",
    "rounds",
    "topic",
    "positions",
    "cast",
    "format",
    "rehearse",
    "seats",
    "later",
    "?",
    "Tabs win.",
    "default",
]
LASTING = ("strictness", "output", "cast")
"""Answers that nothing takes back."""


class Script:
    """Somebody whose answers are known beforehand, and who looks at the answers that are kept before each."""

    abandoned = "half a thou"

    def __init__(self, said: list[str]):
        self.said, self.sitting = said, None
        self.seen: list[SetupState] = []

    def tell(self, text: str, *, strong: bool = False) -> None:
        """Heard."""

    def refresh(self) -> None:
        """Nothing to show."""

    def ask(self, question: Question, live: Live) -> str:
        if isinstance(self.sitting, Sitting):
            self.seen.append(self.sitting.draft)
        if not self.said:
            raise EOFError
        said = self.said.pop(0)
        if said == BACK:
            raise Back
        return said or question.now


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.sampled_from(SAID) | st.just(BACK) | st.text(max_size=8), max_size=25))
def test_no_answer_is_ever_lost(here: Path, said: list[str]) -> None:
    """Whatever is answered, in whatever order, with whatever going back: the conversation breaks nowhere, what was
    answered stays, and what is kept is what was answered."""
    for path in here.glob(".debate-setup*"):
        path.unlink()
    script = Script(["Tabs are better.", *said])
    sitting = Sitting(script, interview, coming(NOBODY), moderates=False)
    sitting.outlook = lambda: ""  # type: ignore[method-assign]
    script.sitting = sitting
    try:
        conversation.welcome(sitting, None, None, None, trusting)
        conversation.Conversation(sitting, no_check).hold()
    except (EOFError, Later):
        pass

    for before, after in zip(script.seen, script.seen[1:], strict=False):
        for key in LASTING:
            assert key not in before.given or key in after.given
    on_disk = load(".debate-setup.yaml")
    assert (on_disk.given, on_disk.talk.heard) == (sitting.draft.given, sitting.draft.talk.heard)
    assert sitting.interview.next(on_disk) == sitting.interview.next(sitting.draft)


KEYS = [
    BACK,
    BREAK,
    ERASE,
    UP,
    "\t",
    "\r",
    "\x1b",
    "\x1b[B",
    "\x1b[D",
    "\x7f",
    "\x17",
    "\x12",
    "\x19",
    "\x00",
    "\x1b[200~",
]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.sampled_from([*KEYS, *(f"{one}\r" for one in SAID)]) | st.text(max_size=5), max_size=20))
def test_no_key_breaks_it(here: Path, keys: list[str]) -> None:
    """Whatever keys are pressed, the conversation ends as it should, and what was answered before them is kept."""
    held = hold(*TO_CAST[:2], "".join(keys) + CTRL_C)

    assert held.ended in ("left", "later", "confirmed")
    assert os.path.exists(held.sitting.kept.path)
    assert load(held.sitting.kept.path).talk.heard


def test_every_question_has_a_meaning() -> None:
    """There is something to say on what each question means that can be put in a setup."""
    sitting = Sitting(Script([]), interview, coming(NOBODY))
    kept_as = {"cast": "seat", "judge": "seat", "panel": "seat", "reword": "topic"}
    kept_as |= dict.fromkeys(("position_a", "position_b"), "position")
    names = (*sitting.interview.words.questions, *sitting.words.questions)

    assert {kept_as.get(name, name) for name in names} == set(sitting.words.meaning)


def test_who_is_looked_for_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where it takes long to see who can be asked, that is said."""
    from concurrent.futures import Future
    from threading import Timer

    from debate_orchestrator.wizard.hall import Hall

    slow: Future[Hall] = Future()
    Timer(0.8, lambda: slow.set_result(NOBODY)).start()
    told: list[str] = []
    script = Script([])
    script.tell = lambda text, strong=False: told.append(text)  # type: ignore[method-assign]

    assert Sitting(script, interview, slow).hall() is NOBODY
    assert told == ["Looking for who can be asked from here ..."]


def test_an_answer_that_is_refused_is_kept(here: Path) -> None:
    """A conversation's file with an answer that will not do is kept aside as it is, once, before it is written anew."""
    path = here / "odd.yaml"
    draft = SetupState(given={"strictness": "strict", "rounds": 99}, sources={}, talk=SetupProgress(heard=("Tabs?",)))
    save(str(path), draft)
    was = path.read_text(encoding="utf-8")
    sitting = Sitting(Script([]), interview, coming(NOBODY))
    sitting.take_up(*named(str(path)))
    sitting.keep()
    sitting.keep()

    assert (here / "odd.edited.yaml").read_text(encoding="utf-8") == was
    assert sorted(one.name for one in here.glob("*.yaml")) == ["odd.edited.yaml", "odd.yaml"]
