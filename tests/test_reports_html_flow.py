"""The flow sheet has a line for every turn, ties that name both their ends, and nothing that no turn says."""

from __future__ import annotations

import pytest
from dealing import for_each
from debates import CONCEDE, DECLINE, saying
from debates import told as adversarial
from hypothesis import given
from nasty import NASTY, texts
from puppets import ballot
from tellings import FETCHED, check, checks, evidence, told

from debate_orchestrator.reports.html.excerpts import LONGEST
from debate_orchestrator.reports.html.figures import FlowLine, FlowNote, FlowPart, FlowRow, flow, gist
from debate_orchestrator.reports.html.writer import HtmlWriter
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import TurnReport

CONVERGED = ballot(7, 6, rounds=2) | {
    "convergence": {"detected": True, "criteria": ["same claim", "only quibbles"], "side": "b"}
}


def sheet(story: ReportModel) -> tuple[FlowPart, ...]:
    return flow(story, HtmlWriter({}, []), "Before", "After")


def notes(legs: tuple[FlowPart, ...]) -> dict[str, FlowNote]:
    rows = [row for leg in legs for row in leg.rows if isinstance(row, FlowRow)]
    return {note.turn.id: note for row in rows for _, cell in row.cells for note in cell}


def speech(text: str, **changes: object) -> TurnReport:
    made = {"id": "1.opening.a", "seat": "a", "heading": "Opening", "tag": "[R1]", "text": text}
    return TurnReport.model_validate(made | changes)


def test_a_row_for_each_phase() -> None:
    """Rounds are legs, phases rows, sides columns; the judge's vote closes a round."""
    legs = sheet(adversarial(rounds=2))

    assert [leg.title for leg in legs] == ["Round 1", "Round 2"]
    assert [row.phase for row in legs[1].rows if isinstance(row, FlowRow)] == ["Constructive", "Challenge", "Rebuttal"]
    assert [[side for side, _ in row.cells] for row in legs[0].rows if isinstance(row, FlowRow)] == [["a", "b"]] * 3
    assert legs[0].rows[-1] == FlowLine("vote", "Judge", "A (A 7, B 6)", "1.verdict.judge")


def test_ties_name_both_ends() -> None:
    """A challenge names the case that it attacks, the case its challenge; so do a rebuttal and what it answers."""
    made = notes(sheet(adversarial(rounds=2)))

    assert made["1.challenge.a"].attacks == "1.opening.b"
    assert made["1.opening.b"].attacked_by == ("1.challenge.a",)
    assert made["1.rebuttal.b"].answers == "1.challenge.a"
    assert made["1.challenge.a"].answered_by == ("1.rebuttal.b",)


def test_speeches_outside_the_rounds_have_legs_of_their_own() -> None:
    """What stands before the first round and after the last is told there."""
    assert [leg.title for leg in sheet(told("panel"))] == ["Before", "Round 1", "After"]


def test_interventions_and_clerks_cross_the_sheet() -> None:
    """What is no side's goes across: that the engine stepped in, and what a clerk found."""
    forced = sheet(adversarial(saying(_1_verdict_judge=CONVERGED), rounds=2))
    cited = sheet(told("claim", {"1.check.clerk": checks(check("1.argument.a"), check("1.argument.b"))}, cast=FETCHED))

    assert FlowLine("call", "Intervention", "[ANTI-CONVERGENCE INTERVENTION - ROUND 1]") in forced[0].rows
    assert "1.divergence.b" in notes(forced)
    assert FlowLine("clerk", "Clerk", "2 verified", "1.check.clerk") in cited[0].rows


def test_where_nobody_argues_there_is_no_sheet() -> None:
    """A debate without speeches has no flow."""
    assert sheet(told("question-blind")) == ()


def test_a_paused_debate_has_the_sheet_so_far() -> None:
    """A side that has not spoken yet has an empty cell."""
    (leg,) = sheet(adversarial(rounds=2, until="1.opening.b"))

    assert leg.rows[0] == FlowRow("Opening Statement", (("a", leg.rows[0].cells[0][1]), ("b", ())))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "# Case\n\n**Yes.** This is what I mean to say here today. And more.",
            "This is what I mean to say here today.",
        ),
        (
            "It is late. My thesis: tabs are better than spaces in every file. So.",
            "My thesis: tabs are better than spaces",
        ),
        (
            "I grant the mismatch. It proves nothing about the rest of it.",
            "I grant the mismatch. It proves nothing about",
        ),
        (
            'He said "it is so, and so it will be." Then he left, and nobody ever saw him again there.',
            "Then he left, and nobody",
        ),
        ("> The other side's very own words.\n\nThat is what I answer here.", "That is what I answer here."),
        ("Yes.", "Yes."),
        ("- a list of things that matter", "a list of things that matter"),
        ("```\ncode alone\n```", "``` code alone ```"),
    ],
)
def test_a_turn_in_a_line(said: str, line: str) -> None:
    """The line is the first sentence that tells something, or a thesis soon named; with what follows if it is short."""
    assert gist(speech(said), HtmlWriter({}, [])).startswith(line)


def test_a_structured_speech_in_a_line() -> None:
    """Of a speech in fields the argument is told."""
    made = notes(sheet(told("claim", {"1.argument.a": evidence(argument="It follows from the page alone.")})))

    assert made["1.argument.a"].line == "It follows from the page alone."


def test_refusals_and_concessions_are_told() -> None:
    """Who declined is said to have; who conceded did so in a turn that says it."""
    declined = notes(sheet(adversarial(saying(_1_opening_a=DECLINE), rounds=1)))
    conceded = notes(sheet(adversarial(saying(_1_rebuttal_b=f"You are right in all of it.\n\n{CONCEDE}"), rounds=2)))

    assert declined["1.opening.a"].line == "Declined to argue."
    assert conceded["1.rebuttal.b"].turn.concedes


def test_a_rebuttal_is_told_by_what_it_answers() -> None:
    """A rebuttal's line passes over what it grants; an opening's does not."""
    said = "I grant the mismatch of the two. But it proves nothing about the rest of it."
    made = notes(sheet(adversarial(saying(_1_rebuttal_a=said, _1_opening_b=said), rounds=2)))

    assert made["1.rebuttal.a"].line.startswith("But it proves nothing")
    assert made["1.opening.b"].line.startswith("I grant")


@given(texts)
def test_no_line_is_too_long(text: str) -> None:
    """Whatever is said, its line is one line and not too long."""
    made = gist(speech(text), HtmlWriter({}, []))

    assert len(made) <= LONGEST + 1
    assert "\n" not in made


@for_each(NASTY)
def test_hostile_speech_has_a_line(text: str) -> None:
    """Hostile speech has a line like any other."""
    assert len(gist(speech(text), HtmlWriter({}, []))) <= LONGEST + 1
