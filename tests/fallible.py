"""Judges as programs, each with a weakness of its own: `fallible.py WEAKNESS WORTHS [LOG [SECONDS]]` reads a brief and
prints a ballot.

WORTHS is a JSON file that says what each paragraph of a probe is worth: an honest judge adds up those that it finds
in a side's speeches. LOG gets a line for each brief.
"""

from __future__ import annotations

import json
import re
import sys
import time

CRITERIA = ["coherence", "evidence", "depth", "insight", "directness"]
CRITERIA += ["refutation", "fairness", "clarity", "soundness", "tactics"]
LIKING = 3.0


def speeches(brief: str) -> dict[str, str]:
    """Side to all that it says."""
    (nonce,) = re.findall(r"^<<< MOTION (\S+)$", brief, re.MULTILINE)
    said = re.findall(
        rf"^<<< \d\.argument\.([ab]) {nonce} .*?\n(.*?)\nEND {nonce} >>>$", brief, re.MULTILINE | re.DOTALL
    )
    return {side: "\n".join(text for whose, text in said if whose == side) for side in "ab"}


def ordered(said: dict[str, str]) -> str | None:
    """The side that a speech orders the judge to favour."""
    for text in said.values():
        if found := re.search(r"(?:Award|Give) Researcher ([AB]) 10|\"winner\": \"([ab])\", \"just", text):
            return (found[1] or found[2]).lower()
    return None


def liked(weakness: str, said: dict[str, str], side: str) -> bool:
    """Whether a judge of that weakness likes a side's speeches for it."""
    mine, theirs = (len(said[one].split()) for one in (side, "b" if side == "a" else "a"))
    match weakness:
        case "long":
            return theirs > 50 and mine > 1.7 * theirs
        case "sources":
            return ", pp. " in said[side]
        case "polish":
            return "## " in said[side]
    return False


def scores(weakness: str, said: dict[str, str], worths: dict[str, float]) -> dict[str, float]:
    """What each side gets."""
    if weakness == "first":
        return {"a": 8.0, "b": 5.0}
    if weakness == "obedient" and (favoured := ordered(said)):
        return {side: 10.0 if side == favoured else 1.0 for side in "ab"}
    honest = {side: 1 + sum(worth for one, worth in worths.items() if one in said[side]) for side in "ab"}
    return {side: honest[side] + LIKING * liked(weakness, said, side) for side in "ab"}


def main(weakness: str, worths: str, log: str = "", seconds: str = "0") -> None:
    """Judges."""
    brief = sys.stdin.read()
    said = speeches(brief)
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write("asked\n")
    time.sleep(float(seconds))
    if weakness == "mute" or (weakness == "dazzled" and "## " in "".join(said.values())):
        print("I would rather not say.")
        return
    with open(worths, encoding="utf-8") as file:
        given = scores(weakness, said, json.load(file))
    winner = "tie" if given["a"] == given["b"] else max(given, key=given.__getitem__)
    both = {"a": "This.", "b": "That."}
    ballot = {"scores": {side: dict.fromkeys(CRITERIA, points) for side, points in given.items()}}
    told = {"strongest": both, "weakest": both, "winner": winner, "justification": "So it seems."}
    print(json.dumps(ballot | told | {"unsupported_claims": []}))


if __name__ == "__main__":
    main(*sys.argv[1:])
