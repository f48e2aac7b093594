"""Reads a tournament's folder into rows: its journals, or the rows that were imported.

A journal in which a debate is judged again adds its ballots to that debate, as repeats.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from debate_orchestrator.core.events import BriefSent, EndedEarly
from debate_orchestrator.core.phases import CONSENSUS, JUDGE, NO_DECISION, TIE, judge_seats
from debate_orchestrator.core.state import winner_of_label
from debate_orchestrator.reports.compare import has_speeches_of, indexes_of_judged
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.parts import TurnReport
from debate_orchestrator.reports.report_files import is_unchanged
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import Entry
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.tournament import rows
from debate_orchestrator.tournament.folder import (
    DEBATES,
    IMPORTED,
    SPEC,
    Tournament,
    find_journals,
    is_imported,
    load,
    must_hold_no_link,
    read_json,
)
from debate_orchestrator.tournament.model_names import (
    REPLIES,
    final_cast,
    listed,
    names_by_spec,
    numbering_notes,
    reply_specs,
    shown_name,
    spec_names_by_seat,
)
from debate_orchestrator.tournament.plan import ScheduledDebate
from debate_orchestrator.tournament.rows import BallotRow, DebateRow, RoleUsage, Rows, Side, Winner
from debate_orchestrator.util.data import MAX_FILE_SIZE, name_of, read_text
from debate_orchestrator.util.errors import BadFile, BadJournal, UserError, without_hint
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import quoted

_SEATS: dict[str, Side] = {"a": "pro", "b": "con"}
_WINNERS: dict[str, Winner] = {"a": "pro", "b": "con", TIE: "tie", CONSENSUS: "tie"}


class _Debate(NamedTuple):
    """A journal of the folder."""

    name: str
    path: str
    report: ReportModel
    entries: list[Entry]

    @property
    def winner(self) -> Winner | None:
        verdict = self.report.verdict
        return _WINNERS.get(verdict.winner or "") if verdict else None

    @property
    def is_overruled(self) -> bool:
        """Whether a concession decided it as consensus, and a judge voted for another winner."""
        verdict = self.report.verdict
        return verdict is not None and "concession overrides the declared winner" in verdict.remarks


class _Rejudging(NamedTuple):
    """A journal in which a debate of the folder is judged again."""

    debate: _Debate
    """The re-judging, which is a debate of its own."""
    judged: _Debate
    """The debate whose speeches it judges."""
    ballots: list[BallotRow]
    """The ballots of the re-judging."""


def read_rows(folder: str) -> Rows:
    """The rows of a tournament's folder. Journals that can't be read are left out, which a note says. Raises BadFile if
    it is not such a folder, a part of it is a link, or nothing in it can be read."""
    must_hold_no_link(folder)
    journals, notes = find_journals(folder)
    if is_imported(folder):
        path = os.path.join(folder, rows.ROWS)
        return rows.load(read_text(path, MAX_FILE_SIZE), name_of(path), [*_imported_notes(folder, journals), *notes])
    has_spec = os.path.exists(os.path.join(folder, SPEC))
    if not has_spec and not journals:
        problem = f"{name_of(folder)} is not a tournament: it holds neither {SPEC} nor journals."
        raise BadFile([*notes, problem], hint="name the folder that `debate tournament run` or `import` wrote")
    if not journals:
        raise BadFile([*notes, f"{name_of(folder)} holds no debate yet."], hint="`debate tournament run` first")
    inner = Path(folder, DEBATES)
    is_inner = has_spec or all(inner in Path(path).parents for path in journals)
    debates_read, problems = _read_all(journals, str(inner) if is_inner else folder)
    if not debates_read:
        raise BadFile([*problems[:5], f"None of the {len(journals)} journals in {name_of(folder)} can be read."])
    tournament = _loaded(folder, notes) if has_spec else None
    held_debates, of_other_debates = _scheduled_debates(tournament, debates_read)
    held_debates, copies = _without_copies(held_debates)
    rejudged = [debate for debate in debates_read if debate.report.earlier_debate is not None]
    rejudged, more_copies = _without_copies(rejudged)
    problems += [*of_other_debates, *copies, *more_copies]
    scheduled = tournament.debates if tournament else {}
    kept = {debate.path for debate in (*held_debates, *rejudged)}
    by_path = {debate.path: debate.entries for debate in debates_read if debate.path in kept}
    names = names_by_spec(tournament, by_path)
    by_seat = {held.name: spec_names_by_seat(tournament, scheduled.get(held.name), names) for held in held_debates}
    debates, ballots = dict[str, DebateRow](), list[BallotRow]()
    for debate in held_debates:
        try:
            row = _debate_row(folder, debate, scheduled.get(debate.name), by_seat[debate.name])
            ballots += list(_ballot_rows(debate.name, debate, by_seat[debate.name]))
            debates[debate.name] = row
        except ValidationError as error:
            problems.append(_invalid_row(debate, error))
    held_debates = [debate for debate in held_debates if debate.name in debates]
    rejudgings, unusable = _rejudgings(rejudged, held_debates, by_seat)
    deciding = _deciding(rejudgings)
    for name, rejudging in deciding.items():
        debates[name] = debates[name].model_copy(update={"winner": rejudging.debate.winner})
    ballots += _repeated(rejudgings, deciding)
    notes += [f"A journal is left out: {problem}" for problem in (*problems, *unusable)]
    if missing := set(scheduled).difference(debates):
        notes.append(f"{len(missing)} of {len(scheduled)} scheduled debates have no journal that counts yet.")
    notes += _deciding_notes(deciding, rejudgings)
    notes += [*_weaknesses(held_debates, deciding), *numbering_notes(names, by_path)]
    return Rows(debates.values(), ballots, notes)


def _loaded(folder: str, notes: list[str]) -> Tournament | None:
    try:
        return load(folder)
    except UserError as error:
        notes.append(f"Whether journals are of scheduled debates is not known: {error.problems[0]}")
        return None


def debate_id(path: str, folder: str) -> str:
    """The id of the debate of a journal: its path from `folder`, with `\\` escaped, as are bytes that are no text."""
    name = Path(os.path.relpath(path, folder)).as_posix().removesuffix(JOURNAL)
    return os.fsencode(name.replace("\\", "\\\\")).decode(errors="backslashreplace")


def _read_all(paths: Sequence[str], folder: str) -> tuple[list[_Debate], list[str]]:
    """Every journal that can be read, in the order in which they were begun, and a sentence on each that can't. Each is
    named by its path from `folder`, since journals of several folders may have one name."""
    debates: list[_Debate] = []
    problems: list[str] = []
    names_without_keys = set[str]()
    for path in paths:
        name = debate_id(path, folder)
        if len(name) > rows.MAX_NAME_LENGTH:
            problems.append(f"{name_of(path)}: its path has more than {rows.MAX_NAME_LENGTH:,} characters.")
            continue
        if (name_without_keys := redact(name)) in names_without_keys:
            problems.append(f"{name_of(path)}: the path of another journal differs from it by an API key alone.")
            continue
        names_without_keys.add(name_without_keys)
        try:
            entries = read(path, follow_symlinks=False).entries
            debates.append(_Debate(name, path, build_report(entries, journal=path), entries))
        except BadJournal as error:
            problems += error.problems
    return sorted(debates, key=lambda debate: (debate.entries[0].at, debate.name)), problems


def _imported_notes(folder: str, journals: Sequence[str]) -> list[str]:
    """What the import noted, quoted, since the file may be from elsewhere; and a sentence on journals beside it."""
    path = os.path.join(folder, SPEC)
    imported = read_json(path)[IMPORTED]
    notes = imported.get("notes", []) if isinstance(imported, dict) else None
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise BadFile(f"{name_of(path)}: {IMPORTED} is not what an import writes.", hint="import the data again")
    notes = [f"The import noted: {quoted(note)}" for note in notes]
    if not journals:
        return notes
    what = f"{plural(len(journals), 'journal')} left out ({name_of(journals[0])} is the first)"
    return [*notes, f"{what}: the folder's results are imported."]


def _scheduled_debates(tournament: Tournament | None, debates: Sequence[_Debate]) -> tuple[list[_Debate], list[str]]:
    """The debates that were run, and a sentence on each journal that is not of the debate that its name says, as a run
    would find."""
    held_debates = [debate for debate in debates if debate.report.earlier_debate is None]
    if tournament is None:
        return held_debates, []
    scheduled_debates, notes = [], []
    for debate in held_debates:
        try:
            if debate.name not in tournament.debates:
                raise BadFile(f"{name_of(debate.path)} is not the journal of a scheduled debate.")
            tournament.must_belong(tournament.debates[debate.name], [entry.event for entry in debate.entries])
            scheduled_debates.append(debate)
        except BadFile as error:
            notes.append(without_hint(error.problems[0]))
    return scheduled_debates, notes


def _without_copies(debates: Sequence[_Debate]) -> tuple[list[_Debate], list[str]]:
    """One journal of each debate, and a sentence on each other, which is a copy or goes on otherwise: these begin with
    the same line, and any of them may have been continued. A complete one is taken before others, then the longest, and
    then the one whose last line is the oldest."""
    copies_by_debate: dict[str, list[_Debate]] = {}
    for debate in debates:
        copies_by_debate.setdefault(debate.entries[0].hash, []).append(debate)
    kept = [
        min(copies, key=lambda copy: (copy.report.status != "complete", -len(copy.entries), copy.entries[-1].at))
        for copies in copies_by_debate.values()
    ]
    notes = [
        f"{name_of(copy.path)} {_relation(copy, debate)} {name_of(debate.path)}."
        for debate, copies in zip(kept, copies_by_debate.values(), strict=True)
        for copy in copies
        if copy is not debate
    ]
    return kept, notes


def _relation(copy: _Debate, kept: _Debate) -> str:
    shared = sum(line.hash == other.hash for line, other in zip(copy.entries, kept.entries, strict=False))
    return "is a copy of" if shared == len(copy.entries) else f"differs after line {shared} from"


def _debaters(debate: _Debate, seat: str) -> tuple[str, ...]:
    """The model specs that took the turns of a side; before its first turn, those that are to take them."""
    specs = reply_specs(debate.entries)
    turns = (turn for turn in debate.report.turns if turn.seat == seat)
    return tuple(dict.fromkeys(specs[turn.id] for turn in turns if turn.id in specs)) or final_cast(debate.entries).get(
        seat, ()
    )


def _weaknesses(debates: Sequence[_Debate], deciding: Mapping[str, _Rejudging]) -> Iterator[str]:
    changed = [debate for debate in debates if any(len(_debaters(debate, seat)) > 1 for seat in _SEATS)]
    deciding_debates = [deciding[debate.name].debate if debate.name in deciding else debate for debate in debates]
    overruled = [debate for debate in deciding_debates if debate.is_overruled]
    judged = [debate for debate in deciding_debates if debate.report.verdict]
    otherwise = [
        debate
        for debate in judged
        if debate.report.judging.decided_by_swing
        or (len(debate.report.judging.votes) > 1 and winner_of_label(debate.report.rules))
    ]
    ended = [debate for debate in debates if any(isinstance(entry.event, EndedEarly) for entry in debate.entries)]
    shared = [debate for debate in deciding_debates if _has_vote_of_two_models(debate)]
    for what, effect, concerned in (
        ("a model took over a side from another", "that side counts for no model", changed),
        ("another model cast a vote's second ballot", "the vote and its points go to the first ballot's model", shared),
        ("a side conceded, and a judge voted for another winner than consensus", "that vote does not count", overruled),
        (
            "the format decides by votes gained or by labels, not by the final votes",
            "strengths, ranks and tables of votes go by the final votes",
            otherwise,
        ),
        ("the user ended the rounds early", "it is shorter than planned", ended),
    ):
        if concerned:
            first = f"{name_of(concerned[0].path)} is the first"
            yield f"In {plural(len(concerned), 'debate')} {what} ({first}): {effect}."


def _has_vote_of_two_models(debate: _Debate) -> bool:
    specs, votes = reply_specs(debate.entries), debate.report.votes
    return any(len({*map(specs.get, vote.turns)}) > 1 for vote in votes if vote.original and vote.mirrored)


def _debate_row(
    folder: str, debate: _Debate, scheduled: ScheduledDebate | None, names: Mapping[str, Mapping[str, str]]
) -> DebateRow:
    report = debate.report
    html_report = DebateFiles.of_journal(debate.path).html_report
    linked_report = os.path.relpath(html_report, folder)
    return DebateRow(
        id=debate.name,
        created=debate.entries[0].at,
        topic=scheduled.topic_id if scheduled else report.topic,
        motion=scheduled.motion if scheduled else report.topic,
        category=scheduled.category if scheduled else "",
        pro=_model(_debaters(debate, "a"), names["a"]),
        con=_model(_debaters(debate, "b"), names["b"]),
        first=_SEATS.get(report.spoke_first or ""),
        winner=debate.winner,
        complete=report.status == "complete",
        rehearsed=report.run.rehearsed,
        usage_by_role=_usage_by_role(debate),
        # A name may hold bytes that are no text.
        html_report=linked_report if linked_report.isprintable() and is_unchanged(html_report) else "",
    )


def _model(specs: Sequence[str], names: Mapping[str, str]) -> str | None:
    """The model of a side; None if it has none, or more than one."""
    return shown_name(specs[0], names) if len(specs) == 1 else None


def _usage_by_role(debate: _Debate) -> dict[Any, RoleUsage]:
    report, seconds = debate.report, _seconds(debate.entries)
    roles = {seat: _SEATS.get(seat, "judge") for seat in report.seats if seat in _SEATS or seat.startswith("judge")}
    usage: dict[Any, RoleUsage] = {}
    for role in dict.fromkeys(roles.values()):
        seats = [seat for seat, role_of_seat in roles.items() if role_of_seat == role]
        costs = [line for line in report.costs.seats if line.seat in seats] if report.costs else []
        tokens = [line.tokens for line in costs if line.tokens is not None]
        turns = [turn for turn in report.turns if turn.seat in seats]
        prices = [line.usd for line in costs]
        prompts = [line.input_uncached + line.input_cached + line.input_cache_writes for line in tokens]
        usage[role] = RoleUsage(
            calls=sum(line.calls for line in costs),
            input=sum(prompts) if tokens else None,
            output=sum(line.output for line in tokens) if tokens else None,
            cost=sum(price or 0.0 for price in prices) if prices and None not in prices else None,
            seconds=sum(seconds.get(turn.id, 0.0) for turn in turns) if seconds else None,
            words=sum(turn.words for turn in turns) if role != "judge" else None,
            declined_turns=sum(turn.declined for turn in turns),
        )
    return usage


def _seconds(entries: Sequence[Entry]) -> dict[str, float]:
    """Turn to the seconds from its first request to the reply that counts."""
    sent_at: dict[str, datetime] = {}
    durations: dict[str, float] = {}
    try:
        times = [datetime.fromisoformat(entry.at).astimezone(UTC) for entry in entries]
    except (ValueError, OverflowError):  # not as this program writes it
        return {}
    for entry, at in zip(entries, times, strict=True):
        if isinstance(entry.event, BriefSent):
            sent_at.setdefault(entry.event.turn_id, at)
        elif isinstance(entry.event, REPLIES) and entry.event.turn_id in sent_at:
            duration = at - sent_at[entry.event.turn_id]
            durations[entry.event.turn_id] = duration.total_seconds()
    return durations


def _ballot_rows(debate_id: str, debate: _Debate, names: Mapping[str, Mapping[str, str]]) -> Iterator[BallotRow]:
    """Every ballot of a journal that is valid, save pre-debate votes; all as the panel's own."""
    turns = {turn.id: turn for turn in debate.report.turns}
    judge_by_turn = _judge_by_turn(debate, names)
    for vote in debate.report.votes:
        if vote.place == "start":
            continue
        overruled = debate.is_overruled and vote.place == "final" and vote.counts_as not in (CONSENSUS, NO_DECISION)
        for turn_id, result in zip(vote.turns, (vote.original, vote.mirrored), strict=False):
            if result is not None:
                yield BallotRow(
                    debate=debate_id,
                    # The pair is one vote, also where another model cast the mirrored ballot.
                    judge=judge_by_turn[vote.turns[0] if vote.original else turn_id],
                    winner=_WINNERS.get(result.winner),
                    scores=_scores(turns[turn_id]) if turn_id in turns else {},
                    round=vote.round,
                    final=vote.place == "final",
                    mirrored=turn_id != vote.turns[0],
                    counted=not vote.absent and vote.stable,
                    overruled=overruled,
                    label=result.label,
                    score=None if result.claim_score is None else float(result.claim_score),
                )


def _scores(turn: TurnReport) -> dict[str, tuple[float, float]]:
    scores = (turn.fields or {}).get("scores")
    if not isinstance(scores, dict) or not {"a", "b"} <= set(scores):
        return {}
    return {
        name: (float(points), float(scores["b"][name])) for name, points in scores["a"].items() if name in scores["b"]
    }


def _judge_by_turn(debate: _Debate, names: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The turn of a ballot to its judge, which is the model that cast it. One that has two seats of a panel is two
    judges."""
    specs, judges_cast = reply_specs(debate.entries), final_cast(debate.entries).get(JUDGE, ())
    in_seats = dict(zip(judge_seats(len(judges_cast)), judges_cast, strict=True))
    judges = {
        turn: (vote.judge, specs.get(turn) or in_seats[vote.judge])
        for vote in debate.report.votes
        for turn in vote.turns
    }
    named: dict[tuple[str, str], str] = {}
    for seat, spec in dict.fromkeys([*in_seats.items(), *judges.values()]):
        name = shown_name(spec, names.get(seat, names[JUDGE]))
        numbered = chain([name], (f"{name} #{number}" for number in count(2)))
        named[seat, spec] = next(text for text in numbered if text not in named.values())
    return {turn: named[judge] for turn, judge in judges.items()}


def _invalid_row(debate: _Debate, error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    return f"{name_of(debate.path)}: {'.'.join(map(str, problem['loc']))}: {problem['msg'].lower()}."


def _rejudgings(
    rejudged: Sequence[_Debate], held_debates: Sequence[_Debate], names: Mapping[str, Mapping[str, Mapping[str, str]]]
) -> tuple[list[_Rejudging], list[str]]:
    """The re-judgings that count: complete ones by models, of debates that are in this folder and have the same
    speeches; and a sentence on each other. `names` has those of each debate by seat, under which its judges go here
    too."""
    indexes = indexes_of_judged([debate.report for debate in (*held_debates, *rejudged)])[len(held_debates) :]
    rejudgings, problems = list[_Rejudging](), list[str]()
    for debate, n in zip(rejudged, indexes, strict=True):
        judged = held_debates[n] if n is not None and n < len(held_debates) else None
        if judged is None:
            left_out = "is not in this folder, lacks lines that were judged, or is left out"
            problem = f"{name_of(debate.path)}: the debate that it judges again {left_out}."
        elif not has_speeches_of(debate.report, judged.report):
            problem = f"{name_of(debate.path)}: its speeches are not those of {name_of(judged.path)}."
        elif debate.report.run.rehearsed:
            problem = f"{name_of(debate.path)}: stand-ins argued the debate, or judge it again."
        elif debate.report.status != "complete":
            problem = f"{name_of(debate.path)}: its re-judging is not finished."
        else:
            try:
                ballots = list(_ballot_rows(judged.name, debate, names[judged.name]))
                rejudgings.append(_Rejudging(debate, judged, ballots))
                continue
            except ValidationError as error:
                problem = _invalid_row(debate, error)
        problems.append(problem)
    return rejudgings, problems


def _deciding(rejudgings: Iterable[_Rejudging]) -> dict[str, _Rejudging]:
    """The name of each debate that had no judge of its own to the re-judging that decided it: of those that did, the
    one that was begun first. A rehearsed debate is not decided."""
    deciding: dict[str, _Rejudging] = {}
    for rejudging in rejudgings:
        judged = rejudging.judged.report
        if rejudging.debate.report.verdict and not judged.judge_specs and not judged.run.rehearsed:
            deciding.setdefault(rejudging.judged.name, rejudging)
    return deciding


def _deciding_notes(deciding: Mapping[str, _Rejudging], rejudgings: Sequence[_Rejudging]) -> Iterator[str]:
    if deciding:
        decided_by = "decided by the re-judging that was begun first"
        yield f"{plural(len(deciding), 'debate')} without a judge {decided_by}: {_named(deciding.values())}."
    others = [
        rejudging
        for rejudging in rejudgings
        if (decided := deciding.get(rejudging.judged.name)) and rejudging.debate.winner != decided.debate.winner
    ]
    if others:
        debates = plural(len({rejudging.judged.name for rejudging in others}), "debate")
        yield f"In {debates} without a judge a later re-judging has another winner than the first: {_named(others)}."


def _named(rejudgings: Iterable[_Rejudging]) -> str:
    return listed([f"{name_of(rejudging.debate.path)} of {name_of(rejudging.judged.path)}" for rejudging in rejudgings])


def _repeated(rejudgings: Iterable[_Rejudging], deciding: Mapping[str, _Rejudging]) -> Iterator[BallotRow]:
    """The ballots of debates that were judged again, with the debate that was run. Those of the re-judging that decided
    a debate without a judge are that debate's own."""
    repeats: Counter[str] = Counter()
    for rejudging in rejudgings:
        is_own = deciding.get(rejudging.judged.name) is rejudging
        repeats[rejudging.judged.name] += not is_own
        number = 0 if is_own else repeats[rejudging.judged.name]
        yield from (ballot.model_copy(update={"judging_number": number}) for ballot in rejudging.ballots)
