"""A debate judged again: what was said, recorded here or written down elsewhere, in; the opening of its judging out.

A judging is a debate of its own, driven by the ordinary loop. Its speeches are given already, and its `course`
fixes who speaks, so that the judges of now hear what was said, when it was said, and decide nothing but their
ballots. What an earlier panel decided is kept beside it, and no judge is shown it.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from debate_orchestrator import __version__, answers, casts, formats, library
from debate_orchestrator.core import presentation
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Course, Declined, EarlierRound, Opened, Reply, Setup, Spoke
from debate_orchestrator.core.rules import JUDGE, Format, Lines, Phase, Turn, calendar
from debate_orchestrator.core.shapes import When
from debate_orchestrator.errors import BadAnswers, BadJournal, complaint, shown
from debate_orchestrator.files import JOURNAL, Files
from debate_orchestrator.journal import SCHEMA, Entry
from debate_orchestrator.speech import one_line
from debate_orchestrator.transcripts.attribution import key
from debate_orchestrator.transcripts.speeches import ARGUMENT, Speech, Transcript

FORMAT = "transcript"
MOST_TITLE = 60
MOST_WORDS = 5
"""Characters and words that the title of a speech may have: it names a kind of turn, and tells a judge nothing."""
_UNHEARD = Lines(concede="\n", decline="\n")
"""No line of a speech is a line feed: nothing in a transcript is said to the engine."""


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
    wrong = _judges_wrong(judges) + _strictness_wrong(setup, old)
    setup = _voting(setup, old.format, len(judges), panel or {}, wrong)
    if wrong:
        raise BadAnswers(wrong)
    recording = (f"replay:{path}",)
    opened = _opened(
        setup=setup,
        format=old.format,
        cast={**{seat: recording for seat in old.format.seated if seat != JUDGE}, JUDGE: tuple(judges)},
        course=_course(debate, os.path.basename(path), entries[-1].hash),
    )
    return opened, []


def _voting(setup: Setup, rules: Format, judges: int, panel: Mapping[str, Any], wrong: list[str]) -> Setup:
    """The setup with the way in which judges vote; what is wrong with it is added to `wrong`."""
    given = {name: getattr(setup, name) for name in ("mirror", "blind", "each_round")} | dict(panel)
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
    opened, spoken = of_transcript(made, path, digest, judges, strictness, judged_by=rules.judged_by, panel=panel)
    seats = {
        name: rules.seats.get(name, seat) if name in rules.sides else seat for name, seat in opened.format.seats.items()
    }
    return opened.model_copy(update={"format": opened.format.model_copy(update={"seats": seats})}), spoken


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


def _judges_wrong(judges: Sequence[str]) -> list[str]:
    """What is wrong with a panel, whoever its judges are."""
    if 1 <= len(judges) <= answers.MOST_JUDGES:
        return []
    got = f"{len(judges)} of them" if judges else "none"
    hint = "As in --judge anthropic:claude-opus-5-5; `debate models` tells who can."
    return [complaint("--judge", got, f"1 to {answers.MOST_JUDGES} judges", hint)]


def of_transcript(
    made: Transcript,
    path: str,
    digest: str,
    judges: Sequence[str],
    strictness: str | None = None,
    topic: str | None = None,
    positions: dict[str, str] | None = None,
    *,
    judged_by: str = FORMAT,
    panel: Mapping[str, Any] | None = None,
) -> tuple[Opened, list[Spoke | Declined]]:
    """The opening of a judging of a transcript, and its speeches as the events that follow. A topic and
    positions that are given count for more than the document's. All complaints at once: BadFile for the
    document's, BadAnswers where there are others."""
    rules = formats.load(judged_by)
    mode = strictness or list(rules.rubric.strictness)[-1]
    wrong = _judges_wrong(judges)
    if mode not in rules.rubric.strictness:
        wrong.append(complaint("--strictness", shown(mode), " or ".join(rules.rubric.strictness)))
    told = topic if topic is not None else made.topic
    if told is None:
        hint = "Give --topic, or put a line `**Topic:** ...` above the first speech."
        wrong.append(complaint(path, "no topic", "what is debated", hint))
    motion = _line("topic", told, wrong) if told is not None else ""
    stances = made.positions | (positions or {})
    given = {side: _line(f"position {side}", said, wrong) for side, said in stances.items()}
    voting: dict[str, Any] = {}
    try:
        voting = answers.voting(panel or {}, rules, len(judges))
    except BadAnswers as error:
        wrong += error.complaints
    if wrong:
        raise BadAnswers(wrong)
    setup = Setup(
        topic=motion,
        positions={"a": f"For: {motion}", "b": f"Against: {motion}"} | given,
        rounds=made.rounds,
        strictness=mode,
        first=made.speeches[0].side,
        feedback=False,
        **voting,
    )
    source = os.path.basename(path)
    opened = _opened(
        setup=setup,
        format=_fitted(rules, made).model_copy(update={"lines": _UNHEARD}),
        cast={**dict.fromkeys(rules.sides, (casts.HOST,)), JUDGE: tuple(judges)},
        course=Course(source=source, digest=digest, speakers=made.speakers),
    )
    return opened, _spoken(opened, made.speeches, source)


def _line(key: str, said: str, wrong: list[str]) -> str:
    try:
        return answers.line(key, said)
    except BadAnswers as error:
        wrong += error.complaints
        return ""


def _fitted(rules: Format, made: Transcript) -> Format:
    """The format with a phase for each speech, unless every round is what the format has anyway: one argument
    from each side, always in the same order."""
    speeches, first = made.speeches, made.speeches[0].side
    regular = [(n, side) for n in range(1, made.rounds + 1) for side in (first, "b" if first == "a" else "a")]
    plain = all(one.title == ARGUMENT for one in speeches)
    if plain and [(one.round, one.side) for one in speeches] == regular:
        return rules
    kind = next(phase for phase in rules.round if phase.reply == "text")
    others = [phase for phase in rules.round if phase.reply != "text"]
    own = [_phase(kind, n, one, _title(one, made.speakers)) for n, one in enumerate(speeches, start=1)]
    return rules.model_copy(update={"round": (*own, *others)})


def _title(speech: Speech, speakers: Mapping[str, str]) -> str:
    """What a speech may be called before judges and in reports: plain words, and nobody's name."""
    words = re.sub(r"[^\w ,:'’().–—-]|_", " ", one_line(speech.title)).split()
    plain = " ".join(words)
    named = any(key(name) in key(plain) for name in speakers.values())
    return plain if 1 <= len(words) <= MOST_WORDS and len(plain) <= MOST_TITLE and not named else ARGUMENT


def _phase(kind: Phase, n: int, speech: Speech, title: str) -> Phase:
    """The phase in which just this speech is given."""
    return kind.model_copy(
        update={
            "name": f"speech-{n}",
            "title": title,
            "tag": title.upper(),
            "seats": (speech.side,),
            "when": When(round=speech.round),
            "template": kind.template or kind.name,
        }
    )


def _spoken(opened: Opened, speeches: Sequence[Speech], source: str) -> list[Spoke | Declined]:
    """The speeches as events. They answer no brief, cost nothing, and nobody is asked for them."""
    debate, made = Debate([opened]), list[Spoke | Declined]()
    for speech in speeches:
        turn = debate.due()[0]
        reply = Reply(text=speech.text, brief="", by=f"replay:{source}", ended="cut" if speech.cut else "whole")
        event = Declined(turn=turn.id, reply=reply) if speech.declined else Spoke(turn=turn.id, reply=reply)
        assert turn.seat == speech.side
        debate.take(event)
        made.append(event)
    return made


def _opened(setup: Setup, format: Format, cast: dict[str, tuple[str, ...]], course: Course) -> Opened:
    return Opened(
        schema_version=SCHEMA,
        version=__version__,
        setup=setup,
        format=format,
        prompts=library.digests(format.name),
        cast=cast,
        course=course,
        seed=secrets.randbits(32),
        nonce=secrets.token_hex(8),
    )


def output(path: str) -> str:
    """Where the report of a judging goes if nobody says: beside its source, under a name that is free."""
    stem = path.removesuffix(JOURNAL) if path.endswith(JOURNAL) else os.path.splitext(path)[0]
    stem = re.sub(r"\.judged(?:-\d+)?$", "", stem)
    n = 1
    while True:
        report = f"{stem}.judged{f'-{n}' if n > 1 else ''}.md"
        files = Files.of_journal(report.removesuffix(".md") + JOURNAL)
        if not any(os.path.exists(path) for path in files):
            return report
        n += 1
