"""Numbers read from texts, numbers and counts as they are shown, the interval of a rate, the numbers of a version."""

from __future__ import annotations

import math
import re
from fractions import Fraction

_MAX_DIGITS = 400
"""Characters of a number that is read from a text."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_NORMAL_95 = 1.9599639845400536
"""Standard deviations of a normal distribution that hold 95 % of it, to either side."""


def plain_number(text: str) -> float | None:
    """The number that a text writes in the digits 0 to 9, spaces around it allowed; None for `nan`, `1_0` and so on."""
    text = text.strip() if len(text) <= _MAX_DIGITS else ""
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def plain_integer(text: str) -> int | None:
    """The integer that a text writes in the digits 0 to 9, spaces around it allowed; None for any other text."""
    text = text.strip() if len(text) <= _MAX_DIGITS else ""
    return int(text) if re.fullmatch(r"[+-]?\d+", text, re.ASCII) else None


def decimals(value: Fraction) -> str:
    """A number with at most two decimals, rounded half away from zero, without trailing zeros."""
    hundredths = int(abs(value) * 100 + Fraction(1, 2))
    text = f"{hundredths // 100}.{hundredths % 100:02d}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 and hundredths else text


def percent(share: Fraction) -> str:
    """A share in per cent, formatted by `decimals`."""
    return f"{decimals(share * 100)}%"


def plural(n: int, noun: str, several: str = "") -> str:
    """A count with its noun: `1 turn`, `2 turns`; `several` is a plural that is not formed by an s."""
    return f"{n:,} {noun if n == 1 else several or f'{noun}s'}"


def part_of(n: int, total: int, noun: str, verb: str) -> str:
    """How many of all do something: `2 of 3 votes count`, `1 of 3 votes counts`, `0 of 1 vote counts`."""
    return f"{n:,} of {plural(total, noun)} {verb}{'s' * (1 in (n, total))}"


def duration(seconds: float) -> str:
    """Seconds as they are shown: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's score interval of a rate at 95 %, as (low, high) from 0 to 1; (0, 1) without trials.

    Source: E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference, 1927.
    """
    if not trials:
        return 0.0, 1.0
    rate, weight = successes / trials, _NORMAL_95 * _NORMAL_95 / trials
    center = (rate + weight / 2) / (1 + weight)
    half = _NORMAL_95 * math.sqrt((rate * (1 - rate) + weight / 4) / trials) / (1 + weight)
    # At the ends the exact bounds are 0 and 1, which floating point misses by a little.
    return center - half if successes else 0.0, center + half if successes < trials else 1.0


def numbers_of(version: object) -> tuple[int, ...]:
    """The numbers with which the version of a package begins, to be compared; none for what is not a version."""
    match = re.match(r"\d{1,6}(?:\.\d{1,6}){0,3}", version, re.ASCII) if isinstance(version, str) else None
    return tuple(map(int, match[0].split("."))) if match else ()
