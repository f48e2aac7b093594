"""Settings from answers: defaults filled in, and every problem at once.

Answers are a mapping with the keys of an answers file, wherever they come from: a file, flags, a form, a conversation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import pydantic

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import CLERK, DECISION_BRIEF, ISSUES, JUDGE, RAPPORTEUR, SEATS, SIDES_AND_JUDGE
from debate_orchestrator.core.settings import (
    DEFAULT_FORMAT,
    MAX_JUDGES,
    MODERATOR,
    SETTINGS,
    SETTINGS_WITH_ORIGIN,
    Settings,
    cast_problems,
    line_problems,
    models_of_seat,
    seats_of_cast,
    value_problem,
    with_keys_of_today,
)
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.errors import BadSettings, blank_problem, first_few, short_repr, suggest, with_hint
from debate_orchestrator.util.messages import and_joined
from debate_orchestrator.util.model_spec import FETCH, HOST, HUMAN, is_rehearsal, is_stand_in, specs_of
from debate_orchestrator.util.numbers import plain_number

KEYS = (*Settings.model_fields, "setup")
"""The keys of an answers file; `setup` is the conversation that `debate ask` keeps there."""
_NULL_IS_UNSET = ("cast", "context", "format", "max_cost", "quorum")
"""Settings for which null is the same as to leave them out."""
AUTO = "auto"
"""Of `rounds`: as many as there is new ground for, up to the most that the format allows. Of `positions`: those that
are derived from the topic."""


def format_of(answers: Mapping[str, Any], default: str = DEFAULT_FORMAT) -> str:
    """The format that answers name, or the default. Raises BadSettings if it is not text."""
    value = answers.get("format")
    if value is not None and not isinstance(value, str):
        raise BadSettings(f"format: {short_repr(value)} is not {SETTINGS['format'].expected}.")
    return default if value is None else value


def make_settings(
    answers: Mapping[str, Any],
    format: Format,
    default_output: str,
    default_model: Callable[[str], str] = lambda seat: HOST,
) -> Settings:
    """The settings that answers make, with the defaults of the format. `default_model` gives the model of a seat
    without one. Raises BadSettings with every problem."""
    problems = unknown_keys(answers := with_keys_of_today(answers))
    values = {key: value for key, value in answers.items() if key in KEYS and key != "setup"}
    values = {key: value for key, value in values.items() if value is not None or key not in _NULL_IS_UNSET}
    if blank_names := _fill_blanks(values, format):
        or_else = "" if blank_names == ["topic"] else ", or remove the line of a setting to take its default"
        problems.append(blank_problem(blank_names, or_else=or_else))
    if "topic" not in answers:
        problems.append(with_hint("topic: no topic is given.", "give `topic`"))
    for name, declared in SETTINGS.items():
        if declared.format_default is not None:
            values.setdefault(name, declared.format_default(format))
    values |= {"format": format_of(answers, format.name), "output": values.get("output", default_output)}
    words = {"strictness": format.rubric.strictness, "first": format.sides, "positions": (AUTO,), "rounds": (AUTO,)}
    values |= {
        name: as_word(values[name], words_of_setting) for name, words_of_setting in words.items() if name in values
    }
    if values.get("positions") == AUTO:
        del values["positions"]
    elif values.get("positions") == {}:
        problems.append(value_problem("positions", {}, format))
    if values["rounds"] == AUTO:
        values |= {"rounds": format.round_limits.max, "until_no_new_ground": True}
    values["rounds"] = parse_rounds(values["rounds"], 999) or values["rounds"]
    if isinstance(values["issues"], list):
        values["issues"] = tuple(values["issues"])
    context = values.get("context", ())
    values["context"] = [context] if isinstance(context, str) else context
    chosen_names = {name for name in (ISSUES, DECISION_BRIEF) if values[name] is True}
    needed = set(format.active_seats(chosen_names)) - {RAPPORTEUR}  # its model comes from the others', below
    seat_problems: list[str] = []
    by_seat = cast_by_seat(values.get("cast"), format, chosen_names)
    values["cast"] = _with_default_models(by_seat, format, needed, default_model, seat_problems)
    if isinstance(values["cast"], dict) and not any(cast_problems(values["cast"], format)):
        _add_rapporteur(values, format)
    if isinstance(origins := values.get("origins") or {}, dict):
        origins = {key: origins.get(key, "file" if key in answers else "default") for key in SETTINGS_WITH_ORIGIN}
    values["origins"] = origins
    return _validate(values, format, problems, seat_problems)


def _fill_blanks(values: dict[str, Any], format: Format) -> list[str]:
    """The names of what was left blank. Defaults and placeholders take its place, so that the other problems are found
    too."""
    names = [name for name, value in values.items() if value is None and name in SETTINGS]
    for name in names:
        del values[name]
    for name in ("positions", "cast"):
        if isinstance(parts := values.get(name), dict):
            blank_seats = [seat for seat in seats_of_cast(format) if parts.get(seat, "") is None]
            values[name] = {**parts, **{seat: f"({seat})" for seat in blank_seats}}
            names += [f"{name}.{seat}" for seat in blank_seats]
    return names


def as_word(value: Any, words: Container[str]) -> Any:
    """The entry of `words` that equals the value, ignoring case and surrounding spaces; any other value unchanged."""
    if not isinstance(value, str) or value in words:
        return value
    word = value.strip().lower()
    return word if word in words else value


def _validate(values: Mapping[str, Any], format: Format, problems: list[str], seat_problems: Sequence[str]) -> Settings:
    """The settings of these values. Raises BadSettings with `problems`, theirs, and the long `seat_problems` at the
    end."""
    try:
        settings = Settings.model_validate(values, context=format)
    except pydantic.ValidationError as error:
        for item in error.errors(include_url=False):
            if item["type"] == "value_error":
                hint = _hint(str(item["loc"][0]), values, format)
                problems += [with_hint(problem, hint) for problem in item["ctx"]["error"].args]
        raise BadSettings([*problems, *seat_problems]) from None
    if problems or seat_problems:
        raise BadSettings([*problems, *seat_problems])
    return settings


def _hint(name: str, values: Mapping[str, Any], format: Format) -> str:
    """The hint if a value was written as a text, a side was called by its name or has no position, or a judge was
    named for a format without one; empty for the rest."""
    value_given = values.get(name)
    if (
        name in SETTINGS
        and isinstance(value_given, str)
        and not isinstance(value := from_text(name, bare := value_given.strip("$ ")), str | list)
    ):
        quotes = ", without quotes" if bare == value_given and value is not None else ""
        text = "null" if value is None else str(value).lower().removesuffix(".0")
        return "" if _problems_of(name, value, format) else f"`{name}: {text}`{quotes}"
    if name == ISSUES and isinstance(value_given, str):
        return f"{name}: {[value_given]}"
    words = value_given if isinstance(value_given, dict) else [value_given] if name == "first" else []
    side_names = {side: format.seats[side].label for side in format.sides if format.seats[side].label}
    if name in ("first", "positions") and any(
        str(word).lower() in map(str.lower, side_names.values()) for word in words
    ):
        return and_joined([f"`{side}` for {side_names[side]}" for side in side_names])
    if name == "positions" and isinstance(value_given, dict) and value_given.keys() < set(format.sides):
        missing = [side for side in format.sides if side not in value_given]
        return f"give {and_joined([f'`positions.{side}`' for side in missing])} too"
    if name == "cast" and isinstance(value_given, dict) and JUDGE in value_given and JUDGE not in format.active_seats():
        return "`debate judge` to judge a debate that is over"
    return ""


def unknown_keys(keys: Iterable[object]) -> list[str]:
    """A sentence for each of the first unknown keys."""
    return list(first_few((_unknown_key(key) for key in keys if key not in KEYS), "answers"))


def _unknown_key(key: object) -> str:
    hint = suggest(key, KEYS)
    hint = "Try: indent it with spaces below positions or cast." if key in (*SEATS, MODERATOR) else hint
    hint = hint or f"The keys are {', '.join(KEYS)}."
    return f"{short_repr(key)} is not a key of an answers file. {hint}"


def _with_default_models(
    cast: Any,
    format: Format,
    needed: Container[str],
    default_model: Callable[[str], str],
    seat_problems: list[str],
) -> Any:
    """The cast with a tuple of models for each seat that has one; anything else is returned as it is. The reason why a
    seat that is needed can't be filled is added to `seat_problems`."""
    cast = {} if cast is None else cast
    if not isinstance(cast, dict):
        return cast
    models_by_seat = {seat: models_of_seat(entry) for seat, entry in cast.items()}
    order, seats_by_problem = seats_of_cast(format), dict[str, list[str]]()
    if not models_by_seat.keys() <= set(order):
        return models_by_seat
    for seat in order:
        if seat not in models_by_seat and seat in needed:
            try:
                model = FETCH if seat == CLERK else default_model(seat)
            except BadSettings as error:
                for problem in error.problems:
                    seats_by_problem.setdefault(problem.removeprefix("cast: "), []).append(seat)
                continue
            models_by_seat[seat] = (model,) * (format.judge_count if seat == JUDGE else 1)
    seat_problems += [f"cast: {', '.join(seats)}: {problem}" for problem, seats in seats_by_problem.items()]
    return {seat: models_by_seat[seat] for seat in order if seat in models_by_seat}


def seats_needed(format: Format, optional_phases: Collection[str] = ()) -> tuple[str, ...]:
    """The seats that debate or judge, or act in one of these optional phases: all of them must be filled."""
    return tuple(seat for seat in format.active_seats(optional_phases) if seat in SIDES_AND_JUDGE)


def cast_of(format: Format, spec_for: Callable[[str], str], optional_phases: Collection[str] = ()) -> dict[str, Any]:
    """A cast with the model that `spec_for` names for each of `seats_needed`, and as many judges as the format has."""
    panel = format.judge_count if format.judge_count > 1 else 0
    seats = seats_needed(format, optional_phases)
    return {seat: [spec_for(seat)] * panel if seat == JUDGE and panel else spec_for(seat) for seat in seats}


def cast_by_seat(cast: Any, format: Format, optional_phases: Collection[str] = ()) -> Any:
    """The cast with each of `seats_needed`, where one model was given for all; any other value as it is."""
    return dict.fromkeys(seats_needed(format, optional_phases), cast) if isinstance(cast, str) else cast


def _add_rapporteur(values: dict[str, Any], format: Format) -> None:
    """Adds the first judge's model as rapporteur where one is needed and none is named; where that judge is a person
    or a stand-in, a side's model. If only a stand-in is left beside people, there are no issues and no brief. A
    rapporteur that has nothing to do is left out."""
    cast, chosen_phases = values["cast"], {name for name in (ISSUES, DECISION_BRIEF) if values[name] is True}
    if RAPPORTEUR in format.active_seats(chosen_phases) and RAPPORTEUR not in cast and cast:
        cast[RAPPORTEUR] = (_default_rapporteur(cast, format),)
    values |= without_stand_in_rapporteur(cast, chosen_phases)
    seats = format.active_seats({name for name in chosen_phases if values[name] is True})
    if RAPPORTEUR not in seats:
        cast.pop(RAPPORTEUR, None)


def _default_rapporteur(cast: Mapping[str, Sequence[Any]], format: Format) -> Any:
    models = [cast[seat][0] for seat in (JUDGE, *format.sides) if cast.get(seat) and cast[seat][0] != HUMAN]
    paid_models = (model for model in models if not is_stand_in(model))
    return next(paid_models, models[0] if models else HUMAN)


def without_stand_in_rapporteur(cast: Mapping[str, tuple[Any, ...]], chosen_phases: Iterable[str]) -> dict[str, bool]:
    """The changes to the settings `issues` and `brief`: both are off where a stand-in is the rapporteur, unless
    stand-ins have every seat. Otherwise the first page of a debate between people would have filler."""
    stands_in = any(map(is_stand_in, cast.get(RAPPORTEUR, ())))
    return dict.fromkeys(chosen_phases, False) if stands_in and not is_rehearsal(cast) else {}


def why_no_decision_brief(settings: Settings, format: Format) -> str:
    """Says why a debate with stand-ins has no decision brief; empty if it has one, or could have had one."""
    if settings.brief or DECISION_BRIEF not in format.optional_phases or RAPPORTEUR in settings.cast:
        return ""
    if is_rehearsal(settings.cast) or not is_stand_in(_default_rapporteur(settings.cast, format)):
        return ""
    missing, it = (
        ("decision brief: it", "it") if settings.issues else ("list of issues and no decision brief: they", "them")
    )
    return f"There is no {missing} would come from a stand-in. A model or `human` as rapporteur would write {it}."


def host_problem(cast: Mapping[str, Any]) -> str | None:
    """Why a cast with a person and the host can't debate: `debate step` asks no person. Returns None if it has not
    both."""
    people, hosts = ([seat for seat in cast if spec in specs_of({seat: cast[seat]})] for spec in (HUMAN, HOST))
    if not people or not hosts:
        return None
    problem = f"cast: {' and '.join(people)} is human and {' and '.join(hosts)} is host, which can't be in one debate."
    return with_hint(problem, f"a model or `human` for {' and '.join(hosts)}, or `host` for {' and '.join(people)}")


def judging_settings(answers: Mapping[str, Any], format: Format, judge_count: int) -> Settings:
    """The settings of a debate from `answers` and the number of judges alone. Raises BadSettings with every problem."""
    cast = {JUDGE: [HOST] * max(1, min(judge_count, MAX_JUDGES))} if JUDGE in format.active_seats() else {}
    return make_settings({"topic": "Any.", "cast": cast, **answers}, format, "any.md")


def parse_rounds(value: Any, maximum: int) -> int | None:
    """A number of rounds from 1 to `maximum`, written as a number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= maximum else None


def text_as_typed(value: Any) -> str:
    """The value of a setting as a user would type it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else ", ".join(value) if isinstance(value, list | tuple) else str(value)


def types_of(name: str) -> set[Any]:
    """The types that make up the type of a setting: bool, int, float, str, tuple, dict."""
    annotation = Settings.model_fields[name].annotation
    parts = (annotation, *get_args(annotation))
    return {*parts, *map(get_origin, parts), *(getattr(part, "__origin__", None) for part in parts)}


def words_of(name: str) -> dict[str, str]:
    """The words that are the only values of a setting, each as its own label; empty if it takes others."""
    annotation = Settings.model_fields[name].annotation
    return {word: word for word in get_args(annotation)} if get_origin(annotation) is Literal else {}


def from_text(name: str, text: str, separator: str = ",") -> Any:
    """The value of a setting that a text gives, in a flag, a form or an answer: yes or no, a number, the items of a
    list, or none. The text itself where it gives none, for a later check to refuse."""
    types = types_of(name)
    if text == "none" and type(None) in types:
        return None
    if bool in types:
        return {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}.get(text.lower(), text)
    if tuple in types:
        return [part.strip() for part in text.split(separator) if part.strip()]
    return number(text, types)


def number(text: str, types: Container[Any] = (float,)) -> float | str:
    """The number that a text gives, of the first of `types` that fits; the text itself if it gives none."""
    if int in types and text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    value = plain_number(text) if float in types else None
    return text if value is None else value


def context_paths(text: str) -> list[str]:
    """The files that an answer names with commas between; none for no. Raises BadSettings for an answer without any."""
    if text.lower() in ("no", "n"):
        return []
    if text.lower() in ("yes", "y"):
        raise BadSettings(f"context: {short_repr(text)} names no file.", hint="its path")
    return [os.path.expanduser(path) for path in from_text("context", text)]


def setting_of(name: str, text: str, format: Format) -> Any:
    """The value of a setting that a person typed. Raises BadSettings if it can't be chosen."""
    value = from_text(name, text)
    if problems := _problems_of(name, value, format):
        raise BadSettings(problems)
    return value


def _problems_of(name: str, value: Any, format: Format) -> list[str]:
    """The problems of the value of one setting by itself; a quorum is of the largest panel."""
    try:
        Settings.model_validate({"cast": {JUDGE: (HOST,) * MAX_JUDGES}, name: value}, context=format)
    except pydantic.ValidationError as error:
        problems = (item["ctx"]["error"].args for item in error.errors() if item["loc"] == (name,))
        return [problem for args in problems for problem in args]
    return []


def checked_sentence(key: str, text: str) -> str:
    """The text of a topic or a position. Raises BadSettings if it is not one sentence that can be read."""
    if problems := line_problems(key, text):
        raise BadSettings(problems)
    if not any(map(str.isalpha, text)):
        raise BadSettings(f"{key}: {short_repr(text)} is not a sentence.", hint="say in words what is argued")
    return text


def output_text(report: str, output: str) -> str:
    """The path of the report, as the setup shows it; in a rehearsal also the path that the real debate's report will
    have."""
    real_report = DebateFiles.named_by(output).report
    return report if report == real_report else f"{report} (of the real debate: {real_report})"
