"""Whether a report is what its journal tells: every way in which it may not be is told apart."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from debates import play_events
from hypothesis import given, settings
from hypothesis import strategies as st
from journals import write_journal
from scripted_debates import FETCHED, events
from shapes import CLAIM, REHEARSED

from debate_orchestrator.core.events import Event
from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.report_files import Verification, reports_beside, verify
from debate_orchestrator.reports.report_files import read_reports as files_of
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import Entry
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.errors import BadFile

RUNS: dict[str, Callable[[], list[Event]]] = {
    "host-run": partial(play_events, rounds=2),
    "paused": partial(play_events, until="1.verdict.judge"),
    "rehearsed": partial(events, "adversarial", cast=REHEARSED),
    "a claim, looked up": partial(events, "claim", CLAIM, cast=FETCHED),
}
"""Debates that are played where they are asked for: every worker of a run imports this module."""


def kept(folder: Path, made: list[Event], name: str = "d") -> list[Entry]:
    """The lines of a new journal that holds those events."""
    path = folder / f"{name}{JOURNAL}"
    write_journal(path, made)
    return read(path).entries


def report(entries: list[Entry], suffix: str = ".md") -> bytes:
    return report_files.render_file(build_report(entries), suffix).encode()


def with_new_checksum(data: bytes, suffix: str, original: bytes | None = None) -> bytes:
    """A report that was changed, with the checksum of its new bytes; of an `original` whose checksum it had."""
    found = report_files.read_checksum(original or data, suffix)
    assert found is not None
    blank = data.replace(found.digest.encode(), b"0" * 64)
    return data.replace(found.digest.encode(), hashlib.sha256(blank).hexdigest().encode())


def verified(data: bytes, entries: list[Entry], suffix: str = ".md") -> Verification:
    return verify(f"r{suffix}", data, entries)


@pytest.mark.parametrize("run", RUNS)
def test_what_belongs_is_reported(run: str, tmp_path: Path) -> None:
    """The report of a journal, however the debate was run, belongs to it, is unchanged, and is made again the same."""
    entries = kept(tmp_path, RUNS[run]())
    for suffix in report_files.FILE_TYPES:
        found = verified(report(entries, suffix), entries, suffix)
        assert (found.state, found.rerendered, found.ok) == ("unchanged", "same", True)
        assert "belongs to this journal" in found.text and "the same to the byte" in found.text
        assert found.data["head"] == entries[-1].hash and found.data["lines"] == len(entries)


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
def test_of_an_earlier_state(suffix: str, tmp_path: Path) -> None:
    """A report that was made when the journal had fewer lines is reported by how many, and is still well."""
    entries = kept(tmp_path, play_events(rounds=1))
    for n in range(1, len(entries)):
        found = verified(report(entries[:n], suffix), entries, suffix)
        assert (found.state, found.rerendered, found.ok) == ("earlier", "same", True)
        assert f"when it had {n} of its {len(entries)} lines" in found.text


def test_of_another_journal(tmp_path: Path) -> None:
    """The report of another debate, or of this one before its journal was written again, does not belong."""
    one = kept(tmp_path, play_events(rounds=1), "one")
    again = kept(tmp_path, play_events(rounds=1, topic="Vim or Emacs?"), "two")
    found = verified(report(one), again)

    assert (found.state, found.rerendered, found.ok) == ("another", "not compared", False)
    assert "of another journal, or this one was changed" in found.text


SHORT = play_events(rounds=1)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> list[Entry]:
    return kept(tmp_path_factory.mktemp("short"), SHORT)


@pytest.fixture(scope="module")
def whole(short: list[Entry]) -> dict[str, bytes]:
    """Its reports."""
    return {suffix: report(short, suffix) for suffix in report_files.FILE_TYPES}


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
@settings(max_examples=40)
@given(where=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_any_changed_byte_is_reported(
    suffix: str, short: list[Entry], whole: dict[str, bytes], where: int, byte: int
) -> None:
    """Whichever byte of a report is changed, it is reported as changed, or as one without a checksum."""
    data = whole[suffix]
    at = where % len(data)
    changed = data[:at] + bytes([byte]) + data[at + 1 :]

    found = verified(changed, short, suffix)
    assert found.ok == (changed == data)
    assert found.ok or found.state in ("changed", "no checksum")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
@settings(max_examples=20)
@given(where=st.integers(0, 10**6), word=st.sampled_from(["x", "B", "not ", "9", "\n", " "]))
def test_a_forged_report_is_reported(
    suffix: str, short: list[Entry], whole: dict[str, bytes], where: int, word: str
) -> None:
    """A report that was changed and sealed again does not say what the journal says."""
    data = whole[suffix]
    at = where % (len(data) - 700)
    forged = with_new_checksum(data[:at] + word.encode() + data[at:], suffix)

    found = verified(forged, short, suffix)
    assert (found.state, found.rerendered, found.ok) == ("contradicts", "different", False)
    assert "does not say what the journal says" in found.text


def test_a_report_without_its_checksum(short: list[Entry]) -> None:
    """Nothing shows what it was made of, whatever it says, and so it is not well."""
    data = report(short)
    for cut in (data[:-1], data + b"\n", data[: data.index(b"\n---\n\n*Made by")], b"# Debate Report", b"", b"x"):
        found = verified(cut, short)
        assert (found.state, found.ok, found.inconclusive, found.data["version"]) == ("no checksum", False, False, None)
    assert verified(report(short, ".json")[:-1], short, ".json").state == "no checksum"


def test_the_reports_beside_a_journal(tmp_path: Path, short: list[Entry]) -> None:
    """Those that are there, and what people may take for one by its name; another JSON file may hold answers."""
    paths = [tmp_path / f"r{suffix}" for suffix in report_files.FILE_TYPES]
    for path in paths:
        path.write_bytes(report(short, path.suffix))
    assert reports_beside(str(paths[0])) == [str(path) for path in paths]

    for path in paths:
        path.write_text('{"topic": "my answers"}')
    assert reports_beside(str(paths[0])) == [str(path) for path in paths if path.suffix != ".json"]
    assert reports_beside(str(tmp_path / "none.md")) == []


def test_files_that_are_no_report_are_refused_at_once(tmp_path: Path) -> None:
    """Every file that can't be had, or has the suffix of no report, is complained of, all at once."""
    (tmp_path / "r.csv").write_text("x")
    with pytest.raises(BadFile) as caught:
        files_of([str(tmp_path / "r.csv"), str(tmp_path / "none.md"), "\0.json"])

    assert len(caught.value.problems) == 3
    assert f"ends in {report_files.suffixes()}" in caught.value.problems[0]
