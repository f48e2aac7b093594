"""Dry runs of a format in memory: debates of every size, with every brief rendered, and their reports.

They find what reading the data and the templates can't show: a name that is missing in the first round alone, a ballot
that the engine can't count, a report that can't be rendered. No model is called, and nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from pydantic import ValidationError

from debate_orchestrator import __version__
from debate_orchestrator.core.events import SPEECH_RULES, ContextFile, Event, Opened
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import DECISION_BRIEF, ISSUES, JUDGE, Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.shape import Condition, Shape
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats.validation import Keys
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers import rehearse
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.storage.journal_lines import SCHEMA, Entry
from debate_orchestrator.util.errors import BadFormat, reason
from debate_orchestrator.util.numbers import plural

EVERY_SIZE = 8
"""Up to this number of rounds each is tried; above it only those that a condition of the format names."""
SECONDS = 60
"""Seconds for all rehearsals of a format. A format from elsewhere may be made to need far more."""
WHOLE_ROUNDS = 3
"""Up to this number of rounds, and in those that a condition names, unusual debates and reports are tried too."""
_NONCE = "0123456789abcdef"
_WHEN = "2026-01-01T00:00:00.000Z"


class Scenario(NamedTuple):
    """How a debate goes."""

    name: str
    eventful: bool = False
    """Whether both sides converge in every round, the first speaker declines once, two judges vote with every option
    on, and there is a context file."""
    ends: bool = False
    """Whether the first speaker concedes at once."""


_EVENTFUL: Mapping[str, str | bool] = {"detected": True, "side": "both", "findings": True}
"""What stand-ins find in an eventful debate."""
PLAIN = Scenario("a plain debate")
UNUSUAL = (Scenario("an eventful debate", eventful=True), Scenario("a short debate", ends=True))


def opened(
    format: Format, templates: Mapping[str, str], rounds: int = 1, strictness: str = "", scenario: Scenario = PLAIN
) -> Opened:
    """The first event of a debate by a format, with stand-ins in all seats."""
    sides = format.sides
    cast: dict[str, tuple[str, ...]] = dict.fromkeys(format.active_seats(format.optional_phases), (rehearse.KIND,))
    cast |= {JUDGE: (rehearse.KIND,) * 2} if scenario.eventful and JUDGE in cast else {}
    context = (ContextFile(name="material.md", text="Something to draw on."),) if scenario.eventful else ()
    settings = Settings(
        topic="Whether a stand-in has a point.",
        positions={side: f"{format.name_of(side)} has a point." for side in sides},
        rounds=rounds,
        strictness=strictness or next(iter(format.rubric.strictness)),
        first=sides[-1] if scenario.eventful else sides[0],
        search=scenario.eventful,
        context=tuple(file.name for file in context),
        format=format.name,
        cast=cast,
        mirror=scenario.eventful and format.can_be_mirrored,
        each_round=scenario.eventful and "each round" in format.optional_phases,
        issues=ISSUES in format.optional_phases,
        brief=DECISION_BRIEF in format.optional_phases,
        blind=format.decided_by == "swing" or (scenario.eventful and "blind" in format.optional_phases),
    )
    return Opened(
        schema_version=SCHEMA,
        version=__version__,
        settings=settings,
        context=context,
        format=format,
        prompts={},
        templates=dict(templates),
        seed=0,
        nonce=_NONCE,
        speech_rules=SPEECH_RULES,
    )


def find_problems(format: Format, templates: Mapping[str, str], where: Callable[[Keys], str]) -> list[str]:
    """Everything that goes wrong in debates by a format, each once; `where` gives the place of some keys."""
    found: dict[str, None] = {}
    until = time.monotonic() + SECONDS
    try:
        for trial in _trials(format, templates, where):
            found |= dict.fromkeys(trial.problems(until))
            if trial.late:
                hint = "Use fewer phases, rounds or ways of judging."
                found[f"{where(())}: rehearsals of this format take more than {SECONDS} s. {hint}"] = None
            if trial.broke or trial.late:  # every other size would fail in the same way
                break
    except ValidationError as error:  # a debate of a size that is refused
        reasons = " ".join(str(item["msg"]).removeprefix("Value error, ") for item in error.errors())
        found[f"{where(())}: debates of this size can't be held: {reasons} Use fewer phases or rounds."] = None
    return list(found)


def _trials(format: Format, templates: Mapping[str, str], where: Callable[[Keys], str]) -> Iterator[_Trial]:
    told_apart = _rounds_beside_conditions(format)
    for rounds in sizes(format):
        whole = rounds <= WHOLE_ROUNDS or rounds in told_apart
        for strictness in format.rubric.strictness:
            for scenario in (PLAIN, *UNUSUAL) if whole else (PLAIN,):
                yield _Trial(opened(format, templates, rounds, strictness, scenario), scenario, where, reported=whole)


def sizes(format: Format) -> list[int]:
    """The numbers of rounds to try: all small ones, and beyond them those around a number that a condition names."""
    few = range(1, min(format.rounds.maximum, EVERY_SIZE) + 1)
    return sorted({*few, *_rounds_beside_conditions(format), format.rounds.maximum, format.rounds.maximum_if_insisted})


def _rounds_beside_conditions(format: Format) -> set[int]:
    """The numbers of rounds on both sides of every condition."""
    named = {n for when in _conditions(format) for n in (when.rounds_at_least, when.round) if isinstance(n, int)}
    return {n for number in named for n in (number - 1, number) if 1 <= n <= format.rounds.maximum_if_insisted}


def _conditions(format: Format) -> Iterator[Condition]:
    yield from (phase.when for phase in format.phases())
    yield from (criterion.when for criterion in format.rubric.criteria.values())
    waiting: list[Shape] = list(format.shapes.values())
    while waiting:
        for field in waiting.pop().values():
            yield field.when
            waiting.append(field.fields)


class _Trial:
    """One debate, played."""

    def __init__(self, first: Opened, scenario: Scenario, where: Callable[[Keys], str], *, reported: bool):
        self.first, self.scenario, self.where, self.reported = first, scenario, where, reported
        self.broke = self.late = False
        self._quiet = True
        """Whether the first speaker has still to do what this scenario has it do."""

    def problems(self, until: float) -> Iterator[str]:
        """What goes wrong, up to the time `until`; `late` is set if that came first."""
        if self._out_of_time(until):
            return
        debate, events = fold([self.first]), list[Event]([self.first])
        turn: Turn | None = None
        if debate.complete:
            self.broke = True
            yield f"{self.where(('round',))}: {self._size()} has no turns."
            return
        try:
            while due := debate.due:
                for turn in due:
                    if self._out_of_time(until):
                        return
                    yield from self._rendered(debate, turn)
                for turn in due:
                    event = self._reply(debate, turn)
                    debate = apply(debate, event)
                    events.append(event)
            turn = None
            if not self.reported or self._out_of_time(until):
                return
            announcements(debate)
            markdown.render(build_report([Entry(n, _WHEN, event, "") for n, event in enumerate(events, start=1)]))
        except Exception as error:  # the engine is tested; what breaks it here is the format
            self.broke = True
            yield self._dry_run_problem(turn, error)

    def _out_of_time(self, until: float) -> bool:
        self.late = time.monotonic() > until
        return self.late

    def _rendered(self, debate: DebateState, turn: Turn) -> list[str]:
        try:
            brief(debate, turn)
        except BadFormat as error:
            return error.problems
        return []

    def _reply(self, debate: DebateState, turn: Turn) -> Event:
        """A stand-in's reply."""
        text = f"A stand-in speaks in {turn.id}."
        text = " ".join([text] * (1 + (turn.phase.least_words or 0) // len(text.split())))
        if debate.shape(turn) is not None:
            text = rehearse.reply_for(debate, turn, _EVENTFUL if self.scenario.eventful else {})
        elif self._quiet and turn.speaking and (self.scenario.eventful or self.scenario.ends):
            self._quiet = False
            lines = debate.format.lines
            text = f"{text}\n\n{lines.concede if self.scenario.ends else lines.decline}"
        return replies.parse_reply(debate, turn, Reply(text=text, brief_digest="", by=rehearse.KIND), None)

    def _size(self) -> str:
        """The kind of debate, in words."""
        settings = self.first.settings
        return f"{self.scenario.name} of {plural(settings.rounds, 'round')} ({settings.strictness})"

    def _dry_run_problem(self, turn: Turn | None, error: Exception) -> str:
        """The problem of a debate that does not reach its end, or can't be reported."""
        format, size = self.first.format, self._size()
        why = reason(error)
        if turn is None:
            return f"{self.where(('shapes',))}: {size} can't be reported ({why})."
        keys: Keys = ("shapes", turn.phase.reply)
        if turn.phase.reply == "text":
            groups = {"before": format.before, "round": format.round, "after": format.after}
            keys = next((name, group.index(turn.phase)) for name, group in groups.items() if turn.phase in group)
        return f"{self.where(keys)}: {size} stops at {turn.id} ({why})."
