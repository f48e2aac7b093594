"""A ballot is cast at a terminal: before the verdict is seen, round by round, kept as it goes."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any, NamedTuple

import pytest
from human_turns import Script
from persons import BACK, CTRL_C, CTRL_D, typing
from reviewers import DIGEST, adversarial_entries, entries_of, review_form

from debate_orchestrator.reports.reviewer_ballots import ReviewForm, new_ballot, review_texts
from debate_orchestrator.terminal.asking import Quit
from debate_orchestrator.terminal.form import ReviewBallotForm

ONE = review_form(adversarial_entries(rounds=1))
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


def cast(
    *keys: str, asked: ReviewForm = ONE, begun: dict[str, Any] | None = None, script: Script | None = None
) -> Cast:
    """A ballot for which these keys are typed, or at the terminal of a `script`."""
    kept: list[dict[str, Any]] = []
    reads: list[int] = []
    with nullcontext((script, script)) if script else typing(*keys) as (terminal, screen):

        def read() -> None:
            reads.append(len(kept))
            terminal.show(READ)

        given = (begun or {}) | new_ballot(DIGEST, "ada", "2026-02-04")
        review = ReviewBallotForm(terminal, review_texts(), asked, given, read, kept.append)
        ballot, ended = None, "filed"
        try:
            ballot = asyncio.run(review.run())
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


def test_the_vote_before_stands_once_the_debate_was_read() -> None:
    """Back returns to the question before. From the debate on, there is no way back to the vote before it, not in a
    later sitting either."""
    made = cast(BACK, "no", "b", "back", "a", "here", BACK, "11 6", *WHOLE[3:])
    again = cast(BACK, "done", *WHOLE[3:], begun=dict(cast("no", "a", "here", "7 6", CTRL_C).kept[-1]))

    for one in (made, again):
        assert one.ballot is not None and one.ballot["before"] == "a"
        assert "The vote before reading stays" in one.text
    assert "This is the first question." in made.text
    assert "argument_quality: 11 is not a number from 1 to 10." in made.text


def test_a_side_is_taken_by_its_name_and_a_winner_with_fewer_points_is_reported() -> None:
    """The name that a choice shows is an answer too. Scores that favour the other side are remarked on before the
    ballot is handed in, and it is filed as it is."""
    made = cast(script=Script("no", "researcher b", "here", "7 6", "5 5", " Researcher B", *WHOLE[6:]))

    assert made.ended == "filed" and made.ballot is not None
    assert made.ballot["before"] == "b" and ONE.ballot(made.ballot).rounds[1].winner == "b"
    remark = "Round 1: Your scores favour Researcher A, and you name Researcher B the winner."
    assert remark in " ".join(made.text.split())
    assert "Your scores favour" not in cast(script=Script(*WHOLE)).text


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
    asked = review_form(entries_of(name))
    made = cast(script=Script("no", "a", "here", *keys, "b", "So.", ""), asked=asked)

    assert made.ended == "filed" and made.ballot is not None, made.text[-500:]
    assert asked.problems(made.ballot) == []
