"""`debate ballot`: a reader judges a finished debate before seeing its verdict, at a terminal or with a form."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Any

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.answers_and_flags import read_standard_input
from debate_orchestrator.cli.consent import STANDARD_INPUT, STDIN
from debate_orchestrator.cli.journals import find_journal
from debate_orchestrator.cli.output import at_terminal, print_document, print_json, print_outcome, print_status
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.shape import Field, Shape, json_schema
from debate_orchestrator.reports import ballot_filing, markdown, reviewer_ballots
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.reviewer_ballots import ReviewedDebate, ReviewForm
from debate_orchestrator.reports.wording import next_command
from debate_orchestrator.storage.files import write_over
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import state_of_events
from debate_orchestrator.terminal import asking
from debate_orchestrator.terminal.form import ReviewBallotForm, ask_name, reviewer_remarks
from debate_orchestrator.util import coroutines
from debate_orchestrator.util.data import name_of, read_mapping_with_lines, to_yaml
from debate_orchestrator.util.errors import BadSettings, short_repr
from debate_orchestrator.util.messages import command, shell_word
from debate_orchestrator.util.sanitize import one_line, quoted
from debate_orchestrator.util.terminal_text import rows

_FORM_WIDTH = 79
"""Columns of the lines above an empty form, which most terminals show without breaking them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser)
    parser.add_argument("--as", dest="name", metavar="NAME", help="the name you sign with")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--form", action="store_true", help="print an empty form to fill in elsewhere; asks nothing")
    group.add_argument("--take", metavar="FILE", help="check a filled-in form and file it; - is standard input")
    group.add_argument("--transcript", metavar="FILE", help="write the debate there as markdown, without any votes")
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Raises BadSettings if the debate is not finished, since a ballot counts for the debate as it stands."""
    path = find_journal(arguments.journal)
    entries = read(path).entries
    debate = state_of_events(path, [entry.event for entry in entries])
    if not debate.complete:
        due = ", ".join(turn.id for turn in debate.due)
        hint = f"`{next_command(debate, path)}` to finish it"
        raise BadSettings(f"{name_of(path)}: this debate is not finished (due: {due}).", hint=hint)
    reviewed = ReviewedDebate.from_entries(path, entries, debate)
    if arguments.transcript:
        return _write_transcript(arguments, reviewed)
    if arguments.form:
        return _print_form(arguments, reviewed)
    if arguments.take:
        return _take_form(arguments, reviewed)
    if arguments.json:
        return _print_reviewers(reviewed)
    if not at_terminal(sys.stdout):
        raise BadSettings(
            "`debate ballot` asks at a terminal, and there is none.",
            hint="`--form` prints a form to fill in, `--transcript FILE` writes the debate without votes, "
            "`--take FILE` files the form",
        )
    return _ask(arguments, reviewed)


def _print_reviewers(reviewed: ReviewedDebate) -> int:
    """Prints who has reviewed the debate, and nothing of what they wrote: the reader has yet to judge it."""
    gathered = reviewer_ballots.gather_ballots(reviewed.folder, reviewed.entries)
    print_json(
        {
            "status": "open",
            "journal": reviewed.path,
            "head": reviewed.head,
            "folder": reviewed.folder,
            "reviewers": [ballot.reviewer for ballot in gathered.counted],
            "left_out": list(gathered.left_out),
        }
    )
    return 0


def _text_for_review(reviewed: ReviewedDebate) -> str:
    return markdown.render_for_review(build_report(reviewed.entries, journal=reviewed.path))


def _write_transcript(arguments: argparse.Namespace, reviewed: ReviewedDebate) -> int:
    path_kept = write_over(
        arguments.transcript, _text_for_review(reviewed), markdown.REVIEW_PREFIX.encode(), "a debate to be reviewed"
    )
    name = name_of(arguments.transcript)
    if path_kept:
        print_status(f"{name} was edited, or is not from this program; it is kept as {name_of(path_kept)}.")
    ballot_command, reviewer = command("ballot", reviewed.path), shell_word(arguments.name or "NAME")
    text = f"Written to {name}, without any votes. Next: `{ballot_command} --as {reviewer}`."
    return print_outcome(arguments, {"status": "written", "transcript": arguments.transcript}, text)


def _print_form(arguments: argparse.Namespace, reviewed: ReviewedDebate) -> int:
    text = form_text(reviewed.form, reviewed.head, reviewed.path, date.today().isoformat(), arguments.name or "")
    if arguments.json:
        shape = json_schema(reviewed.form.shape, reviewed.form.shape_context)
        print_json({"status": "form", "form": text, "head": reviewed.head, "json_schema": shape})
    else:
        print_document(text)
    return 0


def _take_form(arguments: argparse.Namespace, reviewed: ReviewedDebate) -> int:
    path = arguments.take
    piped = path == STANDARD_INPUT
    fields = read_standard_input() if piped else read_mapping_with_lines(path)[0]
    if arguments.name and fields.get("reviewer") is None:
        fields["reviewer"] = arguments.name
    elif arguments.name and fields["reviewer"] != arguments.name:
        name_in_form = short_repr(fields["reviewer"])
        raise BadSettings(f"--as {short_repr(arguments.name)} is not the name in the form, {name_in_form}.")
    ballot = reviewer_ballots.checked_ballot(fields, STDIN if piped else name_of(path), reviewed.form, reviewed.entries)
    path_filed = ballot_filing.take_ballot(reviewed.folder, {**fields, "reviewer": ballot.reviewer})
    if ballot.seen:
        print_status(reviewer_ballots.review_texts().messages["seen"])
    for remark in reviewer_remarks(reviewed.form, ballot):
        print_status(remark)
    return _print_filed(arguments, reviewed, path_filed, ballot.reviewer)


def _print_filed(arguments: argparse.Namespace, reviewed: ReviewedDebate, path: str, reviewer: str) -> int:
    text = (
        reviewer_ballots.review_texts().messages["filed"].format(path=name_of(path), journal=shell_word(reviewed.path))
    )
    fields = {"status": "filed", "ballot": path, "reviewer": reviewer, "journal": reviewed.path}
    return print_outcome(arguments, fields, text)


def _ask(arguments: argparse.Namespace, reviewed: ReviewedDebate) -> int:
    """Asks at the terminal. Answers are saved as a draft, which the next call of the same reviewer continues."""
    asker, draft, name = asking.Asker(stream=sys.stdout), "", arguments.name or ""

    def save(fields: dict[str, Any]) -> None:
        nonlocal draft
        if not draft:
            ballot_filing.begin_own_draft(reviewed.folder, fields)
        draft = ballot_filing.save_draft(reviewed.folder, fields)

    async def ask() -> dict[str, Any]:
        nonlocal draft, name
        name = name or await ask_name(asker, reviewer_ballots.review_texts())
        if problem := reviewer_ballots.name_problem(name, "--as"):
            raise BadSettings(problem)
        name = normalized = reviewer_ballots.normalized_name(name)
        ballot_filing.must_be_free(reviewed.folder, normalized)
        saved_draft = ballot_filing.read_draft(reviewed.folder, normalized, reviewed.head)
        draft = reviewer_ballots.draft_path(reviewed.folder, normalized) if saved_draft else ""
        fields = saved_draft | reviewer_ballots.new_ballot(reviewed.head, name, date.today().isoformat())
        show = partial(_show, asker, _text_for_review(reviewed))
        return await ReviewBallotForm(asker, reviewer_ballots.review_texts(), reviewed.form, fields, show, save).run()

    try:
        with asker:
            fields = coroutines.run(ask())
    except (asking.Quit, KeyboardInterrupt, EOFError):
        text = reviewer_ballots.review_texts().messages["left" if draft else "left_empty"]
        print_status(
            f"debate: {text.format(path=name_of(draft), journal=shell_word(reviewed.path), name=shell_word(name))}"
        )
        return 130
    reviewer_ballots.checked_ballot(fields, "the ballot", reviewed.form, reviewed.entries)
    return _print_filed(arguments, reviewed, ballot_filing.file_ballot(reviewed.folder, fields), name)


def _show(asker: asking.Asker, text: str) -> None:
    """Shows a text in a pager, or prints it if there is none. While it runs, Ctrl-C is for the pager."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        in_pager = asking.show_in_pager(text, asker.columns)
    finally:
        signal.signal(signal.SIGINT, before)
    if not in_pager:
        asker.show(*text.split("\n"))


def form_text(form: ReviewForm, head: str, journal: str, day: str, reviewer: str = "") -> str:
    """The empty form of a ballot on that debate, which `util.data.read_mapping` reads."""
    fields: dict[str, Any] = {
        "ballot": reviewer_ballots.VERSION,
        "journal": head,
        "reviewer": reviewer or None,
        "date": day,
    }
    fields |= {"seen": False, "before": None}
    rounds = {n: _fields(form, shape) for n, shape in form.rounds.items()}
    fields |= {"rounds": rounds} if rounds else {}
    fields |= {"final": _fields(form, form.final), "why": None, "after": None}
    notes = (f"# {row}" for line in _notes(form, journal) for row in rows(one_line(line), _FORM_WIDTH - 2))
    return "\n".join(notes) + "\n\n" + to_yaml(fields).replace(": null\n", ":\n")


def _notes(form: ReviewForm, journal: str) -> Iterator[str]:
    """The comment lines of the form: its debate, and the values that its fields may have."""
    texts, format, setup = reviewer_ballots.review_texts(), form.debate.format, form.debate.opened.settings
    yield from (line.format(journal=shell_word(journal)) for line in texts.form)
    yield f"Topic: {setup.topic}"
    for side in form.sides:
        yield f"{side}, {format.name_of(side)}: {setup.positions[side]}"
    if form.debate.opened.context and JUDGE in format.context_heard_by:
        names = ", ".join(quoted(file.name) for file in form.debate.opened.context)
        yield f"Context files of the judges, which --transcript writes with the debate: {names}"
    if form.has_scores:
        for name in form.shape_context.criteria:
            yield f"{name}, {form.scale(name)}: {format.rubric.criteria[name].about}"
    options = _or([*form.sides, reviewer_ballots.NO_POSITION])
    yield f"reviewer: {texts.name_hint}"
    yield f"seen: {texts.seen_hint}"
    yield f"before: {texts.before_hint.format(positions=options)}"
    for name, field in {**next(iter(form.rounds.values()), {}), **form.final}.items():
        if field.kind != "scores":
            yield f"{name}: {hint(field, form)}"
    yield f"why: {texts.why_hint.format(words=reviewer_ballots.MAX_REASON_WORDS)}"
    yield f"after: {texts.after_hint.format(positions=options)}"


def _fields(form: ReviewForm, shape: Shape) -> dict[str, Any]:
    """The fields of one part of the form, all of them empty."""
    scores = {side: dict.fromkeys(form.shape_context.criteria) for side in form.sides}
    return {name: scores if field.kind == "scores" else None for name, field in shape.items()}


def hint(field: Field, form: ReviewForm) -> str:
    """The values that a field may have: `a, b or tie: who won the round`."""
    if field.kind == "number":
        bounded = field.min is not None and field.max is not None
        values = f"{field.min:g} to {field.max:g}" if bounded else "a number"
    else:
        values = _or(field.options or form.sides)
    return f"{values}: {field.about}" if field.about else values


def _or(names: Any) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else str(last)
