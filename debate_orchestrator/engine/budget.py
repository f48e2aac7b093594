"""What a debate will cost, and the cap that holds while it runs.

The estimate plays the whole debate in memory with stand-ins that speak at the expected length, and each call is priced
as the real one. What a model was sent in an earlier stage counts as read from the provider's cache. What models think
before they answer, and what a search brings, is not in the estimate.

The cap is checked before each call; running calls and calls of unknown cost count too. The cost of a call is unknown
until its reply is there, and after that if its tokens were not counted. What is expected is the price of its brief and
of a reply of the usual length, with nothing cached; the journal has it in `BriefSent` and beside the reply. A model
that thinks for long may exceed the cap by one call, and no more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from debate_orchestrator.core import schedule
from debate_orchestrator.core.costs import BilledCall, Costs, billed_calls, billed_calls_of, cost_line
from debate_orchestrator.core.events import Event, Opened, Reassigned
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.phases import CLERK, MIRRORED, Phase, Turn
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.core.settings import MAX_COST
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.prompting.reply_code import code_for
from debate_orchestrator.providers import pricing, rehearse
from debate_orchestrator.providers.caching import cache_key
from debate_orchestrator.providers.registry import provider_entry
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import ExternalError, OverBudget, reason
from debate_orchestrator.util.messages import and_joined
from debate_orchestrator.util.numbers import duration, plural

STRUCTURED_REPLY_WORDS = 800
"""Words of a structured reply; those of the shipped debates have 500 to 1,300."""
MAX_TURNS = 400
"""Turns up to which a debate is estimated; the largest that the shipped formats allow has 245.
Every brief holds all earlier speeches, so the work grows with the square of the turns."""
_FIRST_TOKEN_SECONDS = 5.0
"""Seconds until a reply begins. This and the speed of a reply are assumed."""
_TOKENS_PER_SECOND = 35.0


# The estimate


class StandInFailed(Exception):
    """A turn that a stand-in can't take. The cause is the format, which may come from anyone."""

    def __init__(self, turn: Turn, cause: Exception):
        super().__init__(f"a stand-in can't take the turn {turn.id} ({reason(cause)})")
        self.turn, self.cause = turn, cause


def play(
    debate: DebateState, text_for: Callable[[DebateState, Turn], str] = rehearse.reply_for
) -> Iterator[DebateState]:
    """Plays a debate in memory with stand-ins: the state before each stage, and at its end. Raises StandInFailed."""
    while True:
        yield debate
        if not debate.due:
            return
        for turn in debate.due:
            try:
                reply = Reply(text=text_for(debate, turn), brief_digest="", spec=spec_in(debate, turn.seat))
                debate = apply(debate, replies.parse_reply(debate, turn, reply, None))
            except Exception as error:
                raise StandInFailed(turn, error) from error


class CostEstimate(FrozenModel):
    """The expected calls, cost and time of a debate, or of the rest of one."""

    costs: Costs = Costs()
    """A line for each seat and phase with calls; calls that are free count with $0."""
    unpriced_specs: tuple[str, ...] = ()
    """The model specs whose price is unknown, each once."""
    seconds: float = 0.0
    """The longest calls of all stages, added up."""
    has_slow_seats: bool = False
    """Whether the host or a person takes turns too, in their own time."""
    searches: bool = False
    """Whether debaters may search; searches are in none of the numbers."""
    has_people: bool = False
    """Whether a person takes turns; they cost nothing."""
    may_end_early: bool = False
    """Whether the debate ends once there is no new ground, so that the counts are the most there may be."""
    host_turns: int = 0
    """The number of turns that the agent host takes; they are not calls of ours."""
    deriving_model: str = ""
    """The spec of the model that derives the positions first, if one does; its calls are in none of the numbers."""
    not_estimated_because: str = ""
    """The reason that the debate can't be estimated, if it can't, as the end of a sentence. Then all counts are 0."""

    @property
    def calls(self) -> int:
        return self.costs.total.calls

    @property
    def cost(self) -> float:
        """US dollars, of the calls whose price is known."""
        return self.costs.total.cost

    def sentence(self) -> str:
        first = ""
        if self.deriving_model:
            first = f"1 or 2 calls of {model_spec.public_name(self.deriving_model)} to derive the positions; then "
        if self.not_estimated_because:
            return f"{first}not estimated: {self.not_estimated_because}"
        return first + self._summary() + ("; a person's turns cost nothing" if self.has_people else "")

    def _summary(self) -> str:
        at_most = "at most " if self.may_end_early else ""
        hosted = f", and {at_most}{plural(self.host_turns, 'turn')} of the agent host" if self.host_turns else ""
        if not self.calls:
            return f"no calls{hosted}"
        parts = [f"{at_most}{plural(self.calls, 'call')}", f"about {duration(self.seconds)}"]
        if self.has_slow_seats:
            parts[-1] += " and what the other seats take"
        if self.cost:
            money = f"about ${self.cost:.2f}" if self.cost >= 0.01 else "less than $0.01"
            parts.append(f"{money} (prices of {pricing.table().date})")
        elif not self.unpriced_specs:
            parts.append("$0")
        not_counted = ["tokens for thinking"] if self.cost else []
        not_counted += ["searches of the web"] if self.searches else []
        if self.unpriced_specs:
            not_counted.append(f"the calls of {', '.join(self.unpriced_specs)}, whose price is unknown")
        return ", ".join(parts) + hosted + (f", without {and_joined(not_counted)}" if not_counted else "")


def expected_tokens(brief: Brief) -> tuple[int, int]:
    """About how many tokens a brief has, and its reply will have."""
    return sum(_blocks(brief)), pricing.tokens_of_words(brief.target_words or STRUCTURED_REPLY_WORDS)


def _blocks(brief: Brief) -> list[int]:
    """The tokens of each block that is sent. Providers put the schema of a reply before all other blocks."""
    schema = len(json.dumps(brief.json_schema)) if brief.json_schema is not None else 0
    parts = (part for message in brief.messages for part in message.parts)
    return [pricing.tokens(len(brief.system) + schema), *(pricing.tokens(len(part)) for part in parts)]


def cost_before_call(spec: str, brief: Brief, *, batch: bool = False) -> float | None:
    """US dollars that one call may cost with nothing cached, alone or in a batch; None if the price is unknown."""
    return cost_without_cache(spec, *expected_tokens(brief), batch=batch)


def cost_after_call(spec: str, brief: Brief, reply: Reply, *, batch: bool = False) -> float | None:
    """Estimated cost in US dollars of a call whose reply states none: the cost expected before it, or more if the reply
    was longer, with its thinking. Returns None if the price is unknown."""
    input_tokens, output_tokens = expected_tokens(brief)
    usage = reply.usage or Usage(cache_write_5m=input_tokens)
    output = max(output_tokens, usage.output, pricing.tokens(max(reply.received_chars or 0, len(reply.text))))
    received_cost = pricing.cost(spec, usage.model_copy(update={"output": output}), batch=batch)
    minimum = cost_without_cache(spec, input_tokens, output_tokens, batch=batch)
    return min(max(received_cost, minimum), MAX_COST) if received_cost and minimum else minimum


def received_part(spec: str, failure: BaseException, pieces: Iterable[str]) -> Reply | None:
    """What had come of a reply when its call failed, or was given up after these pieces; None if nothing had. Its cost
    is unknown, since the count of its tokens is not final."""
    if isinstance(failure, ExternalError):
        return failure.partial.model_copy(update={"cost": None}) if isinstance(failure.partial, Reply) else None
    text = "".join(pieces)
    return Reply(text=text, brief_digest="", spec=spec) if text.strip() else None


def cost_without_cache(spec: str, input_tokens: int, output_tokens: int, *, batch: bool = False) -> float | None:
    """US dollars of a call with so many tokens and nothing cached; None if the price is unknown."""
    if spec != model_spec.without_rehearse(spec):
        return 0.0  # a stand-in answers, not the model
    return pricing.cost(spec, Usage(cache_write_5m=input_tokens, output=output_tokens), batch=batch)


_PlannedCall = tuple[Turn, str, Usage]


def estimate_debate(
    opened: Opened, later_events: Iterable[Event] = (), *, prices_stand_ins: bool | None = None
) -> CostEstimate:
    """The expected tokens, cost and time of the calls left, from the first event and those since then. With
    `prices_stand_ins` True a stand-in is priced as the model it stands for, with False it costs nothing; None is True
    if stand-ins have every seat but the clerk's."""
    if prices_stand_ins is None:
        prices_stand_ins = model_spec.is_rehearsal(
            {seat: specs for seat, specs in opened.settings.cast.items() if seat != CLERK}
        )
    debate = fold(map(_with_real_cast, [opened, *later_events]) if prices_stand_ins else [opened, *later_events])
    seats_left = schedule.seats_left(debate)
    seated_specs = [spec for seat in debate.active_seats if seat in seats_left for spec in debate.cast[seat]]
    estimate = CostEstimate(
        has_slow_seats=model_spec.HUMAN in seated_specs or model_spec.HOST in seated_specs,
        has_people=model_spec.HUMAN in seated_specs,
        may_end_early=opened.settings.until_no_new_ground,
        searches=opened.settings.search,
    )
    if schedule.max_turns(debate) - len(debate.replies) > MAX_TURNS:
        return estimate.model_copy(update={"not_estimated_because": f"more than {MAX_TURNS} turns are left"})
    try:
        calls, seconds, host_turns = _play(debate)
    except StandInFailed as error:
        return estimate.model_copy(update={"not_estimated_because": str(error)})
    totals = {
        "costs": Costs.of_calls([cost_line(turn, usage, pricing.cost(spec, usage)) for turn, spec, usage in calls]),
        "unpriced_specs": tuple(dict.fromkeys(spec for _, spec, usage in calls if pricing.cost(spec, usage) is None)),
        "seconds": seconds,
        "host_turns": host_turns,
        "searches": estimate.searches and any(not turn.judging for turn, _, _ in calls),
    }
    return estimate.model_copy(update=totals)


def _with_real_cast(event: Event) -> Event:
    """The event with each stand-in in a cast replaced by the model it stands for."""
    if isinstance(event, Opened):
        cast = {seat: tuple(map(model_spec.without_rehearse, specs)) for seat, specs in event.cast.items()}
        return event.with_settings(cast=cast)
    if isinstance(event, Reassigned):
        return event.model_copy(update={"specs": tuple(map(model_spec.without_rehearse, event.specs))})
    return event


def _play(start: DebateState) -> tuple[list[_PlannedCall], float, int]:
    """Plays a debate with stand-ins: its calls in order, the seconds they take, and how many turns the host takes."""
    calls: list[_PlannedCall] = []
    host_turns = 0
    cached: dict[Hashable, int] = {}
    seconds = 0.0
    for debate in play(start):
        host_turns += sum(spec_in(debate, turn.seat) == model_spec.HOST for turn in debate.due)
        stage = [turn for turn in debate.due if model_spec.makes_calls(spec_in(debate, turn.seat))]
        shared: dict[Hashable, int] = {}
        for turn in stage:
            key = cache_key(debate, turn.phase, turn.seat + (MIRRORED if turn.mirrored else ""))
            usage = _expected_usage(debate, turn, cached.get(key, 0))
            calls.append((turn, spec_in(debate, turn.seat), usage))
            shared[key] = usage.cached + usage.cache_write_5m
        cached |= shared  # calls of one stage start together and read nothing of each other
        seconds += max((_seconds(spec_in(debate, turn.seat), turn.phase) for turn in stage), default=0.0)
    return calls, seconds, host_turns


def _seconds(spec: str, phase: Phase) -> float:
    provider = provider_entry(spec)
    if provider is not None and provider.seconds is not None:
        return provider.seconds
    return (
        _FIRST_TOKEN_SECONDS
        + pricing.tokens_of_words(phase.target_words or STRUCTURED_REPLY_WORDS) / _TOKENS_PER_SECOND
    )


def _expected_usage(debate: DebateState, turn: Turn, cached: int) -> Usage:
    """The expected usage of a call; `cached` is the number of tokens at its beginning that an earlier call sent too.
    The last block is never cached."""
    spec = spec_in(debate, turn.seat)
    code = code_for(debate, turn, model_spec.without_rehearse(spec), None)
    turn_brief, price = brief(debate, turn, code=code), pricing.price_of(spec)
    *shared, last = _blocks(turn_brief)
    if price is None or not price.min_cacheable_tokens <= sum(shared) or not price.min_cacheable_tokens:
        usage_sent = Usage(uncached_input=sum(shared) + last)
    else:
        usage_sent = Usage(uncached_input=last, cached=cached, cache_write_5m=max(sum(shared) - cached, 0))
    return usage_sent.model_copy(update={"output": expected_tokens(turn_brief)[1]})


# The cap

_RAISE_CAP = "Raise it with `debate resume JOURNAL --max-cost USD` (none for no cap)."
RUN_AGAIN_HINT = "Run it again with a higher cap: replies that are saved are not paid for twice."


def price_problems(cast: Mapping[str, Iterable[str]]) -> list[str]:
    """A problem if a cap can't be kept with this cast, because the price of a model in it is unknown."""
    specs = dict.fromkeys(spec for seat in cast.values() for spec in seat)
    unknown = [spec for spec in specs if model_spec.makes_calls(spec) and pricing.cost(spec, Usage()) is None]
    if not unknown:
        return []
    hint = "Leave the cap out, or cast models whose prices are known: `debate models` lists them."
    return [f"max_cost: a cap can't be kept with {', '.join(unknown)}, whose price is unknown. {hint}"]


class Budget:
    """The US dollars that a debate has committed, by its events alone, so a resumed debate counts the same."""

    def __init__(self, current: CurrentState, shared_budget: SharedBudget | None = None):
        self._current, self._shared_budget = current, shared_budget

    def check(self, turn_id: str, spec: str, turn_brief: Brief, *, batch: bool = False) -> float | None:
        """The expected cost of a call, alone or in a batch; None if its price is unknown. It counts from the moment
        its `BriefSent` is on record. Raises OverBudget if it would exceed the debate's cap or the shared one."""
        cost = cost_before_call(spec, turn_brief, batch=batch)
        check_max_cost(self._current.state.max_cost, self.committed_cost, turn_id, spec, cost, _RAISE_CAP)
        if self._shared_budget is not None:
            check_max_cost(
                self._shared_budget.max_cost, self._shared_budget.committed_cost, turn_id, spec, cost, RUN_AGAIN_HINT
            )
        return cost

    def committed_cost(self) -> float:
        """US dollars of all calls that were made or are under way. One of unknown cost counts with its estimate."""
        return sum(_cost_of(call) for call in billed_calls(self._current.state))


class SharedBudget:
    """The budget of several debates together: a cap in US dollars, or None for no cap."""

    def __init__(self, max_cost: float | None):
        self.max_cost = max_cost
        self._costs: dict[str, Callable[[], float]] = {}
        """What each debate has committed, by its key."""

    def budget(self, key: str, current: CurrentState) -> Budget:
        """The budget of the debate with that key; it replaces an earlier one of the same debate."""
        budget = Budget(current, self)
        self._costs[key] = budget.committed_cost
        return budget

    def end_budget(self, key: str) -> None:
        """Keeps the amount that a debate has committed. No call may be made in it until `budget` is called again."""
        self.count(key, self._costs[key]())

    def count(self, key: str, cost: float) -> None:
        """Counts so many US dollars for a debate that has no budget."""
        self._costs[key] = lambda: cost

    def committed_cost(self) -> float:
        """US dollars committed by all debates together."""
        return sum(cost() for cost in self._costs.values())


def committed_cost_of(events: Iterable[Event]) -> float:
    """US dollars that count for the calls of events which may make no debate."""
    return sum(map(_cost_of, billed_calls_of(events)))


def check_max_cost(
    max_cost: float | None, committed_cost: Callable[[], float], turn_id: str, spec: str, cost: float | None, hint: str
) -> None:
    """Raises OverBudget if a call of that cost would exceed the cap."""
    if max_cost is None:
        return
    if cost is None:
        raise OverBudget(f"max_cost: a cap can't be kept with {spec}, whose price is unknown. {hint}".rstrip())
    if (spent := committed_cost()) + cost > max_cost:
        raise OverBudget(
            f"max_cost: {turn_id} would cost about ${cost:.4f}; with ${spent:.4f} spent or under way "
            f"that exceeds the cap of ${max_cost:.2f}. {hint}".rstrip()
        )


def _cost_of(call: BilledCall) -> float:
    """The amount that counts for a call. Journals of earlier versions hold no estimates."""
    if call.reply is not None and call.reply.cost is not None:
        return call.reply.cost
    if call.estimated_cost is not None:
        return call.estimated_cost
    return 0.0 if call.reply is None else _min_cost(call.reply)


def _min_cost(reply: Reply) -> float:
    """The least that a reply that broke off has cost. Its output count may be missing, so its text counts too."""
    usage = reply.usage or Usage()
    output = max(usage.output, pricing.tokens(len(reply.text)))
    return pricing.cost(reply.spec, usage.model_copy(update={"output": output})) or 0.0
