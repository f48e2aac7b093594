"""A corpus of texts put into debates: many in one debate, each at several places; a text that does harm is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import cycle
from typing import TypeVar

import pytest
from hypothesis import strategies as st

One = TypeVar("One")
Hand = Callable[[], str]
"""Gives each place of a debate the text that stands there."""
SIZE = 12
"""How many texts a debate is dealt: as many as two rounds have speeches, so that each is a speech, too."""


@dataclass(frozen=True)
class Deal:
    """Texts for the places of a debate: each place is given the next, and after the last the first again. Of one
    text alone, all say it everywhere."""

    texts: tuple[str, ...]

    def hand(self) -> Hand:
        """The texts, one after the other, from the first."""
        return cycle(self.texts).__next__


def handfuls(texts: Iterable[str], size: int = SIZE) -> list[Deal]:
    """The whole corpus in deals of neighbours, each text once. Each begins three texts before where the one before it
    does, so that a place is not given every so many'th of the corpus, nor misses all of those that are alike and stand
    side by side, such as tables; of a kind with few texts it sees some and not others."""
    all_of_them = tuple(texts)
    return [
        Deal(_turned(all_of_them[start : start + size], -3 * number))
        for number, start in enumerate(range(0, len(all_of_them), size))
    ]


def _turned(texts: tuple[str, ...], by: int) -> tuple[str, ...]:
    by %= len(texts)
    return texts[by:] + texts[:by]


def deals(texts: Iterable[str], size: int = SIZE, *, alone: int = 30) -> list[Deal]:
    """The whole corpus in deals of neighbours; again in deals of those far apart, so that all kinds meet in one
    debate and each text has other places; and every so many'th text alone."""
    all_of_them = tuple(texts)
    apart = -(-len(all_of_them) // size)
    far = [Deal(all_of_them[n::apart]) for n in range(apart)]
    return [*handfuls(all_of_them, size), *far, *(Deal((text,)) for text in all_of_them[::alone])]


def dealt_by_chance(texts: st.SearchStrategy[str], size: int = 6) -> st.SearchStrategy[Deal]:
    """Deals of any such texts."""
    return st.lists(texts, min_size=1, max_size=size).map(tuple).map(Deal)


def harmful(check: Callable[[One], None], ones: Iterable[One]) -> dict[One, Exception]:
    """Those of which a check complains, with its complaints."""
    found: dict[One, Exception] = {}
    for one in ones:
        try:
            check(one)
        except Exception as problem:
            found[one] = problem
    return found


def hold(check: Callable[[Deal], None], deal: Deal) -> None:
    """A check holds for a deal; where it does not, those of its texts are named that do harm alone."""
    try:
        check(deal)
    except Exception as problem:
        alone = harmful(check, [Deal((text,)) for text in deal.texts])
        names = ", ".join(f"{one.texts[0]!r:.300}" for one in alone) or f"none alone of {deal.texts!r:.3000}"
        raise AssertionError(f"harm is done by {names}\n{problem}") from problem


def for_each(ones: Iterable[One]) -> Callable[[Callable[[One], None]], Callable[[], None]]:
    """Makes one test of a test of one thing, such as a text, and many such things; all for which it does not hold are
    named, with what is wrong with the first. For what is quickly checked: a test for each costs more than they do."""
    all_of_them = tuple(ones)
    assert all_of_them

    def made(check: Callable[[One], None]) -> Callable[[], None]:
        def test() -> None:
            found: list[tuple[One, BaseException]] = []
            for one in all_of_them:
                try:
                    check(one)
                except (Exception, pytest.fail.Exception) as problem:
                    found.append((one, problem))
            if found:
                names = "\n".join(f"{one!r:.300}" for one, _ in found)
                first = found[0][1]
                raise AssertionError(f"it does not hold for {len(found)}:\n{names}\nThe first: {first}") from first

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return made
