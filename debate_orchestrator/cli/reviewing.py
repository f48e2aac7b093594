"""The verb with which somebody who was not there judges a debate blind: `ballot`."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
from datetime import date
from typing import Any, NamedTuple

from debate_orchestrator.cli.given import STANDARD_INPUT, STDIN, standard_input
from debate_orchestrator.cli.output import page, print_json, remark, say
from debate_orchestrator.core.schema import json_schema
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports import review_files, reviews
from debate_orchestrator.reports.reviews import ReviewForm
from debate_orchestrator.rostrum import Later
from debate_orchestrator.storage import journal
from debate_orchestrator.storage.files import write_over
from debate_orchestrator.storage.journal import Entry
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.data import name_of, read_mapping_with_lines
from debate_orchestrator.util.errors import BadSettings, complaint, short_repr
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import sanitize


class _Case(NamedTuple):
    """The debate that is reviewed."""

    path: str
    entries: list[Entry]
    paper: ReviewForm
    folder: str

    @property
    def digest(self) -> str:
        return self.entries[-1].hash


def ballot(arguments: argparse.Namespace) -> int:
    """Has somebody judge a debate, at a terminal or by a file."""
    entries = journal.read(arguments.journal).entries
    debate = DebateState(entry.event for entry in entries)
    case = _Case(arguments.journal, entries, ReviewForm(debate), DebateFiles.of_journal(arguments.journal).ballots)
    if not debate.complete:
        hint = f"`debate resume {arguments.journal}` finishes it; a ballot counts for a debate as it then stands."
        due = ", ".join(turn.id for turn in debate.due())
        raise BadSettings(complaint(arguments.journal, f"a debate that waits for {due}", "a finished one", hint))
    if arguments.read:
        return _read(arguments, case)
    if arguments.form:
        return _form(arguments, case)
    if arguments.take:
        return _take(arguments, case)
    if arguments.json:
        return _told(case)
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        hint = (
            "`--form` prints a form to fill in, `--read FILE` writes the debate without votes, `--take FILE` files it."
        )
        raise BadSettings(complaint("debate ballot", "no terminal", "a terminal, to ask at", hint))
    return _asked(arguments, case)


def _told(case: _Case) -> int:
    """Who has reviewed it, without a word of what they said."""
    found = review_files.gather_reviews(case.folder, case.entries)
    names = [one.reviewer for one in found.counted]
    print_json({"status": "open", "journal": case.path, "digest": case.digest, "folder": case.folder,
                "reviewers": names, "left_out": list(found.left_out)})  # fmt: skip
    return 0


def _blind(case: _Case) -> str:
    from debate_orchestrator.reports import markdown
    from debate_orchestrator.reports.model import build_report

    return markdown.render_blind(build_report(case.entries))


def _read(arguments: argparse.Namespace, case: _Case) -> int:
    """Writes the debate as reviewers read it."""
    from debate_orchestrator.reports.markdown import BLIND

    kept = write_over(arguments.read, _blind(case), BLIND.encode(), "a debate to be reviewed")
    if kept:
        remark(f"{name_of(arguments.read)} was not as this program writes it: kept as {name_of(kept)}.")
    if arguments.json:
        print_json({"status": "written", "transcript": arguments.read})
    else:
        say(f"Written to {arguments.read}, without anybody's votes. Next: `debate ballot {case.path} --as NAME`.")
    return 0


def _form(arguments: argparse.Namespace, case: _Case) -> int:
    """Prints the empty form."""
    text = reviews.form_text(case.paper, case.digest, case.path, _today(), arguments.name or "")
    if arguments.json:
        shape = json_schema(case.paper.shape, case.paper.terms)
        print_json({"status": "form", "form": text, "digest": case.digest, "json_schema": shape})
    else:
        page(text)
    return 0


def _take(arguments: argparse.Namespace, case: _Case) -> int:
    """Checks a form that was filled in, and files it."""
    where = arguments.take
    piped = where == STANDARD_INPUT
    value = standard_input() if piped else read_mapping_with_lines(where)[0]
    if arguments.name and value.get("reviewer") is None:
        value["reviewer"] = arguments.name
    elif arguments.name and value["reviewer"] != arguments.name:
        raise BadSettings(
            complaint("--as", short_repr(arguments.name), f"the name in it, {short_repr(value['reviewer'])}")
        )
    made = review_files.checked_review(value, STDIN if piped else name_of(where), case.paper, case.entries)
    path = review_files.file(case.folder, value)
    if made.seen:
        remark(reviews.review_texts().said["seen"])
    return _filed(arguments, case, path, made.reviewer)


def _filed(arguments: argparse.Namespace, case: _Case, path: str, reviewer: str) -> int:
    if arguments.json:
        print_json({"status": "filed", "ballot": path, "reviewer": reviewer, "journal": case.path})
    else:
        say(reviews.review_texts().said["filed"].format(path=path, journal=case.path))
    return 0


def _asked(arguments: argparse.Namespace, case: _Case) -> int:
    """Asks at the terminal. What was answered is kept as a draft, and gone on with the next time."""
    from debate_orchestrator.wizard import asking, reviewing

    words, kept = reviews.review_texts(), ""
    asker = asking.here()

    def keep(value: dict[str, Any]) -> None:
        nonlocal kept
        kept = review_files.keep(case.folder, value)

    name = arguments.name or ""
    try:
        with asker:
            name = name or reviewing.named(asker, words)
            _must_be_a_name(case, name)
            review_files.must_be_free(case.folder, name)
            begun = review_files.draft(case.folder, name, case.digest)
            kept = review_files.path_of(case.folder, name, review_files.DRAFT) if begun else ""
            given = begun | reviews.empty(case.paper, case.digest, name, _today())
            made = reviewing.Review(asker, words, case.paper, given, lambda: _show(asker, _blind(case)), keep).hold()
    except Later:
        remark(_leaving(words, kept, case, name))
        return 0
    except (KeyboardInterrupt, EOFError):
        remark(_leaving(words, kept, case, name))
        return 130
    review_files.checked_review(made, "the ballot", case.paper, case.entries)
    return _filed(arguments, case, review_files.file(case.folder, made), name)


def _must_be_a_name(case: _Case, name: str) -> None:
    """BadAnswers where nobody can sign so."""
    wrong = [one for one in case.paper.complaints({"reviewer": name}) if one.startswith("reviewer:")]
    if wrong:
        raise BadSettings([one.replace("reviewer:", "--as:", 1) for one in wrong])


def _leaving(words: reviews.ReviewTexts, kept: str, case: _Case, name: str) -> str:
    said = words.said["left" if kept else "left_empty"]
    return f"debate: {said.format(path=kept, journal=case.path, name=shlex.quote(name))}"


def _show(asker: Any, text: str) -> None:
    """Shows a text in the pager that the person has chosen; printed where there is none to be had. Ctrl-C is the
    pager's while it runs."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        command = shlex.split(os.environ.get("PAGER", ""))
        if command:
            subprocess.run(command, input=redact(sanitize(text)).encode(), check=False)
            return
    except (OSError, ValueError):
        pass
    finally:
        signal.signal(signal.SIGINT, before)
    asker.tell(text)


def _today() -> str:
    return date.today().isoformat()
