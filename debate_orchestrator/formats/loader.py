"""Loading formats, shipped ones by name and a user's own by its path.

To add a format, write prompts/formats/NAME/format.yaml and a template PHASE.md.j2 for each of its phases.
`core/format.py` says what the fields mean, and prompts/judges/ has the rubrics. It needs no Python.

Templates of shipped formats are found by their path in prompts/. Those of a user's format are copied into each debate,
under the path that they would have there, so that the debate can be resumed after the folder is gone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache

from debate_orchestrator.core.format import Format, slots_of
from debate_orchestrator.core.phases import NAME_PATTERN, Phase, judge_seats
from debate_orchestrator.core.settings import default_of
from debate_orchestrator.formats import source
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadFormat

_SHARED_SYSTEM = "shared/system.md.j2"


def load(name_or_path: str) -> Format:
    """The format of that name, or in that folder, with its rubric and all that it inherits. BadFormat if there is
    none, or with every error in it."""
    return load_with_templates(name_or_path)[0]


def load_with_templates(name_or_path: str) -> tuple[Format, dict[str, str]]:
    """A format, with the templates that are copied into a debate of it. Raises as `load`."""
    return _load_checked(name_or_path) if source.is_path(name_or_path) else _shipped(name_or_path)


@cache
def _shipped(name: str) -> tuple[Format, dict[str, str]]:
    return _load_checked(name)


def _load_checked(name_or_path: str) -> tuple[Format, dict[str, str]]:
    format_source = source.read_source(name_or_path)
    if format_source.format is None or format_source.problems:
        raise BadFormat(format_source.problems)
    return format_source.format, carried_templates(format_source)


def carried_templates(format_source: source.FormatSource) -> dict[str, str]:
    """The templates that are copied into a debate of a format, path to text: all of a user's format, and a line that
    includes an inherited system text. Empty for most shipped formats."""
    home, own_folder = f"formats/{format_source.name}", format_source.folders[0]
    templates = {} if own_folder.shipped else {f"{home}/{file}": text for file, text in format_source.texts.items()}
    holders = [folder for folder in format_source.folders if (folder.path / source.SYSTEM).is_file()]
    if holders[:1] != [own_folder] and (holders or not own_folder.shipped):
        system = f"formats/{holders[0].name}/{source.SYSTEM}" if holders else _SHARED_SYSTEM
        templates[f"{home}/{source.SYSTEM}"] = f'{{% include "{system}" %}}'
    return templates


def digests(format: Format, templates: Mapping[str, str]) -> dict[str, str]:
    """The sha256 of every template that a debate's briefs may be made of, by its path; `templates` are the copied ones.
    BadFormat if they name a shipped format that does not exist."""
    texts = [*templates.values(), *(task_template(format, phase) for phase in format.phases())]
    format_names = {name for text in texts for name in re.findall(rf"\bformats/({NAME_PATTERN[1:-1]})/", text)}
    shipped = format_names & {*resources.format_names()} if templates else format_names
    copied = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in templates.items()}
    return resources.digests(*sorted(shipped)) | copied


def task_template(format: Format, phase: Phase) -> str:
    """The path of the template of a phase's task: in the format's folder, or where the phase names one as
    `adversarial/opening`, in that shipped format's."""
    file = f"{phase.template or phase.name}{source.SUFFIX}"
    return f"formats/{file}" if "/" in file else f"formats/{format.name}/{file}"


def system_templates(format: Format) -> tuple[str, str]:
    """The paths where the system text of a format's briefs may be: its own, and the shared one."""
    return f"formats/{format.name}/{source.SYSTEM}", _SHARED_SYSTEM


def stage_list(
    format: Format, rounds: int, strictness: str, option_text: Callable[[str, bool], str]
) -> list[tuple[str, str, list[str]]]:
    """The turns of the format for that many rounds: for each stage its section of the debate, its order or condition,
    and its turn ids. `option_text` says when a phase takes place that depends on a setting; it gets the option, and
    whether the setting is on by default."""
    stages: list[tuple[str, str, list[str]]] = []
    for slot in slots_of(format, rounds, strictness, format.optional_phases):
        section = f"round {slot.round}" if slot.round is not None else "closing" if slot.after_rounds else "before"
        slot_stages = slot.stages(format.sides, judge_seats(1))
        together = "simultaneously" if slot.phase.order == "at once" else "in turn"
        how = "alone" if sum(len(seats) for seats in slot_stages) < 2 else together
        if slot.phase.triggered_by:
            named_sides = ", for the sides it names" if slot.phase.triggered_by == "convergence" else ""
            how = f"only after {slot.phase.triggered_by}{named_sides}"
        how = "together with the previous turn" if slot.phase.with_previous else how
        if option := slot.phase.option:
            setting = option.replace(" ", "_")
            how = f"{how}, {option_text(setting, bool(default_of(setting, format)))}"
        stages += [(section, how, [slot.turn_id(seat) for seat in seats]) for seats in slot_stages]
    return stages
