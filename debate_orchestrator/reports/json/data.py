"""The report as JSON, for programs: a story as one object in the form of `facts.Report`.

It is written in ASCII, everything else escaped: whatever was said moves no cursor and hides nothing in a terminal, a
log or a diff, and every JSON reader gives it back as it was. Numbers are unrounded, but
for dollars, which have `_CENTS` decimals; what nobody knows is null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction

from debate_orchestrator import __version__
from debate_orchestrator.core.costs import CostLine
from debate_orchestrator.core.events import EarlierCourse, Usage
from debate_orchestrator.core.phases import MIRRORED, NO_DECISION
from debate_orchestrator.core.votes import BallotReading, Vote
from debate_orchestrator.reports import checksum, wording
from debate_orchestrator.reports.json import counts, facts
from debate_orchestrator.reports.model import ReportModel, RoundReport, closing_line
from debate_orchestrator.reports.model_turns import TurnReport
from debate_orchestrator.reports.reviewers import ReviewerAgreement
from debate_orchestrator.storage.journal import SCHEMA as JOURNAL_FORM

_CENTS = 9
"""Decimals of a dollar: sums of prices have no meaning beyond."""


def render(story: ReportModel) -> str:
    """The whole report, ending in a newline. The digest in it is blank, and its last value."""
    made = report(story).model_dump(mode="json", by_alias=True)
    return json.dumps(made, ensure_ascii=True, allow_nan=False, indent=2) + "\n"


def report(story: ReportModel) -> facts.Report:
    """The facts of a story."""
    votes = _votes(story)
    cast_in = {turn: vote for vote in votes for turn in _cast_in(vote)}
    return facts.Report(
        schema=facts.SCHEMA,
        document="debate report",
        status=story.status,
        summary=closing_line(story, None),
        provenance=list(story.provenance),
        date=story.date,
        run=_run(story),
        format=_format(story),
        topic=story.topic,
        positions=story.positions,
        names=story.names,
        seats=story.seats,
        strictness=story.strictness,
        as_of=story.as_of,
        rounds_asked=story.rounds or None,
        rounds_completed=story.completed,
        verdict=_verdict(story),
        conceded=story.conceded,
        rounds=[_round(story, one) for one in story.told],
        interventions=[
            counts.Intervention(round=one.number, turns=[turn.id for turn in one.forced])
            for one in story.told
            if one.intervened
        ],
        judging=_judging(story),
        votes=[_vote(story, vote) for vote in votes],
        ballots=[_ballot(story, turn, cast_in.get(turn.id)) for turn in story.every if turn.votes],
        dissent=_dissent(story),
        unresolved_questions=story.questions,
        follow_up=list(_follow_up(story)),
        turns=[_turn(story, turn) for turn in (*story.every, *([story.dissent] if story.dissent else []))],
        evidence=_evidence(story),
        costs=_costs(story),
        recorded=_recorded(story.course) if story.course else None,
        reviewers=_reviewers(story.reviewers) if story.reviewers else None,
        version=__version__,
        journal=facts.Journal(lines=story.lines, form=JOURNAL_FORM, head=story.digest),
        digest=checksum.BLANK,
    )


def _run(story: ReportModel) -> facts.Run:
    own = story.run
    cast = {seat: list(who) for seat, who in own.cast.items()}
    return facts.Run(kind=own.kind, rehearsed=story.rehearsed, cast=cast, version=own.version)


def _format(story: ReportModel) -> facts.Format:
    most = story.judging.scales.score
    return facts.Format(
        name=story.run.format,
        about=story.format,
        criteria=story.criteria,
        score_most=float(most) if most else None,
    )


def _judging(story: ReportModel) -> counts.Judging:
    own = story.judging
    return counts.Judging(
        quorum=own.quorum,
        mirrored=own.mirrored,
        changed=own.changed,
        by_swing=own.by_swing,
        means={side: _points(means) for side, means in own.means.items()},
        kin=list(own.kin),
    )


def _votes(story: ReportModel) -> list[Vote]:
    """Every vote, in the order of the debate."""
    own = story.judging
    return [*own.blind, *(vote for one in story.told for vote in one.votes), *own.panel]


def _cast_in(vote: Vote) -> list[str]:
    return [vote.turn, vote.turn + MIRRORED] if vote.twice else [vote.turn]


def _vote(story: ReportModel, vote: Vote) -> counts.Vote:
    place = "start" if vote in story.judging.blind else "final" if vote in story.judging.panel else "round"
    return counts.Vote.model_validate(
        {
            "judge": vote.judge,
            "place": place,
            "round": _round_of(story, vote.turn),
            "turns": _cast_in(vote),
            "straight": _reading(story, vote.straight),
            "mirrored": _reading(story, vote.mirrored),
            "absent": vote.absent,
            "stable": vote.stable,
            "counts_as": vote.winner,
            "label": vote.label,
            "scores": _points(vote.scores) or None,
        }
    )


def _reading(story: ReportModel, one: BallotReading | None) -> counts.Reading | None:
    if one is None:
        return None
    return counts.Reading(
        winner=one.winner,
        scores=_points(one.scores) or None,
        label=one.label,
        score=_number(one.score),
        probability=_share(story, one.probability),
    )


def _ballot(story: ReportModel, turn: TurnReport, vote: Vote | None) -> counts.Ballot:
    counted = vote is not None and (vote.winner != NO_DECISION or vote.label is not None)
    return counts.Ballot(
        turn=turn.id,
        judge=turn.seat,
        round=_round_of(story, turn.id),
        mirrored=turn.mirrored,
        valid=turn.ballot is not None,
        counted=counted,
        fields=turn.ballot,
    )


def _round(story: ReportModel, one: RoundReport) -> counts.Round:
    result = one.result
    label = one.label(story.judging.quorum)
    return counts.Round(
        number=one.number,
        completed=one.completed,
        ballots=result.ballots if result else None,
        scores=(_points(result.scores) or None) if result else None,
        winner=result.winner if result else None,
        label=label,
        score=_number(result.score) if result else None,
        intervened=one.intervened,
        persisted=one.persisted,
    )


def _verdict(story: ReportModel) -> counts.Verdict | None:
    own = story.verdict
    if own is None:
        return None
    label = wording.label_of(own)
    stands = label is not None or not story.judging.labelled
    return counts.Verdict(
        decided=wording.decided(own, story.judging.scales),
        winner=own.winner,
        strength=own.strength,
        totals=_points(own.totals) if story.scored else None,
        gap=_number(own.gap),
        rounds_won=own.rounds_won if any(one.result for one in story.told) else None,
        votes=own.votes,
        label=label,
        score=_number(own.score) if stands else None,
        probability=_share(story, own.probability),
        swing=own.swing or None,
        remarks=list(own.remarks),
    )


def _dissent(story: ReportModel) -> list[facts.Dissent] | None:
    if story.dissent is None:
        return None
    return [
        facts.Dissent(
            claim=row.get("claim", ""),
            positions={side: row[side] for side in story.names if side in row},
            status=row.get("status"),
            turns=row.get("turns", []),
        )
        for row in (story.dissent.ballot or {})["rows"]
    ]


def _follow_up(story: ReportModel) -> Iterator[facts.FollowUp]:
    for turn in story.finals:
        if turn.ballot and not turn.mirrored and turn.ballot.get("follow_up"):
            yield facts.FollowUp(judge=turn.seat, turn=turn.id, text=turn.ballot["follow_up"])


def _turn(story: ReportModel, turn: TurnReport) -> facts.Turn:
    return facts.Turn.model_validate(
        {name: getattr(turn, name) for name in facts.Turn.model_fields if name in TurnReport.model_fields}
        | {
            "kind": _kind(story, turn),
            "round": _round_of(story, turn.id),
            "phase": turn.id.split(".")[1],
            "fields": None if turn.votes else turn.ballot,
            "quotes": [one.model_dump() for one in turn.quotes],
            "pages": [one.model_dump() for one in turn.found],
            "floor": list(turn.floor),
        }
    )


def _kind(story: ReportModel, turn: TurnReport) -> str:
    if turn.votes:
        return "ballot"
    if story.dissent is not None and turn.id == story.dissent.id:
        return "record"
    return "speech" if turn.seat in story.names else "finding"


def _evidence(story: ReportModel) -> facts.Evidence | None:
    if story.looked_up is None:
        return None
    made = [
        facts.Citation(
            turn=one.turn,
            url=one.url,
            state=one.state,
            title=one.title or None,
            date=one.date or None,
            late=one.late,
            passage=one.passage or None,
            similarity=one.similarity,
            why=one.why or None,
            archived=one.archived or None,
            sha256=one.digest or None,
            weighed=[facts.Weighed(judge=w.seat, credibility=w.credibility, why=w.why or None) for w in one.weighed],
        )
        for one in story.cited
    ]
    return facts.Evidence(looked_up_by=story.looked_up, citations=made)


def _costs(story: ReportModel) -> counts.Costs | None:
    bill = story.bill
    if not bill.lines:
        return None
    return counts.Costs(
        lines=[_cost(line, line.seat, line.phase) for line in bill.lines],
        seats=[_cost(line, seat, None) for seat, line in bill.of_seats().items()],
        total=_cost(bill.total, None, None),
    )


def _cost(line: CostLine, seat: str | None, phase: str | None) -> counts.Cost:
    known, usage = round(line.cost, _CENTS), line.usage
    tokens = counts.Tokens(
        input_fresh=usage.fresh,
        input_cached=usage.cached,
        input_written=usage.written + usage.written_hour,
        output=usage.output,
        searches=usage.searches,
    )
    return counts.Cost(
        seat=seat,
        phase=phase,
        calls=line.calls,
        usd=None if line.unknown else known,
        usd_known=None if line.unknown == line.calls else known,
        calls_unknown=line.unknown,
        tokens=None if usage == Usage() else tokens,
    )


def _reviewers(given: ReviewerAgreement) -> counts.Reviewers:
    return counts.Reviewers(
        count=given.count,
        agreeing=given.agreeing,
        winners=given.winners,
        moved=given.moved,
        gained=given.gained,
        by_swing=given.by_swing,
        differences={name: float(value) for name, value in given.differences.items()},
        alpha=None if given.alpha is None else float(given.alpha),
        heads=list(given.table.heads),
        rows=[list(row) for row in given.table.rows],
        reasons=[counts.Reason(reviewer=name, why=why) for name, why in given.words],
        left_out=list(given.left_out),
    )


def _recorded(course: EarlierCourse) -> facts.Recorded:
    rounds = [
        counts.EarlierRound(number=n, scores=one.scores, winner=one.winner) for n, one in sorted(course.rounds.items())
    ]
    earlier = counts.Earlier(
        judges=list(course.judges),
        winner=course.winner,
        strength=course.strength,
        totals=course.totals,
        rounds=rounds,
    )
    return facts.Recorded(
        source=course.source,
        digest=course.digest,
        speakers=course.speakers,
        notes=list(course.notes),
        verdict=earlier if course.judges else None,
    )


def _round_of(story: ReportModel, turn: str) -> int | None:
    return story.places[turn][0] or None


def _points(values: Mapping[str, Fraction]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _share(story: ReportModel, value: Fraction | None) -> float | None:
    """A probability from 0 to 1, whatever scale the ballots have."""
    return None if value is None else float(value / story.judging.scales.certain)
