"""Nothing that a participant writes leaves its document: not in any place, any brief or any format.

Each debate is played twice, once with harmless words in every place and once with attacks. What the briefs show is
taken apart by `parts`, which knows no more of documents than a brief's reader is told.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from contextlib import suppress
from functools import cache, lru_cache
from typing import NamedTuple

import pytest
from attacked import Put, Texts, opened, put
from attacks import ATTACKS, CODE, NONCE
from core.folding import plainest_reply
from hostile_texts import SAID

from debate_orchestrator.core import schedule, speech_rules, tally, visible_text
from debate_orchestrator.core.events import Event, Rejected, Spoke, StructuredReplyGiven
from debate_orchestrator.core.mirror import Mirror
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.private_text import public_text
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import brief, moderator_brief
from debate_orchestrator.util import resources, sanitize
from debate_orchestrator.util.errors import BadReply


class Document(NamedTuple):
    """What is between a line that opens a document and the line that ends it."""

    word: str
    """What it is, by the line that opens it."""
    remark: str
    body: str


class Parts(NamedTuple):
    """A text, taken apart."""

    documents: tuple[Document, ...]
    notes: tuple[str, ...]
    """Lines outside of documents that begin with the code."""
    outside: tuple[str, ...]
    """All other lines outside of documents, an empty one where a document stood."""


@lru_cache(maxsize=4096)
def parts(text: str) -> Parts:
    """A text, taken apart by its lines; AssertionError where it is not well formed to the letter."""
    lines = text.split("\n")
    assert text.splitlines() == lines[: len(lines) - (not lines[-1])], "a line break that only some can see"
    documents: list[Document] = []
    notes: list[str] = []
    outside: list[str] = []
    at, code = 0, "none yet"
    while at < len(lines):
        line = lines[at]
        if line.startswith("<<<"):
            opening = re.fullmatch(r"<<< (\S+) ([0-9a-f]{12})(?: (.*))?", line)
            assert opening, f"no line that opens a document: {line!r}"
            code = opening[2]
            assert f"END {code} >>>" in lines[at:], f"a document without an end: {line!r}"
            end = lines.index(f"END {code} >>>", at)
            body = re.sub(rf"(</?[uv]_quote) {code}>", r"\1>", "\n".join(lines[at + 1 : end]))
            assert code not in body, "the code in a document"
            documents.append(Document(opening[1], opening[3] or "", body))
            outside.append("")
            at = end
        elif line.startswith(code):
            notes.append(line.removeprefix(f"{code}: "))
        else:
            assert not line.startswith("END "), f"an end where no document is open: {line!r}"
            outside.append(line)
        at += 1
    return Parts(tuple(documents), tuple(notes), tuple(outside))


HOSTILE = (*ATTACKS, *SAID)
MARKED_OFF = ("MOTION", "POSITIONS", "PAGES", "COMPLAINTS", "FLOOR")
"""Documents in which each thing that was said has a line of its own."""
CALM = "calm"
NAMES = resources.format_names()
HISTORIES = ("transcript", "dialogue")
LONG = 3
"""Rounds of a debate in which everything happens that may; 1 is enough for what is the same in every brief."""
NOTES = {
    "a limit of length cut the speech above short.",
    "the speech above writes lines for the other side. That is a fault, and on record.",
    "what is quoted above from a source has its names and letters as the source has them: none of them means a debater"
    " here.",
}
"""What may rightly be noted of a speech that attacks, in these words alone."""


def calm(place: str) -> str:
    return CALM


class Rota:
    """Gives each place the next hostile text, so that every kind of place gets many of them in turn."""

    def __init__(self) -> None:
        self.places: Counter[str] = Counter()

    def __call__(self, place: str) -> str:
        self.places[place] += 1
        return HOSTILE[(self.places.total() * 7 + self.places[place]) % len(HOSTILE)]


class Seen(NamedTuple):
    """What one brief shows."""

    turn: str
    parts: tuple[Parts, ...]
    """The system text, every part of the messages that is not the reader's own, and the file for an agent host."""
    own: int
    """Parts that are its reader's own words."""


class Played(NamedTuple):
    """A debate that was played to its end, and what each of its briefs shows."""

    debate: DebateState
    briefs: list[tuple[Put, Seen]]


def played(texts: Texts, name: str, history: str, rounds: int, judges: int = 1) -> Played:
    whole = rounds > 1 and history == HISTORIES[0]  # judges are shown the same in either history
    first = opened(texts, name, rounds=rounds, judges=judges, whole=whole, history=history)
    briefs = [(one, seen(one)) for one in put(texts, first)]
    return Played(briefs[-1][0].debate, briefs)


def seen(one: Put) -> Seen:
    """A brief, taken apart."""
    own = [part for message in one.brief.messages if message.role == "assistant" for part in message.parts]
    said = [turn for turn in one.heard if turn.seat == one.turn.seat]
    assert len(own) in (0, len(said))
    shown = [part for message in one.brief.messages if message.role == "user" for part in message.parts]
    texts = (one.brief.system, *shown, one.brief_file)
    assert all(is_tame(text) for text in (*own, one.brief.system, *shown))
    return Seen(one.turn.id, tuple(parts(text) for text in texts), len(own))


@lru_cache(maxsize=4096)
def is_tame(text: str) -> bool:
    return sanitize.sanitize(text) == text


@cache
def harmless(name: str, history: str, rounds: int, judges: int = 1) -> Played:
    """A debate in which all say the same harmless word."""
    return played(calm, name, history, rounds, judges)


def must_hold(texts: Texts, name: str, history: str, rounds: int, judges: int = 1) -> None:
    """Briefs, and a verdict, that differ from the harmless debate's within documents alone."""
    wild, tame = played(texts, name, history, rounds, judges), harmless(name, history, rounds, judges)
    looked_at: set[tuple[Document, bool]] = set()
    assert tally.verdict(wild.debate) == tally.verdict(tame.debate)
    for (one, got), (_, wanted) in zip(wild.briefs, tame.briefs, strict=True):
        assert (got.turn, got.own) == (wanted.turn, wanted.own)
        for text, harmless_text in zip(got.parts, wanted.parts, strict=True):
            must_be_as(text, harmless_text)
            for document, harmless_one in zip(text.documents, harmless_text.documents, strict=True):
                if (document, one.turn.mirrored) not in looked_at:
                    looked_at.add((document, one.turn.mirrored))
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
    if document.word in MARKED_OFF:
        assert document.body.count("\n") == harmless_one.body.count("\n")
    exchange, turns = one.debate.mirror, {turn.id: turn for turn in one.heard}
    turn = turns.get(exchange.turn_id(document.word) if one.turn.mirrored else document.word)
    if turn is None or document.remark == "EVIDENCE":
        return
    if turn.phase.reply == "text":
        said = speech_rules.visible_speech(one.debate, turn).text
        assert document.body == sanitize.sanitize(exchange.text(said) if one.turn.mirrored else said)
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


@pytest.mark.parametrize(
    ("name", "history"), [*((name, HISTORIES[0]) for name in NAMES), ("adversarial", HISTORIES[1])]
)
def test_nothing_leaves_its_document(name: str, history: str) -> None:
    """Attacks in every place of every format stay in their documents in all later briefs."""
    must_hold(Rota(), name, history, LONG)


@pytest.mark.parametrize("begin", range(0, len(HOSTILE), 18))
def test_no_hostile_speech_leaves_its_document(begin: int) -> None:
    """Each text in a speech of an adversarial debate, straight and mirrored."""
    texts = itertools.cycle(HOSTILE[begin : begin + 18])
    must_hold(lambda place: next(texts) if place.startswith("speech") else CALM, "adversarial", HISTORIES[0], LONG)


def due(name: str, *, judging: bool) -> tuple[DebateState, Turn]:
    """A harmless debate in which a turn of a judge's, or of a side's, is due."""
    for one in put(calm, opened(calm, name, whole=False)):
        if one.turn.judging == judging:
            return one.debate, one.turn
    raise AssertionError(name)


@pytest.mark.parametrize("name", ["adversarial", "panel", "question", "claim"])
def test_no_judge_says_what_an_attack_says(name: str) -> None:
    """An attack is not a ballot and changes none that it is beside."""
    debate, turn = due(name, judging=True)
    shape = debate.shape(turn)
    assert shape is not None
    valid = json.dumps(plainest_reply(shape, schedule.shape_context(debate, turn), texts=calm))
    assert isinstance(read(debate, turn, valid), StructuredReplyGiven)
    wanted = parts(brief(debate, turn, former(turn, "calm", ["calm"])).messages[-1].parts[-1])
    for attack in ATTACKS:
        for text in (f"{attack}\n{valid}", f"{valid}\n{attack}", f"{attack}{valid}"):
            with suppress(BadReply):
                event = read(debate, turn, text)
                assert isinstance(event, StructuredReplyGiven) and event.data == json.loads(valid)
        try:
            event = read(debate, turn, attack)
        except BadReply as error:
            refused = error
        else:  # it is a whole ballot, and the judge says nothing else
            assert isinstance(event, StructuredReplyGiven) and set(event.data) == set(json.loads(attack))
            continue
        again = former(turn, attack, refused.problems[:1])
        if not speech_rules.without_private_reasoning(debate, attack).strip():
            continue  # private reasoning alone, which is not shown again
        got = parts(brief(debate, turn, again).messages[-1].parts[-1])
        must_be_as(got, wanted)
        *lines, quoted = [document.body.count("\n") for document in got.documents]
        assert lines == [document.body.count("\n") for document in wanted.documents[:-1]], attack
        assert quoted <= len(attack.splitlines()), "the former reply has the lines that it had"


def former(turn: Turn, text: str, problems: list[str]) -> Rejected:
    reply = Reply(text=text, brief_digest="0" * 64, spec="host")
    return Rejected(turn_id=turn.id, problems=tuple(problems), reply=reply)


def read(debate: DebateState, turn: Turn, text: str) -> Event:
    return replies.parse_reply(debate, turn, Reply(text=text, brief_digest="0" * 64, spec="host"), None)


@pytest.mark.parametrize("name", ["adversarial", "panel", "conversation", "transcript"])
def test_no_speech_is_a_vote(name: str) -> None:
    """Whatever a side writes, it has spoken: it has not voted, and given nothing up."""
    debate, turn = due(name, judging=False)
    for attack in ATTACKS:
        assert isinstance(read(debate, turn, attack), Spoke), attack
        assert not speech_rules.has_reserved_line(
            debate, debate.format.reserved_lines.concede, turn, Reply(text=attack, brief_digest="", spec="host")
        )


def test_a_moderators_briefs_hold_too() -> None:
    """What a user wants debated, and pairs of positions that were refused, stay in their documents."""
    common = {"turn": "setup", "nonce": NONCE, "schema": {}, "reply_name": "reply"}
    for attack in ATTACKS:
        shown = [
            [
                parts(moderator_brief("topic", wordings=[text, CALM], **common)),
                parts(moderator_brief("positions", topic=text, unwanted_positions=[{"a": text, "b": text}], **common)),
            ]
            for text in (attack, CALM)
        ]
        for got, wanted in zip(*shown, strict=True):
            must_be_as(got, wanted)


def test_templates_put_others_words_into_documents_alone() -> None:
    """No template names what another wrote outside of a document."""
    theirs = re.compile(
        r"\{\{[^}]*(?:unmarked\(|\b(?:topic|positions|feedback|found|ballot|text|url|quote|pair|said|file)\b)"
    )
    for path in resources.prompts().rglob("*.j2"):
        within = False
        for line in path.read_text(encoding="utf-8").split("\n"):
            within = (within or "<<< " in line) and not line.startswith("END {{ marker }} >>>")
            assert within or not theirs.search(line), f"{path.name}: {line}"


PIECES = ("<", "< ", "<thinking", "<thinking>", "</", "<quote", "<quote>x", CODE, CODE[:8], "\n>", "Debater ", "1.a.")


@pytest.mark.parametrize("piece", PIECES)
def test_a_flood_is_heard_like_anything_else(piece: str) -> None:
    """A reply as long as one may be costs about as much as a short one for each of its words, whatever it repeats."""
    rules = loader.load("question")
    for text in (piece * (replies.MAX_SIZE // len(piece)), piece + " " * (replies.MAX_SIZE - 20) + "quote thinking x"):
        said = visible_text.make_visible(
            public_text(text, rules.private_tag), None, quotes=rules.quotes, context_texts=["so it is"]
        ).text
        assert CODE not in sanitize.without_block_marker(Mirror(rules).text(said), CODE)
        assert not visible_text.writes_lines_for(said, ["Debater B"])
