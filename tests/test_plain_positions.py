"""Questions made into statements, where nothing must be guessed for that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.setup.plain_positions import shoulds


@pytest.mark.parametrize(
    ("question", "who", "what"),
    [
        ("Should we replace it?", "We", "replace it"),
        ("should I learn Rust?", "I", "learn Rust"),
        (
            "Should this service move from REST to gRPC for internal calls?",
            "This service",
            "move from REST to",
        ),
        ("Should large AI companies be regulated?", "Large AI companies", "be regulated"),
        ("Should cities ban cars?", "Cities", "ban cars"),
        ("Should GitHub use fewer colours?", "GitHub", "use fewer colours"),
    ],
)
def test_what_is_asked(question: str, who: str, what: str) -> None:
    """A question whether somebody should do something tells who, and what."""
    asked = shoulds(question)

    assert asked is not None
    assert asked.who == who and asked.what.startswith(what)


@pytest.mark.parametrize(
    "topic",
    [
        "Tabs are better than spaces.",
        "Is Vim better than Emacs?",
        "Should we use tabs or spaces?",
        "Should we not move?",
        "Should the travel ban expire?",
        "Should the use of force be legal?",
        "Should the bus stop be moved?",
        "Should efforts to replace it end?",
        "Should they and we pay?",
        "Should land use change?",
        "Should we move? And when?",
        "Should we?",
        "Should",
        "",
    ],
)
def test_what_is_not_sure_is_left_alone(topic: str) -> None:
    """Any other topic, and any question whose subject may end elsewhere, is not made into anything."""
    assert shoulds(topic) is None


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_no_word_is_lost(rest: str) -> None:
    """Whatever is asked: what comes out are the words that went in, in their order, or nothing."""
    asked = shoulds(f"Should we {rest}?")

    if asked is not None:
        assert ["We", *rest.split()] == [asked.who, *asked.what.split()] or rest.rstrip()[-1] in ".!"
