"""`debate run`: a whole debate, from settings to report, with no questions; and the real debate of a rehearsal, as the
command that it ends with."""

from __future__ import annotations

import argparse
import os
import select
import shlex
import stat
import sys
from collections.abc import Callable, Mapping
from typing import Any

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.answers_and_flags import (
    cast_line,
    read_answers,
    settings_from_arguments,
    settings_with_consent,
    setup_lines,
)
from debate_orchestrator.cli.consent import STANDARD_INPUT, STDIN, new_debate
from debate_orchestrator.cli.driving import drive_to_report, events_problems, is_quiet, is_silent
from debate_orchestrator.cli.output import at_terminal, next_step, print_status
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import CLERK, DEBATING_SEATS, JUDGE, RAPPORTEUR
from debate_orchestrator.core.settings import MAX_TOPIC_LENGTH, Settings
from debate_orchestrator.engine import format_check, start
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.formats import loader
from debate_orchestrator.providers import discovery
from debate_orchestrator.setup.answers import SETTING_TEXTS
from debate_orchestrator.storage.paths import DebateFiles, free_files
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.messages import and_joined, ignore
from debate_orchestrator.util.model_spec import HOST, REHEARSE, is_stand_in, public_name, specs_of, unrehearsed

_MAX_PIPED = 64 * MAX_TOPIC_LENGTH
"""Bytes that are read from standard input, so that a stream without end is refused too."""
_DefaultModel = Callable[[str], str]
"""Gives the model of a seat for which none is named."""
_CAST_FLAGS = ("model", *SETTING_TEXTS["cast"].parts)
EXAMPLE = 'debate run "Should we move to gRPC?" --rehearse'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_answers(parser)
    about = "let stand-ins take the seats of models, at no cost; a person at the terminal keeps theirs; briefs are kept"
    parser.add_argument("--rehearse", action="store_true", help=about)
    flags.add_permissions(parser)
    flags.add_progress(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.topic is None and not arguments.answers:
        arguments.topic = _piped_topic()
    return run_settings(
        settings_with_consent(arguments, discovery.default_if_keyed if arguments.rehearse else discovery.default),
        arguments,
    )


def _piped_topic() -> str | None:
    """The line on standard input, where it is a pipe or a file; None if it has no text. It is read to its end, or
    until nothing comes for 2 s. Raises BadSettings for more than one line; blank lines do not count."""
    try:
        mode = os.fstat(stdin := sys.stdin.fileno()).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
            return None
        data = b""
        # A pipe may be held open by a program that writes no more.
        while len(data) < _MAX_PIPED and select.select([stdin], [], [], 2.0)[0] and (piece := os.read(stdin, 65_536)):
            data += piece
    except (OSError, ValueError):
        return None
    text = data.decode(errors="surrogateescape")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        problem = f"topic: standard input holds {len(lines)} lines, and a topic is one."
        raise BadSettings(problem, hint="one sentence; `--context FILE` gives both sides a text to draw on")
    return lines[0] if lines else None


def run_settings(settings: Settings, arguments: argparse.Namespace) -> int:
    """Opens the debate of these settings and takes it to its report. Of the arguments it reads those that made the
    settings, `rehearse`, `quiet`, `events`, `json`, `insecure` and `command_env`."""
    files = DebateFiles.of_output(settings.output)
    if rehearse := arguments.rehearse or model_spec.is_rehearsal(settings.cast):
        settings = start.rehearsed(settings, people=at_terminal(sys.stderr))
        files = free_files(files.with_suffix(".rehearsed"))  # the place of the real debate stays free
    permissions = flags.permitted(arguments)
    more = events_problems(settings.cast, arguments)
    start.check_settings(settings, files, people=at_terminal(sys.stderr), permissions=permissions, more=more)
    for question in discovery.misspelling_questions(settings.cast):
        print_status(f"debate: {question}")
    quiet = is_quiet(arguments)
    if not is_silent(arguments) and (first := start.estimate_before_positions(settings)):
        print_status(first)
    how = expected = ""
    if rehearse:
        real, how = _real_debate(arguments)
        settings, position_calls = start.without_model(settings)[0], start.position_calls_of(real)
        takes = estimate(start.make_opened(real.model_copy(update={"positions": settings.positions})))
        expected = takes.model_copy(update={"position_calls": position_calls}).sentence()
        how += " A model derives its positions; --position-a and --position-b keep these." if position_calls else ""
    opening = start.opened_with_positions(settings, ignore if quiet else print_status, permissions)
    with new_debate(opening, files, lambda opened: start.notes_after_opened(settings, expected)) as opened:
        settings = start.with_positions_of(settings, opened.state.opened)
        if not quiet:
            for line in (*setup_lines(arguments, settings, opened.files), cast_line(settings)):
                print_status(line)
        code = drive_to_report(opened, arguments, expected)
        if code == 0 and how and not quiet:
            print_status(f"Every brief is in {opened.files.turns}.")
            next_step(how)
        return code


# The real debate of a rehearsal


def _real_debate(arguments: argparse.Namespace) -> tuple[Settings, str]:
    """The debate of the `arguments` of a rehearsal: the same without its stand-ins, which stand for the models that
    they name, or else for those that `run` finds. Its settings, and a sentence with its command and what is to be set
    before it. Raises BadSettings where that is no debate."""
    command, settings, in_file = _advised(arguments, discovery.default_if_keyed)
    called = [spec for seat, specs in settings.cast.items() if seat != CLERK for spec in specs]
    needed = list(dict.fromkeys(filter(None, map(discovery.variable_to_set, called))))
    host = ", for an agent host," if HOST in called else ","
    is_real = f"`{command}` is the real debate{host} with {_seats_of_models(settings)}."
    steps = [f"set {' and '.join(needed)}"] if needed else []
    if in_file:
        file = STDIN if arguments.answers == STANDARD_INPUT else name_of(arguments.answers)
        steps = [f"in {file}, name the models of {and_joined(in_file)} without `{REHEARSE}`", *steps]
    if not steps:
        return settings, is_real
    to_do = f"{', and '.join(steps)}. Then {is_real}"
    if not needed:
        return settings, to_do
    named = _cast(_named(arguments), arguments, lambda seat: REHEARSE)
    is_open = not in_file and all(spec == REHEARSE for seat in DEBATING_SEATS for spec in named.get(seat, ()))
    found = discovery.ready_without_key() if is_open else []
    if not found:
        return settings, f"{to_do} `debate models` lists what else can speak here."
    other, *_ = _advised(arguments, lambda seat: found[0], found[0])
    return settings, f"`{other}` is the real debate, with what was found here, at its own price. Or {to_do}"


def _advised(
    arguments: argparse.Namespace, default_model: _DefaultModel, model: str = ""
) -> tuple[str, Settings, list[str]]:
    """The command of the real debate, as short as it can be, the settings of that debate, and the seats whose
    stand-ins the user has to replace in the answers file before. `default_model` gives the model of a stand-in that
    names none; a `model` is named for all seats.

    Flags have only models that were typed, or that this program gives to a stand-in without a model. What a file names
    stays in the file, which may be a stranger's: a flag is the user's own word, and needs no consent."""
    named = _named(arguments, default_model)
    cast = _cast(named, arguments, default_model)
    in_file = read_answers(arguments).get("cast")
    seats = {*DEBATING_SEATS, *(in_file if isinstance(in_file, dict) else ())}  # an unnamed rapporteur follows others
    by_stand_ins = {seat: specs for seat, specs in cast.items() if seat in seats and any(map(is_stand_in, specs))}
    real = {seat: [_real(spec, seat, default_model) for spec in specs] for seat, specs in by_stand_ins.items()}
    chosen = {seat: real[seat] for seat, specs in by_stand_ins.items() if {*specs} == {REHEARSE}}
    left = [seat for seat in by_stand_ins if seat not in chosen]
    models = {tuple(specs) for specs in chosen.values()}
    if model:
        kept = {seat: specs for seat, specs in chosen.items() if seat not in DEBATING_SEATS or len(specs) > 1}
        chosen = {"model": [model], **kept}
    elif len(models) == 1 and chosen.keys() == {*cast} & {*DEBATING_SEATS} and len(shared := models.pop()) == 1:
        chosen = {"model": [*shared]}
    words = _words(arguments, named | chosen)
    settings = _settings(named | real, arguments, default_model)
    if HOST not in specs_of(settings.cast):
        more = ["--insecure"] * bool(arguments.insecure)
        more += [word for name in arguments.command_env or () for word in ("--command-env", name)]
        return shlex.join(["debate", "run", *words, *more]), settings, left
    return shlex.join(["debate", "open", *words]), _settings(named | real, arguments, lambda seat: HOST), left


def _named(arguments: argparse.Namespace, default_model: _DefaultModel = lambda seat: REHEARSE) -> dict[str, list[str]]:
    """The flags that seat models, by name, without stand-ins. A stand-in that names no model leaves the choice to
    `run`, unless it is one of a panel."""
    cast = flags.given_settings(arguments).get("cast", {})
    typed = {"model": getattr(arguments, "model", None) or REHEARSE, **cast}
    listed = {seat: [specs] if isinstance(specs, str) else [*specs] for seat, specs in typed.items()}
    return {
        seat: [_real(spec, seat, default_model) for spec in specs]
        for seat, specs in listed.items()
        if specs != [REHEARSE]
    }


def _real(spec: str, seat: str, default_model: _DefaultModel) -> str:
    """The model that a spec stands in for."""
    return default_model(JUDGE if seat == RAPPORTEUR else seat) if spec == REHEARSE else unrehearsed(spec)


def _cast(
    named: dict[str, list[str]], arguments: argparse.Namespace, default_model: _DefaultModel
) -> Mapping[str, tuple[str, ...]]:
    """The cast of the debate of `_settings`. For it alone a user's format is not checked, which takes a second."""
    return _settings(named, arguments, default_model, loader.load).cast


def _settings(
    named: dict[str, list[str]],
    arguments: argparse.Namespace,
    default_model: _DefaultModel,
    load_format: Callable[[str], Format] = format_check.load,
) -> Settings:
    """The settings of the arguments, with these flags for the cast."""
    cast = {name: named.get(name) for name in _CAST_FLAGS}
    typed = {name: specs if name == JUDGE or not specs else specs[0] for name, specs in cast.items()}
    own = {**vars(arguments), **typed, "answers_read": read_answers(arguments)}
    return settings_from_arguments(argparse.Namespace(**own), default_model, load_format)


def _words(arguments: argparse.Namespace, cast: dict[str, list[str]]) -> list[str]:
    """The words of a command with all settings that were given, and these flags for the cast. No consent is among them:
    what was agreed to is remembered, and what a rehearsal does not do was not asked about."""
    settings = flags.given_settings(arguments)
    settings.pop("cast", None)
    named = [name for name in _CAST_FLAGS if name in cast]
    words = ["--answers", arguments.answers] if arguments.answers else []
    words += [word for name, value in settings.items() for word in _flag_words(name, value)]
    return words + [word for name in named for spec in cast[name] for word in (f"--{name}", spec)]


def _flag_words(name: str, value: Any) -> list[str]:
    """A setting as it is typed."""
    flag, declared = f"--{name.replace('_', '-')}", SETTING_TEXTS[name]
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag[2:]}"]
    if isinstance(value, dict):
        return [word for part, text in value.items() for word in (declared.part_flag.format(part), str(text))]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for each in values for word in (flag, f"{each:g}" if isinstance(each, float) else str(each))]


def _seats_of_models(settings: Settings) -> str:
    """The models, each with its seats; without the rapporteur where it is the first judge's model."""
    seats: dict[str, list[str]] = {}
    for seat, specs in settings.cast.items():
        if seat != CLERK and not (seat == RAPPORTEUR and specs[:1] == settings.cast.get(JUDGE, ())[:1]):
            for spec in specs:
                seats.setdefault(public_name(spec), []).append(seat)
    return ", ".join(f"{spec} as {and_joined(list(dict.fromkeys(taken)))}" for spec, taken in seats.items())
