"""Loading formats: their files read, laid over the format that they extend, and validated; and copying them.

To add a format, write prompts/formats/NAME/format.yaml and a template PHASE.md.j2 for each of its phases.
`core/format.py` says what the fields mean, and prompts/rubrics/ has the rubrics. It needs no Python.

`format.yaml` may say `extends: NAME` (a shipped format). Keys that it lacks are taken from there, in `shapes`,
`seats`, `announcements` and `reserved_lines` one level deeper, and so are templates that its folder lacks. `rubric`
names a rubric of prompts/rubrics/, or a file in the format's own folder, or is one.

Templates of shipped formats are found by their path in prompts/. Those of a user's format are copied into each debate,
under the path that they would have there, so that the debate can be resumed after the folder is gone.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from debate_orchestrator.core.format import Format, slots_of
from debate_orchestrator.core.phases import NAME_PATTERN, AnnouncementTexts, Phase, judge_seats
from debate_orchestrator.core.settings import default_of
from debate_orchestrator.core.shape_rules import Keys
from debate_orchestrator.core.values import former_names, keys_of_today
from debate_orchestrator.formats.validation import key_path, validate
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import (
    error_text,
    name_of,
    printable_path,
    read_mapping,
    read_mapping_with_lines,
    read_text,
    to_yaml,
)
from debate_orchestrator.util.errors import BadFile, BadFormat, short_repr, suggest

FILE = "format.yaml"
SUFFIX = ".md.j2"
SYSTEM = f"system{SUFFIX}"
"""The template, in a format's folder, that replaces the shared one of that name."""
MAX_TEMPLATES = 400_000
"""Bytes of all templates of a format: they are copied into every journal of it."""
MERGED_BY_KEY = ("shapes", "seats", "announcements", "reserved_lines")
SECTIONS = ("before", "round", "after")
NAME_RULE = "lower-case letters, digits and hyphens, with a letter first"
Locations = dict[tuple[str, ...], str]
"""The keys that lead to a value, mapped to its location as `FILE:LINE`."""


class FormatFolder(NamedTuple):
    name: str
    path: Path
    shown_path: str
    """The path that messages show: as it was given, or from prompts/ on."""
    shipped: bool


class FormatSource(NamedTuple):
    folders: tuple[FormatFolder, ...]
    """Its own first, then that of the format it extends, and so on."""
    data: dict[str, Any]
    """Everything that `Format` takes, with the rubric in it, and inherited templates by their path."""
    locations: Locations
    texts: dict[str, str]
    """The templates in its own folder, by their file's name."""
    format: Format | None
    """The format, if it is one as far as its data go."""
    problems: list[str]

    @property
    def name(self) -> str:
        return self.folders[0].name

    @property
    def shipped(self) -> bool:
        return self.folders[0].shipped

    def where(self, keys: Keys) -> str:
        """The place of a value, as `FILE:LINE: key`."""
        return location(self.locations, keys)


def location(locations: Locations, keys: Sequence[str | int]) -> str:
    """The place of a value, or else of what it should be in, as `FILE:LINE: key`."""
    prefix = list(keys)
    while prefix and tuple(map(str, prefix)) not in locations:
        prefix.pop()
    place = locations.get(tuple(map(str, prefix)), "")
    return f"{place}: {key_path(keys)}" if keys else place


def is_path(name: str) -> bool:
    return "/" in name or os.sep in name or name.startswith((".", "~")) or name.endswith(".yaml")


def find(name_or_path: str) -> FormatFolder:
    """The folder of a format, by its name or path. Raises BadFormat if there is none."""
    if not is_path(name_or_path):
        if name_or_path not in resources.format_names() and os.path.isdir(name_or_path):
            problem = f"format: there is no format {short_repr(name_or_path)} that ships."
            raise BadFormat(problem, hint=f"./{name_or_path} for the folder here")
        return FormatFolder(
            name_or_path, resources.format_folder(name_or_path), f"prompts/formats/{name_or_path}", True
        )
    path = os.path.expanduser(name_or_path)
    if os.path.basename(path) == FILE:
        path = os.path.dirname(path) or "."
    path = path.rstrip("/") or "/"
    try:
        has_format = os.path.isfile(os.path.join(path, FILE))
        folder = Path(os.path.abspath(path))
    except ValueError:  # a name that is not allowed for a file
        has_format = False
    if not has_format:
        hint = "`debate formats new NAME` makes one to start from."
        raise BadFormat(f"format: {short_repr(name_or_path)} is not a folder with a {FILE} in it. {hint}")
    for name in resources.format_names():
        if os.path.samefile(folder, resources.format_folder(name)):
            return find(name)
    return FormatFolder(folder.name, folder, printable_path(path), False)


def read_source(name_or_path: str) -> FormatSource:
    """A format by its name or path. Raises BadFormat if there is none or it can't have its name, BadFile if a file of
    it can't be read; all else that is wrong is among its problems."""
    folder = find(name_or_path)
    _check_name(folder)
    problems: list[str] = []
    folders, layers = _chain(folder, problems)
    data, locations = layers[-1]
    for layer, layer_locations in reversed(layers[:-1]):
        data, locations = merge(data, locations, layer, layer_locations)
    texts = _texts(folder, problems)
    _inherit(data, locations, folders, problems)
    format, invalid_values = validate(Format, data | {"name": folder.name}, lambda keys: location(locations, keys))
    return FormatSource(tuple(folders), data, locations, texts, format, [*problems, *invalid_values])


def _check_name(folder: FormatFolder) -> None:
    """Raises BadFormat if the user's own format can't have the name of its folder."""
    where = f"{folder.shown_path}/{FILE}:1: the folder's name: {short_repr(folder.name)}"
    if not folder.shipped and folder.name in resources.format_names():
        raise BadFormat(f"{where} is the name of a shipped format. Rename the folder.")
    if not folder.shipped and not re.fullmatch(NAME_PATTERN, folder.name):
        raise BadFormat(f"{where} should be {NAME_RULE}. Rename the folder.")


def _chain(
    folder: FormatFolder, problems: list[str]
) -> tuple[list[FormatFolder], list[tuple[dict[str, Any], Locations]]]:
    """A format's layers: its own, then that of what it extends, and so on."""
    folders = [folder]
    layers = [_layer(folder, problems)]
    while "extends" in (data := layers[-1][0]):
        base, names, where = data.pop("extends"), resources.format_names(), location(layers[-1][1], ("extends",))
        if base not in names:
            message = f"{where}: {short_repr(base)} is not a shipped format; use one of {', '.join(names)}."
            problems.append(f"{message} {suggest(base, names)}".rstrip())
            break
        if any(base == other.name and other.shipped for other in folders):
            problems.append(f"{where}: {short_repr(base)} extends this format already.")
            break
        folders.append(find(base))
        layers.append(_layer(folders[-1], problems))
    return folders, layers


def _layer(folder: FormatFolder, problems: list[str]) -> tuple[dict[str, Any], Locations]:
    data, locations = _read_located(folder, FILE)
    name = data.pop("name", folder.name)
    if name != folder.name:
        place = location(locations, ("name",))
        problems.append(f"{place}: {short_repr(name)} should be {folder.name!r}, the folder's name. Leave the key out.")
    if "rubric" in data:
        data["rubric"] = _rubric(data["rubric"], folder, locations)
    return data, locations


def _read_located(folder: FormatFolder, file: str) -> tuple[dict[str, Any], Locations]:
    """A file of a format, with the locations of its values. Raises BadFile, which names it by the path that messages
    show, for a link in a folder of the user's too: a private file would become part of the prompts."""
    try:
        data, lines = read_mapping_with_lines(folder.path / file, follow_symlinks=folder.shipped)
    except BadFile as error:
        raise BadFile([problem.replace(str(folder.path), folder.shown_path, 1) for problem in error.problems]) from None
    return data, {keys: f"{folder.shown_path}/{file}:{line}" for keys, line in lines.items()}


def _rubric(value: Any, folder: FormatFolder, locations: Locations) -> Any:
    """A format's rubric; its own locations are added to `locations`. Raises BadFile if a named one can't be read."""
    if isinstance(value, dict):
        return {"name": folder.name, **value}
    if isinstance(value, str) and value.endswith(".yaml") and os.path.basename(value) == value:
        home, file = folder, value
        name = folder.name if value == "rubric.yaml" else value.removesuffix(".yaml")
        names = sorted(path.name for path in folder.path.glob("*.yaml") if path.name != FILE)
        expected = f"a file in {folder.shown_path}/"
    else:
        home, file = FormatFolder("rubrics", resources.prompts() / "rubrics", "prompts/rubrics", True), f"{value}.yaml"
        name, names = str(value), sorted(path.stem for path in home.path.glob("*.yaml"))
        expected = f"one of {', '.join(names)}, a file such as rubric.yaml beside it, or a mapping"
    if value not in names:
        where = location(locations, ("rubric",))
        raise BadFile(f"{where}: {short_repr(value)} should be {expected}. {suggest(value, names)}".rstrip())
    data, inner = _read_located(home, file)
    locations.update({("rubric", *keys): at for keys, at in inner.items()})
    return {"name": name, **data}


def merge(
    base: dict[str, Any], base_locations: Locations, layer: dict[str, Any], layer_locations: Locations
) -> tuple[dict[str, Any], Locations]:
    """A format over the one that it extends. Former names become those of today, which the other has."""
    names = keys_of_today(layer, former_names(Format))
    layer = {names[key]: value for key, value in layer.items()}
    if isinstance(texts := layer.get("announcements"), dict):
        text_names = keys_of_today(texts, former_names(AnnouncementTexts))
        layer["announcements"] = {text_names[key]: text for key, text in texts.items()}
    layer_locations = {
        (*(names.get(key, key) for key in keys[:1]), *keys[1:]): at for keys, at in layer_locations.items()
    }
    merged, heads = dict(base), set[tuple[str, ...]]()
    for key, value in layer.items():
        deeper = key in MERGED_BY_KEY and isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = {**base[key], **value} if deeper else value
        heads |= {(key, str(inner)) for inner in value} if deeper else {(key,)}
    locations_kept = {
        keys: at for keys, at in base_locations.items() if keys[:1] not in heads and keys[:2] not in heads
    }
    return merged, locations_kept | layer_locations


def _texts(folder: FormatFolder, problems: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in [] if folder.shipped else sorted(folder.path.glob("[!.]*.j2")):
        if not re.fullmatch(r"[\w.-]+", path.name):
            rule = "letters, digits, dots and hyphens"
            problems.append(
                f"{folder.shown_path}/: the template {short_repr(path.name)} should have a name of {rule}. Rename it."
            )
            continue
        try:
            texts[path.name] = read_text(path, MAX_TEMPLATES, follow_symlinks=False)
        except BadFile as error:
            problems += [problem.replace(str(folder.path), folder.shown_path, 1) for problem in error.problems]
    total = sum(len(text.encode()) for text in texts.values())
    if total > MAX_TEMPLATES:
        problems.append(
            f"{folder.shown_path}/: the templates have {total:,} bytes, and at most {MAX_TEMPLATES:,} are allowed."
        )
    return texts


def _inherit(
    data: Mapping[str, Any], locations: Locations, folders: Sequence[FormatFolder], problems: list[str]
) -> None:
    """Names the templates that come from another format's folder by their path; finds those that
    are nowhere."""
    for keys, phase in phases(data):
        file = phase.get("template") or phase.get("name")
        if not isinstance(file, str) or not re.fullmatch(rf"([a-z0-9-]+/)?{NAME_PATTERN[1:-1]}", file):
            continue  # the model says what is wrong with it
        if "/" in file:
            home, template_names = "prompts/formats", _templates(resources.prompts() / "formats", "*/*")
        else:
            home = folders[0].shown_path
            template_names = [name for folder in folders for name in _templates(folder.path, "*")]
            homes = [folder for folder in folders if (folder.path / f"{file}{SUFFIX}").is_file()]
            if homes and homes[0] is not folders[0]:
                phase["template"] = f"{homes[0].name}/{file}"
        if file not in template_names:
            where = location(locations, (*keys, "template" if phase.get("template") else "name"))
            problems.append(
                f"{where}: there is no template {home}/{file}{SUFFIX}. {suggest(file, template_names)}".rstrip()
            )


def _templates(folder: Path, pattern: str) -> list[str]:
    """The templates that there are, as a phase may name them."""
    return [path.relative_to(folder).as_posix().removesuffix(SUFFIX) for path in folder.glob(f"{pattern}{SUFFIX}")]


def phases(data: Mapping[str, Any]) -> list[tuple[tuple[str, int], dict[str, Any]]]:
    """The phases of a format that was only read, each with the keys that lead to it."""
    return [
        ((section, n), phase)
        for section in SECTIONS
        if isinstance(data.get(section), list)
        for n, phase in enumerate(data[section])
        if isinstance(phase, dict)
    ]


_SHARED_SYSTEM = "shared/system.md.j2"


def load(name_or_path: str) -> Format:
    """A format by name or folder, with all that it inherits. Raises BadFormat if there is none, or with every error in
    it."""
    return load_with_templates(name_or_path)[0]


def load_with_templates(name_or_path: str) -> tuple[Format, dict[str, str]]:
    """A format, with the templates that are copied into a debate of it. Raises as `load`."""
    return _load_checked(name_or_path) if is_path(name_or_path) else _shipped(name_or_path)


@cache
def _shipped(name: str) -> tuple[Format, dict[str, str]]:
    return _load_checked(name)


def _load_checked(name_or_path: str) -> tuple[Format, dict[str, str]]:
    format_source = read_source(name_or_path)
    if format_source.format is None or format_source.problems:
        raise BadFormat(format_source.problems)
    return format_source.format, own_templates(format_source)


def own_templates(format_source: FormatSource) -> dict[str, str]:
    """The templates that are copied into a debate of a format, path to text: all of a user's format, and a line that
    includes an inherited system text. It is empty for most shipped formats."""
    home, own_folder = f"formats/{format_source.name}", format_source.folders[0]
    templates = {} if own_folder.shipped else {f"{home}/{file}": text for file, text in format_source.texts.items()}
    holders = [folder for folder in format_source.folders if (folder.path / SYSTEM).is_file()]
    if holders[:1] != [own_folder] and (holders or not own_folder.shipped):
        system = f"formats/{holders[0].name}/{SYSTEM}" if holders else _SHARED_SYSTEM
        templates[f"{home}/{SYSTEM}"] = f'{{% include "{system}" %}}'
    return templates


def digests(format: Format, templates: Mapping[str, str]) -> dict[str, str]:
    """The sha256 of every template that a debate's briefs may be made of, by its path; `templates` are the copied ones.
    Raises BadFormat if they name a shipped format that does not exist."""
    texts = [*templates.values(), *(task_template(format, phase) for phase in format.phases())]
    format_names = {name for text in texts for name in re.findall(rf"\bformats/({NAME_PATTERN[1:-1]})/", text)}
    shipped = format_names & {*resources.format_names()} if templates else format_names
    copied = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in templates.items()}
    return resources.digests(*sorted(shipped)) | copied


def task_template(format: Format, phase: Phase) -> str:
    """The path of a task's template: in the format's folder, or as `adversarial/opening` in a shipped format's."""
    file = f"{phase.template or phase.name}{SUFFIX}"
    return f"formats/{file}" if "/" in file else f"formats/{format.name}/{file}"


def system_templates(format: Format) -> tuple[str, str]:
    """The paths where the system text of a format's briefs may be: its own, and the shared one."""
    return f"formats/{format.name}/{SYSTEM}", _SHARED_SYSTEM


def stage_list(
    format: Format, rounds: int, strictness: str, setting_text: Callable[[str, bool], str]
) -> list[tuple[str, str, list[str]]]:
    """The turns of the format for that many rounds: for each stage its section of the debate, its order or condition,
    and its turn ids. `setting_text` says when a phase takes place that depends on a setting; it gets the setting, and
    whether the setting is on by default."""
    stages: list[tuple[str, str, list[str]]] = []
    for slot in slots_of(format, rounds, strictness, format.optional_phases):
        section = f"round {slot.round}" if slot.round is not None else "after" if slot.after_rounds else "before"
        slot_stages = slot.stages(format.sides, judge_seats(1))
        together = "simultaneously" if slot.phase.order == "simultaneous" else "in turn"
        how = "alone" if sum(len(seats) for seats in slot_stages) < 2 else together
        if slot.phase.triggered_by:
            named_sides = ", for the sides it names" if slot.phase.triggered_by == "convergence" else ""
            how = f"only after {slot.phase.triggered_by}{named_sides}"
        how = "together with the previous turn" if slot.phase.with_previous else how
        if slot.phase.enabled_by:
            setting = slot.phase.enabled_by.replace(" ", "_")
            how = f"{how}, {setting_text(setting, bool(default_of(setting, format)))}"
        stages += [(section, how, [slot.turn_id(seat) for seat in seats]) for seats in slot_stages]
    return stages


# Copying: a format, with all that it inherits, in a folder of the user's to be changed there

COPIED_BY_DEFAULT = "adversarial"
"""The format that is copied by default."""
_RUBRIC_FILE = "rubric.yaml"
_NOT_COPIED = ("extends", "name")


class CopiedFormat(NamedTuple):
    shown_path: str
    """The path of its folder, as `--format` takes it."""
    files: tuple[str, ...]


def copy_format(name_or_path: str, name: str, to: str) -> CopiedFormat:
    """Copies the format `name_or_path` into a new folder `name` inside `to`, or here if `to` is empty.
    Raises BadFormat if the format has errors or the name can't be used, BadFile if the folder can't be made."""
    format_source = read_source(name_or_path)
    if format_source.problems:
        raise BadFormat(format_source.problems)
    path = os.path.join(to or ".", name)
    if not re.fullmatch(NAME_PATTERN, name):
        raise BadFormat(f"formats new: {short_repr(name)} should be {NAME_RULE}. Try: `debate formats new town-hall`.")
    if name in resources.format_names():
        raise BadFormat(f"formats new: {short_repr(name)} is the name of a shipped format. Use another.")
    files = _copied_files(format_source.folders, name)
    if os.path.lexists(path):
        raise BadFile(f"{name_of(path)}: a file or folder of this name already exists. Use another, or move it away.")
    try:
        os.makedirs(to or ".", exist_ok=True)
        os.mkdir(path)
    except (OSError, ValueError) as error:
        raise BadFile(f"{name_of(path)}: the folder can't be made: {error_text(error)}.") from None
    for file, text in files.items():
        write_atomic(os.path.join(path, file), text)
    return CopiedFormat(path, tuple(files))


def _copied_files(folders: Sequence[FormatFolder], name: str) -> dict[str, str]:
    text = _format_text(folders)
    text = re.sub(r"^name:.*$", f"name: {name}", text, flags=re.MULTILINE)
    files = {FILE: text}
    rubric = _rubric_text(folders)
    if rubric is not None:
        files[FILE] = re.sub(r"^rubric:.*$", f"rubric: {_RUBRIC_FILE}", text, flags=re.MULTILINE)
        files[_RUBRIC_FILE] = rubric
    homes = "|".join(source_folder.name for source_folder in folders)
    for folder in reversed(folders):
        for path in sorted(folder.path.glob("[!.]*.j2")):
            own = read_text(path, MAX_TEMPLATES)
            files[path.name] = re.sub(rf"""(["'])formats/(?:{homes})/""", r"\1./", own)
    return files


def _rubric_text(folders: Sequence[FormatFolder]) -> str | None:
    """The text of the rubric's file; None if the rubric is in format.yaml itself."""
    for folder in folders:
        rubric = read_mapping(folder.path / FILE).get("rubric")
        if isinstance(rubric, dict):
            return None
        if rubric is not None:
            path = (
                folder.path / rubric if rubric.endswith(".yaml") else resources.prompts() / "rubrics" / f"{rubric}.yaml"
            )
            return read_text(path, MAX_TEMPLATES)
    return None


def _format_text(folders: Sequence[FormatFolder]) -> str:
    """The text of format.yaml as it is; of one that extends another, what both say."""
    if len(folders) == 1:
        return read_text(folders[0].path / FILE, MAX_TEMPLATES)
    merged: dict[str, Any] = {}
    for folder in reversed(folders):
        merged, _ = merge(merged, {}, read_mapping(folder.path / FILE), {})
    return to_yaml({key: value for key, value in merged.items() if key not in _NOT_COPIED})
