"""`debate compare` sets debates, or judgings of one debate, side by side."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.journals import find_journal
from debate_orchestrator.cli.output import print_document, print_json, print_result, print_status
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.compare import Comparison, compare
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.storage.files import write_over
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadFile, BadJournal, BadSettings, short_repr


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journals", metavar="JOURNAL", nargs="+")
    parser.add_argument("--to", metavar="FILE", help="a .md or .html file to write instead of printing it")
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    if len(arguments.journals) < 2:
        raise BadSettings("A comparison needs at least two journals. Name another.")
    if arguments.to and not arguments.to.endswith((".md", ".html")):
        raise BadFile(f"--to must name a file that ends in .md or .html, not {short_repr(arguments.to)}.")
    reports: list[tuple[str, ReportModel]] = []
    problems: list[str] = []
    for path in arguments.journals:
        try:
            journal = find_journal(path)
            reports.append((journal, build_report(read(journal).entries, journal=journal)))
        except BadJournal as error:
            problems += error.problems
    if problems:
        raise BadJournal(problems)
    comparison = compare(reports)
    if arguments.to:
        _write(comparison, arguments.to)
    if arguments.json:
        fields = {"report": arguments.to, "comparison": comparison.model_dump(mode="json", by_alias=True)}
        print_json({"status": "compared", **fields})
    elif arguments.to:
        print_result(f"Comparison of {len(reports)} debates written to {name_of(arguments.to)}.")
    else:
        print_document(markdown.render_comparison(comparison))
    return 0


def _write(comparison: Comparison, path: str) -> None:
    """Writes a comparison in the form that the path's suffix names."""
    if path.endswith(".md"):
        text, prefix = markdown.render_comparison(comparison), markdown.COMPARISON_PREFIX
    else:
        from debate_orchestrator.reports.html import page as html_page

        text, prefix = html_page.render_comparison(comparison), html_page.COMPARISON_PREFIX
    if path_kept := write_over(path, text, prefix.encode(), "a comparison"):
        print_status(f"{name_of(path)} was another comparison: kept as {name_of(path_kept)}.")
