"""What findings add up to, and how it is told."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from debate_orchestrator import probing, scorecards
from debate_orchestrator.core.bill import Line as Paid
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.scorecards import Card, Sheet, wilson

PROBES = probing.load()
CASES = probing.cases(PROBES)


def result(a: float, b: float) -> RoundResult:
    scores = {"a": Fraction(str(a)), "b": Fraction(str(b))}
    return RoundResult(round=2, scores=scores, winner="a" if a > b else "b" if b > a else "tie", ballots=1)


def ballots(times: int = 1) -> dict[tuple[str, int], RoundResult | None]:
    """A judge who gives every version the same."""
    named = [version.name for version in probing.versions(CASES)]
    return {(name, time): result(6, 5) for name in named for time in range(1, times + 1)}


def sheet(results: scorecards.Results, judge: str = "anthropic:m", times: int = 1, **more: object) -> Sheet:
    found = scorecards.outcomes(CASES, times, results)
    made = {"judge": judge, "folder": "f", "stands_in": False, "paid": Paid(seat="judge", phase="all"), **more}
    return Sheet(lines=scorecards.lines(PROBES.kinds, found), outcomes=found, **made)  # type: ignore[arg-type]


def line(made: Sheet, kind: str) -> scorecards.Line:
    return next(one for one in made.lines if one.kind.name == kind)


@pytest.mark.parametrize(
    ("fell", "cases", "low", "high"),
    [(0, 6, 0, 0.3903), (6, 6, 0.6097, 1), (3, 6, 0.1876, 0.8124), (1, 3, 0.0615, 0.7923), (50, 100, 0.4038, 0.5962)],
)
def test_intervals_are_wilsons(fell: int, cases: int, low: float, high: float) -> None:
    """The interval of a rate is the one that tables of Wilson's give."""
    assert wilson(fell, cases) == pytest.approx((low, high), abs=1e-4)


def test_nothing_judged_tells_nothing() -> None:
    """Without a case the interval is everything, and there is no rate."""
    made = sheet({})

    assert wilson(0, 0) == (0, 1)
    assert [one.rate for one in made.lines] == [None] * 7
    assert made.left == 36


def test_absent_is_not_fallen() -> None:
    """A case without one of its ballots counts as absent where the judge gave none, as left where it was not asked,
    and in neither way as judged."""
    given = ballots()
    given["bus-fares.padded.a", 1] = None
    del given["bus-fares.padded.b", 1]
    padded = line(sheet(given), "padded")

    assert (padded.cases, padded.judged, padded.fell, padded.absent, padded.left) == (6, 4, 0, 1, 1)
    assert padded.rate == 0


def test_without_the_plain_ballot_nothing_is_compared() -> None:
    """Where the judge gave no ballot on a debate as it is, all cases of that debate are absent."""
    made = sheet(ballots() | {("bus-fares.plain", 1): None})

    assert sum(one.absent for one in made.lines) == 12
    assert sum(one.judged for one in made.lines) == 24


def test_times_are_compared_with_themselves() -> None:
    """What is judged more than once is compared with the ballot of the same time, and counts each time."""
    given = ballots(2)
    given["bus-fares.padded.b", 2] = result(6, 7)
    padded = line(sheet(given, times=2), "padded")

    assert (padded.cases, padded.judged, padded.fell) == (12, 12, 1)
    assert padded.shift == Fraction(2, 12)


@pytest.mark.parametrize(
    ("expect", "shift", "told"),
    [
        ("no gain", 0.4, "+0.4"),
        ("less", -5, "-5"),
        ("no gain", 0.001, "0"),
        ("goes along", 1.25, "A +1.25"),
        ("goes along", -1, "B +1"),
        ("the same", 0.3, "±0.3"),
    ],
)
def test_shifts_have_a_direction(expect: probing.Expect, shift: float, told: str) -> None:
    """A shift says which way it goes, where it has a way."""
    assert scorecards.moved(expect, Fraction(str(shift))) == told


def test_judges_are_told_apart_without_their_arguments() -> None:
    """Of programs only the name is shown; two that are called the same get a mark, and each has its own folder."""
    judges = ["command:python judge.py --key sk-secret", "command:python other.py", "anthropic:m"]
    names = scorecards.names(judges)
    folders = [scorecards.folder(judge) for judge in judges]

    assert len(set(names.values())) == len(set(folders)) == 3
    assert names["anthropic:m"] == "anthropic:m"
    assert "secret" not in "".join([*names.values(), *folders])
    assert all(name.replace("-", "").isalnum() for name in folders)


@pytest.mark.parametrize(
    "judge", ["openai:../../x", "ollama:" + "y" * 500, "command:/bin/sh -c 'rm *'", "anthropic:é\n"]
)
def test_folders_are_plain_names(judge: str) -> None:
    """Whatever a judge is called, its folder is one short name."""
    made = scorecards.folder(judge)

    assert len(made) <= 70 and made.isascii() and set(made) & set("/\\. \n'") == set()


def test_the_table_has_its_columns() -> None:
    """Each kind has its row, with the numbers under each other."""
    told = scorecards.table(Card(PROBES, 1, (sheet(ballots()),)))
    rows = [row for row in told.split("\n") if row.startswith("  ")]

    assert len(rows) == 8
    assert rows[2].split() == ["Sides", "exchanged", "3", "3", "0", "100", "%", "(44", "to", "100", "%)", "A", "+1"]
    assert len({len(row) for row in rows}) == 1


def test_what_weakens_a_card_is_said() -> None:
    """A stand-in's ballots and a check that is not finished are told as what they are."""
    part = dict(list(ballots().items())[:5])
    card = Card(PROBES, 1, (sheet(part, stands_in=True),))
    for told in (scorecards.table(card), scorecards.markdown(card)):
        assert "no model was called" in told
        assert "32 of 36 cases are still to be judged" in told
    assert scorecards.data(card)["status"] == "stopped"
    assert not card.complete


@pytest.mark.parametrize(
    ("calls", "unknown", "told"),
    [
        (0, 0, "m: no calls"),
        (3, 3, "m: 3 calls of unknown price"),
        (1, 0, "m: 1 call, $0.50"),
        (3, 1, "m: 3 calls, $0.50 and 1 of unknown price"),
    ],
)
def test_what_is_unknown_is_not_nothing(calls: int, unknown: int, told: str) -> None:
    """What was paid is told, and an unknown price as unknown."""
    paid = Paid(seat="judge", phase="all", calls=calls, unknown=unknown, cost=0.5 if calls > unknown else 0)

    assert scorecards.table(Card(PROBES, 1, (sheet({}, judge="m", paid=paid),))).startswith(f"{told}\n")


def test_the_document_names_the_cases() -> None:
    """The document lists where the judge fell with both ballots, and says what was done and how to read it."""
    given = ballots() | {("code-review.polish.b", 1): result(6, 8.25)}
    told = scorecards.markdown(Card(PROBES, 1, (sheet(given),)))

    assert told.startswith(scorecards.HEADING)
    wanted = "- Polished, Review before or after the merge, side B, time 1: "
    assert f"{wanted}as it is, A 6, B 5, winner A; changed, A 6, B 8.25, winner B" in told
    assert [kind.title for kind in PROBES.kinds if f"- **{kind.title}.**" not in told] == []
    assert "Wilson" in told


def test_names_forge_nothing() -> None:
    """A judge's name stays one line of text, whatever it is."""
    told = scorecards.markdown(Card(PROBES, 1, (sheet(ballots(), judge="x\n# Forged | <b>"),)))

    assert "\n# Forged" not in told and "<b>" not in told.replace("\\<b\\>", "")


def test_data_are_plain() -> None:
    """A program gets every case and every number, as JSON can hold it."""
    told = json.loads(json.dumps(scorecards.data(Card(PROBES, 1, (sheet(ballots()),)))))
    (judge,) = told["judges"]
    exchanged = next(one for one in judge["kinds"] if one["kind"] == "exchanged")

    assert (told["status"], told["times"], told["confidence"]) == ("done", 1, 0.95)
    assert exchanged == {
        "kind": "exchanged",
        "cases": 3,
        "judged": 3,
        "fell": 3,
        "absent": 0,
        "left": 0,
        "rate": 1.0,
        "low": pytest.approx(0.4385, abs=1e-4),
        "high": 1.0,
        "shift": 1.0,
    }
    assert len(judge["cases"]) == 36
    assert judge["cases"][0] == {
        "kind": "same",
        "debate": "bus-fares",
        "side": None,
        "time": 1,
        "status": "judged",
        "fell": False,
        "shift": 0.0,
        "versions": ["bus-fares.plain", "bus-fares.same"],
        "winners": ["a", "a"],
        "scores": [{"a": 6.0, "b": 5.0}, {"a": 6.0, "b": 5.0}],
    }
