"""How far people and judges agree, in numbers whose formulas can be written down in a line each.

An item                  one side of one round under one criterion; those who scored it gave it a mark each.
Difference of a          the mean, over the items of that criterion that both groups scored, of the distance between the
criterion                mean of one group's marks and the mean of the other's.
Alpha                    Krippendorff's, for interval data: 1 - observed / expected disagreement. Observed: the mean
                         squared distance of two marks of one item, each item weighing as much as it has marks;
                         expected: that of any two marks. 1 is full agreement, 0 what chance would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from debate_orchestrator.core.votes import mean

Item = tuple[int, str, str]
"""Round (0 for the whole debate), side, criterion."""
Marks = Mapping[Item, Fraction]
"""What one person or judge gave."""
LEAST_RATERS = 3
LEAST_ITEMS = 10
"""Fewer who gave marks, or fewer items that two of them marked, and alpha says nothing."""


def means(raters: Iterable[Marks]) -> dict[Item, Fraction]:
    """Item to the mean of what it was given."""
    return {item: mean(given) for item, given in _items(raters).items()}


def differences(some: Sequence[Marks], others: Sequence[Marks]) -> dict[str, Fraction]:
    """Criterion to the mean difference between two groups, over the items that both scored."""
    here, there = means(some), means(others)
    found: dict[str, list[Fraction]] = {}
    for item in here:
        if item in there:
            found.setdefault(item[2], []).append(abs(here[item] - there[item]))
    return {name: mean(all_of) for name, all_of in found.items()}


def alpha(raters: Sequence[Marks]) -> Fraction | None:
    """Krippendorff's alpha of everybody's marks; None where there are too few, or all marks are one."""
    items = [given for given in _items(raters).values() if len(given) > 1]
    if sum(bool(one) for one in raters) < LEAST_RATERS or len(items) < LEAST_ITEMS:
        return None
    every = [mark for given in items for mark in given]
    observed = sum((_squares(given) / (len(given) - 1) for given in items), Fraction(0)) / len(every)
    expected = _squares(every) / (len(every) * (len(every) - 1))
    return 1 - observed / expected if expected else None


def _squares(marks: Sequence[Fraction]) -> Fraction:
    """The sum of squared distances over all ordered pairs."""
    return 2 * (len(marks) * sum((one * one for one in marks), Fraction(0)) - sum(marks, Fraction(0)) ** 2)


def _items(raters: Iterable[Marks]) -> dict[Item, list[Fraction]]:
    found: dict[Item, list[Fraction]] = {}
    for marks in raters:
        for item, mark in marks.items():
            found.setdefault(item, []).append(mark)
    return found
