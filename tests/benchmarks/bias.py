"""How much of a judge's known bias do panels and mirrored judging remove?

    python tests/benchmarks/bias.py [DEBATES]

Judges with a bias of known size read the real briefs of simulated debates: who is shown first, what each side is
called and how long it speaks is what they find there, and how good each side is is in its speeches as a number that
only they can read. Everything else is the engine. The table is that of docs/judging.md.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from core import folding

from debate_orchestrator.core import tally
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.phases import NO_DECISION
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.verdict import Verdict
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.util.numbers import wilson_interval

DEBATES, SEED = 200, 7
MARGIN, BIAS, NOISE = 1.0, 1.5, 0.7
"""Points: by which the better side is better, by which a bias moves a side, and by how much a judge varies."""
CRITERIA = ("persuasiveness", "reasoning", "factuality", "clarity", "safety")
SHORT, LONG = 40, 140
"""Words of a speech. What a bias for length gives for the difference is `BIAS`."""
_BLOCK = re.compile(r"^<<< (\S+\.([ab])) \S+ .*?\n(.*?)\nEND ", re.MULTILINE | re.DOTALL)


class Seen(NamedTuple):
    """A side as a judge finds it in a brief."""

    quality: float
    words: int
    first: bool
    pro: bool


Bias = Callable[[Seen, float], float]
"""A side, and how strong the bias is, to the points that it adds."""

BIASES: dict[str, Bias] = {
    "none": lambda seen, size: 0.0,
    "position: the side shown first": lambda seen, size: size * seen.first,
    "length: the side that speaks more": lambda seen, size: size * (seen.words > (SHORT + LONG) * 3 / 2),
    "side: the side that argues PRO": lambda seen, size: size * seen.pro,
}
MIXED = [BIASES[name] for name in list(BIASES)[1:]]


class Setting(NamedTuple):
    """How a debate is judged: each judge's bias, and whether they are mirrored."""

    name: str
    judges: Callable[[Bias], list[Bias]]
    mirror: bool


SETTINGS = (
    Setting("1 judge", lambda bias: [bias], False),
    Setting("1 judge, mirrored", lambda bias: [bias], True),
    Setting("3 judges of the same bias", lambda bias: [bias] * 3, False),
    Setting("3 judges, one of each bias", lambda bias: MIXED, False),
    Setting("3 judges of the same bias, mirrored", lambda bias: [bias] * 3, True),
)


def debated(
    quality: dict[str, float], words: dict[str, int], first: str, setting: Setting, bias: Bias, draw: random.Random
) -> DebateState:
    """A debate of sides of that quality and length, judged by judges of that bias."""
    biases = setting.judges(bias)
    terms = {"strictness": "lenient", "first": first, "mirror": setting.mirror, "quorum": len(biases) // 2 + 1}
    debate = fold([folding.opened(1, len(biases), rules=loader.load("panel"), **terms)])
    while due := debate.due:
        for turn in due:
            if turn.judging:
                number = int(turn.seat.partition("-")[2] or 1) - 1
                text = ballot(brief(debate, turn).messages[0].parts, biases[number], draw)
            else:
                text = f"quality={quality[turn.seat]} " + "word " * (words[turn.seat] - 1)
            debate = apply(
                debate, replies.parse_reply(debate, turn, Reply(text=text, brief_digest="", spec="host"), None)
            )
    return debate


def ballot(parts: tuple[str, ...], bias: Bias, draw: random.Random) -> str:
    """What a judge of that bias says to a brief: from its text alone."""
    text = "\n".join(parts)
    pro = re.findall(r"^Debater ([AB]) argues \(PRO\)", text, re.MULTILINE)[0].lower()
    speeches = [(seat, said) for _, seat, said in _BLOCK.findall(text)]
    scores = {}
    for side in ("a", "b"):
        own = [said for seat, said in speeches if seat == side]
        quality = float(re.findall(r"quality=(\S+)", own[0])[0])
        seen = Seen(quality, sum(len(said.split()) for said in own), speeches[0][0] == side, side == pro)
        given = seen.quality + bias(seen, BIAS) + draw.gauss(0, NOISE)
        scores[side] = dict.fromkeys(CRITERIA, min(10.0, max(1.0, round(given, 3))))
    return json.dumps({"scores": scores, "decided": {"a": "By its quality.", "b": "By its quality."}})


class Outcome(NamedTuple):
    """What came of many debates."""

    better: float
    """Share in which the better side won."""
    favoured: float
    """Share in which the side that the bias favours won though both were equal."""
    undecided: float
    """Share of all debates without a decision."""
    flips: float | None
    """Share of the mirrored votes that flipped."""
    shift: float
    """Mean points by which equal sides were set apart in favour of the favoured one."""


def outcome(name: str, setting: Setting, debates: int, seed: int = SEED) -> Outcome:
    """Half of the debates have a better side, on either side by turns, and half have not."""
    draw = random.Random(f"{seed} {name} {setting.name}")
    won, wrong, open_, flipped, pairs, shift = 0, 0, 0, 0, 0, 0.0
    for n in range(debates):
        equal, first, long = n % 2 == 0, "ab"[n // 2 % 2], "ab"[n // 4 % 2]
        better = "ab"[n // 8 % 2]
        quality = {side: 5.0 + (MARGIN if side == better and not equal else 0.0) for side in "ab"}
        words = {side: LONG if side == long else SHORT for side in "ab"}
        debate = debated(quality, words, first, setting, BIASES[name], draw)
        verdict = tally.verdict(debate)
        assert verdict is not None
        favoured = {"position": first, "length": long, "side": "a"}.get(name.partition(":")[0], "a")
        open_ += verdict.winner == NO_DECISION
        flips, of = tally.flipped_votes(debate)
        flipped, pairs = flipped + flips, pairs + of
        if equal:
            wrong += verdict.winner == favoured
            shift += _ahead(verdict, favoured)
        else:
            won += verdict.winner == better
    half = debates / 2
    return Outcome(won / half, wrong / half, open_ / debates, flipped / pairs if pairs else None, shift / half)


def _ahead(verdict: Verdict, side: str) -> float:
    other = "b" if side == "a" else "a"
    return float(verdict.totals[side] - verdict.totals[other])


HEADS = (
    "bias of the judges",
    "judged by",
    "better side wins",
    "favoured side wins when equal",
    "no decision",
    "votes that flip",
    "points for the favoured",
)


def main(debates: int) -> None:
    print(f"| {' | '.join(HEADS)} |\n|{' --- |' * len(HEADS)}")
    for name in BIASES:
        for setting in SETTINGS:
            if name == "none" and setting.name.endswith("each bias"):
                continue
            one = outcome(name, setting, debates)
            half = debates // 2
            shares = [(share, *wilson_interval(round(share * half), half)) for share in one[:2]]
            formatted = [f"{share:.0%} ({low:.0%} to {high:.0%})" for share, low, high in shares]
            flips = "" if one.flips is None else f"{one.flips:.0%}"
            cells = [name, setting.name, *formatted, f"{one.undecided:.0%}", flips, f"{one.shift:+.2f}"]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DEBATES)
