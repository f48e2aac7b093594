"""A corpus of texts put into debates: many in one debate, each at several places; a text that does harm is named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import cycle
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st

Item = TypeVar("Item")
NextText = Callable[[], str]
"""Gives each place of a debate the text that is there."""
SIZE = 12
"""How many texts a debate is given: as many as two rounds have speeches, so that each is a speech, too."""


@dataclass(frozen=True)
class TextGroup:
    """Texts for the places of a debate: each place is given the next, and after the last the first again. Of one
    text alone, all say it everywhere."""

    texts: tuple[str, ...]

    def cycle(self) -> NextText:
        """The texts, one after the other, from the first."""
        return cycle(self.texts).__next__


def text_groups(texts: Iterable[str], size: int = SIZE) -> list[TextGroup]:
    """The whole corpus in groups of neighbours, each text once. Each group is rotated by three more than the one
    before, so that one place of a debate meets all kinds of texts. Of a kind with few texts it may still miss some."""
    all_of_them = tuple(texts)
    return [
        TextGroup(_rotated(all_of_them[start : start + size], -3 * number))
        for number, start in enumerate(range(0, len(all_of_them), size))
    ]


def _rotated(texts: tuple[str, ...], by: int) -> tuple[str, ...]:
    by %= len(texts)
    return texts[by:] + texts[:by]


def all_text_groups(texts: Iterable[str], size: int = SIZE, *, alone: int = 30) -> list[TextGroup]:
    """The whole corpus in groups of neighbours; again in groups of texts far apart, so that all kinds meet in one
    debate and each text has other places; and every so many'th text alone."""
    all_of_them = tuple(texts)
    apart = -(-len(all_of_them) // size)
    far = [TextGroup(all_of_them[n::apart]) for n in range(apart)]
    return [*text_groups(all_of_them, size), *far, *(TextGroup((text,)) for text in all_of_them[::alone])]


def random_text_groups(texts: st.SearchStrategy[str], size: int = 6) -> st.SearchStrategy[TextGroup]:
    """Groups of any such texts."""
    return st.lists(texts, min_size=1, max_size=size).map(tuple).map(TextGroup)


def find_failures(check: Callable[[Item], None], items: Iterable[Item]) -> dict[Item, Exception]:
    """Those of which a check complains, with its complaints."""
    found: dict[Item, Exception] = {}
    for one in items:
        try:
            check(one)
        except Exception as problem:
            found[one] = problem
    return found


def assert_harmless(check: Callable[[TextGroup], None], group: TextGroup) -> None:
    """A check holds for a group; where it does not, those of its texts are named that do harm alone."""
    try:
        check(group)
    except Exception as problem:
        alone = find_failures(check, [TextGroup((text,)) for text in group.texts])
        names = ", ".join(f"{one.texts[0]!r:.300}" for one in alone) or f"none alone of {group.texts!r:.3000}"
        raise AssertionError(f"harm is done by {names}\n{problem}") from problem


def for_each(items: Iterable[Any], *names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turns a test of one item into a single test over all `items`; it lists every item that fails, with the error of
    the first. If the test has several parameters, each item is a tuple of their values. If `names` are given, only
    these parameters are taken from the items; the others are fixtures. For quick checks: a test for each item would
    cost more than the checks do."""
    all_of_them = tuple(items)
    assert all_of_them

    def made(check: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(check)
        parts = names or tuple(signature.parameters)

        def test(**fixtures: Any) -> None:
            found: list[tuple[Any, BaseException]] = []
            for one in all_of_them:
                try:
                    check(**fixtures, **dict(zip(parts, one if len(parts) > 1 else (one,), strict=True)))
                except (Exception, pytest.fail.Exception) as problem:
                    found.append((one, problem))
            if found:
                shown = "\n".join(f"{one!r:.300}" for one, _ in found)
                first = found[0][1]
                raise AssertionError(f"it does not hold for {len(found)}:\n{shown}\nThe first: {first}") from first

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        fixtures = [one for name, one in signature.parameters.items() if name not in parts]
        test.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return test

    return made
