"""Topics restated and positions derived by a model that is asked; told before, kept after, and never invented."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from messages_server import Server
from persons import BEST, CTRL_C, run_setup

from debate_orchestrator.engine import moderator as moderator_module
from debate_orchestrator.providers.discovery import FoundModels
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.setup.state import SetupFile, SetupProgress, SetupState, load
from debate_orchestrator.util.errors import BadSettings

CLEAR = {"ambiguous": False, "restated": "Tabs beat spaces.", "recommended": None, "alternative": None}
MUDDY = {"ambiguous": True, "restated": None, "recommended": "Tabs win.", "alternative": "Spaces win."}
PAIR = {"kind": "technical", "a": "Tabs it is.", "b": "Spaces it is."}
FOUND = FoundModels((), {**BEST, "moderator": "anthropic:claude-sonnet-5-5"}, BEST)


class Moderator:
    """What the server answers, in this order; prose once there is nothing left."""

    def __init__(self, server: Server):
        self.server = server
        self.topics: list[Any] = [CLEAR]
        self.pairs: list[Any] = [PAIR]
        server.problem = self.answer

    def answer(self, request: dict[str, Any], n: int) -> dict[str, Any]:
        said = json.dumps(request["messages"])
        left = self.topics if "Restating a debate topic" in said else self.pairs
        next_ = left.pop(0) if left else "I would rather not."
        return next_ if isinstance(next_, dict) and "status" in next_ else {"text": json.dumps(next_)}


@pytest.fixture
def moderator(plain_server: Server) -> Moderator:
    return Moderator(plain_server)


def test_a_topic_is_restated_and_positions_are_derived(moderator: Moderator) -> None:
    """The model that is asked is named before it is, and what it says is put to be confirmed."""
    held = run_setup("tabs or spaces", "", "yes", "yes", found=FOUND)

    assert held.state.answers["topic"] == "Tabs beat spaces."
    assert held.state.answers["positions"] == {"a": "Tabs it is.", "b": "Spaces it is."}
    assert held.state.origins["topic"] == held.state.origins["positions"] == "derived"
    asked = held.text.index("Restating the topic: anthropic:claude-opus-5-5 (about $0.")
    assert asked < held.text.index("I'll frame the debate as: 'Tabs beat spaces'")
    assert "Deriving the two positions: anthropic:claude-opus-5-5 (about $0." in held.text


def test_what_was_paid_is_kept(moderator: Moderator) -> None:
    """Every reply is kept with its cost, also one that could not be used, and over a break."""
    moderator.topics = ["prose", CLEAR]
    held = run_setup("tabs or spaces", "", found=FOUND)
    again = run_setup("", "yes", found=FOUND, goes_on=True)

    assert [one.spec for one in held.state.progress.paid] == ["anthropic:claude-opus-5-5"] * 2
    assert len(again.state.progress.paid) == 3
    assert all(one.by_call and one.cost for one in again.state.progress.paid)


def test_a_call_that_broke_off_is_kept(moderator: Moderator) -> None:
    """It may have been billed, so the setup counts it, at an unknown price."""
    broken = iter([{"text": json.dumps(CLEAR), "after": 1, "then": "end"}])
    moderator.server.problem = lambda request, n: next(broken, None) or moderator.answer(request, n)
    moderator.topics = [CLEAR]
    held = run_setup("tabs or spaces", "", "yes", "yes", found=FOUND)

    assert [one.cost is None for one in held.state.progress.paid] == [True, False, False]
    assert "The setup took 3 calls of the moderator" in (line := held.conversation.cost_line())
    assert "and 1 of unknown price" in line


def test_an_interrupt_between_two_calls(moderator: Moderator, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reply has cost is kept also where the person leaves while the next one is awaited."""
    moderator.topics = ["prose"]
    patiently, calls = moderator_module._reply, []

    async def interrupted(*terms: Any) -> Any:
        calls.append(terms)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return await patiently(*terms)

    monkeypatch.setattr(moderator_module, "_reply", interrupted)
    held = run_setup("tabs or spaces", "", found=FOUND)
    kept = load(".debate-setup.yaml").progress

    assert (held.ended, kept.topics) == ("left", ("tabs or spaces",))
    assert [bool(one.cost) for one in kept.paid] == [True]


def test_one_interrupt_waits_for_the_reply(moderator: Moderator) -> None:
    """A reply that is under way at the first Ctrl-C is awaited, and its proposal is kept for the next time."""

    def interrupt_first(request: dict[str, Any], n: int) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGINT)
        return moderator.answer(request, n)

    moderator.server.problem = interrupt_first
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        held = run_setup("tabs or spaces", "", "yes", "yes", found=FOUND)
    finally:
        signal.signal(signal.SIGINT, before)
    kept = load(".debate-setup.yaml").progress

    assert held.ended == "left" and "Stopping: waiting for running calls" in held.text
    assert [bool(reply.cost) for reply in kept.paid] == [True] and "Tabs beat spaces." in str(kept)


def test_an_ambiguous_topic(moderator: Moderator) -> None:
    """A topic without a clean split is met with two framings, chosen by number, or with one of one's own."""
    moderator.topics = [MUDDY]
    held = run_setup("indentation", "", "2", found=FOUND)
    moderator.topics = [MUDDY, CLEAR]
    own = run_setup("indentation", "", "Elastic tabs win", "yes", found=FOUND)

    assert "This topic may not have a clean pro/con split. I recommend framing it as: Tabs win." in held.text
    assert held.state.answers["topic"] == "Spaces win."
    assert own.state.answers["topic"] == "Tabs beat spaces."
    assert own.state.progress.topics == ("indentation", "Elastic tabs win")


def test_a_correction_is_restated(moderator: Moderator) -> None:
    """What should be different goes to the model with all that was said; an edit is taken as it is."""
    moderator.topics = [CLEAR, {**CLEAR, "restated": "In Python, tabs beat spaces."}]
    corrected = run_setup("tabs", "", "only for Python", "yes", found=FOUND)
    moderator.topics = [CLEAR]
    edited = run_setup("tabs", "", "edit", " By far.", "yes", found=FOUND)

    assert corrected.state.answers["topic"] == "In Python, tabs beat spaces."
    assert "only for Python" in json.dumps(moderator.server.requests[1])
    assert edited.state.answers["topic"] == "Tabs beat spaces. By far."
    assert edited.state.origins["topic"] == "user"


def test_hostile_work_is_tamed(moderator: Moderator) -> None:
    """Whatever a model says stays text on its line."""
    moderator.topics = [{**CLEAR, "restated": "\x1b[2J\u202eevil\nDEBATE SETUP CONFIRMED {topic}"}]
    held = run_setup("tabs", "", "edit", "", "yes", found=FOUND)

    assert held.state.answers["topic"] == "␛[2Jevil DEBATE SETUP CONFIRMED {topic}"


def strangers_setup(**progress: Any) -> None:
    """A setup in this folder that only lacks the positions, which a model derives."""
    given = {"topic": "Tabs are better.", "cast": dict.fromkeys(("a", "b", "judge"), "anthropic:claude-opus-5-5")}
    known = {"topics": ("Tabs are better.",), "topic_ok": True, "positions": "auto", **progress}
    SetupFile(".debate-setup.yaml").write(SetupState(answers=given, progress=SetupProgress.model_construct(**known)))


def test_the_setup_of_another_is_not_taken_up_by_enter(moderator: Moderator) -> None:
    """A setup that the user did not begin, and that continues with a paid call, is taken up after a yes alone."""
    strangers_setup()
    held = run_setup("", "\x03", found=FOUND, goes_on=True, has_consented=lambda path, calls: not calls)

    assert not moderator.server.requests
    assert held.conversation.setup_file.path != ".debate-setup.yaml" and Path(".debate-setup.yaml").exists()
    run_setup("", "\x03", found=FOUND, goes_on=True)
    assert moderator.server.requests, "the user's own is continued"


class Asked:
    """A person who is asked about the calls that a file has made, and does not want them unless told otherwise."""

    def __init__(self, *wanted: str):
        self.wanted, self.named = wanted, list[tuple[str, str]]()

    def __call__(self, path: str, given: Mapping[str, Any], format_name: str | None, calls: Sequence[Risk]) -> None:
        self.named += [(path, risk.what) for risk in calls]
        if any(risk.what not in self.wanted for risk in calls):
            raise BadSettings("No.")


def stranger(text: Mapping[str, Any]) -> str:
    """A file of answers that the user did not write."""
    Path("plain.json").write_text(json.dumps({"topic": "Should we adopt it", **text}), encoding="utf-8")
    return "plain.json"


PAID, DEAR, FREE = "anthropic:claude-opus-5-5", "anthropic:claude-fable-5", "ollama:llama3"


@pytest.mark.parametrize(
    "file",
    [
        {"cast": {"a": PAID, "b": PAID, "judge": PAID}},
        {"cast": PAID},
        {"cast": {"judge": "human", "a": "human", "b": "human", "rapporteur": PAID}},
        {"cast": {"judge": FREE, "a": FREE, "b": FREE, "moderator": PAID}},
    ],
)
def test_the_model_of_a_file_that_would_be_called_is_agreed_to(moderator: Moderator, file: dict[str, Any]) -> None:
    """Whatever else a file names, the one model that is called is the one that was agreed to; without a yes the
    conversation goes on without it."""
    name, no, yes = stranger(file), Asked(), Asked(PAID)
    without = run_setup(CTRL_C, found=FOUND, file=name, require_consent=no)
    called_without = len(moderator.server.requests)
    run_setup(CTRL_C, found=FOUND, file=name, require_consent=yes)

    assert no.named == yes.named == [(name, PAID)]
    assert called_without == 0 and moderator.server.requests
    assert without.state.progress.proposal, "the topic is put as it was stated"


@pytest.mark.parametrize("typed", [(), ("usual",)])
def test_ones_own_setup_is_taken_up_by_enter(moderator: Moderator, typed: tuple[str, ...]) -> None:
    """A setup that the user began is continued by Enter, with the models that were chosen and without."""
    left = run_setup("Should we?", *typed, CTRL_C, found=FOUND)
    wanted = left.conversation.calls()
    held = run_setup("", CTRL_C, found=FOUND, goes_on=True, has_consented=lambda path, calls: {*calls} <= {*wanted})

    assert held.conversation.setup_file.path == ".debate-setup.yaml" and bool(wanted) == bool(typed)
