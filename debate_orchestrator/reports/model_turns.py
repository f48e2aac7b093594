"""One settled turn, made ready for telling: what was said in it, as others heard it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from debate_orchestrator.core import transcript
from debate_orchestrator.core.events import FoundPage, Spoke, Voted
from debate_orchestrator.core.phases import MIRRORED, Turn
from debate_orchestrator.core.schema import Shape
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.visible_text import Quote
from debate_orchestrator.core.votes import BallotReading, Vote
from debate_orchestrator.reports import wording
from debate_orchestrator.util import sanitize


class TurnReport(Value):
    """One settled turn."""

    id: str
    seat: str
    heading: str
    phase: str = ""
    """The title of its phase."""
    tag: str
    floor: tuple[str, ...] = ()
    """Questions from the floor that its speaker had been put since its turn before."""
    declined: bool = False
    concedes: bool = False
    cut: bool = False
    """Whether a limit of tokens cut the speech short."""
    words: int = 0
    """Of what others heard, in the speaker's own words and those it quotes."""
    dropped: int = 0
    """Words over the limit of the turn, which nobody heard."""
    most_words: int | None = None
    private: bool = False
    """Whether there was private working, which is left out."""
    quotes: tuple[Quote, ...] = ()
    """What it quotes from the material, where that was looked up."""
    other_lines: bool = False
    """Whether it writes lines for the other side, where the format forbids that."""
    found: tuple[FoundPage, ...] = ()
    """The pages that a search returned while it was written."""
    text: str | None = None
    """A speech as others heard it, or why a side declined; None for a structured reply."""
    shape: Shape = {}
    """What a structured reply looks like."""
    ballot: dict[str, Any] | None = None
    """A structured reply, in the terms of the sides as they are, mirrored or not; None for a speech, and for one
    who gave none that counts."""
    votes: bool = False
    """Whether it is a judge's vote."""
    mirrored: bool = False
    """Whether the judge saw the debate with the sides exchanged."""
    reading: BallotReading | None = None
    """What a ballot says."""


def turn_report(debate: DebateState, turn: Turn) -> TurnReport:
    """The telling of a settled turn."""
    answer, shape = debate.answers[turn.id], debate.shape(turn) or {}
    shown = transcript.entry(debate, turn)
    spoken = isinstance(answer, Spoke) or shown.declined
    ballot = _ballot(debate, turn, shape, answer) if isinstance(answer, Voted) else None
    return TurnReport(
        id=turn.id,
        seat=turn.seat,
        heading=debate.format.heading_of(turn),
        phase=turn.phase.title,
        tag=debate.format.tag_of(turn),
        floor=wording.new_to(debate, turn),
        declined=shown.declined,
        concedes=debate.concedes(turn),
        cut=shown.cut,
        words=shown.words if ballot is None or shown.declined else _words(shape, ballot),
        dropped=shown.dropped,
        most_words=turn.phase.most_words,
        private=isinstance(answer, Spoke) and debate.visible(turn).private,
        quotes=shown.quotes,
        other_lines=shown.other_lines,
        found=shown.found,
        text=shown.text if spoken else None,
        shape=shape,
        ballot=None if shown.declined else ballot,
        votes=turn.judging and debate.format.votes(turn.phase),
        mirrored=turn.mirrored,
    )


def _ballot(debate: DebateState, turn: Turn, shape: Shape, answer: Voted) -> dict[str, Any]:
    """A structured reply: a judge's as it was given, in the terms of the sides as they are; anybody else's as it was
    heard."""
    said = debate.seen(shape, answer)
    return said if turn.judging else {name: _aloud(debate, value) for name, value in said.items()}


def _aloud(debate: DebateState, value: Any) -> Any:
    if isinstance(value, str):
        return debate.aloud(value).text
    if isinstance(value, list):
        return [_aloud(debate, one) for one in value]
    return {name: _aloud(debate, one) for name, one in value.items()} if isinstance(value, Mapping) else value


def read_vote(one: TurnReport, votes: list[Vote]) -> TurnReport:
    """The same with what its ballot says, from the votes of its place in the debate."""
    for vote in votes:
        if one.id == vote.turn:
            return one.model_copy(update={"reading": vote.straight})
        if one.id == vote.turn + MIRRORED:
            return one.model_copy(update={"reading": vote.mirrored})
    return one


def _words(shape: Shape, ballot: Mapping[str, Any]) -> int:
    """The words of a structured reply: those of its texts."""
    texts = [ballot.get(name) for name, field in shape.items() if field.kind == "text"]
    return sum(sanitize.count_words(text) for text in texts if isinstance(text, str))


CHALLENGE, REBUTTAL = "challenge", "rebuttal"


class ArgumentLink(Value):
    """A turn and the one that it is about."""

    turn: str
    how: Literal["attacks", "answers"]
    to: str


def argument_links(debate: DebateState) -> tuple[ArgumentLink, ...]:
    """The ties between settled turns, in the order of the debate."""
    return tuple(tie for turn in debate.settled() if turn.speaking for tie in _of(debate, turn))


def _of(debate: DebateState, turn: Turn) -> Iterator[ArgumentLink]:
    name = turn.phase.name
    if name not in (CHALLENGE, REBUTTAL) or debate.declined(turn.id):
        return
    heard = [one for one in debate.heard(turn) if one.speaking and one.seat != turn.seat]
    if name == CHALLENGE:
        cases = [one for one in heard if one.phase.name not in (CHALLENGE, REBUTTAL)]
        yield from (ArgumentLink(turn=turn.id, how="attacks", to=case.id) for case in cases[-1:])
        return
    challenges = [one for one in heard if one.phase.name == CHALLENGE and one.round == turn.round]
    yield from (ArgumentLink(turn=turn.id, how="answers", to=one.id) for one in (challenges or heard)[-1:])
