"""A form is asked field by field, complains at once, leads back, shows what was entered, and is kept all the while."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from human_turns import Script, run, taken
from persons import BACK, typing

from debate_orchestrator.terminal import drafts
from debate_orchestrator.terminal.asking import Question, Quit, matching_choice
from debate_orchestrator.terminal.turn import TurnForm
from debate_orchestrator.util.terminal_text import Back

SHORT = ("7 6 8", "5 5.5 4", "a", "A was better.", "more of it, A", "more of it, B")
"""An answer to every question that is asked of a strict ballot in the first of two rounds."""
MORE = ("start of A", "start of B", "end of A", "end of B", "", "no", "")
"""Answers to the questions after `more`."""
NOTHING = "(not given)"


def filled(here: Path, *typed: str | Exception, turn: str = "1.verdict.judge", **more: Any) -> tuple[Any, Script]:
    issues = more.pop("issues", False)
    script = Script(*typed, **more)
    return json.loads(run(TurnForm(taken(turn, script, here, issues=issues)).run())), script


def test_a_short_ballot(here: Path) -> None:
    """Six questions make a ballot: scores side by side, the winner, why, and advice; the rest is empty or not given."""
    ballot, script = filled(here, *SHORT, "")

    assert ballot == {
        "scores": {
            "a": {"argument_quality": 7, "use_of_evidence": 6, "directness_of_rebuttals": 8},
            "b": {"argument_quality": 5, "use_of_evidence": 5.5, "directness_of_rebuttals": 4},
        },
        "strongest": {"a": NOTHING, "b": NOTHING},
        "weakest": {"a": NOTHING, "b": NOTHING},
        "winner": "a",
        "justification": "A was better.",
        "feedback": {"a": "more of it, A", "b": "more of it, B"},
        "unsupported_claims": [],
        "convergence": {"detected": False, "criteria": [], "side": None},
        "conceded": None,
    }
    assert len(script.asked) == 7
    assert script.asked[0].text == ("Scores: Researcher A: Argument quality, Use of evidence, Directness of rebuttals")
    assert script.asked[2].choices[0] == ("a", "Researcher A: Indent with tabs.")
    assert "Winner: a, Researcher A: Indent with tabs." in script.text
    assert "Strongest: Researcher A: (not given) (not asked)" in script.text


ISSUES = ("What does it cost?", "Who maintains it?", "Can it be undone?")


def test_a_ballot_on_issues_has_six_questions_at_most(here: Path) -> None:
    """All issues are one question, with their text; their answers are a line, and the reason is asked for as well."""
    ballot, script = filled(here, "7 6 8", "5 5 4", "a", "A named a price.", "a b", "a b u", "", issues=ISSUES)
    asked = next(question for question in script.asked if question.text == "Issues")

    assert ballot["issues"] == {"I1": "a", "I2": "b", "I3": "untouched"}
    assert ballot["justification"] == "A named a price."
    assert "  I2. Who maintains it?" in asked.lines
    takes = "3 answers, one for each issue in this order: a, b, even or untouched; as in: a, b, even; Enter alone skips"
    assert takes in asked.lines[-1] and any(takes in line for line in asked.explanation)
    assert any("3 answers are needed" in line for line in script.asked[5].lines)
    assert len({question.text for question in script.asked[:-1]}) == 5


def test_more(here: Path) -> None:
    """`more` asks everything else; nothing is left to a default then."""
    ballot, script = filled(here, *SHORT, "more", *MORE, "")

    assert ballot["strongest"] == {"a": "start of A", "b": "start of B"}
    assert ballot["weakest"] == {"a": "end of A", "b": "end of B"}
    assert "not asked" not in script.text.rpartition("This is your reply:")[2]


def test_a_short_ballot_at_a_terminal(here: Path) -> None:
    """The same, typed: wrong answers, a way back by a key, a choice by the arrows, and a change at the end."""
    down = "\x1b[B"
    keys = ("11 6 8", "7 6 8", "9 9 9", BACK, "5 5.5 4", "nobody", down + down, *SHORT[3:], "7", "a", "")
    with typing(*keys, columns=100) as (terminal, screen):
        at = taken("1.verdict.judge", terminal, here)
        ballot = json.loads(run(TurnForm(at).run()))

    assert ballot["winner"] == "a"
    assert ballot["scores"]["b"]["use_of_evidence"] == 5.5
    assert "11 is not a number from 1 to 10." in screen.text
    assert at.problems(json.dumps(ballot)) == []


def test_a_wrong_answer_is_reported_at_once(here: Path) -> None:
    """An answer that is invalid is reported under its question, which is asked again; a text is kept to be
    edited, numbers are not. Nothing that counts has a default."""
    _, script = filled(here, "eleven", "", SHORT[0], SHORT[1], "", *SHORT[2:], "")

    assert "3 numbers are needed" in script.asked[1].lines[-1] and script.asked[1].initial_text == ""
    assert script.asked[2].text == script.asked[0].text
    assert script.asked[4].text == script.asked[5].text == "Winner"


def test_going_back(here: Path) -> None:
    """Back leads to the question before, with its answer: kept by Enter where it is short, edited where it is a text.
    Later answers stay. Before the first there is none."""
    typed = (
        Back(),
        "7 6 8",
        Back(),
        "",
        "5 5.5 4",
        "a",
        "A was better.",
        "more",
        Back(),
        "more of it, A",
        *SHORT[5:],
        "",
    )
    ballot, script = filled(here, *typed)

    assert "This is the first question." in script.shown_lines
    assert script.asked[3].default == "7 6 8"
    assert ballot["feedback"]["a"] == "more of it, A"
    assert script.asked[9].initial_text == "more"


def test_all_is_looked_at(here: Path) -> None:
    """Before it is handed in all of it is shown with numbers, any of which changes an answer; back leads to the last
    question."""
    ballot, script = filled(here, *SHORT, "8", "B was better.", "7", "b", "3", "start", Back(), SHORT[5], "99", "x", "")

    assert (ballot["winner"], ballot["justification"], ballot["strongest"]["a"]) == ("b", "B was better.", "start")
    assert "'99' is not a number from 1 to " in script.text and "'x' is not a number from 1 to " in script.text


def test_the_final_verdict_and_the_dissent_record(here: Path) -> None:
    """Whatever the shape is, its form ends in a reply that will do; the dissent record is asked whole. `Con` is a word
    for a side, and no beginning of `consensus`."""
    final = ("Con", "consensus", "The middle.", "Why it is so.", "a", "Is it cheaper?", "Act.", "")
    verdict, script = filled(here, *final, turn="final.verdict.judge")
    assert [matching_choice(script.asked[0], typed) for typed in ("Con", "B", "4")] == ["Con", "b", "consensus"]
    row = ("It is cheaper.", "It is.", "It is not.", "unresolved", "1, 2", "")
    dissent, _ = filled(here, *row, "", turn="final.dissent.judge")

    assert verdict["converged_on"] == "The middle." and verdict["follow_up"] == "Act."
    assert verdict["strength"] == "consensus"  # it is computed, and not asked for
    assert verdict["strongest_argument"] == {"seat": "a", "argument": NOTHING, "why": NOTHING}
    assert verdict["unresolved_questions"] == ["Is it cheaper?"]
    assert dissent["rows"][0]["turns"] == ["1.opening.a", "1.opening.b"]


def test_a_winner_against_the_scores_is_asked_about(here: Path) -> None:
    """A ballot that names the side with fewer points is asked about where it is handed in; Enter keeps it."""
    ballot, script = filled(here, *SHORT[:2], "b", *SHORT[3:], "")

    assert ballot["winner"] == "b"
    assert "Your scores favour Researcher A, and you name Researcher B the winner." in script.text
    assert script.asked[-1].text.startswith("Enter keeps that and hands it in")
    assert "Your scores favour" not in filled(here / "other", *SHORT, "")[1].text


def test_what_is_half_typed_is_on_the_disk(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was entered is there again, and the next question is the first without an answer. What is in its field and
    was not entered is on the disk soon, and lies in the line for the next process."""
    monkeypatch.setattr(drafts, "SAVE_DELAY", 0)
    on_disk = dict[Path, bytes]()

    class Dying(Script):
        async def _read(self, question: Question) -> str:
            if not self.typed:
                question.on_change("A was bet")
                await asyncio.sleep(0.01)
                on_disk.update({path: path.read_bytes() for path in here.glob("r.drafts/*")})
            return await super()._read(question)

    with pytest.raises(Quit):
        run(TurnForm(taken("1.verdict.judge", Dying(*SHORT[:3]), here)).run())
    [(path, content)] = on_disk.items()
    path.write_bytes(content)
    script = Script()
    with pytest.raises(Quit):
        run(TurnForm(taken("1.verdict.judge", script, here)).run())
    assert "What you had entered is here again." in script.text
    assert (script.asked[0].text, script.asked[0].initial_text) == ("Justification", "A was bet")
    assert [text for _, text in json.loads(content)] == [*SHORT[:3], "A was bet"]
