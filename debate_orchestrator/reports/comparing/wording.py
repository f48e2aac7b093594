"""Whether two sentences are worded alike. That is all it tells: not whether they mean the same, nor whether one denies
the other.

The likeness of two texts is the share of their words that both have: |A and B| / |A or B|, over the sets of their
words in lower case, without those that carry no content (the, of, is ...). `not` and `no` count as words. From
`ALIKE` on two texts are called similar. A script that does not part words by spaces is alike only where it is the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from debate_orchestrator.speech import normalized

ALIKE = Fraction(1, 2)
"""The likeness from which wording is called similar."""
_IDLE = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be been being but by can could did do does for from had has have if in into is it its
        may might more most must of on or our shall should so some such than that the their them then there these they
        this those to was we were what when which while who will with would you your""",
    )
)


def words(text: str) -> frozenset[str]:
    """The words of a text that carry content, in lower case; all of its words where none does."""
    every = frozenset(re.findall(r"[^\W_]+", normalized(text).casefold()))
    return every - _IDLE or every


def likeness(some: frozenset[str], others: frozenset[str]) -> Fraction:
    """The share of all words of two texts that both have; 0 where there is none."""
    every = some | others
    return Fraction(len(some & others), len(every)) if every else Fraction(0)


def grouped(texts: Sequence[str]) -> list[list[int]]:
    """The places of texts in groups of similar wording, each text in one: with the first group whose first text it is
    most like, so that no chain of small changes joins what is not alike."""
    known = [words(text) for text in texts]
    groups: list[list[int]] = []
    for n, own in enumerate(known):
        likest = max(groups, key=lambda group: likeness(known[group[0]], own), default=None)
        if likest is not None and likeness(known[likest[0]], own) >= ALIKE:
            likest.append(n)
        else:
            groups.append([n])
    return groups
