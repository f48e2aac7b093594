"""The parts of a format: seats, phases, rubric, announcement texts. `format.Format` puts them together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator
from pydantic import Field as PydanticField
from pydantic_core import PydanticCustomError

from debate_orchestrator.core.shape import MAX_ITEMS, MAX_WORDS, Condition, WordCount
from debate_orchestrator.core.values import (
    FREE_TEXT,
    READS_FORMER_VALUES,
    DisplayName,
    FrozenModel,
    PrintableKey,
    Text,
    formerly,
    line_of_text,
)

NAME_PATTERN = r"^[a-z][a-z0-9-]{0,40}$"
"""A name that becomes part of a turn's id, and so of a file's name."""
TAG_PATTERN = r"^[a-z][a-z0-9_]{0,40}$"
"""The name of a tag, which is between < and > in a speech."""
JUDGE = "judge"
CLERK = "clerk"
"""Looks up what the sides cite; takes no part in the argument and has no vote."""
RAPPORTEUR = "rapporteur"
"""Draws up the list of issues and writes the decision brief, without argument or vote. It hears what the judge does."""
SIDES_AND_JUDGE = ("a", "b", JUDGE)
SEATS = (*SIDES_AND_JUDGE, CLERK, RAPPORTEUR)


def _seat_name(name: str) -> str:
    if name not in SEATS:
        raise PydanticCustomError("not_a_seat", f"a seat: {', '.join(SEATS)}")
    return name


SeatName = Annotated[str, AfterValidator(_seat_name)]
SeatNames = Annotated[tuple[SeatName, ...], PydanticField(max_length=len(SEATS))]
PRE_DEBATE_VOTE = "blind"
"""What enables the phase of the pre-debate vote."""
ISSUES, DECISION_BRIEF = "issues", "brief"
"""What enables the phases in which the rapporteur takes its turns."""
NO_NEW_GROUND = "dry"
"""The field in which a judge says whether another round would find no new ground."""
VOTE_FIELDS = {"scores", "winner", "label"}
"""The fields that make a judge's shape a vote."""
TIE = "tie"
CONSENSUS = "consensus"
NO_DECISION = "no decision"
MAX_ROUNDS = 100
MAX_PHASES = 250
"""Phases before the rounds, in each and after them: a transcript that is judged has one for each speech."""
MAX_SECTION_TURNS = 500
"""Turns of a section: before the rounds, in one of them or after them."""
MAX_TURNS = 5_000
MAX_STRICTNESS_LEVELS = 20
MAX_COUNT_IN_FORMAT = 10_000_000
"""The most rounds or tokens that a format may name."""
MAX_SCORE = 1_000_000
"""The highest end of a scale, and the highest weight of a criterion."""
NEITHER_SIDE = (TIE, CONSENSUS, NO_DECISION)
"""What a vote may be for if it is for no side."""
MIRRORED = ".mirrored"
"""The suffix of the id of a mirrored turn."""

Section = tuple[int | None, bool]
"""A part of a debate: its round, None before the first and after the last, and whether it is after the rounds."""
BEFORE_ROUNDS: Section = (None, False)
AFTER_ROUNDS: Section = (None, True)


Line = Annotated[Text, line_of_text(200)]
"""A text announced in prompts, in reports and on terminals."""


class Seat(FrozenModel):
    """The name of a seat in briefs and reports. The name is neutral: no model is named here."""

    model_config = formerly(label="side")

    name: DisplayName
    label: DisplayName = ""
    """What its side is called, as in `Pro`; empty for a seat of no side, and where positions are answers."""
    tag: DisplayName
    """The seat in a turn's tag, as in [R1 - ROUND 1 - OPENING]."""


class RoundLimits(FrozenModel):
    model_config = formerly(max="most", max_if_insisted="insist")

    default: int = PydanticField(default=3, ge=1, le=MAX_COUNT_IN_FORMAT)
    max: int = PydanticField(default=6, ge=1, le=MAX_COUNT_IN_FORMAT)
    max_if_insisted: int = PydanticField(default=8, ge=1, le=MAX_COUNT_IN_FORMAT)
    """The most rounds in place of `max` where the setting `insist` is on."""


class Phase(FrozenModel):
    """One kind of turn: who takes it, when, who hears it, and what reply is expected."""

    model_config = formerly(
        judges=("panel", "voters"),
        triggered_by="on",
        enabled_by="option",
        declines_heard_by="refusals_heard_by",
        target_words="words",
        max_tokens="tokens",
        min_words="least_words",
        max_words="most_words",
    )

    name: str = PydanticField(pattern=NAME_PATTERN)
    title: DisplayName
    tag: DisplayName
    """The phase in a turn's tag, as in [R1 - ROUND 1 - OPENING]."""
    seats: SeatNames
    """The seats that take a turn: `a`, `b`, `judge`."""
    order: Annotated[Literal["in turn", "simultaneous"], READS_FORMER_VALUES] = "in turn"
    """In turn, the second speaker has heard the first; if simultaneous, neither hears the other."""
    with_previous: bool = False
    """For the rapporteur: due together with the last turns of the phase before it, without hearing them."""
    judges: Literal["every judge", "first judge"] = "every judge"
    """The judges of a panel that take the turn."""
    when: Condition = PydanticField(default_factory=Condition)
    triggered_by: Literal["convergence", "findings"] | None = None
    """Its trigger: `convergence`, if the ballots of the round find that sides converge and an intervention
    follows; `findings`, where the check of the decision brief found problems. None: it needs no trigger."""
    reply: str = "text"
    """`text`, or the name of a shape of this format."""
    heard_by: SeatNames = SIDES_AND_JUDGE
    """Seats that find the turn in their transcript. No seat sees another judge's ballots."""
    declines_heard_by: SeatNames = SIDES_AND_JUDGE
    """Those of `heard_by` that hear the turn where a side declined to argue in it."""
    enabled_by: Literal["each round", "blind", "issues", "brief"] | None = None
    """The setting with which alone it takes place: ballots after each round, the pre-debate vote, issues, decision
    brief."""
    target_words: WordCount = None
    """The length asked for, in words: the templates say about how many, or of a decision brief at most how many."""
    max_tokens: int | None = PydanticField(default=None, ge=1, le=MAX_COUNT_IN_FORMAT)
    """The most tokens that a reply may have, where the provider takes such a limit."""
    min_words: WordCount = None
    """A speech of fewer is asked for again, once."""
    max_words: WordCount = None
    """Others hear a speech up to this many; the record keeps it whole."""
    template: str = PydanticField(default="", pattern=rf"^([a-z][a-z0-9-]{{0,40}}/)?{NAME_PATTERN[1:]}|^$")
    """The template of the task, in the format's folder, or as `adversarial/opening` in that of a shipped one; the
    phase's name if empty."""


class Criterion(FrozenModel):
    """Something that is scored."""

    model_config = formerly(min="least", max="most")

    title: Line
    about: Text
    weight: float = PydanticField(default=1, gt=0, le=MAX_SCORE)
    min: float | None = PydanticField(default=None, le=MAX_SCORE)
    max: float | None = PydanticField(default=None, le=MAX_SCORE)
    """A scale of its own; the rubric's if it has none."""
    when: Condition = PydanticField(default_factory=Condition)


class Strictness(FrozenModel):
    """A strictness level, explained to the user and demanded of the judge and the debaters."""

    about: Text
    judge: Text
    debaters: Text


class Rubric(FrozenModel):
    """The criteria and the scale by which a round is judged."""

    model_config = formerly(min="least", max="most")

    name: Text
    min: float = PydanticField(le=MAX_SCORE)
    max: float = PydanticField(le=MAX_SCORE)
    criteria: dict[PrintableKey, Criterion] = PydanticField(default={}, max_length=MAX_ITEMS)
    strictness: dict[PrintableKey, Strictness] = PydanticField(min_length=1, max_length=MAX_STRICTNESS_LEVELS)
    convergence: Annotated[dict[PrintableKey, str], FREE_TEXT] = PydanticField(default={}, max_length=MAX_ITEMS)
    """The signs of convergence that a judge may name, with what each means."""

    def scale(self, criterion: str) -> tuple[float, float]:
        """The lowest and the highest score of a criterion."""
        scale = self.criteria[criterion]
        minimum = self.min if scale.min is None else scale.min
        return minimum, self.max if scale.max is None else scale.max


class QuoteRules(FrozenModel):
    """The names of the tags in which a debater quotes context files, and of those in which others read the quotes."""

    model_config = formerly(min_words="least_words")

    tag: str = PydanticField(default="quote", pattern=TAG_PATTERN)
    verified: str = PydanticField(default="v_quote", pattern=TAG_PATTERN)
    unverified: str = PydanticField(default="u_quote", pattern=TAG_PATTERN)
    min_words: int = PydanticField(default=4, ge=0, le=MAX_WORDS)
    """A quote of fewer words proves nothing, and is heard as unverified."""

    @property
    def checked_tags(self) -> tuple[str, str]:
        """The tags of quotes that were looked up, found and not."""
        return (self.verified, self.unverified)


class Intervention(FrozenModel):
    """The rule for a round whose ballots find that the sides converge."""

    model_config = formerly(max_in_a_row="most_in_a_row")

    max_in_a_row: int = PydanticField(default=1, ge=0, le=MAX_ROUNDS)
    """Rounds in a row that may be answered; convergence after that is flagged for the final verdict."""


_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{rounds?\}")


def filled_announcement(text: str, *, round: int, rounds: int | None = None) -> str:
    """A text with its numbers filled in, and doubled braces made single. `str.format` would let a text of an untrusted
    format read attributes and pad to any width."""
    values = {"{{": "{", "}}": "}", "{round}": str(round), "{rounds}": "{rounds}" if rounds is None else str(rounds)}
    return _PLACEHOLDER.sub(lambda match: values[match[0]], text)


class AnnouncementTexts(FrozenModel):
    """The announcements, with {round} and {rounds} for `filled_announcement`."""

    model_config = formerly(converged_again="persisted")

    round: Line = "--- ROUND {round} OF {rounds} ---"
    intervention: Line = "[INTERVENTION - ROUND {round}]"
    divergence: Line = "[FORCED DIVERGENCE]"
    converged_again: Line = "The sides converged again right after an intervention."
    """The text if they did: see `tally.converged_again`."""
    final: Line = "[JUDGE - FINAL VERDICT]"


class ReservedLines(FrozenModel):
    """Lines that say something to the engine when a speech ends with exactly that, on a line of its own."""

    concede: Text = "I CONCEDE THE DEBATE."
    decline: Text = "I DECLINE TO ARGUE THIS POSITION."

    def with_code(self, code: str) -> ReservedLines:
        """The lines as a seat has to write them whose turn has that code."""
        return ReservedLines(concede=f"{self.concede} [{code}]", decline=f"{self.decline} [{code}]")

    def remark(self, ignored: str, lacks_code: bool = False, other_lines: bool = False) -> str:
        """The remark on a reserved line that does not count, or that counts only with the code of its turn."""
        effect = "declines" if ignored == self.decline else "concedes"
        if lacks_code:
            return f'"{ignored}" does not count here: it {effect} only with the code of its turn.'
        if other_lines:
            return f'"{ignored}" does not count here: a speech with lines for the other side never {effect}.'
        return (
            f'"{ignored}" does not count here: it {effect} only as the last line, exactly so, below an empty line, not '
            "after a colon, not in a cut speech, and outside of quotations, code, lists, tags and private reasoning."
        )


def id_hiding_mirrored(turn_id: str) -> str:
    """The id of a turn where its seat may read it. No judge is told that it sees the debate mirrored: of the two turns
    of a judge this is the second. The two ids differ, as names of files and keys of forms must; in the text of a brief
    both turns have one id (`_shown_id` in `prompting/briefs.py`)."""
    return turn_id.replace(MIRRORED, ".2")


class Turn(FrozenModel):
    """One thing that a seat must do now. Its id is derived: the same journal always waits for the same turns."""

    id: str
    seat: str
    """`a`, `b`, `judge`, or `judge-2` in a panel."""
    phase: Phase
    round: int | None = None
    """None before the first round and after the last."""
    after_rounds: bool = False
    mirrored: bool = False
    """Whether the judge sees the debate mirrored: each side as the other."""

    @property
    def id_hiding_mirrored(self) -> str:
        return id_hiding_mirrored(self.id)

    @property
    def slot_id(self) -> str:
        return self.id.removesuffix(self.seat + (MIRRORED if self.mirrored else ""))

    @property
    def role(self) -> str:
        """The seat in the format: `judge` for every judge of a panel."""
        return JUDGE if self.seat.startswith(JUDGE) else self.seat

    @property
    def hears_as(self) -> str:
        """The seat whose transcript and context files it is given."""
        return JUDGE if self.role == RAPPORTEUR else self.role

    @property
    def judging(self) -> bool:
        """Whether a judge takes it."""
        return self.role == JUDGE

    @property
    def speaking(self) -> bool:
        """Whether a side takes it, in words or in fields."""
        return self.role not in (JUDGE, CLERK, RAPPORTEUR)


class Slot(FrozenModel):
    """One occurrence of a phase, such as the rebuttal of round 2: before the rounds, in one of them, or after them."""

    phase: Phase
    round: int | None
    """None before the first round and after the last."""
    after_rounds: bool

    @property
    def id(self) -> str:
        """The prefix of the ids of its turns: `2.rebuttal.`, `final.verdict.`, `start.verdict.`."""
        prefix = str(self.round) if self.round is not None else "final" if self.after_rounds else "start"
        return f"{prefix}.{self.phase.name}."

    @property
    def section(self) -> Section:
        return self.round, self.after_rounds

    def turn_id(self, seat: str) -> str:
        """The id of the turn that `seat` takes here: `2.rebuttal.a`."""
        return self.id + seat

    def joins(self, previous: Slot) -> bool:
        """Whether its turns are due together with the last ones of the slot before it."""
        return self.phase.with_previous and self.section == previous.section

    def judge_seats(self, judges: Sequence[str], *, mirror: bool) -> list[tuple[str, ...]]:
        """The seats of each judge that takes a turn here, the one that is marked as mirrored last."""
        taking_it = judges if self.phase.judges == "every judge" else judges[:1]
        return [(judge, judge + MIRRORED) if mirror else (judge,) for judge in taking_it]

    def stages(self, order: Sequence[str], judges: Sequence[str], *, mirror: bool = False) -> list[tuple[str, ...]]:
        """The seats that take a turn here, stage by stage, with the sides in this speaking order. With `mirror`
        each judge takes a second one, marked as mirrored, beside the first."""
        seats: list[tuple[str, ...]] = [(side,) for side in order if side in self.phase.seats]
        seats += self.judge_seats(judges, mirror=mirror) if JUDGE in self.phase.seats else []
        seats += [(seat,) for seat in (CLERK, RAPPORTEUR) if seat in self.phase.seats]
        if self.phase.order == "simultaneous":
            return [tuple(seat for group in seats for seat in group)] if seats else []
        return seats


def judge_seats(panel_size: int) -> tuple[str, ...]:
    if not panel_size:
        return ()
    return (JUDGE,) if panel_size == 1 else tuple(f"{JUDGE}-{i}" for i in range(1, panel_size + 1))
