"""The phrases by which keys and options of a structured reply are known, however they are spelled."""

from __future__ import annotations

import re

SYNONYMS = {"tie": ("draw", "a tie", "a draw", "tied"), "no decision": ("undecided",), "both": ("both sides",)}
"""Option of a choice to what it is called otherwise."""
_CALLED = ("side", "researcher", "debater", "speaker", "participant", "position", "team", "seat")
"""What a side's letter may follow."""


def phrase(text: str) -> str:
    """A text as a lower-case phrase: without punctuation, with single spaces."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def side_phrases(side: str, name: str, label: str, position: str) -> frozenset[str]:
    """The phrases that can only mean one side: its key, its name, what it stands for (`Pro`) and its position."""
    names = {side, name, *(f"{called} {side}" for called in _CALLED)}
    if label:
        names |= {label, f"{label} side", *(f"{text} {label}" for text in (side, name)), f"{label} {name}"}
    return frozenset(filter(None, map(phrase, (*names, position))))
