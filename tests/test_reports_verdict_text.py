"""The verdict is reported in the words of its format, and how a debate went in a few words, the same everywhere."""

from __future__ import annotations

from typing import Any

import pytest
import reading
import scripted_replies
from core.folding import absent_judge, play
from debates import entries, play_events, script_of
from scripted_debates import label, panel_scores, report, section

from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import fold
from debate_orchestrator.engine import rejudge
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.rich_text import plain_text
from debate_orchestrator.reports.verdict_text import earlier_verdict


def verdict(name: Any, script: Any = None, **how: Any) -> str:
    """What is under the verdict's heading."""
    return section(report(name, script, **how), "Final Verdict")


def titles(name: Any, script: Any = None, **how: Any) -> list[str]:
    """The headings of the second level."""
    return [title for level, title in reading.headings(report(name, script, **how)) if level == 2]


def test_an_answer() -> None:
    """A question ends with the answer that was chosen and how likely it is; no side is scored."""
    script = {"final.verdict.judge": {"winner": "b", "probability": 0.85, "reasons": "It **says** so."}}
    made = verdict("question", script, positions=("Green.", "Red."))

    assert made == (
        "**Winner:** B  \n**Answer:** Red.  \n**Probability:** 85%\n\n"
        "*Outcome:* “Red.” 85% likely, by the judge.\n\n"
        "- **Reasons:** It says so."
    )


def test_a_probability_is_of_those_who_voted_for_the_answer() -> None:
    """Where a judge votes for the other answer, the probability of the winner says that it leaves that judge out."""
    said = {"winner": "a", "probability": 0.9, "reasons": "So."}
    script = {"final.verdict.judge-1": said, "final.verdict.judge-2": said}
    script["final.verdict.judge-3"] = said | {"winner": "b", "probability": 0.99}
    made = verdict("question", script, panel=3, positions=("Cats.", "Dogs."))

    assert "**Probability, by the judges who voted for it:** 90%" in made
    assert "“Cats.” 90% likely, by the judges who voted for it." in made
    agreed = verdict("question", script | {"final.verdict.judge-3": said}, panel=3)
    assert "**Probability:** 90%" in agreed and "90% likely, by the judges." in agreed


@pytest.mark.parametrize(
    ("ballot", "head"),
    [
        (label("misleading", 4), "**Label:** misleading  \n**Score:** 4 / 10"),
        (label("needs more evidence"), "**Label:** needs more evidence  \n**Score:** none"),
    ],
)
def test_a_label(ballot: dict[str, Any], head: str) -> None:
    """A claim ends with its label and its score, if the label has one."""
    assert verdict("claim", {"final.verdict.judge": ballot}).startswith(
        f"{head}\n\n*Outcome:* The claim is judged: {ballot['label']}."
    )


def test_labels_of_a_panel() -> None:
    """A panel's labels are reported with how often each was given; where none is given most, none stands."""
    script = {f"final.verdict.judge-{n}": label("misleading", 3 + n) for n in (1, 2)}
    one, two = script, script | {"final.verdict.judge-2": label("supported", 9)}

    assert verdict("claim", one, panel=2).startswith("**Label:** misleading  \n**Score:** 4.5 / 10\n")
    assert " Judges' labels: misleading 2.\n" in verdict("claim", one, panel=2)
    assert "**Judge 1** decided: misleading (4/10)\n" in verdict("claim", one, panel=2)
    assert verdict("claim", two, panel=2).startswith(
        "**Label:** no decision  \n**Score:** none\n\n"
        "*Outcome:* No label stands. No label was given by more judges than any other. "
        "Judges' labels: misleading 1, supported 1.\n"
    )


def test_too_few_labels() -> None:
    """A label that too few judges gave does not stand, and the report says who is missing."""
    script = {
        "final.verdict.judge-1": label("supported", 9),
        "final.verdict.judge-2": absent_judge("final.verdict.judge-2"),
    }
    made = verdict("claim", script, panel=2, quorum=2)

    assert (
        "*Outcome:* No label stands. 1 of 2 votes counts, and 2 are needed: Judge 2 cast no ballot that counts. "
        in made
    )


def test_a_panel_that_declares_nothing() -> None:
    """Where the winner follows from the scores, each judge's scores are reported, and how they add up."""
    script = {f"final.verdict.judge-{n}": panel_scores(7 + n, 7) for n in (1, 2)} | {
        "final.verdict.judge-3": panel_scores(1, 9)
    }
    made = verdict("panel", script, panel=3)

    assert made.startswith(
        "**Winner:** A  \n**Strength:** narrow  \n**Overall Scores:** Debater A: 6 | Debater B: 7.67\n\n"
        "*Outcome:* “Yes.” Debater A (PRO) won by the judges' votes (narrow), though behind on points. "
        "2 of 3 judges voted for A, 1 for B.\n"
    )
    assert "\n\n**Judge 1** decided: A (A 8, B 7)\n\n| Criterion | Debater A | Debater B |\n" in made
    assert "- The winner is behind on points: the judges' votes decide.\n" in made
    assert "A judge's vote is for the side with the better score. A side's score on a ballot is the mean of" in made


@pytest.mark.parametrize(
    ("script", "panel", "quorum", "why"),
    [
        (
            {"final.verdict.judge.mirrored": {"winner": "a"}},
            1,
            1,
            "0 of 1 vote counts, and 1 is needed: Judge changed its vote when the sides were swapped.",
        ),
        (
            {
                "final.verdict.judge-1.mirrored": {"winner": "b"},
                "final.verdict.judge-2": absent_judge("final.verdict.judge-2"),
            },
            2,
            2,
            "1 of 2 votes counts, and 2 are needed: Judge 2 cast no ballot that counts. 1 of 2 judges voted for A.",
        ),
    ],
)
def test_no_decision(script: Any, panel: int, quorum: int, why: str) -> None:
    """Where too few votes count nothing is decided, and the report says whose do not, and why."""
    made = verdict("question", script, panel=panel, quorum=quorum, mirror=True)

    assert made.startswith(f"**Winner:** no decision\n\n*Outcome:* Nothing was decided. {why}\n")


def test_sections_that_a_format_has_no_shape_for() -> None:
    """A report has the sections that its format can fill, and no others."""
    always = ["Final Verdict", "Debate Transcript"]

    assert titles("question") == [*always, "How It Was Judged"]
    assert titles("panel") == [*always, "How It Was Judged"]
    assert titles("claim") == [*always, "How It Was Judged", "Evidence"]
    assert titles("claim", rounds=2, each_round=True) == [
        *always,
        "Per-Round Score Summary",
        "How It Was Judged",
        "Evidence",
    ]
    assert (
        titles("adversarial")[2:6]
        == titles("transcript")[2:6]
        == ["Per-Round Score Summary", "Dissent Record", "Key Unresolved Questions", "Recommended Follow-Up"]
    )


def judged_again(events: list[Event], judge: str = "speaker") -> dict[str, tuple[str, str]] | None:
    """The earlier verdict of these events beside that of another judge, who is for B."""
    opened, _ = rejudge.opened_from_journal(entries(events), "d/old.journal.jsonl", (judge,))
    ballots = (
        scripted_replies.ballot(3, 9, rounds=2),
        scripted_replies.ballot(6, 6, rounds=2),
        scripted_replies.final("b"),
    )
    turns = ("1.verdict.judge", "2.verdict.judge", "final.verdict.judge")
    debate, _ = play(fold([opened]), dict(zip(turns, ballots, strict=True)))
    replies = [
        event.model_copy(update={"reply": event.reply.model_copy(update={"spec": judge})})
        if event.turn_id.endswith(".judge")
        else event
        for event in debate.replies.values()
    ]
    table = earlier_verdict(build_report(entries([opened, *replies])))
    rows = [[plain_text(cell) for cell in row] for row in table.rows] if table else []
    return {what: (earlier, now) for what, earlier, now in rows} if table else None


def test_an_earlier_verdict_is_beside_the_new_one() -> None:
    """The winner, strength and totals are as they were and as they are, and judges are those that voted, of programs
    the names alone. Stand-ins decide nothing, then or now."""
    old = play_events(rounds=2, cast={"a": ("a",), "b": ("b",), "judge": ("command:jo x", "zed")})
    by_stand_in = play_events(rounds=2, cast={"a": ("a",), "b": ("b",), "judge": ("rehearse",)})

    assert judged_again(old) == {
        "Judges": ("command:jo, zed", "speaker"),
        "Winner": ("A", "B"),
        "Strength": ("narrow", "decisive"),
        "Total, Researcher A": ("14", "9"),
        "Total, Researcher B": ("12", "15"),
    }
    now = judged_again(old, "rehearse")
    assert now and [cells[1] for cells in now.values()] == ["rehearse", "not decided", "not decided", "-", "-"]
    conceded = play_events(script_of(_1_opening_a="I CONCEDE THE DEBATE."), rounds=1)
    opened, _ = rejudge.opened_from_journal(entries(conceded), "d/old.journal.jsonl", ("zed",))
    assert opened.earlier_debate is not None
    unnamed = opened.earlier_debate.model_copy(update={"unopposed": None})  # as earlier versions wrote it
    speech = fold(conceded).replies["1.opening.a"]
    report = build_report(entries([opened.model_copy(update={"earlier_debate": unnamed}), speech]))
    assert report.earlier_debate is not None and report.earlier_debate.unopposed == "b"
    table = earlier_verdict(report)
    earlier = {plain_text(what): plain_text(cell) for what, cell, _ in (table.rows if table else ())}
    assert earlier["Winner"] == "Consensus, on the position of B" and earlier["Total, Researcher A"] == "-"
    by_ballots = script_of(_1_verdict_judge=scripted_replies.ballot(3, 9, conceded="a"))
    opened, _ = rejudge.opened_from_journal(entries(play_events(by_ballots, rounds=2)), "d/old.journal.jsonl", ("zed",))
    assert opened.earlier_debate is not None
    before = opened.earlier_debate.model_copy(update={"unopposed": None, "judges": ("x",)})
    table = earlier_verdict(build_report(entries([opened.model_copy(update={"earlier_debate": before})])))
    assert table and [plain_text(row[1]) for row in table.rows][1] == "Consensus, on the position of B"
    assert judged_again(by_stand_in) is None and earlier_verdict(build_report(entries(old))) is None
