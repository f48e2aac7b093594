"""`debate report` makes the reports of a journal again."""

from __future__ import annotations

import argparse
import json
import os

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.journals import find_journal
from debate_orchestrator.cli.output import next_step, print_json, print_problems, print_result, print_status
from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.model import report_of, summary_line
from debate_orchestrator.setup import risks
from debate_orchestrator.storage.journal import is_being_written, read
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadFile
from debate_orchestrator.util.messages import shell_word


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser)
    about = f"a file that ends in {report_files.suffixes()}; by default .md and .html beside the journal"
    parser.add_argument("--to", metavar="FILE", help=about)
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of .json reports instead")
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 2 if the page can't be written."""
    if arguments.schema:
        return _print_schema(arguments)
    arguments.journal = find_journal(arguments.journal)
    files = DebateFiles.of_journal(arguments.journal)
    report = report_of(arguments.journal, read(arguments.journal).entries)
    problems: list[str] = []
    path, html_report = arguments.to, None
    if path:
        report_files.write(report, path, print_status)
    else:
        path = files.report
        if risks.is_read_as_instructions(path) and not os.path.lexists(path):
            raise BadFile(
                f"The report of this journal would be {name_of(path)}, which agents read as instructions.",
                hint="name another file: --to FILE",
            )
        problems = report_files.write_both(report, path, files.html_report, print_status)
        html_report = None if problems else files.html_report
    summary = summary_line(report, path, under_way=is_being_written(arguments.journal))
    if arguments.json:
        print_json({"status": report.status, "report": path, "html_report": html_report, "summary": summary})
    else:
        print_result(summary)
        if html_report:
            print_status(f"HTML report: {name_of(html_report)}")
            next_step(f"open {shell_word(html_report)} in a browser.")
    print_problems(problems)
    return 2 if problems else 0


def _print_schema(arguments: argparse.Namespace) -> int:
    """Prints the JSON Schema of reports in JSON, the same for every debate. Raises BadFile if a file is asked for."""
    from debate_orchestrator.reports import json_report

    if arguments.to:
        raise BadFile("--schema prints the schema and writes no file.", hint="`debate report --schema > FILE`")
    print(json.dumps(json_report.schema(), indent=2))
    return 0
