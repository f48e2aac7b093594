"""The secret from which the codes of replies follow, where it is damaged, or can't be kept as usual."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from debate_orchestrator.prompting import reply_code
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.errors import BadFile


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
