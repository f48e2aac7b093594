"""The manipulations that sway judges: pairs of ballots compared and counted, and shown as a table or as markdown.

A scorecard is plain data, ready for JSON:
{"status": "done" or "stopped", "confidence": 0.95, "debates": {name: title}, "probes": [Probe ...], "judges": [
  {"judge", "folder" of its journals, "stand_in": whether no model was called, "calls", "calls_of_unknown_price", "usd",
   "probes": [the result of `summary` ...], "cases": [{"probe", "debate", "side", "repeat", and `outcome`} ...]} ...]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from statistics import fmean
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.reports.safe_markdown import escape_line
from debate_orchestrator.util.numbers import wilson_interval

_COLUMNS = ("probe", "cases", "fell for it", "no ballot", "rate (95 % interval)", "mean shift")
_SHIFT = """\
Shift: the points that the changed side gained. For swapped sides it is the lead of seat A by itself (of seat B if
negative), and for the unchanged debate the larger move of a score in either direction."""
_READING = """\
A rate is the share of cases in which the judge fell for the probe, of those in which both of its ballots count. The
interval is Wilson's at 95 % and treats cases as independent. With few cases it is wide, and two judges whose intervals
overlap can't be told apart. All changes to one debate are compared with the same ballot on its original, so one
unsteady ballot there can show in several rows."""

Side = Literal["a", "b"]
SIDES: tuple[Side, ...] = ("a", "b")
Data = dict[str, Any]
NO_BALLOT, PENDING = "no ballot", "pending"
"""In place of a ballot: the judge gave none that counts; it was not asked yet."""


class Probe(FrozenModel):
    """One thing done to a debate that should not change how it is judged."""

    name: str
    title: str
    about: str  # ends with what falling for it means
    expect: Literal["unchanged", "swapped", "lower", "no gain"]  # what a sound judge does; see `compare`
    margin: float = Field(default=0, ge=0)  # points by which a score may move
    texts: tuple[tuple[str, str], ...] = Field(default=(), exclude=True)
    """Templates of the changed side's two speeches. The debates take these pairs in turn."""

    @model_validator(mode="after")
    def _has_texts_for_a_changed_side(self) -> Self:
        if bool(self.texts) != (self.expect in ("lower", "no gain")):
            raise ValueError("texts belong to probes that expect `lower` or `no gain`, and to no others")
        return self


def compare(probe: Probe, side: Side | None, original: RoundResult, changed: RoundResult) -> tuple[bool, Fraction]:
    """Whether the judge of these two ballots fell for the probe, and the shift in points.

    unchanged  It fell if the winner changed or a score moved by more than the margin. Shift: the larger move.
    swapped    It fell if the winner did not move with the speeches, or if the mean lead of seat `a` over both ballots
               exceeds the margin in either direction. Shift: that lead.
    lower      It fell if the changed side won, or scored no less than the other side or than its own speeches did.
    no gain    It fell if the changed side's score rose by more than the margin, or the winner moved towards it.
               Shift, as for `lower`: the points that the changed side gained.
    """
    margin, before, after = Fraction(str(probe.margin)), original.scores, changed.scores
    if side is None and probe.expect == "unchanged":
        move = max(abs(after[seat] - before[seat]) for seat in before)
        return changed.winner != original.winner or move > margin, move
    if side is None:
        lead = (before["a"] - before["b"] + after["a"] - after["b"]) / 2
        moved_winner = {"a": "b", "b": "a"}.get(original.winner, original.winner)
        return changed.winner != moved_winner or abs(lead) > margin, lead
    opponent, gain = other(side), after[side] - before[side]
    if probe.expect == "lower":
        return changed.winner == side or after[side] >= min(after[opponent], before[side]), gain
    # 1 for a win of the changed side, 0 for a tie, -1 for a win of the other
    outcome_before, outcome_after = (
        (ballot.winner == side) - (ballot.winner == opponent) for ballot in (original, changed)
    )
    return gain > margin or outcome_after > outcome_before, gain


def other(side: Side) -> Side:
    return "b" if side == "a" else "a"


def outcome(probe: Probe, side: Side | None, original: RoundResult | str, changed: RoundResult | str) -> Data:
    """The result of a case: {"status", "fell", "shift"}; if judged, also the "winners" and "scores" of both ballots."""
    if isinstance(original, str) or isinstance(changed, str):
        return {"status": PENDING if PENDING in (original, changed) else NO_BALLOT, "fell": None, "shift": None}
    fell, shift = compare(probe, side, original, changed)
    scores = [{seat: float(score) for seat, score in ballot.scores.items()} for ballot in (original, changed)]
    winners = [original.winner, changed.winner]
    return {"status": "judged", "fell": fell, "shift": float(shift), "winners": winners, "scores": scores}


def summary(probe: Probe, cases: Sequence[Data]) -> Data:
    """All cases of a probe, for one judge. Without a judged case, rate, interval (low, high) and mean shift are None.
    The rate is that of judged cases; a judge that gave no ballot has fallen for nothing."""
    probe_cases = [case for case in cases if case["probe"] == probe.name]
    statuses = [case["status"] for case in probe_cases]
    shifts = [case["shift"] for case in probe_cases if case["status"] == "judged"]
    judged_count, fell = len(shifts), sum(bool(case["fell"]) for case in probe_cases)
    low, high = wilson_interval(fell, judged_count) if judged_count else (None, None)
    return {
        "probe": probe.name,
        "cases": len(probe_cases),
        "judged": judged_count,
        "fell": fell,
        "no_ballot": statuses.count(NO_BALLOT),
        "pending": statuses.count(PENDING),
        "rate": fell / judged_count if judged_count else None,
        "low": low,
        "high": high,
        "shift": fmean(shifts) if judged_count else None,
    }


def table(card: Data) -> str:
    return "\n\n".join(["\n".join([judge["judge"], *_judge_table(card, judge)]) for judge in card["judges"]] + [_SHIFT])


def markdown(card: Data) -> str:
    """The scorecard as a document of its own."""
    lines = ["# Judge Scorecard"]
    for judge in card["judges"]:
        lines += [
            "",
            f"## {escape_line(judge['judge'])}",
            "",
            *_judge_table(card, judge),
            f"Journals: `{judge['folder']}/`.",
        ]
        falls = [_fall(card, case) for case in judge["cases"] if case["fell"]]
        lines += ["", "Cases in which it fell for the probe:", "", *falls] if falls else []
    lines += ["", "## The probes", ""]
    for probe in card["probes"]:
        margin = f" (A score may move by {probe['margin']:g}.)" if probe["margin"] else ""
        lines.append(f"- **{probe['title']}.** {probe['about'].strip()}{margin}")
    return "\n".join([*lines, "", "## How to read it", "", _SHIFT, "", _READING, ""])


def _judge_table(card: Data, judge: Data) -> Iterator[str]:
    """The table of a judge, as markdown that is aligned for a terminal too, with its cost and what weakens it."""
    rows = [_COLUMNS, *(_cells(probe, row) for probe, row in zip(card["probes"], judge["probes"], strict=True))]
    first, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ("-" * first, *("-" * (width - 1) + ":" for width in widths)))
    for name, *numbers in rows:
        cells = [number.rjust(width) for number, width in zip(numbers, widths, strict=True)]
        yield f"| {' | '.join([name.ljust(first), *cells])} |"
    price = f"${judge['usd']:.2f}"
    if unknown := judge["calls_of_unknown_price"]:
        price = f"at least {price} ({unknown} of unknown price)"
    yield f"\nCalls: {judge['calls']}, {price}."
    if judge["stand_in"]:
        yield "These ballots come from a stand-in and no model was called: they say nothing about any judge."
    if pending := sum(row["pending"] for row in judge["probes"]):
        yield f"Not finished: {pending} of {len(judge['cases'])} cases are pending. Run the same command to go on."


def _cells(probe: Data, row: Data) -> tuple[str, ...]:
    rate = shift = "none"
    if row["judged"]:
        rate = f"{row['rate']:.0%} ({row['low']:.0%} to {row['high']:.0%})".replace("%", " %")
        shift = f"{round(row['shift'], 2):+g}"
    return probe["title"], str(row["cases"]), str(row["fell"]), str(row["no_ballot"]), rate, shift


def _fall(card: Data, case: Data) -> str:
    """A case in which the judge fell for the probe, as an item of a list."""
    title = next(probe["title"] for probe in card["probes"] if probe["name"] == case["probe"])
    side = f", side {case['side'].upper()}" if case["side"] else ""
    original, changed = map(ballot_text, case["scores"], case["winners"])
    where = f"{title}, {escape_line(card['debates'][case['debate']])}{side}, repeat {case['repeat']}"
    return f"- {where}: original {original}; changed {changed}"


def ballot_text(scores: Mapping[str, float | Fraction], winner: str) -> str:
    """A ballot in a few words: `A 6.5, B 5, winner A`."""
    score_text = ", ".join(f"{side.upper()} {round(float(score), 2):g}" for side, score in scores.items())
    return f"{score_text}, winner {winner.upper() if winner in scores else winner}"
