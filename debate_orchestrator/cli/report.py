"""What is made from journals: `debate report` makes the reports again, `debate check` compares them with their journal,
`debate compare` sets debates side by side."""

from __future__ import annotations

import argparse
import json
from typing import Any

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.journals import find_journal
from debate_orchestrator.cli.output import next_step, print_document, print_json, print_problems, print_status, say
from debate_orchestrator.core import schedule
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports import markdown, report_files, wording
from debate_orchestrator.reports.compare import Comparison, compare
from debate_orchestrator.reports.model import ReportModel, build_report, report_of, summary_line
from debate_orchestrator.reports.provenance import rehearsed_in_part, stand_ins
from debate_orchestrator.storage.files import write_over
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import JournalContents, stored_state
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadFile, BadJournal, BadSettings, short_repr
from debate_orchestrator.util.messages import and_joined, command


def report_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser)
    about = f"a file that ends in {report_files.suffixes()}; by default .md and .html beside the journal"
    parser.add_argument("--to", metavar="FILE", help=about)
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of .json reports instead")
    flags.add_json(parser)


def run_report(arguments: argparse.Namespace) -> int:
    """Exit code 2 if the page can't be written."""
    if arguments.schema:
        return _print_schema(arguments)
    arguments.journal = find_journal(arguments.journal)
    files = DebateFiles.of_journal(arguments.journal)
    report = report_of(arguments.journal, read(arguments.journal).entries)
    problems: list[str] = []
    path, page = arguments.to, None
    if path:
        report_files.write(report, path, print_status)
    else:
        path = files.report
        problems = report_files.write_both(report, path, files.page, print_status)
        page = None if problems else files.page
    if arguments.json:
        print_json({"status": report.status, "report": path, "page": page, "summary": summary_line(report, path)})
    else:
        say(summary_line(report, path))
        if page:
            print_status(f"HTML report: {page}")
            next_step(f"open {page} in a browser.")
    print_problems(problems)
    return 2 if problems else 0


def _print_schema(arguments: argparse.Namespace) -> int:
    """Prints the JSON Schema of reports in JSON. Raises BadFile if a report is asked for too."""
    from debate_orchestrator.reports import json as json_report

    if arguments.journal or arguments.to:
        raise BadFile("--schema prints the schema and writes no report. Leave --schema out to write one.")
    print(json.dumps(json_report.schema(), indent=2))
    return 0


def check_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser)
    about = "a report of it; by default those beside the journal"
    parser.add_argument("given", nargs="*", default=[], metavar="REPORT", help=about)
    flags.add_json(parser)


def run_check(arguments: argparse.Namespace) -> int:
    """Exit code 2 if something is damaged, changed or does not belong; 3 if work is left, if a part is missing that
    `resume` can still get, if a report has to be made again with the ballots that reviewers have added, or if only
    another version can tell."""
    arguments.journal = find_journal(arguments.journal)
    files = DebateFiles.of_journal(arguments.journal)
    documents = report_files.read_reports(arguments.given or report_files.reports_beside(files.report))
    contents = read(arguments.journal)
    verifications = [report_files.verify(path, data, contents.entries, files.ballots) for path, data in documents]
    debate = stored_state(arguments.journal, contents.events)
    facts = _facts(arguments.journal, contents, debate)
    if arguments.json:
        reports_json = [report.data for report in verifications]
        print_json({"status": "complete" if facts["complete"] else "waiting", **facts, "reports": reports_json})
    else:
        _print_facts(facts)
        if names := stand_ins(debate, debate.opened.cast):
            what = "Rehearsed in part" if rehearsed_in_part(debate, debate.opened.cast) else "A rehearsal"
            say(f"{what}: stand-ins spoke for {', '.join(names)}. {wording.FILLER}")
        for report in verifications:
            say(f"{name_of(report.path)}: {report.text}")
        waits = f"`{wording.next_command(debate, arguments.journal)}` continues it."
        again = wording.asking_again(debate, arguments.journal)
        reports_again = f"`{command('report', arguments.journal)}` makes its reports again."
        others = [name_of(report.path) for report in verifications if report.state == "no checksum"]
        if others and not arguments.given:
            reports_again = f"Give {and_joined(others)} another name. Then {reports_again}"
        next_step(waits if facts["due"] else again or reports_again)
    if not all(report.ok or report.inconclusive for report in verifications):
        return 2
    turns_left = facts["due"] or schedule.turns_to_reopen(debate)
    return 3 if turns_left or contents.torn_bytes or not all(report.ok for report in verifications) else 0


def _facts(path: str, contents: JournalContents, debate: DebateState) -> dict[str, Any]:
    """What there is to say of a journal, as JSON."""
    due = [turn.id for turn in debate.due]
    return {
        "journal": path,
        "lines": len(contents.entries),
        "unchanged": True,
        "torn_bytes": contents.torn_bytes,
        "complete": not due,
        "due": due,
        "missing": [wording.missing_reply_text(debate, turn) for turn in schedule.missing_records(debate)],
        "in_flight": [turn for turn in due if debate.calls_intended(turn)],
        "head": contents.entries[-1].hash,
    }


def _print_facts(facts: dict[str, Any]) -> None:
    lines = f"{facts['lines']} line{'s' * (facts['lines'] != 1)}"
    say(f"{facts['journal']}: {lines}, in an unbroken chain (checksum {facts['head'][:16]}).")
    if facts["torn_bytes"]:
        say(f"{facts['torn_bytes']} bytes of a line that a crash cut short follow; the next writer trims them.")
    say(f"Not complete: {', '.join(facts['due'])} due." if facts["due"] else "Complete.")
    for sentence in facts["missing"]:
        say(sentence)


def compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journals", metavar="JOURNAL", nargs="+")
    parser.add_argument("--to", metavar="FILE", help="a .md or .html file to write instead of printing it")
    flags.add_json(parser)


def run_compare(arguments: argparse.Namespace) -> int:
    if len(arguments.journals) < 2:
        raise BadSettings("A comparison needs at least two journals. Name another.")
    if arguments.to and not arguments.to.endswith((".md", ".html")):
        raise BadFile(f"--to must name a file that ends in .md or .html, and not {short_repr(arguments.to)}.")
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
        say(f"Comparison of {len(reports)} debates written to {arguments.to}.")
    else:
        print_document(markdown.render_comparison(comparison))
    return 0


def _write(comparison: Comparison, path: str) -> None:
    """Writes a comparison in the form that the path's suffix names."""
    if path.endswith(".md"):
        text, begins = markdown.render_comparison(comparison), markdown.COMPARED
    else:
        from debate_orchestrator.reports.html import page as html_page

        text, begins = html_page.render_comparison(comparison), html_page.COMPARED
    write_over(path, text, begins.encode(), "a comparison")
