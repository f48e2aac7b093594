"""What a judge made of its cases, added up and told: findings in, a card out, as a table, as markdown and as data.

Rate        the cases in which it fell, by those in which both ballots count. A judge that gave no ballot is absent
            there, and has not fallen.
Interval    Wilson's for that rate, at 95 %, as if the cases were independent. They are not quite: those of one
            debate are compared with the same ballot on it.
Mean shift  the mean of what the findings say of the scores.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from debate_orchestrator import casts
from debate_orchestrator.core.bill import Line as Paid
from debate_orchestrator.core.figures import decimals
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.probing import SIDES, Case, Expect, Finding, Kind, Probes, finding
from debate_orchestrator.reports.markup import literal

HEADING = "# Judge Check"
_Z = 1.959963984540054
"""Of the normal distribution, 95 % is within so many standard deviations."""
_COLUMNS = ("what was done", "cases", "fell", "absent", "rate (95 % interval)", "mean shift")
_SHIFTS = (
    "Shift: points that the changed side's score gained; for exchanged sides who is ahead by the seat alone, and by"
)
_SHIFTS += " how much; for the debate that is the same how far a score moved, either way."

Results = Mapping[tuple[str, int], RoundResult | None]
"""A version's name and which time it was judged, to the ballot; None where the judge gave none that counts."""


class Outcome(NamedTuple):
    """One case, once."""

    case: Case
    time: int
    """From 1."""
    ballots: tuple[RoundResult, RoundResult] | None
    """On the debate as it is and as it was changed, where both count."""
    found: Finding | None
    """None where the judge is absent, or not asked yet."""
    absent: bool

    @property
    def status(self) -> str:
        return "judged" if self.found else "absent" if self.absent else "left"


class Line(NamedTuple):
    """All cases of one kind."""

    kind: Kind
    cases: int
    judged: int
    fell: int
    absent: int
    left: int
    """Cases whose ballots are not there yet."""
    shift: Fraction | None
    """The mean; None where nothing was judged."""

    @property
    def rate(self) -> Fraction | None:
        return Fraction(self.fell, self.judged) if self.judged else None

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.fell, self.judged)


class Sheet(NamedTuple):
    """One judge's part of a card."""

    judge: str
    """As a report names it."""
    folder: str
    """Where its journals lie, in the card's folder."""
    stands_in: bool
    """Whether no model was called."""
    lines: tuple[Line, ...]
    outcomes: tuple[Outcome, ...]
    paid: Paid

    @property
    def left(self) -> int:
        return sum(line.left for line in self.lines)


class Card(NamedTuple):
    """What a check found."""

    probes: Probes
    times: int
    sheets: tuple[Sheet, ...]

    @property
    def complete(self) -> bool:
        return not any(sheet.left for sheet in self.sheets)


def wilson(fell: int, cases: int) -> tuple[float, float]:
    """Wilson's score interval of a rate; all of it where there is no case."""
    if not cases:
        return 0.0, 1.0
    rate, weight = fell / cases, _Z * _Z / cases
    middle = (rate + weight / 2) / (1 + weight)
    reach = _Z * math.sqrt((rate * (1 - rate) + weight / 4) / cases) / (1 + weight)
    return max(0.0, middle - reach) if fell else 0.0, min(1.0, middle + reach) if fell < cases else 1.0


def outcomes(cases: Sequence[Case], times: int, results: Results) -> tuple[Outcome, ...]:
    """Every case, each time, in order."""
    return tuple(_outcome(case, time, results) for case in cases for time in range(1, times + 1))


def _outcome(case: Case, time: int, results: Results) -> Outcome:
    keys = [(version.name, time) for version in (case.plain, case.changed)]
    given = [results[key] for key in keys if key in results]
    plain, changed = (results.get(key) for key in keys)
    if plain is None or changed is None:
        return Outcome(case, time, None, None, None in given)
    return Outcome(case, time, (plain, changed), finding(case, plain, changed), False)


def lines(kinds: Sequence[Kind], found: Sequence[Outcome]) -> tuple[Line, ...]:
    """A line for each kind, in their order."""
    return tuple(_line(kind, [one for one in found if one.case.kind == kind]) for kind in kinds)


def _line(kind: Kind, own: Sequence[Outcome]) -> Line:
    judged = [one.found for one in own if one.found is not None]
    return Line(
        kind=kind,
        cases=len(own),
        judged=len(judged),
        fell=sum(one.fell for one in judged),
        absent=sum(one.status == "absent" for one in own),
        left=sum(one.status == "left" for one in own),
        shift=sum((one.shift for one in judged), Fraction(0)) / len(judged) if judged else None,
    )


def folder(judge: str) -> str:
    """The name of the folder for a judge's journals: readable, and no other judge's."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in casts.shown(judge))
    return f"{plain[:60].strip('-')}-{_mark(judge)}"


def names(judges: Sequence[str]) -> dict[str, str]:
    """What a card calls each judge: of programs their name alone, with a mark where two are called the same."""
    shown = {judge: casts.shown(judge) for judge in judges}
    alike = list(shown.values())
    return {judge: name if alike.count(name) == 1 else f"{name} ({_mark(judge)})" for judge, name in shown.items()}


def _mark(judge: str) -> str:
    return hashlib.sha256(judge.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def table(card: Card) -> str:
    """The card for a terminal."""
    made = []
    for sheet in card.sheets:
        rows = [_COLUMNS, *(_cells(line) for line in sheet.lines)]
        widths = [max(len(row[n]) for row in rows) for n in range(len(_COLUMNS))]
        made += [f"{sheet.judge}: {_paid(sheet)}", *(_row(row, widths) for row in rows), *_notes(sheet), ""]
    return "\n".join([*made, _SHIFTS])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The first cell to the left, the others to the right."""
    first, *others = zip(cells, widths, strict=True)
    return "  ".join(["", first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])


def _cells(line: Line) -> tuple[str, ...]:
    low, high = (round(100 * end) for end in line.interval)
    rate = "none" if line.rate is None else f"{round(100 * line.rate)} % ({low} to {high} %)"
    shift = "" if line.shift is None else moved(line.kind.expect, line.shift)
    return line.kind.title, str(line.cases), str(line.fell), str(line.absent), rate, shift


def moved(expect: Expect, shift: Fraction) -> str:
    """A shift with its direction: `+0.4`, `A +0.4` for a seat that is ahead by itself, `±0.4` for either way."""
    size = decimals(abs(shift))
    if size == "0":
        return "0"
    if expect == "the same":
        return f"±{size}"
    if expect == "goes along":
        return f"{'A' if shift > 0 else 'B'} +{size}"
    return f"{'+' if shift > 0 else '-'}{size}"


def _paid(sheet: Sheet) -> str:
    paid = sheet.paid
    if not paid.calls:
        return "no calls"
    calls = f"{paid.calls} call{'s' * (paid.calls != 1)}"
    if paid.unknown == paid.calls:
        return f"{calls} of unknown price"
    return f"{calls}, ${paid.cost:.2f}" + (f" and {paid.unknown} of unknown price" if paid.unknown else "")


def _notes(sheet: Sheet) -> Iterator[str]:
    if sheet.stands_in:
        yield "A stand-in gave these ballots, and no model was called: they say nothing about any judge."
    if sheet.left:
        cases = sum(line.cases for line in sheet.lines)
        yield f"Not finished: {sheet.left} of {cases} cases are still to be judged. The same command goes on with them."


def markdown(card: Card) -> str:
    """The card as a document of its own."""
    kinds, bouts = card.probes
    times = "once" if card.times == 1 else f"{card.times} times"
    titles = "; ".join(literal(bout.title) for bout in bouts)
    made = [HEADING, "", f"{len(bouts)} short debates ({titles}), each case judged {times}."]
    for sheet in card.sheets:
        rows = [_COLUMNS, ("---", *["---:"] * (len(_COLUMNS) - 1)), *(_cells(line) for line in sheet.lines)]
        made += ["", f"## {literal(sheet.judge)}", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
        made += [f"{_paid(sheet)[0].upper()}{_paid(sheet)[1:]}. Journals: `{sheet.folder}/`.", *_notes(sheet)]
        fell = [_told(one) for one in sheet.outcomes if one.found is not None and one.found.fell]
        made += ["", "Where it fell:", "", *fell] if fell else []
    made += ["", "## What was done", ""]
    made += [f"- **{kind.title}.** {' '.join(kind.about.split())} {_margin(kind)}".rstrip() for kind in kinds]
    made += ["", "## How to read it", "", _SHIFTS, "", _READING, ""]
    return "\n".join(made)


_READING = """\
A rate is the cases in which the judge fell, by those in which both of its ballots count; absent is where one does not.
The interval is Wilson's at 95 %, as if cases were independent: with few cases it is wide, and two judges whose
intervals overlap are not told apart. What is changed in one debate is compared with one ballot on that debate as it
is, so that an unsteady ballot there can show in several lines."""


def _margin(kind: Kind) -> str:
    return f"(A score may move by {kind.margin:g}.)" if kind.margin else ""


def _told(one: Outcome) -> str:
    """A case in which the judge fell, as an item of a list."""
    assert one.ballots is not None
    side = f", side {one.case.side.upper()}" if one.case.side else ""
    time = f", time {one.time}"
    where = f"{one.case.kind.title}, {one.case.plain.bout.title}{side}{time}"
    return f"- {where}: as it is, {_ballot(one.ballots[0])}; changed, {_ballot(one.ballots[1])}"


def _ballot(given: RoundResult) -> str:
    scores = ", ".join(f"{side.upper()} {decimals(given.scores[side])}" for side in SIDES)
    return f"{scores}, winner {given.winner.upper() if given.winner in SIDES else given.winner}"


def data(card: Card) -> dict[str, Any]:
    """The card for a program."""
    kinds, bouts = card.probes
    return {
        "status": "done" if card.complete else "stopped",
        "times": card.times,
        "confidence": 0.95,
        "debates": [{"name": bout.name, "title": bout.title, "topic": bout.topic} for bout in bouts],
        "kinds": [kind.model_dump(include={"name", "title", "about", "expect", "margin"}) for kind in kinds],
        "judges": [_sheet(sheet) for sheet in card.sheets],
    }


def _sheet(sheet: Sheet) -> dict[str, Any]:
    paid = sheet.paid
    return {
        "judge": sheet.judge,
        "folder": sheet.folder,
        "stand_in": sheet.stands_in,
        "cost": {"usd": paid.cost, "calls": paid.calls, "of_unknown_price": paid.unknown},
        "kinds": [_counted(line) for line in sheet.lines],
        "cases": [_case(one) for one in sheet.outcomes],
    }


def _counted(line: Line) -> dict[str, Any]:
    low, high = line.interval
    return {
        "kind": line.kind.name,
        **{name: getattr(line, name) for name in ("cases", "judged", "fell", "absent", "left")},
        "rate": None if line.rate is None else float(line.rate),
        "low": None if line.rate is None else low,
        "high": None if line.rate is None else high,
        "shift": None if line.shift is None else float(line.shift),
    }


def _case(one: Outcome) -> dict[str, Any]:
    case, found = one.case, one.found
    return {
        "kind": case.kind.name,
        "debate": case.plain.bout.name,
        "side": case.side,
        "time": one.time,
        "status": one.status,
        "fell": found.fell if found else None,
        "shift": float(found.shift) if found else None,
        "versions": [case.plain.name, case.changed.name],
        "winners": [given.winner for given in one.ballots] if one.ballots else None,
        "scores": [{k: float(v) for k, v in given.scores.items()} for given in one.ballots] if one.ballots else None,
    }
