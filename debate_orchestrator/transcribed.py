"""Speeches that were written down, in; the opening of their judging, and the speeches as events, out."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from debate_orchestrator import __version__, answers, casts, formats
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import HEARING, MOST_JUDGES, Course, Declined, Opened, Reply, Setup, Spoke
from debate_orchestrator.core.rules import JUDGE, Format, Lines, Phase
from debate_orchestrator.core.shapes import When
from debate_orchestrator.errors import BadAnswers, complaint, shown
from debate_orchestrator.journal import SCHEMA
from debate_orchestrator.speech import one_line
from debate_orchestrator.transcripts.attribution import key
from debate_orchestrator.transcripts.speeches import ARGUMENT, Speech, Transcript

FORMAT = "transcript"
MOST_TITLE = 60
MOST_WORDS = 5
"""Characters and words that the title of a speech may have: it names a kind of turn, and tells a judge nothing."""
_UNHEARD = Lines(concede="\n", decline="\n")
"""No line of a speech is a line feed: nothing in a transcript is said to the engine."""


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
    setup = _setup(made, path, rules, judges, strictness, topic, positions or {}, panel or {})
    source = os.path.basename(path)
    first = opened(
        setup=setup,
        format=_fitted(rules, made).model_copy(update={"lines": _UNHEARD}),
        cast={**dict.fromkeys(rules.sides, (casts.HOST,)), JUDGE: tuple(judges)},
        course=Course(source=source, digest=digest, root=digest, speakers=made.speakers),
    )
    return first, _spoken(first, made.speeches, source)


def _setup(
    made: Transcript,
    path: str,
    rules: Format,
    judges: Sequence[str],
    strictness: str | None,
    topic: str | None,
    positions: Mapping[str, str],
    panel: Mapping[str, Any],
) -> Setup:
    """What is judged and how; BadAnswers with all that is wrong."""
    mode = strictness or list(rules.rubric.strictness)[-1]
    wrong = judges_wrong(judges)
    if mode not in rules.rubric.strictness:
        wrong.append(complaint("--strictness", shown(mode), " or ".join(rules.rubric.strictness)))
    told = topic if topic is not None else made.topic
    if told is None:
        hint = "Give --topic, or put a line `**Topic:** ...` above the first speech."
        wrong.append(complaint(path, "no topic", "what is debated", hint))
    motion = _line("topic", told, wrong) if told is not None else ""
    given = {side: _line(f"position {side}", said, wrong) for side, said in {**made.positions, **positions}.items()}
    voting: dict[str, Any] = {}
    try:
        voting = answers.voting(panel, rules, len(judges))
    except BadAnswers as error:
        wrong += error.complaints
    if wrong:
        raise BadAnswers(wrong)
    return Setup(
        topic=motion,
        positions={"a": f"For: {motion}", "b": f"Against: {motion}"} | given,
        rounds=made.rounds,
        strictness=mode,
        first=made.speeches[0].side,
        feedback=False,
        **voting,
    )


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


def judges_wrong(judges: Sequence[str]) -> list[str]:
    """What is wrong with a panel, whoever its judges are."""
    if 1 <= len(judges) <= MOST_JUDGES:
        return []
    got = f"{len(judges)} of them" if judges else "none"
    hint = "As in --judge anthropic:claude-opus-5-5; `debate models` tells who can."
    return [complaint("--judge", got, f"1 to {MOST_JUDGES} judges", hint)]


def opened(
    setup: Setup,
    format: Format,
    cast: dict[str, tuple[str, ...]],
    course: Course,
    templates: Mapping[str, str] = {},
    hearing: Literal[1, 2] = HEARING,
) -> Opened:
    return Opened(
        schema_version=SCHEMA,
        version=__version__,
        setup=setup,
        format=format,
        prompts=formats.digests(format, templates),
        templates=dict(templates),
        cast=cast,
        course=course,
        seed=secrets.randbits(32),
        nonce=secrets.token_hex(8),
        hearing=hearing,
    )
