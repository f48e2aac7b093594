"""The provenance of a debate: the notes of every report, who took the seats, and the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Literal

from pydantic import Field

from debate_orchestrator.core import rapporteur, schedule, speech_rules, tally
from debate_orchestrator.core.events import EarlierDebate, Spoke
from debate_orchestrator.core.phases import CLERK, CONSENSUS, DECISION_BRIEF, JUDGE, RAPPORTEUR
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.winner import arguing_sides, seats_of, specs_by_seat, turn_takers_by_seat
from debate_orchestrator.reports import citations, wording
from debate_orchestrator.reports.parts import (
    EarlierDebateReport,
    EarlierRoundReport,
    Note,
    Part,
)
from debate_orchestrator.setup.answers import why_no_decision_brief
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.messages import and_joined
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import quoted, without_quotation_marks

MISSING = "missing"
"""The kind of notes on a list of issues, dissent record or decision brief that no usable reply wrote."""
DEGRADED = "degraded"
"""The kind of notes on sides that are not independent, did not argue or were not judged."""
ONE_ROUND = "one round"
"""The kind of the note on a debate without the turns in which sides answer each other."""


def provenance_notes(debate: DebateState) -> tuple[Note, ...]:
    """The notes of every report, each sentence once: what weakens the debate first."""
    notes = [*_weaknesses(debate), *_setup_notes(debate), *_omission_notes(debate)]
    return tuple({note.text: note for note in notes}.values())


def _warning(kind: str, text: str, turn: str | None = None) -> Note:
    return Note(kind=kind, severity="warning", text=text, turn=turn)


def _info(kind: str, text: str) -> Note:
    return Note(kind=kind, severity="info", text=text)


def _weaknesses(debate: DebateState) -> Iterator[Note]:
    if rehearsed := rehearsal_sentence(debate):
        yield _warning("rehearsed", rehearsed)
    if left_out := [vote.judge for vote in tally.final_votes(debate) if vote.left_out]:
        name = and_joined([*map(debate.format.name_of, left_out)])
        yield _warning("rehearsed", f"Not counted, since stand-ins cast them: the votes of {name}.")
    if rounds := [str(n) for n in sorted(debate.judged_rounds) if tally.is_round_left_out(debate, n)]:
        yield _warning("rehearsed", f"Not counted, since stand-ins alone judged: round {', '.join(rounds)}.")
    for reply in rapporteur.brief_phase_replies(debate, left_out=True):
        title = debate.turns_reached[reply.turn_id].phase.title
        yield _warning("rehearsed", f"Not counted, since a stand-in wrote it: {title}.", reply.turn_id)
    for note in debate.notes:
        if note.note == "estimate":
            yield _warning("estimate", f"The real cast would take: {note.detail}.")
    if due := debate.due:
        place = f" in round {due[0].round}" if due[0].round else ""
        titles = ", ".join(map(debate.format.heading_of, due))
        yield _warning("paused", f"Paused{place}: waiting for {titles}.", due[0].id if len(due) == 1 else None)
    else:
        yield _info("complete", "Complete.")
    yield from _earlier_debate(debate)
    for turn in schedule.missing_turns(debate):
        yield _warning(MISSING, wording.missing_reply_text(debate, turn), turn.id)
    yield from degradations(debate)
    conceder, last = tally.conceding_side(debate), max(debate.judged_rounds, default=0)
    if conceder and not (debate.conceding_turns or tally.deciding_conceders(debate)):
        why = f"where its judges held {debate.format.name_of(conceder)} to have given up"
        yield _info("concession", f"The debate ended after round {last}, {why}.")
    if ended := wording.ended_without_new_ground(debate):
        yield _info("no new ground", ended)
    yield from (_info("floor", text) for text in wording.user_event_sentences(debate))


def degradations(debate: DebateState) -> Iterator[Note]:
    """The notes that must stand beside the recommendation and its percentage."""
    if one_agent(debate) and has_spoken(debate):
        taken = schedule.turns_taken(debate)
        advised = any(t.phase.enabled_by == DECISION_BRIEF and debate.reply(t).spec == model_spec.HOST for t in taken)
        seats = "both sides, the judge and the rapporteur" if advised else "both sides and the judge"
        yield _warning(DEGRADED, f"Degraded: one agent played {seats}, so none of them is independent of the others.")
    unjudged = [str(n) for n in range(1, debate.opened.settings.rounds + 1) if tally.has_no_usable_ballot(debate, n)]
    if unjudged:
        yield _warning(DEGRADED, f"Degraded: no ballot counts for round {', '.join(unjudged)}.")
    for side in debate.format.sides:
        declined = [
            turn.id
            for turn in schedule.turns_taken(debate)
            if turn.seat == side and speech_rules.has_declined(debate, turn.id)
        ]
        if declined:
            turns = plural(len(declined), "turn")
            text = f"Degraded: {debate.format.name_of(side)} declined to argue in {turns}."
            yield _warning(DEGRADED, text, declined[0] if len(declined) == 1 else None)


def _earlier_debate(debate: DebateState) -> Iterator[Note]:
    earlier_debate, name_of = debate.opened.earlier_debate, debate.format.name_of
    if earlier_debate is None:
        return
    source = f"{quoted(earlier_debate.source)} (digest {earlier_debate.digest[:12]})"
    yield _warning("earlier debate", f"The debate judged here is an earlier one: {source}.")
    if speakers := "; ".join(
        f"{name_of(side)}: “{speaker}”" for side, speaker in public_speakers(earlier_debate).items()
    ):
        yield _info("earlier debate", f"Who spoke in it: {speakers}.")
    # They were written when it was read, and may be of a stranger's journal.
    yield from (_info("earlier debate", f"Noted of it: {quoted(note)}") for note in earlier_debate.notes)
    for n, side in earlier_debate.conceded.items():
        yield _info(
            "earlier debate", f"It ended after round {n}, where its judges held {name_of(side)} to have given up."
        )


def _setup_notes(debate: DebateState) -> Iterator[Note]:
    """The cast, the order of the sides, the settings and the prompts."""
    format, settings = debate.format, debate.opened.settings
    if format.report == "report":
        yield _info("cast", _cast(debate))
    yield from (_warning("reassigned", text) for text in _reassignments(debate))
    if debate.opened.earlier_debate is None and (why := why_no_decision_brief(settings, format)):
        yield _info("no brief", why)
    yield _info("order", _order(debate))
    if any(reply.by_call for reply in debate.opened.moderator_replies):
        text = "The positions were derived by a moderator's model, and were not confirmed."
        yield _info("positions", text)
    if settings.rounds > 1 and debate.judges and debate.opened.earlier_debate is None and not settings.feedback:
        yield _info("feedback", "The judge's feedback is kept from the debaters.")
    if _is_unanswered(debate):
        unanswered = "the sides do not answer each other"
        if first := first_speaker(debate):
            how = ", who spoke first, could not" if debate.complete else " can't"
            unanswered = f"{format.seats[first].name}{how} answer the other side"
        yield _info(ONE_ROUND, f"With one round, {unanswered}.")
    if debate.opened.context:
        names = ", ".join(quoted(file.name) for file in debate.opened.context)
        yield _info("context", f"Context files: {names}.")
    if settings.search:
        yield _info("search", "Debaters could search the web.")


def _is_unanswered(debate: DebateState) -> bool:
    """Whether the only round leaves out the turns in which the sides would answer each other in a longer debate."""
    sides = debate.format.sides
    is_left_out = (phase.when.rounds_at_least and set(phase.seats) <= set(sides) for phase in debate.format.round)
    return debate.opened.settings.rounds == 1 and any(is_left_out)


def _omission_notes(debate: DebateState) -> Iterator[Note]:
    """Omissions, checks, and differences of a provider or a newer version."""
    if any(
        isinstance(debate.replies[turn.id], Spoke) and speech_rules.visible_speech(debate, turn).had_private
        for turn in schedule.turns_taken(debate)
    ):
        yield _info("private", "Private reasoning of the speakers is left out; it is in the journal.")
    if citations.has_clerk(debate):
        if summary := citations.summary(debate):
            yield _info("sources", summary)
    elif debate.judges and has_spoken(debate) and not (debate.format.quotes and debate.opened.context):
        yield _info("sources", "No source that the debaters cite was looked up.")
    if turns := [turn.id for turn in schedule.turns_taken(debate) if debate.reply(turn).dropped_pages]:
        text = f"The journal had no room for the pages that a search found in {', '.join(turns)}."
        yield _warning("pages dropped", text, turns[0] if len(turns) == 1 else None)
    if readings := _short_words_for_sides(debate):
        yield _info("readings", f"In ballots, short words were read as sides: {', '.join(readings)}.")
    for seat, features in by_seat(debate, lambda reply: reply.unsupported).items():
        name = debate.format.name_of(seat)
        yield _warning("unavailable", f"Not available from the provider of {name}: {', '.join(features)}.")
    if any(note.note == "prompts changed" for note in debate.notes):
        text = "The prompts changed on the way, with a newer version of this program."
        yield _info("prompts changed", text)


def _short_words_for_sides(debate: DebateState) -> list[str]:
    """The words other than whole names and positions that were read as sides in ballots, each with that side's name.
    Where sides are swapped, a letter may name the other one, and that is said."""
    unswapped: dict[tuple[str, str], bool] = {}
    for turn in schedule.turns_taken(debate):
        ballot = debate.structured_reply(turn.id) if turn.judging else None
        for word, side in ballot.short_words.items() if ballot else ():
            if side in debate.format.sides:
                unswapped[word, side] = unswapped.get((word, side), False) or not turn.mirrored
    return [
        f"{quoted(word)} as {debate.format.name_of(side)}{'' if is_unswapped else ' (sides swapped)'}"
        for (word, side), is_unswapped in unswapped.items()
    ]


def by_seat(debate: DebateState, values_of: Callable[[Reply], Iterable[str | None]]) -> dict[str, tuple[str, ...]]:
    """Seat to what its replies say, each once, in the order in which it came; seats without any are left out."""
    values: dict[str, dict[str, None]] = {}
    for turn in schedule.turns_taken(debate):
        for text in filter(None, values_of(debate.reply(turn))):
            values.setdefault(turn.seat, {})[text] = None
    return {seat: tuple(texts) for seat, texts in values.items()}


def _order(debate: DebateState) -> str:
    name_of, sides = debate.format.name_of, arguing_sides(debate)
    if not sides:
        return "Neither side argued: the judge decides without a debate."
    if len(sides) < len(debate.format.sides):
        return f"Only {name_of(sides[0])} argued, without an opponent."
    first = first_speaker(debate)
    if not has_spoken(debate):
        return f"{name_of(first)} speaks first." if first else "Both speak at once."
    return f"{name_of(first)} spoke first." if first else "Both spoke at once."


def has_spoken(debate: DebateState) -> bool:
    """Whether a side has taken a turn."""
    return any(turn.speaking for turn in schedule.turns_taken(debate))


def first_speaker(debate: DebateState) -> str | None:
    """The side that spoke before the other; None if both spoke at once, or one alone argued."""
    return None if len(arguing_sides(debate)) < 2 or _at_once(debate) else debate.opened.settings.first


def _at_once(debate: DebateState) -> bool:
    """Whether both sides speak at once in every phase that they share."""
    sides = set(arguing_sides(debate))
    shared_phases = [slot.phase for slot in debate.plan.slots if sides <= set(slot.phase.seats)]
    return bool(shared_phases) and all(phase.order == "simultaneous" for phase in shared_phases)


def one_agent(debate: DebateState) -> bool:
    """Whether it is on record that one agent took every turn."""
    return any(note.note == "one agent" for note in debate.notes)


def rehearsal_sentence(debate: DebateState) -> str:
    """The sentence that says that stand-ins spoke; empty if none did."""
    if not (seats := rehearsed_seats(debate)):
        return ""
    if is_whole_rehearsal(debate):
        return "Rehearsed: stand-ins spoke, and no model was called."
    return f"Rehearsed in part: stand-ins spoke for {', '.join(map(debate.format.name_of, seats))}."


def rehearsed_seats(debate: DebateState) -> list[str]:
    """The seats for which a stand-in spoke, or is to speak."""
    occupants = _occupants(debate).items()
    return [seat for seat, specs in occupants if any(map(model_spec.is_stand_in, specs))]


def is_whole_rehearsal(debate: DebateState) -> bool:
    """Whether stand-ins spoke, and no one else did or is to, nor in the debate that it judges again."""
    earlier = debate.opened.earlier_debate
    if not rehearsed_seats(debate) or (earlier and earlier.speakers_by_author):
        return False
    return not _has_both_kinds(chain(earlier.speakers.values() if earlier else (), *_occupants(debate).values()))


def _occupants(debate: DebateState) -> dict[str, tuple[str, ...]]:
    """Seat to the model specs that took its turns, and the one that is to take those that are left, if any is."""
    taken_by, roles_left = turn_takers_by_seat(debate), schedule.seats_left(debate)
    unknown = {turn.seat for turn in schedule.turns_taken(debate)} - set(taken_by)
    occupants = dict[str, tuple[str, ...]]()
    for seat, spec in specs_by_seat(debate).items():
        is_left = (JUDGE if seat in debate.judges else seat) in roles_left
        specs = (*taken_by.get(seat, ()), *([spec] if is_left or seat in unknown else []))
        occupants |= {seat: tuple(dict.fromkeys(specs))} if specs else {}
    return occupants


def _has_both_kinds(of: Iterable[str]) -> bool:
    """Whether stand-ins, and people, agents, models or programs, are among these specs."""
    specs = set(of)
    has_real_speaker = any(model_spec.occupant_kind(spec) in ("model", "program", "person", "host") for spec in specs)
    return has_real_speaker and any(map(model_spec.is_stand_in, specs))


def last_specs_by_role(debate: DebateState) -> dict[str, tuple[str, ...]]:
    """Role to its model specs, those of a panel in the order of its seats: of a seat that has taken turns, the one that
    took the last of them, whoever was given the seat afterwards."""
    last_specs = {turn.seat: debate.reply(turn).spec for turn in schedule.turns_taken(debate)}
    return {
        role: tuple(last_specs.get(seat) or spec for seat, spec in zip(seats_of(role, specs), specs, strict=True))
        for role, specs in debate.cast.items()
    }


def public_models_by_seat(debate: DebateState) -> dict[str, str]:
    """Seat to the models that took its turns, in order, or to the one that is to take them, as reports show them."""
    taken_by, names = turn_takers_by_seat(debate), public_names_of(debate)
    return {
        seat: ", then ".join(names[shown] for shown in taken_by.get(seat, (spec,)))
        for seat, spec in specs_by_seat(debate).items()
    }


def public_names_of(debate: DebateState) -> dict[str, str]:
    """The specs of a debate, in the order of its seats and of their replies, to names that tell programs apart."""
    taken_by = turn_takers_by_seat(debate)
    by_seat = ((*taken_by.get(seat, ()), spec) for seat, spec in specs_by_seat(debate).items())
    return model_spec.public_names(chain(*by_seat, *taken_by.values(), *debate.cast.values()))


def _reassignments(debate: DebateState) -> Iterator[str]:
    """The seats that were given to another, in the order in which they took a turn first."""
    cast, public_names, is_judged_again = (
        specs_by_seat(debate),
        public_names_of(debate),
        debate.opened.earlier_debate is not None,
    )
    for seat, specs in turn_takers_by_seat(debate).items():
        if is_judged_again and seat in debate.format.sides:
            continue  # the speeches are those on record
        names, spec = [public_names[name] for name in specs], cast.get(seat, specs[-1])
        repeated = model_spec.kind(spec) == model_spec.REPLAY and model_spec.stand_in(spec) in specs
        if spec not in specs and not repeated:
            names.append(f"{public_names[spec]}, which has taken no turn")
        if len(names) > 1:
            yield f"Reassigned on the way: {debate.format.name_of(seat)} was {', then '.join(names)}."


def _cast(debate: DebateState) -> str:
    """The occupants of the seats. The clerk is named with what it found."""
    shown = {role: ", ".join(specs) for role, specs in _public_cast(debate).items()}
    if debate.opened.earlier_debate is not None:
        return f"Judge: {shown[JUDGE]}; the speeches are those on record."
    specs = chain(*(specs for seat, specs in _occupants(debate).items() if seat != CLERK))
    if set(specs) == {model_spec.HOST}:
        source = "one agent, as it was reported" if one_agent(debate) else "an agent or a person"
        if not schedule.turns_taken(debate):
            return "The turns are to come as files, from an agent or a person."
        return f"The turns came as files, from {source}; which model wrote them is not on record."
    roles = [role for role in shown if role in debate.active_seats and role != CLERK]
    return "; ".join(f"{debate.format.name_of(role)}: {shown[role]}" for role in roles) + "."


def _public_cast(debate: DebateState) -> dict[str, tuple[str, ...]]:
    """As `last_specs_by_role`, as reports show it."""
    names = public_names_of(debate)
    return {role: tuple(names[spec] for spec in specs) for role, specs in last_specs_by_role(debate).items()}


RunKind = Literal["called", "host", "people", "replayed", "rehearsed", "mixed"]


class RunReport(Part):
    """The cast, the settings and the prompts of the run."""

    kind: RunKind
    """`called`: models and programs were asked; `host`: replies came as files, from an agent host or by hand; `people`:
    people took the turns; `replayed`: a recording did; `rehearsed`: stand-ins did, and no model was called; `mixed`:
    more than one of these. Of a debate that is judged again, it tells of the judges alone."""
    rehearsed: bool
    """Whether stand-ins took any turn."""
    rehearsed_in_part: bool = Field(default=False, exclude=True)
    """Whether people, models or programs took turns too."""
    one_agent: bool = Field(default=False, exclude=True)
    """Whether it is on record that one agent took every turn."""
    cast: dict[str, tuple[str, ...]]
    """Role to who took the last of its turns, or is to take the first, as far as that is shown: of a program its name
    alone, with a number where another program has it."""
    models: dict[str, tuple[str, ...]]
    """Seat to the models that said they answered; seats without any are left out."""
    role_names: dict[str, str] = Field(exclude=True)
    """Role to its name, of roles that take a turn."""
    settings: dict[str, str]
    """The settings fixed before the first word, in plain words."""
    context: tuple[str, ...]
    """The files that speakers could draw on."""
    prompts: dict[str, str]
    """Template to the sha256 of its text when the debate was opened."""
    version: str
    """The version of this package that opened the debate."""


def run_report(debate: DebateState) -> RunReport:
    """The cast, the settings and the prompts of that debate."""
    opened = debate.opened
    return RunReport(
        kind=_kind(debate),
        rehearsed=bool(rehearsed_seats(debate)),
        rehearsed_in_part=_has_both_kinds(chain(*_occupants(debate).values())),
        one_agent=one_agent(debate),
        cast=_public_cast(debate),
        models=by_seat(debate, lambda reply: (reply.model,)),
        role_names={role: debate.format.name_of(role) for role in debate.active_seats},
        settings=dict(_settings(debate)),
        context=tuple(file.name for file in opened.context),
        prompts=dict(sorted(opened.prompts.items())),
        version=opened.version,
    )


def author_note(run: RunReport) -> str:
    """The sentence on who wrote the decision brief."""
    if run.one_agent:
        return "The rapporteur wrote this advice after the debate."
    judges = run.cast.get(JUDGE, ())
    shared = filter(model_spec.makes_calls, {*run.cast.get(RAPPORTEUR, ())} & {*judges})
    note = "The rapporteur, a seat of its own that neither argues nor judges, wrote this advice after the debate."
    judge = "the judge" if len(judges) == 1 else "one of the judges"
    return " ".join([note, *(f"It is the same {model_spec.occupant_kind(spec)} as {judge}." for spec in shared)])


def _settings(debate: DebateState) -> Iterator[tuple[str, str]]:
    settings, format = debate.opened.settings, debate.format
    yield "Format", format.name
    if format.round:
        yield "Rounds asked for", str(settings.rounds)
    yield "Strictness", settings.strictness
    if first := first_speaker(debate):
        yield "Spoke first", format.name_of(first)
    yield "Feedback to the debaters", "on" if settings.feedback else "off"
    yield "Web search", "on" if settings.search else "off"
    if debate.judges:
        yield "Judges", str(len(debate.judges))
        yield "Votes that must count", str(max(1, settings.quorum))
        swapped = "in order alone" if debate.mirror.order_only else "yes"
        yield "Sides swapped for a second vote", swapped if settings.mirror else "no"
        yield "A pre-debate vote", "yes" if settings.blind else "no"
    if debate.max_cost is not None:
        yield "Cap on cost", f"${debate.max_cost:.2f}"


def earlier_debate_report(earlier_debate: EarlierDebate, debate: DebateState | None = None) -> EarlierDebateReport:
    """What `debate` judges again."""
    rounds = (EarlierRoundReport(number=n, **dict(earlier)) for n, earlier in sorted(earlier_debate.rounds.items()))
    fields = {name: getattr(earlier_debate, name) for name in EarlierDebateReport.model_fields}
    names = {
        "speakers": public_speakers(earlier_debate),
        "judges": tuple(map(model_spec.public_name, earlier_debate.judges)),
    }
    if debate and earlier_debate.winner == CONSENSUS and earlier_debate.unopposed is None:
        # An earlier version did not name it. The speeches are the same.
        conceders = tally.deciding_conceders(debate) if debate.conceding_turns else earlier_debate.conceded.values()
        others = [side for side in debate.format.sides if side not in conceders]
        fields["unopposed"] = others[0] if len(others) == 1 else None
    return EarlierDebateReport(**{**fields, **names, "rounds": tuple(rounds)})


def public_speakers(earlier_debate: EarlierDebate) -> dict[str, str]:
    """The speakers of an earlier debate, side by side, as reports name them. Names in a transcript are its author's."""
    everyone = {
        side: (*earlier_debate.former_speakers.get(side, ()), speaker)
        for side, speaker in earlier_debate.speakers.items()
    }
    names = model_spec.public_names(chain(*everyone.values()))
    return {
        side: without_quotation_marks(", then ".join(names[spec] for spec in specs)) for side, specs in everyone.items()
    }


_KINDS: dict[model_spec.OccupantKind, RunKind] = {
    "host": "host",
    "person": "people",
    "recording": "replayed",
    "stand-in": "rehearsed",
}


def _kind(debate: DebateState) -> RunKind:
    """The common kind of all who took or are to take turns, but for clerks and speakers of an earlier debate."""
    is_judged_again = debate.opened.earlier_debate is not None
    occupants = _occupants(debate).items()
    counted = [specs for seat, specs in occupants if (seat in debate.judges if is_judged_again else seat != CLERK)]
    specs = {spec for specs in counted for spec in specs}
    kinds = {_KINDS.get(model_spec.occupant_kind(spec), "called") for spec in specs}
    return kinds.pop() if len(kinds) == 1 else "mixed"
