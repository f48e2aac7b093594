"""Measures what the product costs beside the debate itself: start-up, steps, folding, reporting, appending.

Run it with `python tests/benchmarks/bench.py`. It prints medians and ratios; machines are noisy, so compare the
ratios, and runs on one machine. Nothing here is asserted.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from debate_orchestrator.core.fold import fold

sys.path.insert(0, str(Path(__file__).parent.parent))

import scripted_replies

ANSWERS = (
    "topic: T\npositions: {a: It is so., b: It is not so.}\nrounds: 8\ninsist: true\noutput: report.md\n"
    "issues: false\nbrief: false\n"
)
WORDS = 1_500
JOURNAL = "report.journal.jsonl"
ALONE = "alone.journal.jsonl"
"""The same without a report beside it."""


def median(work: Callable[[], object], runs: int) -> float:
    """The median of so many timed runs, in seconds, after one that is not counted."""
    work()
    taken = []
    for _ in range(runs):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def python(*arguments: str) -> Callable[[], object]:
    """A Python process with these arguments, as something to time."""
    return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def debate(*arguments: str) -> Any:
    """The JSON that `debate` prints, run as a process of its own."""
    command = [sys.executable, "-m", "debate_orchestrator", *arguments, "--json"]
    ran = subprocess.run(command, capture_output=True, check=True)
    return json.loads(ran.stdout)


def say(turn: dict[str, Any]) -> str | None:
    """A speech of `WORDS` words for debaters."""
    return " ".join(f"word{n % 97}" for n in range(WORDS)) if turn["wants"] == "text" else None


def start_up(rows: list[tuple[str, str]]) -> None:
    bare = median(python("-c", "pass"), 15)
    libraries = median(python("-c", "import pydantic, jinja2"), 9)
    helped = median(python("-m", "debate_orchestrator", "--help"), 15)
    shutil.copy(JOURNAL, ALONE)
    checked = median(python("-m", "debate_orchestrator", "check", ALONE), 9)
    compared = median(python("-m", "debate_orchestrator", "check", JOURNAL), 9)
    rows.append(("python -c pass", f"{bare * 1000:.0f} ms"))
    rows.append(("debate --help", f"{helped * 1000:.0f} ms, {helped / bare:.1f} times a bare interpreter"))
    rows.append(
        (
            "debate check, 8 rounds",
            f"{checked * 1000:.0f} ms, {checked / libraries:.2f} times importing pydantic and jinja2",
        )
    )
    rows.append(("with its report", f"{compared * 1000:.0f} ms, {compared / checked:.2f} times the journal alone"))


def steps(rows: list[tuple[str, str]]) -> None:
    """Plays a debate of 8 rounds to its end, timing each step as a process of its own."""
    output = debate("open", "--answers", "answers.yaml")
    taken = []
    while output["status"] == "waiting":
        scripted_replies.answer(output["turns"], say, rounds=8)
        begun = time.perf_counter()
        output = debate("step", JOURNAL)
        taken.append(time.perf_counter() - begun)
    whole = f"{len(taken)} steps, median {statistics.median(taken) * 1000:.0f} ms, last {taken[-1] * 1000:.0f} ms"
    rows.append((f"debate step, 8 rounds of {WORDS:,}-word turns", whole))


def folding(rows: list[tuple[str, str]]) -> None:
    from debate_orchestrator.reports.markdown import render
    from debate_orchestrator.reports.model import build_report
    from debate_orchestrator.storage.journal import read

    entries = read(JOURNAL).entries
    size = os.path.getsize(JOURNAL) / 1e6
    rows.append(
        (f"read and verify a journal ({size:.1f} MB, {len(entries)} lines)", milliseconds(lambda: read(JOURNAL)))
    )
    rows.append(("fold it", milliseconds(lambda: fold(entry.event for entry in entries).complete)))
    rows.append(("report model and markdown report", milliseconds(lambda: render(build_report(entries)))))


def milliseconds(work: Callable[[], object]) -> str:
    return f"{median(work, 15) * 1000:.1f} ms"


def appending(rows: list[tuple[str, str]]) -> None:
    from debate_orchestrator.core.events import Spoke
    from debate_orchestrator.storage.journal import JournalWriter, read

    opened, *rest = read(JOURNAL).events
    event = next(one for one in rest if isinstance(one, Spoke))
    with JournalWriter.create("append.jsonl", opened) as journal:  # type: ignore[arg-type]
        alone = median(lambda: journal.append(event), 200)

        def synced() -> None:
            journal.append(event)
            journal.sync()

        both = median(synced, 100)
    rows.append((f"append one {WORDS:,}-word speech", f"{alone * 1000:.3f} ms"))
    rows.append(("append and fdatasync", f"{both * 1000:.2f} ms, {both / alone:.0f} times the append"))


def main() -> None:
    rows: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("answers.yaml").write_text(ANSWERS)
        steps(rows)
        start_up(rows)
        folding(rows)
        appending(rows)
        os.chdir("/")
    print("| what | median |\n| --- | --- |")
    for what, figure in rows:
        print(f"| {what} | {figure} |")


if __name__ == "__main__":
    main()
