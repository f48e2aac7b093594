"""What flipped between runs is named, and the agreement of judges is counted in pairs."""

from __future__ import annotations

import puppets
from debates import saying
from runs import again, debated, for_b, kind, runs

from debate_orchestrator.reports.compare import agreement, flips

CLAUDE = {"a": ("host",), "b": ("host",), "judge": ("anthropic:m",)}


def test_what_flipped() -> None:
    """Winners that differ are told by run, of the whole and of each round."""
    said = list(flips(runs(debated("1"), debated("2", for_b), debated("3"))))

    assert said == [
        "The verdict differs: A in runs 1, 3; B in run 2.",
        "Round 1 differs: A in runs 1, 3; B in run 2.",
        "Round 2 differs: A in runs 1, 3; B in run 2.",
    ]


def test_what_did_not_flip() -> None:
    """Where all runs end alike that is said; of a single decided run nothing is."""
    assert list(flips(runs(debated("1"), debated("2")))) == ["The verdict is the same in every run that has one: A."]
    assert list(flips(runs(debated("1"), debated("2", until="1.opening.a")))) == []


def test_a_judge_that_flips_is_named() -> None:
    """A judge by name that decides otherwise in another run is told; a host, who may be anybody, is not."""
    said = list(flips(runs(debated("1", cast=CLAUDE), again("2", "1", say=for_b, cast=CLAUDE))))

    assert said[-1] == "The judge anthropic:m does not always say the same of one debate: A in run 1, B in run 2."
    assert not [one for one in flips(runs(debated("1"), debated("2", for_b))) if "judge" in one]


def test_a_judge_of_other_speeches_flips_nothing() -> None:
    """Who judges two debates of a topic may be for A in one and for B in the other; of each, judgings are compared."""
    first, second = debated("1", cast=CLAUDE), debated("2", for_b, cast=CLAUDE)
    said = list(flips(runs(first, second, again("3", "2", cast=CLAUDE))))

    assert not [one for one in flips(runs(first, second)) if "judge" in one]
    assert [one for one in said if "judge" in one] == [
        "The judge anthropic:m does not always say the same of one debate: B in run 2, A in run 3."
    ]


def test_other_topics_are_not_compared() -> None:
    """Winners of another topic flip nothing, and agree with nobody."""
    other = runs(debated("1"), debated("2", for_b, topic="Vim or Emacs?"))

    assert list(flips(other)) == []
    assert list(agreement(other)) == [
        "No two judges voted on the same round or verdict: too few to say how far they agree."
    ]


def test_labels_and_winners_meet_in_sides() -> None:
    """A label is compared with a declared winner by the side that it counts for."""
    both = runs(kind("1", "claim"), debated("2"))
    labels = runs(kind("1", "claim"), kind("2", "claim", script={"final.verdict.judge": {"label": "misleading"}}))

    assert next(flips(both)) == "The verdict is the same in every run that has one: A."
    assert next(flips(labels)) == "The verdict differs: supported in run 1; misleading in run 2."


def test_agreement_is_counted_in_pairs() -> None:
    """Judges of the same speeches and of different debates are counted apart, with how far their scores lie apart."""
    split = saying(_1_verdict_judge_2=puppets.ballot(5, 8, rounds=2), _final_verdict_judge_2=puppets.final("b"))
    panel = list(agreement(runs(debated("1", split, judges=2), debated("2"))))

    assert panel == [
        "Judges of the same speeches: 1 of 3 pairs of votes on the same round or verdict are for the same; "
        "their scores of a side lie 1 apart on average.",
        "Judges of different debates: 4 of 6 pairs of votes on the same round or verdict are for the same; "
        "their scores of a side lie 0.5 apart on average.",
    ]


def test_a_judging_again_is_of_the_same_speeches() -> None:
    """Two panels on one debate are judges of the same speeches; a journal given twice is not counted twice."""
    first = debated("1")

    assert next(agreement(runs(first, again("2", "1")))).startswith("Judges of the same speeches: 3 of 3 pairs")
    assert list(agreement(runs(first, again("2", "1"), again("3", "2", root="1")))) == [
        "Judges of the same speeches: 9 of 9 pairs of votes on the same round or verdict are for the same; "
        "their scores of a side lie 0 apart on average."
    ]
    assert next(agreement(runs(first, first))).startswith("No two judges")
