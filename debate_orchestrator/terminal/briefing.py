"""Makes a brief readable for a person: short for the screen, or whole, without fences, codes and schemas.

Both are made from the words of the brief itself. The short text leaves out what is written for models; F2 shows all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.brief_pieces import ALL_ASKED, BALLOT, Piece, limits, pieces
from debate_orchestrator.prompting.brief_pieces import tasks as tasks_of
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.prompting.fields import asked_at_first, short_form
from debate_orchestrator.terminal.prompt import Line
from debate_orchestrator.util.sanitize import sanitize


def readable(debate: DebateState, turn: Turn, brief: Brief, known: Collection[Piece] = ()) -> list[Line]:
    """What a person reads before a turn: who they are, the documents, the task, the length.

    Documents that are `known` are only counted, and so are the person's own ballots, which nobody else at the terminal
    need see.
    """
    lines = [Line(_heading(debate, turn), True)]
    if turn.seat in debate.format.sides:
        position = sanitize(debate.opened.setup.positions[turn.seat])
        lines += [Line(f"You argue: {position}")]
    left_out: list[Piece] = []
    tasks: list[str] = []
    for piece in pieces(brief, debate.opened.nonce, _form(debate, turn)):
        if not piece.kind:
            tasks += tasks_of(piece.body, short=debate.shape(turn) is None)
        elif piece in known or piece.kind == BALLOT:
            left_out.append(piece)
        else:
            lines += [Line(""), *_told(piece)]
    lines += _aside(left_out)
    lines += [Line(""), *(line for task in tasks for line in _told(Piece("", "", task)))]
    if length := limits(turn):
        lines += [Line(""), Line(f"Length: {length}")]
    how = "the lines that concede the debate or decline the position included" if turn.speaking else "word for word"
    return [*lines, Line(f"F2 (or :brief) shows all that a model would be told here, {how}.")]


def whole(debate: DebateState, turn: Turn, brief: Brief) -> str:
    """All of a brief, readable, as a text."""
    lines = [Line(_heading(debate, turn), True)]
    for piece in pieces(brief, debate.opened.nonce, _form(debate, turn)):
        lines += [Line(""), *_told(piece)]
    if length := limits(turn):
        lines += [Line(""), Line(f"Length: {length}")]
    return "\n".join(line.text for line in lines) + "\n"


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
    counted = [f"{heard} document{'s' * (heard != 1)} that you have read before"] if heard else []
    counted += [f"{ballots} earlier ballot{'s' * (ballots != 1)} of yours"] if ballots else []
    if counted:
        yield Line("")
        yield Line(f"({' and '.join(counted)}: F2 shows them)")


def _told(piece: Piece) -> Iterator[Line]:
    if piece.head:
        yield Line(sanitize(piece.head), True)
    for line in sanitize(piece.body).split("\n"):
        if piece.kind:
            yield Line(f"  {line}".rstrip())
        else:
            yield Line(line.lstrip("# "), True) if line.startswith("# ") else Line(line)
