"""What panels and mirrored judging take from a bias, where arithmetic alone decides it."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "benchmarks"))

import bias

from debate_orchestrator.core import tally
from debate_orchestrator.core.phases import NO_DECISION

ALONE, MIRRORED, _, MIXED, PANEL = bias.SETTINGS
POSITION, LENGTH, SIDE = (bias.BIASES[name] for name in list(bias.BIASES)[1:])
EQUAL = {"a": 5.0, "b": 5.0}
WORDS = {"a": bias.SHORT, "b": bias.LONG}


@pytest.fixture(autouse=True)
def _steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judges do not vary, so that nothing is left to chance."""
    monkeypatch.setattr(bias, "NOISE", 0.0)


def winner(quality: dict[str, float], first: str, setting: bias.Setting, of: bias.Bias) -> str:
    verdict = tally.verdict(bias.debated(quality, WORDS, first, setting, of, random.Random(1)))
    assert verdict is not None
    return verdict.winner


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("quality", [EQUAL, {"a": 6.0, "b": 5.0}, {"a": 5.0, "b": 6.0}])
def test_a_bias_for_the_first(quality: dict[str, float], first: str) -> None:
    """A judge who gives whoever is shown first more than the sides differ by names that side, whoever it is; mirrored,
    it always abstains, and so does a panel of such judges."""
    assert winner(quality, first, ALONE, POSITION) == first
    assert winner(quality, first, MIRRORED, POSITION) == NO_DECISION
    assert winner(quality, first, PANEL, POSITION) == NO_DECISION


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_small_bias_for_the_first_changes_nothing(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the sides differ by more than the bias, the mirrored judge votes for the better one, and its mean scores
    are as far apart as the sides are."""
    monkeypatch.setattr(bias, "BIAS", 0.5)
    debate = bias.debated({"a": 5.0, "b": 6.0}, WORDS, first, MIRRORED, POSITION, random.Random(1))

    assert winner({"a": 5.0, "b": 6.0}, first, MIRRORED, POSITION) == "b"
    assert tally.totals(debate)["b"] - tally.totals(debate)["a"] == 1
    assert tally.flips(debate) == (0, 1)


@pytest.mark.parametrize(("of", "favoured"), [(LENGTH, "b"), (SIDE, "a")])
def test_what_the_mirror_leaves(of: bias.Bias, favoured: str) -> None:
    """A bias for the longer speech, or for PRO, is the same in both presentations: the mirror takes nothing from it."""
    for first in ("a", "b"):
        assert winner(EQUAL, first, ALONE, of) == winner(EQUAL, first, MIRRORED, of) == favoured


def test_judges_of_different_biases() -> None:
    """Three judges, each with a bias of its own, decide for a side that two of the biases favour, and not for one that
    a single bias does."""
    assert winner(EQUAL, "a", MIXED, POSITION) == "a"  # first and PRO against the longer speech
    assert winner(EQUAL, "b", MIXED, POSITION) == "b"  # first and longer against PRO
