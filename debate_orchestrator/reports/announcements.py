"""What a debate announces while it runs: banners, scores, votes, findings, interventions. One list for every screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Any

from debate_orchestrator.core.phases import CLERK, NO_DECISION, Turn, fill_label
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.votes import Vote
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.citations import rows
from debate_orchestrator.reports.provenance import stand_ins
from debate_orchestrator.util import sanitize

_REASONS = ("justification", "reasons")
"""The fields of a ballot that say why."""

Stage = tuple[Turn, ...]


def announcements(debate: DebateState) -> list[str]:
    """Everything announced so far, in order, word for word. It only ever grows at its end."""
    labels = debate.format.labels
    said: list[str] = []
    if names := stand_ins(debate, debate.opened.cast):
        said.append(f"Rehearsal: stand-ins speak for {', '.join(names)}, and what they say means nothing.")
    begun = 0
    stages = list(debate.stages())
    for n, stage in enumerate(stages):
        first = stage[0]
        if first.round is not None and first.round > begun:
            begun = first.round
            said.append(fill_label(labels.round, round=begun, rounds=debate.rounds))
        if first.phase.on is not None:
            said += _intervention(debate, stage)
        if any(turn.id not in debate.answers for turn in stage):
            break
        said += [line for turn in stage for line in _about(debate, turn)]
        if _votes(debate, stage) and not any(_same_vote(debate, first, one[0]) for one in _of_its_part(stages, n)):
            said += _voted(debate, first)
        if first.closing and debate.shape(first) is not None:
            said += [line for turn in stage for line in _dissent(debate, turn)]
    return said


def _votes(debate: DebateState, stage: Stage) -> bool:
    return stage[0].judging and debate.format.votes(stage[0].phase)


def _of_its_part(stages: Sequence[Stage], n: int) -> Iterator[Stage]:
    """The stages after a stage in the same round, or beside it before or after the rounds."""
    first = stages[n][0]
    return takewhile(
        lambda stage: (stage[0].round, stage[0].closing) == (first.round, first.closing), islice(stages, n + 1, None)
    )


def _same_vote(debate: DebateState, one: Turn, other: Turn) -> bool:
    """Whether two turns are votes on the same: judges may vote one after another."""
    return _votes(debate, (other,)) and (one.round, one.closing) == (other.round, other.closing)


def _intervention(debate: DebateState, stage: Stage) -> list[str]:
    round = stage[0].round or 0
    names = " and ".join(debate.format.name_of(turn.seat) for turn in stage)
    signs = ", ".join(debate.finding(round).criteria) or "as in the recorded debate"
    return [fill_label(debate.format.labels.intervention, round=round), f"{names}: forced divergence ({signs})"]


def _about(debate: DebateState, turn: Turn) -> Iterator[str]:
    """What a single turn brings that everybody should know at once."""
    name = debate.format.name_of(turn.seat)
    if debate.declined(turn.id):
        yield f"{name} declined to argue ({turn.id})."
    elif debate.concedes(turn):
        yield f"{name} conceded the debate ({turn.id})."
    elif debate.writes_for_the_other(turn):
        yield f"{name} wrote lines for the other side ({turn.id})."
    if turn.id in debate.answers and (ignored := debate.ignored_in(turn)):
        yield f'{name} wrote "{ignored}" where it does not count ({turn.id}).'
    if turn.role == CLERK:
        for row in rows(debate, turn, "checks"):
            yield sanitize.one_line(f"Evidence {row.get('turn')}: {row.get('state')}")


def _voted(debate: DebateState, turn: Turn) -> list[str]:
    """What the votes of a place come to; nothing before all are cast."""
    if turn.round is not None:
        return _scored(debate, turn.round)
    if turn.closing:
        return _decided(debate)
    return _held_before(debate)


def _held_before(debate: DebateState) -> list[str]:
    """The verdict before the first word."""
    votes, scales = debate.blind_votes(), wording.scales(debate.format)
    if not votes:
        return []
    names = [f"{debate.format.name_of(vote.judge)}: {_held(vote, scales)}" for vote in votes]
    return [f"Before the first word: {'; '.join(names)}", *_changed(debate, votes)]


def _held(vote: Vote, scales: wording.Scales) -> str:
    reading = vote.straight
    return "no ballot that counts" if reading is None else wording.reading_line(reading, scales)


def _scored(debate: DebateState, round: int) -> list[str]:
    votes, result = debate.votes(round), debate.result(round)
    if not votes:
        return []
    if result is None:
        return [f"Round {round}: no ballot counts."]
    if result.scores:
        said = [f"Scores: {wording.score_line(result)}"]
    elif wording.is_labelled(votes):
        scales = wording.scales(debate.format)
        label = wording.standing(result.label, votes, debate.opened.setup.quorum)
        score = f", {scales.of(result.score)}" if label and result.score is not None else ""
        said = [f"Round {round}: {sanitize.one_line(label or NO_DECISION)}{score}"]
    else:
        tally = f" ({wording.tally(wording.count(votes))})" if len(votes) > 1 else ""
        said = [f"Round {round}: {wording.winner_word(result.winner)}{tally}"]
    said += _reasons(ballot.ballot for ballot in debate.ballots(round))
    if debate.persists(round):
        said.append(debate.format.labels.persisted)
    return said + _changed(debate, votes)


def _reasons(ballots: Any) -> list[str]:
    found = (next((ballot[name] for name in _REASONS if ballot.get(name)), None) for ballot in ballots)
    return [sanitize.one_line(reason) for reason in found if reason]


def _changed(debate: DebateState, votes: Sequence[Vote]) -> list[str]:
    """Whose votes changed when the sides were exchanged."""
    said = []
    for vote in votes:
        if vote.stable or vote.absent:
            continue
        first, last = (wording.winner_word(one.winner) for one in vote.readings)
        labels = [one.label for one in vote.readings if one.label]
        pair = " and ".join(map(sanitize.one_line, labels)) if len(set(labels)) > 1 else f"{first} and {last}"
        said.append(f"{debate.format.name_of(vote.judge)} changed when the sides were exchanged ({pair}): no vote.")
    return said


def _decided(debate: DebateState) -> list[str]:
    """The final verdict."""
    verdict, rules = debate.verdict(), debate.format
    if verdict is None:
        return []
    said = [rules.labels.final, wording.outcome_line(verdict, rules)]
    labelled = wording.is_labelled(verdict.panel)
    if len(verdict.panel) > 1 and not labelled:
        said.append(f"Judges' votes: {wording.tally(verdict.votes)}.")
    if lost := wording.shortfall(verdict.panel, verdict.quorum, rules.name_of):
        said.append(lost)
    said += _changed(debate, verdict.panel)
    if verdict.swing and not labelled:
        gains = ", ".join(f"{rules.name_of(side)} {n:+d}" for side, n in verdict.swing.items())
        said.append(f"Votes gained by the debate: {gains}.")
    return said + _reasons(ballot.ballot for ballot in debate.finals())


def _dissent(debate: DebateState, turn: Turn) -> Iterator[str]:
    """The count of the dissent record."""
    ballot = debate.ballot(turn.id)
    if ballot is not None and "rows" in ballot.ballot:
        found = ballot.ballot["rows"]
        still = sum(row["status"] == "unresolved" for row in found)
        claims = "1 disputed claim" if len(found) == 1 else f"{len(found)} disputed claims"
        yield f"Dissent record: {claims}, {still} unresolved."
