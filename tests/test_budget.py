"""An estimate plays the debate before any model is called, and prices every call as the real one; a cap counts what the
journal holds: every call under way, and every reply of unknown cost."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import debates
import pytest
from debates import opened_event, play_events
from hypothesis import given
from hypothesis import strategies as st
from speakers import Speaker, take_turns

from debate_orchestrator.core import schedule
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import (
    BriefSent,
    CallFailed,
    Event,
    Opened,
    Reassigned,
    Rejected,
    Reopened,
    Spoke,
)
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.phases import JUDGE, Turn
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import start
from debate_orchestrator.engine.budget import (
    Budget,
    SharedBudget,
    cost_before_call,
    estimate_debate,
    expected_tokens,
    price_problems,
)
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.providers import pricing, rehearse
from debate_orchestrator.providers.provider import OnPiece
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import DoesNotFit, OverBudget, Paused

SONNET, OPUS = "anthropic:claude-sonnet-5-5", "anthropic:claude-opus-5-5"
FIRST = "1.opening.a"


def capped(cap: float | None) -> tuple[DebateState, Brief, float]:
    """A debate with a cap, its first brief, and what a call for that is expected to cost."""
    debate = fold([debates.opened_event(rounds=1).with_settings(max_cost=cap)])
    asked = brief(debate, debate.due[0])
    price = cost_before_call(OPUS, asked)
    assert price is not None
    return debate, asked, price


def brief_sent(turn: str = FIRST, by: str = OPUS, estimate: float | None = 0.5) -> BriefSent:
    return BriefSent(turn_id=turn, brief_digest="d", spec=by, by_call=by == OPUS, estimated_cost=estimate)


def failed(n: int = 0, turn: str = FIRST, *, billed: bool = False, came: Reply | None = None) -> CallFailed:
    return CallFailed(turn_id=turn, spec=OPUS, problem=f"overloaded {n}", maybe_billed=billed, reply=came)


def test_a_call_counts_until_it_is_known_to_cost_nothing() -> None:
    """A call is refused where those under way beside it, or of which nothing came back, have taken what is left; one
    that was not billed gives it back."""
    _, asked, price = capped(None)
    under_way = apply(capped(price * 1.5)[0], brief_sent(estimate=price))
    for debate in (under_way, apply(under_way, failed(billed=True))):
        budget = Budget(CurrentState(debate))
        assert budget.committed_cost() == pytest.approx(price)
        for turn in (FIRST, "1.opening.b"):
            with pytest.raises(Paused, match=turn):
                budget.check(turn, OPUS, asked)
    assert Budget(CurrentState(apply(under_way, failed()))).check("1.opening.b", OPUS, asked) == price


def test_of_a_long_reply_the_words_that_came_count() -> None:
    """Where more had come than was expected, that counts, with the input as the server counted it."""
    debate, _, price = capped(1.0)
    usage = Usage(uncached_input=1_000, output=1)
    half = Reply(text="word " * 70_000, brief_digest="", spec=OPUS, usage=usage, by_call=True)
    debate = apply(debate, failed(billed=True, came=half))

    assert Budget(CurrentState(debate)).committed_cost() == pytest.approx((1_000 * 4 + 100_000 * 20) / 1e6) != price


class Erratic(Speaker):
    """A server whose replies have no cost, the first after a long time of thinking if it `thinks`."""

    name = OPUS

    def __init__(self, *, thinks: bool = False):
        super().__init__(rounds=1)
        self.thinks = thinks

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        reply = await super().reply(brief, on_text)
        thinks, self.thinks = self.thinks, False
        return reply.model_copy(update={"received_chars": 400_000}) if thinks else reply


def run_to_the_cap(path: Path, speaker: Speaker) -> DebateState:
    """The state of a debate that such a speaker goes on with until its cap is reached."""
    with JournalWriter(path) as journal, pytest.raises(OverBudget):
        seats = dict.fromkeys(("a", "b", "judge"), speaker)
        asyncio.run(take_turns(journal, CurrentState(fold(journal.events)), seats))
    return fold(read(path).events)


def test_a_resumed_debate_does_not_forget_what_it_may_have_cost(tmp_path: Path) -> None:
    """A server never counts its tokens: once the cap is reached, no resume makes another call."""
    speaker, made = Erratic(), []
    first = debates.opened_event(rounds=1).with_settings(max_cost=capped(None)[2] * 4)
    JournalWriter.create(tmp_path / "j", first).close()
    for _ in range(4):
        run_to_the_cap(tmp_path / "j", speaker)
        made.append(len(speaker.briefs))

    assert made[0] > 0 and made == [made[0]] * 4


def test_thinking_counts_where_tokens_do_not(tmp_path: Path) -> None:
    """Of a reply without a cost all that came counts, with what the model thought; its cost stays unknown."""
    JournalWriter.create(tmp_path / "j", debates.opened_event(rounds=1).with_settings(max_cost=2.0)).close()
    debate = run_to_the_cap(tmp_path / "j", Erratic(thinks=True))

    assert Budget(CurrentState(debate)).committed_cost() > pricing.tokens(400_000) * 20 / 1e6
    assert costs_of(debate).total.unpriced_calls == 1


def test_an_unknown_price_has_no_place_under_a_cap() -> None:
    """Under a cap no model is called at an unknown price; without one they are. All of them are named at once, each
    once; a seat that calls no model needs none."""
    debate, asked, _ = capped(100.0)
    with pytest.raises(Paused, match="command:cat, whose price is unknown"):
        Budget(CurrentState(debate)).check(FIRST, "command:cat", asked)
    assert Budget(CurrentState(capped(None)[0])).check(FIRST, "command:cat", asked) is None
    (said,) = price_problems(cast("command:cat", "command:cat", "anthropic:who", OPUS, "host", "rehearse:command:x"))
    assert "command:cat, anthropic:who, whose" in said
    assert price_problems({"a": ("host",), "judge": (OPUS, "ollama:m")}) == []


def test_a_fund_holds_over_several_debates() -> None:
    """What one debate has under way or has spent is missing to the others of its fund, and only that."""
    debate, asked, price = capped(None)
    shared_budget = SharedBudget(price * 2.5)
    shared_budget.budget("one", CurrentState(apply(debate, brief_sent(estimate=price))))
    shared_budget.end_budget("one")
    current = CurrentState(debate)
    other = shared_budget.budget("other", current)
    other.check(FIRST, OPUS, asked)
    current.apply(brief_sent(estimate=price))
    with pytest.raises(OverBudget, match="higher cap"):
        other.check("1.opening.b", OPUS, asked)
    current.apply(failed())
    other.check("1.opening.b", OPUS, asked)

    assert shared_budget.committed_cost() == pytest.approx(price)


def cast(a: str = SONNET, b: str = SONNET, *judge: str) -> dict[str, tuple[str, ...]]:
    return {"a": (a,), "b": (b,), "judge": judge or (OPUS,)}


def first(**setup: object) -> Opened:
    """The opening of a debate whose seats are all called, unless they are told otherwise."""
    return opened_event(**{"cast": cast(), **setup})  # type: ignore[arg-type]


@pytest.mark.parametrize(("rounds", "judges"), [(1, 1), (2, 3)])
def test_every_call_is_counted(rounds: int, judges: int) -> None:
    """Two openings, six speeches in every round of a longer debate, a ballot of each judge, and the last two. The cost
    is that of its lines, and each line's is what the table makes of its tokens."""
    speeches = 2 if rounds == 1 else 6 * rounds
    made = estimate_debate(first(rounds=rounds, cast=cast(SONNET, SONNET, *[OPUS] * judges)))

    assert made.calls == speeches + judges * rounds + judges + 1
    assert made.cost == pytest.approx(sum(line.cost for line in made.costs.lines))
    for line in made.costs.lines:
        assert line.cost == pytest.approx(pricing.cost(OPUS if line.seat.startswith("judge") else SONNET, line.usage))


def test_a_debate_of_very_many_turns_is_not_estimated() -> None:
    """A journal may say 100 rounds before nine judges who vote twice: that is said, and nothing is played."""
    large = first(rounds=8, mirror=True, cast=cast(SONNET, SONNET, *[OPUS] * 9))
    made = estimate_debate(large.with_settings(rounds=100))
    assert made.calls == 0
    assert made.sentence() == "not estimated: more than 400 turns are left"


def test_the_cache_is_counted_on() -> None:
    """A debate of three rounds costs well under what it would without a cache, and reads more than it sends anew."""
    tokens = estimate_debate(first(cast=cast(OPUS, OPUS, OPUS))).costs.total.usage
    spent = pricing.cost(OPUS, tokens)
    plain = pricing.cost(OPUS, Usage(uncached_input=tokens.input, output=tokens.output))

    assert spent is not None
    assert plain is not None
    assert spent < 0.75 * plain
    assert tokens.cached > tokens.uncached_input


def test_a_rehearsal_costs_what_the_real_one_would() -> None:
    """Stand-ins are estimated as those for whom they are in, though each of their calls costs nothing."""
    real = first(cast=cast(SONNET, "host", OPUS))
    rehearsed = first(cast=cast(f"rehearse:{SONNET}", "rehearse", f"rehearse:{OPUS}"))
    debate = fold([rehearsed])

    assert estimate_debate(rehearsed) == estimate_debate(real)
    assert cost_before_call(f"rehearse:{SONNET}", brief(debate, debate.due[0])) == 0.0


def test_a_stand_in_beside_people_and_models_costs_nothing() -> None:
    """Its calls are none, and no price is beside "costs nothing"."""
    mixed = first(cast=cast("human", f"rehearse:{SONNET}", f"rehearse:{OPUS}"))
    judged = first(cast=cast(f"rehearse:{SONNET}", f"rehearse:{SONNET}", OPUS))

    assert estimate_debate(mixed).sentence() == "no calls; a person's turns cost nothing"
    assert {line.seat for line in estimate_debate(judged).costs.lines} == {"judge"}
    assert estimate_debate(mixed, prices_stand_ins=True).cost > 0.01


@pytest.mark.parametrize("who", ["host", "replay:x.jsonl"])
def test_some_seats_are_no_calls(who: str) -> None:
    """A host, a person or a recording is never called."""
    made = estimate_debate(first(cast=cast(who, who)))

    assert {line.seat for line in made.costs.lines} == {"judge"}
    assert made.has_slow_seats == (who == "host")


def test_the_line() -> None:
    """An estimate is one line: calls, time, cost and the day of the prices. It claims no price that is unknown, no time
    of others, no search, and no call where there is none."""
    made = estimate_debate(first())
    hosted = estimate_debate(first(rounds=1, cast=cast("host", "host", "anthropic:claude-haiku-5-5")))
    unknown = estimate_debate(first(rounds=1, cast=cast("command:x", "command:x", "command:x")))
    own = estimate_debate(first(rounds=1, cast=cast("ollama:q", "ollama:q", "openai:m@http://localhost:1")))

    money = f"about ${made.cost:.2f} (prices of {pricing.table().date})"
    assert made.sentence() == f"23 calls, about 9 min, {money}, without tokens for thinking"
    assert 0.3 < made.cost < 0.8
    assert hosted.sentence().startswith("3 calls, about 2 min and what the other seats take, less than $0.01 (")
    assert "$" not in unknown.sentence()
    assert (own.sentence(), own.unpriced_specs) == ("5 calls, about 3 min, $0", ())
    searching = estimate_debate(first().with_settings(search=True))
    assert searching.sentence().endswith(", without tokens for thinking and searches of the web")
    assert estimate_debate(opened_event()).sentence() == "no calls, and 23 turns of the agent host"
    until_no_new_ground = estimate_debate(opened_event(until_no_new_ground=True))
    assert until_no_new_ground.sentence() == "no calls, and at most 23 turns of the agent host"


def test_what_is_left_of_a_debate() -> None:
    """With the events on record, an estimate is of the calls that are still to be made."""
    opened, *given = play_events(until="2.constructive.a", cast=cast())
    assert isinstance(opened, Opened)
    whole, left = estimate_debate(opened), estimate_debate(opened, given)

    assert whole.calls - left.calls == 7
    assert left.cost < whole.cost


def test_a_cold_call_is_the_dearest() -> None:
    """What one call may cost counts all that is sent as written, and its answer; it is unknown where prices are."""
    debate = fold([first()])
    asked = brief(debate, debate.due[0])
    sent, answered = expected_tokens(asked)

    assert cost_before_call(SONNET, asked) == pytest.approx((sent * 2 * 1.25 + answered * 10) / 1e6)
    assert cost_before_call("command:x", asked) is None
    assert cost_before_call("host", asked) == 0.0


def opened(*events: Event) -> DebateState:
    return fold([first(rounds=1, cast=cast(OPUS, OPUS)), *events])


def committed(debate: DebateState) -> float:
    """What a cap counts, of this debate alone and as the only one under a shared cap."""
    alone, shared = Budget(CurrentState(debate)).committed_cost(), SharedBudget(None)
    shared.budget("one", CurrentState(debate))
    assert shared.committed_cost() == alone
    shared.end_budget("one")
    assert shared.committed_cost() == alone
    return alone


def test_an_outcome_is_that_of_the_latest_intent_of_its_model() -> None:
    """What came of a call is its own: the call of a process that was killed before stays on the count, and so does a
    call of a model whose seat the host has taken since."""
    unusable = Rejected(
        turn_id=FIRST, problems=("No.",), reply=Reply(text="x", brief_digest="d", spec="host"), absent=False
    )
    assert committed(opened(brief_sent(estimate=0.7), brief_sent(), failed())) == pytest.approx(0.7)
    assert committed(opened(brief_sent(estimate=0.1), brief_sent(), failed(billed=True))) == pytest.approx(0.6)
    assert committed(opened(brief_sent(), brief_sent(by="host"), unusable)) == pytest.approx(0.5)
    assert committed(opened(brief_sent(), failed(), failed(1))) == 0.0


def test_a_brief_laid_out_for_the_host_is_no_call() -> None:
    """A seat is handed from the host to a model: its calls alone are counted, and none is of unknown price."""
    said = Reply(text="Tabs.", brief_digest="d", spec=OPUS, by_call=True, cost=0.25)
    taken = [brief_sent(by="host", estimate=None)] * 4
    debate = fold([first(rounds=1, cast=cast("host", OPUS)), *taken, Reassigned(seat="a", specs=(OPUS,)), brief_sent()])
    debate = apply(debate, Spoke(turn_id=FIRST, reply=said))
    total = costs_of(debate).total

    assert (total.calls, total.unpriced_calls, total.cost) == (1, 0, 0.25)
    assert committed(debate) == 0.25


class Bookkeeping:
    """A debate under way, and what its calls have cost by a count of its own: $1 for a reply, $0.50 for a call that
    was lost or is under way."""

    def __init__(self, debate: DebateState, data: st.DataObject):
        self.debate, self._draw = debate, data.draw
        self.paid, self.under_way, self._events = 0.0, Counter[str](), count()

    @property
    def expected(self) -> float:
        return self.paid + 0.5 * self.under_way.total()

    def go_on(self) -> bool:
        """Applies one event more; False if there is none."""
        if not self.debate.due:
            return schedule.turns_to_reopen(self.debate) != [] and self._draw(st.booleans()) and self._apply(Reopened())
        turn = self._draw(st.sampled_from(self.debate.due))
        kinds = ("sent", "host", "failed", "lost", "broken off", "unusable", "absent", "early end", *["reply"] * 6)
        kind = self._draw(st.sampled_from(kinds))
        if kind == "early end":
            return self._apply(schedule.early_end(self.debate)) or True
        if kind in ("sent", "host"):
            self.under_way[turn.id] += kind == "sent"
            return self._apply(brief_sent(turn.id, OPUS if kind == "sent" else "host"))
        if self._draw(st.booleans()):
            self.under_way[turn.id] += 1
            self._apply(brief_sent(turn.id))
        return self._ended(turn, kind)

    def _ended(self, turn: Turn, kind: str) -> bool:
        """Whatever came of a call, with or without its `BriefSent`."""
        known = self.under_way[turn.id] > 0
        kind = "failed" if kind == "lost" and not known else kind
        event = self._outcome(turn, kind)
        if event is not None and self._apply(event):
            self.under_way[turn.id] -= known
            self.paid += {"failed": 0.0, "lost": 0.5}.get(kind, 1.0)
        return True

    def _outcome(self, turn: Turn, kind: str) -> Event | None:
        text = rehearse.reply_for(self.debate, turn)
        reply = Reply(text=text, brief_digest=str(next(self._events)), spec=OPUS, by_call=True, cost=1.0)
        if kind in ("failed", "lost"):
            return failed(0, turn.id, billed=kind == "lost")
        if kind == "broken off":
            return failed(0, turn.id, billed=True, came=reply)
        if kind in ("unusable", "absent"):
            absent = kind == "absent" and turn.judging and schedule.may_be_absent(self.debate, turn)
            return Rejected(turn_id=turn.id, problems=("No.",), reply=reply, absent=absent)
        return replies.parse_reply(self.debate, turn, reply, None, last=True)

    def _apply(self, event: Event) -> bool:
        before = self.debate
        try:
            self.debate = apply(before, event)
        except DoesNotFit:
            return False
        return self.debate is not before


@given(st.data(), st.sampled_from(sorted(resources.format_names())))
def test_a_cap_counts_every_call_of_any_debate(data: st.DataObject, name: str) -> None:
    """Whatever happens in a debate, with calls that are lost, phases that are left out and turns that are reopened, a
    cap counts each reply and each call that is lost or under way, and forgets none."""
    format = loader.load(name)
    judges = {"judge": [OPUS] * data.draw(st.integers(1, 3))} if JUDGE in format.active_seats() else {}
    setup: dict[str, Any] = {"topic": "Tabs?", "positions": {"a": "Tabs.", "b": "Spaces."}, "rounds": 1}
    setup["cast"] = dict.fromkeys(format.active_seats(), OPUS) | judges
    book = Bookkeeping(fold([start.make_opened(make_settings(setup, format, "o.md"))]), data)
    for _ in range(80):
        if not book.go_on():
            break
        assert Budget(CurrentState(book.debate)).committed_cost() == pytest.approx(book.expected)
