"""Tables as plain values, with the little statistics that they share."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Cell = str | int | float | None


class Table(NamedTuple):
    """A table, whose name is that of its CSV file."""

    name: str
    title: str
    about: str
    """How to read it, and what it does not show."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def to_csv(table: Table) -> str:
    """The table as CSV with a header; an unknown figure is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([[_written(cell) for cell in row] for row in table.rows])
    return text.getvalue()


def _written(cell: Cell) -> str | int:
    if isinstance(cell, float):
        return f"{cell:.6f}".rstrip("0").rstrip(".") if math.isfinite(cell) else ""
    return "" if cell is None else cell


def rate(part: float, total: float) -> float | None:
    """A share; None of nothing."""
    return part / total if total else None


def mean(values: Iterable[float]) -> float | None:
    """The mean; None of nothing."""
    known = list(values)
    return math.fsum(known) / len(known) if known else None


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation of a sample; None of fewer than two values."""
    if len(values) < 2:
        return None
    middle = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


def pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's correlation; None of fewer than two pairs, or where one side does not vary."""
    if len(pairs) < 2:
        return None
    left, right = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
    shared = math.fsum((x - left) * (y - right) for x, y in pairs)
    spread = math.fsum((x - left) ** 2 for x, _ in pairs) * math.fsum((y - right) ** 2 for _, y in pairs)
    return shared / math.sqrt(spread) if spread > 0 else None
