"""Whatever a page does to its reader, the process that asked goes on, and believes only what makes sense."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from evidence_site import ARTICLE, run

from debate_orchestrator.evidence import reader
from debate_orchestrator.evidence.fetch import Fetched
from debate_orchestrator.evidence.reader import read_page
from debate_orchestrator.evidence.states import Unreadable

PAGE = Fetched("http://page.example.org/", "html", "utf-8", ARTICLE.encode())
QUOTE = "The sea rose by 3.4 millimetres a year between 1993 and 2023"
SAID = {"state": "verified", "similarity": 1.0, "passage": "", "why": "so", "title": "", "date": "", "text": "t"}


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a program of the test's in place of the reader."""

    def put(code: str) -> None:
        program = tmp_path / "stand_in"
        program.write_text(f"#!{sys.executable}\nimport os, sys, time\n{code}\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))

    return put


def test_a_page_is_read_in_a_process_of_its_own() -> None:
    """A reader tells the state, the title, the date and the text."""
    found = run(read_page(PAGE, QUOTE))

    assert (found.state, found.similarity, found.title, found.date) == ("verified", 1.0, "Rising water", "2024-03-05")
    assert "Written for everybody" in found.text


def test_a_reader_is_given_nothing_of_the_environment(stand_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no proxy and no home of the user who runs a debate is told to a reader."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    said = json.dumps(SAID | {"text": "ENV"}).replace('"ENV"', "' + json.dumps(' '.join(os.environ)) + '")
    stand_in(f"import json; sys.stdin.read(); print('{said}')")
    known = set(run(read_page(PAGE, QUOTE)).text.split())

    assert known - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} == {"PYTHONPATH", "PYTHONUTF8"}


def test_the_working_directory_is_not_believed(here: Path) -> None:
    """A module that lies in the working directory is not run in place of the reader."""
    for name in ("debate_orchestrator", "json", "trafilatura"):
        (here / f"{name}.py").write_text("raise SystemExit('run')", encoding="utf-8")

    assert run(read_page(PAGE, QUOTE)).state == "verified"


def test_a_library_that_can_not_be_loaded_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that is installed and broken is told by its own error, and not as a page that is too much."""
    (tmp_path / "trafilatura.py").write_text("import lxml_html_clean_of_another_name", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    with pytest.raises(
        Unreadable, match=r"can't be loaded: ModuleNotFoundError: No module named 'lxml_html_.*Try: pip install"
    ):
        run(read_page(PAGE, QUOTE))


@pytest.mark.parametrize(
    "code",
    [
        "sys.exit(1)",
        "os.kill(os.getpid(), 9)",
        "sys.stdin.read(); raise MemoryError",
        "os.close(0); time.sleep(0.2); sys.exit(3)",
    ],
)
def test_a_reader_that_breaks_is_told(stand_in: Any, code: str) -> None:
    """A reader that ends badly leaves the page unread, whether it has taken it or not."""
    stand_in(code)
    with pytest.raises(Unreadable, match="too large for the page reader"):
        run(read_page(PAGE._replace(body=b"x" * 4_000_000), QUOTE))


@pytest.mark.parametrize(
    "said",
    [
        "", "nonsense", "[]", "{}", json.dumps(SAID | {"state": "blocked"}), json.dumps(SAID | {"state": "sure"}),
        json.dumps(SAID | {"similarity": 2.0}), json.dumps(SAID | {"similarity": -0.1}),
        json.dumps(SAID | {"more": "x"}), json.dumps(SAID).replace("1.0", "NaN"),
    ],
)  # fmt: skip
def test_a_reader_that_makes_no_sense_is_not_believed(stand_in: Any, said: str) -> None:
    """What a reader says is looked at before it is believed."""
    stand_in(f"sys.stdin.read(); print({said!r})")
    with pytest.raises(Unreadable, match="an invalid result"):
        run(read_page(PAGE, QUOTE))


def test_what_a_reader_says_is_made_safe(stand_in: Any) -> None:
    """Lines that a reader says are single lines of bounded length, with nothing in them that moves a cursor."""
    said = json.dumps(SAID | {"title": "a\n\x1b[1mb" + "x" * 5_000, "why": "c\nd", "passage": "e\nf" + "y" * 50_000})
    stand_in(f"sys.stdin.read(); print({said!r})")
    found = run(read_page(PAGE, QUOTE))

    assert found.title.startswith("a ␛[1mb") and len(found.title) == 1_000
    assert found.why == "c d" and found.passage.startswith("e f") and len(found.passage) == 20_000


def test_a_reader_that_never_ends_is_ended(stand_in: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that takes too long is ended, and its page unread."""
    monkeypatch.setattr(reader, "SECONDS", 3.0)
    stand_in(f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    begun = time.monotonic()
    with pytest.raises(Unreadable, match=r"could not be read within 3 s"):
        run(read_page(PAGE, QUOTE))

    assert time.monotonic() - begun < 20
    assert gone(tmp_path / "pid")


def test_a_reader_that_never_stops_talking_is_ended(stand_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that prints without end is ended."""
    monkeypatch.setattr(reader, "_LARGEST", 1_000_000)
    stand_in("while True: print('x' * 10_000)")
    with pytest.raises(Unreadable, match="too large for the page reader"):
        run(read_page(PAGE, QUOTE))


def test_a_reader_ends_when_it_is_called_off(stand_in: Any, tmp_path: Path) -> None:
    """When a check is cancelled, its reader does not live on."""
    stand_in(f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)")

    async def called_off() -> None:
        task = asyncio.create_task(read_page(PAGE, QUOTE))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert not task.done(), "it has not begun"
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(called_off())
    assert gone(tmp_path / "pid")


def gone(path: Path) -> bool:
    try:
        os.kill(int(path.read_text(encoding="utf-8")), 0)
    except ProcessLookupError:
        return True
    return False
