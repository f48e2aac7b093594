"""Text that strangers write takes time that grows with its length and no faster, whatever it is made of."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import linear
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", linear.FUNCTIONS)
def test_time_grows_with_the_text(name: str) -> None:
    """Of four times the text, nothing takes more than about four times as long; a square would take sixteen."""
    ran = subprocess.run(
        [sys.executable, str(Path(linear.__file__)), name], capture_output=True, text=True, timeout=120, check=True
    )
    assert json.loads(ran.stdout) == []
