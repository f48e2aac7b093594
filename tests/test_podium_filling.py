"""A form is asked field by field, complains at once, leads back, shows what was entered, and is kept all the while."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from persons import BACK, CTRL_C
from podiums import Script, lines, run, standing, taken

from debate_orchestrator.podium.filling import Filling
from debate_orchestrator.podium.lectern import Elsewhere, Left
from debate_orchestrator.util.terminal_text import Back

SCORES = ("7", "6", "8", "5", "5.5", "4")
TEXTS = ("start of A", "start of B", "end of A", "end of B")
REST = ("a", "A was better.", "more of it, A", "more of it, B", "", "no", "")
ALL = (*SCORES, *TEXTS, *REST)
"""An answer to every question of a strict ballot of two rounds."""


def filled(here: Path, *said: str | Exception, turn: str = "1.verdict.judge", **more: Any) -> tuple[Any, Script]:
    script = Script(*said, **more)
    return json.loads(run(Filling(taken(turn, script, here)).take())), script


def question(script: Script, n: int) -> str:
    return script.asked[n].above[1].text


def test_a_whole_ballot(here: Path) -> None:
    """A ballot is asked for in the order of its fields, and is what was entered."""
    ballot, script = filled(here, *ALL, "")

    assert ballot == {
        "scores": {
            "a": {"argument_quality": 7, "use_of_evidence": 6, "directness_of_rebuttals": 8},
            "b": {"argument_quality": 5, "use_of_evidence": 5.5, "directness_of_rebuttals": 4},
        },
        "strongest": {"a": "start of A", "b": "start of B"},
        "weakest": {"a": "end of A", "b": "end of B"},
        "winner": "a",
        "justification": "A was better.",
        "feedback": {"a": "more of it, A", "b": "more of it, B"},
        "unsupported_claims": [],
        "convergence": {"detected": False, "criteria": [], "side": None},
        "conceded": None,
    }
    assert question(script, 0) == "Scores: Researcher A: Argument quality"
    assert question(script, 10) == "Winner"
    assert "  1 a    Researcher A" in [line.text for line in script.asked[10].above]


def test_a_whole_ballot_at_a_terminal(here: Path) -> None:
    """The same, typed: wrong answers, a way back by a key, and all."""
    keys = lines("11", "7", "6", "9") + BACK + lines("8", *SCORES[3:], *TEXTS, "nobody", *REST, "11", "b", "")
    with standing(keys) as (terminal, screen):
        at = taken("1.verdict.judge", terminal, here)
        ballot = json.loads(run(Filling(at).take()))

    assert ballot["winner"] == "b"
    assert ballot["scores"]["a"]["directness_of_rebuttals"] == 8
    assert "11 is not a number from 1 to 10." in screen.text
    assert at.wrong(json.dumps(ballot)) == []


def test_a_wrong_answer_is_told_at_once(here: Path) -> None:
    """An answer that will not do is complained about under its question, which is asked again; a text is kept to be
    edited, a number is not."""
    _, script = filled(here, "eleven", *SCORES, " ", *TEXTS, *REST, "")

    assert "is not a number from 1 to 10" in script.asked[1].above[-1].text
    assert script.asked[1].now == ""
    assert "is not text of 1 to 20,000 characters" in script.asked[8].above[-1].text


def test_a_question_mark_explains(here: Path) -> None:
    """A question mark tells what a field means, what it takes and what keys do; nothing is entered by it."""
    ballot, script = filled(here, "?", *SCORES, "?", *ALL[6:], "")

    assert ballot["scores"]["a"]["argument_quality"] == 7 and ballot["strongest"]["a"] == "start of A"
    assert "What it takes: a number from 1 to 10." in script.text and "Keys: Enter sends the answer" in script.text
    assert not any("got '?'" in line.text for blank in script.asked for line in blank.above)
    assert script.asked[8].now == ""


def test_advice_that_nobody_hears(here: Path) -> None:
    """In the last round the question for advice says that no round follows; before that it does not."""
    for rounds, said in ((1, True), (2, False)):
        script = Script(*ALL)
        with pytest.raises(Left):
            run(Filling(taken("1.verdict.judge", script, here / str(rounds), rounds=rounds)).take())
        advice = next(blank for blank in script.asked if blank.above[1].text.startswith("Feedback"))
        assert any("no round follows" in line.text for line in advice.above) is said


def test_going_back(here: Path) -> None:
    """Back leads to the question before, with its answer: to be kept by Enter where it is short, to be edited where it
    is a text; later answers are kept. Before the first there is none."""
    said = (Back(), "7", Back(), "", "6", "8", *SCORES[3:], *TEXTS, Back(), "end of B!", *REST, "")
    ballot, script = filled(here, *said)

    assert question(script, 1) == question(script, 3) == "Scores: Researcher A: Argument quality"
    assert "Enter alone keeps 7" in script.asked[3].above[-1].text
    assert ballot["scores"]["a"]["argument_quality"] == 7
    assert ballot["weakest"] == {"a": "end of A", "b": "end of B!"}
    back = next(blank for blank in script.asked if blank.now == "end of B")
    assert back.above[1].text == "Weakest: Researcher B"


def test_all_is_looked_at(here: Path) -> None:
    """Before it is handed in all of it is shown with numbers, any of which changes an answer; back leads to the last
    question."""
    ballot, script = filled(here, *ALL, "12", "B was better.", "11", "b", Back(), "b", "99", "0000011", "")

    assert (ballot["winner"], ballot["justification"], ballot["conceded"]) == ("b", "B was better.", "b")
    assert " 12 Justification: A was better." in script.text and " 12 Justification: B was better." in script.text


def test_no_such_answer_can_be_changed(here: Path) -> None:
    """A number that none of the answers has, or a word, is met with what is expected; nothing is handed in by it."""
    _, script = filled(here, *ALL, "99", "nonsense", "")

    assert "Got '99'; expected a number from 1 to 17." in script.told
    assert "Got 'nonsense'; expected a number from 1 to 17." in script.told


def test_what_depends_is_asked_for(here: Path) -> None:
    """A finding asks for what belongs to it, also when it is only made in the end, and an item for its fields."""
    claim = ("2", "It is cheaper.", "")
    found = ("yes", "same claim, 3", "both")
    ballot, _ = filled(here, *SCORES, *TEXTS, *REST[:4], *claim, *found, "", "")
    later, _ = filled(here / "later", *ALL, "16", *found, "")

    assert ballot["unsupported_claims"] == [{"seat": "b", "claim": "It is cheaper."}]
    assert ballot["convergence"] == {"detected": True, "criteria": ["same claim", "only quibbles"], "side": "both"}
    assert later["convergence"] == ballot["convergence"]


def test_a_draft_is_offered_again(here: Path) -> None:
    """What was entered before somebody left is there again, with what was only half typed; the next question is the
    first that has no answer."""
    with pytest.raises(Left):
        filled(here, *SCORES, "start of A", Left())
    ballot, script = filled(here, *TEXTS[1:], *REST, "")

    assert "What you had entered is here again." in script.text
    assert question(script, 0) == "Strongest: Researcher B"
    assert ballot["strongest"] == {"a": "start of A", "b": "start of B"}


def test_what_was_half_typed_is_kept(here: Path) -> None:
    """What was typed when somebody left is in the line when the question is asked again, and is no answer before."""
    with standing(lines(*SCORES) + "half a tho" + CTRL_C) as (terminal, _), pytest.raises(Left):
        run(Filling(taken("1.verdict.judge", terminal, here)).take())
    _, script = filled(here, *TEXTS, *REST, "")

    assert question(script, 0) == "Strongest: Researcher A"
    assert script.asked[0].now == "half a tho"


def test_what_was_entered_can_be_seen(here: Path) -> None:
    """What was entered so far, and the whole brief, can be seen at every question."""
    _, script = filled(here, *ALL, "")

    assert script.entered[2] == (
        "  1 Scores: Researcher A: Argument quality: 7\n  2 Scores: Researcher A: Use of evidence: 6\n"
    )
    assert "Score each researcher" in script.asked[2].shows["brief"]()
    assert script.asked[2].below("").text == "Question 3 of 17"
    assert script.asked[6].below("two words").text == "Question 7 of 17, 2 words"


def test_a_text_in_an_editor(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text can be written in an editor; where none was chosen, that is told."""
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.delenv("VISUAL", raising=False)
    seen: list[str] = []

    def edit(path: Path) -> None:
        seen.append(path.read_text())
        path.write_text("From the editor.\n")

    said = (*SCORES, Elsewhere("begun"), "From the editor.", *TEXTS[1:], *REST, "")
    ballot, script = filled(here, *said, edits=edit)
    assert seen == ["begun"] and script.asked[7].now == "From the editor."
    assert ballot["strongest"]["a"] == "From the editor."
    monkeypatch.setenv("EDITOR", "")
    for path in (here / "r.drafts").iterdir():
        path.unlink()
    _, script = filled(here, *said)
    assert "set VISUAL or EDITOR" in script.text and script.asked[7].now == "begun"


class TestEditor:
    @pytest.fixture(autouse=True)
    def an_editor(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VISUAL", "ed")

    def test_what_was_edited_is_kept(self, here: Path) -> None:
        """What was written in the editor is in the draft when somebody leaves right after it, also where the editor
        then ended with an error; no other file of it is left."""

        def edit(path: Path) -> str:
            path.write_text("From the editor.\n")
            return "ed: it ended with code 1"

        with pytest.raises(Left):
            filled(here, *SCORES, Elsewhere("begun"), Left(), edits=edit)
        assert [path.suffix for path in (here / "r.drafts").iterdir()] == [".json"]
        _, script = filled(here, *TEXTS, *REST, "")

        assert script.asked[0].now == "From the editor."

    def test_what_the_editor_left_unreadable(self, here: Path) -> None:
        """What is no text stays in a file whose name is told, and the answer is what it was."""

        def edit(path: Path) -> None:
            path.write_bytes("Wörter".encode("latin-1"))

        with pytest.raises(Left):
            filled(here, *SCORES, Elsewhere("begun"), Left(), edits=edit)
        (left,) = (here / "r.drafts").glob("*.part-*")
        _, script = filled(here, "Anew.", *TEXTS[1:], *REST, "")

        assert left.read_bytes() == "Wörter".encode("latin-1")
        assert script.asked[0].now == "begun"

    def test_a_crash_in_the_editor(self, here: Path) -> None:
        """What was begun is in the draft while the editor is open, and what it has saved outlives a crash."""

        def edit(path: Path) -> None:
            path.write_text("Saved.")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            filled(here, *SCORES, Elsewhere("begun"), edits=edit)
        (left,) = (here / "r.drafts").glob("*.part-*")
        _, script = filled(here, *TEXTS, *REST, "")

        assert left.read_text() == "Saved."
        assert script.asked[0].now == "begun"


def test_a_form_that_can_not_be_read(here: Path) -> None:
    """A form on the disk that is none is set aside before anything is written over it, and its name is told."""
    at = taken("1.verdict.judge", None, here)
    (here / "r.drafts").mkdir()
    Path(at.papers.place(at.brief)).write_text("My own notes.")
    _, script = filled(here, *ALL, "")
    (aside,) = (here / "r.drafts").glob("*.aside-*")

    assert aside.read_text() == "My own notes." and str(aside) in script.text


def test_a_side_that_replies_in_a_shape(here: Path) -> None:
    """Whatever the shape is, its form ends in a reply that will do: the final verdict, and the dissent record."""
    final = (
        "consensus",
        "The middle.",
        "3",
        "Why it is so.",
        "a",
        "An argument.",
        "It decided.",
        "A question",
        "",
        "Act.",
    )
    verdict, _ = filled(here, *final, "", turn="final.verdict.judge")
    row = ("It is cheaper.", "It is.", "It is not.", "unresolved", "1, 2", "")
    dissent, _ = filled(here, *row, "", turn="final.dissent.judge")

    assert verdict["converged_on"] == "The middle." and verdict["unresolved_questions"] == ["A question"]
    assert dissent["rows"][0]["turns"] == ["1.opening.a", "1.opening.b"]
