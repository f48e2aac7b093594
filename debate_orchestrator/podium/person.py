"""Whoever sits at the terminal: called to the lectern when a turn of theirs is due, one after the other.

While one of their turns is due nothing else is shown there: they hear no more of it than any other speaker would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from debate_orchestrator.core.events import Asked, Event
from debate_orchestrator.core.phases import JUDGE, Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.podium import briefing
from debate_orchestrator.podium.briefing import Line, Piece
from debate_orchestrator.podium.filling import Filling
from debate_orchestrator.podium.lectern import Blank, Elsewhere, Lectern, Left
from debate_orchestrator.podium.papers import Papers
from debate_orchestrator.podium.speaking import Speech
from debate_orchestrator.podium.turn import Taken
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import caching
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import Paused
from debate_orchestrator.util.terminal_text import Back

Watch = Callable[[DebateState, Event], None]


def _nothing() -> None:
    """Does nothing."""


class Shower(Protocol):
    """Whoever shows the debate at the same terminal."""

    def lend(self) -> None:
        """Gives the terminal up."""
        ...

    def take_back(self) -> None:
        """Has it again."""
        ...


class Person:
    """The persons at one terminal, in whichever seats they sit."""

    def __init__(self, lectern: Lectern, papers: Papers):
        self._lectern, self._papers = lectern, papers
        self._leave: Callable[[], None] = _nothing
        self.left = False
        """Whether they have left."""
        self._awaited: set[str] = set()
        """The turns of persons that are due in the stage that is under way."""
        self._seat: str | None = None
        """Who had the keyboard last."""
        self._private = False
        """Whether something can be seen that was written in the stage under way."""
        self._read: set[Piece] = set()
        """Documents that they were shown."""

    @property
    def elsewhere(self) -> bool:
        """Whether they are in an editor or a pager, so that an interrupt is not meant for the debate."""
        return self._lectern.elsewhere

    def abandon(self) -> None:
        """The debate is left: whoever is asked something now is asked no more."""
        self.left = True
        self._lectern.abandon()

    def tidy(self, debate: DebateState) -> None:
        """Puts away what was written and is on record."""
        self._papers.tidy(debate)

    def attends(self, leave: Callable[[], None], shower: Shower | None, also: Watch) -> Watch:
        """They are at a debate that is driven now: `leave` is called when they want to leave it, and whoever shows it
        lends the terminal as long as a turn of theirs is due. Returns the watch to be told of its events, which tells
        `also`."""
        self._leave = leave

        def on_event(debate: DebateState, event: Event) -> None:
            if isinstance(event, Asked) and not self._awaited:
                self.tidy(debate)
                self._awaited = {turn.id for turn in debate.due if turn.seat in persons(debate)}
                if self._awaited and shower is not None:
                    shower.lend()
            also(debate, event)
            if self._awaited and not (self._awaited - set(debate.answers)):
                self._awaited = set()
                if self._private and persons_of_panel(debate) and len(persons(debate)) > 1:
                    self._lectern.clear()  # another judge may look on now
                self._private = False
                if shower is not None:
                    shower.take_back()

        return on_event

    async def answer(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        """What they say in a turn, as a reply that will do. Paused where they leave before."""
        at = Taken(debate, turn, brief, self._lectern, self._papers)
        try:
            if self.left:
                raise Left
            await self._called(at)
            self._told(at)
            self._private = True
            return await (Speech(at) if debate.shape(turn) is None else Filling(at)).take()
        except Left:
            if not self.left and any(one.seat not in persons(debate) for one in debate.due):
                at.tell("", "Answers under way are awaited, since they are paid for. Ctrl-C again leaves them.")
            self.left = True
            self._leave()
            kept = "What was written is kept, and offered again when the debate is resumed (`debate resume`)."
            raise Paused(f"{turn.id}: left before it was handed in. {kept}") from None

    async def _called(self, at: Taken) -> None:
        """Calls whoever has the turn to the keyboard, where several share it: nothing of anybody else's is seen."""
        seated = persons(at.debate)
        if len(seated) > 1 and at.turn.seat != self._seat:
            if self._private:
                self._lectern.clear()
            name = at.debate.format.name_of(at.turn.seat)
            above = (Line(""), Line(f"{name}, take the keyboard.", True), Line("Press Enter when you have it."))
            try:
                await self._lectern.ask(Blank(above=above))
            except (Back, Elsewhere):
                pass
            self._read = set()
        self._seat = at.turn.seat

    def _told(self, at: Taken) -> None:
        """Puts the brief before them, with what is new to them in full."""
        self._lectern.tell([Line(""), *briefing.readable(at.debate, at.turn, at.brief, self._read)])
        self._read |= {piece for piece in briefing.pieces(at.brief, at.debate.opened.nonce) if piece.kind}
        for path in self._papers.others(at.brief):
            at.tell(f"What was written for this turn before, and is not offered, is in {path}.")


def persons_of_panel(debate: DebateState) -> bool:
    """Whether persons are among several judges, none of whom may see what the others gave."""
    return len(debate.judges) > 1 and any(seat in debate.judges for seat in persons(debate))


def persons(debate: DebateState) -> list[str]:
    """The seats that a person sits in now."""
    seats = (seat for role in debate.seated for seat in (debate.judges if role == JUDGE else (role,)))
    return [seat for seat in seats if caching.filler(debate, seat) == model_spec.HUMAN]
