"""The check of a user's format: its data, its templates, and dry runs of whole debates.

`formats.validation` finds values that do not fit the model. This module also finds formats whose values fit and by
which no debate can be held. It collects all problems, each with its file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter

from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE, MAX_ROUNDS, Phase
from debate_orchestrator.core.settings import DEFAULT_FORMAT
from debate_orchestrator.core.shape import Condition
from debate_orchestrator.core.shape_rules import Keys, LocatedProblem
from debate_orchestrator.formats import loader, source
from debate_orchestrator.prompting import briefs, rendering
from debate_orchestrator.util.errors import BadFormat, short_repr

_ANNOUNCEMENT_FIELDS = {"round": ("round", "rounds"), "intervention": ("round",)}
"""The names that may be in braces in an announcement text."""


def load(name_or_folder: str) -> Format:
    """The format of that name or in that folder. One in a folder is checked first: BadFormat with every problem."""
    if source.is_path(name_or_folder):
        problems = find_problems(name_or_folder)
        if problems:
            raise BadFormat(problems)
    return loader.load(name_or_folder)


def find_problems(name_or_folder: str) -> list[str]:
    """Every problem in a format, in the order of files and lines. BadFormat if there is no such format, BadFile if its
    format.yaml is not YAML."""
    from debate_orchestrator.engine import dry_run  # loads the reports, which showing a shipped format need not

    format_source = source.read_source(name_or_folder)
    bundled_templates = loader.carried_templates(format_source)
    problems = [*format_source.problems, *_template_problems(format_source, bundled_templates)]
    if (format := format_source.format) is not None:
        problems += [f"{format_source.where(keys)}: {message}" for keys, message in _semantic_problems(format)]
        if not problems:  # anything else would be found again in every dry run
            problems += dry_run.find_problems(format, bundled_templates, format_source.where)
    paths = _user_paths(format_source)
    return sorted(dict.fromkeys(_with_user_path(problem, paths) for problem in problems), key=_file_and_line)


def _user_paths(format_source: source.FormatSource) -> dict[str, str]:
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


def _template_problems(format_source: source.FormatSource, bundled_templates: dict[str, str]) -> list[str]:
    """The problems of the templates, including those that no phase names: their syntax, and names that no brief
    provides."""
    from debate_orchestrator.engine import dry_run

    texts = dict(bundled_templates)
    if format_source.shipped:
        shown_folder = format_source.folders[0]
        texts |= {
            f"formats/{shown_folder.name}/{path.name}": path.read_text("utf-8")
            for path in shown_folder.path.glob("*.j2")
        }
    sample = fold([dry_run.opening_event(loader.load(DEFAULT_FORMAT), {})])  # has every seat
    return rendering.template_problems(texts, briefs.known_names(sample))


def _semantic_problems(format: Format) -> Iterator[LocatedProblem]:
    """The problems of a format that is valid, but with which no debate can be run."""
    rounds = format.rounds
    if not 1 <= rounds.default <= rounds.maximum <= rounds.maximum_if_insisted <= MAX_ROUNDS:
        numbers = f"default {rounds.default}, most {rounds.maximum}, insist {rounds.maximum_if_insisted}"
        yield ("rounds",), f"{numbers}: each must be at least the one before, from 1 to {MAX_ROUNDS}."
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
        yield ("words",), f"{phase.target_words} is more than most_words ({phase.max_words}), and no more are heard."
    if phase.triggered_by == "convergence" and (JUDGE in phase.seats or phase.reply != "text"):
        yield (
            ("on",),
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
        if isinstance(number, int) and not 1 <= number <= format.rounds.maximum_if_insisted:
            yield (
                (*keys, key),
                f"{number} should be 1 to {format.rounds.maximum_if_insisted}, the most rounds there may be.",
            )


def _wording_problems(format: Format) -> Iterator[LocatedProblem]:
    """Names, announcement texts and reserved lines that could not be shown or recognised."""
    for seat, about in format.seats.items():
        for key in ("name", "tag"):
            yield from _line_problems(("seats", seat, key), getattr(about, key))
    for key in ("concede", "decline"):
        line = getattr(format.lines, key)
        yield from _line_problems(("lines", key), line)
        if line and not any(map(str.isalnum, line)):
            yield (
                ("lines", key),
                f"{short_repr(line)} has no letter and no digit, so any speech may contain it. Use words.",
            )
    if format.lines.concede == format.lines.decline:
        yield ("lines", "decline"), f"{short_repr(format.lines.decline)} is also the line that concedes. Use another."
    for key, names in _ANNOUNCEMENT_FIELDS.items():
        text = getattr(format.announcements, key)
        try:
            fields = [field[1:] for field in Formatter().parse(text) if field[1] is not None]
        except ValueError as error:
            yield ("labels", key), f"{short_repr(text)}: {error}. Double each brace that is meant as text."
            continue
        if unusable := [name for name, spec, conversion in fields if name not in names or spec or conversion]:
            allowed = " and ".join(f"{{{name}}}" for name in names)
            yield ("labels", key), f"{{{unusable[0]}}} can't be filled in; use only {allowed}."


def _line_problems(keys: Keys, text: str) -> Iterator[LocatedProblem]:
    if not text or text != text.strip() or not text.isprintable():
        yield keys, f"{short_repr(text)} should be one line of text, with no spaces around it."
