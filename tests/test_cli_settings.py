"""Settings come from an answers file, standard input and flags; a mistake is reported before anything is written."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import Run

from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.settings import SETTINGS
from debate_orchestrator.setup.setting_texts import SETTING_TEXTS
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.data import read_mapping

ROOT = Path(__file__).parent.parent


def test_all_complaints_come_at_once(debate: Run, here: Path) -> None:
    """Everything that is wrong with an answers file is said in one go."""
    (here / "bad.yaml").write_text("tpoic: x\nrounds: three\nstrictness: 3\npositions: {a: x}\ncast: {c: host}\n")
    ran = debate("open", "--answers", "bad.yaml", "--json")

    assert ran.code == 2
    misspelled = "'tpoic' is not a key of an answers file. Did you mean 'topic'?"
    assert f"bad.yaml:1: {misspelled}\n" in ran.err
    assert [one.partition(":")[0] for one in ran.json["complaints"]] == [
        misspelled,
        "topic",
        "positions",
        "rounds",
        "strictness",
        "cast",
    ]
    (here / "bad.yaml").write_text("topic: Do we?\nrounds: 99\ncast: {a: foo, b: host}\ncontext: [no.md]\n")
    ran = debate("open", "--answers", "bad.yaml")
    assert "cast: a: 'foo' is not a model spec" in ran.err and "context: no.md: can't be read" in ran.err
    ran = debate("run", "Do we?", "--model=command:cat", "--max-cost=1", "--context=no.md")
    assert "max_cost: a cap can't be kept" in ran.err and "context: no.md: can't be read" in ran.err
    ran = debate("run", "Do we?", "--b=host", "--judge=host", "--output=new/r.txt")
    assert "cast: a: no model is named" in ran.err and "output: 'new/r.txt' is not a file that ends" in ran.err
    for verb in ("run", "open"):
        for wrong in ("--model=foo", "--context=missing.txt"):
            assert debate(verb, "Do we?", "--model=host", wrong, "--output=new/r.md").code == 2
    assert not (here / "new").exists(), "a debate that can't be held makes no folder"
    ran = debate("run", "Do we?", "--a", "foo", "--rounds", "99")
    assert "foo' is not a model spec" in ran.err and "rounds: 99 is not" in ran.err and ran.err.count("\n") == 2


def test_a_journal_or_a_file_that_is_no_answers_is_refused(debate: Run, answers: Path) -> None:
    """`open` with a file that is not a mapping, or tricks a YAML reader, is one clear complaint. A journal that is
    there is not written over, and the ways on are named."""
    for text in ("[1]", "!!python/object:os.system {}", "[" * 9000, "\xff"):
        Path("odd.yaml").write_bytes(text.encode("latin-1"))
        ran = debate("open", "--answers", "odd.yaml")
        assert ran.code == 2 and ran.err.startswith("debate: odd.yaml:") and ran.err.count("\n") == 1, text
    assert debate("open", "--answers", "answers.yaml").code == 0
    before = Path("report.journal.jsonl").read_bytes()
    again = debate("open", "--answers", "answers.yaml")
    assert again.code == 2 and "debate resume report.journal.jsonl" in again.err and "another output" in again.err
    assert Path("report.journal.jsonl").read_bytes() == before


def test_the_sample_is_good_as_it_is(debate: Run, here: Path) -> None:
    """What `answers` prints can be opened at once. `--command-env` takes a name; with a value it is refused, and the
    value is not repeated."""
    (here / "sample.yaml").write_text(debate("answers").out, encoding="utf-8")

    assert debate("open", "--answers", "sample.yaml").code == 0

    ran = debate("run", "--topic", "T", "--command-env", "API_KEY=geheim")

    assert ran.code == 2 and "--command-env API_KEY" in ran.err and "geheim" not in ran.err


def test_a_journal_tells_its_answers(debate: Run, answers: Path, here: Path) -> None:
    """`answers --from` prints the answers that made a journal, and they make it again."""
    debate("open", "--answers", "answers.yaml", "--first", "b")
    (here / "again.yaml").write_text(debate("answers", "--from", "report.journal.jsonl").out, encoding="utf-8")
    output = debate("open", "--answers", "again.yaml", "--output", "again.md", "--json").json

    assert read_mapping("again.yaml")["origins"]["first"] == "flag"
    assert output["turns"][0]["turn"] == "1.opening.b"

    former = (here / "again.yaml").read_text(encoding="utf-8").replace("origins:", "sources:")
    (here / "former.yaml").write_text(former, encoding="utf-8")
    debate("open", "--answers", "former.yaml", "--output", "former.md", "--rounds", "2")
    opened = read("former.journal.jsonl").events[0]
    assert isinstance(opened, Opened)
    assert (opened.settings.origins["first"], opened.settings.origins["rounds"]) == ("flag", "flag")


SETTLED = b"topic: Tabs are better.\npositions: {a: Tabs., b: Spaces.}\nrounds: 1\nstrictness: strict\n"


def pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Has these bytes come at standard input."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False))


def test_a_debate_from_a_pipe(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that are piped in are those of the debate; flags go over them, and the block shows what was settled."""
    pipe(monkeypatch, SETTLED)
    ran = debate("run", "--answers", "-", "--rounds", "2", "--rehearse", "--output", "r.md")

    assert ran.code == 0, ran.err
    assert "Topic: Tabs are better." in ran.err and "Rounds: 2" in ran.err
    assert (here / "r.rehearsed.md").exists()


def test_where_settings_take_effect() -> None:
    """The table in docs/development.md names every setting once, with a module that reads it. The table of texts has
    the settings of the model, in the same order."""
    text = (ROOT / "docs/development.md").read_text(encoding="utf-8")
    table = text[text.index("| setting | read in |") : text.index("### A setting that is asked")]
    rows = re.findall(r"^\| (`.*?) \| `(\S+\.py)`", table, re.MULTILINE)
    read_in = [(name, module) for names, module in rows for name in re.findall(r"`(\w+)`", names)]
    may_change = ("cast", "max_cost", "retry_for")

    assert sorted(name for name, _ in read_in) == sorted(SETTING_TEXTS)
    for name, module in read_in:
        source = (ROOT / "debate_orchestrator" / module).read_text(encoding="utf-8")
        if module == "core/settings.py":
            place = rf'self\.{name}\b|others\.get\("{name}"\)'
        else:
            place = rf"(?:debate|state)\.{name}\b" if name in may_change else rf"\bsettings\.{name}\b"
        assert re.search(place, source), (name, module)

    assert [*SETTING_TEXTS] == [*SETTINGS]


def test_a_switch_can_be_turned_off(debate: Run, answers: Path) -> None:
    """A flag turns off what the file turns on, and what differs from the default is in the confirmed block."""
    with answers.open("a", encoding="utf-8") as file:
        file.write("search: true\nfeedback: false\n")
    assert "Web search: yes" in debate("open", "--answers", "answers.yaml", "--output", "on.md").out
    ran = debate("open", "--answers", "answers.yaml", "--no-search", "--feedback", "--output", "off.md")

    assert "Web search" not in ran.out
    setup = json.loads(Path("off.journal.jsonl").read_text(encoding="utf-8").splitlines()[0])["event"]["settings"]
    assert (setup["search"], setup["feedback"]) == (False, True)
