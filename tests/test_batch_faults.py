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
from debate_orchestrator.util.errors import ExternalError, PermanentFailure, ProviderFailed, ReplyPending

KINDS = ("anthropic", "openai")
CALLS = ("c0", "c1", "c2")


async def asked(kind: str, folder: str, calls: tuple[str, ...]) -> dict[str, Reply | ExternalError]:
    """What comes of these calls in one run."""
    model, current = f"{kind}:x", CurrentState(debated())
    run = Batches(folder, quiet=0.01, first_look=0.01, settle=0.01)
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
@example(faults=["then 504", "refused 404"], once=None, place=0)
@example(faults=["", "then 504", "refused 404"], once=None, place=0)
@example(faults=["then 504", "oldest first"], once=None, place=0)
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
    before = ["then 504"] if kind == "anthropic" else ["", "then 504"]
    vendor = Vendor(kind, [*before, *[refused] * 100])
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
    vendor = Vendor(kind, ["refused 400"])
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        for result in asyncio.run(asked(kind, ".", CALLS)).values():
            assert isinstance(result, ProviderFailed)
        assert isinstance(asyncio.run(asked(kind, ".", CALLS))["c0"], Reply)
    assert vendor.paid == dict.fromkeys(CALLS, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_that_is_given_up_by_hand(here: Path, kind: str) -> None:
    """Calls wait for a batch whose results are gone until its lines are taken out of the record."""
    created = 1 if kind == "anthropic" else 2
    vendor = Vendor(kind, [""] * created + ["refused 404"] * 2)
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        for _ in range(2):
            assert isinstance(asyncio.run(asked(kind, ".", CALLS))["c0"], ReplyPending)
        Path("batches.jsonl").write_text("")
        assert isinstance(asyncio.run(asked(kind, ".", CALLS))["c0"], Reply)
    assert vendor.paid == dict.fromkeys(CALLS, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ahead", [2 * 3600.0, 3 * 86_400.0, 400 * 86_400.0])
def test_a_clock_that_was_ahead(here: Path, kind: str, ahead: float) -> None:
    """A batch is found that was planned by a clock that was ahead."""
    vendor = Vendor(kind, [])
    with local_http.answering(vendor.answer) as url:
        os.environ[f"{kind.upper()}_BASE_URL"] = url
        assert isinstance(asyncio.run(asked(kind, ".", CALLS))["c0"], Reply)
        path = Path("batches.jsonl")
        planned = json.loads(path.read_text().splitlines()[0])
        path.write_text(json.dumps(planned | {"at": planned["at"] + ahead}) + "\n")
        assert isinstance(asyncio.run(asked(kind, ".", CALLS))["c0"], Reply)
    assert vendor.paid == dict.fromkeys(CALLS, 1)


def change_within(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"c0", b"c9"))


def replace(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


CHANGES = [change_within, replace, Path.unlink, lambda path: path.open("a").write("mine\n")]


@pytest.mark.parametrize("change", CHANGES, ids=["within", "replaced", "deleted", "longer"])
def test_a_record_that_another_program_changed(here: Path, change: Any) -> None:
    """No batch is planned in a record that is not as it was left, since a later run would not know of it."""
    record = BatchFile(".")
    batch = record.plan("anthropic:x", {"c0": None})
    record.created(batch, "b0")
    change(Path("batches.jsonl"))
    changed = Path("batches.jsonl").read_bytes() if Path("batches.jsonl").exists() else None
    with pytest.raises(PermanentFailure, match="Another program changed"):
        record.plan("anthropic:x", {"c1": None})
    record.close()
    assert changed == (Path("batches.jsonl").read_bytes() if changed is not None else None)
