"""Whether a report is what its journal tells: every way in which it may not be is told apart."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import test_engine_rejudge
from debates import played
from hypothesis import given, settings
from hypothesis import strategies as st
from journals import written
from scripted_debates import FETCHED, events
from shapes import CLAIM, REHEARSED

from debate_orchestrator import __version__
from debate_orchestrator.core.events import Event
from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.report_files import Verification, integrity, reports_beside, verify
from debate_orchestrator.reports.report_files import read_reports as files_of
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import Entry
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadFile, DamagedJournal

RUNS: dict[str, Callable[[], list[Event]]] = {
    "host-run": partial(played, rounds=2),
    "paused": partial(played, until="1.verdict.judge"),
    "rehearsed": partial(events, "adversarial", cast=REHEARSED),
    "a claim, looked up": partial(events, "claim", CLAIM, cast=FETCHED),
    **{name: partial(events, name) for name in resources.format_names()},
}
"""Debates that are played where they are asked for: every worker of a run imports this module."""


def kept(folder: Path, made: list[Event], name: str = "d") -> list[Entry]:
    """The lines of a new journal that holds those events."""
    path = folder / f"{name}{JOURNAL}"
    written(path, made)
    return read(path).entries


def report(entries: list[Entry], suffix: str = ".md") -> bytes:
    return report_files.rendered(build_report(entries), suffix).encode()


def with_new_checksum(data: bytes, suffix: str, original: bytes | None = None) -> bytes:
    """A report that was changed, with the checksum of its new bytes; of an `original` whose checksum it had."""
    found = report_files.read_checksum(original or data, suffix)
    assert found is not None
    blank = data.replace(found.digest.encode(), b"0" * 64)
    return data.replace(found.digest.encode(), hashlib.sha256(blank).hexdigest().encode())


def told(data: bytes, entries: list[Entry], suffix: str = ".md") -> Verification:
    return verify(f"r{suffix}", data, entries)


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
@pytest.mark.parametrize("run", RUNS)
def test_what_belongs_is_told(run: str, suffix: str, tmp_path: Path) -> None:
    """The report of a journal, however the debate was run, belongs to it, is unchanged, and is made again the same."""
    entries = kept(tmp_path, RUNS[run]())
    found = told(report(entries, suffix), entries, suffix)

    assert (found.state, found.rerendered, found.ok) == ("unchanged", "same", True)
    assert "belongs to this journal" in found.text and "the same to the byte" in found.text
    assert found.data["head"] == entries[-1].hash and found.data["lines"] == len(entries)


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
def test_a_debate_judged_again(suffix: str, tmp_path: Path) -> None:
    """The report of a second judging belongs to its own journal; that of the debate it judges is told as that."""
    test_engine_rejudge.again(tmp_path, played(rounds=1))
    old, new = (read(tmp_path / f"{name}{JOURNAL}").entries for name in ("old", "new"))

    assert told(report(new, suffix), new, suffix).state == "unchanged"
    found = told(report(old, suffix), new, suffix)
    assert found.state in ("another", "longer") and not found.ok
    assert "judged again in this one" in found.text


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
def test_of_an_earlier_state(suffix: str, tmp_path: Path) -> None:
    """A report that was made when the journal had fewer lines is told by how many, and is still well."""
    entries = kept(tmp_path, played(rounds=1))
    for n in range(1, len(entries)):
        found = told(report(entries[:n], suffix), entries, suffix)
        assert (found.state, found.rerendered, found.ok) == ("earlier", "same", True)
        assert f"when it had {n} of its {len(entries)} lines" in found.text


def test_of_more_lines_than_there_are(tmp_path: Path) -> None:
    """Where lines were taken off a journal's end, which its chain can't show, its report does."""
    entries = kept(tmp_path, played(rounds=1))
    for n in range(1, len(entries)):
        found = told(report(entries), entries[:n])
        assert (found.state, found.ok) == ("longer", False)
        assert f"made from {len(entries)} lines" in found.text and "missing at the end" in found.text


def test_of_another_journal(tmp_path: Path) -> None:
    """The report of another debate, or of this one before its journal was written anew, does not belong."""
    one = kept(tmp_path, played(rounds=1), "one")
    again = kept(tmp_path, played(rounds=1, topic="Vim or Emacs?"), "two")
    found = told(report(one), again)

    assert (found.state, found.rerendered, found.ok) == ("another", "not compared", False)
    assert f"its line {len(one)} does not have the hash" in found.text


SHORT = played(rounds=1)


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
def test_any_changed_byte_is_told(
    suffix: str, short: list[Entry], whole: dict[str, bytes], where: int, byte: int
) -> None:
    """Whichever byte of a sealed report is changed, it is told as changed."""
    data = whole[suffix]
    at = where % len(data)
    changed = data[:at] + bytes([byte]) + data[at + 1 :]

    found = told(changed, short, suffix)
    assert (found.state, found.ok) == (("unchanged", True) if changed == data else ("changed", False))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
@settings(max_examples=20)
@given(where=st.integers(0, 10**6), word=st.sampled_from(["x", "B", "not ", "9", "\n", " "]))
def test_a_forged_report_is_told(
    suffix: str, short: list[Entry], whole: dict[str, bytes], where: int, word: str
) -> None:
    """A report that was changed and sealed anew does not say what the journal says."""
    data = whole[suffix]
    at = where % (len(data) - 700)
    forged = with_new_checksum(data[:at] + word.encode() + data[at:], suffix)

    found = told(forged, short, suffix)
    assert (found.state, found.rerendered, found.ok) == ("contradicts", "different", False)
    assert "does not say what the journal says" in found.text


@pytest.mark.slow
@settings(max_examples=25)
@given(data=st.data())
def test_a_changed_journal_is_told(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever of the journal is changed, dropped or moved, it is damaged, or its report is not of it."""
    folder = tmp_path_factory.mktemp("j")
    whole = written(folder / f"d{JOURNAL}", SHORT)
    made = report(read(folder / f"d{JOURNAL}").entries)
    lines = whole.splitlines(keepends=True)
    n = data.draw(st.integers(0, len(lines) - 1))
    m = data.draw(st.integers(0, len(lines) - 1))
    at = data.draw(st.integers(0, len(lines[n]) - 2))
    altered = lines[n][:at] + bytes([lines[n][at] ^ 1]) + lines[n][at + 1 :]
    swapped = [lines[m] if k == n else lines[n] if k == m else one for k, one in enumerate(lines)]
    for changed in ([*lines[:n], altered, *lines[n + 1 :]], [*lines[:n], *lines[n + 1 :]], swapped):
        (folder / f"c{JOURNAL}").write_bytes(b"".join(changed))
        try:
            entries = read(folder / f"c{JOURNAL}").entries
        except Exception as error:  # a journal without its first line is none
            assert isinstance(error, DamagedJournal) or n == 0 or m == 0
            continue
        assert told(made, entries).ok == (changed == lines)


def test_a_journal_that_was_written_anew(tmp_path: Path) -> None:
    """A whole journal written anew, with hashes that fit, is another journal than the report was made of."""
    events_ = played(rounds=1)
    data = report(kept(tmp_path, events_))
    forged = events_[1].model_copy(update={"reply": events_[1].reply.model_copy(update={"text": "I never."})})  # type: ignore[union-attr]

    assert told(data, kept(tmp_path, [events_[0], forged, *events_[2:]], "anew")).state == "another"


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
def test_another_version_that_tells_it_the_same(suffix: str, short: list[Entry]) -> None:
    """A report that another version made is compared all the same, but for the version's number."""
    data = report_files.by_version(report(short, suffix), suffix, "0.0.9")
    found = told(data, short, suffix)

    assert (found.state, found.rerendered, found.ok) == ("unchanged", "same", True)
    assert found.data["version"] == "0.0.9" and data != report(short, suffix)
    assert "to the byte" not in found.text and "the same but for the version, which was 0.0.9" in found.text


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
def test_another_version_that_tells_it_otherwise(suffix: str, short: list[Entry]) -> None:
    """If the versions render a journal differently, it is not well: a changed report may name any version."""
    data = report(short, suffix).replace(b"Researcher", b"Debater")
    for version in ("0.0.9", "9.9.9"):
        found = told(report_files.by_version(data, suffix, version), short, suffix)

        assert (found.state, found.rerendered, found.ok) == ("other version", "not compared", False)
        assert found.inconclusive and "its checksum fits" in found.text
        assert f"names version {version}" in found.text and "Only that version can tell" in found.text
        assert "unchanged" not in found.text


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
def test_a_version_that_is_later_is_never_well(suffix: str, short: list[Entry]) -> None:
    """What a later version renders is not known here, so that it is the same here says nothing."""
    series, _, patch = __version__.rpartition(".")
    for version in ("9000.0.0", f"{series}.{int(patch) + 1}", f"{series}.{int(patch) + 10}"):
        found = told(report_files.by_version(report(short, suffix), suffix, version), short, suffix)

        assert (found.state, found.rerendered, found.ok) == ("other version", "same", False)
        assert found.inconclusive and f"names version {version}" in found.text


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
@pytest.mark.parametrize("version", [None, "0.0.9"])
def test_a_form_that_is_not_the_journals_contradicts_it(suffix: str, version: str | None, short: list[Entry]) -> None:
    """A report names the form of its journal. One that names another does not excuse a changed report."""
    data = report(short, suffix)
    stated = (b'"form": 1', b'"form": 2') if suffix == ".json" else (b", form 1,", b", form 2,")
    changed = data.replace(b"Researcher", b"Debater").replace(*stated)
    found = told(report_files.by_version(changed, suffix, version or __version__), short, suffix)

    assert (found.state, found.rerendered, found.ok) == ("contradicts", "different", False)
    assert "names version 2 of the journal's format, and that is 1" in found.text


VERSIONS = [
    b"0.2.0.-CORRECTED-VERDICT-THE-WINNER-IS-A-NOT-B",
    b"0.2.0-THE-VERDICT-ABOVE-IS-VOID",
    b"9",
    b"",
    b"0.2.0.",
    b"0.2.0.1.1",
    b"0.2.00",
    b"00.2.0",
    b"0.2",
    b"0.2.0.0",
    b"20000.1",
]


@pytest.mark.parametrize("suffix", report_files.FILE_TYPES)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_has_no_room_for_words(suffix: str, version: bytes, short: list[Entry]) -> None:
    """What stands in place of the version can't tell a reader anything, nor spell the same version otherwise: then
    it is no checksum."""
    data = report(short, suffix)
    label = b'"version": "' if suffix == ".json" else b"debate-orchestrator "
    before, after = data[: data.rindex(label)] + label, data[data.rindex(label) + len(label) :]
    changed = with_new_checksum(data.replace(before + __version__.encode(), before + version, 1), suffix, data)

    assert after.startswith(__version__.encode()) and changed != data
    found = told(changed, short, suffix)
    assert (found.state, found.rerendered, found.ok) == ("changed", "not compared", False)


@pytest.mark.parametrize("place", [b"</title>", b"</h1>", b"<footer>", b"<h2"])
def test_a_checksum_counts_only_where_it_was_put(place: bytes, short: list[Entry]) -> None:
    """A page with the sentence elsewhere does not say what the journal says, whatever the sentence states."""
    data = report(short, ".html")
    start = data.index(b'<p class="checksum">')
    end = data.index(b"</p>\n", start) + 5
    sentence, bare = data[start:end], data[:start] + data[end:]
    at = bare.index(place) + len(place)
    moved = with_new_checksum(bare[:at] + sentence + bare[at:], ".html", data)
    twice = with_new_checksum(data[:at] + sentence.replace(b"Journal", b"The journal") + data[at:], ".html", data)

    assert told(moved, short, ".html").state == "changed"
    assert told(twice, short, ".html").state in ("contradicts", "changed")


def test_a_report_without_a_checksum(short: list[Entry]) -> None:
    """It is well only where it says, to the byte, what the journal says; else nothing shows that it does."""
    bare = report_files.without_checksum(report(short), ".md")
    same, other = told(bare, short), told(bare.replace(b"narrow", b"decisive"), short)

    assert (same.state, same.rerendered, same.ok) == ("no checksum", "same", True)
    assert (other.state, other.rerendered, other.ok) == ("no checksum", "different", False)
    assert other.data["version"] is None


@pytest.mark.parametrize("suffix", [".md", ".html"])
@pytest.mark.parametrize("before", ["\ufeff", "\n", "<!DOCTYPE html>\n"])
def test_what_only_has_the_name_of_a_report(suffix: str, before: str, short: list[Entry]) -> None:
    """A forged one without a checksum and with another beginning is told, and is not well."""
    bare = report_files.without_checksum(report(short, suffix), suffix)
    found = told(before.encode() + bare.replace(b"narrow", b"decisive"), short, suffix)
    assert (found.state, found.ok, found.inconclusive) == ("not a report", False, False)


def test_a_seal_that_was_cut_short(short: list[Entry]) -> None:
    """What is left of a checksum tells that there was one; what is no longer a report at all is told as changed too."""
    data = report(short)
    for cut in (data[:-1], data[:-100], data + b"\n", data.replace(b"head sha256", b"head md5")):
        assert told(cut, short).state == "changed"
    assert told(data[: data.index(b"\n---\n\n*Made by")], short).state == "no checksum"
    assert told(report(short, ".json")[:-1], short, ".json").state == "changed"


def test_the_reports_beside_a_journal(tmp_path: Path, short: list[Entry]) -> None:
    """Those that are there, and what people may take for one by its name; another JSON file may hold answers."""
    paths = [tmp_path / f"r{suffix}" for suffix in report_files.FILE_TYPES]
    for path in paths:
        path.write_bytes(report(short, path.suffix))
    assert reports_beside(str(paths[0])) == [str(path) for path in paths]

    for path in paths:
        path.write_bytes(b"x" + report(short, path.suffix)[1:])
    assert reports_beside(str(paths[0])) == [str(path) for path in paths]

    for path in paths:
        path.write_text('{"topic": "my answers"}')
    assert reports_beside(str(paths[0])) == [str(path) for path in paths if path.suffix != ".json"]
    assert reports_beside(str(tmp_path / "none.md")) == []


def test_files_that_are_no_report_are_refused_at_once(tmp_path: Path) -> None:
    """Every file that can't be had, or has the suffix of no report, is complained of, all at once."""
    (tmp_path / "r.txt").write_text("x")
    with pytest.raises(BadFile) as caught:
        files_of([str(tmp_path / "r.txt"), str(tmp_path / "none.md"), "\0.json"])

    assert len(caught.value.problems) == 3
    assert f"ends in {report_files.suffixes()}" in caught.value.problems[0]


def test_what_a_report_tells_alone(short: list[Entry]) -> None:
    """Where the journal can't be read, a report still tells whether its own bytes were changed."""
    data = report(short)

    assert integrity("r.md", data).startswith("unchanged since it was written, from a journal of 6 lines")
    assert integrity("r.md", data.replace(b"narrow", b"decisive")) == "changed after it was written."
    assert integrity("r.md", b"# Debate Report") == "has no checksum that can be read."
