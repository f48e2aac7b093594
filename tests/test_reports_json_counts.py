"""Votes, ballots, rounds, verdict and bill as data are what the story adds up, unrounded, and null where unknown."""

from __future__ import annotations

from fractions import Fraction

import puppets
import test_reports_costs
from debates import entries, played, saying, told
from shapes import AHEAD, SHAPES, again
from tellings import label
from tellings import told as any_told

from debate_orchestrator.reports.json.data import report
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.wording import Scales

UNEVEN = {"argument_quality": 8, "use_of_evidence": 7, "directness_of_rebuttals": 7}
"""Marks whose mean has no end."""


def test_scores_are_not_rounded() -> None:
    """A round score is the mean itself and a total the sum of those, as near as a number comes to it."""
    ballot = puppets.ballot()
    ballot["scores"]["a"] = UNEVEN
    made = report(told(saying(_1_verdict_judge=ballot, _2_verdict_judge=ballot), rounds=2))

    assert made.rounds[0].scores is not None and made.verdict is not None and made.verdict.totals is not None
    assert made.rounds[0].scores["a"] == 22 / 3
    assert made.verdict.totals["a"] == 44 / 3
    assert made.verdict.gap == 2 / 11
    assert (made.verdict.winner, made.verdict.strength, made.verdict.rounds_won) == (
        "a",
        "narrow",
        {"a": 2, "b": 0, "tie": 0},
    )


def test_nothing_decided_is_null() -> None:
    """Before the final vote there is no verdict, and a round that was not judged has neither scores nor a winner."""
    made = report(SHAPES["paused"]())

    assert made.verdict is None
    assert [(one.completed, one.winner) for one in made.rounds] == [(True, "a"), (False, None)]
    assert (made.rounds[1].scores, made.rounds[1].ballots) == (None, None)


def test_a_ballot_that_will_not_do_is_not_counted() -> None:
    """It is on the list without fields, and its judge's vote is that of an absent one."""
    made = report(told(saying(_1_verdict_judge="no"), rounds=1))
    first, last = made.ballots

    assert (first.turn, first.valid, first.counted, first.fields) == ("1.verdict.judge", False, False, None)
    assert last.valid and last.counted and last.fields is not None and last.fields["winner"] == "a"
    assert [(vote.absent, vote.counts_as) for vote in made.votes] == [(True, "no decision"), (False, "a")]
    assert (made.rounds[0].scores, made.rounds[0].winner) == (None, None)


def test_a_vote_that_changes_in_the_mirror_counts_for_nobody() -> None:
    """Both its ballots are valid and neither is counted; their scores still are."""
    made = report(SHAPES["mirrored panel that changes"]())
    vote = next(one for one in made.votes if one.judge == "judge-2")

    assert vote.turns == ["final.verdict.judge-2", "final.verdict.judge-2.mirrored"]
    assert (vote.place, vote.round, vote.absent, vote.stable, vote.counts_as) == (
        "final",
        None,
        False,
        False,
        "no decision",
    )
    assert vote.straight is not None and vote.mirrored is not None and vote.scores is not None
    assert (vote.straight.winner, vote.mirrored.winner) == ("b", "tie")
    assert vote.straight.scores == {side: float(next(iter(marks.values()))) for side, marks in AHEAD.items()}
    ballots = {one.turn: (one.valid, one.counted, one.mirrored) for one in made.ballots if one.judge == "judge-2"}
    assert ballots == {vote.turns[0]: (True, False, False), vote.turns[1]: (True, False, True)}
    assert (made.judging.mirrored, made.judging.changed, made.judging.quorum) == (3, 1, 2)


def test_every_ballot_has_its_vote() -> None:
    """In every shape of debate each turn in which a vote is cast is a ballot, and each ballot's turn belongs to one
    vote."""
    for name, made in SHAPES.items():
        one = report(made())
        assert [b.turn for b in one.ballots] == [turn.id for turn in one.turns if turn.kind == "ballot"], name
        cast_in = [turn for vote in one.votes for turn in vote.turns]
        assert {b.turn for b in one.ballots} <= set(cast_in), name
        assert len(cast_in) == len(set(cast_in)), name


def test_probabilities_are_shares() -> None:
    """A bet is told from 0 to 1, and a blind vote has its place."""
    one = any_told("question", {"final.verdict.judge": {"winner": "b", "probability": 0.85}}, blind=True)
    scales = Scales(certain=Fraction(100))
    of_hundred = report(one.model_copy(update={"judging": one.judging.model_copy(update={"scales": scales})})).verdict
    made = report(one)

    assert made.verdict is not None and of_hundred is not None
    assert (made.verdict.winner, made.verdict.probability, of_hundred.probability) == ("b", 0.85, 0.0085)
    assert [vote.place for vote in made.votes] == ["start", "final"]
    assert (made.verdict.totals, made.verdict.strength, made.verdict.rounds_won) == (None, None, None)
    assert made.verdict.swing == {"a": -1, "b": 1}


def test_a_label_that_does_not_stand_is_null() -> None:
    """Labels short of the quorum are told vote by vote, and as no label of the whole."""
    script = {"final.verdict.judge-1": label("misleading", 4), "final.verdict.judge-2": label("supported", 8)}
    split = report(any_told("claim", script, panel=2, quorum=2))
    agreed = report(any_told("claim", dict.fromkeys(script, label("misleading", 4)), panel=2, quorum=2))

    assert split.verdict is not None and agreed.verdict is not None
    assert (split.verdict.label, split.verdict.score) == (None, None)
    assert [vote.label for vote in split.votes] == ["misleading", "supported"]
    assert (agreed.verdict.label, agreed.verdict.score, agreed.format.score_most) == ("misleading", 4.0, 10.0)


def test_interventions_name_their_turns() -> None:
    """Where the engine intervened, the turns that answer are named, and what persisted is flagged on its round."""
    made = report(SHAPES["intervened"]())

    assert [(one.round, one.turns) for one in made.interventions] == [(1, ["1.divergence.a", "1.divergence.b"])]
    assert [(one.intervened, one.persisted) for one in made.rounds] == [(True, False), (False, True), (False, False)]


def test_costs_by_seat_phase_and_in_total() -> None:
    """The bill has a line for each seat and phase, one for each seat, and their sum, in US dollars and tokens."""
    costs = report(SHAPES["paid for"]()).costs

    assert costs is not None
    assert [(one.seat, one.phase, one.calls, one.usd) for one in costs.lines] == [
        ("a", "opening", 1, 0.25),
        ("b", "opening", 1, 0.25),
        ("judge", "verdict", 2, 0.5),
        ("judge", "dissent", 1, 0.25),
    ]
    assert [(one.seat, one.phase, one.usd) for one in costs.seats] == [
        ("a", None, 0.25),
        ("b", None, 0.25),
        ("judge", None, 0.75),
    ]
    total = costs.total
    assert (total.seat, total.calls, total.usd, total.usd_known, total.calls_unknown) == (None, 5, 1.25, 1.25, 0)
    assert total.tokens is not None
    assert (total.tokens.input_fresh, total.tokens.input_cached, total.tokens.input_written) == (5000, 100, 1700)


def test_what_nobody_knows_is_null() -> None:
    """An unknown price is never 0; where only some are known, their sum stands apart; who called nobody has no bill."""
    unknown = report(SHAPES["paid for, nobody knows how much"]()).costs
    made = test_reports_costs.paid()
    reply = made[1].reply.model_copy(update={"cost": None})  # type: ignore[union-attr]
    partly = report(build_report(entries([made[0], made[1].model_copy(update={"reply": reply}), *made[2:]]))).costs

    assert unknown is not None and partly is not None
    for one in (*unknown.lines, *unknown.seats, unknown.total):
        assert (one.usd, one.usd_known, one.tokens, one.calls_unknown) == (None, None, None, one.calls)
    assert (partly.total.usd, partly.total.usd_known, partly.total.calls_unknown) == (None, 1.0, 1)
    assert report(told(rounds=1)).costs is None


def test_an_earlier_verdict_is_kept() -> None:
    """A debate that is judged again has what was decided before, round by round."""
    recorded = report(again()).recorded

    assert recorded is not None and recorded.verdict is not None
    assert recorded.source == "old.journal.jsonl"
    assert (recorded.verdict.judges, recorded.verdict.winner, recorded.verdict.strength) == (["host"], "a", "narrow")
    assert recorded.verdict.totals == {"a": 14, "b": 12}
    assert [(one.number, one.scores, one.winner) for one in recorded.verdict.rounds] == [
        (1, {"a": 7, "b": 6}, "a"),
        (2, {"a": 7, "b": 6}, "a"),
    ]
    assert report(build_report(entries(played(rounds=1)))).recorded is None
