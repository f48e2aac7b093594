"""The real debate of a rehearsal: its settings, and the sentence with its command and what it needs."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.answers_and_flags import read_answers, settings_of
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import CLERK, EVERYBODY, JUDGE, RAPPORTEUR
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.engine import format_check
from debate_orchestrator.formats import loader
from debate_orchestrator.providers import discovery
from debate_orchestrator.setup.answers import SETTING_TEXTS
from debate_orchestrator.util.model_spec import HOST, REHEARSE, is_stand_in, public_name, specs_of, unrehearsed

_DefaultModel = Callable[[str], str]
"""Gives the model of a seat for which none is named."""


class RealDebate(NamedTuple):
    """The debate that a rehearsal stands for."""

    settings: Settings
    """What its command gives."""
    sentence: str
    """The command, with what is to be set before it."""


def real_debate(arguments: argparse.Namespace) -> RealDebate:
    """The debate of the `arguments` of a rehearsal: the same without its stand-ins, which stand for the models that
    they name, or else for those that `run` finds. Raises BadSettings where that is no debate."""
    command, settings = _advised(arguments, discovery.best)
    called = [spec for seat, specs in settings.cast.items() if seat != CLERK for spec in specs]
    needed = list(dict.fromkeys(filter(None, map(discovery.variable_to_set, called))))
    host = ", for an agent host," if HOST in called else ","
    is_real = f"`{command}` is the real debate{host} with {_seats_of_models(settings)}."
    if not needed:
        return RealDebate(settings, is_real)
    to_set = f"set {' and '.join(needed)}. Then {is_real}"
    named = _cast(_words(arguments, _named(arguments)), arguments, lambda seat: REHEARSE)
    is_open = all(spec == REHEARSE for seat in EVERYBODY for spec in named.get(seat, ()))
    found = discovery.ready_without_key() if is_open else []
    if not found:
        return RealDebate(settings, f"{to_set} `debate models` lists what else can speak here.")
    other, _ = _advised(arguments, lambda seat: found[0], found[0])
    return RealDebate(
        settings, f"`{other}` is the real debate, with what was found here, at its own price. Or {to_set}"
    )


def _advised(arguments: argparse.Namespace, default_model: _DefaultModel, model: str = "") -> tuple[str, Settings]:
    """The command of the real debate, as short as it can be, and the settings that it gives. `default_model` gives the
    model of a stand-in that names none; a `model` is named for all seats."""
    named = _named(arguments, default_model)
    cast = _cast(_words(arguments, named), arguments, default_model)
    in_file = read_answers(arguments).get("cast")
    seats = [*EVERYBODY, *(in_file if isinstance(in_file, dict) else ())]  # an unnamed rapporteur follows the others
    stood_in = {
        seat: [_real(spec, seat, default_model) for spec in specs]
        for seat, specs in cast.items()
        if seat in seats and any(map(is_stand_in, specs))
    }
    models = {tuple(specs) for specs in stood_in.values()}
    if model:
        kept = {seat: specs for seat, specs in stood_in.items() if seat not in EVERYBODY or len(specs) > 1}
        stood_in = {"model": [model], **kept}
    elif len(models) == 1 and stood_in.keys() == {*cast} & {*EVERYBODY} and len(shared := models.pop()) == 1:
        stood_in = {"model": [*shared]}
    words = _words(arguments, named | stood_in)
    settings = _settings(words, arguments, default_model)
    if HOST not in specs_of(settings.cast):
        return shlex.join(["debate", "run", *words, *_permission_words(arguments)]), settings
    return shlex.join(["debate", "open", *words]), _settings(words, arguments, lambda seat: HOST)


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
    words: list[str], arguments: argparse.Namespace, default_model: _DefaultModel
) -> Mapping[str, tuple[str, ...]]:
    """The cast that a command with these words gives. For it alone a user's format is not checked, which takes a
    second."""
    return _settings(words, arguments, default_model, loader.load).cast


def _settings(
    words: list[str],
    arguments: argparse.Namespace,
    default_model: _DefaultModel,
    load_format: Callable[[str], Format] = format_check.load,
) -> Settings:
    """The settings that a command with these words gives."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    flags.add_answers(parser)
    parser.set_defaults(answers_read=read_answers(arguments))
    return settings_of(parser.parse_args(words), default_model, load_format)


def _words(arguments: argparse.Namespace, cast: dict[str, list[str]]) -> list[str]:
    """The words of a command with all settings that were given, and these flags for the cast."""
    given = flags.given_settings(arguments)
    given.pop("cast", None)
    named = [name for name in ("model", *SETTING_TEXTS["cast"].parts) if name in cast]
    words = ["--answers", arguments.answers] if arguments.answers else []
    words += [word for name, value in given.items() for word in _flag_words(name, value)]
    words += [word for name in named for spec in cast[name] for word in (f"--{name}", spec)]
    return [*words, "--trust"] if getattr(arguments, "trust", False) else words


def _permission_words(arguments: argparse.Namespace) -> list[str]:
    names = getattr(arguments, "command_env", None) or ()
    return ["--insecure"] * bool(arguments.insecure) + [word for name in names for word in ("--command-env", name)]


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
    return ", ".join(f"{spec} as {_and(list(dict.fromkeys(taken)))}" for spec, taken in seats.items())


def _and(names: list[str]) -> str:
    """Names in a sentence: `a, b and judge`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
