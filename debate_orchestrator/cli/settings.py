"""The settings of a debate, read from an answers file and the flags over it, with the user's consent to the file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from debate_orchestrator.cli import consent
from debate_orchestrator.cli.consent import STANDARD_INPUT, STDIN
from debate_orchestrator.cli.output import remark
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import EVERYBODY
from debate_orchestrator.engine import format_check
from debate_orchestrator.formats import loader
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.session import Propose, QuestionTexts, Ready, load
from debate_orchestrator.setup.settings import LARGEST_CAP, LONGEST_PATIENCE, Settings, format_of, settings_from
from debate_orchestrator.storage.paths import REPORT
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import LARGEST, error_text, name_of, parse_mapping, read_mapping
from debate_orchestrator.util.errors import BadFile, BadSettings, DebateError, short_repr
from debate_orchestrator.util.model_spec import HOST

DEFAULT_FORMAT = "adversarial"
_FLAGS = {
    "topic": "topic",
    "strictness": "strictness",
    "output": "output",
    "format": "format",
    "first": "first",
    "context": "context",
    "max_cost": "max_cost",
    "retry_for": "patience",
}
"""Flags that take the place of an answer as they are, by its key in an answers file."""
_SWITCHES = {"insist": "insist", "one_agent": "one_agent", "search": "search", "share_cache": "leader_first"}
"""Flags that set an answer to true."""
_NUMBERS = ("max_cost", "patience")
_SOURCED = ("topic", "positions", "rounds", "strictness", "output", "first", "format")
"""Answers whose source is on record."""


def read_settings(arguments: argparse.Namespace, filler: Callable[[str], str] = lambda seat: HOST) -> Settings:
    """The settings that the flags of `flags.add_settings` make. The user has consented to what comes from a file.

    `filler` gives the model of a seat that has none. Raises BadSettings with every error, also if the user does not
    consent, or if the file is a setup conversation that is not finished."""
    given = read_answers(arguments)
    if arguments.answers:
        consent.agree_to_answers(arguments.answers, _from_file(given, arguments), trusted=arguments.trust)
    name = format_of(given, DEFAULT_FORMAT) if arguments.format is None else arguments.format
    errors: list[str] = []
    try:
        format = format_check.load(name)
    except DebateError as error:
        errors += error.complaints
        format = loader.load(DEFAULT_FORMAT)  # to find the other errors too
    flags = _flags(arguments, given, format)
    sources = given.get("sources")
    whole = {**given, **flags}
    if flags and isinstance(sources, dict | None):
        whole["sources"] = {**(sources or {}), **dict.fromkeys((key for key in flags if key in _SOURCED), "flag")}
    try:
        settings = settings_from(whole, format, REPORT, filler)
    except BadSettings as error:
        raise BadSettings(errors + error.complaints) from None
    if errors:
        raise BadSettings(errors)
    if given.get("setup") is not None:
        _check_finished(arguments.answers, name)
    return settings


def read_answers(arguments: argparse.Namespace) -> dict[str, Any]:
    """The content of the file that --answers names; empty without the flag. Standard input is read once and kept in
    the arguments. Raises BadFile."""
    path = arguments.answers
    if path != STANDARD_INPUT:
        if path and os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
            hint = "Try: `--answers -` to read standard input."
            raise BadFile(f"{name_of(path)} is a pipe or a device, and no file. {hint}")
        return read_mapping(path) if path else {}
    if not hasattr(arguments, "piped"):
        arguments.piped = read_standard_input()
        if "setup" in arguments.piped:
            raise BadFile(f"{STDIN} holds a setup conversation, which needs a file. Try: `debate ask FILE`.")
    return dict(arguments.piped)


def read_standard_input() -> dict[str, Any]:
    """The mapping, as YAML or JSON, on standard input. Raises BadFile."""
    try:
        if sys.stdin is not None and sys.stdin.isatty():
            remark("reading from the terminal: end with Ctrl-D.")
        data = sys.stdin.buffer.read(LARGEST + 1) if sys.stdin is not None else b""
    except OSError as error:
        raise BadFile(f"{STDIN} can't be read: {error_text(error)}.") from None
    if len(data) > LARGEST:
        raise BadFile(f"{STDIN} holds more than {LARGEST:,} bytes.")
    try:
        return parse_mapping(data.decode("utf-8-sig"), STDIN)
    except UnicodeDecodeError:
        raise BadFile(f"{STDIN} is not UTF-8 text.") from None


def questionnaire(format_name: str = DEFAULT_FORMAT, default_output: str = REPORT) -> Questionnaire:
    """The setup conversation in the words of prompts/ and the limits of a format."""
    return Questionnaire(_question_texts(), loader.load(format_name), default_output)


def questionnaire_of(path: str, used_format: str = "") -> Questionnaire:
    """The setup conversation of a file, in its format. If that is a folder, its prompts may be a stranger's: it is
    used only if the user agreed to it, or if it is the `used_format`; otherwise the default is used, with a remark."""
    name = format_of(read_mapping(path) if os.path.exists(path) else {}, DEFAULT_FORMAT)
    if name != used_format and consent.lacking(consent.of_file(path), risks.of_answers({"format": name})):
        hint = "`debate open --trust` agrees to it."
        remark(f"{short_repr(name)} has prompts of its own, so the questions are those of {DEFAULT_FORMAT}. {hint}")
        name = DEFAULT_FORMAT
    return questionnaire(name)


@cache
def _question_texts() -> QuestionTexts:
    return QuestionTexts.model_validate(resources.read_yaml("interview.yaml"))


def _from_file(given: Mapping[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """The answers that are taken from a file: neither replaced by flags nor, in a rehearsal, by stand-ins."""
    kept = {
        key: value
        for key, value in given.items()
        if key not in ("context", "output", "format") or getattr(arguments, key) is None
    }
    cast = _by_seat(kept.get("cast"), EVERYBODY)
    if getattr(arguments, "rehearse", False) or not isinstance(cast, dict):
        cast = {}
    named = {seat for seat in EVERYBODY if getattr(arguments, seat) is not None}
    return kept | {"cast": {seat: models for seat, models in cast.items() if seat not in named}}


def _by_seat(cast: Any, seats: tuple[str, ...] | list[str]) -> Any:
    """The cast by seat, where one model was given for all; anything else as it is."""
    return dict.fromkeys(seats, cast) if isinstance(cast, str) else cast


def _check_finished(path: str, format_name: str) -> None:
    """Raises BadSettings if a file holds a setup conversation that is not finished."""
    now = questionnaire_of(path, format_name).next(load(path))
    if isinstance(now, Ready):
        return
    left = f"{now.turn} is still to be answered" if isinstance(now, Propose) else f"the question `{now.key}` is open"
    raise BadSettings(f"{path} holds a setup conversation in which {left}. Go on with `debate ask {path}`.")


def _flags(arguments: argparse.Namespace, given: Mapping[str, Any], format: Format) -> dict[str, Any]:
    """The flags that were given, by their keys in an answers file."""
    values = {key: getattr(arguments, flag) for flag, key in _FLAGS.items()}
    flags = {key: number(text) if key in _NUMBERS else text for key, text in values.items() if text is not None}
    if arguments.rounds is not None:
        flags["rounds"] = arguments.rounds
    flags |= {key: True for flag, key in _SWITCHES.items() if getattr(arguments, flag)}
    flags |= panel_flags(arguments)
    sides = {side: getattr(arguments, f"position_{side}") for side in ("a", "b")}
    if any(sides.values()):
        positions = given.get("positions")
        replaced = {side: text for side, text in sides.items() if text}
        flags["positions"] = {**(positions if isinstance(positions, dict) else {}), **replaced}
    if seats := seat_flags(arguments):
        cast = _by_seat(given.get("cast"), [seat for seat in EVERYBODY if seat in format.seated])
        flags["cast"] = {**(cast if isinstance(cast, dict) else {}), **seats}
    return flags


def seat_flags(arguments: argparse.Namespace) -> dict[str, Any]:
    """The models that --a, --b and --judge name, by seat."""
    return {seat: models for seat in EVERYBODY if (models := getattr(arguments, seat)) is not None}


def panel_flags(arguments: argparse.Namespace) -> dict[str, Any]:
    """How judges vote, as flags say, by the keys of an answers file."""
    switches = ("mirror", "blind", "each_round")
    flags: dict[str, Any] = {key: value for key in switches if (value := getattr(arguments, key)) is not None}
    if arguments.quorum is not None:
        flags["quorum"] = int(arguments.quorum) if arguments.quorum.isdigit() else arguments.quorum
    return flags


def number(text: str) -> float | str:
    """The number that a flag holds; the text itself if it is none, for a later check to refuse."""
    try:
        return float(text)
    except ValueError:
        return text


def seconds(text: str) -> float:
    """The value of --retry-for in seconds. Raises BadSettings."""
    value = number(text)
    if isinstance(value, float) and 1 <= value <= LONGEST_PATIENCE:
        return value
    raise BadSettings(f"--retry-for must be seconds from 1 to {LONGEST_PATIENCE:,}, and not {text!r}.")


def cap(text: str) -> float | None:
    """The value of --max-cost in US dollars; None for no cap. Raises BadSettings."""
    value = number(text)
    if isinstance(value, float) and 0 < value < LARGEST_CAP:
        return value
    if text == "none":
        return None
    raise BadSettings(f"--max-cost must be US dollars above 0, or none, and not {text!r}.")
