"""Several debates of one topic, or several judgings of one debate, side by side: tables and sentences as plain data.

Runs are numbered as they are given. Sides go by their letters; a run in which the positions of the first are swapped
is shown with its sides swapped back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from debate_orchestrator.core.debated_names import could_name_sides, words_in_doubt
from debate_orchestrator.core.mirror import Mirror
from debate_orchestrator.core.phases import NO_DECISION
from debate_orchestrator.core.transcript_entries import as_text
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.core.verdict import ParsedBallot, RoundResult, Vote
from debate_orchestrator.core.visible_text import with_quotation_marks
from debate_orchestrator.reports import report_sections, wording
from debate_orchestrator.reports.decision_brief import first_sentence
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import TurnReport
from debate_orchestrator.reports.reviewer_ballots import FINAL
from debate_orchestrator.reports.rich_text import (
    Phrase,
    PlainTable,
    Section,
    Subsection,
    as_written,
    inline_markdown,
    phrase,
    plain_table,
    strong,
)
from debate_orchestrator.reports.wording import named_by, winner_word
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import printable_path
from debate_orchestrator.util.numbers import decimals, percent
from debate_orchestrator.util.sanitize import quoted

NOTE = "A few debates are a small sample: a difference between them does not show its cause."


class ComparedClaim(FrozenModel):
    """Something that a run says."""

    run: int
    text: str
    status: str = ""
    """Whether a disputed claim was settled there."""


class Comparison(FrozenModel):
    """Some runs, side by side."""

    topic: str
    """That of the first."""
    notes: tuple[str, ...]
    """The limits of the comparison, and the relation of the runs, a sentence each."""
    runs: PlainTable
    recommendations: PlainTable | None
    """The recommendation of each run with a decision brief, and how sure it is; None where no run has one."""
    verdicts: PlainTable
    winners: dict[int, str | None]
    """Run to its winner, or its label of the claim; None if nothing was decided yet."""
    rounds: PlainTable | None
    differences: tuple[str, ...]
    """The differing winners, a sentence each."""
    judges: PlainTable | None
    dissent: tuple[ComparedClaim, ...]
    """The disputed claims of each run."""
    questions: tuple[ComparedClaim, ...]
    """The open questions of each run."""
    costs: PlainTable | None


def compare(reports: Sequence[tuple[str, ReportModel]]) -> Comparison:
    """The comparison of some journals, each with its path; there are two at least."""
    first = reports[0][1]
    names_stay = any(_could_mean_sides(report) for _, report in reports)
    runs = [
        ComparedDebate(n, path, report, mirror_of(first, report), names_stay)
        for n, (path, report) in enumerate(reports, start=1)
    ]
    judged_runs = [run for run in runs if not run.report.why_nothing_decided]
    claims = [
        ComparedClaim(run=run.number, text=run.text(row.claim), status=row.status)
        for run in judged_runs
        for row in run.report.dissent or ()
    ]
    questions = [
        ComparedClaim(run=run.number, text=run.text(question))
        for run in judged_runs
        for question in run.report.unresolved_questions
    ]
    return Comparison(
        topic=first.topic,
        notes=tuple(_notes(runs)),
        runs=_runs(runs),
        recommendations=_recommendations(runs),
        verdicts=_verdicts(runs),
        winners={run.number: run.decision_text() for run in runs},
        rounds=_rounds(runs),
        differences=tuple(differences(runs)),
        judges=_judges(runs),
        dissent=tuple(claims),
        questions=tuple(questions),
        costs=_costs(runs),
    )


def sections(comparison: Comparison) -> list[Section]:
    """The comparison as the sections of a report for people, without those that have nothing to say."""
    subsections = {
        "Recommendations": _table(comparison.recommendations),
        "Runs": _table(comparison.runs),
        "Verdicts": _table(comparison.verdicts),
        "Rounds": _table(comparison.rounds),
        "Where They Differ": Subsection(items=[*map(as_written, comparison.differences)]),
        "Judges": _table(comparison.judges),
        "Disputed Claims": Subsection(items=_items(comparison.dissent)),
        "Unresolved Questions": Subsection(items=_items(comparison.questions)),
        "Calls and Cost": _table(comparison.costs),
    }
    return [Section(title, (subsection,)) for title, subsection in subsections.items() if not subsection.is_empty]


def _table(table: PlainTable | None) -> Subsection:
    return Subsection(table=table.phrases() if table else None)


def _items(claims: Sequence[ComparedClaim]) -> list[Phrase]:
    named = [
        (f"Run {claim.run}" + (f" ({claim.status})" if claim.status else "") + ":", claim.text) for claim in claims
    ]
    items = [phrase(strong(as_written(run)), " ", inline_markdown(text)) for run, text in named]
    return items or [phrase("None on record from real judges.")]


def _could_mean_sides(report: ReportModel) -> bool:
    """Whether the topic or a compared text may use a side's letter or its tag, such as `R1`, in another
    sense, or has a word for a side that is not swapped, such as `Con`. Whole names of sides are swapped, unless the
    topic may use them too."""
    names = [report.rules.name_of(side) for side in report.rules.sides]
    whole_names = "|".join(map(re.escape, (*names, *map(str.upper, names))))
    brief = report.decision_brief
    texts = (*(row.claim for row in report.dissent or ()), *report.unresolved_questions, *([brief.do] if brief else ()))
    without_names = [re.sub(rf"\b(?:{whole_names})\b", "", text) for text in texts]
    return could_name_sides(report.rules, report.debated_texts) or bool(words_in_doubt(report.rules, without_names))


def _notes(runs: Sequence[ComparedDebate]) -> Iterator[str]:
    first = runs[0].report
    yield from _setup_differences(runs)
    for run in runs[1:]:
        if run.mirror:
            yield f"In run {run.number} the sides are swapped; here they have their letters of run 1."
            if run.names_stay:
                a, b = run.report.names.values()
                why = "since what is debated, or said of it, could mean them"
                yield f"Texts of run {run.number} keep its names, {why}: {a} there is {b} here, and {b} is {a}."
        elif run.report.topic == first.topic and run.report.positions != first.positions:
            yield f"The positions of run {run.number} are not those of run 1; sides are compared by their letters."
    first_runs: dict[str, int] = {}
    for run in runs:
        if run.report.journal.last_hash in first_runs:
            yield f"Run {run.number} is the same journal as run {first_runs[run.report.journal.last_hash]}."
        first_runs.setdefault(run.report.journal.last_hash, run.number)
    for run in runs:
        yield from _state(run)
    yield from _rejudgings(runs)


def _setup_differences(runs: Sequence[ComparedDebate]) -> Iterator[str]:
    if len({run.report.topic for run in runs}) > 1:
        yield "The topics differ: only winners of runs with the topic of run 1 are compared."
        yield from (f"Run {run.number} debates: {quoted(run.report.topic)}" for run in runs)
    if len({run.report.format.about for run in runs}) > 1:
        yield "The formats differ: votes are compared by the side they count for, and scores come from other rubrics."
    elif len({tuple(run.report.format.criteria) for run in runs}) > 1:
        yield "What is scored differs, so that scores can't be compared by their size."
    if len({run.report.strictness for run in runs}) > 1:
        modes = ", ".join(f"run {run.number} {run.report.strictness}" for run in runs)
        yield f"The judges' strictness differs: {modes}."


def _state(run: ComparedDebate) -> Iterator[str]:
    report = run.report
    if report.status == "paused":
        got = (
            f"after {report.rounds_completed} of {report.rounds_asked} rounds"
            if report.rounds_asked
            else "before its end"
        )
        yield f"Run {run.number} is paused {got}, and compared as far as it got."
    if report.run.rehearsed:
        part = " in part" if report.run.rehearsed_in_part else ""
        yield f"Run {run.number} is rehearsed{part}: stand-ins spoke in it."
    if why := report.why_nothing_decided:
        yield f"Run {run.number} has no winner, since {why}: its votes, claims and questions are left out."


def _rejudgings(runs: Sequence[ComparedDebate]) -> Iterator[str]:
    """What each run judges again, a sentence each."""
    for run, index in zip(runs, indexes_of_judged([run.report for run in runs]), strict=True):
        earlier = run.report.earlier_debate
        if index is not None and not has_speeches_of(run.report, runs[index].report):
            yield f"Run {run.number} names run {index + 1} as what it judges again, but its speeches are others."
        elif earlier is not None:
            elsewhere = f"a journal or transcript that is not among these ({quoted(earlier.source)})"
            of = elsewhere if index is None else f"run {index + 1}"
            yield f"Run {run.number} judges the speeches of {of} again."


def indexes_of_judged(reports: Sequence[ReportModel]) -> list[int | None]:
    """For each debate the index of the debate that it says it judges again. That debate is found by the journal line
    that is named: it was the last one then, and others may have followed. None if a debate is judged for the first
    time, or if no journal here has that line."""
    named_lines = [
        (earlier.speeches_digest, earlier.digest) if (earlier := report.earlier_debate) else () for report in reports
    ]
    named = frozenset(chain.from_iterable(named_lines))
    indexes = {line: n for n in reversed(range(len(reports))) for line in reports[n].journal.hashes & named}
    return [next((indexes[line] for line in lines if line in indexes), None) for lines in named_lines]


def has_speeches_of(report: ReportModel, earlier: ReportModel) -> bool:
    """Whether a debate that is judged again has the speeches of that one, on the same topic and positions: one by one
    the same words, declines and concessions of the same side. Their order counts, save that of speeches that were made
    at once: in the judging of a debate without judges, who concedes comes last. Its rounds count from 1 again."""
    speeches, earlier_speeches = list(_speeches(report)), list(_speeches(earlier))
    stages = [turn.stage for turn in earlier.turns if _is_speech(earlier, turn)]
    by_stage, earlier_by_stage = (Counter(zip(stages, said, strict=False)) for said in (speeches, earlier_speeches))
    return (report.topic, report.positions, len(speeches), by_stage) == (
        earlier.topic,
        earlier.positions,
        len(earlier_speeches),
        earlier_by_stage,
    )


def _speeches(report: ReportModel) -> Iterator[tuple[object, ...]]:
    """The seat of each speech, its text as judges of a debate without judges read it, and what it gives up."""
    for turn in report.turns:
        if _is_speech(report, turn):
            text = turn.text if turn.fields is None else as_text(turn.shape, turn.fields)
            heard = with_quotation_marks(text or "", report.rules.checked_tags)
            yield turn.seat, heard, turn.declined, turn.concedes


def _is_speech(report: ReportModel, turn: TurnReport) -> bool:
    return turn.seat in report.positions and not turn.is_vote


def _runs(runs: Sequence[ComparedDebate]) -> PlainTable:
    rows = []
    for run in runs:
        report = run.report
        if report.earlier_debate:  # its names are its author's
            speakers = {side: f"“{name}”" for side, name in report.earlier_debate.speakers.items()}
        else:
            speakers = report.spoken_by
        by_letter = {run.side(side): name for side, name in speakers.items()}
        spoke = ", ".join(f"{report.seats.get(side, side)}: {name}" for side, name in sorted(by_letter.items()))
        judges = ", ".join(report.public_judge_models)
        rounds = f"{report.rounds_completed} / {report.rounds_asked}" if report.rounds_asked else ""
        title = report.format.title
        rows.append(
            (str(run.number), printable_path(run.path), report.status, title, rounds, spoke, judges, report.date)
        )
    return plain_table(("Run", "Journal", "State", "Format", "Rounds", "Speakers", "Judges", "Date"), rows)


def _recommendations(runs: Sequence[ComparedDebate]) -> PlainTable | None:
    rows = [
        (str(run.number), run.text(first_sentence(brief.do)), f"{brief.sure} %")
        if (brief := run.report.decision_brief)
        else (str(run.number), "none: it has no decision brief", "")
        for run in runs
    ]
    any_brief = any(run.report.decision_brief for run in runs)
    return plain_table(("Run", "Recommendation", "Sure"), rows) if any_brief else None


def _verdicts(runs: Sequence[ComparedDebate]) -> PlainTable:
    rows = []
    for run in runs:
        verdict, winner = run.report.verdict, run.outcome()
        if verdict is None or winner is None:
            why = "not decided" if run.report.judge_specs else "not judged"
            why = run.report.why_nothing_decided or why
            rows.append((str(run.number), why, *[""] * 6))
            continue
        totals = {run.side(side): decimals(score) for side, score in verdict.totals.items()}
        gap = percent(verdict.gap) if totals and verdict.gap is not None else ""
        rounds_won = {run.side(side): n for side, n in verdict.rounds_won.items()}
        rounds = (
            ", ".join(f"{winner_word(side)} {rounds_won[side]}" for side in sorted(rounds_won))
            if any(rounds_won.values())
            else ""
        )
        votes = wording.votes_text({run.side(outcome): n for outcome, n in verdict.vote_counts.items()})
        strength = verdict.strength or ""
        rows.append(
            (
                str(run.number),
                winner,
                strength,
                totals.get("a", ""),
                totals.get("b", ""),
                gap,
                rounds,
                votes,
            )
        )
    return plain_table(("Run", "Winner", "Strength", "Total A", "Total B", "Gap", "Rounds won", "Votes"), rows)


def _rounds(runs: Sequence[ComparedDebate]) -> PlainTable | None:
    """The result of each round in each run; None if no round was judged by itself."""
    numbers = sorted({round_report.number for run in runs for round_report in run.report.rounds})
    rows = [(str(n), *(_cell(run, run.round_result(n)) for run in runs)) for n in numbers]
    rows = [(n, *(cell or "-" for cell in cells)) for n, *cells in rows if any(cells)]
    return PlainTable(headers=("Round", *(f"Run {run.number}" for run in runs)), rows=tuple(rows)) if rows else None


def _cell(run: ComparedDebate, result: ParsedBallot | None) -> str:
    return wording.ballot_line(result, run.report.judging.scales) if result else ""


def _judges(runs: Sequence[ComparedDebate]) -> PlainTable | None:
    votes = [(run, judge, votes_of_judge) for run in runs for judge, votes_of_judge in run.votes_by_judge().items()]
    places = sorted(
        {place for _, _, votes_of_judge in votes for place in votes_of_judge}, key=lambda place: (place == FINAL, place)
    )
    rows = [
        (
            str(run.number),
            run.report.seats[seat],
            ", ".join(map(model_spec.public_name, specs)),
            *(_cell(run, votes_of_judge.get(vote_place)) for vote_place in places),
        )
        for run, (seat, specs), votes_of_judge in votes
    ]
    headers = ("Run", "Judge", "Who", *(f"Round {n}" if n != FINAL else "Final" for n in places))
    return plain_table(headers, rows) if rows else None


def _costs(runs: Sequence[ComparedDebate]) -> PlainTable | None:
    totals = {str(run.number): costs.total if (costs := run.report.costs) else None for run in runs}
    rows = tuple(
        (n, f"{row.calls:,}", report_sections.money(row)) if row else (n, "0", "-") for n, row in totals.items()
    )
    return PlainTable(headers=("Run", "Calls", "Cost"), rows=rows) if any(totals.values()) else None


class ComparedDebate(NamedTuple):
    """One of the journals that are compared: run 1, run 2 and so on to users. `report.run` says how it was run."""

    number: int
    path: str
    report: ReportModel
    mirror: Mirror | None = None
    """What swaps its sides, if each of them argues what the other does in the first run."""
    names_stay: bool = False
    """Whether texts keep the sides' names, since they, or what is debated in one of the runs, could have them."""

    def side(self, name: str) -> str:
        """A side, or a winner, by the letters of the first run."""
        return self.mirror.side(name) if self.mirror else name

    def text(self, text: str) -> str:
        """A text of this run, with its sides' names by the letters of the first run."""
        return text if self.mirror is None or self.names_stay else self.mirror.text(text)

    def as_ballot(self, source: Vote | RoundResult, label: str | None) -> ParsedBallot:
        """A vote, or the result of a round, in the form of a ballot, which `wording.ballot_line` puts into words."""
        scores = {self.side(side): score for side, score in source.scores.items()}
        ordered = dict(sorted(scores.items()))
        return ParsedBallot(
            winner=self.side(source.winner), scores=ordered, label=label, claim_score=source.claim_score
        )

    def round_result(self, n: int) -> ParsedBallot | None:
        """The same of a round's result; None if it was not judged by itself, or stand-ins left nothing to decide."""
        if self.report.why_nothing_decided:
            return None
        match = next((round_report for round_report in self.report.rounds if round_report.number == n), None)
        return self.as_ballot(match.result, match.label) if match and match.result else None

    def votes_by_judge(self) -> dict[tuple[str, tuple[str, ...]], dict[int, ParsedBallot]]:
        """Judge's seat and the model specs that voted from it, to place to the vote, of those that are not absent and
        no stand-in; none if a side is filler."""
        by_judge: dict[tuple[str, tuple[str, ...]], dict[int, ParsedBallot]] = {}
        if self.report.why_nothing_decided:
            return by_judge
        places = [(round_report.number, round_report.votes) for round_report in self.report.rounds]
        for place, votes in (*places, (FINAL, self.report.judging.votes)):
            for vote in votes:
                if not (vote.absent or vote.by_stand_in):
                    judge = vote.judge, tuple(sorted(vote.cast_by))
                    by_judge.setdefault(judge, {})[place] = self.as_ballot(vote, vote.label)
        return by_judge

    def outcome(self, *, labelled: bool = True) -> str | None:
        """The text of its winner, or label, and of whose position stands; None if nothing was decided."""
        unopposed, winner = self.report.unopposed, self.decision_text(labelled=labelled)
        return wording.outcome_word(winner, self.side(unopposed) if unopposed else None) if winner else None

    def decision_text(self, *, labelled: bool = True) -> str | None:
        """Its winner, or label, where labels are wanted; None if nothing was decided."""
        verdict = self.report.verdict
        if verdict is None:
            return None
        if labelled and self.report.judging.labelled:
            return verdict.label or NO_DECISION
        return self.side(verdict.winner)


def mirror_of(first: ReportModel, other: ReportModel) -> Mirror | None:
    """What swaps the sides of a run if each argues, word for word, what the other does in the first run."""
    first_positions, other_positions = first.positions, other.positions
    two_sides = {"a", "b"} == set(first_positions) == set(other_positions)
    if not two_sides or first_positions["a"] == first_positions["b"]:
        return None
    is_mirrored = (first_positions["a"], first_positions["b"]) == (other_positions["b"], other_positions["a"])
    return Mirror(other.rules) if is_mirrored else None


def differences(runs: Sequence[ComparedDebate]) -> Iterator[str]:
    """The winners of the debate, and of each round where they differ, a sentence each; on the first run's topic."""
    same_topic = [run for run in runs if run.report.topic == runs[0].report.topic]
    labelled = all(run.report.judging.labelled for run in same_topic if run.report.judge_specs)
    ended = {run.number: winner for run in same_topic if (winner := run.outcome(labelled=labelled)) is not None}
    if len(ended) > 1:
        yield _by_winner("The verdict", ended)
    for n in sorted({round_report.number for run in same_topic for round_report in run.report.rounds}):
        results = {run.number: result for run in same_topic if (result := run.round_result(n)) is not None}
        winners = {run: named_by(result, labelled=labelled) for run, result in results.items()}
        if len(set(winners.values())) > 1:
            yield _by_winner(f"Round {n}", winners)


def _by_winner(what: str, winners_by_run: Mapping[int, str]) -> str:
    groups: dict[str, list[str]] = {}
    for run, winner in winners_by_run.items():
        groups.setdefault(winner, []).append(str(run))
    if len(groups) == 1:
        return f"{what} is the same in runs {', '.join(map(str, winners_by_run))}: {winner_word(next(iter(groups)))}."
    winners = "; ".join(
        f"{winner_word(winner)} in run{'s' * (len(ns) > 1)} {', '.join(ns)}" for winner, ns in groups.items()
    )
    return f"{what} differs: {winners}."
