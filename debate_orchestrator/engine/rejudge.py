"""Opens a debate that is judged again, from a journal or from a transcript.

A re-judging is a debate of its own that the ordinary loop runs. Its speeches are given already, and its
`earlier_debate` fixes who speaks, so that the new judges read what was said, in its order, and decide nothing but
their ballots. What an earlier panel decided is kept beside it and shown to no judge.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from debate_orchestrator.core import schedule, tally, transcript_entries
from debate_orchestrator.core.events import (
    Declined,
    EarlierDebate,
    EarlierQuestion,
    EarlierRound,
    IssuesChanged,
    Opened,
    Spoke,
)
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.format import Format, slots_of
from debate_orchestrator.core.phases import JUDGE, ReservedLines, Turn
from debate_orchestrator.core.positions import has_placeholders, positions_for_transcript
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.settings import CALL_SETTINGS, MAX_JUDGES, VOTE_SETTINGS, Settings, line_problems
from debate_orchestrator.core.shape import Condition
from debate_orchestrator.core.state import DebateState, make_plan
from debate_orchestrator.core.visible_text import with_quotation_marks
from debate_orchestrator.core.winner import deciding_verdict, turn_takers_by_seat, why_nothing_decided
from debate_orchestrator.engine import transcript_file
from debate_orchestrator.engine.budget import price_problems
from debate_orchestrator.engine.start import new_opened, with_mirror_form
from debate_orchestrator.engine.transcript_file import Transcript, TranscriptSpeech
from debate_orchestrator.formats import loader
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.providers.provider import NO_PERMISSIONS, Permissions
from debate_orchestrator.reports.provenance import last_specs_by_role
from debate_orchestrator.reports.wording import next_command
from debate_orchestrator.setup import answers, risks
from debate_orchestrator.storage.journal import begins_like_one, read
from debate_orchestrator.storage.journal_lines import Entry, state_of_events
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles, unused_files
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadJournal, BadSettings
from debate_orchestrator.util.messages import and_joined

FORMAT = "transcript"
"""The format by which a transcript is judged."""
_NO_RESERVED_LINES = ReservedLines(concede="\n", decline="\n")
"""No line of a speech is a line feed, so nothing in a transcript is taken for a reserved line."""
OpenedAndSpeeches = tuple[Opened, list[Spoke | Declined]]
"""The first event of a re-judging and the speeches that follow it."""


class Rejudging(NamedTuple):
    """A debate that is judged again, before its journal is written."""

    opened: Opened
    speeches: Sequence[Spoke | Declined]
    """The events that follow the first one at once."""
    entries: Sequence[Entry]
    """The lines of the journal that is judged; none for a transcript."""
    path: str
    """The file that is judged."""
    notes: tuple[str, ...] = ()
    """Notes to readers about a transcript, in sentences."""


def rejudging_from_file(
    path: str,
    judges: Sequence[str],
    strictness: str | None = None,
    topic: str | None = None,
    positions: Mapping[str, str] | None = None,
    vote_settings: Mapping[str, Any] | None = None,
) -> Rejudging:
    """The re-judging of a journal, or of a transcript with this topic and these positions. Raises what either
    raises."""
    if not (begins_like_one(path) or path.endswith(".jsonl")):
        transcript, digest = transcript_file.read(path)
        opened, speeches = opened_from_transcript(
            transcript, path, digest, judges, strictness, topic, positions, vote_settings=vote_settings
        )
        return Rejudging(opened, speeches, (), path, transcript.notes)
    superfluous = [*(["the topic"] if topic is not None else []), *(["the positions"] if positions else [])]
    if superfluous:
        problem = (
            f"{name_of(path)} says what was debated; {and_joined(superfluous)} can be given for a transcript alone."
        )
        raise BadSettings(problem, hint="leave them out")
    entries = read(path).entries
    return Rejudging(*opened_from_journal(entries, path, judges, strictness, vote_settings), entries, path)


def checked_for_start(
    rejudging: Rejudging,
    output: str | None,
    require_consent: Callable[[tuple[risks.Risk, ...]], None],
    permissions: Permissions = NO_PERMISSIONS,
    **call_settings: Any,
) -> tuple[Rejudging, DebateFiles]:
    """The re-judging with the name of its report and with `call_settings`, and its files, after all that can be checked
    before its journal is written. Without an `output` they lie beside the source. `require_consent` raises unless the
    user consents to the risks of the source. Raises BadFile if one of the files is there already, and BadSettings if
    the judges can't be used."""
    opened = rejudging.opened
    if has_placeholders(opened.settings.positions) and not all(map(model_spec.is_stand_in, opened.cast[JUDGE])):
        problem = f"{rejudging.path}: its positions are a rehearsal's placeholders, so there is nothing to judge."
        raise BadSettings(problem, hint="the journal of the debate itself")
    if call_settings.get("max_cost") is not None and (problems := price_problems({JUDGE: opened.cast[JUDGE]})):
        raise BadSettings(problems)
    files = DebateFiles.made_for(output or output_path(rejudging.path))
    files.must_be_new()
    require_consent(risks.of_rejudging([entry.event for entry in rejudging.entries], "" if output else files.report))
    opened = opened.with_settings(output=os.path.basename(files.report), **call_settings)
    cast_providers.make_providers(CurrentState(fold([opened])), permissions=permissions)
    return rejudging._replace(opened=opened), files


# From a journal


def opened_from_journal(
    entries: Sequence[Entry],
    path: str,
    judges: Sequence[str],
    strictness: str | None = None,
    vote_settings: Mapping[str, Any] | None = None,
) -> OpenedAndSpeeches:
    """The first event of a re-judging by `judges` of the debate in the journal at `path`, whose speeches are replayed
    from there later; those of a format without judges follow at once. `vote_settings` are keys of an answers file on
    how judges vote, where that changes. Raises BadJournal for a debate that is not finished, BadSettings with every
    problem."""
    debate = state_of_events(path, [entry.event for entry in entries])
    old, digest = debate.opened, entries[-1].hash
    if debate.due:
        due = ", ".join(turn.id for turn in debate.due)
        hint = f"`{next_command(debate, path)}` to finish it"
        raise BadJournal(f"{name_of(path)}: this debate is not finished (due: {due}).", hint=hint)
    if old.format.judged_by_format:
        return _opened_from_unjudged(
            debate, path=path, digest=digest, judges=judges, strictness=strictness, vote_settings=vote_settings
        )
    settings = old.settings.model_copy(update={"strictness": strictness or old.settings.strictness})
    votes = {name: getattr(settings, name) for name in VOTE_SETTINGS if name != "quorum"}
    if len(judges) == len(old.cast.get(JUDGE, ())):
        votes["quorum"] = settings.quorum
    problems = [*panel_problems(judges), *_strictness_problems(settings.strictness, old)]
    settings = settings.model_copy(update=_valid_votes(votes | dict(vote_settings or {}), old.format, judges, problems))
    if problems:
        raise BadSettings(problems)
    replay_specs = (f"replay:{path}",)
    settings = settings.model_copy(update={"brief": False})  # a decision brief is on a verdict, still to come
    active_seats = old.format.active_seats(settings.chosen_phases)
    cast = {**{seat: replay_specs for seat in active_seats if seat != JUDGE}, JUDGE: tuple(judges)}
    calls = {name: Settings.model_fields[name].default for name in CALL_SETTINGS}
    earlier = _earlier_debate(debate, os.path.basename(path), digest)
    opened = new_opened(
        old.format,
        old.templates,
        settings=settings.model_copy(update={"cast": cast, **calls}),
        context=old.context,
        earlier_debate=earlier,
    )
    slots = make_plan(opened).slot_indexes
    stages = [stage for stage in debate.stages if stage[0].slot_id in slots]
    counts = [max(debate.questions_before[turn.id] for turn in stage) for stage in stages]
    questions = _earlier_questions(debate, [stage[0].slot_id for stage in stages], counts)
    return opened.model_copy(update={"earlier_debate": earlier.model_copy(update={"questions": questions})}), []


def _earlier_questions(debate: DebateState, slot_ids: list[str], counts: list[int]) -> tuple[EarlierQuestion, ...]:
    """The floor questions of a finished debate that a stage of its re-judging hears. Of each stage that the re-judging
    takes from it, in order: `slot_ids` has its slot, `counts` the number of questions that had been put when it
    began."""
    earlier: list[EarlierQuestion] = []
    stages_of = Counter[str]()
    for slot_id, count in zip(slot_ids, counts, strict=True):
        questions = debate.floor_questions[len(earlier) : count]
        earlier += [EarlierQuestion(asked=event, before=slot_id, stage=stages_of[slot_id]) for event in questions]
        stages_of[slot_id] += 1
    return tuple(earlier)


def _opened_from_unjudged(debate: DebateState, **options: Any) -> OpenedAndSpeeches:
    """The re-judging of a debate whose format has no judge but names another format for judging (`judged_by_format`).
    The judges read the context files, and the speeches as the debate's seats heard them, under the names that the
    debate's format gives its sides."""
    format, settings = debate.format, debate.opened.settings
    turns = [
        turn
        for stage in debate.stages  # where both spoke at once, the one that concedes comes last: that ends the rounds
        for turn in sorted(stage, key=lambda turn: turn.id in debate.conceding_turns)
        if turn.speaking and turn.id in debate.replies
    ]
    transcript = Transcript(
        topic=settings.topic,
        positions=settings.positions,
        speakers={side: specs[-1] for side, specs in _specs_by_side(debate).items()},
        speeches=tuple(_transcript_speech(debate, turn) for turn in turns),
        notes=tuple(_weaknesses(debate)),
    )
    opened, speeches = opened_from_transcript(transcript, judged_by_format=format.judged_by_format, **options)
    assert opened.earlier_debate is not None
    rejudging = fold([opened, *speeches])
    slot_ids = [rejudging.turns[speech.turn_id].slot_id for speech in speeches]
    counts = [debate.questions_before[turn.id] for turn in turns]
    questions = _earlier_questions(debate, slot_ids, counts)
    seats = opened.format.seats | {side: format.seats[side] for side in format.sides}
    issues = debate.changed_issues or settings.own_issues
    changes = {
        "settings": opened.settings.model_copy(update={"context": settings.context}),
        "context": debate.opened.context,
        "format": opened.format.model_copy(update={"seats": seats, "context_heard_by": format.context_heard_by}),
        "speech_rules": debate.opened.speech_rules,
        "earlier_debate": opened.earlier_debate.model_copy(
            update={
                "questions": questions,
                "speakers_by_author": False,
                "former_speakers": _former_specs_by_side(debate),
                "speeches_as_heard": True,
                "issues_changed": IssuesChanged(issues=issues) if issues else None,
            }
        ),
    }
    return with_mirror_form(opened.model_copy(update=changes)), speeches


def _transcript_speech(debate: DebateState, turn: Turn) -> TranscriptSpeech:
    entry = transcript_entries.entry(debate, turn)
    return TranscriptSpeech(
        side=turn.seat,
        round=turn.round or (debate.rounds if turn.after_rounds else 1),
        text=with_quotation_marks(entry.text, debate.format.checked_tags),
        declined=entry.declined,
        concedes=turn.id in debate.conceding_turns,
        cut=entry.cut or bool(entry.dropped),
    )


def _earlier_debate(debate: DebateState, source: str, digest: str) -> EarlierDebate:
    """The course of a finished debate, and its panel's decision if not only stand-ins judged."""
    rounds = range(1, debate.rounds + 1)
    earlier = debate.opened.earlier_debate
    rounds_answered = {turn.round for turn in schedule.turns_taken(debate) if turn.phase.triggered_by is not None}
    last_speakers = {side: specs[-1] for side, specs in _specs_by_side(debate).items()}
    was_judged = not why_nothing_decided(debate)
    results = tally.results(debate) if was_judged else ()
    verdict = deciding_verdict(debate)
    totals = tally.totals(debate)
    return EarlierDebate(
        source=source,
        digest=digest,
        first_held_digest=earlier.speeches_digest if earlier else digest,
        ended_after=debate.ended_after or schedule.no_new_ground_slot_id(debate),
        interventions={
            number: tally.sides_asked_to_diverge(debate, number) for number in rounds if number in rounds_answered
        },
        conceded={n: side for n in rounds if (side := tally.conceding_side_by_ballots(debate, n)) is not None},
        speakers=earlier.speakers if earlier else last_speakers,
        speakers_by_author=earlier is not None and earlier.speakers_by_author,
        former_speakers=earlier.former_speakers if earlier else _former_specs_by_side(debate),
        speeches_as_heard=earlier is not None and earlier.speeches_as_heard,
        notes=(*(earlier.notes if earlier else ()), *_weaknesses(debate)),
        issues_changed=IssuesChanged(issues=debate.changed_issues) if debate.changed_issues else None,
        judges=_judges(debate) if was_judged else (),
        rounds={
            result.round: EarlierRound(
                scores={side: float(score) for side, score in result.scores.items()}, winner=result.winner
            )
            for result in results
            if not result.by_stand_ins
        },
        winner=verdict.winner if verdict else None,
        unopposed=tally.unopposed_side(debate) if verdict else None,
        strength=verdict.strength if verdict else None,
        totals={side: float(score) for side, score in totals.items()} if was_judged and any(totals.values()) else {},
    )


def _specs_by_side(debate: DebateState) -> dict[str, tuple[str, ...]]:
    """Side to the model specs that took its turns, in order; of a side without a turn, to what fills its seat. A side
    that is not cast is left out."""
    specs = {**debate.cast, **turn_takers_by_seat(debate)}
    return {side: specs[side] for side in debate.format.sides if side in specs}


def _judges(debate: DebateState) -> tuple[str, ...]:
    """The model specs that cast the final ballots, by seat; of a judge without one, who took its turns last."""
    votes = {vote.judge: vote for vote in tally.final_votes(debate) if vote.original is not None}
    seats = zip(debate.judges, last_specs_by_role(debate)[JUDGE], strict=True)
    return tuple(debate.replies[votes[seat].turn_id].reply.spec if seat in votes else spec for seat, spec in seats)


def _former_specs_by_side(debate: DebateState) -> dict[str, tuple[str, ...]]:
    return {side: specs[:-1] for side, specs in _specs_by_side(debate).items() if len(specs) > 1}


def _weaknesses(debate: DebateState) -> list[str]:
    weaknesses = []
    if any(note.note == "one agent" for note in debate.notes):
        weaknesses.append("In it one agent played both sides and the judge, so the two sides were not independent.")
    sides = [side for side, specs in _specs_by_side(debate).items() if any(map(model_spec.is_stand_in, specs))]
    if sides:
        weaknesses.append(f"In it stand-ins spoke for {' and '.join(map(debate.format.name_of, sides))}.")
    if debate.opened.moderator_replies:
        weaknesses.append("Its positions were derived by a moderator's model and were not confirmed.")
    return weaknesses


def _strictness_problems(strictness: str, old: Opened) -> list[str]:
    """Problems with a strictness that the format lacks, or with which the debate has other speeches."""
    format, before = old.format, old.settings.strictness
    speech_slots = [
        [(slot.phase.name, slot.round) for slot in slots if set(slot.phase.seats) & set(format.sides)]
        for level in (before, strictness)
        for slots in [slots_of(format, old.settings.rounds, level, format.optional_phases)]
    ]
    if strictness in format.rubric.strictness and speech_slots[0] != speech_slots[1]:
        return [f"strictness: this format has other speeches when {strictness}. Use {before}."]
    return _unknown_strictness(strictness, format)


def _unknown_strictness(strictness: str, format: Format) -> list[str]:
    allowed = format.rubric.strictness
    return [] if strictness in allowed else [f"strictness: {strictness!r} is not {' or '.join(allowed)}."]


# From a transcript


def opened_from_transcript(
    transcript: Transcript,
    path: str,
    digest: str,
    judges: Sequence[str],
    strictness: str | None = None,
    topic: str | None = None,
    positions: Mapping[str, str] | None = None,
    *,
    judged_by_format: str = FORMAT,
    vote_settings: Mapping[str, Any] | None = None,
) -> OpenedAndSpeeches:
    """The first event of a re-judging of a transcript, and its speeches as the events that follow. A topic and
    positions that are given here replace those of the document. Raises BadSettings with every problem."""
    format = loader.load(judged_by_format)
    source = os.path.basename(path)
    strictness = strictness or list(format.rubric.strictness)[-1]
    problems = [*panel_problems(judges), *_unknown_strictness(strictness, format)]
    topic = transcript.topic if topic is None else topic
    if topic is None:
        problems.append(
            f"{name_of(path)}: it has no topic. Try: give `topic`, or write `# Topic` above the first round."
        )
    positions = transcript.positions | dict(positions or {})
    for key, text in [("topic", topic), *((f"position {side}", positions[side]) for side in positions)]:
        problems += line_problems(key, text) if text is not None else []
    votes = _valid_votes(vote_settings or {}, format, judges, problems)
    if problems:
        raise BadSettings(problems)
    settings = Settings(
        topic=topic or "",
        positions=positions_for_transcript(topic or "", ("a", "b")) | positions,
        rounds=transcript.rounds,
        strictness=strictness,
        first=transcript.speeches[0].side,
        feedback=False,
        format=format.name,
        cast={**dict.fromkeys(format.sides, (model_spec.HOST,)), JUDGE: tuple(judges)},
        **votes,
    )
    told = transcript.model_dump(include={"speakers", "notes"})
    earlier = EarlierDebate(source=source, digest=digest, first_held_digest=digest, speakers_by_author=True, **told)
    opened = new_opened(
        _fit_to_transcript(format, transcript).model_copy(update={"reserved_lines": _NO_RESERVED_LINES}),
        {},
        settings=settings,
        earlier_debate=earlier,
    )
    return opened, _events(opened, transcript.speeches, source)


def _fit_to_transcript(format: Format, transcript: Transcript) -> Format:
    """The format with a phase for each speech, unless every round is what the format has anyway: one argument from each
    side, always in the same order. A concession ends the rounds, so what follows it is after them."""
    speeches, first = transcript.speeches, transcript.speeches[0].side
    order = (first, "b" if first == "a" else "a")
    regular_order = [(number, side) for number in range(1, transcript.rounds + 1) for side in order]
    in_rounds = next((n for n, speech in enumerate(speeches, start=1) if speech.concedes), len(speeches))
    order_of_speeches = [(speech.round, speech.side) for speech in speeches]
    expected = regular_order[:in_rounds] if speeches[-1].concedes else regular_order
    if in_rounds == len(speeches) and order_of_speeches == expected:
        return format
    argument = next(phase for phase in format.round if phase.reply == "text")
    others = [phase for phase in format.round if phase.reply != "text"]
    phases = []
    for number, speech in enumerate(speeches, start=1):
        fields: dict[str, Any] = {"name": f"speech-{number}", "seats": (speech.side,)}
        condition = Condition(round=speech.round) if number <= in_rounds else Condition()
        fields |= {"when": condition, "template": argument.template or argument.name}
        phases.append(argument.model_copy(update=fields))
    after = (*phases[in_rounds:], *format.after)
    return format.model_copy(update={"round": (*phases[:in_rounds], *others), "after": after})


def _events(opened: Opened, speeches: Sequence[TranscriptSpeech], source: str) -> list[Spoke | Declined]:
    """The speeches as events. They answer no brief and cost nothing."""
    debate, events = fold([opened]), list[Spoke | Declined]()
    for speech in speeches:
        turn = debate.due[0]
        assert turn.seat == speech.side
        reply = Reply(
            text=speech.text, brief_digest="", spec=f"replay:{source}", ended="cut" if speech.cut else "whole"
        )
        event = (
            Declined(turn_id=turn.id, reply=reply)
            if speech.declined
            else Spoke(turn_id=turn.id, reply=reply, concedes=speech.concedes or None)
        )
        debate = apply(debate, event)
        events.append(event)
    return events


# From either


def output_path(source: str) -> str:
    """The default path of the report of a re-judging: beside its source, under a name that is free."""
    stem = source.removesuffix(JOURNAL) if source.endswith(JOURNAL) else os.path.splitext(source)[0]
    stem = re.sub(r"\.judged(?:-\d+)?$", "", stem)
    return unused_files(DebateFiles.of_journal(f"{stem}.judged{JOURNAL}")).report


def panel_problems(judges: Sequence[str]) -> list[str]:
    if 1 <= len(judges) <= MAX_JUDGES:
        return []
    hint = "Name them as in anthropic:claude-opus-5-5; `debate models` lists who can judge."
    return [f"judge: a debate needs 1 to {MAX_JUDGES} judges, and there are {len(judges)}. {hint}"]


def _valid_votes(
    vote_settings: Mapping[str, Any], format: Format, judges: Sequence[str], problems: list[str]
) -> dict[str, Any]:
    """The VOTE_SETTINGS of a panel by name. What is wrong with them is added to `problems`, and none returned."""
    try:
        validated = answers.judging_settings(vote_settings, format, len(judges))
        return {name: getattr(validated, name) for name in VOTE_SETTINGS}
    except BadSettings as error:
        problems += error.problems
        return {}
