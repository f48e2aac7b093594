"""Elo and winners follow their stated rules exactly; strengths are recovered from votes, with intervals, and what
can't be told from the votes is said."""

from __future__ import annotations

import math
import random
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from corpus import for_each
from small_tournaments import import_rows, ratings, row

from debate_orchestrator.tournament import ratings as fitting
from debate_orchestrator.tournament.rows import BallotRow, DebateRow, Rows, panel_winner, winner_by_scores
from debate_orchestrator.util.errors import BadFile

pytestmark = pytest.mark.usefixtures("few_draws")
STRENGTHS = {"weak": -1.0, "middling": 0.0, "strong": 1.0}
SIDE, SECOND, TIES = 0.6, 0.4, 0.4
JUDGES = {"fair": (0.0, 1.0), "for pro": (0.8, 1.0), "for con": (-0.8, 1.0), "coin": (0.0, 0.0)}
"""Judge to its bias and its reliability."""


def simulated(topics: int, seed: int = 1) -> tuple[list[DebateRow], list[BallotRow]]:
    """Every pair in both seatings and orders on each topic, voted on by all judges."""
    chance = random.Random(seed)
    debates, votes = [], []
    for topic in range(topics):
        for pro, con in permutations(STRENGTHS, 2):
            for first in ("pro", "con"):
                name = f"{topic} {pro} {con} {first}"
                debates.append(DebateRow(id=name, topic=str(topic), pro=pro, con=con, first=first, winner="tie"))
                for judge, (bias, reliability) in JUDGES.items():
                    order = SECOND if first == "con" else -SECOND
                    x = reliability * (STRENGTHS[pro] - STRENGTHS[con]) + SIDE + order + bias
                    weights = [math.exp(x / 2), math.exp(-x / 2), TIES]
                    winner: Any = chance.choices(("pro", "con", "tie"), weights)[0]
                    votes.append(BallotRow(debate=name, judge=judge, winner=winner))
    return debates, votes


def test_what_made_the_votes_is_found() -> None:
    """From simulated votes the fit finds strengths, effects, ties, and each judge's bias and reliability. Its
    reliabilities are relative to the judges' mean, so strengths are compared by their ratio."""
    fit = fitting.fit(*simulated(80))
    assert fit is not None and fit.side is not None and fit.second_speaker is not None

    found = {one.model: one.strength for one in fit.strengths}
    judges = {one.judge: one for one in fit.judges}
    assert [one.model for one in fit.strengths] == ["strong", "middling", "weak"]
    assert (found["strong"] - found["middling"]) == pytest.approx(found["middling"] - found["weak"], abs=0.15)
    assert fit.side.value == pytest.approx(SIDE, abs=0.1) and fit.second_speaker.value == pytest.approx(SECOND, abs=0.1)
    assert math.exp(fit.ties.value) == pytest.approx(TIES, abs=0.06)
    assert judges["for pro"].bias.value == pytest.approx(0.8, abs=0.2)
    assert judges["for con"].bias.value == pytest.approx(-0.8, abs=0.2)
    assert judges["coin"].reliability.value < 0.4 * judges["fair"].reliability.value
    for estimate, truth in ((fit.side, SIDE), (fit.second_speaker, SECOND)):
        assert estimate.low is not None and estimate.high is not None and estimate.low < truth < estimate.high
    assert [one.rank for one in fit.strengths] == [1, 2, 3]


def test_intervals_follow_the_topics() -> None:
    """More topics narrow the intervals, more judges of the same topic alone do not make them vanish, and the same rows
    give the same figures."""

    def width(topics: int) -> float:
        fit = fitting.fit(*simulated(topics))
        assert fit is not None
        first = fit.strengths[0]
        assert first.low is not None and first.high is not None
        return first.high - first.low

    assert width(80) < 0.7 * width(20)
    assert fitting.fit(*simulated(6)) == fitting.fit(*simulated(6))


def test_equal_models_share_a_rank(debate: Run) -> None:
    """Models that the intervals do not separate share rank 1, and one that loses to both has rank 3."""
    rows = []
    for topic in range(12):
        for n, (pro, con) in enumerate((("a", "b"), ("b", "a"))):
            winner = ("pro", "con")[(topic + n) % 2] if topic % 3 else "tie"
            rows.append(row(f"{topic}-{n}", pro, con, winner, topic=f"t{topic}"))
        for model in ("a", "b"):
            rows.append(row(f"{topic}-{model}", model, "c", "pro", topic=f"t{topic}"))
            rows.append(row(f"{topic}-c{model}", "c", model, "con" if topic else "pro", topic=f"t{topic}"))
    import_rows(debate, rows)

    assert {one["model"]: one["rank"] for one in ratings(debate)["bradley_terry"]} == {"a": 1, "b": 1, "c": 3}


def test_a_model_that_won_everything_has_a_finite_strength(debate: Run) -> None:
    """The prior keeps it finite, above the others, and the note names it."""
    rows = [row(f"{n}-{side}", *(("best", "x") if side else ("x", "best")), "best", topic=f"t{n}") for n in range(6)
            for side in (0, 1)]  # fmt: skip
    import_rows(debate, rows)

    ran = debate("tournament", "rate", "t", "--json")

    first, second = ran.json["bradley_terry"]
    assert first["model"] == "best" and 0.5 < first["strength"] < 6
    assert second["strength"] == pytest.approx(-first["strength"], abs=1e-3)
    assert "the prior alone holds their strength: “best”, “x”." in ran.err


def test_strengths_are_of_the_debates_that_elo_counts() -> None:
    """Votes on a debate without a decision, or between a model and itself, make no strength, as the notes say."""
    sides = {
        "rated": ("a", "b", "pro"),
        "open": ("a", "b", None),
        "alone": ("a", "a", "con"),
        "apart": ("c", "c", "pro"),
        "last": ("d", "b", None),
    }
    debates = [DebateRow(id=name, topic="t", pro=pro, con=con, winner=won) for name, (pro, con, won) in sides.items()]
    rated = fitting.rate(Rows(debates, [BallotRow(debate=name, judge="j", winner="pro") for name in sides]))

    assert rated.fit is not None
    assert [(row.model, row.votes, row.one_sided) for row in rated.fit.strengths] == [("a", 1, True), ("b", 1, True)]
    assert "2 debates are finished without a decision and are left out of every rating." in rated.notes
    assert "Models of which no debate counts in a rating: “c”, “d”." in rated.notes
    alone = "2 debates are between a model and itself: counted by side, topic and judge, left out of every rating."
    assert alone in rated.notes


def test_models_that_never_met_are_not_compared(debate: Run) -> None:
    """Two groups have ranks of their own, each is centered on 0, and the note says so."""
    rows = []
    for n in range(12):
        for strong, weak in (("a", "b"), ("c", "d")):
            pro, con = (strong, weak) if n % 2 else (weak, strong)
            rows.append(row(f"{strong}{n}", pro, con, weak if n < 2 else strong, topic=f"t{n // 2}"))
    import_rows(debate, rows)

    ran = debate("tournament", "rate", "t", "--json")

    found = {one["model"]: one for one in ran.json["bradley_terry"]}
    assert found["a"]["strength"] == pytest.approx(-found["b"]["strength"], abs=1e-3)
    assert found["a"]["rank"] == found["c"]["rank"] == 1
    assert "2 groups that no vote which counts connects" in ran.err


def test_effects_that_the_schedule_hides_are_null(debate: Run) -> None:
    """Without swapped sides or a ring there is no side effect, and without both orders none of speaking second."""
    import_rows(debate, [row(f"d{n}", "a", "b", "pro" if n % 3 else "con", topic=f"t{n}") for n in range(9)])

    ran = debate("tournament", "rate", "t", "--json")

    assert ran.json["side_effect"] is None and ran.json["second_speaker_effect"] is None
    assert "can't tell a side effect" in ran.err and "speaking second can't be told apart" in ran.err
    ring = [DebateRow(id=pair, topic="t", pro=pair[0], con=pair[1], winner="pro") for pair in ("ab", "bc", "ca")]
    fit = fitting.fit(ring, [BallotRow(debate=debate.id, judge="j", winner="pro") for debate in ring])
    assert fit is not None and fit.side is not None
    assert set(ran.json) == {"schema", "elo", "bradley_terry", "side_effect", "second_speaker_effect"}
    assert set(ran.json["bradley_terry"][0]) == {"model", "strength", "low", "high", "rank"}
    assert set(ran.json["elo"][0]) == {"model", "rating", "games", "won", "lost", "tied"}


def test_flipped_votes_count_nowhere_and_are_said(debate: Run) -> None:
    """A vote that changes when the sides are swapped counts in no panel, rating or agreement; the note has the
    number. One that is an abstention on one of the two did not change, and counts nowhere either."""
    rows = [row("d0", "a", "b", winner, judge="shy", mirrored=n) for n, winner in enumerate(("pro", "abstain"))]
    rows += [row("d1", "a", "b", "abstain", judge="shy", mirrored=n) for n in range(2)]
    rows += [row("d2", "a", "b", "pro", judge="late", mirrored=1)]
    rows += [row("d3", "a", "b", "", judge="labels", mirrored=n, label=label) for n, label in enumerate(("yes", "no"))]
    for n in range(4):
        for mirrored in ("no", "yes"):
            rows.append(row(f"d{n}", "a", "b", "pro", judge="steady", mirrored=mirrored))
            flips = n == 0 and mirrored == "yes"
            rows.append(row(f"d{n}", "a", "b", "pro" if flips else "con", judge="other", mirrored=mirrored))
    import_rows(debate, rows)

    ran = debate("tournament", "rate", "t", "--json")

    assert [(one["won"], one["tied"]) for one in ran.json["elo"]] == [(1, 3), (0, 3)]
    said = " ".join(ran.err.split())
    assert "2 of 9 votes that were cast twice changed when the sides were swapped" in said
    assert "their judge abstained in one of the two ballots: 1." in said
    assert "their judge cast only one of the two ballots: 1." in said


@pytest.mark.parametrize(("library", "verb"), [("numpy", "rate"), ("vl_convert", "report")])
def test_a_missing_extra_is_named(library: str, verb: str, debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its libraries a command ends in a sentence with the pip command, and writes nothing."""
    import_rows(debate, [row("d1", "a", "b", "pro")])
    monkeypatch.setitem(sys.modules, library, None)

    ran = debate("tournament", verb, "t")

    assert ran.code == 2 and "pip install 'debate-orchestrator[tournament]'" in ran.err
    assert {path.name for path in Path("t").iterdir()} == {"rows.jsonl", "tournament.json"}


ELO_CASES = {
    "a win between equals moves 16 points": ([("a", "b", "pro")], {"a": 416.0, "b": 384.0}),
    "a win of con moves them the other way": ([("a", "b", "con")], {"a": 384.0, "b": 416.0}),
    "a tie between equals moves nothing": ([("a", "b", "tie")], {"a": 400.0, "b": 400.0}),
    # The favourite a (416) ties as con with b (384): b was expected to score 1 / (1 + 10 ** 0.08) = 0.454078.
    "a tie moves points to the weaker": ([("a", "b", "pro"), ("b", "a", "tie")], {"a": 414.530499, "b": 385.469501}),
    # The favourite a (416) wins again, as pro: 1 - 1 / (1 + 10 ** -0.08) = 0.454078, times 32 = 14.530499.
    "a favourite gains less": ([("a", "b", "pro"), ("a", "b", "pro")], {"a": 430.530499, "b": 369.469501}),
    # And loses: 0 - 0.545922, times 32 = -17.469501.
    "a favourite loses more": ([("a", "b", "pro"), ("a", "b", "con")], {"a": 398.530499, "b": 401.469501}),
    # c enters at 400 and beats a at 416: 32 * (1 - 1 / (1 + 10 ** 0.04)) = 16.736307.
    "a newcomer starts at 400": (
        [("a", "b", "pro"), ("c", "a", "pro")],
        {"a": 399.263693, "b": 384.0, "c": 416.736307},
    ),
}


@for_each(ELO_CASES)
def test_elo_is_worked_as_by_hand(case: str) -> None:
    """Elo starts at 400, moves by K 32 and is zero-sum."""
    games, expected = ELO_CASES[case]
    rows = [
        DebateRow(id=f"d{n}", created=f"2026-01-0{n}", topic="t", pro=pro, con=con, winner=winner)  # type: ignore[arg-type]
        for n, (pro, con, winner) in enumerate(games, start=1)
    ]
    found = {one.model: one.rating for one in fitting.elo(rows)}

    assert found == pytest.approx(expected, abs=1e-5)
    assert sum(found.values()) == pytest.approx(400 * len(found))


def test_elo_takes_debates_by_time_then_id(debate: Run) -> None:
    """The order of the file means nothing: (created, id) decides, whatever zone or form the times have."""
    late = row("x", "a", "b", "pro", when="2026-01-01T12:00:00+02:00")  # 10:00 UTC
    first = row("z", "a", "b", "con", when="2026-01-01T09:30:00Z")
    second = row("b", "a", "b", "con", when="2026-01-01 10:00:00")
    import_rows(debate, [late, second, first])

    one, other = ratings(debate)["elo"]

    # con, con (id b before x at the same time), then pro: the win over a stronger b is worth 20.147 points.
    after_two = 16 + 32 / (1 + 10**0.08)
    gained = 32 * (1 - 1 / (1 + 10 ** (2 * after_two / 400)))
    assert (one["model"], one["rating"]) == ("b", pytest.approx(400 + after_two - gained))
    assert (other["won"], other["lost"], other["games"]) == (1, 2, 3)


@for_each(
    [
        (("pro", "tie", "tie"), "pro"),
        (("pro", "con", "tie"), "tie"),
        (("con", "con", "pro"), "con"),
        (("tie",), "tie"),
        (("con", None), "con"),
        ((None, None), None),
    ]
)
def test_a_panel_is_a_majority_without_ties(votes: tuple[str | None, ...], winner: str | None) -> None:
    """Votes for a tie are ignored, equal numbers are a tie, and no vote is not a decision."""
    assert panel_winner(votes) == winner


@for_each(
    [
        ([(7, 6), (6, 7)], "tie"),
        ([(0.1, 0.3), (0.2, 0.0)], "tie"),  # 0.1 + 0.2 is not 0.3 in floating point
        ([(7, 6), (6, 6.5)], "pro"),
        ([(1, 10)], "con"),
        ([], None),
    ]
)
def test_a_judges_winner_is_by_means(scores: list[tuple[float, float]], winner: str | None) -> None:
    """Equal means are a tie, exactly; no scores are no winner."""
    assert winner_by_scores(scores) == winner


def test_few_games_are_hidden_from_the_table_alone(debate: Run) -> None:
    """The table hides models with fewer than 5 games and says how many; --min-games and --json show them."""
    import_rows(debate, [row(f"d{n}", "often", "other", "pro") for n in range(5)] + [row("e", "rare", "often", "con")])

    shown = debate("tournament", "rate", "t")
    all_shown = debate("tournament", "rate", "t", "--min-games", "1")

    assert "rare" not in shown.out and "1 with fewer than 5 games not shown" in shown.out
    assert "rare" in all_shown.out and "rank: 1 + the intervals wholly above" in " ".join(all_shown.out.split())
    assert {one["model"] for one in ratings(debate)["elo"]} == {"often", "other", "rare"}


def votes(models: int, judges: int = 1) -> tuple[list[DebateRow], list[BallotRow]]:
    """A debate for each two models, and a vote on it."""
    debates = [
        DebateRow(id=f"d{n}", topic=f"t{n % 2}", pro=f"m{2 * n}", con=f"m{2 * n + 1}", winner="pro")
        for n in range(models // 2)
    ]
    return debates, [BallotRow(debate=one.id, judge=f"j{n % judges}", winner="pro") for n, one in enumerate(debates)]


@pytest.mark.parametrize(("models", "judges", "which"), [(502, 1, "502 models"), (2, 501, "501 judges")])
def test_so_many_models_and_judges_are_rated(models: int, judges: int, which: str) -> None:
    """Strengths of more models, or of more judges, than are fitted are refused before anything is fitted."""
    debates, ballots = votes(models)
    ballots += [BallotRow(debate="d0", judge=f"j{n}", winner="con") for n in range(1, judges)]

    with pytest.raises(BadFile, match=f"{which} are too many"):
        fitting.fit(debates, ballots)


def work_of(monkeypatch: pytest.MonkeyPatch, maximum: int) -> list[int]:
    """The work of all fits is bounded by `maximum`. Returns what will be the cells of each evaluation."""
    cells, evaluate = list[int](), fitting._Model._loss

    def counted(model: Any, x: Any, counts: Any) -> Any:
        cells.append(len(counts))
        return evaluate(model, x, counts)

    monkeypatch.setattr(fitting._Model, "_loss", counted)
    monkeypatch.setattr(fitting, "_MAX_WORK", maximum, raising=False)
    monkeypatch.setattr(fitting, "_EVALUATION_WORK", 0, raising=False)
    return cells


@pytest.mark.parametrize(
    ("share", "resamples", "note"),
    [(0.5, range(20, 150), "resamples instead of 200"), (0.02, range(1), "there are no intervals")],
)
def test_votes_that_take_much_work_have_fewer_resamples(
    share: float, resamples: range, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All fits together evaluate no more cells than are allowed, and a note says that resamples are missing. Strengths
    are those of all votes."""
    debates, ballots = votes(40)
    rows = Rows(debates, ballots)
    monkeypatch.setattr(fitting, "_RESAMPLE_COUNT", 200)
    cells = work_of(monkeypatch, 10**9)
    whole = fitting.rate(rows).fit
    maximum = int(sum(cells) * share)
    monkeypatch.setattr(fitting, "_MAX_WORK", maximum, raising=False)
    cells.clear()
    ratings = fitting.rate(rows)

    assert sum(cells) <= maximum
    assert whole is not None and ratings.fit is not None and whole.resamples == 200
    assert ratings.fit.resamples in resamples and any(note in one for one in ratings.notes)
    assert [one.strength for one in ratings.fit.strengths] == [one.strength for one in whole.strengths]


def test_votes_of_which_one_fit_is_too_much_work_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a sentence that says how many they are."""
    debates, ballots = votes(40)
    work_of(monkeypatch, 40)

    with pytest.raises(BadFile, match="these 20 votes between 40 models take too much work"):
        fitting.fit(debates, ballots)
