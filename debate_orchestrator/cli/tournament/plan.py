"""`debate tournament plan`: shows and writes the schedule of a spec, and says what it takes."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import print_json, remark, say
from debate_orchestrator.cli.tournament import specs
from debate_orchestrator.util.commands import command

if TYPE_CHECKING:
    from debate_orchestrator.tournament.forecast import Forecast
    from debate_orchestrator.tournament.plan import ScheduledDebate
    from debate_orchestrator.tournament.spec import Spec

EXAMPLE = "debate tournament plan spring.yaml"
SHOWN = 20
"""Debates of a schedule that are printed, unless it is written to a file."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    specs.add_spec(parser)
    parser.add_argument("--to", metavar="FILE", help="write the whole schedule there, as JSON")
    parser.add_argument("--batch", action="store_true", help="what it costs in batches, as `run --batch` runs it")
    parser.add_argument("--at-once", metavar="N", default="50", help="debates at the same time; 50 by default")
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the plan. Nothing is called."""
    from debate_orchestrator.storage.files import write_over
    from debate_orchestrator.tournament import folder
    from debate_orchestrator.tournament.forecast import forecast
    from debate_orchestrator.tournament.plan import make_schedule
    from debate_orchestrator.tournament.spec import unlisted

    at_once = specs.at_once(arguments.at_once)
    spec = specs.read_spec(arguments)
    schedule = make_schedule(spec)
    expected = forecast(spec, schedule, at_once, batch=arguments.batch)
    plain = [debate.model_dump(mode="json") for debate in schedule]
    if arguments.to:
        text = folder.schedule_text(schedule)
        if kept := write_over(arguments.to, text, folder.SCHEDULE_BEGINS, "a schedule"):
            remark(f"The schedule that was there is kept as {kept}.")
    if arguments.json:
        print_json({**forecast_json(expected), "notes": unlisted(spec), "schedule": plain})
        return 0
    for line in schedule_lines(schedule, arguments.to):
        say(line)
    say("")
    for line in forecast_lines(spec, schedule, expected):
        say(line)
    for note in unlisted(spec):
        remark(f"Note: {note}")
    batch = " --batch" if arguments.batch else ""
    remark(f"Run it: `{command('tournament run', arguments.spec)} --to {shlex.quote(spec.tag)}{batch}`.")
    return 0


def forecast_json(expected: Forecast) -> dict[str, Any]:
    """A forecast as plain data."""
    cost, low, high = expected.cost()
    sent, answered = expected.tokens
    return {
        "debates": expected.debates,
        "calls": expected.calls,
        "tokens": {"input": sent, "output": answered},
        "usd": {"expected": round(cost, 4), "low": round(low, 4), "high": round(high, 4)},
        "unknown_prices": expected.unknown,
        "seconds": None if expected.seconds is None else round(expected.seconds),
        "bound_by": expected.bound,
        "models": [
            {
                "model": load.spec,
                "calls": round(load.calls),
                "input": load.usage.input,
                "output": load.usage.output,
                "usd": None if load.cost is None else round(load.cost, 4),
            }
            for load in expected.loads
        ],
    }


def schedule_lines(schedule: Sequence[ScheduledDebate], file: str | None) -> Iterator[str]:
    """The first debates of a schedule, and where the others are."""
    for debate in schedule[:SHOWN]:
        judges = f"; judges {', '.join(debate.judges)}" if debate.judges else ""
        yield f"{debate.id}: {debate.pro} (pro) against {debate.con} (con), {debate.first} first{judges}"
    if file:
        yield f"{len(schedule):,} debates; the whole schedule is in {file}."
    elif len(schedule) > SHOWN:
        yield f"... and {len(schedule) - SHOWN:,} more; --to FILE writes them all."


def forecast_lines(spec: Spec, schedule: Sequence[ScheduledDebate], expected: Forecast) -> Iterator[str]:
    """What a schedule takes, in words."""
    from debate_orchestrator.providers import pricing
    from debate_orchestrator.tournament.progress import duration

    topics = len({debate.topic for debate in schedule})
    yield (
        f"{expected.debates:,} debates: {len(spec.models)} models, {topics} topics, sides {spec.sides}, "
        f"format {spec.format}."
    )
    sent, answered = expected.tokens
    yield f"{expected.calls:,} calls, about {sent:,} tokens sent and {answered:,} answered."
    cost, low, high = expected.cost()
    if cost or not expected.unknown:
        yield (
            f"About ${cost:,.2f}, between ${low:,.2f} (answers half as long) and ${high:,.2f} (answers twice as long, "
            f"nothing read from a cache); prices of {pricing.table().date}."
        )
    if expected.unknown:
        yield f"Not counted, since the price is unknown: {', '.join(expected.unknown)}."
    if expected.sampled:
        yield "Estimated from a part of the casts."
    if expected.seconds is None:
        yield "A batch for each stage of the debates: most take less than an hour, and none more than 24."
    else:
        yield f"About {duration(expected.seconds)}, by {expected.bound}."
    uses = Counter(judge for debate in schedule for judge in debate.judges)
    if uses:
        yield f"Judges: {', '.join(f'{name} {count}' for name, count in uses.most_common())}."
    for load in expected.loads:
        price = "price unknown" if load.cost is None else f"${load.cost:,.2f}"
        yield f"  {load.spec}: {load.calls:,.0f} calls, {load.usage.output:,} tokens answered, {price}"
    if spec.max_cost is not None and high > spec.max_cost:
        yield f"The cap of ${spec.max_cost:,.2f} may be reached before the end; `run` goes on later with a higher one."
