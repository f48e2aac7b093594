"""The verdict of a report in words: its fields, what they mean, how they were worked out, the summary of rounds, the
earlier verdict beside it, and what page one says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core.phases import CONSENSUS, NEITHER_SIDE, NO_DECISION, TIE
from debate_orchestrator.core.positions import affirms, denies
from debate_orchestrator.core.verdict import VerdictRemark, is_one_judge, leader
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.decision_brief import RESOLVED, UNRESOLVED, full_stop, untouched_issues
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import DisputedClaim, VerdictReport
from debate_orchestrator.reports.provenance import DEGRADED, ONE_ROUND
from debate_orchestrator.reports.rich_text import (
    Phrase,
    PhraseTable,
    as_written,
    cite,
    phrase,
    quotation,
    strong,
)
from debate_orchestrator.reports.wording import winner_word
from debate_orchestrator.util.errors import join_names
from debate_orchestrator.util.numbers import decimals, percent, plural

_REMARKS: dict[VerdictRemark, str] = {
    "winner is behind on points": (
        "The declared winner is behind on points: the declaration and the scores disagree, and both stand."
    ),
    "scores are equal": "The totals are equal: the declaration alone decides.",
    "tie declared on unequal scores": "A tie was declared although the totals differ; both stand.",
    "strength differs from the judge's word": (
        "The scores give {strength}; a judge's own word for the strength is {words}."
    ),
    "concession overrides the declared winner": (
        "A side conceded its whole position; by rule that ends in consensus, whatever was declared."
    ),
    "consensus without repeated convergence": (
        "Consensus was declared although no round was flagged as converging after an intervention."
    ),
    "judges disagree": "The judges do not agree on the winner.",
}
_UNDECLARED: dict[VerdictRemark, str] = {
    "tie declared on unequal scores": "The votes are equal and the totals are not; by rule the votes decide.",
    "winner is behind on points": "The winner has more votes and fewer points; by rule the votes decide.",
    "scores are equal": "The totals are equal: the votes alone decide.",
}
"""The same where no judge declared the winner: it follows from scores, or is a tie of votes for either side."""
_BY_SWING: dict[VerdictRemark, str] = {
    **_UNDECLARED,
    "tie declared on unequal scores": "The totals differ; by rule the votes gained decide, and they make a tie.",
    "winner is behind on points": "The winner gained more votes and has fewer points; by rule the votes gained decide.",
}
"""The same where the side that gained more votes wins."""
_NO_WINNER = {
    TIE: "The judges saw neither side argue better",
    CONSENSUS: "The debate ended in consensus, so neither side won",
    NO_DECISION: "The judges came to no decision on who argued better",
    None: "There is no verdict on who argued better",
}
"""The outcome of a debate that neither side won; None if there is no verdict."""


def verdict_lines(report: ReportModel) -> list[tuple[str, Phrase]]:
    """The fields at the head of the verdict, each a name and a value."""
    if report.why_nothing_decided and report.shown_verdict:
        return [("Label" if report.judging.labelled else "Winner", phrase(f"none, since {report.why_nothing_decided}"))]
    if report.verdict is not None:
        fields = _label_fields if report.judging.labelled else _winner_fields
        return list(fields(report, report.verdict))
    undecided = "not decided, since no final ballot counts" if report.status == "complete" else "not decided yet"
    names = ["Label", "Score"] if report.judging.labelled else ["Winner"]
    names += ["Strength", "Overall Scores"] if report.judging.has_scores else []
    return [(name, phrase(undecided)) for name in names]


def _label_fields(report: ReportModel, verdict: VerdictReport) -> Iterator[tuple[str, Phrase]]:
    yield "Label", as_written(verdict.label) if verdict.label else phrase(NO_DECISION)
    yield "Score", phrase(report.judging.scales.with_scale(verdict.claim_score if verdict.label else None, " / "))


def _winner_fields(report: ReportModel, verdict: VerdictReport) -> Iterator[tuple[str, Phrase]]:
    yield "Winner", phrase(winner_word(verdict.winner))
    if report.positions_are_answers and verdict.winner in report.positions:
        yield "Answer", as_written(report.positions[verdict.winner])
    if verdict.win_probability is not None:
        of = f", by the {_FOR_IT}" if _is_contested(verdict) else ""
        yield f"Probability{of}", phrase(percent(verdict.win_probability))
    if verdict.strength is not None or report.judging.has_scores:
        yield "Strength", phrase(verdict.strength or "none")
    if report.judging.has_scores:
        totals = [f"{report.seats[side]}: {decimals(total)}" for side, total in verdict.totals.items()]
        yield "Overall Scores", phrase(" | ".join(totals) if totals else "none, since no round was scored")


def result_line(report: ReportModel) -> str:
    """Who argued better, how reliable that is, and whether the decision brief follows it; empty without a result."""
    if report.why_nothing_decided and report.shown_decision_brief:
        return wording.no_winner(report.why_nothing_decided)
    decision_brief = report.decision_brief
    if decision_brief is None:
        return ""
    mirrored_text = {True: "yes", False: "no", None: "not tried"}[decision_brief.held_mirrored]
    sentences = [who_argued_better(report), f"Same result with the sides swapped: {mirrored_text}"]
    if decision_brief.judges_for is not None:
        sentences.append("Judges for this result: {} of {}".format(*decision_brief.judges_for))
    if decision_brief.differs and decision_brief.sides_with:
        sentences.append(
            f"The recommendation goes against that, and comes closest to {report.names[decision_brief.sides_with]}"
        )
    return ". ".join(sentences) + "."


def who_argued_better(report: ReportModel) -> str:
    """The side that argued better by the verdict, without a full stop."""
    verdict = report.verdict
    if verdict is None or verdict.winner not in report.names:
        if verdict and report.unopposed:
            return f"The debate ended in consensus, on the position of {report.names[report.unopposed]}"
        if verdict and _is_tie_of_votes(report, verdict):
            return f"As many judges voted for {' as for '.join(report.names.values())}"
        if verdict and verdict.winner == TIE and report.judging.decided_by_swing:
            return "Neither side won by the votes that the debate gained"
        return _NO_WINNER[verdict.winner if verdict else None]
    name, firmly = report.names[verdict.winner], f" ({verdict.strength})" if verdict.strength else ""
    if verdict.winner_is_behind:
        how = "was declared the winner" if _is_declared(report, verdict) else "won by the judges' votes"
        how = "gained more votes" if report.judging.decided_by_swing else how
        return f"{name} {how}{firmly}, though behind on points"
    return f"{name} argued better{firmly}"


def concession(report: ReportModel) -> Phrase:
    """The side that conceded the whole position, in which turn, and the position that stands; empty if no side did, or
    too few judges say so."""
    conceding = [turn for turn in report.turns if turn.concedes]
    turns = [turn.id for turn in conceding if report.conceded in (turn.seat, "both")]
    later = {turn.seat: turn.id for turn in reversed(conceding) if turn.id not in turns}
    if report.conceded is None or not (conceding or (report.verdict and report.verdict.winner == CONSENSUS)):
        return ()
    seats = "Both sides" if report.conceded == "both" else report.seats[report.conceded]
    where = f"in {join_names(turns)}" if turns else f"by the ballots of round {report.rounds_completed}"
    others = "".join(f" {report.seats[side]} conceded later, in {turn}." for side, turn in later.items())
    conceded = phrase(f"{seats} conceded the whole position {where}.{others}")
    if unopposed := report.unopposed:
        stands = f" The position of {report.seats[unopposed]} stands unopposed: "
        return phrase(conceded, stands, quotation(full_stop(report.positions[unopposed])))
    return conceded


def _is_tie_of_votes(report: ReportModel, verdict: VerdictReport) -> bool:
    """Whether there is a tie since as many judges voted for one side as for the other."""
    voted_for_sides = any(outcome not in NEITHER_SIDE for outcome in verdict.vote_counts)
    return verdict.winner == TIE and voted_for_sides and not report.judging.decided_by_swing


def _is_declared(report: ReportModel, verdict: VerdictReport) -> bool:
    return "winner" in report.judging.final_fields and not _is_tie_of_votes(report, verdict)


def remarks(report: ReportModel) -> list[str]:
    """Notes on how the declarations and the numbers go together."""
    if report.verdict is None or report.judging.labelled:
        return []
    is_declared = _is_declared(report, report.verdict)
    changed_texts = _BY_SWING if report.judging.decided_by_swing else {} if is_declared else _UNDECLARED
    texts = {**_REMARKS, **changed_texts}
    strength = report.verdict.strength
    strengths = [turn.fields.get("strength") for turn in report.turns if turn.kind == "ballot" and turn.fields]
    words = " or ".join(dict.fromkeys(word for word in strengths if word not in (None, strength)))
    return [
        texts[remark].format(strength=strength, words=words) for remark in report.verdict.remarks if remark in texts
    ]


def strength_rule(report: ReportModel) -> str:
    """The explanation of the numbers; empty if there are none."""
    verdict, judging = report.verdict, report.judging
    if verdict is None or not judging.has_scores:
        return ""
    whose = ", and the lead is the loser's" if verdict.winner_is_behind else ""
    apart = f"the totals differ by {percent(verdict.gap)} of the larger one{whose}. " if verdict.gap is not None else ""
    strength = (
        f"How the strength is worked out: {apart}Decisive is a winner's lead of over 20%, consensus is declared or "
        "conceded, "
        f"narrow is everything else.{' A tie has none.' if verdict.winner == TIE else ''}"
    )
    weights = ", by their weights" if len(set(judging.weights.values())) > 1 else ""
    rounding = "both are rounded only to be shown, so the shown ones may seem to be off by 0.01."
    if judging.scores_rounds:
        scores = f"A round score is the mean of its criteria{weights}, a total the sum of the round scores;"
        return f"{strength} {scores} {rounding}"
    voted = "" if "winner" in judging.final_fields else " A judge's vote is for the side with the better score."
    scores = f"A side's score on a ballot is the mean of its criteria{weights}, a total the mean over the judges;"
    return f"{strength}{voted} {scores} {rounding}"


def summary(report: ReportModel) -> PhraseTable:
    """The table of rounds: scores, or labels, or winners."""
    sides, judging = list(report.names), report.judging
    headers: list[Phrase] = [phrase("Round")]
    if judging.scores_rounds:
        headers += [phrase(as_written(report.seats[side]), " Score") for side in sides] + [phrase("Winner")]
    else:
        headers += map(phrase, ["Label", "Score"] if judging.labelled else ["Winner"])
    rows = []
    for round_report in report.rounds:
        if round_report.winner is None:
            continue
        ballot = round_report.ballots[0].id if round_report.ballots else None
        cells = [phrase(winner_word(round_report.winner))]
        if judging.scores_rounds:
            scores = [decimals(round_report.scores[side]) if round_report.scores else "none" for side in sides]
            cells = [*map(phrase, scores), *cells]
        elif judging.labelled:
            score = judging.scales.with_scale(round_report.claim_score if round_report.label else None, " / ")
            cells = [as_written(round_report.label) if round_report.label else phrase(NO_DECISION), phrase(score)]
        # Without scores or labels, links here would only repeat those of the transcript.
        linked = [cite(text, ballot) for text in cells] if judging.scores_rounds or judging.labelled else cells
        rows.append((phrase(str(round_report.number)), *linked))
    verdict = report.shown_verdict
    if verdict and judging.scores_rounds:
        totals = [decimals(verdict.totals[side]) if verdict.totals else "none" for side in sides]
        rows.append(tuple(map(strong, ("Total", *totals, winner_word(verdict.winner)))))
    if verdict and judging.labelled:
        score = judging.scales.with_scale(verdict.claim_score if verdict.label else None, " / ")
        rows.append((strong("Final"), strong(as_written(verdict.label or NO_DECISION)), strong(score)))
    return PhraseTable(tuple(headers), tuple(rows))


NOT_DECIDED = "not decided"


def earlier_verdict(report: ReportModel) -> PhraseTable | None:
    """The decision of the earlier debate, beside that of its re-judging; None if no one had judged it, or
    stand-ins alone."""
    earlier_debate, verdict = report.earlier_debate, report.verdict
    if earlier_debate is None or not earlier_debate.judges:
        return None
    now = verdict.winner if verdict else None
    rows = [
        (
            "Judges",
            as_written(", ".join(earlier_debate.judges)),
            as_written(", ".join(report.public_judge_models)),
        ),
        ("Winner", _winner(earlier_debate.winner, earlier_debate.unopposed), _winner(now, report.unopposed)),
    ]
    if report.judging.has_scores:
        strength = (verdict.strength if verdict else None) or NOT_DECIDED
        rows.append(("Strength", as_written(earlier_debate.strength or NOT_DECIDED), as_written(strength)))
        totals = verdict.totals if verdict else {}
        for side in report.names:
            then = earlier_debate.totals.get(side)
            rows.append((f"Total, {report.seats[side]}", _score(then), _score(totals.get(side))))
    headers = ((), phrase("Earlier"), phrase("Now"))
    return PhraseTable(headers, tuple((as_written(what), *cells) for what, *cells in rows))


def _winner(winner: str | None, unopposed: str | None) -> Phrase:
    return as_written(NOT_DECIDED if winner is None else wording.outcome_word(winner, unopposed))


def _score(score: float | Fraction | None) -> Phrase:
    return phrase("-" if score is None else decimals(Fraction(str(float(score)))))


MAX_OPEN = 2
"""The number of open claims on page one."""
_REASONS = ("summary", "justification", "reasons", "why")
"""The fields of a final ballot that say why, the shortest first."""
_WEAKENING = ("sources", "earlier debate", ONE_ROUND)
"""Kinds of notes that weaken a result although they are no warnings."""


class JudgesReason(NamedTuple):
    """A judge's reasons, in its own words."""

    title: str
    """The label of the reason: `Judge 2`, `Strongest argument, A`."""
    text: str
    turn: str
    """The ballot that gives it."""


class ScoreBar(NamedTuple):
    """The position of the result between A and B, or between the ends of a score."""

    ends: tuple[str, str]
    """The texts at its left and its right end."""
    share: Fraction
    """The left end's part of the whole, 0 to 1."""
    text: str
    """The same in a sentence."""


def open_claims(report: ReportModel) -> tuple[list[tuple[str, DisputedClaim]], str]:
    """The claims in dispute on page one, each with its id, the most disputed first, at most `MAX_OPEN`; and how
    many more there are, with their status, empty if there are none."""
    still_open = [(f"C{n}", row) for n, row in enumerate(report.dissent or (), start=1) if row.status != RESOLVED]
    still_open.sort(key=lambda claim: claim[1].status != UNRESOLVED)
    rest = Counter(row.status or "in dispute" for _, row in still_open[MAX_OPEN:])
    counts = ", ".join(f"{n} {status}" for status, n in rest.items())
    more = f"{sum(rest.values())} more in the dissent record: {counts}" if rest else ""
    return still_open[:MAX_OPEN], more


def outcome(report: ReportModel) -> Phrase:
    """The outcome of the debate, as a sentence about the world. If A alone argues for the topic as it stands, `Yes`
    comes first, and the topic is not repeated; `No` does where the other position is the opposite of the topic."""
    verdict = report.verdict
    if report.why_nothing_decided and report.shown_verdict:
        return phrase(wording.no_winner(report.why_nothing_decided))
    if verdict is None:
        return phrase("No final ballot counts." if report.status == "complete" else "Not decided yet.")
    if report.judging.labelled:
        return (
            phrase("The claim is judged: ", as_written(verdict.label), ".")
            if verdict.label
            else phrase("No label stands.")
        )
    if verdict.winner in report.positions:
        return _winning_position(report, verdict)
    if verdict.winner == TIE:
        return phrase("Neither position prevailed.")
    if verdict.winner == NO_DECISION:
        return phrase("Nothing was decided.")
    positions = [(turn.fields or {}).get("converged_on") for turn in report.valid_final_ballots]
    middle = next((text for text in positions if isinstance(text, str) and text.strip()), "")
    if report.conceded:
        conceded = concession(report)
        return phrase(conceded, " Both converged on: ", quotation(middle)) if middle else conceded
    return quotation(middle) if middle else phrase("Both sides ended in agreement.")


def _winning_position(report: ReportModel, verdict: VerdictReport) -> Phrase:
    position = report.positions[verdict.winner].strip()
    in_quotes = quotation(position)
    affirming = [side for side, position_text in report.positions.items() if affirms(report.topic, position_text)]
    firmly = ", narrowly." if verdict.strength == "narrow" else "."
    if affirming != list(report.positions)[:1]:
        return in_quotes
    if verdict.winner in affirming:
        return phrase(f"Yes{firmly}")
    return phrase(f"No{firmly} ", in_quotes) if denies(report.topic, position) else in_quotes


_FOR_IT = "judges who voted for it"


def _is_contested(verdict: VerdictReport) -> bool:
    """Whether the probability of the winner leaves out a judge, since it is by those who voted for the winner."""
    return any(vote.winner != verdict.winner for vote in verdict.votes)


def strength_sentences(report: ReportModel) -> Iterator[str]:
    """Sentences, computed from the ballots, on how strong the result is, or why there is none."""
    verdict, judging = report.verdict, report.judging
    if report.why_nothing_decided and report.shown_verdict:
        yield wording.FILLER
    if verdict is None:
        return
    if judging.labelled:
        yield from _label_strength_sentences(report, verdict)
        return
    if verdict.strength is not None:
        yield f"{who_argued_better(report)}."
    elif verdict.win_probability is not None:
        likely = percent(verdict.win_probability)
        judges = _FOR_IT if _is_contested(verdict) else "judge" if len(report.judge_specs) == 1 else "judges"
        yield f"{likely} likely, by the {judges}."
    if behind := wording.behind_sentence(round_report.result for round_report in report.rounds if round_report.result):
        yield behind
    if verdict.winner == NO_DECISION:
        why = wording.shortfall(verdict.votes, verdict.quorum, report.seats.__getitem__)
        yield why or "No pre-debate vote counts, so that nothing can have been gained by it."
    if len(verdict.votes) > 1:
        yield wording.votes_sentence(verdict)
    cast_both_ways = [vote for vote in judging.votes if vote.is_cast_both_ways]
    if cast_both_ways and verdict.winner != NO_DECISION:
        unchanged = sum(vote.stable for vote in cast_both_ways)
        yield f"Unchanged with the sides swapped: {unchanged} of {plural(len(cast_both_ways), 'final vote')}."


def _label_strength_sentences(report: ReportModel, verdict: VerdictReport) -> Iterator[str]:
    if verdict.label is None:
        few = wording.shortfall(verdict.votes, verdict.quorum, report.seats.__getitem__)
        yield few or "No label was given by more judges than any other."
    elif verdict.claim_score is not None:
        yield f"Judged {report.judging.scales.with_scale(verdict.claim_score, ' of ')}."
    if len(verdict.votes) > 1:
        labels = [vote.label for vote in verdict.votes if vote.label is not None]
        yield f"Judges' labels: {', '.join(f'{label} {labels.count(label)}' for label in dict.fromkeys(labels))}."


def score_bar(report: ReportModel) -> ScoreBar | None:
    """The result between its two ends; None if there are no scores."""
    verdict = report.verdict
    if verdict is None or len(report.positions) != 2:
        return None
    first, second = report.positions
    if report.judging.labelled:
        highest = Fraction(report.judging.scales.max_claim_score or "0")
        if verdict.label is None or verdict.claim_score is None or not highest:
            return None
        text = f"{decimals(verdict.claim_score)} on a scale from 0 to {decimals(highest)}"
        return ScoreBar(("0", decimals(highest)), min(verdict.claim_score / highest, Fraction(1)), text)
    if verdict.win_probability is not None and verdict.winner in report.positions:
        share = verdict.win_probability if verdict.winner == first else 1 - verdict.win_probability
        ends = (
            f"{winner_word(first)} {percent(share)}",
            f"{winner_word(second)} {percent(1 - share)}",
        )
        held = "how likely each answer is held to be"
        text = f"{held} by the judges who voted for {winner_word(verdict.winner)}" if _is_contested(verdict) else held
        return ScoreBar(ends, share, text)
    totals = verdict.totals
    if not sum(totals.values()):
        return None
    names = [
        report.names[side].removeprefix(report.seats[side].removesuffix(winner_word(side))) for side in (first, second)
    ]
    ends = (f"{names[0]} {decimals(totals[first])}", f"{names[1]} {decimals(totals[second])}")
    return ScoreBar(ends, totals[first] / sum(totals.values()), _lead(report, verdict))


def _lead(report: ReportModel, verdict: VerdictReport) -> str:
    leading_side = leader(verdict.totals)
    leads = "neither leads"
    if leading_side != TIE:
        leads = f"{winner_word(leading_side)} leads by {percent(verdict.gap or Fraction(0))}"
    rounds = sum(1 for round_report in report.rounds if round_report.scores) if report.judging.scores_rounds else 1
    highest = Fraction(str(report.rules.rubric.max)) * max(1, rounds)
    return f"{leads}; at most {decimals(highest)} points each"


def judges_reasons(report: ReportModel) -> Iterator[JudgesReason]:
    """The reasons for the decision, in the judges' words, the whole of each."""
    verdict = report.shown_verdict
    if verdict is None:
        return
    is_panel = len(report.valid_final_ballots) > 1
    for turn in report.valid_final_ballots:
        fields, name = turn.fields or {}, report.seats[turn.seat]
        strongest = fields.get("strongest_argument")
        if isinstance(strongest, dict) and not is_panel:
            yield JudgesReason(
                f"Strongest argument, {winner_word(str(strongest.get('seat')))}", str(strongest["argument"]), turn.id
            )
            yield JudgesReason("Why it decided", str(strongest["why"]), turn.id)
        decided = fields.get("decided")
        if isinstance(decided, dict):
            side = turn.parsed_ballot.winner if turn.parsed_ballot else verdict.winner
            text = decided.get(side) or " ".join(map(str, decided.values()))
            yield JudgesReason(name, str(text), turn.id)
        texts = [str(fields[field]) for field in _REASONS if isinstance(fields.get(field), str)]
        for text in texts[:1] if is_panel else texts:
            yield JudgesReason(name, text, turn.id)


def weaknesses(report: ReportModel) -> Iterator[str]:
    """The weaknesses of the result, a sentence each."""
    yield from untouched_issues(report.issues if report.shown_decision_brief else None)
    for note in report.notes:
        hosted = note.kind == "cast" and report.run.kind == "host"
        if note.kind == DEGRADED:
            continue  # it stands at the recommendation
        if note.severity == "warning" or note.kind in _WEAKENING or hosted:
            yield note.text
    if (
        report.shown_verdict is not None
        and report.judge_specs
        and not any(vote.is_cast_both_ways for vote in report.judging.votes)
    ):
        who = "judge" if all(map(is_one_judge, report.judging.votes)) else "model"
        yield f"No {who} also voted with the sides in the other order, which can change a vote."
