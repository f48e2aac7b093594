"""A format tried out: debates of every size that it makes, played by stand-ins, with every brief rendered.

What no look at the data and the templates shows comes out here: a name that is missing in the first round alone,
a ballot that the engine can't count, a report that can't be told. Nobody is asked, and nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from pydantic import ValidationError

from debate_orchestrator import __version__
from debate_orchestrator.core.events import HEARING, Context, Event, Opened, Reply, Setup
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE, Turn
from debate_orchestrator.core.schema import Condition, Shape
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats.validation import Keys
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers import rehearse
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.storage.journal import SCHEMA, Entry
from debate_orchestrator.util.errors import BadFormat, DebateError, complaint, short_repr

EVERY_SIZE = 8
"""Up to so many rounds every number of them is tried; above it only those that the format tells apart."""
SECONDS = 60
"""Seconds that all trials of a format may take: a stranger's may be made to have no end of them."""
WHOLE_SIZE = 3
"""Up to so many rounds, and in those that the format tells apart, unusual debates are tried too, and all are told."""
_NONCE = "0123456789abcdef"
_WHEN = "2026-01-01T00:00:00.000Z"


class DryRunCourse(NamedTuple):
    """How a debate goes."""

    name: str
    stormy: bool = False
    """Everybody converges in every round, the first speaker declines once, two judges vote, also on the mirrored
    debate and wherever that is optional, and there is material."""
    ends: bool = False
    """The first speaker concedes at once."""


CALM = DryRunCourse("a calm debate")
UNUSUAL = (DryRunCourse("a stormy debate", stormy=True), DryRunCourse("a short debate", ends=True))


def opened(
    made: Format, templates: Mapping[str, str], rounds: int = 1, strictness: str = "", course: DryRunCourse = CALM
) -> Opened:
    """The opening of a debate by a format, with stand-ins for everything that is answered."""
    sides = made.sides
    setup = Setup(
        topic="Whether a stand-in has a point.",
        positions={side: f"{made.name_of(side)} has a point." for side in sides},
        rounds=rounds,
        strictness=strictness or next(iter(made.rubric.strictness)),
        first=sides[-1] if course.stormy else sides[0],
        search=course.stormy,
        context=(Context(name="material.md", text="Something to draw on."),) if course.stormy else (),
        mirror=course.stormy and made.can_be_mirrored,
        each_round=course.stormy and "each round" in made.options,
        blind=made.decided_by == "swing" or (course.stormy and "blind" in made.options),
    )
    cast: dict[str, tuple[str, ...]] = dict.fromkeys(made.seated, (rehearse.KIND,))
    cast |= {JUDGE: (rehearse.KIND,) * 2} if course.stormy and JUDGE in cast else {}
    return Opened(
        schema_version=SCHEMA,
        version=__version__,
        setup=setup,
        format=made,
        prompts={},
        templates=dict(templates),
        cast=cast,
        seed=0,
        nonce=_NONCE,
        hearing=HEARING,
    )


def find_problems(made: Format, templates: Mapping[str, str], where: Callable[[Keys], str]) -> list[str]:
    """Everything that goes wrong in debates by a format, each once; `where` names the place of keys in it."""
    found: dict[str, None] = {}
    until = time.monotonic() + SECONDS
    try:
        for trial in _trials(made, templates, where):
            found |= dict.fromkeys(trial.complaints(until))
            if trial.late:
                got = f"trials of it that take over {SECONDS} s"
                found[complaint(where(()), got, "fewer phases, rounds or ways")] = None
            if trial.broke or trial.late:  # the same would be said of every size
                break
    except ValidationError as error:  # a debate of a size that is refused
        said = " ".join(str(one["msg"]).removeprefix("Value error, ") for one in error.errors())
        found[complaint(where(()), f"debates that can't be held ({said})", "fewer phases or rounds")] = None
    return list(found)


def _trials(made: Format, templates: Mapping[str, str], where: Callable[[Keys], str]) -> Iterator[_Trial]:
    told_apart = _told_apart(made)
    for rounds in sizes(made):
        whole = rounds <= WHOLE_SIZE or rounds in told_apart
        for strictness in made.rubric.strictness:
            for course in (CALM, *UNUSUAL) if whole else (CALM,):
                yield _Trial(opened(made, templates, rounds, strictness, course), course, where, told=whole)


def sizes(made: Format) -> list[int]:
    """The numbers of rounds to try: all that are few, and beyond them those that some condition tells apart."""
    few = range(1, min(made.rounds.most, EVERY_SIZE) + 1)
    return sorted({*few, *_told_apart(made), made.rounds.most, made.rounds.insist})


def _told_apart(made: Format) -> set[int]:
    """The numbers of rounds on both sides of every condition."""
    named = {n for when in _conditions(made) for n in (when.rounds_at_least, when.round) if isinstance(n, int)}
    return {n for number in named for n in (number - 1, number) if 1 <= n <= made.rounds.insist}


def _conditions(made: Format) -> Iterator[Condition]:
    yield from (phase.when for phase in made.phases())
    yield from (criterion.when for criterion in made.rubric.criteria.values())
    waiting: list[Shape] = list(made.shapes.values())
    while waiting:
        for field in waiting.pop().values():
            yield field.when
            waiting.append(field.fields)


class _Trial:
    """One debate, played."""

    def __init__(self, first: Opened, course: DryRunCourse, where: Callable[[Keys], str], *, told: bool):
        self.first, self.course, self.where, self.told = first, course, where, told
        self.broke = self.late = False
        self._quiet = True
        """Whether the first speaker has still to do what this course has it do."""

    def complaints(self, until: float) -> Iterator[str]:
        """What goes wrong; as far as it was played by then, where it is `late`."""
        if self._out_of_time(until):
            return
        debate, events = DebateState([self.first]), list[Event]([self.first])
        turn: Turn | None = None
        if debate.complete:
            yield "No seat has a turn in this format. Give it a phase."
            return
        try:
            while due := debate.due():
                for turn in due:
                    if self._out_of_time(until):
                        return
                    yield from self._rendered(debate, turn)
                for turn in due:
                    event = self._answer(debate, turn)
                    debate.take(event)
                    events.append(event)
            turn = None
            if not self.told or self._out_of_time(until):
                return
            announcements(debate)
            markdown.render(build_report([Entry(n, _WHEN, event, "") for n, event in enumerate(events, start=1)]))
        except Exception as error:  # whatever the engine trips over lies in the format
            self.broke = True
            yield self._tripped(turn, error)

    def _out_of_time(self, until: float) -> bool:
        self.late = time.monotonic() > until
        return self.late

    def _rendered(self, debate: DebateState, turn: Turn) -> list[str]:
        try:
            brief(debate, turn)
        except BadFormat as error:
            return error.complaints
        return []

    def _answer(self, debate: DebateState, turn: Turn) -> Event:
        """What a stand-in says to a brief."""
        text = f"A stand-in speaks in {turn.id}."
        text = " ".join([text] * (1 + (turn.phase.least_words or 0) // len(text.split())))
        if debate.shape(turn) is not None:
            text = rehearse.said(debate, turn, {"detected": True, "side": "both"} if self.course.stormy else {})
        elif self._quiet and turn.speaking and (self.course.stormy or self.course.ends):
            self._quiet = False
            lines = debate.format.lines
            text = f"{text}\n\n{lines.concede if self.course.ends else lines.decline}"
        return replies.parse_reply(debate, turn, Reply(text=text, brief="", by=rehearse.KIND))

    def _tripped(self, turn: Turn | None, error: Exception) -> str:
        """The complaint about a debate that does not come to its end, or can't be told."""
        rules, setup = self.first.format, self.first.setup
        if isinstance(error, DebateError):
            why = error.complaints[0]
        else:
            text = " ".join(str(error).split())
            why = f"{type(error).__name__}: {text if text.isprintable() and len(text) < 160 else short_repr(text, 120)}"
        size = f"{self.course.name} of {setup.rounds} round{'s' * (setup.rounds != 1)}, {setup.strictness},"
        if turn is None:
            return complaint(self.where(("shapes",)), f"{size} that can't be told ({why})", "one with a report")
        keys: Keys = ("shapes", turn.phase.reply)
        if turn.phase.reply == "text":
            groups = {"before": rules.before, "round": rules.round, "after": rules.after}
            keys = next((name, group.index(turn.phase)) for name, group in groups.items() if turn.phase in group)
        return complaint(self.where(keys), f"{size} that stops at {turn.id} ({why})", "one that comes to its end")
