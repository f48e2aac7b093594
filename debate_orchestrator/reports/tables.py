"""Tables of markdown cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Table(NamedTuple):
    """Cells that are safe to stand in a table, in rows as long as the heads."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        lines = [self.heads, ("---",) * len(self.heads), *self.rows]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def without_empty(heads: Sequence[str], rows: Sequence[Sequence[str]], *, keep: int = 1) -> Table:
    """A table without the columns, after the first `keep`, in which no row has anything."""
    kept = [n for n in range(len(heads)) if n < keep or any(row[n] for row in rows)]
    return Table(tuple(heads[n] for n in kept), tuple(tuple(row[n] for n in kept) for row in rows))
