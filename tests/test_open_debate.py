"""A debate that is opened: consent comes before everything, a pause keeps it whole, and what was paid for waits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from debates import opened_event

from debate_orchestrator.core.events import BudgetChanged, Event, Opened, Reassigned
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.debate import (
    continue_debate,
    create_debate,
    create_paid_debate,
    drive,
    finish,
    seat_providers,
)
from debate_orchestrator.engine.turn import RunOptions
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.storage import journal
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.errors import (
    BadSettings,
    JournalWriteError,
    Paused,
    PermanentFailure,
)
from debate_orchestrator.util.messages import ignore

J = "r.journal.jsonl"
FILES = DebateFiles.of_journal(J)
PROGRAMS = {"a": ("command:cat -u",), "b": ("command:tee",), "judge": ("rehearse",)}
STAND_INS = dict.fromkeys(("a", "b", "judge"), ("rehearse",))


def test_nothing_happens_before_consent(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without consent a journal stays as it was, byte for byte, with none of the changes, and no provider is made.
    Consent is asked for the programs that the journal names, not for one that the user puts in their place."""
    create_debate(opened_event(cast=PROGRAMS), FILES).journal.close()
    asked: list[str] = []

    def agree(writer: JournalWriter, risks: Sequence[Risk]) -> None:
        asked.extend(risk.what for risk in risks)

    changes: list[Event] = [Reassigned(seat="a", specs=("command:sort",))]
    with continue_debate(J, agree, lambda state: changes) as session:
        assert session.state.cast["a"] == ("command:sort",)
    assert asked == ["tee"]

    before = Path(J).read_bytes()
    monkeypatch.setattr(cast_providers, "make_providers", lambda *_: pytest.fail("a provider was made"))

    def refuse(writer: JournalWriter, risks: Sequence[Risk]) -> None:
        raise BadSettings(", ".join(risk.what for risk in risks))

    with pytest.raises(BadSettings, match=r"^sort, tee$"):
        continue_debate(J, refuse, lambda state: [BudgetChanged(max_cost=1.0)])
    assert Path(J).read_bytes() == before


@pytest.mark.parametrize("resumes", [True, False])
def test_a_pause(here: Path, resumes: bool) -> None:
    """A debate that is stopped with work left goes on where `paused` says so; otherwise it stays as it is, and can be
    continued to the same end."""
    stop, pauses = asyncio.Event(), list[int]()

    def on_event(debate: DebateState, event: Event) -> None:
        if event.kind == "spoke" and not pauses:
            stop.set()

    async def paused() -> bool:
        pauses.append(len(session.state.replies))
        stop.clear()
        return resumes

    with create_debate(
        opened_event(rounds=1, cast=dict.fromkeys(("a", "b", "judge"), ("rehearse",))), FILES
    ) as session:
        options = RunOptions(on_event=on_event, stop=stop, wait_for_resume=paused)
        asyncio.run(drive(session, seat_providers(session), options))
        assert session.state.complete is resumes and pauses == [1]
        if not resumes:
            with pytest.raises(Paused, match="turns are left"):
                finish(session)
    with continue_debate(J, ignore) as session:
        asyncio.run(drive(session, seat_providers(session)))
        report, problems = finish(session)
    assert session.state.complete and problems == [] and report.status == "complete"
    assert len({event.turn_id for event in read(J).events if event.kind == "spoke"}) == 2


def paid_event() -> Opened:
    """An opening with positions that a model derived."""
    reply = Reply(text="{}", brief_digest="b", spec="anthropic:m", by_call=True)
    return opened_event().model_copy(update={"moderator_replies": (reply,)})


async def awaited(opened: Opened) -> Opened:
    return opened


def test_what_was_paid_for_waits_for_room(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An opening with derived positions is written once the disk has room; one that cost nothing fails at once, and
    leaves no file."""
    append, tried, notices = journal.append_line, list[str](), list[str]()

    def full_twice(*arguments: Any) -> int:
        tried.append("line")
        if len(tried) < 3:
            raise JournalWriteError("No room.", "no space left on device")
        return append(*arguments)

    monkeypatch.setattr(journal, "append_line", full_twice)
    monkeypatch.setattr(journal, "WRITE_RETRY_SECONDS", 0.0)
    monkeypatch.setattr(JournalWriter, "notify", notices.append)
    paid = paid_event()
    asyncio.run(create_paid_debate(awaited(paid), FILES)).journal.close()
    assert len(tried) == 3 and read(J).events == [paid]
    assert notices[0].startswith("the positions that were derived for ") and notices[1].startswith(
        "Saved: the positions"
    )

    tried.clear()
    with pytest.raises(JournalWriteError):
        asyncio.run(create_paid_debate(awaited(opened_event()), DebateFiles.of_journal("s.journal.jsonl")))
    assert len(tried) == 1 and not Path("s.journal.jsonl").exists()


def test_a_reply_to_a_journal_that_was_moved_is_named_as_lost(here: Path) -> None:
    """A journal that is moved and copied back while a call runs takes no further line under its other name: the reply
    is named as lost, and the debate goes on from the copy."""
    notices: list[str] = []

    def move(*_: object) -> None:
        if not Path("moved").exists():
            Path(J).rename("moved")
            Path(J).write_bytes(Path("moved").read_bytes())

    with (
        create_debate(opened_event(cast=STAND_INS), FILES) as session,
        pytest.raises(PermanentFailure, match="moved or replaced"),
    ):
        session.journal.notify = notices.append
        asyncio.run(drive(session, seat_providers(session), RunOptions(on_text=move)))
    assert len(notices) == 1 and notices[0].startswith("Lost: 1.opening.a: its reply")
    assert Path(J).read_bytes() == Path("moved").read_bytes()
    with continue_debate(J, ignore) as session:
        asyncio.run(drive(session, seat_providers(session)))
    assert session.state.complete


def test_no_report_is_written_of_a_journal_that_is_gone(here: Path) -> None:
    """Where the journal no longer is at its path, a report would tell of what can't be checked there."""
    with create_debate(opened_event(cast=STAND_INS), FILES) as session:
        asyncio.run(drive(session, seat_providers(session)))
        Path(J).rename("moved")
        with pytest.raises(PermanentFailure, match="deleted, moved or replaced"):
            finish(session)
    assert [path.name for path in here.iterdir()] == ["moved"]
