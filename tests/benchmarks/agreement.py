"""Measures how far what a server counted is from what was simulated, and from what was told before.

Run it with `python tests/benchmarks/agreement.py`. Debates are driven through the vendor's SDK against the server of
`messages_server`, whose cache shares no code with the package; what came back is summed from the journal's bill.
Beside it stand the simulation of `caching` for the same speeches, and the estimate that is told before a debate
begins. All seats say what the estimate's stand-ins say, and so the differences are the estimate's own: it counts
the schema of a structured reply as input, which this server does not; and it bills six characters for each word of
a speech and 800 words for each structured reply, where its stand-ins say 5.5 and 320 to 520. Input is compared in
base-token equivalents as in `caching`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from caching import CASTS, Sent, opened, paid, simulated
from messages_cache import tokens
from messages_server import Server, serving
from speakers import take_turns

from debate_orchestrator.core.costs import Costs, costs_of
from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import Usage
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.providers import casting, pricing
from debate_orchestrator.storage.journal import JournalWriter, read

CASES = [
    ("one model", 1, 1, False),
    ("one model", 3, 1, False),
    ("one model", 3, 3, True),
    ("two models", 3, 3, False),
    ("two models", 3, 3, True),
    ("three models", 3, 1, False),
    ("three models", 3, 3, True),
    ("three models", 8, 1, True),
]
"""Cast, rounds, judges, leader_first."""
FIRST, WHOLE = 0.2, 0.25
"""Seconds until the server's answers begin and end. Calls that start together must do so within the first."""


class Figures(NamedTuple):
    """What was counted in one of the three ways."""

    read: int
    written: int
    fresh: int
    output: int
    equivalents: float
    dollars: float


def words_for(sent: list[Sent]) -> dict[str, list[str]]:
    """The last block of each request to what is answered; judges whose last blocks are the same say the same."""
    answers: dict[str, list[str]] = {}
    for one in sent:
        answers.setdefault(last(one.request), []).append(one.reply)
    return answers


def last(request: dict[str, Any]) -> str:
    text: str = request["messages"][-1]["content"][-1]["text"]
    return text


async def run(first: Opened, folder: str) -> DebateState:
    """The debate, driven over the wire; what its journal holds."""
    with JournalWriter.create(f"{folder}/debate.journal.jsonl", first) as journal:
        debate = fold([first])
        current = CurrentState(debate)
        debate = await take_turns(journal, current, casting.make_providers(current))
    return fold(read(journal.path).events)


def of_bill(made: Costs, first: Opened) -> Figures:
    """A bill's figures."""
    sums, equivalents = Usage(), 0.0
    for line in made.lines:
        spec = first.cast["judge" if line.seat.startswith("judge") else line.seat][0]
        rules, one = pricing.table().cache, pricing.known(spec)
        assert one is not None
        use = line.usage
        equivalents += use.uncached_input + use.cached * one.read + use.cache_write_5m * rules.write
        equivalents += use.cache_write_1h * rules.long_write
        sums = sums + use
    written = sums.cache_write_5m + sums.cache_write_1h
    return Figures(sums.cached, written, sums.uncached_input, sums.output, equivalents, made.total.cost)


def of_simulation(sent: list[Sent]) -> Figures:
    """A simulation's figures."""
    dollars = 0.0
    for one in sent:
        usage = Usage(**one.counted._asdict(), output=tokens(one.reply))
        dollars += pricing.cost(f"anthropic:{one.request['model']}", usage) or 0.0
    counts = [one.counted for one in sent]
    written = sum(one.cache_write_5m + one.cache_write_1h for one in counts)
    output = sum(tokens(one.reply) for one in sent)
    cached, fresh = sum(one.cached for one in counts), sum(one.uncached_input for one in counts)
    return Figures(cached, written, fresh, output, paid(sent), dollars)


def schemas(sent: list[Sent]) -> int:
    """Tokens of the schemas that the requests carry apart from their text."""
    shapes = [one.request["output_config"]["format"]["schema"] for one in sent if "output_config" in one.request]
    return sum(tokens(json.dumps(shape)) for shape in shapes)


def compare(cast: str, rounds: int, panel: int, *, leader_first: bool) -> None:
    """One debate in all three ways, as lines of a table."""
    first = opened(CASTS[cast], rounds, panel, leader_first=leader_first)
    told = of_bill(estimate(first).bill, first)
    sent = simulated(first, words=None)
    with serving(Server(FIRST, WHOLE)) as server, tempfile.TemporaryDirectory() as folder:
        os.environ["ANTHROPIC_BASE_URL"] = server.url
        answers = words_for(sent)
        server.say = lambda request: answers[last(request)][0]
        debate = asyncio.run(run(first, folder))
    assert debate.complete
    wire = of_bill(costs_of(debate), first)
    name = f"{cast}, {rounds} rounds, {panel} judges{', leader_first' * leader_first}"
    print(f"| {name} | wire | {shown(wire)} |")
    print(f"| | simulated | {apart(of_simulation(sent), wire)} |")
    print(f"| | told before | {apart(told, wire)} |")
    input_told, input_wire = (sum(one[:3]) for one in (told, wire))
    besides = schemas(sent)
    print(f"| | told, less {besides:,} tokens of schemas | input {off(input_told - besides, input_wire)} |")


def shown(one: Figures) -> str:
    counts = " | ".join(f"{count:,}" for count in one[:4])
    return f"{counts} | {one.equivalents:,.0f} | ${one.dollars:.4f}"


def apart(one: Figures, wire: Figures) -> str:
    return " | ".join(off(mine, theirs) for mine, theirs in zip(one, wire, strict=True))


def off(mine: float, theirs: float) -> str:
    return f"{mine / theirs - 1:+.2%}" if theirs else f"{mine:+,.0f} tokens"


def main() -> None:
    os.environ["ANTHROPIC_API_KEY"] = "sk-of-a-benchmark"
    print("| debate | | read | written | fresh | output | input in equivalents | dollars |\n|" + " --- |" * 8)
    for cast, rounds, panel, leader_first in CASES:
        compare(cast, rounds, panel, leader_first=leader_first)


if __name__ == "__main__":
    main()
