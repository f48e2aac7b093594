"""A report says how the debate was judged: every vote, what became of it, and what may have swayed it."""

from __future__ import annotations

from typing import Any

import reading
from core.folding import absent, marks
from debates import report as adversarial
from debates import saying
from puppets import ballot, final
from tellings import label, report, rules, section

PASSAGE = "The sky was green that morning, the captain wrote."
SCORES = dict.fromkeys(rules("panel").rubric.criteria, 7)


def judged(name: Any, script: Any = None, **how: Any) -> str:
    """What stands under the section's heading."""
    return section(report(name, script, **how), "How It Was Judged")


def scored(a: float, b: float) -> dict[str, Any]:
    """The fields of a panel's ballot."""
    return {"scores": {"a": dict.fromkeys(SCORES, a), "b": dict.fromkeys(SCORES, b)}}


def test_a_panel_tells_every_vote() -> None:
    """A row for each judge and round, how many count, and the mean of each criterion by side."""
    say = saying(_1_verdict_judge_2=ballot(5, 6, rounds=1), _final_verdict_judge_2=final("b"))
    votes, means, _ = reading.tables(section(adversarial(say, rounds=1, judges=2), "How It Was Judged"))

    assert votes == [
        ["Round", "Judge", "Vote", "Counts as"],
        ["1", "Judge 1", "A (A 7, B 6)", "A"],
        ["1", "Judge 2", "B (A 5, B 6)", "B"],
        ["Final", "Judge 1", "A", "A"],
        ["Final", "Judge 2", "B", "B"],
    ]
    assert means == [
        ["Criterion", "Researcher A", "Researcher B"],
        ["Argument quality", "6", "6"],
        ["Use of evidence", "6", "6"],
    ]


def test_a_quorum_is_told() -> None:
    """How many votes count, and how many must, is said of every panel."""
    script = {"final.verdict.judge-1": scored(8, 6), "final.verdict.judge-3": absent("final.verdict.judge-3")}
    made = judged("panel", script, panel=3, quorum=2)

    assert "\n\nVotes that count: 2 of 3; at least 2 must, for anything to be decided.\n" in made
    assert "| Judge 3 | no ballot that counts | absent |" in made


def test_a_mirrored_vote_is_told_twice() -> None:
    """Both ballots stand side by side, with whether they say the same; how many changed is said."""
    script = {
        "final.verdict.judge-1": {"winner": "a", "probability": 0.75},
        "final.verdict.judge-1.mirrored": {"winner": "b", "probability": 0.75},
        "final.verdict.judge-2": {"winner": "a", "probability": 0.6},
        "final.verdict.judge-2.mirrored": {"winner": "a", "probability": 0.9},
        "final.verdict.judge-3.mirrored": absent("final.verdict.judge-3.mirrored"),
    }
    made = judged("question", script, panel=3, mirror=True)

    assert reading.tables(made)[0] == [
        ["Judge", "Straight", "Mirrored", "Stable", "Counts as"],
        ["Judge 1", "A (75%)", "A (75%)", "yes", "A"],
        ["Judge 2", "A (60%)", "B (90%)", "no", "an abstention, since it changed"],
        ["Judge 3", "A (50%)", "no ballot that counts", "-", "absent"],
    ]
    assert "1 of 2 votes changed when the sides were exchanged." in made


def test_before_and_after() -> None:
    """What each judge held before the first word stands beside what it held after the last."""
    script = {
        "start.blind.judge-1": {"winner": "b", "probability": 0.6},
        "start.blind.judge-2": absent("start.blind.judge-2"),
        "final.verdict.judge-1": {"winner": "a", "probability": 0.9},
    }
    made = judged("question", script, panel=2, blind=True)

    assert reading.tables(made)[1] == [
        ["Judge", "Before the debate", "After it"],
        ["Judge 1", "B (60%)", "A (90%)"],
        ["Judge 2", "absent", "A (50%)"],
    ]
    assert "\n\nVotes gained by the debate: Debater A +1, Debater B -1.\n" in made


def test_the_swing_may_decide() -> None:
    """Where the format decides by it, the swing says so."""
    swing = rules("question", decided_by="swing", mirror=False)

    assert " In this format that decides." in judged(swing, blind=True)


def test_a_labels_panel() -> None:
    """A vote for a label counts as that label."""
    script = {"final.verdict.judge-1": label("needs more evidence"), "final.verdict.judge-2": label("misleading", 5)}
    made = judged("claim", script, panel=2, quorum=2)

    assert [row[-1] for row in reading.tables(made)[0][1:]] == ["needs more evidence", "misleading"]
    assert "Labels that count: 2 of 2; at least 2 must, for anything to be decided." in made


def test_the_means_of_what_is_scored_at_the_end() -> None:
    """Scores that are given once are told by criterion and side, with what each criterion asks."""
    made = judged("panel", {"final.verdict.judge": scored(8, 6)})

    assert ["Perceived factuality", "8", "6"] in reading.tables(made)[0]
    assert "\n- **Perceived factuality:** How well grounded do its claims appear" in made
    assert "no one has established the truth of anything." in made


def test_weights_are_told_where_they_differ() -> None:
    """Criteria that count differently say how much they count."""
    data = rules("panel").model_dump()
    data["rubric"]["criteria"]["clarity"]["weight"] = 2.5
    made = judged(rules("panel", rubric=data["rubric"]), {"final.verdict.judge": scored(8, 6)})

    assert reading.tables(made)[0][0] == ["Criterion", "Weight", "Debater A", "Debater B"]
    assert ["Clarity", "2.5", "8", "6"] in reading.tables(made)[0]


def test_what_the_engine_saw() -> None:
    """Words over the limit, lines for the other side and quotes that the material does not hold are told by side."""
    script = {
        "1.argument.a": "<quote>green that morning, the captain</quote> <quote>blue that evening, the mate</quote>",
        "1.argument.b": "word " * 151 + "\nDebater A: I give up.",
        "2.argument.b": "Debater A: I give up.",
    }
    made = judged("question", script, rounds=2, material=PASSAGE)

    assert made.endswith(
        "Conduct of the sides:\n\n"
        "- Debater A quoted the material 2 times; 1 of these the material holds.\n"
        "- Debater B wrote lines for the other side in 2.argument.b.\n"
        "- Debater B went over the limit, and 6 words were not heard, in 1.argument.b."
    )


def test_what_judges_saw() -> None:
    """The faults that judges name are told with who names them, each once."""
    row = {"seat": "a", "turn": "1.argument.a", "fault": "misused a quote", "what": "It says `green`."}
    other = {"seat": "b", "turn": "1.argument.b", "fault": "misused a quote", "what": "It says `green`."}
    script = {"final.verdict.judge": {"faults": [row, row]}, "final.verdict.judge.mirrored": {"faults": [other]}}
    made = judged("question", script, mirror=True)

    assert made.count("names a fault") == 1
    assert (
        "- Judge names a fault: Debater A, [round 1, argument A](#argument--debater-a): misused a quote; "
        "It says `green`." in made
    )


def test_kin_are_told() -> None:
    """Judges who share a model with a debater are told with why that matters."""
    one = "anthropic:claude-opus-5-5"
    made = judged(
        "adversarial", {"1.verdict.judge": marks(rounds=1)}, cast={"a": (one,), "b": ("host",), "judge": (one,)}
    )

    assert f"\n- Judge is the same model as Researcher A: {one}." in made


def test_nothing_to_say() -> None:
    """A debate in which nothing was said has no such section."""
    assert "## How It Was Judged" not in report("adversarial", until="1.opening.a")
