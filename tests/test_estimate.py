"""An estimate plays the debate before any model is called, and prices every call as the real one."""

from __future__ import annotations

import pytest
from debates import opened_event, play_events

from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import Usage
from debate_orchestrator.engine.budget import cost_before_call, estimate_debate, expected_tokens
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers import pricing

SONNET, OPUS = "anthropic:claude-sonnet-5-5", "anthropic:claude-opus-5-5"


def cast(a: str = SONNET, b: str = SONNET, *judge: str) -> dict[str, tuple[str, ...]]:
    return {"a": (a,), "b": (b,), "judge": judge or (OPUS,)}


def first(**setup: object) -> Opened:
    """The opening of a debate whose seats are all called, unless they are told otherwise."""
    return opened_event(**{"cast": cast(), **setup})  # type: ignore[arg-type]


@pytest.mark.parametrize(("rounds", "judges"), [(1, 1), (2, 3)])
def test_every_call_is_counted(rounds: int, judges: int) -> None:
    """Two openings, six speeches in every round of a longer debate, a ballot of each judge, and the last two."""
    speeches = 2 if rounds == 1 else 6 * rounds
    made = estimate_debate(first(rounds=rounds, cast=cast(SONNET, SONNET, *[OPUS] * judges)))

    assert made.calls == speeches + judges * rounds + judges + 1


def test_a_debate_of_very_many_turns_is_not_estimated() -> None:
    """A journal may say 100 rounds before nine judges who vote twice: that is said, and nothing is played."""
    large = first(rounds=8, mirror=True, cast=cast(SONNET, SONNET, *[OPUS] * 9))
    made = estimate_debate(large.with_settings(rounds=100))
    assert made.calls == 0
    assert made.sentence() == "not estimated: more than 400 turns are left"


def test_it_adds_up() -> None:
    """The cost is that of its lines, and each line's is what the table makes of its tokens."""
    made = estimate_debate(first())
    priced = {"a": SONNET, "b": SONNET, "judge": OPUS}

    assert made.cost == pytest.approx(sum(line.cost for line in made.bill.lines))
    for line in made.bill.lines:
        assert line.cost == pytest.approx(pricing.cost(priced[line.seat], line.usage))


def test_the_cache_is_counted_on() -> None:
    """A debate of three rounds costs well under what it would without a cache, and reads more than it sends anew."""
    tokens = estimate_debate(first(cast=cast(OPUS, OPUS, OPUS))).bill.total.usage
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
    assert {line.seat for line in estimate_debate(judged).bill.lines} == {"judge"}
    assert estimate_debate(mixed, rehearsal=True).cost > 0.01


@pytest.mark.parametrize("who", ["host", "replay:x.jsonl"])
def test_some_seats_are_no_calls(who: str) -> None:
    """A host, a person or a recording is never called."""
    made = estimate_debate(opened_event(cast={"a": (who,), "b": (who,), "judge": (OPUS,)}))

    assert {line.seat for line in made.bill.lines} == {"judge"}
    assert made.has_slow_seats == (who != "replay:x.jsonl")


def test_servers_of_ones_own_are_called_for_nothing() -> None:
    """A server of one's own is called, and costs nothing."""
    made = estimate_debate(first(rounds=1, cast=cast("ollama:q", "ollama:q", "openai:m@http://localhost:1")))

    assert (made.calls, made.cost, made.unpriced_specs) == (5, 0.0, ())
    assert made.sentence() == "5 calls, about 3 min, $0"


def test_the_line() -> None:
    """An estimate is one line: calls, time, cost and the day of the prices."""
    made = estimate_debate(first())
    line = made.sentence()

    money = f"about ${made.cost:.2f} (prices of {pricing.table().date})"
    assert line == f"23 calls, about 9 min, {money}; not counted: tokens for thinking"
    assert 0.3 < made.cost < 0.8


def test_what_the_line_leaves_open() -> None:
    """The line claims no price that is unknown, no time of others, no search, and no call where there is none."""
    hosted = estimate_debate(first(rounds=1, cast=cast("host", "host", "anthropic:claude-haiku-5-5")))
    unknown = estimate_debate(first(rounds=1, cast=cast("command:x", "command:x", "command:x")))
    searching = estimate_debate(first().with_settings(search=True))

    assert hosted.sentence().startswith("3 calls, about 2 min and what the other seats take, less than $0.01 (")
    assert "$" not in unknown.sentence()
    assert searching.sentence().endswith("; not counted: tokens for thinking; searches of the web")
    assert estimate_debate(opened_event()).sentence() == "no calls, and 23 turns of the agent host"
    until_dry = estimate_debate(opened_event(until_dry=True))
    assert until_dry.sentence() == "no calls, and at most 23 turns of the agent host"


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
