"""Copies a format, with everything that it inherits, into a folder of the user's to be changed there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from debate_orchestrator.core.phases import NAME_PATTERN
from debate_orchestrator.formats import loader
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import error_text, name_of, read_mapping, read_text, to_yaml
from debate_orchestrator.util.errors import BadFile, BadFormat, short_repr

FIRST = "adversarial"
"""The format that is copied by default."""
RUBRIC = "rubric.yaml"
_NOT_COPIED = ("extends", "name")


class CopiedFormat(NamedTuple):
    shown_path: str
    """The path of its folder, as `--format` takes it."""
    files: tuple[str, ...]


def copy_format(name_or_path: str, name: str, to: str) -> CopiedFormat:
    """Copies the format `name_or_path` into a new folder `name` inside `to`, or here if `to` is empty.
    Raises BadFormat if the format has errors or the name can't be used, BadFile if the folder can't be made."""
    format_source = loader.read_source(name_or_path)
    if format_source.problems:
        raise BadFormat(format_source.problems)
    path = os.path.join(to or ".", name)
    if not re.fullmatch(NAME_PATTERN, name):
        raise BadFormat(
            f"formats new: {short_repr(name)} should be {loader.NAME_RULE}. Try: `debate formats new town-hall`."
        )
    if name in resources.format_names():
        raise BadFormat(f"formats new: {short_repr(name)} is the name of a shipped format. Use another.")
    files = _files(format_source.folders, name)
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


def _files(folders: Sequence[loader.FormatFolder], name: str) -> dict[str, str]:
    text = _data(folders)
    text = re.sub(r"^name:.*$", f"name: {name}", text, flags=re.MULTILINE)
    files = {loader.FILE: text}
    rubric = _rubric(folders)
    if rubric is not None:
        files[loader.FILE] = re.sub(r"^rubric:.*$", f"rubric: {RUBRIC}", text, flags=re.MULTILINE)
        files[RUBRIC] = rubric
    homes = "|".join(source_folder.name for source_folder in folders)
    for folder in reversed(folders):
        for path in sorted(folder.path.glob("[!.]*.j2")):
            own = read_text(path, loader.MAX_TEMPLATES)
            files[path.name] = re.sub(rf"""(["'])formats/(?:{homes})/""", r"\1./", own)
    return files


def _rubric(folders: Sequence[loader.FormatFolder]) -> str | None:
    """The text of the rubric's file; None if the rubric is in format.yaml itself."""
    for folder in folders:
        rubric = read_mapping(folder.path / loader.FILE).get("rubric")
        if isinstance(rubric, dict):
            return None
        if rubric is not None:
            path = (
                folder.path / rubric if rubric.endswith(".yaml") else resources.prompts() / "judges" / f"{rubric}.yaml"
            )
            return read_text(path, loader.MAX_TEMPLATES)
    return None


def _data(folders: Sequence[loader.FormatFolder]) -> str:
    """The text of format.yaml as it is; of one that extends another, what both say."""
    if len(folders) == 1:
        return read_text(folders[0].path / loader.FILE, loader.MAX_TEMPLATES)
    merged: dict[str, Any] = {}
    for folder in reversed(folders):
        merged, _ = loader.merge(merged, {}, read_mapping(folder.path / loader.FILE), {})
    return to_yaml({key: value for key, value in merged.items() if key not in _NOT_COPIED})
