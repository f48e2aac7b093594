"""Names that come from others, on their way into the plots of a tournament, and what stays where a plot fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import Run
from small_tournaments import import_rows, row, write_rows

from debate_orchestrator.tournament import report as plots
from debate_orchestrator.tournament.ratings import rate
from debate_orchestrator.tournament.rows import MAX_NAME_LENGTH, BallotRow, DebateRow, Rows
from debate_orchestrator.tournament.tables import all_tables

pytestmark = pytest.mark.usefixtures("few_draws")

LONG = "x" * (MAX_NAME_LENGTH + 1)


def debates(bad: str = "") -> list[dict[str, Any]]:
    """Rows of debates whose models, judges and topics have `bad` in their names."""
    return [
        row(f"d{n}", f"a{bad}", f"b{bad}", ("pro", "con")[n % 2], judge=f"j{bad}", topic=f"t{bad}{n % 3}")
        for n in range(6)
    ]


def strings(value: Any) -> Iterator[str]:
    """Every string in a spec of a plot."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings(inner)


@pytest.mark.slow
@pytest.mark.parametrize("bad", ["\ufffe", "\U0010ffff"])
def test_noncharacters_in_names_are_drawn(debate: Run, bad: str) -> None:
    """The library that draws ends the process at a character that XML forbids, so none reaches it."""
    import_rows(debate, debates(bad))
    ran = debate("tournament", "report", "t")

    assert ran.code == 0, ran.err
    drawn = Path("t/plots/topics.svg").read_text(encoding="utf-8")
    assert bad not in drawn and "t\ufffd0" in drawn
    ElementTree.fromstring(drawn)


def test_plots_measure_no_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is too long is cut before it is drawn, and two that begin alike stay two."""
    names = [f"{LONG[:900]}{end}" for end in "ab"]
    found = [DebateRow(id=f"d{n}", topic=names[n % 2], pro=names[0], con=names[1], winner="pro") for n in range(4)]
    ballots = [BallotRow(debate=one.id, judge=judge, winner="pro") for one in found for judge in names]
    rows = Rows(found, ballots)
    ratings, asked = rate(rows), list[dict[str, Any]]()
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda spec: asked.append(spec) or "<svg/>")
    monkeypatch.setattr("vl_convert.svg_to_png", lambda svg, scale: b"")
    plots.draw(all_tables(rows, ratings), names)

    assert len(asked) > 5 and max(map(len, strings(asked))) < 250
    head_to_head = next(one for one in asked if "model_a" in json.dumps(one["data"]))
    assert head_to_head["data"]["values"][0]["model_a"] != head_to_head["data"]["values"][0]["model_b"]


@pytest.mark.parametrize("name", ["pro", "topic"])
def test_names_that_are_too_long_are_not_imported(debate: Run, name: str) -> None:
    """One name of a row may not be so long that what is made of it takes minutes; the longest allowed is read."""
    write_rows([row("d1", "a", "b", "pro"), {**row("d2", "a", "b", "con"), name: LONG}])
    ran = debate("tournament", "import", "rows.csv", "--map", "map.yaml", "--to", "t")

    assert ran.code == 2 and f"at most {MAX_NAME_LENGTH:,} characters" in ran.err, ran.err
    assert not Path("t").exists()
    import_rows(debate, [row("d1", "a", "b", "pro"), {**row("d2", "a", "b", "con"), name: LONG[1:]}])


@pytest.mark.slow
def test_tables_and_the_page_are_written_where_a_plot_fails(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plot that can't be drawn is reported, and all else is written, without intervals that one debate has not."""
    import_rows(debate, [row("d1", "a", "b", "pro")])

    def fail(_: object) -> str:
        raise ValueError("no")

    monkeypatch.setattr("vl_convert.vegalite_to_svg", fail)
    ran = debate("tournament", "report", "t")

    assert ran.code == 0 and "The plot strengths could not be drawn" in ran.err, ran.err
    assert Path("t/csv/elo.csv").exists() and b"Fitted to 1 vote of 1 judge.</p>" in Path("t/index.html").read_bytes()


def test_a_wrong_path_is_reported_before_what_is_not_installed(
    debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is no tournament is named also where the libraries that draw are not installed."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    ran = debate("tournament", "report", "nowhere")

    assert ran.code == 2
    assert "nowhere" in ran.err and "installed" not in ran.err
