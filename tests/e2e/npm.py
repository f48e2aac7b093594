"""Programs from npm, installed once into this user's cache; a test that can't have one is skipped, and says why.
Where CI=true, it fails.

Nothing here waits for ever: not for a network that does not answer, nor for another test that installs the same.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .tmux import missing

PATIENCE = 150
"""Seconds that an installation may take."""
FLAGS = [
    "--no-audit",
    "--no-fund",
    "--fetch-retries=1",
    "--fetch-timeout=30000",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
]


class CantBeHad(Exception):
    """Why a program could not be installed."""


def program(package: str, version: str, name: str) -> Path:
    """The program `name` of a pinned npm package; a test that can't have it is skipped, or fails where CI=true."""
    try:
        return _installed(package, version, name)
    except (OSError, CantBeHad) as error:
        missing(f"{package} {version} could not be installed: {error}")


def _installed(package: str, version: str, name: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "debate-orchestrator-tests"
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / f"{package.rpartition('/')[2]}-{version}"
    with _alone(cache / f"{home.name}.lock"):
        if not home.exists():
            _install(home, f"{package}@{version}", name)
    return home / ".bin" / name


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """While no other process holds the lock."""
    end = time.monotonic() + PATIENCE + 30
    with open(path, "w", encoding="utf-8") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise CantBeHad(f"another process has held {path} for too long") from None
                time.sleep(0.1)
        yield


def _install(home: Path, package: str, name: str) -> None:
    """Puts a package in `home` in one move, so that an installation that was cut short is never taken for one."""
    npm = shutil.which("npm")
    if npm is None:
        raise CantBeHad("npm is missing")
    end = time.monotonic() + PATIENCE
    with tempfile.TemporaryDirectory(dir=home.parent, ignore_cleanup_errors=True) as made:
        _must_work([npm, "install", *FLAGS, "--prefix", made, package], end)
        modules = Path(made) / "node_modules"
        _must_work([str(modules / ".bin" / name), "--help"], end)
        modules.rename(home)


def _must_work(command: list[str], end: float) -> None:
    """Runs it, in a group of its own that is killed when its time is over: npm does not end alone."""
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(
        command, stdin=null, stdout=pipe, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
        start_new_session=True,
    ) as started:  # fmt: skip
        try:
            told, _ = started.communicate(timeout=max(1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise CantBeHad(f"{Path(command[0]).name} had not ended after {PATIENCE} seconds") from None
        finally:
            if started.poll() is None:
                os.killpg(started.pid, signal.SIGKILL)
    if started.returncode:
        lines = [line for line in told.splitlines() if "warn" not in line]
        raise CantBeHad(f"{Path(command[0]).name} ended with {started.returncode} and said: {'; '.join(lines[:3])}")
