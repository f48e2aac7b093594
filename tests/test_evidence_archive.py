"""What was fetched is kept as it came, under a name that no page has a say in."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.evidence import fetch
from debate_orchestrator.evidence.fetch import Kind
from debate_orchestrator.util.errors import BadFile

BODY = b"<script>alert(1)</script>\r\n\x00\xff"
NAME = hashlib.sha256(BODY).hexdigest()[:24]


@pytest.mark.parametrize(("kind", "ending"), [("html", ".html.txt"), ("plain", ".plain.txt"), ("pdf", ".pdf")])
def test_bytes_are_kept_as_they_came(tmp_path: Path, kind: Kind, ending: str) -> None:
    """A page's bytes lie in a file that is named after their digest, with an ending that nothing runs."""
    name = fetch.keep(tmp_path / "made" / "on the way", BODY, kind)

    assert name == f"{NAME}{ending}"
    kept = tmp_path / "made" / "on the way" / name
    assert kept.read_bytes() == BODY
    assert kept.stat().st_mode & 0o111 == 0
    assert fetch.digest(kept.read_bytes()).startswith(name.partition(".")[0])


def test_the_text_lies_beside(tmp_path: Path) -> None:
    """A page's text is kept under the same digest; keeping a page twice changes nothing."""
    for _ in range(2):
        name = fetch.keep(tmp_path, BODY, "html")
        fetch.keep_text(tmp_path, name, "größer\n\udc80")

    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{NAME}.html.txt", f"{NAME}.txt"]
    assert (tmp_path / f"{NAME}.txt").read_text(encoding="utf-8") == "größer\n\\udc80"


def test_no_link_is_followed(tmp_path: Path) -> None:
    """A link that lies where a page is to be kept is replaced, and what it leads to stays as it is."""
    (tmp_path / "precious").write_text("as it was", encoding="utf-8")
    (tmp_path / f"{NAME}.html.txt").symlink_to(tmp_path / "precious")
    fetch.keep(tmp_path, BODY, "html")

    assert (tmp_path / "precious").read_text(encoding="utf-8") == "as it was"
    assert (tmp_path / f"{NAME}.html.txt").read_bytes() == BODY


def test_a_folder_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    """Where the folder is a file, that is the user's to mend."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BadFile, match="Can't write"):
        fetch.keep(tmp_path / "file", BODY, "html")


@given(st.binary(max_size=200))
def test_a_name_is_a_digest(body: bytes) -> None:
    """Whatever a page holds, its digest is the sha256 of it."""
    assert fetch.digest(body) == hashlib.sha256(body).hexdigest()
