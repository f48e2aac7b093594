"""Writes what a tournament adds up to: a page, tables as CSV, plots as SVG and PNG, and the ratings as JSON."""

from __future__ import annotations

import json
import os

from debate_orchestrator.storage.files import make_folder, write_atomic, write_bytes_atomic, write_over
from debate_orchestrator.tournament import page, plots
from debate_orchestrator.tournament.analysis import all_tables
from debate_orchestrator.tournament.journal_rows import read_rows, title
from debate_orchestrator.tournament.ratings import MIN_GAMES, full_json, rate
from debate_orchestrator.tournament.rows import collection_paused
from debate_orchestrator.tournament.tables import to_csv

PAGE, RATINGS, TABLES, PLOTS = "index.html", "ratings.json", "csv", "plots"


@collection_paused()
def write_report(folder: str, least: int = MIN_GAMES) -> tuple[list[str], tuple[str, ...]]:
    """Writes all of it into the tournament's folder. Returns the files, the page first, and what weakens the results.

    Raises BadFile if the folder is no tournament, nothing in it can be rated, or a file can't be written.
    """
    rows = read_rows(folder)
    ratings = rate(rows)
    tables = all_tables(rows, ratings)
    strongest = [one.model for one in ratings.fit.strengths] if ratings.fit else [row.model for row in ratings.elo]
    drawn = plots.draw(tables, strongest)
    text = page.render(title(folder), rows, ratings, tables, drawn, least)
    for inner in (TABLES, PLOTS):
        make_folder(os.path.join(folder, inner))
    files = [os.path.join(folder, PAGE), os.path.join(folder, RATINGS)]
    write_over(files[0], text, page.MARK.encode(), "a tournament's page")
    write_atomic(files[1], json.dumps(full_json(ratings), ensure_ascii=False, indent=2) + "\n")
    for table in tables:
        files.append(os.path.join(folder, TABLES, f"{table.name}.csv"))
        write_atomic(files[-1], to_csv(table))
    for plot in drawn:
        files += [os.path.join(folder, PLOTS, f"{plot.name}.{ending}") for ending in ("svg", "png")]
        write_atomic(files[-2], plot.svg)
        write_bytes_atomic(files[-1], plot.png)
    return files, ratings.notes
