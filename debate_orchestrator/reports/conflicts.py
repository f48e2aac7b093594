"""Conflicts of interest: the judges that share a model or a vendor with a side."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from debate_orchestrator.core import schedule
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports.provenance import by_seat, public_names_of
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.sanitize import quoted


def conflicts_of_interest(debate: DebateState, *, with_servers_names: bool = True) -> tuple[str, ...]:
    """A sentence for each side with which a judge shares its model, or else its vendor; none for unknown speakers. Who
    spoke in an earlier debate is said by its file alone, and a transcript names whom its author likes. Without
    `with_servers_names` no sentence repeats a name that only a server gives its model."""
    asked = {debate.reply(turn).spec for turn in schedule.turns_taken(debate)}
    stated = by_seat(debate, lambda reply: (reply.spec, model_spec.answered_spec(reply.spec, reply.model)))
    names = by_seat(debate, lambda reply: (model_spec.answered_name(reply.spec, reply.model),))
    speakers = {seat: _known_speakers(specs) for seat, specs in stated.items()}
    by_whom = ""
    if (earlier := debate.opened.earlier_debate) is not None:
        by_whom = f", by what {quoted(earlier.source)} says"
        speakers |= {
            side: _known_speakers((*earlier.former_speakers.get(side, ()), *text.split(", ")))
            for side, text in earlier.speakers.items()
        }
    conflicts: list[str] = []
    for judge, side in product(debate.judges, debate.format.sides):
        judge_models, side_models = (speakers.get(seat, frozenset()) for seat in (judge, side))
        judge_name, side_name = debate.format.name_of(judge), debate.format.name_of(side)
        vendors = {*map(model_spec.vendor, judge_models)} & {*map(model_spec.vendor, side_models)} - {""}
        if shared_models := sorted(judge_models & side_models, key=lambda spec: (spec not in asked, spec)):
            what = "program" if model_spec.kind(shared_models[0]) == model_spec.COMMAND else "model"
            shared = f"the same {what} as {side_name}{by_whom}"
            by_server = not by_whom and shared_models[0] not in asked
            name = public_names_of(debate).get(shared_models[0]) or model_spec.public_name(shared_models[0])
        elif shared_names := sorted({*names.get(judge, ())} & {*names.get(side, ())}):
            shared, name, by_server = f"the same model as {side_name}, as their servers say", shared_names[0], True
        elif vendors:
            shared, name = f"a model of the same vendor as {side_name}{by_whom}", min(vendors)
            by_server = name not in map(model_spec.vendor, asked)
        else:
            continue
        shown = f": {quoted(name)}" if with_servers_names or not by_server else ""
        conflicts.append(f"{judge_name} is {shared}{shown}.")
    return tuple(conflicts)


def _known_speakers(names: Iterable[str]) -> frozenset[str]:
    """The models and programs among them. Hosts, recordings and people tell no model, and stand-ins are none."""
    return frozenset(filter(model_spec.makes_calls, names))
