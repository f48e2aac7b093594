"""What is announced of debates of any format: labels, votes, findings, what was held before, and what changed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from core.folding import absent
from dealing import Deal, handfuls, hold
from nasty import SAID
from tellings import FETCHED, check, checks, events, label, refusal, rules, said

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports.announcements import announcements

SCORES = rules("panel").rubric.criteria


def test_labels_are_announced() -> None:
    """A round's label and score are announced with the judge's reasons, and so is the final one."""
    script = {
        "1.verdict.judge": label("misleading", 4, reasons="It\nleaves out half."),
        "final.verdict.judge": label("needs more evidence"),
    }

    assert said("claim", script, rounds=2, each_round=True) == [
        "--- ROUND 1 OF 2 ---",
        "Round 1: misleading, 4/10",
        "It leaves out half.",
        "--- ROUND 2 OF 2 ---",
        "[JUDGE - FINAL VERDICT]",
        "Verdict: needs more evidence.",
        "So it is.",
    ]


def test_judges_who_do_not_agree_on_a_label() -> None:
    """A round in which no label is given most, or by too few, has none, and no score either."""
    script: dict[str, Any] = {
        f"1.verdict.judge-{n}": label(name, 4) for n, name in ((1, "misleading"), (2, "supported"))
    }
    alone = script | {"1.verdict.judge-2": absent("1.verdict.judge-2")}

    for one in (script, alone):
        made = said("claim", one, rounds=2, panel=2, quorum=2, each_round=True)
        assert "Round 1: no decision" in made


def test_findings_are_announced() -> None:
    """What the clerk found is announced as soon as it is found, and so is a refusal."""
    script = {
        "1.argument.b": refusal("It would do harm."),
        "1.check.clerk": checks(check("1.argument.a", "not found", why="nothing is close")),
    }

    assert said("claim", script, cast=FETCHED)[:3] == [
        "--- ROUND 1 OF 1 ---",
        "Debater B declined to argue (1.argument.b).",
        "Evidence 1.argument.a: not found",
    ]


def test_a_choice_is_announced() -> None:
    """A question ends with the winner and how likely it is."""
    made = said("question", {"final.verdict.judge": {"winner": "b", "probability": 0.85, "reasons": "It says so."}})

    assert made[-3:] == ["[JUDGE - FINAL VERDICT]", "Winner: B (85%).", "It says so."]


def test_votes_are_announced() -> None:
    """A panel's votes are counted aloud."""
    script = {f"final.verdict.judge-{n}": {"winner": who} for n, who in ((1, "b"), (2, "a"), (3, "b"))}

    assert "Judges' votes: B 2, A 1." in said("question", script, panel=3)


def test_a_vote_that_changed_is_announced() -> None:
    """A judge whose vote changed with the sides is named with both votes, and the missing quorum is told."""
    made = said("question", {"final.verdict.judge.mirrored": {"winner": "a"}}, mirror=True)

    assert made[made.index("[JUDGE - FINAL VERDICT]") :][1:4] == [
        "Winner: no decision.",
        "0 of 1 vote count, and 1 is needed: Judge changed its vote when the sides were exchanged.",
        "Judge changed when the sides were exchanged (A and B): no vote.",
    ]


def test_a_label_that_changed_is_announced() -> None:
    """Labels that changed are told as labels."""
    mirrored = {
        "final.verdict.judge": label("supported", 8),
        "final.verdict.judge.mirrored": label("misleading", 5),
    }

    assert "Judge changed when the sides were exchanged (supported and misleading): no vote." in said(
        "claim", mirrored, mirror=True
    )


def test_what_was_held_before_is_announced() -> None:
    """The verdict before the first word comes before the first round, and the votes gained since at the end."""
    script = {
        "start.blind.judge-1": {"winner": "b", "probability": 0.6},
        "start.blind.judge-2": absent("start.blind.judge-2"),
        "final.verdict.judge-1": {"winner": "a", "probability": 0.9},
    }
    made = said("question", script, panel=2, blind=True)

    assert made[:2] == [
        "Before the first word: Judge 1: B (60%); Judge 2: no ballot that counts",
        "--- ROUND 1 OF 1 ---",
    ]
    assert "Votes gained by the debate: Debater A +1, Debater B -1." in made


def test_winners_of_rounds_without_scores() -> None:
    """A round in which judges vote and score nobody is announced with its winner and votes."""
    data = rules("question").model_dump()
    vote = data["after"][0] | {"name": "vote", "title": "Vote", "tag": "VOTE"}
    voted = rules("question", round=(*data["round"], vote))
    script = {f"1.vote.judge-{n}": {"winner": who} for n, who in ((1, "b"), (2, "b"), (3, "a"))}

    assert "Round 1: B (B 2, A 1)" in said(voted, script, panel=3)


def test_judges_who_vote_one_after_another() -> None:
    """Nothing is announced of a panel's votes before the last of them is cast, and then once."""
    data = rules("adversarial").model_dump()
    phases = [one | {"order": "in turn"} if one["name"] == "verdict" else one for one in data["round"]]
    after = [one | {"order": "in turn"} if one["name"] == "verdict" else one for one in data["after"]]
    made = said(rules("adversarial", round=phases, after=after), panel=3)

    assert [one.partition(":")[0] for one in made] == [
        "--- ROUND 1 OF 1 ---",
        "Scores",
        *["So it is."] * 3,
        "[JUDGE - FINAL VERDICT]",
        "Winner",
        "Judges' votes",
        *["So it is."] * 3,
        "Dissent record",
    ]


def test_lines_for_the_other_side_are_announced() -> None:
    """A speaker who writes the other's lines is named."""
    made = said("question", {"1.argument.a": "It was green.\nDebater B: I give up."})

    assert "Debater A wrote lines for the other side (1.argument.a)." in made


def test_a_conversation_is_announced_without_a_verdict() -> None:
    """A debate that nobody judges has its rounds announced, and nothing else."""
    assert said("conversation", rounds=2) == ["--- ROUND 1 OF 2 ---", "--- ROUND 2 OF 2 ---"]


@pytest.mark.parametrize("name", ["claim", "question", "panel", "adversarial"])
def test_nothing_is_taken_back(name: str) -> None:
    """After every event, what was announced begins with what was announced before it."""
    how: dict[str, Any] = {"rounds": 2, "panel": 3, "mirror": True, "blind": True, "quorum": 2, "each_round": True}
    all_of_them = events(name, **how)
    made = [announcements(DebateState(all_of_them[:n])) for n in range(1, len(all_of_them) + 1)]

    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(made))


def must_be_lines(deal: Deal) -> None:
    hand = deal.hand()
    row = check("1.argument.a", "not found", why=hand(), title=hand())
    votes = {f"final.verdict.judge-{n}": label("misleading", 4, reasons=hand(), summary=hand()) for n in range(1, 6)}
    made = said("claim", {"1.check.clerk": checks(row), **votes}, panel=5)

    assert len(made) == 9
    assert all("\n" not in one and "\x1b" not in one for one in made)


@pytest.mark.parametrize("deal", handfuls(SAID))
def test_nobody_commands_a_screen(deal: Deal) -> None:
    """Whatever judges and clerks write, each announcement is one line."""
    hold(must_be_lines, deal)
