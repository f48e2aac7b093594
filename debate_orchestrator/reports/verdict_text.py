"""The verdict of a story in words: its fields, what they mean, how they were worked out, and the summary of rounds."""

from __future__ import annotations

from collections.abc import Iterator

from debate_orchestrator.core.phases import CONSENSUS, NO_DECISION, TIE
from debate_orchestrator.core.verdict import Remark, Verdict
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.rich_text import Phrase, Table, joined, literal, phrase, resting, strong
from debate_orchestrator.reports.wording import winner_word
from debate_orchestrator.util.numbers import decimals, percent

_REMARKS: dict[Remark, str] = {
    "winner is behind on points": (
        "The declared winner is behind on points: the declaration and the scores disagree, and both stand."
    ),
    "scores are equal": "The totals are equal: the declaration alone decides.",
    "tie declared on unequal scores": "A tie was declared although the totals differ; both stand.",
    "strength differs from the judge's word": (
        "The judge's own word for the strength differs from what the scores give."
    ),
    "concession overrides the declared winner": (
        "A side conceded its whole position; by rule that ends in consensus, whatever was declared."
    ),
    "consensus without a finding": (
        "The judge declared consensus although no round was flagged as converging after an intervention."
    ),
    "judges disagree": "The judges do not agree on the winner.",
}
_UNDECLARED: dict[Remark, str] = {
    "tie declared on unequal scores": "The votes are equal and the mean scores are not; by rule the votes decide.",
    "winner is behind on points": "The winner has more votes and fewer points; by rule the votes decide.",
    "scores are equal": "The mean scores are equal: the votes alone decide.",
}
"""The same where nobody declares a winner."""
_FIRMLY = {"decisive": " decisively", "narrow": " narrowly"}


def headline(story: ReportModel) -> list[tuple[str, Phrase]]:
    """The fields at the head of the verdict, each a name and a value."""
    verdict = story.verdict
    if verdict is None:
        undecided = "not decided, since no final ballot counts" if story.status == "complete" else "not decided yet"
        names = ["Label", "Score"] if story.judging.labelled else ["Winner"]
        return [
            (name, phrase(undecided))
            for name in [*names, *(["Strength", "Overall Scores"] if _measured(story) else [])]
        ]
    return list(_labelled(story, verdict) if story.judging.labelled else _won(story, verdict))


def _measured(story: ReportModel) -> bool:
    return story.judging.measured


def _labelled(story: ReportModel, verdict: Verdict) -> Iterator[tuple[str, Phrase]]:
    label = wording.label_of(verdict)
    yield "Label", literal(label) if label else phrase(NO_DECISION)
    yield "Score", phrase(story.judging.scales.of(verdict.score if label else None, " / "))


def _won(story: ReportModel, verdict: Verdict) -> Iterator[tuple[str, Phrase]]:
    yield "Winner", phrase(winner_word(verdict.winner))
    if story.judging.answers and verdict.winner in story.positions:
        yield "Answer", literal(story.positions[verdict.winner])
    if verdict.probability is not None:
        yield "Probability", phrase(story.judging.scales.likely(verdict.probability))
    if verdict.strength is not None or _measured(story):
        yield "Strength", phrase(verdict.strength or "none")
    if _measured(story):
        totals = [f"{story.seats[side]}: {decimals(total)}" for side, total in verdict.totals.items()]
        yield "Overall Scores", phrase(" | ".join(totals) if story.scored else "none, since no round was scored")


def outcome(story: ReportModel) -> Phrase:
    """What was decided, in a sentence or two for somebody who reads nothing else."""
    verdict = story.verdict
    if verdict is None:
        return ()
    if story.judging.labelled:
        return _of_label(story, verdict)
    said: list[str | Phrase] = [_of_winner(story, verdict)]
    if "winner" in story.judging.round_fields or story.judging.scores_rounds:
        said.append(_of_rounds(story, verdict))
    if len(verdict.panel) > 1:
        said.append(f"Judges' votes: {wording.tally(verdict.votes)}.")
    if story.judging.by_swing and verdict.swing:
        gained = ", ".join(f"{story.seats[side]} {votes:+d}" for side, votes in verdict.swing.items())
        said.append(f"It is decided by the votes gained since the first word: {gained}.")
    return joined(" ", filter(None, said))


def _of_rounds(story: ReportModel, verdict: Verdict) -> str:
    """Who won how many rounds; that the final ballot stands alone, where no round counts."""
    if any(one.result for one in story.told):
        won = [f"{story.seats[side]} {verdict.rounds_won[side]}" for side in story.positions]
        return f"Rounds won: {', '.join(won)}, tied {verdict.rounds_won[TIE]}."
    if verdict.winner == NO_DECISION or story.conceded:
        return ""
    ballots, done = "ballots" if len(verdict.panel) > 1 else "ballot", "scored" if _measured(story) else "voted on"
    return f"It was decided on the final {ballots} alone, since no round was {done}."


def _of_winner(story: ReportModel, verdict: Verdict) -> Phrase:
    if verdict.winner in story.positions:
        position, name = literal(story.positions[verdict.winner].rstrip(".")), story.seats[verdict.winner]
        if story.judging.answers:
            likely = verdict.probability
            held = "" if likely is None else f", held {story.judging.scales.likely(likely)} likely"
            return phrase(strong(f"{name}'s answer was chosen{held}:"), " ", position, ".")
        return phrase(strong(f"{name} prevailed{_how(story, verdict)}"), ", arguing: ", position, ".")
    if verdict.winner == TIE:
        return strong("Neither side prevailed.")
    if verdict.winner == CONSENSUS:
        who = f": {_who_conceded(story)}." if story.conceded else "."
        return phrase(strong("The sides ended in consensus"), who)
    return phrase(strong("Nothing was decided."), f" {_why_not(story, verdict)}")


def _how(story: ReportModel, verdict: Verdict) -> str:
    """How firmly a side prevailed, by the points; by the votes, where several judges give none."""
    if "winner is behind on points" in verdict.remarks:
        return ", though behind on points"
    if verdict.strength in _FIRMLY and story.scored:
        return _FIRMLY[verdict.strength]
    if len(verdict.panel) > 1 and not story.judging.by_swing:
        won = verdict.votes.get(verdict.winner, 0)
        lost = sum(verdict.votes.get(side, 0) for side in story.positions if side != verdict.winner)
        return f" by {won} vote{'s' * (won != 1)} to {lost}"
    return ""


def _why_not(story: ReportModel, verdict: Verdict) -> str:
    said = wording.shortfall(verdict.panel, verdict.quorum, story.seats.__getitem__)
    return said or "No vote before the debate counts, so that nothing can have been gained by it."


def _of_label(story: ReportModel, verdict: Verdict) -> Phrase:
    """What a label comes to."""
    label = wording.label_of(verdict)
    if label is None:
        few = wording.shortfall(verdict.panel, verdict.quorum, story.seats.__getitem__)
        return phrase(strong("No label stands."), f" {few or 'No label was given by more judges than any other.'}")
    counts = story.judging.winner_of.get(label, verdict.winner)
    if counts in story.seats:
        meant = f"for {story.seats[counts]}"
    else:
        meant = "as a tie" if counts == TIE else "for neither side"
    score = "" if verdict.score is None else f" ({story.judging.scales.of(verdict.score)})"
    said = phrase(
        strong("The verdict: ", literal(label), f"{score}."), f" Where sides are counted, that counts {meant}."
    )
    if len(verdict.panel) > 1:
        labels = [vote.label for vote in verdict.panel if vote.label is not None]
        tally = joined(", ", [phrase(literal(one), f" {labels.count(one)}") for one in dict.fromkeys(labels)])
        said = phrase(said, " Judges' labels: ", tally, ".")
    return said


def _who_conceded(story: ReportModel) -> str:
    who = both(story) if story.conceded == "both" else story.seats[str(story.conceded)]
    return f"{who} conceded the whole position after {story.completed} judged round{'s' * (story.completed != 1)}"


def both(story: ReportModel) -> str:
    """What both sides are called together: `both researchers`."""
    kinds = {story.seats[side].rpartition(" ")[0].lower() for side in story.names}
    return f"both {kinds.pop()}s" if len(kinds) == 1 and "" not in kinds else "both sides"


def remarks(story: ReportModel) -> list[str]:
    """What a reader should know of how the declarations and the numbers go together."""
    if story.verdict is None or story.judging.labelled:
        return []
    declared = "winner" in story.judging.final_fields
    said = _REMARKS if declared else {**_REMARKS, **_UNDECLARED}
    return [said[one] for one in story.verdict.remarks if one in said]


def worked_out(story: ReportModel) -> str:
    """How the numbers come about; empty where there are none."""
    verdict, judging = story.verdict, story.judging
    if verdict is None or not judging.measured:
        return ""
    apart = f"the totals differ by {percent(verdict.gap)} of the larger one. " if verdict.gap is not None else ""
    strength = (
        f"How the strength is worked out: {apart}Decisive is a lead of over 20%, consensus is declared or conceded, "
        f"narrow is everything else.{' A tie has none.' if verdict.winner == TIE else ''}"
    )
    weights = ", by their weights" if len(set(judging.weights.values())) > 1 else ""
    shown = "both are rounded only to be shown, so the shown ones may seem to be off by 0.01."
    if judging.scores_rounds:
        scores = f"A round score is the mean of its criteria{weights}, a total the sum of the round scores;"
        return f"{strength} {scores} {shown}"
    voted = "" if "winner" in judging.final_fields else " A judge's vote is for the side with the better score."
    scores = f"A side's score on a ballot is the mean of its criteria{weights}, a total the mean over the judges;"
    return f"{strength}{voted} {scores} {shown}"


def summary(story: ReportModel) -> Table:
    """The table of rounds: scores, or labels, or winners."""
    sides, told = list(story.names), [one for one in story.told if one.result]
    heads: list[Phrase] = [phrase("Round")]
    if story.judging.scores_rounds:
        heads += [phrase(literal(story.seats[side]), " Score") for side in sides] + [phrase("Winner")]
    else:
        heads += map(phrase, ["Label", "Score"] if story.judging.labelled else ["Winner"])
    rows = []
    for one in told:
        result = one.result
        assert result is not None
        ballot = one.ballots[0].id if one.ballots else None
        number, winner = phrase(str(one.number)), resting(phrase(winner_word(result.winner)), ballot)
        if story.judging.scores_rounds:
            points = [phrase(decimals(result.scores[side]) if result.scores else "none") for side in sides]
            rows.append((number, *(resting(points_of, ballot) for points_of in points), winner))
        elif story.judging.labelled:
            label = one.label(story.judging.quorum)
            score = story.judging.scales.of(result.score if label else None, " / ")
            said = literal(label) if label else phrase(NO_DECISION)
            rows.append((number, resting(said, ballot), resting(phrase(score), ballot)))
        else:
            rows.append((number, winner))
    if story.verdict and story.judging.scores_rounds:
        totals = [decimals(story.verdict.totals[side]) if story.scored else "none" for side in sides]
        rows.append(tuple(map(strong, ("Total", *totals, winner_word(story.verdict.winner)))))
    return Table(tuple(heads), tuple(rows))
