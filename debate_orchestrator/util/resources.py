"""The files that ship with the package: prompts/, examples/ and skill/, and the digests of templates.

An installed package has them inside, a checkout beside the package. The inside is looked at first, so that a stray
`site-packages/prompts` can't win.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import BadFile, BadFormat, short_repr, suggest

_PACKAGE = Path(__file__).resolve().parent.parent


def folder(name: str) -> Path:
    """The shipped folder of that name (`prompts`, `examples`, `skill`); BadFile if this installation has none."""
    for place in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise BadFile(f"This installation has no folder {name}/.", hint="install the package again")


def prompts() -> Path:
    return folder("prompts")


def read_yaml(name: str) -> dict[str, Any]:
    """A YAML file of prompts/, by its path there."""
    return read_mapping(prompts() / name)


def format_names() -> list[str]:
    """The names of the shipped formats, sorted."""
    return sorted(path.parent.name for path in (prompts() / "formats").glob("*/format.yaml"))


def format_folder(name: str) -> Path:
    """The folder of a shipped format; BadFormat, with the known names, if there is none of that name."""
    shipped = prompts() / "formats"
    if name not in os.listdir(shipped) or not (shipped / name / "format.yaml").is_file():
        problem = f"format: there is no format {short_repr(name)}. {suggest(name, format_names())}".rstrip()
        raise BadFormat(problem, hint=f"one of {', '.join(format_names())}; `debate formats` lists them")
    return shipped / name


def digests(*format_names: str) -> dict[str, str]:
    """The sha256 of every template that briefs of these formats may use, by its path in prompts/."""
    root = prompts()
    folders = {f"formats/{name}": format_folder(name) for name in format_names} | {"shared": root / "shared"}
    used = [(place, entry) for place, path in folders.items() for entry in os.scandir(path)]
    by_path = {
        f"{place}/{entry.name}": hashlib.sha256(_read(entry.path)).hexdigest()
        for place, entry in used
        if entry.name.endswith(".j2")
    }
    return dict(sorted(by_path.items()))


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
