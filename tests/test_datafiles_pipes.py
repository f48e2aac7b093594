"""Pipes and devices in the place of files: read where somebody names them, refused where they are only found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from waiting import ended

from debate_orchestrator.datafiles import read_mapping, read_placed, read_text, write_over
from debate_orchestrator.errors import BadFile


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_regular_files_alone_are_read(here: Path, name: str) -> None:
    """Where a file must be regular, a pipe keeps nobody waiting, and a device is not read for ever: both are told."""
    os.mkfifo("pipe")
    for read in (
        lambda: read_text(name, 9, regular=True),
        lambda: read_placed(name, regular=True),
        lambda: write_over(name, "", b"#", "mine"),
    ):
        refused = ended(read)
        assert isinstance(refused, BadFile)
        assert refused.complaints[0].startswith(f"{name}: got a pipe or a device, which is no regular file;")


def test_a_pipe_that_somebody_names_is_read(here: Path) -> None:
    """What a shell hands over as a pipe, as in `--answers <(...)`, is read like any file."""
    reading, writing = os.pipe()
    os.write(writing, b"topic: T\n")
    os.close(writing)
    assert read_mapping(f"/dev/fd/{reading}") == {"topic": "T"}
    os.close(reading)
