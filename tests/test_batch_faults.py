"""Batches whose vendor, or a gateway before it, answers wrongly: no call is paid for that is in a batch already."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import local_http
import pytest
from batch_vendor import FAULTS, KINDS, Vendor
from core.folding import play_debate
from hypothesis import example, given, settings
from hypothesis import strategies as st

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.providers.cast_providers import make_provider
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.tournament import batch_file
from debate_orchestrator.tournament import batches as batches_module
from debate_orchestrator.tournament.batch_file import BatchFile
from debate_orchestrator.tournament.batches import Batches
from debate_orchestrator.util.errors import (
    BadFile,
    ExternalError,
    JournalWriteError,
    Paused,
    ProviderFailed,
    ReplyPending,
    TransientError,
)

CALLS = ("c0", "c1", "c2")


@contextmanager
def serving(vendor: Vendor) -> Iterator[None]:
    """The vendor at its variable's address."""
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{vendor.kind.upper()}_BASE_URL"] = url
        yield


async def _asked(kind: str, folder: str, calls: tuple[str, ...], stop: asyncio.Event) -> dict[str, Any]:
    model, current = f"{kind}:x", CurrentState(play_debate())
    run = Batches(folder, quiet_seconds=0.01, first_poll=0.01)
    provider = make_provider(model, current)
    run.wrap_providers({"a": provider}, {"a": provider}, current)
    try:
        replies = [run.reply(call, model, {"n": call}, stop) for call in calls]
        return dict(zip(calls, await asyncio.gather(*replies, return_exceptions=True), strict=True))
    finally:
        await run.close()


def asked(kind: str, folder: str = ".", calls: tuple[str, ...] = CALLS) -> dict[str, Any]:
    """The reply to each of these calls in one run, or the error."""
    return asyncio.run(_asked(kind, folder, calls, asyncio.Event()))


def confirm(folder: str, vendor: Vendor) -> None:
    """Adds to the record what the vendor's list says of batches whose creation was not answered."""
    path = Path(folder, "batches.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    answered = {line["batch"] for line in lines if "id" in line}
    known = {line.get("id") for line in lines}
    with path.open("a") as file:
        for line in lines:
            if "calls" in line and line["batch"] not in answered:
                created = (id for id, kept in vendor.batches.items() if set(kept) == set(line["calls"]))
                id = next((id for id in created if id not in known), None)
                file.write(json.dumps({"batch": line["batch"], "id": id}) + "\n")


def asked_until_answered(kind: str, folder: str, vendor: Vendor, runs: int) -> dict[str, Reply | ExternalError]:
    """What comes of all calls in the end: those that a run leaves open are asked for by the next one, after its user
    has looked at the vendor's list."""
    results: dict[str, Reply | ExternalError] = dict.fromkeys(CALLS, ReplyPending("not asked for yet"))
    for _ in range(runs):
        if left := tuple(call for call, result in results.items() if isinstance(result, Paused)):
            results |= asked(kind, folder, left)
            confirm(folder, vendor)
    return results


@pytest.fixture(autouse=True)
def soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches_module, "LIMITS", LIMITS._replace(retry_for=0.02))
    for kind in KINDS:
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", "sk-test")
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", "set by each example, and put back after the test")


@pytest.mark.parametrize("kind", [pytest.param("anthropic", marks=pytest.mark.slow), "openai"])
@settings(deadline=None)
@given(faults=st.lists(st.sampled_from(FAULTS), max_size=16))
@example(faults=["", "then 504"])
@example(faults=["", "", "ids alone"])
def test_no_fault_has_a_call_paid_for_twice(kind: str, faults: list[str]) -> None:
    """Whatever a vendor answers for a while, it is sent each call once, and a call that it has answered is never said
    to have failed, since it would be made again alone. The last run has the replies."""
    vendor = Vendor(kind, faults)
    with serving(vendor), tempfile.TemporaryDirectory() as folder:
        results = asked_until_answered(kind, folder, vendor, runs=len(faults) + 2)

    for call, result in results.items():
        assert vendor.paid[call] == isinstance(result, Reply), (call, result)
        assert not isinstance(result, Reply) or result.text == call
        assert not isinstance(result, Paused)


@pytest.mark.parametrize(("kind", "created"), [(KINDS[0], True), (KINDS[1], False)])
def test_a_creation_without_an_answer_waits_for_the_user(here: Path, kind: str, created: bool) -> None:
    """A batch that may have been created is reported with when and what to do, and its calls wait. The line that the
    user adds says which batch it is, or that there is none, and then they are put into another one."""
    vendor = Vendor(kind, ["", "then 504"] if kind == "openai" else ["then 504"])
    with serving(vendor):
        for _ in range(2):
            for result in asked(kind).values():
                assert isinstance(result, ReplyPending) and "may have been created at 20" in str(result)
                assert '"id": "ITS ID"}' in str(result) and '"id": null}' in str(result)
        if not created:
            vendor.batches = {id: kept for id, kept in vendor.batches.items() if not id.startswith("batch")}
            vendor.paid.clear()
        confirm(".", vendor)
        assert asked(kind)["c0"].text == "c0"
    assert vendor.paid == dict.fromkeys(CALLS, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("refusal", "error"), [("refused 400", ProviderFailed), ("refused 529", Paused)])
def test_a_creation_that_is_refused(here: Path, kind: str, refusal: str, error: type[Exception]) -> None:
    """A creation that is refused, for good or for load, was not made, and a later run may create another batch."""
    vendor = Vendor(kind, [*([""] if kind == "openai" else []), *[refusal] * 40])
    with serving(vendor):
        for result in asked(kind).values():
            assert isinstance(result, error) and not isinstance(result, ReplyPending)
        vendor.faults = iter(())
        assert isinstance(asked(kind)["c0"], Reply)
    assert vendor.paid == dict.fromkeys(CALLS, 1)


class Interrupting(Vendor):
    """A vendor in whose `faults` "interrupt" stands for a request during which something happens to the run."""

    def __init__(self, kind: str, faults: list[str]):
        super().__init__(kind, faults)
        self.loop: asyncio.AbstractEventLoop
        self.interrupt: Callable[[], object] = lambda: None

    def answer(self, http: local_http.Asked) -> local_http.Answer:
        fault = next(self.faults, "")
        if "interrupt" in fault:
            asyncio.run_coroutine_threadsafe(self._interrupted(), self.loop).result()
        self.faults = chain([fault.removeprefix("interrupt").strip()], self.faults)
        return super().answer(http)

    async def _interrupted(self) -> None:
        self.interrupt()
        for _ in range(10):  # what awaits the run has its turn before the answer is sent
            await asyncio.sleep(0)


async def interrupted(vendor: Interrupting) -> dict[str, Any]:
    """The outcome of all calls in a run that is stopped during a request."""
    stop = asyncio.Event()
    vendor.loop, vendor.interrupt = asyncio.get_running_loop(), stop.set
    return await _asked(vendor.kind, ".", CALLS, stop)


@pytest.mark.parametrize(
    ("kind", "faults", "begun"),
    [
        ("openai", ["interrupt"], 0),
        ("openai", ["interrupt refused 529"], 0),
        ("openai", ["", "refused 529", "refused 529", "interrupt refused 529"], 3),
        ("anthropic", ["refused 529", "interrupt refused 529"], 2),
    ],
)
def test_no_batch_is_created_once_a_run_stops(
    here: Path, monkeypatch: pytest.MonkeyPatch, kind: str, faults: list[str], begun: int
) -> None:
    """A run that is stopped while a batch is uploaded, or before its creation is tried again, creates none: its calls
    are on record as failed, and no later run would take up their replies."""
    monkeypatch.setattr(batches_module, "LIMITS", LIMITS)
    monkeypatch.setattr("debate_orchestrator.engine.retry.Retries.next_wait", lambda *_: 0.05)
    vendor = Interrupting(kind, faults)
    with serving(vendor):
        results = asyncio.run(interrupted(vendor)).values()
    lines = [json.loads(line) for line in Path("batches.jsonl").read_text().splitlines()]

    assert all(isinstance(result, Paused) for result in results) and not vendor.paid
    assert sum("calls" in line for line in lines) == sum("id" in line for line in lines) == begun


class Wavering(Vendor):
    """A vendor whose results differ from look to look."""

    def __init__(self, kind: str, *looks: dict[str, str]):
        """Of each look the calls that `failed`, and those that end otherwise than whole; the last one stays."""
        super().__init__(kind, [])
        self.looks = [*looks]

    def _get(self, path: str, fault: str) -> bytes:
        data = super()._get(path, fault)
        if path.endswith(("/results", "/content")) and len(self.looks) > 1:
            self.looks.pop(0)
        return data

    def _line(self, call: str) -> dict[str, Any]:
        end = self.looks[0].get(call)
        if end == "failed":
            return {"custom_id": call, "result": {"type": "errored"}, "response": None, "error": {"code": "no"}}
        text = json.dumps(super()._line(call))
        return json.loads(re.sub('"(stop|end_turn)"', end, text) if end else text)  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_breaks_off_holds_up_no_other(here: Path, kind: str) -> None:
    """A result that stays incomplete leaves its own call open. The others of its batch are taken."""
    vendor = Wavering(kind, {"c1": "null"})
    with serving(vendor):
        results = asked(kind)
        assert [type(result) for result in results.values()] == [Reply, ReplyPending, Reply]
        assert "no complete answer" in str(results["c1"]) and "is under way" in str(results["c1"])
        vendor.looks = [{"c1": '"abort"'}]  # no later look would find more
        assert isinstance(asked(kind, calls=("c1",))["c1"], TransientError)
        vendor.looks = [{}]
        assert asked(kind, calls=("c1",))["c1"].text == "c1"
    assert vendor.paid == dict.fromkeys(CALLS, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "later", [{"c0": "null"}, {"c0": "null", "c2": "null"}, {"c0": "failed"}, {"c0": "failed", "c2": "failed"}]
)
def test_an_answer_that_was_whole_once_is_kept(here: Path, kind: str, later: dict[str, str]) -> None:
    """A later look that has less of a call, or says that it failed, takes no answer away that an earlier one had."""
    vendor = Wavering(kind, {"c1": "null"}, later)
    with serving(vendor):
        results = asked(kind)
    assert {call: getattr(result, "text", result) for call, result in results.items()} == {c: c for c in CALLS}
    assert len(vendor.looks) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_what_to_do_about_a_batch_that_is_gone(here: Path, kind: str) -> None:
    """A batch without results is reported with what frees its calls, which are then made again."""
    vendor = Vendor(kind, [*([""] if kind == "openai" else []), "", *["refused 404"] * 5])
    with serving(vendor):
        path = Path("batches.jsonl")
        pending = asked(kind)["c0"]
        begins = f'{{"batch": "{json.loads(path.read_text().splitlines()[0])["batch"]}"'
        assert isinstance(pending, ReplyPending)
        assert f"take the lines that begin with {begins} out of ./batches.jsonl" in str(pending)
        kept = [line for line in path.read_text().splitlines(keepends=True) if not line.startswith(begins)]
        path.write_text("".join(kept))
        vendor.faults = iter(())
        assert isinstance(asked(kind)["c0"], Reply)


class SmallDisk:
    """A disk that takes no line on how the creation of a batch ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self._append = batch_file.append_line
        monkeypatch.setattr(batch_file, "append_line", self.append_line)

    def append_line(self, handle: int, line: bytes, *more: Any, **options: Any) -> int:
        if b'"id": ' in line:
            raise JournalWriteError("Can't write to batches.jsonl (no space).", "no space")
        return self._append(handle, line, *more, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_loses_no_batch(
    here: Path, kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The results of a batch whose id the disk does not take are taken, and the last words of the run are the line
    that finds the batch again. With that line the next run takes them too."""
    vendor = Vendor(kind, [])
    with serving(vendor):
        with monkeypatch.context() as patched:
            SmallDisk(patched)
            assert asked(kind)["c0"].text == "c0"
        last = caplog.messages[-1]
        assert "Add this line to ./batches.jsonl before you resume" in last and "no space" in last
        with Path("batches.jsonl").open("a") as file:
            file.write(last[last.index("{") :] + "\n")
        assert asked(kind)["c0"].text == "c0"
    assert vendor.paid == dict.fromkeys(CALLS, 1)


def test_a_line_waits_for_room(here: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The id that a full disk does not take is written before the next batch begins, and is not reported."""
    batch_file = BatchFile(".")
    batch = batch_file.record_intent("m", {"c0": None})
    with monkeypatch.context() as patched:
        SmallDisk(patched)
        batch_file.record_creation(batch, "paid")
    batch_file.record_intent("m", {"c1": None})
    batch_file.close()
    lines = [json.loads(line) for line in Path("batches.jsonl").read_text().splitlines()]

    assert [line.get("id", "begun") for line in lines] == ["begun", "paid", "begun"] and not caplog.messages


@pytest.mark.parametrize("text", ["", '{"batch": "x", "id": null}\n'], ids=["saved by rename", "appended to"])
def test_a_record_that_another_program_changes(here: Path, caplog: pytest.LogCaptureFixture, text: str) -> None:
    """Nothing is written into a record that an editor saved meanwhile, and none of its lines is overwritten. No batch
    is begun then, and the line that can't be written is reported at the end, with what to do."""
    batch_file = BatchFile(".")
    batch = batch_file.record_intent("m", {"c0": None})
    path = Path("batches.jsonl")
    before = path.read_text() + text
    if text:
        path.open("a").write(text)
    else:
        Path("new").write_text(before)
        os.replace("new", path)
    batch_file.record_creation(batch, "paid")
    with pytest.raises(JournalWriteError, match=r"Another program changed \./batches\.jsonl"):
        batch_file.record_intent("m", {"c1": None})
    batch_file.close()

    assert path.read_text() == before
    (message,) = caplog.messages
    assert "Add this line to ./batches.jsonl before you resume" in message
    assert json.loads(message[message.index("{") :]) == {"batch": batch.name, "id": "paid"}


@pytest.mark.parametrize("line", ['{"batch": "b", "id": "paid"}', '{"id":"paid","batch":"b"}'])
def test_a_line_of_the_users_without_its_newline(here: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """The id that the user adds counts, however the editor ends the file, and outlasts a full disk; the half of a line
    that a crash left goes. A line with which earlier versions looked for a batch is passed over."""
    begun = json.dumps({"batch": "b", "model": "m", "at": 0, "calls": ["c0"]}) + "\n"
    begun += json.dumps({"batch": "b", "origin": "an upload"}) + "\n"
    Path("batches.jsonl").write_text(begun + line)
    with monkeypatch.context() as full, pytest.raises(BadFile, match="No space"):
        full.setattr(os, "pwrite", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
        BatchFile(".")
    batch_file = BatchFile(".")
    batch_file.close()
    assert getattr(batch_file.batch_of("c0"), "id", None) == "paid"
    assert Path("batches.jsonl").read_text() == f"{begun}{line}\n"

    Path("batches.jsonl").write_text(begun + '{"batch": "b", "id": "pa')
    batch_file = BatchFile(".")
    batch_file.close()
    assert getattr(batch_file.batch_of("c0"), "id", "") is None and Path("batches.jsonl").read_text() == begun
