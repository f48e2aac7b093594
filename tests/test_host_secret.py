"""What a host's steps say where the state folder does not outlive a process, and an answers file in JSON."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

from debate_orchestrator.host.turns_folder import TurnFiles, TurnsFolder
from debate_orchestrator.prompting import reply_code
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.errors import BadFile, BadReply


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder that this test may lose."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_damaged_secret_is_an_error(own_state: None) -> None:
    """No secret of the process stands in for one that was damaged."""
    reply_code.secret()
    folder = state_folder()
    assert folder is not None
    (folder / "reply.key").write_bytes(b"short")
    for read in (reply_code.secret, reply_code.stored_secret):
        with pytest.raises(BadFile, match="does not hold 32 bytes"):
            read()


def test_a_secret_is_kept_without_hard_links(own_state: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a filesystem that has no hard links, later processes read the same secret, and no draft stays."""

    def refused(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    folder = state_folder()
    assert folder is not None and reply_code.stored_secret() == reply_code.stored_secret()
    assert os.listdir(folder) == ["reply.key"]


def test_a_conversation_in_a_json_file_goes_on(debate: Run, here: Path) -> None:
    """`debate ask` writes JSON into a file of that name, and reads it back."""
    assert debate("ask", "talk.json", "topic=Should we move?", "--json").code == 0
    before = json.loads(Path("talk.json").read_text(encoding="utf-8"))
    assert debate("ask", "talk.json", "rounds=2", "--json").code == 0
    after = json.loads(Path("talk.json").read_text(encoding="utf-8"))
    assert before["setup"]["topics"] == ["Should we move?"] and after["rounds"] == 2
    assert not [*Path().glob("*edited*")]


@pytest.fixture
def turns_folder(here: Path) -> TurnsFolder:
    return TurnsFolder("d.turns")


@pytest.fixture
def laid(turns_folder: TurnsFolder) -> TurnFiles:
    return turns_folder.turn_files("1.opening.a", "text")


def test_nothing_kept_aside_is_lost(turns_folder: TurnsFolder, laid: TurnFiles) -> None:
    """Every reply that is set aside keeps a file of its own."""
    for n in range(3):
        turns_folder.write_brief(laid, f"brief {n}")
        Path(laid.reply).write_text(f"speech {n}")
    turns_folder.write_brief(laid, "the last brief")

    assert sorted(path.read_text() for path in Path("d.turns").glob("*aside*")) == ["speech 0", "speech 1", "speech 2"]


def test_a_folder_in_place_of_a_reply(turns_folder: TurnsFolder, laid: TurnFiles) -> None:
    """What can't be read as a file is a complaint that names it."""
    turns_folder.write_brief(laid, "brief")
    Path(laid.reply).mkdir()

    with pytest.raises(BadReply, match=r"reply\.md can't be read as a reply \(Is a directory\)"):
        turns_folder.collect(laid, "brief")
