"""A ballot is cast at a terminal: before the verdict is seen, round by round, kept as it goes."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import pytest
from corpus import Deal, handfuls, hold
from hostile_texts import NASTY
from persons import BACK, CTRL_C, CTRL_D, typing
from reviewers import DIGEST, debated, kind, paper

from debate_orchestrator.reports.reviews import ReviewForm, empty, review_texts
from debate_orchestrator.terminal.prompt import Quit
from debate_orchestrator.terminal.review import ReviewBallotForm, ask_name

ONE = paper(debated(rounds=1))
WHOLE = ("no", "undecided", "here", "7 6", "5 5", "a", "a", "a", "It answered.", "")
"""A whole ballot on a debate of one round."""
READ = "(HERE IS THE DEBATE)"


class Cast(NamedTuple):
    """How a review ended."""

    ballot: dict[str, Any] | None
    ended: str
    """`filed` or `left`."""
    text: str
    kept: list[dict[str, Any]]
    reads: int


def cast(*keys: str, asked: ReviewForm = ONE, begun: dict[str, Any] | None = None) -> Cast:
    """A ballot for which these keys are typed."""
    kept: list[dict[str, Any]] = []
    reads: list[int] = []
    with typing(*keys) as (terminal, screen):

        def read() -> None:
            reads.append(len(kept))
            terminal.tell(READ)

        given = (begun or {}) | empty(DIGEST, "ada", "2026-02-04")
        review = ReviewBallotForm(terminal, review_texts(), asked, given, read, kept.append)
        ballot, ended = None, "filed"
        try:
            ballot = asyncio.run(review.take())
        except Quit:
            ended = "left"
        return Cast(ballot, ended, screen.text, kept, len(reads))


def _scores(ballot: dict[str, Any]) -> Any:
    """What is given in round 1."""
    (judged,) = ballot["rounds"].values()
    return judged["scores"]


def test_a_whole_ballot() -> None:
    """Ten answers make a ballot that will do; the vote before comes before the debate, and scores after it."""
    made = cast(*WHOLE)

    assert made.ended == "filed" and made.ballot is not None
    assert ONE.problems(made.ballot) == []
    ballot = ONE.ballot(made.ballot)
    assert (ballot.before, ballot.after, ballot.final.winner, ballot.why) == ("undecided", "a", "a", "It answered.")
    assert _scores(made.ballot)["a"]["use_of_evidence"] == 6
    assert made.text.index("which position do you hold?") < made.text.index(READ) < made.text.index("What is scored")
    assert made.reads == 1
    before = made.text.partition(READ)[0]
    assert "Topic: Tabs are better than spaces." in before and "Researcher A: Indent with tabs." in before


def test_what_is_filed_is_shown_first() -> None:
    """The answers are shown before the ballot is filed, and any of them can be changed by its number."""
    made = cast(*WHOLE[:-1], "maybe", "2", "6 6.5", "5", "b", "")

    assert made.ballot is not None
    ballot = ONE.ballot(made.ballot)
    assert "1 Round 1: Scores: Researcher A: 7 6" in made.text and "'maybe' is not a number from 1 to 6." in made.text
    given = _scores(made.ballot)
    assert (given["a"]["use_of_evidence"], float(given["b"]["use_of_evidence"])) == (6, 6.5)
    assert (ballot.final.winner, ballot.after, ballot.why) == ("a", "b", "It answered.")


@pytest.mark.slow
@pytest.mark.parametrize(("n", "leave"), [(1, CTRL_D), (1, CTRL_C), (4, CTRL_D), (8, CTRL_C)])
def test_it_is_kept_and_gone_on_with(n: int, leave: str) -> None:
    """One who leaves after any answer has all of them kept, and goes on without being asked to vote before again."""
    left = cast(*WHOLE[:n], leave)
    assert left.ended == "left"
    begun = left.kept[-1]
    first = min(n, 2)
    again = cast(*WHOLE[first:2], "done", *WHOLE[3:], asked=ONE, begun=dict(begun))

    assert again.ended == "filed" and again.ballot is not None
    assert ONE.problems(again.ballot) == []
    assert "goes on where you left it" in again.text
    assert again.reads == 0


def test_kept_answers_need_not_be_typed_again() -> None:
    """Gone on with, Enter alone takes what was answered."""
    begun = cast(*WHOLE[:8], CTRL_C).kept[-1]
    again = cast("done", "", "", "", "", "", "So.", "", begun=dict(begun))

    assert again.ballot is not None and ONE.problems(again.ballot) == []
    assert again.ballot["why"] == "So."


def test_back_returns_to_the_question_before() -> None:
    """Shift-Tab, or `back`, returns; before the first question there is none."""
    made = cast(BACK, "no", "a", "back", "b", "here", "7 6", ":back", "8 8", "5 5", *WHOLE[5:])

    assert made.ballot is not None
    assert made.ballot["before"] == "b"
    assert made.ballot["rounds"][1]["scores"]["a"]["argument_quality"] == 8
    assert "This is the first question." in made.text


def test_the_vote_before_stands_once_the_debate_was_read() -> None:
    """From the debate on, there is no way back to the vote before it, not in a later sitting either."""
    made = cast("no", "a", "here", BACK, *WHOLE[3:])
    again = cast(BACK, "done", *WHOLE[3:], begun=dict(cast("no", "a", "here", "7 6", CTRL_C).kept[-1]))

    for one in (made, again):
        assert one.ballot is not None and one.ballot["before"] == "a"
        assert "The vote before reading stands" in one.text


def test_what_will_not_do_is_asked_again() -> None:
    """Scores off the scale, too few of them, and choices that are none are told, by their criterion."""
    made = cast("no", "undecided", "here", "11 6", "7", "7 x", "", "7 6", "5 5", "both", "a", *WHOLE[6:])

    assert made.ended == "filed"
    assert "argument_quality: 11 is not a number from 1 to 10." in made.text
    assert "2 numbers are needed, one for each of: argument_quality, use_of_evidence." in made.text
    assert "use_of_evidence: 'x' is not a number from 1 to 10." in made.text
    assert "'both' is not one of a, b, tie" in made.text
    assert "An answer is needed here." in made.text


def test_who_has_seen_the_verdict_says_so() -> None:
    """It is recorded, with a warning."""
    made = cast("yes", *WHOLE[1:])

    assert made.ballot is not None and made.ballot["seen"] is True
    assert "you knew the verdict" in made.text


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("claim", ("misleading", "4", "needs more evidence")),
        ("question", ("b", "0.8")),
        ("conversation", ("tie",)),
        ("panel", ("7 7 7 7 7", "6 6 6 6 6")),
    ],
)
def test_every_format_can_be_reviewed(name: str, keys: tuple[str, ...]) -> None:
    """Labels, probabilities and bare winners are asked for as the format's judges are; what does not apply is not."""
    asked = paper(kind(name))
    made = cast("no", "a", "here", *keys, "b", "So.", "", asked=asked)

    assert made.ended == "filed" and made.ballot is not None, made.text[-500:]
    assert asked.problems(made.ballot) == []


def test_a_draft_that_was_tampered_with_is_asked_again() -> None:
    """What is invalid in a draft is asked as if it were not there."""
    begun = {"seen": False, "before": "a", "rounds": [], "final": 7, "why": ["x"], "after": {}}
    made = cast("done", *WHOLE[3:], begun=begun)

    assert made.ballot is not None and ONE.problems(made.ballot) == []


def must_be_filed(deal: Deal) -> None:
    """The ballot of a debate whose topic and positions are made of what was dealt comes out the same."""
    topic, *positions = (" ".join(deal.texts[n::3] or deal.texts) for n in range(3))
    asked = paper(debated(rounds=1, topic=topic, positions=tuple(positions)))
    made = cast(*WHOLE, asked=asked)

    assert made.ended == "filed" and made.ballot is not None
    assert asked.ballot(made.ballot).final.winner == "a"
    assert "\x1b]" not in made.text


@pytest.mark.slow
@pytest.mark.parametrize("deal", handfuls((text for text in NASTY if len(text) < 500), 72))
def test_hostile_positions_are_tamed(deal: Deal) -> None:
    """Whatever the topic and the positions hold, the ballot comes out the same."""
    hold(must_be_filed, deal)


def test_a_name_is_asked_for() -> None:
    """A reviewer who gives no name is asked, until there is one."""
    with typing("", "ada") as (terminal, _):
        assert asyncio.run(ask_name(terminal, review_texts())) == "ada"
