"""The state of a debate as frozen data, which `fold` makes of its events so far."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple

from debate_orchestrator.core.debated_names import words_in_doubt
from debate_orchestrator.core.events import (
    BriefSent,
    CallFailed,
    Noted,
    Opened,
    QuestionAsked,
    Rejected,
    ReplyEvent,
    StructuredReplyGiven,
    TurnEvent,
)
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.mirror import Mirror
from debate_orchestrator.core.phases import JUDGE, MIRRORED, Section, Slot, Turn, judge_seats
from debate_orchestrator.core.positions import without_former_placeholders
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.shape import Shape
from debate_orchestrator.core.verdict import Convergence, RoundResult, Vote
from debate_orchestrator.core.visible_text import VisibleText

Stage = tuple[Turn, ...]
"""Turns that are due together and do not hear each other."""


class BallotTurns(NamedTuple):
    """The turns in which one judge votes in one slot, the mirrored one last."""

    judge: str
    shape: Shape
    turns: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DebatePlan:
    """The part of a state that follows from the event `Opened` alone. All states of a debate share one."""

    opened: Opened
    slots: tuple[Slot, ...]
    slot_indexes: Mapping[str, int]
    sections: Mapping[Section, Sequence[Slot]]
    speaking_order: tuple[str, ...]
    """The sides, the one that was chosen to speak first before the others."""
    judges: tuple[str, ...]
    """The judges' seats; empty if the format has none."""
    ballot_turns: Mapping[str, tuple[BallotTurns, ...]]
    """Slot id to the turns in which judges vote there. A judge's dissent record is no vote, and not here."""
    voting_turn_ids: Mapping[int, tuple[str, ...]]
    """Round to the ids of the turns in which it is voted on; only rounds that are."""
    weights: Mapping[str, Fraction]
    """The criteria that apply, with how much each counts."""
    winner_of_label: Mapping[str, str]
    """The winner that each label stands for, where votes are labels; empty if judges name winners or score."""
    mirror: Mirror
    """Makes what a judge of the mirrored debate sees."""

    @cached_property
    def opened_digest(self) -> str:
        """The sha256 of the event, with the whole format in it."""
        return hashlib.sha256(self.opened.model_dump_json().encode()).hexdigest()

    @cached_property
    def words_in_doubt(self) -> frozenset[str]:
        """The words for sides that could mean what is debated: see `debated_names`."""
        return words_in_doubt(self.opened.format, debated_texts(self.opened))


class SlotPosition(NamedTuple):
    slot_index: int = 0
    stages_reached: int = 0
    ended: bool = False
    """Whether the rounds are over."""


class JudgedRound(NamedTuple):
    """What the ballots of a round say together. The defaults are those of a round that is not judged (yet)."""

    convergence: Convergence = Convergence()
    result: RoundResult | None = None
    """None if every judge is absent."""
    intervened: bool = False
    """Whether the round's convergence is answered by an intervention."""
    conceding_side: str | None = None
    """The side that more than half of its judges hold to have given up its whole position."""
    no_new_ground: bool = False
    """Whether more than half of its judges say that the debate finds no new ground."""


@dataclass(frozen=True)
class DebateState:
    """One debate after the events so far. Nothing changes it or a collection in it: `fold.apply` makes the next one."""

    opened: Opened
    plan: DebatePlan = field(compare=False)
    cast: Mapping[str, tuple[str, ...]]
    max_cost: float | None
    retry_for: float
    """Seconds that a turn's calls may be silent or retried now before the debate is paused."""
    times_reopened: int = 0
    ended_after: str | None = None
    """The id of the slot after which only the last turns follow, where the debate was ended early."""
    turn_events: Mapping[str, Sequence[TurnEvent]] = field(default_factory=dict)
    """Turn id to all that happened in it, in the order of the journal."""
    replies: Mapping[str, ReplyEvent] = field(default_factory=dict)
    """Turn id to its last reply: the one that was taken, or the unusable one after which its judge is absent."""
    notes: Sequence[Noted] = ()
    floor_questions: Sequence[QuestionAsked] = ()
    earlier_question_count: int = 0
    """The number of them from the earlier debate that is judged again."""
    questions_before: Mapping[str, int] = field(default_factory=dict)
    """Turn id to how many questions had been asked when the turn began; only turns that have begun, in that order. All
    turns of a stage begin together: when the first of their briefs is sent, or the first reply is given."""
    changed_issues: tuple[str, ...] | None = None
    """The list of issues as the user changed it; None if they left the rapporteur's as it is."""
    speeches: Mapping[str, VisibleText] = field(default_factory=dict)
    """Turn id to what others hear of its speech."""
    conceding_turns: frozenset[str] = frozenset()
    """The turns whose speech concedes the debate by the reserved line."""
    votes: Mapping[str, Sequence[Vote]] = field(default_factory=dict)
    """Slot id to its votes, absent ones among them, once the whole panel has voted there."""
    judged_rounds: Mapping[int, JudgedRound] = field(default_factory=dict)
    stages: Sequence[Stage] = ()
    """Every stage whose turns are all taken, in order, and the one that is due."""
    turns: Mapping[str, Turn] = field(default_factory=dict)
    """The turns of those stages, by id."""
    turns_reached: Mapping[str, Turn] = field(default_factory=dict)
    """Every turn that was ever due, by id, also if it is in no stage since the debate was reopened or ended early."""
    cursor: SlotPosition = field(default_factory=SlotPosition)
    due: Stage = ()
    """The turns that must be taken now; empty when the debate is complete. They are independent."""

    def __hash__(self) -> int:
        return hash((self.opened.nonce, tuple(self.turns), frozenset(self.replies)))

    @property
    def complete(self) -> bool:
        return not self.due

    @property
    def format(self) -> Format:
        return self.opened.format

    @property
    def active_seats(self) -> tuple[str, ...]:
        """The seats that take a turn in this debate."""
        return self.format.active_seats(self.opened.settings.chosen_phases)

    @property
    def rounds(self) -> int:
        return self.opened.settings.rounds

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges' seats; empty if the format has none."""
        return self.plan.judges

    @property
    def weights(self) -> Mapping[str, Fraction]:
        """The criteria that apply in this debate, with how much each counts."""
        return self.plan.weights

    @property
    def criteria(self) -> tuple[str, ...]:
        return tuple(self.plan.weights)

    @property
    def question_seats(self) -> tuple[str, ...]:
        """The seats that the floor may put a question to, `judge` for all judges, with or without a turn left."""
        return (*self.format.sides, *((JUDGE,) if self.judges else ()))

    @property
    def mirror(self) -> Mirror:
        return self.plan.mirror

    def briefs_sent(self, turn_id: str) -> list[BriefSent]:
        return [event for event in self.turn_events.get(turn_id, ()) if isinstance(event, BriefSent)]

    def failed_calls(self, turn_id: str) -> list[CallFailed]:
        return [event for event in self.turn_events.get(turn_id, ()) if isinstance(event, CallFailed)]

    def rejected_replies(self, turn_id: str) -> list[Rejected]:
        return [event for event in self.turn_events.get(turn_id, ()) if isinstance(event, Rejected)]

    def reply(self, turn: Turn) -> Reply:
        return self.replies[turn.id].reply

    def shape(self, turn: Turn) -> Shape | None:
        """The shape of reply that a turn wants; None for a speech."""
        return None if turn.phase.reply == "text" else self.format.shapes[turn.phase.reply]

    def structured_reply(self, turn_id: str) -> StructuredReplyGiven | None:
        """The structured reply given in that turn; None if there is none that could be used."""
        reply_event = self.replies.get(turn_id)
        return reply_event if isinstance(reply_event, StructuredReplyGiven) else None

    def judged(self, round: int) -> JudgedRound:
        return self.judged_rounds.get(round, JudgedRound())

    def is_skipped(self, slot: Slot) -> bool:
        """Whether an early end has left out that slot."""
        if slot.after_rounds or self.ended_after is None:
            return False
        slot_indexes = self.plan.slot_indexes
        return slot_indexes[slot.id] > slot_indexes.get(self.ended_after, len(slot_indexes))


def spec_in(debate: DebateState, seat: str) -> str:
    """The spec in a seat: `judge-2` is the second of the panel, `judge-2.mirrored` the same."""
    role, _, number = seat.removesuffix(MIRRORED).partition("-")
    return debate.cast[role][int(number) - 1 if number else 0]


def make_plan(opened: Opened) -> DebatePlan:
    """The parts of the state that the event `Opened` decides for the whole debate."""
    settings, format = opened.settings, opened.format
    slots = tuple(opened.slots)
    judges = judge_seats(len(opened.cast.get(JUDGE, ()))) if JUDGE in format.active_seats() else ()
    ballot_turns = {slot.id: _ballot_turns(opened, slot, judges) for slot in slots if format.is_vote(slot.phase)}
    voting_turn_ids: dict[int, tuple[str, ...]] = {}
    for slot in slots:
        ids = tuple(turn_id for one in ballot_turns.get(slot.id, ()) for turn_id in one.turns)
        if slot.round is not None and ids:
            voting_turn_ids[slot.round] = voting_turn_ids.get(slot.round, ()) + ids
    weights = {
        name: Fraction(str(criterion.weight))
        for name, criterion in format.rubric.criteria.items()
        if criterion.when.holds(rounds=settings.rounds, strictness=settings.strictness)
    }
    first = (settings.first,) if settings.first in format.sides else ()
    return DebatePlan(
        opened=opened,
        slots=slots,
        slot_indexes={slot.id: index for index, slot in enumerate(slots)},
        sections={section: tuple(group) for section, group in groupby(slots, key=lambda slot: slot.section)},
        speaking_order=(*first, *(side for side in format.sides if side not in first)),
        judges=judges,
        ballot_turns=ballot_turns,
        voting_turn_ids=voting_turn_ids,
        weights=weights,
        winner_of_label=winner_of_label(format),
        mirror=Mirror(format, order_only=opened.mirror_order_only),
    )


def debated_texts(opened: Opened) -> tuple[str, ...]:
    """The topic, the positions, the user's own issues and the context files; of a debate that is judged, the issues
    too, and the names by which the author of a transcript calls the speakers."""
    settings, earlier = opened.settings, opened.earlier_debate
    changed = earlier.issues_changed if earlier else None
    speakers = earlier.speakers.values() if earlier and earlier.speakers_by_author else ()
    positions = without_former_placeholders(settings.topic, settings.positions).values()
    files = chain.from_iterable((file.name, file.text) for file in opened.context)
    return (
        settings.topic,
        *positions,
        *(settings.own_issues or ()),
        *(changed.issues if changed else ()),
        *speakers,
        *files,
    )


def _ballot_turns(opened: Opened, slot: Slot, judges: Sequence[str]) -> tuple[BallotTurns, ...]:
    shape, seats = opened.format.shapes[slot.phase.reply], slot.judge_seats(judges, mirror=opened.mirrors(slot.phase))
    return tuple(BallotTurns(pair[0], shape, tuple(map(slot.turn_id, pair))) for pair in seats)


def winner_of_label(format: Format) -> dict[str, str]:
    shapes = [format.shapes.get(phase.reply, {}) for phase in format.phases() if format.is_vote(phase)]
    names_winners = any({"winner", "scores"} & set(shape) for shape in shapes)
    return {} if names_winners else format.winner_of
