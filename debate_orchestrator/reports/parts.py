"""The typed parts of a report model: turns, rounds, votes, the verdict, costs and how the debate was run.
Fields with `exclude` serve other types of file than JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field

from debate_orchestrator.core.costs import CostLine, Costs
from debate_orchestrator.core.events import EarlierRound, Opened
from debate_orchestrator.core.phases import MIRRORED
from debate_orchestrator.core.reply import FoundPage, Usage
from debate_orchestrator.core.shape import Shape
from debate_orchestrator.core.values import FrozenModel, Number
from debate_orchestrator.core.verdict import ParsedBallot, RoundResult, Verdict, Vote
from debate_orchestrator.core.visible_text import Quote
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.wording import VoteScales
from debate_orchestrator.storage.journal_lines import Entry

DOLLAR_DECIMALS = 9
"""Further decimal places of a sum of prices are noise."""


class Part(FrozenModel):
    """A part of the model whose fields are described in place."""

    model_config = ConfigDict(arbitrary_types_allowed=True)


class Note(Part):
    """One sentence on how the debate was made."""

    kind: str
    """Its subject, such as `degraded`, `rehearsed` or `sources`."""
    severity: Literal["warning", "info"]
    """A warning weakens the debate, or must not be overlooked."""
    text: str
    """The sentence."""
    turn: str | None = None
    """The turn it is about; null if it is about none, or about several."""


class TurnReport(Part):
    """One turn that was taken."""

    id: str
    """`ROUND.PHASE.SEAT`, with `start` or `final` outside the rounds."""
    kind: Literal["speech", "ballot", "other_reply", "record"] = "speech"
    """A side's turn (a speech, or fields), a judge's ballot, or the dissent record; `other_reply` is any other reply,
    such as the clerk's or the rapporteur's."""
    seat: str
    """The seat that took it."""
    round: int | None = None
    """Counted from 1; null outside the rounds."""
    stage: int = Field(default=0, exclude=True)
    """The same number for turns that are taken at once."""
    phase: str = ""
    """The short name of the phase, as in the id."""
    heading: str
    """Its heading in reports for people."""
    tag: str = Field(exclude=True)
    """Its tag in the record: `[R1 - ROUND 1 - OPENING]`."""
    text: str | None = None
    """A speech as others heard it, also one that declines; null for a reply with fields."""
    fields: dict[str, Any] | None = None
    """A structured reply, with the sides as they are, mirrored or not; null for a speech, and where no valid
    reply came."""
    shape: Shape = Field(default={}, exclude=True)
    mirrored: bool = False
    """Whether a judge saw the debate with the sides swapped."""
    counted: bool | None = None
    """Whether the vote of this ballot counts: all its ballots are valid and say the same, and it is no abstention. Null
    for other turns."""
    left_out: bool = False
    """Whether it is a stand-in's ballot or dissent record that does not count."""
    parsed_ballot: ParsedBallot | None = Field(default=None, exclude=True)
    """The content of the ballot."""
    words: int = 0
    """Words that others heard."""
    max_words: int | None = None
    """The limit of words; null if there is none."""
    dropped: int = 0
    """Words over that limit, which were not heard."""
    of_decision_brief: bool = Field(default=False, exclude=True)
    """Whether it is of the decision brief: the brief itself, or the rapporteur's advice before the debate."""
    cut: bool = False
    """Whether a limit of tokens cut it short."""
    declined: bool = False
    """Whether the side declined to argue. That is not a concession."""
    concedes: bool = False
    """Whether the side conceded its whole position in it."""
    private: bool = False
    """Whether private reasoning was left out."""
    other_lines: bool = False
    """Whether it writes lines for the other side, where the format forbids that."""
    ignored_line_remark: str = ""
    """The sentence that says why its reserved line, of concession or decline, does not count; empty if it has none."""
    changed_by_user: bool = Field(default=False, exclude=True)
    """Whether it holds the list of issues as the user changed it."""
    floor: tuple[str, ...] = ()
    """Questions from the floor that its speaker heard for the first time in this turn."""
    quotes: tuple[Quote, ...] = ()
    """Its quotes from the context files, if they were looked up."""
    pages: tuple[FoundPage, ...] = ()
    """Pages that a search returned while it was written."""

    @property
    def remarks(self) -> Iterator[str]:
        """Sentences on what became of it, for below it."""
        if self.changed_by_user:
            yield wording.ISSUES_CHANGED
        if self.dropped:
            over = f"{self.dropped:,} more, which were not heard, are in the journal"
            yield f"Here the limit of {self.max_words:,} words was reached: {over}."
        if self.cut:
            yield "Here a limit of length cut the speech short."
        if self.other_lines:
            yield "It writes lines for the other side, which this format forbids."
        if self.ignored_line_remark:
            yield self.ignored_line_remark

    @property
    def left_out_note(self) -> str:
        """The sentence beside a turn that is left out; empty beside any other."""
        return f"{wording.LEFT_OUT.capitalize()}." if self.left_out else ""

    @property
    def is_vote(self) -> bool:
        """Whether it is a judge's vote."""
        return self.kind == "ballot"


class RoundReport(Part):
    """One round, and what its ballots come to."""

    number: int
    """Counted from 1."""
    completed: bool
    """Whether it was judged or, where rounds are not judged one by one, is over."""
    judges_present: int | None = None
    """Judges who are not absent, also those who abstain; null if it was not judged."""
    scores: dict[str, Number] = {}
    """Side to score: the mean over the judges, unrounded; empty if there are none."""
    winner: str | None = None
    """A side, `tie`, `consensus` or `no decision`; null if it was not judged."""
    label: str | None = None
    """The label that its judges give it; null if there is none."""
    claim_score: Number | None = Field(default=None, serialization_alias="score")
    """The mean of the numbers they give it; null if they give none."""
    intervened: bool
    """Whether the engine intervened after it against convergence."""
    intervention_turns: tuple[str, ...] = ()
    """The turns that answer the intervention, as far as they were taken."""
    converged_again: bool
    """Whether the sides converged in it although the engine had intervened before."""
    speeches: tuple[TurnReport, ...] = Field(exclude=True)
    """Of the sides, with what a clerk found of them."""
    ballots: tuple[TurnReport, ...] = Field(exclude=True)
    """The judges' reply in the requested shape."""
    intervention_speeches: tuple[TurnReport, ...] = Field(default=(), exclude=True)
    """Turns that answer the intervention."""
    intervention: str = Field(default="", exclude=True)
    """The announcement of those turns."""
    votes: tuple[Vote, ...] = Field(default=(), exclude=True)
    result: RoundResult | None = Field(default=None, exclude=True)


class VoteReport(Part):
    """One judge's vote: the pre-debate vote, or one on a round or on the debate."""

    judge: str
    """The judge's seat."""
    place: Literal["start", "round", "final"]
    """`start` for a pre-debate vote, `round`, or `final`."""
    round: int | None
    """Counted from 1; null outside the rounds."""
    turns: tuple[str, ...]
    """The turns in which it was cast: two if it was also cast with the sides swapped."""
    original: ParsedBallot | None
    """The ballot on the debate as it was; null if none is valid."""
    mirrored: ParsedBallot | None
    """The ballot on the debate with the sides swapped; null if none is valid, or none was asked for."""
    absent: bool
    """Whether a ballot is missing, or is a stand-in's beside another judge's, so that nothing of it counts."""
    stable: bool
    """Whether every ballot of it says the same; false makes it an abstention."""
    counts_as: str
    """A side, `tie`, `consensus`, or `no decision` for an abstention or an absent judge."""
    label: str | None
    """The label it counts as; null if it counts as none."""
    scores: dict[str, Number]
    """Side to the mean of its scores on all ballots of the vote; empty if the judge is absent or scores nothing."""

    @classmethod
    def of(cls, vote: Vote, max_probability: Fraction) -> VoteReport:
        place, _, _ = vote.turn_id.partition(".")
        return cls(
            judge=vote.judge,
            place="start" if place == "start" else "final" if place == "final" else "round",
            round=int(place) if place.isdigit() else None,
            turns=(vote.turn_id, vote.turn_id + MIRRORED) if vote.shown_mirrored else (vote.turn_id,),
            original=_as_share(vote.original, max_probability),
            mirrored=_as_share(vote.mirrored, max_probability),
            absent=vote.absent,
            stable=vote.stable,
            counts_as=vote.winner,
            label=vote.label,
            scores=vote.scores,
        )


def _as_share(ballot: ParsedBallot | None, max_probability: Fraction) -> ParsedBallot | None:
    """The ballot with its probability from 0 to 1."""
    if ballot is None or ballot.probability is None:
        return ballot
    return ballot.model_copy(update={"probability": ballot.probability / max_probability})


class JudgingReport(Part):
    """The rules by which the judges' votes are taken."""

    quorum: int = 1
    """Judges whose votes must count for there to be a decision."""
    mirrored_votes: int = Field(default=0, serialization_alias="mirrored")
    """Votes of judges who voted on the debate and also on the mirrored one, which shows each side as the other; those
    before it are not among them."""
    order_only: bool = False
    """Whether the mirrored debate had the order of the sides swapped alone, and each kept its name."""
    flipped_votes: int = Field(default=0, serialization_alias="changed")
    """The number of those that differed on the mirrored debate, and so do not count."""
    decided_by_swing: bool = Field(default=False, serialization_alias="by_swing")
    """Whether the side that gained more votes during the debate wins, in place of the side with more votes."""
    means: dict[str, dict[str, Number]] = {}
    """Side to criterion to the mean of what judges gave it, in points; empty if nothing is scored."""
    conflicts: tuple[str, ...] = ()
    """A sentence for each judge that shares a model or a vendor with a side."""
    round_fields: frozenset[str] = Field(default=frozenset(), exclude=True)
    """The fields of a judge's votes in the rounds; empty if rounds are not judged one by one."""
    final_fields: frozenset[str] = Field(default=frozenset(), exclude=True)
    """The fields of a judge's vote after the last round."""
    scales: VoteScales = Field(default=VoteScales(), exclude=True)
    labelled: bool = Field(default=False, exclude=True)
    """Whether the votes are for labels."""
    votes: tuple[Vote, ...] = Field(default=(), exclude=True)
    pre_debate_votes: tuple[Vote, ...] = Field(default=(), exclude=True)
    weights: dict[str, Fraction] = Field(default={}, exclude=True)

    @property
    def has_scores(self) -> bool:
        """Whether sides are scored at all."""
        return wording.SCORES in self.round_fields | self.final_fields

    @property
    def scores_rounds(self) -> bool:
        """Whether sides are scored round by round."""
        return wording.SCORES in self.round_fields


class VerdictReport(Verdict, Part):
    """The result of the final ballots, by arithmetic."""

    decision: str = Field(serialization_alias="decided")
    """In a few words: `Winner: A (narrow)`."""
    win_probability: Number | None = Field(serialization_alias="probability")
    """The mean of what judges give the winner, from 0 to 1; null if the ballots have no probability."""


class DisputedClaim(Part):
    """One claim that was disputed."""

    claim: str
    """The disputed claim."""
    positions: dict[str, str]
    """Side to what it holds."""
    status: str
    """`unresolved`, `partially resolved` or `resolved by consensus`; empty if the format asks for none."""
    turns: tuple[str, ...]
    """The turns in which it was made and contested."""

    @classmethod
    def of(cls, row: Mapping[str, Any], sides: Sequence[str]) -> Self:
        """The claim of a row of a dissent record."""
        positions = {side: row[side] for side in sides if side in row}
        status, turns = row.get("status") or "", tuple(row.get("turns", ()))
        return cls(claim=row.get("claim", ""), positions=positions, status=status, turns=turns)


class FollowUp(Part):
    """A judge's recommendation for what to do next."""

    judge: str
    """The judge's seat."""
    turn: str
    """The turn of the ballot that says so."""
    text: str
    """In the judge's words."""


class ArgumentLink(Part):
    """A turn and the one that it is about."""

    turn: str
    """The later turn."""
    how: Literal["attacks", "answers"]
    """Its relation to the other turn."""
    to: str
    """The earlier turn."""


class TokenCounts(Part):
    """Tokens as providers counted them."""

    input_uncached: int
    """Input at the plain price."""
    input_cached: int
    """Input read from a cache."""
    input_cache_writes: int
    """Input written to a cache."""
    output: int
    """Tokens of the replies."""
    searches: int
    """Searches of the web, which are not tokens."""

    @classmethod
    def from_usage(cls, usage: Usage) -> TokenCounts | None:
        """The counts of some usage; None if nothing was counted."""
        if usage == Usage():
            return None
        return cls(
            input_uncached=usage.uncached_input,
            input_cached=usage.cached,
            input_cache_writes=usage.cache_write_5m + usage.cache_write_1h,
            output=usage.output,
            searches=usage.searches,
        )


class CostRow(Part):
    """The usage and cost of some calls."""

    seat: str | None
    """Null for all seats."""
    phase: str | None
    """Null for all phases."""
    calls: int
    """The number of calls made."""
    usd: float | None
    """US dollars, by the prices known when each reply was given; null if the price of any call is unknown."""
    usd_known: float | None
    """US dollars of the calls whose price is known; null if none is."""
    calls_unknown: int
    """Calls whose price is unknown."""
    tokens: TokenCounts | None
    """Of the calls whose tokens were counted; null if none were."""

    @classmethod
    def of(cls, line: CostLine, seat: str | None, phase: str | None) -> CostRow:
        rounded = round(line.cost, DOLLAR_DECIMALS)
        return cls(
            seat=seat,
            phase=phase,
            calls=line.calls,
            usd=None if line.unpriced_calls else rounded,
            usd_known=None if line.unpriced_calls == line.calls else rounded,
            calls_unknown=line.unpriced_calls,
            tokens=TokenCounts.from_usage(line.usage),
        )


class CostsReport(Part):
    """The costs of all calls."""

    lines: tuple[CostRow, ...]
    """A line for each seat and phase with a call."""
    seats: tuple[CostRow, ...]
    """The same for each seat, all its phases together."""
    total: CostRow
    """All of it."""

    @classmethod
    def of(cls, costs: Costs) -> CostsReport | None:
        """The costs; None if no call was made."""
        if not costs.lines:
            return None
        return cls(
            lines=tuple(CostRow.of(line, line.seat, line.phase) for line in costs.lines),
            seats=tuple(CostRow.of(line, seat, None) for seat, line in costs.of_seats().items()),
            total=CostRow.of(costs.total, None, None),
        )


class EarlierRoundReport(EarlierRound, Part):
    """An earlier panel's result for a round."""

    number: int
    """Counted from 1."""


class EarlierDebateReport(Part):
    """The earlier debate that is judged again here."""

    source: str
    """The journal or transcript that it comes from."""
    digest: str
    """The hash of that journal's last line, or the sha256 of the transcript."""
    speeches_digest: str
    """The hash or sha256 that identifies the speeches: the same in every re-judging of them."""
    speakers: dict[str, str]
    """Side to who spoke for it, as far as it is known."""
    notes: tuple[str, ...]
    """The weaknesses of the record, in sentences."""
    judges: tuple[str, ...]
    """The earlier judges, as far as they are shown; empty if it was not judged."""
    winner: str | None
    """Of the earlier verdict; null if nothing was decided."""
    unopposed: str | None
    """The side whose position stood in it, since the other one conceded; null without one."""
    strength: str | None
    """Of the earlier verdict; null if nothing was decided or scored."""
    totals: dict[str, float]
    """Side to score in the earlier verdict."""
    rounds: tuple[EarlierRoundReport, ...]
    """The earlier judges' result for each round that they judged."""


class FormatReport(Part):
    """The rules of this kind of debate."""

    name: str
    """Short name, such as `adversarial`."""
    title: str
    """Its title."""
    about: str
    """Title and what it is about, in sentences."""
    criteria: dict[str, str]
    """Criterion, as ballots name it, to its title; empty if nothing is scored."""
    max_claim_score: float | None
    """The most that a claim score may be; null if ballots have none."""


class ContextFileReport(Part):
    """A file that speakers could draw on."""

    name: str
    """Its name."""
    text: str
    """All of its text, in its author's words."""


class JournalReport(Part):
    """The journal that the report was made from, as it was then."""

    lines: int
    """The number of lines it had."""
    schema_version: int
    """The version of the journal's format."""
    last_hash: str = Field(serialization_alias="head")
    """The hash of its last line, a sha256 in hex, which stands for the whole of it."""
    hashes: frozenset[str] = Field(default=frozenset(), exclude=True)
    """The hash of each line."""

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> JournalReport:
        hashes = frozenset(entry.hash for entry in entries)
        opened = entries[0].event
        assert isinstance(opened, Opened)
        return cls(lines=entries[-1].n, schema_version=opened.schema_version, last_hash=entries[-1].hash, hashes=hashes)
