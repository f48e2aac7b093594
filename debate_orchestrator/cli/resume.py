"""`debate resume` continues a debate where it stopped, with another cap, cast or time for retries if one is given."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.consent import existing_debate
from debate_orchestrator.cli.driving import drive_to_report, events_problems
from debate_orchestrator.cli.flags import settings_from_flags
from debate_orchestrator.cli.journals import find_journal, is_unfinished
from debate_orchestrator.cli.output import at_terminal
from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import Event, Reassigned
from debate_orchestrator.core.phases import JUDGE, Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import start
from debate_orchestrator.engine.budget import price_problems
from debate_orchestrator.engine.debate import limit_changes, reopening
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.setup.answers import cast_of
from debate_orchestrator.util.errors import BadSettings, DoesNotFit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser, "is not finished")
    flags.add_settings(parser, "max_cost", "cast", "retry_for")
    flags.add_permissions(parser)
    flags.add_trust(parser)
    flags.add_progress(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    arguments.journal = find_journal(arguments.journal, can_continue=is_unfinished)
    with existing_debate(
        arguments.journal, lambda debate: _changes(arguments, debate), trusted=arguments.trust
    ) as session:
        return drive_to_report(session, arguments)


def _changes(arguments: argparse.Namespace, debate: DebateState) -> list[Event]:
    """The events that the flags ask for. Raises BadSettings with every problem."""
    models = settings_from_flags(arguments, "cast").get("cast", {})
    replayed = debate.format.sides if debate.opened.earlier_debate else ()
    if sides := [side for side in replayed if side in models]:
        problem = f"This journal judges an earlier debate again: the speeches of {' and '.join(sides)} are replayed."
        raise DoesNotFit(problem, hint="another model for `--judge`, or `debate judge` where the speeches are now")
    if arguments.model:
        models_for_all = cast_of(debate.format, lambda seat: arguments.model)
        seats = debate.cast.keys() - set(replayed)
        models = {seat: specs for seat, specs in models_for_all.items() if seat in seats} | models
    cast_changes = {seat: tuple(specs) if isinstance(specs, list) else (specs,) for seat, specs in models.items()}
    problems = cast_providers.cast_problems(cast_changes)
    reopened = schedule.turns_to_reopen(debate)
    cast_changes = _in_place_of_failed(debate, cast_changes, reopened)
    cast = {**debate.cast, **cast_changes}
    if cast_changes and debate.complete and not reopened:
        problem = f"This debate is complete; a new model for {' and '.join(cast_changes)} would change nothing."
        raise DoesNotFit(problem, hint="`debate judge` to have other judges judge it again")
    if debate.due or reopened:
        problems += cast_providers.key_problems(cast, flags.permissions_of(arguments))
        seats_left = schedule.seats_left(debate)
        cast_left = {seat: specs for seat, specs in cast.items() if seat in seats_left}
        people = at_terminal(sys.stderr)
        problems += [*start.people_problems(cast_left, people), *events_problems(cast_left, arguments)]
    limits = flags.checked_settings(arguments, debate.format, "max_cost", "retry_for")
    problems += price_problems(cast) if limits.get("max_cost", debate.max_cost) is not None else []
    if problems:
        raise BadSettings(problems)
    changes = [*reopening(debate), *limit_changes(debate, limits)]
    return [*changes, *(Reassigned(seat=seat, specs=specs) for seat, specs in cast_changes.items())]


def _in_place_of_failed(
    debate: DebateState, cast_changes: dict[str, tuple[str, ...]], reopened: Sequence[Turn]
) -> dict[str, tuple[str, ...]]:
    """The same models by seat; one judge that is named for a panel takes the place of those whose replies failed."""
    panel, new_specs = debate.cast.get(JUDGE, ()), cast_changes.get(JUDGE, ())
    turns = reopened or [
        turn for turn in debate.due if debate.failed_calls(turn.id) or debate.rejected_replies(turn.id)
    ]
    failed_seats = {turn.seat for turn in turns}
    if len(new_specs) != 1 or len(panel) < 2 or not failed_seats & {*debate.judges}:
        return cast_changes
    pairs = zip(debate.judges, panel, strict=True)
    return cast_changes | {JUDGE: tuple(new_specs[0] if seat in failed_seats else spec for seat, spec in pairs)}
