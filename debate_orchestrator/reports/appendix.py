"""How a debate was set up, to the last detail: what a reader needs who wants to check it, or to hold it again."""

from __future__ import annotations

from collections.abc import Iterator

from debate_orchestrator import casts
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.values import Value
from debate_orchestrator.reports.provenance import arguing


class Appendix(Value):
    """The particulars of a debate."""

    cast: tuple[tuple[str, str], ...] = ()
    """The name of each seat, and who fills it now."""
    models: tuple[tuple[str, str], ...] = ()
    """The name of each seat, and the models that said they answered; seats of which nobody said are left out."""
    settings: tuple[tuple[str, str], ...] = ()
    """What was settled before the first word, each with its value, in plain words."""
    context: tuple[str, ...] = ()
    """The files that speakers could draw on."""
    prompts: tuple[tuple[str, str], ...] = ()
    """Template to the sha256 of its text."""
    version: str = ""
    """Of the program that opened it."""


def appendix(debate: Debate) -> Appendix:
    """The particulars of a debate as they stand on record."""
    opened, name_of = debate.opened, debate.format.name_of
    models: dict[str, dict[str, None]] = {}
    for turn in debate.settled():
        model = debate.reply(turn).model
        models.setdefault(name_of(turn.seat), {}).update({model: None} if model else {})
    return Appendix(
        cast=tuple((name_of(seat), ", ".join(map(casts.shown, debate.cast[seat]))) for seat in debate.format.seated),
        models=tuple((name, ", ".join(which)) for name, which in models.items() if which),
        settings=tuple(_settings(debate)),
        context=tuple(file.name for file in opened.setup.context),
        prompts=tuple(sorted(opened.prompts.items())),
        version=opened.version,
    )


def _settings(debate: Debate) -> Iterator[tuple[str, str]]:
    setup, rules = debate.opened.setup, debate.format
    yield "Format", rules.name
    if rules.round:
        yield "Rounds asked for", str(setup.rounds)
    yield "Strictness", setup.strictness
    if len(arguing(debate)) > 1:
        yield "Spoke first", rules.name_of(setup.first)
    yield "Feedback to the debaters", "on" if setup.feedback else "off"
    yield "Web search", "on" if setup.search else "off"
    if debate.judges:
        yield "Judges", str(len(debate.judges))
        yield "Votes that must count", str(max(1, setup.quorum))
        yield "Sides exchanged for a second vote", "yes" if setup.mirror else "no"
        yield "A vote before the first word", "yes" if setup.blind else "no"
    if debate.max_cost is not None:
        yield "Cap on cost", f"${debate.max_cost:.2f}"
