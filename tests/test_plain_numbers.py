"""A number that a person types is written in the digits 0 to 9, wherever it is typed."""

from __future__ import annotations

import pytest
from conftest import Run
from corpus import for_each

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.answers_and_flags import read_max_cost
from debate_orchestrator.setup.answers import from_text
from debate_orchestrator.util.errors import BadSettings

ODD = ("1_0", "١٠", "nan")


@pytest.mark.parametrize("text", ODD)
def test_other_digits_are_no_number(text: str) -> None:
    """What Python takes for a number besides is refused, in a cap and every setting."""
    with pytest.raises(BadSettings, match="must be"):
        read_max_cost(text)
    assert from_text("max_cost", text) == from_text("retry_for", text) == text


@for_each(
    [
        ("tournament", "plan", "spec.yaml", "--seed"),
        ("tournament", "rate", "t", "--min-games"),
        ("serve", "--port"),
        ("step", "x", "--wait"),
    ],
    "command",
)
def test_flags_take_no_other_digits(debate: Run, command: tuple[str, ...]) -> None:
    """A flag that takes a number refuses them before anything is done."""
    ran = debate(*command, ODD[1])

    assert ran.code == 2 and command[-1] in ran.err and "not a" in ran.err


@for_each([("2", 2.0), (" 2.50 ", 2.5), ("1e1", 10.0), (".5", 0.5), ("+3.", 3.0)])
def test_plain_numbers_are_taken(text: str, value: float) -> None:
    """Decimals, signs, exponents and spaces around a number are its usual forms."""
    assert read_max_cost(text) == from_text("max_cost", text) == value
    assert flags.whole_number(" -7 ") == -7
