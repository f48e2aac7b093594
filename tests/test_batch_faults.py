"""Batches whose vendor, or a gateway before it, answers wrongly: no call is paid for that is in a batch already."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import batch_vendor
import local_http
import pytest
from batch_vendor import Vendor
from core.folding import debated
from hypothesis import example, given, settings
from hypothesis import strategies as st

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.providers.casting import make_provider
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.tournament import batches as batches_module
from debate_orchestrator.tournament.batch_file import BatchFile
from debate_orchestrator.tournament.batches import Batches
from debate_orchestrator.util.errors import ExternalError, ProviderFailed, ReplyPending

KINDS = ("anthropic", "openai")
CALLS = ("c0", "c1", "c2")


async def asked(kind: str, folder: str, calls: tuple[str, ...]) -> dict[str, Reply | ExternalError]:
    """What comes of these calls in one run."""
    model, current = f"{kind}:x", CurrentState(debated())
    run = Batches(folder, quiet=0.01, first_poll=0.01, confirm_seconds=0.01)
    provider = make_provider(model, current)
    run.wrapped({"a": provider}, {"a": provider}, current)
    try:
        replies = [run.reply(call, model, {"n": call}, asyncio.Event()) for call in calls]
        return dict(zip(calls, await asyncio.gather(*replies, return_exceptions=True), strict=True))  # type: ignore[arg-type]
    finally:
        await run.close()


def asked_until_answered(kind: str, folder: str, vendor: Vendor, runs: int) -> dict[str, Reply | ExternalError]:
    """What comes of all calls in the end: those that a run leaves open are asked for by the next one."""
    results: dict[str, Reply | ExternalError] = dict.fromkeys(CALLS, ReplyPending("not asked for yet"))
    for _ in range(runs):
        if left := tuple(call for call, result in results.items() if isinstance(result, ReplyPending)):
            results |= asyncio.run(asked(kind, folder, left))
    return results


@pytest.fixture(autouse=True)
def soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches_module, "LIMITS", LIMITS._replace(retry_for=0.02))
    for kind in KINDS:
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", "sk-test")
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", "set by each example, and put back after the test")


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)
@given(
    faults=st.lists(st.sampled_from([*batch_vendor.faults()]), max_size=16),
    once=st.sampled_from([None, *batch_vendor.ONCE]),
    place=st.integers(0, 16),
)
@example(faults=["", "then 504", "refused 404"], once=None, place=0)
@example(faults=["", "then 504", "oldest first"], once=None, place=0)
@example(faults=["", "then 504", "another id"], once=None, place=0)
@example(faults=["", "", "ids alone"], once=None, place=0)
def test_no_fault_has_a_call_paid_for_twice(kind: str, faults: list[str], once: str | None, place: int) -> None:
    """Whatever a vendor answers for a while, it is sent each call once, and a call that it has answered is never said
    to have failed, since it would be made again alone. The last run has the replies."""
    vendor = Vendor(kind, faults[:place] + [once] * (once is not None) + faults[place:])
    with local_http.answering(vendor.answer) as url, tempfile.TemporaryDirectory() as folder:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        results = asked_until_answered(kind, folder, vendor, runs=len(faults) + 2)

    for call, result in results.items():
        assert vendor.paid[call] == isinstance(result, Reply), (call, result)
        assert not isinstance(result, Reply) or result.text == call
        assert not isinstance(result, ReplyPending)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("refused", ["refused 401", "refused 402", "refused 403", "refused 404", "a page"])
def test_a_list_that_is_refused_leaves_a_batch_open(here: Path, kind: str, refused: str) -> None:
    """A batch that may have been created is looked for until a list can be read: until then its calls wait, and say
    why. A later run takes its results."""
    vendor = Vendor(kind, ["", "then 504", *[refused] * 100])
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        for _ in range(2):
            for result in asyncio.run(asked(kind, ".", CALLS)).values():
                assert isinstance(result, ReplyPending) and "may have been created" in str(result)
                assert refused.removeprefix("refused ") in str(result) or "documented shape" in str(result)
        vendor.faults = iter(())
        assert asyncio.run(asked(kind, ".", CALLS))["c0"].text == "c0"  # type: ignore[union-attr]
    assert vendor.paid == dict.fromkeys(CALLS, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_creation_that_is_refused(here: Path, kind: str) -> None:
    """A creation that is refused, of which two whole lists show nothing, has failed for good, and a later run may
    create another batch."""
    vendor = Vendor(kind, ["", "refused 400"])
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        for result in asyncio.run(asked(kind, ".", CALLS)).values():
            assert isinstance(result, ProviderFailed)
        assert isinstance(asyncio.run(asked(kind, ".", CALLS))["c0"], Reply)
    assert vendor.paid == dict.fromkeys(CALLS, 1)


class Account(Vendor):
    """A vendor whose other batches, which are nameless and of our size, have results that can't be read."""

    later = False
    """Whether there is another one, which is created when ours is refused. Of its results the first line is whole."""

    def answer(self, http: local_http.Asked) -> local_http.Answer:
        if http.method == "GET" and http.path.endswith(("others/results", "others/content")):
            return 404, batch_vendor.JSON, [b'{"error": {"message": "no such file"}}']
        status, headers, pieces = super().answer(http)
        if status == 429 and self.later:
            self.batches["later"] = self.batches["others"]._replace(created=self.batches["others"].created + 1)
        return status, headers, pieces

    def _told(self, id: str) -> dict[str, Any]:
        return super()._told(id) | ({"metadata": None} if self.kind == "openai" else {})

    def _line(self, call: str) -> dict[str, Any]:
        line = super()._line(call)
        return line | ({"more": [1] * 6000} if call in ("x1", "x2") else {})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("later", [False, True])
def test_other_batches_of_the_account_hold_up_none(here: Path, kind: str, later: bool) -> None:
    """Where a creation is refused, the account's other batches are not taken for ours, whatever becomes of their
    results: those that were there before, and those whose first line of results is another's."""
    vendor = Account(kind, ["", "refused 429"])
    vendor.later = later
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        results = asked_until_answered(kind, ".", vendor, runs=3)
    assert {call: getattr(result, "text", result) for call, result in results.items()} == {c: c for c in CALLS}
    assert vendor.paid == dict.fromkeys(CALLS, 1)


class BrokenLine(Vendor):
    """A vendor with a result that never says how it ended, while it is `broken`."""

    broken = True

    def _line(self, call: str) -> dict[str, Any]:
        line = super()._line(call)
        if call == "c1" and self.broken:
            text = json.dumps(line).replace('"stop"', "null").replace('"end_turn"', "null")
            return json.loads(text)  # type: ignore[no-any-return]
        return line


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_breaks_off_holds_up_no_other(here: Path, kind: str) -> None:
    """A result that stays incomplete leaves its own call open. The others of its batch are taken."""
    vendor = BrokenLine(kind, [])
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        results = asyncio.run(asked(kind, ".", CALLS))
        assert [type(result) for result in results.values()] == [Reply, ReplyPending, Reply]
        assert "no complete answer" in str(results["c1"]) and "is under way" in str(results["c1"])
        vendor.broken = False
        assert asyncio.run(asked(kind, ".", ("c1",)))["c1"].text == "c1"  # type: ignore[union-attr]
    assert vendor.paid == dict.fromkeys(CALLS, 1)


class Wavering(Vendor):
    """A vendor whose results differ from look to look."""

    def __init__(self, kind: str, looks: list[tuple[str, str]]):
        """Of each look the calls that break off, and those that failed."""
        super().__init__(kind, [])
        self.looks = looks

    def _get(self, path: str, altered: Any) -> str:
        text = super()._get(path, altered)
        if path.endswith(("/results", "/content")) and len(self.looks) > 1:
            self.looks.pop(0)
        return text

    def _line(self, call: str) -> dict[str, Any]:
        line, (broken, failed) = super()._line(call), self.looks[0]
        if call in failed.split():
            return {"custom_id": call, "result": {"type": "errored"}, "response": None, "error": {"code": "no"}}
        text = json.dumps(line)
        if call in broken.split():
            text = text.replace('"stop"', "null").replace('"end_turn"', "null")
        return json.loads(text)  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "later", [("c0", ""), ("c0 c2", ""), ("", "c0"), ("", "c0 c2")], ids=["less", "others", "failed", "others failed"]
)
def test_an_answer_that_was_whole_once_is_kept(here: Path, kind: str, later: tuple[str, str]) -> None:
    """A later look that has less of a call, or says that it failed, takes no answer away that an earlier one had."""
    vendor = Wavering(kind, [("c1", ""), later])
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        results = asyncio.run(asked(kind, ".", CALLS))
    assert {call: getattr(result, "text", result) for call, result in results.items()} == {c: c for c in CALLS}
    assert len(vendor.looks) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("named", [True, False])
def test_what_to_do_about_a_batch_that_is_gone(here: Path, kind: str, named: bool) -> None:
    """A batch without results is told with what frees its calls, which are then made again."""
    vendor = Vendor(kind, ["", "" if named else "then 504", *["refused 404"] * 5])
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        path = Path("batches.jsonl")
        pending = asyncio.run(asked(kind, ".", CALLS))["c0"]
        begins = f'{{"batch": "{json.loads(path.read_text().splitlines()[0])["batch"]}"'
        assert isinstance(pending, ReplyPending)
        assert f"take the lines that begin with {begins} out of ./batches.jsonl" in str(pending)
        kept = [line for line in path.read_text().splitlines(keepends=True) if not line.startswith(begins)]
        path.write_text("".join(kept))
        vendor.faults = iter(())
        assert isinstance(asyncio.run(asked(kind, ".", CALLS))["c0"], Reply)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_that_was_never_prepared(here: Path, kind: str) -> None:
    """A batch that was planned, and whose preparation was not answered, was not created: nothing is looked for."""
    record = BatchFile(".")
    record.plan(f"{kind}:x", dict.fromkeys(CALLS))
    record.close()
    vendor = Account(kind, [])
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        assert isinstance(asyncio.run(asked(kind, ".", CALLS))["c0"], Reply)
    assert vendor.paid == dict.fromkeys(CALLS, 1)
