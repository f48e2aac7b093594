"""How a debate was made, in a few short sentences, what weakens it first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from debate_orchestrator import casts
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Spoke
from debate_orchestrator.core.rules import CLERK, JUDGE, judges
from debate_orchestrator.reports import citations, floor
from debate_orchestrator.speech import one_line


def provenance(debate: Debate) -> tuple[str, ...]:
    """The sentences that stand at the head of every report, each once."""
    return tuple(dict.fromkeys([*_weaknesses(debate), *_made(debate)]))


def _weaknesses(debate: Debate) -> Iterator[str]:
    setup, due = debate.opened.setup, ", ".join(turn.id for turn in debate.due())
    yield from rehearsal(debate)
    yield from (f"The real cast would take: {n.detail}." for n in debate.notes if n.note == "estimate")
    yield f"Paused: waiting for {due}." if due else "Complete."
    yield from _recorded(debate)
    if one_agent(debate):
        yield "Degraded: one agent wore all hats, so the two sides are not independent."
    unjudged = [str(n) for n in range(1, setup.rounds + 1) if debate.unjudged(n)]
    if unjudged:
        yield f"Degraded: no ballot counts for round {', '.join(unjudged)}."
    yield from _declined(debate)
    yield from floor.provenance(debate)


def _made(debate: Debate) -> Iterator[str]:
    rules, setup = debate.format, debate.opened.setup
    if rules.report == "report":
        yield _cast(debate)
    yield from _persons(debate)
    yield from _recast(debate)
    yield from _order(debate)
    if any(reply.called for reply in debate.opened.derived):
        yield "The positions were derived by a moderator's model, and nobody confirmed them."
    if setup.rounds > 1 and debate.opened.course is None and _advises(debate):
        kept = "goes to both debaters" if setup.feedback else "is kept from the debaters"
        yield f"The judge's feedback {kept}."
    if setup.context:
        yield f"{_given(debate)}: {', '.join(one_line(file.name) for file in setup.context)}."
    if setup.search:
        yield "Debaters could search the web."
    if any(isinstance(debate.answers[turn.id], Spoke) and debate.hear(turn).private for turn in debate.settled()):
        yield "Private working of the speakers is left out; it is in the journal."
    if citations.looks(debate):
        yield from citations.provenance(debate)
    elif debate.judges and arguing(debate) and not (rules.quotes and setup.context):
        yield "Sources are cited by the debaters and were not checked."
    yield from _lacked(debate)
    changed = [note.detail for note in debate.notes if note.note == "prompts changed"]
    if changed:
        times = "" if len(changed) == 1 else f" {len(changed)} times"
        yield f"The prompts changed on the way{times}, with a newer version of this program ({changed[-1]})."


def arguing(debate: Debate) -> tuple[str, ...]:
    """The sides that have a turn in this debate."""
    seats = {seat for slot in debate.calendar() for seat in slot.phase.seats}
    return tuple(side for side in debate.format.sides if side in seats)


def _order(debate: Debate) -> Iterator[str]:
    """Who spoke before whom."""
    name_of, sides = debate.format.name_of, arguing(debate)
    together = [slot.phase for slot in debate.calendar() if set(sides) <= set(slot.phase.seats)]
    if not sides:
        yield "Nobody argued: the judge decides without a debate."
    elif len(sides) < len(debate.format.sides):
        yield f"Only {name_of(sides[0])} argued, and nobody answered."
    elif together and all(phase.order == "at once" for phase in together):
        yield "Both spoke at once."
    else:
        yield f"{name_of(debate.opened.setup.first)} spoke first."


def _given(debate: Debate) -> str:
    """To whom the material was given."""
    heard_by = debate.format.context_heard_by
    sides = any(side in heard_by for side in arguing(debate))
    judged = JUDGE in heard_by or not debate.judges
    if sides:
        return "Material given to the debaters" + ("" if judged else ", and not to the judge")
    return "Material given to the judge" if judged else "Material that nobody was given"


def _advises(debate: Debate) -> bool:
    """Whether judges advise the debaters in this format."""
    slots = [slot for slot in debate.calendar() if slot.round is not None and debate.format.votes(slot.phase)]
    return any("feedback" in debate.format.shapes[slot.phase.reply] for slot in slots)


def one_agent(debate: Debate) -> bool:
    """Whether it is on record that one agent took every turn."""
    return any(note.note == "one agent" for note in debate.notes)


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
    if debate.judged(debate.rounds) and any(not debate.judged(n) for n in range(1, debate.rounds)):
        said.append("One ballot, after the last round, covers all of it.")
    return said


def rehearsal(debate: Debate) -> list[str]:
    """The sentence that says so where stand-ins spoke."""
    names = [name for cast in (debate.opened.cast, debate.cast) for name in stand_ins(debate, cast)]
    if not names:
        return []
    fillers = {*_fillers(debate, debate.opened.cast).values(), *_fillers(debate, debate.cast).values()}
    if not any(casts.is_called(spec) or spec == casts.HUMAN for spec in fillers):
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
        for role in debate.format.seated
        for seat, spec in zip(judges(len(cast[role])) if role == JUDGE else (role,), cast[role], strict=True)
    }


def _declined(debate: Debate) -> list[str]:
    """How often each side declined to argue."""
    said = []
    for side in debate.format.sides:
        n = sum(turn.seat == side and debate.declined(turn.id) for turn in debate.settled())
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


def _persons(debate: Debate) -> list[str]:
    """The seats that a person sits in, or sat in."""
    sat = [seat for seat, spec in _fillers(debate, debate.cast).items() if spec == casts.HUMAN]
    sat += [turn.seat for turn in debate.settled() if debate.reply(turn).by == casts.HUMAN]
    sides = [debate.format.name_of(seat) for seat in dict.fromkeys(sat) if not seat.startswith(JUDGE)]
    panel = [debate.format.name_of(seat) for seat in dict.fromkeys(sat) if seat.startswith(JUDGE)]
    did = [f"argued as {' and as '.join(sides)}"] * bool(sides) + [f"judged as {' and as '.join(panel)}"] * bool(panel)
    return [f"A person {did_it}." for did_it in did]


def _lacked(debate: Debate) -> list[str]:
    """What was asked of each seat's provider that it could not do."""
    wanted: dict[str, dict[str, None]] = {}
    for turn in debate.settled():
        wanted.setdefault(turn.seat, {}).update(dict.fromkeys(debate.reply(turn).lacked))
    return [f"Not had from {debate.format.name_of(seat)}: {', '.join(what)}." for seat, what in wanted.items() if what]


def _cast(debate: Debate) -> str:
    """Who fills the seats. Who looks things up is told with what was found."""
    cast = {seat: who for seat, who in debate.cast.items() if seat in debate.format.seated and seat != CLERK}
    if debate.opened.course is not None:
        return f"Judge: {spoken_by(cast[JUDGE])}; nobody was asked for a speech."
    if all(who == casts.HOST for seat in cast.values() for who in seat):
        agents = "one of the host's agents takes" if one_agent(debate) else "the host's own agents take"
        return f"Host-run: {agents} every seat; no model is on record."
    return "; ".join(f"{debate.format.name_of(seat)}: {spoken_by(who)}" for seat, who in cast.items()) + "."


def spoken_by(who: tuple[str, ...]) -> str:
    """A seat's cast, as far as it is shown."""
    return ", ".join(map(casts.shown, who))
