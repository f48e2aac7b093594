"""A turn that a person takes, and its brief as they read it at the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.brief_pieces import ALL_ASKED, BALLOT, Piece, length_hint, pieces
from debate_orchestrator.prompting.brief_pieces import tasks as tasks_of
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.prompting.person_turns import (
    asked_at_first,
    reply_problems,
    short_form,
)
from debate_orchestrator.terminal.drafts import Drafts
from debate_orchestrator.terminal.prompt import Line, Prompter
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import sanitize

if TYPE_CHECKING:
    pass


class PersonTurn(NamedTuple):
    """A turn that a person is taking."""

    debate: DebateState
    turn: Turn
    brief: Brief
    prompter: Prompter
    drafts: Drafts

    def whole(self) -> str:
        """All of the brief, readable, as a text."""
        lines = [Line(_heading(self.debate, self.turn), True)]
        for piece in pieces(self.brief, _form(self.debate, self.turn)):
            lines += [Line(""), *_told(piece)]
        if length := length_hint(self.turn):
            lines += [Line(""), Line(f"Length: {length}")]
        return "\n".join(line.text for line in lines) + "\n"

    def problems(self, text: str) -> list[str]:
        """What is wrong with a text as the reply to this turn; empty if it is valid."""
        return reply_problems(self.debate, self.turn, self.brief, text)


def readable(debate: DebateState, turn: Turn, brief: Brief, known: Collection[Piece] = ()) -> list[Line]:
    """What a person reads before a turn: who they are, the documents, the task, the length.

    Documents that are `known` are only counted, and so are the person's own ballots, which others at the terminal
    need not see.
    """
    lines = [Line(_heading(debate, turn), True)]
    if turn.seat in debate.format.sides:
        position = sanitize(debate.opened.settings.positions[turn.seat])
        lines += [Line(f"You argue: {position}")]
    left_out: list[Piece] = []
    tasks: list[str] = []
    for piece in pieces(brief, _form(debate, turn)):
        if not piece.kind:
            tasks += tasks_of(piece.body, short=debate.shape(turn) is None)
        elif piece in known or piece.kind == BALLOT:
            left_out.append(piece)
        else:
            lines += [Line(""), *_told(piece)]
    lines += _aside(left_out)
    lines += [Line(""), *(line for task in tasks for line in _told(Piece("", "", task)))]
    if length := length_hint(turn):
        lines += [Line(""), Line(f"Length: {length}")]
    how = "the lines that concede the debate or decline the position included" if turn.speaking else "word for word"
    return [*lines, Line(f"F2 shows all that a model would be told here, {how}.")]


def _form(debate: DebateState, turn: Turn) -> str:
    """What the form of a turn asks for."""
    if debate.shape(turn) is None or short_form(debate, turn) is None:
        return ALL_ASKED
    return f"A form asks for these: {', '.join(asked_at_first(debate, turn))}. `more` at its end asks for the rest."


def _heading(debate: DebateState, turn: Turn) -> str:
    return f"{debate.format.heading_of(turn)}. {debate.format.name_of(turn.seat)}, it is your turn."


def _aside(left_out: list[Piece]) -> Iterator[Line]:
    """The line that counts what is not shown."""
    ballots = sum(piece.kind == BALLOT for piece in left_out)
    heard = len(left_out) - ballots
    counts = [f"{plural(heard, 'document')} that you have read before"] if heard else []
    counts += [f"{plural(ballots, 'earlier ballot')} of yours"] if ballots else []
    if counts:
        yield Line("")
        yield Line(f"({' and '.join(counts)}: F2 shows them)")


def _told(piece: Piece) -> Iterator[Line]:
    if piece.head:
        yield Line(sanitize(piece.head), True)
    for line in sanitize(piece.body).split("\n"):
        if piece.kind:
            yield Line(f"  {line}".rstrip())
        else:
            yield Line(line.lstrip("# "), True) if line.startswith("# ") else Line(line)
