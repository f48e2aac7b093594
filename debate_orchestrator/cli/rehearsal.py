"""How to hold the debate that was rehearsed: its command, the models whose price was quoted, and what they need."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from debate_orchestrator.cli.flags import given_settings
from debate_orchestrator.cli.settings import read_answers
from debate_orchestrator.core.phases import CLERK, JUDGE, RAPPORTEUR
from debate_orchestrator.core.settings import MODERATOR
from debate_orchestrator.providers import discovery
from debate_orchestrator.setup.setting_texts import SETTING_TEXTS
from debate_orchestrator.util import model_spec

_Cast = dict[str, list[str]]
"""Seat to its models."""


def real_debate(arguments: argparse.Namespace, cast: Mapping[str, Iterable[str]]) -> str:
    """How to hold the debate of a rehearsal with these `arguments`, in a sentence or two. `cast` is that of the
    rehearsal, whose stand-ins name the models that the estimate counts."""
    models = {seat: [_real(seat, spec) for spec in specs] for seat, specs in cast.items()}
    flags = _cast_flags(arguments, models)
    real = _command(arguments, flags)
    called = {seat: specs for seat, specs in models.items() if seat != CLERK}
    lacking = map(discovery.variable_to_set, model_spec.specs_of(called))
    needed = list(dict.fromkeys(variable for variable in lacking if variable))
    is_real = f"`{real}` is the real debate{_with(models)}."
    if not needed:
        return is_real
    to_set = f"set {' and '.join(needed)}. Then {is_real}"
    found = discovery.ready_without_key()
    if not found or flags.keys() - _open_seats(arguments, models):
        return f"{to_set} `debate models` lists what else can speak here."
    other = _command(arguments, {"model": [found[0]]})
    return f"`{other}` is the real debate, with what was found here, at its own price. Or {to_set}"


def _command(arguments: argparse.Namespace, flags: _Cast) -> str:
    """The `debate run` with all that was given, and these flags for the cast."""
    typed = given_settings(arguments)
    typed.pop("cast", None)
    words = ["debate", "run"]
    if arguments.answers:
        words += ["--answers", arguments.answers]
    words += [word for name, value in typed.items() for word in _flag_words(name, value)]
    words += [word for seat, specs in flags.items() for spec in specs for word in (f"--{seat}", spec)]
    words += [flag for flag in ("--trust", "--insecure") if getattr(arguments, flag[2:], False)]
    words += [word for name in getattr(arguments, "command_env", None) or () for word in ("--command-env", name)]
    return shlex.join(words)


def _flag_words(name: str, value: Any) -> list[str]:
    """A setting as it is typed."""
    flag, declared = f"--{name.replace('_', '-')}", SETTING_TEXTS[name]
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag[2:]}"]
    if isinstance(value, dict):
        return [word for part, text in value.items() for word in (declared.part_flag.format(part), str(text))]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for each in values for word in (flag, f"{each:g}" if isinstance(each, float) else str(each))]


def _cast_flags(arguments: argparse.Namespace, models: _Cast) -> _Cast:
    """The flags that seat the models, by name: those that were typed, and one for each seat for which the answers name
    a stand-in. `run` finds a model for every other seat itself, and it is the one that the estimate counts."""
    kept = _kept(arguments, models)
    model, typed = _typed(arguments, kept)
    named = {seat: models.get(seat) or [_real(seat, spec) for spec in _listed(specs)] for seat, specs in typed.items()}
    flags: _Cast = {"model": [_real("a", model)]} if model else {}
    stood_in = [seat for seat, specs in kept.items() if not model and _stands_in(specs)]
    flags |= {seat: models[seat] for seat in stood_in if seat not in typed and seat in models}
    if not typed and len({tuple(specs) for specs in flags.values()}) == 1 and {*_main_seats(models)} <= flags.keys():
        flags = {"model": next(iter(flags.values()))[:1]}
    return flags | named


def _typed(arguments: argparse.Namespace, kept: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The model that was typed for all seats, and those of single seats; without a stand-in for no model in
    particular, where the answers name none either: that leaves the choice to `run`."""
    model, typed = getattr(arguments, "model", None), given_settings(arguments).get("cast", {})
    if model == model_spec.REHEARSE and not kept:
        model = None
    return model, {seat: who for seat, who in typed.items() if seat in kept or {*_listed(who)} != {model_spec.REHEARSE}}


def _main_seats(models: _Cast) -> list[str]:
    """The seats that one model for all would take."""
    return [seat for seat in models if seat not in (RAPPORTEUR, CLERK, MODERATOR)]


def _open_seats(arguments: argparse.Namespace, models: _Cast) -> set[str]:
    """The seats for which no model was named, only a stand-in or nothing."""
    kept = _kept(arguments, models)
    model, typed = _typed(arguments, kept)
    if model:
        return set()
    return {seat for seat in models if seat not in typed and (seat not in kept or _stands_in(kept[seat]))}


def _kept(arguments: argparse.Namespace, models: _Cast) -> dict[str, Any]:
    """The cast of the answers file by seat."""
    kept = read_answers(arguments).get("cast")
    if isinstance(kept, str):
        return dict.fromkeys(_main_seats(models), kept)
    return {seat: specs for seat, specs in kept.items() if seat != MODERATOR} if isinstance(kept, dict) else {}


def _with(models: _Cast) -> str:
    """The models, each with its seats; without the rapporteur where it is the first judge's model."""
    seats: dict[str, list[str]] = {}
    for seat, specs in models.items():
        if seat != CLERK and not (seat == RAPPORTEUR and specs[:1] == models.get(JUDGE, [])[:1]):
            for spec in specs:
                seats.setdefault(model_spec.public_name(spec), []).append(seat)
    named = [f"{spec} as {' and '.join(dict.fromkeys(taken))}" for spec, taken in seats.items()]
    return f", with {', '.join(named)}" if named else ""


def _real(seat: str, spec: str) -> str:
    """The model that a spec stands in for; the default where it names none."""
    real = model_spec.real(spec)
    like = JUDGE if seat == RAPPORTEUR else seat
    return discovery.best(like) if real == model_spec.HOST and spec != model_spec.HOST else real


def _stands_in(specs: Any) -> bool:
    return any(model_spec.kind(str(spec)) == model_spec.REHEARSE for spec in _listed(specs))


def _listed(specs: Any) -> list[str]:
    return [*specs] if isinstance(specs, list | tuple) else [specs]
