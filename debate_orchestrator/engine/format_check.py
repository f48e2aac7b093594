"""The check of a user's format: its data, its templates, and dry runs of whole debates.

`formats.validation` finds values that do not fit the model. This module also finds formats whose values fit and by
which no debate can be held. It collects all problems, each with its file and line.

Dry runs are debates of several sizes in memory, with every brief and report rendered. They find what reading the data
and the templates can't show: a name that is missing in the first round alone, a ballot that the engine can't count. No
model is called, and nothing is written.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from string import Formatter
from typing import NamedTuple

from pydantic import ValidationError

from debate_orchestrator import __version__
from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import ContextFile, Opened
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import DECISION_BRIEF, ISSUES, JUDGE, MAX_ROUNDS, PRE_DEBATE_VOTE, Phase, Turn
from debate_orchestrator.core.settings import DEFAULT_FORMAT, Settings
from debate_orchestrator.core.shape import Condition
from debate_orchestrator.core.shape_rules import Keys, LocatedProblem
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.budget import StandInFailed, play
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import briefs, rendering
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers import rehearse
from debate_orchestrator.reports import markdown
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.storage.journal_lines import SCHEMA, Entry
from debate_orchestrator.util.errors import BadFormat, reason, short_repr
from debate_orchestrator.util.numbers import plural

MAX_SECONDS = 60
"""Seconds of processor time for all dry runs of a format: a shipped one takes three, a hostile one far more."""
MAX_TEMPLATE_SECONDS = 20
"""The same for its templates alone, which a process of their own renders."""
_NONCE = "0123456789abcdef"
_TIME = "2026-01-01T00:00:00.000Z"


class Scenario(NamedTuple):
    """The course of a debate."""

    name: str
    all_features: bool = False
    """Whether both sides converge in every round, the first speaker declines once, two judges vote with every option
    on, and there is a context file."""
    concedes: bool = False
    """Whether the first speaker concedes at once."""


_ALL_FINDINGS: Mapping[str, str | bool] = {"detected": True, "side": "both", "findings": True}
"""What stand-ins find in a debate with all features."""
PLAIN = Scenario("a plain debate")
EDGE_CASES = (Scenario("a full-featured debate", all_features=True), Scenario("a conceded debate", concedes=True))


def sample_opened(
    format: Format, templates: Mapping[str, str], rounds: int = 1, strictness: str = "", scenario: Scenario = PLAIN
) -> Opened:
    """The first event of a debate by a format, with a stand-in in every seat."""
    sides = format.sides
    cast: dict[str, tuple[str, ...]] = dict.fromkeys(format.active_seats(format.optional_phases), (rehearse.KIND,))
    cast |= {JUDGE: (rehearse.KIND,) * 2} if scenario.all_features and JUDGE in cast else {}
    context = (ContextFile(name="context.md", text="Something to draw on."),) if scenario.all_features else ()
    settings = Settings(
        topic="Whether a stand-in has a point.",
        positions={side: f"{format.name_of(side)} has a point." for side in sides},
        rounds=rounds,
        strictness=strictness or next(iter(format.rubric.strictness)),
        first=sides[-1] if scenario.all_features else sides[0],
        search=scenario.all_features,
        context=tuple(file.name for file in context),
        format=format.name,
        cast=cast,
        mirror=scenario.all_features and format.can_be_mirrored,
        each_round=scenario.all_features and "each round" in format.optional_phases,
        issues=ISSUES in format.optional_phases,
        brief=DECISION_BRIEF in format.optional_phases,
        blind=format.decided_by == "swing" or (scenario.all_features and PRE_DEBATE_VOTE in format.optional_phases),
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


def dry_run_problems(format: Format, templates: Mapping[str, str], location_of: Callable[[Keys], str]) -> list[str]:
    """Everything that goes wrong in debates by a format, each once; `location_of` gives the file and line of keys."""
    problems: dict[str, None] = {}
    try:
        with rendering.measured() as seconds:
            check_time = partial(_check_time, time.process_time() + MAX_SECONDS, seconds, location_of)
            for strictness, (rounds, scenario) in product(format.rubric.strictness, dry_runs(format)):
                first = sample_opened(format, templates, rounds, strictness, scenario)
                for problem in _problems(first, scenario, location_of, check_time):
                    problems[problem] = None
    except _Stop as stop:
        problems[str(stop)] = None
    except ValidationError as error:  # a debate of a size that is refused
        reasons = " ".join(str(item["msg"]).removeprefix("Value error, ") for item in error.errors())
        problems[f"{location_of(())}: debates of this size can't be held: {reasons} Use fewer phases or rounds."] = None
    return list(problems)


def dry_runs(format: Format) -> list[tuple[int, Scenario]]:
    """The numbers of rounds to try, each with how the debate goes: plain debates of the smallest, the default and the
    largest number, and the edge cases with one round and with the default number or two."""
    limits = format.round_limits
    two = min(2, limits.max_if_insisted)
    plain = sorted({1, two, limits.default, limits.max_if_insisted})
    edge_cases = sorted({1, max(two, limits.default)})
    return [*product(plain, [PLAIN]), *product(edge_cases, EDGE_CASES)]


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
        for debate in play(opened, partial(_reply_text, scenario=scenario)):
            for turn in debate.due:
                check_time()
                yield from _brief_problems(debate, turn)
        turn = None
        check_time()
        announcements(debate)
        events = enumerate([first, *debate.replies.values()], start=1)
        markdown.render(build_report([Entry(n, _TIME, event, "") for n, event in events]))
    except _Stop:
        raise
    except Exception as error:  # the engine is tested; what breaks it here is the format
        if isinstance(error, StandInFailed):
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
        hint = "Use fewer phases, rounds or strictness levels."
        raise _Stop(f"{location_of(())}: dry runs of this format take more than {MAX_SECONDS} s. {hint}")


def _brief_problems(debate: DebateState, turn: Turn) -> list[str]:
    """The reason that the brief of a turn can't be rendered."""
    try:
        brief(debate, turn)
    except BadFormat as error:
        return error.problems
    return []


def _reply_text(debate: DebateState, turn: Turn, scenario: Scenario) -> str:
    """A stand-in's reply. In the edge cases the first speaker declines or concedes."""
    text = f"A stand-in speaks in {turn.id}."
    text = " ".join([text] * (1 + (turn.phase.min_words or 0) // len(text.split())))
    if debate.shape(turn) is not None:
        text = rehearse.reply_for(debate, turn, _ALL_FINDINGS if scenario.all_features else {})
    elif turn.speaking and not any(earlier.speaking for earlier in schedule.turns_taken(debate)):
        lines = debate.format.reserved_lines
        if scenario.all_features or scenario.concedes:
            text = f"{text}\n\n{lines.concede if scenario.concedes else lines.decline}"
    return text


def _keys_at_fault(format: Format, turn: Turn) -> Keys:
    """The keys of the part of a format that makes a turn fail: its shape, or its phase."""
    if turn.phase.reply != "text":
        return ("shapes", turn.phase.reply)
    sections = {"before": format.before, "round": format.round, "after": format.after}
    return next((name, section.index(turn.phase)) for name, section in sections.items() if turn.phase in section)


_ANNOUNCEMENT_FIELDS = {"round": ("round", "rounds"), "intervention": ("round",)}
"""The names that may be in braces in an announcement text."""


def load(name_or_folder: str) -> Format:
    """The format of that name or in that folder. One in a folder is checked first. Raises BadFormat with
    every problem."""
    if loader.is_path(name_or_folder):
        problems = find_problems(name_or_folder)
        if problems:
            raise BadFormat(problems)
    return loader.load(name_or_folder)


def find_problems(name_or_folder: str) -> list[str]:
    """Every problem in a format, by file and line. Raises BadFormat if there is no such format, and BadFile if its
    format.yaml is not YAML."""
    format_source = loader.read_source(name_or_folder)
    own_templates = loader.own_templates(format_source)
    problems = [*format_source.problems, *_template_problems(format_source, own_templates)]
    if (format := format_source.format) is not None:
        problems += [f"{format_source.where(keys)}: {message}" for keys, message in _semantic_problems(format)]
        if not problems:  # anything else would be found again in every dry run
            problems += dry_run_problems(format, own_templates, format_source.where)
    paths = _user_paths(format_source)
    return sorted(dict.fromkeys(_with_user_path(problem, paths) for problem in problems), key=_file_and_line)


def _user_paths(format_source: loader.FormatSource) -> dict[str, str]:
    """The prefix of the names of templates, to the path under which the user knows their folder."""
    paths = {
        f"{'prompts/' * folder.shipped}formats/{folder.name}/": f"{folder.shown_path}/"
        for folder in format_source.folders
    }
    if format_source.shipped:
        paths[f"formats/{format_source.name}/"] = f"{format_source.folders[0].shown_path}/"
    return paths


def _with_user_path(problem: str, paths: dict[str, str]) -> str:
    start = next((start for start in paths if problem.startswith(start)), None)
    return problem if start is None else paths[start] + problem.removeprefix(start)


def _file_and_line(problem: str) -> tuple[str, int]:
    match = re.match(r"(.*?):(\d+)(?:: |$)", problem)
    return (match[1], int(match[2])) if match else (problem, 0)


def _template_problems(format_source: loader.FormatSource, own_templates: dict[str, str]) -> list[str]:
    texts = dict(own_templates)
    if format_source.shipped:
        shown_folder = format_source.folders[0]
        texts |= {
            f"formats/{shown_folder.name}/{path.name}": path.read_text("utf-8")
            for path in shown_folder.path.glob("*.j2")
        }
    sample = fold([sample_opened(loader.load(DEFAULT_FORMAT), {})])  # has every seat
    return rendering.template_problems(texts, briefs.known_names(sample))


def _semantic_problems(format: Format) -> Iterator[LocatedProblem]:
    """The problems of a format that is valid, but with which no debate can be run."""
    rounds = format.round_limits
    if not 1 <= rounds.default <= rounds.max <= rounds.max_if_insisted <= MAX_ROUNDS:
        numbers = f"default {rounds.default}, max {rounds.max}, max_if_insisted {rounds.max_if_insisted}"
        yield ("round_limits",), f"{numbers}: each must be at least the one before, from 1 to {MAX_ROUNDS}."
    if not format.phases():
        yield ("round",), "There are no phases; a format needs at least one."
    for section, phases in (("before", format.before), ("round", format.round), ("after", format.after)):
        for n, phase in enumerate(phases):
            yield from (((section, n, *keys), message) for keys, message in _phase_problems(format, phase))
    for name, criterion in format.rubric.criteria.items():
        yield from _condition_problems(format, criterion.when, ("rubric", "criteria", name, "when"))
    yield from _wording_problems(format)


def _phase_problems(format: Format, phase: Phase) -> Iterator[LocatedProblem]:
    seats = ", ".join(phase.seats)
    if len(set(phase.seats)) < len(phase.seats):
        yield ("seats",), f"A seat is named twice in {seats}."
    if phase.target_words and phase.max_words and phase.target_words > phase.max_words:
        problem = f"{phase.target_words} is more than max_words ({phase.max_words}), and no more are heard."
        yield ("target_words",), problem
    if phase.triggered_by == "convergence" and (JUDGE in phase.seats or phase.reply != "text"):
        yield (
            ("triggered_by",),
            f"Only a speech of the sides can answer {phase.triggered_by}, not a judge's turn or one with a shape.",
        )
    if JUDGE in phase.seats and len(phase.seats) > 1 and phase.reply != "text":
        yield ("seats",), f"{seats} can't share a shape: judges vote in a phase of their own."
    for key in ("title", "tag"):
        yield from _line_problems((key,), getattr(phase, key))
    yield from _condition_problems(format, phase.when, ("when",))


def _condition_problems(format: Format, when: Condition, keys: Keys) -> Iterator[LocatedProblem]:
    modes = format.rubric.strictness
    if when.strictness is not None and when.strictness not in modes:
        yield (*keys, "strictness"), f"{short_repr(when.strictness)} should be {' or '.join(modes)}."
    for key in ("round", "rounds_at_least"):
        number = getattr(when, key)
        if isinstance(number, int) and not 1 <= number <= format.round_limits.max_if_insisted:
            yield (
                (*keys, key),
                f"{number} should be 1 to {format.round_limits.max_if_insisted}, the most rounds there may be.",
            )


def _wording_problems(format: Format) -> Iterator[LocatedProblem]:
    """Names, announcement texts and reserved lines that could not be shown or recognised."""
    for seat, about in format.seats.items():
        for key in ("name", "tag"):
            yield from _line_problems(("seats", seat, key), getattr(about, key))
    for key in ("concede", "decline"):
        line = getattr(format.reserved_lines, key)
        yield from _line_problems(("reserved_lines", key), line)
        if line and not any(map(str.isalnum, line)):
            yield (
                ("reserved_lines", key),
                f"{short_repr(line)} has no letter and no digit, so any speech may contain it. Use words.",
            )
    if format.reserved_lines.concede == format.reserved_lines.decline:
        yield (
            ("reserved_lines", "decline"),
            f"{short_repr(format.reserved_lines.decline)} is also the line that concedes. Use another.",
        )
    for key, names in _ANNOUNCEMENT_FIELDS.items():
        text = getattr(format.announcements, key)
        try:
            fields = [field[1:] for field in Formatter().parse(text) if field[1] is not None]
        except ValueError as error:
            yield ("announcements", key), f"{short_repr(text)}: {error}. Double each brace that is meant as text."
            continue
        if unusable := [name for name, spec, conversion in fields if name not in names or spec or conversion]:
            allowed = " and ".join(f"{{{name}}}" for name in names)
            yield ("announcements", key), f"{{{unusable[0]}}} can't be filled in; use only {allowed}."


def _line_problems(keys: Keys, text: str) -> Iterator[LocatedProblem]:
    if not text or text != text.strip() or not text.isprintable():
        yield keys, f"{short_repr(text)} should be one line of text, with no spaces around it."
