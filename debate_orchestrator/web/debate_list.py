"""The debates of the working folder: listed, found by name, and searched."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from debate_orchestrator.core import transcript_entries
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.winner import why_nothing_decided
from debate_orchestrator.reports import decision_brief, wording
from debate_orchestrator.reports.provenance import degradations, is_whole_rehearsal, rehearsed_seats
from debate_orchestrator.storage.journal import read, stated_first_hash
from debate_orchestrator.storage.journal_lines import JournalContents, state_of_events
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.util.data import is_link
from debate_orchestrator.util.errors import BadFile, DebateError, short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.web import blocks, pages
from debate_orchestrator.web.guard import LinkedDebate, is_same_token
from debate_orchestrator.web.until_changed import file_version, until_changed

_CONTEXT_LENGTH = 120
"""Characters that are shown on each side of what was searched for."""
_MAX_FOUND = 100
"""Matches that a search lists."""
_MAX_TOPIC = 300
"""Characters of a topic in a list."""
_MAX_SLUG_LENGTH = 48
"""Characters of a topic in the name of its report."""


class ListedDebate(NamedTuple):
    name: str
    topic: str
    format: str
    opened: str
    """The time it was opened, in UTC, as YYYY-MM-DD HH:MM."""
    outcome: str
    cost: str
    recommendation: str = ""
    """The first sentence of the recommendation, as a quote; empty where there is none, or it is filler."""
    badges: tuple[str, ...] = ()
    """Its special traits: that it is a re-judging, or was judged again and where, or that stand-ins took part."""
    head: str = ""
    """The hash of the journal's last line."""
    judged_head: str = ""
    """That of the debate that it judges again; empty if it judges none."""
    complete: bool = False
    problem: str = ""
    """The reason that the journal can't be read; empty if it can."""


class SearchHit(NamedTuple):
    """A place in a debate that has the words."""

    name: str
    topic: str
    turn: str
    heading: str
    before: str
    words: str
    after: str
    badges: tuple[str, ...]
    """The special traits of the debate, as in the list."""


def names() -> list[str]:
    """The debates here that have an address, the newest first."""
    return [name for name in _all_names() if has_address(name)]


def _all_names() -> list[str]:
    """The debates here, the newest first. A link is none of them: it may lead anywhere."""
    paths = [path for path in os.listdir() if path.endswith(JOURNAL) and not is_link(path) and os.path.isfile(path)]
    paths.sort(key=lambda path: (-os.path.getmtime(path), path))
    return [path.removesuffix(JOURNAL) for path in paths]


def has_address(name: str) -> bool:
    """Whether an address can contain a name: not one that is no UTF-8, has a line break, or is dots alone."""
    is_utf8 = "\ufffd" not in os.fsencode(name).decode("utf-8", "replace")
    return is_utf8 and name not in (".", "..") and name.splitlines() == [name]


def without_address(file: str) -> str:
    """The message about a file or a folder whose name an address can't contain."""
    return f"An address can't contain the name {short_repr(file)}. Rename it."


def journal_of(name: str) -> str:
    """The journal of the debate of that name. Raises BadFile if there is none in this folder, whatever the name says.
    No other file of the folder is looked at: anyone can ask too."""
    path = f"{name}{JOURNAL}"
    if not has_address(name) or os.path.basename(path) != path or not os.path.isfile(path) or is_link(path):
        raise BadFile("There is no such debate in this folder.", hint="go back to the list")
    return path


def journal_of_link(name: str, token_of: Callable[[LinkedDebate], str], token: str) -> str | None:
    """The journal of the debate of that name, for a link with the right token; None for any other link, whether or not
    there is such a debate. Of the journal only the hash is read that its first line states: anyone can ask too."""
    try:
        path = journal_of(name)
        first_hash = _first_hash(path)
    except (BadFile, OSError):
        return None
    is_right_token = first_hash is not None and is_same_token(token_of(LinkedDebate(name, first_hash)), token)
    return path if is_right_token else None


_first_hash = until_changed(1_024)(stated_first_hash)


@until_changed(32)
def load(path: str) -> tuple[JournalContents, DebateState]:
    contents = read(path, follow_symlinks=False)
    return contents, state_of_events(path, contents.events)


def list_debates() -> list[ListedDebate]:
    """All debates of the folder, the newest first by when they were opened; last those that can't be read."""
    rows = []
    for name in _all_names():
        try:
            if not has_address(name):
                raise BadFile(without_address(f"{name}{JOURNAL}"))
            rows.append(row(name))
        except (DebateError, OSError) as error:
            rows.append(ListedDebate(name, name, "", "", "", "", problem=str(error)))
    rejudged = {row.judged_head: f"also judged in {row.name}" for row in rows if row.judged_head}
    rows = [row._replace(badges=(*row.badges, *filter(None, [rejudged.get(row.head)]))) for row in rows]
    return sorted(rows, key=lambda row: row.opened, reverse=True)


@until_changed(5_000, lambda name: file_version(f"{name}{JOURNAL}"))
def row(name: str) -> ListedDebate:
    """A debate as the list shows it. Raises BadJournal."""
    contents, debate = load(f"{name}{JOURNAL}")
    return ListedDebate(
        name=name,
        topic=_topic(debate),
        format=debate.format.title,
        opened=contents.entries[0].at[:16].replace("T", " "),
        outcome=outcome(debate),
        cost=pages.money(costs_of(debate).total),
        recommendation=_recommendation(debate),
        badges=tuple(_badges(debate)),
        head=contents.entries[-1].hash,
        judged_head=debate.opened.earlier_debate.digest if debate.opened.earlier_debate else "",
        complete=debate.complete,
    )


def _topic(debate: DebateState) -> str:
    """The topic in a list. One of thousands of words, which a journal from elsewhere may have, would hide the rest."""
    return wording.shorten(one_line(debate.opened.settings.topic), _MAX_TOPIC)


def _badges(debate: DebateState) -> Iterator[str]:
    if debate.opened.earlier_debate is not None:
        yield "a re-judging"
    if rehearsed_seats(debate):
        yield "a rehearsal" if is_whole_rehearsal(debate) else "with stand-ins"
    if any(degradations(debate)):
        yield "degraded verdict"


def outcome(debate: DebateState) -> str:
    """The decision or the progress, in a line."""
    if not debate.complete:
        return f"not finished: {plural(len(debate.replies), 'turn')} on record"
    if is_whole_rehearsal(debate):
        return "A rehearsal: no model spoke."
    return one_line(wording.decision_line(debate)) or "complete, without a verdict"


def _recommendation(debate: DebateState) -> str:
    if not debate.complete or why_nothing_decided(debate):
        return ""
    brief = decision_brief.decision_brief_report(debate)
    if brief is None:
        return ""
    return decision_brief.recommendation(brief.sure, decision_brief.first_sentence(brief.do))


def search(words: str) -> tuple[list[SearchHit], bool]:
    """The places where all of these words occur in a speech or a question from the floor, in all debates here, the
    newest first; and whether there are more places than are listed. Words that follow each other there are highlighted
    together."""
    hits: list[SearchHit] = []
    for name in names() if words.strip() else ():
        try:
            _, debate = load(f"{name}{JOURNAL}")
        except (DebateError, OSError):
            continue
        topic, badges = _topic(debate), tuple(_badges(debate))
        for turn, heading, text in _searched(debate):
            if (match := _match(words, text)) is None:
                continue
            before = text[max(0, match.start() - _CONTEXT_LENGTH) : match.start()]
            after = text[match.end() :][:_CONTEXT_LENGTH]
            if len(hits) == _MAX_FOUND:
                return hits, True
            hits.append(SearchHit(name, topic, turn, heading, before, match[0], after, badges))
    return hits, False


def _searched(debate: DebateState) -> Iterator[tuple[str, str, str]]:
    """Turn, heading and text, as it is heard, of what can be searched; a question from the floor has no turn."""
    hidden = blocks.hidden_turns(debate)
    for turn_id in debate.replies:
        turn = debate.turns.get(turn_id)  # no page shows what is off the schedule
        if turn and turn.speaking and turn_id not in hidden:
            yield turn_id, debate.format.heading_of(turn), one_line(transcript_entries.entry(debate, turn).text)
    for question in debate.floor_questions:
        yield "", "Question from the floor", one_line(question.question)


def _match(words: str, text: str) -> re.Match[str] | None:
    """The place where the words follow each other, else of the first word if all are there; None if one is missing."""
    matches = [re.search(re.escape(word), text, re.IGNORECASE) for word in one_line(words).split()]
    phrase_match = re.search(re.escape(one_line(words)), text, re.IGNORECASE)
    return phrase_match or (matches[0] if all(matches) else None)


def slug(topic: str) -> str:
    """A topic in lower case with hyphens, for names of files."""
    return re.sub(r"[^a-z0-9]+", "-", topic.lower())[:_MAX_SLUG_LENGTH].strip("-") or "debate"


def unused_files(topic: str, suffix: str = "") -> DebateFiles:
    """The files of a new debate, named after its topic, in names that nothing has yet; `suffix` is added to them."""
    stems = itertools.chain([slug(topic)], (f"{slug(topic)}-{number}" for number in itertools.count(2)))
    candidates = (DebateFiles.named_by(f"{stem}{suffix}.md") for stem in stems)
    return next(files for files in candidates if not files.existing())
