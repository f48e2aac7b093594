"""The names of models in the rows of a folder of journals: which spec goes by which name, in which seat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from debate_orchestrator.core.events import Declined, Opened, Reassigned, Spoke, StructuredReplyGiven
from debate_orchestrator.core.phases import JUDGE, judge_seats
from debate_orchestrator.storage.journal_lines import Entry
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.plan import ScheduledDebate
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.sanitize import quoted

REPLIES = (Spoke, StructuredReplyGiven, Declined)
"""The events that hold a reply."""
Journals = Mapping[str, Sequence[Entry]]
"""The path of each journal to its lines, in the order in which they were begun."""
_MAX_LISTED = 100
"""Journals that one note names."""


def names_by_spec(tournament: Tournament | None, journals: Journals) -> dict[str, str]:
    """Every real model spec of these debates to its name: the one that the tournament gives it, or the spec as reports
    show it, with a number if it is a program that was run with other arguments too. Programs are numbered in the order
    in which their debates were begun, so that debates that are added later change no name."""
    models = (*tournament.spec.judges.pool, *tournament.spec.models) if tournament else ()
    names = {model_spec.without_rehearse(model.spec): model.name for model in models}
    return model_spec.public_names(_first_journals(journals), names)


def _first_journals(journals: Journals) -> dict[str, str]:
    """Every real model spec to the first of these journals in which it was cast or replied. Of one journal, those that
    were cast come first."""
    first = dict[str, str]()
    for path, lines in journals.items():
        for spec in chain(*final_cast(lines).values(), reply_specs(lines).values()):
            first.setdefault(model_spec.without_rehearse(spec), path)
    return first


def numbering_notes(names: Mapping[str, str], journals: Journals) -> Iterator[str]:
    """A sentence on the programs that are numbered, if any are."""
    first_journals = _first_journals(journals)
    shown = {spec: model_spec.public_name(spec) for spec in first_journals}
    numbered = {shown[spec] for spec in first_journals if names[spec].startswith(f"{shown[spec]} (")}
    examples = [
        f"{quoted(names[spec])} (first in {name_of(path)})"
        for spec, path in first_journals.items()
        if shown[spec] in numbered and names[spec].startswith(shown[spec])
    ]
    if examples:
        order = "in the order in which their debates say that they were begun"
        yield f"Programs of one name with different arguments or paths are numbered {order}: {listed(examples)}."


def spec_names_by_seat(
    tournament: Tournament | None, scheduled: ScheduledDebate | None, names: Mapping[str, str]
) -> dict[str, Mapping[str, str]]:
    """`names` for each side's seat, for each judge's seat, and under JUDGE for every other judge. In a scheduled debate
    one spec may have several names; then the schedule's name holds."""
    if tournament is None or scheduled is None:
        return dict.fromkeys(("a", "b", JUDGE), names)
    specs = {model.name: model_spec.without_rehearse(model.spec) for model in tournament.spec.models}
    pool = {judge.name: model_spec.without_rehearse(judge.spec) for judge in tournament.spec.judges.pool}
    judges = [*scheduled.judges, *scheduled.reserve, *pool]  # the first of a spec's names holds
    names_for_judges = {**names, **{pool[judge]: judge for judge in reversed(judges)}}
    panel = zip(judge_seats(len(scheduled.judges)), scheduled.judges, strict=True)
    return {
        "a": {**names, specs[scheduled.pro]: scheduled.pro},
        "b": {**names, specs[scheduled.con]: scheduled.con},
        JUDGE: names_for_judges,
        **{seat: {**names_for_judges, pool[judge]: judge} for seat, judge in panel},
    }


def final_cast(journal: Sequence[Entry]) -> dict[str, tuple[str, ...]]:
    """Seat to its model specs at the end of a debate, whole."""
    specs: dict[str, tuple[str, ...]] = {}
    for entry in journal:
        if isinstance(entry.event, Opened):
            specs |= entry.event.cast
        elif isinstance(entry.event, Reassigned):
            specs[entry.event.seat] = entry.event.specs
    return specs


def reply_specs(journal: Sequence[Entry]) -> dict[str, str]:
    """Turn to the model spec that took it."""
    replies = (entry.event for entry in journal if isinstance(entry.event, REPLIES))
    return {event.turn_id: event.reply.spec for event in replies if event.reply.spec}


def shown_name(spec: str, names: Mapping[str, str]) -> str:
    """The model behind a spec; of a stand-in, that it is one and for which model."""
    name = names[model_spec.without_rehearse(spec)]
    return f"stand-in for {name}" if model_spec.is_stand_in(spec) else name


def listed(items: Sequence[str]) -> str:
    """What one note names, of which there may be many."""
    more = f" and {len(items) - _MAX_LISTED:,} more" if len(items) > _MAX_LISTED else ""
    return ", ".join(items[:_MAX_LISTED]) + more
