"""The spec of a tournament: from its file and the flags over it, with the user's consent to what the file does. `new`
writes one to start from, `plan` shows its schedule and what it takes, and `add` adds a model to it."""

from __future__ import annotations

import argparse
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from debate_orchestrator.cli import consent, flags
from debate_orchestrator.cli.answers_and_flags import read_max_cost
from debate_orchestrator.cli.output import print_json, print_result, print_status
from debate_orchestrator.core.phases import CLERK
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.answers import number
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import name_of, read_mapping
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.numbers import duration, plural

if TYPE_CHECKING:
    from debate_orchestrator.tournament.folder import Tournament
    from debate_orchestrator.tournament.plan import ScheduledDebate, TournamentEstimate
    from debate_orchestrator.tournament.spec import TournamentSpec

_FLAGS = {
    "tag": ("NAME", "the name of the tournament; part of every debate's id"),
    "topics": ("FILE", "a CSV, JSON or YAML file with id, motion (the sentence that is debated) and category"),
    "sides": ("HOW", "swapped (each pair debates both ways round), balanced, random or fixed"),
    "first": ("WHO", "who speaks first: pro, con, balanced (in turn), random, or both (each debate in both orders)"),
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
    """The spec from the file and the flags, after the user's consent. Raises BadSettings with every problem."""
    from debate_orchestrator.formats.loader import is_path
    from debate_orchestrator.tournament.spec_file import parse_spec

    from_file = read_mapping(arguments.spec)
    from_flags = {name: value for name in _FLAGS if (value := getattr(arguments, name)) is not None}
    folder = os.path.dirname(arguments.spec)
    risks_found = _risks(from_file, from_flags, folder, rehearse=arguments.rehearse)
    # First the consent: a file that the spec names may be quoted in messages once it is read.
    consent.require_consent(consent.source_of_file(arguments.spec), risks_found, trusted=arguments.trust)
    for name in ("topics", "format"):
        if isinstance(from_flags.get(name), str) and (name == "topics" or is_path(from_flags[name])):
            # What is typed is relative to here.
            from_flags[name] = os.path.abspath(os.path.expanduser(from_flags[name]))
    values: dict[str, Any] = {**from_file, **from_flags}
    if panel := values.pop("panel", None):
        judges = from_file.get("judges")
        values["judges"] = {**(judges if isinstance(judges, dict) else {"from": judges}), "panel": panel}
    if arguments.max_cost is not None:
        values["max_cost"] = read_max_cost(arguments.max_cost)
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
    found, renamed = risks.of_settings(settings, from_flags.get("format")), {"context": "topics"}
    return tuple(risk.model_copy(update={"where": renamed.get(risk.where, risk.where)}) for risk in found)


def _specs(value: Any) -> list[str]:
    models = value if isinstance(value, list) else []
    specs = [model.get("spec") if isinstance(model, dict) else model for model in models]
    return [spec for spec in specs if isinstance(spec, str)]


def require_consent_to_folder(tournament: Tournament, *, trusted: bool) -> None:
    """Asks for consent to the risks of a folder's spec and journals, which may come from elsewhere."""
    consent.require_consent(_source(tournament), folder_risks(tournament), trusted=trusted)


def remember(tournament: Tournament) -> None:
    """Remembers a folder whose spec the user agreed to or typed."""
    consent.remember(_source(tournament), folder_risks(tournament))


def folder_risks(tournament: Tournament, *, remote: bool = False) -> list[Risk]:
    """The risks of a resolved spec (`remote`: of a database), and of a clerk that looks up what its journals cite."""
    from debate_orchestrator.tournament.folder import DEBATES
    from debate_orchestrator.tournament.spec import is_shipped

    spec = tournament.spec
    # What looks pages up has no place among a tournament's models: the format alone says whether there is a clerk.
    has_clerk = CLERK in spec.loaded_format.active_seats()
    cast = {**spec.whole_cast, CLERK: (model_spec.FETCH,) if has_clerk else ()}
    risks_found = list(risks.of_settings({**spec.settings, "cast": cast}, remote=remote))
    if has_clerk:
        risks_found.append(Risk(kind="pages", where=DEBATES, what="every address that its journals cite"))
    if not is_shipped(spec):
        risks_found += risks.of_prompts(spec.loaded_format, spec.templates)
    return risks_found


def _source(tournament: Tournament) -> consent.ConsentSource:
    from debate_orchestrator.tournament.folder import SPEC, identity

    return consent.source_of_tournament(os.path.join(tournament.folder, SPEC), identity(tournament.spec))


def concurrency(text: str) -> int:
    """The value of --concurrency."""
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= 10_000:
        return int(text)
    raise BadSettings(f"--concurrency must be a number from 1 to 10,000, not {text!r}.")


_FILE = "tournament.yaml"
_SHOWN = 20
"""Debates of a schedule that are printed, unless it is written to a file."""


def new_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", default=_FILE, help=f"the file to write; {_FILE} by default")


def new(arguments: argparse.Namespace) -> int:
    """Writes the file, and says what to do with it."""
    from debate_orchestrator.storage.files import write_new
    from debate_orchestrator.tournament.spec_file import sample

    write_new(arguments.file, sample())
    print_result(f"{name_of(arguments.file)} is written.")
    print_status(f"What it takes: `{command('tournament plan', arguments.file)}`.")
    print_status(f"To rehearse it without a model: `{command('tournament run', arguments.file)} --rehearse`.")
    return 0


def plan_arguments(parser: argparse.ArgumentParser) -> None:
    add_spec(parser)
    parser.add_argument("--to", metavar="FILE", help="write the whole schedule there, as JSON")
    parser.add_argument("--batch", action="store_true", help="estimate the cost with `run --batch`")
    parser.add_argument("--concurrency", metavar="N", default="50", help="debates at the same time; 50 by default")
    flags.add_json(parser)


def plan(arguments: argparse.Namespace) -> int:
    """Prints the plan. Nothing is called."""
    from debate_orchestrator.storage.files import write_over
    from debate_orchestrator.tournament.folder import are_reports_read_as_instructions
    from debate_orchestrator.tournament.plan import SCHEDULE_PREFIX, estimate_tournament, make_schedule, schedule_text
    from debate_orchestrator.tournament.spec import price_notes

    max_debates = concurrency(arguments.concurrency)
    spec = read_spec(arguments)
    schedule = make_schedule(spec)
    expected = estimate_tournament(spec, schedule, max_debates, batch=arguments.batch)
    if arguments.to and (path_kept := write_over(arguments.to, schedule_text(schedule), SCHEDULE_PREFIX, "a schedule")):
        print_status(f"The schedule that was there is kept as {path_kept}.")
    if arguments.json:
        plain = [scheduled.model_dump(mode="json") for scheduled in schedule]
        print_json({**_estimate_json(expected), "notes": price_notes(spec), "schedule": plain})
        return 0
    print_result(*_schedule_lines(spec, schedule, arguments.to), "", *_estimate_lines(spec, schedule, expected))
    for note in price_notes(spec):
        print_status(f"Note: {note}")
    batch = " --batch" if arguments.batch else ""
    to = "DIR" if are_reports_read_as_instructions(spec.tag) else shlex.quote(spec.tag)
    where = " --rehearse" if arguments.rehearse else f" --to {to}"
    given = [(name, value) for name in (*_FLAGS, "max_cost") if (value := getattr(arguments, name)) is not None]
    overrides = "".join(f" --{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in given)
    print_status(f"Run it: `{command('tournament run', arguments.spec)}{overrides}{where}{batch}`.")
    return 0


def _estimate_json(expected: TournamentEstimate) -> dict[str, Any]:
    input_tokens, output_tokens = expected.tokens
    return {
        "debates": expected.debates,
        "calls": expected.calls,
        "tokens": {"input": input_tokens, "output": output_tokens},
        "usd": {name: round(dollars, 4) for name, dollars in expected.cost._asdict().items()},
        "unknown_prices": expected.unpriced_models,
        "seconds": None if expected.seconds is None else round(expected.seconds),
        "bound_by": expected.bound,
        "models": [
            {
                "model": estimate.model,
                "calls": round(estimate.calls),
                "input": estimate.usage.input,
                "output": estimate.usage.output,
                "usd": None if estimate.cost is None else round(estimate.cost.expected, 4),
            }
            for estimate in expected.models
        ],
    }


def _schedule_lines(spec: TournamentSpec, schedule: Sequence[ScheduledDebate], file: str | None) -> Iterator[str]:
    """The first debates of a schedule, and where the others are."""
    for scheduled in schedule[:_SHOWN]:
        judges = f"; judges {', '.join(scheduled.judges)}" if scheduled.judges else ""
        order = (
            "in the one order of the format" if spec.loaded_format.has_no_first_speaker else f"{scheduled.first} first"
        )
        yield f"{scheduled.id}: {scheduled.pro} (pro) against {scheduled.con} (con), {order}{judges}"
    if file:
        yield f"{len(schedule):,} debates; the whole schedule is in {name_of(file)}."
    elif len(schedule) > _SHOWN:
        yield f"... and {len(schedule) - _SHOWN:,} more; --to FILE writes them all."


def _estimate_lines(
    spec: TournamentSpec, schedule: Sequence[ScheduledDebate], expected: TournamentEstimate
) -> Iterator[str]:
    from debate_orchestrator.providers import pricing

    topics = plural(len({scheduled.topic_id for scheduled in schedule}), "topic")
    debates, models = plural(expected.debates, "debate"), plural(len(spec.models), "model")
    yield f"{debates}: {models}, {topics}, sides {spec.sides}, format {spec.format}."
    input_tokens, output_tokens = expected.tokens
    yield f"{expected.calls:,} calls, about {input_tokens:,} input and {output_tokens:,} output tokens."
    cost, low, high = expected.cost
    if cost or not expected.unpriced_models:
        yield (
            f"About ${cost:,.2f}, between ${low:,.2f} (answers half as long) and ${high:,.2f} (answers twice as long, "
            f"nothing read from a cache); prices of {pricing.table().date}."
        )
    if expected.unpriced_models:
        yield f"Not counted, since the price is unknown: {', '.join(expected.unpriced_models)}."
    if expected.sampled:
        yield "Estimated from a random sample of the debates."
    if expected.seconds is None:
        yield "A batch for each stage of the debates: most take less than an hour, and none more than 24."
    else:
        yield f"About {duration(expected.seconds)}, limited by {expected.bound}."
    uses = Counter(judge for scheduled in schedule for judge in scheduled.judges)
    if uses:
        yield f"Judges: {', '.join(f'{name} {count}' for name, count in uses.most_common())}."
    for estimate in expected.models:
        price = "price unknown" if estimate.cost is None else f"${estimate.cost.expected:,.2f}"
        yield f"  {estimate.model}: {estimate.calls:,.0f} calls, {estimate.usage.output:,} output tokens, {price}"
    if spec.max_cost is not None and high > spec.max_cost:
        yield f"The cap of ${spec.max_cost:,.2f} may be reached before the end; `run` goes on later with a higher one."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the tournament's folder")
    parser.add_argument("model", metavar="MODEL", help="the model that is added")
    parser.add_argument("--name", metavar="NAME", help="its name in the tournament; MODEL by default")
    parser.add_argument("--price", metavar="IN,OUT", help="US dollars per million tokens, if the price is unknown")
    parser.add_argument("--rehearse", action="store_true", help="let a stand-in take its place")
    flags.add_trust(parser)


def add(arguments: argparse.Namespace) -> int:
    """Adds its debates to the schedule, and runs none."""
    from debate_orchestrator.tournament import folder
    from debate_orchestrator.tournament.spec import model_of, stand_in

    price = None if arguments.price is None else _price(arguments.price)
    given = {"spec": arguments.model, "name": arguments.name, "price": price}
    row = {key: value for key, value in given.items() if value is not None}
    model = stand_in(model_of(row)) if arguments.rehearse else model_of(row)
    with folder.lock(arguments.folder):
        tournament = folder.load(arguments.folder)
        require_consent_to_folder(tournament, trusted=arguments.trust)
        before = len(tournament.schedule)
        tournament = folder.add_model(tournament, model)
        remember(tournament)
    print_result(f"{model.name} is added: {len(tournament.schedule) - before:,} more debates.")
    print_status(f"Run them: `{command('tournament resume', arguments.folder)}`.")
    return 0


def _price(text: str) -> Any:
    """The price that a flag gives, or its text for a later check to refuse."""
    parts = [number(part) for part in text.split(",")]
    return {"input": parts[0], "output": parts[1]} if len(parts) == 2 else text
