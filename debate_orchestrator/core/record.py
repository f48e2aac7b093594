"""What is on record: the answers so far, and the votes among them.

Knows turns only by their ids: who is next is the `agenda`'s to say, which builds on this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from debate_orchestrator.core.events import (
    HEARING,
    Answer,
    Asked,
    CallFailed,
    Declined,
    Noted,
    Opened,
    QuestionAsked,
    Rejected,
    Reply,
    Spoke,
    Voted,
)
from debate_orchestrator.core.format import Format, calendar
from debate_orchestrator.core.phases import JUDGE, MIRRORED, Phase, Quotes, Slot, Turn, judges
from debate_orchestrator.core.private_text import may_be_quoting, without_private
from debate_orchestrator.core.reserved_line import ends_with_line
from debate_orchestrator.core.schema import Shape
from debate_orchestrator.core.side_swap import SideSwap
from debate_orchestrator.core.visible_text import VisibleText, make_visible, writes_lines_for
from debate_orchestrator.core.votes import BallotReading, Vote, read_ballot
from debate_orchestrator.util.sanitize import sanitize

_WORD = re.compile(r"[^\W_]+")


def _letters(line: str) -> str:
    """A line's words, without case and punctuation."""
    return " ".join(_WORD.findall(line.casefold()))


class _Cast(NamedTuple):
    """The turns in which one judge votes in one phase, the mirrored one last."""

    judge: str
    shape: Shape
    turns: tuple[str, ...]


class Record:
    """The answers to the turns of one debate."""

    def __init__(self, opened: Opened):
        self.opened = opened
        self.answers: dict[str, Answer] = {}
        """Turn id to the answer that settled it."""
        self.spoiled: dict[str, list[Rejected]] = {}
        self.asked: dict[str, list[Asked]] = {}
        self.unanswered: dict[str, list[CallFailed]] = {}
        self.notes: list[Noted] = []
        self.cast = dict(opened.cast)
        """Who fills the seats now."""
        self.max_cost = opened.setup.max_cost
        self.raised: list[QuestionAsked] = []
        """The questions from the floor."""
        self.begun: dict[str, tuple[int, int]] = {}
        """The turns whose briefs nothing may change any more: those that were put or answered, and those beside them
        in their stage, so that nobody who speaks at the same time hears more than the others. Each with the number of
        questions that were put before the same seat's turn before it had begun, and before it had itself."""
        self._last_begun: dict[tuple[str, bool], int] = {}
        """Seat and presentation to the number of questions that were put before its latest turn had begun."""
        self.closed_after = opened.course.closed_after if opened.course else None
        """The place in the calendar after which only the last turns follow, where it was ended early."""
        self.exchange = SideSwap(opened.format)
        self._calendar: list[Slot] = []
        self._heard: dict[str, VisibleText] = {}
        self._counted: dict[str, list[Vote]] = {}
        """Place in the calendar to its votes, once the whole panel has voted: nothing changes them any more."""
        self._conceding: dict[str, bool] = {}
        self._ignored: dict[str, str | None] = {}
        self._casts: dict[str, list[_Cast]] = {}
        self._sides_end = tuple(f".{side}" for side in opened.format.sides)

    @property
    def format(self) -> Format:
        return self.opened.format

    @property
    def rounds(self) -> int:
        return self.opened.setup.rounds

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges' seats; none where the format has nobody judge."""
        return judges(len(self.cast.get(JUDGE, ()))) if JUDGE in self.format.seated else ()

    @property
    def weights(self) -> dict[str, Fraction]:
        """The criteria that apply in this debate, with how much each counts."""
        return {name: Fraction(str(self.format.rubric.criteria[name].weight)) for name in self.criteria}

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria that apply in this debate."""
        return tuple(
            name
            for name, criterion in self.format.rubric.criteria.items()
            if criterion.when.holds(rounds=self.rounds, strictness=self.opened.setup.strictness)
        )

    def speaking_order(self) -> tuple[str, ...]:
        """The sides, whoever was chosen to speak first before the others."""
        sides = self.format.sides
        first = self.opened.setup.first
        return (first, *(side for side in sides if side != first)) if first in sides else sides

    def reply(self, turn: Turn) -> Reply:
        """The reply that settled a turn."""
        return self.answers[turn.id].reply

    def shape(self, turn: Turn) -> Shape | None:
        """The shape of reply that a turn wants; None for a speech."""
        return None if turn.phase.reply == "text" else self.format.shapes[turn.phase.reply]

    def ballot(self, turn_id: str) -> Voted | None:
        """The ballot cast in that turn; None where none counts."""
        answer = self.answers.get(turn_id)
        return answer if isinstance(answer, Voted) else None

    def calendar(self) -> list[Slot]:
        """Every phase that this debate may have, in order."""
        if not self._calendar:
            setup = self.opened.setup
            self._calendar = list(calendar(self.format, self.rounds, setup.strictness, setup.options))
        return self._calendar

    @property
    def labels(self) -> dict[str, str]:
        """The winner that each label stands for, where votes are labels; empty where judges name winners or score."""
        shapes = [self.format.shapes.get(phase.reply, {}) for phase in self.format.phases() if self.format.votes(phase)]
        named = any({"winner", "scores"} & set(shape) for shape in shapes)
        return {} if named else self.format.winner_of

    @cached_property
    def _places(self) -> dict[str, int]:
        """The places in the calendar, numbered."""
        return {slot.turn_id(""): n for n, slot in enumerate(self.calendar())}

    @cached_property
    def _slots(self) -> dict[int | None, list[Slot]]:
        slots: dict[int | None, list[Slot]] = {}
        for slot in self.calendar():
            slots.setdefault(slot.round, []).append(slot)
        return slots

    def slots(self, round: int | None) -> list[Slot]:
        """The phases of a round; without one, those before the first round and after the last."""
        return self._slots.get(round, [])

    def cut_off(self, slot: Slot) -> bool:
        """Whether an early end has left out that phase."""
        if slot.closing or self.closed_after not in self._places:
            return False
        return self._places[slot.turn_id("")] > self._places[self.closed_after]

    def mirrors(self, phase: Phase) -> bool:
        """Whether judges take a second, mirrored turn in a phase."""
        return self.opened.setup.mirror and self.format.votes(phase)

    def ballots(self, round: int) -> list[Voted]:
        """The ballots that count for a round, as judges cast them who saw it straight, in the order of the
        panel; none before the whole panel has voted."""
        return self._ballots(self.votes(round))

    def finals(self) -> list[Voted]:
        """The same of the final ballots."""
        return self._ballots(self.final_votes())

    def _ballots(self, votes: Sequence[Vote]) -> list[Voted]:
        counting = [vote for vote in votes if not vote.absent]
        return [ballot for vote in counting if (ballot := self.ballot(vote.turn)) is not None]

    def votes(self, round: int) -> list[Vote]:
        """What each judge makes of a round, absent ones among them; none before the whole panel has voted."""
        return self._votes(self.slots(round))

    def final_votes(self) -> list[Vote]:
        """What each judge makes of the debate."""
        return self._votes([slot for slot in self.slots(None) if slot.closing])

    def blind_votes(self) -> list[Vote]:
        """What each judge held before the first word; none where nobody was asked."""
        return self._votes([slot for slot in self.slots(None) if slot.phase.option == "blind"])

    def _votes(self, slots: Sequence[Slot]) -> list[Vote]:
        made: list[Vote] = []
        for slot in slots:
            votes = self._votes_in(slot)
            if votes is None:
                return []
            made += votes
        return made

    def _votes_in(self, slot: Slot) -> list[Vote] | None:
        """The votes of one phase; None before the whole panel has voted in it."""
        place = slot.turn_id("")
        if place not in self._counted:
            cast = self._cast([slot])
            if any(turn_id not in self.answers for one in cast for turn_id in one.turns):
                return None
            self._counted[place] = [
                Vote(
                    judge=one.judge,
                    turn=one.turns[0],
                    straight=self._reading(one.shape, one.turns[0]),
                    mirrored=self._reading(one.shape, one.turns[1]) if len(one.turns) > 1 else None,
                    twice=len(one.turns) > 1,
                )
                for one in cast
            ]
        return self._counted[place]

    def _reading(self, shape: Shape, turn_id: str) -> BallotReading | None:
        """What a ballot says of the sides as they are; None where none counts."""
        if (vote := self.ballot(turn_id)) is None:
            return None
        return read_ballot(self.seen(shape, vote), self.format.sides, self.weights, self.format.winner_of)

    def seen(self, shape: Shape, vote: Voted) -> dict[str, Any]:
        """A ballot in the terms of the sides as they are, in whichever presentation it was cast."""
        return self.exchange.ballot(shape, vote.ballot) if vote.turn.endswith(MIRRORED) else vote.ballot

    def _cast(self, slots: Sequence[Slot]) -> list[_Cast]:
        """The turns in which each judge votes in some phases."""
        return [one for slot in slots for one in self._cast_of(slot)]

    def _cast_of(self, slot: Slot) -> list[_Cast]:
        """Those of one phase, which stay the same, as the panel's size does."""
        place = slot.turn_id("")
        if place not in self._casts:
            made = self._casts[place] = []
            if self.format.votes(slot.phase):
                mirror, shape = self.mirrors(slot.phase), self.format.shapes[slot.phase.reply]
                for judge in self.judges if slot.phase.panel == "every judge" else self.judges[:1]:
                    seats = (judge, judge + MIRRORED) if mirror else (judge,)
                    made.append(_Cast(judge, shape, tuple(slot.turn_id(seat) for seat in seats)))
        return self._casts[place]

    def concedes(self, turn: Turn) -> bool:
        """Whether a debater's speech concedes the debate by the line that is reserved for that."""
        answer = self.answers.get(turn.id)
        if not turn.speaking or not isinstance(answer, Spoke):
            return False
        if turn.id not in self._conceding:
            self._conceding[turn.id] = self.says(self.format.lines.concede, turn, answer.reply)
        return self._conceding[turn.id]

    def says(self, line: str, turn: Turn, reply: Reply) -> bool:
        """Whether a speech says a reserved line, as others hear it: as its own last line, if nothing cut it short and
        no private working may be a quotation; under the first rules, on any line."""
        seen = self.spoken(reply.text, turn.phase)
        if self.opened.hearing == 1:
            return line in seen.text and any(said.strip() == line for said in seen.text.split("\n"))
        tags = (self.format.quotes or Quotes()).names
        if reply.ended == "cut" or seen.dropped or not ends_with_line(seen.text, line, tags):
            return False
        return not may_be_quoting(sanitize(reply.text), self.format.private, known=self.knows_marks)

    def ignored_in(self, turn: Turn) -> str | None:
        """As `ignored`, of the reply that settled a turn."""
        if turn.id not in self._ignored:
            self._ignored[turn.id] = self.ignored(turn, self.reply(turn))
        return self._ignored[turn.id]

    def ignored(self, turn: Turn, reply: Reply) -> str | None:
        """The reserved line that stands alone on a line of a speech, in whatever case and punctuation, and does not
        count. None where one counts; and under the first rules, which did not tell."""
        reserved = [self.format.lines.concede, self.format.lines.decline]
        if self.opened.hearing < HEARING or not turn.speaking or turn.phase.reply != "text":
            return None
        if any(self.says(line, turn, reply) for line in reserved):
            return None
        alone = {_letters(line) for line in self.public(reply.text).split("\n")}
        return next((line for line in reserved if _letters(line) in alone), None)

    def declined(self, turn_id: str) -> bool:
        """Whether a side declined to argue in a turn: in a speech, or in a structured reply."""
        answer = self.answers.get(turn_id)
        if isinstance(answer, Declined):
            return True
        return isinstance(answer, Voted) and turn_id.endswith(self._sides_end) and answer.ballot.get("refused") is True

    def visible(self, turn: Turn) -> VisibleText:
        """What others hear of a speech that was given: see `hearing`."""
        if turn.id not in self._heard:
            self._heard[turn.id] = self.aloud(self.reply(turn).text, turn.phase)
        return self._heard[turn.id]

    def aloud(self, text: str, phase: Phase | None = None) -> VisibleText:
        """What others hear of a text, which has the length of a phase if it has any."""
        rules, material = self.format, [file.text for file in self.opened.context]
        return make_visible(
            text, phase, private=rules.private, quotes=rules.quotes, material=material, known=self.knows_marks
        )

    def spoken(self, text: str, phase: Phase | None = None) -> VisibleText:
        """The same with quotes as the speaker marks them."""
        return make_visible(text, phase, private=self.format.private, known=self.knows_marks)

    def public(self, text: str) -> str:
        """A reply without its private working."""
        return without_private(sanitize(text), self.format.private, known=self.knows_marks)

    @property
    def knows_marks(self) -> bool:
        """Whether the marks that models use for private working count, besides the format's own."""
        return self.opened.hearing > 1

    def writes_for_the_other(self, turn: Turn) -> bool:
        """Whether a speech has lines for the other side in it, where the format forbids that."""
        if "other's lines" not in self.format.forbids or not isinstance(self.answers.get(turn.id), Spoke):
            return False
        names = [self.format.seats[side].name for side in self.format.sides if side != turn.seat]
        return writes_lines_for(self.visible(turn).text, names)
