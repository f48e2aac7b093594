"""`debate probe`: tests judges before they are believed."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections import Counter
from collections.abc import Sequence

from debate_orchestrator.cli import consent, flags
from debate_orchestrator.cli.answers_and_flags import read_max_cost
from debate_orchestrator.cli.output import print_outcome, print_problems, print_status
from debate_orchestrator.core import tally
from debate_orchestrator.core.events import Event
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import budget
from debate_orchestrator.engine import probe as probes
from debate_orchestrator.engine.probe import ProbeCase, ProbeRun
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.reports.probe_scorecard import NO_BALLOT, ballot_text, markdown, table
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.storage import running_elsewhere
from debate_orchestrator.storage.files import redacted_bytes, write_listed
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import coroutines, model_spec
from debate_orchestrator.util.data import is_link, name_of
from debate_orchestrator.util.errors import (
    BadFile,
    BadSettings,
    ExternalError,
    Interrupted,
    Paused,
    PermanentFailure,
    UserError,
    short_repr,
)
from debate_orchestrator.util.numbers import plural

FOLDER = "judge-probe"
MAX_REPEATS = 20
_BALLOT = (Risk(kind="ballot", where="--output", what="`debate probe`"),)
"""The record of a ballot's journal that the user made, or agreed to count."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--judge", metavar="MODEL", action="append", help="a judge to test; may be repeated")
    parser.add_argument("--times", metavar="N", help="how often each judge judges each case; 1 by default")
    files = f"for scorecard.md, scorecard.json and journals; {FOLDER}/ by default"
    parser.add_argument("--output", metavar="FOLDER", help=files)
    parser.add_argument("--max-cost", metavar="USD", help="what all ballots in the folder may cost")
    parser.add_argument("--quiet", action="store_true", help="print only errors and the scorecard")
    parser.add_argument("--trust", action="store_true", help="count ballots in the folder that you did not make")
    flags.add_permissions(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the probes and writes the scorecard. Lists the probes if no judge is named."""
    cases = probes.load()
    if not any(getattr(arguments, flag) is not None for flag in ("judge", "times", "output", "max_cost")):
        return _list(arguments, cases)
    judges, repeats, max_cost = _check_arguments(arguments)
    if not arguments.output and is_link(FOLDER):
        raise BadFile(f"{FOLDER} is a symbolic link. Remove it, or name another folder with --output.")
    report = DebateFiles.made_for(os.path.join(arguments.output or FOLDER, "scorecard.md")).report
    folder = os.path.dirname(report) or "."
    problem, hint = f"Another `debate probe` runs in {name_of(folder)}.", "wait for it, or name another --output"
    with running_elsewhere.lock_folder(folder, problem, hint):  # two would each spend the whole cap
        run = ProbeRun(cases, judges, folder, repeats, max_cost, flags.permissions_of(arguments))
        return _probe(run, report, arguments)


def _probe(run: ProbeRun, report: str, arguments: argparse.Namespace) -> int:
    _agree(run, trusted=arguments.trust)
    quiet = arguments.quiet or arguments.json
    if run.pending() and not quiet:
        print_status(f"{len(run.pending())} of {len(run.tasks)} ballots to go: {run.estimate().sentence()}")
    failures = _ask(run, quiet=quiet)
    card = run.scorecard()
    data = json.dumps({"schema": 1, **card}, indent=1) + "\n"
    texts = {"scorecard.md": markdown(card), "scorecard.json": data}
    for note in write_listed(
        os.path.dirname(report) or ".", {name: redacted_bytes(name, text) for name, text in texts.items()}
    ):
        print_status(note)
    if failures:
        problems = dict.fromkeys(problem for error in failures for problem in error.problems)
        ending = Paused if all(isinstance(error, Paused | UserError) for error in failures) else PermanentFailure
        raise ending([*problems, f"{_saved_sentence(run)} The scorecard so far is {name_of(report)}."])
    fields = {**card, "scorecard": report, "data": report.removesuffix(".md") + ".json"}
    return print_outcome(arguments, fields, *table(card).split("\n"), "", f"Scorecard written to {name_of(report)}.")


def _agree(run: ProbeRun, *, trusted: bool) -> None:
    """Returns if this user made all ballots that were there, or counts them nevertheless. Raises BadFile otherwise."""
    sources = [consent.source_of_journal(path, entries) for path, entries in run.earlier_journals.items()]
    made_elsewhere = [source for source in sources if consent.unapproved_risks(source, _BALLOT)]
    if made_elsewhere and not trusted:
        count = plural(len(made_elsewhere), "ballot")
        hint = "Add --trust to count them, name another --output, or move the folder away."
        raise BadFile(f"The folder holds {count} that `debate probe` did not make there for you. {hint}")
    for source in made_elsewhere:
        consent.remember(source, _BALLOT)


def _list(arguments: argparse.Namespace, cases: Sequence[ProbeCase]) -> int:
    applied = Counter(case.probe for case in cases if case.probe)
    debates = {case.debate.name: case.debate.title for case in cases}
    probes = [probe.model_dump() | {"cases": count} for probe, count in applied.items()]
    total = f"{applied.total()} cases in {len(debates)} debates, {len(cases)} ballots of each judge."
    return print_outcome(
        arguments,
        {"probes": probes, "debates": debates, "cases": applied.total(), "ballots": len(cases)},
        *(f"{probe.title} ({count} cases): {probe.about}" for probe, count in applied.items()),
        *("", f"{total} To test a judge:", "  debate probe --judge anthropic:MODEL --max-cost USD"),
    )


def _check_arguments(arguments: argparse.Namespace) -> tuple[list[str], int, float | None]:
    """The judges, the number of repeats and the cap. Raises BadSettings with everything that is wrong."""
    judges, times, max_cost = list(dict.fromkeys(arguments.judge or ())), arguments.times or "1", None
    reachable = tuple(spec for spec in judges if model_spec.occupant_kind(spec) not in ("host", "recording", "person"))
    problems = [
        f"--judge {model_spec.kind(spec)} can't be probed, since that takes dozens of calls. Name a model, or a "
        'program such as "command:claude -p". To have one debate judged, use `debate judge JOURNAL`.'
        for spec in judges
        if spec not in reachable
    ]
    if not judges:
        problems.append("--judge is missing. `debate models` lists the models that can be called.")
    cast = {"judge": reachable}
    problems += cast_providers.cast_problems(cast) or cast_providers.key_problems(cast, flags.permissions_of(arguments))
    if times not in map(str, range(1, MAX_REPEATS + 1)):
        problems.append(f"--times must be a number from 1 to {MAX_REPEATS}, not {short_repr(times)}.")
    try:
        max_cost = None if arguments.max_cost is None else read_max_cost(arguments.max_cost)
    except BadSettings as error:
        problems += error.problems
    if problems := problems + (budget.price_problems(cast) if max_cost else []):
        raise BadSettings(problems)
    return judges, int(times), max_cost


def _ask(run: ProbeRun, *, quiet: bool) -> list[ExternalError]:
    """Asks until done or interrupted. The first Ctrl-C waits for the replies under way, the second one leaves them."""
    stop = asyncio.Event()
    failures: list[ExternalError] = []

    async def ask() -> None:
        failures.extend(await run.run(stop, on_event, remember))

    def on_event(debate: DebateState, event: Event) -> None:
        text = getattr(event, "problem", "")
        if debate.complete:
            result = tally.result(debate, debate.rounds)
            text = ballot_text(result.scores, result.winner) if result else NO_BALLOT
        if text and not quiet and debate.opened.earlier_debate:
            task = f"{model_spec.public_name(debate.cast['judge'][0])} on {debate.opened.earlier_debate.source}"
            print_status(f"  {task}: {text}; {plural(len(run.pending()), 'ballot')} to go")

    def remember(journal: JournalWriter) -> None:
        consent.remember(consent.source_of_journal(journal.path, journal.entries), _BALLOT)

    try:
        coroutines.run(ask(), stop, print_status)
    except KeyboardInterrupt:
        problems = dict.fromkeys(problem for error in failures for problem in error.problems)
        print_problems(list(problems))
        raise Interrupted(_saved_sentence(run)) from None
    return failures


def _saved_sentence(run: ProbeRun) -> str:
    saved_count = len(run.tasks) - len(run.pending())
    next_step = "to get the others" if run.pending() else "for the scorecard"
    return f"{saved_count} of {len(run.tasks)} ballots are saved. Run the same command again {next_step}."
