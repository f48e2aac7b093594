"""The form of a report is named by the ending of its file, and nothing else is ever overwritten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from debates import entries, played
from reviewers import debated

from debate_orchestrator.reports import forms
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.util.errors import BadFile


@pytest.mark.parametrize("ending", forms.FORMS)
def test_what_is_written_is_known_again_as_a_report(ending: str, tmp_path: Path) -> None:
    """A report of every form begins as its form says, so that it can be written again over itself."""
    told, path = build_report(entries(played())), str(tmp_path / f"report{ending}")
    assert forms.write(told, path) == path
    first = Path(path).read_bytes()
    assert first.startswith(forms.FORMS[ending].begins)
    forms.write(told, path)
    assert Path(path).read_bytes() == first


@pytest.mark.parametrize("ending", forms.FORMS)
def test_a_file_that_is_no_report_stays(ending: str, tmp_path: Path) -> None:
    """What holds something else is refused and left as it is; an empty file is free."""
    path = tmp_path / f"notes{ending}"
    path.write_text("My notes of the year.\n", encoding="utf-8")
    with pytest.raises(BadFile, match="holds something else"):
        forms.write(build_report(entries(played())), str(path))
    assert path.read_text(encoding="utf-8") == "My notes of the year.\n"
    path.write_text("", encoding="utf-8")
    assert forms.place(str(path)) == str(path)


@pytest.mark.parametrize("name", ["report.docx", "report", ".md"])
def test_another_ending_is_refused(name: str) -> None:
    """A file whose ending names no form of report is refused, with the endings that do."""
    with pytest.raises(BadFile, match=r"a file that ends in \.md"):
        forms.place(name)


@pytest.mark.parametrize("ending", forms.FORMS)
def test_a_report_that_somebody_edited_is_kept(ending: str, tmp_path: Path) -> None:
    """A report whose bytes were changed since is put aside before it is written anew, each time under a free name, and
    that is told; one that nobody changed is simply written again."""
    told, path, said = build_report(debated()), tmp_path / f"r{ending}", list[str]()
    for worse in ("worse", "dearer"):
        forms.write(told, str(path), said.append)
        path.write_text(
            path.read_text(encoding="utf-8").replace("Tabs are better", f"Tabs are {worse}"), encoding="utf-8"
        )
    forms.write(told, str(path), said.append)
    forms.write(told, str(path), said.append)

    assert "Tabs are worse" in (tmp_path / f"r.edited{ending}").read_text(encoding="utf-8")
    assert "Tabs are dearer" in (tmp_path / f"r.edited-2{ending}").read_text(encoding="utf-8")
    assert len(said) == 2 and said[0].endswith(f"kept as {tmp_path}/r.edited{ending}.")
    assert path.read_bytes() == forms.rendered(told, ending).encode()


@pytest.mark.parametrize("ending", forms.FORMS)
def test_a_report_without_its_seal_is_kept(ending: str, tmp_path: Path) -> None:
    """A report whose seal was removed, and a file that merely begins as one, are kept byte for byte, and that is
    told."""
    told, path, said = build_report(debated()), tmp_path / f"r{ending}", list[str]()
    report = forms.rendered(told, ending).encode()
    without = report.replace(b"Sealed by debate-orchestrator", b"My notes:").replace(b'  "digest": "', b'  "notes": "')
    only_begun = forms.FORMS[ending].begins[0] + b"\n\nEverything here is my own work.\n"
    for theirs in (without, only_begun):
        path.write_bytes(theirs)
        forms.write(told, str(path), said.append)

    assert (tmp_path / f"r.edited{ending}").read_bytes() == without
    assert (tmp_path / f"r.edited-2{ending}").read_bytes() == only_begun
    assert path.read_bytes() == report
    assert [one.endswith(f"r.edited{n}{ending}.") for one, n in zip(said, ("", "-2"), strict=True)] == [True, True]


@pytest.mark.parametrize("ending", forms.FORMS)
def test_a_link_in_a_reports_place_is_kept(ending: str, tmp_path: Path) -> None:
    """A link in a report's place is moved aside, and what it points to stays as it is, a real report too."""
    told, path, said = build_report(debated()), tmp_path / f"r{ending}", list[str]()
    other = forms.rendered(build_report(debated(rounds=1)), ending).encode()
    (tmp_path / "archive").write_bytes(other)
    path.symlink_to("archive")
    forms.write(told, str(path), said.append)

    assert (tmp_path / "archive").read_bytes() == other
    assert (tmp_path / f"r.edited{ending}").readlink() == Path("archive")
    assert not path.is_symlink() and path.read_bytes() == forms.rendered(told, ending).encode()
    assert len(said) == 1


@pytest.mark.parametrize("ending", forms.FORMS)
def test_a_pipe_in_a_reports_place_is_refused(ending: str, tmp_path: Path) -> None:
    """A pipe is not waited for, and not replaced."""
    path = tmp_path / f"r{ending}"
    os.mkfifo(path)
    with pytest.raises(BadFile, match="a pipe"):
        forms.write(build_report(debated()), str(path))
    assert path.is_fifo()
