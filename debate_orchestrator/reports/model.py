"""The report model: all that a report says, worked out once from a journal. Every type of file is rendered from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from debate_orchestrator.core import rapporteur, schedule, speech_rules, tally, transcript_entries
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Declined, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import (
    CLERK,
    DECISION_BRIEF,
    JUDGE,
    MIRRORED,
    NO_DECISION,
    RAPPORTEUR,
    Slot,
    Turn,
    filled_announcement,
)
from debate_orchestrator.core.shape import Shape
from debate_orchestrator.core.state import DebateState, debated_texts
from debate_orchestrator.core.verdict import Verdict, Vote
from debate_orchestrator.core.winner import arguing_sides, why_nothing_decided
from debate_orchestrator.reports import citations, decision_brief, wording
from debate_orchestrator.reports.citations import EvidenceReport
from debate_orchestrator.reports.conflicts import conflicts_of_interest
from debate_orchestrator.reports.decision_brief import DecisionBriefReport, IssuesReport
from debate_orchestrator.reports.parts import (
    ArgumentLink,
    ContextFileReport,
    CostsReport,
    DisputedClaim,
    EarlierDebateReport,
    FollowUp,
    FormatReport,
    JournalReport,
    JudgingReport,
    Note,
    Part,
    RoundReport,
    TurnReport,
    VerdictReport,
    VoteReport,
)
from debate_orchestrator.reports.provenance import (
    DEGRADED,
    MISSING,
    RunReport,
    earlier_debate_report,
    first_speaker,
    last_specs_by_role,
    provenance_notes,
    public_models_by_seat,
    run_report,
)
from debate_orchestrator.reports.reviewer_agreement import ReviewerReport, reviewer_report
from debate_orchestrator.reports.reviewer_ballots import GatheredBallots, gather_ballots
from debate_orchestrator.storage.journal_lines import Entry, as_damaged_journal
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.numbers import plural


class ReportModel(Part):
    """One debate, complete or as far as it got. Sides are named as their seats are (`a`, `b`), turns by their ids
    (`2.rebuttal.a`)."""

    status: Literal["complete", "paused"]
    """Paused: turns are due, and everything here is as far as the debate got."""
    summary: str = ""
    """The outcome, in a line."""
    notes: tuple[Note, ...]
    """The way it was made, weaknesses first."""
    date: str
    """The day it was opened, UTC, as 2026-02-03."""
    run: RunReport
    """The settings of the run."""
    format: FormatReport
    """The rules of this kind of debate."""
    topic: str
    """The topic, in a sentence."""
    positions: dict[str, str]
    """Side to what it argues."""
    names: dict[str, str]
    """Side to the name and label it is shown by: `Researcher A (Pro)`."""
    seats: dict[str, str]
    """Seat to its bare name."""
    strictness: str
    """The judges' strictness: `strict` or `lenient`, or what the rubric has."""
    as_of: str | None = None
    """The time to which the topic binds both sides: `2019` if it begins "As of 2019, "; null if it binds to none."""
    rounds_asked: int
    """The number of rounds asked for; 0 if the format has no rounds."""
    rounds_completed: int
    """Rounds that were judged or, where rounds are not judged one by one, are over."""
    verdict: VerdictReport | None
    """Null where nothing was decided (yet): see `why_nothing_decided`."""
    why_nothing_decided: str
    """The reason that nothing is decided whatever the ballots say; empty if there is none, as for a tie."""
    conceded: str | None
    """The side that conceded the whole position, or `both`; null if neither did."""
    unopposed: str | None
    """The side whose position stands, since the other one conceded and that decided the debate; null without one."""
    rounds: tuple[RoundReport, ...]
    """The rounds in which a turn was taken."""
    judging: JudgingReport
    """The rules by which the judges' votes are taken."""
    votes: tuple[VoteReport, ...]
    """The result of each judge's ballots, in the order of the debate."""
    issues: IssuesReport | None = None
    """The list of issues; null if none was drawn up (yet)."""
    decision_brief: DecisionBriefReport | None = Field(default=None, serialization_alias="brief")
    """The decision brief; null if none that counts was written (yet), or none can rest on the
    debate: see `why_nothing_decided`."""
    dissent: tuple[DisputedClaim, ...] | None
    """The dissent record; null if there is none (yet) that counts."""
    unresolved_questions: tuple[str, ...]
    """The unresolved questions of the final ballots, each once."""
    follow_up: tuple[FollowUp, ...]
    """Of the final ballots."""
    argument_links: tuple[ArgumentLink, ...] = ()
    """The attacks and answers between turns, in the order of the debate."""
    turns: tuple[TurnReport, ...]
    """The transcript: every turn that was taken, in the order of the debate, with the dissent record and the decision
    brief last."""
    evidence: EvidenceReport | None = None
    """Null where no clerk has a place."""
    costs: CostsReport | None = None
    """Null where no call was made, as in a debate that a host runs: what it costs the host is not known here."""
    earlier_debate: EarlierDebateReport | None = None
    """The debate that is judged again here; null if none is."""
    reviewers: ReviewerReport | None = None
    """Null if there is no reviewer's ballot beside the journal."""
    context_files: tuple[ContextFileReport, ...] = ()
    """The files that speakers could draw on, with their text."""
    journal: JournalReport
    """The journal that the report was made from."""
    rules: Format = Field(exclude=True)
    """The format, with its phases and prompts; `format` is what the JSON says of it."""
    debated_texts: tuple[str, ...] = Field(exclude=True)
    """What is debated: the topic, the positions and the context files."""
    arguing_sides: tuple[str, ...] = Field(exclude=True)
    spoke_first: str | None = Field(default=None, exclude=True)
    """The side that spoke before the other; null if both spoke at once, or one alone did."""
    spoken_by: dict[str, str] = Field(exclude=True)
    """Side to the models that took its turns, as far as that is shown."""
    public_judge_models: tuple[str, ...] = Field(default=(), exclude=True)
    """The models in the judges' seats, as reports name them: those that took a seat's turns, in order."""
    judge_specs: tuple[str, ...] = Field(default=(), exclude=True)
    shown_verdict: VerdictReport | None = Field(default=None, exclude=True)
    """The verdict; where stand-ins left none, what its place on a page is filled with."""
    shown_decision_brief: DecisionBriefReport | None = Field(default=None, exclude=True)
    """The same of the decision brief."""
    before: tuple[TurnReport, ...] = Field(exclude=True)
    """Turns before the first round, of formats that have them."""
    after: tuple[TurnReport, ...] = Field(exclude=True)
    """Turns after the last round that are neither a final vote nor a dissent record."""
    final_ballots: tuple[TurnReport, ...] = Field(exclude=True)
    """The final votes."""
    valid_final_ballots: tuple[TurnReport, ...] = Field(exclude=True)
    """The valid ones on the debate as it was, but for those of stand-ins that are left out. Not each decides: a judge
    may abstain, or say something else on the mirrored debate."""
    dissent_record: TurnReport | None = Field(default=None, exclude=True)
    """The turn of the dissent record; null if there is none (yet)."""
    converged_again: str | None = Field(default=None, exclude=True)
    """The sentence that flags convergence after an intervention; None if there was none."""
    turn_places: dict[str, tuple[int, str]] = Field(exclude=True)
    """Turn id to its round (0 outside the rounds) and its short name there: 1 and `opening A`."""

    @property
    def transcript_only(self) -> bool:
        """Whether the format has no other report than the bare transcript."""
        return self.rules.report == "speeches only"

    @property
    def positions_are_answers(self) -> bool:
        """Whether the positions are answers to a question, so that no side is for or against anything."""
        return not any(self.rules.seats[side].label for side in self.rules.sides)

    @property
    def filler_headline(self) -> str:
        """The headline of a debate that is filler: why it has no decision."""
        in_whole = self.run.rehearsed and not self.run.rehearsed_in_part
        return f"No decision: {'this is a rehearsal' if in_whole else self.why_nothing_decided}."

    @property
    def mirrored_note(self) -> str:
        """The sentence above a mirrored ballot."""
        if self.judging.order_only:
            return "Cast with the order of the sides swapped."
        return "Cast with the sides swapped, and shown here with the names of the sides as they are in this report."

    @property
    def provenance(self) -> tuple[str, ...]:
        """The sentences on how it was made."""
        return tuple(note.text for note in self.notes)

    @property
    def degradations(self) -> tuple[str, ...]:
        """The sentences that must stand beside the recommendation and its percentage."""
        return tuple(note.text for note in self.notes if note.kind == DEGRADED)


def build_report(
    entries: Sequence[Entry], reviewer_ballots: GatheredBallots | None = None, *, journal: str = ""
) -> ReportModel:
    """The report of a journal and of these ballots of reviewers. `journal` is its path, for errors.
    Raises DamagedJournal if its events do not fit, or no report can be made of them."""
    with as_damaged_journal(journal):
        report = _report(entries, reviewer_ballots)
        return report.model_copy(update={"summary": summary_line(report, None)})


def report_of(journal: str, entries: Sequence[Entry]) -> ReportModel:
    """The report of the journal at this path, with the ballots beside it. Raises as `build_report`."""
    return build_report(entries, gather_ballots(DebateFiles.of_journal(journal).ballots, entries), journal=journal)


def _report(entries: Sequence[Entry], reviewer_ballots: GatheredBallots | None) -> ReportModel:
    debate = fold(entry.event for entry in entries)
    shown_turns = [turn for turn in schedule.turns_taken(debate) if not rapporteur.is_hidden_advice(debate, turn)]
    judging, votes = _judging(debate), _votes(debate)
    ballots = {turn: vote for vote in votes for turn in (vote.turn_id, vote.turn_id + MIRRORED)}
    stages = {turn.id: number for number, stage in enumerate(debate.stages) for turn in stage}
    turns = {turn.id: _turn(debate, turn, stages[turn.id], ballots.get(turn.id)) for turn in shown_turns}
    rounds = tuple(_round(debate, n, turns) for n in _round_numbers(debate))
    before = tuple(turns[turn.id] for turn in shown_turns if turn.round is None and not turn.after_rounds)
    last = [turns[turn.id] for turn in shown_turns if turn.after_rounds]
    final_ballots = tuple(turn for turn in last if turn.is_vote)
    valid_ballots = [turn for turn in final_ballots if turn.fields and not turn.left_out and not turn.mirrored]
    questions = (question for turn in valid_ballots for question in (turn.fields or {}).get("unresolved_questions", ()))
    follow_ups = ((turn, (turn.fields or {}).get("follow_up")) for turn in valid_ballots)
    dissent_record = next((turn for turn in last if turn.kind == "record" and turn.fields), None)
    briefs = [turn for turn in last if turn.of_decision_brief]
    after = tuple(turn for turn in last if turn.kind not in ("ballot", "record") and not turn.of_decision_brief)
    earlier = debate.opened.earlier_debate
    in_rounds = (turn for r in rounds for turn in (*r.speeches, *r.ballots, *r.intervention_speeches))
    return ReportModel(
        **_setup(debate),
        **_outcome(debate, judging),
        status="complete" if debate.complete else "paused",
        notes=provenance_notes(debate),
        date=entries[0].at[:10],
        run=run_report(debate),
        format=_format_report(debate, judging),
        rounds_completed=sum(round_report.completed for round_report in rounds),
        rounds=rounds,
        judging=judging,
        votes=tuple(VoteReport.of(vote, judging.scales.max_probability) for vote in votes),
        issues=decision_brief.issues_report(debate),
        dissent=_disputed_claims(dissent_record, debate.format.sides),
        unresolved_questions=tuple(dict.fromkeys(questions)),
        follow_up=tuple(FollowUp(judge=turn.seat, turn=turn.id, text=text) for turn, text in follow_ups if text),
        argument_links=tuple(link for turn in shown_turns if turn.speaking for link in _argument_links(debate, turn)),
        turns=(*before, *in_rounds, *after, *final_ballots, *([dissent_record] if dissent_record else []), *briefs),
        evidence=citations.evidence(debate),
        costs=CostsReport.of(costs_of(debate)),
        earlier_debate=earlier_debate_report(earlier, debate) if earlier else None,
        reviewers=reviewer_report(debate, reviewer_ballots) if reviewer_ballots else None,
        journal=JournalReport.of(entries),
        before=before,
        after=after,
        final_ballots=final_ballots,
        valid_final_ballots=tuple(valid_ballots),
        dissent_record=dissent_record,
        converged_again=debate.format.announcements.converged_again if tally.rounds_converged_again(debate) else None,
        turn_places={turn.id: (turn.round or 0, f"{turn.phase.name} {turn.seat.upper()}") for turn in shown_turns},
    )


def _format_report(debate: DebateState, judging: JudgingReport) -> FormatReport:
    format = debate.format
    return FormatReport(
        name=format.name,
        title=format.title,
        about=f"{format.title}. {format.about}",
        criteria={name: format.rubric.criteria[name].title for name in debate.criteria},
        max_claim_score=float(judging.scales.max_claim_score) if judging.scales.max_claim_score else None,
    )


def _round_numbers(debate: DebateState) -> list[int]:
    return sorted({turn.round for turn in schedule.turns_taken(debate) if turn.round is not None})


def _setup(debate: DebateState) -> dict[str, Any]:
    format, settings, arguing = debate.format, debate.opened.settings, arguing_sides(debate)
    models_by_seat = public_models_by_seat(debate)
    others = ((CLERK, CLERK in format.seats), (RAPPORTEUR, RAPPORTEUR in format.seats and RAPPORTEUR in debate.cast))
    seats = (*format.sides, *debate.judges, *(seat for seat, is_taken in others if is_taken))
    return {
        "rules": format,
        "debated_texts": debated_texts(debate.opened),
        "topic": settings.topic,
        "positions": settings.positions,
        "names": {side: format.full_name_of(side) for side in format.sides},
        "seats": {seat: format.name_of(seat) for seat in seats},
        "strictness": settings.strictness,
        "as_of": settings.as_of,
        "rounds_asked": settings.rounds if format.round else 0,
        "arguing_sides": arguing,
        "spoke_first": first_speaker(debate),
        "spoken_by": {side: models_by_seat[side] for side in arguing if side in models_by_seat},
        "public_judge_models": tuple(models_by_seat[judge] for judge in debate.judges),
        "context_files": tuple(ContextFileReport(name=file.name, text=file.text) for file in debate.opened.context),
        "conceded": tally.conceding_side(debate),
        "judge_specs": last_specs_by_role(debate).get(JUDGE, ()),
    }


def _turn(debate: DebateState, turn: Turn, stage: int, vote: Vote | None) -> TurnReport:
    """One turn that is taken: what was said in it, as others heard it."""
    reply_event, shape = debate.replies[turn.id], debate.shape(turn) or {}
    entry = transcript_entries.entry(debate, turn)
    fields = _fields(debate, turn, shape, reply_event) if isinstance(reply_event, StructuredReplyGiven) else None
    is_vote = turn.judging and debate.format.is_vote(turn.phase)
    is_dissent_record = turn.after_rounds and debate.format.is_dissent_record(turn.phase)
    side = turn.seat in debate.format.sides
    parsed_ballot = None if vote is None else vote.mirrored if turn.id == vote.turn_id + MIRRORED else vote.original
    counted = vote is not None and (vote.winner != NO_DECISION or vote.label is not None)
    return TurnReport(
        id=turn.id,
        kind="ballot" if is_vote else "record" if is_dissent_record else "speech" if side else "other_reply",
        seat=turn.seat,
        round=turn.round,
        stage=stage,
        phase=turn.phase.name,
        heading=debate.format.heading_of(turn),
        tag=debate.format.tag_of(turn),
        text=entry.text if isinstance(reply_event, Spoke | Declined) else None,
        fields=fields,
        shape=shape,
        mirrored=turn.mirrored,
        counted=counted if is_vote else None,
        left_out=is_dissent_record and tally.is_left_out(debate, reply_event) if vote is None else vote.left_out,
        parsed_ballot=parsed_ballot,
        words=entry.words if fields is None else _words(shape, fields),
        max_words=turn.phase.max_words,
        dropped=entry.dropped,
        of_decision_brief=turn.phase.enabled_by == DECISION_BRIEF,
        cut=entry.cut,
        declined=entry.declined,
        concedes=turn.id in debate.conceding_turns,
        private=isinstance(reply_event, Spoke) and speech_rules.visible_speech(debate, turn).had_private,
        other_lines=entry.other_lines,
        ignored_line_remark=speech_rules.ignored_line_remark_of(debate, turn),
        changed_by_user=rapporteur.is_changed_list(debate, turn),
        floor=tuple(question.text for question in schedule.new_questions(debate, turn)),
        quotes=entry.quotes,
        pages=entry.found,
    )


def _fields(debate: DebateState, turn: Turn, shape: Shape, reply_event: StructuredReplyGiven) -> dict[str, Any]:
    """A structured reply with the sides as they are: a judge's as it was given, any other as it was heard."""
    fields = rapporteur.with_user_issues(debate, turn, tally.in_original_names(debate, shape, reply_event))
    return fields if turn.judging else speech_rules.visible_fields(debate, fields)[0]


def _words(shape: Shape, fields: Mapping[str, Any]) -> int:
    """The words of a structured reply: those of its texts."""
    texts = [fields.get(name) for name, field in shape.items() if field.kind == "text"]
    return sum(sanitize.count_words(text) for text in texts if isinstance(text, str))


def _round(debate: DebateState, n: int, turns: Mapping[str, TurnReport]) -> RoundReport:
    round_turns = [turn for turn in schedule.turns_taken(debate) if turn.round == n]
    ballots = [turn for turn in round_turns if turn.judging and debate.shape(turn) is not None]
    votes, result = tuple(tally.votes(debate, n)), tally.result_unless_left_out(debate, n)
    intervention_speeches = tuple(turns[turn.id] for turn in round_turns if turn.phase.triggered_by)
    quorum = debate.opened.settings.quorum
    return RoundReport(
        number=n,
        completed=tally.result(debate, n) is not None
        or (n not in debate.plan.voting_turn_ids and all(turn.round != n for turn in debate.due)),
        judges_present=result.judges_present if result else None,
        scores=result.scores if result else {},
        winner=result.winner if result else None,
        label=wording.label_by_quorum(result.label, votes, quorum) if result else None,
        claim_score=result.claim_score if result else None,
        intervened=tally.had_intervention(debate, n),
        intervention_turns=tuple(turn.id for turn in intervention_speeches),
        converged_again=tally.converged_again(debate, n),
        speeches=tuple(turns[turn.id] for turn in round_turns if turn not in ballots and not turn.phase.triggered_by),
        ballots=tuple(turns[turn.id] for turn in ballots),
        intervention_speeches=intervention_speeches,
        intervention=filled_announcement(debate.format.announcements.intervention, round=n),
        votes=votes,
        result=result,
    )


def _judging(debate: DebateState) -> JudgingReport:
    format = debate.format
    slots = [slot for slot in debate.plan.slots if JUDGE in slot.phase.seats and slot.phase.reply != "text"]
    voting = [slot for slot in slots if format.is_vote(slot.phase)]
    flipped, mirrored = tally.flipped_votes(debate)
    return JudgingReport(
        quorum=debate.opened.settings.quorum,
        mirrored_votes=mirrored,
        flipped_votes=flipped,
        order_only=debate.mirror.order_only,
        decided_by_swing=format.decided_by == "swing",
        means=tally.criterion_means(debate),
        conflicts=conflicts_of_interest(debate),
        round_fields=_asked_fields(debate, [slot for slot in voting if slot.round is not None]),
        final_fields=_asked_fields(debate, [slot for slot in slots if slot.after_rounds]),
        scales=wording.scales(format),
        labelled=wording.LABEL in _asked_fields(debate, voting),
        votes=tuple(tally.final_votes(debate)),
        pre_debate_votes=tuple(tally.pre_debate_votes(debate)),
        weights=debate.weights,
    )


def _asked_fields(debate: DebateState, slots: Iterable[Slot]) -> frozenset[str]:
    return frozenset(name for slot in slots for name in debate.format.shapes[slot.phase.reply])


def _votes(debate: DebateState) -> list[Vote]:
    return [
        *tally.pre_debate_votes(debate),
        *(vote for n in _round_numbers(debate) for vote in tally.votes(debate, n)),
        *tally.final_votes(debate),
    ]


def _outcome(debate: DebateState, judging: JudgingReport) -> dict[str, Any]:
    """The verdict and the decision brief: those that stand, and those that are shown."""
    why, verdict = why_nothing_decided(debate), _verdict(debate, judging)
    brief = decision_brief.decision_brief_report(debate)
    standing = {"verdict": verdict, "decision_brief": brief, "unopposed": tally.unopposed_side(debate)}
    shown = {"shown_verdict": verdict, "shown_decision_brief": brief, "why_nothing_decided": why}
    return (dict.fromkeys(standing) if why else standing) | shown


def _verdict(debate: DebateState, judging: JudgingReport) -> VerdictReport | None:
    verdict: Verdict | None = tally.verdict(debate)
    if verdict is None:
        return None
    label = wording.label_by_quorum(verdict.label, verdict.votes, verdict.quorum)
    share = None if verdict.probability is None else verdict.probability / judging.scales.max_probability
    values: dict[str, Any] = {
        "decision": wording.decision_sentence(debate, verdict),
        "totals": verdict.totals if any(verdict.totals.values()) else {},
        "rounds_won": verdict.rounds_won if tally.results(debate) else {},
        "label": label,
        "claim_score": verdict.claim_score if label is not None or not judging.labelled else None,
        "win_probability": share,
    }
    return VerdictReport(**{**dict(verdict), **values})


def _disputed_claims(dissent_record: TurnReport | None, sides: Sequence[str]) -> tuple[DisputedClaim, ...] | None:
    if dissent_record is None or dissent_record.left_out:
        return None
    return tuple(DisputedClaim.of(row, sides) for row in (dissent_record.fields or {})["rows"])


def _argument_links(debate: DebateState, turn: Turn) -> Iterator[ArgumentLink]:
    how, turns = schedule.turns_argued_with(debate, turn)
    yield from (ArgumentLink(turn=turn.id, how=how, to=earlier.id) for earlier in turns)


def summary_line(report: ReportModel, path: str | None, *, under_way: bool = False) -> str:
    """The line that confirms a finished debate, and where its report went if it was written. `under_way` says of one
    that is not finished that another process is writing it."""
    document = "Transcript" if report.transcript_only else "Report"
    if report.status == "paused":
        state = "Debate under way: another process is writing it." if under_way else "Debate paused."
        return f"{state} {document} so far written to {name_of(path)}." if path else state
    rehearsed = "Debate rehearsed in part." if report.run.rehearsed_in_part else "Debate rehearsed."
    sentences = [rehearsed if report.run.rehearsed else "Debate complete."]
    sentences += [f"{document} written to {name_of(path)}."] if path else []
    if report.run.rehearsed and not report.run.rehearsed_in_part:
        return " ".join([*sentences, wording.FILLER])
    sentences += report.degradations
    if report.decision_brief:
        sentences.append(decision_brief.recommendation_line(report.decision_brief))
    sentences += [note.text for note in report.notes if note.kind == MISSING]
    if not report.transcript_only and report.shown_verdict is None:
        return " ".join([*sentences, "Winner: not decided, since no final ballot counts."])
    if report.verdict is not None:
        sentences.append(f"{report.verdict.decision}.")
    elif report.shown_verdict is not None:
        sentences.append(wording.no_winner(report.why_nothing_decided))
    if report.rounds_asked:
        sentences.append(f"{plural(report.rounds_completed, 'round')} completed.")
    if "unresolved_questions" in report.judging.final_fields and not report.why_nothing_decided:
        question = sanitize.quoted(report.unresolved_questions[0]) if report.unresolved_questions else "none"
        sentences.append(f"Key unresolved question: {question}")
    return " ".join(sentences)
