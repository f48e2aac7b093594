"""Tables on the judges: how far they agree, which side they favour, how steady they are, and who persuades them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from debate_orchestrator.tournament.rows import SIDES, WINNERS, BallotRow, Rows
from debate_orchestrator.tournament.tables import Cell, Table, deviation, mean, pearson


def judge_tables(rows: Rows) -> list[Table]:
    """Every table on the judges."""
    return [
        agreement(rows),
        panel_agreement(rows),
        side_preference(rows),
        majority_alignment(rows),
        self_consistency(rows),
        persuasion(rows),
        score_by_turn(rows),
        labels(rows),
    ]


def agreement(rows: Rows) -> Table:
    """Each pair of judges on the debates that both judged."""
    pairs: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for panel in rows.votes.values():
        for one, other in combinations(panel, 2):
            pairs[one.judge, other.judge][str(one.winner), str(other.winner)] += 1
    found = []
    for (first, second), counts in sorted(pairs.items()):
        agree, total = sum(count for (one, other), count in counts.items() if one == other), counts.total()
        found.append((first, second, agree, total, agree / total, cohen_kappa(counts)))
    return Table(
        "judge_agreement",
        "Agreement of judges, pair by pair",
        "How often two judges chose the same of pro, con and tie, where both voted. Kappa takes off what two judges "
        "with their habits would agree on by chance: 0 is chance, 1 is always. It does not say that either is right.",
        ("judge_a", "judge_b", "agree", "total", "agreement_rate", "kappa"),
        tuple(found),
    )


def cohen_kappa(counts: Counter[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two judges, from how often each pair of labels occurs; None where chance alone would agree
    always. Source: J. Cohen, A Coefficient of Agreement for Nominal Scales, 1960."""
    total = counts.total()
    first, second = Counter[str](), Counter[str]()
    for (one, other), count in counts.items():
        first[one] += count
        second[other] += count
    chance = sum(first[label] * second[label] for label in first)  # of total ** 2
    if not total or chance == total * total:
        return None
    agree = sum(count for (one, other), count in counts.items() if one == other)
    return (agree * total - chance) / (total * total - chance)


def fleiss_kappa(panels: Iterable[Sequence[str]]) -> float | None:
    """Fleiss' kappa of panels of two judges or more, which may differ in size; None where there is none, or only one
    label occurs. Source: J. L. Fleiss, Measuring Nominal Scale Agreement among Many Raters, 1971."""
    agreed, labels = [], Counter[str]()
    for panel in panels:
        if len(panel) > 1:
            counts = Counter(panel)
            pairs = sum(count * (count - 1) for count in counts.values())
            agreed.append(pairs / (len(panel) * (len(panel) - 1)))
            labels.update(counts)
    if len(labels) < 2:
        return None
    chance = sum(count * count for count in labels.values()) / labels.total() ** 2
    return (sum(agreed) / len(agreed) - chance) / (1 - chance)


def panel_agreement(rows: Rows) -> Table:
    """Panels by their size."""
    sizes: dict[int, list[list[str]]] = defaultdict(list)
    for panel in rows.votes.values():
        if len(panel) > 1:
            sizes[len(panel)].append([str(vote.winner) for vote in panel])
    found = []
    for size, panels in sorted(sizes.items()):
        kappa = fleiss_kappa(panels)
        same = sum(len(set(panel)) == 1 for panel in panels)
        effective = None if kappa is None else size / (1 + (size - 1) * max(0.0, kappa))
        found.append((size, len(panels), same, same / len(panels), kappa, effective))
    return Table(
        "panel_agreement",
        "Agreement of whole panels",
        "Fleiss' kappa over the panels of each size. The effective number of votes is size / (1 + (size - 1) * "
        "kappa): how many judges with nothing in common the panel is worth. It takes all agreement for shared habit, "
        "although some of it comes from debates that are clear, and so it is a lower bound.",
        ("judges", "debates", "unanimous", "unanimous_rate", "fleiss_kappa", "effective_votes"),
        tuple(found),
    )


def side_preference(rows: Rows) -> Table:
    """What each judge votes for."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for vote in _votes(rows):
        counts[vote.judge][str(vote.winner)] += 1
    found: list[tuple[Cell, ...]] = [
        (
            judge,
            *(count[winner] for winner in WINNERS),
            count.total(),
            *(count[winner] / count.total() for winner in WINNERS),
        )
        for judge, count in sorted(counts.items())
    ]
    return Table(
        "judge_side_preference",
        "Sides that judges vote for",
        "Judges of the same debates should not differ much here. A judge who favours a side on all topics may be "
        "biased, or its topics may be easier for that side.",
        ("judge", "pro", "con", "tie", "total", "pro_rate", "con_rate", "tie_rate"),
        tuple(found),
    )


def majority_alignment(rows: Rows) -> Table:
    """How often each judge votes as its panel decides."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for debate_id, panel in rows.votes.items():
        winner = rows.by_id[debate_id].winner
        for vote in panel if winner is not None and len(panel) > 1 else ():
            counts[vote.judge][0] += vote.winner == winner
            counts[vote.judge][1] += 1
    found = [(judge, same, total, same / total) for judge, (same, total) in sorted(counts.items())]
    return Table(
        "judge_majority_alignment",
        "Judges and the majority",
        "How often a judge voted as its panel of two or more decided. Its own vote is part of that decision, so even a "
        "judge who tosses a coin matches more often than not.",
        ("judge", "matches_majority", "total", "alignment_rate"),
        tuple(found),
    )


def self_consistency(rows: Rows) -> Table:
    """Each judge's first two judgements of the same debate."""
    asked: dict[tuple[str, str], list[BallotRow]] = defaultdict(list)
    for ballot in rows.ballots:
        if ballot.final and not ballot.mirrored:
            asked[ballot.judge, ballot.debate].append(ballot)
    pairs: dict[str, list[tuple[BallotRow, BallotRow]]] = defaultdict(list)
    for (judge, _), ballots in asked.items():
        if len(ballots) > 1:
            first, second, *_ = sorted(ballots, key=lambda ballot: ballot.repeat)
            pairs[judge].append((first, second))
    found = []
    for judge, both in sorted(pairs.items()):
        values = [(_value(one), _value(other)) for one, other in both]
        known = [(one, other) for one, other in values if one is not None and other is not None]
        same = sum(one.winner == other.winner and one.label == other.label for one, other in both)
        found.append((judge, len(both), same / len(both), len(known), pearson(known)))
    return Table(
        "self_consistency",
        "Judges asked twice",
        "Debates that the same judge judged twice: how often the outcome was the same, and Pearson's correlation of "
        "the two scores (pro's lead, or the score of the motion). A judge may be consistent and wrong.",
        ("judge", "debates", "same_outcome_rate", "scored_debates", "pearson"),
        tuple(found),
    )


def _value(ballot: BallotRow) -> float | None:
    return ballot.lead if ballot.score is None else ballot.score


def persuasion(rows: Rows) -> Table:
    """Every judge with every debater."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    leads: dict[tuple[str, str], list[float]] = defaultdict(list)
    for vote in _votes(rows):
        debate = rows.by_id[vote.debate]
        for side, debater, sign in zip(SIDES, (debate.pro, debate.con), (1, -1), strict=True):
            if debater is None or debate.pro == debate.con:
                continue
            result = "tie" if vote.winner == "tie" else "won" if vote.winner == side else "lost"
            counts[vote.judge, debater][result] += 1
            if vote.lead is not None:
                leads[vote.judge, debater].append(sign * vote.lead)
    found = [
        (judge, debater, total := count.total(), count["won"], count["won"] / total, mean(leads[judge, debater]))
        for (judge, debater), count in sorted(counts.items())
    ]
    return Table(
        "persuasion",
        "Who persuades whom",
        "How often each judge voted for each debater, and by how many points on average. A judge that stands out from "
        "its column may share a model, a vendor or a style with the debater; who the opponents were is not taken into "
        "account.",
        ("judge", "debater", "votes", "won", "win_rate", "mean_lead"),
        tuple(found),
    )


def score_by_turn(rows: Rows) -> Table:
    """What each judge's scores are after each round, and how they moved from the round before."""
    courses: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for ballot in rows.ballots:
        value = _value(ballot)
        if ballot.turn is not None and value is not None and not ballot.mirrored and ballot.repeat == 0:
            courses[ballot.judge, ballot.debate][ballot.turn] = value
    values: dict[tuple[str, int], list[float]] = defaultdict(list)
    changes: dict[tuple[str, int], list[float]] = defaultdict(list)
    for (judge, _), course in courses.items():
        for turn, value in course.items():
            values[judge, turn].append(value)
            if turn - 1 in course:
                changes[judge, turn].append(value - course[turn - 1])
    found = []
    for judge, turn in sorted(values):
        moved = changes[judge, turn]
        spread = deviation(moved)
        found.append(
            (judge, turn, len(values[judge, turn]), mean(values[judge, turn]), len(moved), mean(moved), spread)
        )
    return Table(
        "score_by_turn",
        "Scores after each round",
        "Each judge's mean score after each round (pro's lead, or the score of the motion), and how it changed from "
        "the round before. Where the spread of the changes does not shrink, judges do not settle, and a longer debate "
        "might have ended otherwise.",
        ("judge", "turn", "ballots", "mean_score", "changes", "mean_change", "sd_change"),
        tuple(found),
    )


def labels(rows: Rows) -> Table:
    """How often each judge gives each label."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for ballot in rows.ballots:
        if ballot.label is not None and ballot.final and not ballot.mirrored and ballot.repeat == 0:
            counts[ballot.judge][ballot.label] += 1
    found = [
        (judge, label, number, count.total(), number / count.total())
        for judge, count in sorted(counts.items())
        for label, number in sorted(count.items())
    ]
    return Table(
        "labels",
        "Labels that judges give",
        "For formats in which judges label a claim, `needs more evidence` among them, which decides nothing.",
        ("judge", "label", "count", "total", "rate"),
        tuple(found),
    )


def _votes(rows: Rows) -> Iterable[BallotRow]:
    return (vote for panel in rows.votes.values() for vote in panel)
