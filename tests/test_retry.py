"""How long to wait after trouble: doubling, jittered, honouring what was asked for, within a bounded time."""

from __future__ import annotations

from itertools import count

from core.folding import many
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.engine.retry import FIRST, LONGEST, next_delay
from debate_orchestrator.util.errors import TransientError

CHANCE = st.floats(0, 1, exclude_max=True)
SECONDS = st.floats(1, 86_400)


@many
@given(st.integers(1, 10_000), CHANCE, SECONDS)
def test_waits_double_up_to_a_minute(attempt: int, drawn: float, retry_for: float) -> None:
    """A wait is half to all of a doubling second, at most a minute, and never zero."""
    waited = next_delay(TransientError("x"), attempt, 0, retry_for, lambda: drawn)
    whole = min(FIRST * 2 ** min(attempt - 1, 16), LONGEST)

    assert waited is not None
    assert 0 < waited <= whole
    assert waited >= min(whole / 2, retry_for / 4)


@many
@given(CHANCE, SECONDS, st.floats(0, 100_000))
def test_what_is_asked_for_is_honoured_or_refused(drawn: float, retry_for: float, after: float) -> None:
    """A wait is never shorter than asked for; where that is more than is left, there is none."""
    waited = next_delay(TransientError("x", after=after), 1, 0, retry_for, lambda: drawn)

    assert waited is None or after <= waited <= retry_for
    assert (waited is None) == (max(after * (1 + drawn / 10), 0) > retry_for)


@many
@given(CHANCE, SECONDS)
def test_trouble_is_bounded(drawn: float, retry_for: float) -> None:
    """However long trouble lasts, the waits together never exceed the time for retries, and there are at least two."""
    spent = 0.0
    for attempt in count(1):
        waited = next_delay(TransientError("x"), attempt, spent, retry_for, lambda: drawn)
        if waited is None:
            break
        spent += waited

    assert attempt > 2
    assert spent <= retry_for


def test_jitter_is_drawn_anew() -> None:
    """Each wait has another jitter, of half of it at most."""
    waits = {next_delay(TransientError("x"), 1, 0, 600) or 0 for _ in range(100)}

    assert len(waits) > 90
    assert all(FIRST / 2 <= wait < FIRST for wait in waits)


def test_trouble_may_have_limits_of_its_own() -> None:
    """What is not likely to pass is given up after its own number of calls, or its own time."""
    assert next_delay(TransientError("x"), 1, 0, 600) is not None
    assert next_delay(TransientError("x", tries=2), 1, 0, 600) is not None
    assert next_delay(TransientError("x", tries=2), 2, 0, 600) is None
    assert next_delay(TransientError("x", retry_for=20), 3, 19.9, 600) is None
    assert next_delay(TransientError("x", retry_for=20), 3, 1.9, 2) is None
