"""The results of a tournament: `rate` rates its models, `report` writes its page and tables, and `import` takes judged
debates that were made elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import print_json, print_quoted, print_result, print_status
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import one_line

if TYPE_CHECKING:
    from debate_orchestrator.tournament.ratings import Ratings


def import_arguments(parser: argparse.ArgumentParser) -> None:
    about = "CSV or JSON lines, one judge's ballot in each; or debates of the program DebateBench, which need no map"
    parser.add_argument("rows", metavar="ROWS", help=about)
    about = "a YAML file that says which column holds what: `debate: id`, `pro: model_a`, `winner: verdict` ..."
    parser.add_argument("--map", metavar="FILE", help=about)
    parser.add_argument("--to", metavar="DIR", required=True, help="a new folder")
    flags.add_json(parser)


def import_(arguments: argparse.Namespace) -> int:
    """Writes the folder, and says how much was read and what could not be."""
    from debate_orchestrator.tournament.importing import import_rows

    rows = import_rows(arguments.rows, arguments.map, arguments.to)
    for note in rows.notes:
        print_status(f"Note: {one_line(note)}")
    if arguments.json:
        counts = {"debates": len(rows.debates), "ballots": len(rows.ballots)}
        print_json({"status": "imported", "folder": arguments.to, **counts, "notes": list(rows.notes)})
    else:
        debates, ballots = plural(len(rows.debates), "debate"), plural(len(rows.ballots), "ballot")
        print_result(f"{debates} with {ballots} imported to {name_of(arguments.to)}.")
        rate, report = command("tournament rate", arguments.to), command("tournament report", arguments.to)
        print_status(f"Next: `{rate}`, or `{report}`")
    return 0


def _add_arguments(parser: argparse.ArgumentParser, about_games: str) -> None:
    parser.add_argument("folder", metavar="DIR", help="a tournament's folder, or a folder of journals")
    parser.add_argument("--min-games", metavar="N", type=flags.whole_number, default=5, help=about_games)
    flags.add_json(parser)


def rate_arguments(parser: argparse.ArgumentParser) -> None:
    _add_arguments(
        parser, "hide models with fewer games (decided debates) from the table; 5 by default (--json lists all)"
    )


def rate(arguments: argparse.Namespace) -> int:
    """Prints the ratings, and on stderr what weakens them."""
    from debate_orchestrator.tournament import ratings
    from debate_orchestrator.tournament.journal_rows import read_rows

    rated = ratings.rate(read_rows(arguments.folder))
    if arguments.json:
        print_json(ratings.summary_json(rated))
    else:
        print_quoted(*_table(rated, arguments.min_games))
    for note in rated.notes:
        print_status(f"Note: {one_line(note)}")
    if not arguments.json:
        print_status(f"Tables, plots and a page: `{command('tournament report', arguments.folder)}`")
    return 0


def _table(rated: Ratings, min_games: int) -> Iterator[str]:
    if not rated.elo:
        yield rated.why_unranked
        return
    games = {row.model: row.games for row in rated.elo}
    rows_to_show = [row for row in rated.elo if row.games >= min_games]
    rows: list[tuple[str, ...]] = [("Elo", "games", "won", "lost", "tied", "model")]
    rows += [(f"{row.rating:.1f}", *map(str, row[2:]), row.model) for row in rows_to_show]
    yield from _aligned(rows)
    if hidden := len(rated.elo) - len(rows_to_show):
        yield f"{hidden} with fewer than {min_games} games not shown (--min-games)."
    if rated.fit is None or not rows_to_show:
        return
    yield ""
    yield "Bradley-Terry strength in log odds, 95 % interval; rank: 1 + the intervals wholly above"
    rows = [("rank", "strength", "low", "high", "votes", "model")]
    for strength in rated.fit.strengths:
        if games.get(strength.model, 0) >= min_games:
            group = f" (group {strength.group})" if rated.fit.groups > 1 else ""
            figures = (_signed(value) for value in (strength.strength, strength.low, strength.high))
            rows.append((str(strength.rank), *figures, str(strength.votes), f"{strength.model}{group}"))
    yield from _aligned(rows)
    for name, effect in (("arguing pro", rated.fit.side), ("speaking second", rated.fit.second_speaker)):
        if effect is not None:
            low, high = _signed(effect.low), _signed(effect.high)
            yield f"Effect of {name}: {_signed(effect.value)} ({low} to {high})"


def _signed(value: float | None) -> str:
    return "?" if value is None else f"{value:+z.2f}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Rows of which all cells but the last are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for *figures, name in rows:
        cells = [figure.rjust(width) for figure, width in zip(figures, widths, strict=False)]
        yield "  ".join([*cells, one_line(name)])


def report_arguments(parser: argparse.ArgumentParser) -> None:
    _add_arguments(parser, "hide models with fewer games (decided debates) from the leaderboard; 5 by default")


def report(arguments: argparse.Namespace) -> int:
    """Writes index.html, csv/, plots/, ratings.json and SHA256SUMS into the folder."""
    from debate_orchestrator.tournament.report import write_report

    files, notes = write_report(arguments.folder, arguments.min_games)
    for note in notes:
        print_status(f"Note: {one_line(note)}")
    if arguments.json:
        print_json({"status": "written", "page": files[0], "files": files, "notes": list(notes)})
    else:
        print_result(f"{files[0]} written, with {len(files) - 1} files of tables, plots and ratings beside it.")
        print_status(f"Open {files[0]} in a browser.")
    return 0
