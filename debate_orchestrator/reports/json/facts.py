"""What a report holds as data: one JSON object, whose form is described here and published as a JSON Schema.

A docstring below a field is its description in the schema. Within one number of `schema`, fields may be added; none is
taken away, renamed or given another meaning.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from pydantic.json_schema import GenerateJsonSchema

from debate_orchestrator.reports.json.counts import (
    Ballot,
    Costs,
    Earlier,
    Fact,
    Intervention,
    Judging,
    Reviewers,
    Round,
    Verdict,
    Vote,
)
from debate_orchestrator.reports.provenance import Kind

SCHEMA: Literal[1] = 1
"""The version of this form."""
ID = f"urn:debate-orchestrator:report:{SCHEMA}"
"""What the schema is called."""
SHA256 = r"^[0-9a-f]{64}$"


class Format(Fact):
    """The rules of this kind of debate."""

    name: str
    """Short name, such as `adversarial`."""
    about: str
    """Title and what it is about, in sentences."""
    criteria: dict[str, str]
    """Criterion, as ballots name it, to its title; empty where nothing is scored."""
    score_most: float | None
    """The most that the single score of a ballot may be, as of a claim; null where ballots have no such score."""


class Run(Fact):
    """How the debate was run."""

    kind: Kind
    """`called`: models and programs were asked; `host`: an agent host took the turns; `people`: persons did;
    `replayed`: a recording spoke; `rehearsed`: stand-ins did, and no model was called; `mixed`: more than one of these.
    Of a debate that is judged again, it tells of the judges alone."""
    rehearsed: bool
    """Whether stand-ins spoke at all."""
    cast: dict[str, list[str]]
    """Seat to who fills it, as far as that is shown: of a program its name alone."""
    version: str
    """The version of this package that opened the debate."""


class Dissent(Fact):
    """One claim that was disputed."""

    claim: str
    """What is disputed."""
    positions: dict[str, str]
    """Side to what it holds."""
    status: str | None
    """`unresolved`, `partially resolved` or `resolved by consensus`; null where the format asks for none."""
    turns: list[str]
    """The turns in which it was made and contested."""


class FollowUp(Fact):
    """What a judge recommends to do next."""

    judge: str
    """The judge's seat."""
    turn: str
    """The turn of the ballot that says so."""
    text: str
    """In the judge's words."""


class Quote(Fact):
    """A quote from the material."""

    text: str
    """As the speech has it."""
    verified: bool
    """Whether the material holds it, word for word."""


class Page(Fact):
    """A page that a search returned while a speech was written."""

    url: str
    """Its address, as the search gave it."""
    title: str
    """What the search calls it; empty where it has no name for it."""
    quote: str
    """What the speech cites of it; empty for a page that was only found."""


class Turn(Fact):
    """One turn of the transcript, in the order of the debate."""

    id: str
    """`ROUND.PHASE.SEAT`, with `start` or `final` outside the rounds."""
    kind: Literal["speech", "ballot", "finding", "record"]
    """A side's speech, a judge's vote (told in `ballots`), what a clerk or a judge found, or the dissent record."""
    seat: str
    """Who took it."""
    round: int | None
    """Counted from 1; null outside the rounds."""
    phase: str
    """The short name of the phase, as in the id."""
    heading: str
    """What it is called in reports for people."""
    text: str | None
    """What others heard of a speech, or why a side declined; null where the reply has fields."""
    fields: dict[str, Any] | None
    """A structured reply that is no vote, in the shape that the format asks for; null where there is none."""
    words: int
    """Words that others heard, counted between white space."""
    most_words: int | None
    """The limit of words; null where there is none."""
    dropped: int
    """Words over that limit, which nobody heard."""
    cut: bool
    """Whether a limit of tokens cut it short."""
    declined: bool
    """Whether the side declined to argue. That is no concession."""
    concedes: bool
    """Whether the side conceded its whole position in it."""
    private: bool
    """Whether private working was left out."""
    other_lines: bool
    """Whether it writes lines for the other side, where the format forbids that."""
    floor: list[str]
    """Questions from the floor that its speaker had been put since its turn before."""
    quotes: list[Quote]
    """What it quotes from the material, where that was looked up."""
    pages: list[Page]
    """Pages that a search returned while it was written."""


class Weighed(Fact):
    """What one judge thinks of a source."""

    judge: str
    """The judge's seat."""
    credibility: str
    """In a word."""
    why: str | None
    """In the judge's words; null where it gives no reason."""


class Citation(Fact):
    """A page that a side cites, with what a clerk found there."""

    turn: str
    """The turn that cites it."""
    url: str
    """Its address, as the side gave it: nobody vouches for where it leads."""
    state: str
    """`verified`, or what stood in the way."""
    title: str | None
    """What the page calls itself; null where nobody saw."""
    date: str | None
    """As the page has it: 2026, 2026-02 or 2026-02-03; null where it has none."""
    late: bool
    """Whether the page is later than the time to which the topic binds both sides."""
    passage: str | None
    """The nearest passage that the page holds; null where none was found."""
    similarity: float | None
    """How alike passage and quote are, from 0 to 1; null where nobody compared."""
    why: str | None
    """What stood in the way; null where nothing did."""
    archived: str | None
    """The file that keeps the page, in the debate's evidence folder; null where it was not kept."""
    sha256: str | None
    """Of that file; null where it was not kept."""
    weighed: list[Weighed]
    """What the judges think of the source."""


class Evidence(Fact):
    """What was cited for a clerk to look up."""

    looked_up_by: str
    """Who looks it up, as a clause."""
    citations: list[Citation]
    """In the order of the debate."""


class Recorded(Fact):
    """The recorded debate that is judged again here."""

    source: str
    """The journal or transcript that it comes from."""
    digest: str
    """The hash of that journal's last line, or the sha256 of the transcript."""
    speakers: dict[str, str]
    """Side to who spoke for it, as far as it is known."""
    notes: list[str]
    """What weakens the record, in sentences."""
    verdict: Earlier | None
    """Null where nobody had judged it."""


class Journal(Fact):
    """The journal that the report was made from, as it was then."""

    lines: int
    """How many it had."""
    form: int
    """The version of the journal's own form."""
    head: str
    """The hash of its last line, a sha256 in hex, which stands for the whole of it."""


class Report(Fact):
    """One debate, complete or as far as it got, as a report of debate_orchestrator tells it. Sides are named as their
    seats are (`a`, `b`), turns by their ids (`2.rebuttal.a`)."""

    schema_: Literal[1] = Field(alias="schema")
    """The version of this form."""
    document: Literal["debate report"]
    """What this object is."""
    status: Literal["complete", "paused"]
    """Paused: turns are due, and everything here is as far as the debate got."""
    summary: str
    """How it ended, in a line."""
    provenance: list[str]
    """How it was made, in sentences, what weakens it first."""
    date: str
    """The day it was opened, UTC, as 2026-02-03."""
    run: Run
    format: Format
    topic: str
    """What is debated, in a sentence."""
    positions: dict[str, str]
    """Side to what it argues."""
    names: dict[str, str]
    """Side to the name and side it is shown by: `Researcher A (Pro)`."""
    seats: dict[str, str]
    """Seat to its bare name."""
    strictness: str
    """`strict` or `lenient`, or what the rubric has: how the judges were to judge."""
    as_of: str | None
    """The time to which the topic binds both sides; null where it binds to none."""
    rounds_asked: int | None
    """Null where the format has no rounds."""
    rounds_completed: int
    """Rounds that were judged or, where nobody judges them one by one, are over."""
    verdict: Verdict | None
    """Null where nothing was decided (yet)."""
    conceded: str | None
    """Who conceded the whole position: a side, or `both`; null where nobody did."""
    rounds: list[Round]
    """The rounds in which somebody has had a turn."""
    interventions: list[Intervention]
    """Where the engine intervened against convergence."""
    judging: Judging
    votes: list[Vote]
    """What each judge's ballots come to, in the order of the debate."""
    ballots: list[Ballot]
    """What each judge gave, in the order of the debate."""
    dissent: list[Dissent] | None
    """The dissent record; null where there is none (yet)."""
    unresolved_questions: list[str]
    """Of the final ballots, each once."""
    follow_up: list[FollowUp]
    """Of the final ballots."""
    turns: list[Turn]
    """The transcript: every turn that was taken, in the order of the debate, the dissent record last."""
    evidence: Evidence | None
    """Null where no clerk has a place."""
    costs: Costs | None
    """Null where nobody was called, as in a debate that a host runs: what it costs the host is not known here."""
    recorded: Recorded | None
    """The debate that is judged again here; null where none is."""
    reviewers: Reviewers | None
    """Null where nobody has left a ballot beside the journal."""
    version: str
    """The version of this package that made this report."""
    journal: Journal
    digest: str = Field(pattern=SHA256)
    """The sha256, in hex, of this file's bytes with these 64 digits as zeros: it stands last, and `debate check`
    compares it."""


class _Published(GenerateJsonSchema):
    """Descriptions say what titles made of field names would only repeat."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema() -> dict[str, Any]:
    """The JSON Schema of a report, draft 2020-12."""
    made = Report.model_json_schema(mode="serialization", schema_generator=_Published)
    head = {"$schema": _Published.schema_dialect, "$id": ID, "title": "A report of debate_orchestrator"}
    return {**head, **_flowing({name: value for name, value in made.items() if name != "title"})}


def _flowing(value: Any) -> Any:
    """The same with every description on one line, whatever lines it was written on."""
    if isinstance(value, list):
        return [_flowing(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: " ".join(one.split()) if name == "description" and isinstance(one, str) else _flowing(one)
        for name, one in value.items()
    }
