"""How a debate went is said in a few words, the same everywhere."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tellings import events, label, rules

from debate_orchestrator.core import tally
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.verdict import Verdict
from debate_orchestrator.core.votes import BallotReading, Vote
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.wording import Scales

TEN = Scales(score="10")


def names(seat: str) -> str:
    return seat.replace("-", " ").capitalize()


def vote(winner: str, mirrored: str | None = None, *, judge: str = "judge-1", **said: str) -> Vote:
    """A judge's vote; mirrored where a second winner is given."""
    other = None if mirrored is None else BallotReading(winner=mirrored)
    return Vote(
        judge=judge, turn="x", straight=BallotReading(winner=winner, **said), mirrored=other, twice=mirrored is not None
    )


def missing(judge: str = "judge-2") -> Vote:
    return Vote(judge=judge, turn="x", straight=None)


def verdict(name: str, script: object = None, **how: object) -> Verdict:
    """The verdict of a debate of that format."""
    made = tally.verdict(fold(events(name, script, **how)))  # type: ignore[arg-type]
    assert made is not None
    return made


def test_the_scales_of_a_format() -> None:
    """The most that a score may be, and what is certain, are the format's."""
    assert wording.scales(rules("claim")).score == TEN.score
    assert wording.scales(rules("question")) == Scales(certain=Fraction(1))
    assert TEN.of(Fraction(15, 2), " / ") == "7.5 / 10"
    assert TEN.of(None) == "none"
    assert TEN.labelled("misleading", Fraction(4)) == "misleading (4/10)"
    assert TEN.labelled("needs more evidence", None) == "needs more evidence"
    assert Scales(certain=Fraction(100)).likely(Fraction(85)) == Scales().likely(Fraction(17, 20)) == "85%"


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (BallotReading(winner="a"), "A"),
        (BallotReading(winner="a", scores={"a": Fraction(37, 5), "b": Fraction(7)}), "A (A 7.4, B 7)"),
        (BallotReading(winner="b", probability=Fraction(17, 20)), "B (85%)"),
        (BallotReading(winner="tie", label="misleading", score=Fraction(4)), "misleading (4/10)"),
        (BallotReading(winner="no decision", label="needs more evidence"), "needs more evidence"),
    ],
)
def test_a_ballot_in_a_few_words(reading: BallotReading, said: str) -> None:
    """A ballot is told by its winner with scores or probability, or by its label."""
    assert wording.reading_line(reading, TEN) == said


def test_what_a_vote_counts_as() -> None:
    """A vote counts for what it is for, unless it is missing, changed or an abstention."""
    assert wording.vote_line(vote("a")) == "A"
    assert wording.vote_line(vote("tie", label="misleading")) == "misleading"
    assert wording.vote_line(vote("a", "b")) == "an abstention, since it changed"
    assert wording.vote_line(vote("no decision")) == "an abstention"
    assert wording.vote_line(missing()) == "absent"


def test_every_label_counts() -> None:
    """A label that stands for no side is a vote all the same; only who gives none is missing."""
    open_one = vote("no decision", label="needs more evidence")
    panel = [open_one, vote("a", judge="judge-2", label="supported"), missing("judge-3")]

    assert wording.shortfall(panel, 2, names) == ""
    assert wording.shortfall(panel, 3, names) == (
        "2 of 3 votes count, and 3 are needed: Judge 3 cast no ballot that counts."
    )


def test_what_was_decided() -> None:
    """The winner has its strength or probability beside it, a label its score, and nothing else has anything."""
    assert wording.decided(verdict("adversarial"), Scales()) == "Winner: A (narrow)"
    assert (
        wording.decided(verdict("adversarial", {"final.verdict.judge": {"winner": "tie"}}), Scales()) == "Winner: Tie"
    )
    assert wording.decided(verdict("question", {"final.verdict.judge": {"winner": "a", "probability": 0.75}}), TEN) == (
        "Winner: A (75%)"
    )
    assert wording.decided(verdict("claim", {"final.verdict.judge": label("misleading", 4)}), TEN) == (
        "Verdict: misleading (4/10)"
    )
    assert wording.decided(verdict("claim", {"final.verdict.judge": label("needs more evidence")}), TEN) == (
        "Verdict: needs more evidence"
    )
    unstable = {"final.verdict.judge": {"winner": "a"}, "final.verdict.judge.mirrored": {"winner": "a"}}
    assert wording.decided(verdict("question", unstable, mirror=True), TEN) == "Winner: no decision"


@pytest.mark.parametrize(
    ("about", "ends"),
    [
        ("0 refuted to 10 proven; null if nobody can tell", ("refuted", "proven")),
        ("from 0 no support, to 10 full support", ("no support", "full support")),
        ("1 refuted to 5 proven", wording.ENDS),
        ("0 refuted to 10", wording.ENDS),
        ("", wording.ENDS),
    ],
)
def test_what_the_ends_of_a_scale_mean(about: str, ends: tuple[str, str]) -> None:
    """The ends of a scale are called what the format tells its judges; plainly where it does not say."""
    shapes = rules("claim").model_dump()["shapes"]
    for shape in ("ballot", "blind"):
        shapes[shape]["score"]["about"] = about

    assert wording.scales(rules("claim", shapes=shapes)).ends == ends
    assert wording.scales(rules("question")).ends == wording.ENDS
