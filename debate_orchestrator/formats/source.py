"""A format as somebody wrote it: its files, laid over those of the format that it extends, with the line of everything.

`format.yaml` may say `extends: NAME` (a shipped format): what it lacks is taken from there, key by key, and in
`shapes`, `seats`, `labels` and `lines` one level deeper; so are templates that its folder lacks. `rubric` names
a rubric of prompts/judges/, or a file in the format's own folder, or is one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import NAME
from debate_orchestrator.formats.validation import MOST, Keys, validate
from debate_orchestrator.formats.validation import key_path as written
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import name_of, read_mapping_with_lines, read_text, real_path
from debate_orchestrator.util.errors import BadFile, BadFormat, complaint, short_repr, suggest

FILE = "format.yaml"
ENDING = ".md.j2"
SYSTEM = f"system{ENDING}"
"""The template, in a format's folder, that replaces the shared one of that name."""
MOST_TEMPLATES = 400_000
"""Bytes that the templates of one format may have: they travel with every debate of it."""
ONE_DEEPER = ("shapes", "seats", "labels", "lines")
GROUPS = ("before", "round", "after")
_KEYS = ("extends", *(key for key in Format.model_fields if key != "name"))
_STAND_IN = "research"
"""The rubric that stands in, without a name, for one that can't be had, so that the rest can be looked at."""

Lines = dict[tuple[str, ...], str]
"""The keys that lead to a value, to its place as `FILE:LINE`."""


class FormatFolder(NamedTuple):
    """Where a format lies."""

    name: str
    path: Path
    told: str
    """The path as it is told: as it was given, or from prompts/ on."""
    shipped: bool


class FormatSource(NamedTuple):
    """A format as it was read."""

    folders: tuple[FormatFolder, ...]
    """Its own first, then that of the format it extends, and so on."""
    data: dict[str, Any]
    """Everything that `Format` takes, with the rubric in it, and inherited templates by their path."""
    lines: Lines
    texts: dict[str, str]
    """The templates in its own folder, by their file's name."""
    made: Format | None
    """The format, if it is one as far as its data go."""
    complaints: list[str]

    @property
    def name(self) -> str:
        return self.folders[0].name

    @property
    def shipped(self) -> bool:
        return self.folders[0].shipped

    def where(self, keys: Keys) -> str:
        """The place of a value, as `FILE:LINE: key`."""
        return location(self.lines, keys)


def location(lines: Lines, keys: Sequence[str | int]) -> str:
    """The place of the value to which these keys lead, or else of what it should be in."""
    known = list(keys)
    while known and tuple(map(str, known)) not in lines:
        known.pop()
    at = lines.get(tuple(map(str, known)), "")
    return f"{at}: {written(keys)}" if keys else at


def is_path(name: str) -> bool:
    """Whether a format is given by where it lies, and not by its name."""
    return "/" in name or os.sep in name or name.startswith((".", "~")) or name.endswith(".yaml")


def find(given: str) -> FormatFolder:
    """The folder of a format, by its name or by where it lies; BadFormat where there is none."""
    if not is_path(given):
        return FormatFolder(given, resources.format_folder(given), f"prompts/formats/{given}", True)
    told = os.path.expanduser(given)
    if os.path.basename(told) == FILE:
        told = os.path.dirname(told) or "."
    told = told.rstrip("/") or "/"
    try:
        there = os.path.isfile(os.path.join(told, FILE))
        folder = Path(os.path.abspath(told))
    except ValueError:  # a name that no file can have
        there = False
    if not there:
        hint = "`debate formats new NAME` makes one to start from."
        raise BadFormat(complaint("format", short_repr(given), f"a folder with a {FILE} in it", hint))
    for name in resources.format_names():
        if os.path.samefile(folder, resources.format_folder(name)):
            return find(name)
    return FormatFolder(folder.name, folder, name_of(told), False)


def read_source(given: str) -> FormatSource:
    """A format by its name or by where it lies, read whole; BadFormat where there is none, BadFile where a file
    of it is no YAML. Whatever else is wrong is among its complaints."""
    folder = find(given)
    wrong = _name_wrong(folder)
    folders, layers = _chain(folder, wrong)
    data, lines = layers[-1]
    for own, places in reversed(layers[:-1]):
        data, lines = merge(data, lines, own, places)
    texts = _texts(folder, wrong)
    _inherit(data, lines, folders, wrong)
    made, misfits = validate(Format, data | {"name": folder.name}, lambda keys: location(lines, keys))
    if not re.fullmatch(NAME, folder.name):  # said already, where the name stands
        misfits = [one for one in misfits if not one.partition(": ")[2].startswith("name: ")]
    made = made if made is not None and made.rubric.name else None
    return FormatSource(tuple(folders), data, lines, texts, made, [*wrong, *misfits])


def _name_wrong(folder: FormatFolder) -> list[str]:
    """What is wrong with the name of the user's own format, which is its folder's."""
    if folder.shipped:
        return []
    where = f"{folder.told}/{FILE}:1: the folder's name"
    if folder.name in resources.format_names():
        return [complaint(where, short_repr(folder.name), "a name that no shipped format has", "Rename the folder.")]
    if not re.fullmatch(NAME, folder.name):
        wanted = "small letters, digits and hyphens, with a letter first"
        return [complaint(where, short_repr(folder.name), wanted, "Rename the folder.")]
    return []


def _chain(folder: FormatFolder, wrong: list[str]) -> tuple[list[FormatFolder], list[tuple[dict[str, Any], Lines]]]:
    """A format's layers: its own, then that of what it extends, and so on."""
    folders = [folder]
    layers = [_layer(folder, wrong)]
    while "extends" in (data := layers[-1][0]):
        base, names, where = data.pop("extends"), resources.format_names(), location(layers[-1][1], ("extends",))
        if base not in names:
            wrong.append(complaint(where, short_repr(base), "one of " + ", ".join(names), suggest(base, names)))
            break
        if any(base == one.name and one.shipped for one in folders):
            wrong.append(complaint(where, f"{short_repr(base)}, which extends this one", "no format twice"))
            break
        folders.append(find(base))
        layers.append(_layer(folders[-1], wrong))
    return folders, layers


def _layer(folder: FormatFolder, wrong: list[str]) -> tuple[dict[str, Any], Lines]:
    """What one format.yaml says, with its rubric in it."""
    data, lines = _placed(folder, FILE)
    for n, key in enumerate([key for key in data if key not in (*_KEYS, "name")]):
        known = f"one of {', '.join(_KEYS)}"
        if n < MOST:  # looking for the nearest key takes time, and so many will do
            wrong.append(complaint(location(lines, (key,)), f"the key {short_repr(key)}", known, suggest(key, _KEYS)))
        del data[key]
    name = data.pop("name", folder.name)
    if name != folder.name:
        hint = "A format is called after its folder: leave the key out."
        wrong.append(complaint(location(lines, ("name",)), short_repr(name), repr(folder.name), hint))
    if "rubric" in data:
        data["rubric"] = _rubric(data["rubric"], folder, lines, wrong)
    return data, lines


def _placed(folder: FormatFolder, file: str) -> tuple[dict[str, Any], Lines]:
    """A file of a format, with its lines; BadFile with the path as it is told."""
    _must_be_its_own(folder, file)
    try:
        data, lines = read_mapping_with_lines(folder.path / file)
    except BadFile as error:
        raise BadFile([one.replace(str(folder.path), folder.told, 1) for one in error.complaints]) from None
    return data, {keys: f"{folder.told}/{file}:{line}" for keys, line in lines.items()}


def _must_be_its_own(folder: FormatFolder, file: str) -> None:
    """BadFile where a file in a folder of the user's leads out of it, or can't be followed."""
    try:
        home = real_path(folder.path)
        own = folder.shipped or real_path(folder.path / file).startswith(os.path.join(home, ""))
    except OSError:
        own = False
    if not own:
        got = "a link that leads out of the folder"
        raise BadFile(complaint(f"{folder.told}/{file}", got, "a file of the format's own", "Copy it there."))


def _rubric(given: Any, folder: FormatFolder, lines: Lines, wrong: list[str]) -> Any:
    """The rubric that a format names, or is given in it; its own lines are added to `lines`."""
    where = location(lines, ("rubric",))
    if isinstance(given, dict):
        return {"name": folder.name, **given}
    if isinstance(given, str) and given.endswith(".yaml") and os.path.basename(given) == given:
        home = folder
        name = folder.name if given == "rubric.yaml" else given.removesuffix(".yaml")
        there = sorted(one.name for one in folder.path.glob("*.yaml") if one.name != FILE)
        expected = f"a file in {folder.told}/"
    else:
        home = FormatFolder("judges", resources.prompts() / "judges", "prompts/judges", True)
        name, there = str(given), sorted(one.stem for one in home.path.glob("*.yaml"))
        expected = f"one of {', '.join(there)}, a file such as rubric.yaml beside it, or a mapping"
    if given not in there:
        wrong.append(complaint(where, short_repr(given), expected, suggest(given, there)))
        return {"name": "", **resources.read_yaml(f"judges/{_STAND_IN}.yaml")}
    try:
        data, inner = _placed(home, name_of(given) if home is folder else f"{given}.yaml")
    except BadFile as error:
        wrong += error.complaints
        return {"name": "", **resources.read_yaml(f"judges/{_STAND_IN}.yaml")}
    lines.update({("rubric", *keys): at for keys, at in inner.items()})
    return {"name": name, **data}


def merge(base: dict[str, Any], lines: Lines, own: dict[str, Any], places: Lines) -> tuple[dict[str, Any], Lines]:
    """A format over the one that it extends."""
    merged, heads = dict(base), set[tuple[str, ...]]()
    for key, value in own.items():
        deeper = key in ONE_DEEPER and isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = {**base[key], **value} if deeper else value
        heads |= {(key, str(inner)) for inner in value} if deeper else {(key,)}
    kept = {keys: at for keys, at in lines.items() if keys[:1] not in heads and keys[:2] not in heads}
    return merged, kept | places


def _texts(folder: FormatFolder, wrong: list[str]) -> dict[str, str]:
    """The templates in a folder of the user's."""
    made: dict[str, str] = {}
    for path in [] if folder.shipped else sorted(folder.path.glob("[!.]*.j2")):
        if not re.fullmatch(r"[\w.-]+", path.name):
            hint = "Rename it."
            wrong.append(
                complaint(f"{folder.told}/", f"a template called {short_repr(path.name)}", "a plain name", hint)
            )
            continue
        try:
            _must_be_its_own(folder, path.name)
            made[path.name] = read_text(path, MOST_TEMPLATES)
        except BadFile as error:
            wrong += [one.replace(str(folder.path), folder.told, 1) for one in error.complaints]
    total = sum(len(text.encode()) for text in made.values())
    if total > MOST_TEMPLATES:
        wrong.append(complaint(f"{folder.told}/", f"{total:,} bytes of templates", f"at most {MOST_TEMPLATES:,}"))
    return made


def _inherit(data: Mapping[str, Any], lines: Lines, folders: Sequence[FormatFolder], wrong: list[str]) -> None:
    """Names the templates that come from another format's folder by their path; complains of those that
    are nowhere."""
    for keys, phase in phases(data):
        file = phase.get("template") or phase.get("name")
        if not isinstance(file, str) or not re.fullmatch(rf"([a-z0-9-]+/)?{NAME[1:-1]}", file):
            continue  # the model says what is wrong with it
        if "/" in file:
            home, known = "prompts/formats", _templates(resources.prompts() / "formats", "*/*")
        else:
            home, known = folders[0].told, [name for one in folders for name in _templates(one.path, "*")]
            homes = [one for one in folders if (one.path / f"{file}{ENDING}").is_file()]
            if homes and homes[0] is not folders[0]:
                phase["template"] = f"{homes[0].name}/{file}"
        if file not in known:
            where = location(lines, (*keys, "template" if phase.get("template") else "name"))
            wrong.append(complaint(where, f"no template {home}/{file}{ENDING}", "that file", suggest(file, known)))


def _templates(folder: Path, pattern: str) -> list[str]:
    """The templates that there are, as a phase may name them."""
    return [path.relative_to(folder).as_posix().removesuffix(ENDING) for path in folder.glob(f"{pattern}{ENDING}")]


def phases(data: Mapping[str, Any]) -> list[tuple[tuple[str, int], dict[str, Any]]]:
    """The phases of a format that was only read, each with the keys that lead to it."""
    return [
        ((group, n), phase)
        for group in GROUPS
        if isinstance(data.get(group), list)
        for n, phase in enumerate(data[group])
        if isinstance(phase, dict)
    ]
