"""Announcements of a running debate: banners, scores, votes, findings, interventions. One list for every screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Literal, NamedTuple

from debate_orchestrator.core import rapporteur, schedule, speech_rules, tally
from debate_orchestrator.core.events import StructuredReplyGiven
from debate_orchestrator.core.phases import CLERK, ISSUES, RAPPORTEUR, Turn, filled_announcement
from debate_orchestrator.core.state import DebateState, Stage
from debate_orchestrator.core.verdict import Vote, decided_votes
from debate_orchestrator.core.winner import why_nothing_decided
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.citations import rows
from debate_orchestrator.reports.decision_brief import recommendation
from debate_orchestrator.reports.provenance import (
    degradations,
    is_whole_rehearsal,
    rehearsed_seats,
)
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import one_line

_REASONS = ("justification", "reasons")

_STATUSES = ("unresolved", "partially resolved", "resolved by consensus")
Kind = Literal[
    "rehearsal",  # stand-ins speak
    "round",  # the banner of a round
    "final",  # the banner of the verdict
    "intervention",  # the engine asks for a real difference, and of whom
    "conduct",  # a side declined, conceded or broke a rule
    "evidence",  # what a clerk found
    "scores",  # what the votes on a round come to
    "verdict",  # what was decided
    "votes",  # how the votes count, and which do not
    "reason",  # a judge's own words
    "dissent",  # the count of the dissent record
    "issues",  # the list of issues
    "check",  # what the check of the decision brief found
    "recommendation",  # what the decision brief recommends
    "missing",  # the list of issues, the dissent record or the like, for which no reply could be used
]


class Announcement(NamedTuple):
    """A line that every screen shows."""

    kind: Kind
    text: str
    severity: Literal["info", "warning"] = "info"
    turn_id: str = ""

    def standalone_text(self, debate: DebateState) -> str:
        """The text where no heading is above it: a judge's words begin with the judge's name."""
        judge = debate.format.name_of(debate.turns[self.turn_id].seat) if self.kind == "reason" else ""
        return f"{judge}: {self.text}" if judge else self.text

    @property
    def begins_part(self) -> bool:
        """Whether something begins with it: a round, the verdict, an intervention."""
        return self.kind in ("round", "final") or (self.kind == "intervention" and self.severity == "warning")


class StageAnnouncements(NamedTuple):
    """The announcements at the beginning of a stage, and those after all of its turns are taken."""

    stage: Stage
    before: tuple[Announcement, ...]
    after: tuple[Announcement, ...]
    is_over: bool
    """Whether all of its turns are taken."""


def stage_announcements(debate: DebateState) -> Iterator[StageAnnouncements]:
    """Everything announced so far but stand-ins' words, by stage, the one that is due last."""
    before, last_round = [*_announce_rehearsal(debate), *_announce_own_issues(debate)], 0
    for n, stage in enumerate(debate.stages):
        turn = stage[0]
        if turn.round is not None and turn.round > last_round:
            last_round = turn.round
            banner = filled_announcement(debate.format.announcements.round, round=turn.round, rounds=debate.rounds)
            before.append(Announcement("round", banner))
        if turn.phase.triggered_by == "convergence":
            before += _announce_intervention(debate, stage)
        is_over = all(turn.id in debate.replies for turn in stage)
        after = tuple(_results(debate, n)) if is_over else ()
        yield StageAnnouncements(stage, tuple(before), after, is_over)
        if not is_over:
            return
        before = []


def announcements(debate: DebateState) -> list[Announcement]:
    """Everything announced so far, in order."""
    return Announcer().new_announcements(debate)


class Announcer:
    """Returns the announcements that are new since the last call, for a debate that continues."""

    def __init__(self) -> None:
        self._announced_stages = 0
        self._has_announced_beginning = False
        """Whether the beginning of the stage after these was announced."""

    def new_announcements(self, debate: DebateState) -> list[Announcement]:
        """The announcements since the last call, in order; on the first call, all so far."""
        lines: list[Announcement] = []
        for announced in islice(stage_announcements(debate), self._announced_stages, None):
            lines += () if self._has_announced_beginning else announced.before
            lines += announced.after
            self._has_announced_beginning = not announced.is_over
            self._announced_stages += announced.is_over
        return lines


def _announce_rehearsal(debate: DebateState) -> Iterator[Announcement]:
    if seats := rehearsed_seats(debate):
        kind = "Rehearsal" if is_whole_rehearsal(debate) else "Rehearsed in part"
        names = map(debate.format.name_of, seats)
        text = f"{kind}: stand-ins speak for {', '.join(names)}, and what they say means nothing."
        yield Announcement("rehearsal", text, "warning")


def _announce_own_issues(debate: DebateState) -> Iterator[Announcement]:
    """The user's own list of issues, which no turn brings."""
    if debate.opened.settings.own_issues is not None:
        yield Announcement("issues", "The list of issues, drawn up by the user:")
        yield from _announce_issues(debate)


def _announce_issues(debate: DebateState, turn: str = "") -> Iterator[Announcement]:
    issue_list = rapporteur.issue_list(debate)
    for name, question in issue_list.issues.items() if issue_list else ():
        yield Announcement("issues", f"{name}. {one_line(question)}", turn_id=turn)


def _results(debate: DebateState, n: int) -> Iterator[Announcement]:
    stages = debate.stages
    first = stages[n][0]
    for turn in stages[n]:
        yield from _announce_turn(debate, turn)
    if _is_vote(debate, first) and not any(_is_vote(debate, turn) for turn in _after_in_its_section(stages, n)):
        yield from _announce_votes(debate, first)
    if first.after_rounds and debate.shape(first) is not None:
        for turn in stages[n]:
            yield from _announce_dissent(debate, turn)


def _is_filler(debate: DebateState, turn_id: str) -> bool:
    """Whether a stand-in wrote the reply to a turn."""
    return model_spec.is_stand_in(debate.replies[turn_id].reply.spec)


def _is_vote(debate: DebateState, turn: Turn) -> bool:
    return turn.judging and debate.format.is_vote(turn.phase)


def _after_in_its_section(stages: Sequence[Stage], n: int) -> Iterator[Turn]:
    """The first turn of each later stage of the same section: judges may vote one after another."""
    section = (stages[n][0].round, stages[n][0].after_rounds)
    return takewhile(
        lambda turn: (turn.round, turn.after_rounds) == section, (stages[k][0] for k in range(n + 1, len(stages)))
    )


def _announce_intervention(debate: DebateState, stage: Stage) -> Iterator[Announcement]:
    n = stage[0].round or 0
    names = " and ".join(debate.format.name_of(turn.seat) for turn in stage)
    signs = ", ".join(tally.convergence(debate, n).signs) or "as in the earlier debate"
    yield Announcement(
        "intervention", filled_announcement(debate.format.announcements.intervention, round=n), "warning"
    )
    yield Announcement("intervention", f"{names}: forced divergence ({signs})")


def _announce_turn(debate: DebateState, turn: Turn) -> Iterator[Announcement]:
    name = debate.format.name_of(turn.seat)
    text = ""
    if speech_rules.has_declined(debate, turn.id):
        text = f"{name} declined to argue ({turn.id})."
    elif turn.id in debate.conceding_turns:
        text = f"{name} conceded the debate ({turn.id})."
    elif speech_rules.writes_for_the_other(debate, turn):
        text = f"{name} wrote lines for the other side ({turn.id})."
    if text:
        yield Announcement("conduct", text, "warning", turn.id)
    if remark := speech_rules.ignored_line_remark_of(debate, turn):
        yield Announcement("conduct", f"{name} ({turn.id}): {remark}", turn_id=turn.id)
    if schedule.is_missing(debate, turn):
        yield Announcement("missing", wording.missing_reply_text(debate, turn), "warning", turn.id)
        if turn.after_rounds and turn.role == RAPPORTEUR:
            yield from _announce_recommendation(debate, turn)
    elif turn.role == RAPPORTEUR:
        yield from _announce_rapporteur(debate, turn)
    if turn.role == CLERK:
        for row in rows(debate, turn, "checks"):
            yield Announcement("evidence", one_line(f"Evidence {row.get('turn')}: {row.get('state')}"), turn_id=turn.id)


def _announce_rapporteur(debate: DebateState, turn: Turn) -> Iterator[Announcement]:
    """The list of issues, or the recommendation of the final decision brief: checked, or revised."""
    reply = debate.structured_reply(turn.id)
    if reply is None:
        return
    if turn.phase.enabled_by == ISSUES and _is_filler(debate, turn.id):
        yield Announcement("issues", "The list of issues is filler.", turn_id=turn.id)
    elif turn.phase.enabled_by == ISSUES:
        yield from _announce_issues(debate, turn.id)
    if "findings" in reply.data:
        count = len(reply.data["findings"])
        outcome = f"{plural(count, 'problem')} found; the brief is revised" if count else "no problem found"
        if not count and (problems := rapporteur.decision_brief_problems(debate)):
            outcome += f"; the program found {plural(len(problems), 'problem')}"
        yield Announcement("check", f"Check of the decision brief: {outcome}.", turn_id=turn.id)
        if count:
            return
    has_findings = any("findings" in debate.format.shapes.get(phase.reply, {}) for phase in debate.format.after)
    is_final = not has_findings or "findings" in reply.data or turn.phase.triggered_by is not None
    if is_final:
        yield from _announce_recommendation(debate, turn)


def _announce_recommendation(debate: DebateState, turn: Turn) -> Iterator[Announcement]:
    decision_brief = rapporteur.decision_brief(debate)
    if decision_brief is not None and (advice := decision_brief.data.get("recommendation")):
        text = recommendation(advice["sure"], advice["do"])
        if why_nothing_decided(debate) or _is_filler(debate, decision_brief.turn_id):
            text = "The recommendation is filler."
        for note in degradations(debate):
            yield Announcement("recommendation", note.text, "warning", turn.id)
        yield Announcement("recommendation", text, turn_id=turn.id)


def _announce_votes(debate: DebateState, turn: Turn) -> Iterator[Announcement]:
    if turn.round is not None:
        return _announce_round(debate, turn.round)
    return (
        _announce_verdict(debate)
        if turn.after_rounds
        else _announce_changed_votes(debate, tally.pre_debate_votes(debate))
    )


def _announce_round(debate: DebateState, n: int) -> Iterator[Announcement]:
    votes, result = tally.votes(debate, n), tally.result_unless_left_out(debate, n)
    if not votes:
        return
    if result is None:
        yield Announcement("scores", f"Round {n}: no ballot counts.", "warning")
        return
    if result.scores:
        scores = f"Scores: {' | '.join(wording.score_line(result))}."
        text = " ".join(filter(None, (scores, wording.behind_sentence([result]))))
        text = text if result.winner_is_behind else text.rstrip(".")
    elif wording.is_labelled(votes):
        label = wording.label_by_quorum(result.label, votes, debate.opened.settings.quorum)
        text = f"Round {n}: {wording.scales(debate.format).label_text(label, result.claim_score if label else None)}"
    else:
        votes_by_winner = Counter(vote.winner for vote in decided_votes(votes))
        counts = f" ({wording.votes_text(votes_by_winner)})" if len(votes) > 1 else ""
        text = f"Round {n}: {wording.winner_word(result.winner)}{counts}"
    yield Announcement("scores", text)
    yield from _announce_reasons(debate, tally.ballots(debate, n))
    if tally.converged_again(debate, n):
        yield Announcement("intervention", debate.format.announcements.converged_again)
    yield from _announce_changed_votes(debate, votes)


def _announce_reasons(debate: DebateState, ballots: Sequence[StructuredReplyGiven]) -> Iterator[Announcement]:
    for ballot in ballots:
        if _is_filler(debate, ballot.turn_id):
            continue
        reason = next((str(ballot.data[name]) for name in _REASONS if ballot.data.get(name)), "")
        if reason:
            yield Announcement("reason", one_line(reason), turn_id=ballot.turn_id)


def _announce_changed_votes(debate: DebateState, votes: Sequence[Vote]) -> Iterator[Announcement]:
    for vote in votes:
        if vote.stable or vote.absent:
            continue
        first, last = (one_line(wording.winner_word(wording.named_by(ballot))) for ballot in vote.parsed_ballots)
        text = f"{debate.format.name_of(vote.judge)} {wording.what_changed(vote)} ({first} and {last}): no vote."
        yield Announcement("votes", text, "warning", vote.turn_id)


def _announce_verdict(debate: DebateState) -> Iterator[Announcement]:
    verdict, format = tally.verdict(debate), debate.format
    if verdict is None:
        return
    labelled = wording.is_labelled(verdict.votes)
    yield Announcement("final", format.announcements.final)
    yield Announcement("verdict", wording.decision_line(debate))
    if why_nothing_decided(debate):
        return
    if "concession overrides the declared winner" in verdict.remarks:
        names = " and ".join(map(format.name_of, tally.deciding_conceders(debate)))
        text = f"What the judge declared as the winner does not count: {names} conceded, and by rule that is consensus."
        yield Announcement("votes", text, "warning")
    if len(verdict.votes) > 1 and not labelled:
        yield Announcement("votes", wording.votes_sentence(verdict))
    if shortfall := wording.shortfall(verdict.votes, verdict.quorum, format.name_of):
        yield Announcement("votes", shortfall, "warning")
    yield from _announce_changed_votes(debate, verdict.votes)
    if verdict.swing and not labelled:
        gains = ", ".join(f"{format.name_of(side)} {n:+d}" for side, n in verdict.swing.items())
        yield Announcement("votes", f"Votes gained by the debate: {gains}.")
    yield from _announce_reasons(debate, tally.final_ballots(debate))


def _announce_dissent(debate: DebateState, turn: Turn) -> Iterator[Announcement]:
    """The count of the dissent record by status; a status that no claim has is left out: beside a closing line with an
    unresolved question, "0 unresolved" would read as a contradiction."""
    reply = debate.structured_reply(turn.id)
    if reply is None or not debate.format.is_dissent_record(turn.phase) or "rows" not in reply.data:
        return
    if _is_filler(debate, turn.id):
        yield Announcement("dissent", "The dissent record is filler.", turn_id=turn.id)
    else:
        rows = reply.data["rows"]
        counts = Counter(row.get("status") for row in rows)
        kinds = "".join(f", {counts[status]} {status}" for status in _STATUSES if counts[status])
        yield Announcement("dissent", f"Dissent record: {plural(len(rows), 'disputed claim')}{kinds}.", turn_id=turn.id)
