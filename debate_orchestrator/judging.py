"""A debate judged again: what was said, recorded here or written down elsewhere, in; the opening of its judging out.

A judging is a debate of its own, driven by the ordinary loop. Its speeches are given already, and its `course`
fixes who speaks, so that the judges of now hear what was said, when it was said, and decide nothing but their
ballots. What an earlier panel decided is kept beside it, and no judge is shown it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from debate_orchestrator import answers, casts
from debate_orchestrator.core import presentation
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Course, Declined, EarlierRound, Opened, Setup, Spoke
from debate_orchestrator.core.rules import JUDGE, Format, Turn, calendar
from debate_orchestrator.errors import BadAnswers, BadJournal, complaint, shown
from debate_orchestrator.files import JOURNAL, Files
from debate_orchestrator.journal import Entry
from debate_orchestrator.transcribed import judges_wrong, of_transcript, opened
from debate_orchestrator.transcripts.speeches import Speech, Transcript


def again(
    entries: Sequence[Entry],
    path: str,
    judges: Sequence[str],
    strictness: str | None = None,
    panel: Mapping[str, Any] | None = None,
) -> tuple[Opened, list[Spoke | Declined]]:
    """The opening of a judging by `judges` of the debate whose journal, at `path`, holds these entries, and the
    speeches that follow it where they are not replayed. `panel` says how the judges vote where that is not as it
    was: keys of an answers file. BadJournal where it is not finished, BadAnswers where it can't be judged so."""
    debate = Debate(entry.event for entry in entries)
    old = debate.opened
    if debate.due():
        due = ", ".join(turn.id for turn in debate.due())
        hint = f"Finish it with `debate resume {path}`."
        raise BadJournal(complaint(path, f"a debate that is not finished (due: {due})", "a finished one", hint))
    if old.format.judged_by:
        return _judged_elsewhere(debate, path, entries[-1].hash, judges, strictness, panel)
    setup = old.setup.model_copy(update={"strictness": strictness or old.setup.strictness})
    wrong = judges_wrong(judges) + _strictness_wrong(setup, old)
    setup = _voting(setup, old.format, len(old.cast.get(JUDGE, ())), len(judges), panel or {}, wrong)
    if wrong:
        raise BadAnswers(wrong)
    recording = (f"replay:{path}",)
    first = opened(
        setup=setup,
        format=old.format,
        templates=old.templates,
        cast={**{seat: recording for seat in old.format.seated if seat != JUDGE}, JUDGE: tuple(judges)},
        course=_course(debate, os.path.basename(path), entries[-1].hash),
        hearing=old.hearing,
    )
    return first, []


def _voting(setup: Setup, rules: Format, before: int, judges: int, panel: Mapping[str, Any], wrong: list[str]) -> Setup:
    """The setup with the way in which judges vote, of whom there were `before`; what is wrong with it is added to
    `wrong`."""
    given = {name: getattr(setup, name) for name in ("mirror", "blind", "each_round")}
    given |= {"quorum": setup.quorum} if judges == before else {}
    given |= dict(panel)
    try:
        return setup.model_copy(update=answers.voting(given, rules, judges))
    except BadAnswers as error:
        wrong += error.complaints
        return setup


def _judged_elsewhere(
    debate: Debate,
    path: str,
    digest: str,
    judges: Sequence[str],
    strictness: str | None,
    panel: Mapping[str, Any] | None,
) -> tuple[Opened, list[Spoke | Declined]]:
    """The judging of a debate whose format has no judge: its speeches, as they were heard, in the format that it
    names for that, under the names that the speakers go by in them."""
    rules, setup = debate.format, debate.opened.setup
    made = Transcript(
        topic=setup.topic,
        positions=setup.positions,
        speakers={side: ", ".join(debate.cast[side]) for side in rules.sides},
        speeches=tuple(_speech(debate, turn) for turn in debate.settled() if turn.speaking),
        notes=tuple(_weaknesses(debate)),
    )
    first, spoken = of_transcript(made, path, digest, judges, strictness, judged_by=rules.judged_by, panel=panel)
    seats = first.format.seats | {side: rules.seats[side] for side in rules.sides}
    format = first.format.model_copy(update={"seats": seats})
    return first.model_copy(update={"format": format, "hearing": debate.opened.hearing}), spoken


def _speech(debate: Debate, turn: Turn) -> Speech:
    """A settled speech as others heard it."""
    one = presentation.shown(debate, turn)
    round = turn.round or (debate.rounds if turn.closing else 1)
    cut = one.cut or bool(one.dropped)
    return Speech(side=turn.seat, round=round, title=turn.phase.title, text=one.text, declined=one.declined, cut=cut)


def _course(debate: Debate, source: str, digest: str) -> Course:
    """What went on in a finished debate, and what its panel decided."""
    rounds = range(1, debate.rounds + 1)
    results, verdict = debate.results(), debate.verdict()
    before = debate.opened.course
    return Course(
        source=source,
        digest=digest,
        root=before.debated if before else digest,
        closed_after=debate.closed_after,
        interventions={n: debate.moved(n) for n in rounds if _answered(debate, n)},
        conceded={n: side for n in rounds if (side := debate.given_up(n)) is not None},
        speakers=before.speakers if before else {side: ", ".join(debate.cast[side]) for side in debate.format.sides},
        notes=(*(before.notes if before else ()), *_weaknesses(debate)),
        judges=debate.cast[JUDGE],
        rounds={
            one.round: EarlierRound(scores={k: float(v) for k, v in one.scores.items()}, winner=one.winner)
            for one in results
        },
        winner=verdict.winner if verdict else None,
        strength=verdict.strength if verdict else None,
        totals={side: float(points) for side, points in debate.totals().items()},
    )


def _weaknesses(debate: Debate) -> list[str]:
    """What weakens the speeches of a debate, whoever judges them."""
    said = []
    if any(note.note == "one agent" for note in debate.notes):
        said.append("In it one agent wore all hats, so the two sides were not independent.")
    both = (debate.opened.cast, debate.cast)
    played = [side for side in debate.format.sides if any(_stands_in(who) for cast in both for who in cast[side])]
    if played:
        said.append(f"In it stand-ins spoke for {' and '.join(debate.format.name_of(side) for side in played)}.")
    if count := len(debate.raised):
        were = "questions were" if count != 1 else "question was"
        said.append(f"In it {count} {were} put from the floor; its journal has them.")
    if debate.opened.derived:
        said.append("Its positions were derived by a moderator's model, and nobody confirmed them.")
    return said


def _stands_in(who: str) -> bool:
    return casts.kind(who) == casts.REHEARSE


def _answered(debate: Debate, round: int) -> bool:
    """Whether sides did answer an intervention of that round."""
    return any(turn.phase.on is not None and turn.round == round for turn in debate.settled())


def _strictness_wrong(setup: Setup, old: Opened) -> list[str]:
    modes = old.format.rubric.strictness
    if setup.strictness not in modes:
        return [complaint("--strictness", shown(setup.strictness), " or ".join(modes))]
    then, now = (_speaking(old.format, setup.rounds, mode) for mode in (old.setup.strictness, setup.strictness))
    if then != now:
        hint = "In this format other speeches are given then."
        return [complaint("--strictness", setup.strictness, f"{old.setup.strictness}, as it was debated", hint)]
    return []


def _speaking(made: Format, rounds: int, strictness: str) -> list[tuple[str, int | None]]:
    """The phases in which a side speaks under that strictness."""
    slots = calendar(made, rounds, strictness, made.options)
    return [(slot.phase.name, slot.round) for slot in slots if set(slot.phase.seats) & set(made.sides)]


def output(path: str) -> str:
    """Where the report of a judging goes if nobody says: beside its source, under a name that is free."""
    stem = path.removesuffix(JOURNAL) if path.endswith(JOURNAL) else os.path.splitext(path)[0]
    stem = re.sub(r"\.judged(?:-\d+)?$", "", stem)
    n = 1
    while True:
        report = f"{stem}.judged{f'-{n}' if n > 1 else ''}.md"
        files = Files.of_journal(report.removesuffix(".md") + JOURNAL)
        if not any(os.path.lexists(path) for path in files):
            return report
        n += 1
