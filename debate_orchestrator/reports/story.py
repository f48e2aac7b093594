"""A journal made ready for telling: every report is rendered from these values and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from debate_orchestrator import casts
from debate_orchestrator.core.bill import Bill, bill
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Course, Declined, Found, Spoke, Voted
from debate_orchestrator.core.rules import JUDGE, Turn, judges
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.verdict import RoundResult, Verdict, decimals
from debate_orchestrator.journal import Entry
from debate_orchestrator.speech import one_line


class Told(Value):
    """One settled turn."""

    id: str
    seat: str
    heading: str
    tag: str
    declined: bool = False
    concedes: bool = False
    cut: bool = False
    """Whether a limit of length cut the speech short."""
    found: tuple[Found, ...] = ()
    """The pages that a search returned while it was written."""
    text: str | None = None
    """A speech, verbatim; None for a ballot."""
    ballot: dict[str, Any] | None = None
    """None for a speech, and for a judge who is absent."""


class RoundStory(Value):
    """One round: its speeches, its ballots, what followed from them."""

    number: int
    speeches: tuple[Told, ...]
    ballots: tuple[Told, ...]
    result: RoundResult | None
    intervened: bool
    persisted: bool
    forced: tuple[Told, ...]
    """Turns that answer the intervention."""
    completed: bool
    """Whether it was judged or, where nobody judges it by itself, is over."""


class Story(Value):
    """One debate, complete or as far as it got."""

    status: Literal["complete", "paused"]
    date: str
    """The day it was opened, UTC."""
    topic: str
    positions: dict[str, str]
    names: dict[str, str]
    """Side to `Researcher A (Pro)`."""
    seats: dict[str, str]
    """Seat to its bare name."""
    rounds: int
    strictness: str
    criteria: dict[str, str]
    """Criterion to its title."""
    provenance: tuple[str, ...]
    before: tuple[Told, ...]
    """Speeches before the first round, of formats that have them."""
    told: tuple[RoundStory, ...]
    after: tuple[Told, ...]
    """Speeches after the last round."""
    finals: tuple[Told, ...]
    dissent: Told | None
    verdict: Verdict | None
    conceded: str | None
    persisted: str | None
    """The sentence that flags convergence after an intervention; None where there was none."""
    tag_intervention: str
    places: dict[str, tuple[int, str]]
    """Turn id to its round (0 outside the rounds) and its short name there: 1 and `opening A`."""
    rehearsed: bool = False
    """Whether stand-ins spoke."""
    bill: Bill = Bill()
    judges: tuple[str, ...] = ()
    """Who judges it, in the cast's words."""
    course: Course | None = None
    """What it was before, where it is judged again."""

    @property
    def completed(self) -> int:
        """Rounds that were judged, or are over where rounds are not judged one by one."""
        return sum(one.completed for one in self.told)

    @property
    def scored(self) -> bool:
        """Whether any round's ballot counts, so that there are totals."""
        return any(one.result is not None for one in self.told)

    @property
    def questions(self) -> list[str]:
        """The unresolved questions of the final ballots, each once."""
        return list(
            dict.fromkeys(q for one in self.finals if one.ballot for q in one.ballot.get("unresolved_questions", []))
        )


def story(entries: Sequence[Entry]) -> Story:
    """The story of a journal."""
    debate = Debate(entry.event for entry in entries)
    rules, setup = debate.format, debate.opened.setup
    settled = debate.settled()
    told = {turn.id: _told(debate, turn) for turn in settled}
    rounds = [n for n in range(1, setup.rounds + 1) if any(turn.round == n for turn in settled)]
    finals = tuple(told[turn.id] for turn in settled if turn.closing and "winner" in (debate.shape(turn) or {}))
    records = [told[turn.id] for turn in settled if turn.closing and "rows" in (debate.shape(turn) or {})]
    return Story(
        status="complete" if debate.complete else "paused",
        date=entries[0].at[:10],
        topic=setup.topic,
        positions=setup.positions,
        names={side: f"{rules.seats[side].name} ({rules.seats[side].side})" for side in rules.sides},
        seats={seat: rules.name_of(seat) for seat in (*rules.sides, *debate.judges)},
        rounds=setup.rounds,
        strictness=setup.strictness,
        criteria={name: rules.rubric.criteria[name].title for name in debate.criteria},
        provenance=tuple(_provenance(debate)),
        before=tuple(told[turn.id] for turn in settled if turn.round is None and not turn.closing and not turn.judging),
        told=tuple(_round(debate, n, settled, told) for n in rounds),
        after=tuple(told[turn.id] for turn in settled if turn.closing and not turn.judging),
        finals=finals,
        dissent=records[0] if records and records[0].ballot else None,
        verdict=debate.verdict(),
        conceded=debate.conceded(),
        persisted=rules.labels.persisted if debate.persisted() else None,
        tag_intervention=rules.labels.intervention,
        places={turn.id: (turn.round or 0, f"{turn.phase.name} {turn.seat.upper()}") for turn in settled},
        rehearsed=bool(_rehearsal(debate)),
        bill=bill(debate),
        judges=debate.cast[JUDGE],
        course=debate.opened.course,
    )


def _round(debate: Debate, n: int, settled: list[Turn], told: dict[str, Told]) -> RoundStory:
    turns = [turn for turn in settled if turn.round == n]
    return RoundStory(
        number=n,
        speeches=tuple(told[turn.id] for turn in turns if debate.shape(turn) is None and not turn.phase.on),
        ballots=tuple(told[turn.id] for turn in turns if debate.shape(turn) is not None),
        result=debate.result(n),
        intervened=debate.intervened(n),
        persisted=n in debate.persisted(),
        forced=tuple(told[turn.id] for turn in turns if turn.phase.on),
        completed=debate.result(n) is not None or (not debate.judged(n) and all(t.round != n for t in debate.due())),
    )


def _told(debate: Debate, turn: Turn) -> Told:
    answer = debate.answers[turn.id]
    return Told(
        id=turn.id,
        seat=turn.seat,
        heading=debate.format.heading_of(turn),
        tag=debate.format.tag_of(turn),
        declined=isinstance(answer, Declined),
        concedes=debate.concedes(turn),
        cut=isinstance(answer, Spoke) and answer.reply.ended == "cut",
        found=answer.reply.found if isinstance(answer, Spoke) else (),
        text=answer.reply.text if isinstance(answer, Spoke | Declined) else None,
        ballot=answer.ballot if isinstance(answer, Voted) else None,
    )


def _provenance(debate: Debate) -> list[str]:
    """How the debate was made, in a few short sentences, what weakens it first."""
    rules, setup = debate.format, debate.opened.setup
    due = ", ".join(turn.id for turn in debate.due())
    one_agent = any(note.note == "one agent" for note in debate.notes)
    said = [
        *_rehearsal(debate),
        *(f"The real cast would take: {n.detail}." for n in debate.notes if n.note == "estimate"),
        f"Paused: waiting for {due}." if due else "Complete.",
        *_recorded(debate),
    ]
    if one_agent:
        said.append("Degraded: one agent wore all hats, so the two sides are not independent.")
    unjudged = [str(n) for n in range(1, setup.rounds + 1) if debate.unjudged(n)]
    if unjudged:
        said.append(f"Degraded: no ballot counts for round {', '.join(unjudged)}.")
    said += _declined(debate)
    said += [_cast(debate, one_agent=one_agent), *_recast(debate), f"{rules.name_of(setup.first)} spoke first."]
    if any(reply.called for reply in debate.opened.derived):
        said.append("The positions were derived by a moderator's model, and nobody confirmed them.")
    if setup.rounds > 1 and debate.opened.course is None:
        kept = "goes to both debaters" if setup.feedback else "is kept from the debaters"
        said.append(f"The judge's feedback {kept}.")
    if setup.context:
        said.append(f"Material given to the debaters: {', '.join(one_line(file.name) for file in setup.context)}.")
    if setup.search:
        said.append("Debaters could search the web.")
    if setup.strictness == "strict":
        said.append("Sources are cited by the debaters and were not checked.")
    said += _lacked(debate)
    said += [f"The prompts changed on the way ({n.detail})." for n in debate.notes if n.note == "prompts changed"]
    return list(dict.fromkeys(said))


def _recorded(debate: Debate) -> list[str]:
    """What is judged, where it was debated before."""
    course, name_of = debate.opened.course, debate.format.name_of
    if course is None:
        return []
    said = [f"This is a judging of a recorded debate: {course.source} (digest {course.digest[:12]})."]
    spoke = "; ".join(f"{name_of(side)}: {who}" for side, who in course.speakers.items())
    said += [f"Who spoke in it: {spoke}."] if spoke else []
    said += course.notes
    for round, side in course.conceded.items():
        said.append(f"It ended after round {round}, where its judges held {name_of(side)} to have given up.")
    if any(not debate.judged(n) for n in range(1, debate.rounds)):
        said.append("One ballot, after the last round, covers all of it.")
    return said


def _rehearsal(debate: Debate) -> list[str]:
    """The sentence that says so where stand-ins spoke."""
    names = [name for cast in (debate.opened.cast, debate.cast) for name in stand_ins(debate, cast)]
    if not names:
        return []
    fillers = {*_fillers(debate, debate.opened.cast).values(), *_fillers(debate, debate.cast).values()}
    if not any(map(casts.is_called, fillers)):
        return ["Rehearsed: stand-ins spoke, and no model was called."]
    return [f"Rehearsed in part: stand-ins spoke for {', '.join(dict.fromkeys(names))}."]


def stand_ins(debate: Debate, cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The names of the seats that somebody stands in for in a cast of this debate."""
    seats = _fillers(debate, cast).items()
    return [debate.format.name_of(seat) for seat, spec in seats if casts.kind(spec) == casts.REHEARSE]


def _fillers(debate: Debate, cast: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Seat to who fills it, every judge of a panel apart."""
    return {
        seat: spec
        for role in debate.format.seats
        for seat, spec in zip(judges(len(cast[role])) if role == JUDGE else (role,), cast[role], strict=True)
    }


def _declined(debate: Debate) -> list[str]:
    """How often each side declined to argue."""
    said = []
    for side in debate.format.sides:
        n = sum(turn.seat == side and isinstance(debate.answers[turn.id], Declined) for turn in debate.settled())
        turns = f"{n} turn{'s' * (n != 1)}"
        said += [f"Degraded: {debate.format.name_of(side)} declined to argue in {turns}."] if n else []
    return said


def _recast(debate: Debate) -> list[str]:
    """Who spoke for the seats in which more than one did, in the order in which they came."""
    spoke: dict[str, dict[str, None]] = {}
    for turn in debate.settled():
        spoke.setdefault(turn.seat, {})[debate.reply(turn).by] = None
    changed = {seat: list(who) for seat, who in spoke.items() if len(who) > 1}
    return [
        f"Recast on the way: {debate.format.name_of(seat)} was {', then '.join(map(casts.shown, who))}."
        for seat, who in changed.items()
    ]


def _lacked(debate: Debate) -> list[str]:
    """What was asked of each seat's provider that it could not do."""
    wanted: dict[str, dict[str, None]] = {}
    for turn in debate.settled():
        wanted.setdefault(turn.seat, {}).update(dict.fromkeys(debate.reply(turn).lacked))
    return [f"Not had from {debate.format.name_of(seat)}: {', '.join(what)}." for seat, what in wanted.items() if what]


def _cast(debate: Debate, *, one_agent: bool) -> str:
    cast = debate.cast
    if debate.opened.course is not None:
        return f"Judge: {', '.join(cast[JUDGE])}; nobody was asked for a speech."
    if all(who == "host" for seat in cast.values() for who in seat):
        agents = "one of the host's agents takes" if one_agent else "the host's own agents take"
        return f"Host-run: {agents} every seat; no model is on record."
    named = {debate.format.name_of(side): cast[side] for side in debate.format.sides} | {"Judge": cast["judge"]}
    return "; ".join(f"{name}: {', '.join(map(casts.shown, who))}" for name, who in named.items()) + "."


def closing(one: Story, report: str | None) -> str:
    """The line that confirms a finished debate, and where its report went if it went anywhere."""
    if one.status == "paused":
        return f"Debate paused. Report so far written to {report}." if report else "Debate paused."
    done = "Debate rehearsed." if one.rehearsed else "Debate complete."
    written = f" Report written to {report}." if report else ""
    if one.verdict is None:
        return f"{done}{written} Winner: not decided, since no final ballot counts."
    winner = winner_word(one.verdict.winner)
    rounds = f"{one.completed} round{'s' if one.completed != 1 else ''} completed"
    question = one_line(one.questions[0]) if one.questions else "none"
    return f"{done}{written} Winner: {winner} ({one.verdict.strength}). {rounds}. Key unresolved question: {question}"


def winner_word(winner: str) -> str:
    """A winner as reports write it: A, B, Tie, Consensus."""
    return winner.upper() if len(winner) == 1 else winner.capitalize()


def score_line(result: RoundResult) -> str:
    """The scores of a round, as the transcript and the screen show them."""
    scores = " | ".join(f"{side.upper()}: {decimals(points)}" for side, points in result.scores.items())
    return f"{scores} | Winner: {winner_word(result.winner)}"


def outcome_line(verdict: Verdict, name: Callable[[str], str]) -> str:
    """The winner, the strength and the totals, as the screen shows them."""
    scored = any(verdict.totals.values())
    totals = " | ".join(f"{name(side)}: {decimals(points)}" for side, points in verdict.totals.items())
    return f"Winner: {winner_word(verdict.winner)} ({verdict.strength}). {totals if scored else 'No round was scored.'}"
