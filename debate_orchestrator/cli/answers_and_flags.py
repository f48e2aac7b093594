"""The settings of a debate, read from an answers file and the flags over it, with the user's consent to the file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from debate_orchestrator.cli import consent
from debate_orchestrator.cli.consent import STANDARD_INPUT, STDIN
from debate_orchestrator.cli.flags import settings_from_flags
from debate_orchestrator.cli.output import at_terminal, print_status
from debate_orchestrator.core.phases import SIDES_AND_JUDGE
from debate_orchestrator.core.settings import (
    DEFAULT_FORMAT,
    MAX_COST,
    SETTINGS_WITH_ORIGIN,
    Settings,
    named_models,
    seats_of_cast,
    with_keys_of_today,
)
from debate_orchestrator.engine import format_check, start
from debate_orchestrator.engine.debate import DebateSession
from debate_orchestrator.formats import loader
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.reports import report_files
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.answers import (
    AUTO,
    as_word,
    cast_by_seat,
    cast_of,
    format_of,
    from_text,
    make_settings,
    output_text,
    why_no_decision_brief,
)
from debate_orchestrator.setup.questions import SetupQuestions
from debate_orchestrator.setup.state import ModeratorTask, Ready, load, read_file, with_answers, with_progress
from debate_orchestrator.storage.paths import REPORT, DebateFiles, files_like, unused_report
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import MAX_SIZE, error_text, name_of, parse_mapping, read_mapping_with_lines
from debate_orchestrator.util.errors import BadFile, BadSettings, DebateError, short_repr, suggest
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.model_spec import HOST


def settings_with_consent(
    arguments: argparse.Namespace, default_model: Callable[[str], str] = lambda seat: HOST
) -> Settings:
    """The settings that the flags of `flags.add_answers` make, with the user's consent to those of a file.
    `default_model` gives the model of a seat that has none. Raises BadSettings with every problem, also for a setup
    conversation that is not finished."""
    answers, flags = read_answers(arguments), settings_from_flags(arguments)
    if arguments.answers:
        from_file = _only_from_file(arguments, answers, flags)
        from_file |= {"cast": {}} if getattr(arguments, "rehearse", False) else {}
        consent.require_consent_to_answers(arguments.answers, from_file, flags.get("format"), trusted=arguments.trust)
    try:
        settings = settings_from_arguments(arguments, default_model)
    except BadSettings as error:
        raise BadSettings([*error.problems, *start.context_problems({**answers, **flags}.get("context"))]) from None
    if answers.get("setup") is not None:
        name = flags["format"] if "format" in flags else format_of(answers)
        _check_finished(arguments.answers, name, derived=_has_auto_positions(answers))
    return settings


def _only_from_file(
    arguments: argparse.Namespace, answers: Mapping[str, Any], flags: Mapping[str, Any]
) -> dict[str, Any]:
    """The answers of a file in whose place no flag was given."""
    typed_seats = {*flags.get("cast", {}), *(SIDES_AND_JUDGE if arguments.model else ())}
    cast = {seat: specs for seat, specs in file_cast(answers).items() if seat not in typed_seats}
    return {key: value for key, value in answers.items() if key not in flags} | {"cast": cast}


def needs_trust(arguments: argparse.Namespace) -> bool:
    """Whether a debate of these flags needs `--trust`, which its rehearsal did not: the user has not agreed yet to the
    programs and servers of the file, and can't be asked."""
    if not arguments.answers or arguments.trust or at_terminal(sys.stderr):
        return False
    answers, flags = read_answers(arguments), settings_from_flags(arguments)
    wanted = risks.of_settings(_only_from_file(arguments, answers, flags), flags.get("format"))
    return bool(consent.unapproved_risks(consent.source_of_file(arguments.answers), wanted))


def settings_from_arguments(arguments: argparse.Namespace, default_model: Callable[[str], str]) -> Settings:
    """The settings of `settings_with_consent`, before it is asked for. Raises BadSettings with every problem."""
    answers, flags = read_answers(arguments), settings_from_flags(arguments)
    format_name = flags["format"] if "format" in flags else format_of(answers)
    problems: list[str] = []
    model = arguments.model

    try:
        format = format_check.load(format_name)
    except DebateError as error:
        problems += error.problems
        format = loader.load(DEFAULT_FORMAT)  # to find the other problems too
    if model is not None:
        flags = flags | {"cast": cast_of(format, lambda seat: model, format.optional_phases) | flags.get("cast", {})}
    values = {**answers, **flags}
    if isinstance(answers.get("positions"), dict) and "positions" in flags:
        values["positions"] = answers["positions"] | flags["positions"]
    if "cast" in flags:
        cast = cast_by_seat(answers.get("cast"), format, format.optional_phases)
        values["cast"] = (cast if isinstance(cast, dict) else {}) | flags["cast"]
    origins = answers.get("origins")
    if flags and isinstance(origins, dict | None):
        keys_from_flags = [key for key in flags if key in SETTINGS_WITH_ORIGIN]
        values["origins"] = (origins or {}) | dict.fromkeys(keys_from_flags, "flag")
    cast = values.get("cast")
    models = {seat: named_models(entry) for seat, entry in cast.items()} if isinstance(cast, dict) else {}
    model_problems = cast_providers.cast_problems(
        {seat: models[seat] for seat in seats_of_cast(format) if seat in models}
    )
    # With a problem of a named model, that the other seats have no default is not reported.
    model_of_seat = (lambda seat: HOST) if model_problems else default_model
    try:
        settings = make_settings(values, format, REPORT, model_of_seat)
    except BadSettings as error:
        problems += error.problems
    problems += _output_problems(values.get("output"))
    if problems:
        raise BadSettings([*problems, *model_problems])
    return settings


def _output_problems(output: object) -> list[str]:
    """The reason that an output can't name a report. Nothing is made."""
    try:
        DebateFiles.named_by(output if isinstance(output, str) and output.strip() else REPORT)
    except BadFile as error:
        return error.problems
    return []


def _locations_of_keys(path: str, keys: Iterable[str]) -> dict[str, str]:
    """The places of keys of an answers file, `PATH:LINE`; of a key that stands in no line of YAML, the file."""
    lines, name = dict[tuple[str, ...], int](), STDIN if path == STANDARD_INPUT else name_of(path)
    if path != STANDARD_INPUT:
        with suppress(BadFile):  # JSON that is no YAML
            lines = read_mapping_with_lines(path)[1]
    return {key: f"{name}:{lines[key,]}" if (key,) in lines else name for key in keys}


def read_answers(arguments: argparse.Namespace) -> dict[str, Any]:
    """The content of the file of --answers, read once, since consent is to what was read; empty
    without the flag. Raises BadFile."""
    if not hasattr(arguments, "answers_read"):
        arguments.answers_read = with_keys_of_today(_read_answers(arguments.answers))
        typed = {*settings_from_flags(arguments), *(["cast"] if arguments.model else [])}
        keys = arguments.answers_read.keys() - typed
        arguments.answer_locations = _locations_of_keys(arguments.answers, keys) if keys else {}
    return dict(arguments.answers_read)


def _read_answers(path: str | None) -> dict[str, Any]:
    if path != STANDARD_INPUT:
        if path and not os.path.lexists(path):
            folder, name = os.path.split(path)
            nearest = suggest(name, (file.name for file in files_like(folder, "*.y*ml")))
            suggestion = nearest or "Try: `debate answers > FILE`, which writes one to start from."
            raise BadFile(f"{name_of(path)}: there is no such file. {suggestion}")
        return _read_file(path) if path else {}
    piped = read_standard_input()
    if "setup" in piped:
        raise BadFile(f"{STDIN} holds a setup conversation, which needs a file. Try: `debate ask FILE`.")
    return piped


def _read_file(path: str) -> dict[str, Any]:
    """As `read_file`. Raises BadFile for a report too."""
    must_be_no_report(path)
    return read_file(path)


def must_be_no_report(path: str) -> None:
    """Raises BadFile for a report that is given as an answers file."""
    if report_files.is_report(path):
        hint = "`debate answers --from JOURNAL`, which prints the answers of a debate"
        raise BadFile(f"{name_of(path)} is a report of a debate, not an answers file.", hint=hint)


def read_standard_input() -> dict[str, Any]:
    """The mapping, as YAML or JSON, on standard input. Raises BadFile."""
    try:
        if sys.stdin.isatty():
            print_status("reading from the terminal: end with Ctrl-D.")
        data = sys.stdin.buffer.read(MAX_SIZE + 1)
    except OSError as error:
        raise BadFile(f"{STDIN} can't be read: {error_text(error)}.") from None
    if len(data) > MAX_SIZE:
        raise BadFile(f"{STDIN} holds more than {MAX_SIZE:,} bytes.")
    try:
        return parse_mapping(data.decode("utf-8-sig"), STDIN)
    except UnicodeDecodeError:
        raise BadFile(f"{STDIN} is not UTF-8 text.") from None


def setup_questions(format_name: str = DEFAULT_FORMAT, default_output: str = REPORT) -> SetupQuestions:
    """The setup conversation in the words of prompts/ and the limits of a format."""
    return SetupQuestions(loader.load(format_name), default_output)


def setup_questions_of(path: str, format_agreed_to: str = "") -> SetupQuestions:
    """The setup conversation of a file, in its format. A folder, whose prompts may be a stranger's, is used only if the
    user agreed to it before, or in this command (`format_agreed_to`); otherwise the default is, and a line says so."""
    name = format_of(_read_file(path) if os.path.exists(path) else {})
    if name != format_agreed_to and consent.unapproved_risks(
        consent.source_of_file(path), risks.of_settings({"format": name})
    ):
        problem = f"{short_repr(name)} has prompts of its own, so the questions are those of {DEFAULT_FORMAT}."
        print_status(f"{problem} If you trust it, use `debate open --trust`.")
        name = DEFAULT_FORMAT
    return setup_questions(name, unused_report())


def setup_lines(arguments: argparse.Namespace, settings: Settings, session: DebateSession) -> list[str]:
    """The setup of the debate that these settings opened, as confirmed; only its risks if a conversation, perhaps of
    another user, has shown all, and no flag changes it."""
    values = settings.model_dump() | {"positions": session.state.opened.settings.positions}
    values |= {"output": output_text(session.files.report, settings.output)}
    questions = setup_questions(settings.format)
    answers, flags = read_answers(arguments), settings_from_flags(arguments)
    is_confirmed = "setup" in answers and not flags and not _has_auto_positions(answers)
    lines = questions.risk_lines(values) if is_confirmed else questions.confirmation_text(values).split("\n")
    chosen_values = {**answers, **flags}
    no_rapporteur = chosen_values.get("issues") is False and chosen_values.get("brief") is False
    note = "" if no_rapporteur else why_no_decision_brief(settings, questions.format)
    return [*lines, *([note] if note else [])]


def _has_auto_positions(answers: Mapping[str, Any]) -> bool:
    return bool(as_word(answers.get("positions"), (AUTO,)) == AUTO)


def cast_line(settings: Settings) -> str:
    """The models of the seats and the cap on costs, in one line."""
    seats = ", ".join(
        f"{seat} {' and '.join(map(model_spec.described, specs))}" for seat, specs in settings.cast.items()
    )
    return f"Cast: {seats}.{'' if settings.max_cost is None else f' At most ${settings.max_cost:.2f}.'}"


def file_cast(answers: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Seat to what an answers file names for it."""
    cast = answers.get("cast")
    seats = dict.fromkeys(SIDES_AND_JUDGE, cast) if isinstance(cast, str) else cast if isinstance(cast, dict) else {}
    return {seat: specs if isinstance(specs, list) else [specs] for seat, specs in seats.items()}


def _check_finished(path: str, format_name: str, *, derived: bool) -> None:
    """Raises BadSettings for a setup conversation that is not finished; `derived` positions need not be confirmed."""
    questions, state = setup_questions_of(path, format_name), load(path)
    if derived:
        positions = dict.fromkeys(questions.format.sides, "not derived yet")
        state = with_progress(with_answers(state, "derived", positions=positions), positions_ok=True)
    next_item = questions.next(state)
    if isinstance(next_item, Ready):
        return
    open_questions = (
        f"{next_item.turn} is still to be answered"
        if isinstance(next_item, ModeratorTask)
        else f"the question `{next_item.key}` is open"
    )
    raise BadSettings(
        f"{name_of(path)} holds a setup conversation in which {open_questions}. Continue with `{command('ask', path)}`."
    )


def read_max_cost(text: str) -> float | None:
    """The value of --max-cost in US dollars; None for no cap. Raises BadSettings."""
    value = from_text("max_cost", text)
    if value is None or (isinstance(value, float) and 0 < value < MAX_COST):
        return value
    raise BadSettings(f"--max-cost must be US dollars above 0, or none, not {text!r}.")
