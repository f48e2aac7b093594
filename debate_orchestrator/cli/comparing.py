"""The verb that sets debates side by side: `compare`."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli.output import page, print_json, say
from debate_orchestrator.storage.files import write_over
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import BadFile, BadJournal, BadSettings, complaint, short_repr


def compare(arguments: argparse.Namespace) -> int:
    """Compares some journals; prints the comparison, or writes it where --to says."""
    from debate_orchestrator.reports import markdown
    from debate_orchestrator.reports.compare import compare
    from debate_orchestrator.reports.model import ReportModel, build_report

    if len(arguments.journals) < 2:
        raise BadSettings(complaint("compare", "one journal", "two at least", "Name another."))
    if arguments.to and not arguments.to.endswith(".md"):
        raise BadFile(complaint("--to", short_repr(arguments.to), "a file that ends in .md"))
    stories: list[tuple[str, ReportModel]] = []
    wrong: list[str] = []
    for path in arguments.journals:
        try:
            stories.append((path, build_report(read(path).entries)))
        except BadJournal as error:
            wrong += error.complaints
    if wrong:
        raise BadJournal(wrong)
    made = compare(stories)
    if arguments.to:
        write_over(arguments.to, markdown.render_comparison(made), markdown.COMPARED.encode(), "a comparison")
    if arguments.json:
        print_json({"status": "compared", "report": arguments.to, "comparison": made.model_dump(mode="json")})
    elif arguments.to:
        say(f"Comparison of {len(stories)} debates written to {arguments.to}.")
    else:
        page(markdown.render_comparison(made))
    return 0
