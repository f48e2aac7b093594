"""One turn, asked for until it is settled: what is written down around each call, and when it is made again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import debates
import pytest
from speakers import Speaker, take_turns

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import BriefSent, CallFailed, Event, Opened, Spoke
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.engine.budget import Budget
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.provider import OnPiece
from debate_orchestrator.storage import journal as journal_module
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util.errors import JournalWriteError, Paused, ProviderFailed, TransientError


class Failing(Speaker):
    """A speaker that fails as it is told before it speaks; `begins` pieces come before that."""

    def __init__(self, fail: Callable[[Brief, int], Exception | None], caches: bool = False):
        super().__init__(rounds=1)
        self.fail, self.caches = fail, caches
        self.begun: list[str] = []

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        n = sum(one.turn_id == brief.turn_id for one in self.briefs)
        self.begun.append(brief.turn_id)
        if (error := self.fail(brief, n)) is not None:
            self.briefs.append(brief)
            raise error
        return await super().reply(brief, on_text)


def run(path: Path, speaker: Speaker, stop: asyncio.Event | None = None, **opened: object) -> list[Event]:
    """A debate of one round in which that speaker takes every seat; the events, whatever came of it."""
    first = debates.opened_event(rounds=1, judges=3).with_settings(**{"retry_for": 1.0, **opened})
    assert isinstance(first, Opened)
    with JournalWriter.create(path, first) as journal:
        debate = fold([first])
        seats = dict.fromkeys(("a", "b", *debate.judges), speaker)
        try:
            current = CurrentState(debate)
            debate = asyncio.run(take_turns(journal, current, seats, stop=stop or asyncio.Event()))
        finally:
            assert read(path).events == journal.events
    return journal.events


def of(events: list[Event], kind: type, turn: str) -> list[Any]:
    return [event for event in events if isinstance(event, kind) and getattr(event, "turn_id", "") == turn]


def first_turn(path: Path, speaker: Speaker, error: type[BaseException], **how: Any) -> list[Any]:
    """The failed calls and speeches of side A, who alone speaks, in a debate that such an error ends."""
    first = debates.opened_event(rounds=1)
    with JournalWriter.create(path, first) as journal, pytest.raises(error):
        asyncio.run(take_turns(journal, CurrentState(fold([first])), {"a": speaker}, **how))
    return of(read(path).events, CallFailed | Spoke, "1.opening.a")  # type: ignore[arg-type]


def test_a_call_that_came_to_nothing_is_made_again(tmp_path: Path) -> None:
    """Each call has its own `BriefSent`; what came to nothing is on record with reason, wait and what had come."""
    half = Reply(text="This is ha", brief_digest="", spec="", cost=0.25)
    speaker = Failing(
        lambda brief, n: TransientError("no line", partial=half) if brief.turn_id == "1.opening.b" and n < 2 else None
    )
    events = run(tmp_path / "j", speaker)
    lost = of(events, CallFailed, "1.opening.b")

    assert len(of(events, BriefSent, "1.opening.b")) == 3
    assert [type(event.wait) for event in lost] == [float, float]
    assert all(event.reply.text == "This is ha" and event.reply.brief_digest for event in lost)
    assert fold(events).complete


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TransientError("no line"), r"no line(?s:.*)after 1 s of failed or silent calls"),
        (ProviderFailed("bad key"), "bad key"),
        (Paused("no credit"), "no credit"),
    ],
)
def test_trouble_is_bounded(tmp_path: Path, error: Exception, said: str) -> None:
    """Trouble that outlasts the time for retries pauses the debate; a failure that waiting can't mend stops it at the
    first call. The last word on record is that it stopped."""
    passes = isinstance(error, TransientError)
    speaker = Failing(lambda brief, n: error if brief.turn_id == "1.opening.b" else None)
    with pytest.raises(Paused if passes else type(error), match=said):
        run(tmp_path / "j", speaker)
    events = read(tmp_path / "j").events
    last = events[-1]

    assert isinstance(last, CallFailed) and last.wait is None
    assert (len(of(events, BriefSent, "1.opening.b")) > 1) == passes


def test_a_wait_ends_when_told_to_stop(tmp_path: Path) -> None:
    """Told to stop, a wait is over at once and nothing more is asked."""
    stop = asyncio.Event()

    def fail(brief: Brief, n: int) -> Exception:
        asyncio.get_running_loop().call_later(0.1, stop.set)
        return TransientError("later", after=500)

    events = run(tmp_path / "j", Failing(fail), stop=stop, retry_for=1_000.0)

    assert len([event for event in events if isinstance(event, BriefSent)]) == 1


def test_answers_under_way_are_awaited(tmp_path: Path) -> None:
    """Told to stop while calls are under way, the loop takes their answers and asks for nothing else."""
    stop = asyncio.Event()

    def fail(brief: Brief, n: int) -> None:
        if brief.turn_id == "1.verdict.judge-3":
            stop.set()

    events = run(tmp_path / "j", Failing(fail), stop=stop)
    debate = fold(events)

    assert [turn.id for turn in debate.due] == [f"final.verdict.judge-{n}" for n in (1, 2, 3)]


def test_the_cache_writer_goes_first(tmp_path: Path) -> None:
    """Told so, calls that share a cache wait until the first of them has begun to answer; others do not wait."""
    speaker = Failing(lambda brief, n: None, caches=True)
    run(tmp_path / "j", speaker, share_cache=True)
    together = Failing(lambda brief, n: None)
    run(tmp_path / "k", together, share_cache=True)

    judges = [turn for turn in speaker.begun if turn.startswith("1.verdict")]
    assert judges[0] == "1.verdict.judge-1"
    assert (speaker.most_at_once, together.most_at_once) == (2, 3)


class InPieces(Speaker):
    """A speaker whose answer comes in pieces, after which it `fails`."""

    name = "openai:m@http://127.0.0.1:1"
    fails: BaseException | None = None

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        for piece in ("So ", "it ", "is ", "here."):
            on_text(piece)
        if self.fails is not None:
            raise self.fails
        return Reply(text="So it is here.", brief_digest=brief.digest, spec=self.name)


def mistake(*_: object) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("listener", [None, lambda turn, piece: None, mistake], ids=["none", "one", "one that fails"])
def test_a_mistake_in_the_program_loses_no_words(tmp_path: Path, listener: Any) -> None:
    """What had come of an answer is on record, with the reason, when the program itself fails; the mistake is
    reported. Where showing a piece fails, the answer is read to its end and is on record before that ends the run."""
    breaks = InPieces()
    breaks.fails = ValueError("a mistake")
    (lost,) = first_turn(tmp_path / "j", breaks, ValueError, on_text=listener)

    assert (lost.reply.text, lost.maybe_billed) == ("So it is here.", True)
    assert lost.problem == "The call was given up, since the program failed (ValueError)."
    if listener is mistake:
        (spoke,) = first_turn(tmp_path / "k", InPieces(), ZeroDivisionError, on_text=listener)
        assert isinstance(spoke, Spoke) and spoke.reply.text == "So it is here."


@pytest.mark.parametrize(("said", "kept"), [("It is so.", "It is so."), ("It is \ud83d so.", "It is \ufffd so.")])
def test_a_mistake_while_a_reply_is_read_loses_none(
    tmp_path: Path, said: str, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole answer that the program fails to read is on record too, and what it cost counts once."""

    monkeypatch.setattr("debate_orchestrator.prompting.replies.parse_reply", lambda *_, **__: mistake())
    speaker = Speaker(lambda brief: said, cost=0.5, usage=Usage(uncached_input=1_000, output=2_000))
    speaker.name = "anthropic:claude-opus-5-5"
    (lost,) = first_turn(tmp_path / "j", speaker, ZeroDivisionError)

    assert (lost.reply.text, lost.reply.cost) == (kept, 0.5)
    assert lost.problem == "The program failed to read the reply, which is complete (ZeroDivisionError)."
    debate = fold(read(tmp_path / "j").events)
    assert costs_of(debate).total.cost == Budget(CurrentState(debate)).committed_cost() == 0.5


def test_a_partial_reply_is_named_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What had come of a call that is given up waits for room as any reply does: where none comes it is named."""

    class Cancelled(Speaker):
        async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
            on_text("This is ha")
            monkeypatch.setattr(journal_module, "append_line", full)
            raise asyncio.CancelledError

    def full(*_: object, **__: object) -> int:
        raise JournalWriteError("no room", why="no room")

    with JournalWriter.create(tmp_path / "j", debates.opened_event(rounds=1)) as journal:
        current = CurrentState(fold(journal.events))
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(take_turns(journal, current, {"a": Cancelled()}, stop=asyncio.Event()))

    assert journal.lost_results == [f"1.opening.a: its reply (3 words) for {tmp_path / 'j'}"]
