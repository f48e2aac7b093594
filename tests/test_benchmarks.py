"""The programs that measure: each of them starts, and what can be run in seconds runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "benchmarks"
LOAD = """
import importlib, sys
folder, *names = sys.argv[1:]
path = [*sys.path]
for name in names:
    sys.path[:] = [folder, *path]
    importlib.import_module(name)
    print(name)
    for loaded, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(folder.removesuffix("benchmarks")):
            del sys.modules[loaded]
"""
"""Loads each as its own program would, except that the libraries are loaded once: that takes most of the time."""


def ran(*command: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_each_loads(tmp_path: Path) -> None:
    """A program that measures finds what it imports by itself, whichever others were loaded before it."""
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    shown = ran("-c", LOAD, str(FOLDER), *names, folder=tmp_path)
    assert len(names) > 5 and shown.split() == names


@pytest.mark.slow
def test_the_price_of_input(tmp_path: Path) -> None:
    """With the first of several calls let ahead, what is paid for input is the lower bound."""
    shown = ran(str(FOLDER / "caching.py"), "1", folder=tmp_path)
    assert "leader_first True: 1.0000 to 1.0000 times the bound" in shown


@pytest.mark.slow
def test_answers_that_fail_on_the_way(tmp_path: Path) -> None:
    """However many requests fail, every debate is completed in the end, and no half answer counts."""
    shown = ran(str(FOLDER / "overhead.py"), "faults=2@0.2", folder=tmp_path)
    ((_, _, _, completed, _, wrong, _, _),) = (
        line.split("|") for line in shown.splitlines() if "% of requests" in line
    )
    assert completed.split()[0] == "100.0%" and int(wrong) == 0
