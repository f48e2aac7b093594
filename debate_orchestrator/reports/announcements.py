"""What a debate announces while it runs: banners, scores, interventions. One list for every screen."""

from __future__ import annotations

from debate_orchestrator import speech
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Declined
from debate_orchestrator.core.rules import Turn
from debate_orchestrator.reports.story import outcome_line, score_line, stand_ins


def announcements(debate: Debate) -> list[str]:
    """Everything announced so far, in order, word for word. It only ever grows at its end."""
    labels = debate.format.labels
    said: list[str] = []
    if names := stand_ins(debate, debate.opened.cast):
        said.append(f"Rehearsal: stand-ins speak for {', '.join(names)}, and what they say means nothing.")
    begun = 0
    for stage in debate.stages():
        first = stage[0]
        if first.round is not None and first.round > begun:
            begun = first.round
            said.append(labels.round.format(round=begun, rounds=debate.rounds))
        if first.phase.on is not None:
            said += _intervention(debate, stage)
        if any(turn.id not in debate.answers for turn in stage):
            break
        said += [line for turn in stage for line in _about(debate, turn)]
        if first.judging and first.round is not None and debate.shape(first) is not None:
            said += _scored(debate, first.round)
        if first.closing and debate.shape(first) is not None:
            said += _decided(debate, stage)
    return said


def _intervention(debate: Debate, stage: tuple[Turn, ...]) -> list[str]:
    round = stage[0].round or 0
    names = " and ".join(debate.format.name_of(turn.seat) for turn in stage)
    signs = ", ".join(debate.finding(round).criteria) or "as in the recorded debate"
    return [debate.format.labels.intervention.format(round=round), f"{names}: forced divergence ({signs})"]


def _about(debate: Debate, turn: Turn) -> list[str]:
    name = debate.format.name_of(turn.seat)
    if isinstance(debate.answers[turn.id], Declined):
        return [f"{name} declined to argue ({turn.id})."]
    if debate.concedes(turn):
        return [f"{name} conceded the debate ({turn.id})."]
    return []


def _scored(debate: Debate, round: int) -> list[str]:
    result = debate.result(round)
    if result is None:
        return [f"Round {round}: no ballot counts."]
    said = [f"Scores: {score_line(result)}"]
    said += [speech.one_line(reason) for one in debate.ballots(round) if (reason := one.ballot.get("justification"))]
    if round in debate.persisted():
        said.append(debate.format.labels.persisted)
    return said


def _decided(debate: Debate, stage: tuple[Turn, ...]) -> list[str]:
    """The final verdict, or the count of the dissent record."""
    ballots = [ballot for turn in stage if (ballot := debate.ballot(turn.id)) is not None]
    verdict = debate.verdict()
    said: list[str] = []
    for ballot in ballots:
        if "winner" in ballot.ballot and verdict is not None:
            said += [] if said else [debate.format.labels.final, outcome_line(verdict, debate.format.name_of)]
            said.append(speech.one_line(ballot.ballot.get("justification", "")))
        elif "rows" in ballot.ballot:
            rows = ballot.ballot["rows"]
            still = sum(row["status"] == "unresolved" for row in rows)
            claims = "1 disputed claim" if len(rows) == 1 else f"{len(rows)} disputed claims"
            said.append(f"Dissent record: {claims}, {still} unresolved.")
    return said
