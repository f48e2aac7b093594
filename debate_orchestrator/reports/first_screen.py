"""The first screen of a page: what to do, how sure that is, why, and what is open, from what every journal has.

A decision brief, where a debate has one, answers the same questions: its parts take the place of these, field by field.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core.phases import CONSENSUS, NO_DECISION, TIE
from debate_orchestrator.core.verdict import Vote, leader, mean
from debate_orchestrator.reports import verdict_text, wording
from debate_orchestrator.reports.decision_brief import MARKED
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import DisputedClaim, TurnReport, VerdictReport
from debate_orchestrator.reports.rich_text import Phrase, literal, phrase
from debate_orchestrator.reports.wording import winner_word
from debate_orchestrator.setup.plain_positions import affirms
from debate_orchestrator.util.numbers import decimals
from debate_orchestrator.util.sanitize import one_line

RESOLVED = "resolved by consensus"
MAX_OPEN = 3
"""Open claims that stand on the first screen."""
_REASONS = ("summary", "justification", "reasons", "why")
"""The fields of a final ballot that say why, the shortest first."""
_UNCHECKED = ("sources", "mirror", "recorded", "material")
"""Kinds of notes that say what was checked, and what was not."""


class Reason(NamedTuple):
    """Why a judge decided as it did, in its own words."""

    title: str
    """What the reason is: `Judge 2`, `Strongest argument, A`."""
    text: str
    turn: str
    """The ballot that gives it."""


class ScoreBar(NamedTuple):
    """Where the result lies between A and B, or between the ends of a score."""

    ends: tuple[str, str]
    """What stands at its left and its right end."""
    share: Fraction
    """The left end's part of the whole, 0 to 1."""
    text: str
    """The same in a sentence."""


class FirstScreen(NamedTuple):
    """The first screen, in reading order."""

    headline: Phrase
    """A sentence about the world: the position that won, or why there is none."""
    sure: tuple[str, ...]
    """How firm that is, computed from the ballots, a sentence each."""
    behind: str
    """In which rounds the declared winner has fewer points, in a sentence; empty where that is so in none."""
    score_bar: ScoreBar | None
    declared: str
    """Who argued better by the verdict, where the points alone say something else; empty where they say the same."""
    reasons: tuple[Reason, ...]
    open_claims: tuple[tuple[str, DisputedClaim], ...]
    """Claim id to claim, the most disputed first, at most `MAX_OPEN`."""
    open_count: int
    """How many claims are open in all."""
    next_step: str
    """What a judge recommends to do next; may be empty."""
    unchecked: tuple[str, ...]
    """What weakens the result, a sentence each."""


def first_screen(report: ReportModel) -> FirstScreen:
    """The first screen of a report."""
    still_open = [(f"C{n}", row) for n, row in enumerate(report.dissent or (), start=1) if row.status != RESOLVED]
    still_open.sort(key=lambda claim: claim[1].status != "unresolved")
    return FirstScreen(
        headline=headline(report),
        sure=tuple(_sure(report)),
        behind=_behind(report),
        score_bar=_score_bar(report),
        declared=_declared(report),
        reasons=tuple(reasons(report)),
        open_claims=tuple(still_open[:MAX_OPEN]),
        open_count=len(still_open),
        next_step=report.follow_up[0].text if report.follow_up else "",
        unchecked=tuple(_unchecked(report)),
    )


def headline(report: ReportModel) -> Phrase:
    """What the debate comes to, as a sentence about the world. Where A alone argues for the motion as it stands,
    `Yes` or `No` leads, and the motion is not repeated."""
    verdict = report.verdict
    if verdict is None:
        return phrase("No final ballot counts." if report.status == "complete" else "Not decided yet.")
    if report.stand_ins_judged:
        return phrase(wording.NO_JUDGE)
    if verdict.winner in report.positions:
        position = report.positions[verdict.winner].strip()
        affirming = [side for side, held in report.positions.items() if affirms(report.topic, held)]
        if affirming != list(report.positions)[:1]:
            return literal(position)
        firmly = ", narrowly." if verdict.strength == "narrow" else "."
        return phrase(f"Yes{firmly}") if verdict.winner in affirming else phrase(f"No{firmly} ", literal(position))
    if report.judging.labelled and verdict.label:
        return phrase("The claim is judged: ", literal(verdict.label), ".")
    if verdict.winner == TIE:
        return phrase("Neither position prevailed.")
    if verdict.winner == CONSENSUS:
        agreed = [(turn.fields or {}).get("converged_on") for turn in _finals(report)]
        found = next((text for text in agreed if isinstance(text, str) and text.strip()), "")
        return literal(found) if found else phrase("Both sides ended in agreement.")
    return phrase("No decision.")


def _finals(report: ReportModel) -> list[TurnReport]:
    """The final ballots on the debate as it was."""
    return [turn for turn in report.finals if turn.fields and not turn.mirrored]


def _sure(report: ReportModel) -> Iterator[str]:
    verdict = report.verdict
    if verdict is None or report.stand_ins_judged:
        return
    if report.judging.labelled:
        if verdict.label is not None:
            score = "" if verdict.score is None else f", {report.judging.scales.with_scale(verdict.score, ' of ')}"
            yield f"Judged {verdict.label}{score}."
    elif verdict.strength is not None:
        yield f"{verdict.strength.capitalize()}: {_argued(report, verdict)}."
    elif verdict.win_probability is not None:
        likely, judges = wording.whole_percent(verdict.win_probability), "judge" + "s" * (len(report.judges) != 1)
        yield f"{likely} likely, by the {judges}{_before(report, verdict.winner)}."
    if behind := _behind(report):
        yield behind
    if len(verdict.panel) > 1 and not report.judging.labelled:
        yield wording.votes_sentence(verdict)
    if verdict.winner == NO_DECISION or not report.judging.panel:
        return
    if report.judging.mirrored:
        held = report.judging.mirrored - report.judging.flipped
        yield f"Held with the sides exchanged: {held} of {report.judging.mirrored} votes."


def _behind(report: ReportModel) -> str:
    return wording.behind_sentence(judged.result for judged in report.rounds if judged.result)


def _argued(report: ReportModel, verdict: VerdictReport) -> str:
    if verdict.strength == "consensus":
        return "the sides conceded or agreed"
    if verdict.behind:
        return f"{winner_word(verdict.winner)} was declared the winner, though behind on points"
    winner = winner_word(verdict.winner) if verdict.winner in report.positions else "neither"
    better = f"{winner} argued better"
    if verdict.gap is None or not verdict.totals:
        return better
    return f"{better}, by {wording.whole_percent(verdict.gap)} of the larger score"


def _before(report: ReportModel, winner: str) -> str:
    """The share that judges gave the winner on average before the first word, as the end of a sentence; empty if there
    is none."""
    held = [_share_of(vote, winner, report.judging.scales.full_probability) for vote in report.judging.pre_debate_votes]
    shares = [share for share in held if share]
    return f"; {wording.whole_percent(mean(shares))} before the debate" if shares else ""


def _share_of(vote: Vote, side: str, full_probability: Fraction) -> Fraction | None:
    """What a vote gives a side, as a share of certainty."""
    given = [
        (parsed_ballot.winner, parsed_ballot.probability / full_probability)
        for parsed_ballot in vote.parsed_ballots
        if parsed_ballot.probability is not None
    ]
    return mean([share if winner == side else 1 - share for winner, share in given]) if given else None


def _score_bar(report: ReportModel) -> ScoreBar | None:
    """The result between its two ends; None where nothing was measured."""
    verdict = report.verdict
    if verdict is None or len(report.positions) != 2 or report.stand_ins_judged:
        return None
    first, second = report.positions
    if report.judging.labelled:
        most = Fraction(report.judging.scales.score or "0")
        if verdict.label is None or verdict.score is None or not most:
            return None
        low, high = report.judging.scales.ends
        text = f"{decimals(verdict.score)} on a scale from 0 ({low}) to {decimals(most)} ({high})"
        return ScoreBar((f"0, {low}", f"{decimals(most)}, {high}"), min(verdict.score / most, Fraction(1)), text)
    if verdict.win_probability is not None and verdict.winner in report.positions:
        share = verdict.win_probability if verdict.winner == first else 1 - verdict.win_probability
        ends = (
            f"{winner_word(first)} {wording.whole_percent(share)}",
            f"{winner_word(second)} {wording.whole_percent(1 - share)}",
        )
        return ScoreBar(ends, share, "how likely each answer is held to be")
    totals = verdict.totals
    if not sum(totals.values()):
        return None
    names = [
        report.names[side].removeprefix(report.seats[side].removesuffix(winner_word(side))) for side in (first, second)
    ]
    ends = (f"{names[0]} {decimals(totals[first])}", f"{names[1]} {decimals(totals[second])}")
    return ScoreBar(ends, totals[first] / sum(totals.values()), _lead(report, verdict))


def _declared(report: ReportModel) -> str:
    verdict = report.verdict
    if verdict is None or not verdict.totals or verdict.winner == leader(verdict.totals):
        return ""
    return f"{verdict_text.who_argued_better(report)}."


def _lead(report: ReportModel, verdict: VerdictReport) -> str:
    """Who leads, by how much, of how many points, and in how many rounds."""
    ahead = leader(verdict.totals)
    gap = wording.whole_percent(verdict.gap or Fraction(0))
    parts = ["neither leads;" if ahead == TIE else f"{winner_word(ahead)} leads by {gap};"]
    rounds = sum(1 for judged in report.rounds if judged.scores) if report.judging.scores_rounds else 1
    parts.append(f"at most {decimals(Fraction(str(report.judging.format.rubric.most)) * max(1, rounds))} points each")
    if verdict.rounds_won:
        won = ", ".join(f"{winner_word(side)} {verdict.rounds_won[side]}" for side in report.positions)
        parts.append(f"rounds won: {won}, tied {verdict.rounds_won[TIE]}")
    return "; ".join([" ".join(parts[:2]), *parts[2:]])


def reasons(report: ReportModel) -> Iterator[Reason]:
    """Why it was decided so, in the judges' words, the whole of each."""
    if report.verdict is None:
        return
    several = len(_finals(report)) > 1
    for turn in _finals(report):
        fields, name = turn.fields or {}, report.seats[turn.seat]
        strongest = fields.get("strongest_argument")
        if isinstance(strongest, dict) and not several:
            yield Reason(
                f"Strongest argument, {winner_word(str(strongest.get('seat')))}", str(strongest["argument"]), turn.id
            )
            yield Reason("Why it decided", str(strongest["why"]), turn.id)
        decided = fields.get("decided")
        if isinstance(decided, dict):
            side = turn.parsed_ballot.winner if turn.parsed_ballot else report.verdict.winner
            text = decided.get(side) or " ".join(map(str, decided.values()))
            yield Reason(name, str(text), turn.id)
        given = [str(fields[field]) for field in _REASONS if isinstance(fields.get(field), str)]
        for text in given[:1] if several else given:
            yield Reason(name, text, turn.id)


def splits(report: ReportModel) -> list[str]:
    """Where the judges of a panel differ, a sentence each: on the winner, and on who is better by a criterion."""
    panel = [turn for turn in _finals(report) if turn.parsed_ballot is not None]
    if len(panel) < 2:
        return []
    places = [("the winner", {turn.seat: turn.parsed_ballot.winner for turn in panel if turn.parsed_ballot})]
    for criterion, title in report.format.criteria.items():
        better = {turn.seat: _better((turn.fields or {}).get("scores") or {}, criterion) for turn in panel}
        places.append((title.lower(), better))
    found = []
    for place, chosen in places:
        groups: dict[str, list[str]] = {}
        for seat, side in chosen.items():
            groups.setdefault(side, []).append(report.seats[seat])
        if len(groups) > 1:
            words = {side: "equal" if side == TIE else winner_word(side) for side in groups}
            sides = "; ".join(f"{', '.join(names)}: {words[side]}" for side, names in groups.items())
            found.append(f"On {place}: {sides}.")
    return found


def _better(scores: dict[str, dict[str, float]], criterion: str) -> str:
    """The side with the better score on a criterion; `tie` where there is none."""
    given = {side: own[criterion] for side, own in scores.items() if criterion in own}
    return leader(given) if given else TIE


def _unchecked(report: ReportModel) -> Iterator[str]:
    for number, reason in enumerate(report.decision_brief.why if report.decision_brief else (), start=1):
        if reason.mark_problems:
            about = one_line(reason.heading or reason.consideration).rstrip(" .:")
            yield f'Reason {number}, "{about}": its mark "{MARKED[reason.mark]}" is not borne out by the record.'
    for note in report.notes:
        hosted = note.kind == "cast" and report.run.kind == "host"
        if note.severity == "warning" or note.kind in _UNCHECKED or hosted:
            yield note.text
    if report.verdict is not None and report.judges and not report.judging.mirrored:
        yield "No judge voted with the sides exchanged, so an effect of their order is not ruled out."
