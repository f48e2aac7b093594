"""A journal made ready for telling: every report is rendered from these values and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from debate_orchestrator.core.costs import Costs, costs_of
from debate_orchestrator.core.events import EarlierCourse
from debate_orchestrator.core.phases import CLERK, JUDGE, Slot, Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.verdict import RoundResult, Verdict
from debate_orchestrator.core.votes import Vote
from debate_orchestrator.reports import citations, wording
from debate_orchestrator.reports.citations import Citation
from debate_orchestrator.reports.model_turns import ArgumentLink, TurnReport, argument_links, read_vote, turn_report
from debate_orchestrator.reports.provenance import (
    Appendix,
    RunKind,
    appendix,
    arguing,
    conflicts_of_interest,
    provenance,
    rehearsal,
    run_kind,
    spoken_by,
)
from debate_orchestrator.reports.review_files import GatheredReviews
from debate_orchestrator.reports.reviewers import ReviewerAgreement, reviewer_agreement
from debate_orchestrator.reports.wording import Scales
from debate_orchestrator.storage.journal import Entry
from debate_orchestrator.util.sanitize import one_line


class RoundReport(Value):
    """One round: its speeches, its ballots, what followed from them."""

    number: int
    speeches: tuple[TurnReport, ...]
    """Of the sides, with what a clerk found of them."""
    ballots: tuple[TurnReport, ...]
    """What judges gave in the shape asked for."""
    votes: tuple[Vote, ...]
    result: RoundResult | None
    intervened: bool
    persisted: bool
    forced: tuple[TurnReport, ...]
    """Turns that answer the intervention."""
    completed: bool
    """Whether it was judged or, where nobody judges it by itself, is over."""

    def label(self, quorum: int) -> str | None:
        """The label that its judges give it; None where too few do, or none is given most."""
        return wording.standing(self.result.label, self.votes, quorum) if self.result else None


class Judging(Value):
    """How a debate is judged, and what the votes were."""

    model_config = {**Value.model_config, "arbitrary_types_allowed": True}

    round_fields: frozenset[str] = frozenset()
    """What a judge's votes in the rounds hold; empty where rounds are not judged by themselves."""
    final_fields: frozenset[str] = frozenset()
    """What judges give after the last round."""
    scales: Scales = Scales()
    most: float = 0
    """The most that a side may be given for a criterion."""
    labelled: bool = False
    """Whether the votes are for labels."""
    answers: bool = False
    """Whether the positions are answers to a question, which nobody argues for or against."""
    by_swing: bool = False
    winner_of: dict[str, str] = {}
    quorum: int = 1
    panel: tuple[Vote, ...] = ()
    blind: tuple[Vote, ...] = ()
    changed: int = 0
    mirrored: int = 0
    """How many votes were cast in both presentations, and how many of them changed."""
    means: dict[str, dict[str, Fraction]] = {}
    """Side to criterion to the mean of what judges gave it."""
    weights: dict[str, Fraction] = {}
    abouts: dict[str, str] = {}
    """Criterion to what it asks."""
    kin: tuple[str, ...] = ()
    """Judges that share a model or a vendor with those they judge."""
    quotes: tuple[str, str] | None = None
    """The tags that mark verified and other quotes, where the format has them."""

    @property
    def measured(self) -> bool:
        """Whether sides are scored at all."""
        return wording.SCORES in self.round_fields | self.final_fields

    @property
    def scores_rounds(self) -> bool:
        return wording.SCORES in self.round_fields


class ReportModel(Value):
    """One debate, complete or as far as it got."""

    status: Literal["complete", "paused"]
    digest: str
    """The hash of the journal's last line, which stands for the whole of it."""
    lines: int
    """How many lines the journal has."""
    date: str
    """The day it was opened, UTC."""
    topic: str
    positions: dict[str, str]
    names: dict[str, str]
    """Side to `Researcher A (Pro)`."""
    seats: dict[str, str]
    """Seat to its bare name."""
    format: str
    """Its title, and what it is about."""
    bare: bool
    """Whether the transcript alone is told."""
    arguing: tuple[str, ...]
    """The sides that speak."""
    spoken_by: dict[str, str]
    """Side to who filled its seat, as far as it is shown."""
    rounds: int
    """How many were asked for; 0 where the format has none."""
    strictness: str
    criteria: dict[str, str]
    """Criterion to its title."""
    provenance: tuple[str, ...]
    before: tuple[TurnReport, ...]
    """Turns before the first round, of formats that have them."""
    told: tuple[RoundReport, ...]
    after: tuple[TurnReport, ...]
    """Turns after the last round that are neither a final vote nor a dissent record."""
    finals: tuple[TurnReport, ...]
    dissent: TurnReport | None
    verdict: Verdict | None
    conceded: str | None
    persisted: str | None
    """The sentence that flags convergence after an intervention; None where there was none."""
    tag_intervention: str
    places: dict[str, tuple[int, str]]
    """Turn id to its round (0 outside the rounds) and its short name there: 1 and `opening A`."""
    judging: Judging = Judging()
    cited: tuple[Citation, ...] = ()
    """What the sides cite for a clerk to look up."""
    looked_up: str | None = None
    """Who looks it up, as a clause; None where no clerk has a place."""
    as_of: str | None = None
    """The time to which the topic binds both sides."""
    rehearsed: bool = False
    """Whether stand-ins spoke."""
    bill: Costs = Costs()
    judges: tuple[str, ...] = ()
    """Who judges it, in the cast's words."""
    course: EarlierCourse | None = None
    """What it was before, where it is judged again."""
    run: RunKind = RunKind()
    reviewers: ReviewerAgreement | None = None
    """People who reviewed it afterwards; None where nobody did."""
    ties: tuple[ArgumentLink, ...] = ()
    """Which turn attacks or answers which."""
    appendix: Appendix = Appendix()

    @property
    def completed(self) -> int:
        """Rounds that were judged, or are over where rounds are not judged one by one."""
        return sum(one.completed for one in self.told)

    @property
    def scored(self) -> bool:
        """Whether any ballot that gives points counts, so that there are totals."""
        return any(one.result is not None and one.result.scores for one in self.told) or any(
            vote.scores for vote in self.judging.panel
        )

    @property
    def questions(self) -> list[str]:
        """The unresolved questions of the final ballots, each once."""
        asked = (one.ballot.get("unresolved_questions", []) for one in self.finals if one.ballot and not one.mirrored)
        return list(dict.fromkeys(question for questions in asked for question in questions))

    @property
    def every(self) -> list[TurnReport]:
        """All turns that are told, in the order of the debate."""
        rounds = [turn for one in self.told for turn in (*one.speeches, *one.ballots, *one.forced)]
        return [*self.before, *rounds, *self.after, *self.finals]


def build_report(entries: Sequence[Entry], ballots: GatheredReviews | None = None) -> ReportModel:
    """The story of a journal, and of the reviewers' ballots that lie beside it."""
    debate = DebateState(entry.event for entry in entries)
    rules, setup = debate.format, debate.opened.setup
    settled = debate.settled()
    votes = [*debate.blind_votes(), *debate.final_votes(), *(v for n in _rounds(settled) for v in debate.votes(n))]
    turns = {turn.id: read_vote(turn_report(debate, turn), votes) for turn in settled}
    finals = tuple(turns[turn.id] for turn in settled if turn.closing and turns[turn.id].votes)
    records = [turns[turn.id] for turn in settled if turn.closing and "rows" in (debate.shape(turn) or {})]
    apart = {one.id for one in (*finals, *records)}
    return ReportModel(
        status="complete" if debate.complete else "paused",
        digest=entries[-1].hash,
        lines=entries[-1].n,
        date=entries[0].at[:10],
        topic=setup.topic,
        positions=setup.positions,
        names={side: _named(rules.seats[side].name, rules.seats[side].side) for side in rules.sides},
        seats={seat: rules.name_of(seat) for seat in (*rules.sides, *debate.judges, *_clerk(debate))},
        format=f"{rules.title}. {rules.about}",
        bare=rules.report == "transcript",
        arguing=arguing(debate),
        spoken_by={side: spoken_by(debate.cast[side]) for side in arguing(debate) if side in debate.cast},
        rounds=setup.rounds if rules.round else 0,
        strictness=setup.strictness,
        criteria={name: rules.rubric.criteria[name].title for name in debate.criteria},
        provenance=provenance(debate),
        before=tuple(turns[turn.id] for turn in settled if turn.round is None and not turn.closing),
        told=tuple(_round(debate, n, settled, turns) for n in _rounds(settled)),
        after=tuple(turns[turn.id] for turn in settled if turn.closing and turn.id not in apart),
        finals=finals,
        dissent=records[0] if records and records[0].ballot else None,
        verdict=debate.verdict(),
        conceded=debate.conceded(),
        persisted=rules.labels.persisted if debate.persisted() else None,
        tag_intervention=rules.labels.intervention,
        places={turn.id: (turn.round or 0, f"{turn.phase.name} {turn.seat.upper()}") for turn in settled},
        judging=_judging(debate),
        cited=citations.citations(debate),
        looked_up=citations.who(debate) if citations.looks(debate) else None,
        as_of=setup.as_of,
        rehearsed=bool(rehearsal(debate)),
        bill=costs_of(debate),
        judges=debate.cast.get(JUDGE, ()),
        course=debate.opened.course,
        run=run_kind(debate),
        reviewers=reviewer_agreement(debate, ballots) if ballots else None,
        ties=argument_links(debate),
        appendix=appendix(debate),
    )


def _rounds(settled: Iterable[Turn]) -> list[int]:
    """The rounds in which somebody has had a turn."""
    return sorted({turn.round for turn in settled if turn.round is not None})


def _named(name: str, side: str) -> str:
    return f"{name} ({side})" if side else name


def _clerk(debate: DebateState) -> tuple[str, ...]:
    return (CLERK,) if CLERK in debate.format.seats else ()


def _round(debate: DebateState, n: int, settled: list[Turn], turns: Mapping[str, TurnReport]) -> RoundReport:
    here = [turn for turn in settled if turn.round == n]
    judged = [turn for turn in here if turn.judging and debate.shape(turn) is not None]
    return RoundReport(
        number=n,
        speeches=tuple(turns[turn.id] for turn in here if turn not in judged and not turn.phase.on),
        ballots=tuple(turns[turn.id] for turn in judged),
        votes=tuple(debate.votes(n)),
        result=debate.result(n),
        intervened=debate.intervened(n),
        persisted=n in debate.persisted(),
        forced=tuple(turns[turn.id] for turn in here if turn.phase.on),
        completed=debate.result(n) is not None or (not debate.judged(n) and all(t.round != n for t in debate.due())),
    )


def _judging(debate: DebateState) -> Judging:
    rules = debate.format
    slots = [slot for slot in debate.calendar() if JUDGE in slot.phase.seats and slot.phase.reply != "text"]
    voting = [slot for slot in slots if rules.votes(slot.phase)]
    changed, mirrored = debate.flips()
    finals = [slot for slot in slots if slot.closing]
    return Judging(
        round_fields=_fields(debate, [slot for slot in voting if slot.round is not None]),
        final_fields=_fields(debate, finals),
        scales=wording.scales(rules),
        most=rules.rubric.most,
        labelled=wording.LABEL in _fields(debate, voting),
        answers=not any(rules.seats[side].side for side in rules.sides),
        by_swing=rules.decided_by == "swing",
        winner_of=rules.winner_of,
        quorum=debate.opened.setup.quorum,
        panel=tuple(debate.final_votes()),
        blind=tuple(debate.blind_votes()),
        changed=changed,
        mirrored=mirrored,
        means=debate.means(),
        weights=debate.weights,
        abouts={name: rules.rubric.criteria[name].about for name in debate.criteria},
        kin=conflicts_of_interest(debate),
        quotes=(rules.quotes.verified, rules.quotes.unverified) if rules.quotes else None,
    )


def _fields(debate: DebateState, slots: Iterable[Slot]) -> frozenset[str]:
    return frozenset(name for slot in slots for name in debate.format.shapes[slot.phase.reply])


def closing_line(one: ReportModel, report: str | None) -> str:
    """The line that confirms a finished debate, and where its report went if it went anywhere."""
    what = "Transcript" if one.bare else "Report"
    if one.status == "paused":
        return f"Debate paused. {what} so far written to {report}." if report else "Debate paused."
    done = "Debate rehearsed." if one.rehearsed else "Debate complete."
    said = [done, *([f"{what} written to {report}."] if report else [])]
    if not one.bare and one.verdict is None:
        return " ".join([*said, "Winner: not decided, since no final ballot counts."])
    if one.verdict is not None:
        said.append(f"{wording.decided(one.verdict, one.judging.scales)}.")
    if one.rounds:
        said.append(f"{one.completed} round{'s' if one.completed != 1 else ''} completed.")
    if "unresolved_questions" in one.judging.final_fields:
        said.append(f"Key unresolved question: {one_line(one.questions[0]) if one.questions else 'none'}")
    return " ".join(said)
