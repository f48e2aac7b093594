"""What a tournament reads is small enough for the work that it takes, or is refused in one sentence."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from contests import OPUS, SONNET, import_rows, row, spec, tournament, write_rows

from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament.ratings import fit
from debate_orchestrator.tournament.rows import BallotRow, DebateRow
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


def test_unknown_names_are_told_up_to_a_number() -> None:
    """A near name is looked for among the known ones for twenty unknown names, however many there are."""
    with pytest.raises(BadSettings) as refused:
        spec(**unknown_limits(1_000))

    assert len(refused.value.problems) == 21
    assert "there are more problems than these 20" in refused.value.problems[-1]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("x;=cmd|'/C calc'!A0;y", "x;'=cmd|'/C calc'!A0;y"),
        ("x\t=1\n=2\x0b=3\u2028=4", "x =1 =2 =3 =4"),
        ("x; =1, +2;y", "x;' =1,' +2;y"),
        ('x;"=1"', 'x;\'"=1"'),
    ],
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
    data, rounds = json.loads(json.dumps(folder.freeze(spec()), default=str)), 101
    data["rules"]["rounds"] = {"default": 1, "most": rounds, "insist": rounds}
    data["settings"]["rounds"] = rounds

    with pytest.raises(BadFile, match=f"x: no debate can be held: {rounds} rounds; at most 100"):
        folder.unfreeze(data, "x")
