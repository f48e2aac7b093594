"""Judges that share a model, or a vendor, with somebody they judge: models tend to favour what reads like their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from debate_orchestrator import casts
from debate_orchestrator.core.debate import Debate

_SAY_NOTHING = (casts.HOST, casts.REPLAY, casts.HUMAN)
"""Kinds of casts that don't tell who really speaks."""


class _Who(NamedTuple):
    """Who answered for a seat, as far as it is known."""

    specs: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()

    @property
    def vendors(self) -> frozenset[str]:
        return frozenset(filter(None, map(casts.vendor, self.specs)))


def kin(debate: Debate) -> tuple[str, ...]:
    """A sentence for each model and each vendor that a judge shares with sides; none for who is unknown."""
    spoke = _who(debate)
    if debate.opened.course is not None:
        spoke |= {side: _known(who.split(", ")) for side, who in debate.opened.course.speakers.items()}
    return tuple(said for judge in debate.judges if judge in spoke for said in _of(debate, judge, spoke))


def _of(debate: Debate, judge: str, spoke: Mapping[str, _Who]) -> Iterator[str]:
    """What one judge shares."""
    own, names = spoke[judge], debate.format.name_of
    models, vendors = dict[str, list[str]](), dict[str, list[str]]()
    for side in debate.format.sides:
        who = spoke.get(side, _Who())
        if same := sorted(own.specs & who.specs) or sorted(own.models & who.models):
            models.setdefault(same[0], []).append(names(side))
        elif alike := sorted(own.vendors & who.vendors):
            vendors.setdefault(alike[0], []).append(names(side))
    for spec, sides in models.items():
        what = "program" if casts.kind(spec) == casts.COMMAND else "model"
        yield f"{names(judge)} is the same {what} as {' and '.join(sides)}: {casts.shown(spec)}."
    for vendor, sides in vendors.items():
        yield f"{names(judge)} is a model of the same vendor as {' and '.join(sides)}: {vendor}."


def _who(debate: Debate) -> dict[str, _Who]:
    """Seat to those who answered for it."""
    found: dict[str, _Who] = {}
    for turn in debate.settled():
        reply, before = debate.reply(turn), found.get(turn.seat, _Who())
        one = _known([reply.by], [reply.model] if casts.is_called(reply.by) else [])
        found[turn.seat] = _Who(before.specs | one.specs, before.models | one.models)
    return found


def _known(specs: Iterable[str], models: Iterable[str | None] = ()) -> _Who:
    real = (casts.real(spec) for spec in specs)
    named = frozenset(spec for spec in real if ":" in spec and casts.kind(spec) not in _SAY_NOTHING)
    return _Who(named, frozenset(model for model in models if model))
