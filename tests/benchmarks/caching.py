"""Measures what debates pay for their input under the provider's documented cache rules, against two other prices.

Run it with `python tests/benchmarks/caching.py [most rounds]`. Nothing is called or waited for: the real loop asks
for real briefs, they become the requests that would be on the wire, in a time that leaps over every wait, and
`messages_cache` counts their tokens. Speeches have 600 words. All figures are input in base-token equivalents: a
token at the plain price is 1, one that is read from a cache is 0.05 or 0.1. The bound is what no cache could go
below: of what calls under the same settings begin with alike, each token is paid once as written if it is read
again, and at the read price from then on; beginnings below the provider's minimum are sent anew; all else is
plain. (Calls that start together are taken to be one after the other in it.)
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from fake_clock import FakeClockLoop
from messages_cache import Cache, Counted, tokens
from reply_codes import coded
from speakers import take_turns

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import Event, Opened
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.phases import Turn, judge_seats
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import start
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import pricing, rehearse
from debate_orchestrator.providers.anthropic import options_of, request
from debate_orchestrator.providers.caching import cache_plans, placed_breakpoints
from debate_orchestrator.providers.options import UnsupportedOptions
from debate_orchestrator.providers.provider import OnPiece, Provider
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_lines import Entry

WORDS = 600
LEAST = 512
"""Tokens of the shortest beginning that is kept, of all models in the casts."""
SONNET, OPUS, HAIKU = "claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"
CASTS = {"one model": (SONNET,) * 3, "two models": (SONNET, SONNET, OPUS), "three models": (SONNET, HAIKU, OPUS)}
"""Who argues A, who argues B, who judges."""
FIRST, PER_TOKEN = 2.0, 1 / 50
"""Seconds until an answer begins, and for each token of it."""


class Sent(NamedTuple):
    """One request, and what was counted for it."""

    turn: str
    request: dict[str, Any]
    counted: Counted
    reply: str


class Unwritten(JournalWriter):
    """A journal in memory."""

    def __init__(self, opened: Opened):
        self.path, self.entries = "memory", [Entry(1, "", opened, "")]

    def append(self, event: Event, *, queue_if_disk_full: bool = False) -> Entry:
        self.entries.append(Entry(len(self.entries) + 1, "", event, ""))
        return self.entries[-1]

    async def wait_until_synced(self) -> None:
        """Nothing is on a disk."""


class Counting(Provider):
    """A provider that counts the request that would be sent."""

    caches = True

    def __init__(self, spec: str, current: CurrentState, cache: Cache, sent: list[Sent], words: int | None):
        self.name, self._current, self._cache, self._sent, self._words = spec, current, cache, sent, words
        self._plans = cache_plans(current.state)

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        plan, debate = self._plans[brief.turn_id], self._current.state
        breakpoints = placed_breakpoints(plan, debate, sum(len(message.parts) for message in brief.messages))
        base, options = request(brief, self.name, breakpoints, long_ttl=plan.long_ttl), options_of(brief, self.name)
        asked = UnsupportedOptions().request(base, options)
        now = asyncio.get_running_loop().time()
        counted = self._cache.count(asked, now, now + FIRST)
        text = coded(brief.messages[-1].parts[-1], said(debate, schedule.turn(debate, brief.turn_id), self._words))
        self._sent.append(Sent(brief.turn_id, asked, counted, text))
        await asyncio.sleep(FIRST)
        on_text("")
        await asyncio.sleep(PER_TOKEN * tokens(text))
        return Reply(text=text, brief_digest=brief.digest, spec=self.name)

    async def close(self) -> None:
        """Nothing is open."""


def said(debate: DebateState, turn: Turn, words: int | None) -> str:
    """What every seat says: a speech of `words` words, or as long as asked for; all judges of a panel the same."""
    if words is not None and not turn.judging:
        return f"{turn.id} says: " + " ".join(f"word{n % 97}" for n in range(words - 2))
    return rehearse.reply_for(debate, turn).replace(turn.id, turn.id.removesuffix(turn.seat) + turn.role)


def opened(cast: tuple[str, str, str], rounds: int, panel: int, *, leader_first: bool) -> Opened:
    """The opening of such a debate."""
    a, b, judge = (f"anthropic:{model}" for model in cast)
    given = {
        "topic": "Should this service move from REST to gRPC for internal calls?",
        "positions": {"a": "It should move, service by service.", "b": "It should keep REST for internal calls."},
        "rounds": rounds,
        "insist": True,
        "share_cache": leader_first,
        "cast": {"a": a, "b": b, "judge": [judge] * panel},
        "issues": False,
        "brief": False,
    }
    return start.make_opened(make_settings(given, loader.load("adversarial"), "report.md"))


def simulated(first: Opened, words: int | None = WORDS) -> list[Sent]:
    """The requests of a debate driven to its end, as they start."""
    current, sent, cache = CurrentState(fold([first])), list[Sent](), Cache(LEAST)
    fillers = {spec: Counting(spec, current, cache, sent, words) for specs in first.cast.values() for spec in specs}
    seats = {seat: fillers[first.cast[seat][0]] for seat in ("a", "b")}
    panel = first.cast["judge"]
    seats |= {seat: fillers[spec] for seat, spec in zip(judge_seats(len(panel)), panel, strict=True)}
    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        done = runner.run(take_turns(Unwritten(first), current, seats))
    assert done.complete
    return sent


def price(model: str, counted: Counted) -> float:
    """What that much input costs, in tokens at the plain price."""
    rules, read = pricing.table().cache, pricing.table().vendors["anthropic"][model].cache_read_factor
    return (
        counted.uncached_input
        + counted.cached * read
        + counted.cache_write_5m * rules.write_factor
        + counted.cache_write_1h * rules.long_write_factor
    )


def paid(sent: Iterable[Sent]) -> float:
    return sum(price(one.request["model"], one.counted) for one in sent)


def uncached(sent: Iterable[Sent]) -> float:
    return sum(sum(one.counted) for one in sent)


Block = tuple[object, ...]


def _beginnings(asked: dict[str, Any]) -> Iterator[tuple[Block, int]]:
    """Each beginning of a request as something to compare, with the tokens of its last block."""
    beginning: Block = (asked["model"], json.dumps(asked.get("output_config"), sort_keys=True))
    texts = [("system", asked["system"])]
    texts += [(message["role"], part["text"]) for message in asked["messages"] for part in message["content"]]
    for role, text in texts:
        beginning = (hash((beginning, role, text)),)
        yield beginning, tokens(text)


def bound(requests: Iterable[dict[str, Any]]) -> float:
    """The least that these requests can cost, as the head of this file says; in tokens at the plain price."""
    seen: set[Block] = set()
    reread: dict[Block, float] = {}
    total = 0.0
    write = pricing.table().cache.write_factor
    for asked in requests:
        blocks = list(_beginnings(asked))
        known = sum(beginning in seen for beginning, _ in blocks)  # beginnings: if one is known, so are all before
        readable = known if sum(size for _, size in blocks[:known]) >= LEAST else 0
        for beginning, size in blocks[:readable]:
            total += size * pricing.table().vendors["anthropic"][asked["model"]].cache_read_factor
            reread[beginning] = size * (write - 1)
        total += sum(size for _, size in blocks[readable:])
        seen |= {beginning for beginning, _ in blocks}
    return total + sum(reread.values())


def alike(sent: Iterable[Sent], *, judges_only: bool) -> float:
    """What no cache could go below if all calls of a model were under the same settings: those for a structured
    reply, as if one shape served them all, or every call, as if no shape were asked for by the API."""
    made = []
    for one in sent:
        setting = {"output_config": judges_only} if "output_config" in one.request else {}
        made.append({**one.request, **setting} if judges_only else {**one.request, "output_config": None})
    return bound(made)


def row(name: str, panel: int, rounds: int, ratios: dict[bool, list[float]]) -> list[str]:
    """The figures of one debate, with and without `leader_first`; `ratios` takes what is paid beside the bound."""
    sent = {first: simulated(opened(CASTS[name], rounds, panel, leader_first=first)) for first in (False, True)}
    least, plain = bound(one.request for one in sent[True]), uncached(sent[True])
    cost = {first: paid(ones) for first, ones in sent.items()}
    for first, found in ratios.items():
        found.append(cost[first] / least)
    made = [name, str(panel), str(rounds), str(len(sent[True])), f"{plain:,.0f}", f"{least:,.0f}"]
    made += [f"{cost[first]:,.0f} ({cost[first] / least:.3f}, saves {1 - cost[first] / plain:.0%})" for first in ratios]
    others = [alike(sent[True], judges_only=only) for only in (True, False)]
    return made + [f"{other:,.0f} ({other / least - 1:+.0%})" for other in others]


def main(most: str = "8") -> None:
    print("| cast | judges | rounds | calls | uncached | bound | paid (by bound) | with leader_first | ", end="")
    print("bound, one shape for judges | bound, no shapes |\n|" + " --- |" * 10)
    ratios: dict[bool, list[float]] = {False: [], True: []}
    for name in CASTS:
        for panel in (1, 2, 3):
            for rounds in range(1, int(most) + 1):
                print(f"| {' | '.join(row(name, panel, rounds, ratios))} |", flush=True)
    for first, found in ratios.items():
        print(f"leader_first {first}: {min(found):.4f} to {max(found):.4f} times the bound, ", end="")
        print(f"median {statistics.median(found):.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
