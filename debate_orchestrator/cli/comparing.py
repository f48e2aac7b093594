"""The verb that sets debates side by side: `compare`."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli.output import page, print_json, say
from debate_orchestrator.datafiles import write_over
from debate_orchestrator.errors import BadAnswers, BadFile, BadJournal, complaint, shown
from debate_orchestrator.journal import read


def compare(arguments: argparse.Namespace) -> int:
    """Compares some journals; prints the comparison, or writes it where --to says."""
    from debate_orchestrator.reports import markdown
    from debate_orchestrator.reports.comparing.comparison import comparison
    from debate_orchestrator.reports.story import Story, story

    if len(arguments.journals) < 2:
        raise BadAnswers(complaint("compare", "one journal", "two at least", "Name another."))
    if arguments.to and not arguments.to.endswith(".md"):
        raise BadFile(complaint("--to", shown(arguments.to), "a file that ends in .md"))
    stories: list[tuple[str, Story]] = []
    wrong: list[str] = []
    for path in arguments.journals:
        try:
            stories.append((path, story(read(path).entries)))
        except BadJournal as error:
            wrong += error.complaints
    if wrong:
        raise BadJournal(wrong)
    made = comparison(stories)
    if arguments.to:
        write_over(arguments.to, markdown.render_comparison(made), markdown.COMPARED.encode(), "a comparison")
    if arguments.json:
        print_json({"status": "compared", "report": arguments.to, "comparison": made.model_dump(mode="json")})
    elif arguments.to:
        say(f"Comparison of {len(stories)} debates written to {arguments.to}.")
    else:
        page(markdown.render_comparison(made))
    return 0
