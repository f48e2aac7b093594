"""The Python examples of docs/library.md run, and the public names keep their promises."""

from __future__ import annotations

import ast
import asyncio
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import debate_orchestrator
from debate_orchestrator import (
    BadJournal,
    BadSettings,
    Paused,
    PermanentFailure,
    find_risks,
    load_format,
    open_debate,
    read_journal,
    rejudge,
    render,
    resume,
    run,
    step,
)
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.storage import journal as journal_module
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.util.errors import JournalWriteError

DOCS = Path(__file__).parent.parent / "docs" / "library.md"
SETTINGS = {
    **{"topic": "Tabs?", "positions": {"a": "Tabs.", "b": "Spaces."}, "rounds": 1, "output": "r.md"},
    **{"issues": False, "brief": False},
}


def test_the_examples_run(here: Path) -> None:
    """Every Python block of the page runs, one after the other, in an empty folder."""
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)  # noqa: S102

    assert len(blocks) == 9
    assert {"grpc.rehearsed.md", "grpc.rehearsed.html", "own.journal.jsonl"} <= {path.name for path in here.iterdir()}


def test_public_names_are_loaded_on_first_use() -> None:
    """A public name loads its module; a name that is not there is an AttributeError. The imports for type checkers
    name what is loaded on first use, and the modules that it is loaded from. Every module that the docstring names
    is there."""
    assert all(getattr(debate_orchestrator, name) is not None for name in debate_orchestrator.__all__)
    with pytest.raises(AttributeError):
        debate_orchestrator.nothing_of_that_name  # noqa: B018

    imports = ast.walk(ast.parse(Path(debate_orchestrator.__file__).read_text("utf-8")))
    typed = {
        alias.asname: one.module
        for one in imports
        if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("debate_orchestrator.")
        for alias in one.names
    }

    assert typed == {
        name: f"debate_orchestrator.{module}" for name, module in debate_orchestrator._MODULE_OF_NAME.items()
    }

    text = debate_orchestrator.__doc__ or ""
    named = set(re.findall(r"\b(?:cli|setup|core|engine|prompting|reports)\.\w+", text))

    assert len(named) > 12
    assert [name for name in sorted(named) if find_spec(f"debate_orchestrator.{name}") is None] == []


def test_a_finished_debate_is_judged_again_and_reported_again(here: Path) -> None:
    """A rehearsed debate can be judged by another panel into files of its own; resuming it only reports it."""
    first = asyncio.run(run(SETTINGS, rehearse=True))
    before = Path(first.files.journal).read_bytes()
    again = asyncio.run(rejudge(first.files.journal, "rehearse"))
    resumed = asyncio.run(resume(first.files.journal))

    Path("kept").write_bytes(before)
    by_content = asyncio.run(rejudge("kept", "rehearse", output="other.md"))

    assert again.state.complete and again.files.report == "r.rehearsed.judged.md"
    assert by_content.state.complete and by_content.state.opened.earlier_debate is not None
    assert Path(first.files.journal).read_bytes() == before
    assert resumed.report == first.report
    assert render(first.files.journal) == Path(first.files.report).read_text(encoding="utf-8")


def test_host_turns_pause_a_run_and_are_taken_by_step(here: Path) -> None:
    """A run with a seat of the host's saves what it can and names the turns; the last step writes the report."""
    settings = SETTINGS | {"cast": {"a": "host", "b": "rehearse", "judge": "rehearse"}}
    with pytest.raises(Paused, match=r"1\.opening\.a"):
        asyncio.run(run(settings))
    result = step("r.journal.jsonl")
    while not result.done:
        result = step("r.journal.jsonl", {turn.turn: f"A speech in {turn.turn}." for turn in result.turns})

    assert Path("r.md").exists() and Path("r.html").exists()


def test_a_step_does_not_wait_for_a_full_disk(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller has the replies: an error says what is saved and how to go on, and the same call works once there is
    room."""
    path = asyncio.run(open_debate(SETTINGS | {"cast": dict.fromkeys(("a", "b", "judge"), "host")})).journal
    replies = {turn.turn: "A speech." for turn in step(path).turns}

    def full(*_: object) -> int:
        raise JournalWriteError("Can't write.", "no room", hint="make room on the disk")

    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "append_line", full)
        patch.setattr(JournalWriter, "wait_for_room", None)
        with pytest.raises(PermanentFailure) as raised:
            step(path, replies)
    assert raised.value.problems == [
        "Can't write. Try: make room on the disk.", f"{path}: 0 replies saved. Continue with `debate step {path}`."
    ]  # fmt: skip
    assert [reply.turn for reply in step(path, replies).accepted] == [*replies]


@pytest.mark.parametrize("action", ["resume", "step"])
def test_a_journal_that_names_a_program_needs_consent(action: str, here: Path) -> None:
    """A program that a journal names is only run with trust=True, and the error shows its command line."""
    cast = {"a": "host", "b": "host", "judge": "command:touch ran"}
    files = asyncio.run(open_debate(SETTINGS | {"cast": cast}))
    lines = Path(files.journal).read_bytes()
    with pytest.raises(BadSettings, match="touch ran"):
        asyncio.run(resume(files.journal)) if action == "resume" else step(files.journal)

    assert Path(files.journal).read_bytes() == lines
    assert step(files.journal, trust=True).turns
    assert not Path("ran").exists()


def test_settings_are_refused_before_anything_is_written(here: Path) -> None:
    """All errors of settings come at once; people, unknown models, file types and limits are refused."""
    with pytest.raises(BadSettings) as raised:
        asyncio.run(run({"topic": "", "rounds": 99, "cast": "nobody:x"}))
    assert len(raised.value.problems) >= 2
    with pytest.raises(BadSettings, match="cast: a: a human needs a terminal"):
        asyncio.run(open_debate(SETTINGS | {"cast": {"a": "human", "b": "host", "judge": "host"}}))
    with pytest.raises(BadSettings, match="a is human and b and judge is host, which can't be in one debate"):
        asyncio.run(open_debate(SETTINGS | {"cast": {"a": "human", "b": "host", "judge": "host"}}, people=True))
    assert list(here.iterdir()) == []

    journal = asyncio.run(open_debate(SETTINGS)).journal
    with pytest.raises(BadSettings, match="file_type"):
        render(journal, "pdf")  # type: ignore[arg-type]
    with pytest.raises(BadJournal, match="a name that is not allowed for a file"):
        step("r\0.journal.jsonl")
    for limits in ({"retry_for": -1}, {"retry_for": 1e300}, {"max_cost": -1}, {"max_cost": float("nan")}):
        with pytest.raises(BadSettings, match=f"{next(iter(limits))}: .* is not"):
            asyncio.run(resume(journal, **limits))
    assert [event.kind for event in read_journal(journal).events] == ["opened"]


def test_risks_are_the_same_wherever_settings_come_from(here: Path) -> None:
    """Answers, the settings that they make and the journal that these open run the same program."""
    given = SETTINGS | {"cast": {"a": "command:cat -u", "b": "rehearse", "judge": "rehearse"}}
    settings = make_settings(given, load_format("adversarial"), "r.md")
    files = asyncio.run(open_debate(settings))
    found = [find_risks(source) for source in (given, settings, files.journal)]

    assert [[(risk.kind, risk.where, risk.what) for risk in risks] for risks in found] == [
        [("program", "cast.a", "cat -u")]
    ] * 3
