"""Programs from npm, installed once into this user's cache; a test that can't have one is skipped, and says why."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


class CantBeHad(Exception):
    """Why a program could not be installed."""


def program(package: str, version: str, name: str) -> Path:
    """The program `name` of a pinned npm package; the test is skipped where it can't be had."""
    try:
        return _installed(package, version, name)
    except (OSError, CantBeHad, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{package} {version} could not be installed: {error}")


def _installed(package: str, version: str, name: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "debate-orchestrator-tests"
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / f"{package.rpartition('/')[2]}-{version}"
    found = home / ".bin" / name
    with open(cache / f"{home.name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            _install(home, f"{package}@{version}", name)
    return found


def _install(home: Path, package: str, name: str) -> None:
    """Puts a package in `home` in one move, so that an installation that was cut short is never taken for one."""
    npm = shutil.which("npm")
    if npm is None:
        raise CantBeHad("npm is missing")
    with tempfile.TemporaryDirectory(dir=home.parent) as made:
        _must_work([npm, "install", "--no-audit", "--no-fund", "--fetch-retries=1", "--prefix", made, package])
        modules = Path(made) / "node_modules"
        _must_work([str(modules / ".bin" / name), "--help"])
        modules.rename(home)


def _must_work(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if "warn" not in line]
        raise CantBeHad(f"{Path(command[0]).name} ended with {done.returncode} and said: {'; '.join(lines[:3])}")
