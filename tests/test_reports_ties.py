"""Challenges and rebuttals are tied to what they are about, by the order of the debate."""

from __future__ import annotations

from debates import DECLINE, saying
from debates import told as adversarial
from tellings import told

from debate_orchestrator.reports.model import ReportModel


def tied(story: ReportModel) -> dict[str, tuple[str, str]]:
    return {tie.turn: (tie.how, tie.to) for tie in story.ties}


def test_challenges_attack_the_case_before_them() -> None:
    """A challenge attacks the other side's statement of its round, and a rebuttal answers the other's challenge."""
    made = tied(adversarial(rounds=2))

    assert made["1.challenge.a"] == ("attacks", "1.opening.b")
    assert made["2.challenge.b"] == ("attacks", "2.constructive.a")
    assert made["1.rebuttal.a"] == ("answers", "1.challenge.b")
    assert made["2.rebuttal.b"] == ("answers", "2.challenge.a")
    assert len(made) == 8


def test_rebuttals_without_challenges() -> None:
    """Where nobody challenges, a rebuttal answers the latest speech of the other side that its speaker heard."""
    made = tied(told("panel", first="a"))

    assert made == {"1.rebuttal.a": ("answers", "start.opening.b"), "1.rebuttal.b": ("answers", "1.rebuttal.a")}


def test_other_phases_are_tied_to_nothing() -> None:
    """Arguments and openings name nothing that they are about, and a refusal is about nothing."""
    assert tied(told("conversation", rounds=2)) == tied(told("claim")) == {}
    assert "1.challenge.a" not in tied(adversarial(saying(_1_challenge_a=DECLINE), rounds=2))
