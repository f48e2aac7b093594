"""Questions made into statements, where nothing must be guessed for that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.setup.plain_positions import plain_positions, should_question


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
    """A question whether someone should do something tells who, and what."""
    asked = should_question(question)

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
    assert should_question(topic) is None


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_no_word_is_lost(rest: str) -> None:
    """Whatever is asked: what comes out are the words that went in, in their order, or nothing."""
    asked = should_question(f"Should we {rest}?")

    if asked is not None:
        assert ["We", *rest.split()] == [asked.who, *asked.what.split()] or rest.rstrip()[-1] in ".!"


@pytest.mark.parametrize(
    ("topic", "a", "b"),
    [
        ("Should we buy or build our billing?", "We should buy our billing.", "We should build our billing."),
        ("Should we buy or build?", "We should buy.", "We should build."),
        (
            "Should we use Kafka or NATS for events?",
            "We should use Kafka for events.",
            "We should use NATS for events.",
        ),
        ("Should we rewrite it in Rust or keep Go?", "We should rewrite it in Rust.", "We should keep Go."),
        ("Should we move or not?", "We should move.", "We should not move."),
        ("We should move to gRPC.", "We should move to gRPC.", "We should not move to gRPC."),
        ("We should not move", "We should not move.", "We should move."),
        ("Tabs are better than spaces.", "Tabs are better than spaces.", "Tabs are not better than spaces."),
        ("Is Vim better than Emacs?", "Vim is better than Emacs.", "Vim is not better than Emacs."),
        ("Do we need a CRM?", "We need a CRM.", "We do not need a CRM."),
        ("Does our team need a CRM?", "Our team needs a CRM.", "Our team does not need a CRM."),
    ],
)
def test_two_positions(topic: str, a: str, b: str) -> None:
    """A choice gives its two halves, a statement itself and its negation, a question its answers."""
    assert plain_positions(topic, ("a", "b")) == {"a": a, "b": b}


@pytest.mark.parametrize(
    "topic",
    [
        "Pineapple on pizza",
        "Nobody should own two cars.",
        "Should we stay or move to Berlin?",
        "Should we use open or closed source?",
        "Should we use one or two databases?",
        "Should we stop or keep the tests?",
        "Is remote work a good idea?",
        "Is nothing better than this?",
        "Does remote work help?",
        "Why is the sky blue?",
        "What matters is speed.",
        "Speed is good, and cost is bad.",
        "Whether AI is dangerous",
        "There is a problem.",
    ],
)
def test_no_position_rather_than_a_wrong_one(topic: str) -> None:
    """Where the grammar is not sure there are no positions: the person words them."""
    assert plain_positions(topic, ("a", "b")) == {}
