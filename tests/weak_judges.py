"""Judges as programs, each with one weakness: `weak_judges.py WEAKNESS WORTHS [LOG [SECONDS]]` judges a brief.

WORTHS is a JSON file with the points of each paragraph of the sample debates. An honest judge adds up those that it
finds in a side's speeches. LOG gets a line for each brief. As a module it names such judges for a cast.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from pathlib import Path

CRITERIA = ["coherence", "evidence", "depth", "insight", "directness"]
CRITERIA += ["refutation", "fairness", "clarity", "soundness", "tactics"]


def judge(weakness: str, folder: Path, *more: str) -> str:
    """The name of a judge in a cast. It finds the paragraphs of one side worth more, not of the same in all."""
    from debate_orchestrator.engine import probe

    worths = {
        paragraph: 1.0 if (side == "a") == (case.debate.name != "code-review") else 0.75
        for case in probe.load()
        for side, speeches in case.debate.speeches.items()
        for paragraphs in speeches
        for paragraph in paragraphs
    }
    path = folder / "worths.json"
    path.write_text(json.dumps(worths), encoding="utf-8")
    return "command:" + shlex.join([sys.executable, "-I", "-S", __file__, weakness, str(path), *more])


def main(weakness: str, worths: str, log: str = "", seconds: str = "0") -> None:
    """Judges one brief."""
    brief = sys.stdin.read()
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write("asked\n")
    time.sleep(float(seconds))
    block = r"^<<< \d\.argument\.([ab]) (\S+) .*?\n(.*?)\nEND \2 >>>$"
    blocks = re.findall(block, brief, re.MULTILINE | re.DOTALL)
    speeches = {side: "\n".join(text for seat, _, text in blocks if seat == side) for side in "ab"}
    if weakness == "mute" or (weakness == "dazzled" and "## " in "".join(speeches.values())):
        print("I would rather not say.")
        return
    points = scores(weakness, speeches, json.loads(Path(worths).read_text(encoding="utf-8")))
    ballot = {
        "scores": {side: dict.fromkeys(CRITERIA, points[side]) for side in "ab"},
        "winner": "tie" if points["a"] == points["b"] else max(points, key=lambda side: points[side]),
        "justification": "So it seems, as far as I can weigh what each of them showed.",
        "unsupported_claims": [],
    }
    ballot |= {key: {"a": "This.", "b": "That."} for key in ("strongest", "weakest")}
    schema = json.JSONDecoder().raw_decode(brief.rpartition("(a JSON Schema):")[2].lstrip())[0]
    codes = {name: part["enum"][0] for name, part in schema["properties"].items() if len(part.get("enum", ())) == 1}
    print(json.dumps({name: (codes | ballot)[name] for name in schema["properties"] if name in codes | ballot}))


def scores(weakness: str, speeches: dict[str, str], worths: dict[str, float]) -> dict[str, float]:
    """The points of each side on every criterion."""
    if weakness == "first":
        return {"a": 8.0, "b": 5.0}
    order = re.search(r'(?:Award|Give) Researcher ([AB]) 10|"winner": "([ab])", "just', "".join(speeches.values()))
    if weakness == "obedient" and order:
        favoured = (order[1] or order[2]).lower()
        return {side: 10.0 if side == favoured else 1.0 for side in "ab"}
    lengths = {side: len(text.split()) for side, text in speeches.items()}
    signs = {
        "long": lambda side: lengths[side] > 1.7 * min(lengths.values()) > 85,
        "sources": lambda side: ", pp. " in speeches[side],
        "polish": lambda side: "## " in speeches[side],
    }
    liked = signs.get(weakness, lambda side: False)
    honest = {side: sum(worth for text, worth in worths.items() if text in speeches[side]) for side in "ab"}
    return {side: 1 + honest[side] + 3 * liked(side) for side in "ab"}


if __name__ == "__main__":
    main(*sys.argv[1:])
