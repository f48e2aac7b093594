"""What calls will cost, told before they are made.

A whole debate is played in memory with stand-ins as long as real speakers are expected to be, its calls are
put to a model of the provider's cache, and each is priced as the real one. It is an estimate: nobody knows
yet what will be said, how much a model thinks before it speaks, or what a search brings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from debate_orchestrator.core.costs import CostLine, Costs
from debate_orchestrator.core.events import Event, Opened, Reply, Usage
from debate_orchestrator.core.phases import MIRRORED, Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.providers import pricing, rehearse
from debate_orchestrator.providers.caching import (
    TO_BEGIN,
    CachePlan,
    Call,
    cache_plans,
    counted,
    family,
    filler,
    placed_marks,
    seconds,
)
from debate_orchestrator.util import model_spec

LETTERS = 6
"""Characters that a word of a speech takes, with its space."""
BALLOT_WORDS = 800
"""Words that a structured reply is expected to have; those of the shipped debates have 500 to 1,300."""


MOST_TURNS = 400
"""Turns of a debate that is still played to be estimated: the largest that can be set up in a shipped format has 245.
Every brief holds all that was said before it, so that the work grows with their square."""


class Estimate(Value):
    """What a debate, or the rest of one, is expected to take."""

    bill: Costs
    """A line for each seat and phase that calls somebody; what is free is called too, and costs nothing."""
    unknown: tuple[str, ...]
    """Who is called at a price that nobody knows, each once."""
    seconds: float
    """Of the longest calls of each stage, one after the other."""
    waits: bool
    """Whether there are turns besides that the host or a person takes, in their own time."""
    searches: bool
    """Whether debaters may search, which is in none of the numbers."""
    persons: bool = False
    """Whether a person takes turns, which cost nothing."""
    too_long: bool = False
    """Whether the debate has too many turns left to be estimated; then it counts nothing."""

    @property
    def calls(self) -> int:
        return self.bill.total.calls

    @property
    def tokens(self) -> Usage:
        return self.bill.total.usage

    @property
    def cost(self) -> float:
        """US dollars, of the calls whose price is known."""
        return self.bill.total.cost

    def said(self) -> str:
        """The estimate in a line."""
        if self.too_long:
            return f"not estimated: more than {MOST_TURNS} turns are left"
        return self._said() + ("; a person's turns cost nothing" if self.persons else "")

    def _said(self) -> str:
        if not self.calls:
            return "no calls"
        said = [self._calls(), f"about {_duration(self.seconds)}"]
        if self.waits:
            said[-1] += " and what the other seats take"
        if self.cost:
            said.append(f"{self._money()} (prices of {pricing.table().date})")
        elif not self.unknown:
            said.append("$0")
        besides = ["what models think"] if self.cost else []
        besides += [f"{', '.join(self.unknown)}, whose price is unknown"] if self.unknown else []
        besides += ["searches of the web"] if self.searches else []
        return ", ".join(said) + (f"; not counted: {'; '.join(besides)}" if besides else "")

    def short(self) -> str:
        """Its calls, minutes and money in a few words."""
        if self.too_long:
            return "not estimated"
        if not self.calls:
            return "no calls"
        money = self._money() if self.cost else "" if self.unknown else "$0"
        money += f"{' and ' if money else ''}an unknown price" if self.unknown else ""
        return f"{self._calls()}, about {_duration(self.seconds)}, {money}"

    def _calls(self) -> str:
        return f"{self.calls} call{'s' * (self.calls != 1)}"

    def _money(self) -> str:
        return f"about ${self.cost:.2f}" if self.cost >= 0.01 else "less than $0.01"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.0f} h"


def sizes(brief: Brief) -> tuple[int, int]:
    """About how many tokens a brief has, and how many its answer will have."""
    return sum(_blocks(brief)), pricing.tokens("x" * LETTERS * (brief.words or BALLOT_WORDS))


def _blocks(brief: Brief) -> list[int]:
    """The tokens of each block that is sent; what a reply must look like goes before all of them."""
    schema = json.dumps(brief.json_schema) if brief.json_schema is not None else ""
    parts = [part for message in brief.messages for part in message.parts]
    return [pricing.tokens(brief.system + schema), *map(pricing.tokens, parts)]


def expected(spec: str, brief: Brief) -> float | None:
    """US dollars that one call may cost if nothing of it is cached yet; None where no price is known."""
    if spec != model_spec.real(spec):
        return 0.0  # the stand-in is asked, and not the model
    sent, answered = sizes(brief)
    return pricing.cost(spec, Usage(written=sent, output=answered))


class _Made(NamedTuple):
    """A call that would be made."""

    turn: Turn
    spec: str
    cache: Call
    output: int


def estimate(opened: Opened, given: Iterable[Event] = ()) -> Estimate:
    """What a debate will take from its opening on, or from the events that are on record since: those of the
    calls that are still to be made. Rehearsed seats count as those for whom they stand in."""
    debate = DebateState([opened, *given])
    debate.cast = {seat: tuple(model_spec.real(spec) for spec in specs) for seat, specs in debate.cast.items()}
    seated = [spec for seat in debate.format.seated for spec in debate.cast[seat]]
    persons = model_spec.HUMAN in seated
    waits = persons or model_spec.HOST in seated
    searches = opened.setup.search
    if debate.most_turns() - len(debate.answers) > MOST_TURNS:
        return Estimate(
            bill=Costs(), unknown=(), seconds=0, waits=waits, persons=persons, searches=searches, too_long=True
        )
    made, took = _played(debate)
    lines: dict[tuple[str, str], CostLine] = {}
    unknown: dict[str, None] = {}
    for one, sent in zip(made, counted((one.cache for one in made), pricing.table().cache), strict=True):
        usage = sent.model_copy(update={"output": one.output})
        cost = pricing.cost(one.spec, usage)
        unknown |= {} if cost is not None else {one.spec: None}
        seat, phase = one.turn.seat, one.turn.phase.name
        line = CostLine(seat=seat, phase=phase, calls=1, usage=usage, cost=cost or 0.0, unknown=int(cost is None))
        lines[seat, phase] = lines.get((seat, phase), CostLine(seat=seat, phase=phase)) + line
    searches = searches and any(not one.turn.judging for one in made)
    bill = Costs(lines=tuple(lines.values()))
    return Estimate(bill=bill, unknown=tuple(unknown), seconds=took, waits=waits, persons=persons, searches=searches)


def _played(debate: DebateState) -> tuple[list[_Made], float]:
    """The calls of a debate played to its end with stand-ins, as they start, and the seconds that they take."""
    planned = cache_plans(debate)
    made: list[_Made] = []
    clock = took = 0.0
    while due := debate.due():
        stage = _together(debate, due, planned, clock)
        made += sorted(stage, key=lambda one: one.cache.start)
        ends = [one.cache.start + seconds(one.spec, one.turn.phase) for one in stage]
        took += max(ends, default=clock) - clock
        others = [clock + seconds(filler(debate, turn.seat), turn.phase) for turn in due]
        for turn in due:
            text = rehearse.said(debate, turn)
            debate.take(replies.parse_reply(debate, turn, Reply(text=text, brief="", by=rehearse.KIND)))
        clock = max([*ends, *others])
    return made, took


def _together(debate: DebateState, due: tuple[Turn, ...], planned: dict[str, CachePlan], clock: float) -> list[_Made]:
    """The calls of a stage that begins at `clock`. Where the debate asks for that, those that share a beginning
    start when the first of them is answered."""
    made: list[_Made] = []
    leads: set[tuple[str, str, bool]] = set()
    for turn in due:
        spec = filler(debate, turn.seat)
        if not model_spec.is_called(spec):
            continue
        asked, known = brief(debate, turn), pricing.known(spec)
        blocks = _blocks(asked)
        lead = (spec, turn.phase.reply, turn.mirrored)
        start = clock + TO_BEGIN if debate.opened.leader_first and known and lead in leads else clock
        leads.add(lead)
        # The system text is the first block; the last is the call's own.
        plan = planned[turn.id] if known and known.least else CachePlan()
        marked = tuple(place + 1 for place in placed_marks(plan, debate, len(blocks) - 1))
        least = known.least if known else 0
        shared = family(debate, turn.phase, turn.seat + (MIRRORED if turn.mirrored else ""))
        cache = Call(shared, tuple(blocks), marked, plan.hour, start, start + TO_BEGIN, least)
        made.append(_Made(turn, spec, cache, sizes(asked)[1]))
    return made
