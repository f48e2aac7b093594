"""Reads a tournament's folder into rows: its journals, or the rows that were imported.

A journal in which a debate is judged again adds its ballots to that debate, as repeats.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from debate_orchestrator.core.events import CallIntended, Declined, Opened, Reassigned, Spoke, StructuredReplyGiven
from debate_orchestrator.core.phases import JUDGE, TIE, judge_seats
from debate_orchestrator.reports.compare import has_speeches_of, sources
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.parts import TurnReport
from debate_orchestrator.reports.report_files import is_unchanged
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import Entry
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.tournament import rows
from debate_orchestrator.tournament.folder import DEBATES, SPEC, Tournament, load, must_hold_no_link, read_json
from debate_orchestrator.tournament.plan import ScheduledDebate
from debate_orchestrator.tournament.rows import BallotRow, DebateRow, RoleUsage, Rows, Side, Winner
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import MAX_FILE_SIZE, name_of, read_text
from debate_orchestrator.util.errors import BadFile, BadJournal, UserError, without_hint
from debate_orchestrator.util.numbers import plural

IMPORTED = "imported"
"""The key of `tournament.json` that says where imported rows come from."""
_SEATS: dict[str, Side] = {"a": "pro", "b": "con"}
_REPLIES = (Spoke, StructuredReplyGiven, Declined)
_WINNERS: dict[str, Winner] = {"a": "pro", "b": "con", TIE: "tie", "consensus": "tie"}


class _Debate(NamedTuple):
    """A journal of the folder."""

    name: str
    path: str
    report: ReportModel
    entries: list[Entry]


def read_rows(folder: str) -> Rows:
    """The rows of a tournament's folder. Journals that can't be read are left out, which a note says. Raises BadFile if
    it is not such a folder, a part of it is a link, or nothing in it can be read."""
    must_hold_no_link(folder)
    spec = read_json(os.path.join(folder, SPEC)) if os.path.exists(os.path.join(folder, SPEC)) else None
    path = os.path.join(folder, rows.ROWS)
    if isinstance(spec, dict) and IMPORTED in spec:
        return rows.load(read_text(path, MAX_FILE_SIZE), name_of(path), _imported_notes(spec[IMPORTED], folder))
    journals = journal_paths(folder)
    if spec is None and not journals:
        problem = f"{name_of(folder)} is not a tournament: it holds neither {SPEC} nor journals."
        raise BadFile(problem, hint="name the folder that `debate tournament run` or `import` wrote")
    if not journals:
        raise BadFile(f"{name_of(folder)} holds no debate yet.", hint="`debate tournament run` first")
    inner = Path(folder, DEBATES)
    debates_read, problems = _read_all(journals, inner if inner.is_dir() else Path(folder))
    if not debates_read:
        raise BadFile([*problems[:5], f"None of the {len(journals)} journals in {name_of(folder)} can be read."])
    notes = [f"A journal is left out: {problem}" for problem in problems]
    tournament = None
    if spec is not None:
        try:
            tournament = load(folder)
        except UserError as error:
            notes.append(f"Whether journals are of scheduled debates is not known: {error.problems[0]}")
    run_debates, left_out = _scheduled_debates(tournament, debates_read)
    run_debates, copies = _without_copies(run_debates)
    rejudged, more_copies = _without_copies(
        [debate for debate in debates_read if debate.report.earlier_debate is not None]
    )
    scheduled = {debate.id: debate for debate in tournament.schedule} if tournament else {}
    names = _names(tournament, debates_read)
    with_sources = _with_sources(rejudged, run_debates)
    judgings = _judgings(with_sources)
    debates, ballots = list[DebateRow](), list[BallotRow]()
    for debate in run_debates:
        entry = scheduled.get(debate.name)
        by_role = _names_by_role(tournament, entry, names)
        debates.append(_debate_row(folder, debate, judgings.get(debate.name, debate), entry, by_role))
        ballots += _ballot_rows(debate.name, debate, by_role[JUDGE], 0)
    ballots += _repeated(with_sources, judgings, names)
    missing = [*_missing_notes(scheduled, run_debates, with_sources), *_changed_sides(run_debates)]
    return Rows(debates, ballots, [*left_out, *copies, *more_copies, *notes, *missing])


def title(folder: str) -> str:
    """The name of a tournament: its tag, or the name of its folder."""
    path = os.path.join(folder, SPEC)
    spec = read_json(path) if os.path.exists(path) else None
    tag = spec.get("tag") if isinstance(spec, dict) else None
    return tag if isinstance(tag, str) and tag.strip() else os.path.basename(os.path.realpath(folder))


def journal_paths(folder: str) -> list[str]:
    """The journals of a tournament, or of any folder of debates, at any depth. Links to folders are not followed."""
    if not os.path.isdir(folder):
        is_file = os.path.exists(folder)
        problem = f"{name_of(folder)} is a file, not the folder of a tournament."
        raise BadFile(
            problem if is_file else f"There is no folder {name_of(folder)}.",
            hint="the DIR of `debate tournament run SPEC --to DIR`",
        )
    inner = os.path.join(folder, DEBATES)
    paths = (
        os.path.join(folder_path, name)
        for folder_path, _, names in os.walk(inner if os.path.isdir(inner) else folder)
        for name in names
        if name.endswith(JOURNAL) and not name.startswith(".")
    )
    return sorted(str(Path(path)) for path in paths)


def _read_all(paths: Sequence[str], folder: Path) -> tuple[list[_Debate], list[str]]:
    """Every journal that can be read, in the order in which they were begun, and a sentence on each that can't. Each is
    named by its path in `folder`, since journals of several folders may have one name."""
    debates: list[_Debate] = []
    problems: list[str] = []
    for path in paths:
        name = Path(path).relative_to(folder).as_posix().removesuffix(JOURNAL)
        name = os.fsencode(name.replace("\\", "\\\\")).decode(errors="backslashreplace")
        if len(name) > rows.MAX_NAME_LENGTH:
            problems.append(f"{name_of(path)}: its path has more than {rows.MAX_NAME_LENGTH:,} characters.")
            continue
        try:
            entries = read(path, follow=False).entries
            debates.append(_Debate(name, path, build_report(entries, journal=path), entries))
        except BadJournal as error:
            problems += error.problems
    return sorted(debates, key=lambda debate: (debate.entries[0].at, debate.name)), problems


def _imported_notes(imported: Any, folder: str) -> list[str]:
    notes = imported.get("notes", []) if isinstance(imported, dict) else None
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        problem = f"{name_of(os.path.join(folder, SPEC))}: {IMPORTED} is not what an import writes."
        raise BadFile(problem, hint="import the data again")
    return notes


def _scheduled_debates(tournament: Tournament | None, debates: Sequence[_Debate]) -> tuple[list[_Debate], list[str]]:
    """The debates that were run, and a sentence on each journal that is not of the debate that its name says, as a run
    would find."""
    run_debates = [debate for debate in debates if debate.report.earlier_debate is None]
    if tournament is None:
        return run_debates, []
    scheduled = {entry.id: entry for entry in tournament.schedule}
    scheduled_debates, notes = [], []
    for debate in run_debates:
        try:
            if debate.name not in scheduled:
                raise BadFile(f"{name_of(debate.path)} is not the journal of a scheduled debate.")
            tournament.must_belong(scheduled[debate.name], [entry.event for entry in debate.entries])
            scheduled_debates.append(debate)
        except BadFile as error:
            notes.append(f"A journal is left out: {without_hint(error.problems[0])}")
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
        f"A journal is left out: {name_of(copy.path)} {_relation(copy, debate)} {name_of(debate.path)}."
        for debate, copies in zip(kept, copies_by_debate.values(), strict=True)
        for copy in copies
        if copy is not debate
    ]
    return kept, notes


def _relation(copy: _Debate, kept: _Debate) -> str:
    shared = sum(line.hash == other.hash for line, other in zip(copy.entries, kept.entries, strict=False))
    return "is a copy of" if shared == len(copy.entries) else f"differs after line {shared} from"


def _names(tournament: Tournament | None, debates: Sequence[_Debate]) -> dict[str, str]:
    """Every real model spec of these debates to its name: the one that the tournament gives it, or the spec as reports
    show it, with a number if it is a program that was run with other arguments too. Programs are numbered in the order
    in which their debates were begun, so that debates that are added later change no name."""
    models = (*tournament.spec.judges.pool, *tournament.spec.models) if tournament else ()
    names = {model_spec.real_spec(model.spec): model.name for model in models}
    casts = (spec for debate in debates for specs in _cast(debate).values() for spec in specs)
    replying = (spec for debate in debates for spec in _reply_specs(debate).values())
    for spec in dict.fromkeys(map(model_spec.real_spec, chain(casts, replying))):
        if spec not in names:
            shown, taken = model_spec.public_name(spec), set(names.values())
            numbered = (f"{shown} ({number})" for number in count(2))
            names[spec] = next(name for name in chain([shown], numbered) if name not in taken)
    return names


def _names_by_role(
    tournament: Tournament | None, scheduled: ScheduledDebate | None, names: Mapping[str, str]
) -> dict[str, Mapping[str, str]]:
    """`names` as they are for each side and for the judges: in a scheduled debate, where one spec may have several
    names, those of the schedule."""
    if tournament is None or scheduled is None:
        return dict.fromkeys(("a", "b", JUDGE), names)
    specs = {model.name: model_spec.real_spec(model.spec) for model in tournament.spec.models}
    pool = {judge.name: model_spec.real_spec(judge.spec) for judge in tournament.spec.judges.pool}
    judges = [*scheduled.judges, *scheduled.reserve]
    return {
        "a": {**names, specs[scheduled.pro]: scheduled.pro},
        "b": {**names, specs[scheduled.con]: scheduled.con},
        JUDGE: {**names, **{pool[judge]: judge for judge in reversed(judges)}},
    }


def _cast(debate: _Debate) -> dict[str, tuple[str, ...]]:
    """Seat to its model specs at the end of a debate, whole."""
    cast: dict[str, tuple[str, ...]] = {}
    for entry in debate.entries:
        if isinstance(entry.event, Opened):
            cast |= entry.event.cast
        elif isinstance(entry.event, Reassigned):
            cast[entry.event.seat] = entry.event.specs
    return cast


def _reply_specs(debate: _Debate) -> dict[str, str]:
    """Turn to the model spec that took it."""
    replies = (entry.event for entry in debate.entries if isinstance(entry.event, _REPLIES))
    return {event.turn_id: event.reply.spec for event in replies if event.reply.spec}


def _debaters(debate: _Debate, seat: str) -> tuple[str, ...]:
    """The model specs that took the turns of a side; before its first turn, those that are to take them."""
    specs = _reply_specs(debate)
    turns = (turn for turn in debate.report.turns if turn.seat == seat)
    return tuple(dict.fromkeys(specs[turn.id] for turn in turns if turn.id in specs)) or _cast(debate).get(seat, ())


def _changed_sides(debates: Sequence[_Debate]) -> Iterator[str]:
    changed = [debate.name for debate in debates if any(len(_debaters(debate, seat)) > 1 for seat in _SEATS)]
    if changed:
        yield (
            f"In {plural(len(changed), 'debate')} a model took over a side from another ({changed[0]} is the first): "
            "that side counts for no model."
        )


def _name(spec: str, names: Mapping[str, str]) -> str:
    """The model behind a spec; of a stand-in, that it is one and for which model."""
    name = names[model_spec.real_spec(spec)]
    return f"stand-in for {name}" if model_spec.is_stand_in(spec) else name


def _debate_row(
    folder: str,
    debate: _Debate,
    judging: _Debate,
    scheduled: ScheduledDebate | None,
    names: Mapping[str, Mapping[str, str]],
) -> DebateRow:
    """The row of a debate; `judging` is the journal of its verdict, which is its own unless it had no judge."""
    report = debate.report
    verdict = None if judging.report.only_stand_ins_judged else judging.report.verdict
    html = DebateFiles.of_journal(debate.path).html
    page = os.path.relpath(html, folder)
    return DebateRow(
        id=debate.name,
        created=debate.entries[0].at,
        topic=scheduled.topic_id if scheduled else report.topic,
        motion=scheduled.motion if scheduled else report.topic,
        category=scheduled.category if scheduled else "",
        pro=_model(_debaters(debate, "a"), names["a"]),
        con=_model(_debaters(debate, "b"), names["b"]),
        first=_SEATS.get(report.spoke_first or ""),
        winner=_WINNERS.get(verdict.winner) if verdict else None,
        complete=report.status == "complete",
        rehearsed=report.run.rehearsed,
        usage_by_role=_usage_by_role(debate),
        page=page if page.isprintable() and is_unchanged(html) else "",  # a name may hold bytes that are no text
    )


def _model(specs: Sequence[str], names: Mapping[str, str]) -> str | None:
    """The model of a side; None if it has none, or more than one."""
    return _name(specs[0], names) if len(specs) == 1 else None


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
        usage[role] = RoleUsage(
            calls=sum(line.calls for line in costs),
            input=sum(line.input_fresh + line.input_cached + line.input_written for line in tokens) if tokens else None,
            output=sum(line.output for line in tokens) if tokens else None,
            cost=sum(price for price in prices if price is not None) if prices and None not in prices else None,
            seconds=sum(seconds[turn.id] for turn in turns if turn.id in seconds) if seconds else None,
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
        if isinstance(entry.event, CallIntended):
            sent_at.setdefault(entry.event.turn_id, at)
        elif isinstance(entry.event, _REPLIES) and entry.event.turn_id in sent_at:
            duration = at - sent_at[entry.event.turn_id]
            durations[entry.event.turn_id] = duration.total_seconds()
    return durations


def _ballot_rows(debate_id: str, debate: _Debate, names: Mapping[str, str], repeat: int) -> Iterator[BallotRow]:
    """Every ballot of a journal that is valid, save those cast before the first word."""
    turns = {turn.id: turn for turn in debate.report.turns}
    judge_names = _judge_names(debate, names)
    for vote in debate.report.votes:
        if vote.place == "start":
            continue
        for turn_id, result in zip(vote.turns, (vote.original, vote.mirrored), strict=False):
            if result is not None:
                yield BallotRow(
                    debate=debate_id,
                    judge=judge_names[turn_id],
                    winner=_WINNERS.get(result.winner),
                    scores=_scores(turns[turn_id]) if turn_id in turns else {},
                    round=vote.round,
                    final=vote.place == "final",
                    mirrored=turn_id != vote.turns[0],
                    counted=not vote.absent and vote.stable,
                    repeat=repeat,
                    label=result.label,
                    score=None if result.score is None else float(result.score),
                )


def _scores(turn: TurnReport) -> dict[str, tuple[float, float]]:
    scores = (turn.fields or {}).get("scores")
    if not isinstance(scores, dict) or not {"a", "b"} <= set(scores):
        return {}
    return {
        name: (float(points), float(scores["b"][name])) for name, points in scores["a"].items() if name in scores["b"]
    }


def _judge_names(debate: _Debate, names: Mapping[str, str]) -> dict[str, str]:
    """The turn of a ballot to its judge, which is the model that cast it. One that has two seats of a panel is two
    judges."""
    specs, cast = _reply_specs(debate), _cast(debate).get("judge", ())
    in_seats = {seat: _name(spec, names) for seat, spec in zip(judge_seats(len(cast)), cast, strict=True)}
    judges = {
        turn: (vote.judge, _name(specs[turn], names) if turn in specs else in_seats[vote.judge])
        for vote in debate.report.votes
        for turn in vote.turns
    }
    seats: dict[str, list[str]] = {}
    for seat, name in dict.fromkeys([*in_seats.items(), *judges.values()]):
        seats.setdefault(name, []).append(seat)
    numbers = {(seat, name): n for name, of_model in seats.items() for n, seat in enumerate(of_model, start=1)}
    return {
        turn: judge[1] if numbers[judge] == 1 else f"{judge[1]} #{numbers[judge]}" for turn, judge in judges.items()
    }


def _with_sources(rejudged: Sequence[_Debate], run_debates: Sequence[_Debate]) -> list[tuple[_Debate, _Debate | None]]:
    """Each journal in which a debate is judged again, with that debate, if it is in this folder and has the same
    speeches."""
    debates = [*run_debates, *rejudged]
    indexes = sources([debate.report for debate in debates])[len(run_debates) :]
    return [
        (debate, debates[n])
        if n is not None and n < len(run_debates) and has_speeches_of(debate.report, debates[n].report)
        else (debate, None)
        for debate, n in zip(rejudged, indexes, strict=True)
    ]


def _judgings(sources: Iterable[tuple[_Debate, _Debate | None]]) -> dict[str, _Debate]:
    """The name of each debate that had no judge of its own to the judging that decided it: of those that did, the one
    that was begun first."""
    judgings: dict[str, _Debate] = {}
    for debate, source in sources:
        decided = debate.report.status == "complete" and debate.report.verdict and not debate.report.run.rehearsed
        if source is not None and decided and not source.report.judges:
            judgings.setdefault(source.name, debate)
    return judgings


def _repeated(
    sources: Iterable[tuple[_Debate, _Debate | None]], judgings: Mapping[str, _Debate], names: Mapping[str, str]
) -> Iterator[BallotRow]:
    """The ballots of debates that were judged again, with the debate that was run. Those of the judging that decided a
    debate without a judge are that debate's own."""
    repeats: Counter[str] = Counter()
    for debate, source in sources:
        if source is not None and judgings.get(source.name) is debate:
            yield from _ballot_rows(source.name, debate, names, 0)
        elif source is not None:
            repeats[source.name] += 1
            yield from _ballot_rows(source.name, debate, names, repeats[source.name])


def _missing_notes(
    scheduled: Collection[str], run_debates: Sequence[_Debate], sources: Sequence[tuple[_Debate, _Debate | None]]
) -> Iterator[str]:
    missing = set(scheduled) - {debate.name for debate in run_debates}
    if missing:
        yield f"{len(missing)} of {len(scheduled)} scheduled debates have no journal that can be read yet."
    lost = sum(source is None for _, source in sources)
    if lost:
        yield f"{plural(lost, 'judging')} left out: the debate it judges is not in this folder, or has other speeches."
