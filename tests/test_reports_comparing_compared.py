"""A journal among others is read by the letters of the first."""

from __future__ import annotations

from runs import SWAPPED, again, debated, for_b, kind, runs

from debate_orchestrator.core.phases import TIE
from debate_orchestrator.reports.compare import FINAL, named_by, side_word, turned


def test_exchanged_sides_are_exchanged_back() -> None:
    """Where each side argues what the other did, winners and scores are told by the first run's letters."""
    first, second = runs(debated("1"), debated("2", positions=SWAPPED))

    assert not first.turned and second.turned
    assert (first.decided(), second.decided()) == ("a", "b")
    one, two = first.result(1), second.result(1)
    assert one is not None and two is not None
    assert one.scores == {"a": 7, "b": 6} and two.scores == {"a": 6, "b": 7}
    assert second.votes()["judge"][FINAL].winner == "b"


def test_only_a_whole_exchange_is_one() -> None:
    """Positions that are merely worded otherwise, or the same, are not exchanged."""
    first = debated("1")

    assert not turned(first, first)
    assert not turned(first, debated("2", positions=("Indent with spaces.", "Something else.")))
    same = debated("3", positions=("x", "x"))
    assert not turned(same, same)


def test_who_judged() -> None:
    """Each judge of a panel is known by its cast; what stands for the speeches is the journal that holds them."""
    cast = {"a": ("host",), "b": ("host",), "judge": ("anthropic:x", "openai:y")}
    [run] = runs(debated("1", cast=cast))
    [rejudged] = runs(again("2", "1"))

    assert [run.who(seat) for seat in run.votes()] == ["anthropic:x", "openai:y"]
    assert (run.debated, rejudged.debated) == ("1", "1")


def test_a_judging_of_a_judging_is_of_the_same_speeches() -> None:
    """However often a debate was judged since, its own journal stands for the speeches; where no journal was noted
    as the root, that which was judged does."""
    made = runs(debated("1"), again("2", "1"), again("3", "2", root="1"))

    assert [run.debated for run in made] == ["1", "1", "1"]


def test_labels_are_named_where_they_are_wanted() -> None:
    """A labelled run ends with its label, or for the side that it counts for."""
    [run] = runs(kind("1", "claim"))

    assert (run.decided(), run.decided(labelled=False)) == ("supported", "a")
    assert named_by(run.votes()["judge"][FINAL], labelled=False) == "a"


def test_unfinished_runs_have_no_winner() -> None:
    """What is not decided is None, round by round and in the end."""
    [run] = runs(debated("1", for_b, until="2.verdict.judge"))

    assert run.decided() is None
    assert run.result(2) is None and run.result(9) is None
    assert run.result(1) is not None


def test_winners_have_their_words() -> None:
    """Sides are capitals; labels stay what they are."""
    assert [side_word(one) for one in ("a", TIE, "no decision", "misleading")] == [
        "A",
        "Tie",
        "no decision",
        "misleading",
    ]
