"""Formats read from prompts/: what the shipped ones say, and the agenda that is shown of them."""

from __future__ import annotations

from typing import Any

import pytest
from core.folding import agenda as stages
from core.folding import debated
from pydantic import ValidationError

from debate_orchestrator import formats, library
from debate_orchestrator.core.rules import Phase
from debate_orchestrator.errors import BadFormat

NAMES = library.format_names()


@pytest.mark.parametrize("name", NAMES)
def test_every_shipped_format_loads(name: str) -> None:
    """Every format in prompts/ is well made, is called after its folder, and has a template for each phase."""
    made = formats.load(name)
    assert made.name == name
    assert all((library.prompts() / formats.task(made, phase)).is_file() for phase in made.phases())


@pytest.mark.parametrize("name", NAMES)
def test_what_hangs_together_in_every_shipped_format(name: str) -> None:
    """Limits are in order, what depends on a field names one beside it, and texts are there."""
    made = formats.load(name)
    limits = made.rounds
    assert 1 <= limits.default <= limits.most <= limits.insist
    assert made.rubric.least < made.rubric.most
    assert made.rubric.criteria and made.rubric.strictness
    for shape in made.shapes.values():
        for fields in (shape, *(field.fields for field in shape.values())):
            assert {other for field in fields.values() for other in field.only_if} <= set(fields)


def test_the_adversarial_format() -> None:
    """Two researchers and a judge; three rounds unless asked, six at most, eight for who insists."""
    made = formats.load("adversarial")
    assert (list(made.seats), made.sides) == (["a", "b", "judge"], ("a", "b"))
    assert (made.rounds.default, made.rounds.most, made.rounds.insist) == (3, 6, 8)
    assert [made.name_of(seat) for seat in made.seats] == ["Researcher A", "Researcher B", "Judge"]
    assert (made.rubric.name, made.rubric.least, made.rubric.most) == ("research", 1, 10)
    assert list(made.rubric.strictness) == ["lenient", "strict"]
    assert set(made.shapes["ballot"]["convergence"].fields["criteria"].of) == set(made.rubric.convergence)


def test_what_is_announced_word_for_word() -> None:
    """Labels are those that a debate of this kind has always had."""
    labels = formats.load("adversarial").labels
    assert labels.round.format(round=2, rounds=3) == "--- ROUND 2 OF 3 ---"
    assert labels.intervention.format(round=2) == "[ANTI-CONVERGENCE INTERVENTION - ROUND 2]"
    assert (labels.divergence, labels.final) == ("[FORCED DIVERGENCE]", "[JUDGE - FINAL VERDICT]")
    assert labels.persisted == (
        "Both researchers maintained convergence despite intervention — consensus finding protocol applies."
    )


def test_a_format_is_loaded_once_and_can_not_be_spoiled() -> None:
    """Whoever loads a format has the same frozen value."""
    made = formats.load("adversarial")
    assert formats.load("adversarial") is made
    with pytest.raises(ValidationError):
        made.title = "Other"


@pytest.mark.parametrize("name", ["nonsense", "", "Adversarial", "research"])
def test_an_unknown_format(name: str) -> None:
    """A format that is not there is refused with the names of those that are."""
    with pytest.raises(BadFormat, match=r"one of .*adversarial"):
        formats.load(name)


def test_a_phase_has_its_own_template() -> None:
    """A phase's template has its name, unless the format gives another."""
    given: dict[str, Any] = {"name": "verdict", "title": "V", "tag": "V", "seats": ["judge"]}
    assert formats.template(Phase.model_validate(given)) == "verdict.md.j2"
    assert formats.template(Phase.model_validate(given | {"template": "final"})) == "final.md.j2"


@pytest.mark.parametrize("panel", [1, 3])
@pytest.mark.parametrize("rounds", [1, 2, 3, 8])
def test_the_agenda_shown_is_the_one_played(rounds: int, panel: int) -> None:
    """What is shown of a format before anybody spoke is what a debate of that size goes through."""
    shown = formats.agenda(formats.load("adversarial"), rounds, "strict", panel)
    plain = [tuple(ids) for _, how, ids in shown if not how.startswith("only on")]
    assert plain == stages(rounds, panel, "a")
    assert plain == [tuple(turn.id for turn in stage) for stage in debated(rounds, panel).stages()]


def test_the_agenda_says_how_a_stage_comes_about() -> None:
    """Stages are told by their round, in turn or at once, and what depends on a finding says so."""
    shown = formats.agenda(formats.load("adversarial"), 2, "lenient")
    assert shown[0] == ("round 1", "in turn", ["1.opening.a"])
    assert shown[2] == ("round 1", "at once", ["1.challenge.a", "1.challenge.b"])
    assert shown[5] == ("round 1", "only on convergence, those it names", ["1.divergence.a", "1.divergence.b"])
    assert shown[-2:] == [
        ("closing", "alone", ["final.verdict.judge"]),
        ("closing", "alone", ["final.dissent.judge"]),
    ]


def test_one_round_has_no_forced_turn() -> None:
    """The agenda of a one-round debate holds nothing that could answer convergence."""
    stages = formats.agenda(formats.load("adversarial"), 1, "strict")
    assert not [how for _, how, _ in stages if how.startswith("only")]
