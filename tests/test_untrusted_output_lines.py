"""What a stranger's file holds begins no line among the program's own words, in any verb and at no terminal."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Run
from persons import NO_MODELS, future_of, no_check, trusting, typing
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import DummyInput
from prompt_toolkit.output.vt100 import Vt100_Output

from debate_orchestrator.cli.answers_and_flags import setup_questions
from debate_orchestrator.core.events import ContextFile, Opened, Reassigned
from debate_orchestrator.providers.cast_providers import spec_problem
from debate_orchestrator.setup.answers import KEYS
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.terminal.asking import Asker, Line
from debate_orchestrator.terminal.setup_conversation import SetupConversation
from debate_orchestrator.util.terminal_text import Postponed

FORGED = "Nothing is paid: this is a rehearsal."
BREAKS = ("\n\n", "\r", "\u2028")
ANSWERS: dict[str, Any] = {
    "topic": "Is it so?",
    "positions": {"a": "It is so.", "b": "It is not so."},
    "rounds": 1,
    "issues": False,
    "brief": False,
    "cast": {"a": "rehearse", "b": "rehearse", "judge": "rehearse"},
}


def forging(text: str, breaks: str = "\n\n") -> str:
    return f"{text}{breaks}{FORGED}{breaks}"


def begins_a_line(shown: str) -> bool:
    return any(line.lstrip().startswith(FORGED) for line in shown.splitlines())


@pytest.mark.parametrize("verb", ["open --answers a.yaml", pytest.param("ask a.yaml", marks=pytest.mark.slow)])
def test_each_key_of_an_answers_file(debate: Run, here: Path, verb: str) -> None:
    """Each value, and each key that is none, is reported within a line, whether it is taken or refused."""
    values = (forging("x"), [forging("x")], {forging("x"): forging("y")})
    for key, value in product([*KEYS, "no key", "a's name"], values):
        name = forging("x") if key == "no key" else key
        held = ANSWERS | {name: value}
        if key == "a's name":
            held = ANSWERS | {"cast": ANSWERS["cast"] | {"a": forging("rehearse:replay:x")}}
        Path("a.yaml").write_text(yaml.safe_dump(held, sort_keys=False), encoding="utf-8")
        ran = debate(*verb.split())
        assert not begins_a_line(ran.out) and not begins_a_line(ran.err), (ran.out, ran.err)
        assert ran.code == 2 or key in ("topic", "positions", "issues", "origins", "setup") or verb[:3] == "ask"


JOURNAL = "r.journal.jsonl"
VERBS = (
    f"check {JOURNAL}",
    f"report {JOURNAL}",
    f"replay {JOURNAL} --quiet",
    f"compare {JOURNAL} kept.journal.jsonl",
    f"answers --from {JOURNAL}",
    f"step {JOURNAL}",
    f"resume {JOURNAL}",
    f"resume {JOURNAL} --trust",
    f"judge {JOURNAL} --judge rehearse --trust",
    f"floor {JOURNAL} Why?",
    f"close {JOURNAL}",
)


def _other_texts(opened: Opened) -> Opened:
    """An opening whose texts all go on, after a line break, with a line of the program's."""
    setup, format, name = opened.settings, opened.format, forging("x")
    positions = {side: forging(text) for side, text in setup.positions.items()}
    opened = opened.with_settings(topic=forging(setup.topic), positions=positions, output=name, context=(name,))
    about = format.model_copy(update={"about": forging(format.about)})
    return opened.model_copy(update={"context": (ContextFile(name=name, text="It is so."),), "format": about})


def _other_cast(opened: Opened) -> Opened:
    return opened.with_settings(cast={seat: (forging("rehearse:replay:q"),) for seat in opened.cast})


@pytest.mark.parametrize("changed", [_other_texts, pytest.param(_other_cast, marks=pytest.mark.slow)])
@pytest.mark.parametrize("held", [pytest.param(0, marks=pytest.mark.slow), None], ids=["opened", "ended"])
def test_each_verb_on_a_journal(debate: Run, here: Path, changed: Callable[[Opened], Opened], held: int | None) -> None:
    """A journal from elsewhere is reported within lines too."""
    Path("a.yaml").write_text(yaml.safe_dump(ANSWERS), encoding="utf-8")
    assert debate("run", "--answers", "a.yaml", "--output", "own.md").code == 0
    first, *rest = read(str(next(Path().glob("own*.journal.jsonl")))).events
    assert isinstance(first, Opened)
    with JournalWriter.create("kept.journal.jsonl", changed(first)) as journal:
        for event in rest[:held]:
            journal.append(event)
    for verb in VERBS:
        for made in Path().glob("r.*"):
            shutil.rmtree(made) if made.is_dir() else made.unlink()
        shutil.copy("kept.journal.jsonl", JOURNAL)
        ran = debate(*verb.split())
        assert not begins_a_line(ran.err), (verb, ran.err)
        assert not begins_a_line(ran.out) or verb.startswith(("answers", "compare")), (verb, ran.out)  # documents


def test_a_model_is_named_on_one_line(debate: Run, here: Path) -> None:
    """A spec with a line break, or with what hides or reorders text, is refused, in a journal too; that one can still
    be read, and continues with another model."""
    for wrong in (*(forging("rehearse:replay:q", breaks) for breaks in BREAKS), "command:cat\n", "replay:\u202ex"):
        assert "unprintable" in (spec_problem(wrong) or ""), wrong
    Path("a.yaml").write_text(yaml.safe_dump(ANSWERS), encoding="utf-8")
    assert debate("open", "--answers", "a.yaml", "--a", "host", "--output", "r.md").code == 0
    with JournalWriter(JOURNAL) as journal:
        journal.append(Reassigned(seat="b", specs=(forging("rehearse:replay:q"),)))

    assert debate("check", JOURNAL).code == 3
    ran = debate("resume", JOURNAL, "--trust")
    assert ran.code == 2 and "cast: b: 'rehearse:replay:q\\n\\nNothing" in ran.err and "unprintable" in ran.err
    assert debate("resume", JOURNAL, "--trust", "--a=rehearse", "--b=rehearse").code == 0


@pytest.mark.parametrize("name", ["ℝ.journal.jsonl", "Plan Ⓑ.journal.jsonl"])
def test_a_file_is_called_what_it_is_called(debate: Run, here: Path, name: str) -> None:
    """A letter of a file's name is no other letter, with which another file may begin."""
    assert name in debate("check", name).err


def test_a_file_s_name_before_the_debate_begins(here: Path) -> None:
    """The names of context files are shown in the line where they belong."""
    held = ANSWERS | {"context": [forging("n.txt")]}
    Path("a.yaml").write_text(yaml.safe_dump(held, sort_keys=False), encoding="utf-8")
    with typing("", "later") as (asker, screen):
        conversation = SetupConversation(asker, setup_questions, future_of(NO_MODELS), no_check, rehearse=False)
        conversation.welcome("a.yaml", None, None, "", trusting, lambda path, calls: True)
        with pytest.raises(Postponed):
            conversation.run()

    shown = "\n".join(screen.lines)
    assert "Begin the debate?" in shown and FORGED in shown and not begins_a_line(shown)


@pytest.mark.parametrize("breaks", BREAKS)
def test_a_terminal_shows_a_line_as_one(breaks: str) -> None:
    """The asker shows each line that it is given as one, and keeps the spaces that indent it."""
    stream = StringIO()
    output = Vt100_Output(stream, lambda: Size(rows=24, columns=200), term="dumb")
    Asker(DummyInput(), output).show(forging("  One:", breaks), Line(forging("Two:", breaks), True))

    shown = stream.getvalue()
    assert "  One:" in shown and "Two:" in shown and FORGED in shown and not begins_a_line(shown)
