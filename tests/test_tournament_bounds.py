"""What a tournament reads is small enough for the work that it takes, or is refused in one sentence."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from corpus import for_each
from small_tournaments import OPUS, SONNET, import_rows, row, spec, tournament, write_rows

from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament import ratings as fitting
from debate_orchestrator.tournament.ratings import fit, rate
from debate_orchestrator.tournament.rows import BallotRow, DebateRow, Rows
from debate_orchestrator.tournament.spec import model_of
from debate_orchestrator.tournament.tables import Table, to_csv
from debate_orchestrator.util.errors import BadFile, BadSettings


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
        fit(debates, ballots)


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
    cells = work_of(monkeypatch, 10**9)
    whole = rate(rows).fit
    maximum = int(sum(cells) * share)
    monkeypatch.setattr(fitting, "_MAX_WORK", maximum, raising=False)
    cells.clear()
    ratings = rate(rows)

    assert sum(cells) <= maximum
    assert whole is not None and ratings.fit is not None and whole.resamples == 200
    assert ratings.fit.resamples in resamples and any(note in one for one in ratings.notes)
    assert [one.strength for one in ratings.fit.strengths] == [one.strength for one in whole.strengths]


def test_votes_of_which_one_fit_is_too_much_work_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a sentence that says how many they are."""
    debates, ballots = votes(40)
    work_of(monkeypatch, 40)

    with pytest.raises(BadFile, match="these 20 votes between 40 models take too much work"):
        fit(debates, ballots)


def import_fails(debate: Run) -> str:
    """What is said of rows.csv and map.yaml, which are refused."""
    ran = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t")
    assert ran.code == 2 and not Path("t").exists()
    return str(ran.err)


def test_a_debate_has_so_many_votes(debate: Run) -> None:
    """Each vote on a debate is compared with each other, so rows of more judges are refused."""
    write_rows(row("d", "x", "y", "pro", judge=f"j{n}") for n in range(201))

    assert "the debate 'd' has more than the 200 votes that are allowed" in import_fails(debate)


def unknown_limits(many: int) -> dict[str, Any]:
    return {"limits": {f"none{n}": {"requests": 1} for n in range(many)}}


def test_unknown_names_are_reported_up_to_a_number() -> None:
    """A near name is looked for among the known ones for twenty unknown names, however many there are."""
    with pytest.raises(BadSettings) as refused:
        spec(**unknown_limits(1_000))

    assert len(refused.value.problems) == 21
    assert "there are more problems than these 20" in refused.value.problems[-1]


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


@pytest.mark.usefixtures("few_draws")
def test_names_add_no_lines_to_the_ratings(debate: Run, here: Path) -> None:
    """A model whose name holds a line break has one line of each table."""
    import_rows(debate, [row("d1", "one\n1.  winner", "two", "pro"), row("d2", "two", "one\n1.  winner", "con")])
    ran = debate("tournament", "rate", "t", "--min-games", "1")

    assert ran.code == 0 and "one 1. winner" in ran.out and "\n1.  winner" not in ran.out, ran.out


def test_a_full_tournament_takes_no_more_models(here: Path) -> None:
    """A model beyond the number that is allowed is refused before anything is written, and the folder stays usable."""
    models = [OPUS, SONNET, *(f"rehearse:openai:gpt-{n}" for n in range(198))]
    held = tournament(topics=1, models=models, pairs=[[OPUS, SONNET]])
    with pytest.raises(BadSettings, match="at most 200 are allowed"):
        folder.add_model(held, model_of({"name": "late", "spec": "rehearse:openai:gpt-late"}))

    assert folder.load(held.folder).schedule == held.schedule


def test_a_frozen_spec_is_one_whose_debates_can_be_held() -> None:
    """A stranger's rules may allow any number of rounds. A debate of that many is refused with the spec, before a
    worker or a report opens one."""
    data, rounds = json.loads(json.dumps(folder.spec_data(spec()), default=str)), 101
    data["rules"]["round_limits"] = {"default": 1, "max": rounds, "max_if_insisted": rounds}
    data["settings"]["rounds"] = rounds

    with pytest.raises(BadFile, match=f"x: rounds: {rounds} is not a whole number"):
        folder.spec_from_data(data, "x")
