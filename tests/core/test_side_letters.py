"""Single letters that name a side are told from articles and labels, over all that was said in real debates."""

from __future__ import annotations

import re

import pytest
from journals import EARLIER

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.fold import fold
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import JOURNAL

MIRRORED = ("lighthouse-ledger", "rewrite-in-rust")
"""Debates of an earlier version in which judges also voted with the sides exchanged."""
ARTICLES = {"A missing", "A man", "A rewrite", "A tenth"}
"""Every `A` in them that names no side, with the word after it."""


def said(name: str) -> list[str]:
    """All replies of a debate."""
    journal = EARLIER / f"{name}{JOURNAL}"
    debate = fold(read(journal).events)
    return [answer.reply.text for answer in debate.answers.values()]


@pytest.mark.parametrize("name", MIRRORED)
def test_no_side_keeps_its_letter(name: str) -> None:
    """In every speech and ballot of the mirrored debates each letter that names a side is exchanged, and each article
    stays; exchanged again, each text is as it was."""
    journal = EARLIER / f"{name}{JOURNAL}"
    exchange = fold(read(journal).events).exchange
    letter = re.compile(r"(?<![\w.&/+-])([AB])(?![\w&/+-]|\.\w)")
    exchanged = 0
    for text in said(name):
        other = exchange.text(text)
        assert exchange.text(other) == text
        for before, after in zip(letter.finditer(text), letter.finditer(other), strict=True):
            following = " ".join(text[before.start() :].split()[:2])
            assert (before[1] == after[1]) is (following in ARTICLES), following
            exchanged += before[1] != after[1]
    assert exchanged > 15


def test_a_mirrored_ballot_names_the_right_side() -> None:
    """The mirrored judge of the lighthouse story wrote of A's support for drowning. Read back, it is B's: B argues that
    Merrow was drowned."""
    journal = EARLIER / f"lighthouse-ledger{JOURNAL}"
    debate = fold(read(journal).events)
    ballot = debate.ballot("final.verdict.judge.mirrored")
    assert ballot is not None and "A's support for drowning (1.argument.a)" in str(ballot.ballot["reasons"])
    shape = debate.shape(schedule.turn(debate, ballot.turn))
    assert shape is not None
    reasons = tally.unmirrored(debate, shape, ballot)["reasons"]
    assert "B's support for drowning (1.argument.b)" in reasons
