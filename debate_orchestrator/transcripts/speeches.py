"""The speeches of a transcript in their order, and the rounds that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from debate_orchestrator.core.values import Value
from debate_orchestrator.errors import shown
from debate_orchestrator.transcripts import attribution
from debate_orchestrator.transcripts.attribution import Label

ARGUMENT = "Argument"
"""What a speech is called where the document does not say."""


class Speech(Value):
    """One speech, verbatim."""

    side: str
    round: int
    title: str = ARGUMENT
    text: str
    declined: bool = False
    cut: bool = False
    """Whether a limit of length cut it short."""


class Transcript(Value):
    """A debate as it was written down."""

    topic: str | None
    positions: dict[str, str]
    """As far as the document gives them."""
    speakers: dict[str, str]
    """Side to what the document calls its speaker."""
    speeches: tuple[Speech, ...]
    notes: tuple[str, ...] = ()
    """What was assumed, in sentences."""

    @property
    def rounds(self) -> int:
        return max(speech.round for speech in self.speeches)


class Mark(NamedTuple):
    """A line that says what follows it."""

    first: int
    end: int
    """The line at which what follows begins."""
    kind: str
    """`speaker`, `round` or `section`."""
    label: Label
    text: str
    level: int
    rest: str = ""
    """What stands behind the label on its own line."""


class Walk:
    """Goes through the marks of a document and counts its rounds."""

    def __init__(self, refuse: Callable[..., None]):
        self._refuse = refuse
        self._said: list[tuple[int, Mark, Speech]] = []
        """Group, mark, and the speech, whose round is still to be told."""
        self._groups: list[Mark | None] = [None]
        self._part: Mark | None = None
        """A section inside a round."""

    @property
    def _round(self) -> Mark | None:
        """The mark of the round that is on, if rounds are marked."""
        now = self._groups[-1]
        return now if now is not None and now.label.round is not None else None

    def turn_page(self, mark: Mark, said: str) -> None:
        """A heading that names no speaker."""
        begun = self._said or mark.kind == "round" or self._round
        if self._round is not None and mark.kind == "section" and not mark.label.title:
            what = f"the heading {shown(mark.text, 40)} amid the rounds"
            self._refuse(mark.first, what, "a round or a speaker", "Make it no heading, or one below its speaker's.")
        elif begun and said:
            what = f"text under {shown(mark.text, 40)}, which names no speaker"
            self._refuse(mark.end, what, "speeches alone", "Take it out, or put it under its speaker's name.")
        inside = self._round is not None and mark.kind == "section" and mark.level > self._round.level
        self._part = mark if inside else None
        if not inside:
            self._groups.append(mark)

    def speak(self, mark: Mark, side: str, said: str) -> None:
        """A speech."""
        if not said.strip():
            self._refuse(mark.first, f"{shown(mark.text, 40)} without a word", "a speech")
        if mark.label.round is not None and (self._round is None or self._round.label.round != mark.label.round):
            self._groups.append(mark)
            self._part = None
        title = mark.label.title or self._over(mark)
        self._said.append((len(self._groups) - 1, mark, Speech(side=side, round=1, title=title or ARGUMENT, text=said)))

    def _over(self, mark: Mark) -> str:
        """What the headings above a speech call it."""
        over = self._part or self._groups[-1]
        if over is None or over is mark:
            return ""
        named = " — ".join(one for one in (over.label.name, over.label.title) if one)
        return (named or "" if over.label.round is not None else over.text)[: attribution.LONGEST]

    def speeches(self) -> list[Speech]:
        """Every speech with its round."""
        used = list(dict.fromkeys(group for group, *_ in self._said))
        marked = [self._groups[group] for group in used]
        if all(mark is None or mark.label.round is None for mark in marked) and len(used) < 2:
            return _exchanges([speech for *_, speech in self._said])
        self._must_ascend([mark for mark in marked if mark is not None])
        numbers = {group: n for n, group in enumerate(used, start=1)}
        return [speech.model_copy(update={"round": numbers[group]}) for group, _, speech in self._said]

    def _must_ascend(self, marks: list[Mark]) -> None:
        before = None
        for mark in marks:
            now = mark.label.round
            if now is not None and before is not None and now != before + 1:
                self._refuse(mark.first, f"round {now} after round {before}", f"round {before + 1}")
            before = now if now is not None else before


def _exchanges(said: list[Speech]) -> list[Speech]:
    """The speeches of a document without rounds: a new one begins where the first speaker answers."""
    made: list[Speech] = []
    round, heard = 1, set[str]()
    for speech in said:
        if made and speech.side == made[0].side and heard - {speech.side}:
            round, heard = round + 1, set()
        heard.add(speech.side)
        made.append(speech.model_copy(update={"round": round}))
    return made
