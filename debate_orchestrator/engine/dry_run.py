"""Dry runs of a format in memory: debates of several sizes, with every brief rendered, and their reports.

They find what reading the data and the templates can't show: a name that is missing in the first round alone, a ballot
that the engine can't count, a report that can't be rendered. No model is called, and nothing is written.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import NamedTuple

from pydantic import ValidationError

from debate_orchestrator import __version__
from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import ContextFile, Opened
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import DECISION_BRIEF, ISSUES, JUDGE, Turn
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.core.shape_rules import Keys
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import stand_in_debate
from debate_orchestrator.prompting import rendering
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers import rehearse
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.storage.journal_lines import SCHEMA, Entry
from debate_orchestrator.util.errors import BadFormat, reason
from debate_orchestrator.util.numbers import plural

MAX_SECONDS = 60
"""Seconds of processor time for all dry runs of a format; those of a shipped one take three. A hostile one
may need far more."""
MAX_TEMPLATE_SECONDS = 20
"""The same for its templates alone, which a process of their own renders."""
_NONCE = "0123456789abcdef"
_TIME = "2026-01-01T00:00:00.000Z"


class Scenario(NamedTuple):
    """The course of a debate."""

    name: str
    eventful: bool = False
    """Whether both sides converge in every round, the first speaker declines once, two judges vote with every option
    on, and there is a context file."""
    concedes: bool = False
    """Whether the first speaker concedes at once."""


_EVENTFUL: Mapping[str, str | bool] = {"detected": True, "side": "both", "findings": True}
"""The findings of stand-ins in an eventful debate."""
PLAIN = Scenario("a plain debate")
UNUSUAL = (Scenario("an eventful debate", eventful=True), Scenario("a short debate", concedes=True))


def opening_event(
    format: Format, templates: Mapping[str, str], rounds: int = 1, strictness: str = "", scenario: Scenario = PLAIN
) -> Opened:
    """The first event of a debate by a format, with a stand-in in every seat."""
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
    )


class _Stop(Exception):
    """A problem after which no other debate is tried: each would fail in the same way."""


def find_problems(format: Format, templates: Mapping[str, str], location_of: Callable[[Keys], str]) -> list[str]:
    """Everything that goes wrong in debates by a format, each once; `location_of` gives the file and line of keys."""
    problems: dict[str, None] = {}
    try:
        with rendering.measured() as seconds:
            check_time = partial(_check_time, time.process_time() + MAX_SECONDS, seconds, location_of)
            for strictness, (rounds, scenario) in product(format.rubric.strictness, trials(format)):
                first = opening_event(format, templates, rounds, strictness, scenario)
                for problem in _problems(first, scenario, location_of, check_time):
                    problems[problem] = None
    except _Stop as stop:
        problems[str(stop)] = None
    except ValidationError as error:  # a debate of a size that is refused
        reasons = " ".join(str(item["msg"]).removeprefix("Value error, ") for item in error.errors())
        problems[f"{location_of(())}: debates of this size can't be held: {reasons} Use fewer phases or rounds."] = None
    return list(problems)


def trials(format: Format) -> list[tuple[int, Scenario]]:
    """The numbers of rounds to try, each with how the debate goes: plain debates of the smallest, the default and the
    largest number, and unusual ones of one round and of the default number or two."""
    limits = format.rounds
    two = min(2, limits.maximum_if_insisted)
    plain = sorted({1, two, limits.default, limits.maximum_if_insisted})
    unusual = sorted({1, max(two, limits.default)})
    return [*product(plain, [PLAIN]), *product(unusual, UNUSUAL)]


def _problems(
    first: Opened, scenario: Scenario, location_of: Callable[[Keys], str], check_time: Callable[[], None]
) -> Iterator[str]:
    """The problems of one debate. Raises _Stop for what would stop every other, as `check_time` does."""
    size = f"{scenario.name} of {plural(first.settings.rounds, 'round')} ({first.settings.strictness})"
    opened = fold([first])
    turn: Turn | None = None
    if opened.complete:
        raise _Stop(f"{location_of(('round',))}: {size} has no turns.")
    try:
        for debate in stand_in_debate.play(opened, partial(_reply_text, scenario=scenario)):
            for turn in debate.due:
                check_time()
                yield from _unrendered(debate, turn)
        turn = None
        check_time()
        announcements(debate)
        events = enumerate([first, *debate.replies.values()], start=1)
        markdown.render(build_report([Entry(n, _TIME, event, "") for n, event in events]))
    except _Stop:
        raise
    except Exception as error:  # the engine is tested; what breaks it here is the format
        if isinstance(error, stand_in_debate.StandInFailed):
            turn, error = error.turn, error.cause
        stopped = f"stops at {turn.id}" if turn else "can't be reported"
        keys = _keys_at_fault(first.format, turn) if turn else ("shapes",)
        raise _Stop(f"{location_of(keys)}: {size} {stopped} ({reason(error)}).") from error


def _check_time(deadline: float, seconds: Counter[str], location_of: Callable[[Keys], str]) -> None:
    """Raises _Stop if the dry runs, or the templates in them, have taken too long."""
    if seconds.total() > MAX_TEMPLATE_SECONDS:
        ((slowest, longest),) = seconds.most_common(1)
        raise _Stop(
            f"{slowest}: in dry runs the templates of this format take more than {MAX_TEMPLATE_SECONDS} s, and this "
            f"one takes the most ({longest:.0f} s). Use smaller loops."
        )
    if time.process_time() > deadline:
        hint = "Use fewer phases, rounds or ways of judging."
        raise _Stop(f"{location_of(())}: dry runs of this format take more than {MAX_SECONDS} s. {hint}")


def _unrendered(debate: DebateState, turn: Turn) -> list[str]:
    """The reason that the brief of a turn can't be rendered."""
    try:
        brief(debate, turn)
    except BadFormat as error:
        return error.problems
    return []


def _reply_text(debate: DebateState, turn: Turn, scenario: Scenario) -> str:
    """A stand-in's reply. In an unusual debate the first speaker declines or concedes."""
    text = f"A stand-in speaks in {turn.id}."
    text = " ".join([text] * (1 + (turn.phase.min_words or 0) // len(text.split())))
    if debate.shape(turn) is not None:
        text = rehearse.reply_for(debate, turn, _EVENTFUL if scenario.eventful else {})
    elif turn.speaking and (scenario.eventful or scenario.concedes) and not _has_spoken(debate):
        lines = debate.format.lines
        text = f"{text}\n\n{lines.concede if scenario.concedes else lines.decline}"
    return text


def _has_spoken(debate: DebateState) -> bool:
    """Whether a side has spoken."""
    return any(turn.speaking for turn in schedule.turns_taken(debate))


def _keys_at_fault(format: Format, turn: Turn) -> Keys:
    """The keys of the part of a format that makes a turn fail: its shape, or its phase."""
    if turn.phase.reply != "text":
        return ("shapes", turn.phase.reply)
    sections = {"before": format.before, "round": format.round, "after": format.after}
    return next((name, section.index(turn.phase)) for name, section in sections.items() if turn.phase in section)
