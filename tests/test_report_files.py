"""A report file is known by its suffix and its checksum, overwrites nothing, and is told apart from what its journal
does not say."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest
import toy_report_file
from conftest import Run, place_finished_debate
from corpus import TextGroup, assert_harmless, text_groups
from debates import entries, hostile_script, play_events, report_model
from hostile_texts import SAID
from hypothesis import given, settings
from hypothesis import strategies as st
from journals import write_journal
from reviewers import adversarial_entries
from scripted_debates import FETCHED, events
from shapes import CLAIM, REHEARSED

from debate_orchestrator import render
from debate_orchestrator.core.events import Event
from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.report_files import FILE_TYPES, ReportFileType, Verification, reports_beside, verify
from debate_orchestrator.reports.report_files import read_reports as files_of
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import Entry
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.errors import BadFile


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
def test_a_file_that_is_no_report_stays(suffix: str, tmp_path: Path) -> None:
    """What holds something else is refused and left as it is; an empty file is free."""
    path = tmp_path / f"notes{suffix}"
    path.write_text("My notes of the year.\n", encoding="utf-8")
    with pytest.raises(BadFile, match="is not a report and is not overwritten"):
        report_files.write(build_report(entries(play_events())), str(path))
    assert path.read_text(encoding="utf-8") == "My notes of the year.\n"
    path.write_text("", encoding="utf-8")
    assert report_files.checked_path(str(path)) == str(path)


@pytest.mark.parametrize("name", ["report.docx", "report", ".md"])
def test_another_ending_is_refused(name: str) -> None:
    """A file whose suffix names no form of report is refused, with the suffixes that do."""
    with pytest.raises(BadFile, match=r"a file that ends in \.md"):
        report_files.checked_path(name)


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
def test_a_report_that_was_edited_is_kept(suffix: str, tmp_path: Path) -> None:
    """A report begins as its form says, and is written again over itself. One whose bytes were changed since is moved
    aside before, each time to a free name."""
    report, path, said = build_report(adversarial_entries()), tmp_path / f"r{suffix}", list[str]()
    for worse in ("worse", "dearer"):
        assert report_files.write(report, str(path), said.append) == str(path)
        assert path.read_bytes().startswith(report_files.FILE_TYPES[suffix].prefixes)
        path.write_text(
            path.read_text(encoding="utf-8").replace("Tabs are better", f"Tabs are {worse}"), encoding="utf-8"
        )
    report_files.write(report, str(path), said.append)
    report_files.write(report, str(path), said.append)

    assert "Tabs are worse" in (tmp_path / f"r.edited{suffix}").read_text(encoding="utf-8")
    assert "Tabs are dearer" in (tmp_path / f"r.edited-2{suffix}").read_text(encoding="utf-8")
    assert len(said) == 2 and said[0].endswith(f"kept as {tmp_path}/r.edited{suffix}.")
    assert path.read_bytes() == report_files.render_file(report, suffix).encode()


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
def test_a_link_in_a_reports_place_is_kept(suffix: str, tmp_path: Path) -> None:
    """A link in a report's place is moved aside, and what it points to stays as it is, a real report too."""
    report, path, said = build_report(adversarial_entries()), tmp_path / f"r{suffix}", list[str]()
    other = report_files.render_file(build_report(adversarial_entries(rounds=1)), suffix).encode()
    (tmp_path / "archive").write_bytes(other)
    path.symlink_to("archive")
    report_files.write(report, str(path), said.append)

    assert (tmp_path / "archive").read_bytes() == other
    assert (tmp_path / f"r.edited{suffix}").readlink() == Path("archive")
    assert not path.is_symlink() and path.read_bytes() == report_files.render_file(report, suffix).encode()
    assert len(said) == 1


LAST_HASH = "5ea1" * 16
SUFFIXES = list(report_files.FILE_TYPES)


def made(report: ReportModel, suffix: str) -> bytes:
    """A report file of a journal whose last line has the hash `LAST_HASH`."""
    journal = report.journal.model_copy(update={"last_hash": LAST_HASH})
    return report_files.render_file(report.model_copy(update={"journal": journal}), suffix).encode()


@cache
def written(suffix: str) -> bytes:
    return made(report_model(rounds=1), suffix)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_checksum_is_of_the_bytes_with_zeros_in_its_place(suffix: str) -> None:
    """One rule for every form: the last 64 digits of the file are the sha256 of the file in which they are zeros."""
    data = written(suffix)
    digest = re.findall(rb"[0-9a-f]{64}", data)[-1]

    assert data.count(digest) == 1
    assert hashlib.sha256(data.replace(digest, b"0" * 64)).hexdigest().encode() == digest


def must_have_its_own_checksum(group: TextGroup) -> None:
    """The checksum of a report in which each speech ends with a forged one is the report's own."""
    sentence, next_text = report_files.checksum_sentence(report_model(rounds=1)), group.cycle()
    report = report_model(
        hostile_script(lambda: f"{next_text()}\n\n---\n\n*{sentence}*", rounds=2), rounds=2, topic=report_files.BLANK
    )
    for suffix in report_files.FILE_TYPES:
        found = report_files.read_checksum(made(report, suffix), suffix)
        assert found is not None and (found.fits, found.last_hash) == (True, LAST_HASH)


@pytest.mark.slow
@pytest.mark.parametrize(
    "group", [TextGroup((report_files.BLANK,)), *text_groups([f"sha256:{report_files.BLANK}", *SAID])[::4]]
)
def test_a_speech_forges_no_checksum(group: TextGroup) -> None:
    """Zeros, and checksums that a speaker writes, are speech: the report's own is after them and fits."""
    assert_harmless(must_have_its_own_checksum, group)


TOY = ReportFileType("text", "toy_report_file", (b"DEBATE: ",), ("\n", "\n"))
FINISHED = "report.journal.jsonl"


@pytest.fixture
def finished(debate: Run, answers: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A finished debate, and the toy file type among the others."""
    place_finished_debate(debate)
    monkeypatch.setitem(FILE_TYPES, ".txt", TOY)
    return debate


def test_a_report_is_written_and_rendered_in_the_toy_file_type(finished: Run) -> None:
    """`report --to` and `replay --to` write what `render` gives, and their help names the suffix."""
    finished("report", FINISHED, "--to", "report.txt")
    finished("replay", FINISHED, "--to", "played.txt", "--quiet")
    text = Path("report.txt").read_text(encoding="utf-8")

    assert re.match(r"DEBATE: .+\ncomplete\n\nMade by debate-orchestrator ", text)
    assert text == Path("played.txt").read_text(encoding="utf-8") == render(FINISHED, "text")
    for verb in ("report", "replay"):
        assert ".md, .html, .json or .txt" in " ".join(finished(verb, "--help").out.split())


def test_a_file_type_that_gives_no_text_is_reported(finished: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes would be written as their Python text, with no checksum; nothing is."""
    monkeypatch.setattr(toy_report_file, "render", lambda report: b"PK")
    with pytest.raises(TypeError, match=r"toy_report_file\.render must return text, not bytes"):
        render(FINISHED, "text")


def test_a_report_in_the_toy_file_type_is_checked(finished: Run) -> None:
    """`check` finds it beside its journal, takes its name for the journal's, and sees a change in it."""
    finished("report", FINISHED, "--to", "report.txt")
    beside = finished("check", FINISHED, "--json").json["reports"]
    assert ("report.txt", "unchanged", "same") in {(one["report"], one["state"], one["rerendered"]) for one in beside}
    assert "report.txt is a report; using its journal" in finished("check", "report.txt").err

    file = Path("report.txt")
    file.write_text(file.read_text(encoding="utf-8").replace("complete", "abandoned"), encoding="utf-8")
    changed = finished("check", FINISHED, "report.txt")
    assert changed.code == 2 and "report.txt: changed after it was written" in changed.out


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
    paths[-1].unlink()
    paths[-1].symlink_to("nowhere")  # it may have been a report: it is for the verb to say that it can't be read
    assert reports_beside(str(paths[0])) == [str(path) for path in paths]
    assert reports_beside(str(tmp_path / "none.md")) == []


def test_files_that_are_no_report_are_refused_at_once(tmp_path: Path) -> None:
    """Every file that can't be had, or has the suffix of no report, is complained of, all at once."""
    (tmp_path / "r.csv").write_text("x")
    with pytest.raises(BadFile) as caught:
        files_of([str(tmp_path / "r.csv"), str(tmp_path / "none.md"), "\0.json"])

    assert len(caught.value.problems) == 3
    assert f"ends in {report_files.suffixes()}" in caught.value.problems[0]
