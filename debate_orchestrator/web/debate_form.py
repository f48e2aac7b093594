"""The form of a new debate: its fields, the settings that were sent, and what such a debate is expected to take."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import CLERK, JUDGE, RAPPORTEUR, SIDES_AND_JUDGE
from debate_orchestrator.core.settings import DEFAULT_FORMAT, SETTINGS_WITH_ORIGIN, Settings
from debate_orchestrator.engine import format_check, start
from debate_orchestrator.providers.discovery import FoundModels
from debate_orchestrator.setup.answers import from_text, make_settings, types_of, words_of
from debate_orchestrator.setup.setting_texts import SETTING_TEXTS
from debate_orchestrator.storage.paths import REHEARSED, DebateFiles
from debate_orchestrator.util import model_spec, resources
from debate_orchestrator.util.errors import BadSettings, DebateError
from debate_orchestrator.util.messages import and_joined
from debate_orchestrator.util.redact import redact
from debate_orchestrator.web import debate_list

_NOT_OFFERED = ("topic", "positions", "format", "cast", "output", "one_agent", "origins", "rounds")
"""Settings that have a field of their own in the form, or none."""
_WORDS: dict[str, tuple[str, str]] = {
    "context": (
        "Files with your figures and facts",
        "A name on each line. All may draw on them, and the report quotes them.",
    ),
    "insist": ("More rounds than usual", "In the format adversarial, 7 or 8."),
    "strictness": ("How strictly it is judged", ""),
    "first": ("Who speaks first", ""),
    "feedback": ("Debaters hear the judge's feedback", "In their next round; they do by default."),
    "max_cost": ("Most that it may cost, in US dollars", "The debate pauses before it costs more. Empty: no limit."),
    "search": ("Debaters may search the web", "If their provider can."),
    "retry_for": ("Seconds for which a failed call is tried again", "Before the debate pauses; 600 by default."),
    "share_cache": ("Wait for shared prompt caches", "Cheaper, and a little slower."),
    "mirror": ("Judges also vote with the sides swapped", "A vote that changes does not count."),
    "quorum": ("Judges whose votes must count", "For a decision; more than half by default."),
    "blind": ("Judges also vote before the debate", ""),
    "each_round": ("Judges also vote after every round", "In formats in which that is optional."),
    "until_no_new_ground": ("End after a round without new ground", "Which the judge finds."),
    "issues": ("A list of issues before round 1", ""),
    "brief": ("A decision brief after the verdict", "Page one of the report."),
}
"""Setting to its label in the form, and what is said below it. Any other setting is labelled as in `--help`."""
_MAX_LISTED = 8
"""Models of one server that are offered; others can be typed."""


class SettingField(NamedTuple):
    name: str
    label: str
    help: str
    kind: str
    """text, lines, number or choice."""
    options: tuple[tuple[str, str], ...] = ()


def form_values(models: FoundModels, form_data: Mapping[str, str], problems: list[str]) -> dict[str, Any]:
    """The values that the form shows: the submitted fields, and every problem beside its field."""
    try:
        format = chosen_format(form_data)
    except DebateError as error:
        problems, form_data = error.problems, {**form_data, "format": DEFAULT_FORMAT}
        format = chosen_format(form_data)
    fields = more_fields(format)
    seats = {seat: cast_options(seat, models) for seat in seats_to_fill(format)}
    names = {"topic", "positions", "rounds", "format", "cast", *(field.name for field in fields)}
    names |= {f"cast.{seat}" for seat in seats} | {f"positions.{side}" for side in format.sides}
    by_name = by_field([redact(problem) for problem in problems], names.__contains__)  # some quote files
    return {
        "sent": form_data,
        "format": format,
        "formats": [(name, format_check.load(name).title) for name in resources.format_names()],
        "seats": seats,
        "chosen": {seat: form_data.get(f"cast.{seat}") or default_of(seat, models) for seat in seats},
        "fields": fields,
        "open": any(form_data.get(field.name) or by_name.get(field.name) for field in fields[1:]),
        "problems": by_name,
    }


def chosen_format(form_data: Mapping[str, str]) -> Format:
    """The format that was chosen. Raises BadFormat or BadSettings."""
    return format_check.load(form_data.get("format") or DEFAULT_FORMAT)


def seats_to_fill(format: Format) -> tuple[str, ...]:
    return tuple(seat for seat in format.active_seats(format.optional_phases) if seat != CLERK)


def cast_options(seat: str, found_models: FoundModels) -> tuple[tuple[str, str], ...]:
    """The choices for a seat, as the values and the words of a list."""
    default_models = {
        found_models.default[seat]: "the default" for seat in SIDES_AND_JUDGE if seat in found_models.default
    }
    callable_models = found_models.callable_models(_MAX_LISTED) | default_models
    models = tuple((spec, f"{model_spec.public_name(spec)} ({about})") for spec, about in callable_models.items())
    stand_in = (_stand_in(seat, found_models), "a stand-in: calls no model, costs nothing")
    default_choice = (("", "the first judge's model, or a side's where no model judges"),) if seat == RAPPORTEUR else ()
    return (*default_choice, *models, stand_in, (model_spec.HUMAN, "a person, in a browser"))


def _stand_in(seat: str, models: FoundModels) -> str:
    return model_spec.stand_in(models.default_as_if_keyed[JUDGE if seat in (JUDGE, RAPPORTEUR) else "a"])


def spec_label(spec: str) -> str:
    """The occupant of a seat, in words."""
    if spec == model_spec.HUMAN:
        return "a person, in a browser"
    return "a stand-in" if model_spec.is_stand_in(spec) else model_spec.public_name(spec)


def default_of(seat: str, models: FoundModels) -> str:
    """The default occupant of a seat; empty for the rapporteur, which is then the first judge's model."""
    return "" if seat == RAPPORTEUR else models.default.get(seat) or _stand_in(seat, models)


def more_fields(format: Format) -> list[SettingField]:
    """The fields of the settings: the context, and those that most people leave as they are."""
    choices: dict[str, dict[str, str]] = {
        "strictness": {mode: mode for mode in format.rubric.strictness},
        "first": {side: format.name_of(side) for side in format.sides},
    }
    kinds = {int: "number", float: "number", dict: "", tuple: "lines", str: "text"}  # a form can't give a mapping
    fields = []
    for name, texts in SETTING_TEXTS.items():
        options = {"yes": "yes", "no": "no"} if bool in types_of(name) else choices.get(name) or words_of(name)
        kind = "choice" if options else next((kind for type_, kind in kinds.items() if type_ in types_of(name)), "")
        if kind and name not in _NOT_OFFERED:
            options_with_default = (("", "default"), *options.items()) if options else ()
            fields.append(SettingField(name, *_WORDS.get(name, (texts.help, "")), kind, options_with_default))
    return sorted(fields, key=lambda field: field.name != "context")


def answers_of(form_data: Mapping[str, str], format: Format, models: FoundModels) -> dict[str, Any]:
    """The submitted answers: the keys of an answers file, and values of the types that it would have."""
    answers: dict[str, Any] = {
        "topic": form_data.get("topic", "").strip(),
        "format": form_data.get("format") or DEFAULT_FORMAT,
    }
    positions = {side: text for side in format.sides if (text := form_data.get(f"positions.{side}", "").strip())}
    if positions:
        answers["positions"] = positions
    cast = {seat: _cast(form_data, seat, format, models) for seat in seats_to_fill(format)}
    answers["cast"] = {seat: specs for seat, specs in cast.items() if any(specs)}
    for name in ("rounds", *(field.name for field in more_fields(format))):
        if text := form_data.get(name, "").strip():
            answers[name] = from_text(name, text, separator="\n")
    answers["output"] = str(debate_list.unused_files(answers["topic"]).report)
    # Where each value comes from: the user chose all that the form holds.
    answers["origins"] = {key: "user" for key in SETTINGS_WITH_ORIGIN if key in answers and key != "output"}
    return answers


def _cast(form_data: Mapping[str, str], seat: str, format: Format, models: FoundModels) -> list[str]:
    """The occupants of a seat: the models that were typed, else the one that was chosen, as often as the format has
    judges. A stand-in that names no model stands for the default one, as in `debate run`."""
    lines = [line.strip() for line in form_data.get(f"other.{seat}", "").splitlines() if line.strip()]
    choice = form_data.get(f"cast.{seat}") or default_of(seat, models)
    specs = lines or [choice] * (format.judge_count if seat == JUDGE else 1)
    return [_stand_in(seat, models) if spec == model_spec.REHEARSE else spec for spec in specs]


class PreparedDebate(NamedTuple):
    """A debate that can be started."""

    settings: Settings
    files: DebateFiles
    rehearsal: bool
    deriving_model: str
    """The model that is called for the positions when it starts, or when the real debate of a rehearsal does."""


def prepare(form_data: Mapping[str, str], models: FoundModels) -> PreparedDebate:
    """The settings of a new debate and its files. Raises DebateError with every problem; nothing is written."""
    format = chosen_format(form_data)
    answers = answers_of(form_data, format, models)
    settings, problems = _settings(answers, format, models)
    rehearsal = model_spec.is_rehearsal({seat: settings.cast.get(seat, ()) for seat in seats_to_fill(format)})
    real_cast = {seat: tuple(map(model_spec.without_rehearse, specs)) for seat, specs in settings.cast.items()}
    real_deriving_model = start.deriving_model(settings.model_copy(update={"cast": real_cast}))
    settings, spec = start.as_rehearsal(settings) if rehearsal else settings, ""
    try:
        settings, spec = start.with_positions(settings)
    except DebateError as error:
        problems += error.problems
    files = debate_list.unused_files(settings.topic, REHEARSED if rehearsal else "")
    start.check_settings(settings, files, people=True, more_problems=problems)
    output = f"{files.report.removesuffix('.md').removesuffix(REHEARSED)}.md" if rehearsal else files.report
    settings = settings.model_copy(update={"output": output})
    return PreparedDebate(settings, files, rehearsal, real_deriving_model if rehearsal else spec)


def _settings(answers: Mapping[str, Any], format: Format, models: FoundModels) -> tuple[Settings, list[str]]:
    """The settings of these answers, and the problems of the wrong ones. Wrong answers are replaced by valid ones, so
    that everything else can still be checked. Raises BadSettings where the problems are with no answer."""
    try:
        return make_settings(answers, format, answers["output"]), []
    except DebateError as error:
        problems = error.problems
    wrong = {re.split(r"[.:]", problem)[0] for problem in problems}
    right: dict[str, Any] = {"topic": "Is it so?", "positions": {side: side for side in format.sides}}
    right["cast"] = {seat: [_stand_in(seat, models)] for seat in seats_to_fill(format)}
    right["cast"][JUDGE] *= format.judge_count
    others = {name: answer for name, answer in answers.items() if name not in wrong}
    others |= {name: answer for name, answer in right.items() if name in wrong}
    try:
        return make_settings(others, format, answers["output"]), problems
    except DebateError:
        raise BadSettings(problems) from None


def expected_cost(prepared: PreparedDebate) -> str:
    """The estimate for the debate, in a sentence. The debate is played through for it, which takes a while."""
    settings = prepared.settings
    specs = model_spec.specs_of(settings.cast)
    specs = [*map(model_spec.without_rehearse, specs)] if prepared.rehearsal else specs
    paid_models = list(dict.fromkeys(model_spec.public_name(spec) for spec in specs if model_spec.makes_calls(spec)))
    if not paid_models and prepared.rehearsal:
        return "nothing: it is a rehearsal. What the real debate takes is not known: its stand-ins name no model"
    if not paid_models:
        return "nothing: no model is called"
    sentence = start.estimate_sentence(settings, prepared.deriving_model)
    if prepared.rehearsal:
        return f"nothing: it is a rehearsal. The real debate, with {and_joined(paid_models)}: {sentence}"
    return sentence


def by_field(problems: list[str], is_field: Callable[[str], bool]) -> dict[str, list[str]]:
    """Problems by the field to which they belong; those of no field under an empty name."""
    by_name: dict[str, list[str]] = {}
    for problem in problems:
        name, _, rest = problem.partition(":")
        if name == "cast" and (seat := rest.strip().partition(":")[0].partition(",")[0]):
            name = f"cast.{seat}" if is_field(f"cast.{seat}") else name
        by_name.setdefault(name if is_field(name) else "", []).append(problem)
    return by_name
