"""`debate answers` prints a commented answers file, or the answers that made a journal."""

from __future__ import annotations

import argparse
import os
import re
from typing import Any

from debate_orchestrator.cli.journals import find_journal
from debate_orchestrator.cli.output import format_name, next_step
from debate_orchestrator.core.positions import has_placeholders
from debate_orchestrator.core.settings import default_of
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.setup.answers import AUTO
from debate_orchestrator.setup.setting_texts import SETTING_TEXTS, sample
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import state_of_events
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import to_yaml

_ABOUT_ORIGINS = "# Where the answers came from, for the journal. This part may be deleted."
_REHEARSED = re.compile(r"\.rehearsed(-\d+)?(?=\.)")
"""The part that a rehearsal adds to the name of its report, before the suffix."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from", dest="journal", metavar="JOURNAL", help="print the answers this journal was made from"
    )
    parser.add_argument("--model", metavar="MODEL", help="the model for every seat")


def run(arguments: argparse.Namespace) -> int:
    by_host = False
    if arguments.journal:
        path = find_journal(arguments.journal)
        debate = state_of_events(path, read(path).events)
        by_host = model_spec.HOST in model_spec.specs_of(debate.opened.cast)
        report = DebateFiles.of_journal(path).report
        text = to_yaml(_answers_of(debate, os.path.basename(report)), ascii_only=True)
        print(text.replace("\norigins:", f"\n{_ABOUT_ORIGINS}\norigins:"), end="")
    else:
        text = sample()
        if arguments.model:
            line = next(line for line in text.split("\n") if line.startswith("# cast: {"))
            text = text.replace(line, to_yaml({"cast": arguments.model}).strip())
        print(text, end="")
    run, opened = (f"`debate {verb} --answers answers.yaml`" for verb in ("run", "open"))
    verbs = opened if by_host else run if arguments.journal else f"{run}; for an agent host {opened}"
    next_step(f"with this saved as answers.yaml and edited, {verbs}.")
    return 0


def _answers_of(debate: DebateState, output: str) -> dict[str, Any]:
    """The answers that make the same debate, or the one that was rehearsed; rare settings only if they are not
    defaults."""
    opened = debate.opened
    cast = opened.cast
    if model_spec.is_rehearsal(cast) or any(note.note == "estimate" for note in debate.notes):
        output = _REHEARSED.sub("", output)
        cast = {seat: tuple(specs) for seat, specs in model_spec.unrehearsed_cast(cast).items()}
    answers = opened.settings.model_dump(mode="json")
    answers |= {"output": output, "format": format_name(opened.format)}
    if has_placeholders(opened.settings.positions):
        answers["positions"] = AUTO
    answers["context"] = [os.path.basename(file.name) for file in opened.context]
    answers["insist"] = opened.settings.rounds > opened.format.round_limits.max
    answers["one_agent"] = any(note.note == "one agent" for note in debate.notes)
    answers["cast"] = {seat: list(models) if len(models) > 1 else models[0] for seat, models in cast.items()}
    if not cast:
        del answers["cast"]
    rare = [name for name, texts in SETTING_TEXTS.items() if texts.sample.startswith("#") and name != "cast"]
    return {
        name: value for name, value in answers.items() if name not in rare or value != default_of(name, opened.format)
    }
