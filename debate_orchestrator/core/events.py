"""Events: frozen values in the past tense. Nothing in here reads a clock or makes up an id.

An event names its turn by the turn's derived id (`2.rebuttal.a`). The union is closed: do not
subclass an event, and do not add one that `fold` does not know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, model_validator

from debate_orchestrator.core.format import Format, slots_of
from debate_orchestrator.core.phases import (
    JUDGE,
    MAX_ROUNDS,
    MAX_SCORE,
    MAX_SECTION_TURNS,
    MAX_TURNS,
    NEITHER_SIDE,
    SEATS,
    Phase,
    Section,
    Slot,
    judge_seats,
)
from debate_orchestrator.core.reply import Count, EstimatedCost, Reply, short_enough
from debate_orchestrator.core.settings import MAX_COST, MAX_ISSUES, MAX_JUDGES, MAX_TOPIC_LENGTH, Settings
from debate_orchestrator.core.values import FREE_TEXT, FrozenModel, JournaledModel, Text

NONCE_PATTERN = r"^[A-Za-z0-9]{1,64}$"
"""The form of a nonce, of which the markers of blocks in briefs are made. No character of it can end a line."""
MAX_CONTEXT = 400_000
"""Bytes that the context files of a debate may have, since they are in every brief; in a journal, characters."""
MAX_FILES = 200
"""Context files that a debate may have."""
MAX_SEED = 2**64
MAX_QUESTION_LENGTH = 2000
"""Characters that a question from the floor may have."""

_FORMER_KINDS = {
    "asked": "brief_sent",
    "call_intended": "brief_sent",
    "capped": "budget_changed",
    "closed": "ended_early",
    "raised": "question_asked",
    "recast": "reassigned",
    "spoiled": "rejected",
    "unanswered": "call_failed",
    "voted": "structured_reply_given",
}
"""The kinds of events by their names in journals of earlier versions, to their names since."""


def _with_kind_of_today(data: Any) -> Any:
    kind = data.get("kind") if isinstance(data, dict) else None
    return data | {"kind": _FORMER_KINDS[kind]} if isinstance(kind, str) and kind in _FORMER_KINDS else data


class ContextFile(FrozenModel):
    """A file that speakers may draw on, kept whole so that the journal needs nothing beside it."""

    name: Text
    text: Annotated[Text, AfterValidator(short_enough)]


Score = Annotated[float, Field(ge=0, le=MAX_SCORE * (MAX_ROUNDS + 1))]
"""One score, or the total over all rounds and the final ballot."""


class EarlierRound(FrozenModel):
    """A panel's result for a round."""

    scores: dict[str, Score]
    """Side to score; empty if there were none."""
    winner: str
    """A side, `tie`, `consensus` or `no decision`."""


class QuestionAsked(FrozenModel):
    """A question was put from the floor. The seats that it is put to hear it from their next turn on."""

    kind: Literal["question_asked"] = "question_asked"
    question: Text = Field(pattern=r"\S", max_length=MAX_QUESTION_LENGTH)
    to: tuple[str, ...] = Field(min_length=1, max_length=len(SEATS))
    """Sides, or `judge` for every judge."""

    @model_validator(mode="after")
    def _each_seat_once(self) -> QuestionAsked:
        if len(set(self.to)) < len(self.to):
            raise ValueError("a question put to a seat twice")
        return self


class IssuesChanged(FrozenModel):
    """The user changed the rapporteur's list of issues before a turn after it had begun."""

    kind: Literal["issues_changed"] = "issues_changed"
    issues: Annotated[tuple[Annotated[str, Field(pattern=r"\S", max_length=MAX_TOPIC_LENGTH)], ...], FREE_TEXT] = Field(
        min_length=1, max_length=MAX_ISSUES
    )
    """The whole list, the weightiest first."""


class EarlierQuestion(FrozenModel):
    asked: Annotated[QuestionAsked, BeforeValidator(_with_kind_of_today)]
    before: str
    """The id of the slot, which is one occurrence of a phase, with the first turns that could hear it."""
    stage: Count = 0
    """The index of their stage (the turns that are due together) in that slot, from 0."""


class EarlierDebate(JournaledModel):
    """The debate that is judged again: who spoke in it stays as it was, whatever the new judges find."""

    source: Text
    """The journal or transcript it comes from."""
    digest: str
    """The hash of that journal's last line, or the sha256 of the transcript."""
    first_held_digest: str = ""
    """The digest of the original debate, before any re-judging; empty if a version that did not note it opened the
    re-judging."""
    interventions: dict[int, tuple[str, ...]] = {}
    """Round to the sides that answered an intervention after it."""
    conceded: dict[int, str] = {}
    """Round to the side that its ballots held to have given up, where that ended the debate."""
    ended_after: str | None = None
    """The id of the slot after which it was ended early; None if it was not."""
    speakers: Annotated[dict[str, str], FREE_TEXT] = {}
    """Side to what filled its seat, or to the speaker's name in a transcript."""
    speakers_by_author: bool = Field(default=False, exclude_if=lambda value: not value)
    """Whether the speakers' names are what the author of a transcript wrote, not models that were called."""
    former_speakers: Annotated[dict[str, tuple[str, ...]], FREE_TEXT] = Field(
        default={}, exclude_if=lambda value: not value
    )
    """Side to what filled its seat before, if others took turns in it."""
    speeches_as_heard: bool = Field(default=False, exclude_if=lambda value: not value)
    """Whether the speeches are those that others heard, so that private reasoning was left out of them before."""
    notes: Annotated[tuple[str, ...], FREE_TEXT] = ()
    """The weaknesses of that debate, in sentences."""
    judges: Annotated[tuple[str, ...], FREE_TEXT] = ()
    """Its earlier judges; empty if it was not judged, or by stand-ins alone."""
    rounds: dict[int, EarlierRound] = {}
    winner: str | None = None
    unopposed: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The side whose position stood, since the other one conceded; None without one."""
    strength: str | None = None
    totals: dict[str, Score] = {}
    issues_changed: IssuesChanged | None = None
    """The list of issues as the user had changed it; None if they had not."""
    questions: tuple[EarlierQuestion, ...] = ()
    """The questions from the floor that a turn could hear, in the order in which they were put."""

    def unknown_field(self, sides: tuple[str, ...], rounds: int, slot_ids: Container[str]) -> str | None:
        """The first field that names a side, round or slot that is not among these; None if all fit."""
        winners, numbers = {*sides, *NEITHER_SIDE}, range(1, rounds + 1)
        results = self.rounds.values()
        fields: dict[str, tuple[Iterable[object], Container[object]]] = {
            "speakers": ((*self.speakers, *self.former_speakers), sides),
            "conceded": (self.conceded.values(), sides),
            "unopposed": ([self.unopposed] if self.unopposed is not None else [], sides),
            "interventions": ((side for answering in self.interventions.values() for side in answering), sides),
            "rounds with scores": ((side for result in results for side in result.scores), sides),
            "totals": (self.totals, sides),
            "winner": ([self.winner] if self.winner is not None else [], winners),
            "winners of rounds": ((result.winner for result in results), winners),
            "rounds": ((*self.rounds, *self.conceded, *self.interventions), numbers),
            "questions": ((seat for question in self.questions for seat in question.asked.to), (*sides, JUDGE)),
            "slots of questions": ((question.before for question in self.questions), slot_ids),
        }
        return next(
            (name for name, (names, allowed) in fields.items() if any(key not in allowed for key in names)), None
        )

    @property
    def speeches_digest(self) -> str:
        """The digest that identifies the speeches: all judgings of the same speeches share it."""
        return self.first_held_digest or self.digest


_NAMES_OF_0_1 = {"course": "earlier_debate", "patience": "retry_for", "leader_first": "share_cache"}
"""The names that fields of `Opened` and settings had in journals of version 0.1, to their names since."""


class Opened(JournaledModel):
    """The debate was set up. It is always the first event. It holds all that is needed to read the others."""

    kind: Literal["opened"] = "opened"
    schema_version: int
    version: str
    """The version of this package that opened it."""
    settings: Settings
    context: tuple[ContextFile, ...] = Field(default=(), max_length=MAX_FILES)
    """The files of the setup's `context`, with their text."""
    format: Format
    prompts: dict[str, str]
    """Template name to the sha256 of its text."""
    templates: Annotated[dict[str, str], FREE_TEXT] = {}
    """The templates of a format that is not shipped, by their path in prompts/ if they were, with their text."""
    moderator_replies: tuple[Reply, ...] = ()
    """The moderator's replies, where the engine asked for positions: the last one gave them. The others could not be
    used, or are the parts of replies that had arrived when calls failed that may have been billed."""
    earlier_debate: EarlierDebate | None = None
    """The debate that is judged again; None if a debate runs for the first time."""
    seed: int = Field(ge=-MAX_SEED, le=MAX_SEED)
    """Kept on record: a tournament makes it of its schedule and compares it. The debate draws nothing from it."""
    nonce: str = Field(pattern=NONCE_PATTERN)
    """The nonce of which the markers of blocks in all briefs of this debate are made: see `prompting.briefs`."""
    speech_rules: Literal[1, 2] = 2
    """The version of the rules for reading speeches that the program had. It is kept on record and has no effect: all
    speeches are read by the rules of today."""
    mark_rules: Literal[1, 2] = Field(default=1, exclude_if=lambda version: version == 1)
    """The version of the rules for marks in the decision brief. By 1 every speech of the other side may be a challenge,
    also one that was given before the reason was put forward."""
    stand_in_findings_decide: bool = Field(default=True, exclude_if=lambda value: value)
    """Whether findings of stand-ins (convergence, a concession, no new ground) decide how the debate goes on also where
    there are other judges. They do in all debates of earlier versions."""
    mirror_order_only: bool = Field(default=False, exclude_if=lambda value: not value)
    """Whether the mirrored debate has the order of the sides swapped alone, since what is debated could have one of
    their names. It has their names swapped, too, in any other debate, and in all of earlier versions."""

    @model_validator(mode="before")
    @classmethod
    def _of_version_0_1(cls, data: Any) -> Any:
        """Version 0.1 wrote some settings beside `setup`, and the context files into it."""
        if not (isinstance(data, dict) and "course" in data and isinstance(data.get("setup"), dict)):
            return data
        data = {_NAMES_OF_0_1.get(name, name): value for name, value in data.items()}
        setup = dict(data["setup"])
        files = setup.pop("context", ())
        setup |= {name: data.pop(name) for name in ("cast", "max_cost", "retry_for", "share_cache") if name in data}
        if isinstance(files, list | tuple):
            setup["context"] = [file.get("name") for file in files if isinstance(file, dict)]
        if isinstance(format := data.get("format"), dict):
            setup["format"] = format.get("name")
        return data | {"setup": setup, "context": files}

    @property
    def cast(self) -> dict[str, tuple[str, ...]]:
        """Seat to its models when the debate was opened; more than one judge makes a panel."""
        return self.settings.cast

    def with_settings(self, **changes: Any) -> Opened:
        return self.model_copy(update={"settings": self.settings.model_copy(update=changes)})

    def mirrors(self, phase: Phase) -> bool:
        """Whether judges take a second, mirrored turn in a phase."""
        return self.settings.mirror and self.format.is_vote(phase)

    @property
    def slots(self) -> Iterator[Slot]:
        """Every slot of the debate, in order."""
        settings = self.settings
        return slots_of(self.format, settings.rounds, settings.strictness, settings.chosen_phases)

    @model_validator(mode="after")
    def _covers_the_seats(self) -> Opened:
        missing = [side for side in self.format.sides if side not in self.settings.positions]
        if missing:
            raise ValueError(f"no position for {', '.join(missing)}")
        if empty_seats := [
            seat for seat in self.format.active_seats(self.settings.chosen_phases) if not self.cast.get(seat)
        ]:
            raise ValueError(f"no model in the seat {', '.join(empty_seats)}")
        overfilled_seats = [
            seat for seat, specs in self.cast.items() if len(specs) > (MAX_JUDGES if seat == JUDGE else 1)
        ]
        if overfilled_seats:
            raise ValueError(f"too many in the seat: {', '.join(overfilled_seats)}")
        return self

    @model_validator(mode="after")
    def _can_be_run(self) -> Opened:
        settings, format = self.settings, self.format
        if unknown_sides := set(settings.positions) - set(format.sides):
            raise ValueError(f"positions of no side of this format: {', '.join(sorted(unknown_sides))}")
        if sum(len(file.text) for file in self.context) > MAX_CONTEXT:
            raise ValueError(f"context of more than {MAX_CONTEXT:,} characters")
        if problem := self._turn_problem():
            raise ValueError(problem)
        slot_ids = {slot.id for slot in self.slots}
        if (earlier := self.earlier_debate) and (
            problem := earlier.unknown_field(format.sides, settings.rounds, slot_ids)
        ):
            raise ValueError(f"an earlier debate with {problem} that a debate of this format and length does not have")
        if settings.first not in format.sides or settings.strictness not in format.rubric.strictness:
            raise ValueError("the format has no such side to speak first, or no such strictness")
        return self

    def _turn_problem(self) -> str | None:
        """The reason if the debate has more turns than can be taken, or more votes than can be counted."""
        judges, turns = judge_seats(len(self.cast.get(JUDGE, ()))), Counter[Section]()
        votes = Counter(slot.section for slot in self.slots if self.format.is_vote(slot.phase))
        if votes and votes.most_common(1)[0][1] > 1:
            return "judges vote twice before the rounds, in one or after them; only one vote is allowed there"
        for slot in self.slots:
            stages = slot.stages(self.format.sides, judges, mirror=self.mirrors(slot.phase))
            turns[slot.section] += sum(map(len, stages))
            if turns[slot.section] > MAX_SECTION_TURNS:
                return f"more than {MAX_SECTION_TURNS} turns before the rounds, in one or after them"
        return f"{turns.total():,} turns in total; at most {MAX_TURNS:,}" if turns.total() > MAX_TURNS else None


class BriefSent(JournaledModel):
    """A brief is about to be sent to what fills the seat. This is written before a call, which may cost money."""

    kind: Literal["brief_sent"] = "brief_sent"
    turn_id: str
    brief_digest: str
    spec: str
    by_call: bool = False
    """Whether a call of this program sends it, which may be paid for: no host, person or stand-in is called."""
    estimated_cost: EstimatedCost = None
    """US dollars that the call may cost with nothing cached."""


class Spoke(JournaledModel):
    """A speech was given."""

    kind: Literal["spoke"] = "spoke"
    turn_id: str
    reply: Reply
    concedes: bool | None = Field(default=None, exclude_if=lambda value: value is None)
    """Whether it concedes the debate; None in journals of earlier versions, where its text tells."""


class Declined(JournaledModel):
    """A debater declined to argue. It is on record, and no concession."""

    kind: Literal["declined"] = "declined"
    turn_id: str
    reply: Reply


class StructuredReplyGiven(JournaledModel):
    """A structured reply was given in the shape asked for: a ballot, a dissent record, a decision brief ..."""

    kind: Literal["structured_reply_given"] = "structured_reply_given"
    turn_id: str
    data: Annotated[dict[str, Any], FREE_TEXT]
    reply: Reply
    changes: Annotated[tuple[str, ...], FREE_TEXT] = ()
    """The changes from the reply as it was written to `data`, one short line each."""
    short_words: Annotated[Mapping[str, str], FREE_TEXT] = Field(default={}, exclude_if=lambda value: not value)
    """Each word of the reply that was read as a side, though it is no position and no name that surely means one, to
    that side, mirrored or not."""


_FORMER_SENTENCE = "This is asked for once. If your next reply does not change it, the report shows it as it is."


class Rejected(JournaledModel):
    """A reply does not end its turn: it can't be used, or a better one is asked for. It is kept, and the turn is asked
    again."""

    kind: Literal["rejected"] = "rejected"
    turn_id: str
    problems: Annotated[tuple[str, ...], FREE_TEXT]
    reply: Reply
    absent: bool = False
    """Whether the debate goes on without this turn's reply. A judge is then absent; what a rapporteur or clerk had to
    write is missing."""
    could_be_better: bool = Field(default=False, exclude_if=lambda value: not value)
    """Whether it could be used, and a better one is asked for, once."""

    @model_validator(mode="before")
    @classmethod
    def _read_old_sentence(cls, data: Any) -> Any:
        """Journals of earlier versions say by a last complaint that the reply could be better."""
        complaints = data.get("complaints") if isinstance(data, dict) else None
        if isinstance(complaints, list) and complaints[-1:] == [_FORMER_SENTENCE]:
            return {**data, "complaints": complaints[:-1], "could_be_better": True}
        return data

    def without_words(self) -> Rejected:
        """The same without what the reply says, of which only the cost is kept."""
        problems = (*self.problems, "The reply is not kept, since the journal is long.")
        return self.model_copy(update={"problems": problems, "reply": self.reply.without_words()})


class CallFailed(JournaledModel):
    """A call brought no whole reply, or one that the program failed to read: what went wrong, and what came before."""

    kind: Literal["call_failed"] = "call_failed"
    turn_id: str
    spec: str
    problem: Text
    wait: float | None = Field(default=None, ge=0)
    """Seconds until it is asked again; None if the debate stops instead."""
    maybe_billed: bool = False
    """Whether it may have been billed all the same: the line broke after the brief was sent, or the program failed."""
    reply: Reply | None = None
    """The part of the reply that had come; None if nothing had."""

    def without_words(self) -> CallFailed:
        """The same without what had come of the reply, of which only the cost is kept."""
        problem = f"{self.problem} What had come of the reply is not kept, since the journal is long."
        return self.model_copy(update={"problem": problem, "reply": self.reply and self.reply.without_words()})


class Reassigned(JournaledModel):
    """From here on a seat is filled by another model, program or person."""

    kind: Literal["reassigned"] = "reassigned"
    seat: str
    specs: tuple[str, ...]


class BudgetChanged(FrozenModel):
    """The cap on the total cost of calls from here on."""

    kind: Literal["budget_changed"] = "budget_changed"
    max_cost: float | None = Field(ge=0, le=MAX_COST)


class RetryForChanged(FrozenModel):
    """From here on a turn's calls may fail or be silent for so many seconds before the debate is paused."""

    kind: Literal["retry_for_changed"] = "retry_for_changed"
    retry_for: float = Field(ge=0)


class EndedEarly(FrozenModel):
    """The debate was ended early: once the slot under way is over, only what follows the last round is left."""

    kind: Literal["ended_early"] = "ended_early"
    after: str | None = None
    """The id of that slot. None, as in journals that do not say: the last slot in which a brief was sent,
    though nothing may have been said in its round."""


class Reopened(FrozenModel):
    """A complete debate goes on: those who gave no usable ballot, dissent record or decision brief are asked again."""

    kind: Literal["reopened"] = "reopened"


class Noted(FrozenModel):
    """Something that readers of the journal should know about how it was made."""

    kind: Literal["noted"] = "noted"
    note: Literal["one agent", "prompts changed", "estimate"]
    """`one agent`: one took every turn. `prompts changed`: they did on the way, with another version of this program.
    `estimate`: this is a rehearsal, and `detail` says what its real cast would take."""
    detail: Text = ""
    """The changed templates with the beginnings of their digests, or the estimate; empty for `one agent`."""


ReplyEvent = Spoke | Declined | StructuredReplyGiven | Rejected
TurnEvent = BriefSent | CallFailed | ReplyEvent
Event = (
    Opened
    | TurnEvent
    | Reassigned
    | BudgetChanged
    | RetryForChanged
    | QuestionAsked
    | IssuesChanged
    | EndedEarly
    | Reopened
    | Noted
)
EVENT: TypeAdapter[Event] = TypeAdapter(
    Annotated[Event, Field(discriminator="kind"), BeforeValidator(_with_kind_of_today)]
)
"""Reads an event from plain data; the `kind` tag, which is the name of its class, decides which."""
