"""Counts the debates that sloppy judges decide, and those that they decide as they meant.

Run it with `python tests/benchmarks/habits.py [debates]`; a debate takes about a second. Each is of one round, with
stand-ins for the debaters and a judge that wraps its JSON in prose, leaves a comma too many, writes `7/10` for 7 or
`Researcher A` for a, and fills what must be empty: see `sloppy_judges`. Every second debate is meant for each side.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import sloppy_judges

import debate_orchestrator as debates
from debate_orchestrator.core import tally
from debate_orchestrator.util.errors import ExternalError

STAND_IN = "rehearse:anthropic:claude-opus-5-5"
NAMES_FIELDS = (
    "It is, by scores, strongest and weakest points, winner, justification, feedback, convergence and strength."
)
"""A position that names what a ballot holds, which makes no ballot a quotation of it."""


async def winner(meant: str, n: int, folder: str) -> tuple[str | None, int]:
    """The winner of one debate, None where it stopped undecided, and the replies that were asked for again."""
    cast = {"a": STAND_IN, "b": STAND_IN, "judge": [sloppy_judges.judge(meant, n)]}
    given = {"topic": "Is it so?", "positions": {"a": NAMES_FIELDS, "b": "It is not."}, "rounds": 1, "cast": cast}
    given |= {"issues": False, "brief": False}
    try:
        result = await debates.run(given | {"output": f"{folder}/{n}.md"})
    except ExternalError as error:
        print(*error.problems, sep="\n", file=sys.stderr)
        return None, 0
    verdict = tally.verdict(result.state)
    return verdict.winner if verdict else None, sum(map(len, result.state.rejected.values()))


async def main(count: int) -> None:
    """Holds the debates, and prints what came of them."""
    decided = right = again = 0
    with tempfile.TemporaryDirectory() as folder:
        for n in range(count):
            meant = "ab"[n % 2]
            found, asked = await winner(meant, n, folder)
            decided, right, again = decided + (found is not None), right + (found == meant), again + asked
    print(f"{count} debates: {decided} decided, {right} for the side that was meant, {again} replies asked for again.")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
