"""The programs that measure: each of them starts, and what can be run in seconds runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "benchmarks"
OF_OTHERS = {"inspect_debates"}
"""It runs under an interpreter that has inspect_ai."""


def ran(*command: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({path.stem for path in FOLDER.glob("*.py")} - OF_OTHERS))
def test_each_loads(name: str, tmp_path: Path) -> None:
    """A program that measures finds what it imports."""
    ran("-c", f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import {name}", folder=tmp_path)


@pytest.mark.slow
def test_the_price_of_input(tmp_path: Path) -> None:
    """With the first of several calls let ahead, what is paid for input is the lower bound."""
    shown = ran(str(FOLDER / "caching.py"), "1", folder=tmp_path)
    assert "leader_first True: 1.0000 to 1.0000 times the bound" in shown


@pytest.mark.slow
def test_answers_that_fail_on_the_way(tmp_path: Path) -> None:
    """However many requests fail, every debate is completed in the end, and no half answer counts."""
    shown = ran(str(FOLDER / "overhead.py"), "faults=2", folder=tmp_path)
    rows = [line.split("|") for line in shown.splitlines() if "% of requests" in line]
    assert len(rows) == 3
    for _, _, _, completed, _, wrong, _, _ in rows:
        assert completed.split()[0] == "100.0%" and int(wrong) == 0
