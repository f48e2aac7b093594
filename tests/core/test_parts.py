"""What a format is made of: parts that can't be odd by themselves."""

from __future__ import annotations

from typing import Any

import pytest
from core.folding import ADVERSARIAL
from pydantic import ValidationError

from debate_orchestrator.core.phases import Criterion, Phase, Quotes, Rubric, Seat

PHASE: dict[str, Any] = {"name": "speech", "title": "Speech", "tag": "SPEECH", "seats": ["a"]}
WIT: dict[str, Any] = {"title": "Wit", "about": ""}


@pytest.mark.parametrize("name", ["", "Speech", "2nd", "../x", "a.b", "a b", "a" * 42, "x\n"])
def test_names_can_be_part_of_an_id(name: str) -> None:
    """A phase's name, and its template's, is a few small letters, digits and hyphens, as a file's name may be."""
    with pytest.raises(ValidationError, match="name"):
        Phase.model_validate(PHASE | {"name": name})
    if name:
        with pytest.raises(ValidationError, match="template"):
            Phase.model_validate(PHASE | {"template": name})


@pytest.mark.parametrize("tag", ["", "Quote", "v-quote", "x>", "a.b", "(", "quote "])
def test_marks_are_plain_words(tag: str) -> None:
    """The tags of quotes are small letters, digits and underscores, so that none is a pattern or another tag."""
    for key in ("tag", "verified", "unverified"):
        with pytest.raises(ValidationError, match=key):
            Quotes.model_validate({key: tag})
    assert Quotes().names == ("quote", "v_quote", "u_quote")


@pytest.mark.parametrize("key", ["least_words", "most_words"])
@pytest.mark.parametrize("words", [0, -1, 1.5, "many"])
def test_lengths_are_numbers_of_words(key: str, words: Any) -> None:
    """A speech is held to one word or more."""
    with pytest.raises(ValidationError, match=key):
        Phase.model_validate(PHASE | {key: words})


@pytest.mark.parametrize("weight", [0, -1, "heavy"])
def test_a_criterion_weighs_something(weight: Any) -> None:
    """Weights are above nothing; a criterion that says none weighs one."""
    with pytest.raises(ValidationError, match="weight"):
        Criterion.model_validate(WIT | {"weight": weight})
    assert Criterion.model_validate(WIT).weight == 1


def test_scales_of_criteria() -> None:
    """A criterion has the rubric's scale, but for an end of its own."""
    scales: list[dict[str, Any]] = [{}, {"most": 5}, {"least": 0}, {"least": -1, "most": 1}]
    criteria = {str(n): WIT | one for n, one in enumerate(scales)}
    rubric = Rubric.model_validate({"name": "x", "least": 1, "most": 10, "criteria": criteria, "strictness": {}})
    assert [rubric.scale(name) for name in rubric.criteria] == [(1, 10), (1, 5), (0, 10), (-1, 1)]


def test_parts_are_frozen_and_closed() -> None:
    """A part can't be changed, and has no field that it does not know."""
    with pytest.raises(ValidationError, match="frozen"):
        ADVERSARIAL.seats["a"].name = "Other"
    with pytest.raises(ValidationError, match="model"):
        Seat.model_validate({"name": "x", "tag": "X", "model": "some"})


@pytest.mark.parametrize("key", ["on", "option", "order", "panel"])
def test_what_a_phase_may_be(key: str) -> None:
    """A phase comes about in one of the ways there are, and in no other."""
    with pytest.raises(ValidationError, match=key):
        Phase.model_validate(PHASE | {key: "now and then"})
