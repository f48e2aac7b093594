"""A debate that is watched can be paused, continued and left, and nothing that was answered is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import STATED
from debates import opened_event
from human_turns import Script
from messages_server import Server, serving
from viewer import Viewer, watching

from debate_orchestrator.cli.controls import Controls
from debate_orchestrator.core.events import CallFailed, Event, Opened, StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.debate import DebateSession, create_debate, drive, seat_providers
from debate_orchestrator.engine.turn import RunOptions
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.terminal import asking

J = "r.journal.jsonl"
RUN = ("run", *STATED, "--output=r.md")


@pytest.fixture
def server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server whose answers come slowly, word by word."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    with serving(Server()) as made:
        made.between = lambda request: 0.1
        monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
        yield made


def answers() -> list[str]:
    return list(fold(read(J).events).replies)


def writing(viewer: Viewer, who: str = "Researcher A") -> None:
    viewer.see(lambda: f"{who} writes" in viewer.glass.text)


def test_a_pause(server: Server) -> None:
    """r before the answer is in takes a pause back: no turn waits. p lets the reply under way come in and makes no call
    until r; then the debate goes on to its report."""
    server.between, server.held = lambda request: 0.0, 1
    with watching(*RUN, "--rounds=1") as viewer:
        writing(viewer)
        viewer.press("p")
        viewer.see_text("pausing after this turn")
        viewer.press("r")
        viewer.see(lambda: "p pause" in viewer.glass.text)
        server.held = 2
        writing(viewer, "Researcher B")
        viewer.press("p")
        viewer.see_text("pausing after this turn")
        server.held = 0
        viewer.see(lambda: "paused · r resume" in viewer.glass.text and "thinks" not in viewer.glass.text)
        assert answers() == ["1.opening.a", "1.opening.b"]
        assert len(server.requests) == 2
        viewer.press("r")
        assert viewer.see_end() == 0
    assert Path("r.md").exists()
    assert len(server.requests) == len(answers()) == 5


@pytest.mark.slow
def test_the_list_of_issues_waits_for_a_look(server: Server) -> None:
    """After the rapporteur's list no side is asked until the person goes on, who sees the list then, after leaving too;
    a rehearsal does not wait."""
    with watching(*RUN[:4], "--no-brief", "--output=r.md", "--rounds=1") as viewer:
        viewer.see_text("Enter continues with this list, c changes it. After 2 minutes the debate")
        viewer.see_text("Enter go on · c change the list")
        assert answers() == ["start.issues.rapporteur"] and len(server.requests) == 1
        server.between = lambda request: 0.0
        viewer.press("q")
        assert viewer.see_end() == 130
    with watching("resume", J) as viewer:
        viewer.see_text("I8. ")
        viewer.see_text("Enter continues with this list")
        viewer.press("\r")
        assert viewer.see_end() == 0
    with watching(*RUN[:4], "--rehearse", "--output=tried.md", "--rounds=1") as viewer:
        assert viewer.see_end() == 0


class Keyboard:
    """A terminal that can be lent, at which keys are read."""

    reads_keys = True

    def lend(self) -> None: ...

    def take_back(self) -> None: ...


def driven(opened: Opened, press: Callable[[Controls, Event], None]) -> DebateState:
    """A debate to its end, at whose terminal keys are pressed after each event."""

    async def hold(session: DebateSession) -> DebateState:
        controls = Controls(session, None, lambda debate, event: None)
        controls.begin(Keyboard())  # type: ignore[arg-type]

        def on_event(debate: DebateState, event: Event) -> None:
            controls.on_event(debate, event)
            press(controls, event)

        options = RunOptions(on_event=on_event, stop=controls.stop, wait_for_resume=controls.wait_for_resume)
        await drive(session, seat_providers(session), options)
        return session.state

    with create_debate(opened, DebateFiles.of_journal(J)) as session:
        return asyncio.run(hold(session))


def test_the_list_is_changed_before_any_side_is_asked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """c holds the debate however early it is pressed: also while the list is still being put on record."""
    seats = {"a": ("rehearse",), "b": ("rehearse",), "judge": ("host",), "rapporteur": ("rehearse",)}
    monkeypatch.setattr(asking, "Asker", lambda: Script("First?\nSecond?"))

    def press(controls: Controls, event: Event) -> None:
        if isinstance(event, StructuredReplyGiven) and event.turn_id == "start.issues.rapporteur":
            controls.press("c")

    debate = driven(opened_event(rounds=1, issues=True, cast=seats), press)

    kinds = [event.kind for event in read(J).events if event.kind in ("issues_changed", "spoke")]
    assert debate.changed_issues is not None and kinds == ["issues_changed", "spoke", "spoke"]


def test_a_question_from_the_floor(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """f asks to whom and what; the question is on record and heard, and no call is started meanwhile. Ctrl-C there
    leaves the debate paused, and records nothing."""
    typed = [Script("b", "Is it dear?"), Script("a")]
    monkeypatch.setattr(asking, "Asker", lambda: typed.pop(0))
    seats = dict.fromkeys(("a", "b", "judge"), ("rehearse",))

    def press(controls: Controls, event: Event) -> None:
        if event.kind == "spoke":
            controls.press("f")
            if getattr(event, "turn_id", "") == "1.opening.b":
                asyncio.get_running_loop().call_later(0.2, controls.press, "r")

    debate = driven(opened_event(rounds=1, cast=seats), press)

    kinds = [event.kind for event in read(J).events if event.kind in ("question_asked", "spoke")]
    assert [(event.question, event.to) for event in debate.floor_questions] == [("Is it dear?", ("b",))]
    assert kinds == ["spoke", "question_asked", "spoke"] and debate.complete


@pytest.mark.slow
def test_leaving(server: Server) -> None:
    """q is Ctrl-C once: the reply under way is awaited and saved, and the way on is printed; also from a pause."""
    for paused in (False, True):
        verb = RUN if not paused else ("resume", J)
        with watching(*verb) as viewer:
            writing(viewer, "Researcher B" if paused else "Researcher A")
            if paused:
                viewer.press("p")
                viewer.see(lambda: "paused · r resume" in viewer.glass.text)
            viewer.press("q")
            assert viewer.see_end() == 130
            assert viewer.plain
            assert f"debate resume {J}" in " ".join(viewer.glass.text.split())
        assert answers() == ["1.opening.a", "1.opening.b"][: 1 + paused]


def test_leaving_at_once(server: Server) -> None:
    """A second Ctrl-C leaves the replies under way; what had come of them is on the screen, and said to be left."""
    server.between, server.held = lambda request: 0.0, 1
    with watching(*RUN) as viewer:
        writing(viewer)
        viewer.press("\x03")
        viewer.see_text("stopping when the replies under way are in")
        time.sleep(1.2)  # sooner it would count as the first one, passed on
        viewer.press("\x03")
        assert viewer.see_end() == 130
        assert "The call was given up, since the debate was stopped." in " ".join(viewer.glass.text.split())
        assert viewer.plain and not viewer.glass.hidden
    assert answers() == []
    (left,) = (event for event in read(J).events if isinstance(event, CallFailed))
    assert left.reply is not None and left.reply.text.startswith("This is what is said")


@pytest.mark.slow
def test_an_early_end(server: Server) -> None:
    """e asks once more; then the phase under way is finished and the verdict is asked for."""
    with watching(*RUN, "--rounds=3", rows=40) as viewer:
        writing(viewer, "Researcher B")
        viewer.press("e")
        viewer.see_text("end the debate early, and go to the verdict?")
        viewer.press("n")
        viewer.see(lambda: "e end early" in viewer.glass.text)
        viewer.press("ey")
        viewer.see_text("Ended early, after Opening Statement of round 1.")
        server.between = lambda request: 0.0
        assert viewer.see_end() == 0
    assert answers() == ["1.opening.a", "1.opening.b", "final.verdict.judge", "final.dissent.judge"]
