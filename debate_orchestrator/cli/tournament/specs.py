"""The spec of a tournament from its file and the flags over it, with the user's consent to what the file does."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from debate_orchestrator.cli import consent, flags
from debate_orchestrator.cli.answers_and_flags import cap
from debate_orchestrator.core.phases import CLERK
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadSettings

if TYPE_CHECKING:
    from debate_orchestrator.tournament.folder import Tournament
    from debate_orchestrator.tournament.spec import TournamentSpec

_FLAGS = {
    "tag": ("NAME", "the name of the tournament; part of every debate's id"),
    "topics": ("FILE", "a CSV, JSON or YAML file with id, motion (the sentence that is debated) and category"),
    "sides": ("HOW", "swapped, balanced, random or fixed"),
    "first": ("WHO", "who speaks first: pro, con, balanced, random or both"),
    "format": ("NAME", "`debate formats` lists them; the path of your own, as ./NAME"),
    "rounds": ("N", "rounds of each debate"),
    "repetitions": ("N", "how often each debate is run"),
    "panel": ("N", "judges of each debate"),
    "seed": ("N", "the seed of the random choices"),
}
_NUMBERS = ("rounds", "repetitions", "panel", "seed")


def add_spec(parser: argparse.ArgumentParser) -> None:
    """The file of a spec, and the flags that override it."""
    parser.add_argument("spec", metavar="SPEC", help="a YAML or JSON file; `debate tournament new` writes one")
    for name, (metavar, about) in _FLAGS.items():
        kind = flags.whole_number if name in _NUMBERS else str
        parser.add_argument(f"--{name}", metavar=metavar, type=kind, help=about)
    parser.add_argument("--max-cost", metavar="USD", help="what all debates may cost together, or none")
    parser.add_argument("--rehearse", action="store_true", help="use stand-ins that call no model")
    flags.add_trust(parser)


def read_spec(arguments: argparse.Namespace) -> TournamentSpec:
    """The spec that file and flags make. The user has consented to what comes from the file. BadSettings with every
    problem."""
    from debate_orchestrator.formats.source import is_path
    from debate_orchestrator.tournament.spec_file import parse_spec

    from_file = read_mapping(arguments.spec)
    from_flags = {name: value for name in _FLAGS if (value := getattr(arguments, name)) is not None}
    folder = os.path.dirname(arguments.spec)
    risks_found = _risks(from_file, from_flags, folder, rehearse=arguments.rehearse)
    # Before anything that the file names is read, since what is wrong with that would be told in its words.
    consent.agree(consent.source_of_file(arguments.spec), risks_found, trusted=arguments.trust)
    for name in ("topics", "format"):
        if isinstance(from_flags.get(name), str) and (name == "topics" or is_path(from_flags[name])):
            # What is typed is relative to here.
            from_flags[name] = os.path.abspath(os.path.expanduser(from_flags[name]))
    values: dict[str, Any] = {**from_file, **from_flags}
    if panel := values.pop("panel", None):
        judges = from_file.get("judges")
        values["judges"] = {**(judges if isinstance(judges, dict) else {"from": judges}), "panel": panel}
    if arguments.max_cost is not None:
        values["max_cost"] = cap(arguments.max_cost)
    return parse_spec(values, folder, rehearse=arguments.rehearse)


def _risks(from_file: dict[str, Any], from_flags: dict[str, Any], folder: str, *, rehearse: bool) -> tuple[Risk, ...]:
    """The risks of a spec file, except for keys that flags replace."""
    from debate_orchestrator.tournament.spec_file import DEFAULT_FORMAT, in_folder

    judges = from_file.get("judges")
    pool = judges.get("from") if isinstance(judges, dict) else judges
    cast = {} if rehearse else {"models": _specs(from_file.get("models")), "judges": _specs(pool)}
    settings: dict[str, Any] = {"cast": cast}
    if isinstance(topics := from_file.get("topics"), str) and "topics" not in from_flags:
        settings["context"] = os.path.join(folder, os.path.expanduser(topics))
    settings["format"] = in_folder(from_file.get("format", DEFAULT_FORMAT), folder)
    renamed = {"context": "topics"}
    risks_found = risks.of_settings(settings, from_flags.get("format"))
    risks_found = tuple(risk.model_copy(update={"where": renamed.get(risk.where, risk.where)}) for risk in risks_found)
    return risks_found


def _specs(value: Any) -> list[str]:
    specs = [
        model.get("spec") if isinstance(model, dict) else model for model in (value if isinstance(value, list) else [])
    ]
    return [spec for spec in specs if isinstance(spec, str)]


def agree_to_folder(tournament: Tournament, *, trusted: bool) -> None:
    """Asks for consent to the risks of the frozen spec in a folder and of its journals: the folder may come from
    elsewhere."""
    consent.agree(_source(tournament), folder_risks(tournament), trusted=trusted)


def remember(tournament: Tournament) -> None:
    """Remembers a folder whose spec the user agreed to or typed."""
    consent.remember(_source(tournament), folder_risks(tournament))


def folder_risks(tournament: Tournament, *, remote: bool = False) -> list[Risk]:
    """What a frozen spec does besides debates. A clerk looks up the pages that speeches in the journals cite, and those
    may be a stranger's. A `remote` spec is one of a database."""
    from debate_orchestrator.tournament.folder import DEBATES
    from debate_orchestrator.tournament.spec import is_shipped

    spec = tournament.spec
    # What looks pages up has no place among a tournament's models: the format alone says whether there is a clerk.
    has_clerk = CLERK in spec.loaded_format.active_seats()
    cast = {**spec.everyone, CLERK: (model_spec.FETCH,) if has_clerk else ()}
    risks_found = list(risks.of_settings({**spec.settings, "cast": cast}, remote=remote))
    if has_clerk:
        risks_found.append(Risk(kind="pages", where=DEBATES, what="every address that its journals cite"))
    if not is_shipped(spec):
        risks_found += risks.of_prompts(spec.loaded_format, spec.templates)
    return risks_found


def _source(tournament: Tournament) -> consent.Source:
    from debate_orchestrator.tournament.folder import SPEC, identity

    return consent.source_of_tournament(os.path.join(tournament.folder, SPEC), identity(tournament.spec))


def concurrency(text: str) -> int:
    """The value of --at-once."""
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= 10_000:
        return int(text)
    raise BadSettings(f"--at-once must be a number from 1 to 10,000, and not {text!r}.")
