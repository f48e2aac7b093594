"""The command of the debate that was rehearsed: all that was given, and a model wherever only a stand-in was named."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from debate_orchestrator.cli.flags import given_settings
from debate_orchestrator.cli.settings import read_answers
from debate_orchestrator.core.phases import RAPPORTEUR
from debate_orchestrator.core.settings import MODERATOR
from debate_orchestrator.providers import discovery
from debate_orchestrator.setup.setting_texts import SETTING_TEXTS
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings

_ANY = "MODEL"
"""Where the user has to name one."""


def real_command(arguments: argparse.Namespace, seats: tuple[str, ...]) -> str:
    """The `debate run` that holds the debate of a rehearsal with these `arguments`. `seats` are those of the debate."""
    typed = given_settings(arguments)
    cast = typed.pop("cast", {})
    words = ["debate", "run"]
    if arguments.answers:
        words += ["--answers", arguments.answers]
    words += [word for name, value in typed.items() for word in _flag_words(name, value)]
    words += _cast_words(arguments, cast, [seat for seat in seats if seat in SETTING_TEXTS["cast"].parts])
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


def _cast_words(arguments: argparse.Namespace, typed: dict[str, Any], seats: list[str]) -> list[str]:
    """The flags that seat the models: those that were typed, and one for each seat that has only a stand-in."""
    model = getattr(arguments, "model", None)
    words = ["--model", _real(model)] if model else []
    for seat, specs in typed.items():
        flag = SETTING_TEXTS["cast"].part_flag.format(seat)
        words += [word for spec in _listed(specs) for word in (flag, _real(spec))]
    kept = read_answers(arguments).get("cast")
    kept = dict.fromkeys(seats, kept) if isinstance(kept, str) else kept if isinstance(kept, dict) else {}
    kept = {seat: specs for seat, specs in kept.items() if seat != MODERATOR}
    seats = [seat for seat in seats if seat != RAPPORTEUR or seat in kept]  # the judge's model takes it
    open_seats = [seat for seat in seats if not model and seat not in typed and _stood_in(kept.get(seat))]
    wanted = {seat: _model(seat, named=seat in kept) for seat in open_seats}
    if not any(wanted.values()):
        return words
    if len({*wanted.values()}) == 1 and set(kept) <= set(open_seats):
        return ["--model", wanted[open_seats[0]], *words]
    return words + [word for seat in open_seats if wanted[seat] for word in (f"--{seat}", wanted[seat])]


def _stood_in(specs: Any) -> bool:
    """Whether an answers file names no model for a seat, or a stand-in."""
    return not specs or any(model_spec.kind(str(spec)) == model_spec.REHEARSE for spec in _listed(specs))


def _model(seat: str, *, named: bool) -> str:
    """The model to name for a seat; empty where `run` finds one itself, which it does unless a stand-in is `named`."""
    try:
        default = discovery.default(seat)
    except BadSettings:
        return _ANY
    return default if named else ""


def _real(spec: str) -> str:
    """The model that a spec stands in for."""
    real = model_spec.real(spec)
    return _ANY if real == model_spec.HOST and spec != model_spec.HOST else real


def _listed(specs: Any) -> list[str]:
    return [*specs] if isinstance(specs, list | tuple) else [specs]
