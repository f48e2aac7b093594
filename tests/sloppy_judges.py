"""A judge as a program that writes as models do: `sloppy_judges.py WINNER N` reads a brief and prints its reply.

N draws what the judge writes around its JSON, the faults of punctuation in it, and the habits in its values. As a
module it names such judges for a cast. Whatever is drawn, the reply means WINNER.
"""

from __future__ import annotations

import random
import re
import shlex
import sys
from collections.abc import Callable
from typing import Any

import reply_codes
import scripted_replies

AROUND = [
    "{}",
    "Here is my ballot:\n\n{}",
    "{}\n\nI hope this helps.",
    "My verdict follows.\n\n```json\n{}\n```\n\nThat is all {for now}.",
    "<think>Is it {a} or {b}?</think>\n{}",
    "```\n{}\n```",
]
FAULTS: list[Callable[[str], str]] = [
    str,
    lambda text: f"{text[:-1]},}}",
    lambda text: text.replace("null", "None").replace("false", "False"),
    lambda text: text.replace('"winner":', "winner:"),
]
FORGETS = 0.2
"""How many of the first replies to a brief lack its code."""
REMARKS = 0.7
"""How many of the ballots have no key that was not asked for."""
NAMES = {"a": ["A", "Researcher A", "Pro", "side a"], "b": ["B", "researcher b", "CON", "Researcher B (Con)"]}


def judge(winner: str, n: int) -> str:
    """The name in a cast of a judge for whom `winner` wins every debate."""
    return "command:" + shlex.join([sys.executable, __file__, winner, str(n)])


def main(winner: str, n: str) -> None:
    """Judges one brief. One judge of five forgets the code until it is asked again."""
    brief = sys.stdin.read()
    (task,) = re.findall(r"^# Your task: (.+)$", brief, re.MULTILINE)
    again = "<<< COMPLAINTS" in brief
    forgets = not again and random.Random(f"{n} {task}").random() < FORGETS
    print(written(task, winner, int(n), "" if forgets else brief))


def written(task: str, winner: str, n: int, brief: str = "") -> str:
    """The reply to a task as it is written, with the code of the brief, if it asks for one."""
    chance = random.Random(f"{winner} {n} {task}")
    text = reply_codes.coded(brief, reply(task, winner, chance, again="<<< COMPLAINTS" in brief))
    return chance.choice(AROUND).replace("{}", chance.choice(FAULTS)(text))


def reply(task: str, winner: str, chance: random.Random, *, again: bool) -> dict[str, Any]:
    """What the judge means, with habits in its values. It adds a key of its own unless it is asked again."""
    named = chance.choice([winner, *NAMES[winner]])
    if task.startswith("Judge Verdict"):
        ballot = scripted_replies.ballot(7 if winner == "a" else 5, 6, rounds=1)
        points = {side: {name: chance.choice([n, f"{n}/10", str(n)]) for name, n in given.items()}
                 for side, given in ballot["scores"].items()}  # fmt: skip
        more = {} if again or chance.random() < REMARKS else {"reasoning": "It was close."}
        return ballot | {"scores": points, "winner": named, "conceded": "none"} | more
    if task.startswith("Final"):
        return scripted_replies.final(winner) | {
            "winner": named,
            "converged_on": "Little.",
            "unresolved_questions": None,
        }
    return scripted_replies.dissent(["1.opening.a", "7.opening.a"])


if __name__ == "__main__":
    main(*sys.argv[1:])
