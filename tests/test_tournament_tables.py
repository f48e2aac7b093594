"""The tables count what they say: agreement, kappa, sides, order, repeats, and what journals hold."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import scripted_debates
from conftest import Run
from core import folding
from corpus import for_each
from small_tournaments import import_rows, ratings, row, table

from debate_orchestrator.core.events import Spoke
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.tournament.ratings import Ratings
from debate_orchestrator.tournament.rows import SIDES, BallotRow, DebateRow, RoleUsage, Rows
from debate_orchestrator.tournament.tables import Table, all_tables, cohen_kappa, fleiss_kappa, to_csv


def test_kappas_are_worked_as_by_hand() -> None:
    """Cohen: 20 yes-yes, 15 no-no, 5 and 10 apart: 0.7 agreed, 0.5 by chance, so 0.4. Fleiss, of three panels of three:
    agreement 1, 1/3, 1/3; chance (6/9)² + (3/9)² = 5/9; (5/9 - 5/9) / (4/9) = 0. One label alone is not a kappa."""
    counts = [("pro", "pro", 20), ("pro", "con", 5), ("con", "pro", 10), ("con", "con", 15)]

    assert cohen_kappa(counts) == pytest.approx(0.4)
    assert fleiss_kappa([(3, 0, 0), (2, 1, 0), (1, 2, 0)]) == pytest.approx(0)
    assert fleiss_kappa([(3, 0, 0), (0, 3, 0)]) == pytest.approx(1)
    assert cohen_kappa([("pro", "pro", 9)]) is fleiss_kappa([(3, 0, 0)]) is fleiss_kappa([]) is None


def test_agreement_takes_a_tie_for_a_label(debate: Run) -> None:
    """Two ties agree, a tie and a win do not, a missing vote is not a pair, and each pair occurs once, in either
    order."""
    votes = {"d1": ("tie", "tie"), "d2": ("tie", "pro"), "d3": ("con", "con"), "d4": ("pro", "")}
    rows = []
    for n, (name, (first, second)) in enumerate(votes.items()):
        panel = [row(name, "a", "b", first, judge="x"), row(name, "a", "b", second, judge="y")]
        rows += panel[::-1] if n % 2 else panel
    import_rows(debate, rows)

    # Chance: x has 2 ties and 1 con, y has 1 tie, 1 pro, 1 con: (2 * 1 + 1 * 1) / 9 = 1/3; (2/3 - 1/3) / (2/3) = 1/2.
    assert table("judge_agreement") == [
        {"judge_a": "x", "judge_b": "y", "agree": "2", "total": "3", "agreement_rate": "0.666667", "kappa": "0.5"}
    ]
    assert table("judge_side_preference")[0] == {
        "judge": "x", "pro": "1", "con": "1", "tie": "2", "total": "4",
        "pro_rate": "0.25", "con_rate": "0.25", "tie_rate": "0.5",
    }  # fmt: skip
    panels = table("panel_agreement")[0]
    assert (panels["judges"], panels["debates"], panels["unanimous"]) == ("2", "3", "2")


def test_results_are_counted_by_side_topic_and_pair(debate: Run) -> None:
    """(a, b) and (b, a) are one pair, and results of pro and con are kept apart. A model against itself has results by
    side and topic alone."""
    import_rows(
        debate,
        [
            row("d1", "a", "b", "pro", topic="t1", category="law"),
            row("d2", "b", "a", "pro", topic="t1", category="law"),
            row("d3", "b", "a", "con", topic="t2"),
            row("d4", "a", "b", "tie", topic="t2"),
            row("d5", "c", "c", "con", topic="t3", category="law"),
        ],
    )

    sides = {one.pop("model"): one for one in table("model_winrate_by_side")}
    assert sides["a"] == {
        "pro_wins": "1", "pro_losses": "0", "pro_ties": "1", "con_wins": "1", "con_losses": "1", "con_ties": "0",
        "pro_win_rate": "0.5", "con_win_rate": "0.5",
    }  # fmt: skip
    assert table("head_to_head") == [
        {"model_a": "a", "model_b": "b", "a_wins": "2", "b_wins": "1", "ties": "1", "total": "4"}
    ]
    assert [(one["topic_id"], one["pro_wins"], one["con_wins"], one["ties"]) for one in table("topic_winrate")] == [
        ("t1", "2", "0", "0"),
        ("t2", "0", "1", "1"),
        ("t3", "0", "1", "0"),
    ]
    assert {(one["model"], one["wins"]) for one in table("category_winrate")} == {("a", "1"), ("b", "1")}
    usage: Any = dict.fromkeys(("pro", "con"), RoleUsage(cost=1))
    paid = [DebateRow(id=con, topic="t", pro="c", con=con, winner="pro", usage_by_role=usage) for con in ("c", "d")]
    costs = {one["model"]: (one["wins"], one["usd"]) for one in tables_of(paid, [])["cost_per_win"]}
    assert costs == {"c": (1, 1), "d": (0, 1)}


def test_speaking_second_is_measured_in_matched_debates(debate: Run) -> None:
    """A claim that scores 5 when pro speaks first and 6 when pro speaks second has a gain of 1; a debate held in one
    order alone is not a match, nor are two between models that are unknown or on topics that are."""
    rows = [
        row("d1", "a", "b", "con", first="pro", score=5),
        row("d2", "a", "b", "pro", first="con", score=6),
        row("d3", "a", "b", "con", first="pro", score=0, topic="t2"),
        row("d4", "", "", "con", first="pro", score=0, topic="t3"),
        row("d5", "", "", "pro", first="con", score=9, topic="t3"),
        row("d6", "a", "b", "con", first="pro", score=0, topic=""),
        row("d7", "a", "b", "pro", first="con", score=9, topic=""),
    ]
    import_rows(debate, rows)

    found = table("second_speaker")[0]
    assert (found["first_wins"], found["second_wins"], found["high"]) == ("0", "7", "1")
    assert (found["matched_pairs"], found["mean_gain"]) == ("1", "1")
    tie = DebateRow(id="d", topic="t", pro="a", con="b", first="pro", winner="tie")
    assert [(row["low"], row["high"]) for row in tables_of([tie], [])["second_speaker"]] == [(None, None)]


@pytest.mark.slow
def test_repeats_and_turns_are_kept_apart_from_votes(debate: Run) -> None:
    """A judge asked twice has a correlation and one vote; ballots after earlier rounds are a course and no vote."""
    rows = []
    for n, (first, second) in enumerate(((2, 3), (5, 5), (9, 7))):
        side = ("con", "tie", "pro")[n]
        rows.append(row(f"d{n}", "a", "b", "tie", round=1, repeat=1, score=5))
        rows.append(row(f"d{n}", "a", "b", side, round=2, repeat=1, score=first))
        rows.append(row(f"d{n}", "a", "b", side, round=2, repeat=2, score=second))
    printed = import_rows(debate, rows)

    assert printed["ballots"] == 9
    consistency = table("self_consistency")[0]
    assert (consistency["debates"], consistency["same_outcome_rate"]) == ("3", "1")
    assert float(consistency["pearson"]) == pytest.approx(0.9966, abs=1e-4)
    assert [(one["round"], one["mean_lead"], one["mean_change"]) for one in table("lead_by_round")] == [
        ("1", "5", ""),
        ("2", "5.333333", "0.333333"),
    ]
    assert [(one["won"], one["lost"], one["tied"]) for one in ratings(debate)["elo"]] == [(1, 1, 1), (1, 1, 1)]


def test_labels_and_needs_more_evidence_are_counted(debate: Run) -> None:
    """A label that decides nothing is counted as a label and as no vote."""
    rows = [row("d1", "a", "b", "pro", label="supported"), row("d2", "a", "b", "", label="needs more evidence")]
    import_rows(debate, rows)

    assert [(one["label"], one["count"]) for one in table("labels")] == [
        ("needs more evidence", "1"),
        ("supported", "1"),
    ]
    assert [one["winner"] for one in table("debates")] == ["pro", ""]


def write_journal(path: Path, script: dict[str, Any], sides: tuple[str, str] = ("x:one", "y:two"), **how: Any) -> None:
    """A journal of a panel debate between two models, judged by three."""
    cast = {"a": sides[:1], "b": sides[1:], "judge": ("x:one", "y:two", "y:two")}
    opened, *events = scripted_debates.events("panel", script, panel=3, cast=cast, **how)
    opened = opened.model_copy(update={"nonce": f"{crc32(bytes(path)):016x}"})  # no journal is a copy of another
    path.parent.mkdir(parents=True, exist_ok=True)
    with JournalWriter.create(path, opened) as writer:
        for event in events:
            writer.append(event)


def ballot(a: float, b: float) -> dict[str, Any]:
    criteria = scripted_debates.shipped_format("panel").rubric.criteria
    return {"scores": {"a": dict.fromkeys(criteria, a), "b": dict.fromkeys(criteria, b)}}


@pytest.mark.slow
def test_journals_become_the_same_rows(debate: Run) -> None:
    """A folder of journals has models, judges (one that sits twice is two), scores and winners; a journal that is
    damaged is left out and said, with the debates that are not finished. Stand-ins are called that, and a debate in
    which they spoke is in the list of debates alone."""
    votes = {f"final.verdict.judge-{n}": ballot(*points) for n, points in enumerate(((8, 6), (7, 7), (5, 6)), start=1)}
    write_journal(Path("t/debates/d1.journal.jsonl"), votes)
    write_journal(Path("t/debates/d2.journal.jsonl"), {**votes, "final.verdict.judge-3": ballot(9, 1)})
    write_journal(Path("t/debates/d3.journal.jsonl"), {}, until="1.rebuttal.b")
    stand_ins = ("rehearse:x:one", "rehearse:y:two")
    write_journal(Path("t/debates/r.journal.jsonl"), {"final.verdict.judge-1": ballot(1, 9)}, sides=stand_ins)
    shutil.copy("t/debates/d1.journal.jsonl", "t/debates/d4.journal.jsonl")
    damaged = Path("t/debates/d4.journal.jsonl")
    damaged.write_text(damaged.read_text(encoding="utf-8").replace('"reply"', '"reply" ', 1), encoding="utf-8")
    Path("t/debates/d1.html").touch()  # no page that this program wrote, so it is not linked
    assert debate("report", "t/debates/d2.journal.jsonl").code == 0

    ran = debate("tournament", "report", "t")

    assert ran.code == 0, ran.err
    found = [(one["debate"], one["topic_id"], one["pro"], one["winner"], one["complete"]) for one in table("debates")]
    assert sorted(found) == [
        ("d1", "Is it so?", "x:one", "tie", "True"),
        ("d2", "Is it so?", "x:one", "pro", "True"),
        ("d3", "Is it so?", "x:one", "", "False"),
        ("r", "Is it so?", "stand-in for x:one", "", "True"),
    ]
    assert {one["debate"] for one in table("debates") if one["rehearsed"] == "True"} == {"r"}
    assert [one["count"] for one in table("winner_counts")] == ["1", "0", "1"]
    assert {one["judge"]: (one["pro"], one["con"], one["tie"]) for one in table("judge_side_preference")} == {
        "x:one": ("2", "0", "0"),
        "y:two": ("0", "0", "2"),
        "y:two #2": ("1", "1", "0"),
    }
    assert "A journal is left out: t/debates/d4.journal.jsonl: line" in ran.err
    assert "1 debate is not finished" in ran.err
    assert "1 debate is rehearsed and counts in no rating, table or plot" in ran.err
    page = Path("t/index.html").read_text(encoding="utf-8")
    assert '<a href="debates/d2.html">d2</a>' in page and 'href="debates/d1.html"' not in page
    assert {one["model"] for one in table("elo")} == {"x:one", "y:two"}


def test_a_vote_that_a_concession_overrules_decides_nothing(here: Path) -> None:
    """Such a debate is a tie without votes for a side, which a note says; one without a concession has them. The vote
    stays as it was stated: whether it changed with the sides swapped, or when its judge was asked again, goes by it."""
    votes = {f"final.verdict.judge-{n}": ballot(8, 6) for n in (1, 2, 3)}
    mirrored = {f"final.verdict.judge-{n}.mirrored": ballot(*points) for n, points in ((1, (6, 8)), (2, (8, 6)))}
    conceded = Spoke(turn_id="start.opening.a", reply=folding.reply(), concedes=True)
    script = {**votes, **mirrored, "final.verdict.judge-3.mirrored": ballot(6, 8), "start.opening.a": [conceded]}
    write_journal(Path("t/c.journal.jsonl"), script, mirror=True)
    write_journal(Path("t/d.journal.jsonl"), votes)
    rows = read_rows("t")

    assert any(note.startswith("1 of 3 votes that were cast twice changed") for note in rows.all_notes())
    own = [row for row in rows.ballots if (row.debate, row.judge, row.mirrored) == ("c", "x:one", False)]
    assert [row.winner for row in own] == ["pro"]
    again = [row.model_copy(update={"judging_number": 1, "winner": "con"}) for row in own]
    found = tables_of(rows.debates, own + again)
    assert [(row["debates"], row["same_outcome_rate"]) for row in found["self_consistency"]] == [(1, 0)]
    assert found["judge_side_preference"] == []

    winners = {row.id: (row.winner, [vote.winner for vote in rows.votes_by_debate[row.id]]) for row in rows.debates}
    assert winners == {"c": ("tie", []), "d": ("pro", ["pro"] * 3)}
    what = "In 1 debate a side conceded, and a judge voted for another winner than consensus (t/c.journal.jsonl is the "
    assert f"{what}first): that vote does not count." in rows.notes


def test_a_folder_in_which_no_debate_can_be_rated_has_tables(debate: Run) -> None:
    """A model against itself is ranked nowhere, and its debates are counted by side."""
    write_journal(Path("t/d.journal.jsonl"), {}, sides=("x:one", "x:one"))
    rated, reported = debate("tournament", "rate", "t"), debate("tournament", "report", "t")

    why = "No model is ranked: no debate between two models is decided."
    assert rated.out == f"{why}\n" and (rated.code, reported.code) == (0, 0), rated.err + reported.err
    assert why in Path("t/index.html").read_text(encoding="utf-8") and table("judge_side_preference")


def test_a_folder_without_any_readable_journal_ends_in_a_sentence(debate: Run) -> None:
    """All that is wrong is said, with exit code 2."""
    Path("t/debates").mkdir(parents=True)
    Path("t/debates/d1.journal.jsonl").write_text("half a li", encoding="utf-8")

    ran = debate("tournament", "rate", "t")

    assert ran.code == 2 and "None of the 1 journals in t can be read" in ran.err


def tables_of(debates: list[DebateRow], ballots: list[BallotRow]) -> dict[str, list[dict[str, Any]]]:
    """The rows of every table, by its name."""
    tables = all_tables(Rows(debates, ballots), Ratings([], None, ()))
    return {made.name: [dict(zip(made.columns, cells, strict=True)) for cells in made.rows] for made in tables}


def test_points_of_both_ballots_of_a_judge_count_in_equal_parts() -> None:
    """Points are a judge's mean over the debate as it was and the mirrored one, as in the debate's report, whether or
    not its vote changed; a judge without one of the two ballots gives none. Only a vote that held counts as a vote."""
    debates = [DebateRow(id=first, topic="t", pro="x", con="y", first=first, winner="pro") for first in SIDES]
    points = {"held": ((9, 5), (7, 5)), "changed": ((8, 6), (6, 8)), "absent": ((9, 1),)}
    ballots = [
        BallotRow(
            debate="pro", judge=judge, round=1, scores={"logic": scores}, score=10 * scores[0], mirrored=n == 1,
            winner="pro" if scores[0] > scores[1] else "con", counted=judge == "held",
        )
        for judge, pair in points.items() for n, scores in enumerate(pair)
    ]  # fmt: skip
    ballots.append(BallotRow(debate="con", judge="held", winner="tie", scores={"logic": (5, 5)}, score=50))
    found = tables_of(debates, ballots)

    leads = [(row["debate"], row["mean_pro"], row["mean_con"], row["lead"]) for row in found["score_gaps"]]
    assert sorted(leads) == [("con", 5, 5, 0), ("pro", 7.5, 6, 1.5)]
    assert {row["model"]: row["mean_points"] for row in found["dimension_means"]} == {"x": 6.25, "y": 5.5}
    votes = [(row["judge"], row["debater"], row["mean_lead"]) for row in found["votes_by_judge_and_debater"]]
    assert votes == [("held", "x", 1.5), ("held", "y", -1.5)]
    assert [row["mean_gain"] for row in found["second_speaker"]] == [-25]  # 50 less (80 + 70) / 2, for the topic
    unscored = [row.model_copy(update={"claim_score": None}) for row in ballots]
    found = tables_of(debates, unscored)
    assert [row["mean_gain"] for row in found["second_speaker"]] == [-0.75]  # half of 0 less half of (3 + 0) / 2
    courses = [(row["judge"], row["ballots"], row["mean_lead"]) for row in found["lead_by_round"]]
    assert courses == [("changed", 1, 0), ("held", 1, 3)]


def test_votes_of_unfinished_debates_are_left_out() -> None:
    """What judges said of a debate that is not finished counts in no table."""
    debates = [
        DebateRow(id=name, topic="t", pro="x", con="y", first=first, winner=winner, complete=winner is not None)
        for name, first, winner in (("done", "pro", "pro"), ("begun", "con", None))
    ]
    ballots = [
        BallotRow(debate=row.id, judge=judge, winner=row.winner or "con", scores={"logic": (8, 6)})
        for row in debates
        for judge in ("j", "k")
    ]
    found = tables_of(debates, ballots)

    assert [(row["pro"], row["con"], row["total"]) for row in found["judge_side_preference"]] == [(1, 0, 1)] * 2
    assert {row["votes"] for row in found["votes_by_judge_and_debater"]} == {1}
    assert {row["samples"] for row in found["dimension_means"]} == {1}
    assert [row["debate"] for row in found["score_gaps"]] == ["done"]
    assert [row["total"] for row in found["judge_agreement"]] == [1]
    assert [row["matched_pairs"] for row in found["second_speaker"]] == [0]

    labelled = [
        row.model_copy(update={"label": "true", "round": 1, "judging_number": n}) for row in ballots for n in (0, 1)
    ]
    found = tables_of(debates, labelled)

    assert [row["ballots"] for row in found["lead_by_round"]] == [1, 1]
    assert [row["count"] for row in found["labels"]] == [1, 1]
    assert [row["debates"] for row in found["self_consistency"]] == [1, 1]


@for_each(
    [
        ("x;=cmd|'/C calc'!A0;y", "x;'=cmd|'/C calc'!A0;y"),
        ("x\t=1\n=2\x0b=3\u2028=4", "x =1 =2 =3 =4"),
        ("x; =1, +2;y", "x;' =1,' +2;y"),
        ('x;"=1"', 'x;\'"=1"'),
    ]
)
def test_no_part_of_a_cell_is_a_formula(cell: str, expected: str) -> None:
    """A spreadsheet that divides a row at semicolons or tabs too finds no cell that is a formula."""
    made = to_csv(Table("x", "X", "", ("name", "other"), (("first", cell), (cell, "last"))))

    assert list(csv.reader(io.StringIO(made, newline="")))[1:] == [["first", expected], [expected, "last"]]
    for delimiter in ",;\t":
        cells = [one for row in csv.reader(io.StringIO(made, newline=""), delimiter=delimiter) for one in row]
        assert not [one for one in cells if one.strip(' "').startswith(("=", "+", "-", "@"))]
