"""Numbers as they are shown."""

from __future__ import annotations

from fractions import Fraction


def decimals(value: Fraction) -> str:
    """A number as it is shown: two decimals, halves away from zero, trailing zeros dropped."""
    hundredths = int(abs(value) * 100 + Fraction(1, 2))
    text = f"{hundredths // 100}.{hundredths % 100:02d}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 and hundredths else text


def percent(share: Fraction) -> str:
    """A share as it is shown: per cent, as `decimals` shows numbers."""
    return f"{decimals(share * 100)}%"


def plural(n: int, noun: str) -> str:
    """A count with its noun: `1 turn`, `2 turns`."""
    return f"{n:,} {noun}{'s' * (n != 1)}"
