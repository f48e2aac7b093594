"""Counts ballots: votes, convergence findings, round results, totals and the verdict, each a function over the state.

The result of a round is worked out once, when the last judge of its panel has voted: nothing changes it afterwards.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from fractions import Fraction
from typing import Any

from debate_orchestrator.core.events import ReplyEvent, StructuredReplyGiven
from debate_orchestrator.core.phases import (
    AFTER_ROUNDS,
    BEFORE_ROUNDS,
    CONSENSUS,
    MIRRORED,
    NO_NEW_GROUND,
    PRE_DEBATE_VOTE,
    Slot,
)
from debate_orchestrator.core.shape import Shape
from debate_orchestrator.core.state import BallotTurns, DebateState, JudgedRound, Stage
from debate_orchestrator.core.verdict import (
    Convergence,
    ParsedBallot,
    RoundResult,
    Verdict,
    Vote,
    final_verdict,
    find_convergence,
    majority_concession,
    mean,
    only_stand_ins_voted,
    read_ballot,
    round_result,
    score_totals,
    without_stand_ins,
)
from debate_orchestrator.util import model_spec


def ballots(debate: DebateState, round: int) -> list[StructuredReplyGiven]:
    """The ballots of the judges who are not absent in a round, in the order of the panel: those on the debate as it
    was, not those on the mirrored one. It is empty before the whole panel has voted."""
    return _ballots(debate, _round_votes(debate, round))


def final_ballots(debate: DebateState) -> list[StructuredReplyGiven]:
    return _ballots(debate, _votes(debate, debate.plan.sections.get(AFTER_ROUNDS, ())))


def _ballots(debate: DebateState, all_votes: Sequence[Vote]) -> list[StructuredReplyGiven]:
    present = [vote for vote in all_votes if not vote.absent]
    return [ballot for vote in present if (ballot := debate.structured_reply(vote.turn_id)) is not None]


def judge_findings(debate: DebateState, round: int) -> list[dict[str, Any]]:
    """The findings of each judge who is not absent in a round: convergence, a concession, no new ground. A judge who
    saw the debate twice finds only what both ballots say. It is empty before the whole panel has voted."""
    round_votes, stand_ins_decide = _round_votes(debate, round), debate.opened.stand_in_findings_decide
    present = [vote for vote in round_votes if not (vote.is_incomplete if stand_ins_decide else vote.absent)]
    return [_vote_findings(debate, vote) for vote in present]


def issue_rulings(debate: DebateState, round: int) -> list[dict[str, str]]:
    """Issue to who has the better of it, by each judge of a round whose ballot says so. A judge who saw the debate
    twice rules on the issues on which both ballots agree."""
    rulings = []
    for vote in votes(debate, round):
        if not vote.absent:
            first, *others = map(_rulings, _ballots_of(debate, vote))
            agreed = (issue for issue in first if all(other.get(issue) == first[issue] for other in others))
            rulings.append({issue: first[issue] for issue in agreed})
    return list(filter(None, rulings))


def _rulings(ballot: Mapping[str, Any]) -> Mapping[str, Any]:
    rulings = ballot.get("issues")
    return rulings if isinstance(rulings, Mapping) else {}


def _ballots_of(debate: DebateState, vote: Vote) -> list[Mapping[str, Any]]:
    """The ballot of a vote on the debate as it was, and the one on the mirrored debate, with the sides' own names."""
    shape = debate.shape(debate.turns_reached[vote.turn_id]) or {}
    ballots = [debate.structured_reply(turn_id) for turn_id in (vote.turn_id, vote.turn_id + MIRRORED)]
    return [in_original_names(debate, shape, ballot) for ballot in ballots if ballot is not None]


def _vote_findings(debate: DebateState, vote: Vote) -> dict[str, Any]:
    first, *others = _ballots_of(debate, vote)
    return {
        name: first.get(name)
        for name in ("convergence", "conceded", NO_NEW_GROUND)
        if all(_comparable(name, other) == _comparable(name, first) for other in others)
    }


def _comparable(name: str, ballot: Mapping[str, Any]) -> Any:
    """The part of a finding that two ballots must share to agree: of convergence, whether it is there and who moves."""
    if name != "convergence":
        return ballot.get(name)
    convergence = ballot.get(name) or {}
    return bool(convergence.get("detected")), convergence.get("side")


def votes(debate: DebateState, round: int) -> list[Vote]:
    """Each judge's vote on a round, also of absent judges; empty before the whole panel has voted."""
    return _with_left_out_marked(debate, _round_votes(debate, round))


def final_votes(debate: DebateState) -> list[Vote]:
    return _with_left_out_marked(debate, _votes(debate, debate.plan.sections.get(AFTER_ROUNDS, ())))


def pre_debate_votes(debate: DebateState) -> list[Vote]:
    """Each judge's pre-debate vote; empty if the format does not ask."""
    return _with_left_out_marked(debate, _votes(debate, debate.plan.sections.get(BEFORE_ROUNDS, ())))


def includes_stand_ins(debate: DebateState) -> bool:
    """Whether what stand-ins wrote is not left out: in a debate that no one else judged, and in which no speaker
    conceded."""
    all_votes = [vote for slot_votes in debate.votes.values() for vote in slot_votes]
    return not debate.conceding_turns and only_stand_ins_voted(all_votes)


def is_left_out(debate: DebateState, reply: ReplyEvent) -> bool:
    """Whether a stand-in wrote a reply, and what stand-ins wrote is left out."""
    return model_spec.is_stand_in(reply.reply.spec) and not includes_stand_ins(debate)


def _with_left_out_marked(debate: DebateState, votes: Sequence[Vote]) -> list[Vote]:
    return [*votes] if includes_stand_ins(debate) else without_stand_ins(votes)


def _round_votes(debate: DebateState, round: int) -> list[Vote]:
    """The votes on a round as they were when it was judged: by them the debate went on."""
    return _votes(debate, debate.plan.sections.get((round, False), ()))


def _votes(debate: DebateState, slots: Sequence[Slot]) -> list[Vote]:
    slot_ids = [slot.id for slot in slots if slot.id in debate.plan.ballot_turns]
    if any(slot_id not in debate.votes for slot_id in slot_ids):
        return []
    return [vote for slot_id in slot_ids for vote in debate.votes[slot_id]]


def votes_in(debate: DebateState, slot_id: str) -> list[Vote] | None:
    """The votes of one phase, read from its ballots; None before the whole panel has voted in it."""
    every_judge = debate.plan.ballot_turns[slot_id]
    if any(turn_id not in debate.replies for ballot_turns in every_judge for turn_id in ballot_turns.turns):
        return None
    votes = [_vote(debate, ballot_turns) for ballot_turns in every_judge]
    return votes if only_stand_ins_voted(votes) else without_stand_ins(votes)


def _vote(debate: DebateState, ballot_turns: BallotTurns) -> Vote:
    parsed_ballots = [_parsed_ballot(debate, ballot_turns.shape, turn_id) for turn_id in ballot_turns.turns]
    shown_mirrored = len(parsed_ballots) > 1
    return Vote(
        judge=ballot_turns.judge,
        turn_id=ballot_turns.turns[0],
        original=parsed_ballots[0],
        mirrored=parsed_ballots[1] if shown_mirrored else None,
        shown_mirrored=shown_mirrored,
        cast_by=frozenset(filter(None, (debate.replies[turn_id].reply.spec for turn_id in ballot_turns.turns))),
    )


def _parsed_ballot(debate: DebateState, shape: Shape, turn_id: str) -> ParsedBallot | None:
    """The content of a ballot with the sides as they are; None if the turn has none that could be used."""
    if (ballot := debate.structured_reply(turn_id)) is None:
        return None
    return read_ballot(
        in_original_names(debate, shape, ballot), debate.format.sides, debate.weights, debate.format.winner_of
    )


def in_original_names(debate: DebateState, shape: Shape, ballot: StructuredReplyGiven) -> dict[str, Any]:
    """A ballot with the sides as they are: one on the mirrored debate is mirrored back."""
    return debate.mirror.structured_reply(shape, ballot.data) if ballot.turn_id.endswith(MIRRORED) else ballot.data


def judge_round(debate: DebateState, round: int) -> JudgedRound:
    """The result of a round whose whole panel has voted, and whether it is followed by an intervention."""
    round_votes, format, round_findings = _round_votes(debate, round), debate.format, judge_findings(debate, round)
    found, conceder = find_convergence(round_findings, format.sides), majority_concession(round_findings)
    finds_nothing_new = 2 * sum(finding.get(NO_NEW_GROUND) is True for finding in round_findings) > len(round_findings)
    result = None
    if not all(vote.absent for vote in round_votes):
        quorum, winner_of = debate.opened.settings.quorum, debate.plan.winner_of_label
        result = round_result(round, round_votes, format.sides, quorum, winner_of)
    answering = [slot for slot in debate.plan.sections[round, False] if slot.phase.triggered_by == "convergence"]
    wants_intervention = found.detected and any(not debate.is_skipped(slot) for slot in answering)
    rounds_before = range(round - format.intervention.max_in_a_row, round)
    needs_intervention = (
        wants_intervention and not conceder and not all(debate.judged(n).intervened for n in rounds_before)
    )
    return JudgedRound(found, result, needs_intervention, conceder, finds_nothing_new)


def convergence(debate: DebateState, round: int) -> Convergence:
    """The convergence in a round, as more than half of its judges see it."""
    return debate.judged(round).convergence


def sides_asked_to_diverge(debate: DebateState, round: int) -> tuple[str, ...]:
    """The sides that converged in a round, and so must take the phase `divergence`."""
    earlier_debate = debate.opened.earlier_debate
    return convergence(debate, round).sides if earlier_debate is None else earlier_debate.interventions.get(round, ())


def conceding_side_by_ballots(debate: DebateState, round: int) -> str | None:
    """The side that the judges of a round hold to have given up its whole position; it ends the debate."""
    if (earlier_debate := debate.opened.earlier_debate) is not None and round in debate.judged_rounds:
        return earlier_debate.conceded.get(round)
    return debate.judged(round).conceding_side


def had_intervention(debate: DebateState, round: int) -> bool:
    """Whether a round's convergence is answered by an intervention."""
    if debate.opened.earlier_debate is not None:
        return round in debate.opened.earlier_debate.interventions
    return debate.judged(round).intervened


def converged_again(debate: DebateState, round: int) -> bool:
    """Whether a round converged right after an intervention, and was flagged instead of answered again."""
    return (
        convergence(debate, round).detected
        and had_intervention(debate, round - 1)
        and not had_intervention(debate, round)
    )


def rounds_converged_again(debate: DebateState) -> tuple[int, ...]:
    """The rounds that converged right after an intervention, and were flagged instead of answered again."""
    return tuple(n for n in range(2, debate.rounds + 1) if converged_again(debate, n))


def feedback(debate: DebateState, side: str, round: int) -> list[str]:
    """The judges' feedback from the round before to a side; empty in round 1 or with feedback off."""
    if round < 2 or not debate.opened.settings.feedback:
        return []
    round_ballots = ballots(debate, round - 1)
    return [ballot.data["feedback"][side] for ballot in round_ballots if ballot.data.get("feedback")]


def result(debate: DebateState, round: int) -> RoundResult | None:
    """The scores and the winner of a round; None until it is judged."""
    return debate.judged(round).result


def has_no_usable_ballot(debate: DebateState, round: int) -> bool:
    """Whether a round's panel has had its turns, and every judge of it is absent."""
    return round in debate.judged_rounds and debate.judged_rounds[round].result is None


def is_round_left_out(debate: DebateState, round: int) -> bool:
    """Whether stand-ins alone judged a round, and their votes are left out."""
    judged = result(debate, round)
    return judged is not None and judged.by_stand_ins and not includes_stand_ins(debate)


def result_unless_left_out(debate: DebateState, round: int) -> RoundResult | None:
    """The result of a round; None if it is not judged yet, or is left out."""
    return None if is_round_left_out(debate, round) else result(debate, round)


def results(debate: DebateState) -> list[RoundResult]:
    return [judged for n in range(1, debate.rounds + 1) if (judged := result_unless_left_out(debate, n)) is not None]


def scored_results(debate: DebateState) -> list[RoundResult]:
    """Everything that gave scores: the rounds, and final ballots that score the debate as a whole."""
    final = [vote for vote in final_votes(debate) if vote.scores]
    return [*results(debate), *([round_result(0, final, debate.format.sides)] if final else [])]


def totals(debate: DebateState) -> dict[str, Fraction]:
    """Side to the sum of its scores."""
    return score_totals(scored_results(debate), debate.format.sides)


def criterion_means(debate: DebateState) -> dict[str, dict[str, Fraction]]:
    """Side to criterion to the mean of what judges gave it, over all ballots of judges who are not absent;
    empty without any."""
    points: dict[str, dict[str, list[Fraction]]] = {}
    left_out = {vote.turn_id for vote in _all_votes(debate) if vote.left_out}
    slots = [slot for slot in debate.plan.slots if slot.phase.enabled_by != PRE_DEBATE_VOTE]
    for ballot_turns in [one for slot in slots for one in debate.plan.ballot_turns.get(slot.id, ())]:
        shape, turns = ballot_turns.shape, ballot_turns.turns
        judge_ballots = [ballot for turn_id in turns if (ballot := debate.structured_reply(turn_id)) is not None]
        is_present = len(judge_ballots) == len(turns) and turns[0] not in left_out
        for ballot in judge_ballots if "scores" in shape and is_present else ():
            scores = in_original_names(debate, shape, ballot)["scores"]
            for side in debate.format.sides:
                side_points = points.setdefault(side, {})
                for name in debate.criteria:
                    side_points.setdefault(name, []).append(Fraction(str(scores[side][name])))
    return {side: {name: mean(values) for name, values in side_points.items()} for side, side_points in points.items()}


def flipped_votes(debate: DebateState) -> tuple[int, int]:
    """The number of votes that flipped on the mirrored debate, and of those that the same judge also cast on it. A
    pre-debate vote is on the positions alone, and is none of them."""
    before = {vote.turn_id for vote in pre_debate_votes(debate)}
    cast_both_ways = [vote for vote in _all_votes(debate) if vote.is_cast_both_ways and vote.turn_id not in before]
    return sum(not vote.stable for vote in cast_both_ways), len(cast_both_ways)


def _all_votes(debate: DebateState) -> list[Vote]:
    return _with_left_out_marked(debate, [vote for slot_votes in debate.votes.values() for vote in slot_votes])


def results_of(debate: DebateState, ballot_ids: Container[str]) -> list[RoundResult]:
    """The round results that these ballots of one judge make. Ballots are named by their turns; mirrored ones are read
    with the sides as they are."""
    results: list[RoundResult] = []
    for n in range(1, debate.rounds + 1):
        own_votes = [
            Vote(judge=vote.judge, turn_id="", original=parsed_ballot)
            for vote in _round_votes(debate, n)
            for turn_id, parsed_ballot in ((vote.turn_id, vote.original), (vote.turn_id + MIRRORED, vote.mirrored))
            if turn_id in ballot_ids and parsed_ballot is not None
        ]
        results += [round_result(n, own_votes, debate.format.sides)] if own_votes else []
    return results


def conceding_sides(debate: DebateState, stage: Stage) -> tuple[str, ...]:
    """The sides that conceded in this stage: by their own word, or by the ballots of a round that is voted on."""
    by_speech = tuple(turn.seat for turn in stage if turn.id in debate.conceding_turns)
    first = stage[0]
    if by_speech or first.round is None or "conceded" not in (debate.shape(first) or {}):
        return by_speech
    if debate.plan.voting_turn_ids.get(first.round, ())[-1:] != (stage[-1].id,) or stage[-1].id not in debate.replies:
        return ()  # judges of a panel may vote one after another: the last of them ends it
    conceder = conceding_side_by_ballots(debate, first.round)
    return (conceder,) if conceder else ()


def conceding_side(debate: DebateState) -> str | None:
    """The side that gave up its whole position; `both` if both did so at once; None otherwise. In a debate that is
    judged again it counts only if the new ballots find it too."""
    for stage in debate.stages:
        if all(turn.id in debate.replies for turn in stage) and (sides := conceding_sides(debate, stage)):
            by_speech = any(turn.id in debate.conceding_turns for turn in stage)
            if not by_speech and debate.judged(stage[0].round or 0).conceding_side not in sides:
                return None
            return sides[0] if len(sides) == 1 else "both"
    return None


def deciding_conceders(debate: DebateState) -> tuple[str, ...]:
    """The sides whose concession decided the debate: by their own word, or by ballots with a quorum."""
    conceder, final = conceding_side(debate), verdict(debate)
    if conceder is None or not (debate.conceding_turns or (final and final.winner == CONSENSUS)):
        return ()
    return debate.format.sides if conceder == "both" else (conceder,)


def unopposed_side(debate: DebateState) -> str | None:
    """The side whose position stands, since the other one conceded and that decided the debate; None without one."""
    conceders = deciding_conceders(debate)
    others = [side for side in debate.format.sides if side not in conceders]
    return others[0] if conceders and len(others) == 1 else None


def verdict(debate: DebateState) -> Verdict | None:
    """The verdict from the final ballots and the scores; None until there is a final ballot.
    `winner.deciding_verdict` says whether it decides anything."""
    if not final_ballots(debate):
        return None
    last_votes = final_votes(debate)
    strengths = [ballot.data.get("strength") for ballot in _ballots(debate, last_votes)]
    return final_verdict(
        last_votes,
        scored_results(debate),
        debate.format.sides,
        quorum=debate.opened.settings.quorum,
        pre_debate_votes=pre_debate_votes(debate),
        by_swing=debate.format.decided_by == "swing",
        winner_of=debate.plan.winner_of_label,
        has_scores=any("scores" in shape for shape in debate.format.shapes.values()),
        concession=conceding_side(debate),
        conceded_by_speech=bool(debate.conceding_turns),
        converged_again=bool(rounds_converged_again(debate)),
        strengths=[word for word in strengths if word is not None],
    )
