"""How a debate was made, in a few short sentences, what weakens it first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from debate_orchestrator.core.events import Spoke
from debate_orchestrator.core.phases import CLERK, JUDGE, judges
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value
from debate_orchestrator.reports import citations, wording
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.sanitize import one_line


def provenance(debate: DebateState) -> tuple[str, ...]:
    """The sentences that stand at the head of every report, each once."""
    return tuple(dict.fromkeys([*_weaknesses(debate), *_made(debate)]))


def _weaknesses(debate: DebateState) -> Iterator[str]:
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
    yield from wording.floor_note(debate)


def _made(debate: DebateState) -> Iterator[str]:
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
    if any(isinstance(debate.answers[turn.id], Spoke) and debate.visible(turn).private for turn in debate.settled()):
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


def arguing(debate: DebateState) -> tuple[str, ...]:
    """The sides that have a turn in this debate."""
    seats = {seat for slot in debate.calendar() for seat in slot.phase.seats}
    return tuple(side for side in debate.format.sides if side in seats)


def _order(debate: DebateState) -> Iterator[str]:
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


def _given(debate: DebateState) -> str:
    """To whom the material was given."""
    heard_by = debate.format.context_heard_by
    sides = any(side in heard_by for side in arguing(debate))
    judged = JUDGE in heard_by or not debate.judges
    if sides:
        return "Material given to the debaters" + ("" if judged else ", and not to the judge")
    return "Material given to the judge" if judged else "Material that nobody was given"


def _advises(debate: DebateState) -> bool:
    """Whether judges advise the debaters in this format."""
    slots = [slot for slot in debate.calendar() if slot.round is not None and debate.format.votes(slot.phase)]
    return any("feedback" in debate.format.shapes[slot.phase.reply] for slot in slots)


def one_agent(debate: DebateState) -> bool:
    """Whether it is on record that one agent took every turn."""
    return any(note.note == "one agent" for note in debate.notes)


def _recorded(debate: DebateState) -> list[str]:
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


def rehearsal(debate: DebateState) -> list[str]:
    """The sentence that says so where stand-ins spoke."""
    names = [name for cast in (debate.opened.cast, debate.cast) for name in stand_ins(debate, cast)]
    if not names:
        return []
    fillers = {*_fillers(debate, debate.opened.cast).values(), *_fillers(debate, debate.cast).values()}
    if not any(model_spec.is_called(spec) or spec == model_spec.HUMAN for spec in fillers):
        return ["Rehearsed: stand-ins spoke, and no model was called."]
    return [f"Rehearsed in part: stand-ins spoke for {', '.join(dict.fromkeys(names))}."]


def stand_ins(debate: DebateState, cast: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The names of the seats that somebody stands in for in a cast of this debate."""
    seats = _fillers(debate, cast).items()
    return [debate.format.name_of(seat) for seat, spec in seats if model_spec.kind(spec) == model_spec.REHEARSE]


def _fillers(debate: DebateState, cast: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Seat to who fills it, every judge of a panel apart."""
    return {
        seat: spec
        for role in debate.format.seated
        for seat, spec in zip(judges(len(cast[role])) if role == JUDGE else (role,), cast[role], strict=True)
    }


def _declined(debate: DebateState) -> list[str]:
    """How often each side declined to argue."""
    said = []
    for side in debate.format.sides:
        n = sum(turn.seat == side and debate.declined(turn.id) for turn in debate.settled())
        turns = f"{n} turn{'s' * (n != 1)}"
        said += [f"Degraded: {debate.format.name_of(side)} declined to argue in {turns}."] if n else []
    return said


def _recast(debate: DebateState) -> list[str]:
    """Who spoke for the seats in which more than one did, in the order in which they came."""
    spoke: dict[str, dict[str, None]] = {}
    for turn in debate.settled():
        spoke.setdefault(turn.seat, {})[debate.reply(turn).by] = None
    changed = {seat: list(who) for seat, who in spoke.items() if len(who) > 1}
    return [
        f"Recast on the way: {debate.format.name_of(seat)} was {', then '.join(map(model_spec.public_name, who))}."
        for seat, who in changed.items()
    ]


def _persons(debate: DebateState) -> list[str]:
    """The seats that a person sits in, or sat in."""
    sat = [seat for seat, spec in _fillers(debate, debate.cast).items() if spec == model_spec.HUMAN]
    sat += [turn.seat for turn in debate.settled() if debate.reply(turn).by == model_spec.HUMAN]
    sides = [debate.format.name_of(seat) for seat in dict.fromkeys(sat) if not seat.startswith(JUDGE)]
    panel = [debate.format.name_of(seat) for seat in dict.fromkeys(sat) if seat.startswith(JUDGE)]
    did = [f"argued as {' and as '.join(sides)}"] * bool(sides) + [f"judged as {' and as '.join(panel)}"] * bool(panel)
    return [f"A person {did_it}." for did_it in did]


def _lacked(debate: DebateState) -> list[str]:
    """What was asked of each seat's provider that it could not do."""
    wanted: dict[str, dict[str, None]] = {}
    for turn in debate.settled():
        wanted.setdefault(turn.seat, {}).update(dict.fromkeys(debate.reply(turn).lacked))
    return [f"Not had from {debate.format.name_of(seat)}: {', '.join(what)}." for seat, what in wanted.items() if what]


def _cast(debate: DebateState) -> str:
    """Who fills the seats. Who looks things up is told with what was found."""
    cast = {seat: who for seat, who in debate.cast.items() if seat in debate.format.seated and seat != CLERK}
    if debate.opened.course is not None:
        return f"Judge: {spoken_by(cast[JUDGE])}; nobody was asked for a speech."
    if all(who == model_spec.HOST for seat in cast.values() for who in seat):
        agents = "one of the host's agents takes" if one_agent(debate) else "the host's own agents take"
        return f"Host-run: {agents} every seat; no model is on record."
    return "; ".join(f"{debate.format.name_of(seat)}: {spoken_by(who)}" for seat, who in cast.items()) + "."


def spoken_by(who: tuple[str, ...]) -> str:
    """A seat's cast, as far as it is shown."""
    return ", ".join(map(model_spec.public_name, who))


class Appendix(Value):
    """The particulars of a debate."""

    cast: tuple[tuple[str, str], ...] = ()
    """The name of each seat, and who fills it now."""
    models: tuple[tuple[str, str], ...] = ()
    """The name of each seat, and the models that said they answered; seats of which nobody said are left out."""
    settings: tuple[tuple[str, str], ...] = ()
    """What was settled before the first word, each with its value, in plain words."""
    context: tuple[str, ...] = ()
    """The files that speakers could draw on."""
    prompts: tuple[tuple[str, str], ...] = ()
    """Template to the sha256 of its text."""
    version: str = ""
    """Of the program that opened it."""


def appendix(debate: DebateState) -> Appendix:
    """The particulars of a debate as they stand on record."""
    opened, name_of = debate.opened, debate.format.name_of
    models: dict[str, dict[str, None]] = {}
    for turn in debate.settled():
        model = debate.reply(turn).model
        models.setdefault(name_of(turn.seat), {}).update({model: None} if model else {})
    return Appendix(
        cast=tuple(
            (name_of(seat), ", ".join(map(model_spec.public_name, debate.cast[seat]))) for seat in debate.format.seated
        ),
        models=tuple((name, ", ".join(which)) for name, which in models.items() if which),
        settings=tuple(_settings(debate)),
        context=tuple(file.name for file in opened.setup.context),
        prompts=tuple(sorted(opened.prompts.items())),
        version=opened.version,
    )


def _settings(debate: DebateState) -> Iterator[tuple[str, str]]:
    setup, rules = debate.opened.setup, debate.format
    yield "Format", rules.name
    if rules.round:
        yield "Rounds asked for", str(setup.rounds)
    yield "Strictness", setup.strictness
    if len(arguing(debate)) > 1:
        yield "Spoke first", rules.name_of(setup.first)
    yield "Feedback to the debaters", "on" if setup.feedback else "off"
    yield "Web search", "on" if setup.search else "off"
    if debate.judges:
        yield "Judges", str(len(debate.judges))
        yield "Votes that must count", str(max(1, setup.quorum))
        yield "Sides exchanged for a second vote", "yes" if setup.mirror else "no"
        yield "A vote before the first word", "yes" if setup.blind else "no"
    if debate.max_cost is not None:
        yield "Cap on cost", f"${debate.max_cost:.2f}"


_SAY_NOTHING = (model_spec.HOST, model_spec.REPLAY, model_spec.HUMAN)
"""Kinds of casts that don't tell who really speaks."""


class _Who(NamedTuple):
    """Who answered for a seat, as far as it is known."""

    specs: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()

    @property
    def vendors(self) -> frozenset[str]:
        return frozenset(filter(None, map(model_spec.vendor, self.specs)))


def conflicts_of_interest(debate: DebateState) -> tuple[str, ...]:
    """A sentence for each model and each vendor that a judge shares with sides; none for who is unknown."""
    spoke = _who(debate)
    if debate.opened.course is not None:
        spoke |= {side: _known(who.split(", ")) for side, who in debate.opened.course.speakers.items()}
    return tuple(said for judge in debate.judges if judge in spoke for said in _of(debate, judge, spoke))


def _of(debate: DebateState, judge: str, spoke: Mapping[str, _Who]) -> Iterator[str]:
    """What one judge shares."""
    own, names = spoke[judge], debate.format.name_of
    models, vendors = dict[str, list[str]](), dict[str, list[str]]()
    for side in debate.format.sides:
        who = spoke.get(side, _Who())
        if same := sorted(own.specs & who.specs) or sorted(own.models & who.models):
            models.setdefault(same[0], []).append(names(side))
        elif alike := sorted(own.vendors & who.vendors):
            vendors.setdefault(alike[0], []).append(names(side))
    for spec, sides in models.items():
        what = "program" if model_spec.kind(spec) == model_spec.COMMAND else "model"
        yield f"{names(judge)} is the same {what} as {' and '.join(sides)}: {model_spec.public_name(spec)}."
    for vendor, sides in vendors.items():
        yield f"{names(judge)} is a model of the same vendor as {' and '.join(sides)}: {vendor}."


def _who(debate: DebateState) -> dict[str, _Who]:
    """Seat to those who answered for it."""
    found: dict[str, _Who] = {}
    for turn in debate.settled():
        reply, before = debate.reply(turn), found.get(turn.seat, _Who())
        one = _known([reply.by], [reply.model] if model_spec.is_called(reply.by) else [])
        found[turn.seat] = _Who(before.specs | one.specs, before.models | one.models)
    return found


def _known(specs: Iterable[str], models: Iterable[str | None] = ()) -> _Who:
    real = (model_spec.real(spec) for spec in specs)
    named = frozenset(spec for spec in real if ":" in spec and model_spec.kind(spec) not in _SAY_NOTHING)
    return _Who(named, frozenset(model for model in models if model))


Kind = Literal["called", "host", "people", "replayed", "rehearsed", "mixed"]


class RunKind(Value):
    """How a debate was run."""

    kind: Kind = "host"
    """Called: models and programs were asked. Host: an agent host took the turns. People: persons did. Replayed: a
    recording spoke. Rehearsed: stand-ins did. Mixed: more than one of these. Where a debate is judged again, it tells
    of its judges alone."""
    format: str = ""
    """The short name of its format: `adversarial`."""
    cast: dict[str, tuple[str, ...]] = {}
    """Seat to who fills it, as far as it is shown."""
    version: str = ""
    """The version of this package that opened it."""


def run_kind(debate: DebateState) -> RunKind:
    """How that debate is run."""
    return RunKind(
        kind=_kind(debate),
        format=debate.format.name,
        cast={seat: tuple(map(model_spec.public_name, who)) for seat, who in debate.cast.items()},
        version=debate.opened.version,
    )


def _kind(debate: DebateState) -> Kind:
    """What whoever has a seat, and whoever has spoken, has in common. A clerk only looks things up, and who spoke in
    a recorded debate was asked for nothing."""
    again = debate.opened.course is not None
    seats = [seat for seat in debate.format.seated if (seat == JUDGE if again else seat != CLERK)]
    who = {one for cast in (debate.opened.cast, debate.cast) for seat in seats for one in cast.get(seat, ())}
    who |= {debate.reply(turn).by for turn in debate.settled() if turn.role in seats}
    kinds = set(_kinds(who))
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _kinds(who: Iterable[str]) -> Iterable[Kind]:
    for spec in who:
        match model_spec.kind(spec):
            case model_spec.HOST:
                yield "host"
            case "human":
                yield "people"
            case model_spec.REPLAY:
                yield "replayed"
            case model_spec.REHEARSE:
                yield "rehearsed"
            case _:
                yield "called"
