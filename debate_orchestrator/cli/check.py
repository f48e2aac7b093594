"""`debate check` tells whether a journal is undamaged and its debate complete, and whether its reports match it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.journals import find_journal
from debate_orchestrator.cli.output import next_step, print_json, print_result
from debate_orchestrator.core import schedule
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports import report_files, reviewer_ballots, wording
from debate_orchestrator.reports.provenance import rehearsal_sentence
from debate_orchestrator.reports.report_files import Verification
from debate_orchestrator.storage.journal import is_being_written, read
from debate_orchestrator.storage.journal_lines import JournalContents, state_of_events
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.messages import and_joined, command, shell_word
from debate_orchestrator.util.numbers import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser)
    about = "a report of it; by default those beside the journal"
    parser.add_argument("given", nargs="*", default=[], metavar="REPORT", help=about)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 2 if something is damaged, changed or does not belong; 3 if work is left, if a part is missing that
    `resume` can still get, if a report has to be made again with the ballots that reviewers have added, or if only
    another version can tell."""
    arguments.journal = find_journal(arguments.journal)
    files = DebateFiles.of_journal(arguments.journal)
    documents = report_files.read_reports(arguments.given or report_files.reports_beside(files.report))
    contents = read(arguments.journal)
    ballots = reviewer_ballots.read_ballots(files.ballots)
    verifications = [report_files.verify(path, data, contents.entries, ballots) for path, data in documents]
    debate = state_of_events(arguments.journal, contents.events)
    facts = _facts(arguments.journal, contents, debate)
    if arguments.json:
        reports_json = [report.data for report in verifications]
        print_json({"status": "complete" if facts["complete"] else "waiting", **facts, "reports": reports_json})
    else:
        _print_facts(facts)
        if rehearsed := rehearsal_sentence(debate):
            print_result(f"{rehearsed} {wording.FILLER}")
        for report in verifications:
            print_result(f"{name_of(report.path)}: {report.text}")
        next_step(_next(arguments, files, debate, verifications))
    if not all(report.ok or report.inconclusive for report in verifications):
        return 2
    turns_left = facts["due"] or schedule.turns_to_reopen(debate)
    return 3 if turns_left or contents.torn_bytes or not all(report.ok for report in verifications) else 0


def _next(
    arguments: argparse.Namespace, files: DebateFiles, debate: DebateState, verifications: Sequence[Verification]
) -> str:
    if debate.due and is_being_written(arguments.journal):
        return "wait for the other process that is writing it, or end it."
    if debate.due:
        return f"`{wording.next_command(debate, arguments.journal)}` continues it."
    if ask_again := wording.ask_again_sentence(debate, arguments.journal):
        return ask_again
    if verifications and all(report.state == "unchanged" for report in verifications):
        return f"open {shell_word(min(report.path for report in verifications))}; nothing needs to be made again."
    remake = _remaking(arguments.journal, files, verifications)
    unmarked = [name_of(report.path) for report in verifications if report.state == "no checksum"]
    return f"Give {and_joined(unmarked)} another name. Then {remake}" if unmarked and not arguments.given else remake


def _remaking(journal: str, files: DebateFiles, verifications: Sequence[Verification]) -> str:
    """The commands that make reports again: one for those that every debate has, and one for each other of it."""
    verb, own = command("report", journal), {files.report, files.html_report}
    # "another" is of another journal, or of more lines than this one has.
    again = [report.path for report in verifications if report.state not in ("unchanged", "another", "no checksum")]
    others = [f"`{verb} --to {shell_word(path)}`" for path in again if path not in own]
    needs_own = not others or any(report.path in own and report.state != "unchanged" for report in verifications)
    commands = [*([f"`{verb}`"] if needs_own else []), *others]
    return f"{and_joined(commands)} {'makes' if len(commands) == 1 else 'make'} its reports again."


def _facts(path: str, contents: JournalContents, debate: DebateState) -> dict[str, Any]:
    due = [turn.id for turn in debate.due]
    return {
        "journal": path,
        "lines": len(contents.entries),
        "unchanged": True,
        "torn_bytes": contents.torn_bytes,
        "complete": not due,
        "due": due,
        "missing": [wording.missing_reply_text(debate, turn) for turn in schedule.missing_turns(debate)],
        "briefed": [turn for turn in due if debate.briefs_sent(turn)],
        "head": contents.entries[-1].hash,
    }


def _print_facts(facts: dict[str, Any]) -> None:
    lines = plural(facts["lines"], "line")
    print_result(f"{name_of(facts['journal'])}: {lines}, in an unbroken chain (checksum {facts['head'][:16]}).")
    if facts["torn_bytes"]:
        print_result(
            f"{facts['torn_bytes']} bytes of a line that a crash cut short follow; the next writer trims them."
        )
    print_result(f"Not complete: {', '.join(facts['due'])} due." if facts["due"] else "Complete.")
    for sentence in facts["missing"]:
        print_result(sentence)
