"""The form of a new debate: the settings as fields, what was sent as settings, and every problem beside its field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import CLERK, EVERYBODY, JUDGE, RAPPORTEUR
from debate_orchestrator.core.settings import SOURCED, Settings
from debate_orchestrator.engine import format_check, start
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.providers.discovery import Found
from debate_orchestrator.setup.plain_positions import worded_positions
from debate_orchestrator.setup.setting_texts import SETTING_TEXTS
from debate_orchestrator.setup.settings import from_text, settings_from, types_of
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec, resources
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.web import folder

DEFAULT_FORMAT = "adversarial"
_OWN_FIELDS = ("topic", "positions", "format", "cast", "output", "one_agent", "sources", "rounds")
"""Settings that have a field of their own in the form, or none."""
_REHEARSED = ".rehearsed"
_MOST_LISTED = 8
"""Models of one server that are offered; others can be typed."""


class FormField(NamedTuple):
    """One field."""

    name: str
    label: str
    help: str
    kind: str
    """text, lines, number or choice."""
    options: tuple[tuple[str, str], ...] = ()


def chosen_format(sent: Mapping[str, str]) -> Format:
    """The format that was chosen. Raises BadFormat or BadSettings."""
    return format_check.load(sent.get("format") or DEFAULT_FORMAT)


def formats() -> list[tuple[str, str]]:
    """The shipped formats and their titles."""
    return [(name, format_check.load(name).title) for name in resources.format_names()]


def seats(format: Format) -> tuple[str, ...]:
    """The seats for which a person chooses who fills them."""
    return tuple(seat for seat in format.seats_taken(format.options) if seat != CLERK)


def cast_options(seat: str, format: Format, found: Found) -> tuple[tuple[str, str], ...]:
    """Who may take a seat, as the values and the words of a list."""
    usual_models = {found.usual[seat]: "the default" for seat in EVERYBODY if seat in found.usual}
    callable_models = found.callable_models(_MOST_LISTED) | usual_models
    models = tuple((spec, f"{model_spec.public_name(spec)} ({about})") for spec, about in callable_models.items())
    stand_in = (_stand_in(seat, found), "a stand-in: calls no model, costs nothing")
    usual = (("", "the first judge's model, or a side's where no model judges"),) if seat == RAPPORTEUR else ()
    return (*usual, *models, stand_in, (model_spec.HUMAN, "a person, in a browser"))


def _stand_in(seat: str, found: Found) -> str:
    return model_spec.stand_in(found.best[JUDGE if seat in (JUDGE, RAPPORTEUR) else "a"])


def who(spec: str) -> str:
    """Who takes a seat, in words."""
    if spec == model_spec.HUMAN:
        return "a person, in a browser"
    return "a stand-in" if model_spec.is_stand_in(spec) else model_spec.public_name(spec)


def default_of(seat: str, format: Format, found: Found) -> str:
    """Who takes a seat unless another is chosen; empty for the rapporteur, which is then the first judge's model."""
    return "" if seat == RAPPORTEUR else found.usual.get(seat) or _stand_in(seat, found)


def more_fields(format: Format) -> list[FormField]:
    """The fields of the settings that most people leave as they are."""
    found = []
    for name, text in SETTING_TEXTS.items():
        if name in _OWN_FIELDS:
            continue
        kind, options = _kind(name), list[tuple[str, str]]()
        if kind == "flag":
            kind, options = "choice", [("", "default"), ("yes", "yes"), ("no", "no")]
        elif name == "strictness":
            kind, options = "choice", [("", "default"), *((mode, mode) for mode in format.rubric.strictness)]
        elif name == "first":
            kind, options = "choice", [("", "default"), *((side, format.name_of(side)) for side in format.sides)]
        if kind:
            found.append(FormField(name, name.replace("_", " ").capitalize(), text.help, kind, tuple(options)))
    return found


def _kind(name: str) -> str:
    """The kind of field that a setting takes by its type; empty where a form can't give it."""
    kinds = {bool: "flag", int: "number", float: "number", dict: "", tuple: "lines", str: "text"}
    return next((kind for type_, kind in kinds.items() if type_ in types_of(name)), "")


def given(sent: Mapping[str, str], format: Format, found: Found) -> dict[str, Any]:
    """What was sent as answers: the keys of an answers file, and values of the types that it would have."""
    answers: dict[str, Any] = {"topic": sent.get("topic", "").strip(), "format": sent.get("format") or DEFAULT_FORMAT}
    positions = {side: text for side in format.sides if (text := sent.get(f"positions.{side}", "").strip())}
    if positions:
        answers["positions"] = positions
    cast = {seat: _cast(sent, seat, format, found) for seat in seats(format)}
    answers["cast"] = {seat: specs for seat, specs in cast.items() if any(specs)}
    for name in ("rounds", *(field.name for field in more_fields(format))):
        if text := sent.get(name, "").strip():
            answers[name] = from_text(name, text, between="\n")
    answers["output"] = str(folder.free_files(answers["topic"]).report)
    answers["sources"] = {key: "user" for key in SOURCED if key in answers and key != "output"}
    return answers


def _cast(sent: Mapping[str, str], seat: str, format: Format, found: Found) -> list[str]:
    """Who takes a seat: the models that were typed, else the one that was chosen, as often as the format has judges."""
    typed = [line.strip() for line in sent.get(f"other.{seat}", "").splitlines() if line.strip()]
    chosen = sent.get(f"cast.{seat}") or default_of(seat, format, found)
    return typed or [chosen] * (format.panel if seat == JUDGE else 1)


class Prepared(NamedTuple):
    """A debate that can be started."""

    settings: Settings
    files: DebateFiles
    rehearsal: bool
    """Whether stand-ins take every seat."""
    derives: bool
    """Whether a model is to derive the positions when it starts."""


def prepare(sent: Mapping[str, str], found: Found) -> Prepared:
    """The settings of a new debate and its files. Raises DebateError with every problem; nothing is written."""
    format = chosen_format(sent)
    answers = given(sent, format, found)
    settings = settings_from(answers, format, answers["output"])
    speakers = [spec for seat in seats(format) for spec in settings.cast.get(seat, ())]
    rehearsal = model_spec.is_rehearsal({seat: settings.cast.get(seat, ()) for seat in seats(format)})
    settings = start.rehearsed(settings) if rehearsal else settings
    if not settings.positions and not any(map(model_spec.is_called, speakers)):
        settings = settings.model_copy(update={"positions": worded_positions(settings.topic, format.sides)})
        if not settings.positions:
            raise BadSettings("positions: write out what each side argues. No model takes part that could derive it.")
    files = folder.free_files(settings.topic, _REHEARSED if rehearsal else "")
    start.check_settings(settings, files)
    output = f"{files.report.removesuffix('.md').removesuffix(_REHEARSED)}.md" if rehearsal else files.report
    settings = settings.model_copy(update={"output": output})
    return Prepared(settings, files, rehearsal, derives=not settings.positions)


def expected(prepared: Prepared) -> str:
    """What the debate is expected to take, in a sentence. It is played through for that, which takes a while."""
    settings = prepared.settings
    if not prepared.rehearsal and not any(map(model_spec.is_called, model_spec.specs_of(settings.cast))):
        return "nothing: no model is called"
    if not settings.positions:
        format = format_check.load(settings.format)
        guessed = worded_positions(settings.topic, format.sides) or dict.fromkeys(format.sides, settings.topic)
        settings = settings.model_copy(update={"positions": guessed})
    found = estimate(start.make_opening(settings)).sentence()
    return f"nothing: it is a rehearsal. The real debate: {found}" if prepared.rehearsal else found


def by_field(complaints: list[str], known: Callable[[str], bool]) -> dict[str, list[str]]:
    """Problems by the field that they stand beside; under an empty name those of no field."""
    found: dict[str, list[str]] = {}
    for complaint in complaints:
        name, _, rest = complaint.partition(":")
        if name == "cast" and (seat := rest.strip().partition(":")[0].partition(",")[0]):
            name = f"cast.{seat}" if known(f"cast.{seat}") else name
        found.setdefault(name if known(name) else "", []).append(complaint)
    return found
