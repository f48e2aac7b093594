"""Nothing that anybody writes leaves its document: not in any place, any brief or any format.

Each debate is played twice, once with harmless words in every place and once with attacks. What the briefs show is taken
apart by `documents`, which knows no more of documents than a brief's reader is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest
from attacked import Put, Texts, opened, put
from attacks import ATTACKS, CODE, KINDS, MARK
from documents import Document, Parts, parts

from debate_orchestrator import formats, library, replies, speech
from debate_orchestrator.briefs import brief, propose
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Opened, Reply, Spoke
from debate_orchestrator.core.rules import Turn
from debate_orchestrator.errors import BadReply

CALM = "calm"
NAMES = library.format_names()
HISTORIES = ("transcript", "dialogue")
SPOKEN = ("speech", "reply", "clerk", "judge: feedback")
"""Places whose words reach others within the debate."""
LONG = 3
"""Rounds of a debate in which everything happens that may; 1 is enough for what is the same in every brief."""
NOTES = {
    f"{CODE}: a limit of length cut the speech above short.",
    f"{CODE}: the speech above writes lines for the other side. That is a fault, and on record.",
}
"""What may rightly be noted of a speech that attacks, in these words alone."""


class Rota:
    """Gives each place the next attack, so that every kind of place gets all of them in turn."""

    def __init__(self) -> None:
        self.given: Counter[str] = Counter()

    def __call__(self, place: str) -> str:
        self.given[place] += 1
        return ATTACKS[(self.given[place] - 1) % len(ATTACKS)].text

    def missing(self, *kinds: str) -> set[str]:
        """The places, of these kinds if any are named, that have not had every attack so far."""
        looked_at = [place for place in self.given if place.startswith(kinds or "")]
        return {place for place in looked_at if self.given[place] < len(ATTACKS)}


class Seen(NamedTuple):
    """What one brief shows."""

    turn: str
    parts: tuple[Parts, ...]
    """The system text, every part of the messages that is not the reader's own, and the file for an agent host."""
    own: int
    """Parts that are its reader's own words."""


class Played(NamedTuple):
    """A debate that was played to its end, and what each of its briefs shows."""

    debate: Debate
    briefs: list[tuple[Put, Seen]]


def played(texts: Texts, name: str, history: str, rounds: int) -> Played:
    first = opened(texts, name, rounds=rounds, history=history)
    briefs = [(one, seen(one)) for one in put(texts, first)]
    return Played(briefs[-1][0].debate, briefs)


def seen(one: Put) -> Seen:
    """A brief, taken apart."""
    own = [part for message in one.brief.messages if message.role == "assistant" for part in message.parts]
    said = [turn for turn in one.debate.heard(one.turn) if turn.seat == one.turn.seat]
    assert len(own) in (0, len(said))
    assert all(CODE not in part.lower() for part in own)
    told = [part for message in one.brief.messages if message.role == "user" for part in message.parts]
    texts = (one.brief.system, *told, one.handout)
    assert all(speech.tame(text) == text for text in (*own, one.handout))
    return Seen(one.turn.id, tuple(parts(text, CODE) for text in texts), len(own))


@cache
def harmless(name: str, history: str, rounds: int) -> Played:
    """A debate in which everybody says the same harmless word."""
    return played(lambda place: CALM, name, history, rounds)


def must_hold(texts: Texts, name: str, history: str, rounds: int) -> None:
    """Briefs, and a verdict, that differ from the harmless debate's within documents alone."""
    wild, tame = played(texts, name, history, rounds), harmless(name, history, rounds)
    assert wild.debate.verdict() == tame.debate.verdict()
    for (one, got), (_, wanted) in zip(wild.briefs, tame.briefs, strict=True):
        assert (got.turn, got.own) == (wanted.turn, wanted.own)
        for text, harmless_text in zip(got.parts, wanted.parts, strict=True):
            must_be_as(text, harmless_text)
            for document, harmless_one in zip(text.documents, harmless_text.documents, strict=True):
                must_be_whole(one, document, harmless_one)


def must_be_as(text: Parts, harmless_text: Parts) -> None:
    """The same documents, by what opens them, with the same lines and notes around them."""
    assert text.outside == harmless_text.outside
    assert tuple(note for note in text.notes if note not in NOTES) == harmless_text.notes
    assert [(one.word, one.remark) for one in text.documents] == [
        (one.word, one.remark) for one in harmless_text.documents
    ]


def must_be_whole(one: Put, document: Document, harmless_one: Document) -> None:
    """A document that holds what its author said, and no line or field that is not its author's."""
    if document.word in ("MOTION", "POSITIONS", "PAGES", "COMPLAINTS"):
        assert document.body.count("\n") == harmless_one.body.count("\n")
    exchange, turns = one.debate.exchange, {turn.id: turn for turn in one.debate.heard(one.turn)}
    turn = turns.get(exchange.turn_id(document.word) if one.turn.mirrored else document.word)
    if turn is None or document.remark == "EVIDENCE":
        return
    if turn.phase.reply == "text":
        said = one.debate.hear(turn).text
        assert document.body == speech.fenced(exchange.text(said) if one.turn.mirrored else said, CODE)
    else:
        containers = {line for line in harmless_one.body.split("\n") if line.endswith(":")}
        assert fields(document.body, containers) == fields(harmless_one.body, containers)


def fields(body: str, containers: set[str]) -> list[str]:
    """The names of the fields of a structured reply, and of those in its containers, by their margins alone."""
    made, within = [], False
    for line in body.split("\n"):
        margin = len(line) - len(line.lstrip(" "))
        if line and not margin:
            within = line in containers
        if line and (not margin or (within and margin < 6)):
            made.append(line.partition(":")[0])
    return made


@pytest.mark.parametrize("name", NAMES)
def test_nothing_leaves_its_document(name: str) -> None:
    """Every attack, in every place of every format, in both histories, stays in its document in all later briefs."""
    rota = Rota()
    for history in HISTORIES:
        heard_later = Rota()

        def texts(place: str, heard_later: Rota = heard_later) -> str:
            return heard_later(place) if place.startswith(SPOKEN) else rota(place)

        must_hold(texts, name, history, LONG)
        while heard_later.missing():
            must_hold(texts, name, history, LONG)
    while rota.missing():
        must_hold(rota, name, HISTORIES[0], 1)


@pytest.mark.parametrize("judges", [2])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_leaves_its_document_in_a_panel(name: str, judges: int) -> None:
    """The same holds of what each judge of a panel is shown of its own earlier ballots."""


def test_there_are_attacks_of_every_kind() -> None:
    """There are many, no two are the same, and each can be told from everything else."""
    assert len({attack.text for attack in ATTACKS}) == len(ATTACKS) >= 120
    assert {attack.kind for attack in ATTACKS} == set(KINDS)
    assert [attack for attack in ATTACKS if MARK not in attack.text] == []
