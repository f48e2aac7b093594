"""Text that strangers write takes time that grows with its length and no faster, whatever it is made of."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import linear
import pytest

pytestmark = pytest.mark.slow


def test_time_grows_with_the_text() -> None:
    """Of four times the text, nothing takes more than about four times as long; a square would take sixteen."""
    command = [sys.executable, str(Path(linear.__file__)), *linear.FUNCTIONS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            printed, _ = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            printed, _ = process.communicate()
    slow_texts = dict(json.loads(line) for line in printed.splitlines())
    assert slow_texts == {name: [] for name in linear.FUNCTIONS}


@pytest.mark.parametrize("pattern", [r"\s+x", r"(?:a|\s)*?b"])
def test_a_square_is_found(pattern: str) -> None:
    """A pattern whose time grows with the square of the text is told apart."""
    search = re.compile(pattern).search

    assert any(linear.too_slow(search, piece, "") for piece in (" ", "a"))
